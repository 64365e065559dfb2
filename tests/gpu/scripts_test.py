#!/usr/bin/env python3
"""Tests, without a GPU, of the scripts that `prove` runs: with programs that only seem to run, and leave the logs that
the scripts are to judge. A wrong result must show.

usage: scripts_test.py STANDIN LOGDUMP GPUWATCH COMPILED (the build's tests/compiled)
"""
import csv
import json
import os
import random
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(1, f"{TOP}/tests/bench/gpu_overhead")
sys.dont_write_bytecode = True
import attribution  # noqa: E402
import development  # noqa: E402
import figures  # noqa: E402
import legacy  # noqa: E402
import pm_safety  # noqa: E402
import pm_score  # noqa: E402
import recorded  # noqa: E402
import selftest  # noqa: E402
import under  # noqa: E402
import watched  # noqa: E402

STANDIN, LOGDUMP, GPUWATCH, COMPILED = None, None, None, None
COUNTED = 4
ROWS = under.work_rows()
KINDS = 20  # kernels in a made-up development set

# $1 and so on in what it says are its arguments.
PROGRAM = """#!/bin/sh
how=bare
[ -z "$GPUWATCH_OUT" ] || how=${{GPUWATCH_COUNTERS:-any}}
[ ! -e "{plan}.$how.gwl" ] || [ $how = bare ] || cp "{plan}.$how.gwl" "$GPUWATCH_OUT"
eval "echo \\"$(cat "{plan}.$how.says")\\""
[ "$3" != thread ] || exit 5
exit "$(cat "{plan}.$how.status")"
"""


# Programs of the benchmarks: the same lines in every mode, times by mode, and what an observer leaves.
BENCH = """#!{python}
import json, os, sys, time
sys.path.insert(0, {here!r})
sys.dont_write_bytecode = True
import scripts_test
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
mode = os.environ.get("GPUWATCH_COUNTERS") or os.environ.get("GPUWATCH_MODE") or ("plain" if "GPU_ORACLE_DIR" in os.environ else "bare")
launched = 0

def leave():
    if "GPUWATCH_OUT" in os.environ and mode != "off":
        with open(os.environ["GPUWATCH_OUT"].replace("%p", "1"), "wb") as file:
            file.write(scripts_test.log(1, launched, pm_windows=7, windows={windows}, pm_cpu_ns=int(launched * 1000 * factor * 0.02)))
    elif mode == "plain":
        with open(os.environ["GPU_ORACLE_DIR"] + "/1.tsv", "w") as file:
            file.write("C\\trecords\\t%d\\n" % launched)

factor = {factors}.get(mode, 1)
if name == "launch_loop" and args[0] == "cpus":
    print(json.dumps(dict((str(cpu), 500) for cpu in os.sched_getaffinity(0))))
elif name == "launch_loop" and args[0] == "turns":
    print("ready", flush=True)
    for line in sys.stdin:
        launched += 1
        time.sleep(0.02)  # so that none has thousands of turns
        print(1000 * factor, flush=True)
    leave()
    print(json.dumps(dict(launched=launched)))
elif name == "launch_loop":
    print(1000 * factor)
elif name == "pairs":
    print(json.dumps(dict(hooked=mode in ("count", "watch", "audit"), given=[1000 * factor] * 11, driver=[1000] * 11)))
"""


def log(kinds, runs, work=None, **counters):
    """A log of kernels k0, k1 ... that ran `runs` times for 200 us each; `work`: {row: value}
    counted of each."""
    body = b""
    for number in range(1, kinds + 1):
        body += selftest.record(4, struct.pack("<9I", number, 0, 1, 1, 1, 1, 1, 90, 0), f"k{number - 1}".encode() + b"\0")
        body += selftest.record(5, struct.pack("<13I", number, number, 4, 1, 1, 256, 1, 1, 1, 1, 1, 0, 0))
        tail = b"".join(struct.pack("<HBBfd", ROWS.index(name), COUNTED, 0, 1, value) for name, value in (work or {}).items())
        if tail:
            body += selftest.record(15, struct.pack("<IIIQ", number, len(work), 0, 0), tail)
    for at in range(kinds * runs):
        start = 1000 + at * 300000
        body += selftest.record(9, struct.pack("<IIIHHIIfQQQff", selftest.MEASURED, at % kinds + 1, 1, 1, 0, 0, 0, 1,
                                               start, start, 200000, 1, 1))
    values = [counters.get(name, 0) for name in selftest.COUNTERS]
    body += selftest.record(12, struct.pack("<IQ", len(values), 9) + struct.pack(f"<{len(values)}Q", *values))
    body += selftest.record(14, struct.pack("<IQQ", 0, 1, 9))
    return struct.pack("<IIII", 0x31425747, len(body), 0, selftest.crc32c(body)) + body


class Scripts(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = temporary.name
        os.mkdir(f"{self.out}/programs")
        os.mkdir(f"{self.out}/out")
        os.mkdir(f"{self.out}/bin")
        os.symlink(LOGDUMP, f"{self.out}/programs/logdump")

    def program(self, name, **plan):
        """A program that says, leaves and exits with what the plan has for its counters; with 5 for the end `thread`."""
        for how, mine in plan.items():
            for part, data in (("says", mine.get("says", "").encode()), ("status", str(mine.get("status", 0)).encode()),
                               ("gwl", mine.get("log"))):
                if data is not None:
                    with open(f"{self.out}/{name}.{how}.{part}", "wb") as file:
                        file.write(data)
        with open(f"{self.out}/programs/{name}", "w") as file:
            file.write(PROGRAM.format(plan=f"{self.out}/{name}"))
        os.chmod(f"{self.out}/programs/{name}", stat.S_IRWXU)
        return f"{self.out}/programs/{name}"

    def script(self, name, *options):
        """(exit status, standard output, {figure: (value, met)})."""
        folder = HERE if os.path.exists(f"{HERE}/{name}.py") else f"{TOP}/tests/bench/gpu_overhead"
        reported = subprocess.run([sys.executable, "-B", f"{folder}/{name}.py", *options, "--out", f"{self.out}/out"], capture_output=True,
                              text=True, env={**os.environ, "LD_LIBRARY_PATH": STANDIN, "PATH": f"{self.out}/bin:{os.environ['PATH']}"})
        self.assertNotIn("Traceback", reported.stderr)
        found = {}
        if os.path.exists(f"{self.out}/out/{figures.NAME}"):
            with open(f"{self.out}/out/{figures.NAME}") as file:
                found = {one["figure"]: (one["value"], one["met"]) for one in json.load(file)}
        return reported.returncode, reported.stdout + reported.stderr, found

    def common(self):
        # Some library that does nothing here: what is under test is not the product.
        return ["--programs", f"{self.out}/programs", "--gpuwatch", f"{STANDIN}/libnvidia-ml.so.1"]


class Safety(Scripts):
    def safety(self, *options, says="$1: right kernels 3 counted 3", status=0, windows=2, measured=3, bare="$1: right kernels 3 counted 3"):
        self.program("hold", bare={"says": bare}, pm={"says": says, "status": status, "log": log(1, measured, pm_windows=windows)})
        return self.script("pm_safety", *self.common(), "--patience", "1000", *options)

    def test_all_well(self):
        status, out, found = self.safety("--seconds", "0.001", "--storm", "0")
        self.assertEqual(status, 0, out)
        self.assertEqual(found["windows of counters in the case that had fewest"], (2, True))

    def alone(self, **how):
        """What is said of the case `cooperative` alone."""
        out = self.safety("--seconds", "0.001", "--storm", "0", **how)[1]
        return next(line for line in out.splitlines() if " cooperative alone" in line)

    def test_a_run_without_windows_shows_nothing(self):
        self.assertIn("PASS", self.alone())
        self.assertIn("FAIL cooperative alone: 0 windows of counters", self.alone(windows=0))

    def test_another_output_status_or_a_kernel_not_measured_fails(self):
        self.assertIn("FAIL cooperative alone: output", self.alone(says="$1: WRONG kernels 3 counted 3"))
        self.assertIn("FAIL cooperative alone: output", self.alone(says="$1: right kernels 3 counted 2"))
        self.assertIn("FAIL cooperative alone: status 7", self.alone(status=7))
        self.assertIn("FAIL cooperative alone: not all measured", self.alone(measured=2))

    def test_a_storm_counts_its_programs_and_those_with_windows(self):
        found = self.safety("--seconds", "0", "--storm", "0.2", "--least", "1", "--least-with-windows", "1", "--lanes", "2")[2]
        self.assertTrue(found["short programs"][1])
        self.assertTrue(found["of these with windows of counters"][1])
        found = self.safety("--seconds", "0", "--storm", "0.2", "--least", "100000", windows=0, says="$1: right kernels 3 counted 3")[2]
        self.assertFalse(found["short programs"][1])
        self.assertFalse(found["of these with windows of counters"][1])

    def test_crashes_of_the_end_thread_are_held_against_those_without_us(self):
        # bare, plain and gpuwatch in turns; what crashes alike is no fault of ours, what hangs or says other things is
        lanes = ("--seconds", "0", "--storm", "0", "--ends", "1.5", "--lanes", "2", "--margin", "0.9")
        status, out, found = self.safety(*lanes)
        self.assertEqual(found["exit by another thread, crashed: gpuwatch"][0], 0, out)
        self.assertIsNotNone(found["exit by another thread, crashed: gpuwatch - plain"][0])
        found = self.safety(*lanes, says="$1: WRONG kernels 3 counted 3")[2]
        self.assertFalse(found["runs that hung, crashed or gave another result"][1])

    def test_the_bound_of_a_difference_of_shares(self):
        # Newcombe 1998, example (a): 56/70 - 48/80, 95% two-sided 0.0524 to 0.3339
        self.assertAlmostEqual(pm_safety.newcombe(56, 70, 48, 80, 1.96)[0], 0.2, 6)
        self.assertAlmostEqual(pm_safety.newcombe(56, 70, 48, 80, 1.96)[1], 0.3339, 4)
        self.assertLess(pm_safety.newcombe(20, 40, 20, 40)[1], 0.2)
        self.assertGreater(pm_safety.newcombe(30, 40, 20, 40)[1], 0.2)


class Attribution(Scripts):
    TRUTH = {"dram_read_bytes": 4e6, "dram_write_bytes": 2e6, "l2_read_bytes": 5e6, "l2_write_bytes": 2.5e6, "l2_atomic_sectors": 0.5e6 / 32,
             "inst_executed": 4e6}

    def attribution(self, off=1.0, windows=50, kinds=KINDS, truth=None, status=0, ncu=0):
        rows = [{"workload": f"w{i}", "size": 4, "kernel": f"k{i}", "grid": "4x1x1", "block": "256x1x1", "dynamic_shared": 0,
                 "seconds": 200e-6} for i in range(kinds)]
        with open(f"{self.out}/table.csv", "w", newline="") as file:
            out = csv.DictWriter(file, rows[0])
            out.writeheader()
            out.writerows(rows)
        sampled = {**{name: value for name, value in self.TRUTH.items() if name in ROWS}, "l2_total_bytes": 8e6 * off}
        sampled["inst_executed"] *= off
        program = self.program("workloads", pm={"says": "", "log": log(kinds, 3, sampled, pm_windows=windows), "status": status})
        self.ncu(kinds, truth=self.TRUTH if truth is None else truth, status=ncu)
        return self.script("attribution", *self.common(), "--recorder", f"{STANDIN}/libnvidia-ml.so.1", "--workloads", program,
                           "--again", "none", "--table", f"{self.out}/table.csv", "--part", "long", "--seconds", "1")

    def ncu(self, kinds, truth, status):
        """An ncu that leaves such counts of three launches of each kernel."""
        counters = pm_score.counters_in_place()
        shape = dict(zip(pm_score.SHAPE, (4, 1, 1, 256, 1, 1, 0)))
        with open(f"{self.out}/ncu.csv", "w", newline="") as file:
            file.write("==PROF== Connected\n")
            out = csv.writer(file, quoting=csv.QUOTE_ALL)
            out.writerow(["ID", "Kernel Name", "Metric Name", "Metric Value"])
            for at in range(3 * kinds):
                values = dict(shape)
                for what, value in truth.items():
                    metrics, factor = counters[what]
                    values.update({metric: value / factor / len(metrics) for metric in metrics})
                out.writerows([at, f"k{at % kinds}", name, f"{value:,.3f}"] for name, value in values.items())
        with open(f"{self.out}/bin/ncu", "w") as file:
            file.write(f"""#!/bin/sh
[ -z "$LD_PRELOAD$GPUWATCH_OUT" ] || exit 9
while [ "$1" != --log-file ]; do shift; done
cp "{self.out}/ncu.csv" "$2"
exit {status}
""")
        os.chmod(f"{self.out}/bin/ncu", stat.S_IRWXU)

    def test_exact_counts_meet_the_goals(self):
        status, out, found = self.attribution()
        self.assertEqual(status, 0, out)
        self.assertEqual(found["median error of inst_executed, queued"], (0, True))
        self.assertEqual(found["median error of l2, waits"], (0, True))
        self.assertTrue(os.path.exists(f"{self.out}/out/waits.work"))
        self.assertFalse(os.path.exists(f"{self.out}/out/waits.gwl"))

    def test_counts_that_are_off_too_few_kernels_and_no_windows_miss_them(self):
        self.assertEqual(self.attribution(off=1.03)[2]["median error of inst_executed, waits"][1], False)
        self.assertEqual(self.attribution(off=1.03)[2]["median error of dram_read_bytes, waits"][1], True)
        self.assertEqual(self.attribution(kinds=5)[2]["median error of dram_read_bytes, waits"][1], False)
        self.assertEqual(self.attribution(windows=0)[2]["windows of counters, queued"], (0, False))

    def test_each_length_has_its_goal(self):
        key = ("k", "4x1x1", "256x1x1", "0")
        for part, ns, goal in (("long", 2e5, "<= 0.02"), ("mid", 6e4, "<= 0.05"), ("short", 2e4, "<= 0.1")):
            found = {one["figure"]: one for one in attribution.judged(part, {key: self.TRUTH}, {"waits": {key: (ns, {"l2_total_bytes": (12e6, 0.5)})}})}
            one = found["median error of l2, waits"]
            self.assertAlmostEqual(one["value"], 0.5)
            self.assertEqual(one["goal"], goal)

    def test_what_ncu_did_not_count_is_no_truth(self):
        found = self.attribution(truth={name: value for name, value in self.TRUTH.items() if name != "l2_atomic_sectors"})[2]
        self.assertEqual(found["median error of l2, waits"], (None, False))
        self.assertEqual(found["median error of dram_read_bytes, waits"][1], True)

    def test_a_run_that_failed_shows(self):
        self.assertEqual(self.attribution(status=3)[0], 1)
        self.assertEqual(self.attribution(ncu=3)[0], 1)

    def test_workloads_are_chosen_by_their_length_evenly(self):
        same = {"size": "4", "grid": "4x1x1", "block": "256x1x1", "dynamic_shared": "0"}
        table = [{"workload": f"w{i}", "kernel": f"k{i}", "seconds": str((i + 1) * 50e-6), **same} for i in range(20)]
        table += [{"workload": "w5", "kernel": "other", "seconds": "1", **same},  # a workload of two kernels
                  {"workload": "w", "kernel": "k6", "seconds": "1e-6", **same}]  # a kernel of two workloads
        names = attribution.chosen(table, "long", 4)
        self.assertEqual(len(names), 4)
        self.assertTrue(all(int(name[1:]) >= 2 for name in names))
        self.assertFalse({"w5", "w6"} & set(attribution.chosen(table, "long", 99)))
        self.assertEqual(attribution.chosen(table, "mid", 4), [])


class Overhead(Scripts):
    def bench(self, name, *options, windows=3, **factors):
        for program in ("launch_loop", "pairs"):
            with open(f"{self.out}/programs/{program}", "w") as file:
                file.write(BENCH.format(python=sys.executable, here=HERE, factors=factors, windows=windows))
            os.chmod(f"{self.out}/programs/{program}", stat.S_IRWXU)
        open(f"{self.out}/programs/oracle.so", "w").close()
        return self.script(name, *self.common(), *options)

    def test_sampled_counters(self):
        # the sampler of these programs had 2% of a CPU: half of what it adds stays at the default
        status, out, found = self.bench("sampling", "--rounds", "3", pm=1.65, off=1.5, plain=1.5)
        self.assertIn(status, (0, 1), out)
        self.assertAlmostEqual(found["share of a CPU that the sampler had at a budget of 100%"][0], 0.02, 3)
        self.assertAlmostEqual(found["audit with counters at the default budget / plain CUPTI activity, launches"][0], 1.05, 3)
        self.assertEqual(found["audit with counters, budget 100% / bare, launches"], (1.65, None))
        status, _, found = self.bench("sampling", "--rounds", "3", pm=1.7, off=1.5, plain=1.5)
        self.assertEqual((status, found["audit with counters at the default budget / plain CUPTI activity, launches"][1]), (1, False))
        self.assertEqual(self.bench("sampling", "--rounds", "3", pm=1.6, off=1.5, plain=1.5)[0], 0)
        status, out, found = self.bench("sampling", "--rounds", "3", "--short", "4", "--sets", "3", pm=1.6, off=1.5, plain=1.5)
        self.assertEqual(status, 0, out)
        self.assertAlmostEqual(found["audit with counters at the default budget / plain CUPTI activity, launches"][0], 1 + 0.1 / 3, 3)

    def test_count_and_audit(self):
        options = ("--turns", "2", "--turns-limit", "0.1", "--pair-modes", "bare,count,audit")
        status, out, found = self.bench("overhead", *options, count=1.01, audit=1.5, plain=1.5)
        self.assertEqual(found["count / the driver alone, empty launches, in one process"], (1.01, True), out)
        self.assertNotIn("watch / the driver alone, empty launches, in one process", found)
        self.assertEqual(status, 1)  # too few sets for the other goal
        self.assertIs(self.bench("overhead", *options, count=1.03)[2]["count / the driver alone, empty launches, in one process"][1], False)

    def test_mode_watch(self):
        status, out, found = self.bench("watch", "--rounds", "10", "--sets", "3", "--no-torch", watch=1.01)
        self.assertEqual(status, 0, out)
        self.assertEqual(found["watch / bare, launches"], (1.01, True))
        self.assertEqual(self.bench("watch", "--rounds", "2", "--sets", "3", "--no-torch", windows=0)[0], 1)

    def test_mode_watch_inside_needs_ctl(self):
        status, out, _ = self.bench("watch", "--inside", "train")
        self.assertEqual((status, out.count("\n")), (2, 1), out)
        self.assertIn("programs/bin/gpuwatch is missing; build the project", out)

    def test_what_a_per_cent_costs_is_told_from_drift(self):
        sys.path.insert(0, f"{TOP}/tests/bench/gpu_overhead")
        import watch  # its folder is in no path until now
        dice = random.Random(1)
        series = [1000 * 1.002 ** at * (1.19 if at % 2 else 1) * dice.uniform(0.98, 1.02) for at in range(121)]
        found = watch.more(series, 19, seed=1)
        self.assertEqual(found["pairs"], 60)
        self.assertAlmostEqual(found["ratio"], 1.19 ** (1 / 19), 3)
        self.assertTrue(found["ratio"] < found["upper95"] < found["ratio"] + 0.001)

    def test_mode_watch_beside_others(self):
        status, out, found = self.bench("watch", "--rounds", "10", "--sets", "3", "--beside", watch=1.01)
        self.assertEqual(status, 0, out)
        self.assertEqual([found[f"watch / bare, {loop}"] for loop in ("16 threads", "8 processes")], [(1.01, True)] * 2)

    def test_mode_watch_of_pytorch_alone(self):
        with open(f"{self.out}/bin/python3", "w") as file:  # it has every package; its loops take turns as launch_loop does
            file.write(f'#!/bin/sh\ncase $2 in *find_spec*) exit 0 ;; esac\n[ "$1" != -c ] || exec {sys.executable} "$@"\n'
                       f"exec {self.out}/programs/launch_loop turns 0\n")
        os.chmod(f"{self.out}/bin/python3", stat.S_IRWXU)
        status, out, found = self.bench("watch", "--rounds", "16", "--sets", "10", "--only-torch", watch=1.01)
        self.assertEqual(status, 0, out)
        self.assertEqual([found[f"watch / bare, {loop}"] for loop in ("gemm", "decode", "train")], [(1.01, True)] * 3)
        self.assertNotIn("watch / bare, launches", found)


class Recorded(Scripts):
    def recorded(self, status=0):
        with open(f"{self.out}/bin/python3", "w") as file:  # it has every package, and runs programs to this end
            file.write(f'#!/bin/sh\n[ "$1" != -c ] || exit 0\ncp {COMPILED}/../logs/train.gwl "$GPUWATCH_OUT"\nexit {status}\n')
        os.chmod(f"{self.out}/bin/python3", stat.S_IRWXU)
        return self.script("recorded", *self.common(), "--cli", GPUWATCH, "--program", "train")

    def test_a_log_is_scored_and_one_without_counters_fails(self):
        status, out, found = self.recorded()
        self.assertEqual(found["train: exit status"], (0, True), out)
        self.assertEqual(found["train: launches measured or known to have impossible times"], (1992, True))
        self.assertLess(found["train: steady, median error"][0], 0.02)
        self.assertEqual((found["train: windows of counters"], status), ((0, False), 1))
        self.assertTrue(os.path.getsize(f"{self.out}/out/train.report.txt"))

    def test_a_program_that_fails_shows(self):
        self.assertIs(self.recorded(status=3)[2]["train: exit status"][1], False)

class Development(Scripts):
    def record(self, **counters):
        measured = log(3, 2, pm_windows=120, counted=400)
        program = self.program("workloads", pm={"says": "", "log": log(3, 2, **counters) if counters else measured},
                               any={"says": "", "log": measured})
        return self.script("development", "record", "--library", f"{STANDIN}/libnvidia-ml.so.1", "--logdump", LOGDUMP, "--workloads",
                           program, "--seconds", "1")

    def test_a_log_is_recorded_and_one_without_counts_is_none(self):
        status, out, found = self.record()
        self.assertEqual(status, 0, out)
        self.assertEqual(found["launches measured"], (6, True))
        self.assertTrue(os.path.exists(f"{self.out}/out/log.gwl"))
        self.assertEqual(self.record(pm_windows=120, counted=3)[0], 1)

    def test_verdicts_of_a_log_are_held_against_ncu(self):
        status, out, found = self.script("development", "verdicts", "--cli", GPUWATCH, "--table", f"{COMPILED}/h200/table.csv",
                                         f"{COMPILED}/../logs/development.gwl")
        self.assertEqual(status, 0, out)
        self.assertGreater(found["verdicts as ncu's Speed-of-Light"][0], 0.9)
        self.assertIn("ncu latency", out)  # those that disagree are listed

    def test_another_verdict_than_ncu_s_is_listed(self):
        row = {"workload": "w", "size": "1", "kernel": "k", "grid": "4x1x1", "block": "256x1x1", "dynamic_shared": "0",
               "seconds": "1e-6", "sm_throughput": "0.9", "memory_throughput": "0.2"}
        one = {"Mangled": "k", "Arguments": "", "Avg (ns)": 10,
               "verdict": {"bound": "memory", "text": "memory-bound (dram)", "work": {"inst_executed": {"source": "measured counters"}},
                           "configuration": {"GridXYZ": "4 1 1", "BlockXYZ": "256 1 1", "Dynamic Shared (B)": 0}}}
        agreed, judged, lines = development.agreement([row], [one])
        self.assertEqual((agreed, judged, len(lines)), (0, 1, 1))
        one["verdict"]["bound"] = "compute"
        self.assertEqual(development.agreement([row], [one])[:2], (1, 1))
        one["verdict"]["work"]["inst_executed"]["source"] = "static analysis"  # what code shows is no count
        self.assertEqual(development.agreement([row], [one])[:2], (0, 0))

    def test_rows_of_one_grid_are_told_apart_by_their_times(self):
        def row(arguments, time):
            return {"Arguments": arguments, "Avg (ns)": time}
        before, after, other = row("", 1), row("0000001a", 5), row("0000002b", 9)
        small, large = {"seconds": "4e-6"}, {"seconds": "8e-6"}
        self.assertEqual(development.pairs([small], [before]), [(small, before)])
        self.assertEqual(development.pairs([small], [before, after]), [(small, after)])
        self.assertEqual(development.pairs([large, small], [other, before, after]), [(small, after), (large, other)])
        self.assertEqual(development.pairs([small], [after, other]), [])  # which of the two is the table's row?
        self.assertEqual(development.pairs([small, {"seconds": "5e-6"}], [after, other]), [])  # too near each other
        self.assertEqual(development.pairs([small], []), [])

    def test_a_log_s_score_is_taken_apart_by_what_was_known(self):
        def answer(**rows):
            return {"groups": [{"model": "gpuwatch", "basis": under.BASIS[tier], "work": under.WORK.get(work, work), "length": "all", "count": 2000, **row}
                               for (tier, work), row in rows["rows"].items()]}
        cold = answer(rows={("cold", "counted"): {"within_25": 0.8, "coverage": 0.9, "median_error": 0.1}})
        warm = answer(rows={("warm", "counted"): {"mape": 0.07, "coverage": 0.9}})
        steady = answer(rows={("steady", "all"): {"median_error": 0.01, "coverage": 0.9}})
        self.assertTrue(figures.met(development.scored(cold, warm, steady)))
        steady["groups"][0]["coverage"] = 0.96
        self.assertFalse(figures.met(development.scored(cold, warm, steady)))
        self.assertFalse(figures.met(development.scored(warm, warm, steady)))

    def test_steady_goals_need_enough_launches(self):
        def reported(count, error):
            return recorded.reported_of("p", {"groups": [{"model": "gpuwatch", "basis": "same shape timed", "work": "all", "length": "all", "count": count,
                                                      "median_error": error, "coverage": 0.9, "intervals": count, "within_25": 1}]})
        self.assertTrue(figures.met(reported(1000, 0.01)))
        self.assertFalse(figures.met(reported(1000, 0.03)))
        self.assertTrue(all(one["met"] is None for one in reported(10, 0.03)))


class Legacy(unittest.TestCase):
    """What a report of a program of an old runtime says of its code."""

    @staticmethod
    def report(*outcomes):
        rows = [{"code_analysis": {"analysed_launches": int(one is None), "reason": one and {"outcome": one}}} for one in outcomes]
        return {"kernels": rows, "verdict": {"seconds_by_bound": {"unknown": 1.0, "memory": 3.0}}}

    def test_code_that_was_found_counts_whatever_it_says(self):
        code, verdicts = legacy.judged("sm90", self.report(None, "data-dependent", "unsupported", "timed out"))
        self.assertTrue(code["met"])
        self.assertEqual((code["n"], verdicts["value"], verdicts["met"]), (4, 0.75, None))

    def test_code_that_was_not_found_shows(self):
        for outcome in ("no code", "not reached"):
            code, _ = legacy.judged("sm90", self.report(None, outcome))
            self.assertFalse(code["met"], outcome)
        self.assertFalse(legacy.judged("sm90", self.report())[0]["met"])


class Watched(unittest.TestCase):
    """What a run in mode watch is judged by."""
    MEASURED = {"cpu": 0.01, "cpu_all": 0.02, "resident": 40 << 20, "bytes": 1e6}

    @staticmethod
    def row(median, measured=100):
        return {"Mangled": "k", "Name": "k", "Arguments": "", "Measured": measured, "Med (ns)": median}

    def report(self, **more):
        return {"launches": 1000, "measured": 10, "graphs": [], "verdict": {"seconds_by_bound": {"memory": 97, "unknown": 3}},
                "kernels": [self.row(10000)], **more}

    def judged(self, report=None, audit=10000, **measured):
        report = report or self.report()
        return {one["figure"]: one["met"] for one in watched.judged(
            report, watched.medians(report, {"kernels": [self.row(audit)]}), {**self.MEASURED, **measured})}

    def missed(self, *args, **kwargs):
        return [name for name, met in self.judged(*args, **kwargs).items() if met is False]

    def test_a_good_run_meets_each_goal(self):
        self.assertEqual(self.missed(), [])
        self.assertEqual(sum(met is True for met in self.judged().values()), 6)

    def test_each_goal_can_be_missed(self):
        self.assertEqual(self.missed(self.report(measured=4)), ["kernel runs timed"])
        self.assertEqual(self.missed(self.report(verdict={"seconds_by_bound": {"memory": 9, "unknown": 1}})), ["GPU time with a verdict"])
        self.assertEqual(self.missed(audit=10300), ["medians within 2% of audit's"])
        self.assertEqual(self.missed(cpu=0.03), ["CPU of gpuwatch's threads, second half"])
        self.assertEqual(self.missed(resident=97 << 20), ["resident beyond bare"])
        self.assertEqual(self.missed(bytes=51e6), ["bytes of the log a day"])

    def test_graphs_timed_whole_count_with_their_kernels(self):
        graph = {"timed": 2, "kernels": 400}
        self.assertEqual(watched.timed_share(self.report(measured=0, launches=80000, graphs=[graph])), 0.01)
        self.assertEqual(watched.verdict_share(self.report(graphs_by_bound={"gpu_time_ns": 10, "unknown": 4})), 0.6)

    def test_configurations_timed_seldom_or_short_are_not_compared(self):
        for row in (self.row(10000, 29), self.row(4000)):
            self.assertEqual(watched.medians({"kernels": [row]}, {"kernels": [self.row(row["Med (ns)"] * 2 if row["Measured"] < 30 else 4000)]}), [])


if __name__ == "__main__":
    if len(sys.argv) < 5 or not os.path.exists(f"{sys.argv[1]}/libnvidia-ml.so.1"):
        sys.exit(__doc__)
    STANDIN, LOGDUMP, GPUWATCH, COMPILED = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
    selftest.LOGDUMP = LOGDUMP
    unittest.main()
