"""Whatever is wrong with a config is refused in one sentence that starts with the path."""

import pytest

from tangram_opt.data.model import AtomRun, Model
from tangram_opt.errors import InputError
from tangram_opt.models import families, model_from_config


def refusal(config: object) -> str:
    with pytest.raises(InputError) as caught:
        model_from_config(config, "model")  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("llama-3-8b", {"num_hidden_layers": ...}, "num_hidden_layers: missing, expected a positive integer"),
        ("llama-3-8b", {"num_hidden_layers": 0}, "num_hidden_layers: 0, expected a positive integer"),
        ("llama-3-8b", {"num_hidden_layers": -3}, "num_hidden_layers: -3, expected a positive integer"),
        ("llama-3-8b", {"num_hidden_layers": "32"}, 'num_hidden_layers: "32", expected a positive integer'),
        ("llama-3-8b", {"num_hidden_layers": 32.0}, "num_hidden_layers: 32.0, expected a positive integer"),
        ("llama-3-8b", {"num_hidden_layers": True}, "num_hidden_layers: true, expected a positive integer"),
        ("llama-3-8b", {"num_hidden_layers": None}, "num_hidden_layers: null, expected a positive integer"),
        ("llama-3-8b", {"hidden_size": float("nan")}, "hidden_size: NaN, expected a positive integer"),
        ("llama-3-8b", {"hidden_size": float("inf")}, "hidden_size: Infinity, expected a positive integer"),
        ("llama-3-8b", {"hidden_size": [4096]}, "hidden_size: [4096], expected a positive integer"),
        ("llama-3-8b", {"vocab_size": 10**30}, f"vocab_size: {10**30}, expected at most 2147483647"),
        ("llama-3-8b", {"num_hidden_layers": 10**9}, "num_hidden_layers: 1000000000, expected at most 1000"),
        (
            "llama-3-8b",
            {"num_key_value_heads": 7},
            "num_key_value_heads: 7, expected a divisor of num_attention_heads (32)",
        ),
        (
            "llama-3-8b",
            {"num_attention_heads": 33},
            "num_attention_heads: 33, expected a divisor of hidden_size (4096)",
        ),
        ("llama-3-8b", {"tie_word_embeddings": "no"}, 'tie_word_embeddings: "no", expected true or false'),
        (
            "llama-3-8b",
            {"attention_dropout": 1.5},
            "attention_dropout: 1.5, expected a number of at least 0 and below 1",
        ),
        (
            "llama-3-8b",
            {"attention_dropout": float("nan")},
            "attention_dropout: NaN, expected a number of at least 0 and below 1",
        ),
        (
            "mistral-7b-v0.1",
            {"num_key_value_heads": ...},
            "num_key_value_heads: missing, expected a positive integer or null",
        ),
        ("mistral-7b-v0.1", {"sliding_window": 0}, "sliding_window: 0, expected a positive integer or null"),
        ("gemma-2-2b", {"layer_types": ["full_attention"]}, "layer_types: 1 entries, expected num_hidden_layers (26)"),
        (
            "gemma-2-2b",
            {"layer_types": ["full_attention", "chunked_attention"]},
            "layer_types[1]: \"chunked_attention\", expected 'full_attention' or 'sliding_attention' for each layer",
        ),
        ("gpt2", {"n_head": 7}, "n_head: 7, expected a divisor of n_embd (768)"),
        (
            "gpt-neox-20b",
            {"num_attention_heads": 7},
            "num_attention_heads: 7, expected a divisor of hidden_size (6144)",
        ),
        ("falcon-7b", {"num_attention_heads": 7}, "num_attention_heads: 7, expected a divisor of hidden_size (4544)"),
        (
            "falcon-7b",
            {"new_decoder_architecture": True, "num_kv_heads": 2},
            "num_kv_heads: 2, expected a divisor of num_attention_heads (71)",
        ),
        ("olmoe-1b-7b", {"intermediate_size": ...}, "intermediate_size: missing, expected a positive integer"),
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "num_experts_per_tok: 9, expected at most num_local_experts (8)"),
        ("qwen3-30b-a3b", {"num_experts_per_tok": 129}, "num_experts_per_tok: 129, expected at most num_experts (128)"),
        ("moe-2.4b", {"num_experts_per_tok": 17}, "num_experts_per_tok: 17, expected at most num_experts (16)"),
        ("jamba-v0.1", {"num_experts_per_tok": 17}, "num_experts_per_tok: 17, expected at most num_experts (16)"),
        (
            "deepseek-v3",
            {"num_experts_per_tok": 257},
            "num_experts_per_tok: 257, expected at most n_routed_experts (256)",
        ),
        ("deepseek-v3", {"kv_lora_rank": ...}, "kv_lora_rank: missing, expected a positive integer"),
        ("deepseek-v3", {"first_k_dense_replace": -1}, "first_k_dense_replace: -1, expected a non-negative integer"),
        (
            "jamba-v0.1",
            {"mamba_dt_rank": "small"},
            "mamba_dt_rank: \"small\", expected a positive integer or 'auto' (a sixteenth of the hidden size)",
        ),
        (
            "jamba-v0.1",
            {"attn_layer_offset": 8},
            "attn_layer_offset: 8, expected at most attn_layer_period minus 1 (7)",
        ),
        ("dbrx-base", {"attn_config": ...}, "attn_config: missing, expected the object that describes attention"),
        ("dbrx-base", {"attn_config": 8}, "attn_config: 8, expected the object that describes attention"),
        ("dbrx-base", {"attn_config": {}}, "attn_config.kv_n_heads: missing, expected a positive integer"),
        (
            "dbrx-base",
            {"attn_config": {"kv_n_heads": 9}},
            "attn_config.kv_n_heads: 9, expected a divisor of n_heads (48)",
        ),
        (
            "dbrx-base",
            {"ffn_config": {"ffn_hidden_size": 8, "moe_num_experts": 2, "moe_top_k": 3}},
            "ffn_config.moe_top_k: 3, expected at most ffn_config.moe_num_experts (2)",
        ),
        (
            "qwen3-30b-a3b",
            {"mlp_only_layers": [0, -1]},
            "mlp_only_layers[1]: -1, expected a list of layers, counted from 0",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(config, name, changes, sentence):
    assert refusal(config(name, **changes)) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ({}, "text_config.hidden_size: missing, expected a positive integer"),
        (
            {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 8, "num_key_value_heads": 3},
            "text_config.num_key_value_heads: 3, expected a divisor of num_attention_heads (8)",
        ),
    ],
)
def test_paths_lead_into_the_text_config(text, sentence):
    assert refusal({"model_type": "gemma3", "text_config": text}) == sentence


def test_an_unknown_family_is_refused_with_the_nearest():
    assert refusal({"model_type": "lama"}).startswith('model_type: "lama" is not supported, expected for example llama')
    assert "qwen3_moe" in refusal({"model_type": "Qwen3-MoE"})


def test_a_family_like_no_other_is_refused_with_all():
    assert all(family in refusal({"model_type": "zzzz"}) for family in families())
    assert all(family in refusal({}) for family in families())


@pytest.mark.parametrize("value", [7, ["llama"], {"a": 1}, float("nan")])
def test_a_family_that_is_no_text_is_refused(value):
    assert refusal({"model_type": value}).startswith("model_type: ")


@pytest.mark.parametrize("config", [[], "llama", None, 3])
def test_a_config_that_is_no_object_is_refused(config):
    assert refusal(config).endswith("expected an object")


def test_long_values_are_cut(config):
    assert len(refusal(config("llama-3-8b", hidden_size=[1] * 1000))) < 150


def test_keys_without_effect_are_ignored(config):
    noise = {"torch_dtype": "bfloat16", "rope_scaling": {"factor": 8}, "architectures": None}
    assert model_from_config(config("llama-3-8b") | noise, "m") == model_from_config(config("llama-3-8b"), "m")


def test_a_model_of_too_many_atoms_is_refused(layers) -> None:
    with pytest.raises(ValueError, match=r"^runs: 1003 atoms, expected at most 1002$"):
        Model("deep", "llama", (AtomRun(layers("llama-3-8b")[0], 1003),))
