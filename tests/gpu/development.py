#!/usr/bin/env python3
"""The development set in one process with counters sampled: recorded, scored, its verdicts held against ncu's.

usage: development.py record --library SO --logdump PROGRAM --workloads PROGRAM --out DIR [--seconds S]
       development.py score --cli GPUWATCH --families FILE --out DIR LOG
       development.py verdicts --cli GPUWATCH --table TABLE.csv --out DIR LOG

record needs a GPU: kernels/workloads at its first five sizes, all cases in turn; OUT/log.gwl. score asks `gpuwatch
score` and `replay`: times of the kernel withheld (cold), of the configuration (warm), families apart, and the
predictions as they were logged (steady), and keeps the log, squeezed. verdicts holds those of `gpuwatch report` against ncu's Speed-of-Light in
the table of kernels/workloads/table.py. Each leaves figures.json. Exit status: 0 goals met, 1 one missed, 77 no GPU.
"""
import argparse
import csv
import json
import os
import sys

import compare
import figures
import under

SIZES = range(5)
MEMORY = "80G"
APART = 1.5


def record(args):
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    log = f"{args.out}/log.gwl"
    env = under.environment(args.library, log, under.COUNTED)
    status = under.run([args.workloads, "--interleave", "--seed=1", "--json", f"--memory={MEMORY}", f"--seconds={args.seconds}",
                        *[f"--size={size}" for size in SIZES]], env, args.out, "workloads", args.seconds + 90)
    found, notes = under.totals(args.logdump, log)
    print(f"exit status {status};", "; ".join(notes) or "nothing degraded")
    # A short log as programs without counters leave it, small enough to be kept.
    short = under.run([args.workloads, "--seed=1", "--repeat=20"], under.environment(args.library, f"{args.out}/short.gwl"), args.out,
                      "short", 60)
    found = found or {}
    reported = [figures.figure("exit status", status if isinstance(status, int) else None, most=0, least=0),
            figures.figure("exit status of the short run", short if isinstance(short, int) else None, most=0, least=0),
            figures.figure("launches measured", found.get("measured"), least=found.get("launched", 1) or 1),
            figures.figure("windows of counters", found.get("pm_windows"), least=100),
            figures.figure("configurations with measured counters", found.get("counted"), least=300)]
    reported += [figures.figure(name, found.get(name)) for name in ("launched", "pm_other_profiler", "pm_incomplete", "pm_overflows", "pm_leftovers", "pm_failed")]
    return figures.conclude(args.out, reported)


def scored(cold, warm, steady):
    """Figures of the three answers."""
    one, two = under.group(cold, "cold", "counted"), under.group(warm, "warm", "counted")
    three = under.group(steady, "steady")
    reported = [figures.figure("cold + counted within 25%", one.get("within_25"), least=0.70, n=one.get("count"), enough=100),
            figures.figure("cold + counted, 90% intervals held", one.get("coverage"), n=one.get("count")),
            figures.figure("cold + counted, median error", one.get("median_error"), n=one.get("count")),
            figures.figure("warm + counted MAPE", two.get("mape"), most=0.08, n=two.get("count"), enough=100),
            figures.figure("warm + counted, 90% intervals held", two.get("coverage"), n=two.get("count")),
            figures.figure("steady median error", three.get("median_error"), most=0.02, n=three.get("count"), enough=1000),
            figures.figure("steady, 90% intervals held", three.get("coverage"), least=0.86, most=0.94, n=three.get("count"), enough=1000)]
    for model in sorted({row["model"] for row in cold["groups"]} - {"gpuwatch"}):
        row = under.group(cold, "all", "all", model=model)
        reported.append(figures.figure(f"cold, model {model} alone, within 25%", row.get("within_25"), n=row.get("count")))
    return reported


def score(args):
    log = under.plain(args.log)
    apart = [f"--families={args.families}"]
    answers = {}
    for name, words in (("cold", ["replay", "--hide-times=kernel", *apart]), ("warm", ["replay", "--hide-times=configuration", *apart]),
                        ("steady", ["score"])):
        answers[name] = under.answer(args.cli, [*words, "--json", log])
        with open(f"{args.out}/{name}.json", "w") as out:
            json.dump(answers[name], out)
    with open(f"{args.out}/bits.txt", "w") as out:
        try:
            said = under.command(args.cli, ["replay", "--check", log])
            same = True
        except RuntimeError as error:
            said, same = f"{error}\n", False
        out.write(said)
    print(said.strip())
    under.keep(log, f"{args.out}/log.gwl.xz")
    return figures.conclude(args.out, scored(**answers) + [figures.figure("the log replays with the same bits", int(same), least=1)])


def light(row):
    """ncu's verdict: what is above 60% of its peak, else latency; None where the table has none."""
    if not row["sm_throughput"] or not row["memory_throughput"]:
        return None
    sm, memory = float(row["sm_throughput"]), float(row["memory_throughput"])
    return "latency" if max(sm, memory) < 0.6 else "compute" if sm > memory else "memory"


def same_verdict(ncu, ours):
    return ncu == ("latency" if ours == "launch" else ours)


def pairs(found, ours):
    """Which row of the report stands for which of the table, of one kernel and grid: as many of each, in the order of their times, where
    none is near another's. Rows without a digest of the arguments beside others are from before the code was read."""
    ours = [one for one in ours if one["Arguments"]] or ours
    found, ours = sorted(found, key=lambda row: float(row["seconds"])), sorted(ours, key=lambda one: one["Avg (ns)"])
    times = [float(row["seconds"]) for row in found], [one["Avg (ns)"] for one in ours]
    apart = all(later > APART * before for some in times for before, later in zip(some, some[1:]))
    return list(zip(found, ours)) if apart and len(found) == len(ours) else []


def agreement(rows, kernels):
    """(agreed, judged, lines on the others) of the report's rows that stand for one of the table, at the sizes that are recorded."""
    table, reported = {}, {}
    for row in rows:
        if int(row["size"]) in SIZES:
            table.setdefault((row["kernel"], row["grid"], row["block"], row["dynamic_shared"]), []).append(row)
    for one in kernels:
        at = one["verdict"]["configuration"]
        key = (one["Mangled"], at["GridXYZ"].replace(" ", "x"), at["BlockXYZ"].replace(" ", "x"), str(at["Dynamic Shared (B)"]))
        reported.setdefault(key, []).append(one)
    judged, lines = 0, []
    for row, one in (pair for key, found in table.items() for pair in pairs(found, reported.get(key, []))):
        ncu = light(row)
        if ncu is None or not any(part["source"] == "measured counters" for part in one["verdict"]["work"].values()):
            continue
        judged += 1
        if not same_verdict(ncu, one["verdict"]["bound"]):
            lines.append(f"{row['workload']}:{row['size']} {row['kernel']}: ncu {ncu} (SM {float(row['sm_throughput']):.2f}, memory "
                         f"{float(row['memory_throughput']):.2f}), gpuwatch {one['verdict']['text']}")
    return judged - len(lines), judged, lines


def verdicts(args):
    report = under.answer(args.cli, ["report", "--by=config", "--top=0", "--json", under.plain(args.log)])
    with open(args.table, newline="") as file:
        agreed, judged, lines = agreement(list(csv.DictReader(file)), report["kernels"])
    print("\n".join(lines))
    return figures.conclude(args.out, [figures.figure("verdicts as ncu's Speed-of-Light", agreed / judged if judged else None, least=0.9, n=judged,
                                      enough=100)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    part = parser.add_subparsers(dest="part", required=True)
    for name, needs in (("record", ("library", "logdump", "workloads")), ("score", ("cli", "families")), ("verdicts", ("cli", "table"))):
        one = part.add_parser(name)
        for option in (*needs, "out"):
            one.add_argument(f"--{option}", required=True)
        if name == "record":
            one.add_argument("--seconds", type=float, default=60)
        else:
            one.add_argument("log")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if args.part != "record" and not os.path.exists(under.plain(args.log)):
        print(f"SKIP: there is no {args.log}")
        return 77
    return {"record": record, "score": score, "verdicts": verdicts}[args.part](args)


if __name__ == "__main__":
    sys.exit(main())
