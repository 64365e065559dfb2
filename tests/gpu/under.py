"""Programs under gpuwatch, and what their logs say: for the scripts of the proof that record logs."""
import glob
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile

import compare

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = 24 << 20  # bytes of a recording that are kept
COUNTED = {"GPUWATCH_COUNTERS": "pm", "GPUWATCH_BUDGET": "100"}  # counters sampled as often as can be


def environment(library, log, more=None, packages=False):
    """That of a program under the library in mode audit; `packages`: for Python, whose packages find their own libraries."""
    env = {name: value for name, value in os.environ.items() if name not in compare.without_gpuwatch(os.environ)}
    toolkit, wheels = compare.library_folders()
    if not packages:
        env["LD_LIBRARY_PATH"] = ":".join(toolkit + wheels + [env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    env.update({"LD_PRELOAD": library, "GPUWATCH_MODE": "audit", "GPUWATCH_OUT": log, "GPUWATCH_SUMMARY": "0", **(more or {})})
    return env


def run(command, env, out, name, timeout):
    """Exit status, or 'timeout'; what it printed goes to OUT/NAME.txt and .err."""
    with open(f"{out}/{name}.txt", "w") as text, open(f"{out}/{name}.err", "w") as errors:
        try:
            return subprocess.run(command, env=env, cwd=out, stdin=subprocess.DEVNULL, stdout=text, stderr=errors,
                                  timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            return "timeout"


def totals(logdump, log):
    """Counters of a log, with launched and measured; the reasons of what is degraded; None where it can't be read."""
    logs = sorted(glob.glob(glob.escape(log) + "*"))
    reported = subprocess.run([logdump, *logs], capture_output=True, text=True, errors="replace")
    if reported.returncode or not logs:
        return None, [reported.stderr.strip() or "no log was written"]
    found, notes = {"launched": 0, "measured": 0}, []
    for parts in (line.split("\t") for line in reported.stdout.splitlines()):
        if parts[0] == "K":
            found["launched"] += int(parts[2])
            found["measured"] += int(parts[3])
        elif parts[0] in "CX":
            found[parts[1]] = int(parts[2])
        elif parts[0] == "D":
            notes.append(parts[2])
    if found.get("end") != len(logs):
        notes.append("a log was not closed")
    return found, notes


def work_rows():
    """Names of the rows of work, in a log's order."""
    with open(f"{HERE}/../../predictor/core/work.def") as file:
        rows = (re.match(r"WORK(_MOST)?\((\w+)", line) for line in file)
        return [("most_" if row[1] else "") + row[2] for row in rows if row]


def work(logdump, log, path):
    """What the log knows of work, as text in a file: what pm_score.py reads."""
    with open(path, "w") as out:
        reported = subprocess.run([logdump, "--work", log], stdout=subprocess.PIPE, text=True, errors="replace")
        out.writelines(line + "\n" for line in reported.stdout.splitlines() if not line.startswith("K\t"))
    return reported.returncode


def squeeze(recording):
    """The start of a recording of pm_record.c, where there is one, to its name with .xz; the whole goes."""
    if os.path.exists(recording):
        with open(recording, "rb") as file, open(f"{recording}.xz", "wb") as out:
            out.write(lzma.compress(file.read(RECORDING), preset=1))
        os.remove(recording)


def command(cli, words, good=(0,)):
    """Text of a command of gpuwatch; a RuntimeError with its message where its exit status is not good (1: done, with findings)."""
    env = dict(os.environ)
    env["LD_LIBRARY_PATH"] = ":".join([os.path.join(os.path.dirname(os.path.dirname(cli)), "lib"), env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    reported = subprocess.run([cli, *words], capture_output=True, text=True, env=env)
    if reported.returncode not in good:
        raise RuntimeError(f"gpuwatch {words[0]}: exit status {reported.returncode}: {(reported.stderr or reported.stdout).strip()[-300:]}")
    return reported.stdout


def answer(cli, words, good=(0,)):
    return json.loads(command(cli, words, good))


BASIS = {"none": "no prediction", "cold": "never timed", "warm": "kernel timed", "steady": "same shape timed"}
WORK = {"static": "static analysis", "scaled": "extrapolated", "counted": "measured counters"}


def group(answered, tier="all", work_known="all", length="all", model="gpuwatch"):
    """A row of what `gpuwatch score --json` or replay answered; empty where there is none."""
    return next((one for one in answered["groups"] if (one["model"], one["basis"], one["work"], one["length"])
                 == (model, BASIS.get(tier, tier), WORK.get(work_known, work_known), length)), {})


def keep(path, kept):
    """A log squeezed to what can be carried along: a sixth of it, in a few seconds."""
    with open(path, "rb") as log, lzma.open(kept, "wb", preset=1) as out:
        shutil.copyfileobj(log, out)


def plain(path):
    """The path of a log as it is, also where it was compressed since."""
    if os.path.exists(path) or not os.path.exists(path + ".gz"):
        return path
    with gzip.open(path + ".gz") as squeezed, tempfile.NamedTemporaryFile(suffix=".gwl", delete=False) as out:
        shutil.copyfileobj(squeezed, out)
    return out.name
