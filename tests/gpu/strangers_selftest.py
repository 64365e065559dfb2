#!/usr/bin/env python3
"""Tests, without a GPU, of what strangers.py makes of logs.

usage: strangers_selftest.py LOGDUMP GPUWATCH
"""
import argparse
import collections
import contextlib
import hashlib
import io
import json
import os
import struct
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import selftest  # noqa: E402
import strangers  # noqa: E402

LOGDUMP, GPUWATCH = None, None
NONE, COLD, WARM, STEADY = range(4)
NAN = float("nan")


def launch(call, duration, tier=NONE, predicted=NAN, low=NAN, high=NAN, config=1):
    return selftest.record(9, struct.pack("<IIIHBBIIfQQQff", selftest.MEASURED, config, 1, 1, tier, 1 if tier else 0, 0, 0, predicted, call, call + 100,
                                          duration, low, high))


def log(launches, configurations=1):
    """A log with one kernel, `bump`, at some configurations: that with the number n has n blocks of 32 threads."""
    body = selftest.record(4, struct.pack("<9I", 1, 0, 1, 1, 1, 1, 1, 90, 0), b"bump\0")
    for number in range(1, configurations + 1):
        body += selftest.record(5, struct.pack("<13I", number, 1, number, 1, 1, 32, 1, 1, 1, 1, 1, 0, 0))
    body += b"".join(launches)
    body += selftest.record(12, struct.pack("<IQ", len(selftest.COUNTERS), 9) + bytes(8 * len(selftest.COUNTERS)))
    body += selftest.record(14, struct.pack("<IQQ", 0, 1, 9))
    return struct.pack("<IIII", 0x31425747, len(body), 0, selftest.crc32c(body)) + body


def entry(tier, ratio, held=1.0):
    return {"tier": tier, "kernel": "k", "ratio": ratio, "error": abs(ratio - 1) if ratio else None, "held": held if ratio else None,
            "measured_ns": 9000}


def program(name, sealed=False, **more):
    return dict({"program": name, "sealed": sealed, "status": 0, "equal": True, "vary": 0, "differ": [], "launches": 10, "gpu_seconds": 1.0,
                 "with_verdict": 0.5, "why": [], "code": [], "degraded": [], "configurations": []}, **more)


class Logs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = temporary.name

    def rows(self, launches, configurations=1):
        with open(f"{self.out}/log.gwl", "wb") as file:
            file.write(log(launches, configurations))
        return strangers.configurations(strangers.launches(GPUWATCH, f"{self.out}/log.gwl"))

    def test_a_first_launch_is_scored_by_its_own_prediction(self):
        row, = self.rows([launch(1, 10000, COLD, 12000, 9000, 15000), launch(9, 10000, COLD, 99000, 1, 2)])
        self.assertEqual((row["tier"], row["launches"], row["held"]), ("first", 1, 1))
        self.assertAlmostEqual(row["ratio"], 1.2, 5)

    def test_a_first_launch_without_an_answer_counts_as_one(self):
        row, = self.rows([launch(1, 10000), launch(9, 10000, COLD, 10000, 1, 2)])
        self.assertEqual((row["tier"], row["ratio"], row["error"]), ("first", None, None))
        self.assertEqual(strangers.scored([row])["first"]["answered"], 0)

    def test_order_is_that_of_calls(self):
        row, = self.rows([launch(9, 10000, COLD, 20000), launch(1, 10000, COLD, 10000)])
        self.assertEqual(row["ratio"], 1)

    def test_later_tiers_are_the_median_over_launches(self):
        rows = self.rows([launch(1, 10000, COLD, 10000), launch(2, 10000, STEADY, 10000, 1, 2), launch(3, 10000, STEADY, 11000, 9000, 20000),
                          launch(4, 10000, STEADY, 50000, 9000, 20000)])
        self.assertEqual([row["tier"] for row in rows], ["first", "steady"])
        self.assertAlmostEqual(rows[1]["error"], 0.1, 5)
        self.assertAlmostEqual(rows[1]["held"], 2 / 3)

    def test_a_new_configuration_of_a_timed_kernel_is_no_first_launch(self):
        rows = self.rows([launch(1, 10000, COLD, 10000), launch(2, 30000, WARM, 30000, config=2)], 2)
        self.assertEqual([row["tier"] for row in rows], ["first", "warm"])

    def test_short_launches_are_left_out(self):
        self.assertEqual(self.rows([launch(1, 4999, COLD, 4999)]), [])

    def test_six_configurations_of_a_kernel_count(self):
        self.assertEqual(len(self.rows([launch(n, 9000, COLD, 9000, config=n) for n in range(1, 10)], 9)), 6)

    def test_a_program_s_row_is_made_of_its_log(self):
        args = argparse.Namespace(out=self.out, programs=self.out, cli=GPUWATCH, unseal=False)
        os.symlink(LOGDUMP, f"{self.out}/logdump")
        witness = collections.Counter({("0", "1,1,1", "32,1,1", "1,1,1", "0", "bump"): 2})
        for name, sealed in (("mine", False), ("theirs", True)):
            os.makedirs(f"{self.out}/raw/{name}")
            with open(f"{self.out}/raw/{name}/log.gwl", "wb") as file:
                file.write(log([launch(1, 10000, COLD, 12000), launch(2, 10000, STEADY, 10000)]))
            row = strangers.row_of(args, name, sealed, 0, 1.5, (witness, witness))
            self.assertEqual((row["equal"], row["launches"], len(row["configurations"]), row["differ"], row["with_verdict"]), (True, 2, 2, [], 0), row["degraded"])
            self.assertAlmostEqual(row["gpu_seconds"], 20e-6)
            self.assertEqual(bool(os.listdir(f"{self.out}/raw/{name}")), not sealed)  # no log of a sealed program stays


class Counts(unittest.TestCase):
    ONE, TWO = ("0", "1,1,1", "32,1,1", "1,1,1", "0", "one"), ("0", "1,1,1", "32,1,1", "1,1,1", "0", "two")

    def equal(self, ours, again=None, launched=5, measured=5):
        witness = {self.ONE: 2, self.TWO: 3}
        return strangers.same_counts(*(collections.Counter(one) for one in (witness, again or witness, ours)),
                                     collections.Counter(launched=launched, measured=measured))[0]

    def test_the_same_counts_are_equal(self):
        self.assertTrue(self.equal({self.ONE: 2, self.TWO: 3}))

    def test_a_missing_and_an_unmeasured_launch_differ(self):
        self.assertFalse(self.equal({self.ONE: 2, self.TWO: 2}))
        self.assertFalse(self.equal({self.ONE: 2, self.TWO: 3}, measured=4))

    def test_a_kernel_that_races_decide_on_is_left_out(self):
        self.assertTrue(self.equal({self.ONE: 2, self.TWO: 9}, again={self.ONE: 2, self.TWO: 4}))
        self.assertFalse(self.equal({self.ONE: 1, self.TWO: 9}, again={self.ONE: 2, self.TWO: 4}))

    def test_nothing_seen_is_not_equal(self):
        self.assertFalse(self.equal({}, launched=0, measured=0))


class Score(unittest.TestCase):
    def test_shares_are_of_all_and_errors_of_those_answered(self):
        one = strangers.scored([entry("first", 1.0), entry("first", 0.6), entry("first", 0.01), entry("first", None)])["first"]
        self.assertEqual((one["count"], one["answered"], one["within_25"], one["within_2x"]), (4, 0.75, 0.25, 0.5))
        self.assertAlmostEqual(one["median_error"], 0.4)
        self.assertAlmostEqual(one["far"], 1 / 3)

    def test_both_parts_and_all_are_summed_up(self):
        found = strangers.summary([program("a", configurations=[entry("first", 1.0)]), program("b", True, with_verdict=1.0, status=1, equal=False)])
        self.assertEqual([found[part]["programs"] for part in ("open", "sealed", "all")], [1, 1, 2])
        self.assertEqual([found[part]["verdict"] for part in ("open", "sealed", "all")], [0.5, 1, 0.75])
        self.assertEqual((found["sealed"]["passed"], found["sealed"]["equal"], found["sealed"]["first"]["count"]), (0, 0, 0))

    def test_programs_are_parted_by_their_gpu_time(self):
        found = strangers.summary([program("a"), program("b", gpu_seconds=0.5, with_verdict=0.5), program("c", gpu_seconds=0.1, with_verdict=0)])["open"]
        self.assertEqual((found["verdict_long"], found["verdict_middle"]), (0.5, 1))

    def conclude(self, rows, unseal=False):
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()) as said:
            status = strangers.conclude(argparse.Namespace(out=out, unseal=unseal, add=[]), rows)
            with open(f"{out}/rows.json") as file:
                return status, said.getvalue(), json.load(file)

    def test_a_sealed_program_is_not_shown_alone(self):
        status, said, left = self.conclude([program("a"), program("hidden", True, differ=["    witness 1"])])
        self.assertEqual((status, [row["program"] for row in left["programs"]]), (0, ["a"]))
        self.assertNotIn("hidden", said)
        self.assertIn("hidden", self.conclude([program("a"), program("hidden", True)], unseal=True)[1])

    def test_rows_of_an_earlier_run_are_added_where_this_one_has_none(self):
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
            args = argparse.Namespace(out=out, unseal=False, add=[])
            strangers.conclude(args, [program("a"), program("hidden", True), program("again", status=1)])
            os.rename(f"{out}/rows.json", f"{out}/first.json")
            args.add = [f"{out}/first.json"]
            self.assertEqual(strangers.conclude(args, [program("again"), program("b")]), 0)
            self.assertEqual(sorted(row["program"] for row in strangers.unpack(f"{out}/rows.json")), ["a", "again", "b", "hidden"])

    def test_a_failed_check_and_other_counts_miss_the_goal(self):
        self.assertEqual(self.conclude([program("a", status=1)])[0], 1)
        self.assertEqual(self.conclude([program("a", equal=False)])[0], 1)

    def test_a_report_s_seconds_are_read(self):
        report = {"verdict": {"seconds_by_bound": {"unknown": 1, "memory": 2, "launch": 1}, "without_verdict": [{"why": "no work", "seconds": 1}]}}
        self.assertEqual(strangers.verdict(report), (4, 3, [[1, "no work"]]))


class List(unittest.TestCase):
    def test_the_list_has_programs_enough_and_the_rule_chooses_the_sealed(self):
        names = [name for _, name, _, _ in strangers.listed()]
        self.assertGreaterEqual(len(names), 40)
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(strangers.sealed_names(), {name for name in names if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0})


if __name__ == "__main__":
    LOGDUMP, GPUWATCH = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
