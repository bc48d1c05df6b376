"""Plan every planning instance in a fresh process; report the plan, the time and the peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import ROOT, Row, write_report

INSTANCES = ROOT / "instances" / "planning"
WORKERS = 2


def run() -> None:
    """Measure all instances."""
    rows = [_measure(path) for path in sorted(INSTANCES.glob("*.json"))]
    notes = [
        f"Wall time of `tangram-opt solve INSTANCE --workers {WORKERS} --json` in a fresh process, start of the",
        "interpreter and all micro-batch sizes included. Memory is the peak of its largest process times the number",
        f"of processes (1 + {WORKERS}), which bounds their sum from above. Iteration time is by the objective.",
    ]
    write_report("planning", "Planning instances", notes, rows)


def _measure(path: Path) -> Row:
    command = [sys.executable, "-m", "tangram_opt", "solve", str(path), "--workers", str(WORKERS), "--json"]
    with tempfile.TemporaryFile("w+") as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        output.seek(0)
        text = output.read()
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{path.name}: exit status {os.waitstatus_to_exitcode(status)}")
    answer = json.loads(text)
    plan = answer["solution"]
    search = plan["search"]
    return {
        "instance": path.stem,
        "GPUs": plan["cluster_gpus"],
        "stages": len(plan["stages"]),
        "micro-batch": plan["micro_batch"],
        "outcome": answer["outcome"],
        "objective": plan["objective"],
        "iteration s": f"{answer['objective'] / 1e9:.3f}",
        "simulated s": f"{plan['simulated_ns'] / 1e9:.3f}",
        "pairs": search["pairs"],
        "queries": search["queries"],
        "options": search["options"],
        "enumeration s": f"{search['enumeration_s']:.2f}",
        "composition s": f"{search['composition_s']:.2f}",
        "wall s": f"{wall_s:.1f}",
        "memory MB": (1 + WORKERS) * usage.ru_maxrss // 1024,
    }
