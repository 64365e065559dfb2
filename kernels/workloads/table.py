#!/usr/bin/env python3
"""Joins what collect.sh left into one table, a row per kernel and size.

usage: table.py --logdump PROGRAM FOLDER... > table.csv

FOLDER: outputs of collect.sh; any of the steps times, code, cache, light and state, in any number of parts.
PROGRAM: gpu_logdump of the build; what `gpu_logdump --launches` says of times0.gwl may also lie beside
it as times0.launches. Columns: what was launched; `seconds` and `mad_seconds`, median
and median deviation in place; the counters of counters.tsv by their first column; and, after
`truth_`, what the workload states of itself. A cell is empty where nothing is known.
"""
import argparse
import csv
import glob
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = ["workload", "family", "size", "launch", "n", "kernel", "grid", "block", "dynamic_shared",
          "registers", "static_shared", "local"]


def counters():
    """Rows of counters.tsv: (what, metrics, factor); each metric is taken in one way only."""
    with open(f"{HERE}/counters.tsv") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and line[0] != "#"]
    return [(what, metrics.split("+"), float(factor)) for what, _, metrics, factor in rows]


def truths():
    with open(f"{HERE}/truth.def") as file:
        return [line[6:line.index(",")] for line in file if line.startswith("TRUTH(")]


def launches(path):
    """The program's lines in their order; a replayed program says each again. The key holds n as well,
    so that runs of other versions of the set are not mixed."""
    rows = {}
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            rows.setdefault((row["workload"], row["size"], row["launch"], row["n"]), row)
    return rows


def fail(path, what):
    sys.exit(f"table.py: {path}: {what}")


def read_launches(path, logdump):
    """The log beside the program's lines as gpu_logdump prints it, or printed it earlier."""
    log, text = path[:-len("jsonl")] + "gwl", path[:-len("jsonl")] + "launches"
    if os.path.exists(text):
        with open(text) as file:
            return text, file.read()
    return log, subprocess.run([logdump, "--launches", log], check=True, capture_output=True, text=True).stdout


def in_place(path, logdump):
    """{key: (median, deviation)} from the log beside the program's lines."""
    log, text = read_launches(path, logdump)
    ran = [line.split("\t") for line in text.splitlines() if line.startswith("L\t")]
    ran = sorted((int(start), int(duration), name) for *_, start, duration, name in ran if "wl_fill" not in name)
    rows, at, times = launches(path), 0, {}
    cases = {}
    for key in rows:
        cases.setdefault(key[:2], []).append(key)
    for keys in cases.values():
        rounds = 1 + rows[keys[0]]["launches"]  # the first one warms up
        for number in range(rounds):
            for key in keys:
                if at == len(ran) or ran[at][2] != rows[key]["kernel"]:
                    fail(log, f"launch {at} is not {rows[key]['kernel']} of {key}; it does not belong to {path}")
                if number:
                    times.setdefault(key, []).append(ran[at][1] * 1e-9)
                at += 1
    if at != len(ran):
        fail(log, f"{len(ran) - at} launches are left over")
    result = {}
    for key, seconds in times.items():
        middle = statistics.median(seconds)
        result[key] = (middle, statistics.median(abs(s - middle) for s in seconds))
    return result


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def counted(path):
    """{key: {metric: value}} from ncu's CSV beside the program's lines."""
    table = path[:-len("jsonl")] + "csv"
    with open(table, newline="") as file:
        lines = [line for line in file if line.startswith('"')]
    by_id = {}
    for row in csv.DictReader(lines):
        entry = by_id.setdefault(int(row["ID"]), (row["Kernel Name"], {}))
        entry[1][row["Metric Name"]] = number(row["Metric Value"])
    keys = launches(path)
    if len(by_id) > len(keys):
        fail(table, f"{len(by_id)} kernels were counted, {len(keys)} launched")
    if len(by_id) < len(keys):  # ncu writes what it has when it is cut short
        print(f"table.py: {table}: the first {len(by_id)} of {len(keys)} launches were counted", file=sys.stderr)
    result = {}
    for (key, row), (_, (kernel, values)) in zip(keys.items(), sorted(by_id.items())):
        if kernel.split("(")[0] != row["kernel"]:
            fail(table, f"{kernel} stands where {row['kernel']} of {key} is expected")
        result[key] = values
    return result


def total(values, metrics, factor):
    """The sum of the metrics; None unless each is known."""
    parts = [values.get(metric) for metric in metrics]
    return None if None in parts else sum(parts) * factor


def cell(value):
    if value is None:
        return ""
    if isinstance(value, list):
        return "x".join(map(str, value))
    return f"{value:.9g}" if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdump", required=True)
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    rows, seconds, values = {}, {}, {}
    for folder in args.folders:
        # What the run that was timed states comes first.
        for path in sorted(glob.glob(f"{folder}/*.jsonl"), key=lambda p: (not p.endswith("times0.jsonl"), p)):
            step = re.match("[a-z]*", os.path.basename(path)).group()
            if step == "times":
                seconds.update(in_place(path, args.logdump))
            elif step in ("code", "cache", "light", "state"):
                for key, metrics in counted(path).items():
                    values.setdefault(key, {}).update(metrics)
            else:
                continue
            for key, row in launches(path).items():
                rows.setdefault(key, row)
    known, stated = counters(), truths()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(LAUNCH + ["seconds", "mad_seconds"] + [c[0] for c in known] + [f"truth_{t}" for t in stated])
    for key, row in rows.items():
        median, deviation = seconds.get(key, (None, None))
        cells = [row[name] for name in LAUNCH] + [median, deviation]
        cells += [total(values.get(key, {}), metrics, factor) for _, metrics, factor in known]
        cells += [row["truth"].get(t) for t in stated]
        out.writerow(map(cell, cells))


if __name__ == "__main__":
    main()
