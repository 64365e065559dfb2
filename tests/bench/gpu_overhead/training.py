#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch training step costs bare, counted, audited, and under plain CUPTI activity.

One process a mode (torch_loops.py), taking turns of --steps steps in random order. Writes
training.json and prints a table. Exit status: 0 measured, 1 a process failed, 77 there is no GPU
or no PyTorch here.
"""
import argparse
import importlib.util
import json
import os
import random
import shutil
import statistics
import sys

from modes import compare, recorded
import turns

MODES = ("bare", "count", "audit", "plain")
HERE = os.path.dirname(os.path.abspath(__file__))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", required=True, help="folder that tests/gpu/build.sh filled")
    parser.add_argument("--gpuwatch", required=True, help="libgpuwatch.so")
    parser.add_argument("--out", required=True, help="folder for training.json")
    parser.add_argument("--steps", type=int, default=40, help="of a turn")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="of the order and the bootstrap")
    args = parser.parse_args(argv)
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    reason = compare.why_no_gpu()
    if not reason and importlib.util.find_spec("torch") is None:
        reason = "Python module torch is not installed"
    if reason:
        print(f"SKIP: {reason}")
        return 77
    os.makedirs(args.out, exist_ok=True)
    toolkit, wheels = compare.library_folders()
    command = [shutil.which("python3") or sys.executable, f"{HERE}/torch_loops.py", "train"]
    players = [turns.Player(mode, command, args, wheels + toolkit) for mode in MODES]
    times = turns.play(players, args.rounds, f"train {args.steps}", random.Random(args.seed))
    ends = {p.mode: p.end() for p in players}
    kernels = {p.mode: recorded(p.mode, args, p.folder) for p in players}
    with open(f"{args.out}/training.json", "w") as out:
        json.dump({"steps": args.steps, "rounds": times, "ends": ends, "recorded": kernels}, out)
    if len(times) < args.rounds or None in ends.values():
        print("training.py: a process failed", file=sys.stderr)
        return 1
    dice = random.Random(args.seed)
    for mode in MODES:
        pairs = [t[mode] / t["bare"] for t in times]
        medians = sorted(statistics.median(dice.choices(pairs, k=len(pairs))) for _ in range(2000))
        print(f"{mode:6} {statistics.median(t[mode] for t in times):7.0f} us a step, {kernels[mode]} "
              f"kernels recorded, / bare {statistics.median(pairs):.3f} "
              f"[{medians[100]:.3f}, {medians[1900]:.3f}]")
    pairs = [t["audit"] / t["plain"] for t in times]
    medians = sorted(statistics.median(dice.choices(pairs, k=len(pairs))) for _ in range(2000))
    print(f"audit / plain {statistics.median(pairs):.3f} [{medians[100]:.3f}, {medians[1900]:.3f}], "
          f"90% interval of the median of {len(pairs)} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
