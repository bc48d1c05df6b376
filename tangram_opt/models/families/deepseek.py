"""DeepSeek-V2 and V3: latent attention, leading dense layers, shared experts."""

from __future__ import annotations

from pydantic import model_validator

from tangram_opt.models.families.base import (
    Count,
    Decoder,
    Flag,
    OptionalCount,
    OptionalSize,
    Size,
    check_at_most,
)
from tangram_opt.models.feed_forward import MixtureOfExperts, Mlp
from tangram_opt.models.mixers import LatentAttention


class _Deepseek(Decoder):
    """Latent attention in every layer; dense layers first, then experts.

    Queries are compressed to 1536 unless ``q_lora_rank`` says otherwise: only an explicit null, as in V2-Lite, means
    that they are not compressed.
    """

    q_lora_rank: OptionalSize = 1536
    kv_lora_rank: Size
    qk_nope_head_dim: Size
    qk_rope_head_dim: Size
    v_head_dim: Size
    attention_bias: Flag = False
    moe_intermediate_size: Size
    n_routed_experts: Size
    num_experts_per_tok: Size
    n_shared_experts: OptionalCount
    first_k_dense_replace: Count
    moe_layer_freq: Size = 1

    @model_validator(mode="after")
    def _check_experts(self) -> _Deepseek:
        check_at_most("num_experts_per_tok", self.num_experts_per_tok, "n_routed_experts", self.n_routed_experts)
        return self

    def mixer(self, layer: int) -> LatentAttention:  # noqa: ARG002 (all layers are alike)
        """Latent attention; the number of key heads in the file has no effect on it."""
        return LatentAttention(
            hidden_size=self.hidden_size,
            heads=self.num_attention_heads,
            query_rank=self.q_lora_rank,
            key_value_rank=self.kv_lora_rank,
            plain_size=self.qk_nope_head_dim,
            rotary_size=self.qk_rope_head_dim,
            value_size=self.v_head_dim,
            bias=self.attention_bias,
            score_dropout=self.attention_dropout > 0,
        )

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:
        """Experts from layer ``first_k_dense_replace`` on, in every ``moe_layer_freq``-th layer."""
        if layer < self.first_k_dense_replace or layer % self.moe_layer_freq:
            return self.mlp(self.intermediate_size)
        shared = self.n_shared_experts or 0
        return MixtureOfExperts(
            self.mlp(self.moe_intermediate_size),
            self.n_routed_experts,
            self.num_experts_per_tok,
            shared=self.mlp(shared * self.moe_intermediate_size) if shared else None,
        )


class DeepseekV2(_Deepseek):
    """DeepSeek-V2."""


class DeepseekV3(_Deepseek):
    """DeepSeek-V3 and R1: the main model, without the multi-token prediction module.

    The score-correction bias of its router is set by a rule, not by gradients, so it is no parameter.
    """
