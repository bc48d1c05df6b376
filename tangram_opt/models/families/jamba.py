"""Jamba: Mamba layers with attention among them, and experts in some of either."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tangram_opt.models.families.base import Count, Decoder, Flag, OptionalSize, Size, check_at_most
from tangram_opt.models.feed_forward import MixtureOfExperts, Mlp
from tangram_opt.models.mixers import Attention, LatentAttention, Mamba


class Jamba(Decoder):
    """Jamba: one attention layer and some layers with experts in each period."""

    num_key_value_heads: OptionalSize
    attn_layer_period: Size
    attn_layer_offset: Count
    num_experts: Size
    num_experts_per_tok: Size
    expert_layer_period: Size
    expert_layer_offset: Count
    mamba_d_state: Size
    mamba_d_conv: Size
    mamba_expand: Size
    mamba_dt_rank: Annotated[
        Size | Literal["auto"], Field(description="a positive integer or 'auto' (a sixteenth of the hidden size)")
    ] = "auto"
    mamba_conv_bias: Flag = True
    mamba_proj_bias: Flag = False

    @model_validator(mode="after")
    def _check_layers(self) -> Jamba:
        check_at_most("num_experts_per_tok", self.num_experts_per_tok, "num_experts", self.num_experts)
        check_at_most(
            "attn_layer_offset", self.attn_layer_offset, "attn_layer_period minus 1", self.attn_layer_period - 1
        )
        check_at_most(
            "expert_layer_offset", self.expert_layer_offset, "expert_layer_period minus 1", self.expert_layer_period - 1
        )
        return self

    def mixer(self, layer: int) -> Attention | LatentAttention | Mamba:
        """Attention once in each period, else Mamba."""
        if layer % self.attn_layer_period == self.attn_layer_offset:
            return super().mixer(layer)
        sixteenth = -(-self.hidden_size // 16)
        return Mamba(
            hidden_size=self.hidden_size,
            channels=self.mamba_expand * self.hidden_size,
            states=self.mamba_d_state,
            step_rank=sixteenth if self.mamba_dt_rank == "auto" else self.mamba_dt_rank,
            convolution=self.mamba_d_conv,
            convolution_bias=self.mamba_conv_bias,
            projection_bias=self.mamba_proj_bias,
        )

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:
        """Experts once in each of their periods; a single expert is an ordinary MLP."""
        if self.num_experts == 1 or layer % self.expert_layer_period != self.expert_layer_offset:
            return self.mlp(self.intermediate_size)
        return MixtureOfExperts(self.mlp(self.intermediate_size), self.num_experts, self.num_experts_per_tok)
