"""Dense decoders with RMS norms and gated MLPs: Llama and its relatives."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tangram_opt.models.architecture import SANDWICHED, Architecture, Layout
from tangram_opt.models.families.base import (
    BiasedDecoder,
    Config,
    Count,
    Flag,
    OptionalSize,
    Rate,
    Size,
    WindowedDecoder,
)
from tangram_opt.models.feed_forward import Mlp


class Llama(BiasedDecoder):
    """Llama 1 to 3; biases where the config asks for them."""

    mlp_bias: Flag = False

    def mlp(self, inner_size: int) -> Mlp:
        """Gated MLP, with biases where ``mlp_bias`` says so."""
        return Mlp(self.hidden_size, inner_size, gated=True, bias=self.mlp_bias)


class Mistral(WindowedDecoder):
    """Mistral: every layer slides; only an explicit null (from v0.2 on) switches the window off."""

    num_key_value_heads: OptionalSize
    sliding_window: OptionalSize = 4096


class _Qwen(WindowedDecoder):
    """Qwen: the first layers see everything, and the others too unless the config switches the window on."""

    num_key_value_heads: OptionalSize
    use_sliding_window: Flag = False
    sliding_window: OptionalSize = 4096
    max_window_layers: Count = 28

    def slides(self, layer: int) -> bool:
        """Layers from ``max_window_layers`` on slide."""
        return layer >= self.max_window_layers

    def window(self, layer: int) -> int | None:
        """No layer slides unless ``use_sliding_window`` is set."""
        return super().window(layer) if self.use_sliding_window else None


class Qwen2(_Qwen):
    """Qwen2 and Qwen2.5: biases of queries, keys and values are part of the family and have no key."""

    @property
    def input_bias(self) -> bool:
        """Always."""
        return True


class Qwen3(_Qwen, BiasedDecoder):
    """Qwen3: norms of queries and keys; the head size is the library's unless given, not a share of the width."""

    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "head"

    head_dim: OptionalSize = 128


class _Gemma(WindowedDecoder, BiasedDecoder):
    """Gemma: norms on both sides of each block, tied unless the config says otherwise, wide heads."""

    layout: ClassVar[Layout] = SANDWICHED

    num_key_value_heads: OptionalSize
    head_dim: Size = 256
    tie_word_embeddings: Flag = True
    sliding_window: OptionalSize = 4096


class Gemma2(_Gemma):
    """Gemma 2: even layers slide, scores are capped."""

    attn_logit_softcapping: Annotated[float | None, Field(gt=0, description="a positive number or null")] = 50.0

    @property
    def soft_cap(self) -> bool:
        """Null switches it off."""
        return self.attn_logit_softcapping is not None

    def slides(self, layer: int) -> bool:
        """Every other layer, from the first on."""
        return layer % 2 == 0


class Gemma3Text(_Gemma):
    """Gemma 3: every sixth layer sees everything, norms of queries and keys.

    The published multimodal files leave heads and vocabulary out of their ``text_config``, so unlike in other
    families these sizes have the library's defaults.
    """

    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "head"

    num_attention_heads: Size = 8
    num_key_value_heads: OptionalSize = 4
    vocab_size: Size = 262_208
    sliding_window_pattern: Size = 6

    def slides(self, layer: int) -> bool:
        """All but every ``sliding_window_pattern``-th."""
        return (layer + 1) % self.sliding_window_pattern != 0


class Gemma3(Config):
    """Multimodal Gemma 3: the language model inside; the vision tower is not planned for."""

    text_config: Annotated[Gemma3Text, Field(description="the object that describes the language model")]

    def architecture(self) -> Architecture:
        """Describe the language model in blocks."""
        return self.text_config.architecture()


class Olmo2(BiasedDecoder):
    """OLMo 2: norms behind the blocks, and over all queries and all keys."""

    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "all"


class Phi3(WindowedDecoder):
    """Phi-3: fused projections, which count like separate ones."""

    resid_pdrop: Rate = 0.0
    embd_pdrop: Rate = 0.0

    @property
    def residual_dropout(self) -> bool:
        """From ``resid_pdrop``."""
        return self.resid_pdrop > 0

    @property
    def embedding_dropout(self) -> bool:
        """From ``embd_pdrop``."""
        return self.embd_pdrop > 0
