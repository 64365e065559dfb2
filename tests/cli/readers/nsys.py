#!/usr/bin/env python3
"""nsys.py GPUWATCH [--scripts] LOG...: queries as the documentation of Nsight Systems builds them (its chapter "Common SQLite
examples"), and as its reports and rules make them, run on the exported file, and give the sums of gpuwatch report and of
its CSV. --scripts: those reports and rules themselves, by `nsys` in PATH or NSYS; without it the test is skipped. Of
launches' calls the start is known alone."""
import collections
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

gpuwatch, logs = sys.argv[1], [a for a in sys.argv[2:] if a != "--scripts"]

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
# The physical GPU behind a process's CUDA device, the session's span and the host, as newer queries ask for them.
PHYSICAL = """
SELECT count(*), count(DISTINCT gpu.uuid), gpu.chipName FROM CUPTI_ACTIVITY_KIND_KERNEL k
JOIN TARGET_INFO_CUDA_DEVICE dev ON dev.cudaId = k.deviceId AND dev.pid = k.globalPid >> 24 & 0xffffff
JOIN TARGET_INFO_GPU gpu ON gpu.id = dev.gpuId AND gpu.uuid = dev.uuid
"""
SPAN = """
SELECT duration, startTime, stopTime, (SELECT max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL) FROM ANALYSIS_DETAILS
"""
HOSTS = "SELECT DISTINCT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"
# All that ran on a GPU, by start; the names of copies as nsys writes them.
TRACE = """
SELECT start, end - start AS duration, value AS name, NULL AS bytes, gridX, registersPerThread, gpu.name AS device, streamId
    FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON StringIds.id = demangledName
    LEFT JOIN TARGET_INFO_GPU gpu ON gpu.id = deviceId
UNION ALL SELECT start, end - start, '[CUDA memcpy ' || oper.label || ']', bytes, NULL, NULL, gpu.name, streamId
    FROM CUPTI_ACTIVITY_KIND_MEMCPY m JOIN ENUM_CUDA_MEMCPY_OPER oper ON oper.id = copyKind
    LEFT JOIN ENUM_CUDA_MEM_KIND src ON src.id = srcKind LEFT JOIN ENUM_CUDA_MEM_KIND dst ON dst.id = dstKind
    LEFT JOIN TARGET_INFO_GPU gpu ON gpu.id = deviceId
UNION ALL SELECT start, end - start, '[CUDA memset]', bytes, NULL, NULL, gpu.name, streamId
    FROM CUPTI_ACTIVITY_KIND_MEMSET LEFT JOIN TARGET_INFO_GPU gpu ON gpu.id = deviceId
ORDER BY 1
"""
MEMORY = """
SELECT name, count(*), sum(duration), sum(bytes) FROM (%s) WHERE bytes IS NOT NULL GROUP BY name ORDER BY 3 DESC
""" % TRACE
# Times in which nothing ran on a GPU: each start against the latest end before it.
GAPS = """
WITH work AS (
    SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
    UNION ALL SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
    UNION ALL SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET),
before AS (
    SELECT deviceId, start, max(end) OVER (PARTITION BY deviceId ORDER BY start, end
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest FROM work)
SELECT deviceId, count(*), sum(start - latest) FROM before WHERE start > latest GROUP BY deviceId
"""
SYNC = """
SELECT type.label, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s
JOIN ENUM_CUPTI_SYNC_TYPE type ON type.id = s.syncType GROUP BY 1
"""
# Calls, and kernels by the thread that launched them; a launch's call ends where it starts.
CALLS = """
SELECT value, count(*), sum(end - start), count(DISTINCT rowid) FROM CUPTI_ACTIVITY_KIND_RUNTIME
LEFT JOIN StringIds ON id = nameId GROUP BY nameId ORDER BY 3 DESC
"""
EXECUTED = """
SELECT (r.globalTid >> 24) & 0xffffff, r.globalTid & 0xffffff, count(*), sum(k.end - k.start),
    sum(k.start - r.end) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
    ON k.correlationId = r.correlationId AND k.globalPid = (r.globalTid & 0xffffffffff000000)
GROUP BY 1, 2
"""
RANGES = """
SELECT coalesce(text, value), count(*), sum(end - start), globalTid % 0x1000000 FROM NVTX_EVENTS
LEFT JOIN StringIds ON StringIds.id = textId WHERE eventType IN (59, 60) GROUP BY 1, 4 ORDER BY 1
"""
GRID = ", gridX, gridY, gridZ, blockX, blockY, blockZ"


def seen(name):
    """As the report prints it: in ASCII."""
    return re.sub(r"[^ -~]+|\?+", "?", name)


def csv_of(log):
    text = subprocess.check_output([gpuwatch, "export", "--format=csv", "-o", "-", log])
    return list(csv.DictReader(io.StringIO(text.decode("utf-8", "replace"), newline="")))


def launched(log):
    """Launches whose call is known, by process and thread: how many, their ns, and ns from call to start."""
    out = collections.defaultdict(lambda: [0, 0, 0])
    for row in csv_of(log):
        if row["start_ns"] and row["call_ns"]:
            waited = int(row["start_ns"]) - int(row["call_ns"])
            of = out[int(row["pid"]), int(row["thread"])]
            of[:] = of[0] + 1, of[1] + int(row["duration_ns"]), of[2] + waited
    return out


def idle(log):
    """Times without a kernel on a GPU, from the CSV, which has no copies: (how many, ns) by GPU."""
    spans, out = collections.defaultdict(list), {}
    for row in csv_of(log):
        if row["start_ns"]:
            spans[int(row["gpu"])].append((int(row["start_ns"]), int(row["duration_ns"])))
    for gpu, list_ in spans.items():
        latest, count, whole = 0, 0, 0
        for start, duration in sorted(list_):
            if latest and start > latest:
                count, whole = count + 1, whole + start - latest
            latest = max(latest, start + duration)
        out[gpu] = (count, whole)
    return out


def of_a_span(db):
    """With a time span, nsys puts a view of its rows and their rowid in each table's place."""
    tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    for table in tables:
        columns = [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
        if "start" in columns and "end" in columns:
            db.execute("CREATE TEMP VIEW %s AS SELECT rowid, * FROM main.%s WHERE start >= 0" % (table, table))
            rows, different = db.execute("SELECT count(rowid), count(DISTINCT rowid) FROM temp." + table).fetchone()
            assert rows == different, table
            db.execute("DROP VIEW temp." + table)


def table_of(nsys, command, flag, name, path):
    out = subprocess.check_output([nsys, command, "-q", flag, name, "--format", "csv", "--output", "-", path], text=True)
    return list(csv.DictReader(line for line in out.splitlines() if line))


def of_scripts(nsys, log, folder):
    """No report or rule fails, and those of kernels, calls and ranges have the report's sums."""
    path = os.path.join(folder, "out.sqlite")
    subprocess.run([gpuwatch, "export", "--format=sqlite", "-o", path, log], check=True)
    report, ranges = (json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", *more, log]))
                      for more in ([], ["--by=range"]))
    there = []
    for command, flag, listed in (("stats", "--report", "--help-reports"), ("analyze", "--rule", "--help-rules")):
        text = subprocess.run([nsys, command, listed], stdout=subprocess.PIPE, text=True).stdout  # exit status 1 with some
        names = re.findall(r"^ +([a-z0-9_-]+)\S* --", text, re.M)
        assert names, text
        there += names
        done = subprocess.run([nsys, command, flag, ",".join(names), "--format", "csv", "--output", "-", path],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert not done.returncode and "ERROR" not in done.stdout, done.stdout
    named = [[new, old][old in there] for new, old in (("cuda_gpu_kern_sum", "gpukernsum"), ("cuda_kern_exec_trace", "kernexectrace"),
                                                       ("nvtx_kern_sum", "nvtxkernsum"))]
    kernels, executed, of_ranges = (table_of(nsys, "stats", "--report", name, path) for name in named)
    seen_sums, wanted = collections.Counter(), collections.Counter()
    for row in kernels:
        seen_sums[seen(row["Name"]), "ns"] += int(row["Total Time (ns)"])
        seen_sums[seen(row["Name"]), "runs"] += int(row["Instances"])
    for row in report["kernels"]:
        wanted[seen(row["Name"]), "ns"] += row["Total Time (ns)"] or 0
        wanted[seen(row["Name"]), "runs"] += row["Measured"]
    assert +seen_sums == +wanted
    assert len(executed) == sum(of[0] for of in launched(log).values())
    inside = collections.Counter()
    for row in of_ranges:
        inside["[no range]" if row["NVTX Range"] in ("", "None") else row["NVTX Range"]] += int(row["Kern Inst"])
    for row in ranges["kernels"]:  # of the innermost range; nsys has all that are around it
        assert inside[row["Name"]] >= row["Measured"], (row["Name"], inside)
        assert inside[row["Name"]] == row["Measured"] or row["Name"] != "[no range]", inside
    os.remove(path)
    print(os.path.basename(log), len(there), "reports and rules,", dict(inside), "launches by range")


def check(log, folder):
    path = os.path.join(folder, "out.sqlite")
    subprocess.run([gpuwatch, "export", "--format=sqlite", "-o", path, log], check=True)
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    db = sqlite3.connect(path)
    whole = sum(row["Total Time (ns)"] or 0 for row in report["kernels"])
    db.executescript(NAMES)

    by_name = collections.Counter()
    for name, duration, short in db.execute(
            "SELECT value, end - start, name FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName"):
        by_name[seen(name)] += duration
        assert short in name and not set("<>()") & set(short), (name, short)
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

    shapes = db.execute(KERNELS.format(name="demangledName", more=GRID)).fetchall()
    assert sum(row[1] for row in shapes) == whole and sum(row[2] for row in shapes) == report["measured"]
    assert len(shapes) >= len(rows) - sum(not row["Measured"] for row in report["kernels"])

    busy = db.execute(BUSY).fetchall()
    assert [row[0] for row in busy] == [device["name"] for device in report["devices"]][:len(busy)]
    assert sum(row[3] for row in busy) == report["measured"] and sum(row[4] for row in busy) == whole

    assert db.execute(PHYSICAL).fetchall() == [(report["measured"], len(busy), None)]
    (duration, first, last, end), = db.execute(SPAN)
    assert first == 0 and duration == last >= end
    assert {host for host, in db.execute(HOSTS)} == {process["host"] for process in report["processes"]} - {"", None}

    trace = db.execute(TRACE).fetchall()
    copies = [row for row in trace if row[3] is not None]
    assert sum(row[1] for row in trace if row[3] is None) == whole and len(trace) - len(copies) == report["measured"]
    assert all(row[6] is not None for row in trace)
    if not copies:
        assert {gpu: rest for gpu, *rest in db.execute(GAPS)} == {gpu: list(rest) for gpu, rest in idle(log).items() if rest[0]}
    executed = launched(log)
    assert {(pid, tid): rest for pid, tid, *rest in db.execute(EXECUTED)} == executed
    calls = db.execute(CALLS).fetchall()
    assert sum(row[1] for row in calls if "unknown" in row[0]) == sum(of[0] for of in executed.values())
    assert all(row[1] == row[3] for row in calls), calls
    of_a_span(db)
    for query in (MEMORY, SYNC, CALLS, RANGES):
        for row in db.execute(query):
            print(*row)
    assert db.execute("SELECT nameId, priority, globalTid FROM ThreadNames").fetchall() == []
    db.close()
    os.remove(path)
    print(os.path.basename(log), len(shapes), "kernels and shapes,", report["measured"], "launches,", whole, "ns")


if "sqlite" not in subprocess.check_output([gpuwatch, "export", "--help"]).decode():
    print("skipped: the command is built without libsqlite3")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    if "--scripts" in sys.argv:
        found = shutil.which(os.environ.get("NSYS", "nsys"))
        if not found:
            print("skipped: nsys is not installed")
            sys.exit(77)
        for one in logs:
            of_scripts(found, one, temporary)
        sys.exit()
    for one in logs:
        check(one, temporary)
