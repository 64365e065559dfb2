#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What code and arguments alone tell of the development set, beside what was counted of it.

usage: static_score.py [--gpuwatch PROGRAM] [--device NAME|FILE] [--jobs N] [--dump FILE] --program FILE --args ARGS.jsonl TABLE.csv

TABLE.csv: of kernels/workloads/table.py. FILE: gpuwatch-workloads, of which `gpuwatch inspect` reads each
kernel's machine code. ARGS.jsonl: what `gpuwatch-workloads --json --print-args` printed, for the values of
the arguments. Prints how many kernels' instruction counts equal the counters, and why the others are not
reported; then every model on work that the code reported, beside the same on counted work (as
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
    reported = subprocess.run([args.gpuwatch, "inspect", f"--kernel=={row['kernel']}", f"--arch={args.arch}", f"--device={args.device}",
                           f"--launch={launch}", "--json", args.program], text=True, capture_output=True)
    if reported.returncode:
        sys.exit(f"static_score.py: {row['workload']}:{row['size']}: gpuwatch inspect failed: {reported.stderr.strip()}")
    launches = [one for image in json.loads(reported.stdout)["images"] for one in image.get("launches", [])]
    if len(launches) != 1:
        sys.exit(f"static_score.py: {row['kernel']}: {len(launches)} kernels of that name, not one")
    return launches[0]


def work_of(answer):
    return (answer.get("static") or {}).get("work", {})


def reason_of(answer):
    """Why the instruction counts are not settled; None: they are."""
    static = answer.get("static")
    return answer["why_not"] or static["why_not"] or static["not_settled"]


def error(reported, counted):
    if counted == 0:
        return 0.0 if reported == 0 else float("inf")
    return abs(reported / counted - 1)


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
        shares = "".join(f"{percent(sum(e <= limit for e in errors), len(errors)):>8}" for limit in (5e-9, 0.01, 0.1))
        print(f"{field:<24}{len(errors):>6}{without:>10}{shares}{middle:>14}")


def by_kernel(rows, answers):
    """{kernel: [(row, answer)]}: a kernel counts as exact when all its launches are."""
    kernels = {}
    for row, answer in zip(rows, answers):
        kernels.setdefault(row["kernel"], []).append((row, answer))
    return kernels


def equal(row, answer):
    """Whether warp instructions are those counted, in the nine digits that the table keeps."""
    return f"{work_of(answer)['inst_executed']['value']:.9g}" == f"{float(row['inst_executed']):.9g}"


def branching(answer):
    return answer["divergent"]["most"] > 0


def exactness(rows, answers):
    kernels = by_kernel(rows, answers)
    settled = {k for k, found in kernels.items() if not any(reason_of(a) for _, a in found)}
    launches = [(r, a) for r, a in zip(rows, answers) if not reason_of(a)]
    print(f"{len(kernels)} kernels in {len(rows)} launches with counters")
    print(f"control depends on arguments and indices alone: {len(settled)} kernels ({percent(len(settled), len(kernels))}) in all "
          f"their launches; {len(launches)} launches ({percent(len(launches), len(rows))})")
    right = sum(all(equal(r, a) for r, a in kernels[name]) for name in settled)
    close = sum(all(error(work_of(a)["inst_executed"]["value"], float(r["inst_executed"])) <= 0.01 for r, a in kernels[name])
                for name in settled)
    print(f"of these, inst_executed equal to the counter in every launch: {right} kernels ({percent(right, len(settled))}); "
          f"within 1%: {close} ({percent(close, len(settled))})")
    every = [(r, a) for r, a in launches if work_of(a)["inst_executed"]["confidence"] == 1]
    for title, part in (("every warp covered, no branch diverges", [x for x in every if not branching(x[1])]),
                        ("every warp covered, branches diverge", [x for x in every if branching(x[1])]),
                        ("scaled up from chosen warps", [x for x in launches if x not in every])):
        same = sum(equal(r, a) for r, a in part)
        print(f"  {title}: equal in {same} of {len(part)} launches ({percent(same, len(part))})")
    reasons = {}
    for row, answer in zip(rows, answers):
        if reason_of(answer):
            reasons.setdefault(reason_of(answer), {}).setdefault(row["kernel"], []).append(row)
    print("\nwhy the others are not settled")
    for why, found in sorted(reasons.items(), key=lambda item: -sum(map(len, item[1].values()))):
        print(f"  {why}: {sum(map(len, found.values()))} launches of {', '.join(sorted(found))}")
    print("\nsettled, and not equal to the counter; the worst launch of each kernel")
    print(f"{'KERNEL':<20}{'LAUNCHES':>9}{'TOLD/COUNTED':>14}{'CONFIDENCE':>12}{'COUNTED - TOLD':>16}{'DIVERGENT':>12}")
    for name in sorted(settled):
        wrong = [(float(r["inst_executed"]), work_of(a)["inst_executed"], a) for r, a in kernels[name] if not equal(r, a)]
        if wrong:
            counted, reported, answer = max(wrong, key=lambda w: error(w[1]["value"], w[0]))
            print(f"{name:<20}{len(wrong):>4} of {len(kernels[name]):<2}{reported['value'] / counted:>13.6f}{reported['confidence']:>12.2f}"
                  f"{counted - reported['value']:>16.0f}{answer['divergent']['most']:>12.0f}")


def static_pairs(rows, answers):
    """Per model: (predicted, measured) for each row."""
    pairs, reasons = {}, {}
    for row, answer in zip(rows, answers):
        for model in (answer.get("static") or {}).get("models", []):
            pairs.setdefault(model["model"], {})[key_of(row)] = model["seconds"]
            if model["seconds"] is None:
                reasons.setdefault(model["model"], []).append(model["reason"])
    measured = {key_of(row): float(row["seconds"]) for row in rows}
    return {m: [(reported.get(k), measured[k]) for k in measured] for m, reported in pairs.items()}, reasons


def model_line(source, s, why):
    share = score_models.percent
    ratio = "-" if s["geometric_ratio"] is None else f"{s['geometric_ratio']:.2f}"
    print(f"{source:<28}{s['rows']:>6}{s['answered']:>10}{share(s['within_25']):>8}{share(s['within_2x']):>8}"
          f"{share(s['median_error']):>14}{ratio:>7}  {why}")


def models(title, rows, answers, counted):
    print(f"\nmodels, {title}; a row without an answer is a miss of both shares")
    pairs, reasons = static_pairs(rows, answers)
    scores, _ = score_models.score(rows, counted)
    print(f"{'MODEL, WORK':<28}{'ROWS':>6}{'ANSWERED':>10}{'IN 25%':>8}{'IN 2x':>8}{'MEDIAN ERROR':>14}{'P/M':>7}  WHY NOT ALL, MOSTLY")
    for model, reported in pairs.items():
        why = statistics.mode(reasons[model]) if model in reasons else ""
        model_line(f"{model}, static", score_models.summary(reported), why)
        model_line(f"{model}, counted", scores[model]["all"], scores[model]["all"].get("reason", ""))


def whole(answer):
    """Whether instructions are settled and every global access's sectors are reported."""
    return not reason_of(answer) and {"global_load_sectors", "global_store_sectors"} <= work_of(answer).keys()


def confidences(rows, answers):
    """Whether a confidence is the share within 25%, for `bounds`: by tenths of it."""
    groups = {}
    for row, answer in zip(rows, answers):
        for model in (answer.get("static") or {}).get("models", []):
            if model["model"] == "bounds" and model["seconds"]:
                groups.setdefault(int(model["confidence"] * 10) / 10, []).append((model["seconds"], float(row["seconds"])))
    print("\nbounds on static work, by the confidence of its estimate")
    for sure, pairs in sorted(groups.items(), reverse=True):
        model_line(f"confidence from {sure:.1f}", score_models.summary(pairs), "")


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
    fields = score_models.work_fields()
    counted = score_models.ask(args, [score_models.launch_of(row, fields) for row in rows])
    models("all launches", rows, answers, counted)
    part = [reported for reported in zip(rows, answers, counted) if whole(reported[1])]
    if part:
        models("launches whose instructions are settled and whose global sectors are reported", *zip(*part))
    confidences(rows, answers)


if __name__ == "__main__":
    main()
