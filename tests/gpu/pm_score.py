"""How far counts made inside a program are from the truth, for kernels of the development set.

Bytes of device memory depend on what the caches hold as a kernel starts: where other kernels ran between its launches,
only counts that were made so are the truth. So it is what ncu counts of the same program in place, by application
replay (attribution.py), or a log of launches that were counted one by one.
"""
import csv
import os
import statistics
import subprocess
import sys

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../../kernels/workloads")
import table  # noqa: E402

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
SHAPE = (*(f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"), "launch__shared_mem_per_block_dynamic")
COUNTED = 4
WORST = 0.25  # relative error from which predictor/counters/attribute.h has a count kept back


def configuration(row):
    return row["kernel"], row["grid"], row["block"], row["dynamic_shared"]


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
    """{configuration: row} of a log whose launches were counted one by one. Atomics in L2 are not among its rows."""
    return {key: {"l2_atomic_sectors": 0, **{name: value for name, (value, _) in values.items()}}
            for key, (_, values) in read_log(logdump, path).items()}


def counters_in_place():
    """Rows of counters.tsv, by name, that what is HELD needs."""
    needed = {column for counter in HELD for column in COUNTERS[counter][1]}
    return {what: (metrics, factor) for what, metrics, factor in table.counters() if what in needed}


def metrics_in_place():
    """What ncu has to count, and to say of each launch."""
    return sorted({metric for metrics, _ in counters_in_place().values() for metric in metrics}) + list(SHAPE)


def read_in_place(path):
    """{configuration: row} of ncu's CSV: the median over the launches of a configuration."""
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
    return {key: {what: statistics.median(values) for what, values in found.items()}
            for key, found in counted.items()}


def truth_of(row, counter):
    columns = COUNTERS[counter][1]
    if any(row.get(column, "") == "" for column in columns):
        return None
    return sum(float(row[column]) * factor for column, factor in columns.items())


def compare(truths, log):
    """[(counter, ns, error)]; counters of which a kernel does next to nothing are left out."""
    result = []
    for key, (ns, values) in log.items():
        row = truths.get(key)
        if not row:
            continue
        for counter, (fields, _) in COUNTERS.items():
            if any(field not in values for field in fields):
                continue
            truth = truth_of(row, counter)
            # A hundredth of what the GPU could do in that time is next to nothing: a byte a ns, an instruction a ns.
            if truth is None or truth < 10 * ns:
                continue
            result.append((counter, ns, sum(values[field][0] for field in fields) / truth - 1))
    return result
