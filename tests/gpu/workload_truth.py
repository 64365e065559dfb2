#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds counters against what the workloads state of themselves: each proves the other.

usage: workload_truth.py [--l2 BYTES] TABLE.csv      of kernels/workloads/table.py

Requests, sectors and operations must be equal (what is stated is exact). Traffic of device memory
is compared where at least twice the L2 is touched, since below it the caches may keep all.
Prints a line per quantity and one per kernel that differs by more than 2%; exit status 1 when a
quantity that must be equal differs by more than 0.1%.
"""
import argparse
import csv
import statistics
import sys

EQUAL = {"global_load_requests": ["global_load_requests"], "global_load_sectors": ["global_load_sectors"],
         "global_store_requests": ["global_store_requests"], "global_store_sectors": ["global_store_sectors"],
         "tensor_flop": ["tensor_fp16_flop", "tensor_tf32_flop", "tensor_int8_flop"],
         "fp32_flop": ["fp32_inst", "fp32_fma"], "fp64_flop": ["fp64_inst", "fp64_fma"]}
TRAFFIC = {"touched_read_bytes": ["dram_read_bytes"], "touched_write_bytes": ["dram_write_bytes"]}


def ratios(rows, truth, counters, least=0):
    """[(counted / stated, name)] where both are known and at least `least` is stated."""
    result = []
    for row in rows:
        stated = row.get(f"truth_{truth}")
        if not stated or float(stated) <= least or not all(row.get(c) for c in counters):
            continue
        counted = sum(float(row[c]) for c in counters)
        result.append((counted / float(stated), f"{row['workload']}:{row['size']}:{row['kernel']}"))
    return result


def show(truth, found):
    errors = [abs(ratio - 1) for ratio, _ in found]
    print(f"{truth:<24} {len(found):>5} rows  median error {100 * statistics.median(errors):.3f}%  "
          f"within 0.1%: {sum(e <= 1e-3 for e in errors)}  within 2%: {sum(e <= 0.02 for e in errors)}")
    for ratio, name in found:
        if abs(ratio - 1) > 0.02:
            print(f"    {name:<44} counted {ratio:.4g} times what is stated")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--l2", type=float, default=50 * 2**20, help="bytes of the L2; 50 MiB, an H200's, when not given")
    parser.add_argument("table")
    args = parser.parse_args()
    with open(args.table, newline="") as file:
        rows = list(csv.DictReader(file))
    wrong, compared = False, 0
    for truth, counters in EQUAL.items():
        found = ratios(rows, truth, counters)
        wrong |= any(abs(ratio - 1) > 1e-3 for ratio, _ in found)
        compared += len(found)
        if found:
            show(truth, found)
    if not compared:
        sys.exit(f"workload_truth.py: {args.table}: nothing is both counted and stated")
    for truth, counters in TRAFFIC.items():
        found = ratios(rows, truth, counters, 2 * args.l2)
        if found:
            show(truth, found)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
