#!/usr/bin/env python3
"""readme.py GPUWATCH README [--update]: run each `$ gpuwatch ...` line of the README's code blocks
and compare what it prints with what stands below it; --update writes the outputs anew."""
import os
import re
import shlex
import subprocess
import sys

gpuwatch, path, update = os.path.abspath(sys.argv[1]), sys.argv[2], "--update" in sys.argv
folder = os.path.dirname(path)
text = open(path, encoding="utf-8").read()
wrong = 0


def rerun(block):
    global wrong
    first, _, shown = block.group(1).partition("\n")
    command = shlex.split(first[2:])
    part = re.search(r" \| (head|tail) -(\d+)$", first)
    if part:
        command = command[:-3]
    out = subprocess.run([gpuwatch] + command[1:], capture_output=True, text=True, cwd=folder)
    if out.returncode or out.stderr:
        sys.exit(f"{first}: status {out.returncode}: {out.stderr}")
    got = out.stdout
    if part:
        lines, most = got.splitlines(True), int(part.group(2))
        got = "".join(lines[:most] if part.group(1) == "head" else lines[-most:])
    got = "\n".join(line.rstrip() for line in got.splitlines()) + "\n"
    if got != shown:
        wrong += 1
        if not update:
            print(f"{first}: the README shows\n{shown}\nbut it prints\n{got}")
    return "```\n" + first + "\n" + got + "```\n"


new = re.sub(r"```\n(\$ gpuwatch .*?)```\n", rerun, text, flags=re.S)
if update:
    open(path, "w", encoding="utf-8").write(new)
elif wrong:
    sys.exit(1)
if "$ gpuwatch" not in text:
    sys.exit("the README shows no command")
