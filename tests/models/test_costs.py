"""Operations, activations, windows and signatures, against values counted by hand from the cited formulas."""

from itertools import pairwise

import pytest

from tangram_opt.models import families, model_from_config

ALL = [
    "dbrx-base",
    "deepseek-v2-lite",
    "deepseek-v3",
    "falcon-7b",
    "gemma-2-2b",
    "gemma-3-1b",
    "gpt-neox-20b",
    "gpt-oss-120b",
    "gpt2",
    "jamba-v0.1",
    "llama-3-8b",
    "mistral-7b-v0.1",
    "mixtral-8x7b",
    "moe-2.4b",
    "olmo-2-13b",
    "olmoe-1b-7b",
    "phi-3-mini",
    "phi-3.5-moe",
    "qwen2.5-7b",
    "qwen3-30b-a3b",
    "qwen3-8b",
]


def test_the_list_holds_every_family_but_the_multimodal_wrapper(model):
    assert {model(name).family for name in ALL} == set(families()) - {"gemma3"}


@pytest.mark.parametrize(
    ("name", "published"), [("gpt3-6.7b", 11_307_377_580_048_384), ("gpt3-13b", 21_522_940_113_715_200)]
)
def test_gpt_3_operations_per_iteration_are_those_of_the_papers_sources(model, name, published):
    """Equal to the last operation: neither counts biases, and both count the head."""
    assert model(name).flops_per_token(2048) * 128 * 2048 == published


@pytest.mark.parametrize(
    ("name", "hidden", "published"),
    [
        ("moe-2.4b", 1024, 474_499_396_927_488),
        ("moe-7.1b", 1280, 708_695_373_643_776),
        ("moe-10b", 1536, 988_967_759_511_552),
    ],
)
def test_gshard_operations_are_alpas_without_its_one_hot_dispatch(model, name, hidden, published):
    """Alpa's GShard also multiplies one-hot dispatch matrices of groups of 2048 tokens, as no modern runtime does."""
    group, moe_layers = 2048, 8
    dispatch = 3 * moe_layers * (2 * 2 * group + 2 * 2 * 2 * group * hidden)
    assert 128 * 1024 * (model(name).flops_per_token(1024) + dispatch) == published


def test_a_gpt_layer_keeps_34_bytes_per_hidden_value_and_5_per_pair_and_head(layers):
    for name, hidden, heads in [("gpt3-6.7b", 4096, 32), ("gpt3-13b", 5120, 40), ("gpt2", 768, 12)]:
        atom = layers(name)[0]
        assert atom.activation_bytes_per_token == 34 * hidden
        assert atom.attention_activation_bytes_per_pair == 5 * heads


def test_masks_go_with_the_dropout(layers):
    atom = layers("gpt3-13b", resid_pdrop=0, attn_pdrop=0.0)[0]
    assert atom.activation_bytes_per_token == 32 * 5120
    assert atom.attention_activation_bytes_per_pair == 2 * 40


@pytest.mark.parametrize(
    ("name", "key", "hidden", "masks"),
    [
        ("gpt2", "resid_pdrop", 768, 2),
        ("phi-3-mini", "resid_pdrop", 3072, 2),
        ("dbrx-base", "resid_pdrop", 6144, 2),
        ("gpt-neox-20b", "hidden_dropout", 6144, 2),
        ("falcon-7b", "hidden_dropout", 4544, 1),  # attention and MLP are added before it
    ],
)
def test_residual_dropout_keeps_a_mask_for_each_time_it_runs(layers, name, key, hidden, masks):
    with_dropout, without = layers(name, **{key: 0.1})[0], layers(name, **{key: 0})[0]
    assert with_dropout.activation_bytes_per_token == without.activation_bytes_per_token + masks * hidden


@pytest.mark.parametrize(
    ("name", "key", "hidden"),
    [
        ("gpt2", "embd_pdrop", 768),
        ("phi-3-mini", "embd_pdrop", 3072),
        ("dbrx-base", "emb_pdrop", 6144),
        ("gpt-neox-20b", "hidden_dropout", 6144),
    ],
)
def test_embedding_dropout_keeps_a_mask(model, name, key, hidden):
    assert model(name, **{key: 0.1}).runs[0].atom.activation_bytes_per_token == 8 + hidden
    assert model(name, **{key: 0}).runs[0].atom.activation_bytes_per_token == 8


def test_a_llama_layer_by_hand(layers):
    hidden, inner, keys, heads = 4096, 14_336, 8 * 128, 32
    atom = layers("llama-3-8b")[0]
    weights = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * inner
    assert atom.parameters == weights + 2 * hidden
    assert atom.linear_flops_per_token == 2 * weights
    assert atom.attention_flops_per_pair == 4 * hidden
    # Two norms' and two blocks' inputs, q, k, v, attention's result, gate, up, product.
    values = 4 * hidden + hidden + keys + keys + hidden + 3 * inner
    assert atom.activation_bytes_per_token == 2 * values
    assert atom.attention_activation_bytes_per_pair == 2 * heads
    assert atom.key_value_bytes_per_token == 2 * 2 * keys
    assert (atom.attention_heads, atom.key_value_heads) == (heads, 8)
    assert atom.input_bytes_per_token == 2 * hidden


def test_a_mixtral_layer_differs_from_a_dense_one_by_its_experts_alone(layers):
    hidden, inner = 4096, 14_336
    moe, dense = layers("mixtral-8x7b")[0], layers("mixtral-8x7b", model_type="llama")[0]
    expert, router = 3 * hidden * inner, 8 * hidden
    assert moe.expert_parameters == 8 * expert
    assert moe.parameters == dense.parameters - expert + router
    assert moe.expert_flops_per_token == 2 * 2 * expert
    assert moe.linear_flops_per_token == dense.linear_flops_per_token - 2 * expert + 2 * router
    routed_copy = 2 * (hidden + 3 * inner + hidden)
    assert moe.activation_bytes_per_token == dense.activation_bytes_per_token - 2 * 3 * inner + 2 * routed_copy + 4 * 8


def test_latent_attention_by_hand(layers):
    hidden, heads, key, value, rank = 2048, 16, 128 + 64, 128, 512
    atom = layers("deepseek-v2-lite")[0]
    products = (
        hidden * heads * key
        + hidden * (rank + 64)
        + rank * heads * (128 + value)
        + heads * value * hidden
        + 3 * hidden * 10_944
    )
    assert atom.linear_flops_per_token == 2 * products
    assert atom.attention_flops_per_pair == 2 * heads * (key + value)
    assert atom.key_value_bytes_per_token == 2 * heads * (key + value)
    values = 4 * hidden + 2 * rank + heads * (2 * key + 2 * value) + 3 * 10_944
    assert atom.activation_bytes_per_token == 2 * values


def test_a_mamba_layer_by_hand(layers):
    hidden, channels, states, rank, convolution = 4096, 8192, 16, 256, 4
    mamba = layers("jamba-v0.1")[0]
    assert mamba.signature == "layer:mamba"
    mixer = hidden * 2 * channels + channels * (rank + 2 * states) + rank * channels + channels * hidden
    scan = 8 * channels * states + 2 * channels + 2 * channels * convolution
    assert mamba.linear_flops_per_token == 2 * (mixer + 3 * hidden * 14_336) + scan
    assert mamba.attention_flops_per_pair == mamba.attention_activation_bytes_per_pair == 0
    assert mamba.attention_heads == mamba.key_value_heads == mamba.key_value_bytes_per_token == 0
    # 2 more vectors of the step's rank, B and C; 7 of the channels; the MLP's 3; the layer's 4.
    values = 2 * (rank + 2 * states) + 7 * channels + 3 * 14_336 + 4 * hidden
    assert mamba.activation_bytes_per_token == 2 * values


def test_jamba_places_attention_and_experts_by_their_periods(layers):
    signatures = [atom.signature for atom in layers("jamba-v0.1")]
    period = ["layer:mamba", "layer:mamba+moe"] * 2 + [
        "layer:full",
        "layer:mamba+moe",
        "layer:mamba",
        "layer:mamba+moe",
    ]
    assert signatures == period * 4


def test_the_automatic_step_rank_of_mamba_is_a_sixteenth_rounded_up(model):
    assert model("jamba-v0.1", mamba_dt_rank=...) == model("jamba-v0.1", mamba_dt_rank=256)
    uneven = {"hidden_size": 4136, "num_attention_heads": 8}
    assert model("jamba-v0.1", **uneven, mamba_dt_rank="auto") == model("jamba-v0.1", **uneven, mamba_dt_rank=259)


def test_a_capped_softmax_keeps_the_capped_scores_too(layers):
    capped, plain = layers("gemma-2-2b")[0], layers("gemma-2-2b", attn_logit_softcapping=None)[0]
    assert capped.attention_activation_bytes_per_pair == 2 * plain.attention_activation_bytes_per_pair == 4 * 8


def test_norms_on_both_sides_keep_two_more_hidden_activations(layers):
    gemma = layers("gemma-3-1b")[5]
    hidden, queries, keys = 1152, 4 * 256, 256
    values = 6 * hidden + 2 * queries + 2 * keys + (queries + keys) + 3 * 6912
    assert gemma.activation_bytes_per_token == 2 * values


def test_parallel_blocks_share_their_input_and_their_all_reduce(layers):
    falcon, neox = layers("falcon-7b")[0], layers("gpt-neox-20b")[0]
    assert falcon.activation_bytes_per_token == 2 * (2 * 4544 + 2 * 4544 + 2 * 64 + 8 * 4544)
    assert neox.activation_bytes_per_token == 2 * (3 * 6144 + 4 * 6144 + 8 * 6144)
    assert falcon.tensor_parallel_all_reduces == neox.tensor_parallel_all_reduces == 1
    in_sequence = layers("gpt-neox-20b", use_parallel_residual=False)[0]
    assert in_sequence.tensor_parallel_all_reduces == 2
    assert in_sequence.parameters == neox.parameters
    assert in_sequence.activation_bytes_per_token == neox.activation_bytes_per_token + 2 * 6144


def test_falcons_heads_leave_no_room_for_tensor_parallelism(layers):
    atom = layers("falcon-7b")[0]
    assert (atom.attention_heads, atom.key_value_heads) == (71, 1)
    many_heads = layers("falcon-7b", multi_query=False)[0]
    assert many_heads.key_value_heads == 71


def test_falcons_new_decoder_has_grouped_heads_and_two_norms(layers):
    new = layers("falcon-7b", new_decoder_architecture=True, hidden_size=4608, num_attention_heads=72, num_kv_heads=8)[
        0
    ]
    one_norm = layers(
        "falcon-7b",
        new_decoder_architecture=True,
        hidden_size=4608,
        num_attention_heads=72,
        num_kv_heads=8,
        num_ln_in_parallel_attn=1,
    )[0]
    assert new.key_value_heads == 8
    assert new.parameters == one_norm.parameters + 2 * 4608
    assert new.tensor_parallel_all_reduces == 1


def test_embedding_costs_no_operations_and_the_head_as_many_as_its_weights(model):
    embedding, head = (model("llama-3-8b").runs[i].atom for i in (0, -1))
    assert embedding.forward_flops_per_token(8192) == 0
    assert (embedding.input_bytes_per_token, embedding.activation_bytes_per_token) == (8, 8)
    assert embedding.tensor_parallel_all_reduces == 1
    assert head.linear_flops_per_token == 2 * 4096 * 128_256
    assert head.activation_bytes_per_token == 4 * 4096 + 4 * 128_256
    assert head.tensor_parallel_all_reduces == 0
    assert model("gpt2").runs[-1].atom.linear_flops_per_token == 2 * 768 * 50_257


@pytest.mark.parametrize(
    ("name", "changes", "windows"),
    [
        ("gemma-2-2b", {}, [4096, None] * 13),
        ("gemma-3-1b", {}, ([512] * 5 + [None]) * 4 + [512] * 2),
        ("gpt-oss-120b", {}, [128, None] * 18),
        ("gpt-oss-120b", {"layer_types": ["full_attention"] * 35 + ["sliding_attention"]}, [None] * 35 + [128]),
        ("mistral-7b-v0.1", {}, [4096] * 32),
        ("mistral-7b-v0.1", {"sliding_window": ...}, [4096] * 32),
        ("mistral-7b-v0.1", {"sliding_window": None}, [None] * 32),
        ("phi-3-mini", {}, [2047] * 32),
        ("phi-3-mini", {"sliding_window": ...}, [None] * 32),
        ("phi-3.5-moe", {}, [131_072] * 32),
        ("mixtral-8x7b", {}, [None] * 32),
        ("qwen2.5-7b", {"sliding_window": 4096}, [None] * 28),
        (
            "qwen2.5-7b",
            {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20},
            [None] * 20 + [4096] * 8,
        ),
        ("qwen3-30b-a3b", {"sliding_window": 4096}, [None] * 48),
        ("qwen3-30b-a3b", {"sliding_window": 4096, "use_sliding_window": True}, [4096] * 48),
    ],
)
def test_windows_follow_the_family(layers, name, changes, windows):
    assert [atom.attention_window for atom in layers(name, **changes)] == windows


def test_a_window_shortens_attention_only_where_the_sequence_is_longer(layers):
    sliding, full = layers("mistral-7b-v0.1")[0], layers("mistral-7b-v0.1", sliding_window=None)[0]
    assert sliding.forward_flops_per_token(4096) == full.forward_flops_per_token(4096)
    assert sliding.forward_flops_per_token(32_768) == full.forward_flops_per_token(4096)


def test_dense_layers_among_experts_follow_the_config(layers):
    def dense(name: str, **changes: object) -> list[int]:
        return [i for i, atom in enumerate(layers(name, **changes)) if not atom.experts]

    assert dense("deepseek-v3") == [0, 1, 2]
    assert dense("deepseek-v2-lite", first_k_dense_replace=0, moe_layer_freq=2) == list(range(1, 27, 2))
    assert dense("qwen3-30b-a3b") == []
    assert dense("qwen3-30b-a3b", mlp_only_layers=[0, 47]) == [0, 47]
    assert dense("qwen3-30b-a3b", decoder_sparse_step=2) == list(range(0, 48, 2))
    assert dense("moe-2.4b") == list(range(1, 16, 2))
    assert dense("jamba-v0.1", num_experts=1, num_experts_per_tok=1) == list(range(32))


def test_shared_experts_serve_every_token(layers):
    two, none = layers("deepseek-v2-lite")[-1], layers("deepseek-v2-lite", n_shared_experts=None)[-1]
    expert = 3 * 2048 * 1408
    assert two.parameters == none.parameters + 2 * expert
    assert two.linear_flops_per_token == none.linear_flops_per_token + 2 * 2 * expert
    assert (two.expert_parameters, two.expert_flops_per_token) == (none.expert_parameters, none.expert_flops_per_token)


@pytest.mark.parametrize("name", ALL)
def test_signatures_are_equal_exactly_where_atoms_are(model, name):
    atoms = list(model(name).atoms())
    distinct = set(atoms)
    assert len({atom.signature for atom in atoms}) == len(distinct)
    runs = model(name).runs
    assert all(front.atom != back.atom for front, back in pairwise(runs))
    assert [atom.kind for atom in atoms] == ["embedding"] + ["layer"] * (len(atoms) - 2) + ["head"]


def test_signatures_read_well(model):
    def signatures(name: str) -> set[str]:
        return {run.atom.signature for run in model(name).runs}

    assert signatures("llama-3-8b") == {"embedding", "layer:full", "head"}
    assert signatures("gemma-2-2b") == {"embedding", "layer:full", "layer:sliding-4096", "head"}
    assert signatures("deepseek-v3") == {"embedding", "layer:full", "layer:full+moe", "head"}


def test_the_language_model_of_a_multimodal_config_is_read():
    """The published file of Gemma-3-4B names five keys; heads and vocabulary are the library's."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10_240, "num_hidden_layers": 34}
    wrapped = model_from_config({"model_type": "gemma3", "text_config": text | {"sliding_window": 1024}}, "m")
    attention = 2 * 2560 * 8 * 256 + 2 * 2560 * 4 * 256 + 2 * 256
    layer = attention + 3 * 2560 * 10_240 + 4 * 2560
    assert wrapped.parameters == 262_208 * 2560 + 34 * layer + 2560
    assert wrapped.family == "gemma3"
    assert model_from_config(text | {"sliding_window": 1024}, "m").runs == wrapped.runs
