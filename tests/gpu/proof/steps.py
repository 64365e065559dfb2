"""The steps of the proof, each once: `prove` runs them, lists them and sums them up from this table.

how a step may use its GPU:
  timed    alone on it, and no step that starts many processes runs anywhere meanwhile: its figures are ratios of times
  alone    alone on it: what it counts would be disturbed
  sampler  beside `shared` steps; it takes the GPU's one sampler of counters
  shared   beside others
  cpu      uses none
A command's words may hold {names} of prove's `places`. It ends by 0 (passed), 1 (failed) or 77 (can't run here), says
PASS, FAIL or SKIP at the start of lines, and may leave figures.json (figures.py) in {out}.
"""
import collections
import shlex

HOW = ("timed", "alone", "sampler", "shared", "cpu")
COMMON = "--programs {programs} --gpuwatch {library} --out {out}"

# shows: what of the promises it proves. priority: 1 first. seconds: what it takes on an H200, about; limit: most.
# after: steps whose output it reads.
Step = collections.namedtuple("Step", "name shows priority seconds limit gpus how command after")


def step(name, shows, priority, seconds, limit, how, command, gpus=1, after=()):
    return Step(name, shows, priority, seconds, limit, 0 if how == "cpu" else gpus, how, shlex.split(command), tuple(after))


def bench(script, options=""):
    return f"{{python}} {{bench}}/{script}.py {COMMON} {options}"


def counts(cases):
    return f"{{python}} {{here}}/compare.py {COMMON} --jobs {{jobs}} --filter {shlex.quote(cases)}"


def beside(tool, jobs="{jobs}"):
    return f"{{python}} {{here}}/beside.py {COMMON} --jobs {jobs} --filter {tool}"


def logs(names, seconds):
    return (f"{{python}} {{here}}/recorded.py {COMMON} --cli {{cli}} --recorder {{recorder}} --seconds {seconds} "
            + " ".join(f"--program {name}" for name in names.split()))


def attribution(part):
    return (f"{{python}} {{here}}/attribution.py {COMMON} --recorder {{recorder}} --workloads {{workloads}} --again {{again}} "
            f"--table {{table}} --part {part}")


OVERHEAD, SAFETY, COUNTERS, SCORE = ("overhead", "safety", "counters", "score")
STEPS = (
    # What has the tightest goals runs while nothing else has begun.
    step("time-watch", f"{OVERHEAD}: mode watch <= 1.02 x bare on empty launches", 1, 95, 200, "timed",
         bench("watch", "--rounds 36 --sets 40 --no-torch")),
    step("time-watch-torch", f"{OVERHEAD}: mode watch <= 1.02 x bare: training step, decode, GEMM", 1, 60, 160, "timed",
         bench("watch", "--rounds 36 --only-torch")),
    step("time-watch-beside", f"{OVERHEAD}: mode watch <= 1.02 x bare: empty launches of 16 threads, of 8 processes", 2, 45, 160, "timed",
         bench("watch", "--rounds 16 --sets 5 --beside")),
    step("time-watch-inside", f"{OVERHEAD}: mode watch <= 1.02 x idle within one process: training step, convolution net, JAX", 2, 330, 420, "timed",
         bench("watch", "--inside conv,train,jax --time 90")),
    step("time-torch", f"{OVERHEAD}: audit with counters <= 1.05 x plain CUPTI activity: training step, decode, GEMM", 1, 150, 240, "timed",
         bench("sampling", "--rounds 12 --short 80 --loop train --loop decode --loop gemm")),
    step("time-launches", f"{OVERHEAD}: count <= 1.02 x the driver alone, audit <= 1.05 x plain CUPTI activity", 1, 130, 220, "timed",
         bench("overhead", "--pairs 40 --pair-modes bare,count,watch,audit --turns-limit 60")),
    step("time-counters", f"{OVERHEAD}: audit with counters <= 1.05 x plain CUPTI activity: empty launches", 1, 45, 90, "timed",
         bench("sampling", "--rounds 30 --loop launches")),

    step("attribution-long", f"{COUNTERS}: sampled against counted alone, kernels over 150 us: 2%", 2, 70, 150, "alone", attribution("long")),
    step("attribution-mid", f"{COUNTERS}: the same, 50 to 150 us: 5%", 2, 70, 150, "alone", attribution("mid")),
    step("attribution-short", f"{COUNTERS}: the same, 5 to 50 us: 10%", 2, 60, 150, "alone", attribution("short")),
    step("development", f"{SCORE}: the development set with counters sampled, recorded", 2, 90, 180, "alone",
         "{python} {here}/development.py record --library {library} --logdump {programs}/logdump --workloads {workloads} --out {out} --seconds 60"),
    step("development-score", f"{SCORE}: cold >= 70% within 25%, warm MAPE <= 8%, steady median <= 2%, 86 to 94% in 90%", 2, 100, 400, "cpu",
         "{python} {here}/development.py score --cli {cli} --families {families} --out {out} {results}/development/out/log.gwl",
         after=["development"]),
    step("development-verdicts", f"{COUNTERS}: verdicts as ncu's Speed-of-Light on 90%", 2, 10, 120, "cpu",
         "{python} {here}/development.py verdicts --cli {cli} --table {table} --out {out} {results}/development/out/log.gwl",
         after=["development"]),
    step("strangers", f"{SCORE}: programs as strangers write them, first run with default options: checks pass, counts are equal; both parts", 2,
         200, 400, "alone", "{python} {here}/strangers.py --strangers {strangers} --programs {programs} --gpuwatch {library} --cli {cli} "
         "--out {out} --jobs {jobs} --limit 330"),
    step("safety-alone", f"{SAFETY}: kernels that wait, persistent, cooperative; captures, resets; with windows of counters", 2, 80, 160,
         "sampler", f"{{python}} {{here}}/pm_safety.py {COMMON} --seconds 5 --windows 1 --storm 0 --backtrace"),
    step("safety-storm", f"{SAFETY}: 200 short programs with counters sampled, all kinds of ends, none fails", 2, 125, 220, "sampler",
         f"{{python}} {{here}}/pm_safety.py {COMMON} --seconds 0 --storm 115 --lanes 10 --shortest 0.1 --longest 1.4 --least 200 "
         "--least-with-windows 0 --backtrace"),
    step("safety-killed", f"{SAFETY}: programs killed in mid-run: every launch that returned is in the report, once", 2, 75, 200, "shared",
         f"{{python}} {{here}}/killed.py {COMMON} --cli {{cli}} --runs 24"),
    step("safety-ends", f"{SAFETY}: exit() by one thread while another launches crashes no more often than under plain CUPTI activity", 2, 100,
         220, "sampler", f"{{python}} {{here}}/pm_safety.py {COMMON} --seconds 0 --storm 0 --ends 90 --lanes 6 --shortest 0.1 --longest 0.4 "
         "--case launches --case streams"),  # what ran before it matters little, and these two begin soonest
    step("safety-windows", f"{SAFETY}: programs that end in the midst of windows", 2, 70, 150, "sampler",
         f"{{python}} {{here}}/pm_safety.py {COMMON} --seconds 0 --storm 60 --lanes 3 --shortest 1.6 --longest 3.6 --least 30 "
         "--least-with-windows 10 --seed 2 --backtrace"),

    step("beside-torch", f"{SAFETY}: torch.profiler before and after us sees all it sees without us; we come back, counters too", 3, 90,
         200, "sampler", beside("torch")),
    step("beside-ncu", f"{SAFETY}: ncu sees all it sees without us", 3, 60, 120, "alone", beside("ncu", 1)),
    step("counts-waiting", "counts: programs whose kernels wait, every mode, and with counters sampled", 3, 50, 150, "sampler",
         counts("^hold")),
    step("counts-static", "counts: static cudart, device launches, cuBLAS", 3, 120, 400, "shared", counts("^(static|device|cublas)")),
    step("ranks", "ranks: the slow one of two to four is named with its cause, by gloo on one GPU", 3, 120, 300, "alone",
         f"{{python}} {{here}}/ranks.py {COMMON} --cli {{cli}}"),
    step("ranks-nccl", "ranks: the same by NCCL on two GPUs, its collectives numbered in both logs", 3, 100, 240, "alone",
         f"{{python}} {{here}}/ranks.py {COMMON} --cli {{cli}}", gpus=2),
    step("counts-multi", "counts: several GPUs in one process", 3, 150, 400, "shared", counts("^multi"), gpus=2),
    step("counts-python", "counts: PyTorch, Triton, CuPy, JAX", 3, 120, 300, "shared", counts("^python")),
    step("counts-shared", "counts: shared cudart", 3, 90, 400, "shared", counts("^shared")),
    step("counts-ptds", "counts: per-thread default stream", 3, 90, 400, "shared", counts("^ptds")),
    step("counts-legacy", "counts: programs built by CUDA 11.8; the code of 99% of their kernels is found", 3, 60, 240, "sampler",
         f"{{python}} {{here}}/legacy.py {COMMON} --cli {{cli}}"),

    step("logs-torch", f"{SCORE}: logs of a training step, a decode loop, GEMMs, with counters", 4, 75, 180, "alone",
         logs("train decode gemm", 9)),
    step("logs-jax", f"{SCORE}: a log of JAX, with counters", 4, 30, 90, "alone", logs("jax", 9)),
    step("public", f"{SCORE}: programs that nothing was fitted to", 4, 120, 260, "alone",
         logs("conv attention fft sparse sorting embedding", 9)),
    step("whole-graphs", "counts and times of graphs that mode watch times whole, against libcupti and the program's events", 1, 60, 200, "alone",
         f"{{python}} {{here}}/whole_graphs.py {COMMON} --cli {{cli}}"),
    step("watched-train", "mode watch, a training step: share timed, verdicts, medians, CPU, memory, bytes; 75 s", 3, 105, 180, "alone",
         f"{{python}} {{here}}/watched.py {COMMON} --cli {{cli}} --loop train"),
    step("watched-deep", "the same of a decode loop in CUDA graphs", 3, 105, 180, "alone",
         f"{{python}} {{here}}/watched.py {COMMON} --cli {{cli}} --loop deep"),
    step("beside-sanitizer", f"{SAFETY}: compute-sanitizer finds what it finds without us", 5, 60, 150, "shared", beside("sanitizer")),
    step("calibrate", "calibration: a profile of this GPU, against what is published", 5, 110, 200, "alone", "bash {here}/calibrate.sh {cli} {out}"),
    step("examples", "the examples' READMEs show what was printed", 5, 60, 200, "alone",
         "bash {here}/examples.sh {programs} {cli} {out}"),
)


def wrong(steps):
    """What is wrong with a table, as lines."""
    names = [one.name for one in steps]
    found = [f"{name} stands twice" for name in sorted(set(names)) if names.count(name) > 1]
    for one in steps:
        if one.how not in HOW:
            found.append(f"{one.name}: \"{one.how}\" is none of {' '.join(HOW)}")
        if not 0 < one.seconds <= one.limit:
            found.append(f"{one.name}: {one.seconds} s, at most {one.limit} s")
        found += [f"{one.name}: after {name}, which does not stand before it" for name in one.after
                  if name not in names[:names.index(one.name)]]
    return found
