"""The command line ``tangram-opt``: it reads files, calls the library and prints what it answers."""

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
    try:
        # Not at the top: every worker process imports the module of the program it was started from, and needs no
        # commands. Their import takes long enough to be interrupted.
        from tangram_opt.cli.app import run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
