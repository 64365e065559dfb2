#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often each basic block runs by code and arguments alone, against what a GPU counted of its instructions.

usage: block_score.py [--gpuwatch PROGRAM] [--jobs N] [--figures DIR] --program FILE SOURCE.jsonl SOURCE.csv

FILE: gpuwatch-workloads, of which `gpuwatch inspect` reads each kernel's machine code. SOURCE: of
`kernels/workloads/collect.sh OUT source`. Blocks of launches whose control depends on arguments and indices
alone are compared one by one: equal in each of its instructions (those where parts of a warp meet are run by each
part), or reported as a range that holds the counts, or wrong. Of the others it says why not. Where chosen warps
stand for the rest, counts are estimates: these launches are held apart.
Exit status: 0 every block of launches covered warp by warp is as counted, 1 some are not, 2 wrong use or the files
don't belong together.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import sys

import figures
import static_score


def read(args):
    """[(row, {at: (warps, threads)})]: launches in the order they ran."""
    with open(args.launches) as file:
        rows = [json.loads(line) for line in file]
    counts = {}
    with open(args.counts) as file:
        for line in csv.DictReader(file):
            launch = counts.setdefault(int(line["launch"]), (line["kernel"], {}))
            launch[1][int(line["at"])] = int(line["inst_executed"])
    if len(rows) != len(counts):
        sys.exit(f"block_score.py: {args.launches} has {len(rows)} launches, {args.counts} {len(counts)}")
    found = []
    for number, row in enumerate(rows):
        kernel, by_place = counts[number]
        if kernel.split("(")[0] != row["kernel"]:
            sys.exit(f"block_score.py: launch {number} is of {row['kernel']} in {args.launches}, of {kernel} in {args.counts}")
        found.append((row, by_place))
    return found


def ask(args, row):
    row = {**row, "grid": "x".join(map(str, row["grid"])), "block": "x".join(map(str, row["block"]))}
    return static_score.inspect(args, row, row["args"])


def compare(answer, counted):
    """(equal, in the range, wrong) of the blocks; each a list of (block, counts)."""
    kinds = [], [], []
    for block in answer["blocks"] or []:
        meeting, counts, exact, held = block["meeting"], [], True, True
        for i in range(block["instructions"]):
            reported = meeting if meeting and i < meeting["instructions"] else block
            most = float("inf") if reported["most"] is None else reported["most"]
            counts.append(counted.get(block["at"] + 16 * i, 0))
            exact &= reported["least"] == most == counts[-1]
            held &= reported["least"] <= counts[-1] <= most
        kinds[0 if exact else 1 if held else 2].append((block, counts))
    return kinds


def covered(answer):
    return answer["coverage"] == "every warp is covered"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuwatch", default="gpuwatch")
    parser.add_argument("--device", default="H200")
    parser.add_argument("--arch", default="90")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--figures", metavar="DIR", help="leave figures.json there")
    parser.add_argument("--program", required=True)
    parser.add_argument("launches", metavar="SOURCE.jsonl")
    parser.add_argument("counts", metavar="SOURCE.csv")
    args = parser.parse_args()
    found = read(args)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        answers = list(pool.map(lambda one: ask(args, one[0]), found))
    print(f"{'WORKLOAD':<24}{'KERNEL':<22}{'BLOCKS':>7}{'EQUAL':>7}{'IN RANGE':>9}{'WRONG':>7}  NOTE")
    kernels, reasons, lines = {}, {}, []
    sums = {True: [0, 0, 0], False: [0, 0, 0]}  # by whether every warp was covered
    for (row, counted), answer in zip(found, answers):
        why = static_score.reason_of(answer)
        kinds = compare(answer, counted)
        sizes = [len(kind) for kind in kinds]
        note = why or ("" if covered(answer) else answer["coverage"])
        print(f"{row['workload'] + ':' + str(row['size']):<24}{row['kernel']:<22}{sum(sizes):>7}{sizes[0]:>7}{sizes[1]:>9}{sizes[2]:>7}  {note}")
        kernels[row["kernel"]] = kernels.get(row["kernel"], True) and not why and sizes[0] == sum(sizes)
        if why:
            reasons.setdefault(why, set()).add(row["kernel"])
            continue
        sums[covered(answer)] = [a + b for a, b in zip(sums[covered(answer)], sizes)]
        for block, counts in kinds[2]:
            lines.append(f"WRONG  {row['workload']}:{row['size']} {row['kernel']} block at {block['at']:#x}: reported {block['least']:.10g} to "
                         f"{block['most']:.10g}, counted {min(counts)}" + (f" to {max(counts)}" if len(set(counts)) > 1 else "")
                         + ("" if covered(answer) else " (scaled up)"))
    exact = sum(kernels.values())
    print(f"\n{len(kernels)} kernels in {len(found)} launches; every block of every launch equal: {exact} kernels")
    for title, part in (("covered warp by warp", sums[True]), ("scaled up from chosen warps", sums[False])):
        print(f"settled launches, {title}: {sum(part)} blocks, {part[0]} equal, {part[1]} in their range, {part[2]} wrong")
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"not settled: {why}: {', '.join(sorted(names))}")
    print("\n".join(lines))
    shown = [figures.figure("kernels whose every block runs as often as reported", exact, n=len(kernels)),
             figures.figure("blocks of launches covered warp by warp", sum(sums[True]), least=1),
             figures.figure("of these, reported wrong", sums[True][2], most=0, n=sum(sums[True]), enough=1),
             figures.figure("blocks of launches scaled up, reported wrong", sums[False][2], n=sum(sums[False]))]
    if args.figures:
        figures.write(args.figures, shown)
    figures.show(shown)
    return 0 if figures.met(shown) else 1


if __name__ == "__main__":
    sys.exit(main())
