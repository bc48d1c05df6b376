from __future__ import annotations

import pytest

from tangram_opt.catalogue import find_gpu, find_gpu_record, gpu_names
from tangram_opt.errors import InputError


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("NVIDIA A100 80GB PCIe", "A100-80GB-PCIe"),
        ("nvidia_a100_80gb_pcie", "A100-80GB-PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("NVIDIA-A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("Tesla V100-SXM2-32GB", "V100-SXM2-32GB"),
        ("Tesla V100-PCIE-16GB", "V100-PCIE-16GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"),
        ("NVIDIA H100 PCIe", "H100-PCIe-80GB"),
        ("NVIDIA H100 NVL", "H100-NVL-94GB"),
        ("nvidia_h100_nvl", "H100-NVL-94GB"),
        ("Tesla T4", "T4"),
        ("nvidia-tesla-t4", "T4"),
        ("t4", "T4"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA A40", "A40"),
        ("h20", "H20-96GB"),
        ("h200", "H200-SXM-141GB"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("nvidia_geforce_rtx_3090", "RTX-3090"),
        ("RTX 3090", "RTX-3090"),
        ("NVIDIA RTX A6000", "RTX-A6000"),
        ("NVIDIA B200", "B200-SXM-180GB"),
        ("NVIDIA GB200", "GB200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("Standard_NC96ads_A100_v4", "A100-80GB-PCIe"),
        ("v100-32-sxm2", None),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("RTX 3090 Ti", None),
        ("H200 NVL", None),
        ("H2", None),
        ("", None),
    ],
)
def test_a_spelling_finds_exactly_its_gpu_or_none(spelling: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(InputError, match="not in the catalogue"):
            find_gpu(spelling)
    else:
        assert find_gpu(spelling).name == name


@pytest.mark.parametrize(
    ("spelling", "choices"),
    [
        ("a100", ["A100-PCIE-40GB", "A100-80GB-PCIe", "A100-SXM4-40GB", "A100-SXM4-80GB"]),
        ("NVIDIA Tesla V100", ["V100-PCIE-16GB", "V100-SXM2-16GB", "V100-SXM2-32GB"]),
        ("v100-16", ["V100-PCIE-16GB", "V100-SXM2-16GB"]),
        ("H100", ["H100-SXM5-80GB", "H100-PCIe-80GB", "H100-NVL-94GB"]),
    ],
)
def test_an_ambiguous_spelling_is_refused_with_the_choices(spelling: str, choices: list[str]) -> None:
    with pytest.raises(InputError, match="ambiguous") as error:
        find_gpu(spelling)
    assert str(error.value).endswith("expected one of " + ", ".join(choices))


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="H200-SXM-141GB"):
        find_gpu("H201")


def test_every_name_finds_itself_and_every_figure_is_plausible() -> None:
    for name in gpu_names():
        record = find_gpu_record(name)
        gpu = record.gpu
        assert gpu.name == name
        assert 0.3 < gpu.matmul_flops_per_s / gpu.peak_flops_per_s < 0.96
        assert 14 * 2**30 < gpu.memory_bytes < 200 * 2**30
        assert record.matmul_source
        assert record.memory_source
        assert record.source
        assert (record.link == "none") == (record.link_gb_per_s is None)


def test_a_borrowed_matmul_share_equals_that_of_the_gpu_it_names() -> None:
    for name in gpu_names():
        record = find_gpu_record(name)
        if record.matmul_source.startswith("as "):
            sibling = find_gpu(record.matmul_source[3:].split(":")[0])
            share = record.gpu.matmul_flops_per_s / record.gpu.peak_flops_per_s
            assert share == pytest.approx(sibling.matmul_flops_per_s / sibling.peak_flops_per_s, abs=1e-9)


def test_measured_shares_are_those_of_the_sources() -> None:
    for name, tflops, peak in [
        ("A100-SXM4-80GB", 271.2, 312),
        ("H100-SXM5-80GB", 794.5, 989),
        ("B200", 1745, 2250),
        ("MI300X", 668.4, 1307),
        ("GB200", 1822, 2500),
        ("V100-SXM2-32GB", 86.2, 125),
        ("A100-SXM4-40GB", 240.0, 312),
        ("A10G", 66.1, 70),
        ("L4", 46.6, 121),
    ]:
        gpu = find_gpu(name)
        assert gpu.peak_flops_per_s == peak * 10**12
        assert gpu.matmul_flops_per_s == pytest.approx(tflops * 1e12, rel=0.002)


def test_v100_is_as_much_faster_than_t4_as_the_paper_measured() -> None:
    ratio = find_gpu("V100-PCIE-16GB").matmul_flops_per_s / find_gpu("T4").matmul_flops_per_s
    assert ratio == pytest.approx(47 / 26, rel=0.01)
