#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sampling the GPU's counters all the time costs a program that launches.

Processes take turns (turns.py): audit mode with and without sampled counters, and plain CUPTI activity. The budget
is 100%, so that the sampler is at work in nearly every turn of its process; the default is a hundredth of that. Before
its turns there is time for it to begin, after them a pause in which it sees that nothing runs and takes no more
windows. --torch: training steps
(torch_loops.py) instead of empty launches. Writes sampling.json, prints a table. Exit status: 0 goal met (pm / plain
at most 1.05, 95% bound), 1 missed or a process failed, 77 there is no GPU or no PyTorch here.
"""
import argparse
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

from modes import compare, environment, libraries, recorded
import turns

MODES = ("pm", "timed", "plain")
HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = 0.25  # seconds after which the sampler has seen that nothing runs
WARM = 0.25  # seconds after which it is configured and takes windows
LIMIT = 1.05


def counter(args, folder, name):
    logs = [f"{folder}/{log}" for log in os.listdir(folder) if log.endswith(".gwl")]
    told = subprocess.run([f"{args.programs}/logdump", *logs], capture_output=True, text=True).stdout
    return next((int(line.split("\t")[2]) for line in told.splitlines() if line.startswith(f"C\t{name}\t")), None)


def line(args, count):
    """What asks a process for a turn of so many steps or launches."""
    return f"train {count}" if args.torch else count


def play(players, args, order):
    times = []
    if not all([p.ready() for p in players]):
        return times
    time.sleep(0.3)
    while len(times) < args.rounds:
        turn = {}
        for player in order.sample(players, len(players)):
            begin = time.monotonic()
            while player.mode == "pm" and time.monotonic() - begin < WARM:
                player.turn(line(args, args.count // 4))
            turn[player.mode] = player.turn(line(args, args.count))
            time.sleep(IDLE if player.mode == "pm" else turns.QUIET)
        times.append(turn)
    return times


def ratio(times, mode, base, dice):
    pairs = [t[mode] / t[base] for t in times]
    medians = sorted(statistics.median(dice.choices(pairs, k=len(pairs))) for _ in range(4000))
    return {"mode": mode, "base": base, "pairs": len(pairs), "ratio": statistics.median(pairs), "upper95": medians[3800],
            "given": statistics.median(t[mode] for t in times), "against": statistics.median(t[base] for t in times)}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", required=True, help="folder that tests/gpu/build.sh filled")
    parser.add_argument("--gpuwatch", required=True, help="libgpuwatch.so")
    parser.add_argument("--out", required=True)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--count", type=int, help="of a turn: launches (20000), or steps (40)")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    args.count = args.count or (40 if args.torch else 20000)
    reason = compare.why_no_gpu()
    if not reason and args.torch and importlib.util.find_spec("torch") is None:
        reason = "Python module torch is not installed"
    if reason:
        print(f"SKIP: {reason}")
        return 77
    if args.torch:
        command = [shutil.which("python3") or sys.executable, f"{HERE}/torch_loops.py", "train"]
        toolkit, wheels = compare.library_folders()
        folders = wheels + toolkit
    else:
        command = [f"{args.programs}/launch_loop", "turns", turns.fastest_cpu(args)[0]]
        folders = libraries()
    players = [turns.Player(mode, command, args, folders) for mode in MODES]
    times = play(players, args, random.Random(args.seed))
    ends = {p.mode: p.end() for p in players}
    seen = {p.mode: recorded(p.mode, args, p.folder) for p in players}
    pm = players[0].folder
    windows, cpu = (counter(args, pm, name) for name in ("pm_windows", "pm_cpu_ns"))
    dice = random.Random(args.seed)
    ratios = [ratio(times, *pair, dice) for pair in (("pm", "plain"), ("pm", "timed"), ("timed", "plain"))] if times else []
    with open(f"{args.out}/sampling.json", "w") as out:
        json.dump({"count": args.count, "rounds": times, "ends": ends, "recorded": seen, "windows": windows,
                   "pm_cpu_ns": cpu, "ratios": ratios}, out)
    unit = "us a step" if args.torch else "ns a launch"
    for r in ratios:
        print(f"{r['mode']:>5} / {r['base']:5} {r['ratio']:.4f}  95% upper bound {r['upper95']:.4f}  ({r['pairs']} pairs)  "
              f"{r['given']:.0f} against {r['against']:.0f} {unit}")
    print(f"{windows} windows, {(cpu or 0) / 1e9:.2f} s of CPU for them; recorded {seen} of {ends}")
    met = bool(ratios) and windows and None not in ends.values() and ratios[0]["upper95"] <= LIMIT
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
