#!/usr/bin/env python3
"""What mode watch costs: medians with a one-sided 95% bound from a bootstrap.

Bare processes and processes in mode watch in turns (turns.py), at the default budget: empty launches, and where PyTorch is a GEMM
loop, a decode loop that replays a CUDA graph and a training step (torch_loops.py). Of these the median of watch / bare over pairs of
turns. Turns are short, for what disturbs them comes and goes within a second, and so pairs are many; several sets of processes take part,
and the bound comes from a bootstrap that draws sets first. --beside: the same of 16 threads of a process, and of 8 processes on the GPU.
--inside=NAME,...: loops of torch_loops.py in one process that `gpuwatch ctl` switches, for what differs from process to process
by more than mode watch costs: between budgets of 1 and 20, whose difference by 19 is what a per cent costs, and between the modes
idle and watch. A turn against the mean of those before and after it, so that drift is not seen; what mode idle costs is in no ratio.

Exit status: 0 goals met, 1 a goal missed, 77 there is no GPU here, 2 wrong use.
"""
import collections
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

from modes import begin, compare, figures, libraries, options, python, python_libraries
import turns

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 1.02
FIRST_WINDOW = 12  # seconds of mode watch until windows come and counters have been set up
MANY = 20  # per cents of budget, against 1
RUN = 4  # of differences that are drawn together


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


def switched(args, player, *settings):
    subprocess.run([f"{args.programs}/bin/gpuwatch", "ctl", str(player.process.pid), *settings], check=True, stdout=subprocess.DEVNULL)


def around(values):
    """Logarithm of each second value, less the mean of its neighbours': what drifts steadily is in none."""
    logs = [math.log(x) for x in values]
    return [logs[i] - (logs[i - 1] + logs[i + 1]) / 2 for i in range(1, len(logs) - 1, 2)]


def trimmed(values):
    values, cut = sorted(values), len(values) // 10
    return statistics.mean(values[cut:len(values) - cut])


def more(series, times, seed, resamples=4000):
    """The ratio of every second turn to those around it, and its bound, where these have so many `times` of what is asked for.
    Neighbours share a turn, so the bootstrap draws runs of them."""
    found, dice = around(series), random.Random(seed)
    runs = [found[i:i + RUN] for i in range(len(found) - RUN + 1)]
    draws = sorted(trimmed(sum(dice.choices(runs, k=max(1, len(found) // RUN)), [])) for _ in range(resamples))
    at = sorted(found)
    shown = {"ratio": trimmed(found), "upper95": draws[int(resamples * 0.95)], "p10": at[len(at) // 10], "p90": at[len(at) * 9 // 10]}
    return {"pairs": len(found), **{k: math.exp(x / times) for k, x in shown.items()}}


def inside(args, name):
    """Turns of one process; None where it failed. First budgets of 1 and MANY: windows, and sampling counters, take by their budget, so
    that what MANY - 1 per cents cost shows above what turns differ by. Then modes idle and watch."""
    player = turns.Player("watch", ["env", "GPUWATCH_CPU_MAX=100", python(), os.path.join(HERE, "torch_loops.py"), name], args, python_libraries())
    phases = {"windows": ("budget=1", f"budget={MANY}"), "modes": ("mode=idle", "mode=watch")}
    player.ready()
    count = max(1, int(0.12e6 / player.turn(f"{name} 20")))  # of steps, an eighth of a second
    until = time.monotonic() + FIRST_WINDOW
    while time.monotonic() < until:
        player.turn(f"{name} {count}")
    for phase, both in phases.items():
        until, series = time.monotonic() + args.time / 2, []
        for setting in itertools.cycle(both):
            if setting == both[1] and time.monotonic() >= until:
                break
            switched(args, player, setting)
            player.turn(f"{name} {count}")  # meanwhile the pause after the last window is over
            series.append(player.turn(f"{name} {count}"))
        phases[phase] = series
        switched(args, player, "mode=watch", "budget=1")
    if not player.end():
        return None
    totals = compare.read_log(f"{args.programs}/logdump", player.folder)[1]
    return {f"{name}-by-the-per-cent": {**more(phases["windows"], MANY - 1, args.seed), "base": "budget 0"},
            name: {**more(phases["modes"], 1, args.seed), "base": "idle"}, "raw": phases,
            "counters": {k: totals[k] for k in ("launched", "measured", "windows", "window_ns", "events_ns", "events_unsure")}}


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
                  for line, ratios in reported.items() if "base" in ratios]
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
