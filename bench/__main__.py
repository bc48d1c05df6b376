"""Command line of the measurements."""

from __future__ import annotations

import argparse

from bench import composition, planning

BENCHES = {"planning": planning.run, "composition": composition.run}


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and write a report.")
    parser.add_argument("name", choices=sorted(BENCHES), help="what to measure")
    BENCHES[parser.parse_args().name]()


if __name__ == "__main__":
    main()
