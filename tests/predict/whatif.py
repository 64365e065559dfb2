#!/usr/bin/env python3
"""whatif.py LOG.json EACH.json: what whatif says of a log of launches_log against what predict says
of each launch, on the same device; a kernel of two configurations is the sum of both, five times."""
import json
import math
import sys

TIMES = 5  # launches_log runs each launch so often
FLOOR = 2e-6  # s: the launch floor of the GPU that the log is of
log, each = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
wanted = {}
for launch in each["launches"]:
    (device,) = launch["devices"]
    (model,) = device["models"]
    name = launch["name"].split()[0]
    wanted[name] = wanted.get(name, 0) + TIMES * model["seconds"]
found = {kernel["name"]: kernel for kernel in log["kernels"]}
assert found.keys() == wanted.keys(), (sorted(found), sorted(wanted))
for name, seconds in wanted.items():
    same, other = found[name]["devices"]
    assert math.isclose(same["seconds"], seconds, rel_tol=1e-6), (name, same, seconds)
    assert found[name]["here_seconds"] == same["seconds"], name
    assert same["at_least_seconds"] == same["seconds"], name
    # A data sheet lacks what the model uses: a lower bound, and no less than empty launches take here.
    assert other["seconds"] is None and "lacks" in other["reason"], (name, other)
    assert other["at_least_seconds"] >= TIMES * FLOOR, (name, other)
assert math.isclose(log["total"][0]["speed"], 1), log["total"]
assert log["total"][1]["seconds"] is None and log["total"][1]["lacks"], log["total"]
assert log["total"][0]["lacks"] == [] and log["missing"] == [] and log["remedy"] is None
