"""Relations that hold for every config: more of something costs exactly its share more."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.models import model_from_config

DENSE = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "olmo2", "phi3")


@st.composite
def configs(draw: st.DrawFn, families: tuple[str, ...] = (*DENSE, "mixtral")) -> dict[str, Any]:
    heads = draw(st.sampled_from([2, 4, 8]))
    config: dict[str, Any] = {
        "hidden_size": heads * draw(st.sampled_from([8, 16])),
        "num_hidden_layers": draw(st.integers(1, 12)),
        "num_attention_heads": heads,
        "num_key_value_heads": draw(st.sampled_from([1, 2, heads])),
        "head_dim": draw(st.sampled_from([8, 24])),
        "intermediate_size": draw(st.integers(1, 200)),
        "vocab_size": draw(st.integers(1, 1000)),
        "tie_word_embeddings": draw(st.booleans()),
    }
    family = draw(st.sampled_from(families))
    if family == "mixtral":
        config["num_local_experts"] = draw(st.integers(2, 9))
        config["num_experts_per_tok"] = draw(st.integers(1, 2))
    return config | {"model_type": family}


def read(config: dict[str, Any], **changes: Any) -> Any:
    return model_from_config(config | changes, "model")


@given(configs())
def test_twice_the_layers_add_exactly_the_layers(config):
    layers = config["num_hidden_layers"]
    once, twice = read(config), read(config, num_hidden_layers=2 * layers)
    of_layers = sum(a.parameters + a.expert_parameters for a in once.atoms() if a.kind == "layer")
    assert twice.layers == 2 * layers
    assert twice.parameters == once.parameters + of_layers
    assert (twice.runs[0], twice.runs[-1]) == (once.runs[0], once.runs[-1])


@given(configs())
def test_tying_saves_one_embedding_and_no_operations(config):
    tied, untied = read(config, tie_word_embeddings=True), read(config, tie_word_embeddings=False)
    assert untied.parameters == tied.parameters + config["vocab_size"] * config["hidden_size"]
    assert untied.flops_per_token(64) == tied.flops_per_token(64)
    assert tied.runs[:-1] == untied.runs[:-1]


@given(configs(), st.integers(1, 1000))
def test_each_token_of_the_vocabulary_costs_its_rows(config, more):
    small, large = read(config), read(config, vocab_size=config["vocab_size"] + more)
    rows = 1 if config["tie_word_embeddings"] else 2
    assert large.parameters == small.parameters + rows * more * config["hidden_size"]
    assert large.flops_per_token(64) == small.flops_per_token(64) + 6 * more * config["hidden_size"]


@given(configs())
def test_operations_grow_linearly_with_the_sequence_below_the_window(config):
    read_model = read(config, sliding_window=10_000)
    first, second, third = (read_model.flops_per_token(length) for length in (1000, 2000, 3000))
    assert third - second == second - first > 0


@given(configs())
def test_all_but_attention_biases_and_norms_is_two_operations_per_active_weight(config):
    read_model = read(config)
    for atom in read_model.atoms():
        if atom.kind == "layer":
            visited = atom.expert_parameters * atom.experts_per_token // atom.experts if atom.experts else 0
            weights, counted = atom.parameters + visited, atom.linear_flops_per_token + atom.expert_flops_per_token
            hidden, head = config["hidden_size"], config["head_dim"]
            small = 4 * hidden + (config["num_attention_heads"] + 2 * config["num_key_value_heads"]) * head + 2 * head
            assert 0 < 2 * weights - counted <= 2 * small


@given(configs(families=("mixtral",)), st.integers(1, 8))
def test_more_experts_cost_memory_and_more_visits_cost_time(config, more):
    few = read(config)
    many = read(config, num_local_experts=config["num_local_experts"] + more)
    few_layer, many_layer = few.runs[1].atom, many.runs[1].atom
    expert = few_layer.expert_parameters // few_layer.experts
    assert many_layer.expert_parameters == few_layer.expert_parameters + more * expert
    assert many_layer.expert_flops_per_token == few_layer.expert_flops_per_token
    assert many_layer.expert_flops_per_token == 2 * config["num_experts_per_tok"] * expert


@given(configs(), st.integers(1, 100))
def test_a_window_changes_nothing_but_what_tokens_see(config, window):
    narrow, wide = read(config, sliding_window=window), read(config, sliding_window=window + 1)
    assert narrow.parameters == wide.parameters
    assert narrow.flops_per_token(window) == wide.flops_per_token(window)
    assert narrow.flops_per_token(window + 1) <= wide.flops_per_token(window + 1)
