"""Instance files and their checksums: once published, neither changes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKSUMS = "checksums.sha256"


def checksums(folder: Path) -> dict[str, str]:
    """Read the published checksums of a folder, by file name."""
    lines = (folder / CHECKSUMS).read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def publish(folder: Path, made: Mapping[str, str], *, only_check: bool) -> None:
    """Write files and the checksums of all instances of their folder, or compare them with the published ones."""
    if only_check:
        published = checksums(folder)
        wrong = [name for name, text in made.items() if published.get(name) != _digest(text.encode())]
        sys.exit(f"not as published: {', '.join(wrong)}" if wrong else 0)
    folder.mkdir(exist_ok=True)
    for name, text in made.items():
        (folder / name).write_bytes(text.encode())
    files = sorted(folder.glob("*.json"))
    (folder / CHECKSUMS).write_text("".join(f"{_digest(file.read_bytes())}  {file.name}\n" for file in files))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
