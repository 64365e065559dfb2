#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schedule's cycles for loops of warp group operations, beside the cycles that a GPU took.

usage: warp_group.py [--gpuwatch PROGRAM] [--device NAME|FILE] [--figures DIR] PROGRAM [MEASURED]

PROGRAM: warp_group, of which `gpuwatch inspect` reads the machine code. MEASURED: what it printed on a GPU;
without it what is reported is printed alone. A loop of one warp group is what the schedule reports; of two on one
SM, which share nothing but memory in its sight, no more than the sum of their tensor work is shown beside.
Exit status: 0 reported, and with --figures nine of ten within 10%; 1 fewer; 2 wrong use or no loop was found.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402  (beside the folder of this script)


def reported(args):
    """{kernel: cycles of a trip}: of the loop that holds its tensor operations."""
    answer = subprocess.run([args.gpuwatch, "inspect", "--sass", f"--device={args.device}", "--json", args.program],
                            text=True, capture_output=True)
    if answer.returncode:
        sys.exit(f"warp_group.py: gpuwatch inspect failed: {answer.stderr.strip()}")
    cycles = {}
    for image in json.loads(answer.stdout)["images"]:
        for kernel in image["kernels"]:
            code = kernel.get("sass") or {}
            for block in code.get("blocks") or []:
                instructions = code["instructions"][block["first"]:block["first"] + block["instructions"]]
                if block["loops_around"] and any(one["class"] == "tensor" for one in instructions):
                    cycles[kernel["name"]] = block["cycles"]["l1"]
    return cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuwatch", default="gpuwatch")
    parser.add_argument("--device", default="H200")
    parser.add_argument("--figures", metavar="DIR", help="leave figures.json there, and judge")
    parser.add_argument("program")
    parser.add_argument("measured", nargs="?")
    args = parser.parse_args()
    cycles = reported(args)
    if not cycles:
        print(f"warp_group.py: {args.program}: no loop with tensor operations was found", file=sys.stderr)
        return 2
    if not args.measured:
        for name, value in cycles.items():
            print(f"{name} {value:.2f}")
        return 0
    print(f"{'LOOP':<16}{'WARP GROUPS':>12}{'TOLD':>10}{'MEASURED':>10}{'ERROR':>8}")
    alone = []
    with open(args.measured) as file:
        for line in file:
            name, groups, value = line.split()
            error = cycles[name] / float(value) - 1
            if groups == "1":
                alone.append(abs(error))
            print(f"{name:<16}{groups:>12}{cycles[name]:>10.1f}{float(value):>10.1f}" + (f"{error:>8.1%}" if groups == "1" else ""))
    print(f"\n{sum(e <= 0.1 for e in alone)} of {len(alone)} loops of one warp group within 10%, {sum(e <= 0.05 for e in alone)} within 5%")
    if not args.figures:
        return 0
    found = [figures.figure("loops of one warp group within 10%", sum(e <= 0.1 for e in alone) / len(alone) if alone else None,
                            least=0.9, n=len(alone))]
    return figures.conclude(args.figures, found)


if __name__ == "__main__":
    sys.exit(main())
