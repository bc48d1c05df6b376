"""Parameter counts: published ones, the paper's models, the traps of config files, and the library as an oracle."""

import json
from pathlib import Path

import pytest

from tangram_opt.models import families, model_from_config

INSTANCES = Path(__file__).parents[2] / "instances" / "models"

COUNTS = {
    # name: (parameters, of which a token uses)
    "dbrx-base": (131_596_523_520, 36_469_708_800),
    "deepseek-v2-lite": (15_706_484_224, 2_661_150_208),
    "deepseek-v3": (671_026_404_352, 37_552_282_624),
    "falcon-7b": (6_921_720_704, 6_921_720_704),
    "gemma-2-27b": (27_227_128_320, 27_227_128_320),
    "gemma-2-2b": (2_614_341_888, 2_614_341_888),
    "gemma-3-1b": (999_885_952, 999_885_952),
    "gpt-neox-20b": (20_554_567_680, 20_554_567_680),
    "gpt-oss-120b": (116_829_156_672, 5_711_982_912),
    "gpt2": (124_439_808, 124_439_808),
    "gpt3-13b": (12_858_214_400, 12_858_214_400),
    "gpt3-6.7b": (6_662_266_880, 6_662_266_880),
    "jamba-v0.1": (51_570_323_328, 12_110_311_296),
    "llama-2-70b": (68_976_648_192, 68_976_648_192),
    "llama-2-7b": (6_738_415_616, 6_738_415_616),
    "llama-3-70b": (70_553_706_496, 70_553_706_496),
    "llama-3-8b": (8_030_261_248, 8_030_261_248),
    "llama-3.1-405b": (405_853_388_800, 405_853_388_800),
    "llama-3.1-8b": (8_030_261_248, 8_030_261_248),
    "mistral-7b-v0.1": (7_241_732_096, 7_241_732_096),
    "mixtral-8x7b": (46_702_792_704, 12_879_925_248),
    "mixtral-8x7b-16l": (23_482_470_400, 6_571_036_672),
    "moe-10b": (10_215_665_664, 1_155_969_024),
    "moe-2.4b": (2_414_682_112, 535_633_920),
    "moe-7.1b": (7_107_962_880, 816_506_880),
    "olmo-2-13b": (13_716_198_400, 13_716_198_400),
    "olmoe-1b-7b": (6_919_161_856, 1_282_017_280),
    "phi-3-mini": (3_821_079_552, 3_821_079_552),
    "phi-3.5-moe": (41_873_153_344, 6_640_999_744),
    "qwen2.5-14b": (14_770_033_664, 14_770_033_664),
    "qwen2.5-72b": (72_706_203_648, 72_706_203_648),
    "qwen2.5-7b": (7_615_616_512, 7_615_616_512),
    "qwen3-30b-a3b": (30_532_122_624, 3_353_032_704),
    "qwen3-30b-a3b-24l": (15_577_227_264, 1_987_682_304),
    "qwen3-32b": (32_762_123_264, 32_762_123_264),
    "qwen3-8b": (8_190_735_360, 8_190_735_360),
}


def test_every_model_of_the_library_has_a_known_count():
    assert {path.stem for path in INSTANCES.glob("*.json")} == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_equal_the_known_ones(model, name):
    read = model(name)
    assert (read.parameters, read.active_parameters) == COUNTS[name]


ORACLE = json.loads((Path(__file__).parent / "reference_counts.json").read_text())


@pytest.mark.parametrize("case", ORACLE, ids=[f"{i}-{case['config']['model_type']}" for i, case in enumerate(ORACLE)])
def test_small_models_count_as_in_the_library(case):
    """The counts are those of transformers 5 with every tensor on the meta device, router corrections left out."""
    assert model_from_config(case["config"], "small").parameters == case["parameters"]


def test_the_library_is_an_oracle_for_every_family_but_the_wrapper_and_our_own():
    assert {case["config"]["model_type"] for case in ORACLE} == set(families()) - {"gemma3", "gshard_moe"}


@pytest.mark.parametrize(
    ("name", "published", "layers"), [("llama-2-7b", 6_738_417_664, 32), ("llama-2-70b", 68_976_653_312, 80)]
)
def test_published_llama_2_also_counts_rotary_buffers(model, name, published, layers):
    rotary_frequencies = 128 // 2
    assert model(name).parameters + layers * rotary_frequencies == published


def test_published_falcon_also_counts_a_copy_of_the_tied_embedding(model):
    read = model("falcon-7b")
    assert read.runs[-1].atom.tied_parameters == 65_024 * 4_544
    assert read.parameters + read.runs[-1].atom.tied_parameters == 7_217_189_760
    assert model("falcon-7b", tie_word_embeddings=False).parameters == 7_217_189_760


def test_published_deepseek_v3_also_counts_prediction_module_router_corrections_and_block_scales(model, layers):
    hidden, vocabulary, experts, block = 7168, 129_280, 256, 128
    moe = layers("deepseek-v3")[-1]
    # One more layer with experts, a projection of two hidden states, three norms, and copies of embedding and head.
    prediction = moe.parameters + moe.expert_parameters + 2 * hidden**2 + 3 * hidden + 2 * vocabulary * hidden
    corrections = (58 + 1) * experts

    def scales(rows: int, columns: int) -> int:
        return -(-rows // block) * -(-columns // block)

    attention = (
        scales(1536, hidden)
        + scales(128 * 192, 1536)
        + scales(512 + 64, hidden)
        + scales(128 * 256, 512)
        + scales(hidden, 128 * 128)
    )
    expert_scales = 3 * scales(2048, hidden)
    block_scales = 62 * attention + 3 * 3 * scales(18_432, hidden) + 59 * (experts + 1) * expert_scales
    assert model("deepseek-v3").parameters + prediction + corrections + block_scales == 684_531_386_000


def test_queries_of_deepseek_are_uncompressed_only_where_the_config_says_null(model):
    assert model("deepseek-v2-lite", q_lora_rank=...).parameters == 15_748_993_024
    assert model("deepseek-v2-lite", q_lora_rank=1536).parameters == 15_748_993_024
    assert model("deepseek-v2-lite", q_lora_rank=None).parameters == 15_706_484_224


def test_phi_moe_has_biases_only_where_the_config_says_so(model):
    biases = 32 * (32 * 128 + 2 * 8 * 128 + 4096) + 32_064
    plain = model("phi-3.5-moe", attention_bias=..., lm_head_bias=...)
    assert model("phi-3.5-moe").parameters == plain.parameters + biases


def test_qwen_2_has_biases_without_a_key_for_them(model):
    same_shape = model("qwen2.5-7b", model_type="llama")
    assert model("qwen2.5-7b").parameters == same_shape.parameters + 28 * (28 + 2 * 4) * 128


@pytest.mark.parametrize(
    ("name", "tied"),
    [("gpt2", True), ("gemma-2-2b", True), ("gemma-3-1b", True), ("falcon-7b", True)]
    + [
        (name, False)
        for name in ("llama-3-8b", "mistral-7b-v0.1", "qwen2.5-7b", "qwen3-8b", "olmo-2-13b", "phi-3-mini")
    ]
    + [(name, False) for name in ("gpt-neox-20b", "mixtral-8x7b", "olmoe-1b-7b", "phi-3.5-moe", "dbrx-base")]
    + [(name, False) for name in ("qwen3-30b-a3b", "gpt-oss-120b", "deepseek-v2-lite", "deepseek-v3", "jamba-v0.1")],
)
def test_a_config_without_the_key_is_tied_as_its_family_is(model, name, tied):
    assert model(name, tie_word_embeddings=...) == model(name, tie_word_embeddings=tied)
    assert model(name, tie_word_embeddings=True) != model(name, tie_word_embeddings=False)


def test_a_tied_head_owns_its_norm_only(model):
    head = model("gpt3-13b").runs[-1].atom
    assert head.parameters == 2 * 5120
    assert head.tied_parameters == 51_200 * 5120


def test_learned_positions_belong_to_the_embedding(model):
    assert model("gpt3-6.7b").runs[0].atom.parameters == (51_200 + 2048) * 4096


def test_layers_of_the_paper_count_as_in_its_sources(layers):
    assert {atom.parameters for atom in layers("gpt3-6.7b")} == {201_379_840}
    assert {atom.parameters for atom in layers("gpt3-13b")} == {314_639_360}
    for name, moe, dense in [
        ("moe-2.4b", 272_654_336, 20_988_928),
        ("moe-7.1b", 845_465_600, 32_789_760),
        ("moe-10b", 1_217_458_176, 47_212_032),
    ]:
        counts = [atom.parameters + atom.expert_parameters for atom in layers(name)]
        assert counts == [moe, dense] * 8


def test_expert_parameters_are_the_routed_experts_alone(layers):
    leading, moe = layers("deepseek-v3")[2:4]
    assert leading.expert_parameters == leading.experts == 0
    expert = 3 * 7168 * 2048
    assert moe.expert_parameters == 256 * expert
    attention = leading.parameters - 3 * 7168 * 18_432
    router = 256 * 7168
    assert moe.parameters == attention + router + expert  # one shared expert

    assert layers("gpt-oss-120b")[0].expert_parameters == 128 * (3 * 2880 * 2880 + 2 * 2880 + 2880)
