"""The commands in one application, and the one place where errors become a sentence and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer
from pydantic import ValidationError

from tangram_opt import __version__
from tangram_opt.cli import check, compare, export, islands, plan, schema, sensitivity, show, simulate, solve, solvers
from tangram_opt.cli.output import answer_stream, print_json
from tangram_opt.errors import NoPlanError, TangramError

ANSWER_IS_NO = 1
BAD_INPUT = 2
# What shells report of a program that ends by SIGINT or SIGPIPE.
INTERRUPTED = 130
PIPE_CLOSED = 141

app = typer.Typer(
    name="tangram-opt",
    help="Plan training pipelines for large models on mixed GPU clusters.",
    epilog=(
        "Exit codes: 0 done, 1 the answer is no (no plan, infeasible, check failed, solvers disagree), "
        "2 bad usage or bad input."
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(plan.plan)
app.command()(solve.solve)
app.command()(check.check)
app.command()(compare.compare)
app.command()(export.export)
app.command()(show.show)
app.command()(simulate.simulate)
app.command()(islands.islands)
app.command()(sensitivity.sensitivity)
app.command()(schema.schema)
app.command()(solvers.solvers)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tangram-opt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str
        What follows the program's name.

    Returns
    -------
    int
        Exit code: 0 done, 1 the answer is no, 2 bad usage or bad input, 130 interrupted, 141 the reader of the
        output went away.
    """
    try:
        code = _invoke(arguments)
        answer_stream().flush()
        sys.stdout.flush()
    except NoPlanError as error:
        return _fail(str(error), ANSWER_IS_NO)  # A no is an answer: its command has printed it.
    except TangramError as error:
        message, code = str(error), BAD_INPUT
    except typer.TyperException as error:
        message, code = _describe_usage(error), BAD_INPUT
    except BrokenPipeError:
        # Python flushes standard output once more at exit: let that go nowhere.
        for stream in (answer_stream(), sys.stdout):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return PIPE_CLOSED
    except (KeyboardInterrupt, typer.Abort):
        message, code = "interrupted", INTERRUPTED
    except MemoryError:
        message, code = "out of memory", BAD_INPUT
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        message, code = f"{where}{error.strerror or error}", BAD_INPUT
    except Exception as error:
        message, code = _describe_bug(error), BAD_INPUT
    else:
        return code
    if "--json" in arguments:
        with suppress(OSError):
            print_json({"error": _sentence(message)})
            answer_stream().flush()
    return _fail(message, code)


def _invoke(arguments: Sequence[str]) -> int:
    # Not through the command's own `main`, which has its own opinions on broken pipes and interrupts.
    command = typer.main.get_command(app)
    try:
        with command.make_context("tangram-opt", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def _describe_usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    if isinstance(error.__cause__, ValidationError):
        # Typer says what it expected, and not always what it got.
        given = repr(error.__cause__.errors()[0]["input"])
        message += "" if given in message else f", not {given}"
    return f"{message} (see tangram-opt --help)"


def _describe_bug(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename}:{frame.lineno}"
    return f"this is a bug, please report it: {type(error).__name__}: {error} (at {place})"


def _fail(message: str, code: int) -> int:
    with suppress(OSError):  # Where nobody listens the exit code still tells.
        sys.stderr.write(f"error: {_sentence(message)}\n")
        sys.stderr.flush()
    return code


def _sentence(message: str) -> str:
    return " ".join(message.split()).rstrip(".")
