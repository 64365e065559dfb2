#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare `gpuwatch inspect` with the vendor's cuobjdump on real files, kernel by kernel.

    against_cuobjdump.py [--json] GPUWATCH CUOBJDUMP FILE...

Every image must open, and every cubin's kernels must be those of `cuobjdump -res-usage`, with the same
registers, shared memory and constant bank 0. One line per file (or a JSON list): images, kernels,
what differs, seconds and peak memory of either. Exit status: 0 all alike, 1 something differs, 77 nothing
to compare.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

USAGE = re.compile(r"REG:(\d+) STACK:(\S+) SHARED:(\d+) .*?CONSTANT\[0\]:(\d+)")


def measured(command, out):
    """Run it with stdout in the file `out`: status, stderr, seconds, peak KiB."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        err.seek(0)
        text = err.read().decode(errors="replace").strip()
    return os.waitstatus_to_exitcode(status), text, time.monotonic() - begin, usage.ru_maxrss


def run_ours(gpuwatch, path, out):
    status, error, seconds, memory = measured([gpuwatch, "inspect", "--json", path], out)
    return {"status": status, "error": error, "seconds": seconds, "peak_kib": memory}


def run_theirs(cuobjdump, path, out):
    status, error, seconds, memory = measured([cuobjdump, "-res-usage", path], out)
    return {"status": status, "error": error, "seconds": seconds, "peak_kib": memory}


def our_kernels(images):
    found = collections.Counter()
    linked = any(image["section"] == ".nv_fatbin" for image in images)
    for image in images:
        if linked and image["section"] == "__nv_relfatbin":
            continue  # as cuobjdump leaves these out, too
        for k in image.get("kernels", []):
            found[image["code"], k["name"], k["registers"], (k["static_shared"] or 0) + k["reserved_shared"],
                  k["constant_banks"].get("0", 0)] += 1
    return found


def their_kernels(out):
    found, arch, name = collections.Counter(), "", ""
    for line in out:
        line = line.decode(errors="replace")
        if line.startswith("arch = "):
            arch = line[7:].strip()
        elif line.startswith(" Function "):
            name = line.strip()[len("Function "):-1]
        elif (m := USAGE.search(line)):
            found[arch, name, int(m[1]), int(m[3]), int(m[4])] += 1
    return found


def compare(path, mine, run, theirs, vendor):
    mine.seek(0)
    theirs.seek(0)
    text = mine.read()
    images = json.loads(text)["images"] if text else []
    a, b = our_kernels(images), their_kernels(theirs)
    missing, extra = b - a, a - b
    return {
        "file": os.path.basename(path), "bytes": os.path.getsize(path), "images": len(images),
        "unreadable": sum(image["error"] is not None for image in images),
        "kernels": sum(a.values()), "cuobjdump_kernels": sum(b.values()),
        "missing": sum(missing.values()), "extra": sum(extra.values()),
        "examples": [str(k) for k in [*missing][:2] + [*extra][:2]],
        "gpuwatch": run, "cuobjdump": vendor,
    }


def main(arguments):
    as_json = "--json" in arguments
    arguments = [a for a in arguments if a != "--json"]
    gpuwatch, cuobjdump, *files = arguments
    if not os.access(cuobjdump, os.X_OK) or not files:
        print("skipped: there is no cuobjdump here, or no file to compare on")
        return 77
    # A child's peak counts from that of the process it was forked from: run first, read later.
    runs = []
    for path in files:
        mine, theirs = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        runs.append((path, mine, run_ours(gpuwatch, path, mine), theirs, run_theirs(cuobjdump, path, theirs)))
    rows = [compare(*run) for run in runs]
    if as_json:
        json.dump(rows, sys.stdout, indent=1)
        print()
    for r in rows if not as_json else []:
        print(f"{r['file']}: {r['images']} images ({r['unreadable']} unreadable), {r['kernels']} kernels, cuobjdump "
              f"{r['cuobjdump_kernels']}, missing {r['missing']}, extra {r['extra']}; {r['gpuwatch']['seconds']:.1f} s, "
              f"{r['gpuwatch']['peak_kib'] / 1024:.0f} MiB (cuobjdump {r['cuobjdump']['seconds']:.1f} s, "
              f"{r['cuobjdump']['peak_kib'] / 1024:.0f} MiB) {' '.join(r['examples'])} {r['gpuwatch']['error']}")
    return any(r["unreadable"] or r["missing"] or r["extra"] or r["gpuwatch"]["status"] for r in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
