#!/usr/bin/env python3
"""Tests of killed.py without a GPU: programs on the stand-in driver are killed under the product, and a launch that their
reports lack must show.

usage: killed_test.py STANDIN LOGDUMP GPUWATCH LIBRARY PROGRAM    the program built from killed_standin.c
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import figures  # noqa: E402
import killed  # noqa: E402

STANDIN, LOGDUMP, GPUWATCH, LIBRARY, PROGRAM = (None,) * 5


class Judgement(unittest.TestCase):
    TRUTH = collections.Counter({("of_stream", 1): 100, ("of_graph", killed.NODE_GRID): 50})

    def wrong(self, stream=100, graph=50, dropped=0, threads=2, unknown=0, **more):
        found = collections.Counter({("of_stream", 1): stream, ("of_graph", killed.NODE_GRID): graph,
                                     **{(name, 1): count for name, count in more.items()}})
        return killed.of_grid(self.TRUTH, found, dropped, threads, unknown) is not None

    def test_what_was_counted_passes(self):
        self.assertFalse(self.wrong())

    def test_a_missing_launch_fails_unless_it_was_said_to_be_dropped(self):
        self.assertTrue(self.wrong(stream=99))
        self.assertTrue(self.wrong(graph=45))
        self.assertFalse(self.wrong(stream=99, dropped=1))
        self.assertTrue(self.wrong(stream=98, dropped=1))

    def test_a_launch_whose_call_had_not_returned_may_be_there_once_a_thread(self):
        self.assertFalse(self.wrong(stream=102, graph=60))
        self.assertTrue(self.wrong(stream=103))
        self.assertTrue(self.wrong(graph=61))

    def test_kernels_of_graphs_may_lack_only_where_the_report_says_so(self):
        self.assertFalse(self.wrong(graph=45, unknown=1))
        self.assertTrue(self.wrong(graph=44, unknown=1))
        self.assertTrue(self.wrong(stream=99, unknown=1))
        self.assertEqual(killed.unknown_graphs("a.gwl: the kernels of 12 graph launches in it are not known\n"), 12)
        self.assertEqual(killed.unknown_graphs("a.gwl: the kernels of 3 graph launches in it are not all known\n"), 3)

    def test_a_kernel_that_was_not_launched_fails(self):
        self.assertTrue(self.wrong(other=3))


class Runs(unittest.TestCase):
    def script(self, **more):
        """(exit status, what it printed, {figure: (value, met)}) of two killed programs."""
        with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            os.symlink(LOGDUMP, f"{out}/logdump")
            os.symlink(PROGRAM, f"{out}/killed")
            env = {**os.environ, "LD_LIBRARY_PATH": STANDIN, "GPUWATCH_CUPTI": f"{STANDIN}/libcupti.so", "XDG_RUNTIME_DIR": memory, **more}
            reported = subprocess.run([sys.executable, "-B", f"{HERE}/killed.py", "--programs", out, "--gpuwatch", LIBRARY, "--cli",
                                   GPUWATCH, "--out", out, "--runs", "2"], capture_output=True, text=True, env=env)
            self.assertNotIn("Traceback", reported.stderr)
            with open(f"{out}/{figures.NAME}") as file:
                found = {one["figure"]: (one["value"], one["met"]) for one in json.load(file)}
            left = os.listdir(f"{memory}/gpuwatch") if os.path.isdir(f"{memory}/gpuwatch") else []
            return reported.returncode, reported.stdout + reported.stderr, found, [name for name in left if name.endswith(".gwlive")]

    def test_killed_programs_lose_nothing_and_leave_no_segment(self):
        status, out, found, left = self.script()
        self.assertEqual(status, 0, out)
        self.assertEqual(found["killed runs whose report lacks a launch or has one too many"], (0, True))
        self.assertGreater(found["launches of killed runs"][0], 0)
        self.assertEqual(left, [])

    def test_launches_that_the_report_lacks_fail(self):
        status, out, found, _ = self.script(KILLED_LIES="1")
        self.assertEqual(status, 1, out)
        self.assertEqual(found["killed runs whose report lacks a launch or has one too many"], (2, False))
        self.assertIn("of_stream of grid 1", out)


if __name__ == "__main__":
    if len(sys.argv) < 6 or not os.path.exists(sys.argv[1]):
        sys.exit(__doc__)
    STANDIN, LOGDUMP, GPUWATCH, LIBRARY, PROGRAM = (os.path.abspath(sys.argv.pop(1)) for _ in range(5))
    unittest.main()
