#!/usr/bin/env python3
"""export_slices.py TRACE: the slices of a Perfetto trace that are no kernels, a line each, sorted."""
import ast
import collections
import os
import sys
import zlib

from protobuf_reader import fields, message

# The few lines that unpack packets stand beside the checks of all formats.
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "export_check.py")
with open(source) as f:
    tree = ast.parse(f.read())
parts = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "packets"]
scope = {"fields": fields, "message": message, "zlib": zlib}
exec(compile(ast.Module(parts, []), source, "exec"), scope)
packets = scope["packets"]

stages, tracks, open_slices, last, lines = {}, {}, collections.defaultdict(list), {}, []
with open(sys.argv[1], "rb") as f:
    data = f.read()
for p in packets(data):
    sequence = p[10][0]
    if 6 in p:
        last[sequence] = message(message(p[6][0])[1][2])[2][0]
    now = None
    if 8 in p and 58 in p:
        now = p[8][0]
    elif 8 in p:
        now = last[sequence] = last[sequence] + p[8][0]
    for interned in p.get(12, []):
        for number, entry in fields(interned):
            if number == 24:
                stage = message(entry)
                stages[stage[1][0]] = stage[2][0].decode()
    for track in p.get(60, []):
        track = message(track)
        tracks[track[1][0]] = track[2][0].decode()
    for event in p.get(53, []):
        event = message(event)
        if 19 not in event:
            lines.append("%s: %s %d ns" % (stages[event[13][0]], stages[event[14][0]], event[2][0]))
    for event in p.get(11, []):
        event = message(event)
        kind, track = event[9][0], event[11][0]
        if kind == 1:
            open_slices[track].append((event[23][0].decode(), now))
        elif kind == 2:
            name, begin = open_slices[track].pop()
            lines.append("%s: %s %d ns" % (tracks[track], name, now - begin))
print("\n".join(sorted(lines)))
