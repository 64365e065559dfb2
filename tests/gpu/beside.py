#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside another profiler: does torch.profiler see with us all that it sees without, and do we
still count every launch?

Runs a program that profiles itself, bare and with gpuwatch preloaded, injected and counting.
Demanded: the same standard output (the kernels torch.profiler saw, the result), exit status 0,
at most one line of ours on standard error, the same number of launches in every log. Injected,
gpuwatch is libcupti's one subscriber and can't see another come: there only the program's own
result is demanded (docs/limits.md).
  beside.py --programs DIR --gpuwatch LIBRARY --out DIR
Exit status: 0 passed, 1 failed, 77 there is no GPU or no PyTorch, 2 wrong use."""
import os
import shutil
import sys
import types

import compare

MODES = ("audit", "inject", "watch", "count")


def read(runner, case, mode, name):
    with open(f"{runner.folder(case, mode)}/{name}", errors="replace") as f:
        return f.read()


def judge(runner, case):
    """What is wrong, as lines; nothing when all is well."""
    if runner.run(case, "bare"):
        return [f"bare: {compare.last_line(read(runner, case, 'bare', 'stderr'))}"]
    wanted, wrong, launched = read(runner, case, "bare", "stdout"), [], {}
    if not any(line.split()[0].isdigit() for line in wanted.splitlines()):
        wrong.append("bare: torch.profiler saw no kernel")
    for mode in MODES:
        status = runner.run(case, mode)
        if status:
            wrong.append(f"{mode}: exit status {status}: "
                         + compare.last_line(read(runner, case, mode, "stderr")))
            continue
        lines = [[line for line in text.splitlines() if mode != "inject" or line.startswith("sum")]
                 for text in (wanted, read(runner, case, mode, "stdout"))]
        for line in sorted(set(lines[0]) ^ set(lines[1]))[:6]:
            wrong.append(f"{mode}: {'missing' if line in lines[0] else 'new'}: {line}")
        ours = [line for line in read(runner, case, mode, "stderr").splitlines()
                if "gpuwatch" in line]
        if len(ours) > 1:
            wrong.append(f"{mode}: {len(ours)} lines of ours on stderr")
        _, totals, notes = compare.read_log(f"{runner.args.programs}/logdump",
                                            runner.folder(case, mode))
        launched[mode] = totals["launched"]
        print(f"     {case.name} {mode}: {totals['launched']} launches, "
              f"{totals['measured']} measured; {'; '.join(notes) or 'nothing degraded'}")
    if len(set(launched.values())) > 1:
        wrong.append(f"launches differ: {launched}")
    return wrong


def main(argv):
    sys.argv = argv
    args = compare.parse(argv[1:])
    reason = compare.why_no_gpu()
    python = shutil.which("python3") or sys.executable
    if not reason and not compare.module_present(python, "torch"):
        reason = "PyTorch is not here"
    if reason:
        print(f"SKIP: {reason}")
        return 77
    os.makedirs(args.out, exist_ok=True)
    args.out = os.path.abspath(args.out)
    runner, failed = compare.Runner(args), 0
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "py", "torch_profiled.py")
    for when in ("late", "early"):
        case = types.SimpleNamespace(name=f"torch-profiler-{when}", argv=[python, script, when],
                                     env={}, needs="torch")
        wrong = judge(runner, case)
        failed += bool(wrong)
        print("FAIL" if wrong else "PASS", case.name)
        for line in wrong:
            print("    " + line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
