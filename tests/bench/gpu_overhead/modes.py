"""What the benchmarks beside this share: their options, how a program is run in each mode, what was recorded of it."""
import argparse
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu"))
import compare  # noqa: E402  (finds the GPU and the CUDA libraries)
import figures  # noqa: E402,F401


# Audit mode with and without sampled counters, with them as often as can be.
AUDITED = {"pm": {"GPUWATCH_COUNTERS": "pm", "GPUWATCH_BUDGET": "100"}, "timed": {"GPUWATCH_COUNTERS": "off"}}


def options(doc):
    """A parser with the options that all have; the text of --help is the module's first paragraph."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("--programs", required=True, help="folder that tests/gpu/build.sh filled")
    parser.add_argument("--gpuwatch", required=True, help="libgpuwatch.so")
    parser.add_argument("--out", required=True, help="folder for what was measured")
    parser.add_argument("--seed", type=int, default=1, help="of the order and the bootstrap")
    return parser


def begin(parser, argv, programs):
    """The options, once all that is needed is here; else the program ends, by 77 or 2, with the reason."""
    args = parser.parse_args(argv)
    for name in ("programs", "gpuwatch", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    reason = compare.why_no_gpu()
    if reason:
        print(f"SKIP: {reason}")
        sys.exit(77)
    switches = ["bin/gpuwatch"] if getattr(args, "inside", None) else []  # by its ctl
    for path in [args.gpuwatch] + [f"{args.programs}/{name}" for name in [*programs, *switches]]:
        if not os.path.exists(path):
            print(f"{parser.prog}: {path} is missing; build the project, then run tests/gpu/build.sh", file=sys.stderr)
            sys.exit(2)
    os.makedirs(args.out, exist_ok=True)
    return args


def python():
    """The interpreter that has the packages."""
    return shutil.which("python3") or sys.executable


def python_libraries():
    toolkit, wheels = compare.library_folders()
    return wheels + toolkit


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
