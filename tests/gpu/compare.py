#!/usr/bin/env python3
"""Runs GPU programs bare, under an independent CUPTI count, and under gpuwatch, and
compares: kernels, configurations and counts; that every record was joined and none is
there twice; that the program's output, exit status and last CUDA error are the same.

Exit status: 0 all equal, 1 something differs, 77 there is no GPU here, 2 wrong use.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import functools
import glob
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VARIANTS = ("static", "shared", "ptds")
CASES = ("launch ex cooperative threads errors fault module library entry capture graph update "
         "child reset destroy contexts").split()
# Kernels that wait while others run: cases of hold.cu with their turns, each of a second and more
WAITING = {"released": 200, "persistent": 2000, "streams": 400, "pair": 200}
COUNTERS = ("pm",)  # modes: audit, with these counters
DEVICE_CASES = "dynamic devicegraph conditional".split()
MULTI_VARIANTS = ("static", "ptds")
MULTI_CASES = "streams elsewhere threads contexts cooperative peer graphs across reset".split()
PYTHON = {"torch_step": "torch", "triton_add": "triton", "cupy_ops": "cupy", "jax_jit": "jax"}
# Each must be 0 in a run where every kernel was launched by the host.
MUST_BE_ZERO = ("ring_dropped threads_dropped activity_unmatched "
                "activity_dropped launches_unmatched graph_unknown table_full log_lost").split()
# Now and then libcupti gives a record whose times are impossible. Such a launch counts as accounted
# for where gpuwatch says so; more of them than this would be a fault in how records are read.
INVALID_MOST, INVALID_SHARE = 2, 0.01

SKIPPED = 77  # exit status of a program that can't run here, the reason on its standard output

Case = collections.namedtuple("Case", "name argv env needs by_device counted")


def cases(programs):
    """Every case: by_device when the GPU launches kernels itself (then only activity knows
    them), counted unless the program ends in a way that loses records."""
    for variant in VARIANTS:
        for name in CASES:
            yield Case(f"{variant}.{name}", [f"{programs}/workload.{variant}", name], {}, None,
                       False, name != "fault")
    for name, turns in WAITING.items():
        yield Case(f"hold.{name}", [f"{programs}/hold", name, f"{turns}x"], {}, None, False, True)
    for name in DEVICE_CASES:
        yield Case(f"device.{name}", [f"{programs}/device", name], {}, None, True, True)
    for variant in MULTI_VARIANTS:
        for name in MULTI_CASES:
            yield Case(f"multi.{variant}.{name}", [f"{programs}/multi.{variant}", name], {}, None,
                       False, True)
    yield Case("cublas", [f"{programs}/blas"], {}, None, False, True)
    yield Case("multi.torch", [shutil.which("python3") or sys.executable,
                               f"{HERE}/py/torch_multi.py"], {"NCCL_NVLS_ENABLE": "0"}, "torch",
               False, True)
    for script, module in PYTHON.items():
        yield Case(f"python.{script}", [shutil.which("python3") or sys.executable,
                                        f"{HERE}/py/{script}.py"], {}, module, False, True)


def devices():
    """How many GPUs the driver shows, and the reason where there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return 0, f"no CUDA driver: {error}"
    count = ctypes.c_int(0)
    code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if code:
        return 0, f"the CUDA driver answers with error {code}"
    return count.value, None if count.value else "the CUDA driver sees no device"


def why_no_gpu():
    """The reason why nothing can run here, or None."""
    return devices()[1]


@functools.lru_cache
def library_folders():
    """Folders that hold the CUDA libraries of the toolkit, then those of Python packages."""
    roots = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.insert(1, os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    toolkit = [f"{root}/{sub}" for root in roots if root
               for sub in ("lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64")]
    python = shutil.which("python3") or sys.executable
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                          capture_output=True, text=True).stdout.strip()
    wheels = sorted(glob.glob(f"{site or sysconfig.get_path('purelib')}/nvidia/*/lib"))
    wanted = ("libcudart.so.*", "libcublas.so.*", "libcupti.so.*")

    def holding(folders):
        return [f for f in folders if any(glob.glob(f"{f}/{w}") for w in wanted)]
    return holding(toolkit), holding(wheels)


def without_gpuwatch(env):
    """Names to take out of an environment for a bare run; which libcupti to use may be reported."""
    return [name for name in env if name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")
            or name.startswith("GPUWATCH_") and name != "GPUWATCH_CUPTI"]


class Runner:
    def __init__(self, args):
        self.args = args
        self.toolkit, self.wheels = library_folders()
        self.alive = set()
        self.deadline = time.monotonic() + args.limit

    def environment(self, case, mode, folder):
        env = dict(os.environ, PYTHONHASHSEED="0", PYTHONWARNINGS="ignore",
                   PYTHONDONTWRITEBYTECODE="1", CUBLAS_WORKSPACE_CONFIG=":4096:8",
                   TORCHINDUCTOR_COMPILE_THREADS="1", XLA_PYTHON_CLIENT_PREALLOCATE="false",
                   XLA_FLAGS="--xla_gpu_autotune_level=0", TF_CPP_MIN_LOG_LEVEL="3",
                   # kernels compiled by the warm-up run serve all the others
                   TORCHINDUCTOR_CACHE_DIR=f"{self.args.out}/cache/inductor",
                   TRITON_CACHE_DIR=f"{self.args.out}/cache/triton",
                   CUPY_CACHE_DIR=f"{self.args.out}/cache/cupy", **case.env)
        for name in without_gpuwatch(env):
            env.pop(name)
        # Python packages bring their own libraries and find them by themselves.
        folders = self.wheels + self.toolkit if case.needs else self.toolkit + self.wheels
        if not case.needs:
            known = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = ":".join(folders + ([known] if known else []))
        if mode == "oracle":
            env["CUDA_INJECTION64_PATH"] = f"{self.args.programs}/oracle.so"
            env["GPU_ORACLE_DIR"] = folder
            cupti = [c for f in folders for c in sorted(glob.glob(f"{f}/libcupti.so.1[23]"))]
            if cupti:
                env.setdefault("GPU_ORACLE_CUPTI", cupti[0])
        elif mode != "bare" and mode != "warm":
            env["GPUWATCH_MODE"] = "audit" if mode in ("inject", *COUNTERS) else mode
            if mode in COUNTERS:
                env["GPUWATCH_COUNTERS"] = mode
            env["GPUWATCH_BUDGET"] = "100"  # watch: one window after the other
            env["GPUWATCH_LOG"] = "launches"  # sums do not say which launches were graphs'
            env["GPUWATCH_OUT"] = f"{folder}/%p.gwl"
            name = "CUDA_INJECTION64_PATH" if mode == "inject" else case.env.get("PRELOAD_AS", "LD_PRELOAD")
            env[name] = self.args.gpuwatch
        return env

    def run(self, case, mode):
        """One run; its folder holds stdout, stderr and what the run wrote. Gives the exit
        status, 'timeout' where it was killed for its time."""
        folder = os.path.join(self.args.out, "raw", case.name, mode)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(f"{folder}/stdout", "wb") as out, open(f"{folder}/stderr", "wb") as err:
            process = subprocess.Popen(case.argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=self.environment(case, mode, folder), cwd=folder,
                                       start_new_session=True)
            self.alive.add(process.pid)
            try:
                return process.wait(self.args.timeout * (3 if case.needs else 1))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return "timeout"
            finally:
                self.alive.discard(process.pid)

    def end(self, number, _frame):
        """On a signal: leave no program behind, it would disturb what runs next."""
        for pid in list(self.alive):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os._exit(128 + number)

    def folder(self, case, mode):
        return os.path.join(self.args.out, "raw", case.name, mode)


def read_oracle(folder):
    kernels, totals = collections.Counter(), collections.Counter()
    for path in glob.glob(f"{folder}/*.tsv"):
        with open(path) as lines:
            for line in lines:
                parts = line.rstrip("\n").split("\t")
                if parts[0] == "K":
                    kernels[(parts[1], *parts[3:])] += int(parts[2])
                elif parts[0] == "C":
                    totals[parts[1]] += int(parts[2])
    return kernels, totals


def read_log(logdump, folder):
    """Kernels and totals of all logs in a folder; a ValueError when they can't be read."""
    logs = sorted(glob.glob(f"{folder}/*.gwl*"))
    kernels, totals, notes = collections.Counter(), collections.Counter(), []
    if not logs:
        return kernels, totals, ["no log was written"]
    dump = subprocess.run([logdump] + logs, capture_output=True, text=True, errors="replace")
    with open(f"{folder}/logdump.tsv", "w") as out:
        out.write(dump.stdout)
    if dump.returncode:
        return kernels, totals, [dump.stderr.strip()]
    for line in dump.stdout.splitlines():
        parts = line.split("\t")
        if parts[0] == "K":
            kernels[(parts[1], *parts[5:])] += int(parts[2])
            totals["launched"] += int(parts[2])
            totals["measured"] += int(parts[3])
            totals["no_call"] += int(parts[4])
        elif parts[0] in "CX":
            totals[parts[1]] += int(parts[2])
        elif parts[0] == "D":
            notes.append("degraded: " + parts[2])
    if totals["end"] != len(logs):
        notes.append(f"{len(logs) - totals['end']} of {len(logs)} logs were not closed")
    return kernels, totals, notes


def differences(wanted, got, limit=6):
    lines = []
    for key in sorted(set(wanted) | set(got)):
        if wanted[key] != got[key]:
            graph, grid, block, cluster, shared, name = key
            lines.append(f"    witness {wanted[key]} gpuwatch {got[key]}: {name[:70]} grid {grid} "
                         f"block {block} cluster {cluster} shared {shared}"
                         + (" in a graph" if graph == "1" else ""))
    return lines[:limit] + ([f"    and {len(lines) - limit} more"] if len(lines) > limit else [])


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "(nothing)"


def same_behaviour(runner, case, mode, status, bare):
    """What the program shows the world, against the bare run."""
    wrong = [] if status == bare else [f"exit status {status}, bare {bare}"]
    for stream in ("stdout", "stderr"):
        texts = []
        for which in ("bare", mode):
            with open(f"{runner.folder(case, which)}/{stream}", errors="replace") as text:
                texts.append(text.read())
        if mode in COUNTERS:  # asked for, they may say that another holds them: a line a process
            processes = len(glob.glob(f"{runner.folder(case, mode)}/*.gwl*"))
            texts[1] = re.sub(r"^gpuwatch: .*\n", "", texts[1], count=max(processes, 1), flags=re.M)
        if case.needs and stream == "stderr":  # packages put times and addresses in messages
            texts = [re.sub(r"0x[0-9a-f]+|\d+", "#", text) for text in texts]
        if texts[0] != texts[1]:
            wrong.append(f"{stream} differs\n    bare: {last_line(texts[0])}\n"
                         f"    {mode}: {last_line(texts[1])}")
    return wrong


def unaccounted(totals):
    """What is wrong with the launches of a log: each is measured, or marked as one whose record has
    impossible times, and of these there are few."""
    wrong = []
    if totals["measured"] + totals["invalid"] != totals["launched"]:
        wrong.append(f"measured {totals['measured']} of {totals['launched']}")
    if totals["invalid"] != totals["activity_invalid"]:
        wrong.append(f"{totals['activity_invalid']} records counted as invalid, "
                     f"{totals['invalid']} launches marked")
    if totals["invalid"] > max(INVALID_MOST, INVALID_SHARE * totals["launched"]):
        wrong.append(f"{totals['invalid']} of {totals['launched']} with impossible times")
    return wrong


def by_device(mode, seen, totals):
    """On which GPU each kernel ran, by the witness and by the log."""
    wanted, got = ({name: n for name, n in of.items() if name.startswith("device_") and n}
                   for of in (seen, totals))
    return (f"{mode} devices", wanted == got and len(wanted) > 1,
            f"witness {sorted(wanted.items())} gpuwatch {sorted(got.items())}")


def judge(runner, case, statuses):
    """Rows (check, passed or None for skipped, text) of one case that has run."""
    bare = statuses["bare"]
    expected_exit = 3 if case.name.endswith(".fault") else 0
    with open(f"{runner.folder(case, 'bare')}/stderr", errors="replace") as text:
        yield "bare", bare == expected_exit, f"exit {bare}; stderr: {last_line(text.read())}"
    for mode in [m for m in statuses if m not in ("warm", "bare", "oracle")]:
        wrong = same_behaviour(runner, case, mode, statuses[mode], bare)
        yield f"{mode} behaviour", not wrong, "; ".join(wrong) or "same output and exit status"
    if not case.counted:
        return
    witness, seen = read_oracle(runner.folder(case, "oracle"))
    total = sum(witness.values())
    with open(f"{runner.folder(case, 'bare')}/stdout", errors="replace") as text:
        own = re.search(r"kernels (\d+) counted (\d+)", text.read())
    trusted = total > 0 and not seen["dropped"] and not seen["no_room"] and statuses["oracle"] == bare
    text = f"{total} records, {seen['dropped']} dropped, exit status {statuses['oracle']}"
    if seen["invalid"]:
        text += f", {seen['invalid']} with impossible times"
    if own:
        text += f", the program counted {own[2]}"
        trusted = trusted and (case.by_device or total == int(own[2]))
    yield "witness", trusted, text
    for mode in [m for m in ("audit", "inject", "watch", "count", *COUNTERS) if m in statuses]:
        if mode in ("watch", "count") and case.by_device:
            continue  # no call of the host, so not logged
        kernels, totals, notes = read_log(runner.args.logdump, runner.folder(case, mode))
        lines = differences(witness, kernels)
        yield (f"{mode} counts", not lines and total > 0 and total == sum(kernels.values()),
               "\n".join([f"witness {total} gpuwatch {sum(kernels.values())}, "
                          f"{len(witness)} kinds"] + lines + [f"    {n}" for n in notes]))
        if case.name.startswith("multi."):
            yield by_device(mode, seen, totals)
        if mode in ("watch", "count"):
            continue
        bad = [f"{name} {totals[name]}" for name in MUST_BE_ZERO
               if totals[name] and not (case.by_device and name in
                                        ("activity_unmatched", "graph_unknown"))]
        bad += [f"duplicates {totals['duplicates']}"] if totals["duplicates"] else []
        if not case.by_device and totals["no_call"]:
            bad.append(f"{totals['no_call']} without a call")
        bad += unaccounted(totals)
        bad += [] if totals["launched"] else ["no launches in the log"]
        yield (f"{mode} joined", not bad,
               "; ".join(bad) or f"{totals['joined']} of {totals['activity']} records joined, "
                                 "none twice" + (f"; {totals['invalid']} with impossible times, "
                                                 "counted and not used" if totals["invalid"] else ""))


def run_case(runner, case):
    """All rows of one case; never raises."""
    if case.needs and not module_present(case.argv[0], case.needs):
        return [(case.name, "runs", None, f"Python module {case.needs} is not installed")]
    modes = ["warm"] * bool(case.needs) + ["bare", "oracle", "audit", "inject", "watch"]
    modes += ["count"] * (not case.needs)
    modes += COUNTERS if case.name.startswith("hold.") else []
    if time.monotonic() > runner.deadline:
        return [(case.name, "runs", False, "not run: the time was over")]
    try:
        statuses = {}
        for mode in modes:
            statuses[mode] = runner.run(case, mode)
            if statuses[mode] == SKIPPED:
                with open(f"{runner.folder(case, mode)}/stdout", errors="replace") as text:
                    return [(case.name, "runs", None, last_line(text.read()))]
        return [(case.name, *row) for row in judge(runner, case, statuses)]
    except Exception as error:  # one broken case must not hide the others
        return [(case.name, "runs", False, f"{type(error).__name__}: {error}")]


def module_present(python, module):
    if python == sys.executable:
        return importlib.util.find_spec(module) is not None
    test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return subprocess.run([python, "-c", test]).returncode == 0


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--programs", required=True, help="folder that build.sh fills (it is run if it has not)")
    parser.add_argument("--gpuwatch", required=True, help="libgpuwatch.so")
    parser.add_argument("--out", required=True, help="folder for raw outputs and compare.json")
    parser.add_argument("--filter", default="", help="regular expression on case names")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time (default 1)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a run may take")
    parser.add_argument("--limit", type=float, default=3600,
                        help="seconds after which no further case is begun")
    args = parser.parse_args(argv)
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    args.logdump = f"{args.programs}/logdump"
    return args


def main(argv):
    args = parse(argv)
    reason = why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        return 77
    if not os.path.exists(args.gpuwatch):
        print(f"compare.py: {args.gpuwatch} is missing; build the project first", file=sys.stderr)
        return 2
    if not os.path.exists(args.logdump) and subprocess.call([f"{HERE}/build.sh", args.programs]):
        print(f"compare.py: {HERE}/build.sh {args.programs} failed", file=sys.stderr)
        return 2
    runner = Runner(args)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, runner.end)
    chosen = [c for c in cases(args.programs) if re.search(args.filter, c.name)]
    chosen.sort(key=lambda c: c.needs is None)  # the slow ones first
    rows = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(run_case, runner, case) for case in chosen]
        for future in concurrent.futures.as_completed(futures):
            for row in future.result():
                verdict = "SKIP" if row[2] is None else "PASS" if row[2] else "FAIL"
                print(f"{verdict} {row[0]} {row[1]}: {row[3]}", flush=True)
                rows.append(row)
    failed = [row for row in rows if row[2] is False]
    skipped = [row for row in rows if row[2] is None]
    with open(f"{args.out}/compare.json", "w") as out:
        json.dump([dict(zip(("case", "check", "passed", "text"), row)) for row in sorted(
            rows, key=lambda r: r[:2])], out, indent=1)
    print(f"{len(rows) - len(failed) - len(skipped)} checks passed, {len(failed)} failed, "
          f"{len(skipped)} skipped, {len(chosen)} cases")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
