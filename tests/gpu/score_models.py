#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far every model is off on the development set, from counted work and times in place.

usage: score_models.py [--gpuwatch PROGRAM] [--device NAME|FILE] [--code DUMP] [--launches FILE] [--json] [--misses MODEL] TABLE.csv

TABLE.csv: of kernels/workloads/table.py. Each row becomes a described launch (docs/user/launch.md) whose
work is what ncu counted, with its measured time. What no counter gives is taken from what the code shows
(DUMP: of static_score.py --dump), as in the process; without DUMP atomic operations by thread are taken
from what the workload states. Nothing is fitted here. Prints per model the share of rows within
25% and within 2x, the median error and the geometric mean of predicted over measured, for all
rows, by length and by family, then the report's verdicts against ncu's Speed-of-Light.

tests/cli/launches_log makes a log of the file of --launches, for `gpuwatch replay --hide-times`.
"""
import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys

import under

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEASURED_ON = "NVIDIA H200"
BATCH = 4096  # launches that a file may describe


def known(row, column):
    return float(row[column]) if row.get(column) else None


def read_code(path):
    """{key of a row: what code reported of its work}."""
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    reported = {tuple(line["key"]): (line["answer"].get("static") or {}).get("work", {}) for line in lines}
    return {key: {field: {"value": one["value"], "source": "static", "confidence": one["confidence"]}
                  for field, one in work.items()} for key, work in reported.items()}


def work_of(row, fields, code):
    """Counted work; what counters don't have, as the code shows it, or the workload states it."""
    work = dict(code or {})
    for field in fields:
        value = known(row, field)
        if value is not None and field.endswith("_rate"):
            value = min(value, 1)  # hits and look-ups of different passes can give a little more
        if value is not None:
            work[field] = {"value": value, "source": "counted"}
        elif code is None and known(row, f"truth_{field}") is not None:
            work[field] = {"value": known(row, f"truth_{field}"), "source": "static"}
    uniform = known(row, "uniform_branches")
    if uniform is not None and code is None:
        work["divergent_branches"] = {"value": 1 - uniform, "source": "counted"}
    return work


def launch_of(row, fields, code=None):
    sizes = {name: [int(part) for part in row[name].split("x")] for name in ("grid", "block")}
    return {"name": f"{row['workload']}:{row['size']}:{row['launch']}",
            "kernel": {"name": row["kernel"], "registers": int(row["registers"]),
                       "static_shared": int(row["static_shared"]), "local": int(row["local"])},
            "grid": sizes["grid"], "block": sizes["block"], "dynamic_shared": int(row["dynamic_shared"]),
            "work": work_of(row, fields, code), "measured": {MEASURED_ON: float(row["seconds"])}}


def ask(args, launches):
    """The answers of `gpuwatch predict` for each launch, in order."""
    answers = []
    for at in range(0, len(launches), BATCH):
        reported = subprocess.run([args.gpuwatch, "predict", "--launch=-", f"--device={args.device}", "--model=all", "--json"],
                              input=json.dumps({"launches": launches[at:at + BATCH]}), text=True, capture_output=True)
        if reported.returncode:
            sys.exit(f"score_models.py: gpuwatch predict failed: {reported.stderr.strip()}")
        answers += [launch["devices"][0] for launch in json.loads(reported.stdout)["launches"]]
    return answers


def summary(pairs):
    """Figures over (predicted, measured); a prediction that is missing is a miss of every share."""
    answered = [(p, m) for p, m in pairs if p is not None and p > 0]
    errors = [abs(p / m - 1) for p, m in answered]
    ratios = [abs(math.log(p / m)) for p, m in answered]
    count = len(pairs)
    return {"rows": count, "answered": len(answered),
            "within_25": sum(e <= 0.25 for e in errors) / count if count else None,
            "within_2x": sum(r <= math.log(2) for r in ratios) / count if count else None,
            "median_error": statistics.median(errors) if errors else None,
            "geometric_ratio": math.exp(statistics.fmean(math.log(p / m) for p, m in answered)) if answered else None}


def light(row):
    """ncu's verdict: what is above 60% of its peak, else latency."""
    sm, memory = known(row, "sm_throughput"), known(row, "memory_throughput")
    if sm is None or memory is None:
        return None
    if max(sm, memory) < 0.6:
        return "latency"
    return "compute" if sm > memory else "memory"


def score(rows, answers):
    pairs, verdicts, reasons = {}, {}, {}
    for row, answer in zip(rows, answers):
        measured = float(row["seconds"])
        for model in answer["models"]:
            if model["seconds"] is None:
                reasons.setdefault(model["model"], []).append(model["reason"])
            for group in ("all", "under 5 us" if measured < 5e-6 else "5 us and more", row["family"]):
                pairs.setdefault(model["model"], {}).setdefault(group, []).append((model["seconds"], measured))
        key = (light(row), answer["verdict"]["bound"])
        verdicts[key] = verdicts.get(key, 0) + 1
    scores = {model: {group: summary(p) for group, p in groups.items()} for model, groups in pairs.items()}
    for model, said in reasons.items():
        scores[model]["all"]["reason"] = statistics.mode(said)
    return scores, verdicts


def same_verdict(ncu, ours):
    return ncu == ("latency" if ours == "launch" else ours)


def disagreements(rows, answers):
    """Rows whose verdict is another than ncu's, with both shares and what decided."""
    for row, answer in zip(rows, answers):
        ncu, ours = light(row), answer["verdict"]
        if ncu is None or same_verdict(ncu, ours["bound"]):
            continue
        said = ", ".join(f"{e['what']} {e['value']:.2f}" for e in ours["evidence"][1:3])
        print(f"    {row['workload']}:{row['size']} {row['kernel']}: ncu {ncu} (SM {known(row, 'sm_throughput'):.2f}, memory "
              f"{known(row, 'memory_throughput'):.2f}), gpuwatch {ours['bound']} ({ours['resource']}: {said})")


def percent(value):
    return "-" if value is None else f"{100 * value:.0f}%"


def table(scores, verdicts):
    print(f"{'MODEL':<16} {'ROWS':>5} {'ANSWERED':>8} {'IN 25%':>7} {'IN 2x':>6} {'MEDIAN ERROR':>12} {'P/M':>6}  WHY NOT ALL, MOSTLY")
    for model, groups in scores.items():
        s = groups["all"]
        ratio = "-" if s["geometric_ratio"] is None else f"{s['geometric_ratio']:.2f}"
        print(f"{model:<16} {s['rows']:>5} {s['answered']:>8} {percent(s['within_25']):>7} {percent(s['within_2x']):>6} "
              f"{percent(s['median_error']):>12} {ratio:>6}  {s.get('reason', '')}")
    kinds = [group for group in next(iter(scores.values())) if group != "all"]
    kinds.sort(key=lambda group: " us" not in group)  # the two lengths first, families as they come
    for title, figure in (("within 25%", "within_25"), ("within 2x", "within_2x"), ("median error", "median_error")):
        print(f"\n{title + ', by group':<24}" + "".join(f"{model[:14]:>15}" for model in scores))
        for kind in kinds:
            print(f"{kind:<24}" + "".join(f"{percent(groups[kind][figure]):>15}" for groups in scores.values()))
    judged = {pair: count for pair, count in verdicts.items() if pair[0]}
    if judged:
        agreed = sum(count for (ncu, ours), count in judged.items() if same_verdict(ncu, ours))
        total = sum(judged.values())
        print(f"\nverdicts: {percent(agreed / total)} of {total} agree with ncu's Speed-of-Light (launch counts as latency)")
    for (ncu, ours), count in sorted(judged.items(), key=lambda item: -item[1]):
        print(f"    ncu {ncu:<8} gpuwatch {ours:<8} {count}")


def misses(rows, answers, name):
    """Rows that the model misses by more than a factor of two, the worst first."""
    found = []
    for row, answer in zip(rows, answers):
        for model in answer["models"]:
            if model["model"] == name and model["seconds"]:
                found.append((model["seconds"] / float(row["seconds"]), row, model["resource"]))
    print(f"\n{name} is off by more than 2x: predicted over measured, measured, what it took for the bound")
    for ratio, row, resource in sorted(found, key=lambda item: -abs(math.log(item[0]))):
        if abs(math.log(ratio)) > math.log(2):
            print(f"{ratio:>8.3f} {float(row['seconds']) * 1e6:>10.1f} us  {row['workload']}:{row['size']} "
                  f"{row['kernel']}  {resource}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuwatch", default=f"{TOP}/build/bin/gpuwatch")
    parser.add_argument("--device", default="h200")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--code", metavar="DUMP", help="what the code shows of the rows, of static_score.py --dump")
    parser.add_argument("--launches", help="also write the described launches into this file")
    parser.add_argument("--misses", metavar="MODEL", help="also list the rows that this model misses by more than 2x")
    parser.add_argument("table")
    args = parser.parse_args()
    with open(args.table, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["seconds"] and row["inst_executed"]]
    if not rows:
        sys.exit(f"score_models.py: {args.table}: no row has both a time and counters")
    fields = under.work_rows()
    code = read_code(args.code) if args.code else {}
    launches = [launch_of(row, fields, code.get((row["workload"], row["size"], row["launch"], row["n"]))) for row in rows]
    if args.launches:
        with open(args.launches, "w") as file:
            json.dump({"title": "the development set", "launches": launches}, file)
    answers = ask(args, launches)
    scores, verdicts = score(rows, answers)
    if args.json:
        named = [{"ncu": ncu, "gpuwatch": ours, "rows": n} for (ncu, ours), n in verdicts.items()]
        print(json.dumps({"device": args.device, "models": scores, "verdicts": named}, indent=1))
    else:
        table(scores, verdicts)
        disagreements(rows, answers)
        if args.misses:
            misses(rows, answers, args.misses)


if __name__ == "__main__":
    main()
