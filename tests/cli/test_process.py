"""What only a process of its own shows: entry points, pipes, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tangram_opt import __version__

SCRIPT = Path(sys.executable).parent / "tangram-opt"


def start(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, "-m", "tangram_opt", *map(str, arguments)], **pipes)


@pytest.mark.parametrize("command", [[sys.executable, "-m", "tangram_opt"], [str(SCRIPT)]], ids=["module", "script"])
def test_both_entry_points_print_the_version(command):
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"tangram-opt {__version__}\n"


def test_a_reader_that_goes_away_ends_the_command_quietly():
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start("schema", "plan", stdout=write_end)
    os.close(write_end)
    _, err = process.communicate()
    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize("solver", ["cpsat", "dp", "highs", "pyomo:highs"])
def test_nothing_but_the_answer_is_on_standard_output(folder, solver):
    # In a process of its own: the libraries print from C, and some of them once per process.
    process = start("solve", folder / "composition-problem.json", "--solver", solver, "--json")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["solver"] == solver


def test_what_a_library_prints_goes_to_standard_error(folder):
    code = """
import os, sys
from tangram_opt import documents
from tangram_opt.cli import main
load = documents.load_instance
documents.load_instance = lambda path: os.write(1, b"banner") and load(path)
main()
"""
    arguments = ["solve", str(folder / "composition-problem.json"), "--json"]
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "banner")
    assert json.loads(ran.stdout)["outcome"] == "optimal"


def test_a_reader_of_tables_that_goes_away_is_told_from_a_no(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start("solve", folder / "composition-problem.json", "-o", folder / "saved.json", stdout=write_end)
    os.close(write_end)
    _, err = process.communicate()
    assert (process.returncode, err) == (141, f"written: {folder / 'saved.json'}\n")
    assert (folder / "saved.json").exists()


@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0)])
def test_closed_streams_change_no_exit_code(folder, closed, code):
    command = f'"$0" -m tangram_opt solve "$1" {closed}'
    arguments = [sys.executable, str(folder / "composition-problem.json")]
    ran = subprocess.run(["sh", "-c", command, *arguments], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (code, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_sentence():
    with open("/dev/full", "w") as full:
        process = start("schema", "plan", stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_an_interrupt_is_one_line_and_exit_code_130(tmp_path):
    # A named pipe that nobody writes to: the command waits in it until it is interrupted.
    waiting = tmp_path / "never.json"
    os.mkfifo(waiting)
    code = f"""
import os, signal, sys, threading
from tangram_opt import documents
from tangram_opt.cli.app import run
# Where the tests run in the background of a shell they ignore interrupts, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)
documents.load_instance = lambda path: os.kill(os.getpid(), signal.{signal.SIGINT.name}) or threading.Event().wait()
sys.exit(run(["solve", {str(waiting)!r}]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "error: interrupted\n")


def test_a_terminal_without_the_characters_gets_others(folder):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    process = start("islands", folder / "cluster.yaml", env=environment)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.isascii()


def test_plain_output_has_no_control_sequences(folder):
    process = start("solve", folder / "composition-problem.json")
    out, _ = process.communicate()
    assert "\x1b" not in out


def test_a_request_to_terminate_leaves_no_worker_behind(folder, tmp_path):
    # The parallelizer waits; each worker leaves its number where it can be found.
    code = f"""
import os, sys, time
from pathlib import Path
from tangram_opt.cli.app import run
from tangram_opt.interrupts import terminate_like_interrupt
from tangram_opt.parallelizers import UniformParallelizer

class Waiting(UniformParallelizer):
    def parallelize(self, *asked):
        Path({str(tmp_path)!r}, str(os.getpid())).touch()
        time.sleep(600)

if __name__ == "__main__":
    from tangram_opt.planner import planner
    planner.UniformParallelizer = Waiting
    terminate_like_interrupt()
    sys.exit(run(["solve", {str(folder / "planning-problem.json")!r}, "--workers", "2"]))
"""
    program = tmp_path / "program.py"
    program.write_text(code)
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(path.name.isdigit() for path in tmp_path.iterdir()))
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in err) == (130, True)
    workers = [int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()]
    wait_until(lambda: not any(Path(f"/proc/{number}").exists() for number in workers))


def wait_until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
