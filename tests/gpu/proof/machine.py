"""What a step ran on: GPUs, driver, clocks, load, and of which source its programs are."""
import os
import subprocess
import sys
import time

QUERY = ("index,name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active,"
         "utilization.gpu,memory.used")


def count(here):
    """How many GPUs the driver shows, and why none, if so; asked in another process, which ends with its use of CUDA."""
    reported = subprocess.run([sys.executable, "-B", "-c", "import compare; n, why = compare.devices(); print(n); print(why or '')"],
                          cwd=here, capture_output=True, text=True)
    lines = reported.stdout.splitlines()
    if reported.returncode or len(lines) < 2:
        return 0, "the CUDA driver could not be asked: " + (reported.stderr.strip().splitlines() or ["no answer"])[-1]
    return int(lines[0]), lines[1] or None


def names(most, found):
    """What CUDA_VISIBLE_DEVICES calls each of the GPUs to use."""
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    every = visible or [str(number) for number in range(found)]
    return every[:min(found, most or found)]


def clocks(gpus):
    """Lines of nvidia-smi; empty where it does not answer."""
    if not gpus:
        return []
    try:
        reported = subprocess.run(["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader", "-i", ",".join(gpus)],
                              capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in reported.stdout.splitlines()] if not reported.returncode else []


def now(gpus):
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "load": os.getloadavg()[0],
            "clocks": clocks(gpus), "of": QUERY}


def source(build, top):
    """What build.sh wrote down of what it built; else what git knows."""
    try:
        with open(os.path.join(build, "built")) as file:
            return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    except OSError:
        reported = subprocess.run(["git", "-C", top, "describe", "--always", "--dirty"], capture_output=True, text=True)
        return {"commit": reported.stdout.strip() or "unknown"}
