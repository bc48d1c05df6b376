"""Blocks that mix tokens: attention, latent attention, and the selective state space of Mamba."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tangram_opt.data.model import HALF_PRECISION_BYTES
from tangram_opt.models.costs import Costs, attention_scores, dropout, kept, linear, norm


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-head attention with grouped keys and values.

    Attributes
    ----------
    hidden_size, heads, key_value_heads, head_size : int
        Width of the layer, number of query heads and of key heads, width of a head.
    window : int or None
        Sliding window in tokens; None for the whole sequence.
    input_bias, output_bias : bool
        Whether the projections to queries, keys and values, and the one back, have biases.
    query_key_norm : {"none", "head", "all"}
        Norms of queries and keys: none, one weight per element of a head, or one per element of all heads.
    sinks : bool
        Whether each head has a learned sink (gpt-oss).
    soft_cap : bool
        Whether scores are capped by a tanh (Gemma-2).
    score_dropout, output_dropout : bool
        Whether there is dropout on the softmax, and behind the output projection.
    """

    hidden_size: int
    heads: int
    key_value_heads: int
    head_size: int
    window: int | None = None
    input_bias: bool = False
    output_bias: bool = False
    query_key_norm: Literal["none", "head", "all"] = "none"
    sinks: bool = False
    soft_cap: bool = False
    score_dropout: bool = False
    output_dropout: bool = False

    @property
    def kind(self) -> str:
        """Part of a signature: what tokens see."""
        return "full" if self.window is None else f"sliding-{self.window}"

    def costs(self) -> Costs:
        """Count projections, scores and kept tensors, without the block's input."""
        queries, keys = self.heads * self.head_size, self.key_value_heads * self.head_size
        total = (
            linear(self.hidden_size, queries, bias=self.input_bias)
            + linear(self.hidden_size, keys, bias=self.input_bias)
            + linear(self.hidden_size, keys, bias=self.input_bias)
            + linear(queries, self.hidden_size, bias=self.output_bias)
            + attention_scores(
                self.heads, self.head_size, self.head_size, dropout=self.score_dropout, soft_cap=self.soft_cap
            )
            + kept(2 * queries + 2 * keys)
            + dropout(self.hidden_size, active=self.output_dropout)
            + Costs(key_value_heads=self.key_value_heads, key_value_bytes_per_token=HALF_PRECISION_BYTES * 2 * keys)
        )
        if self.query_key_norm == "head":
            total += norm(2 * self.head_size) + kept(queries + keys)
        elif self.query_key_norm == "all":
            total += norm(queries + keys) + kept(queries + keys)
        if self.sinks:
            total += Costs(parameters=self.heads)
        return total


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, section 2.1).

    Attributes
    ----------
    hidden_size, heads : int
        Width of the layer, number of heads.
    query_rank : int or None
        Width of the compressed queries; None where queries are not compressed.
    key_value_rank : int
        Width of the compressed keys and values.
    plain_size, rotary_size, value_size : int
        Per head: width of a key without position, of its shared rotary part, and of a value.
    bias : bool
        Whether the compressing projections and the output projection have biases.
    score_dropout : bool
        Whether there is dropout on the softmax.
    """

    hidden_size: int
    heads: int
    query_rank: int | None
    key_value_rank: int
    plain_size: int
    rotary_size: int
    value_size: int
    bias: bool = False
    score_dropout: bool = False

    @property
    def window(self) -> None:
        """Latent attention sees the whole sequence."""
        return

    @property
    def kind(self) -> str:
        """Part of a signature: what tokens see."""
        return "full"

    def costs(self) -> Costs:
        """Count projections, scores and kept tensors, without the block's input."""
        key_size = self.plain_size + self.rotary_size
        keys, values = self.heads * key_size, self.heads * self.value_size
        if self.query_rank is None:
            queries = linear(self.hidden_size, keys)
        else:
            queries = (
                linear(self.hidden_size, self.query_rank, bias=self.bias)
                + norm(self.query_rank)
                + linear(self.query_rank, keys)
                + kept(2 * self.query_rank)
            )
        return (
            queries
            # The shared rotary part of the keys is projected next to the compressed vector.
            + linear(self.hidden_size, self.key_value_rank + self.rotary_size, bias=self.bias)
            + norm(self.key_value_rank)
            + linear(self.key_value_rank, self.heads * (self.plain_size + self.value_size))
            + linear(values, self.hidden_size, bias=self.bias)
            + attention_scores(self.heads, key_size, self.value_size, dropout=self.score_dropout, soft_cap=False)
            + kept(2 * self.key_value_rank + 2 * keys + 2 * values)
            + Costs(key_value_heads=self.heads, key_value_bytes_per_token=HALF_PRECISION_BYTES * (keys + values))
        )


@dataclass(frozen=True, slots=True)
class Mamba:
    """Selective state space (Mamba), with norms of the low-rank vectors as in Jamba.

    Attributes
    ----------
    hidden_size, channels, states : int
        Width of the layer and of the mixer, and states per channel.
    step_rank : int
        Width of the low-rank vector from which the step size ``delta`` is projected.
    convolution : int
        Width of the causal convolution, in tokens.
    convolution_bias, projection_bias : bool
        Whether the convolution, and the projections in and out, have biases.
    """

    hidden_size: int
    channels: int
    states: int
    step_rank: int
    convolution: int
    convolution_bias: bool
    projection_bias: bool

    @property
    def window(self) -> None:
        """It has no attention, so no window."""
        return

    @property
    def kind(self) -> str:
        """Part of a signature."""
        return "mamba"

    def costs(self) -> Costs:
        """Count projections, convolution, scan and kept tensors, without the block's input."""
        low_rank = self.step_rank + 2 * self.states
        convolution = self.channels * self.convolution
        return (
            linear(self.hidden_size, 2 * self.channels, bias=self.projection_bias)
            + Costs(
                parameters=convolution + (self.channels if self.convolution_bias else 0),
                linear_flops_per_token=2 * convolution,
            )
            + linear(self.channels, low_rank)
            + norm(low_rank)
            + linear(self.step_rank, self.channels, bias=True)
            + Costs(
                parameters=self.channels * self.states + self.channels,
                linear_flops_per_token=8 * self.channels * self.states + 2 * self.channels,
            )
            + linear(self.channels, self.hidden_size, bias=self.projection_bias)
            + kept(7 * self.channels + 2 * low_rank)
        )
