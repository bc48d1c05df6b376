"""What a block costs, and the derivation of every formula.

Counting parameters
-------------------
Every trainable tensor of the architecture, once. Buffers (rotary frequencies, the score-correction bias of
DeepSeek-V3's router) and modules that the main model does not run (multi-token prediction) are not parameters.

Counting operations
-------------------
A multiplication and an addition are two operations. A matrix product costs 2 per weight and token, biases and
elementwise functions are not counted, looking up an embedding costs nothing. Attention costs 2 per pair of tokens
for each element of a query-key product and of a weighted value: ``2 * heads * (key size + value size)``.
These are the model FLOPs of Narayanan et al. 2021 (Efficient Large-Scale Language Model Training on GPU Clusters),
equation 3, without recomputation: ``72 B s L h^2 (1 + s / 6h + V / 12hL)`` for a GPT model, forward and backward.

A Mamba mixer (Gu and Dao 2023, Mamba, equations 2 and 4, algorithm 2) with `d` channels and `n` states computes for
each channel and state ``exp(delta A)`` (2 operations), ``delta B x`` (2), ``h = A h + B x`` (2) and ``y = C h`` (2):
``8 d n``, then ``y + D x`` (``2 d``), besides its projections and its convolution (2 per weight).

Counting activations
--------------------
Tensors kept for the backward pass, following Korthikanti et al. 2022 (Reducing Activation Recomputation in Large
Transformer Models), section 4: 2 bytes a value, 1 byte a value for the mask of a dropout. Per token:

- A layer keeps the inputs of its norms and of its two blocks: ``x``, ``norm(x)``, ``x'``, ``norm(x')``, so ``8 h``.
  The norm may sit before a block (most families) or behind it (OLMo-2): four tensors either way. With norms on both
  sides (Gemma) there are two more. Where attention and MLP run in parallel from one ``x`` it is ``x`` and one
  ``norm(x)`` for each norm (Falcon, GPT-NeoX).
- Attention keeps queries, keys, values and the input of its output projection: ``2 (2 q + 2 k)``, with `q` and `k`
  the widths of all query and all key heads (``8 h`` where all heads have keys of their own). Norms of queries and
  keys keep their inputs: ``2 (q + k)`` more. Rotary embeddings are linear and keep nothing.
- Attention scores, per *pair* of tokens and head: the softmax 2; with dropout also its mask 1 and its result 2 (so
  5, as in the paper); where scores are capped by a tanh (Gemma-2), its result 2.
- Latent attention (DeepSeek-V2, section 2.1) keeps each compressed vector before and after its norm, ``4 r``
  (queries, where they are compressed, and keys with values), and expanded queries, keys, values and the input of
  the output projection. Ring attention is taken to pass *expanded* keys and values, as kernels read them: more
  bytes than the latent vector, but no second expansion at every step of the ring.
- A plain MLP of width `f` keeps the input of its activation function and the result: ``4 f``. A gated one keeps gate,
  up and their product: ``6 f`` (the activated gate is computed again from the gate, as fused kernels do).
- A mixture of experts keeps for each of the `k` experts that a token visits the routed copy of its input, what the
  expert keeps, and the expert's result (whose product with the router's weight needs it): ``k (4 h + expert)``;
  the router's probabilities, 4 bytes each as routers compute in 32 bits (Switch Transformers, section 2.4); and what
  shared experts keep.
- A Mamba mixer keeps seven tensors of its `d` channels (inputs of the convolution, of its activation, of the scan,
  ``delta``, the gate, the scan's result, the gated result), and the low-rank vectors of ``delta``, B and C before and
  after their norms. States are computed again in the backward pass (Mamba, section 3.3.2).
- Dropout behind attention and behind the MLP keeps a mask, ``h`` each.
- The head keeps the inputs of the final norm and of the projection, ``4 h``, and 32-bit logits for the loss, ``4 V``
  (Korthikanti et al., section 4.3); the half-precision logits need not outlive their conversion. The embedding keeps
  its token (8 bytes), and a mask where it has dropout.

A GPT layer with dropout keeps ``8 h + (8 h + h) + (16 h + h) = 34 h`` bytes per token and ``5 heads`` per pair, the
paper's equation 1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from tangram_opt.data.model import HALF_PRECISION_BYTES

FULL_PRECISION_BYTES: Final = 4
MASK_BYTES: Final = 1
TOKEN_BYTES: Final = 8
"""A token is a 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Additive figures of a block; the names and units are those of :class:`tangram_opt.data.model.Atom`."""

    parameters: int = 0
    expert_parameters: int = 0
    experts: int = 0
    experts_per_token: int = 0
    linear_flops_per_token: int = 0
    expert_flops_per_token: int = 0
    attention_flops_per_pair: int = 0
    attention_heads: int = 0
    key_value_heads: int = 0
    key_value_bytes_per_token: int = 0
    activation_bytes_per_token: int = 0
    attention_activation_bytes_per_pair: int = 0

    def __add__(self, other: Costs) -> Costs:
        return Costs(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def linear(inputs: int, outputs: int, *, bias: bool = False) -> Costs:
    """Parameters and operations of a matrix product with `inputs` x `outputs` weights."""
    return Costs(
        parameters=inputs * outputs + (outputs if bias else 0),
        linear_flops_per_token=2 * inputs * outputs,
    )


def norm(size: int, *, bias: bool = False) -> Costs:
    """Parameters of an RMS norm, or with a bias of a layer norm."""
    return Costs(parameters=2 * size if bias else size)


def kept(values: int) -> Costs:
    """Half-precision values of one token, kept for the backward pass."""
    return Costs(activation_bytes_per_token=HALF_PRECISION_BYTES * values)


def dropout(values: int, *, active: bool) -> Costs:
    """Mask of a dropout over `values` values of one token."""
    return Costs(activation_bytes_per_token=MASK_BYTES * values if active else 0)


def attention_scores(heads: int, key_size: int, value_size: int, *, dropout: bool, soft_cap: bool) -> Costs:
    """QK^T, softmax and weighted sum of values over `heads` heads."""
    bytes_per_head = HALF_PRECISION_BYTES
    if dropout:
        bytes_per_head += MASK_BYTES + HALF_PRECISION_BYTES
    if soft_cap:
        bytes_per_head += HALF_PRECISION_BYTES
    return Costs(
        attention_flops_per_pair=2 * heads * (key_size + value_size),
        attention_activation_bytes_per_pair=heads * bytes_per_head,
        attention_heads=heads,
    )
