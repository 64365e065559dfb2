#!/usr/bin/env python3
"""python_package.py GPUWATCH MAKE_SAMPLE PACKAGE LOGS: the Python package says what the command says, with and without pandas.

PACKAGE: the folder that holds the package gpuwatch; LOGS: the recorded logs. What needs pandas or pyarrow is skipped
without them."""
import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

GPUWATCH, MAKE_SAMPLE, PACKAGE, LOGS = sys.argv[1:5]
del sys.argv[1:5]
sys.path.insert(0, PACKAGE)
os.environ["PATH"] = os.path.dirname(GPUWATCH) + os.pathsep + os.environ["PATH"]

import gpuwatch  # noqa: E402

TRAIN = os.path.join(LOGS, "train.gwl")
PANDAS = importlib.util.find_spec("pandas") is not None
PYARROW = importlib.util.find_spec("pyarrow") is not None


def run(*arguments):
    return subprocess.check_output([GPUWATCH, *arguments]).decode()


class Log(unittest.TestCase):
    def setUp(self):
        self.log = gpuwatch.read(TRAIN)

    def test_info_is_the_report_without_its_rows(self):
        report = json.loads(run("report", "--json", "--top=0", TRAIN))
        self.assertEqual(self.log.kernel_rows(), report.pop("kernels"))
        self.assertEqual(self.log.info, report)

    def test_launches_are_the_rows_of_csv(self):
        rows = list(csv.DictReader(io.StringIO(run("export", "--format=csv", "-o", "-", TRAIN), newline="")))
        launches = list(self.log)
        self.assertEqual(len(launches), len(rows))
        for launch, row in zip(launches, rows):
            for name, value in launch._asdict().items():
                if value is None:
                    self.assertEqual(row[name], "")
                else:
                    self.assertEqual(row[name], "%.9g" % value if isinstance(value, float) else str(value))

    def test_launches_are_picked_by_kernel_and_time(self):
        gemms = list(self.log.iterate(kernel="gemm"))
        self.assertTrue(gemms)
        self.assertTrue(all("gemm" in launch.kernel for launch in gemms))
        self.assertEqual(list(self.log.iterate(since=1e6)), [])

    def test_iteration_may_be_left_early(self):
        for launch in self.log:
            self.assertIsInstance(launch, gpuwatch.Launch)
            break

    def test_rows_by_configuration_are_more(self):
        self.assertGreater(len(self.log.kernel_rows("config")), len(self.log.kernel_rows()))

    def test_display_escapes_names(self):
        self.log._rows[0]["Name"] = "<script>alert(1)</script>"
        self.assertIn("&lt;script&gt;", self.log._repr_html_())
        self.assertNotIn("<script>", self.log._repr_html_())
        self.assertIn("1,992 launches, 19.2 ms of GPU time", repr(self.log))

    def test_display_has_the_reports_units_and_names_that_differ(self):
        log = gpuwatch.read(TRAIN)
        row = log._rows[0]
        row["Time (%)"], row["Med (ns)"], row["Predicted (ns)"], row["Error (%)"] = 0.04, 999.6, 123456.7, 12.34
        shown = log._repr_html_()
        self.assertIn("<td>&lt;0.1%</td><td>60</td><td>1.00 µs</td><td>123 µs</td><td>12.3%</td>", shown)
        names = re.findall(r"title='[^']*'>([^<]+)</td></tr>", shown)
        self.assertEqual((len(names), len(set(names))), (10, 10))


class Failures(unittest.TestCase):
    def test_a_missing_log_is_an_error_with_the_commands_message(self):
        with self.assertRaisesRegex(gpuwatch.Error, "^/no/such.gwl: No such file"):
            gpuwatch.read("/no/such.gwl")

    def test_a_name_that_looks_like_an_option_is_a_name(self):
        with self.assertRaisesRegex(gpuwatch.Error, "--version: No such file"):
            gpuwatch.read("--version")

    def test_a_bad_expression_is_an_error(self):
        with self.assertRaisesRegex(gpuwatch.Error, "regular expression"):
            list(gpuwatch.read(TRAIN).iterate(kernel="("))

    def test_a_cut_log_is_warned_of_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cut.gwl")
            subprocess.run([MAKE_SAMPLE, "plain", path], check=True)
            os.truncate(path, os.path.getsize(path) - 100)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                launches = list(gpuwatch.read(path))
            self.assertTrue(launches)
            self.assertIn(gpuwatch.LogWarning, [warning.category for warning in caught])

    def test_without_the_command_the_error_names_the_remedy(self):
        path, os.environ["PATH"] = os.environ["PATH"], "/no/such/folder"
        try:
            with self.assertRaisesRegex(gpuwatch.Error, "not in PATH; install"):
                gpuwatch.command()
        finally:
            os.environ["PATH"] = path


@unittest.skipUnless(PANDAS, "no pandas")
class Frames(unittest.TestCase):
    def setUp(self):
        self.log = gpuwatch.read(TRAIN)

    def test_frames_have_the_reports_sums(self):
        launches, kernels = self.log.launches(), self.log.kernels()
        self.assertEqual(len(launches), self.log.info["launches"])
        self.assertEqual(launches.duration_ns.sum(), self.log.info["total_ns"])
        self.assertEqual(kernels["Total Time (ns)"].sum(), self.log.info["total_ns"])

    def test_launches_are_the_same_by_parquet_and_by_csv(self):
        import pandas
        from gpuwatch import _log
        by_csv, there = None, _log._there
        try:
            _log._there = lambda name: False
            by_csv = self.log.launches()
        finally:
            _log._there = there
        if not PYARROW:
            self.skipTest("no pyarrow")
        for frame in (by_csv, self.log.launches()):
            self.assertEqual(str(frame.start_ns.dtype), "datetime64[ns, UTC]")
            self.assertEqual(str(frame.duration_ns.dtype), "Int64")
        exact = ["start_ns", "duration_ns", "kernel", "grid_x", "basis", "bound", "graph"]
        pandas.testing.assert_frame_equal(by_csv[exact], self.log.launches()[exact], check_dtype=False)

    @unittest.skipUnless(PYARROW, "no pyarrow")
    def test_other_tables_are_frames(self):
        idle = self.log.idle()
        busy = self.log.info["devices"][0]["idle"]
        self.assertEqual(idle.duration_ns.sum(), sum(busy[cause]["ns"] for cause in set(idle.cause)))
        self.assertEqual(len(self.log.clocks()), self.log.info["devices"][0]["clocks"]["samples"])
        self.assertEqual(self.log.arrow("kernels").num_rows >= len(self.log.kernel_rows()), True)


class Without(unittest.TestCase):
    def test_without_pandas_the_error_names_the_remedy(self):
        code = ("import sys; sys.modules['pandas'] = None; import gpuwatch\n"
                "log = gpuwatch.read(%r)\n"
                "assert sum(1 for _ in log) == log.info['launches']\n"
                "try: log.launches()\n"
                "except gpuwatch.Error as error: assert 'pip install pandas' in str(error), error\n"
                "else: raise SystemExit('no error')" % TRAIN)
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": PACKAGE})


unittest.main()
