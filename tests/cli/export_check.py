#!/usr/bin/env python3
"""export_check.py GPUWATCH FORMAT LOG: exports LOG and compares counts and sums with those of report --json.

Each format is read by the standard library, protobuf by protobuf_reader.py; a failed check is an exception.
"""
import collections
import csv
import gzip
import io
import json
import re
import sqlite3
import struct
import subprocess
import sys
import zlib

from protobuf_reader import fields, message

gpuwatch, form, log = sys.argv[1:4]


def export(path="out." + form):
    subprocess.run([gpuwatch, "export", "--format=" + form, "-o", path, log], check=True)
    with open(path, "rb") as f:
        return f.read()


def wanted():
    """Launches, measured launches and ns in all, and ns by demangled name."""
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    names = collections.Counter()
    for row in report["kernels"]:
        names[row["Name"]] += row["Total Time (ns)"] or 0
    return report["launches"], report["measured"], names


def packets(data):
    for number, packet in fields(data):
        assert number == 1, number
        packed = message(packet).get(50)
        if packed:
            yield from packets(zlib.decompress(packed[0]))
        else:
            yield message(packet)


def csv_rows():
    text = subprocess.check_output([gpuwatch, "export", "--format=csv", "-o", "-", log])
    return csv.DictReader(io.StringIO(text.decode("utf-8", "replace"), newline=""))


def lines_of_csv():
    """How many launches with a time came from each line of the program."""
    return collections.Counter(row["line"] for row in csv_rows() if row["line"] and row["start_ns"])


def read_perfetto(data):
    kernels, names, count, last = {}, collections.Counter(), 0, {}
    args, strings, lines = {}, {}, collections.Counter()
    for p in packets(data):
        sequence = p[10][0]
        if 6 in p:
            last[sequence] = message(message(p[6][0])[1][2])[2][0]
        elif 8 in p and 58 not in p:
            last[sequence] += p[8][0]
        assert len(p.get(12, [])) <= 1, "a reader takes one interned_data of a packet"
        for interned in p.get(12, []):
            for number, entry in fields(interned):
                item = message(entry)
                table = {1000: kernels, 1001: args, 29: strings}.get(number)
                if table is not None:
                    table[sequence, item[1][0]] = item[3 if number == 1000 else 2][0].decode()
        for event in p.get(53, []):
            event = message(event)
            if 19 not in event:  # a copy
                continue
            name = kernels[sequence, event[19][0]]
            count += 1
            names[name] += event[2][0]
            for arg in message(event[21][0]).get(3, []):
                arg = message(arg)
                name = args[sequence, arg[1][0]]
                assert name in ("predicted_ns", "low_ns", "high_ns", "bound", "basis", "line"), name
                if 7 in arg:
                    text = strings[sequence, arg[7][0]]
                    lines[text] += name == "line"
    assert +lines == lines_of_csv()
    print("%.1f bytes per launch" % (len(data) / max(count, 1)))
    return None, count, names


def chrome_event(row):
    """What an event of a row of the CSV holds but for its times."""
    args = {k: row[k] for k in ("thread", "gpu", "context", "stream", "graph", "node", "registers", "static_shared",
                                "dynamic_shared", "line", "predicted_ns", "low_ns", "high_ns", "basis", "work",
                                "bound") if row[k]}
    if row["grid_x"]:
        args |= {k: "[%s]" % ", ".join(row[k + axis] for axis in ("_x", "_y", "_z")) for k in ("grid", "block")}
    return row["kernel"], row["pid"], "GPU %s stream %s" % (row["gpu"] or -1, row["stream"]), tuple(sorted(args.items()))


def read_chrome(data):
    names, count, seen, times = collections.Counter(), 0, collections.Counter(), []
    for event in json.loads(data.decode(), parse_float=str, parse_int=str)["traceEvents"]:
        if event["ph"] == "X":
            names[event["name"]] += round(float(event["dur"]) * 1000)
            count += 1
            args = {k: str(v).replace("'", "") for k, v in event["args"].items()}
            times.append(tuple(int(t.replace(".", "")) for t in (event["ts"], event["dur"], args.pop("call_us", "0"))))
            seen[event["name"], event["pid"], event["tid"], tuple(sorted(args.items()))] += 1
    rows = [row for row in csv_rows() if row["start_ns"] and row["duration_ns"]]
    wanted = collections.Counter(map(chrome_event, rows))
    assert seen == wanted, (seen - wanted, wanted - seen)
    if rows:
        # One date is the times' zero.
        zero, = {int(row["start_ns"]) - ts for row, (ts, _, _) in zip(rows, times)}
        assert times == [(int(r["start_ns"]) - zero, int(r["duration_ns"]),
                          int(r["call_ns"]) - zero if r["call_ns"] else 0) for r in rows]
    return None, count, names


def same_as_csv(db):
    """The view of launches has the cells of the CSV, in any order."""
    rows = csv_rows()
    strings = dict(db.execute("SELECT id, value FROM StringIds"))
    texts = ("kernel", "mangled", "line", "basis", "work", "bound")
    cells = ", ".join(rows.fieldnames)
    seen = collections.Counter()
    for row in db.execute("SELECT " + cells + " FROM GPUWATCH_LAUNCH"):
        named = [strings.get(v) if name in texts else v for name, v in zip(rows.fieldnames, row)]
        seen[tuple("" if v is None else "%.9g" % v if isinstance(v, float) else str(v) for v in named)] += 1
    wanted = collections.Counter(tuple(row.values()) for row in rows)
    assert seen == wanted, (seen - wanted, wanted - seen)


def read_sqlite(_):
    db = sqlite3.connect("out.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    same_as_csv(db)
    # The query of nsys's cuda_gpu_kern_sum.
    names = collections.Counter(dict(db.execute(
        "SELECT s.value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k "
        "LEFT JOIN StringIds AS s ON s.id = k.demangledName GROUP BY s.value")))
    launches, = db.execute("SELECT count(*) FROM GPUWATCH_LAUNCH").fetchone()
    measured, = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    joined, = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN GPUWATCH_LAUNCH USING "
                         "(correlationId) WHERE end - start = duration_ns").fetchone()
    assert joined == measured, (joined, measured)
    return launches, measured, names


def read_csv(data):
    names, launches, measured = collections.Counter(), 0, 0
    text = data.decode("utf-8", "surrogateescape")
    for row in csv.DictReader(io.StringIO(text, newline="")):
        assert None not in row and None not in row.values(), row
        launches += 1
        if row["duration_ns"]:
            measured += 1
            names[row["kernel"].encode("utf-8", "surrogateescape").decode("utf-8", "replace")] += int(row["duration_ns"])
    return launches, measured, names


def read_parquet(data):
    """Both ends; what is between is for readers/parquet.py."""
    assert data[:4] == data[-4:] == b"PAR1"
    size, = struct.unpack("<I", data[-8:-4])
    assert size <= len(data) - 12
    return None, None, None


def read_openmetrics(data):
    text = data.decode()
    assert text.endswith("# EOF\n")
    names, sums = collections.Counter(), collections.Counter()
    typed, seen = set(), set()
    label = r'[A-Za-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            word, family = line.split(" ")[1:3]
            if word == "TYPE":
                assert family not in typed
                typed.add(family)
            continue
        found = re.fullmatch(r"([a-z_]+)_total\{(" + label + "(?:," + label + r")*)\} ([0-9.]+)", line)
        assert found, line
        family, labels, value = found.groups()
        assert family in typed and (family, labels) not in seen, line
        seen.add((family, labels))
        sums[family] += int(value.replace(".", ""))
        if family == "gpuwatch_measured_seconds":
            name = re.search(r'kernel="((?:[^"\\]|\\.)*)"', labels).group(1)
            name = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], name)
            names[name] += int(value.replace(".", ""))
    return sums["gpuwatch_launches"], sums["gpuwatch_measured_launches"], names


def read_pprof(data):
    profile = message(gzip.decompress(data))
    strings = [s.decode() for s in profile[6]]
    assert strings[0] == ""
    functions = {message(f)[1][0]: strings[message(f)[2][0]] for f in profile[5]}
    lines = {message(f)[1][0]: functions[message(message(f)[4][0])[1][0]] for f in profile[4]}
    names, launches = collections.Counter(), 0
    for sample in map(message, profile[2]):
        kernel, bound, gpu = (lines[i] for i in sample[1])
        assert bound.startswith("bound: ") and gpu.startswith("GPU "), (bound, gpu)
        launches += sample[2][0]
        names[kernel] += sample[2][1]
    return launches, None, names


def same(a, b):
    """Names as report prints them, which replaces more than is broken."""
    def key(names):
        out = collections.Counter()
        for name, ns in names.items():
            out[re.sub(r"[^ -~]+|\?+", "?", name)] += ns
        return +out
    return key(a) == key(b)


launches, measured, names = globals()["read_" + form](export())
want_launches, want_measured, want_names = wanted()
assert launches in (None, want_launches), (launches, want_launches)
assert measured in (None, want_measured), (measured, want_measured)
assert names is None or same(names, want_names), (names, want_names)
