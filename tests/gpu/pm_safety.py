#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for the host or for themselves, and ends of all kinds, while counters are sampled.

usage: pm_safety.py --programs DIR --gpuwatch SO --out DIR [options]

Each case of `hold` runs bare, then alone for --seconds under GPUWATCH_COUNTERS=pm with a budget that samples all the
time; then for --storm seconds N at a time, cases, lengths and ends drawn at random, so that the GPU's one sampler is
fought over. Either part is left out where its time is 0. A run fails when it hangs, or when its output or exit status
is not that of a run without us; of runs alone also when not every kernel was measured, or fewer windows of counters
were taken than --windows: where there is none, nothing was shown. Writes runs.tsv and figures.json, prints a table.
Exit status: 0 all well, 1 a run failed or too few were made, 77 there is no GPU here.
"""
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys
import time

import compare
import figures
import under

CASES = "released persistent cooperative streams capture launches resets pair".split()
ENDS = "return exit thread main quick reset running".split()
STATUS = {"thread": 5}
SAID = ("pm_windows", "pm_failed", "pm_overflows", "pm_cpu_ns")


def environment(args, log):
    if log:
        return under.environment(args.gpuwatch, log, under.COUNTED)
    env = under.environment("", "")
    for name in compare.without_gpuwatch(env):
        env.pop(name)
    return env


def run(args, name, seconds, end, log):
    """A line of runs.tsv as a dictionary; what went wrong in `fault`."""
    begin, fault = time.monotonic(), ""
    process = subprocess.Popen([f"{args.programs}/hold", name, f"{seconds:.3f}", end], env=environment(args, log),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=seconds + args.patience)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        fault = "hang"
    status = process.returncode
    if not fault and status != STATUS.get(end, 0):
        fault = f"status {status}"
    if not fault and not re.fullmatch(rf"{name}: right kernels (\d+) counted \1\n", out):
        fault = "output"
    if log and re.sub(r"gpuwatch: .*\n", "", err):
        fault = fault or "stderr"
    row = {"case": name, "end": end, "seconds": f"{seconds:.3f}", "took": f"{time.monotonic() - begin:.3f}", "status": status,
           "fault": fault, "said": " ".join((out + err).split())[:300]}
    kernels = re.search(r"kernels (\d+)", out)
    if log:
        told, notes = under.totals(f"{args.programs}/logdump", log)
        row.update({key: told[key] if told else "" for key in SAID})
        row.update({"launched": int(kernels[1]) if kernels else "", "measured": told["measured"] + told["invalid"] if told else "",
                    "degraded": "; ".join(notes)})
        for path in glob.glob(glob.escape(log) + "*"):
            os.remove(path)
    return row


def storm(args, rows):
    """Many at a time, at random, until the time is over; each lane one at least."""
    dice, until = random.Random(args.seed), time.monotonic() + args.storm
    plans = [(dice.choice(CASES), dice.uniform(args.shortest, args.longest), dice.choice(ENDS)) for _ in range(5000)]

    def lane(number):
        done = []
        for i in range(number, len(plans), args.lanes):
            if done and time.monotonic() > until:
                break
            done.append({**run(args, *plans[i], f"{args.out}/storm.{i}.gwl"), "how": "storm"})
        return done

    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        for done in pool.map(lane, range(args.lanes)):
            rows += done


def alone(args, rows):
    for case in CASES:
        row = {**run(args, case, args.seconds, "return", f"{args.out}/{case}.gwl"), "how": "alone"}
        if not row["fault"] and row["measured"] != row["launched"]:
            row["fault"] = "not all measured"
        if not row["fault"] and row["pm_windows"] < args.windows:
            row["fault"] = f"{row['pm_windows']} windows of counters"
        rows.append(row)
        print(f"{'FAIL' if row['fault'] else 'PASS'} {case} alone: {row['fault'] or 'well'}, {row['pm_windows']} windows, "
              f"{row['measured']} of {row['launched']} kernels measured, {row['took']} s"
              + (f"; {row['degraded']}" if row["degraded"] else ""), flush=True)


def judged(args, rows):
    """Figures of all runs."""
    faults = sum(bool(row["fault"]) for row in rows)
    storms = [row for row in rows if row["how"] == "storm"]
    found = [figures.figure("runs that hung, crashed or gave another result", faults, most=0, n=len(rows), enough=1)]
    if args.seconds:
        found.append(figures.figure("windows of counters in the case that had fewest", min(
            (row.get("pm_windows") or 0 for row in rows if row["how"] == "alone"), default=0), least=args.windows))
    if args.storm:
        found.append(figures.figure("short programs", len(storms), least=args.least))
        found.append(figures.figure("of these with windows of counters", sum(bool(row.get("pm_windows")) for row in storms),
                                    least=args.least_with_windows))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--gpuwatch", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=5, help="of each case alone")
    parser.add_argument("--windows", type=int, default=1, help="of counters, that each case alone must have had")
    parser.add_argument("--storm", type=float, default=60, help="seconds of many at a time")
    parser.add_argument("--lanes", type=int, default=8, help="how many at a time")
    parser.add_argument("--shortest", type=float, default=0.2, help="seconds of one of them")
    parser.add_argument("--longest", type=float, default=2.0)
    parser.add_argument("--least", type=int, default=1, help="how many of them there must be")
    parser.add_argument("--least-with-windows", type=int, default=1)
    parser.add_argument("--patience", type=float, default=20, help="seconds beyond its own after which a run hangs")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    os.makedirs(args.out, exist_ok=True)
    rows = []
    plans = [(case, 0.3, "return") for case in CASES] + [("launches", 0.3, end) for end in ENDS]
    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        rows += [{**row, "how": "bare"} for row in pool.map(lambda plan: run(args, *plan, None), plans)]
    if args.seconds:
        alone(args, rows)
    if args.storm:
        storm(args, rows)
    columns = ["how", "case", "end", "seconds", "took", "status", "fault", "launched", "measured", *SAID, "degraded", "said"]
    with open(f"{args.out}/runs.tsv", "w") as file:
        file.write("\t".join(columns) + "\n")
        file.writelines("\t".join(str(row.get(column, "")) for column in columns) + "\n" for row in rows)
    for how in ("bare", "alone", "storm"):
        for case in CASES:
            mine = [row for row in rows if row["how"] == how and row["case"] == case]
            if mine:
                print(f"{how:5} {case:12} {len(mine):4} runs, {sum(bool(row['fault']) for row in mine)} failed, "
                      f"{sum(row.get('pm_windows') or 0 for row in mine)} windows in "
                      f"{sum(bool(row.get('pm_windows')) for row in mine)} of them")
    for row in (row for row in rows if row["fault"] and row["how"] != "alone"):
        print(f"FAIL {row['how']} {row['case']} {row['end']} {row['seconds']} s: {row['fault']}: status {row['status']}, {row['said']}")
    found = judged(args, rows)
    figures.write(args.out, found)
    figures.show(found)
    return 0 if figures.met(found) else 1


if __name__ == "__main__":
    sys.exit(main())
