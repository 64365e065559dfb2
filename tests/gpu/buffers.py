#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When activity records lose their times in long runs (buffers.cu), and what gpuwatch's log has of such a run.

usage: buffers.py --programs DIR --gpuwatch SO --out DIR [--kernels N] [--ours N]

Libcupti with room for 4 buffers of 100,000 kernels, in streams and graphs, with what may free them; then graphs and streams
under gpuwatch in mode audit, with more kernels than its buffers hold at once. Exit status: 0 all of the latter were
measured (99% of graphs' kernels, for which there may be no remedy), 1 not, 77 there is no GPU here.
"""
import argparse
import json
import os
import subprocess
import sys

import compare
import figures
import under

VARIANTS = ("stream none", "stream flush", "graph none", "graph flush", "graph forced", "graph toggle", "graph graph")
LIMIT = 4
SHARES = {"stream": 0.9999, "graph": 0.99}


def variant(args, env, words):
    """A figure of how many records had their times."""
    try:
        reported = subprocess.run([f"{args.programs}/buffers", *words.split(), str(LIMIT), str(args.kernels)], env=env, capture_output=True,
                              text=True, timeout=30)
        print(reported.stdout.strip() or reported.stderr.strip(), flush=True)
        found = json.loads(reported.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        print(f"{words}: {error}", flush=True)
        return figures.figure(f"records with times, libcupti alone, {words}", None)
    return figures.figure(f"records with times, libcupti alone, {words}", 1 - (found["zero"] + found["wrong"]) / max(found["records"], 1),
                          n=found["records"])


def ours(args, how):
    log = f"{args.out}/{how}.gwl"
    status = under.run([f"{args.programs}/buffers", how, "bare", "0", str(args.ours)], under.environment(args.gpuwatch, log), args.out,
                       how, 90)
    found, notes = under.totals(f"{args.programs}/logdump", log)
    print(f"under gpuwatch, {how}: exit status {status}; {'; '.join(notes) or 'nothing degraded'}; " + ", ".join(
        f"{key} {value}" for key, value in (found or {}).items() if value), flush=True)
    if os.path.exists(log):
        os.remove(log)
    share = found["measured"] / found["launched"] if found and found["launched"] and status == 0 else None
    return figures.figure(f"kernels measured by gpuwatch, {how}", share, least=SHARES[how], n=found and found["launched"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--kernels", type=int, default=1500000, help="of each run of libcupti alone")
    parser.add_argument("--ours", type=int, default=4000000, help="of each run under gpuwatch")
    args = parser.parse_args()
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    toolkit, wheels = compare.library_folders()
    env = {name: value for name, value in os.environ.items() if name not in compare.without_gpuwatch(os.environ)}
    env["LD_LIBRARY_PATH"] = ":".join(toolkit + wheels + [env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    found = [variant(args, env, words) for words in VARIANTS] + [ours(args, how) for how in ("graph", "stream")]
    return figures.conclude(args.out, found)


if __name__ == "__main__":
    sys.exit(main())
