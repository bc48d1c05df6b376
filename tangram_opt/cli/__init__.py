"""The command line ``tangram-opt``: it reads files, calls the library and prints what it answers."""

import os
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    # A stream that the caller has closed is None here.
    sys.stdout = _own_stdout() if sys.stdout else open(os.devnull, "w")  # noqa: SIM115 (open until the end)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a question mark, not a crash.
            stream.reconfigure(errors="replace")
    try:
        # Not at the top: every worker process imports the module of the program it was started from, and needs no
        # commands. Their import takes long enough to be interrupted.
        from tangram_opt.cli.app import run
        from tangram_opt.cli.output import answer_to
        from tangram_opt.interrupts import terminate_like_interrupt

        terminate_like_interrupt()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    # Pyomo takes the descriptor of `sys.stdout` while it solves, and keeps it where it is left behind: answers have one
    # of their own.
    answer = open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="replace")  # noqa: SIM115
    answer_to(answer)
    code = run(sys.argv[1:])
    # What could not be written has been reported; Python would try once more at exit, and change the exit code.
    for stream in (answer, sys.stdout):
        with suppress(OSError):
            stream.close()
    if any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        # A solver that did not stop was left behind: it would crash while the interpreter is taken down around it.
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _own_stdout() -> TextIO:
    """Keep standard output to the answer: what libraries print to its descriptor goes to standard error."""
    sys.stdout.flush()
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno() if sys.stderr else os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return open(answer, "w", encoding=sys.stdout.encoding)
