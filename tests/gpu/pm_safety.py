#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for the host or for themselves, and ends of all kinds, while counters are sampled.

usage: pm_safety.py --programs DIR --gpuwatch SO --out DIR [--seconds S] [--storm S] [--lanes N] [--patience S] [--seed N]

Each case of `hold` runs bare, then alone under GPUWATCH_COUNTERS=pm with a budget that samples all the time; then for
--storm seconds N at a time, cases, lengths and ends drawn at random, so that the GPU's one sampler is fought over.
A run fails when it hangs, or when its output or exit status differs from the bare run's; of runs alone also when not
every kernel was measured. Writes runs.tsv and prints a table. Exit status: 0 all well, 1 a run failed,
77 there is no GPU here.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import time

import compare

CASES = "released persistent cooperative streams capture launches resets".split()
ENDS = "return exit thread main quick reset running".split()
STATUS = {"thread": 5}
SAID = ("pm_windows", "pm_failed", "pm_overflows", "pm_cpu_ns")


def environment(args, log):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GPUWATCH_") and k != "LD_PRELOAD"}
    toolkit, wheels = compare.library_folders()
    env["LD_LIBRARY_PATH"] = ":".join(toolkit + wheels + [env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    if log:
        env.update(LD_PRELOAD=args.gpuwatch, GPUWATCH_MODE="audit", GPUWATCH_COUNTERS="pm", GPUWATCH_BUDGET="100",
                   GPUWATCH_OUT=log, GPUWATCH_SUMMARY="0")
    return env


def counters(args, log):
    """(counters, kernels measured, the reason why there were no counters); None without a whole log."""
    told = subprocess.run([f"{args.programs}/logdump", log], capture_output=True, text=True)
    if told.returncode:
        return None
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    return ({row[1]: int(row[2]) for row in rows if row[0] == "C"}, sum(int(row[3]) for row in rows if row[0] == "K"),
            "; ".join(row[2] for row in rows if row[0] == "D"))


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
    if not fault and not re.fullmatch(rf"{name}: right kernels \d+\n", out):
        fault = "output"
    if log and re.sub(r"gpuwatch: .*\n", "", err):
        fault = fault or "stderr"
    row = {"case": name, "end": end, "seconds": f"{seconds:.3f}", "took": f"{time.monotonic() - begin:.3f}", "status": status,
           "fault": fault, "said": " ".join((out + err).split())[:300]}
    kernels = re.search(r"kernels (\d+)", out)
    if log:
        told = counters(args, log) if os.path.exists(log) else None
        row.update({key: told[0][key] if told else "" for key in SAID})
        row.update({"launched": int(kernels[1]) if kernels else "", "measured": told[1] if told else "",
                    "degraded": told[2] if told else "no log"})
        if os.path.exists(log):
            os.remove(log)
    return row


def storm(args, rows):
    """Many at a time, at random, until the time is over."""
    dice, until = random.Random(args.seed), time.monotonic() + args.storm
    plans = [(dice.choice(CASES), dice.uniform(0.2, 2.0), dice.choice(ENDS)) for _ in range(5000)]

    def lane(number):
        done = []
        for i in range(number, len(plans), args.lanes):
            if time.monotonic() > until:
                break
            done.append({**run(args, *plans[i], f"{args.out}/storm.{i}.gwl"), "how": "storm"})
        return done

    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        for done in pool.map(lane, range(args.lanes)):
            rows += done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--gpuwatch", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--storm", type=float, default=60)
    parser.add_argument("--lanes", type=int, default=8)
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
    with concurrent.futures.ThreadPoolExecutor(len(plans)) as pool:
        rows += [{**row, "how": "bare"} for row in pool.map(lambda plan: run(args, *plan, None), plans)]
    for case in CASES:
        row = {**run(args, case, args.seconds, "return", f"{args.out}/{case}.gwl"), "how": "alone"}
        if not row["fault"] and row["measured"] != row["launched"]:
            row["fault"] = "not all measured"
        rows.append(row)
        print(f"{case}: {row['fault'] or 'well'}, {row['pm_windows']} windows, {row['took']} s", flush=True)
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
    faults = [row for row in rows if row["fault"]]
    for row in faults:
        print(f"{row['how']} {row['case']} {row['end']} {row['seconds']} s: {row['fault']}: status {row['status']}, {row['said']}")
    print(f"{len(rows)} runs, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
