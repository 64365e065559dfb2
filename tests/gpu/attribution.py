#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How exact sampled counters are, for kernels of one length: against counts of each launch alone and in place.

usage: attribution.py --part long|mid|short|tiny|decode --programs DIR --gpuwatch SO --recorder SO --workloads PROGRAM
                      --again PROGRAM --table TABLE.csv --out DIR [--seconds S] [--kernels N]

Chooses workloads of that length by the table (of kernels/workloads/table.py), runs them in turn under
GPUWATCH_COUNTERS=range, which gives the truth, and then under sampled counters: with a wait after each launch, and
queued. Compares them as pm_score.py does, and the ranges with ncu's counts in the table. Ranges do not count atomics in
L2: kernels that have some by the table are left out there. The part decode is the decode loop of torch_loops.py instead: the
truth is of its kernels launched one by one, sampled they run in a CUDA graph, in steps with a pause between them (waits) and
without (queued). Parts without a goal only say what came of them. OUT gets what the logs know of
work (*.work), what attribution was given (*.rec.xz, for gpu_pm_again) and figures.json. Exit status: 0 goals met, 1 one
missed, 77 there is no GPU here.
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

HERE = os.path.dirname(os.path.abspath(__file__))
# from and to in seconds, the goal, the size whose kernels mostly are that long
PARTS = {"long": (150e-6, 1, 0.02, 4), "mid": (50e-6, 150e-6, 0.05, 3), "short": (5e-6, 50e-6, 0.10, 2), "tiny": (1e-6, 5e-6, None, 0),
         "decode": (0, 1, None, None)}
PAUSE = 3  # ms between the steps of a loop that waits
LONGEST = 2e-3   # longer ones would leave too few rounds
ENOUGH = 15      # kernels that a median rests on
MEMORY = "40G"
EVICT = 120e6    # bytes: of what moves more than two L2 hold, device memory is the same whoever ran before
SHOWN = ["dram_read_bytes", "dram_write_bytes"]  # without a goal: what is written leaves L2 after the launch, or never
BY_NCU = ("inst_executed", "thread_inst", "pipe_alu", "global_load_sectors", "pipe_fma", "pipe_lsu")  # of several sets of metrics


def python():
    return shutil.which("python3") or sys.executable


def runs_of(args):
    """{run: (library, what counts there, options of the program)}; the first gives the truth."""
    recorder = args.recorder if os.path.exists(args.recorder) else args.gpuwatch
    options = ([], [], ["--queued"]) if args.part != "decode" else tuple(
        [name, f"{args.seconds:g}", f"{pause}"] for name, pause in (("eager", 0), ("decode", PAUSE), ("decode", 0)))
    return {"ranges": (args.gpuwatch, {"GPUWATCH_COUNTERS": "range"}, options[0]), "waits": (recorder, under.COUNTED, options[1]),
            "queued": (recorder, under.COUNTED, options[2])}


def chosen(table, part, most):
    """Workloads of one kernel that take so long, evenly over the table. Of two that launch the same configuration a
    log's counts could not be told apart."""
    low, high, _, size = PARTS[part]
    kernels, configurations = {}, {}
    for row in table:
        kernels.setdefault((row["workload"], row["size"]), []).append(row)
        configurations.setdefault(pm_score.configuration(row), []).append(row)
    names = [rows[0]["workload"] for (_, at), rows in kernels.items() if at == str(size) and len(rows) == 1
             and len(configurations[pm_score.configuration(rows[0])]) == 1 and rows[0]["seconds"] and low <= float(rows[0]["seconds"]) < min(high, LONGEST)]
    return [names[i * len(names) // min(most, len(names))] for i in range(min(most, len(names)))]


def record(args, names, name, library, counters, options):
    """One run; gives its counters, None where it failed."""
    log = f"{args.out}/{name}.gwl"
    loop = args.part == "decode"
    env = under.environment(library, log, dict(counters, GPUWATCH_STATIC="0", GPU_PM_RECORD=f"{args.out}/{name}.rec"), packages=loop)
    command = [python(), f"{HERE}/py/programs.py", *options] if loop else [
        args.workloads, "--interleave", "--seed=1", "--json", f"--size={PARTS[args.part][3]}", f"--memory={MEMORY}",
        f"--seconds={args.seconds}", *options, *[f"--only={one}" for one in names]]
    status = under.run(command, env, args.out, name, args.seconds + 60)
    found, notes = under.totals(args.logdump, log)
    if found is not None:
        under.work(args.logdump, log, f"{args.out}/{name}.work")
        os.remove(log)
    under.squeeze(f"{args.out}/{name}.rec")
    print(f"{name}: exit status {status}, " + ", ".join(f"{key} {found[key]}" for key in (
        "launched", "measured", "pm_windows", "pm_other_profiler", "pm_incomplete", "pm_overflows", "pm_leftovers", "pm_failed", "counted", "deep_counted",
        "deep_refused", "deep_busy")) if found else f"{name}: exit status {status}", *notes, sep="; ", flush=True)
    return found if status == 0 else None


def errors(found, low, high):
    """{counter: ascending errors} of kernels that long."""
    result = {}
    for counter, ns, error, *_ in found:
        if low * 1e9 <= ns < high * 1e9:
            result.setdefault(counter, []).append(abs(error))
    return {counter: sorted(values) for counter, values in result.items()}


def judged(part, truth, sampled):
    """Figures of {name: counts by sampling} against the truth."""
    low, high, goal, _ = PARTS[part]
    result = []
    for name, counted in sampled.items():
        by_counter = errors(pm_score.compare(truth, counted, 0, 0), low, high)
        for counter in pm_score.HELD + SHOWN:
            values = by_counter.get(counter, [])
            held = {"most": goal, "enough": ENOUGH} if goal and counter in pm_score.HELD else {}
            result.append(figures.figure(
                f"median error of {counter}, {name}", statistics.median(values) if values else None, n=len(values), **held,
                spread=(values[len(values) // 10], values[len(values) * 9 // 10]) if values else None))
    return result


def by_ncu(table, ranges, goals):
    """Figures of what ranges counted against ncu's table, and of how much they counted at all."""
    found = {}
    for counter, _, error, *_ in pm_score.compare(table, ranges, 0, EVICT):
        found.setdefault(counter, []).append(abs(error))
    result = [figures.figure("counts that deep counters told, median over kernels",
                             statistics.median(len(values) for _, values in ranges.values()) if ranges else None,
                             n=len(ranges), **({"least": 20} if goals else {}))]
    for counter in BY_NCU:
        values = sorted(found.get(counter, []))
        result.append(figures.figure(f"median error of {counter}, deep counters against ncu", statistics.median(values) if values else None,
                                     n=len(values), **({"most": 0.02, "enough": 5} if goals else {})))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "recorder", "workloads", "again", "table", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--part", required=True, choices=PARTS)
    parser.add_argument("--seconds", type=float, default=13, help="of each of the three runs")
    parser.add_argument("--kernels", type=int, default=30)
    args = parser.parse_args()
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.logdump = f"{args.programs}/logdump"
    if args.part == "decode" and not compare.module_present(python(), "torch"):
        print("SKIP: Python module torch is not installed")
        return 77
    with open(args.table, newline="") as file:
        names = chosen(list(csv.DictReader(file)), args.part, args.kernels) if args.part != "decode" else []
    runs = runs_of(args)
    told = {name: record(args, names, name, *how) for name, how in runs.items()}
    known = {name: pm_score.read_log(args.logdump, f"{args.out}/{name}.work") if os.path.exists(f"{args.out}/{name}.work") else {}
             for name in runs}
    table = pm_score.read_table(args.table)
    truth = pm_score.read_ranges(args.logdump, f"{args.out}/ranges.work", table) if known["ranges"] else {}
    found = judged(args.part, truth, {name: known[name] for name in ("waits", "queued")})
    found += [figures.figure(f"windows of counters, {name}", (told[name] or {}).get("pm_windows"), least=20) for name in ("waits", "queued")]
    found += by_ncu(table, known["ranges"], PARTS[args.part][2])
    figures.write(args.out, found)
    figures.show(found)
    return 0 if figures.met(found) and None not in told.values() else 1


if __name__ == "__main__":
    sys.exit(main())
