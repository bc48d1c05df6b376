"""A model as the planner sees it: a sequence of atoms, each the smallest piece that a stage can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeInt, PositiveInt

HALF_PRECISION_BYTES: Final = 2
"""Width of an activation value."""

MOST_ATOMS: Final = 1_002
"""Far above any published model; the planner looks at every pair of a first and a last atom."""

AtomKind = Literal["embedding", "layer", "head"]


@dataclass(frozen=True, slots=True)
class Atom:
    """A model atom (paper section 4.2): the embedding, one layer, or the final norm with the head.

    All figures are exact for the architecture. Activations are half precision. "Per token"
    figures are for one token of one sequence; "per pair" figures are multiplied by the tokens that one token
    attends to (`attended_tokens`).

    Attributes
    ----------
    kind : {"embedding", "layer", "head"}
        What it is.
    signature : str
        Equal for atoms that are interchangeable in every respect (paper section 5.1, redundancy).
    hidden_size : int
        Width of the activations that it passes on.
    parameters : int
        Trainable parameters that every token uses: all but routed experts. A tied head owns no embedding.
    tied_parameters : int
        Parameters that another atom owns and this one uses: a copy of them where the two are on different stages.
    expert_parameters : int
        Parameters of all its routed experts together.
    experts, experts_per_token : int
        Routed experts, and how many of them each token visits; 0 for a dense atom.
    linear_flops_per_token : int
        Forward operations of matrix products (and recurrent scans) that every token passes, without attention scores.
    expert_flops_per_token : int
        Forward operations in the routed experts that a token visits.
    attention_flops_per_pair : int
        Forward operations of QK^T and of the weighted sum of values, for one token and one attended token.
    attention_window : int or None
        Sliding window of the attention; None where it sees the whole sequence.
    attention_heads, key_value_heads : int
        Heads, which bound tensor parallelism; 0 for an atom without attention.
    key_value_bytes_per_token : int
        Bytes of keys and values of one token, which context parallelism passes around; 0 without attention.
    activation_bytes_per_token : int
        Kept for the backward pass without recomputation, apart from attention scores.
    attention_activation_bytes_per_pair : int
        Scores, softmax and dropout kept for the backward pass, for one token and one attended token; what
        selective recomputation drops.
    input_bytes_per_token : int
        The atom's input: all that full recomputation keeps.
    tensor_parallel_all_reduces : int
        All-reduces of one hidden activation in the forward pass under tensor parallelism.
    """

    __pydantic_config__ = STRICT

    kind: AtomKind
    signature: NonEmptyStr
    hidden_size: PositiveInt
    parameters: NonNegativeInt
    tied_parameters: NonNegativeInt
    expert_parameters: NonNegativeInt
    experts: NonNegativeInt
    experts_per_token: NonNegativeInt
    linear_flops_per_token: NonNegativeInt
    expert_flops_per_token: NonNegativeInt
    attention_flops_per_pair: NonNegativeInt
    attention_window: PositiveInt | None
    attention_heads: NonNegativeInt
    key_value_heads: NonNegativeInt
    key_value_bytes_per_token: NonNegativeInt
    activation_bytes_per_token: NonNegativeInt
    attention_activation_bytes_per_pair: NonNegativeInt
    input_bytes_per_token: NonNegativeInt
    tensor_parallel_all_reduces: NonNegativeInt

    def attended_tokens(self, sequence_length: int) -> int:
        """Tokens that one token attends to: the sequence, or the sliding window where it is shorter.

        Causal masking is not subtracted, as is usual when model FLOPs are counted (Megatron-LM, PaLM).
        """
        if self.attention_window is None:
            return sequence_length
        return min(sequence_length, self.attention_window)

    def attention_flops_per_token(self, sequence_length: int) -> int:
        """Forward operations of attention scores for one token of a sequence."""
        return self.attention_flops_per_pair * self.attended_tokens(sequence_length)

    def forward_flops_per_token(self, sequence_length: int) -> int:
        """All forward operations for one token of a sequence."""
        return (
            self.linear_flops_per_token + self.expert_flops_per_token + self.attention_flops_per_token(sequence_length)
        )

    def backward_flops_per_token(self, sequence_length: int) -> int:
        """All backward operations for one token: twice the forward ones (gradients of inputs and of weights)."""
        return 2 * self.forward_flops_per_token(sequence_length)


@dataclass(frozen=True, slots=True)
class AtomRun:
    """A run of equal atoms."""

    __pydantic_config__ = STRICT

    atom: Atom
    count: PositiveInt


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its atoms from the embedding to the head.

    Attributes
    ----------
    name : str
        What it is called in reports.
    family : str
        The ``model_type`` that it was read from.
    runs : tuple of AtomRun
        The atoms in order, equal neighbours merged.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    family: NonEmptyStr
    runs: tuple[AtomRun, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("runs: expected at least one atom")
        atoms = sum(run.count for run in self.runs)
        if atoms > MOST_ATOMS:
            raise ValueError(f"runs: {atoms} atoms, expected at most {MOST_ATOMS}")

    def atoms(self) -> Iterator[Atom]:
        """All atoms one by one, front to back."""
        for run in self.runs:
            for _ in range(run.count):
                yield run.atom

    @property
    def layers(self) -> int:
        """Number of layers: atoms that are neither embedding nor head."""
        return sum(run.count for run in self.runs if run.atom.kind == "layer")

    @property
    def parameters(self) -> int:
        """All parameters, each counted once."""
        return sum(run.count * (run.atom.parameters + run.atom.expert_parameters) for run in self.runs)

    @property
    def active_parameters(self) -> int:
        """Parameters that one token uses: routed experts count for the share that it visits."""
        total = 0
        for run in self.runs:
            atom = run.atom
            visited = atom.expert_parameters * atom.experts_per_token // atom.experts if atom.experts else 0
            total += run.count * (atom.parameters + visited)
        return total

    def flops_per_token(self, sequence_length: int) -> int:
        """Model FLOPs of one training token, forward and backward, without recomputation."""
        return sum(
            run.count
            * (run.atom.forward_flops_per_token(sequence_length) + run.atom.backward_flops_per_token(sequence_length))
            for run in self.runs
        )
