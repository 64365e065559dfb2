#!/usr/bin/env python3
"""Programs that wait for the host or for themselves, and ends of all kinds, while counters are sampled.

usage: pm_safety.py --programs DIR --gpuwatch SO --out DIR [options]

Each case of `hold` runs bare, then alone for --seconds under GPUWATCH_COUNTERS=pm with a budget that samples all the
time; then for --storm seconds N at a time, cases, lengths and ends drawn at random, so that the GPU's one sampler is
fought over. Either part is left out where its time is 0. A run fails when it hangs, or when its output or exit status
is not that of a run without us; of runs alone also when not every kernel was measured, or fewer windows of counters
were taken than --windows: where there is none, nothing was shown.

The end `thread` is apart: exit() on one thread while another launches on. The driver itself crashes such a program now
and then, and so does plain CUPTI activity. So its crashes do not fail a storm (hangs and wrong output do), and for
--ends seconds programs that end so run bare, under plain CUPTI activity and under gpuwatch, in an order drawn at random,
N at a time: gpuwatch must not make crashes more frequent than plain CUPTI activity by more than --margin (95% bound of
the difference of the shares, Newcombe's). None of these runs has the backtrace, which takes so long that most processes have
ended before it is written: then no crash is seen.

With --backtrace a run that crashed leaves the calls that led there in OUT/faults (fault.c), also where it is no fault.
Writes runs.tsv and figures.json, prints a table. Exit status: 0 all well, 1 a run failed or too few were made, 77 there is no GPU here.
"""
import argparse
import collections
import concurrent.futures
import glob
import itertools
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time

import compare
import figures
import under

CASES = "released persistent cooperative streams capture launches resets pair modules".split()
ENDS = "return exit thread main quick reset running".split()
STATUS = {"thread": 5}
SAID = ("pm_windows", "pm_failed", "pm_overflows", "pm_cpu_ns")


def environment(args, log, plain, unhandled):
    """Of a run under gpuwatch; without (log: None) of a bare one, or under plain CUPTI activity, into a folder."""
    env = under.environment(args.gpuwatch, log or "", under.COUNTED)
    if not log:
        for name in compare.without_gpuwatch(env):
            env.pop(name)
    if plain:
        folders = sum(compare.library_folders(), [])
        env.update(CUDA_INJECTION64_PATH=f"{args.programs}/oracle.so", GPU_ORACLE_TABLE="0", GPU_ORACLE_DIR=plain)
        cupti = [path for folder in folders for path in sorted(glob.glob(f"{folder}/libcupti.so.1[23]"))]
        if cupti:
            env.setdefault("GPU_ORACLE_CUPTI", cupti[0])
    if args.backtrace and not unhandled:
        env["LD_PRELOAD"] = ":".join(filter(None, [env.get("LD_PRELOAD"), f"{args.programs}/fault.so"]))
        env["FAULT_DIR"] = f"{args.out}/faults"
    return env


def run(args, name, seconds, end, log, plain=None, unhandled=False):
    """A line of runs.tsv as a dictionary; what went wrong in `fault`."""
    begin, fault = time.monotonic(), ""
    process = subprocess.Popen([f"{args.programs}/hold", name, f"{seconds:.3f}", end], env=environment(args, log, plain, unhandled),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=seconds + args.patience)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        fault = "hang"
    status = process.returncode
    crashed = end == "thread" and status < 0 and not fault
    if not fault and not crashed and status != STATUS.get(end, 0):
        fault = f"status {status}"
    if not fault and not re.fullmatch(rf"{name}: right kernels (\d+) counted \1\n", out):
        fault = "output"
    if log and re.sub(r"gpuwatch: .*\n", "", err):
        fault = fault or "stderr"
    row = {"case": name, "end": end, "seconds": f"{seconds:.3f}", "took": f"{time.monotonic() - begin:.3f}", "status": status,
           "fault": fault, "crashed": int(crashed), "pid": process.pid, "said": " ".join((out + err).split())[:300]}
    kernels = re.search(r"kernels (\d+)", out)
    if log:
        reported, notes = under.totals(f"{args.programs}/logdump", log)
        row.update({key: reported[key] if reported else "" for key in SAID})
        row.update({"launched": int(kernels[1]) if kernels else "", "measured": reported["measured"] + reported["invalid"] if reported else "",
                    "degraded": "; ".join(notes)})
        for path in glob.glob(glob.escape(log) + "*"):
            os.remove(path)
    return row


def storm(args, rows):
    """Many at a time, at random, until the time is over and there were --least, or twice the time is; each lane one at least."""
    dice, begin, runs = random.Random(args.seed), time.monotonic(), itertools.count(1)
    plans = [(dice.choice(args.cases), dice.uniform(args.shortest, args.longest), dice.choice(args.only_ends)) for _ in range(5000)]

    def lane(number):
        done, so_far = [], 0
        for i in range(number, len(plans), args.lanes):
            if done and time.monotonic() - begin > args.storm * (1 if so_far >= args.least else 2):
                break
            done.append({**run(args, *plans[i], f"{args.out}/storm.{i}.gwl"), "how": "storm"})
            so_far = next(runs)
        return done

    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        for done in pool.map(lane, range(args.lanes)):
            rows += done


def newcombe(hits, runs, other_hits, other_runs, z=1.645):
    """Difference of two shares and the end of its one-sided 95% interval (Newcombe 1998, by Wilson's intervals)."""
    def wilson(k, n):
        middle, width = (k + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
        return k / n, middle - width, middle + width

    mine, theirs = wilson(hits, runs), wilson(other_hits, other_runs)
    return mine[0] - theirs[0], mine[0] - theirs[0] + math.hypot(mine[2] - mine[0], theirs[0] - theirs[1])


def ends(args, rows):
    """The end `thread` with nothing, with plain CUPTI activity and with us, in turns, until the time is over."""
    dice, until, kinds = random.Random(args.seed), time.monotonic() + args.ends, ["bare", "plain", "gpuwatch"]
    plans = []
    while len(plans) < 4000:  # all kinds meet the same programs
        case, seconds = dice.choice(args.cases), dice.uniform(args.shortest, args.longest)
        plans += [(kind, case, seconds) for kind in dice.sample(kinds, len(kinds))]

    def lane(number):
        done = []
        for i in range(number, len(plans), args.lanes):
            if time.monotonic() > until:
                break
            kind, case, seconds = plans[i]
            folder = f"{args.out}/plain.{i}"
            if kind == "plain":
                os.makedirs(folder, exist_ok=True)
            log = None if kind in ("bare", "plain") else f"{args.out}/ends.{i}.gwl"
            done.append({**run(args, case, seconds, "thread", log, folder if kind == "plain" else None, unhandled=True),
                         "how": f"ends, {kind}"})
            shutil.rmtree(folder, ignore_errors=True)
        return done

    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        for done in pool.map(lane, range(args.lanes)):
            rows += done


def crashes(args, rows):
    """Lines: where the runs of each kind crashed, the innermost calls of each, most frequent first."""
    found = collections.Counter()
    for row in rows:
        try:
            with open(f"{args.out}/faults/{row['pid']}") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        state = next((line.split()[1] for line in lines if line.startswith("State:")), "?")
        thread = re.search(r"\(([^)]*)\)$", lines[0]) if lines else None
        frames = [os.path.basename(line.split("[")[0].replace("(", " ").replace(")", "")) for line in lines[2:] if "fault.so" not in line]
        found[row["how"], row["end"], thread[1] if thread else "?", state, " < ".join(frames[:8])] += 1
    return [f"crashed {number} times: {how}, end {end}, thread {thread}, main thread {state}: {frames}"
            for (how, end, thread, state, frames), number in found.most_common(40)]


def judged_ends(args, rows):
    """Shares of crashes, and what separates ours from those of plain CUPTI activity."""
    found, reported = [], {}
    for kind in ("bare", "plain", "gpuwatch"):
        mine = [row for row in rows if row["how"] == f"ends, {kind}"]
        reported[kind] = (sum(row["crashed"] for row in mine), len(mine))
        found.append(figures.figure(f"exit by another thread, crashed: {kind}", reported[kind][0] / max(1, len(mine)), n=len(mine)))
    for base in ("plain", "bare"):
        both = reported["gpuwatch"], reported[base]
        difference = newcombe(*both[0], *both[1]) if both[0][1] and both[1][1] else (None, None)
        limit = {"most": args.margin, "enough": 30} if base == "plain" else {}
        found.append(figures.figure(f"exit by another thread, crashed: gpuwatch - {base}", difference[0], at=difference[1],
                                    n=min(both[0][1], both[1][1]), **limit))
    return found


def alone(args, rows):
    for case in args.cases:
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
    if args.ends:
        found += judged_ends(args, rows)
    if args.storm:
        threads = [row for row in storms if row["end"] == "thread"]
        found.append(figures.figure("of those that another thread ended, crashed", sum(row["crashed"] for row in threads), n=len(threads)))
        found.append(figures.figure("short programs", len(storms), least=args.least))
        found.append(figures.figure("of these with windows of counters", sum(bool(row.get("pm_windows")) for row in storms),
                                    least=args.least_with_windows or None))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--gpuwatch", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--case", action="append", choices=CASES, dest="cases", help="may be repeated (default: all)")
    parser.add_argument("--seconds", type=float, default=5, help="of each case alone")
    parser.add_argument("--windows", type=int, default=1, help="of counters, that each case alone must have had")
    parser.add_argument("--storm", type=float, default=60, help="seconds of many at a time")
    parser.add_argument("--lanes", type=int, default=8, help="how many at a time")
    parser.add_argument("--shortest", type=float, default=0.2, help="seconds of one of them")
    parser.add_argument("--longest", type=float, default=2.0)
    parser.add_argument("--least", type=int, default=1, help="how many of them there must be")
    parser.add_argument("--least-with-windows", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60, help="seconds beyond its own after which a run hangs")
    parser.add_argument("--ends", type=float, default=0, help="seconds of programs that another thread ends, with controls")
    parser.add_argument("--margin", type=float, default=0.2, help="by which the share of crashes may be larger, at most")
    parser.add_argument("--only-ends", type=lambda text: text.split(","), default=ENDS, help="of a storm: " + ",".join(ENDS))
    parser.add_argument("--backtrace", action="store_true", help="where did it crash?")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    args.cases = args.cases or CASES
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    os.makedirs(f"{args.out}/faults" if args.backtrace else args.out, exist_ok=True)
    rows = []
    plans = [(case, 0.3, "return") for case in args.cases] + [("launches", 0.3, end) for end in ENDS]
    with concurrent.futures.ThreadPoolExecutor(args.lanes) as pool:
        rows += [{**row, "how": "bare"} for row in pool.map(lambda plan: run(args, *plan, None), plans)]
    if args.seconds:
        alone(args, rows)
    if args.storm:
        storm(args, rows)
    if args.ends:
        ends(args, rows)
    columns = ["how", "case", "end", "seconds", "took", "pid", "status", "fault", "crashed", "launched", "measured", *SAID, "degraded", "said"]
    with open(f"{args.out}/runs.tsv", "w") as file:
        file.write("\t".join(columns) + "\n")
        file.writelines("\t".join(str(row.get(column, "")) for column in columns) + "\n" for row in rows)
    for how in ("bare", "alone", "storm"):
        for case in args.cases:
            mine = [row for row in rows if row["how"] == how and row["case"] == case]
            if mine:
                print(f"{how:5} {case:12} {len(mine):4} runs, {sum(bool(row['fault']) for row in mine)} failed, "
                      f"{sum(row.get('pm_windows') or 0 for row in mine)} windows in "
                      f"{sum(bool(row.get('pm_windows')) for row in mine)} of them")
    for kind in ("bare", "plain", "gpuwatch") if args.ends else ():
        mine = [row for row in rows if row["how"] == f"ends, {kind}"]
        print(f"exit by another thread, {kind}: {len(mine)} runs, {sum(row['crashed'] for row in mine)} crashed, "
              f"{sum(bool(row['fault']) for row in mine)} failed otherwise")
    for row in (row for row in rows if row["fault"] and row["how"] != "alone"):
        print(f"FAIL {row['how']} {row['case']} {row['end']} {row['seconds']} s: {row['fault']}: status {row['status']}, {row['said']}")
    for line in crashes(args, rows) if args.backtrace else ():
        print(line)
    found = judged(args, rows)
    return figures.conclude(args.out, found)


if __name__ == "__main__":
    sys.exit(main())
