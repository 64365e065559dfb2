#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a window of sampled counters costs the program, measured inside one process.

A loop is timed in slices of about a millisecond (torch_loops.py, slices.cu) in audit mode, with a budget that lets sessions
of windows come and go; the recorder (libgpuwatch_pm_record.so) reports when each window was. Slices that lie wholly in a window
(`in`), in a session but in none of its windows (`between`), and far from any (`off`) are held against each other. Of that
and of the share of time that windows take follows what counters cost at a budget: at this one, and at the default of 1%.
Writes windows.json, prints a table. Exit status: 0 goals met (at the default budget the loop takes at most 1.05 of its
time without counters, 95% bound), 1 missed or a process failed, 77 there is no GPU or no PyTorch here.
"""
import bisect
import json
import os
import random
import statistics
import struct
import subprocess
import sys

from modes import begin, compare, environment, figures, libraries, options, python, python_libraries
import sampling

HERE = os.path.dirname(os.path.abspath(__file__))
BUDGET = 33
METRICS = 12               # GW_SAMPLE_METRICS
HEAD = struct.Struct(f"<II{METRICS}B4xQQ")
SAMPLE = struct.Struct(f"<QQ{METRICS}d")
RUN = struct.Struct("<QQI4x")
MAGIC = 0x6D705747
SESSION_GAP = 0.15e9       # ns between windows, from which they are of two sessions
CONFIGURE = 0.4e9          # ns before a session's first window that may be its set-up
REST = 0.05e9              # after its last: the sampler is disabled
LIMIT = 1.05
KINDS = ("in", "between", "off")


def windows(data):
    """(begin, end) of each recorded window, ns."""
    found, at = [], 0
    while at + HEAD.size <= len(data):
        magic, _, *_, samples, runs = HEAD.unpack_from(data, at)
        if magic != MAGIC:
            raise ValueError(f"no window at byte {at}")
        at += HEAD.size
        if samples > 1 and at + samples * SAMPLE.size <= len(data):  # the first sample reaches back, to the last window's end or further
            found.append((SAMPLE.unpack_from(data, at + SAMPLE.size)[0], SAMPLE.unpack_from(data, at + (samples - 1) * SAMPLE.size)[1]))
        at += samples * SAMPLE.size + runs * RUN.size
    return sorted(found)


def sessions(spans):
    """(first begin, last end) of windows that follow each other."""
    found = []
    for first, last in spans:
        if found and first - found[-1][1] < SESSION_GAP:
            found[-1][1] = last
        else:
            found.append([first, last])
    return found


def place(start, end, spans, known):
    """`in`, `between`, `off`, or None for what is partly so."""
    at = bisect.bisect_right(spans, (start, float("inf"))) - 1
    if at >= 0 and end <= spans[at][1]:
        return "in"
    if at >= 0 and start < spans[at][1] or at + 1 < len(spans) and end > spans[at + 1][0]:
        return None
    for first, last in known:
        if first <= start and end <= last:
            return "between"
        if first - CONFIGURE < end and start < last + REST:
            return None
    return "off"


def sorted_out(reported, steps, spans):
    """Times of a step by kind of slice; only while sessions come and go."""
    found, known = {kind: [] for kind in KINDS}, sessions(spans)
    if not known:
        return found
    for start, ns in zip(reported["begin"], reported["ns"]):
        kind = place(start, start + ns * steps, spans, known)
        if kind and known[0][0] - 2e9 < start < known[-1][1] + 2e9:
            found[kind].append(ns)
    return found


def ratio(mine, base, seed, resamples=2000):
    """Ratio of means with the end of its one-sided 95% interval, by a bootstrap over slices; None for too few. Means, for
    what a window costs now and then counts as well."""
    if len(mine) < 10 or len(base) < 10:
        return None
    dice = random.Random(seed)
    cut = base if len(base) <= 2000 else dice.sample(base, 2000)
    drawn = sorted(statistics.fmean(dice.choices(mine, k=len(mine))) / statistics.fmean(dice.choices(cut, k=len(cut)))
                   for _ in range(resamples))
    return {"ratio": statistics.fmean(mine) / statistics.fmean(base), "upper95": drawn[int(resamples * 0.95)],
            "medians": statistics.median(mine) / statistics.median(base), "n": len(mine)}


def measure(args, loop):
    """What one process says, when its windows were, and the CPU time they took; None where it failed."""
    folder = f"{args.out}/{loop}"
    os.makedirs(folder, exist_ok=True)
    torch = loop != "launches"
    command = [python(), f"{HERE}/torch_loops.py", "slices", loop, str(args.seconds)] if torch else \
        [f"{args.programs}/slices", str(args.seconds), "200"]
    env = environment("pm", args, python_libraries() if torch else libraries(), folder)
    env.update(LD_PRELOAD=args.recorder, GPUWATCH_BUDGET=str(BUDGET), GPU_PM_RECORD=f"{folder}/record")
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=args.seconds + 60)
    if done.returncode or done.stderr:
        print(f"window_cost.py: {loop}: exit {done.returncode} {done.stderr.strip()[:300]}", file=sys.stderr)
    if done.returncode:
        return None
    with open(f"{folder}/record", "rb") as file:
        spans = windows(file.read())
    os.remove(f"{folder}/record")
    return json.loads(done.stdout), spans, sampling.counter(args, folder, "pm_cpu_ns")


def judged(loop, reported, spans, cpu, seed):
    """Figures of one loop."""
    steps = {"gemm": 40, "train": 1, "decode": 2, "launches": 200}[loop]
    by_kind = sorted_out(reported, steps, spans)
    found, cost, bound = [], 0.0, 0.0
    in_windows, in_sessions = (sum(last - first for first, last in some) for some in (spans, sessions(spans)))
    for kind, length in (("in", in_windows), ("between", in_sessions - in_windows)):
        got = ratio(by_kind[kind], by_kind["off"], seed) or {}
        found.append(figures.figure(f"{loop}: slices {'in windows' if kind == 'in' else 'between the windows of a session'} / far from them",
                                    got.get("ratio"), at=got.get("upper95"), n=got.get("n")))
        if not got or not cpu:
            cost = bound = None
        if cost is not None:
            share = 0.01 * length / cpu  # of the time, at a budget of 1%: CPU for counters is that much of it
            cost, bound = cost + share * (got["ratio"] - 1), bound + share * (got["upper95"] - 1)
    found.append(figures.figure(f"{loop}: with counters at the default budget / without", None if cost is None else 1 + cost,
                                at=None if bound is None else 1 + bound, n=len(spans), enough=10, most=LIMIT))
    print(f"{loop}: {len(spans)} windows in {len(sessions(spans))} sessions, " + ", ".join(
        f"{kind} {statistics.fmean(values):.0f} ns ({len(values)})" for kind, values in by_kind.items() if values))
    return found


def main(argv):
    parser = options(__doc__)
    parser.add_argument("--recorder", required=True, help="libgpuwatch_pm_record.so")
    parser.add_argument("--loop", action="append", choices=sampling.LOOPS, help="may be repeated (default launches)")
    parser.add_argument("--seconds", type=float, default=14, help="of each loop")
    parser.add_argument("--raw", action="store_true", help="keep every slice")
    args = begin(parser, argv, ("slices", "logdump"))
    args.recorder = os.path.abspath(args.recorder)
    loops = args.loop or ["launches"]
    if set(loops) - {"launches"} and not compare.module_present(python(), "torch"):
        print("SKIP: Python module torch is not installed")
        return 77
    found, raw = [], {}
    for loop in loops:
        reported = measure(args, loop)
        found += judged(loop, *reported, args.seed) if reported else [figures.figure(f"{loop}: the process failed", None, most=LIMIT)]
        raw[loop] = {"windows": reported[1], **(reported[0] if args.raw else {})} if reported else None
    with open(f"{args.out}/windows.json", "w") as out:
        json.dump(raw, out)
    return figures.conclude(args.out, found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
