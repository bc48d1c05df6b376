"""What the config classes share: constrained types, cross-checks, and the decoder that most families are.

A key without a default must be in the file. A default is the one of the transformers library, which leaves such keys
out of the files that it writes; sizes that tell one model of a family from another never have one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tangram_opt.data.model import MOST_ATOMS
from tangram_opt.models.architecture import SEQUENTIAL, Architecture, Layer, Layout
from tangram_opt.models.feed_forward import MixtureOfExperts, Mlp
from tangram_opt.models.mixers import Attention, LatentAttention, Mamba

LARGEST_SIZE: Final = 2**31 - 1
"""Sizes are 32-bit integers in the libraries that run these models."""
MOST_LAYERS: Final = MOST_ATOMS - 2
"""The embedding and the head are atoms too."""

Size = Annotated[int, Field(ge=1, le=LARGEST_SIZE, description="a positive integer")]
OptionalSize = Annotated[int | None, Field(ge=1, le=LARGEST_SIZE, description="a positive integer or null")]
LayerCount = Annotated[int, Field(ge=1, le=MOST_LAYERS, description="a positive integer")]
Count = Annotated[int, Field(ge=0, le=LARGEST_SIZE, description="a non-negative integer")]
OptionalCount = Annotated[int | None, Field(ge=0, le=LARGEST_SIZE, description="a non-negative integer or null")]
Flag = Annotated[bool, Field(description="true or false")]
Rate = Annotated[float, Field(ge=0, lt=1, description="a number of at least 0 and below 1")]
LayerTypes = Annotated[
    list[Literal["full_attention", "sliding_attention"]] | None,
    Field(description="'full_attention' or 'sliding_attention' for each layer"),
]


class Config(BaseModel, ABC):
    """The keys of a ``config.json`` that decide on costs; all others are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)

    @abstractmethod
    def architecture(self) -> Architecture:
        """Describe the model in blocks."""


def check_divides(divisor_key: str, divisor: int, multiple_key: str, multiple: int) -> None:
    """Refuse a `divisor` that does not divide `multiple`.

    Raises
    ------
    ValueError
        Names both keys.
    """
    if multiple % divisor:
        raise ValueError(f"{divisor_key}: {divisor}, expected a divisor of {multiple_key} ({multiple})")


def check_at_most(key: str, value: int, limit_key: str, limit: int) -> None:
    """Refuse a `value` above `limit`.

    Raises
    ------
    ValueError
        Names both keys.
    """
    if value > limit:
        raise ValueError(f"{key}: {value}, expected at most {limit_key} ({limit})")


class Decoder(Config):
    """A decoder with grouped attention and gated MLPs under the key names that most families use.

    Families override the class variables and the methods in which they differ.
    """

    layout: ClassVar[Layout] = SEQUENTIAL
    norm_bias: ClassVar[bool] = False
    final_norm: ClassVar[bool] = True
    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "none"
    sinks: ClassVar[bool] = False

    hidden_size: Size
    num_hidden_layers: LayerCount
    num_attention_heads: Size
    num_key_value_heads: OptionalSize = None
    head_dim: OptionalSize = None
    intermediate_size: Size
    vocab_size: Size
    tie_word_embeddings: Flag = False
    attention_dropout: Rate = 0.0

    @model_validator(mode="after")
    def _check_heads(self) -> Decoder:
        if self.head_dim is None:
            check_divides("num_attention_heads", self.num_attention_heads, "hidden_size", self.hidden_size)
        check_divides("num_key_value_heads", self.key_value_heads, "num_attention_heads", self.num_attention_heads)
        return self

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values; null gives every query head its own."""
        return self.num_attention_heads if self.num_key_value_heads is None else self.num_key_value_heads

    @property
    def head_size(self) -> int:
        """Width of a head; null splits the hidden size."""
        return self.hidden_size // self.num_attention_heads if self.head_dim is None else self.head_dim

    @property
    def input_bias(self) -> bool:
        """Whether queries, keys and values have biases."""
        return False

    @property
    def output_bias(self) -> bool:
        """Whether the output projection of attention has a bias."""
        return False

    @property
    def head_bias(self) -> bool:
        """Whether the head has a bias."""
        return False

    @property
    def soft_cap(self) -> bool:
        """Whether attention scores are capped by a tanh."""
        return False

    @property
    def residual_dropout(self) -> bool:
        """Whether there is dropout behind attention and MLP."""
        return False

    @property
    def embedding_dropout(self) -> bool:
        """Whether there is dropout behind the embedding."""
        return False

    def window(self, layer: int) -> int | None:  # noqa: ARG002 (families with windows look at the layer)
        """Sliding window of layer `layer`, counted from 0."""
        return None

    def mixer(self, layer: int) -> Attention | LatentAttention | Mamba:
        """Block of layer `layer` that mixes tokens."""
        return Attention(
            hidden_size=self.hidden_size,
            heads=self.num_attention_heads,
            key_value_heads=self.key_value_heads,
            head_size=self.head_size,
            window=self.window(layer),
            input_bias=self.input_bias,
            output_bias=self.output_bias,
            query_key_norm=self.query_key_norm,
            sinks=self.sinks,
            soft_cap=self.soft_cap,
            score_dropout=self.attention_dropout > 0,
            output_dropout=self.residual_dropout,
        )

    def mlp(self, inner_size: int) -> Mlp:
        """Gated MLP of width `inner_size`."""
        return Mlp(self.hidden_size, inner_size, gated=True, output_dropout=self.residual_dropout)

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:  # noqa: ARG002 (see `window`)
        """Block of layer `layer` that works on each token alone."""
        return self.mlp(self.intermediate_size)

    def architecture(self) -> Architecture:
        """Describe the model in blocks."""
        return Architecture(
            hidden_size=self.hidden_size,
            vocabulary=self.vocab_size,
            layers=tuple(
                Layer(self.mixer(layer), self.feed_forward(layer), self.layout, self.norm_bias)
                for layer in range(self.num_hidden_layers)
            ),
            tied=self.tie_word_embeddings,
            final_norm=self.final_norm,
            norm_bias=self.norm_bias,
            head_bias=self.head_bias,
            embedding_dropout=self.embedding_dropout,
        )


class BiasedDecoder(Decoder):
    """A decoder whose four attention projections have biases or not, together."""

    attention_bias: Flag = False

    @property
    def input_bias(self) -> bool:
        """One key decides for all four projections."""
        return self.attention_bias

    @property
    def output_bias(self) -> bool:
        """One key decides for all four projections."""
        return self.attention_bias


class WindowedDecoder(Decoder):
    """A decoder some or all of whose layers see a sliding window."""

    sliding_window: OptionalSize = None
    layer_types: LayerTypes = None

    @model_validator(mode="after")
    def _check_layer_types(self) -> WindowedDecoder:
        if self.layer_types is not None and len(self.layer_types) != self.num_hidden_layers:
            raise ValueError(
                f"layer_types: {len(self.layer_types)} entries, expected num_hidden_layers ({self.num_hidden_layers})"
            )
        return self

    def slides(self, layer: int) -> bool:  # noqa: ARG002 (families that alternate look at the layer)
        """Whether layer `layer` sees the window where ``layer_types`` does not say."""
        return True

    def window(self, layer: int) -> int | None:
        """Look at ``layer_types``, else at the family's pattern."""
        sliding = self.slides(layer) if self.layer_types is None else self.layer_types[layer] == "sliding_attention"
        return self.sliding_window if sliding else None
