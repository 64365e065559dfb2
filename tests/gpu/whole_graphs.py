#!/usr/bin/env python3
"""Whole graphs as mode watch times them, by event pairs, against libcupti and against the program's own events.

usage: whole_graphs.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--python PYTHON] [--seconds N]

A decode loop of PyTorch (torch_loops.py, deep) that waits for each graph, twice: in mode watch, and in mode audit, where
libcupti times each kernel. Checked: mode watch counts each launch of the graph; its mean is within 3% of what the program
reads for 20 graphs that are queued between two events of its own, and not below the sum of its kernels' times in mode audit.
Exit status: 0 all hold, 1 not, 77 there is no GPU or PyTorch here.
"""
import argparse
import json
import os
import subprocess
import sys

import figures
import under

PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import torch, torch_loops
net, x = torch_loops.model(36)
with torch.no_grad():
    for _ in range(3):
        net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
replays, until = 0, time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    graph.replay()
    torch.cuda.synchronize()
    replays += 1
queued = []
for _ in range(30):
    a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    a.record()
    for _ in range(20):
        graph.replay()
    b.record()
    torch.cuda.synchronize()
    replays += 20
    queued.append(a.elapsed_time(b) / 20)
print(json.dumps({"replays": replays, "queued_ns": sorted(queued)[15] * 1e6}))
"""


def run(args, mode, more):
    """What the program printed, and the report of its log."""
    log = os.path.join(args.out, f"{mode}.gwl")
    env = under.environment(args.gpuwatch, log, {"GPUWATCH_MODE": mode, **more}, packages=True)
    loops = os.path.join(under.HERE, "..", "bench", "gpu_overhead")
    ran = subprocess.run([args.python, "-c", PROGRAM, loops, str(args.seconds)], env=env, capture_output=True, text=True,
                         timeout=60 + 4 * args.seconds)
    if ran.returncode:
        raise RuntimeError(f"mode {mode}: exit status {ran.returncode}: {ran.stderr.strip()[-300:]}")
    return json.loads(ran.stdout.splitlines()[-1]), under.answer(args.cli, ["report", "--json", log], good=(0, 1))


def check(good, text):
    print(f"{'PASS' if good else 'FAIL'}: {text}", flush=True)
    return good


def compare(args):
    said, watch = run(args, "watch", {"GPUWATCH_BUDGET": "5"})
    audited, audit = run(args, "audit", {})
    graphs = [one for one in watch["graphs"] if one["timed"]]
    if not check(len(graphs) == 1, f"one graph was timed whole: {len(graphs)}"):
        return False, []
    graph, mean = graphs[0], graphs[0]["mean_ns"]
    inside = sum(row["Total Time (ns)"] for row in audit["kernels"]) / audited["replays"]
    good = check(graph["launches"] == said["replays"], f"launches: {graph['launches']}, the program made {said['replays']}")
    good &= check(abs(mean / said["queued_ns"] - 1) <= 0.03,
                  f"mean of {graph['timed']} timed: {mean / 1e3:.1f} us, +- {graph['mean_error']}; queued, by the program: "
                  f"{said['queued_ns'] / 1e3:.1f} us")
    good &= check(mean >= inside * 0.97, f"kernels of a graph by libcupti, gaps left out: {inside / 1e3:.1f} us")
    return good, [figures.figure("mean time of a graph, mode watch over queued", mean / said["queued_ns"], n=graph["timed"])]


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=15)
    args = parser.parse_args()
    if subprocess.run([args.python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], capture_output=True).returncode:
        print("SKIP: no GPU, or no PyTorch, here")
        return 77
    os.makedirs(args.out, exist_ok=True)
    good, found = compare(args)
    figures.write(args.out, found)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
