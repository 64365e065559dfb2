#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often each basic block runs by code and arguments alone, against what a GPU counted of its instructions.

usage: block_score.py [--gpuwatch PROGRAM] [--jobs N] [--figures DIR] --program FILE SOURCE.jsonl SOURCE.csv

FILE: gpuwatch-workloads, of which `gpuwatch inspect` reads each kernel's machine code. SOURCE: of
`kernels/workloads/collect.sh OUT source`. Blocks of launches whose control depends on arguments and indices
alone are compared one by one: equal, or told as a range that holds the count, or wrong. Of the others it says why not.
A block's count is that of its first instruction; where the counter gives its instructions different counts,
lanes that parted run it in pieces, and the block is listed apart.
Exit status: 0 every block told is as counted, 1 some are not, 2 wrong use or the files don't belong together.
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
    """(equal, in the range, wrong, in pieces) of the blocks; each a list of (block, counts)."""
    kinds = [], [], [], []
    for block in answer["blocks"] or []:
        places = range(block["at"], block["at"] + 16 * block["instructions"], 16)
        counts = [counted.get(at, 0) for at in places]
        if len(set(counts)) > 1:
            kind = 3
        elif block["least"] == block["most"] == counts[0]:
            kind = 0
        else:
            kind = 1 if block["least"] <= counts[0] <= (block["most"] if block["most"] is not None else float("inf")) else 2
        kinds[kind].append((block, counts))
    return kinds


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
    print(f"{'WORKLOAD':<24}{'KERNEL':<22}{'BLOCKS':>7}{'EQUAL':>7}{'IN RANGE':>9}{'WRONG':>7}{'IN PIECES':>10}  NOTE")
    kernels, exact, reasons, all_blocks, lines = {}, set(), {}, [0, 0, 0, 0], []
    for (row, counted), answer in zip(found, answers):
        kernels.setdefault(row["kernel"], True)
        why = static_score.reason_of(answer)
        kinds = compare(answer, counted)
        sizes = [len(kind) for kind in kinds]
        print(f"{row['workload'] + ':' + str(row['size']):<24}{row['kernel']:<22}{sum(sizes):>7}{sizes[0]:>7}{sizes[1]:>9}{sizes[2]:>7}"
              f"{sizes[3]:>10}  {'' if not why else why}")
        if why:
            reasons.setdefault(why, set()).add(row["kernel"])
            kernels[row["kernel"]] = False
            continue
        all_blocks = [a + b for a, b in zip(all_blocks, sizes)]
        if sizes[0] != sum(sizes):
            kernels[row["kernel"]] = False
        for title, kind in (("WRONG", kinds[2]), ("PIECES", kinds[3])):
            for block, counts in kind:
                lines.append(f"{title:<7}{row['workload']}:{row['size']} {row['kernel']} block at {block['at']:#x}: told "
                             f"{block['least']} to {block['most']}, counted {min(counts)}" +
                             (f" to {max(counts)}" if len(set(counts)) > 1 else ""))
    exact = sum(kernels.values())
    total = sum(all_blocks)
    print(f"\n{len(kernels)} kernels in {len(found)} launches; every block of every launch equal: {exact} kernels")
    print(f"settled launches: {total} blocks, {all_blocks[0]} equal, {all_blocks[1]} in their range, {all_blocks[2]} wrong, {all_blocks[3]} in pieces")
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"not settled: {why}: {', '.join(sorted(names))}")
    print("\n".join(lines))
    if args.figures:
        shown = [figures.figure("kernels whose every block runs as often as told", exact, n=len(kernels)),
                 figures.figure("blocks of settled launches", total, least=1),
                 figures.figure("of these, told wrong", all_blocks[2], most=0, n=total, enough=1)]
        figures.write(args.figures, shown)
        figures.show(shown)
    return 1 if all_blocks[2] or not total else 0


if __name__ == "__main__":
    sys.exit(main())
