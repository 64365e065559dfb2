#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nsys.py GPUWATCH LOG...: queries as the documentation of Nsight Systems builds them (its chapter "Common SQLite
examples", and what its reports cuda_gpu_kern_sum and cuda_gpu_kern_gb_sum show) run on the exported file, and give the
sums of gpuwatch report. Queries of the CUDA API find no table: a log has no calls."""
import collections
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

gpuwatch, logs = sys.argv[1], sys.argv[2:]

# A helper of the documentation: names of kernels instead of their numbers.
NAMES = """
ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN name TEXT;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET name =
    (SELECT value FROM StringIds WHERE CUPTI_ACTIVITY_KIND_KERNEL.shortName = StringIds.id);
"""
# Processes from serialized identifiers: 24 bits from bit 24 on.
PROCESSES = """
SELECT DISTINCT globalPid / 0x1000000 % 0x1000000 AS pid FROM CUPTI_ACTIVITY_KIND_KERNEL
"""
KERNELS = """
WITH summary AS (
    SELECT coalesce({name}, demangledName) AS nameId, sum(end - start) AS total, count(*) AS num,
        min(end - start) AS low, max(end - start) AS high {more}
    FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 {more})
SELECT total * 100.0 / (SELECT sum(total) FROM summary), total, num, total / num, low, high {more}, value
FROM summary LEFT JOIN StringIds ON StringIds.id = summary.nameId ORDER BY 2 DESC
"""
BUSY = """
SELECT gpu.name, min(k.start), max(k.end), count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
JOIN TARGET_INFO_GPU gpu ON gpu.id = k.deviceId GROUP BY k.deviceId
"""
GRID = ", gridX, gridY, gridZ, blockX, blockY, blockZ"


def seen(name):
    """As the report prints it: in ASCII."""
    return re.sub(r"[^ -~]+|\?+", "?", name)


def check(log, folder):
    path = os.path.join(folder, "out.sqlite")
    subprocess.run([gpuwatch, "export", "--format=sqlite", "-o", path, log], check=True)
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    db = sqlite3.connect(path)
    whole = sum(row["Total Time (ns)"] or 0 for row in report["kernels"])
    db.executescript(NAMES)

    by_name = collections.Counter()
    for row in db.execute("SELECT name, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL"):
        by_name[seen(row[0])] += row[1]
    wanted = collections.Counter()
    for row in report["kernels"]:
        wanted[seen(row["Name"])] += row["Total Time (ns)"] or 0
    assert +by_name == +wanted

    assert {pid for pid, in db.execute(PROCESSES)} == {process["pid"] for process in report["processes"]}

    rows = {row["Mangled"]: row for row in report["kernels"]}
    for share, total, count, _, low, high, name in db.execute(KERNELS.format(name="mangledName", more="")):
        row = rows[name]
        assert (total, count, low, high) == (row["Total Time (ns)"], row["Measured"], row["Min (ns)"], row["Max (ns)"]), name
        assert abs(share - row["Time (%)"]) < 1e-6 * 100, (name, share, row["Time (%)"])

    shapes = db.execute(KERNELS.format(name="shortName", more=GRID)).fetchall()
    assert sum(row[1] for row in shapes) == whole and sum(row[2] for row in shapes) == report["measured"]
    assert len(shapes) >= len(rows) - sum(not row["Measured"] for row in report["kernels"])

    busy = db.execute(BUSY).fetchall()
    assert [row[0] for row in busy] == [device["name"] for device in report["devices"]][:len(busy)]
    assert sum(row[3] for row in busy) == report["measured"] and sum(row[4] for row in busy) == whole
    db.close()
    os.remove(path)
    print(os.path.basename(log), len(shapes), "kernels and shapes,", report["measured"], "launches,", whole, "ns")


if "sqlite" not in subprocess.check_output([gpuwatch, "export", "--help"]).decode():
    print("skipped: the command is built without libsqlite3")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    for one in logs:
        check(one, temporary)
