#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gpuwatch costs per launch, against nothing and against plain CUPTI activity.

Every round starts each mode once, in a random order, a fresh process each. Ratios are
taken within a round; their bound comes from a bootstrap over rounds. Processes one after the
other differ by a tenth and more, which hides what is sought. So audit mode against plain CUPTI
activity is measured by processes that take turns (turns.py), and count mode inside one process
(pairs.cu): 20,000 launches through the hook against 20,000 through the driver's own function, in
turns, with the bare program as the control. The same with audit mode, activity on for both,
shows the hook's part there. Writes overhead.json (with every raw run) and prints a table.

Exit status: 0 both goals met, 1 a goal missed, 77 there is no GPU here, 2 wrong use.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

from modes import begin, environment, figures, libraries, options, recorded
import turns

MODES = ("bare", "off", "count", "watch", "audit", "plain")
GOALS = (("count", "driver", "run", 1.02), ("watch", "driver", "run", 1.02), ("watch", "bare", "run", 1.02),
         ("audit", "plain", "turns", 1.05))
PAIR_MODES = ("bare", "off", "count", "watch", "audit")
METRICS = ("run", "median", "p99", "p999", "run_cpu", "after_pause", "cpu_ms")
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
        args.cpus = (cpu, cpu)
        reported = measure("bare", args, folders, False, launches=4000)
        speed[cpu] = reported["run"] if reported else float("inf")
    best = sorted(speed, key=speed.get)
    args.cpus = tuple(best[:4])
    return {str(cpu): speed[cpu] for cpu in speed}


def measure(mode, args, folders, pause, launches=None):
    """One process; its own figures and `seen`, the launches that the observer recorded. None,
    with the reason on stderr, where that is not all of them: half the work is no bargain."""
    folder = os.path.join(args.out, "logs")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    done = subprocess.run([f"{args.programs}/launch_loop", str(launches or args.launches),
                           str(int(pause)), str(args.cpus[0])],
                          env=environment(mode, args, folders, folder), cwd=folder, timeout=60,
                          preexec_fn=lambda: os.sched_setaffinity(0, args.cpus),
                          capture_output=True, text=True)
    if done.returncode or done.stderr:
        print(f"overhead.py: {mode}: exit {done.returncode} {done.stderr.strip()}", file=sys.stderr)
    try:
        reported = json.loads(done.stdout)
    except ValueError:
        return None
    reported["seen"] = recorded(mode, args, folder)
    expected = 0 if mode in ("bare", "off") else reported["launched"]
    if reported["seen"] != expected:
        print(f"overhead.py: {mode} recorded {reported['seen']} of {expected} launches",
              file=sys.stderr)
        return None
    return reported


def collect(args):
    folders = libraries()
    rounds, begin, order = [], time.monotonic(), random.Random(args.seed)
    args.speed = choose_cpus(args, folders)
    for mode in args.modes:  # the first process of each mode warms disk and driver caches
        measure(mode, args, folders, False)
    while len(rounds) < args.rounds:
        if time.monotonic() - begin > args.limit:
            break
        modes = list(args.modes)
        order.shuffle(modes)
        pause = len(rounds) % args.pause_every == 0
        rounds.append({mode: measure(mode, args, folders, pause) for mode in modes})
    return rounds


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


def bounded(mode, base, pairs, seed):
    """Median of the ratios with its bound; None for fewer than three."""
    if len(pairs) < 3:
        return None
    found = turns.bound(pairs, seed, RESAMPLES)
    return {"mode": mode, "base": base, "metric": "run", "ratio": found.pop("median"), **found}


def pair_ratio(mode, pairs, seed):
    found = bounded(mode, "driver", pairs[mode]["ratios"], seed)
    return found and {**found, "given": statistics.median(pairs[mode]["given"]),
                      "driver": statistics.median(pairs[mode]["driver"])}


def column(rounds, mode, metric):
    return [r[mode][metric] for r in rounds if r.get(mode) and metric in r[mode]]


def ratio(rounds, mode, base, metric, seed):
    """Median over rounds of mode/base, and the end of its one-sided 95% interval."""
    pairs = [r[mode][metric] / r[base][metric] for r in rounds
             if r.get(mode) and r.get(base) and metric in r[mode] and metric in r[base] and r[base][metric]]
    found = bounded(mode, base, pairs, seed)
    return found and {**found, "metric": metric}


def asked_for(mode, base, metric, rounds, pairs, args):
    """Whether this run was to measure that at all."""
    if base == "driver":
        return mode in pairs
    return args.turns_limit > 0 if metric == "turns" else args.rounds > 0 and mode in args.modes


def summary(rounds, pairs, sets, args):
    table = {}
    for mode in MODES:
        for metric in METRICS:
            values = sorted(column(rounds, mode, metric))
            if values:
                table.setdefault(mode, {})[metric] = {
                    "median": statistics.median(values), "p10": values[len(values) // 10],
                    "p90": values[len(values) * 9 // 10], "n": len(values)}
    ratios = [ratio(rounds, mode, base, metric, args.seed)
              for mode, base in (("off", "bare"), ("count", "bare"), ("watch", "bare"), ("audit", "bare"),
                                 ("plain", "bare"), ("audit", "plain"))
              for metric in ("run", "median", "p99", "run_cpu", "after_pause")]
    ratios += [pair_ratio(mode, pairs, args.seed) for mode in pairs]
    ratios.append(turns.ratio(sets, "audit", "plain", args.seed, RESAMPLES))
    ratios = [r for r in ratios if r]
    goals = []
    for mode, base, metric, most in GOALS:
        if not asked_for(mode, base, metric, rounds, pairs, args):
            continue
        found = next((r for r in ratios if (r["mode"], r["base"], r["metric"]) == (mode, base, metric)), {})
        goals.append(figures.figure(
            f"{mode} / {'the driver alone' if base == 'driver' else base}, empty launches"
            + (", processes in turns" if metric == "turns" else ", in one process" if base == "driver" else ", fresh processes"),
            found.get("ratio"), most=most, at=found.get("upper95"), n=found.get("pairs"), enough=30,
            spread=(found["p10"], found["p90"]) if found else None))
    return {"launches": args.launches, "rounds": len(rounds), "table": table, "ratios": ratios,
            "goals": goals, "cpus": args.cpus, "bare_by_cpu": args.speed,
            "raw": rounds, "raw_pairs": pairs, "raw_turns": sets}


def show(result):
    print(f"{result['launches']} empty launches, {result['rounds']} rounds; ns per launch, "
          "median [p10, p90] over processes (cpu_ms: ms per process)")
    print(f"launching thread on CPU {result['cpus'][0]}, others on {result['cpus'][1:]} too; bare by CPU: "
          + " ".join(f"{cpu}:{ns:.0f}" for cpu, ns in result["bare_by_cpu"].items()))
    for mode, metrics in result["table"].items():
        print(f"{mode:6} " + "  ".join(
            f"{name} {m['median']:.0f} [{m['p10']:.0f}, {m['p90']:.0f}]"
            for name, m in metrics.items()))
    for r in result["ratios"]:
        print(f"{r['metric']:12} {r['mode']:>5} / {r['base']:6} {r['ratio']:.4f}  "
              f"95% upper bound {r['upper95']:.4f}  ({r['pairs']} pairs)"
              + (f"  {r['given']:.0f} against {r['driver']:.0f} ns" if "given" in r else "")
              + (f", {r['sets']} sets of processes" if "sets" in r else ""))
    figures.show(result["goals"])


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--launches", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=12, help="of fresh processes; 0 leaves them out")
    parser.add_argument("--modes", default=MODES, type=lambda text: text.split(","),
                        help="the modes of a round, all by default: " + ",".join(MODES))
    parser.add_argument("--pairs", type=int, default=30, help="per process, of pairs.cu")
    parser.add_argument("--pair-modes", default=PAIR_MODES, type=lambda text: text.split(","),
                        help="the modes of pairs.cu, all by default: " + ",".join(PAIR_MODES))
    parser.add_argument("--turns", type=int, default=10, help="of each set of processes that take turns")
    parser.add_argument("--turns-limit", type=float, default=80,
                        help="seconds after which no further set is begun")
    parser.add_argument("--pause-every", type=int, default=6,
                        help="one round in this many also measures after a pause")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which rounds end")
    args = begin(parser, argv, ("launch_loop", "pairs", "logdump", "oracle.so"))
    rounds = collect(args)
    pairs = collect_pairs(args)
    result = summary(rounds, pairs, turns.collect(args, ("audit", "plain")), args)
    with open(f"{args.out}/overhead.json", "w") as out:
        json.dump(result, out, indent=1)
    show(result)
    figures.write(args.out, result["goals"])
    return 0 if figures.met(result["goals"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
