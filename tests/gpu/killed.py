#!/usr/bin/env python3
"""Programs killed in mid-run: every launch whose call has returned is in the report, once (killed.cu).

usage: killed.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--runs N] [--seed N]

Each run has a mode, a number of threads, a pause and a lifetime drawn at random, and ends by SIGKILL. The report of its
log, which takes from the live segment what the log lacks, must have for each grid at least the launches that the program
counted, less what it says was dropped (a ring was full), and at most one more per thread; kernels of graphs also less
those of the launches of which it says that their kernels are not known. `gpuwatch recover` then writes
the same into a log, which logdump must read alike. Exit status: 0 all well, 1 not, 77 there is no GPU here.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import struct
import subprocess
import sys
import time

import compare
import figures
import under

GRIDS, NODES, NODE_GRID = 7, 5, 64


def counted(path, threads):
    """{(graph, grid): kernels} that the program says it launched, and [per thread] counts."""
    with open(path, "rb") as file:
        values = struct.unpack(f"<{threads * (GRIDS + 1)}Q", file.read(8 * threads * (GRIDS + 1)))
    found = collections.Counter()
    for at in range(threads):
        row = values[at * (GRIDS + 1):(at + 1) * (GRIDS + 1)]
        for grid in range(GRIDS):
            found["of_stream", grid + 1] += row[grid]
        found["of_graph", NODE_GRID] += NODES * row[GRIDS]
    return found


def reported(cli, logs):
    """The same from the report, which may name one kernel in several rows; launches it says were dropped; its messages."""
    done = subprocess.run([cli, "report", "--json", "--by=config", *logs], capture_output=True, text=True)
    if done.returncode > 1:  # 1: a log is cut off
        return None, 0, done.stderr.strip()
    report = json.loads(done.stdout)
    found = collections.Counter()
    for row in report["kernels"]:
        grid = int(row["GridXYZ"].split()[0])
        name = "of_stream" if "of_stream" in row["Name"] else "of_graph" if "of_graph" in row["Name"] else row["Name"]
        found[name, grid] += row["Instances"]
    return +found, report["counters"]["ring_dropped"] + report["counters"]["threads_dropped"], done.stderr.strip()


def unknown_graphs(said):
    """Graph launches of which the report says that it does not know their kernels."""
    return sum(int(number) for number in re.findall(r"the kernels of (\d+) graph launches in it are not (?:all )?known", said))


def of_grid(truth, found, dropped, threads, unknown=0):
    """What is wrong with the launches that a report names, or None; `unknown`: graph launches without their kernels."""
    for key in sorted(set(truth) | set(found)):
        each = NODES if key[0] == "of_graph" else 1
        least = truth[key] - dropped - (unknown * NODES if each == NODES else 0)
        most = truth[key] + threads * each
        if not least <= found[key] <= most:
            return f"{key[0]} of grid {key[1]}: {truth[key]} launched, {found[key]} reported, {dropped} dropped of all, {unknown} graph launches without kernels"
    return None


def dumped(logdump, log):
    """{(kernel, grid): kernels} by logdump, which stops at the first oddity; the live segment that the log names."""
    reported = subprocess.run([logdump, log], capture_output=True, text=True)
    if reported.returncode:
        raise RuntimeError(reported.stderr.strip())
    found, segment = collections.Counter(), None
    for parts in (line.split("\t") for line in reported.stdout.splitlines()):
        if parts[0] == "K":
            name = "of_stream" if "of_stream" in parts[9] else "of_graph" if "of_graph" in parts[9] else parts[9]
            found[name, int(parts[5].split(",")[0])] += int(parts[2])
        elif parts[0] == "H" and parts[1].startswith("segment="):
            segment = parts[1][len("segment="):]
    return found, segment


def recovered(args, log, found):
    """What is wrong with the log that `gpuwatch recover` makes of this one and its segment, or None; the segment is gone then."""
    whole = log.removesuffix(".gwl") + ".recovered.gwl"
    try:
        segment = dumped(f"{args.programs}/logdump", log)[1]
        if not segment or not os.path.exists(segment):
            return f"its segment, {segment}, is not there"
        under.command(args.cli, ["recover", f"--output={args.out}", segment])
        second = dumped(f"{args.programs}/logdump", whole)[0]
    except RuntimeError as error:
        return str(error)
    if second != found:
        return f"the recovered log has {dict(second - found)} more and {dict(found - second)} less than the report"
    os.remove(whole)
    return None


def one(args, number, rng):
    """A run; what is wrong with it, or None, how many launches it made, and graph launches whose kernels are not known."""
    mode = rng.choice(("audit", "audit", "watch", "count"))
    threads, pause = rng.choice((1, 1, 2, 8)), rng.choice((0, 20, 200))
    pause = pause if threads < 8 else 200
    life = rng.uniform(0.05, 2.5)
    log, witness = f"{args.out}/killed-{number}.gwl", f"{args.out}/killed-{number}.counts"
    env = under.environment(os.path.abspath(args.gpuwatch), log, {"GPUWATCH_MODE": mode})
    child = subprocess.Popen([f"{args.programs}/killed", witness, str(threads), str(pause)], env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while not (os.path.exists(witness) and os.path.getsize(witness) and sum(counted(witness, threads).values())):
        if child.poll() is not None or time.monotonic() - begin > 60:
            child.kill()
            return f"it ended by itself: {child.communicate()[1].strip()}", 0, 0
        time.sleep(0.01)
    time.sleep(life)
    child.kill()
    child.communicate()
    truth = counted(witness, threads)
    logs = sorted(glob.glob(glob.escape(log) + "*"))
    found, dropped, said = reported(args.cli, logs) if logs else (None, 0, "no log")
    what = f"mode {mode}, {threads} threads, pause {pause} us, {life:.2f} s"
    if found is None:
        return f"{what}: {said}", sum(truth.values()), 0
    unknown = unknown_graphs(said)
    wrong = of_grid(truth, found, dropped, threads, unknown) or recovered(args, log, found)
    if wrong:
        return f"{what}: {wrong}; {said}", sum(truth.values()), unknown
    for path in logs + [witness]:
        os.remove(path)
    return None, sum(truth.values()), unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP {reason}")
        return 77
    rng, failed, launches, graphs = random.Random(args.seed), 0, 0, 0
    for number in range(args.runs):
        wrong, made, unknown = one(args, number, rng)
        launches += made
        graphs += unknown
        failed += wrong is not None
        if wrong:
            print(f"run {number}: {wrong}", flush=True)
    found = [figures.figure("killed runs whose report lacks a launch or has one too many", failed, most=0, n=args.runs, enough=args.runs),
             figures.figure("launches of killed runs", launches),
             figures.figure("graph launches of them whose kernels are not known, as the report says", graphs)]
    figures.show(found)
    figures.write(args.out, found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
