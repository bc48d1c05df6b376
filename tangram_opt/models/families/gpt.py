"""Decoders with layer norms and plain MLPs: GPT-2 (and GPT-3), GPT-NeoX, Falcon."""

from __future__ import annotations

from pydantic import model_validator

from tangram_opt.models.architecture import (
    PARALLEL_ONE_NORM,
    PARALLEL_TWO_NORMS,
    SEQUENTIAL,
    Architecture,
    Layer,
    Layout,
)
from tangram_opt.models.families.base import Config, Flag, LayerCount, OptionalSize, Rate, Size, check_divides
from tangram_opt.models.feed_forward import Mlp
from tangram_opt.models.mixers import Attention


class Gpt2(Config):
    """GPT-2, and GPT-3 (which alternates dense and sparse attention; here all of it is dense, as in Megatron-LM)."""

    n_embd: Size
    n_layer: LayerCount
    n_head: Size
    n_positions: Size
    n_inner: OptionalSize = None
    vocab_size: Size
    attn_pdrop: Rate = 0.1
    resid_pdrop: Rate = 0.1
    embd_pdrop: Rate = 0.1
    tie_word_embeddings: Flag = True

    @model_validator(mode="after")
    def _check_heads(self) -> Gpt2:
        check_divides("n_head", self.n_head, "n_embd", self.n_embd)
        return self

    def architecture(self) -> Architecture:
        """Describe the model in blocks."""
        residual_dropout = self.resid_pdrop > 0
        attention = Attention(
            hidden_size=self.n_embd,
            heads=self.n_head,
            key_value_heads=self.n_head,
            head_size=self.n_embd // self.n_head,
            input_bias=True,
            output_bias=True,
            score_dropout=self.attn_pdrop > 0,
            output_dropout=residual_dropout,
        )
        mlp = Mlp(
            self.n_embd,
            4 * self.n_embd if self.n_inner is None else self.n_inner,
            gated=False,
            bias=True,
            output_dropout=residual_dropout,
        )
        return Architecture(
            hidden_size=self.n_embd,
            vocabulary=self.vocab_size,
            layers=(Layer(attention, mlp, norm_bias=True),) * self.n_layer,
            tied=self.tie_word_embeddings,
            positions=self.n_positions,
            norm_bias=True,
            embedding_dropout=self.embd_pdrop > 0,
        )


class GptNeox(Config):
    """GPT-NeoX and Pythia: attention and MLP in parallel, each behind a norm of its own."""

    hidden_size: Size
    num_hidden_layers: LayerCount
    num_attention_heads: Size
    intermediate_size: Size
    vocab_size: Size
    attention_bias: Flag = True
    attention_dropout: Rate = 0.0
    hidden_dropout: Rate = 0.0
    use_parallel_residual: Flag = True
    tie_word_embeddings: Flag = False

    @model_validator(mode="after")
    def _check_heads(self) -> GptNeox:
        check_divides("num_attention_heads", self.num_attention_heads, "hidden_size", self.hidden_size)
        return self

    def architecture(self) -> Architecture:
        """Describe the model in blocks."""
        hidden_dropout = self.hidden_dropout > 0
        attention = Attention(
            hidden_size=self.hidden_size,
            heads=self.num_attention_heads,
            key_value_heads=self.num_attention_heads,
            head_size=self.hidden_size // self.num_attention_heads,
            input_bias=self.attention_bias,
            output_bias=self.attention_bias,
            score_dropout=self.attention_dropout > 0,
            output_dropout=hidden_dropout,
        )
        mlp = Mlp(self.hidden_size, self.intermediate_size, gated=False, bias=True, output_dropout=hidden_dropout)
        layout = PARALLEL_TWO_NORMS if self.use_parallel_residual else SEQUENTIAL
        return Architecture(
            hidden_size=self.hidden_size,
            vocabulary=self.vocab_size,
            layers=(Layer(attention, mlp, layout, norm_bias=True),) * self.num_hidden_layers,
            tied=self.tie_word_embeddings,
            norm_bias=True,
            embedding_dropout=hidden_dropout,
        )


class Falcon(Config):
    """Falcon: one key head in the old decoder, ``num_kv_heads`` in the new one.

    The new decoder is always parallel. Where its config says ``parallel_attn`` false none the less, the library makes
    a norm that it never runs; it is not counted.
    """

    hidden_size: Size
    num_hidden_layers: LayerCount
    num_attention_heads: Size
    num_kv_heads: OptionalSize = None
    ffn_hidden_size: OptionalSize = None
    vocab_size: Size
    new_decoder_architecture: Flag = False
    multi_query: Flag = True
    parallel_attn: Flag = True
    num_ln_in_parallel_attn: OptionalSize = None
    bias: Flag = False
    attention_dropout: Rate = 0.0
    hidden_dropout: Rate = 0.0
    tie_word_embeddings: Flag = True

    @model_validator(mode="after")
    def _check_heads(self) -> Falcon:
        check_divides("num_attention_heads", self.num_attention_heads, "hidden_size", self.hidden_size)
        check_divides("num_kv_heads", self.key_value_heads, "num_attention_heads", self.num_attention_heads)
        return self

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values; ``multi_query`` counts in the old decoder only."""
        if self.multi_query and not self.new_decoder_architecture:
            return 1
        return self.num_attention_heads if self.num_kv_heads is None else self.num_kv_heads

    @property
    def layout(self) -> Layout:
        """The new decoder has two norms unless the config says one; the old parallel one has one."""
        if self.new_decoder_architecture:
            return PARALLEL_ONE_NORM if self.num_ln_in_parallel_attn == 1 else PARALLEL_TWO_NORMS
        return PARALLEL_ONE_NORM if self.parallel_attn else SEQUENTIAL

    def architecture(self) -> Architecture:
        """Describe the model in blocks."""
        layout, hidden_dropout = self.layout, self.hidden_dropout > 0
        attention = Attention(
            hidden_size=self.hidden_size,
            heads=self.num_attention_heads,
            key_value_heads=self.key_value_heads,
            head_size=self.hidden_size // self.num_attention_heads,
            input_bias=self.bias,
            output_bias=self.bias,
            score_dropout=self.attention_dropout > 0,
            # Side by side, attention and MLP are added first and share one dropout.
            output_dropout=hidden_dropout and layout is SEQUENTIAL,
        )
        mlp = Mlp(
            self.hidden_size,
            4 * self.hidden_size if self.ffn_hidden_size is None else self.ffn_hidden_size,
            gated=False,
            bias=self.bias,
            output_dropout=hidden_dropout,
        )
        return Architecture(
            hidden_size=self.hidden_size,
            vocabulary=self.vocab_size,
            layers=(Layer(attention, mlp, layout, norm_bias=True),) * self.num_hidden_layers,
            tied=self.tie_word_embeddings,
            norm_bias=True,
        )
