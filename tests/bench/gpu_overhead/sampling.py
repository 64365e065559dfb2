#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program's loops cost timed, and with sampled counters, against plain CUPTI activity and against nothing.

Processes take turns (turns.py): bare, under plain CUPTI activity, in audit mode without sampled counters and with them.
Their budget is 100%, so that the sampler is at work in nearly every turn of its process; the default is a hundredth of
that. Before its turns there is time for it to begin (and the others work as long: a GPU that rested is faster), after them a pause in which it sees that nothing runs and takes no
more windows. Loops: `launches` (20,000 empty ones) and those of torch_loops.py. Writes sampling.json, prints a table.
Exit status: 0 goals met (pm / plain at most 1.05, 95% bound, in each loop, and windows were taken), 1 missed or a process
failed, 77 there is no GPU or no PyTorch here.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import time

from modes import begin, compare, figures, libraries, options, python, python_libraries, recorded
import turns

MODES = ("pm", "timed", "plain", "bare")
RATIOS = (("pm", "plain"), ("pm", "timed"), ("timed", "plain"), ("pm", "bare"), ("plain", "bare"))
LOOPS = {"launches": 20000, "train": 40, "gemm": 2000, "decode": 150}  # of a turn
HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = 0.25  # seconds after which the sampler has seen that nothing runs
WARM = 0.25  # seconds after which it is configured and takes windows
LIMIT = 1.05


def counter(args, folder, name):
    logs = [f"{folder}/{log}" for log in os.listdir(folder) if log.endswith(".gwl")]
    told = subprocess.run([f"{args.programs}/logdump", *logs], capture_output=True, text=True).stdout
    return next((int(line.split("\t")[2]) for line in told.splitlines() if line.startswith(f"C\t{name}\t")), None)


def line(loop, count):
    """What asks a process for a turn of so many steps or launches."""
    return f"{count}" if loop == "launches" else f"{loop} {count}"


def warmed(loop):
    def warm(player):
        start = time.monotonic()
        while time.monotonic() - start < WARM:
            player.turn(line(loop, LOOPS[loop] // 4))
    return warm


def rest(player):
    return IDLE if player.mode == "pm" else turns.QUIET


def measure(args, loops, command, folders):
    """Rounds by loop, what was said at the ends, what was recorded, windows taken and the CPU time for them."""
    players = [turns.Player(mode, command, args, folders) for mode in MODES]
    order = random.Random(args.seed)
    rounds = {loop: turns.play(players, args.rounds, line(loop, LOOPS[loop]), order, warmed(loop), rest) for loop in loops}
    ends = {p.mode: p.end() for p in players}
    seen = {p.mode: recorded(p.mode, args, p.folder) for p in players if p.mode != "bare"}
    windows, cpu = (counter(args, players[0].folder, name) for name in ("pm_windows", "pm_cpu_ns"))
    return {"rounds": rounds, "ends": ends, "recorded": seen, "windows": windows, "pm_cpu_ns": cpu}


def judged(found, seed, wanted):
    """Figures of what was measured together."""
    result = []
    for loop, times in found["rounds"].items():
        for mode, base in RATIOS:
            pairs = [t[mode] / t[base] for t in times]
            told = turns.bound(pairs, seed) if len(pairs) >= 3 else {}
            limit = {"most": LIMIT, "enough": wanted} if (mode, base) == ("pm", "plain") else {}
            result.append(figures.figure(
                f"{ {'pm': 'audit with counters', 'timed': 'audit'}.get(mode, mode)} / "
                f"{ {'timed': 'audit', 'plain': 'plain CUPTI activity'}.get(base, base)}, {loop}", told.get("median"),
                at=told.get("upper95"), n=told.get("pairs"), spread=(told["p10"], told["p90"]) if told else None, **limit))
    failed = [mode for mode, end in found["ends"].items() if end is None]
    result.append(figures.figure("processes that failed: " + (" ".join(failed) or "none"), len(failed), most=0))
    result.append(figures.figure("windows of counters taken meanwhile", found["windows"], least=1))
    return result


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--loop", action="append", choices=LOOPS, help="may be repeated (default launches)")
    parser.add_argument("--rounds", type=int, default=30)
    args = begin(parser, argv, ("launch_loop", "logdump", "oracle.so"))
    loops = args.loop or ["launches"]
    kinds = []
    if "launches" in loops:
        kinds.append((["launches"], [f"{args.programs}/launch_loop", "turns", turns.fastest_cpu(args)[0]], libraries()))
    torch = [loop for loop in loops if loop != "launches"]
    if torch and not compare.module_present(python(), "torch"):
        print("SKIP: Python module torch is not installed")
        return 77
    if torch:
        kinds.append((torch, [python(), f"{HERE}/torch_loops.py", *torch], python_libraries()))
    result, all_found = [], []
    for names, command, folders in kinds:
        found = measure(args, names, command, folders)
        result += judged(found, args.seed, min(args.rounds, 30))
        all_found.append(found)
        for name, times in found["rounds"].items():
            print(f"{name}: " + ", ".join(f"{mode} {statistics.median(t[mode] for t in times):.1f}" for mode in MODES if times)
                  + (" ns a launch" if name == "launches" else " us a step"))
        print(f"{found['windows']} windows, {(found['pm_cpu_ns'] or 0) / 1e9:.2f} s of CPU for them; recorded "
              f"{found['recorded']} of {found['ends']}")
    with open(f"{args.out}/sampling.json", "w") as out:
        json.dump(all_found, out)
    figures.write(args.out, result)
    figures.show(result)
    return 0 if figures.met(result) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
