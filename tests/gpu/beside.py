#!/usr/bin/env python3
"""Beside another tool: does it see with us all that it sees without, and do we still count every
launch? Each tool looks at a program bare and with gpuwatch in each mode (`pm`: audit with counters).

  torch-profiler  a PyTorch program that profiles itself, from its begin (`early`) or later
  ncu             Nsight Compute around a program
  sanitizer       compute-sanitizer around a program, a good one and one that writes where it must not

Demanded: what the tool and the program say is the same, and so is the exit status; at most one line
of ours on standard error; the same number of launches in every log; and when torch.profiler has
gone, mode audit times launches by activity again and, where they are asked for, samples counters. Injected, gpuwatch is libcupti's one
subscriber and can't see another come: there only the program's own result is demanded
(docs/user/other-profilers.md); the other two tools inject themselves.
  beside.py --programs DIR --gpuwatch LIBRARY --out DIR [--jobs N]
Exit status: 0 passed, 1 failed, 77 there is no GPU here or no such tool, 2 wrong use."""
import concurrent.futures
import csv
import os
import re
import shutil
import subprocess
import sys

import compare

MODES = ("audit", "inject", "watch", "count", "pm")
BARE_AGAIN = 2
NCU = ["--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none",
       "--metrics", "gpu__time_duration.sum,smsp__inst_executed.sum"]
# ncu puts its own libraries in the place of LD_PRELOAD: gpuwatch joins them inside, as `gpuwatch run` does; the loader notes it.
WITHIN = ["sh", "-c", 'test -z "$WITHIN" || export LD_DEBUG=files LD_DEBUG_OUTPUT="${GPUWATCH_OUT%/*}/loader" '
          'LD_PRELOAD="$WITHIN${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$0" "$@"']


def read(runner, case, mode, name):
    with open(f"{runner.folder(case, mode)}/{name}", errors="replace") as f:
        return f.read()


def program_lines(text):
    """What the program under a tool printed."""
    return [line for line in text.splitlines() if re.match(r"\w+: kernels \d+ counted ", line)]


def torch_view(text, mode):
    lines = [line for line in text.splitlines() if mode != "inject" or line.startswith("sum")]
    seen = any(line.split()[0].isdigit() for line in lines if line.split())
    return lines, seen or mode == "inject"


def ncu_view(text, _mode):
    """The kernels in their order, what was counted of each, and whether each has a time."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = [row for row in csv.DictReader(lines[start:]) if row["ID"] and row["ID"].isdigit()]
    view = [" ".join(row.get(name) or "none" for name in ("Kernel Name", "Grid Size", "Block Size",
                                                          "smsp__inst_executed.sum")) for row in rows]
    timed = all(float(row["gpu__time_duration.sum"].replace(",", "")) > 0 for row in rows)
    return program_lines(text) + view, bool(rows) and timed


def sanitizer_view(text, _mode):
    """Its findings, without addresses; whose frames a call passed through is not one."""
    found = [re.sub(r"0x[0-9a-f]+", "#", line) for line in text.splitlines()
             if line.startswith("=========") and "Frame" not in line and "nearest allocation" not in line]
    return program_lines(text) + found, any("ERROR SUMMARY" in line for line in found)


def came_back(runner, case, mode):
    """After torch.profiler has gone: are the launches of mode audit timed by activity?"""
    begin, kernels = (int(word) for word in read(runner, case, mode, "last").split())
    with open(f"{runner.folder(case, mode)}/dump.txt", "w") as out:
        subprocess.run([runner.args.logdump, "--launches"] + logs(runner, case, mode), stdout=out)
    timed = sum(1 for line in read(runner, case, mode, "dump.txt").splitlines()
                if line.startswith("L\t") and int(line.split("\t")[2]) >= begin)
    return [] if kernels and timed >= kernels else \
        [f"{mode}: {timed} launches timed by activity after torch.profiler had gone, of {kernels} or more"]


def logs(runner, case, mode):
    folder = runner.folder(case, mode)
    return sorted(f"{folder}/{name}" for name in os.listdir(folder) if ".gwl" in name)


def loaded(runner, case, mode):
    """Under ncu: was the library in the program? By what the loader noted."""
    folder = runner.folder(case, mode)
    name = os.path.basename(runner.args.gpuwatch)
    return any(re.search(rf"calling init: .*{re.escape(name)}", read(runner, case, mode, path))
               for path in os.listdir(folder) if path.startswith("loader."))


def modes_of(case):
    return [mode for mode in MODES if mode != "inject" or case.name.startswith("torch")]


def run(runner, chosen, jobs, wanted=lambda mode: True):
    """Exit status by case and mode, of the requested modes."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {(case.name, mode): pool.submit(runner.run, case, mode)
                   for case, _ in chosen for mode in filter(wanted, ["bare"] + modes_of(case))}
    return {key: future.result() for key, future in futures.items()}


def bare_again(runner, case, view, status):
    """Exit status of the tool alone; where it fails without us, which says nothing of us, it is run again."""
    for _ in range(BARE_AGAIN):
        if view(read(runner, case, "bare", "stdout"), "bare")[1]:
            break
        print(f"     {case.name} bare: exit status {status}, the tool saw nothing, or not all; once more: "
              + compare.last_line(read(runner, case, "bare", "stdout") + read(runner, case, "bare", "stderr")))
        status = runner.run(case, "bare")
    return status


def judge(runner, case, view, statuses):
    """What is wrong, as lines; nothing when all is well."""
    wanted = read(runner, case, "bare", "stdout")
    wrong, launched = [], {}
    if not view(wanted, "bare")[1]:
        return [f"bare: exit status {statuses['bare']}, the tool saw nothing: "
                + compare.last_line(wanted + read(runner, case, "bare", "stderr"))]
    for mode in modes_of(case):
        if statuses[mode] != statuses["bare"]:
            wrong.append(f"{mode}: exit status {statuses[mode]}, bare {statuses['bare']}: "
                         + compare.last_line(read(runner, case, mode, "stderr")))
            continue
        texts = view(wanted, mode)[0], view(read(runner, case, mode, "stdout"), mode)[0]
        if texts[0] != texts[1]:
            lines = [f"{mode}: {'missing' if line in texts[0] else 'new'}: {line}"
                     for line in sorted(set(texts[0]) ^ set(texts[1]))[:6]]
            wrong += lines or [f"{mode}: the same lines in another order or number: "
                               f"{len(texts[1])}, bare {len(texts[0])}"]
        ours = [line for line in read(runner, case, mode, "stderr").splitlines() if "gpuwatch" in line]
        if len(ours) > 1:
            wrong.append(f"{mode}: {len(ours)} lines of ours on stderr")
        _, totals, notes = compare.read_log(runner.args.logdump, runner.folder(case, mode))
        launched[mode] = totals["launched"]
        print(f"     {case.name} {mode}: {totals['launched']} launches, {totals['measured']} measured, "
              f"{totals['returns']} returns, {totals['pm_windows']} windows of counters; {'; '.join(notes) or 'nothing degraded'}")
        if case.name.startswith("torch") and mode in ("audit", "pm"):
            wrong += came_back(runner, case, mode)
        if case.name.startswith("torch") and mode == "pm" and not totals["pm_windows"]:
            wrong.append("pm: no window of counters was taken")
    if view is ncu_view:
        # Its library answers the program's look-ups before ours is asked: see docs/user/other-profilers.md.
        wrong += [f"{mode}: the library was not in the program" for mode in launched if not loaded(runner, case, mode)]
        if len(set(launched.values())) > 1:
            wrong.append(f"launches differ: {launched}")
    elif len(set(launched.values())) > 1 or 0 in launched.values():
        wrong.append(f"launches differ, or there are none: {launched}")
    return wrong


def cases(programs):
    """(case, view), or (name, why it can't run)."""
    python = shutil.which("python3") or sys.executable
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "py", "torch_profiled.py")
    for when in ("late", "early"):
        name = f"torch-profiler-{when}"
        if compare.module_present(python, "torch"):
            yield compare.Case(name, [python, script, when, "last"], {}, "torch", False, True), torch_view
        else:
            yield name, "PyTorch is not here"
    tools = {"ncu": (NCU + WITHIN, {"PRELOAD_AS": "WITHIN"}, ncu_view, ("ex",)),
             "compute-sanitizer": (["--tool", "memcheck"], {}, sanitizer_view, ("launch", "fault"))}
    for tool, (options, env, view, programs_) in tools.items():
        for program in programs_:
            name, path = f"{tool.split('-')[-1]}-{program}", shutil.which(tool)
            argv = [path, *options, f"{programs}/workload.static", program]
            yield (compare.Case(name, argv, env, None, False, True), view) if path else (name, f"no {tool} here")


def main(argv):
    args = compare.parse(argv[1:])
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    os.makedirs(args.out, exist_ok=True)
    runner, failed, chosen = compare.Runner(args), 0, []
    for case, view in cases(args.programs):
        if not re.search(args.filter, getattr(case, "name", case)):
            continue
        if callable(view):
            chosen.append((case, view))
        else:
            print("SKIP", case, view)
    # Counters are one process's at a time: ncu has them alone, and so has each program that samples.
    others = [c for c in chosen if c[1] is not ncu_view]
    statuses = run(runner, others, args.jobs, lambda mode: mode != "pm")
    statuses.update(run(runner, others, 1, lambda mode: mode == "pm"))
    statuses.update(run(runner, [c for c in chosen if c[1] is ncu_view], 1))
    for case, view in chosen:
        statuses[case.name, "bare"] = bare_again(runner, case, view, statuses[case.name, "bare"])
        wrong = judge(runner, case, view, {mode: statuses[case.name, mode]
                                           for mode in ["bare"] + modes_of(case)})
        failed += bool(wrong)
        print("FAIL" if wrong else "PASS", case.name)
        for line in wrong:
            print("    " + line)
    return 1 if failed else 0 if chosen else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv))
