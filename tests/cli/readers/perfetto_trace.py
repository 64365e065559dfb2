#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_trace.py GPUWATCH LOG...: the trace, read by the message types of Perfetto's own Python package, has no field that
they do not know, every number in it is interned, and its sums are those of gpuwatch report. Exit status 77 without the
package."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

gpuwatch, logs = sys.argv[1], sys.argv[2:]
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


def read(path):
    sequences = collections.defaultdict(Sequence)
    names, count, starts = collections.Counter(), 0, []
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
        for arg in event.launch.args:
            assert arg.name_iid in sequence.args, arg
        starts.append(time)
        names[kernel.demangled_name or kernel.name] += event.duration
        count += 1
    return count, names, starts, len(data)


def seen(names):
    out = collections.Counter()
    for name, ns in names.items():
        out[re.sub(r"[^ -~]+|\?+", "?", name)] += ns
    return +out


def check(log, folder):
    path = os.path.join(folder, "out.pftrace")
    subprocess.run([gpuwatch, "export", "--format=perfetto", "-o", path, log], check=True)
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    text = subprocess.check_output([gpuwatch, "export", "--format=csv", "-o", "-", log]).decode("utf-8", "replace")
    wanted = collections.Counter()
    for row in report["kernels"]:
        wanted[row["Name"]] += row["Total Time (ns)"] or 0
    count, names, starts, size = read(path)
    assert count == report["measured"], (count, report["measured"])
    assert seen(names) == seen(wanted)
    assert sorted(starts) == sorted(int(s) for s in re.findall(r"(?m)^(\d{15,}),\d+,", text))
    print("%s: %d launches, %d ns, %.1f bytes a launch" % (os.path.basename(log), count, sum(names.values()), size / count))


if "perfetto" not in subprocess.check_output([gpuwatch, "export", "--help"]).decode():
    print("skipped: the command is built without zlib")
    sys.exit(77)
with tempfile.TemporaryDirectory() as temporary:
    for one in logs:
        check(one, temporary)
