#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading kernels' code costs a program: mode audit with GPUWATCH_STATIC=1 against 0, in pairs.

Processes of both kinds take turns (turns.py): first the first steps of a training loop, model and all, when every kernel is new and its
code is read beside. A process can do that once, and takes seconds, so it is done by few; each then takes turns of a tenth of
a second of steps on, far more of them. Writes reading.json, prints figures. With --also FILE... they are of all pairs, those of
earlier runs of the same program and library too (their reading.json): on two GPUs, say, each with CPUs of its own. Exit status: 0 goals met (read / unread at most
1.05 in first steps and 1.02 later, 95% bounds of medians, and code was read in one kind only), 1 missed or a process failed, 77 there
is no GPU or no PyTorch here.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import sys
import time

from modes import begin, compare, figures, options, python, python_libraries
from sampling import counter
import turns

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("read", "unread")
FIRST, LATER = 1.05, 1.02  # most that the bound of read / unread may be
STEPS = {"first": 20, "later": 40}  # of a turn
COUNTED = ("studied", "worker_cpu_ns", "overhead_ns")  # of a process


def one_set(args, number, order):
    """Rounds by line of so many pairs, and what was counted of each process; pairs without a time are left out."""
    command = [python(), f"{HERE}/torch_loops.py", "fresh", args.loop]
    lines = {f"{args.loop} {STEPS['first']}": 1, f"{args.loop} {STEPS['later']}": args.rounds}

    def pair():
        return [turns.Player(mode, command, args, python_libraries(), next(number)) for mode in MODES]
    times, players, ends = turns.played(pair, args.together, lines, order)
    seen = [(player.mode, end is not None, *(counter(args, player.folder, name) if end is not None else None for name in COUNTED))
            for player, end in zip(players, ends)]
    for player in players:
        shutil.rmtree(player.folder, ignore_errors=True)
    return dict(zip(STEPS, times.values())), seen


def collect(args):
    """Sets of processes until the time is up, and at least one."""
    found, seen, order, number = {"first": [], "later": []}, [], random.Random(args.seed), iter(range(1, 1 << 20))
    start = time.monotonic()
    took = 0
    while not seen or time.monotonic() - start + took < args.seconds:
        before = time.monotonic()
        times, reported = one_set(args, number, order)
        for when in found:
            found[when] += times[when]
        seen += reported
        took = time.monotonic() - before
    return found, seen


def earlier(path):
    """The pairs of an earlier run, and what was counted of its processes."""
    try:
        with open(path) as file:
            reported = json.load(file)
        return {when: reported["times"][when] for when in STEPS}, reported["processes"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{path} can't be read ({error}); it is to be the reading.json of an earlier run")


def judged(args, found, seen):
    result = []
    flat = [times for one in found["first"] for times in one["rounds"]]
    reported = turns.bound([times["read"] / times["unread"] for times in flat], args.seed) if len(flat) >= 3 else {}
    result.append(figures.figure(f"code read / not read, first {STEPS['first']} steps of {args.loop}", reported.get("median"), at=reported.get("upper95"),
                                 n=reported.get("pairs"), spread=(reported["p10"], reported["p90"]) if reported else None, most=FIRST, enough=args.first))
    sets = [one for one in found["later"] if one["rounds"]]
    reported = turns.ratio(sets, "read", "unread", args.seed, 2000) or {}
    result.append(figures.figure(f"code read / not read, later steps of {args.loop}", reported.get("ratio"), at=reported.get("upper95"),
                                 n=reported.get("pairs"), spread=(reported["p10"], reported["p90"]) if reported else None, most=LATER, enough=args.pairs))
    for mode in MODES:
        for when, one in found.items():
            every = [times[mode] for pair in one for times in pair["rounds"]]
            result.append(figures.figure(f"{mode}, {when} steps", statistics.median(every) if every else None, n=len(every), unit="us a step"))
    studied = {mode: [one[2] or 0 for one in seen if one[0] == mode] for mode in MODES}
    for mode in MODES:
        for at, what in ((3, "CPU time of the worker"), (4, "time on the program's threads at first use")):
            every = [one[at] / 1e6 for one in seen if one[0] == mode and one[at] is not None]
            result.append(figures.figure(f"{mode}: {what}", statistics.median(every) if every else None, n=len(every), unit="ms"))
    result.append(figures.figure("configurations with code analysis, least of a process that reads", min(studied["read"], default=0), least=1))
    result.append(figures.figure("the same, most of one that does not", max(studied["unread"], default=None), most=0))
    result.append(figures.figure("processes that failed", sum(not one[1] for one in seen), n=len(seen), most=0))
    return result


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--loop", default="train", choices=("train", "gemm", "decode"))
    parser.add_argument("--seconds", type=float, default=60, help="no set is begun that would end after that")
    parser.add_argument("--also", nargs="+", default=[], type=earlier, metavar="FILE", help="reading.json of earlier runs, judged with this one")
    parser.add_argument("--together", type=int, default=6, help="pairs of processes that live at the same time")
    parser.add_argument("--pairs", type=int, default=30, help="of later steps that a goal needs")
    parser.add_argument("--first", type=int, default=6, help="pairs of first steps that a goal needs")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each pair after its first steps")
    args = begin(parser, argv, ("logdump",))
    if not compare.module_present(python(), "torch"):
        print("SKIP: Python module torch is not installed")
        return 77
    found, seen = collect(args)
    with open(f"{args.out}/reading.json", "w") as out:
        json.dump({"times": found, "processes": seen}, out)
    for times, reported in args.also:
        found = {when: found[when] + times[when] for when in found}
        seen = seen + reported
    return figures.conclude(args.out, judged(args, found, seen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
