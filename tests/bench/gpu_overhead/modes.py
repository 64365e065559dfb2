# SPDX-License-Identifier: Apache-2.0
"""How a program is run in each mode, and what was recorded of it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu"))
import compare  # noqa: E402  (finds the GPU and the CUDA libraries)


# Audit mode with and without sampled counters; with them, as often as can be.
AUDITED = {"pm": {"GPUWATCH_COUNTERS": "pm", "GPUWATCH_BUDGET": "100"}, "timed": {"GPUWATCH_COUNTERS": "off"}}


def libraries():
    toolkit, wheels = compare.library_folders()
    return toolkit + wheels


def environment(mode, args, folders, folder):
    env = dict(os.environ)
    for name in compare.without_gpuwatch(env):
        env.pop(name)
    env["LD_LIBRARY_PATH"] = ":".join(folders + [env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    if mode == "plain":
        env.update(CUDA_INJECTION64_PATH=f"{args.programs}/oracle.so", GPU_ORACLE_TABLE="0",
                   GPU_ORACLE_DIR=folder)
        cupti = [f"{lib}/{name}" for lib in folders for name in ("libcupti.so.13", "libcupti.so.12")
                 if os.path.exists(f"{lib}/{name}")]
        if cupti:
            env.setdefault("GPU_ORACLE_CUPTI", cupti[0])
    elif mode != "bare":
        env.update(LD_PRELOAD=args.gpuwatch, GPUWATCH_MODE="audit" if mode in AUDITED else mode,
                   GPUWATCH_OUT=f"{folder}/%p.gwl", **AUDITED.get(mode, {}))
    return env


def recorded(mode, args, folder):
    """Launches in what the observer left; in audit mode those that were also measured."""
    if mode == "plain":
        return compare.read_oracle(folder)[1]["records"]
    totals = compare.read_log(f"{args.programs}/logdump", folder)[1]
    return totals["measured" if mode == "audit" or mode in AUDITED else "launched"]
