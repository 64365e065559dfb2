#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the windows of mode watch cost, and what is left of one afterwards.

slices.cu launches for a while and times slices of launches; the log tells which slices met a
window. Three figures, each a median with a one-sided 95% bound from a bootstrap:
  after    slices right after a window against those right before it, a pair for each window
           (GPUWATCH_BUDGET=20, so that there are many)
  first    the same, against the slices before the first window: never attached
  whole    all launches of a process at the default budget, against the slices outside windows
With --rounds also bare processes and processes in mode watch in turns (turns.py), at the default
budget: empty launches, and where PyTorch is a GEMM loop and a decode loop that replays a CUDA
graph (torch_loops.py). Of these the median of watch / bare over pairs of turns.

Exit status: 0 goals met, 1 a goal missed, 77 there is no GPU here, 2 wrong use.
"""
import argparse
import bisect
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "gpu"))
import compare  # noqa: E402
import turns  # noqa: E402
from modes import environment, libraries  # noqa: E402

NEAR = 8  # slices on either side of a window that make a pair


def run(command, mode, args, budget=None, timeout=120):
    """Standard output and the log's folder."""
    folder = os.path.join(args.out, "logs")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    env = environment(mode, args, libraries(), folder)
    if budget is not None:
        env["GPUWATCH_BUDGET"] = str(budget)
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=timeout)
    if done.returncode or done.stderr:
        print(f"watch.py: {mode}: exit {done.returncode} {done.stderr.strip()[:300]}", file=sys.stderr)
    return json.loads(done.stdout) if not done.returncode else None, folder


def measured_starts(args, folder):
    logs = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".gwl")]
    dump = subprocess.run([f"{args.programs}/logdump", "--launches"] + logs, capture_output=True, text=True,
                          check=True).stdout
    return sorted(int(line.split("\t")[1]) for line in dump.splitlines() if line.startswith("L\t"))


def windows(figures, starts):
    """[first, last] slices of each window, attaching and detaching included: what lies between slices
    with measured launches and is near them."""
    begins, found = figures["begin"], []
    for start in starts:
        at = max(bisect.bisect_right(begins, start) - 1, 0)
        if found and at <= found[-1][1] + 2:
            found[-1][1] = max(at, found[-1][1])
        else:
            found.append([at, at])
    return found


def widened(spans, ns, usual):
    """With the slices around that are slow: attaching comes before the first measured launch, detaching
    after the last. At most five on either side."""
    wide = []
    for first, last in spans:
        for _ in range(5):
            if first > 0 and ns[first - 1] > 1.15 * usual:
                first -= 1
        for _ in range(5):
            if last + 1 < len(ns) and ns[last + 1] > 1.15 * usual:
                last += 1
        wide.append((first, last))
    return wide


def bound(values, seed=1):
    dice = random.Random(seed)
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(4000))
    return {"pairs": len(values), "median": statistics.median(values), "upper95": medians[int(4000 * 0.95)]}


def slices(args, mode, budget, seconds):
    figures, folder = run([f"{args.programs}/slices", str(seconds), "500"], mode, args, budget)
    if not figures:
        return None
    starts = measured_starts(args, folder) if mode == "watch" else []
    _, totals, notes = compare.read_log(f"{args.programs}/logdump", folder) if mode == "watch" else (0, {}, [])
    ns = figures["ns"]
    spans = windows(figures, starts)
    inside = set()
    usual = statistics.median(ns)
    spans = widened(spans, ns, usual)
    for first, last in spans:
        inside.update(range(first, last + 1))
    return {"ns": ns, "spans": spans, "inside": inside, "totals": dict(totals), "notes": notes}


def pairs_around(found):
    """Per window: the median of the slices right after it by that of those right before."""
    ns, ratios = found["ns"], []
    for first, last in found["spans"]:
        before = [ns[i] for i in range(max(first - NEAR, 0), first) if i not in found["inside"]]
        after = [ns[i] for i in range(last + 1, min(last + 1 + NEAR, len(ns))) if i not in found["inside"]]
        if len(before) >= NEAR // 2 and len(after) >= NEAR // 2:
            ratios.append(statistics.median(after) / statistics.median(before))
    return ratios


def blocks(values):
    return [statistics.median(values[i:i + NEAR]) for i in range(0, len(values) - NEAR + 1, NEAR)]


def launches(args, result):
    bare = slices(args, "bare", None, min(4, args.seconds))
    many = slices(args, "watch", 20, args.seconds)
    usual = slices(args, "watch", 1, args.seconds)
    after = pairs_around(many)
    free = [x for i, x in enumerate(many["ns"]) if i not in many["inside"]]
    head = many["ns"][:many["spans"][0][0]] if many["spans"] else []
    outside = statistics.median([x for i, x in enumerate(usual["ns"]) if i not in usual["inside"]])
    result["bare_ns"] = statistics.median(bare["ns"])
    for name, found in (("budget 20", many), ("budget 1", usual)):
        result[name] = {"windows": len(found["spans"]), "slices": len(found["ns"]),
                        "share_inside": len(found["inside"]) / len(found["ns"]),
                        "median_ns": statistics.median(found["ns"]), "mean_ns": statistics.mean(found["ns"]),
                        "inside_ns": statistics.mean([found["ns"][i] for i in found["inside"]] or [float("nan")]),
                        "counters": {k: v for k, v in found["totals"].items()
                                     if k.startswith(("window", "detach", "measured", "launched", "edge"))},
                        "notes": found["notes"]}
    if len(after) >= 3:
        result["after"] = bound(after)
    if len(head) >= NEAR:
        base = statistics.median(head)
        result["first"] = bound([b / base for b in blocks(free[len(head):])])
    result["whole"] = {"ratio": statistics.mean(usual["ns"]) / outside, "windows": len(usual["spans"])}
    if args.raw:
        result["raw"] = {"bare": bare["ns"], "budget 20": many["ns"], "budget 1": usual["ns"]}


def in_turns(args, command, lines, folders):
    """Per line: bare and watch turns, ratio and bound; None where a process failed."""
    players = [turns.Player(mode, command, args, folders) for mode in ("bare", "watch")]
    order = random.Random(1)
    rounds = {line: turns.play(players, args.rounds, line, order) for line in lines}
    ends = [player.end() for player in players]
    totals = compare.read_log(f"{args.programs}/logdump", players[1].folder)[1]
    found = {}
    for line, times in rounds.items():
        if len(times) < args.rounds or None in ends:
            return None
        found[line] = dict(bound([t["watch"] / t["bare"] for t in times]),
                           bare=statistics.median(t["bare"] for t in times),
                           watch=statistics.median(t["watch"] for t in times), raw=times)
    found["counters"] = {k: totals[k] for k in ("launched", "measured", "windows", "window_ns")}
    return found


def all_in_turns(args, result):
    cpu, _ = turns.fastest_cpu(args)
    result["launches in turns"] = in_turns(args, [f"{args.programs}/launch_loop", "turns", cpu],
                                           ["20000"], libraries())
    if not args.no_torch and compare.module_present(compare_python(), "torch"):
        toolkit, wheels = compare.library_folders()
        result["PyTorch in turns"] = in_turns(
            args, [compare_python(), os.path.join(HERE, "torch_loops.py"), "gemm", "decode"],
            ["gemm 3000", "decode 150"], wheels + toolkit)


def compare_python():
    return shutil.which("python3") or sys.executable


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", required=True, help="folder that tests/gpu/build.sh filled")
    parser.add_argument("--gpuwatch", required=True, help="libgpuwatch.so")
    parser.add_argument("--out", required=True, help="folder for watch.json")
    parser.add_argument("--seconds", type=float, default=12, help="of each process of slices")
    parser.add_argument("--rounds", type=int, default=0, help="pairs of turns, 30 or more to prove anything")
    parser.add_argument("--no-torch", action="store_true", help="leave the loops of PyTorch out")
    parser.add_argument("--raw", action="store_true", help="keep every slice")
    args = parser.parse_args(argv)
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.out = os.path.abspath(args.out)
    os.makedirs(args.out, exist_ok=True)
    result = {}
    launches(args, result)
    if args.rounds:
        all_in_turns(args, result)
    goals = [("after a window <= 1.02 x before it", result.get("after", {}), 1.02),
             ("after windows <= 1.02 x before the first", result.get("first", {}), 1.02)]
    for found in (result[name] for name in result if name.endswith("in turns")):
        if not found:
            goals.append(("a process failed", {}, 1.02))
            continue
        print("counters", found["counters"])
        if not found["counters"]["windows"]:
            goals.append(("no window was there", {}, 1.02))
        goals += [(f"watch <= 1.02 x bare, {line}", {k: v for k, v in figures.items() if k != "raw"}, 1.02)
                  for line, figures in found.items() if line != "counters"]
    failed = 0
    for name, figures, most in goals:
        met = figures.get("upper95", 9) <= most and figures["pairs"] >= 30
        failed += not met
        print("PASS" if met else "FAIL", f"{name}: {figures}")
    met = result["whole"]["windows"] and result["whole"]["ratio"] <= 1.02
    failed += not met
    print("PASS" if met else "FAIL", f"whole <= 1.02 x outside windows: {result['whole']}")
    for name in ("bare_ns", "budget 20", "budget 1"):
        print(name, json.dumps(result[name]))
    with open(os.path.join(args.out, "watch.json"), "w") as f:
        json.dump(result, f)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
