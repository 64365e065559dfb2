#!/usr/bin/env python3
"""Everything that mode watch promises of one program, in one run of it.

usage: watched.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--loop train|deep] [--seconds N] [--set NAME=VALUE]...

A loop of PyTorch (torch_loops.py) in three processes, in turns on one GPU: bare, in mode audit, and then in mode watch for
--seconds. Figures and goals:
  timed     share of kernel runs timed, those in graphs that were timed whole included
  verdict   share of the measured GPU time of kernels, or of graphs timed whole, with a verdict
  medians   share of configurations of 5 us and more, timed 30 times or more in both, whose medians differ by 2% at most
  cpu       CPU time of gpuwatch's threads, as the kernel counts it, over the time, in the second half of the loop
  resident  memory of the process beyond the bare one's, without files
  bytes     size of the log, as a day of it
Exit status: 0 goals met, 1 a goal missed, 77 there is no GPU or PyTorch here.
"""
import argparse
import glob
import os
import subprocess
import sys
import time

import figures
import under

LOOPS = os.path.join(under.HERE, "..", "bench", "gpu_overhead", "torch_loops.py")
CHUNK = {"train": 200, "deep": 500, "conv": 150, "gemm": 5000}  # steps of half a second or so
SHORTEST, FEWEST, NEAR = 5000, 30, 0.02


class Loop:
    """torch_loops.py, which waits until it is to run."""

    def __init__(self, args, mode, more):
        self.name, self.log = args.loop, os.path.join(args.out, f"{mode}.gwl")
        env = under.environment(args.gpuwatch, self.log, {"GPUWATCH_MODE": mode, **more}, packages=True)
        if mode == "bare":
            del env["LD_PRELOAD"]
        with open(os.path.join(args.out, f"{mode}.err"), "w") as errors:
            self.process = subprocess.Popen([args.python, LOOPS, args.loop], env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)

    def ready(self):
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{self.log}: the loop did not start")

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.process.stdin.write(f"{self.name} {CHUNK[self.name]}\n")
            self.process.stdin.flush()
            float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait(timeout=60)

    def memory(self):
        """Bytes resident, files left out: {anonymous, shared}."""
        with open(f"/proc/{self.process.pid}/status") as file:
            rows = dict(line.split(":", 1) for line in file)
        return {name: int(rows[row].split()[0]) << 10 for name, row in (("anonymous", "RssAnon"), ("shared", "RssShmem"))}

    def logged(self):
        """Bytes of its log's files."""
        return sum(os.path.getsize(name) for name in glob.glob(glob.escape(self.log) + "*"))

    def cpu(self):
        """Seconds of CPU of gpuwatch's threads, by name."""
        found = {}
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            if name.startswith("gpuwatch"):
                user, system = rest.split()[11:13]
                found[name] = found.get(name, 0) + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return found


def verdict_share(report):
    """Of the measured time: of graphs where some were timed whole, else of kernels."""
    graphs = report.get("graphs_by_bound") or {}
    if graphs.get("gpu_time_ns"):
        return 1 - graphs["unknown"] / graphs["gpu_time_ns"]
    bounds = (report.get("verdict") or {}).get("seconds_by_bound") or {}
    whole = sum(value or 0 for value in bounds.values())
    return 1 - (bounds.get("unknown") or 0) / whole if whole else None


def timed_share(report):
    whole = sum(one["timed"] * one["kernels"] for one in report.get("graphs") or [] if one["kernels"])
    return (report["measured"] + whole) / report["launches"] if report["launches"] else None


def key(row):
    return (row["Mangled"], row.get("GridXYZ"), row.get("BlockXYZ"), row.get("Dynamic Shared (B)"), row.get("Arguments"))


def medians(watch, audit):
    """Of configurations timed often enough in both: [(difference, time, name)], by size of the difference."""
    known = {key(row): row for row in audit["kernels"]}
    found = []
    for row in watch["kernels"]:
        other = known.get(key(row))
        if other and row["Measured"] >= FEWEST and (other["Measured"] or 0) >= FEWEST and other["Med (ns)"] >= SHORTEST:
            found.append((row["Med (ns)"] / other["Med (ns)"] - 1, other["Med (ns)"], row["Name"]))
    return sorted(found, key=lambda one: -abs(one[0]))


def judged(report, off, measured):
    """Figures of the report, of the differences of medians, and of what was measured from outside."""
    near = sum(abs(one[0]) <= NEAR for one in off)
    return [
        figures.figure("kernel runs timed", timed_share(report), least=0.005),
        figures.figure("GPU time with a verdict", verdict_share(report), least=0.95),
        figures.figure("medians within 2% of audit's", near / len(off) if off else None, least=1 if off else None, n=len(off)),
        figures.figure("CPU of gpuwatch's threads, second half", measured["cpu"], most=0.02),
        figures.figure("CPU of gpuwatch's threads, whole loop", measured["cpu_all"]),
        figures.figure("resident beyond bare", measured["resident"] / (1 << 20), most=96, unit="MiB"),
        figures.figure("bytes of the log a day", measured["bytes"] / 1e6, most=50, unit="MB"),
    ]


def seconds(cpu):
    return sum(cpu.values())


def watch(args, more):
    """The three processes, in turns; the figures."""
    loops = {mode: Loop(args, mode, more if mode == "watch" else {}) for mode in ("bare", "audit", "watch")}
    for loop in loops.values():
        loop.ready()
    loops["bare"].run(4)
    bare = loops["bare"].memory()
    loops["audit"].run(args.audited)
    ends = [loops[mode].end() for mode in ("bare", "audit")]
    watched, begin, before = loops["watch"], time.monotonic(), loops["watch"].cpu()
    at = watched.logged()
    watched.run(args.seconds / 2)
    middle, half = watched.cpu(), time.monotonic()
    watched.run(args.seconds / 2)
    after, end, memory, log = watched.cpu(), time.monotonic(), watched.memory(), watched.logged()
    ends.append(watched.end())
    print(f"exit statuses {ends}; {end - begin:.0f} s; CPU by thread, s: {before}, {middle}, {after}; memory: {bare}, {memory}")
    report, audit = (under.answer(args.cli, ["report", "--json", "--by=config", loops[mode].log], good=(0, 1))
                     for mode in ("watch", "audit"))
    off = medians(report, audit)
    for one in off[:12]:
        print(f"      {one[0]:+.4f} of {one[1] / 1e3:.1f} us  {one[2][:70]}")
    return judged(report, off, {
        "cpu": (seconds(after) - seconds(middle)) / (end - half),
        "cpu_all": (seconds(after) - seconds(before)) / (end - begin),
        "resident": sum(memory.values()) - sum(bare.values()),
        "bytes": (log - at) / (end - begin) * 86400})


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--loop", default="train", choices=sorted(CHUNK))
    parser.add_argument("--seconds", type=float, default=75)
    parser.add_argument("--audited", type=float, default=6, help="seconds of mode audit")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of mode watch")
    args = parser.parse_args()
    if subprocess.run([args.python, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], capture_output=True).returncode:
        print("SKIP: no GPU, or no PyTorch, here")
        return 77
    os.makedirs(args.out, exist_ok=True)
    return figures.conclude(args.out, watch(args, dict(one.split("=", 1) for one in args.set)))


if __name__ == "__main__":
    sys.exit(main())
