"""The command line ``tangram-opt``: it reads files, calls the library and prints what it answers."""

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    # Not at the top: every worker process imports the module of the program it was started from, and needs no commands.
    from tangram_opt.cli.app import run

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))
