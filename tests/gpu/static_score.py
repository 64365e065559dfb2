#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What code and arguments alone tell of the development set, beside what was counted of it.

usage: static_score.py [--gpuwatch PROGRAM] [--device NAME|FILE] [--jobs N] [--dump FILE] --program FILE --args ARGS.jsonl TABLE.csv

TABLE.csv: of kernels/workloads/table.py. FILE: gpuwatch-workloads, of which `gpuwatch inspect` reads each
kernel's machine code. ARGS.jsonl: what `gpuwatch-workloads --json --print-args` printed, for the values of
the arguments. Prints how many kernels' instruction counts equal the counters, and why the others are not
told; then every model on work that the code told, beside the same on counted work (as
score_models.py has it), on the same rows. Nothing is fitted. --dump keeps the answers, a JSON line for each row.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys

import score_models

# Rows that have a counter of the same meaning; those of the first line count warps, not threads.
WARP_ROWS = ["inst_executed", "pipe_fma", "pipe_alu", "pipe_fp64", "pipe_xu", "pipe_lsu", "pipe_uniform", "pipe_tensor"]
THREAD_ROWS = ["thread_inst", "fp32_inst", "fp32_fma", "fp64_inst", "fp64_fma", "fp16_inst", "int_inst", "ldst_inst"]
MEMORY_ROWS = ["global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
               "shared_wavefronts", "l2_read_bytes", "l2_write_bytes", "dram_read_bytes", "dram_write_bytes"]
FLOP_ROWS = ["tensor_fp16_flop", "tensor_tf32_flop", "tensor_int8_flop", "tensor_fp64_flop"]


def arguments(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    return {(row["workload"], str(row["size"]), str(row["launch"]), str(row["n"])): row["args"] for row in rows}


def key_of(row):
    return row["workload"], row["size"], row["launch"], row["n"]


def inspect(args, row, values):
    """The answer of `gpuwatch inspect` for the row's launch."""
    launch = (f"grid={row['grid']} block={row['block']} shared={row['dynamic_shared']} "
              f"args={','.join('bytes:' + value for value in values)}")
    told = subprocess.run([args.gpuwatch, "inspect", f"--kernel=={row['kernel']}", f"--arch={args.arch}", f"--device={args.device}",
                           f"--launch={launch}", "--json", args.program], text=True, capture_output=True)
    if told.returncode:
        sys.exit(f"static_score.py: {row['workload']}:{row['size']}: gpuwatch inspect failed: {told.stderr.strip()}")
    launches = [one for image in json.loads(told.stdout)["images"] for one in image.get("launches", [])]
    if len(launches) != 1:
        sys.exit(f"static_score.py: {row['kernel']}: {len(launches)} kernels of that name, not one")
    return launches[0]


def work_of(answer):
    return (answer.get("static") or {}).get("work", {})


def reason_of(answer):
    """Why the instruction counts are not settled; None: they are."""
    static = answer.get("static")
    return answer["why_not"] or static["why_not"] or static["not_settled"]


def error(told, counted):
    if counted == 0:
        return 0.0 if told == 0 else float("inf")
    return abs(told / counted - 1)


def percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def compare(rows, answers, field, settled):
    """Errors of the rows with a counter for this field; of settled ones only, or of all."""
    errors, without = [], 0
    for row, answer in zip(rows, answers):
        if row.get(field, "") == "" or (settled and reason_of(answer)):
            continue
        if float(row[field]) == 0 and work_of(answer).get(field, {}).get("value", 0) == 0:
            continue  # nothing on both sides proves nothing
        if field in work_of(answer):
            errors.append(error(work_of(answer)[field]["value"], float(row[field])))
        else:
            without += 1
    return errors, without


def rows_table(rows, answers, fields, settled):
    print(f"{'ROW':<24}{'TOLD':>6}{'NOT TOLD':>10}{'EXACT':>8}{'IN 1%':>8}{'IN 10%':>8}{'MEDIAN ERROR':>14}")
    for field in fields:
        errors, without = compare(rows, answers, field, settled)
        if not errors and not without:
            continue
        middle = f"{statistics.median(errors):.2%}" if errors else "-"
        shares = "".join(f"{percent(sum(e <= limit for e in errors), len(errors)):>8}" for limit in (1e-9, 0.01, 0.1))
        print(f"{field:<24}{len(errors):>6}{without:>10}{shares}{middle:>14}")


def by_kernel(rows, answers):
    """{kernel: [(row, answer)]}: a kernel counts as exact when all its launches are."""
    kernels = {}
    for row, answer in zip(rows, answers):
        kernels.setdefault(row["kernel"], []).append((row, answer))
    return kernels


def exactness(rows, answers):
    kernels = by_kernel(rows, answers)
    settled = {k for k, found in kernels.items() if not any(reason_of(a) for _, a in found)}

    def within(names, limit):
        return sum(all("inst_executed" in work_of(a) and
                       error(work_of(a)["inst_executed"]["value"], float(r["inst_executed"])) <= limit
                       for r, a in kernels[name]) for name in names)
    count = sum(not reason_of(answer) for answer in answers)
    print(f"{len(kernels)} kernels in {len(rows)} launches with counters")
    print(f"settled by arguments and indices alone: {len(settled)} kernels ({percent(len(settled), len(kernels))}) in all "
          f"their launches; {count} launches ({percent(count, len(rows))})")
    print(f"inst_executed equal to the counter in all launches of a settled kernel: {within(settled, 0)} of {len(settled)} "
          f"({percent(within(settled, 0), len(settled))}); within 1%: {within(settled, 0.01)}")
    reasons = {}
    for row, answer in zip(rows, answers):
        if reason_of(answer):
            reasons.setdefault(reason_of(answer), {}).setdefault(row["kernel"], []).append(row)
    print("\nwhy the others are not settled")
    for why, found in sorted(reasons.items(), key=lambda item: -sum(map(len, item[1].values()))):
        print(f"  {why}: {sum(map(len, found.values()))} launches of {', '.join(sorted(found))}")
    print("\nsettled, and not equal to the counter: told over counted")
    for name in sorted(settled):
        wrong = [(float(r["inst_executed"]), work_of(a)["inst_executed"], r) for r, a in kernels[name]
                 if work_of(a)["inst_executed"]["value"] != float(r["inst_executed"])]
        for counted, told, row in wrong[:1]:
            print(f"  {name}: {told['value'] / counted:.6f} at {row['workload']}:{row['size']} (confidence "
                  f"{told['confidence']:.2f}); {len(wrong)} of its {len(kernels[name])} launches")


def static_pairs(rows, answers):
    """Per model: (predicted, measured) for each row."""
    pairs, reasons = {}, {}
    for row, answer in zip(rows, answers):
        for model in (answer.get("static") or {}).get("models", []):
            pairs.setdefault(model["model"], {})[key_of(row)] = model["seconds"]
            if model["seconds"] is None:
                reasons.setdefault(model["model"], []).append(model["reason"])
    measured = {key_of(row): float(row["seconds"]) for row in rows}
    return {m: [(told.get(k), measured[k]) for k in measured] for m, told in pairs.items()}, reasons


def model_line(source, s, why):
    share = score_models.percent
    ratio = "-" if s["geometric_ratio"] is None else f"{s['geometric_ratio']:.2f}"
    print(f"{source:<28}{s['rows']:>6}{s['answered']:>10}{share(s['within_25']):>8}{share(s['within_2x']):>8}"
          f"{share(s['median_error']):>14}{ratio:>7}  {why}")


def models(rows, answers, counted):
    pairs, reasons = static_pairs(rows, answers)
    scores, _ = score_models.score(rows, counted)
    print(f"{'MODEL, WORK':<28}{'ROWS':>6}{'ANSWERED':>10}{'IN 25%':>8}{'IN 2x':>8}{'MEDIAN ERROR':>14}{'P/M':>7}  WHY NOT ALL, MOSTLY")
    for model, told in pairs.items():
        why = statistics.mode(reasons[model]) if model in reasons else ""
        model_line(f"{model}, static", score_models.summary(told), why)
        model_line(f"{model}, counted", scores[model]["all"], scores[model]["all"].get("reason", ""))


def confidences(rows, answers):
    """Whether a higher confidence means a smaller error, for `bounds`."""
    groups = {}
    for row, answer in zip(rows, answers):
        for model in (answer.get("static") or {}).get("models", []):
            if model["model"] == "bounds" and model["seconds"]:
                groups.setdefault(round(model["confidence"], 2), []).append((model["seconds"], float(row["seconds"])))
    print("\nbounds on static work, by the confidence of its estimate")
    for sure, pairs in sorted(groups.items(), reverse=True):
        model_line(f"confidence {sure:.2f}", score_models.summary(pairs), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuwatch", default=f"{score_models.TOP}/build/bin/gpuwatch")
    parser.add_argument("--device", default=f"{score_models.TOP}/calib/profiles/nvidia-h200.json")
    parser.add_argument("--arch", type=int, default=90, help="the GPU's compute capability")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", required=True)
    parser.add_argument("--args", required=True)
    parser.add_argument("--dump")
    parser.add_argument("table")
    args = parser.parse_args()
    with open(args.table, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["seconds"] and row["inst_executed"]]
    values = arguments(args.args)
    lacking = [key_of(row) for row in rows if key_of(row) not in values]
    if lacking or not rows:
        sys.exit(f"static_score.py: {args.args} has no arguments for {lacking[:1] or 'any row'}: take it from the program that "
                 "the table is of")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        answers = list(pool.map(lambda row: inspect(args, row, values[key_of(row)]), rows))
    if args.dump:
        with open(args.dump, "w") as file:
            for row, answer in zip(rows, answers):
                file.write(json.dumps({"key": key_of(row), "answer": answer}, separators=(",", ":")) + "\n")
    exactness(rows, answers)
    print("\nrows of warp instructions, launches that are settled")
    rows_table(rows, answers, WARP_ROWS + FLOP_ROWS, True)
    print("\nrows of thread instructions, launches that are settled")
    rows_table(rows, answers, THREAD_ROWS, True)
    print("\nrows of memory, all launches")
    rows_table(rows, answers, MEMORY_ROWS, False)
    print("\nmodels, on the same rows; a row without an answer is a miss of both shares")
    fields = score_models.work_fields()
    models(rows, answers, score_models.ask(args, [score_models.launch_of(row, fields) for row in rows]))
    confidences(rows, answers)


if __name__ == "__main__":
    main()
