#!/usr/bin/env python3
"""agree.py: whether calibrations of one GPU agree, and whether they fit what is published.

    agree.py two A.json B.json           two full runs: rates within 3%, latencies within 3% or 2 cycles
    agree.py quick FULL.json QUICK.json  a quick run against a full one: within 5% or 2 cycles
    agree.py published A.json TABLE.csv  values against published ones: within 10%

Prints a line for each value that is out, the worst of those that are not, and how many there were.
Only values measured in both count; a value that one run refused is listed. Exit status 1: one is out.
"""
import csv
import json
import sys

LATENCY_SLACK = {"cycle": 2.0}


def measured(path):
    """name -> (value, unit) of every measured parameter; the reasons of those refused."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    values = {name: (row["value"], row["unit"]) for name, row in profile["params"].items()
              if row["method"] == "measured"}
    return values, {name: row["why"] for name, row in profile.get("unknown", {}).items()}


def deviation(a, b):
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


def compare(pairs, limit):
    """pairs: (name, a, b, unit). Prints; returns how many are out."""
    inside, out = [], []
    for name, a, b, unit in pairs:
        off = deviation(a, b)
        good = off <= limit or abs(a - b) <= LATENCY_SLACK.get(unit, 0)
        (inside if good else out).append((off, name, a, b, unit))
    for off, name, a, b, unit in sorted(out, reverse=True):
        print(f"OUT  {name}: {a:.6g} and {b:.6g} {unit}, {off:.1%} apart")
    for off, name, a, b, unit in sorted(inside, reverse=True)[:5]:
        print(f"     {name}: {a:.6g} and {b:.6g} {unit}, {off:.2%} apart")
    print(f"{len(inside)} of {len(inside) + len(out)} values within {limit:.0%}"
          + (" or 2 cycles" if any(unit == "cycle" for *_, unit in inside + out) else ""))
    return len(out)


def compare_runs(first, second, limit):
    a, refused_a = measured(first)
    b, refused_b = measured(second)
    for name in sorted(set(a) ^ set(b)):
        why = refused_a.get(name) or refused_b.get(name) or "not measured"
        print(f"ONE  {name}: in one run only; the other: {why}")
    return compare([(n, a[n][0], b[n][0], a[n][1]) for n in sorted(set(a) & set(b))], limit)


def compare_published(path, table):
    values, refused = measured(path)
    pairs = []
    with open(table, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            low, high, name = float(row["low"]), float(row["high"]), row["parameter"]
            if name not in values:
                print(f"ONE  {name}: {refused.get(name, 'not measured')}")
                continue
            value, unit = values[name]
            pairs.append((name, value, min(max(value, low), high), unit))
    return compare(pairs, 0.10)


def main(what, first, second):
    if what == "published":
        return compare_published(first, second)
    return compare_runs(first, second, {"two": 0.03, "quick": 0.05}[what])


if len(sys.argv) != 4 or sys.argv[1] not in ("two", "quick", "published"):
    sys.exit(__doc__)
sys.exit(1 if main(*sys.argv[1:]) else 0)
