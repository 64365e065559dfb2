#!/usr/bin/env python3
"""The second development set (kernels/strangers), each program run once with default options, scored.

usage: strangers.py --strangers DIR --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--jobs N] [--limit S] [--unseal] [--add ROWS.json...] [PROGRAM...]

DIR/PROGRAM: what the target `strangers` builds. Each runs twice under the independent witness (several at a time), then once alone under
the library. Of each, and of the open and the sealed part together: whether its own check passed; whether the counts equal the
witness's (a kernel that the witness counts differently in its two runs is left out: races decide how often it runs); the share of
GPU time with a verdict; of first launches of 5 us and more of a kernel never timed before, at most six configurations of a kernel:
answered, within 25%, within 2x, median error, more than 20x off; the same of launches whose kernel, or whose configuration, had been
timed; and how many intervals held.
Programs of the sealed part are never shown alone, and their logs are removed, unless --unseal is given: README.md of the set says when.
Leaves rows.json (a row for each program shown; the others packed, so that nobody reads them by accident), table.txt and figures.json.
--add takes the rows of earlier runs in, of programs that this one leaves out: for machines that are lent for minutes. Where DIR has no
program, nothing runs, and the rows are summed up. Demanded: every program passes its check, and the counts
are equal. Exit status: 0 all that, 1 not, 77 there is no GPU here, or no program.
"""
import argparse
import base64
import concurrent.futures
import csv
import glob
import json
import math
import os
import re
import statistics
import sys
import time
import zlib

import compare
import figures
import under

HERE = os.path.dirname(os.path.abspath(__file__))
SET = os.path.join(os.path.dirname(os.path.dirname(HERE)), "kernels", "strangers")
SHORTEST = 5000  # ns: shorter launches are not scored
CONFIGURATIONS = 6  # of a kernel, at most, so that none rules the figures
FAR = 20
LONGEST = 30  # s that a program may take
TIERS = ("first", "warm", "steady")


def listed(path=os.path.join(SET, "programs.def")):
    """[(folder, name, seconds, what it exercises)] of the list."""
    with open(path) as file:
        return [(m[1], m[2], float(m[3]), m[4]) for m in re.finditer(r'^PROGRAM\((\w+), (\w+), ([\d.]+), "([^"]*)"\)$', file.read(), re.M)]


def sealed_names(path=os.path.join(SET, "sealed.sha256")):
    """Names of the sealed programs, by the list of their checksums."""
    with open(path) as file:
        return {os.path.splitext(os.path.basename(line.split()[1]))[0] for line in file if line.strip() and not line.startswith("#")}


def launches(cli, log):
    """The launches of a log, in the order of their calls, as dictionaries of text."""
    rows = list(csv.DictReader(under.command(cli, ["export", "--format=csv", "--output=-", log], (0, 1)).splitlines()))
    return sorted(rows, key=lambda row: int(row["call_ns"] or row["start_ns"] or 0))


def configurations(rows):
    """What the launches of a log say of predictions, a row for each kernel, configuration and tier: `first`: its first launch,
    where the kernel had not been timed; `warm` and `steady`: the median over its launches. At most six configurations of a kernel."""
    seen, kernels, found = {}, {}, []
    for row in rows:
        key = (row["mangled"], *(row[name] for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "dynamic_shared")))
        of_kernel = kernels.setdefault(row["mangled"], [])
        if key not in of_kernel:
            of_kernel.append(key)
        if row["duration_ns"] and of_kernel.index(key) < CONFIGURATIONS:
            seen.setdefault(key, []).append(row)
    for key, ones in seen.items():
        def one(tier, of):
            answered = [(float(row["predicted_ns"]) / float(row["duration_ns"]), row) for row in of if row["predicted_ns"]]
            held = [float(row["low_ns"]) <= float(row["duration_ns"]) <= float(row["high_ns"]) for _, row in answered if row["low_ns"] and row["high_ns"]]
            return {"tier": tier, "kernel": of[0]["kernel"][:120], "grid": "x".join(key[1:4]), "block": "x".join(key[4:7]), "launches": len(of),
                    "measured_ns": statistics.median(float(row["duration_ns"]) for row in of), "work": of[0]["work"] or "none",
                    "ratio": statistics.median(ratio for ratio, _ in answered) if answered else None,
                    "error": statistics.median(abs(ratio - 1) for ratio, _ in answered) if answered else None,
                    "intervals": len(held), "held": sum(held) / len(held) if held else None}
        if ones[0]["basis"] in ("", "cold"):
            found.append(one("first", ones[:1]))
        for tier in ("warm", "steady"):
            of = [row for row in ones if row["basis"] == tier]
            if of:
                found.append(one(tier, of))
    return [row for row in found if row["measured_ns"] >= SHORTEST]


def scored(rows):
    """{tier: figures} of rows of configurations; shares are of all, a missing answer is outside."""
    result = {}
    for tier in TIERS:
        of = [row for row in rows if row["tier"] == tier]
        answered = [row for row in of if row["ratio"]]
        count = len(of)
        held = [row["held"] for row in of if row["held"] is not None]
        result[tier] = {"count": count, "answered": len(answered) / count if count else None,
                        "within_25": sum(row["error"] <= 0.25 for row in answered) / count if count else None,
                        "within_2x": sum(0.5 <= row["ratio"] <= 2 for row in answered) / count if count else None,
                        "median_error": statistics.median(row["error"] for row in answered) if answered else None,
                        "far": sum(abs(math.log(row["ratio"])) > math.log(FAR) for row in answered) / len(answered) if answered else None,
                        "coverage": sum(held) / len(held) if held else None}
    return result


def same_counts(witness, again, ours, totals):
    """(whether equal, kernels that vary, lines on what differs): the witness's two counts against ours, and everything measured."""
    vary = {key for key in set(witness) | set(again) if witness[key] != again[key]}
    left = [{key: count for key, count in one.items() if key not in vary} for one in (witness, ours)]
    lines = compare.differences(*(compare.collections.Counter(one) for one in left))
    missing = totals["launched"] - totals["measured"] - totals["invalid"]
    if missing:
        lines.append(f"    {missing} of {totals['launched']} launches not measured")
    return not lines and bool(ours), len(vary), lines


def verdict(report):
    """(GPU seconds, seconds with a verdict, why the others have none) of a report."""
    seconds = report["verdict"]["seconds_by_bound"]
    whole = sum(seconds.values())
    why = [[one["seconds"], one["why"]] for one in report["verdict"].get("without_verdict") or []]
    return whole, whole - seconds["unknown"], why


def parts(rows):
    """{part: [rows]}: all of them, and each part."""
    return {"open": [row for row in rows if not row["sealed"]], "sealed": [row for row in rows if row["sealed"]], "all": rows}


def share(rows, least=0, most=math.inf):
    """Share of GPU time with a verdict, of programs whose GPU time lies between."""
    of = [row for row in rows if row["gpu_seconds"] and least <= row["gpu_seconds"] < most]
    whole = sum(row["gpu_seconds"] for row in of)
    return (sum(row["with_verdict"] for row in of) / whole if whole else None), len(of)


def summary(rows):
    """{part: figures} over rows of programs."""
    result = {}
    for part, of in parts(rows).items():
        shares = [row["with_verdict"] / row["gpu_seconds"] for row in of if row["gpu_seconds"]]
        result[part] = {"programs": len(of), "passed": sum(row["status"] == 0 for row in of), "equal": sum(bool(row["equal"]) for row in of),
                        "launches": sum(row["launches"] for row in of), "gpu_seconds": sum(row["gpu_seconds"] for row in of),
                        "verdict": share(of)[0], "verdict_median": statistics.median(shares) if shares else None,
                        "verdict_long": share(of, 1)[0], "verdict_middle": share(of, 0.2, 1)[0],
                        **{tier: one for tier, one in scored([entry for row in of for entry in row["configurations"]]).items()}}
    return result


def percent(value, digits=0):
    return "-" if value is None else f"{100 * value:.{digits}f}%"


def table(rows, shown):
    """The text that is printed: programs, then both parts."""
    lines = [f"{'PROGRAM':<20} {'CHECK':>6} {'COUNTS':>6} {'LAUNCHES':>8} {'GPU s':>6} {'VERDICT':>7} {'FIRST':>5} {'ANSWERED':>8} {'IN 25%':>6} "
             f"{'IN 2x':>6} {'WARM':>5} {'IN 25%':>6} {'STEADY':>6} {'MEDIAN':>7}"]
    for row in shown:
        one = scored(row["configurations"])
        first, warm, steady = (one[tier] for tier in TIERS)
        lines.append(f"{row['program']:<20} {'ok' if row['status'] == 0 else str(row['status']):>6} {'same' if row['equal'] else 'differ':>6} "
                     f"{row['launches']:>8} {row['gpu_seconds']:>6.2f} {percent(row['with_verdict'] / row['gpu_seconds'] if row['gpu_seconds'] else None):>7} "
                     f"{first['count']:>5} {percent(first['answered']):>8} {percent(first['within_25']):>6} {percent(first['within_2x']):>6} "
                     f"{warm['count']:>5} {percent(warm['within_25']):>6} {steady['count']:>6} {percent(steady['median_error'], 1):>7}")
    lines += ["", f"{'':<34}" + "".join(f"{part:>10}" for part in parts(rows))]
    found = summary(rows)

    def line(title, value):
        lines.append(f"{title:<34}" + "".join(f"{value(found[part]):>10}" for part in found))
    line("programs", lambda one: one["programs"])
    line("check passed", lambda one: one["passed"])
    line("counts equal", lambda one: one["equal"])
    line("launches", lambda one: one["launches"])
    line("GPU seconds", lambda one: f"{one['gpu_seconds']:.1f}")
    line("GPU time with a verdict", lambda one: percent(one["verdict"], 1))
    line("  median program", lambda one: percent(one["verdict_median"], 1))
    line("  programs of 1 s and more", lambda one: percent(one["verdict_long"], 1))
    line("  programs of 0.2 to 1 s", lambda one: percent(one["verdict_middle"], 1))
    for tier in TIERS:
        line(f"{tier}: configurations >= 5 us", lambda one: one[tier]["count"])
        for title, name in (("answered", "answered"), ("within 25%", "within_25"), ("within 2x", "within_2x"), ("median error", "median_error"),
                            (f"more than {FAR}x off, of answered", "far"), ("90% intervals held", "coverage")):
            line(f"  {title}", lambda one: percent(one[tier][name], 1))
    return "\n".join(lines) + "\n"


def reported(rows):
    """Figures of both parts; goals on what must hold for any."""
    result = []
    for part, one in summary(rows).items():
        result += [figures.figure(f"{part}: programs whose check failed", one["programs"] - one["passed"], most=0, n=one["programs"]),
                   figures.figure(f"{part}: programs whose counts differ", one["programs"] - one["equal"], most=0, n=one["programs"]),
                   figures.figure(f"{part}: share of GPU time with a verdict", one["verdict"], n=one["programs"])]
        for tier in TIERS:
            for name in ("answered", "within_25", "within_2x", "median_error", "far", "coverage"):
                result.append(figures.figure(f"{part}: {tier}, {name}", one[tier][name], n=one[tier]["count"]))
    return result


def witness(args, name, turn):
    """Counts of one run under the witness; empty where it failed."""
    folder = f"{args.out}/raw/{name}.{turn}"
    os.makedirs(folder, exist_ok=True)
    toolkit, wheels = args.libraries
    env = {key: value for key, value in os.environ.items() if key not in compare.without_gpuwatch(os.environ)}
    env.update({"LD_LIBRARY_PATH": ":".join(toolkit + wheels + [env.get("LD_LIBRARY_PATH", "")]).rstrip(":"),
                "CUDA_INJECTION64_PATH": f"{args.programs}/oracle.so", "GPU_ORACLE_DIR": folder})
    cupti = [path for one in toolkit + wheels for path in sorted(glob.glob(f"{one}/libcupti.so.1[23]"))]
    if cupti:
        env.setdefault("GPU_ORACLE_CUPTI", cupti[0])
    status = under.run([f"{args.strangers}/{name}"], env, folder, name, 2 * LONGEST)
    return status, compare.read_oracle(folder)[0]


def alone(args, name):
    """One run under the library with default options."""
    folder = f"{args.out}/raw/{name}"
    os.makedirs(folder, exist_ok=True)
    began = time.monotonic()
    status = under.run([f"{args.strangers}/{name}"], under.environment(args.gpuwatch, f"{folder}/log.gwl"), folder, name, LONGEST)
    return status, time.monotonic() - began


def row_of(args, name, sealed, status, wall, counts):
    """A program's row, from its log."""
    folder = f"{args.out}/raw/{name}"
    row = {"program": name, "sealed": sealed, "status": status, "wall_seconds": wall, "equal": False, "vary": 0, "differ": [], "launches": 0,
           "gpu_seconds": 0, "with_verdict": 0, "why": [], "code": [], "degraded": [], "configurations": []}
    ours, totals, notes = compare.read_log(f"{args.programs}/logdump", folder)
    row["degraded"] = notes
    row["launches"] = totals["launched"]
    row["equal"], row["vary"], row["differ"] = same_counts(*counts, ours, totals)
    try:
        report = under.answer(args.cli, ["report", "--json", f"{folder}/log.gwl"], (0, 1))
        row["gpu_seconds"], row["with_verdict"], row["why"] = verdict(report)
        row["code"] = [[one["launches"], one["outcome"], one["reason"], (one["name"] or "")[:80]] for one in report["code_analysis"]]
        row["configurations"] = configurations(launches(args.cli, f"{folder}/log.gwl"))
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        row["degraded"].append(f"{type(error).__name__}: {error}"[:300])
    if sealed and not args.unseal:
        for path in glob.glob(f"{args.out}/raw/{name}*/*"):
            os.remove(path)
    return row


def pack(rows):
    return base64.b64encode(zlib.compress(json.dumps(rows).encode(), 9)).decode()


def unpack(path):
    """All rows of a rows.json."""
    with open(path) as file:
        left = json.load(file)
    return left["programs"] + json.loads(zlib.decompress(base64.b64decode(left["sealed"])))


def conclude(args, rows):
    have = {row["program"] for row in rows}
    for path in args.add:
        rows += [row for row in unpack(path) if row["program"] not in have]
        have |= {row["program"] for row in rows}
    shown = [row for row in rows if args.unseal or not row["sealed"]]
    text = table(rows, shown)
    print(text)
    for row in shown:
        for line in row["differ"]:
            print(f"{row['program']}: {line.strip()}")
    with open(f"{args.out}/table.txt", "w") as out:
        out.write(text)
    with open(f"{args.out}/rows.json", "w") as out:
        json.dump({"summary": summary(rows), "programs": shown, "sealed": pack([row for row in rows if row not in shown])}, out)
    result = reported(rows)
    figures.write(args.out, result)
    return 0 if figures.met(result) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("strangers", "programs", "gpuwatch", "cli", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--jobs", type=int, default=6, help="programs at a time under the witness")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which no further program starts")
    parser.add_argument("--unseal", action="store_true", help="show the programs of the sealed part, too")
    parser.add_argument("--add", action="append", default=[], metavar="ROWS.json", help="rows of an earlier run")
    parser.add_argument("only", nargs="*", metavar="PROGRAM")
    args = parser.parse_args()
    for name in ("strangers", "programs", "gpuwatch", "cli", "out"):  # programs run in OUT
        setattr(args, name, os.path.abspath(getattr(args, name)))
    began = time.monotonic()
    names = [name for _, name, _, _ in listed() if os.access(f"{args.strangers}/{name}", os.X_OK) and (not args.only or name in args.only)]
    os.makedirs(args.out, exist_ok=True)
    if args.add and not names:
        return conclude(args, [])
    reason = compare.why_no_gpu() or (None if names else f"no programs in {args.strangers}: cmake --build build --target strangers")
    if reason:
        print(f"SKIP: {reason}")
        return 77
    args.libraries = compare.library_folders()
    sealed, rows = sealed_names(), []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        counts = {name: [pool.submit(witness, args, name, turn) for turn in (1, 2)] for name in names}
        counts = {name: [one.result()[1] for one in both] for name, both in counts.items()}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        later = []
        for name in names:
            if time.monotonic() - began > args.limit:
                print(f"{name} and what follows it was not reached in {args.limit:g} s")
                break
            later.append(pool.submit(row_of, args, name, name in sealed, *alone(args, name), counts[name]))
        rows = [one.result() for one in later]
    return conclude(args, rows)


if __name__ == "__main__":
    sys.exit(main())
