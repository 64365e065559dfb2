#!/usr/bin/env python3
"""tests/fuzz/long and summary: a stand-in for a fuzzer that crashes, and logs whose figures are known."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# Tells its lines; the first of a folder finds a fault, the others end as if their time were up.
FUZZER = """#!/bin/bash
folder=$(for word; do case $word in -*) ;; *) echo "$word"; break ;; esac; done)
echo "flags: $*" >&2
echo '#2	INITED cov: 10 ft: 20 corp: 2/9b exec/s: 0 rss: 30Mb' >&2
echo '#5	NEW    cov: 12 ft: 23 corp: 3/9b' >&2
for i in {1..200}; do echo '#6	REDUCE cov: 12 ft: 24 corp: 3/9b' >&2; done
echo '#7	RELOAD cov: 13 ft: 24 corp: 3/9b' >&2
if mkdir "$folder/../crashed" 2>/dev/null; then
	echo 'SUMMARY: AddressSanitizer: SEGV' >&2
	exit 77
fi
echo 'stat::number_of_executed_units: 1000' >&2
"""


def summary(*folders):
    out = subprocess.run([HERE / "summary", *folders], check=True, capture_output=True, text=True).stdout
    return [line.split() for line in out.splitlines()[1:]]


class Long(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name) / "run"
        self.fuzzer = pathlib.Path(self.work.name) / "fuzzer"
        self.fuzzer.write_text(FUZZER)
        self.fuzzer.chmod(0o755)
        if subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode:
            self.skipTest("setarch -R is refused here")

    def tearDown(self):
        self.work.cleanup()

    def fuzz(self, *words):
        subprocess.run([HERE / "long", self.fuzzer, "600", self.folder, *words], check=True, timeout=300)
        return [(self.folder / name).read_text() for name in sorted(os.listdir(self.folder)) if name.startswith("log.")]

    def test_a_fault_is_left_behind_and_the_next_run_goes_on(self):
        log, = self.fuzz("-max_len=9")
        self.assertEqual(len(re.findall(r"^\d+ run: ", log, re.M)), 2)
        self.assertEqual(log.count("SUMMARY:"), 1)

    def test_each_process_has_a_log_and_all_share_a_corpus(self):
        logs = self.fuzz("--processes=3")
        self.assertEqual(len(logs), 3)
        for log in logs:
            self.assertIn(f"{self.folder}/corpus", log)

    def test_flags_and_seeds_reach_the_fuzzer(self):
        log, = self.fuzz("seeds", "-max_len=9")
        self.assertIn("-max_len=9", log)
        self.assertRegex(log, r"/corpus seeds\n")

    def test_lines_without_a_new_edge_are_kept_but_now_and_then(self):
        log, = self.fuzz()
        self.assertIn("RELOAD cov: 13", log)
        self.assertLess(log.count("REDUCE"), 200)


class Summary(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.work.name)
        self.ticks = os.sysconf("SC_CLK_TCK")

    def tearDown(self):
        self.work.cleanup()

    def log(self, number, *lines):
        text = "".join(f"{when} {line}\n" for when, line in lines)
        (self.folder / f"log.{number}").write_text(text)

    def cpu(self, seconds):
        return f"cpu: {seconds * self.ticks}"

    def row(self):
        """folder, processes, executions, CPU h, edges, date, time, CPU min, executions, minutes, faults"""
        rows = summary(self.folder)
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_restarts_add_up(self):
        self.log(1, (100, "run: 1"), (100, self.cpu(0)), (101, "#7\tNEW    cov: 12 ft: 1"), (1900, self.cpu(1800)),
                 (1901, "SUMMARY: x"), (1902, "run: 2"), (1902, self.cpu(0)), (1903, "#2\tINITED cov: 12 ft: 1"),
                 (3702, self.cpu(1800)), (3702, "stat::number_of_executed_units: 500"))
        row = self.row()
        self.assertEqual((row[2], row[3], row[4], row[-1]), ("507", "1.00", "12", "1"))

    def test_an_edge_of_one_process_begins_the_count_anew_for_all(self):
        for number, edge in ((1, 100), (2, 700)):
            self.log(number, (100, "run: 1"), (100, "#1\tINITED cov: 5 ft: 1"), (edge, "#9\tNEW    cov: 6 ft: 1"),
                     (700, self.cpu(600)), (1000, "#100\tpulse  cov: 6 ft: 1"), (1000, self.cpu(900)),
                     (1300, self.cpu(1200)), (1300, "stat::number_of_executed_units: 130"))
        row = self.row()
        # From the first note after 700: 1000 to 1300, of two processes.
        self.assertEqual(row[7:10], ["10.0", "60", "10.0"])

    def test_an_edge_read_from_another_process_counts(self):
        self.log(1, (100, "run: 1"), (100, "#1\tINITED cov: 5 ft: 1"), (400, "#9\tRELOAD cov: 6 ft: 1"), (1000, self.cpu(900)))
        self.assertEqual(self.row()[9], "10.0")

    def test_what_a_later_run_begins_with_is_not_new(self):
        self.log(1, (100, "run: 1"), (100, "#1\tINITED cov: 5 ft: 1"), (160, "#9\tNEW    cov: 6 ft: 1"), (220, self.cpu(120)),
                 (280, self.cpu(180)))
        self.log(2, (500, "run: 1"), (500, "#1\tINITED cov: 6 ft: 1"), (500, self.cpu(0)), (680, self.cpu(180)))
        self.assertEqual(self.row()[7], "4.0")

    def test_what_a_later_run_begins_with_is_new_if_no_earlier_one_had_it(self):
        self.log(1, (100, "run: 1"), (100, "#1\tINITED cov: 5 ft: 1"), (160, self.cpu(60)), (280, self.cpu(180)))
        self.log(2, (500, "run: 1"), (500, self.cpu(0)), (510, "#1\tINITED cov: 6 ft: 1"), (560, self.cpu(60)),
                 (680, self.cpu(180)))
        self.assertEqual(self.row()[7], "2.0")

    def test_a_restart_that_begins_with_more_is_new(self):
        self.log(1, (100, "run: 1"), (100, "#1\tINITED cov: 5 ft: 1"), (220, self.cpu(120)), (300, "run: 2"),
                 (300, "#1\tINITED cov: 6 ft: 1"), (310, self.cpu(10)), (370, self.cpu(70)))
        self.assertEqual(self.row()[7], "1.0")

    def test_no_note_after_the_last_edge_is_no_time(self):
        self.log(1, (100, "run: 1"), (100, self.cpu(0)), (990, self.cpu(890)), (1000, "#9\tNEW    cov: 6 ft: 1"))
        self.assertEqual(self.row()[7:9], ["0.0", "0"])

    def test_a_folder_without_logs_has_no_row(self):
        self.assertEqual(summary(self.folder), [])

    def test_what_is_read_at_the_begin_is_not_new(self):
        self.log(1, (100, "run: 1"), (101, self.cpu(0)), (110, "#4096\tpulse  cov: 3 ft: 1"), (120, "#8192\tpulse  cov: 5 ft: 1"),
                 (160, self.cpu(60)), (160, "#9000\tINITED cov: 6 ft: 1"), (280, self.cpu(180)))
        self.assertEqual(summary(self.folder)[0][7], "3.0")


if __name__ == "__main__":
    unittest.main()
