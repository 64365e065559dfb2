#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far counts made inside a program are from the truth, for kernels of the development set.

usage: pm_score.py [--logdump PROGRAM] [--again PROGRAM] [--added N] [--evict BYTES] [--goals] [--list] TRUTH LOG...

TRUTH: TABLE.csv of kernels/workloads/table.py, what ncu counted of each kernel and size; or ncu's own CSV of the same
program with the metrics that --metrics prints, counted in place by application replay (attribution.py does so); or, under
another name, text that logdump --work printed of launches that were counted one by one. LOG: written while
gpuwatch-workloads ran under GPUWATCH_COUNTERS=pm (text that logdump --work printed does as well). A configuration is
scored when its kernel, grid, block and dynamic shared memory stand for one row of the
table alone. Bytes of device memory depend on what the caches hold as a kernel starts: where other kernels ran between
its launches, only counts that were made so are the truth; against a table, --evict leaves out kernels that move fewer
bytes. --added: instructions a warp executed beyond its own, because it was watched. --again: LOG is
LOG=RECORDING, and what counts is what gpu_pm_again makes of the recording.

Prints the errors by length of kernel and counter, worst first with --list. With --goals the exit status is 1 where
the median error of device memory, L2 or instructions exceeds 2% over 150 us, 5% over 50 us, 10% over 5 us.
"""
import argparse
import csv
import os
import statistics
import subprocess
import sys

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../../kernels/workloads")
import table  # noqa: E402

CLASSES = [(150e3, float("inf"), 0.02), (50e3, 150e3, 0.05), (5e3, 50e3, 0.10)]  # ns from, to, goal
HELD = ["dram", "l2", "inst_executed"]
# What is compared: rows of work.def as the log has them, added up, and columns of the table with their factors.
COUNTERS = {
    "dram": (["dram_read_bytes", "dram_write_bytes"], {"dram_read_bytes": 1, "dram_write_bytes": 1}),
    "l2": (["l2_total_bytes"], {"l2_read_bytes": 1, "l2_write_bytes": 1, "l2_atomic_sectors": 32}),
    **{name: ([name], {name: 1}) for name in (
        "dram_read_bytes", "dram_write_bytes", "l2_read_bytes", "l2_write_bytes", "inst_executed", "inst_issued",
        "l1_bytes", "lsu_wavefronts", "shared_wavefronts", "pipe_fma", "pipe_alu", "pipe_lsu", "pipe_xu",
        "pipe_uniform", "pipe_fp64", "thread_inst", "fp32_inst", "int_inst", "global_load_sectors", "global_store_sectors")},
}
WARPS = {"inst_executed", "inst_issued"}  # counters that what is added to each warp shows in
SHAPE = (*(f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"), "launch__shared_mem_per_block_dynamic")
COUNTED = 4
WORST = 0.25  # relative error from which preload/counters/counter_attribution.c keeps a count back


def configuration(row):
    return row["kernel"], row["grid"], row["block"], row["dynamic_shared"]


def read_table(path):
    """{configuration: row}, of those that a single row stands for."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        found.setdefault(configuration(row), []).append(row)
    return {key: rows[0] for key, rows in found.items() if len(rows) == 1}


def lines_of(logdump, path):
    with open(path, "rb") as file:
        if file.read(3) != b"GWB":  # printed by logdump already
            file.seek(0)
            return file.read().decode().splitlines()
    reported = subprocess.run([logdump, "--work", path], capture_output=True, text=True)
    if reported.returncode:
        sys.exit(f"pm_score.py: {reported.stderr.strip()}")
    return reported.stdout.splitlines()


def read_log(logdump, path):
    """{configuration: (mean duration in ns, {row of work.def: (value, confidence)})}, counted ones only."""
    found = {}
    for line in lines_of(logdump, path):
        if not line.startswith("W\t"):
            continue
        _, _, _, ns, grid, block, shared, field, source, confidence, value, kernel = line.split("\t", 11)
        _, values = found.setdefault((kernel, grid, block, shared), (float(ns), {}))
        if int(source) == COUNTED:
            values[field] = float(value), float(confidence)
    return found


def read_again(again, logdump, pair):
    """The same of a recording, of what the attribution of today is sure enough."""
    log, recording = pair.split("=")
    names = {}
    for line in lines_of(logdump, log):
        if line.startswith("W\t"):
            _, number, _, ns, grid, block, shared, *_, kernel = line.split("\t", 11)
            names[number] = (kernel, grid, block, shared), float(ns)
    reported = subprocess.run([again, recording], capture_output=True, text=True)
    if reported.returncode:
        sys.exit(f"pm_score.py: {reported.stderr.strip()}")
    found = {}
    for line in reported.stdout.splitlines():
        kind, number, *rest = line.split("\t")
        if kind == "A" and number in names and float(rest[2]) <= WORST:
            key, ns = names[number]
            found.setdefault(key, (ns, {}))[1][rest[0]] = float(rest[1]), 1 / (1 + 10 * float(rest[2]))
    return found


def read_recorded(logdump, path):
    """The same as a table, of a log whose launches were counted one by one. Atomics in L2 are not among its rows."""
    return {key: {"l2_atomic_sectors": 0, "workload": "", "size": "", "kernel": key[0], **{name: value for name, (value, _) in values.items()}}
            for key, (_, values) in read_log(logdump, path).items()}


def counters_in_place():
    """Rows of counters.tsv, by name, that what is HELD needs."""
    needed = {column for counter in HELD for column in COUNTERS[counter][1]}
    return {what: (metrics, factor) for what, metrics, factor in table.counters() if what in needed}


def metrics_in_place():
    """What ncu has to count, and to say of each launch."""
    return sorted({metric for metrics, _ in counters_in_place().values() for metric in metrics}) + list(SHAPE)


def read_in_place(path):
    """{configuration: row} of ncu's CSV, as read_table gives it: the median over the launches of a configuration."""
    launches = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(line for line in file if line.startswith('"')):
            _, values = launches.setdefault(row["ID"], (row["Kernel Name"], {}))
            values[row["Metric Name"]] = table.number(row["Metric Value"])
    counted = {}
    for kernel, values in launches.values():
        if any(values.get(name) is None for name in SHAPE):
            continue
        shape = [f"{values[name]:.0f}" for name in SHAPE]
        key = kernel, "x".join(shape[:3]), "x".join(shape[3:6]), shape[6]
        for what, (metrics, factor) in counters_in_place().items():
            value = table.total(values, metrics, factor)
            if value is not None:
                counted.setdefault(key, {}).setdefault(what, []).append(value)
    return {key: {"workload": "", "size": "", "kernel": key[0], **{what: statistics.median(values) for what, values in found.items()}}
            for key, found in counted.items()}


def is_ncu_s(path):
    """Whether a table is ncu's own, which begins with lines of its own or with quoted names."""
    with open(path) as file:
        return file.read(1) in "=\""


def truth_of(row, counter, added):
    columns = COUNTERS[counter][1]
    if any(row.get(column, "") == "" for column in columns):
        return None
    extra = added * float(row["warps"]) if counter in WARPS and row.get("warps") else 0
    return sum(float(row[column]) * factor for column, factor in columns.items()) + extra


def compare(truths, log, added, evict):
    """[(counter, ns, error, row, counted, truth)]; counters of which a kernel does next to nothing are left out."""
    result = []
    for key, (ns, values) in log.items():
        row = truths.get(key)
        if not row:
            continue
        for counter, (fields, _) in COUNTERS.items():
            if any(field not in values for field in fields):
                continue
            truth = truth_of(row, counter, added)
            # A hundredth of what the GPU could do in that time is next to nothing: a byte a ns, an instruction a ns.
            if truth is None or truth < 10 * ns:
                continue
            if counter.startswith("dram") and truth < evict:
                continue
            counted = sum(values[field][0] for field in fields)
            result.append((counter, ns, counted / truth - 1, row, counted, truth))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdump", default="build/bin/gpu_logdump")
    parser.add_argument("--again")
    parser.add_argument("--added", type=float, default=0)
    parser.add_argument("--evict", type=float, default=0)
    parser.add_argument("--goals", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--metrics", action="version", version=",".join(metrics_in_place()))
    parser.add_argument("truth")
    parser.add_argument("logs", nargs="+")
    args = parser.parse_args()
    if not args.truth.endswith(".csv"):
        truth = read_recorded(args.logdump, args.truth)
    else:
        truth = read_in_place(args.truth) if is_ncu_s(args.truth) else read_table(args.truth)
    found, missed = [], False
    for log in args.logs:
        counted = read_again(args.again, args.logdump, log) if args.again else read_log(args.logdump, log)
        found += compare(truth, counted, args.added, args.evict)
    if not found:
        sys.exit("pm_score.py: of nothing that was counted the truth is known")
    for low, high, goal in CLASSES:
        print(f"kernels of {low / 1e3:g} us and more" + (f", below {high / 1e3:g} us" if high < 1e9 else ""))
        for counter in COUNTERS:
            rows = [one for one in found if one[0] == counter and low <= one[1] < high]
            errors = sorted(abs(one[2]) for one in rows)
            if not errors:
                continue
            median, p90 = statistics.median(errors), errors[int(0.9 * (len(errors) - 1))]
            miss = counter in HELD and median > goal
            missed |= miss
            print(f"  {counter:<20} {len(errors):>4} kernels  median error {100 * median:6.2f}%  90% within {100 * p90:7.2f}%"
                  + (f"  MISSES {100 * goal:g}%" if miss else ""))
    if args.list:
        for counter, ns, error, row, counted, truth in sorted(found, key=lambda one: -abs(one[2])):
            print(f"{100 * error:+9.2f}%  {counter:<18} {ns / 1e3:9.1f} us  counted {counted:.6g} truth {truth:.6g}  "
                  + ":".join(filter(None, (row["workload"], row["size"], row["kernel"]))))
    sys.exit(args.goals and missed)


if __name__ == "__main__":
    main()
