#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mode watch costs, at the default budget.

Bare processes and processes in mode watch in turns (turns.py): empty launches, and where PyTorch is a GEMM loop, a decode
loop that replays a CUDA graph and a training step (torch_loops.py): the median of watch / bare over pairs of turns. Turns
are short, for what disturbs them comes and goes within a second, and so pairs are many; several sets of processes take
part, and the bound comes from a bootstrap that draws sets first. --beside: the same of 16 threads of a process, and of 8
processes on the GPU.
--inside=NAME,...: a loop of torch_loops.py in one process that `gpuwatch ctl` switches between the modes watch and idle, for what differs
from process to process by more than mode watch costs. Pairs of turns of a fifth of a second; what mode idle costs is not in
their ratio.

Exit status: 0 goals met, 1 a goal missed, 77 there is no GPU here, 2 wrong use.
"""
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import time

from modes import begin, compare, figures, libraries, options, python, python_libraries
import turns

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1.02
FIRST_WINDOW = 12  # seconds of mode watch until windows come and counters have been set up


def rest(player):
    return 0.01 if player.mode == "watch" else 0.002


def in_turns(args, command, plans, folders, sets, together=1):
    """Per line: bare and watch turns, ratio and bound; None where a process failed. together: processes of a mode at once."""
    number = itertools.count()

    def start():
        both = [command() for _ in range(together)]  # on the same cores
        return [turns.Team([turns.Player(mode, one, args, folders, next(number)) for one in both]) for mode in ("bare", "watch")]

    times, teams, ends = turns.played(start, sets, plans, random.Random(args.seed), rest=rest)
    if None in ends:
        return None
    totals = collections.Counter()
    for player in itertools.chain.from_iterable(team.players for team in teams):
        if player.mode == "watch":
            totals.update(compare.read_log(f"{args.programs}/logdump", player.folder)[1])
    found = {}
    for line, reported in times.items():
        if any(len(one["rounds"]) < plans[line] for one in reported):
            return None
        found[line] = {**turns.ratio(reported, "watch", "bare", args.seed, 2000), "raw": reported}
    found["counters"] = {k: totals[k] for k in ("launched", "measured", "windows", "window_ns")}
    return found


def switched(args, player, mode):
    subprocess.run([f"{args.programs}/bin/gpuwatch", "ctl", str(player.process.pid), f"mode={mode}"], check=True, stdout=subprocess.DEVNULL)


def inside(args, name):
    """Turns of one process in modes watch and idle, in pairs; None where it failed."""
    player = turns.Player("watch", [python(), os.path.join(HERE, "torch_loops.py"), name], args, python_libraries())
    dice, pairs = random.Random(args.seed), []
    player.ready()
    count = max(1, int(0.2e6 / player.turn(f"{name} 20")))  # of steps, a turn of a fifth of a second, and a quarter of that before it
    until = time.monotonic() + FIRST_WINDOW
    while time.monotonic() < until:
        player.turn(f"{name} {count}")
    until = time.monotonic() + args.time
    while time.monotonic() < until:
        times = {}
        for mode in dice.sample(("watch", "idle"), 2):
            switched(args, player, mode)
            times[mode] = player.turn(f"{name} {count}")
        pairs.append(times)
    if not player.end():
        return None
    totals = compare.read_log(f"{args.programs}/logdump", player.folder)[1]
    sets = [{"rounds": pairs[at:at + 8]} for at in range(0, len(pairs) - 7, 8)]  # what lasts some seconds is not taken for many
    return {name: {**turns.ratio(sets, "watch", "idle", args.seed, 2000), "raw": sets},
            "counters": {k: totals[k] for k in ("launched", "measured", "windows", "window_ns")}}


def all_in_turns(args, result):
    _, speeds = turns.fastest_cpu(args)
    fast = itertools.cycle(sorted(speeds, key=speeds.get, reverse=True)[:max(1, len(speeds) // 4)])
    loop = f"{args.programs}/launch_loop"
    if args.beside:
        result["16 threads in turns"] = in_turns(args, lambda: [loop, "turns", "0", "16"], {"2000": args.rounds}, libraries(), args.sets)
        result["8 processes in turns"] = in_turns(args, lambda: [loop, "turns", next(fast)], {"2000": args.rounds}, libraries(), args.sets, 8)
        return
    if not args.only_torch:
        result["launches in turns"] = in_turns(args, lambda: [loop, "turns", next(fast)], {"2000": args.rounds}, libraries(), args.sets)
    if not args.no_torch and compare.module_present(python(), "torch"):
        names = ("gemm", "decode", "train")
        result["PyTorch in turns"] = in_turns(
            args, lambda: [python(), os.path.join(HERE, "torch_loops.py"), *names],
            {"gemm 400": (args.rounds + 2) // 3, "decode 40": (args.rounds + 2) // 3, "train 8": args.rounds}, python_libraries(), (args.sets + 1) // 2)


def judged(result):
    """Figures of all that was measured."""
    def of(what, found, **more):
        return figures.figure(what, found.get("median", found.get("ratio")), at=found.get("upper95"), n=found.get("pairs"), enough=30,
                              spread=(found["p10"], found["p90"]) if found else None, most=LIMIT, **more)

    found = []
    for name, reported in ((name, result[name]) for name in result if name.endswith("in turns")):
        if not reported:
            found.append(figures.figure(f"{name}: a process failed", None, most=LIMIT))
            continue
        found.append(figures.figure(f"windows meanwhile, {name}", reported["counters"]["windows"], least=1))
        found += [of(f"watch / {ratios['base']}, {line.split()[0] if line[0].isalpha() else name[:-9]}", ratios)
                  for line, ratios in reported.items() if line != "counters"]
    return found


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=36, help="pairs of turns of each set of processes")
    parser.add_argument("--sets", type=int, default=20, help="of processes; half as many of PyTorch")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-torch", action="store_true", help="leave the loops of PyTorch out")
    which.add_argument("--only-torch", action="store_true", help="leave all else out")
    which.add_argument("--beside", action="store_true", help="empty launches by 16 threads and by 8 processes alone")
    which.add_argument("--inside", metavar="NAME,...", help="loops within one process alone")
    parser.add_argument("--time", type=float, default=100, help="seconds of each loop of --inside")
    args = begin(parser, argv, ("launch_loop", "logdump"))
    result = {}
    for name in args.inside.split(",") if args.inside else ():
        result[f"{name} in turns"] = inside(args, name)
    if not args.inside:
        all_in_turns(args, result)
    with open(os.path.join(args.out, "watch.json"), "w") as f:
        json.dump(result, f)
    found = judged(result)
    return figures.conclude(args.out, found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
