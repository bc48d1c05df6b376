"""Command line of the measurements."""

from __future__ import annotations

import argparse

from bench import campaign, composition, islands, pipeline, planning, running


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and write a report.")
    benches = parser.add_subparsers(required=True, metavar="NAME", help="what to measure")
    planned = benches.add_parser("planning", help=planning.__doc__)
    planned.set_defaults(run=lambda _: planning.run())
    for name, module in (("composition", composition), ("islands", islands)):
        solved = benches.add_parser(name, help=module.__doc__)
        running.add_arguments(solved)
        solved.set_defaults(run=module.run)
    compared = benches.add_parser("campaign", help=campaign.__doc__)
    campaign.add_arguments(compared)
    compared.set_defaults(run=campaign.run)
    piped = benches.add_parser("pipeline", help=pipeline.__doc__)
    piped.set_defaults(run=lambda _: pipeline.run())
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
