#!/usr/bin/env python3
"""How exact sampled counters are, for kernels of one length: against counts of each launch alone and in place.

usage: attribution.py --part long|mid|short --programs DIR --gpuwatch SO --recorder SO --workloads PROGRAM
                      --again PROGRAM --table TABLE.csv --out DIR [--seconds S] [--kernels N]

Chooses workloads of that length by the table (of kernels/workloads/table.py), runs them in turn under ncu, which gives
the truth, and then under sampled counters: with a wait after each launch, and queued. ncu counts in place, by replaying
the application, with clocks and caches left as they are. Compares them as pm_score.py does. OUT gets ncu's
counts (alone.csv), what the logs know of work (*.work), what attribution was given (*.rec.xz, for gpu_pm_again) and
figures.json. Exit status: 0 goals met, 1 one missed, 77 there is no GPU or no ncu here.
"""
import argparse
import csv
import os
import shutil
import statistics
import sys

import compare
import figures
import pm_score
import under

# from and to in seconds, the goal, the size whose kernels mostly are that long
PARTS = {"long": (150e-6, 1, 0.02, 4), "mid": (50e-6, 150e-6, 0.05, 3), "short": (5e-6, 50e-6, 0.10, 2)}
LONGEST = 2e-3   # longer ones would leave too few rounds
ENOUGH = 15      # kernels that a median rests on
MEMORY = "40G"
HELD = ["dram_read_bytes", "l2", "inst_executed"]
SHOWN = ["dram", "dram_write_bytes"]  # without a goal: what is written leaves L2 after the launch, and ncu leaves time for that
ROUNDS = 10      # of the workloads, each counted by ncu


def command(args, names, options):
    """The program of one run."""
    return [args.workloads, "--interleave", "--seed=1", "--json", f"--size={PARTS[args.part][3]}", f"--memory={MEMORY}",
            *options, *[f"--only={one}" for one in names]]


def alone(args, names):
    """What ncu counts of each launch in place, as pm_score.py reads it; nothing where it failed."""
    path = f"{args.out}/alone.csv"
    counter = ["ncu", "--clock-control", "none", "--cache-control", "none", "--replay-mode", "application", "--app-replay-buffer", "memory",
               "--csv", "--print-units", "base", "--print-kernel-base", "mangled", "--metrics", ",".join(pm_score.metrics_in_place()),
               "--profile-from-start", "off", "--log-file", path]
    env = under.environment("", "")
    for name in compare.without_gpuwatch(env):
        env.pop(name)
    status = under.run(counter + command(args, names, [f"--repeat={ROUNDS}"]), env, args.out, "alone", args.limit)
    found = pm_score.read_in_place(path) if os.path.exists(path) else {}
    print(f"alone: exit status {status}, {len(found)} configurations counted by ncu", flush=True)
    return found if status == 0 else {}


def chosen(table, part, most):
    """Workloads of one kernel that take so long, evenly over the table. Of two that launch the same configuration a
    log's counts could not be distinguished."""
    low, high, _, size = PARTS[part]
    kernels, configurations = {}, {}
    for row in table:
        kernels.setdefault((row["workload"], row["size"]), []).append(row)
        configurations.setdefault(pm_score.configuration(row), []).append(row)
    names = [rows[0]["workload"] for (_, at), rows in kernels.items() if at == str(size) and len(rows) == 1
             and len(configurations[pm_score.configuration(rows[0])]) == 1 and rows[0]["seconds"] and low <= float(rows[0]["seconds"]) < min(high, LONGEST)]
    return [names[i * len(names) // min(most, len(names))] for i in range(min(most, len(names)))]


def record(args, names, name, options):
    """One run under sampled counters; gives its counters, None where it failed."""
    log = f"{args.out}/{name}.gwl"
    library = args.recorder if os.path.exists(args.recorder) else args.gpuwatch
    env = under.environment(library, log, dict(under.COUNTED, GPUWATCH_STATIC="0", GPU_PM_RECORD=f"{args.out}/{name}.rec"))
    status = under.run(command(args, names, options), env, args.out, name, args.seconds + 60)
    found, notes = under.totals(args.logdump, log)
    if found is not None:
        under.work(args.logdump, log, f"{args.out}/{name}.work")
        os.remove(log)
    under.squeeze(f"{args.out}/{name}.rec")
    print(f"{name}: exit status {status}, " + ", ".join(f"{key} {found[key]}" for key in (
        "launched", "measured", "pm_windows", "pm_other_profiler", "pm_incomplete", "pm_overflows", "pm_leftovers", "pm_failed",
        "counted")) if found else f"{name}: exit status {status}", *notes, sep="; ", flush=True)
    return found if status == 0 else None


def errors(found, low, high):
    """{counter: ascending errors} of kernels that long."""
    result = {}
    for counter, ns, error in found:
        if low * 1e9 <= ns < high * 1e9:
            result.setdefault(counter, []).append(abs(error))
    return {counter: sorted(values) for counter, values in result.items()}


def judged(part, truth, sampled):
    """Figures of {name: counts by sampling} against the truth."""
    low, high, goal, _ = PARTS[part]
    result = []
    for name, counted in sampled.items():
        by_counter = errors(pm_score.compare(truth, counted), low, high)
        for counter in HELD + SHOWN:
            values = by_counter.get(counter, [])
            held = {"most": goal, "enough": ENOUGH} if counter in HELD else {}
            result.append(figures.figure(
                f"median error of {counter}, {name}", statistics.median(values) if values else None, n=len(values), **held,
                spread=(values[len(values) // 10], values[len(values) * 9 // 10]) if values else None))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "recorder", "workloads", "again", "table", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--part", required=True, choices=PARTS)
    parser.add_argument("--seconds", type=float, default=13, help="of each of the three runs")
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--limit", type=float, default=100, help="seconds that ncu may take")
    args = parser.parse_args()
    reason = compare.why_no_gpu() or (None if shutil.which("ncu") else "ncu is not installed")
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.logdump = f"{args.programs}/logdump"
    with open(args.table, newline="") as file:
        names = chosen(list(csv.DictReader(file)), args.part, args.kernels)
    runs = {"waits": [f"--seconds={args.seconds}"], "queued": [f"--seconds={args.seconds}", "--queued"]}
    truth = alone(args, names)
    reported = {name: record(args, names, name, options) for name, options in runs.items()}
    known = {name: pm_score.read_log(args.logdump, f"{args.out}/{name}.work") if os.path.exists(f"{args.out}/{name}.work") else {}
             for name in runs}
    found = judged(args.part, truth, known)
    found += [figures.figure(f"windows of counters, {name}", (reported[name] or {}).get("pm_windows"), least=20) for name in runs]
    figures.write(args.out, found)
    figures.show(found)
    return 0 if truth and figures.met(found) and None not in reported.values() else 1


if __name__ == "__main__":
    sys.exit(main())
