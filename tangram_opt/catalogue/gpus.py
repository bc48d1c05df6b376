"""The GPU catalogue: ``gpus.csv``, one GPU model a row, and the lookup by the spellings that people use."""

from __future__ import annotations

import csv
import difflib
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from tangram_opt.data.cluster import Gpu
from tangram_opt.data.units import GIGA, MIB, TERA
from tangram_opt.errors import InputError

VENDOR_WORDS: Final = frozenset({"nvidia", "tesla", "quadro", "geforce", "amd", "instinct"})
"""Leading words of a device name that tell nothing about the model."""


@dataclass(frozen=True, slots=True)
class GpuRecord:
    """A row of the catalogue.

    Attributes
    ----------
    gpu : Gpu
        The figures that planning uses.
    aliases : tuple of str
        Other spellings; one that stands in several rows is ambiguous.
    architecture : str
        GPU generation.
    matmul_source : str
        Where the share of the peak that matrix products reach comes from.
    memory_source : str
        Where the memory size comes from: a reading of nvidia-smi, or the nominal size.
    link : str
        Kind of direct link between GPUs, or ``none``.
    link_gb_per_s : float or None
        Bandwidth of that link, one direction, in 10^9 bytes per second; None without a link.
    tdp_w : int
        Board power limit in watts.
    price_usd_per_hour : float or None
        None where it is not known.
    source, confidence, note : str
        Source of the other figures, how sure they are, and what to know about them.
    """

    gpu: Gpu
    aliases: tuple[str, ...]
    architecture: str
    matmul_source: str
    memory_source: str
    link: str
    link_gb_per_s: float | None
    tdp_w: int
    price_usd_per_hour: float | None
    source: str
    confidence: str
    note: str


def gpu_names() -> tuple[str, ...]:
    """Names of all GPUs in the catalogue, in its order."""
    return tuple(record.gpu.name for record in _records())


def find_gpu(name: str) -> Gpu:
    """Figures of a GPU by any spelling of its name; see :func:`find_gpu_record`."""
    return find_gpu_record(name).gpu


def find_gpu_record(name: str) -> GpuRecord:
    """Look a GPU up by any spelling of its name.

    Parameters
    ----------
    name : str
        A name or an alias of the catalogue. Case, spaces, dashes, underscores and a vendor in front do not matter;
        everything else does: part of a name never matches (H20 is not H200).

    Returns
    -------
    GpuRecord
        Its row of the catalogue.

    Raises
    ------
    InputError
        When no GPU has this name, or when several have.
    """
    spellings = _records_by_spelling()
    found = spellings.get(_spelling(name), ())
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(record.gpu.name for record in found)
        raise InputError(f"GPU {name!r} is ambiguous, expected one of {choices}")
    near = difflib.get_close_matches(_spelling(name), list(spellings), n=8, cutoff=0.6)
    names = dict.fromkeys(record.gpu.name for spelling in near for record in spellings[spelling])
    raise InputError(f"GPU {name!r} is not in the catalogue, expected a name such as {', '.join(names or gpu_names())}")


def _spelling(name: str) -> str:
    """Reduce a name to its letters and digits in lower case, without the vendor in front."""
    words = re.findall(r"[a-z0-9.]+", name.lower())
    while words and words[0] in VENDOR_WORDS:
        words.pop(0)
    return "".join(words)


@cache
def _records_by_spelling() -> Mapping[str, tuple[GpuRecord, ...]]:
    found: dict[str, dict[str, GpuRecord]] = defaultdict(dict)
    for record in _records():
        for spelling in (record.gpu.name, *record.aliases):
            found[_spelling(spelling)][record.gpu.name] = record
    return {spelling: tuple(records.values()) for spelling, records in found.items()}


@cache
def _records() -> tuple[GpuRecord, ...]:
    text = (files("tangram_opt.catalogue") / "gpus.csv").read_text(encoding="utf-8")
    return tuple(_record(row) for row in csv.DictReader(text.splitlines()))


def _record(row: Mapping[str, str]) -> GpuRecord:
    peak = float(row["peak_tflops"]) * TERA
    return GpuRecord(
        gpu=Gpu(
            name=row["name"],
            peak_flops_per_s=round(peak),
            matmul_flops_per_s=round(peak * float(row["matmul_efficiency"])),
            memory_bytes=int(row["memory_mib"]) * MIB,
            memory_bytes_per_s=round(float(row["memory_gb_per_s"]) * GIGA),
            host_link_bytes_per_s=round(float(row["host_link_gb_per_s"]) * GIGA),
        ),
        aliases=tuple(row["aliases"].split("; ")),
        architecture=row["architecture"],
        matmul_source=row["matmul_source"],
        memory_source=row["memory_source"],
        link=row["link"],
        link_gb_per_s=_optional_float(row["link_gb_per_s"]),
        tdp_w=int(row["tdp_w"]),
        price_usd_per_hour=_optional_float(row["price_usd_per_hour"]),
        source=row["source"],
        confidence=row["confidence"],
        note=row["note"],
    )


def _optional_float(text: str) -> float | None:
    return float(text) if text else None
