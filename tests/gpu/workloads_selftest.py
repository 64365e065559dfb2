#!/usr/bin/env python3
"""Tests, without a GPU, of the scripts that read the development set's raw output.

usage: workloads_selftest.py LOGDUMP
"""
import csv
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import selftest  # noqa: E402

LOGDUMP = None


def line(workload, kernel, launches, launch=0, stated=64):
    return {"workload": workload, "family": "stream", "size": 0, "n": 1024, "seed": 1, "launch": launch,
            "kernel": kernel, "grid": [4, 1, 1], "block": [256, 1, 1], "dynamic_shared": 0, "registers": 16,
            "static_shared": 0, "local": 0, "launches": launches, "truth": {"global_load_requests": stated}}


def log(kernels, runs):
    """A log in which the named kernels ran: runs is [(kernel's number from 1, duration)]."""
    body = b""
    for number, name in enumerate(kernels, 1):
        body += selftest.record(4, struct.pack("<9I", number, 0, 1, 1, 1, 1, 1, 90, 0), name.encode() + b"\0")
        body += selftest.record(5, struct.pack("<13I", number, number, 4, 1, 1, 256, 1, 1, 1, 1, 1, 0, 0))
    for at, (number, duration) in enumerate(runs):
        body += selftest.record(9, struct.pack("<IIIHHIIfQQQff", selftest.MEASURED, number, 1, 1, 0, 0, 0, 1, 1,
                                               1000 + at * 100000, duration, 1, 1))
    return struct.pack("<IIII", 0x31425747, len(body), 0, selftest.crc32c(body)) + body


class Table(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = temporary.name

    def write(self, name, lines, log_=None, counters=None):
        with open(f"{self.out}/{name}.jsonl", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in lines)
        if log_:
            with open(f"{self.out}/{name}.gwl", "wb") as file:
                file.write(log_)
        if counters:
            with open(f"{self.out}/{name}.csv", "w", newline="") as file:
                file.write("==PROF== Connected to process 1\n")
                out = csv.writer(file, quoting=csv.QUOTE_ALL)
                out.writerow(["ID", "Kernel Name", "Metric Name", "Metric Value"])
                out.writerows(counters)

    def table(self):
        return subprocess.run([f"{TOP}/kernels/workloads/table.py", "--logdump", LOGDUMP, self.out],
                              capture_output=True, text=True)

    def rows(self):
        reported = self.table()
        self.assertEqual(reported.returncode, 0, reported.stderr)
        return list(csv.DictReader(reported.stdout.splitlines()))

    def test_times_are_the_median_without_fills_and_warm_up(self):
        runs = [(1, 7), (2, 9000), (2, 100), (2, 300), (2, 200)]
        self.write("times0", [line("copy", "copy_kernel", 3)], log(["_Z7wl_fillIfEvPT_", "copy_kernel"], runs))
        row, = self.rows()
        self.assertEqual(float(row["seconds"]), 200e-9)
        self.assertEqual(float(row["mad_seconds"]), 100e-9)

    def test_launches_of_a_round_are_distinguished(self):
        runs = [(1, 1), (2, 1), (1, 10), (2, 20)]
        self.write("times0", [line("scan", "a", 1), line("scan", "b", 1, 1)], log(["a", "b"], runs))
        self.assertEqual([float(row["seconds"]) for row in self.rows()], [10e-9, 20e-9])

    def test_a_log_of_another_run_is_refused(self):
        self.write("times0", [line("copy", "copy_kernel", 1)], log(["other", "copy_kernel"], [(1, 1), (2, 1)]))
        reported = self.table()
        self.assertNotEqual(reported.returncode, 0)
        self.assertIn("does not belong", reported.stderr)

    def test_counters_become_fields_of_work(self):
        self.write("code0", [line("copy", "copy_kernel", 1)] * 2, counters=[
            [0, "copy_kernel(float *)", "smsp__inst_executed.sum", "1,024"],
            [0, "copy_kernel(float *)", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "2"],
            [0, "copy_kernel(float *)", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "3"]])
        row, = self.rows()
        self.assertEqual(float(row["inst_executed"]), 1024)
        self.assertEqual(float(row["local_bytes"]), 160)
        self.assertEqual(row["pipe_fma"], "")

    def test_counters_of_another_kernel_are_refused(self):
        self.write("code0", [line("copy", "copy_kernel", 1)], counters=[[0, "other", "smsp__inst_executed.sum", "1"]])
        self.assertIn("other stands where copy_kernel", self.table().stderr)


if __name__ == "__main__":
    LOGDUMP = sys.argv.pop()
    unittest.main()
