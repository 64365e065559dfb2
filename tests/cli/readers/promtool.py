#!/usr/bin/env python3
"""promtool.py GPUWATCH LOG...: Prometheus's own parser of OpenMetrics takes the export, once its samples have a time, as
samples in a database have, and the database has the sums of gpuwatch report. Exit status 77 without promtool."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

gpuwatch, logs = sys.argv[1], sys.argv[2:]
TIME = 1700000000


def check(log, folder):
    text = subprocess.check_output([gpuwatch, "export", "--format=openmetrics", "-o", "-", log])
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    timed, base = os.path.join(folder, "timed"), os.path.join(folder, "base")
    with open(timed, "wb") as file:
        file.write(re.sub(rb"(?m)^([^#].*)$", rb"\1 %d" % TIME, text))
    shutil.rmtree(base, ignore_errors=True)
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", timed, base], check=True, stdout=subprocess.DEVNULL)
    os.mkdir(os.path.join(base, "wal"))  # the dump wants one
    sums, series = collections.Counter(), 0
    dump = subprocess.check_output(["promtool", "tsdb", "dump", base]).decode()
    for name, value in re.findall(r'(?m)__name__="([a-z_]+)".*\} ([-+0-9.e]+) %d000$' % TIME, dump):
        sums[name] += float(value)
        series += 1
    assert series == sum(not line.startswith(b"#") for line in text.splitlines()), series
    assert sums["gpuwatch_launches_total"] == report["launches"], sums
    assert sums["gpuwatch_measured_launches_total"] == report["measured"], sums
    whole = sum(row["Total Time (ns)"] or 0 for row in report["kernels"])
    assert abs(sums["gpuwatch_measured_seconds_total"] * 1e9 - whole) <= 1e-9 * whole + 1, sums
    print(os.path.basename(log), series, "series,", report["launches"], "launches")


if not shutil.which("promtool"):
    print("skipped: no promtool (Debian's package prometheus)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    for one in logs:
        check(one, temporary)
