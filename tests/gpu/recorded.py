#!/usr/bin/env python3
"""Logs of programs of Python with counters sampled, and how good the predictions in them were.

usage: recorded.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--recorder SO] [--seconds S] [--pause MS] --program NAME...

NAME: a program of py/programs.py. Each leaves OUT/NAME.gwl, the report and the score of it, figures, and with --recorder
what attribution of counters was given (NAME.rec.xz, for gpu_pm_again). Demanded: it ends
well, every launch is measured, windows of counters were taken and reported of something, and the log replays with the same
bits. Exit status: 0 all that, 1 not, 77 there is no GPU here, or no package for any of the programs.
"""
import argparse
import os
import shutil
import sys

import compare
import figures
import under

HERE = os.path.dirname(os.path.abspath(__file__))
STEADY = 200  # launches that a median of steady ones rests on


def reported_of(name, answered):
    """Figures of what a score says: of steady predictions with goals, of others without."""
    result = []
    for tier in ("cold", "warm", "steady"):
        row = under.group(answered, tier)
        enough = tier == "steady" and row.get("count", 0) >= STEADY
        result.append(figures.figure(f"{name}: {tier}, within 25%", row.get("within_25"), n=row.get("count", 0)))
        result.append(figures.figure(f"{name}: {tier}, median error", row.get("median_error"), n=row.get("count", 0),
                                     **({"most": 0.02} if enough else {})))
        result.append(figures.figure(f"{name}: {tier}, 90% intervals held", row.get("coverage"), n=row.get("intervals", 0),
                                     **({"least": 0.86} if enough else {})))
    return result


def record(args, name):
    python = shutil.which("python3") or sys.executable
    log = f"{args.out}/{name}.gwl"
    windows = f"{args.out}/{name}.rec"
    library = args.recorder if args.recorder and os.path.exists(args.recorder) else args.gpuwatch
    env = under.environment(library, log, dict(under.COUNTED, GPU_PM_RECORD=windows), packages=True)
    status = under.run([python, f"{HERE}/py/programs.py", name, f"{args.seconds:g}", f"{args.pause:g}"], env, args.out, name, args.seconds + 60)
    under.squeeze(windows)
    found, notes = under.totals(f"{args.programs}/logdump", log)
    found = found or {}
    print(f"{name}: exit status {status}, " + ", ".join(f"{key} {found.get(key)}" for key in (
        "launched", "measured", "pm_windows", "pm_other_profiler", "pm_incomplete", "pm_failed", "counted", "worker_cpu_ns", "pm_cpu_ns"))
        + "; " + ("; ".join(notes) or "nothing degraded"), flush=True)
    result = [figures.figure(f"{name}: exit status", status if isinstance(status, int) else None, most=0, least=0),
              figures.figure(f"{name}: launches measured or known to have impossible times",
                             found["measured"] + found["invalid"] if found else None, least=found.get("launched") or 1),
              figures.figure(f"{name}: windows of counters", found.get("pm_windows"), least=1),
              figures.figure(f"{name}: configurations with measured counters", found.get("counted"), least=1)]
    try:
        for file, words in (("report", ["report", "--wide"]), ("score", ["score"])):
            with open(f"{args.out}/{name}.{file}.txt", "w") as out:
                out.write(under.command(args.cli, [*words, log]))
        result += reported_of(name, under.answer(args.cli, ["score", "--json", log]))
        print(under.command(args.cli, ["replay", "--check", log]).strip())
        result.append(figures.figure(f"{name}: the log replays with the same bits", 1, least=1))
    except (RuntimeError, OSError, ValueError) as error:
        print(f"{name}: {error}")
        result.append(figures.figure(f"{name}: the log replays with the same bits", 0, least=1))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--recorder")
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("--seconds", type=float, default=9)
    parser.add_argument("--pause", type=float, default=15, help="milliseconds between two steps, so that logs stay small")
    args = parser.parse_args()
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    python, found = shutil.which("python3") or sys.executable, []
    for name in args.program:
        package = "jax" if name == "jax" else "torch"
        if compare.module_present(python, package):
            found += record(args, name)
        else:
            print(f"SKIP {name}: Python module {package} is not installed")
    figures.write(args.out, found)
    figures.show(found)
    return (0 if figures.met(found) else 1) if found else 77


if __name__ == "__main__":
    sys.exit(main())
