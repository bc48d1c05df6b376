"""Decoders with mixtures of experts: Mixtral, Qwen3-MoE, OLMoE, Phi-MoE, DBRX, gpt-oss, GShard."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from tangram_opt.models.architecture import Architecture, Layer
from tangram_opt.models.families.base import (
    BiasedDecoder,
    Config,
    Count,
    Decoder,
    Flag,
    LayerCount,
    OptionalSize,
    Rate,
    Size,
    WindowedDecoder,
    check_at_most,
    check_divides,
)
from tangram_opt.models.feed_forward import MixtureOfExperts, Mlp
from tangram_opt.models.mixers import Attention


class _LocalExperts(WindowedDecoder):
    """The key names of Mixtral: every layer has experts of ``intermediate_size``."""

    router_bias: ClassVar[bool] = False

    num_key_value_heads: OptionalSize
    num_local_experts: Size
    num_experts_per_tok: Size

    @model_validator(mode="after")
    def _check_experts(self) -> _LocalExperts:
        check_at_most("num_experts_per_tok", self.num_experts_per_tok, "num_local_experts", self.num_local_experts)
        return self

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:  # noqa: ARG002 (all layers are alike)
        """Experts in every layer."""
        return MixtureOfExperts(
            self.mlp(self.intermediate_size),
            self.num_local_experts,
            self.num_experts_per_tok,
            router_bias=self.router_bias,
        )


class Mixtral(_LocalExperts):
    """Mixtral."""


class PhiMoe(_LocalExperts, BiasedDecoder):
    """Phi-3.5-MoE: layer norms with biases instead of RMS norms, and a head that may have a bias."""

    norm_bias: ClassVar[bool] = True

    lm_head_bias: Flag = False

    @property
    def head_bias(self) -> bool:
        """From ``lm_head_bias``."""
        return self.lm_head_bias


class GptOss(_LocalExperts, BiasedDecoder):
    """gpt-oss: biases everywhere, a learned sink per head, every other layer slides, from the first on."""

    router_bias: ClassVar[bool] = True
    sinks: ClassVar[bool] = True

    attention_bias: Flag = True
    head_dim: OptionalSize = 64
    sliding_window: OptionalSize = 128

    def slides(self, layer: int) -> bool:
        """Even layers."""
        return layer % 2 == 0

    def mlp(self, inner_size: int) -> Mlp:
        """Gated expert with biases."""
        return Mlp(self.hidden_size, inner_size, gated=True, bias=True)


class _Experts(BiasedDecoder):
    """The key names of OLMoE and Qwen3-MoE."""

    num_experts: Size
    num_experts_per_tok: Size

    @model_validator(mode="after")
    def _check_experts(self) -> _Experts:
        check_at_most("num_experts_per_tok", self.num_experts_per_tok, "num_experts", self.num_experts)
        return self


class Olmoe(_Experts):
    """OLMoE: experts of ``intermediate_size`` in every layer, norms over all queries and all keys."""

    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "all"

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:  # noqa: ARG002 (all layers are alike)
        """Experts in every layer."""
        return MixtureOfExperts(self.mlp(self.intermediate_size), self.num_experts, self.num_experts_per_tok)


class Qwen3Moe(_Experts, WindowedDecoder):
    """Qwen3-MoE: dense layers where ``mlp_only_layers`` or ``decoder_sparse_step`` says so."""

    query_key_norm: ClassVar[Literal["none", "head", "all"]] = "head"

    num_key_value_heads: OptionalSize
    moe_intermediate_size: Size
    decoder_sparse_step: Size = 1
    mlp_only_layers: Annotated[list[Count] | None, Field(description="a list of layers, counted from 0")] = None
    use_sliding_window: Flag = False
    sliding_window: OptionalSize = 4096

    def window(self, layer: int) -> int | None:
        """No layer slides unless ``use_sliding_window`` is set."""
        return super().window(layer) if self.use_sliding_window else None

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:
        """Experts in every ``decoder_sparse_step``-th layer that is not listed as dense."""
        if layer in (self.mlp_only_layers or ()) or (layer + 1) % self.decoder_sparse_step:
            return self.mlp(self.intermediate_size)
        return MixtureOfExperts(self.mlp(self.moe_intermediate_size), self.num_experts, self.num_experts_per_tok)


class _DbrxAttention(BaseModel):
    model_config = Config.model_config

    kv_n_heads: Size
    attn_pdrop: Rate = 0.0


class _DbrxExperts(BaseModel):
    model_config = Config.model_config

    ffn_hidden_size: Size
    moe_num_experts: Size
    moe_top_k: Size


class Dbrx(Config):
    """DBRX: layer norms without biases; attention and experts are described by nested objects."""

    d_model: Size
    n_heads: Size
    n_layers: LayerCount
    vocab_size: Size
    attn_config: Annotated[_DbrxAttention, Field(description="the object that describes attention")]
    ffn_config: Annotated[_DbrxExperts, Field(description="the object that describes the experts")]
    resid_pdrop: Rate = 0.0
    emb_pdrop: Rate = 0.0
    tie_word_embeddings: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Dbrx:
        check_divides("n_heads", self.n_heads, "d_model", self.d_model)
        check_divides("attn_config.kv_n_heads", self.attn_config.kv_n_heads, "n_heads", self.n_heads)
        check_at_most(
            "ffn_config.moe_top_k",
            self.ffn_config.moe_top_k,
            "ffn_config.moe_num_experts",
            self.ffn_config.moe_num_experts,
        )
        return self

    def architecture(self) -> Architecture:
        """Describe the model in blocks."""
        attention = Attention(
            hidden_size=self.d_model,
            heads=self.n_heads,
            key_value_heads=self.attn_config.kv_n_heads,
            head_size=self.d_model // self.n_heads,
            score_dropout=self.attn_config.attn_pdrop > 0,
            output_dropout=self.resid_pdrop > 0,
        )
        experts = MixtureOfExperts(
            Mlp(self.d_model, self.ffn_config.ffn_hidden_size, gated=True),
            self.ffn_config.moe_num_experts,
            self.ffn_config.moe_top_k,
            output_dropout=self.resid_pdrop > 0,
        )
        return Architecture(
            hidden_size=self.d_model,
            vocabulary=self.vocab_size,
            layers=(Layer(attention, experts),) * self.n_layers,
            tied=self.tie_word_embeddings,
            embedding_dropout=self.emb_pdrop > 0,
        )


class GshardMoe(Decoder):
    """GShard (Lepikhin et al. 2020) as a decoder, in the shape that Alpa's benchmark trains; a family of our own.

    Even layers have experts, odd ones a dense MLP of ``intermediate_size``. Every expert is an MLP of
    ``moe_intermediate_size`` without biases; dense layers have biases. Embedding and head are two matrices, and
    there are no learned positions, no final norm and no dropout. Each token visits ``num_experts_per_tok`` of
    ``num_experts`` experts; the capacity limit, which drops tokens, is not counted.
    """

    norm_bias: ClassVar[bool] = True
    final_norm: ClassVar[bool] = False

    moe_intermediate_size: Size
    num_experts: Size
    num_experts_per_tok: Size

    @model_validator(mode="after")
    def _check_experts(self) -> GshardMoe:
        check_at_most("num_experts_per_tok", self.num_experts_per_tok, "num_experts", self.num_experts)
        return self

    @property
    def input_bias(self) -> bool:
        """Always."""
        return True

    @property
    def output_bias(self) -> bool:
        """Always."""
        return True

    def feed_forward(self, layer: int) -> Mlp | MixtureOfExperts:
        """Experts in even layers."""
        if layer % 2:
            return Mlp(self.hidden_size, self.intermediate_size, gated=False, bias=True)
        expert = Mlp(self.hidden_size, self.moe_intermediate_size, gated=False)
        return MixtureOfExperts(expert, self.num_experts, self.num_experts_per_tok)
