#!/usr/bin/env python3
"""top_cost.py BUILD [--processes N] [--pause US] [--seconds S] [--kernels K] [--calls N]

What gpuwatch top itself costs, on the CPU stand-in: on a pseudo-terminal of 80x24, at one snapshot a second, beside N
processes under libgpuwatch.so. --pause: each of them launches every so many microseconds; without it they rest.
--kernels: of so many kernels, each at three shapes.
Prints the time from exec to the first screen, and the share of one core over S seconds (the kernel's count of ns, which
includes system calls). --calls: instead, by strace, the system calls of a snapshot, the median over S seconds; exit status 1 where
that is more than N, 77 without strace."""
import argparse
import fcntl
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--pause", type=int, default=0)
parser.add_argument("--kernels", type=int, default=1)
parser.add_argument("--seconds", type=float, default=60)
parser.add_argument("--calls", type=int)
a = parser.parse_args()
build = os.path.abspath(a.build)
if a.calls and not shutil.which("strace"):
    print("skipped: strace is not installed")
    sys.exit(77)
# Segments want memory under them.
here = tempfile.mkdtemp(prefix="gw-top-cost-", dir="/dev/shm")


def start(number):
    work = os.path.join(here, "work%d" % number)
    os.mkdir(work)
    env = dict(os.environ, LD_LIBRARY_PATH=build + "/tests/standin", LD_PRELOAD=build + "/lib/libgpuwatch.so",
               GPUWATCH_RUN_DIR=here + "/run", GPUWATCH_OUT=work + "/log.gwl", GPUWATCH_COUNTERS="off")
    program = [build + "/tests/preload/clients/rests"]
    if a.pause:
        program = [build + "/tests/standin/clients/launch_many", "100000000", "1", "1", str(a.pause), str(a.kernels)]
    return subprocess.Popen(program, cwd=work, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read(terminal, until):
    text = b""
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.01)[0]:
            text += os.read(terminal, 65536)
            if b"Kernel" in text and b"help" in text:
                return True
    return False


def spent_ns(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


def calls(trace):
    """Of each snapshot: between two waits for a key."""
    counts, n = [], 0
    with open(trace) as f:
        for line in f:
            n += 1
            if "ppoll(" in line:
                counts.append(n)
                n = 0
    return counts


top = [build + "/bin/gpuwatch", "top", "--dir=" + here + "/run"]
if a.calls:
    top = ["strace", "-o", here + "/trace"] + top
os.mkdir(here + "/run", 0o700)
programs = [start(i) for i in range(a.processes)]
try:
    time.sleep(3)
    first = []
    for turn in range(5):
        began = time.monotonic()
        pid, terminal = pty.fork()
        if not pid:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execvp(top[0], top)
        if not read(terminal, began + 10):
            sys.exit("top_cost.py: no screen within 10 s")
        first.append((time.monotonic() - began) * 1e3)
        if turn == 4 or a.calls:
            break
        os.write(terminal, b"q")
        os.waitpid(pid, 0)
        os.close(terminal)
    before, then = spent_ns(pid), time.monotonic()
    while time.monotonic() < then + a.seconds:
        if select.select([terminal], [], [], 0.5)[0]:
            os.read(terminal, 65536)
    if a.calls:
        os.write(terminal, b"q")
        os.waitpid(pid, 0)
        counts = calls(here + "/trace")[2:]
        median = statistics.median(counts) if counts else 0
        print("%d processes: %g system calls a snapshot, limit %d; of each %s" % (a.processes, median, a.calls, counts))
        sys.exit(not 0 < median <= a.calls)
    share = (spent_ns(pid) - before) / ((time.monotonic() - then) * 1e9)
    os.write(terminal, b"q")
    os.waitpid(pid, 0)
    print("%d processes, %s: first screen after %s ms; %.4f%% of a core over %g s" % (
        a.processes, "a launch every %d us each of %d kernels" % (a.pause, a.kernels) if a.pause else "at rest",
        " ".join("%.0f" % x for x in sorted(first)), share * 100, a.seconds))
finally:
    for p in programs:
        p.kill()
        p.wait()
    shutil.rmtree(here)
