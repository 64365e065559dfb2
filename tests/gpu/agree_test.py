"""Shows that agree.py can fail: on profiles whose differences are known."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

AGREE = pathlib.Path(__file__).with_name("agree.py")


def profile(**values):
    params = {name: {"value": value, "unit": unit, "method": "measured"}
              for name, (value, unit) in values.items()}
    return json.dumps({"params": params, "unknown": {"t_dp": {"why": "too wide"}}})


class Agree(unittest.TestCase):
    def run_on(self, what, first, second):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("a", "b")]
            for path, text in zip(paths, (first, second)):
                path.write_text(text, encoding="utf-8")
            result = subprocess.run([sys.executable, "-B", AGREE, what, *paths],
                                    capture_output=True, text=True, check=False)
            return result.returncode, result.stdout

    def test_rates_are_held_to_three_per_cent(self):
        base = profile(b_mem=(100.0, "B/s"))
        self.assertEqual(self.run_on("two", base, profile(b_mem=(97.1, "B/s")))[0], 0)
        status, text = self.run_on("two", base, profile(b_mem=(96.0, "B/s")))
        self.assertEqual(status, 1)
        self.assertIn("OUT  b_mem: 100 and 96 B/s, 4.0% apart", text)

    def test_latencies_may_differ_by_two_cycles(self):
        base = profile(lat_l1=(20.0, "cycle"))
        self.assertEqual(self.run_on("two", base, profile(lat_l1=(22.0, "cycle")))[0], 0)
        self.assertEqual(self.run_on("two", base, profile(lat_l1=(22.1, "cycle")))[0], 1)

    def test_a_quick_run_may_differ_by_five_per_cent(self):
        base, other = profile(t_sp=(100.0, "flop/s")), profile(t_sp=(96.0, "flop/s"))
        self.assertEqual(self.run_on("quick", base, other)[0], 0)
        self.assertEqual(self.run_on("two", base, other)[0], 1)

    def test_a_value_of_one_run_only_is_named_with_the_others_reason(self):
        status, text = self.run_on("two", profile(t_dp=(1.0, "flop/s")), profile())
        self.assertEqual(status, 0)
        self.assertIn("ONE  t_dp: in one run only; the other: too wide", text)

    def test_published_ranges_have_ten_per_cent_around_them(self):
        table = "# a comment\nparameter,low,high,source\nlat_dram,610,690,somebody\n"
        self.assertEqual(self.run_on("published", profile(lat_dram=(750.0, "cycle")), table)[0], 0)
        self.assertEqual(self.run_on("published", profile(lat_dram=(770.0, "cycle")), table)[0], 1)


unittest.main()
