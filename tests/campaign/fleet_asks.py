#!/usr/bin/env python3
"""gpuwatch fleet as a command: fleet_asks.py GPUWATCH FLEET_STORE LOGS CASE

LOGS: the recorded logs. FLEET_STORE makes a store of simulated GPUs. Exit 77: the engine is not here.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

GPUWATCH, FLEET_STORE, LOGS, CASE = sys.argv[1:5]
ROOT = tempfile.mkdtemp(prefix="gw-fleet-")
FOLDER = os.path.join(ROOT, "host=h/uuid=u")  # engines may read such names, which are not the store's
os.makedirs(FOLDER)
STORE = os.path.join(FOLDER, "store")


def finish(status):
    shutil.rmtree(ROOT, ignore_errors=True)
    sys.exit(status)


def need(*packages):
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            print(f"skipped: Python's package {package} is not here (PyPI)")
            finish(77)
    if "pyspark" in packages and not shutil.which("java"):
        print("skipped: Java is not here (Debian: default-jre-headless)")
        finish(77)


def command(*arguments, **environment):
    return subprocess.run([GPUWATCH, "fleet", "--python=" + sys.executable, *arguments], capture_output=True, text=True,
                          env={**os.environ, "TMPDIR": FOLDER, **environment})


def ask(*arguments):
    done = command("--json", *arguments)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "gpuwatch-fleet-1"
    return document


def rows(document, name):
    answer = next(q for q in document["questions"] if q["name"] == name)
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]


def simulate(gpus, hours, into=STORE):
    os.makedirs(into)
    file = os.path.join(FOLDER, "train.csv")
    subprocess.run([GPUWATCH, "export", "--format=csv", "-o", file, os.path.join(LOGS, "train.gwl")], check=True)
    done = subprocess.run([FLEET_STORE, "3", str(gpus), str(hours), into, file], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def write(path, select):
    import duckdb
    os.makedirs(os.path.dirname(path), exist_ok=True)
    duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")


def work(path, more=""):
    """A row of the table of hours, by another writer."""
    write(path, f"""SELECT 1795651200 AS time_s, 3600 AS seconds, 'h' AS host, 'GPU-' || g AS uuid, 'H200' AS model,
                'p' AS program, '1' AS build, 'k' AS kernel, 7 AS shape, 'memory' AS bound, 1000 AS launches, 10.0::DOUBLE AS gpu_s,
                100 AS timed, 1.0::DOUBLE AS timed_s, 1.0::DOUBLE AS compared_s, 0.9::DOUBLE AS expected_s {more}
                FROM range(4) t(g)""")


# ---- cases ----

def what_was_put_into_a_store_is_found():
    need("duckdb")
    truth = simulate(800, 3)
    found = ask("--top=1000", STORE)
    assert abs(sum(r["gpu_hours"] for r in rows(found, "idle_hours") if r["cause"] == "kernels ran") - truth["gpu_hours"]) < 1e-3
    for cause in ("starved", "synchronization"):
        assert abs(sum(r["gpu_hours"] for r in rows(found, "idle_hours") if r["cause"] == cause) - truth[cause + "_hours"]) < 1e-3
    lost = [r for r in rows(found, "lost_hours") if r["loss"] == "slow launches"]
    assert abs(sum(r["gpu_hours"] for r in lost) - truth["lost_hours"]) < 1e-3
    slower = {r["program"] for r in rows(found, "regressions") if r["verdict"] == "slower"}
    assert slower and slower <= set(truth["regressed"]), (slower, truth["regressed"])


def launches_of_logs_are_read_by_the_names_of_their_folders():
    need("duckdb")
    import duckdb
    duckdb.connect().execute(f"""
        COPY (SELECT 'H200' AS model, 'h' || g % 2 AS host, 'GPU-' || g AS uuid, '' || b AS build, k AS kernel, k AS mangled,
            make_timestamp_ns(1795651200000000000 + b * 3600000000000) AS start_ns,
            1 + n % 2 AS grid_x, 1 AS grid_y, 1 AS grid_z, 128 AS block_x, 1 AS block_y, 1 AS block_z, 0 AS dynamic_shared,
            CASE k WHEN 'copy' THEN 'memory' WHEN 'mul' THEN 'compute' END AS bound, 1000.0::DOUBLE * (1 + n % 2) AS predicted_ns,
            (1000 * (1 + n % 2) * (1 + (hash(n, g, k, b) % 100) / 10000.0) * CASE WHEN g = 3 AND k = 'copy' THEN 1.05 ELSE 1 END
             * CASE WHEN b = 2 AND k = 'mul' THEN 1.02 ELSE 1 END)::BIGINT AS duration_ns
            FROM range(5) t(g), range(1, 3) u(b), range(2000) v(n), (VALUES ('copy'), ('mul'), ('odd')) w(k))
        TO '{STORE}' (FORMAT parquet, PARTITION_BY (model, host, uuid, build), OVERWRITE_OR_IGNORE)""")
    found = ask("--top=1000", STORE)
    assert found["files"]["launches"] == 10, found["files"]
    kernels = rows(found, "costly_kernels")
    assert {r["kernel"] for r in kernels} == {"copy", "mul", "odd"} and kernels[0]["gpus"] == 5
    changed = [r for r in rows(found, "regressions") if r["verdict"] == "slower"]
    assert {r["kernel"] for r in changed} >= {"mul"} and all(r["kernel"] in ("mul", "all kernels") for r in changed), changed
    assert all(r["p"] < 0.001 and 1.018 < r["ratio"] < 1.022 for r in changed if r["kernel"] == "mul")


def files_that_cannot_be_read_are_named_and_the_rest_answered():
    need("duckdb")
    simulate(16, 2)
    good = rows(ask(STORE), "costly_kernels")
    day = os.path.join(STORE, "hours/host=bad/day=2026-11-26")
    whole = os.path.join(STORE, "hours/host=node00000/day=2026-11-26/work-000000.parquet")
    os.makedirs(day)
    with open(whole, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[-8:-4], "little")
    damaged = bytearray(data)
    damaged[100:len(data) - 8 - size - 100] = bytes(len(data) - 8 - size - 200)
    for name, content in (("work-cut.parquet", data[:1000]), ("work-empty.parquet", b""), ("work-text.parquet", b"hello" * 100),
                          ("work-half.parquet.tmp", data[:500]), ("work-damaged.parquet", bytes(damaged)),
                          ("work-footer.parquet", data[:-8] + b"\xff\xff\xff\x7fPAR1")):
        with open(os.path.join(day, name), "wb") as file:
            file.write(content)
    write(os.path.join(day, "foreign.parquet"), "SELECT 1 AS a, 'x' AS b")
    work(os.path.join(day, "work-types.parquet"), ", 'many' AS sm_hertz")
    os.mkfifo(os.path.join(day, "work-pipe.parquet"))
    os.symlink("..", os.path.join(day, "loop"))
    found = ask(STORE)
    assert rows(found, "costly_kernels") == good
    refused = {os.path.basename(r["file"]): r["why"] for r in found["refused"]}
    assert set(refused) == {"work-cut.parquet", "work-empty.parquet", "work-text.parquet", "work-half.parquet.tmp",
                            "work-damaged.parquet", "work-footer.parquet", "foreign.parquet", "work-types.parquet",
                            "work-pipe.parquet"}, refused
    assert "another type" in refused["work-types.parquet"] and all(refused.values())


def names_stay_text():
    need("duckdb")
    hostile = "<script>alert(1)</script>'; DROP TABLE hourly; --\x1b[31m\""
    store = os.path.join(FOLDER, "it's [a] {store} *")
    write(FOLDER + "/one.parquet", "SELECT 1")
    import duckdb
    work(os.path.join(FOLDER, "w.parquet"))
    path = os.path.join(store, "hours/host='<b>/day=2026-11-26/work-000000.parquet")
    os.makedirs(os.path.dirname(path))
    plain = os.path.join(FOLDER, "hostile.parquet")
    duckdb.connect().execute(f"COPY (SELECT * REPLACE (? AS kernel, ? AS program) FROM '{FOLDER}/w.parquet') TO '{plain}' (FORMAT parquet)",
                             [hostile, hostile])
    shutil.move(plain, path)
    page = os.path.join(FOLDER, "page.html")
    found = ask("--html=" + page, store)
    assert rows(found, "costly_kernels")[0]["kernel"] == hostile.replace("\x1b", "?")
    with open(page) as file:
        text = file.read()
    assert "<script>alert" not in text and "u003cscript" in text and len(text) < 2000000
    done = command(store)
    assert done.returncode == 0 and "\x1b" not in done.stdout


def samples_of_older_agents_are_read():
    need("duckdb")
    day = os.path.join(STORE, "host=old/day=2026-11-26")
    labels = "NULL AS program, NULL AS pod_uid, '0' AS gpu, '0000:01:00.0' AS pci_bus_id, 'H200' AS model"
    write(os.path.join(day, "100000-000000000.parquet"), f"""
        SELECT 'GPU-1' AS uuid, {labels}, k AS kernel, m AS metric, NULL AS "by", NULL AS which,
               make_timestamp_ns(1795651200000000000 + n * 60000000000) AS time, (1.0 + n * f)::DOUBLE AS value,
               CASE m WHEN 'gpuwatch_kernel_seconds' THEN 100 * n END AS launches
        FROM range(61) t(n), (VALUES ('k', 'gpuwatch_launches_total', 100.0), ('k', 'gpuwatch_gpu_seconds_total', 2.0),
             ('k', 'gpuwatch_kernel_seconds', 2.0), ('k', 'gpuwatch_kernel_compared_seconds_total', 2.0),
             ('k', 'gpuwatch_kernel_expected_seconds_total', 1.6), (NULL, 'gpuwatch_idle_seconds_total', 6.0)) v(k, m, f)""")
    found = ask(STORE)
    assert found["files"]["samples"] == 1, found
    kernel = rows(found, "costly_kernels")[0]
    assert kernel["launches"] == 6000 and kernel["over_predicted"] == 1.25, kernel
    idle = {r["cause"]: r["gpu_hours"] for r in rows(found, "idle_hours")}
    assert abs(idle["between kernels, cause unknown"] - 0.1) < 1e-6 and abs(idle["kernels ran"] - 120 / 3600) < 1e-4, idle
    assert rows(found, "slow_gpus") == []


def a_time_is_a_part_of_the_store():
    need("duckdb")
    simulate(8, 6)
    hours = lambda *span: next(r["gpu_hours"] for r in rows(ask(*span, "idle_hours", STORE), "idle_hours") if r["cause"] == "kernels ran")
    parts = [hours("--until=2026-11-26T02:00:00Z"), hours("--since=2026-11-26T02:00:00Z", "--until=2026-11-26T04:00:00Z"),
             hours("--last=2h")]
    assert abs(sum(parts) - hours()) < 1e-3 and min(parts) > 0, parts
    assert abs(hours("--since=2h") - parts[2]) < 1e-9


def state(path, hour, seconds, more="", gpu=1):
    """Half of what was seen of an hour is idle time, by an agent that saw so much of it."""
    write(path, f"""SELECT {hour} AS time_s, {seconds} AS seconds, 'h' AS host, 'GPU-{gpu}' AS uuid, 'H200' AS model,
                'gpuwatch_idle_seconds' AS metric, 'cause' AS label, 'host' AS which, ({seconds} / 2)::DOUBLE AS value,
                NULL::DOUBLE AS most {more}""")


def a_host_whose_clock_is_ahead_moves_the_last_hours_of_no_other():
    need("duckdb")
    hour = int(time.time()) // 3600 * 3600
    for host, at in (("a", hour - 7200), ("b", hour - 3600), ("c", hour + 30 * 86400)):
        state(f"{STORE}/hours/host={host}/day=2026-11-26/state-000000.parquet", at, 3600, gpu=host)
    gpus = lambda *span: [r["gpus"] for r in rows(ask(*span, "idle_hours", STORE), "idle_hours") if r["cause"] == "host"]
    assert gpus("--last=2h") == [2] and gpus() == [3], (gpus("--last=2h"), gpus())
    for host in "ab":
        shutil.rmtree(f"{STORE}/hours/host={host}")
    assert gpus("--last=2h") == [1]


def an_hour_that_two_agents_saw_counts_as_what_both_saw():
    need("duckdb")
    day, hour = f"{STORE}/hours/host=h/day=2026-11-26", 1795651200
    state(day + "/state-000000.parquet", hour, 1000, f", {hour}::BIGINT AS from_s")
    state(day + "/state-002000.parquet", hour, 2000, f", {hour + 1200}::BIGINT AS from_s")
    state(day + "/state-010000.parquet", hour + 3600, 1000)  # of agents without from_s
    state(day + "/state-014000.parquet", hour + 3600, 600)
    assert [r["share"] for r in rows(ask("idle_hours", STORE), "idle_hours") if r["cause"] == "host"] == [0.5]


def a_store_below_folders_that_are_named_like_its_own_is_read():
    need("duckdb")
    store = os.path.join(FOLDER, "host=backup/model=old/day=2020-01-01")
    simulate(8, 1, store)
    day = os.path.join(store, "host=node00000/day=2026-11-26")
    write(os.path.join(day, "100000-000000000.parquet"), """
        SELECT 'GPU-1' AS uuid, NULL::VARCHAR AS program, '0000:01:00.0' AS pci_bus_id, 'H200' AS model, 'k' AS kernel,
               'gpuwatch_gpu_seconds_total' AS metric, TIMESTAMP '2026-11-26 10:00:00'::TIMESTAMP_NS AS time, 1.0::DOUBLE AS value""")
    found = ask("costly_kernels", store)
    assert found["files"]["work"] == 1 and not found["files"]["samples"], found["files"]


def bad_input_is_named():
    empty = os.path.join(FOLDER, "empty")
    os.mkdir(empty)
    for arguments, words in (((), "missing argument"), (("what", empty), '"what" is no question'), ((empty,), "no Parquet file"),
                             ((FOLDER + "/none",), "No such file"), (("--engine=oracle", empty), "duckdb"),
                             (("--last=yesterday", empty), "--last=yesterday"), (("--since=12", empty), "--since=12"),
                             (("--since=1h", "--last=1h", empty), "exclude each other"), (("--top=0", empty), "--top")):
        done = command(*arguments)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, (arguments, done.stderr)


def an_engine_that_is_not_there_is_named_with_the_remedy():
    simulate(8, 1)
    nothing = os.path.join(FOLDER, "python")
    with open(nothing, "w") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    os.chmod(nothing, 0o755)
    for engine, package in (("duckdb", "duckdb"), ("spark", "pyspark"), ("clickhouse", "chdb")):
        done = command("--engine=" + engine, "--python=" + nothing, STORE)
        assert done.returncode == 2 and f"pip install {package}" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = command("--python=/nonexistent/python", STORE)
    assert done.returncode == 2 and "--python" in done.stderr, done.stderr
    assert not [name for name in os.listdir(FOLDER) if name.startswith("gpuwatch-fleet.")]


def same(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-3, abs_tol=2e-4)
    return a == b


def agree(engine, gpus=40):
    simulate(gpus, 3)
    day = os.path.join(STORE, "host=old/day=2026-11-25")
    write(os.path.join(day, "100000-000000000.parquet"), """
        SELECT 'GPU-1' AS uuid, NULL::VARCHAR AS program, '0000:01:00.0' AS pci_bus_id, 'H200' AS model, 'k' AS kernel,
               'gpuwatch_gpu_seconds_total' AS metric, NULL::VARCHAR AS "by", NULL::VARCHAR AS which,
               (TIMESTAMP '2026-11-25 10:00:00' + n * INTERVAL 1 MINUTE)::TIMESTAMP_NS AS time, (1.0 + n)::DOUBLE AS value,
               NULL::BIGINT AS launches FROM range(30) t(n)""")
    one, other = ask("--top=100000", STORE), ask("--top=100000", "--engine=" + engine, "--threads=1", STORE)
    assert len(one["questions"]) == len(other["questions"]) >= 8
    for a, b in zip(one["questions"], other["questions"]):
        key = lambda row: str([x for x in row if x is None or isinstance(x, str)])
        if a["name"] == "ratios":
            continue
        assert a["columns"] == b["columns"], (a["columns"], b["columns"])
        assert len(a["rows"]) == len(b["rows"]), (a["name"], len(a["rows"]), len(b["rows"]))
        for x, y in zip(sorted(a["rows"], key=key), sorted(b["rows"], key=key)):
            assert all(same(u, v) for u, v in zip(x, y)), (a["name"], x, y)


def spark_gives_the_same_rows():
    if "GPUWATCH_TEST_SPARK" not in os.environ:
        print("skipped: it takes minutes; set GPUWATCH_TEST_SPARK=1 to run it")
        finish(77)
    need("duckdb", "pyspark")
    agree("spark", 16)


def clickhouse_gives_the_same_rows():
    need("duckdb", "chdb")
    agree("clickhouse")


try:
    globals()[CASE]()
except AssertionError:
    import traceback
    traceback.print_exc()
    finish(1)
finish(0)
