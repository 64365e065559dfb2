#!/usr/bin/env python3
"""Programs built by CUDA 11.8, whose runtime loads their kernels by private tables of the driver.

usage: legacy.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--program NAME...]

DIR/legacy118 is what legacy/build.sh makes: PTX alone, machine code of an older and of this GPU, relocatable code, the shared runtime,
per-thread default streams. Each runs bare, with the independent witness and in mode audit (compare.py says what must be equal), then
once with default options for --seconds: of how many kernels the code was found, and what share of GPU time has a verdict. Demanded:
everything that compare.py demands, and the code of 99% of the kernels. Exit status: 0 all that, 1 not, 77 there is no GPU here, or no
such program.
"""
import argparse
import glob
import json
import os
import sys

import compare
import figures
import under

HERE = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 0.99  # of the kernels


def found(kernel):
    """Whether the code of a row of the report was found, whatever it says."""
    return kernel["analysed_launches"] > 0 or (kernel["reason"] or {}).get("outcome") in ("data-dependent", "unsupported", "timed out")


def judged(name, report):
    """Figures of the report of a run with default options."""
    kernels = [found(row["code_analysis"]) for row in report["kernels"]]
    seconds = report["verdict"]["seconds_by_bound"]
    whole = sum(seconds.values())
    return [figures.figure(f"{name}: kernels whose code was found", sum(kernels) / len(kernels) if kernels else None, least=ENOUGH,
                           n=len(kernels)),
            figures.figure(f"{name}: share of GPU time with a verdict", 1 - seconds["unknown"] / whole if whole else None)]


def counted(runner, name, argv):
    """Figures of what compare.py checks; none where the program can't run here."""
    case = compare.Case(f"legacy.{name}", argv, {}, None, False, True)
    statuses = {}
    for mode in ("bare", "oracle", "audit"):
        statuses[mode] = runner.run(case, mode)
        if statuses[mode] == compare.SKIPPED:
            return []
    rows = list(compare.judge(runner, case, statuses))
    for check, passed, text in rows:
        print(f"      {name} {check}: {text}", flush=True)
    return [figures.figure(f"{name}: {check}", int(bool(passed)), least=1) for check, passed, _ in rows]


def first_run(args, name, argv):
    log = f"{args.out}/{name}.gwl"
    status = under.run([*argv, f"--seconds={args.seconds:g}"], under.environment(args.gpuwatch, log), args.out, name, args.seconds + 60)
    result = [figures.figure(f"{name}: exit status", status if isinstance(status, int) else None, most=0, least=0)]
    try:
        report = under.answer(args.cli, ["report", "--json", log])
        with open(f"{args.out}/{name}.report.json", "w") as out:
            json.dump(report, out)
    except (RuntimeError, OSError, ValueError) as error:
        print(f"{name}: {error}")
        return result + [figures.figure(f"{name}: kernels whose code was found", None, least=ENOUGH)]
    for one in report["code_analysis"]:
        print(f"      {name}: {one['launches']} launches, {one['outcome']}: {one['reason']} ({(one['name'] or '')[:70]})")
    print(f"      {name}: {report['counters']['image_bytes']} bytes of code kept, {report['counters']['studied']} configurations analysed")
    return result + judged(name, report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--program", action="append", help="(default: all that there are)")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    for name in ("programs", "gpuwatch", "cli", "out"):  # programs run in OUT
        setattr(args, name, os.path.abspath(getattr(args, name)))
    os.makedirs(args.out, exist_ok=True)
    programs = sorted(path for path in glob.glob(f"{args.programs}/legacy118/*") if ".so" not in path and os.access(path, os.X_OK))
    reason = compare.why_no_gpu() or (None if programs else f"no programs: {HERE}/legacy/build.sh {args.programs}")
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.logdump, args.timeout, args.limit = f"{args.programs}/logdump", 60, 600
    runner, result = compare.Runner(args), []
    for path in programs:
        name = os.path.basename(path)
        if not args.program or name in args.program:
            result += counted(runner, name, [path]) + first_run(args, name, [path])
    return figures.conclude(args.out, result)


if __name__ == "__main__":
    sys.exit(main())
