#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often each machine instruction of each profiled launch ran, out of a report of Nsight Compute.

usage: source.py REPORT.ncu-rep

Prints a CSV: launch (from 0, in order), kernel, at (bytes from the kernel's first instruction), inst_executed
(by warps), thread_inst_executed (by threads, predicated off or not), operation. REPORT was made with
`--metrics inst_executed,thread_inst_executed`. Needs ncu_report, the module that comes with Nsight Compute:
looked for on PYTHONPATH, then beside `ncu`.
Exit status: 0 done, 1 the report holds no such counts, 2 wrong use.
"""
import csv
import glob
import os
import shutil
import sys


def reader():
    """The module; beside the program `ncu` if it is not on the path."""
    program = shutil.which("ncu")
    here = os.path.dirname(os.path.realpath(program)) if program else "/nonexistent"
    for folder in ("", *glob.glob(f"{here}/extras/python"), *glob.glob(f"{here}/../extras/python"),
                   *glob.glob(f"{here}/../../extras/python"), *glob.glob("/opt/nvidia/nsight-compute/*/extras/python")):
        if folder:
            sys.path.append(folder)
        try:
            import ncu_report
            return ncu_report
        except ImportError:
            continue
    sys.exit("source.py: the module ncu_report was not found; put Nsight Compute's extras/python on PYTHONPATH")


def instances(action, name):
    """{address: value}"""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    places = metric.correlation_ids()
    return {places.as_uint64(i): metric.as_uint64(i) for i in range(metric.num_instances())}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n")[2])
    out, launch = csv.writer(sys.stdout, lineterminator="\n"), 0
    out.writerow(["launch", "kernel", "at", "inst_executed", "thread_inst_executed", "operation"])
    for part in reader().load_report(sys.argv[1]):
        for action in part:
            warps, threads = instances(action, "inst_executed"), instances(action, "thread_inst_executed")
            for place in sorted(warps):
                out.writerow([launch, action.name(), place - min(warps), warps[place], threads.get(place, ""),
                              " ".join((action.sass_by_pc(place) or "").split())])
            launch += bool(warps)
    return 0 if launch else 1


if __name__ == "__main__":
    sys.exit(main())
