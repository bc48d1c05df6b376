"""One config class per family: which keys matter, what may be omitted, and the blocks that they describe."""

from collections.abc import Mapping
from typing import Final

from tangram_opt.models.families.base import Config
from tangram_opt.models.families.deepseek import DeepseekV2, DeepseekV3
from tangram_opt.models.families.dense import Gemma2, Gemma3, Gemma3Text, Llama, Mistral, Olmo2, Phi3, Qwen2, Qwen3
from tangram_opt.models.families.experts import Dbrx, GptOss, GshardMoe, Mixtral, Olmoe, PhiMoe, Qwen3Moe
from tangram_opt.models.families.gpt import Falcon, Gpt2, GptNeox
from tangram_opt.models.families.jamba import Jamba

FAMILIES: Final[Mapping[str, type[Config]]] = {
    "dbrx": Dbrx,
    "deepseek_v2": DeepseekV2,
    "deepseek_v3": DeepseekV3,
    "falcon": Falcon,
    "gemma2": Gemma2,
    "gemma3": Gemma3,
    "gemma3_text": Gemma3Text,
    "gpt2": Gpt2,
    "gpt_neox": GptNeox,
    "gpt_oss": GptOss,
    "gshard_moe": GshardMoe,
    "jamba": Jamba,
    "llama": Llama,
    "mistral": Mistral,
    "mixtral": Mixtral,
    "olmo2": Olmo2,
    "olmoe": Olmoe,
    "phi3": Phi3,
    "phimoe": PhiMoe,
    "qwen2": Qwen2,
    "qwen3": Qwen3,
    "qwen3_moe": Qwen3Moe,
}
"""The config class of each ``model_type``."""

__all__ = ["FAMILIES", "Config"]
