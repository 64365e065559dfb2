#!/usr/bin/env python3
"""Tests of the proof itself, without a GPU: it must fail when something is wrong.

usage: selftest.py LOGDUMP    the program built from logdump.c
"""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, f"{TOP}/tests/bench/gpu_overhead"]
import beside  # noqa: E402
import compare  # noqa: E402
import figures  # noqa: E402
import overhead  # noqa: E402
import sampling  # noqa: E402
import turns  # noqa: E402
import watch  # noqa: E402

LOGDUMP = None
with open(f"{TOP}/predictor/log/counter.def") as counter_def:
    COUNTERS = [line.split("(")[1].split(",")[0] for line in counter_def if line.startswith("COUNTER(")]
MEASURED, INVALID, GRAPH, NO_CALL = 1, 2, 8, 256


def crc32c(data):
    """Castagnoli's, bit by bit, apart from predictor/log/crc.c."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def record(kind, body, tail=b""):
    length = -(-(4 + len(body) + len(tail)) // 8) * 8
    return (struct.pack("<HH", kind, length) + body + tail).ljust(length, b"\0")


def launch(flags, start, node=0):
    return record(9, struct.pack("<IIIHHIIfQQQff", flags, 1, 1, 1, 0, node, 0, 1, 1, start, 5, 1, 1))


def log(launches, **counters):
    """A log with one kernel, `bump`, at one configuration."""
    body = record(4, struct.pack("<9I", 1, 0, 1, 1, 1, 1, 1, 90, 0), b"bump\0")
    body += record(5, struct.pack("<13I", 1, 1, 2, 1, 1, 32, 1, 1, 1, 1, 1, 0, 0))
    body += b"".join(launches)
    values = [counters.get(name, 0) for name in COUNTERS]
    body += record(12, struct.pack("<IQ", len(values), 9) + struct.pack(f"<{len(values)}Q", *values))
    body += record(14, struct.pack("<IQQ", 0, 1, 9))
    return struct.pack("<IIII", 0x31425747, len(body), 0, crc32c(body)) + body


class Proof(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.out = self.temporary.name

    def write(self, mode, name, data):
        folder = f"{self.out}/raw/case/{mode}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)

    def verdicts(self, data, witness=3, by_device=False, out=b"kernels 3 counted 3\n", status=0):
        """Names of the checks that failed, for a run in audit mode with this log."""
        for mode in ("bare", "oracle", "audit"):
            self.write(mode, "stdout", out if mode == "audit" else b"kernels 3 counted 3\n")
            self.write(mode, "stderr", b"")
        self.write("oracle", "1.tsv", f"K\t0\t{witness}\t2,1,1\t32,1,1\t1,1,1\t0\tbump\n".encode())
        if data:
            self.write("audit", "1.gwl", data)
        args = argparse.Namespace(out=self.out, logdump=LOGDUMP)
        runner = types.SimpleNamespace(
            args=args, folder=lambda case, mode: f"{self.out}/raw/{case.name}/{mode}")
        case = compare.Case("case", [], {}, None, by_device, True)
        rows = compare.judge(runner, case, {"bare": 0, "oracle": 0, "audit": status})
        return [check for check, passed, _ in rows if not passed]

    good = [launch(MEASURED, t) for t in (100, 200, 300)]

    def test_equal_runs_pass(self):
        self.assertEqual(self.verdicts(log(self.good)), [])

    def test_a_missing_launch_fails(self):
        self.assertEqual(self.verdicts(log(self.good[:2])), ["audit counts"])

    def test_a_launch_counted_twice_fails(self):
        self.assertEqual(self.verdicts(log(self.good + self.good[:1])),
                         ["audit counts", "audit joined"])

    def test_a_launch_in_the_wrong_place_fails(self):
        in_graph = self.good[:2] + [launch(MEASURED | GRAPH, 300, 1)]
        self.assertEqual(self.verdicts(log(in_graph)), ["audit counts"])

    def test_an_unmeasured_launch_fails(self):
        self.assertEqual(self.verdicts(log(self.good[:2] + [launch(0, 0)])), ["audit joined"])

    def test_a_record_with_impossible_times_is_accounted_for_where_it_is_marked_and_counted(self):
        marked = self.good[:2] + [launch(INVALID, 0)]
        self.assertEqual(self.verdicts(log(marked, activity_invalid=1)), [])
        self.assertEqual(self.verdicts(log(marked)), ["audit joined"])
        self.assertEqual(self.verdicts(log(self.good, activity_invalid=1)), ["audit joined"])

    def test_more_than_a_few_records_with_impossible_times_fail(self):
        self.assertEqual(self.verdicts(log([launch(INVALID, 0)] * 3, activity_invalid=3)),
                         ["audit joined"])

    def test_a_dropped_record_fails(self):
        self.assertEqual(self.verdicts(log(self.good, activity_dropped=1)), ["audit joined"])

    def test_a_record_without_a_call_fails_unless_the_device_launched_it(self):
        data = log(self.good[:2] + [launch(MEASURED | NO_CALL, 300)], activity_unmatched=1)
        self.assertEqual(self.verdicts(data), ["audit joined"])
        self.assertEqual(self.verdicts(data, by_device=True), [])

    def test_a_witness_that_missed_kernels_is_not_believed(self):
        self.assertEqual(self.verdicts(log(self.good[:2]), witness=2), ["witness"])

    def test_no_log_fails(self):
        self.assertEqual(self.verdicts(None), ["audit counts", "audit joined"])

    def test_a_damaged_log_fails(self):
        data = bytearray(log(self.good))
        data[60] ^= 1
        self.assertEqual(self.verdicts(bytes(data)), ["audit counts", "audit joined"])

    def test_changed_output_and_exit_status_fail(self):
        self.assertEqual(self.verdicts(log(self.good), out=b"else\n"), ["audit behaviour"])
        self.assertEqual(self.verdicts(log(self.good), status=1), ["audit behaviour"])


    def said(self, text, logs):
        """What of a run with counters differs from bare, where its processes said this and left so many logs."""
        for mode, err in (("bare", b""), ("pm", text)):
            self.write(mode, "stdout", b"")
            self.write(mode, "stderr", err)
        for i in range(logs):
            self.write("pm", f"{i}.gwl", b"")
        runner = types.SimpleNamespace(folder=lambda case, mode: f"{self.out}/raw/{case.name}/{mode}")
        return compare.same_behaviour(runner, compare.Case("case", [], {}, None, False, True), "pm", 0, 0)

    def test_each_process_with_counters_may_say_one_line(self):
        line = b"gpuwatch: others wait\n"
        self.assertEqual(self.said(line * 2, 2), [])
        self.assertEqual(len(self.said(line * 3, 2)), 1)
        self.assertEqual(len(self.said(b"another\n" + line, 2)), 1)


class Blocks(unittest.TestCase):
    """logdump on blocks of version 3; the records in these are not packed."""
    REPEAT, COPY = 2, 4
    NAMES = (record(1, struct.pack("<5I3Q", 3, 1, 1, 0, 0, 1, 1, 1), b"host=here\0") +
             record(4, struct.pack("<9I", 1, 0, 1, 1, 1, 1, 1, 90, 0), b"bump\0") +
             record(5, struct.pack("<15I", 1, 1, 2, 1, 1, 32, 1, 1, 1, 1, 1, 0, 0, 0, 0)))

    @staticmethod
    def block(body, sequence, flags=0, room=0):
        rest = struct.pack("<6I", len(body), sequence, len(body), flags, room, 1) + body
        return struct.pack("<II", 0x32425747, crc32c(rest)) + rest

    def copy(self, sequence, launches, room=512):
        total = record(10, struct.pack("<5IfI4Q", 1, launches, launches, 0, 0, 0, 0, 1, 5, 1, 1)) + record(14, struct.pack("<IQQ", 0, 1, 9))
        return self.block(total, sequence, self.COPY, room)

    def dump(self, *blocks):
        """(exit status, lines) of a file of these."""
        with tempfile.NamedTemporaryFile(suffix=".gwl") as file:
            file.write(b"".join(blocks))
            file.flush()
            reported = subprocess.run([LOGDUMP, file.name], capture_output=True, text=True)
        return reported.returncode, reported.stdout.splitlines()

    def launches(self, *blocks):
        status, lines = self.dump(*blocks)
        self.assertEqual(status, 0)
        return sum(int(line.split("\t")[2]) for line in lines if line.startswith("K"))

    def test_launches_of_all_blocks_are_counted(self):
        self.assertEqual(self.launches(self.block(self.NAMES, 0), self.block(launch(MEASURED, 5), 1)), 1)

    def test_definitions_once_more_say_nothing_new(self):
        status, lines = self.dump(self.block(self.NAMES, 0), self.block(self.NAMES, 1, self.REPEAT), self.block(launch(MEASURED, 5), 2))
        self.assertEqual(status, 0)
        self.assertEqual([line for line in lines if line[0] in "HK"], ["H\thost=here", "K\t0\t1\t1\t0\t2,1,1\t32,1,1\t1,1,1\t0\tbump"])

    def test_a_file_that_begins_with_definitions_once_more_has_them(self):
        status, lines = self.dump(self.block(self.NAMES, 0, self.REPEAT), self.block(launch(MEASURED, 5), 1))
        self.assertEqual((status, lines[0]), (0, "H\thost=here"))

    def test_of_copies_the_one_with_the_higher_number_counts(self):
        begin = self.block(self.NAMES + launch(MEASURED, 5), 0)
        self.assertEqual(self.launches(begin, self.copy(6, 100).ljust(512, b"?"), self.copy(5, 50)), 101)
        self.assertEqual(self.launches(begin, self.copy(6, 100).ljust(512, b"?"), self.copy(7, 150)), 151)

    def test_a_missing_block_is_no_whole_log(self):
        self.assertEqual(self.dump(self.block(self.NAMES, 0), self.block(launch(MEASURED, 5), 2))[0], 2)

    def test_a_changed_header_fails(self):
        data = bytearray(self.block(self.NAMES, 0))
        data[28] ^= 1
        self.assertEqual(self.dump(bytes(data))[0], 2)


class Environment(unittest.TestCase):
    def test_a_bare_run_has_no_option_of_the_product_but_which_libcupti(self):
        with open(f"{TOP}/predictor/core/config.def") as config:
            options = [line.split('"')[1] for line in config if line.startswith("OPTION(")]
        self.assertGreater(len(options), 10)
        self.assertEqual(sorted(compare.without_gpuwatch(options + ["PATH", "GPUWATCH_CUPTI"])), sorted(set(options) - {"GPUWATCH_CUPTI"}))


class Beside(unittest.TestCase):
    NCU = ('ex: kernels 1 counted 1 last error cudaSuccess\n==PROF== Disconnected from process 7\n'
           '"ID","Process ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum",'
           '"smsp__inst_executed.sum"\n"","","","","","us","inst"\n'
           '"0","%d","bump","(32, 1, 1)","(8, 1, 1)","%s","%s"\n')
    FOUND = ("========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 8 bytes\n"
             "=========     at %s+0x40\n=========     Host Frame: launch [0x%x] in %s\n"
             "========= ERROR SUMMARY: 1 error\n")

    def test_ncu_s_table_is_read_without_what_differs_from_run_to_run(self):
        one, ok = beside.ncu_view(self.NCU % (7, "1,234.5", "64"), "bare")
        self.assertTrue(ok)
        self.assertEqual(one[1:], ["bump (8, 1, 1) (32, 1, 1) 64"])
        self.assertEqual(one, beside.ncu_view(self.NCU % (8, "99", "64"), "audit")[0])
        self.assertNotEqual(one, beside.ncu_view(self.NCU % (7, "99", "72"), "audit")[0])
        self.assertFalse(beside.ncu_view("==ERROR== no permission\n", "audit")[1])
        self.assertFalse(beside.ncu_view(self.NCU % (7, "0", "64"), "audit")[1])

    def test_a_tool_that_fails_without_us_is_run_again(self):
        with tempfile.TemporaryDirectory() as out:
            runs = []

            def run(case, mode):
                runs.append(mode)
                os.makedirs(f"{out}/{mode}", exist_ok=True)
                for name in ("stdout", "stderr"):
                    with open(f"{out}/{mode}/{name}", "w") as file:
                        file.write(self.NCU % (7, "0" if len(runs) < 2 else "5", "64") if name == "stdout" else "")
                return 9 if len(runs) < 2 else 0
            runner = types.SimpleNamespace(folder=lambda case, mode: f"{out}/{mode}", run=run)
            case = compare.Case("ncu-ex", [], {}, None, False, True)
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(beside.bare_again(runner, case, beside.ncu_view, run(case, "bare")), 0)
            self.assertEqual(runs, ["bare", "bare"])

    def test_the_sanitizer_s_findings_are_compared_without_addresses_and_frames(self):
        one, ok = beside.sanitizer_view(self.FOUND % ("bump", 1, "program"), "bare")
        self.assertTrue(ok)
        self.assertEqual(one, beside.sanitizer_view(self.FOUND % ("bump", 2, "libgpuwatch.so"), "audit")[0])
        self.assertNotEqual(one, beside.sanitizer_view(self.FOUND % ("other", 1, "program"), "audit")[0])
        self.assertFalse(beside.sanitizer_view("it crashed\n", "audit")[1])

    def verdict(self, audit, launches, status=0, windows=2):
        """What is wrong when mode audit printed this and its log holds so many timed launches."""
        with tempfile.TemporaryDirectory() as out:
            for mode in ["bare"] + list(beside.MODES):
                os.makedirs(f"{out}/{mode}")
                for name, text in (("stdout", audit if mode == "audit" else "5 gemm\nsum 1\n"),
                                   ("stderr", ""), ("last", "100 2")):
                    with open(f"{out}/{mode}/{name}", "w") as file:
                        file.write(text)
                with open(f"{out}/{mode}/1.gwl", "wb") as file:
                    file.write(log([launch(MEASURED, t) for t in launches], pm_windows=windows))
            runner = types.SimpleNamespace(args=argparse.Namespace(logdump=LOGDUMP),
                                           folder=lambda case, mode: f"{out}/{mode}")
            case = compare.Case("torch-profiler-late", [], {}, "torch", False, True)
            statuses = dict.fromkeys(["bare"] + list(beside.MODES), 0)
            with contextlib.redirect_stdout(io.StringIO()):
                return beside.judge(runner, case, beside.torch_view, dict(statuses, audit=status))

    def test_the_same_view_and_a_return_pass(self):
        self.assertEqual(self.verdict("5 gemm\nsum 1\n", (50, 100, 101)), [])

    def test_a_kernel_the_tool_missed_and_another_exit_status_fail(self):
        self.assertEqual(len(self.verdict("sum 1\n", (50, 100, 101))), 1)
        self.assertEqual(len(self.verdict("5 gemm\nsum 1\n", (50, 100, 101), 139)), 1)

    def test_not_to_come_back_fails(self):
        self.assertEqual(len(self.verdict("5 gemm\nsum 1\n", (50, 60, 101))), 2)  # audit and pm

    def test_counters_that_were_asked_for_and_never_sampled_fail(self):
        self.assertEqual(self.verdict("5 gemm\nsum 1\n", (50, 100, 101), windows=0), ["pm: no window of counters was taken"])


class Overhead(unittest.TestCase):
    @staticmethod
    def result(count, watch, audit, rounds=36, limit=80):
        factors = {"bare": 1, "off": 1, "count": count, "watch": watch, "audit": audit, "plain": 1.5}
        raw = [{mode: 4000 * (1 + n % 5 / 100) * f for mode, f in factors.items()} for n in range(rounds)]
        pairs = {mode: {"ratios": [factors[mode] * (1 + n % 5 / 1000) for n in range(rounds)],
                        "given": [4000] * rounds, "driver": [4000] * rounds}
                 for mode in overhead.PAIR_MODES}
        sets = [{"rounds": raw[n:n + 3]} for n in range(0, rounds, 3)]
        args = argparse.Namespace(launches=1, seed=1, cpus=(0, 1), speed={}, turns_limit=limit)
        return [g["met"] for g in overhead.summary(pairs, sets, args)["goals"]]

    def test_goals_met(self):
        self.assertEqual(self.result(1.01, 1.01, 1.55), [True] * 3)

    def test_goals_missed(self):
        self.assertEqual(self.result(1.03, 1.03, 1.60), [False] * 3)

    def test_too_few_rounds_prove_nothing(self):
        self.assertEqual(self.result(1.01, 1.01, 1.55, rounds=27), [False] * 3)

    def test_what_was_not_to_be_measured_is_no_goal(self):
        self.assertEqual(self.result(1.01, 1.01, 1.55, limit=0), [True] * 2)

    @staticmethod
    def sampled(pm, windows=9, rounds=30, ends=None, timed=1.4, had=sampling.DEFAULT):
        """`had`: the share of a CPU that the sampler had."""
        times = [{mode: 100 * factor * (1 + n % 5 / 1000) for mode, factor in
                  {"pm": pm, "timed": timed, "plain": 1.4, "bare": 1}.items()} for n in range(rounds)]
        found = {"rounds": {"train": times}, "ends": ends or {**dict.fromkeys(sampling.MODES, {}), "pm": {"steps": {"train": 1200}}},
                 "windows": windows, "pm_cpu_ns": 1}
        found["pm_cpu_ns"] = had and had / (sampling.share(found) or 1)
        return figures.met(sampling.judged(found, 1, 30))

    def test_sampling_meets_its_goal_only_with_windows_and_enough_pairs(self):
        self.assertTrue(self.sampled(1.41))
        self.assertFalse(self.sampled(1.5))
        self.assertFalse(self.sampled(1.41, windows=0))
        self.assertFalse(self.sampled(1.41, windows=None))
        self.assertFalse(self.sampled(1.41, rounds=29))
        self.assertFalse(self.sampled(1.41, ends=dict.fromkeys(sampling.MODES)))

    def test_what_sampling_costs_counts_by_the_share_that_the_default_budget_has(self):
        self.assertTrue(self.sampled(1.5, had=0.5))
        self.assertFalse(self.sampled(1.6, timed=1.5, had=0.5))
        self.assertFalse(self.sampled(1.41, had=None))

    @staticmethod
    def watched(ratio, windows=3):
        reported = turns.bound([ratio * (1 + n % 5 / 1000) for n in range(40)])
        return figures.met(watch.judged({"launches in turns": {"20000": {**reported, "base": "bare"}, "counters": {"windows": windows}}}))

    def test_mode_watch_meets_its_goals_only_with_windows(self):
        self.assertTrue(self.watched(1.005))
        self.assertFalse(self.watched(1.03))
        self.assertFalse(self.watched(1.005, windows=0))

    def test_players_have_their_turns_warmed_and_rest_after_them(self):
        said = []

        class Told:
            def __init__(self, mode):
                self.mode = mode

            def ready(self):
                return True

            def turn(self, line):
                said.append((self.mode, line))
                return 1.0

        times = turns.play([Told("a"), Told("b")], 3, "7", random.Random(1),
                           lambda player: said.append((player.mode, "warm")), lambda player: 0)
        self.assertEqual(times, [{"a": 1.0, "b": 1.0}] * 3)
        self.assertEqual([line for _, line in said], ["warm", "7"] * 6)
        self.assertTrue(all(one[0] == two[0] for one, two in zip(said[::2], said[1::2])))

    def test_what_the_rounds_of_a_set_share_is_not_taken_for_proof(self):
        def bound(per_set):  # half of 160 rounds at 1.00, half at 1.08
            sets = [{"rounds": [{"audit": 1.08 if n // per_set % 2 else 1.0, "plain": 1.0}
                                for n in range(at, at + per_set)]}
                    for at in range(0, 160, per_set)]
            return turns.ratio(sets, "audit", "plain", 1, 400)
        few, many = bound(40), bound(1)
        self.assertEqual((few["pairs"], few["sets"], many["sets"]), (160, 4, 160))
        self.assertGreater(few["upper95"], 1.079)
        self.assertIsNone(bound(80))


class Refresh(unittest.TestCase):
    def test_the_block_alone_is_replaced(self):
        loader = importlib.machinery.SourceFileLoader("refresh", f"{TOP}/examples/refresh_outputs")
        refresh = importlib.util.module_from_spec(importlib.util.spec_from_loader("refresh", loader))
        loader.exec_module(refresh)
        text = f"a\n{refresh.BEGIN}\nold\n{refresh.END}\nb\n"
        new = f"a\n{refresh.BEGIN}\n```text\nnew\n```\n{refresh.END}\nb\n"
        self.assertEqual(refresh.refresh(text, "new\n"), new)
        self.assertRaises(ValueError, refresh.refresh, "no marks", "new")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(__doc__)
    LOGDUMP = os.path.abspath(sys.argv.pop(1))
    unittest.main()
