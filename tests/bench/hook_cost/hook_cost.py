#!/usr/bin/env python3
"""hook_cost.py: instructions that libgpuwatch.so adds to a launch, on the launching thread.

hook_cost (the program beside this) runs on the CPU stand-in under callgrind, without the
library and with it in every mode. Callgrind counts each thread by itself and writes a part
whenever a phase is entered, so for a call of every kind there are two figures:
  ours   instructions inside libgpuwatch.so
  added  all instructions of the thread, less those of the run without the library: also
         what the hook has the driver and the C library do, and what preloading costs else
With --limit the exit status is 1 when a predicted launch takes more than that inside
libgpuwatch.so. 77: there is no valgrind.
"""
import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = 512  # of each phase, as in hook_cost.c
LIBRARY = "libgpuwatch.so"
GATED = ("predicted", "predicted_eight_arguments")


def instructions(path):
    """Instructions of one part: all of them, and those inside the library."""
    names, where, total, ours, skip = {}, "", 0, 0, False
    for line in path.read_text().splitlines():
        if match := re.match(r"ob=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2]
            where = names[match[1]]
        elif match := re.match(r"cob=\((\d+)\) (.*)", line):
            names[match[1]] = match[2]
        elif line.startswith("calls="):
            skip = True  # the next line is the inclusive cost of the callee
        elif match := re.match(r"[+*\-\d]\S* (\d+)$", line):
            if not skip:
                total += int(match[1])
                ours += int(match[1]) if where.endswith(LIBRARY) else 0
            skip = False
    return total, ours


def measure(build, folder, mode):
    """Run the program; {phase: (all, inside the library)} per call, and the log's counters."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GPUWATCH_")}
    env["LD_LIBRARY_PATH"] = str(build / "tests/standin")
    log = folder / f"{mode}.gwl"
    if mode != "bare":
        env |= {"LD_PRELOAD": str(build / "lib" / LIBRARY), "GPUWATCH_MODE": mode,
                "GPUWATCH_OUT": str(log), "GPUWATCH_SUMMARY": "0"}
    out = folder / mode
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--separate-threads=yes",
         "--dump-line=no", "--dump-before=phase_*", str(build / "tests/hook_cost")],
        env=env, capture_output=True, text=True, check=False)
    if run.returncode or f"{CALLS} calls" not in run.stdout:
        sys.exit(f"hook_cost in mode {mode} failed ({run.returncode}):\n{run.stdout}{run.stderr}")
    phases, phase = {}, None
    while (part := folder / f"{mode}.{len(phases) + 1}-01").exists():
        phases[phase] = [n / CALLS for n in instructions(part)]
        phase = re.search(r"^desc: Trigger: .*phase_(\w+)", part.read_text(), re.M)[1]
    del phases[None]  # what came before the first
    counters = {}
    if log.exists():
        report = subprocess.run([str(build / "bin/gpuwatch"), "report", "--json", str(log)],
                                capture_output=True, text=True, check=True)
        counters = json.loads(report.stdout)["counters"]
    return phases, counters


def provenance(build):
    """Under what the figures were taken."""
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache, re.M)[1]
    kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache, re.M)[1]
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)

    def first_line(*command):
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return answer.splitlines()[0] if answer else "unknown"

    source = str(Path(__file__).resolve().parent)
    return {"date": datetime.date.today().isoformat(),
            "cpu": cpu[1] if cpu else platform.machine(),
            "compiler": first_line(compiler, "--version"), "build": kind,
            "valgrind": first_line("valgrind", "--version"),
            "commit": first_line("git", "-C", source, "describe", "--always", "--dirty"),
            "driver": "CPU stand-in"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder")
    parser.add_argument("--limit", type=float, help="most instructions of a predicted launch")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind")
        return 77
    build = args.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, _ = measure(build, folder, "bare")
        runs = {mode: measure(build, folder, mode) for mode in ("audit", "watch", "count", "idle", "off")}

    audit, counters = runs["audit"]
    if counters.get("predicted", 0) < 5 * CALLS or counters["digest_plans"] != 2 or counters["ring_dropped"]:
        sys.exit(f"the run did not predict every launch of the phase: {counters}")
    print(f"{'instructions per call':<26} {'driver':>8}", end="")
    for mode in runs:
        print(f" {mode + ' ours':>12} {'added':>8}", end="")
    print()
    results = {}
    for phase in bare:
        row = results[phase] = {"driver": round(bare[phase][0], 1)}
        print(f"{phase:<26} {bare[phase][0]:>8.0f}", end="")
        for mode, (phases, _) in runs.items():
            total, ours = phases[phase]
            row[mode] = {"ours": round(ours, 1), "added": round(total - bare[phase][0], 1)}
            print(f" {ours:>12.0f} {total - bare[phase][0]:>8.0f}", end="")
        print()
    if args.json:
        args.json.write_text(json.dumps({"taken": provenance(build), "calls": CALLS,
                                         "instructions_per_call": results}) + "\n")
    missed = [(phase, audit[phase][1]) for phase in GATED
              if args.limit is not None and not 0 < audit[phase][1] <= args.limit]
    for phase, ours in missed:
        print(f"a {phase} launch takes {ours:.0f} instructions; {args.limit:.0f} is the most")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
