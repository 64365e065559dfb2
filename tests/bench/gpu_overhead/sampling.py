#!/usr/bin/env python3
"""What a program's loops cost timed, and with sampled counters, against plain CUPTI activity and against nothing.

Processes take turns (turns.py): bare, under plain CUPTI activity, in audit mode without sampled counters and with them.
Their budget is 100%, so that the sampler is at work in nearly every turn of its process. The default is 1%: what sampling
adds there is what it added here, by the share of a CPU that the sampler had, for which its budget stands. With --short audit mode and plain CUPTI activity are also held against each
other in many short turns of several sets of processes, for what disturbs a turn comes and goes within a second. Before its turns there is time for it to begin (and the others work as long: a GPU that rested is faster), after them a pause in which it sees that nothing runs and takes no
more windows. Loops: `launches` (20,000 empty ones) and those of torch_loops.py. Writes sampling.json, prints a table.
Exit status: 0 goals met (counters at the default budget / plain at most 1.05, 95% bound, in each loop, and windows were taken), 1 missed or a process
failed, 77 there is no GPU or no PyTorch here.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

from modes import begin, compare, figures, libraries, options, python, python_libraries, recorded
import turns

# 95% bounds come from a bootstrap over rounds; none is left out.
MODES = ("pm", "timed", "plain", "bare")
RATIOS = (("pm", "plain"), ("pm", "timed"), ("timed", "plain"), ("pm", "bare"), ("plain", "bare"))
LOOPS = {"launches": 20000, "train": 40, "gemm": 2000, "decode": 150}  # of a turn
SHORT = {"launches": 2000, "train": 8, "gemm": 400, "decode": 40}
HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = 0.25  # seconds after which the sampler has seen that nothing runs
WARM = 0.25  # seconds after which it is configured and takes windows
LIMIT = 1.05
DEFAULT = 0.01  # of a CPU: GPUWATCH_BUDGET unless set


def counter(args, folder, name):
    logs = [f"{folder}/{log}" for log in os.listdir(folder) if log.endswith(".gwl")]
    reported = subprocess.run([f"{args.programs}/logdump", *logs], capture_output=True, text=True).stdout
    return next((int(line.split("\t")[2]) for line in reported.splitlines() if line.startswith(f"C\t{name}\t")), None)


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


def brief(player):
    return 0.01 if player.mode == "timed" else 0.002


def short(args, loops, command, folders):
    """Turns of audit mode and plain CUPTI activity by loop, in sets; and the modes that failed."""
    number = iter(range(100, 1000))
    times, players, ends = turns.played(
        lambda: [turns.Player(mode, command, args, folders, next(number)) for mode in ("timed", "plain")], args.sets,
        {line(loop, SHORT[loop]): args.short for loop in loops}, random.Random(args.seed), rest=brief)
    failed = [player.mode for player, end in zip(players, ends) if end is None]
    for player in players:
        shutil.rmtree(player.folder, ignore_errors=True)
    return {loop: times[line(loop, SHORT[loop])] for loop in loops}, failed


def measure(args, loops, command, folders):
    """Rounds by loop, what was said at the ends, what was recorded, windows taken and the CPU time for them."""
    players = [turns.Player(mode, command, args, folders) for mode in MODES]
    order = random.Random(args.seed)
    rounds = {loop: turns.play(players, args.rounds, line(loop, LOOPS[loop]), order, warmed(loop), rest) for loop in loops}
    ends = {p.mode: p.end() for p in players}
    seen = {p.mode: recorded(p.mode, args, p.folder) for p in players if p.mode != "bare"}
    windows, cpu = (counter(args, players[0].folder, name) for name in ("pm_windows", "pm_cpu_ns"))
    sets, failed = short(args, loops, command, folders) if args.short else ({}, [])
    return {"sets": sets, "failed": failed, "rounds": rounds, "ends": ends, "recorded": seen, "windows": windows, "pm_cpu_ns": cpu}


def share(found):
    """Of a CPU that the sampler had while its process worked; None where it is not known."""
    end, busy = found["ends"].get("pm"), 0
    for loop, times in found["rounds"].items():
        made = (end or {}).get("launched") if loop == "launches" else 1.25 * ((end or {}).get("steps") or {}).get(loop, 0)
        typical = statistics.median([t["pm"] for t in times] or [0])
        busy += (made or 0) * typical * (1 if loop == "launches" else 1e3)
    return found["pm_cpu_ns"] / busy if busy and found["pm_cpu_ns"] else None


def at_default(times, had):
    """(counters at the default budget) / plain of each round, where the sampler `had` that share of a CPU in them."""
    return [t["timed"] / t["plain"] * (1 + (t["pm"] / t["timed"] - 1) * min(1, DEFAULT / had)) for t in times]


def by_sets(times, sets, had, seed):
    """The same of short turns: what audit mode costs by these, what counters add to it by the long ones. Both bounds at once."""
    base = turns.ratio([one for one in sets if one["rounds"]], "timed", "plain", seed, 2000)
    if not base:
        return {}
    added, scale = turns.bound([t["pm"] / t["timed"] for t in times], seed), min(1, DEFAULT / had)
    return {**base, "median": base["ratio"] * (1 + (added["median"] - 1) * scale),
            "upper95": base["upper95"] * (1 + max(0, added["upper95"] - 1) * scale)}


def judged(found, seed, wanted):
    """Figures of what was measured together."""
    result, had = [], share(found)
    result.append(figures.figure("share of a CPU that the sampler had at a budget of 100%", had))
    for loop, times in found["rounds"].items():
        sets, scaled = found.get("sets", {}).get(loop), {}
        if had and len(times) >= 3:
            scaled = by_sets(times, sets, had, seed) if sets else turns.bound(at_default(times, had), seed)
        result.append(figures.figure(
            f"audit with counters at the default budget / plain CUPTI activity, {loop}", scaled.get("median"), at=scaled.get("upper95"),
            n=scaled.get("pairs"), spread=(scaled["p10"], scaled["p90"]) if scaled else None, most=LIMIT, enough=wanted))
        for mode, base in RATIOS:
            pairs = [t[mode] / t[base] for t in times]
            reported = turns.bound(pairs, seed) if len(pairs) >= 3 else {}
            result.append(figures.figure(
                f"{ {'pm': 'audit with counters, budget 100%', 'timed': 'audit'}.get(mode, mode)} / "
                f"{ {'timed': 'audit', 'plain': 'plain CUPTI activity'}.get(base, base)}, {loop}", reported.get("median"),
                at=reported.get("upper95"), n=reported.get("pairs"), spread=(reported["p10"], reported["p90"]) if reported else None))
    failed = [mode for mode, end in found["ends"].items() if end is None] + found.get("failed", [])
    result.append(figures.figure("processes that failed: " + (" ".join(failed) or "none"), len(failed), most=0))
    result.append(figures.figure("windows of counters taken meanwhile", found["windows"], least=1))
    return result


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--loop", action="append", choices=LOOPS, help="may be repeated (default launches)")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--short", type=int, default=0, help="rounds of short turns, of each set")
    parser.add_argument("--sets", type=int, default=4, help="of processes that take short turns")
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
        result += judged(found, args.seed, min(args.short * args.sets or args.rounds, 30))
        all_found.append(found)
        for name, times in found["rounds"].items():
            print(f"{name}: " + ", ".join(f"{mode} {statistics.median(t[mode] for t in times):.1f}" for mode in MODES if times)
                  + (" ns a launch" if name == "launches" else " us a step"))
        print(f"{found['windows']} windows, {(found['pm_cpu_ns'] or 0) / 1e9:.2f} s of CPU for them; recorded "
              f"{found['recorded']} of {found['ends']}")
    with open(f"{args.out}/sampling.json", "w") as out:
        json.dump(all_found, out)
    return figures.conclude(args.out, result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
