#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First launches of programs of Python, predicted from code alone: no counters, a fresh process each.

usage: first_launches.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--program NAME...]

NAME: a script of py/ (torch_step, cupy_ops, jax_jit, triton_add), or a program of py/programs.py, which runs for --seconds.
Of each: of how many kernels the code was found, decoded and reported something, and why of the others not; how many configurations
had their first launch predicted before any launch of the kernel had been timed, from static work alone; and the share of
these within 25% and 2x, for gpuwatch and each model, where no answer is a miss. gpuwatch's own prediction also knows the
typical factor of the program's earlier kernels, a model's knows nothing but code and the GPU's profile. Leaves logs, scores,
reports and figures, and what compilers wrote into their caches, in OUT. Demanded: a program ends well, every launch is
measured, its predictions replay with the same bits, and of every configuration the code says something or the log
says why not. Exit status: 0 all that, 1 not, 77 there is no GPU here, or no package for any of the programs.
"""
import argparse
import json
import os
import shutil
import sys

import compare
import figures
import under

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = ("torch_step", "triton_add", "cupy_ops", "jax_jit", "train", "conv")


def package(name):
    return compare.PYTHON.get(name, "jax" if name == "jax" else "torch")


def command(args, name):
    python = shutil.which("python3") or sys.executable
    if name in compare.PYTHON:
        return [python, f"{HERE}/py/{name}.py"]
    return [python, f"{HERE}/py/programs.py", name, f"{args.seconds:g}", "15"]


def caches(out):
    """Where compilers that work while the program runs leave their code, empty: nothing was compiled before."""
    folder = f"{out}/cache"
    shutil.rmtree(folder, ignore_errors=True)
    return {"TRITON_CACHE_DIR": f"{folder}/triton", "CUPY_CACHE_DIR": f"{folder}/cupy", "XLA_FLAGS": f"--xla_dump_to={folder}/xla"}


def only_code(folder):
    """Leave of the caches what may hold device code."""
    for path, _, names in os.walk(folder):
        for name in names:
            if not name.endswith((".cubin", ".ptx", ".fatbin")):
                os.unlink(f"{path}/{name}")


def shares(rows):
    """{model: (within 25%, within 2x)} of the predictions of these rows."""
    found = {}
    for model in rows[0]["predicted"] if rows else ():
        ratios = [row["predicted"][model] / row["measured"] if row["predicted"][model] else 0 for row in rows]
        found[model] = (sum(abs(ratio - 1) <= 0.25 for ratio in ratios) / len(rows), sum(0.5 <= ratio <= 2 for ratio in ratios) / len(rows))
    return found


def read(code):
    """Whether the code of a row of the report was found and decoded."""
    return code["analysed_launches"] > 0 or (code["reason"] or {}).get("outcome") in ("data-dependent", "unsupported", "timed out")


def judged(name, score, kernels, configurations):
    """Figures of a program's log: its score, and the reports of its kernels and of their configurations."""
    first = [row for row in score["configurations"] if row["measured"] and (row["basis"], row["work"]) == ("never timed", "static analysis")]
    kernels, codes = ([row["code_analysis"] for row in report["kernels"]] for report in (kernels, configurations))
    result = [
        figures.figure(f"{name}: kernels whose code was found and decoded", sum(map(read, kernels)), n=len(kernels)),
        figures.figure(f"{name}: kernels of which the code reported something", sum(one["analysed_launches"] > 0 for one in kernels), n=len(kernels)),
        figures.figure(f"{name}: configurations reported by their code", sum(one["analysed_launches"] > 0 for one in codes), n=len(codes)),
        figures.figure(f"{name}: configurations of whose code nothing is said",
                       sum(not one["analysed_launches"] and one["reason"] is None for one in codes), most=0),
        figures.figure(f"{name}: first launches predicted from code alone", len(first), n=len(codes))]
    for model, (close, double) in shares(first).items():
        result.append(figures.figure(f"{name}: {model}, from code alone, within 25%", close, n=len(first)))
        result.append(figures.figure(f"{name}: {model}, from code alone, within 2x", double, n=len(first)))
    return result


def reasons(report):
    """Why code reported nothing, or not all, most launches first."""
    for one in sorted(report["code_analysis"], key=lambda one: -(one["launches"] or 0)):
        print(f"      {one['launches']} launches of {one['configurations']} configurations, {one['outcome']}: {one['reason']} ({(one['name'] or '')[:70]})")


def measure(args, name):
    log = f"{args.out}/{name}.gwl"
    env = under.environment(args.gpuwatch, log, {"GPUWATCH_COUNTERS": "off", **args.caches}, packages=True)
    status = under.run(command(args, name), env, args.out, name, args.seconds + 60)
    found, notes = under.totals(f"{args.programs}/logdump", log)
    found = found or {}
    print(f"{name}: exit status {status}; " + ("; ".join(notes) or "nothing degraded"), flush=True)
    result = [figures.figure(f"{name}: exit status", status if isinstance(status, int) else None, most=0, least=0),
              figures.figure(f"{name}: launches measured or known to have impossible times",
                             found["measured"] + found["invalid"] if found else None, least=found.get("launched") or 1)]
    same = 0
    try:
        score = under.answer(args.cli, ["score", "--by=configuration", "--json", log])
        report = under.answer(args.cli, ["report", "--json", log])
        configurations = under.answer(args.cli, ["report", "--by=config", "--json", log])
        for file, text in (("score", score), ("report", report)):
            with open(f"{args.out}/{name}.{file}.json", "w") as out:
                json.dump(text, out)
        result += judged(name, score, report, configurations)
        reasons(report)
        print(under.command(args.cli, ["replay", "--check", log]).strip())
        same = 1
    except (RuntimeError, OSError, ValueError) as error:
        print(f"{name}: {error}")
    return result + [figures.figure(f"{name}: the log replays with the same bits", same, least=1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--program", action="append", help=f"(default {' '.join(DEFAULT)})")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    for name in ("programs", "gpuwatch", "cli", "out"):  # programs run in OUT
        setattr(args, name, os.path.abspath(getattr(args, name)))
    os.makedirs(args.out, exist_ok=True)
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.caches = caches(args.out)
    python, found = shutil.which("python3") or sys.executable, []
    for name in args.program or DEFAULT:
        if compare.module_present(python, package(name)):
            found += measure(args, name)
        else:
            print(f"SKIP {name}: Python module {package(name)} is not installed")
    only_code(f"{args.out}/cache")
    if not found:
        return 77
    return figures.conclude(args.out, found)


if __name__ == "__main__":
    sys.exit(main())
