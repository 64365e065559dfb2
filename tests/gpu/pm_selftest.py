#!/usr/bin/env python3
"""Tests, without a GPU, of what scores sampled counters: a wrong count must show.

usage: pm_selftest.py LOGDUMP PM_AGAIN H200 (h200.tar.xz, unpacked)
"""
import csv
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import pm_score  # noqa: E402
import selftest  # noqa: E402
import under  # noqa: E402
import workloads_selftest  # noqa: E402

LOGDUMP, PM_AGAIN, H200 = None, None, None
COUNTED, STATIC = 4, 1
ROWS = under.work_rows()
METRICS = [line.split(",")[2].strip() if line.startswith("METRIC(") else None
           for line in open(f"{TOP}/preload/counters/pm_metric.def") if line.startswith(("METRIC(", "CLOCK("))]


def work(config, values, source=COUNTED):
    tail = b"".join(struct.pack("<HBBfd", ROWS.index(name), source, 0, 1, value) for name, value in values.items())
    return selftest.record(15, struct.pack("<IIIQ", config, len(values), 0, 0), tail)


def with_work(log, records):
    """The log with more records at its end."""
    body = log[16:] + records
    return struct.pack("<IIII", 0x31425747, len(body), 0, selftest.crc32c(body)) + body


class Score(unittest.TestCase):
    KEY = "copy", "4x1x1", "256x1x1", "0"

    def errors(self, values, truth, source=COUNTED):
        """{counter: error} of a kernel of 200 us of whose work `values` were counted and `truth` is so."""
        with tempfile.NamedTemporaryFile(suffix=".gwl") as file:
            file.write(with_work(workloads_selftest.log(["copy"], [(1, 200000)]), work(1, values, source)))
            file.flush()
            counted = pm_score.read_log(LOGDUMP, file.name)
        return {counter: round(error, 6) for counter, _, error in pm_score.compare({self.KEY: truth}, counted)}

    def test_a_wrong_count_shows(self):
        self.assertEqual(self.errors({"inst_executed": 5.2e6}, {"inst_executed": 5e6}), {"inst_executed": 0.04})

    def test_both_directions_are_compared_together(self):
        errors = self.errors({"dram_read_bytes": 3e8, "dram_write_bytes": 1e8}, {"dram_read_bytes": 2e8, "dram_write_bytes": 2e8})
        self.assertEqual(errors, {"dram": 0, "dram_read_bytes": 0.5, "dram_write_bytes": -0.5})

    def test_what_was_not_counted_is_not_scored(self):
        self.assertEqual(self.errors({"inst_executed": 5e6}, {"inst_executed": 5e6}, source=STATIC), {})


class Again(unittest.TestCase):
    def again(self, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return subprocess.run([PM_AGAIN, file.name], capture_output=True, text=True)

    def recording(self):
        """A window of 40 samples in which a kernel of 100 us ran three times, a million instructions each."""
        row = METRICS.index("inst_executed")
        runs = [(1000000 + 250000 * i, 1100000 + 250000 * i) for i in range(3)]
        samples = []
        for i in range(40):
            begin = 950000 + 20000 * i
            share = sum(max(0, min(begin + 20000, end) - max(begin, start)) for start, end in runs) / 100000
            samples.append(struct.pack("<QQ12d", begin, begin + 20000, share * 1e6, *[0] * 11))
        return (struct.pack("<II12B4xQQ", 0x6d705747, 1, row, *[0] * 11, len(samples), len(runs)) + b"".join(samples)
                + b"".join(struct.pack("<QQI4x", start, end, 7) for start, end in runs))

    def test_a_recorded_window_is_attributed(self):
        reported = self.again(self.recording())
        self.assertEqual(reported.returncode, 0, reported.stderr)
        config, field, value = next(line.split("\t")[1:4] for line in reported.stdout.splitlines() if line.startswith("A"))
        self.assertEqual((config, field), ("7", "inst_executed"))
        self.assertAlmostEqual(float(value), 1e6, delta=1)
        self.assertIn("F\t0\t1\n", reported.stdout)

    def test_anything_else_is_refused(self):
        for data in (b"x" * 200, self.recording()[:-8]):
            reported = self.again(data)
            self.assertEqual(reported.returncode, 2)
            self.assertIn("not a recording", reported.stderr)


class Recorded(unittest.TestCase):
    """Thirty kernels of 5 to 60 us on an H200, with a wait after each (short) and back to back (queued)."""

    def errors(self, name):
        """{counter: errors by rank}, against counts made of each launch alone."""
        counted = pm_score.read_again(PM_AGAIN, LOGDUMP, f"{H200}/{name}.work={H200}/{name}.rec")
        truth = pm_score.read_recorded(LOGDUMP, f"{H200}/ranges.work")
        found = {}
        for counter, _, error in pm_score.compare(truth, counted):
            found.setdefault(counter, []).append(abs(error))
        return {counter: sorted(errors) for counter, errors in found.items()}

    def assert_within(self, errors, median, worst):
        """Most counts are as good as the median says, all but one as good as `worst`."""
        self.assertGreater(len(errors), 20)
        self.assertLess(errors[len(errors) // 2], median)
        self.assertLess(errors[-2], worst)

    def test_kernels_with_moments_of_rest_between_them(self):
        errors = self.errors("short")
        self.assert_within(errors["inst_executed"], 0.0001, 0.001)
        self.assert_within(errors["dram_read_bytes"], 0.001, 0.01)
        self.assert_within(errors["lsu_wavefronts"], 0.001, 0.01)

    def test_kernels_back_to_back(self):
        errors = self.errors("queued")
        self.assert_within(errors["inst_executed"], 0.001, 0.01)
        self.assert_within(errors["dram_read_bytes"], 0.005, 0.03)
        self.assert_within(errors["l1_bytes"], 0.005, 0.05)


class Leftovers(unittest.TestCase):
    """Windows of an H200. Two of three begin with samples that the window before had left over, without times."""

    def test_leftovers_are_in_no_count(self):
        with open(f"{H200}/leftovers.tsv", newline="") as file:
            truth = {row["config"]: float(row["dram_read_bytes"]) for row in csv.DictReader(file, delimiter="\t")}
        reported = subprocess.run([PM_AGAIN, f"{H200}/leftovers.rec"], capture_output=True, text=True)
        self.assertEqual(reported.returncode, 0, reported.stderr)
        rows = [line.split("\t") for line in reported.stdout.splitlines() if line.startswith("A")]
        off = {config: float(value) / truth[config] - 1 for _, config, field, value, error, *_ in rows
               if field == "dram_read_bytes" and config in truth and float(error) < 0.05}
        self.assertGreater(len(off), 20)
        self.assertEqual({config: error for config, error in off.items() if abs(error) > 0.01}, {})


if __name__ == "__main__":
    LOGDUMP, PM_AGAIN, H200 = (sys.argv.pop(1) for _ in range(3))
    unittest.main()
