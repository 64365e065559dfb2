#!/usr/bin/env python3
"""What gpuwatch costs per launch, against nothing and against plain CUPTI activity.

Processes one after the other differ by a tenth and more, which hides what is sought. So audit mode against plain CUPTI
activity is measured by processes that take turns (turns.py), and count mode inside one process
(pairs.cu): 20,000 launches through the hook against 20,000 through the driver's own function, in
turns, with the bare program as the control. The same with audit mode, activity on for both,
shows the hook's part there. Writes overhead.json (with every raw run) and prints a table.

Exit status: 0 both goals met, 1 a goal missed, 77 there is no GPU here, 2 wrong use.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

from modes import begin, environment, figures, libraries, options
import turns

GOALS = (("count", "driver", 1.02), ("watch", "driver", 1.02), ("audit", "plain", 1.05))
PAIR_MODES = ("bare", "off", "count", "watch", "audit")
RESAMPLES = 4000


def cores():
    """One CPU of each core this process may use."""
    found = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
                found.setdefault(file.read().strip(), cpu)
        except OSError:
            found.setdefault(str(cpu), cpu)
    return found.values()


def choose_cpus(args, folders):
    """The CPUs that launch fastest, of the eight that compute fastest just now: on a machine with several
    sockets a launch takes a fifth longer from the far one, which would drown what is measured here. The
    first is for the launching thread, the next three for threads that others start."""
    loops, speed = turns.fastest_cpu(args)[1], {}
    for cpu in sorted(cores(), key=lambda cpu: -loops.get(str(cpu), 0))[:8]:
        done = subprocess.run([f"{args.programs}/launch_loop", "run", "4000", str(cpu)], env=environment("bare", args, folders, args.out),
                              timeout=60, capture_output=True, text=True)
        if done.returncode or done.stderr:
            print(f"overhead.py: CPU {cpu}: exit {done.returncode} {done.stderr.strip()}", file=sys.stderr)
        speed[cpu] = float("inf") if done.returncode else float(done.stdout)
    best = sorted(speed, key=speed.get)
    args.cpus = tuple(best[:4])
    return {str(cpu): speed[cpu] for cpu in speed}


def collect_pairs(args):
    """Per mode the ratios given / driver of every pair, three processes each."""
    folders = libraries()
    found = {mode: {"ratios": [], "driver": [], "given": []} for mode in args.pair_modes}
    for _ in range(3):
        for mode in args.pair_modes:
            folder = os.path.join(args.out, "logs")
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            done = subprocess.run([f"{args.programs}/pairs", str(args.launches), str(args.pairs),
                                   str(args.cpus[0])], capture_output=True, text=True, timeout=120,
                                  env=environment(mode, args, folders, folder), cwd=folder,
                                  preexec_fn=lambda: os.sched_setaffinity(0, args.cpus))
            if done.returncode:
                print(f"overhead.py: pairs {mode}: {done.stderr.strip()}", file=sys.stderr)
                continue
            reported = json.loads(done.stdout)
            if reported["hooked"] != (mode in ("count", "watch", "audit")):
                print(f"overhead.py: pairs {mode}: hooked {reported['hooked']}", file=sys.stderr)
                continue
            found[mode]["given"] += reported["given"]
            found[mode]["driver"] += reported["driver"]
            found[mode]["ratios"] += [g / d for g, d in zip(reported["given"], reported["driver"])]
    return found


def pair_ratio(mode, found, seed):
    """Median of the ratios with its bound; None for fewer than three."""
    if len(found["ratios"]) < 3:
        return None
    bound = turns.bound(found["ratios"], seed, RESAMPLES)
    return {"mode": mode, "base": "driver", "metric": "run", "ratio": bound.pop("median"), **bound,
            "given": statistics.median(found["given"]), "driver": statistics.median(found["driver"])}


def summary(pairs, sets, args):
    ratios = [pair_ratio(mode, found, args.seed) for mode, found in pairs.items()]
    ratios = [r for r in ratios + [turns.ratio(sets, "audit", "plain", args.seed, RESAMPLES)] if r]
    goals = []
    for mode, base, most in GOALS:
        if mode not in pairs if base == "driver" else args.turns_limit <= 0:
            continue  # not asked for
        found = next((r for r in ratios if (r["mode"], r["base"]) == (mode, base)), {})
        goals.append(figures.figure(
            f"{mode} / " + ("the driver alone, empty launches, in one process" if base == "driver" else f"{base}, empty launches, processes in turns"),
            found.get("ratio"), most=most, at=found.get("upper95"), n=found.get("pairs"), enough=30,
            spread=(found["p10"], found["p90"]) if found else None))
    return {"launches": args.launches, "ratios": ratios, "goals": goals, "cpus": args.cpus, "bare_by_cpu": args.speed,
            "raw_pairs": pairs, "raw_turns": sets}


def show(result):
    print(f"{result['launches']} empty launches; launching thread on CPU {result['cpus'][0]}, others on {result['cpus'][1:]} too; ns bare by CPU: "
          + " ".join(f"{cpu}:{ns:.0f}" for cpu, ns in result["bare_by_cpu"].items()))
    for r in result["ratios"]:
        print(f"{r['metric']:6} {r['mode']:>5} / {r['base']:6} {r['ratio']:.4f}  95% upper bound {r['upper95']:.4f}  ({r['pairs']} pairs)"
              f"  {r['given']:.0f} against {r['driver']:.0f} ns" + (f", {r['sets']} sets of processes" if "sets" in r else ""))
    figures.show(result["goals"])


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--launches", type=int, default=20000)
    parser.add_argument("--pairs", type=int, default=30, help="per process, of pairs.cu")
    parser.add_argument("--pair-modes", default=PAIR_MODES, type=lambda text: text.split(","),
                        help="the modes of pairs.cu, all by default: " + ",".join(PAIR_MODES))
    parser.add_argument("--turns", type=int, default=10, help="of each set of processes that take turns")
    parser.add_argument("--turns-limit", type=float, default=80,
                        help="seconds after which no further set is begun")
    args = begin(parser, argv, ("launch_loop", "pairs", "logdump", "oracle.so"))
    args.speed = choose_cpus(args, libraries())
    result = summary(collect_pairs(args), turns.collect(args, ("audit", "plain")), args)
    with open(f"{args.out}/overhead.json", "w") as out:
        json.dump(result, out, indent=1)
    show(result)
    figures.write(args.out, result["goals"])
    return 0 if figures.met(result["goals"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
