#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every image of the libraries and caches of this machine, opened by `gpuwatch inspect` in bounded memory.

usage: images.py --cli GPUWATCH --out DIR [--jobs N] [--seconds S] [--memory MIB] [--cache DIR]... [FILE...]

FILE: device code, or what holds some; without any, the libraries of PyTorch, of JAX and of CUDA that are here. --cache: also all
cubins, fatbins and PTX below this folder. A process may have so much memory of its own (RLIMIT_DATA; the pages of the
file, which the system takes back at will, are not in it): with less than it needs, images can't be read or texts not listed.
Where that is too little, the file is read once more with as much beside its largest image, unpacked: libraries hold images of over a
hundred MiB. Prints for each file images, kernels, what can't be read, the most memory it took in all (resident, pages of the
file too), and seconds. Demanded: with that every image opens, every PTX text is listed, and kernels are found. Exit status: 0 all
that, 1 not, 77 there is no such file here.
"""
import argparse
import concurrent.futures
import glob
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time

import compare
import figures

TICK = 0.02
CODE = (".cubin", ".ptx", ".fatbin")


def package_folder(name):
    """Where a package of the Python that has them lies."""
    python = shutil.which("python3") or sys.executable
    if python == sys.executable:
        spec = importlib.util.find_spec(name)
        return os.path.dirname(spec.origin) if spec and spec.origin else None
    ask = f"import importlib.util as u, os; s = u.find_spec('{name}'); print(os.path.dirname(s.origin) if s and s.origin else '')"
    reported = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    return reported.stdout.strip() or None


def libraries():
    """Shared libraries with device code, once each: those that everybody runs first, then the largest."""
    toolkit, wheels = compare.library_folders()
    folders = toolkit + wheels
    for name, inside in (("torch", "lib"), ("jax_plugins", "**"), ("jax_cuda13_plugin", ""), ("jax_cuda12_plugin", ""), ("cupy", "**")):
        found = package_folder(name)
        folders += [f"{found}/{inside}"] if found else []
    found = {os.path.realpath(path) for folder in folders for path in glob.glob(f"{folder}/*.so*", recursive=True)}
    first = ("libtorch_cuda.", "libcublas", "xla_cuda_plugin")
    return sorted((path for path in found if os.path.isfile(path) and has_code(path)),
                  key=lambda path: (not os.path.basename(path).startswith(first), -os.path.getsize(path)))


def has_code(path):
    """Whether the file has a section of device code, by its names of sections, which stand near its end or begin."""
    reported = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, errors="replace")
    if reported.returncode or not reported.stdout:
        return os.path.getsize(path) > 1 << 20  # there is no readelf: the larger ones may
    return "nv_fatbin" in reported.stdout or "nvFatBinSegment" in reported.stdout


def cached(folder):
    return sorted(f"{path}/{name}" for path, _, names in os.walk(folder) for name in names if name.endswith(CODE))


class Watch(threading.Thread):
    """The most memory that a process has had, asked for while it runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.over = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(TICK):
            try:
                with open(f"/proc/{self.pid}/status") as file:
                    self.peak = max([self.peak] + [int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:")])
            except OSError:
                return


def answers(stream):
    """The images of what inspect --json prints, one at a time: all at once would be gigabytes."""
    lines, listing = None, False
    for line in stream:
        if line.startswith('"images": ['):
            listing = True
        elif listing and line.startswith("{"):
            lines = []
        elif lines is not None and line.startswith("}"):
            yield json.loads("{" + "".join(lines) + "}")
            lines = None
        elif lines is not None:
            lines.append(line)


def attempt(args, path, limit):
    """What came of one file with so much memory; None: without bound."""
    found = {"file": path, "bytes": os.path.getsize(path), "images": 0, "kernels": 0, "unread": 0, "errors": 0, "largest": 0}
    begin = time.monotonic()
    with open(f"{args.out}/inspect.err", "a") as errors, subprocess.Popen(
            [args.cli, "inspect", "--json", path], stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
            preexec_fn=lambda: limit and resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))) as process:
        watch = Watch(process.pid)
        try:
            for image in answers(process.stdout):
                found["images"] += 1
                found["errors"] += image["error"] is not None
                found["unread"] += image.get("unread") is not None
                found["kernels"] += len(image.get("kernels") or ())
                found["largest"] = max(found["largest"], image["bytes"])
        except ValueError as error:
            found["wrong"] = f"no JSON: {error}"
            process.kill()
        found["status"] = process.wait()
        watch.over.set()
        watch.join()
    return dict(found, peak=watch.peak, seconds=time.monotonic() - begin)


def whole(found):
    return not (found["status"] or found["errors"] or found["unread"] or "wrong" in found)


def inspect(args, path):
    """The same, with the bound; where its largest image alone may need more, with so much beside that image."""
    found = attempt(args, path, int(args.memory * (1 << 20)))
    found["within"] = whole(found)
    known = 0
    while not whole(found) and found["largest"] > known:  # one that failed early had not seen all images
        known = found["largest"]
        found = dict(attempt(args, path, int(args.memory * (1 << 20)) + known), within=False)
    return found


def row(found):
    return (f"{found['images']:>7}{found['kernels']:>9}{found['errors']:>8}{found['unread']:>8}{found['peak'] / (1 << 20):>8.1f}"
            f"{found['seconds']:>8.1f}{found['status']:>7}  {found['bytes'] / (1 << 20):>7.1f}  {found['file']}")


def judged(found, args, left):
    return [
        figures.figure("files inspected", len(found), least=1),
        figures.figure("files for which there was no time", left),
        figures.figure("images", sum(one["images"] for one in found), least=1),
        figures.figure("kernels in them", sum(one["kernels"] for one in found), least=1),
        figures.figure("images that could not be read", sum(one["errors"] for one in found), most=0),
        figures.figure("PTX texts that could not be listed", sum(one["unread"] for one in found), most=0),
        figures.figure(f"files read in {args.memory:g} MiB beside their largest image", sum(map(whole, found)), least=len(found)),
        figures.figure(f"files read in {args.memory:g} MiB in all", sum(one["within"] for one in found), n=len(found)),
        figures.figure("largest image, unpacked", max((one["largest"] for one in found), default=0) / (1 << 20), unit="MiB"),
        figures.figure("most memory resident, pages of the file too", max((one["peak"] for one in found), default=0) / (1 << 20), unit="MiB"),
        figures.figure("seconds of the longest", max((one["seconds"] for one in found), default=0), unit="s")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--seconds", type=float, default=100, help="no file is begun after that")
    parser.add_argument("--memory", type=float, default=64, help="MiB")
    parser.add_argument("--cache", action="append", default=[])
    parser.add_argument("file", nargs="*")
    args = parser.parse_args()
    files = [path for folder in args.cache for path in cached(folder)] + (args.file or libraries())
    if not files:
        print("SKIP: no library or cache with device code was found")
        return 77
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        reported = list(pool.map(lambda path: inspect(args, path) if time.monotonic() - begin < args.seconds else None, files))
    found = [one for one in reported if one]
    print(f"{'IMAGES':>7}{'KERNELS':>9}{'ERRORS':>8}{'UNREAD':>8}{'MIB':>8}{'SECONDS':>8}{'STATUS':>7}  {'MIB':>7}  FILE")
    for one in found:
        print(row(one))
    with open(f"{args.out}/images.json", "w") as out:
        json.dump(found, out, indent=1)
    return figures.conclude(args.out, judged(found, args, len(files) - len(found)))


if __name__ == "__main__":
    sys.exit(main())
