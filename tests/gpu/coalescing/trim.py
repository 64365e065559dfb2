#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trim.py LAUNCHES NCU_CSV: one line a launch of ncu's table with the counters that were asked for.

ncu adds some 280 columns about the device and the launch; what is left out is those. The label of
the n-th launch is the n-th of LAUNCHES, whose kernel must be the same."""
import csv
import json
import sys


def main(launches_path, table_path):
    launches = [json.loads(line) for line in open(launches_path)]
    lines = [line for line in open(table_path) if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first line below the titles holds units
    if len(rows) != len(launches):
        sys.exit(f"trim.py: {len(launches)} launches but {len(rows)} rows in {table_path}")
    metrics = [c for c in rows[0] if "__" in c and c.split("__")[0] in ("l1tex", "lts", "dram", "smsp")
               and (c.endswith(".sum") or c.endswith(".pct")) and not c.startswith("smsp__maximum")]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["label", "kernel"] + metrics)
    for launch, row in zip(launches, rows):
        if row["Kernel Name"] != launch["kernel"]:
            sys.exit(f"trim.py: launch {launch['label']} is of {launch['kernel']}, the row of {row['Kernel Name']}")
        out.writerow([launch["label"], launch["kernel"]] + [row[m].replace(",", "") for m in metrics])


if __name__ == "__main__":
    main(*sys.argv[1:])
