"""Make the islands problems of the library, and the checksums of all of them.

    python instances/make_islands.py           write instances/islands/<family>-<nodes>-<seed>.json and checksums.sha256
    python instances/make_islands.py --check   make them again and compare

``paper-*`` and ``beyond-*`` are the clusters of ``instances/clusters``. An instance, once published, never changes: a
new idea is a new seed, size or family.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from islands_documents import Document, generate
from publishing import publish

from tangram_opt.documents.reading import read_mapping
from tangram_opt.documents.saving import pretty

HERE = Path(__file__).parent
FOLDER = HERE / "islands"

# Cluster files by the name of their problem.
CLUSTERS = {
    "paper-c1": "c1",
    "paper-c2": "c2",
    "paper-c3": "c3-4a100-8v100-4v100-4t4",
    "beyond-consumer-8gpu": "consumer-8gpu",
    "beyond-h100-64-a100-128": "h100-64-a100-128",
    "beyond-mixed-1024": "mixed-1024",
    "beyond-mixed-10240": "mixed-10240",
}
# Family: nodes: seeds.
LIBRARY: dict[str, dict[int, tuple[int, ...]]] = {
    "superpod": {64: (1, 2), 256: (1,), 1024: (1,), 4096: (1,), 10_000: (1,)},
    "rail": {16: (1,), 48: (1,), 128: (1,), 256: (1,)},
    "geo": {12: (1,), 36: (1, 2), 100: (1,), 300: (1,)},
    "asymmetric": {3: (1,), 6: (1,), 9: (1, 2), 16: (1,), 30: (1,), 60: (1,), 120: (1,), 300: (1,)},
    "noisy": {8: (1,), 24: (1,), 60: (1,), 150: (1,), 300: (1,)},
    "equal": {9: (1, 2), 20: (1,), 40: (1,), 60: (1,), 200: (1,), 1000: (1,)},
    "nvl72": {36: (1,), 144: (1,), 1000: (1,), 10_000: (1,)},
    "greedy": {4: (1,), 12: (1,), 40: (1,), 60: (1,), 240: (1,)},
    "chain": {6: (1,), 16: (1,), 49: (1,), 400: (1,)},
    "mixed": {3: (2,), 12: (1,), 40: (1,), 200: (1,)},
    "broken": {8: (1,), 24: (1,), 60: (1,)},
}


def library() -> Iterator[Document]:
    """Make all islands problems of the library."""
    for name, file in CLUSTERS.items():
        cluster = read_mapping(HERE / "clusters" / f"{file}.yaml")
        yield {"name": name, "cluster": {key: cluster[key] for key in ("name", "nodes", "network")}}
    for family, sizes in LIBRARY.items():
        for nodes, seeds in sizes.items():
            for seed in seeds:
                yield generate(family, nodes, seed)


def texts() -> dict[str, str]:
    """Make the files of the library, by name."""
    head = {"format": "tangram-opt/islands-problem", "version": 1}
    return {f"{problem['name']}.json": pretty(head | problem) + "\n" for problem in library()}


def main() -> None:
    """Write the instances, or compare."""
    parser = argparse.ArgumentParser(description="Make the islands problems.")
    parser.add_argument("--check", action="store_true", help="compare with the published checksums, write nothing")
    publish(FOLDER, texts(), only_check=parser.parse_args().check)


if __name__ == "__main__":
    main()
