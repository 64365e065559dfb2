#!/usr/bin/env python3
"""Tests of the proof's runner, without a GPU: on the CPU stand-in, with steps of its own.

usage: prove_test.py STANDIN IDLE    STANDIN: folder of the stand-in's libcuda.so.1; IDLE: the program of idle.c
"""
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import figures  # noqa: E402
from proof import runner, steps, summary  # noqa: E402

STANDIN, IDLE = None, None
FOREVER = 100000

TABLE = """
from proof.steps import step

def sh(name, text, **more):
    how = {"priority": 1, "seconds": 1, "limit": 600, "how": "shared", **more}
    return step(name, "what it shows", command="sh -c " + repr(text), **how)

STEPS = (
%s
)
"""


class Calls(unittest.TestCase):
    """prove as a command."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.out = temporary.name
        self.build = f"{self.out}/build"
        os.makedirs(self.build)
        os.symlink(IDLE, f"{self.build}/idle")
        with open(f"{self.build}/built", "w") as file:
            file.write("commit=0123abcd\n")

    def begin(self, table, *options, devices=2, **env):
        with open(f"{self.out}/table.py", "w") as file:
            file.write(TABLE % table)
        env = {**os.environ, "LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": str(devices), **env}
        env.pop("CUDA_VISIBLE_DEVICES", None)
        return subprocess.Popen([f"{HERE}/prove", "--build", self.build, "--out", f"{self.out}/results", "--steps", f"{self.out}/table.py",
                                 *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def prove(self, table, *options, **more):
        """(exit status, standard output, standard error)."""
        process = self.begin(table, *options, **more)
        out, err = process.communicate()
        return process.returncode, out, err

    def result(self, name):
        return runner.read_result(f"{self.out}/results/{name}")

    def read(self, name):
        with open(f"{self.out}/{name}") as file:
            return file.read()

    def test_what_passes_and_what_fails_is_reported_with_its_reason(self):
        status, out, err = self.prove("""
            sh("good", "echo PASS one; echo PASS two"),
            sh("bad", "echo PASS one; echo FAIL two, badly; exit 1"),
            sh("absent", "echo SKIP: no such package; exit 77"),
            sh("crash", "kill -SEGV $$"),
            sh("wide", "true", gpus=3),
            step("missing", "", 1, 1, 9, "cpu", "/no/such/program"),""")
        self.assertEqual(status, 1, err)
        reported = {row["name"]: row for row in json.loads(self.read("results/summary.json"))["steps"]}
        self.assertEqual({name: row["status"] for name, row in reported.items()},
                         {"good": "pass", "bad": "fail", "absent": "skip", "crash": "crash", "wide": "skip", "missing": "fail"})
        self.assertEqual((reported["good"]["passed"], reported["bad"]["failed"]), (2, 1))
        self.assertEqual(reported["bad"]["failures"], ["FAIL two, badly"])
        self.assertEqual(reported["absent"]["reason"], "no such package")
        self.assertEqual(reported["wide"]["reason"], "needs 3 GPUs, there are 2")
        self.assertEqual(reported["crash"]["reason"], "signal 11")
        self.assertIn("no/such/program", reported["missing"]["reason"])
        self.assertEqual(reported["good"]["source"]["commit"], "0123abcd")
        self.assertIn("date", reported["good"]["before"])
        self.assertRegex(out, r"(?m)^bad +FAIL two, badly$")
        self.assertEqual(self.read("results/summary.txt"), out)
        self.assertIn("begin good on GPU", err)

    def test_a_step_that_is_done_is_not_run_again_unless_asked(self):
        table = f'sh("one", "echo x >>{self.out}/ran"), sh("two", "echo x >>{self.out}/ran; exit 1"),'
        self.assertEqual(self.prove(table)[0], 1)
        self.assertEqual(self.prove(table)[0], 1)
        self.assertEqual(self.read("ran"), "x\n" * 2)
        self.assertEqual(self.prove(table, "--again", "^two$")[0], 1)
        self.assertEqual(self.read("ran"), "x\n" * 3)
        self.assertTrue(os.path.exists(f"{self.out}/results/two.1/result.json"))

    def test_what_reads_the_output_of_a_step_is_run_again_with_it(self):
        table = f'sh("one", "true"), sh("two", "echo x >>{self.out}/ran", after=["one"]), sh("three", "echo x >>{self.out}/ran"),'
        self.assertEqual(self.prove(table)[0], 0)
        self.assertEqual(self.prove(table, "--again", "one")[0], 0)
        self.assertEqual(self.read("ran"), "x\n" * 3)

    def test_what_is_skipped_is_tried_again(self):
        table = f'sh("one", "test -e {self.out}/there || exit 77"),'
        self.assertEqual(self.prove(table)[0], 0)
        self.assertEqual(self.result("one")["status"], "skip")
        open(f"{self.out}/there", "w").close()
        self.assertEqual(self.prove(table)[0], 0)
        self.assertEqual(self.result("one")["status"], "pass")

    def test_a_step_that_takes_longer_than_is_left_is_not_begun_and_run_by_the_next_call(self):
        table = f'sh("long", "echo x >>{self.out}/ran", seconds=2000, limit=2000), sh("short", "true"),'
        status, out, _ = self.prove(table, "--limit", "1000")
        self.assertEqual(status, 75)
        self.assertIsNone(self.result("long"))
        self.assertIn("not begun: it takes about 2000 s", out)
        self.assertEqual(self.result("short")["status"], "pass")
        self.assertEqual(self.prove(table)[0], 0)
        self.assertEqual(self.read("ran"), "x\n")

    def test_a_step_s_own_limit_ends_it_and_all_it_started(self):
        limit = 1
        while not os.path.exists(f"{self.out}/pid"):  # until it was long enough for the step to come so far
            table = f'sh("slow", "setsid sleep {FOREVER} & echo $! >{self.out}/pid; sleep {FOREVER}", limit={limit}),'
            self.assertEqual(self.prove(table, "--again", "slow")[0], 1)
            self.assertEqual(self.result("slow")["status"], "timeout")
            limit *= 3
        self.assert_gone(self.read("pid"))

    def test_what_a_step_leaves_running_is_ended(self):
        table = f'sh("leaves", "setsid sleep {FOREVER} >/dev/null 2>&1 & echo $! >{self.out}/pid"),'
        self.assertEqual(self.prove(table)[0], 0)
        self.assert_gone(self.read("pid"))

    def assert_gone(self, pid):
        state = "R"  # until the signal has reached it, which a busy machine lets wait
        end = time.monotonic() + 60
        while state not in "ZX" and time.monotonic() < end:
            time.sleep(0.01)
            try:
                with open(f"/proc/{int(pid)}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                return
        self.assertIn(state, "ZX")

    def stopped(self, how):
        """Begins a step that never ends, has the call stopped by `how` once it runs; then lets it end."""
        table = (f'sh("step", "echo $$ >{self.out}/pid.new; mv {self.out}/pid.new {self.out}/pid; '
                 f'test -e {self.out}/go || sleep {FOREVER}", limit={FOREVER}), sh("next", "true", after=["step"]),')
        process = self.begin(table)
        while not os.path.exists(f"{self.out}/pid"):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        how(process)
        process.communicate()
        self.assertEqual(process.returncode, 75)
        self.assertEqual(self.result("step")["status"], "cut")
        self.assert_gone(self.read("pid"))
        self.assertIn("not run  next", self.read("results/summary.txt"))
        open(f"{self.out}/go", "w").close()
        self.assertEqual(self.prove(table)[0], 0)
        self.assertEqual((self.result("step")["status"], self.result("next")["status"]), ("pass", "pass"))

    def test_a_call_that_a_signal_stops_is_gone_on_with(self):
        self.stopped(lambda process: process.send_signal(signal.SIGTERM))

    def test_the_time_being_over_ends_what_runs(self):
        table, limit = f'sh("step", "test -e {self.out}/go || sleep {FOREVER}", seconds=0.01, limit={FOREVER}),', 2
        while not self.result("step"):  # until it was long enough for the step to begin
            self.assertEqual(self.prove(table, "--limit", str(limit))[0], 75)
            limit *= 3
        self.assertEqual((self.result("step")["status"], self.result("step")["reason"]), ("cut", "the time was over"))
        open(f"{self.out}/go", "w").close()
        self.assertEqual(self.prove(table)[0], 0)

    def test_figures_stand_in_the_summary_and_a_missed_goal_is_seen(self):
        found = [figures.figure("ratio", 1.01, most=1.02, n=30), figures.figure("share", 0.5, least=0.7), figures.figure("count", 7)]
        figures.write(self.out, found)
        with open(f"{self.out}/lines", "w") as file:
            file.write("FAIL share: 0.5, goal >= 0.7\nFAIL else\n")
        status, out, _ = self.prove(f'sh("one", "cp {self.out}/figures.json . && cat {self.out}/lines; exit 1"),')
        self.assertEqual(status, 1)
        self.assertEqual((self.result("one")["failed"], self.result("one")["failures"]), (2, ["FAIL else"]))
        self.assertEqual(self.result("one")["figures"], found)
        self.assertIn("met     one  ratio: 1.01, n 30, goal <= 1.02", out)
        self.assertIn("MISSED  one  share: 0.5, goal >= 0.7", out)

    def test_a_step_has_its_gpu_its_folder_and_nothing_of_ours_in_its_environment(self):
        table = """sh("one", "echo $CUDA_VISIBLE_DEVICES; printenv LD_PRELOAD GPUWATCH_MODE GPUWATCH_CUPTI; pwd; echo {programs}"),
                   sh("two", "echo $CUDA_VISIBLE_DEVICES", gpus=2),"""
        status, _, err = self.prove(table, GPUWATCH_MODE="count", GPUWATCH_CUPTI="here", CUDA_INJECTION64_PATH="")
        self.assertEqual(status, 0, err)
        lines = self.read("results/one/stdout").splitlines()
        self.assertIn(lines[0], ("0", "1"))
        self.assertEqual(lines[1:], ["here", os.path.realpath(f"{self.out}/results/one/out"), self.build])
        self.assertEqual(sorted(self.read("results/two/stdout").strip().split(",")), ["0", "1"])

    def test_the_output_of_one_step_is_there_for_the_next_and_missing_output_is_a_reason(self):
        table = """sh("make", "echo 5 >log"), sh("use", "cat {results}/make/out/log", after=["make"]),
                   sh("broken", "kill -9 $$"), sh("none", "true", after=["broken"]),"""
        self.assertEqual(self.prove(table)[0], 1)
        self.assertEqual(self.read("results/use/stdout"), "5\n")
        self.assertIn("the output of broken is not there", self.read("results/summary.txt"))

    def test_large_files_are_compressed_and_the_largest_left_out_of_the_archive(self):
        table = f"""sh("big", "head -c {2 * runner.SQUEEZED} /dev/urandom >noise; echo 1 >small"),"""
        status, _, err = self.prove(table, "--pack", f"{self.out}/all.tar.gz", "--pack-limit", "100000")
        self.assertEqual(status, 0, err)
        self.assertEqual(sorted(os.listdir(f"{self.out}/results/big/out")), ["noise.gz", "small"])
        with tarfile.open(f"{self.out}/all.tar.gz") as archive:
            names = archive.getnames()
        self.assertIn("results/big/out/small", names)
        self.assertIn("results/summary.json", names)
        self.assertNotIn("results/big/out/noise.gz", names)
        self.assertIn("big/out/noise.gz was left out", err)

    def test_archives_of_several_parts_hold_all_that_fits(self):
        os.makedirs(f"{self.out}/r/a")
        for number, size in enumerate((1000, 40000, 50000, 60000, 200000)):
            with open(f"{self.out}/r/a/{number}", "wb") as file:
                file.write(bytes(size))
        left = summary.pack(f"{self.out}/r", f"{self.out}/r.tar.gz", 100000, 2)
        self.assertEqual(left, ["a/4"])
        names = []
        for part in (1, 2):
            with tarfile.open(f"{self.out}/r.{part}.tar.gz") as archive:
                self.assertLessEqual(sum(one.size for one in archive.getmembers()), 100000)
                names += archive.getnames()
        self.assertEqual(sorted(names), [f"r/a/{number}" for number in range(4)])

    def test_what_goes_or_grows_while_it_is_packed_ends_nothing(self):
        os.makedirs(f"{self.out}/r")
        for name in ("gone", "grown", "stays"):
            with open(f"{self.out}/r/{name}", "w") as file:
                file.write(name)
        found = summary.sizes(f"{self.out}/r")
        os.remove(f"{self.out}/r/gone")
        with open(f"{self.out}/r/grown", "a") as file:
            file.write(" since")
        with mock.patch.object(summary, "sizes", return_value=found):
            self.assertEqual(summary.pack(f"{self.out}/r", f"{self.out}/r.tar.gz", 100000), ["gone"])
        with tarfile.open(f"{self.out}/r.tar.gz") as archive:
            self.assertEqual({one.name: archive.extractfile(one).read() for one in archive.getmembers()},
                             {"r/grown": b"grown since", "r/stays": b"stays"})
        self.assertFalse(os.path.exists(f"{self.out}/r.tar.gz.new"))

    def test_an_archive_that_can_t_be_written_ends_nothing_and_leaves_nothing_behind(self):
        os.makedirs(f"{self.out}/folder.tar.gz/in/it")
        status, out, err = self.prove('sh("one", "true"),', "--pack", f"{self.out}/folder.tar.gz")
        self.assertEqual(status, 0, err)
        self.assertIn("could not be written", err)
        self.assertIn("1 pass", out)
        self.assertFalse(os.path.exists(f"{self.out}/folder.tar.gz.new"))

    def test_contexts_are_kept_open_meanwhile_and_closed_at_the_end(self):
        idle = f"{self.build}/idle"
        os.remove(idle)
        with open(idle, "w") as file:
            file.write(f"#!/bin/sh\necho ready; echo $$ $CUDA_VISIBLE_DEVICES >>{self.out}/idle; cat >/dev/null; echo end >>{self.out}/end\n")
        os.chmod(idle, 0o755)
        status, _, err = self.prove(f'sh("one", "test ! -e {self.out}/end"),')
        self.assertEqual(status, 0, err)
        self.assertEqual(sorted(line.split()[1] for line in self.read("idle").splitlines()), ["0", "1"])
        self.assertEqual(self.read("end"), "end\nend\n")

    def test_profiles_that_others_may_write_become_the_users_alone(self):
        folder = f"{self.build}/share/gpuwatch/profiles"
        os.makedirs(folder)
        with open(f"{folder}/gpu.json", "w"):
            pass
        for path in (folder, f"{folder}/gpu.json"):
            os.chmod(path, 0o777)
        status, _, err = self.prove('sh("one", "true"),')
        self.assertEqual(status, 0, err)
        self.assertEqual([os.stat(path).st_mode & 0o777 for path in (folder, f"{folder}/gpu.json")], [0o755, 0o755])

    def test_programs_that_lost_their_modes_run(self):
        with open(IDLE, "rb") as file, open(f"{self.build}/program", "wb") as out:
            out.write(file.read())
        status, _, err = self.prove('sh("one", "{programs}/program </dev/null"),')
        self.assertEqual(status, 0, err)

    def test_wrong_use_and_no_gpu(self):
        self.assertEqual(self.prove('sh("one", "true"),', "--only", "other")[0], 2)
        self.assertEqual(self.prove('sh("one", "true"), sh("one", "true"),')[0], 2)
        self.assertEqual(self.prove('sh("one", "true", after=["two"]), sh("two", "true"),')[0], 2)
        self.assertEqual(self.prove('sh("one", "true", how="somehow"),')[0], 2)
        self.assertEqual(self.prove('sh("one", "echo {nothing}"),')[0], 2)
        status, out, _ = self.prove('sh("one", "true"),', devices=0)
        self.assertEqual(status, 77)
        self.assertIn("SKIP", out)
        self.assertFalse(os.path.exists(f"{self.out}/results"))

    def test_the_list_says_what_became_of_each_step(self):
        self.prove('sh("one", "true"),')
        reported = self.prove('sh("one", "true"), sh("two", "true", seconds=5, gpus=2),', "--list")[1]
        self.assertRegex(reported, r"(?m)^1 one +1 s +1 GPU shared +pass +what it shows$")
        self.assertRegex(reported, r"(?m)^1 two +5 s +2 GPUs shared +- +what it shows$")


class Idle(unittest.TestCase):
    def test_the_program_holds_a_context_until_its_input_ends(self):
        os.environ.update(LD_LIBRARY_PATH=STANDIN, STANDIN_DEVICES="2")
        idle = runner.Idle(IDLE, ["0", "1"])
        self.assertEqual(idle.open, 2)
        idle.close()
        self.assertEqual([process.returncode for process in idle.processes], [0, 0])


class Choice(unittest.TestCase):
    """Which steps may begin beside which."""

    @staticmethod
    def step(name, how="shared", gpus=1, seconds=10, priority=1, after=()):
        return steps.step(name, "", priority, seconds, seconds, how, "true", gpus, after)

    def run_of(self, waiting, running=(), gpus=2, beside=3):
        work = runner.Run(waiting, [str(number) for number in range(gpus)], "/nowhere", {}, {}, 0, print, beside)
        work.running = [types.SimpleNamespace(step=step, gpus=where.split(",") if where else [], begin=begin)
                        for step, where, begin in running]
        return [(step.name, ",".join(where)) for step, where in work.choose()]

    def test_one_that_is_timed_is_alone_on_its_gpu_and_nothing_noisy_runs(self):
        timed = self.step("timed", "timed")
        self.assertEqual(self.run_of([timed]), [("timed", "0")])
        self.assertEqual(self.run_of([timed], [(self.step("a", "alone"), "0", 0)]), [("timed", "1")])
        self.assertEqual(self.run_of([timed], [(self.step("a"), "0", 0)]), [])
        for how, found in (("shared", []), ("sampler", []), ("cpu", []), ("alone", [("b", "1")]), ("timed", [("b", "1")])):
            self.assertEqual(self.run_of([self.step("b", how)], [(timed, "0", 0)]), found, how)

    def test_one_that_waits_for_quiet_is_not_starved_by_noisy_ones(self):
        self.assertEqual(self.run_of([self.step("timed", "timed"), self.step("b")], [(self.step("a"), "0", 0)]), [])

    def test_one_alone_shares_its_gpu_with_none(self):
        alone = self.step("alone", "alone")
        self.assertEqual(self.run_of([alone], [(self.step("a"), "0", 0), (self.step("b"), "1", 0)]), [])
        self.assertEqual(self.run_of([self.step("b")], [(alone, "0", 0), (alone, "1", 0)]), [])

    def test_the_gpu_that_is_free_soonest_is_kept_for_it(self):
        running = [(self.step("a", seconds=100), "0", 0), (self.step("b", seconds=10), "1", 0)]
        waiting = [self.step("alone", "alone"), self.step("c")]
        self.assertEqual(self.run_of(waiting, running), [("c", "0")])

    def test_so_many_share_a_gpu_and_one_takes_its_sampler(self):
        running = [(self.step("a"), "0", 0), (self.step("b"), "0", 0)]
        self.assertEqual(self.run_of([self.step("c")], running, gpus=1, beside=2), [])
        self.assertEqual(self.run_of([self.step("c")], running, gpus=1), [("c", "0")])
        self.assertEqual(self.run_of([self.step("c")], running), [("c", "1")])
        sampler = self.step("sampler", "sampler")
        self.assertEqual(self.run_of([sampler], running, gpus=1), [("sampler", "0")])
        self.assertEqual(self.run_of([sampler], [(sampler, "0", 0)], gpus=1), [])

    def test_one_of_two_gpus_has_both_and_is_not_starved(self):
        wide = self.step("wide", "shared", 2)
        self.assertEqual(self.run_of([wide]), [("wide", "0,1")])
        self.assertEqual(self.run_of([wide, self.step("b", "alone")], [(self.step("a", "alone"), "0", 0)]), [])

    def test_the_steps_of_each_gpu_have_cpus_of_their_own(self):
        work = runner.Run([], ["a", "b"], "/nowhere", {}, {}, 0, print)
        every = os.sched_getaffinity(0)
        self.assertEqual(set(work.cpus_of(["a", "b"])), every)
        self.assertEqual(set(work.cpus_of([])), every)
        if len(every) > 1:
            self.assertEqual(set(work.cpus_of(["a"])) & set(work.cpus_of(["b"])), set())
            self.assertTrue(work.cpus_of(["a"]) and work.cpus_of(["b"]))

    def test_the_most_important_comes_first_and_one_after_another_waits(self):
        first, later = self.step("first", "alone", priority=2), self.step("later", "alone", priority=1)
        self.assertEqual(self.run_of([first, later], gpus=1), [("later", "0")])
        self.assertEqual(self.run_of([self.step("b", "cpu", after=["a"])], [(self.step("a", "alone"), "0", 0)]), [])


class Table(unittest.TestCase):
    """The proof's own steps."""

    def test_nothing_is_wrong_with_it(self):
        self.assertEqual(steps.wrong(steps.STEPS), [])

    def test_each_command_is_one_that_its_program_understands(self):
        loader = importlib.machinery.SourceFileLoader("prove", f"{HERE}/prove")
        prove = importlib.util.module_from_spec(importlib.util.spec_from_loader("prove", loader))
        loader.exec_module(prove)
        with tempfile.TemporaryDirectory() as out:
            places = dict(prove.places(out, 1), results=out, out=out, python=sys.executable)
            for step in steps.STEPS:
                command = [word.format(**places) for word in step.command]
                self.assertTrue(os.path.exists(next(word for word in command if word.startswith(HERE) or "/bench/" in word)), command)
                reported = subprocess.run(command, capture_output=True, text=True,
                                      env={**os.environ, "LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": "0"})
                if step.how == "cpu":
                    self.assertNotIn("usage:", reported.stderr, step.name)
                else:
                    self.assertEqual(reported.returncode, 77, f"{step.name}: {reported.stdout}{reported.stderr}")


class Summary(unittest.TestCase):
    def test_a_figure_without_its_number_misses_its_goal(self):
        self.assertIs(figures.figure("a", None, most=1)["met"], False)
        self.assertIs(figures.figure("a", 1, most=2, n=5, enough=6)["met"], False)
        self.assertIs(figures.figure("a", 1, most=2, at=3)["met"], False)
        self.assertEqual(figures.figure("a", 1, most=0, least=0)["goal"], "= 0")
        self.assertIsNone(figures.figure("a", 1)["met"])
        self.assertFalse(figures.met([figures.figure("a", 1)]))

    def test_all_steps_stand_in_it_and_are_counted(self):
        with tempfile.TemporaryDirectory() as out:
            rows = summary.collect(steps.STEPS, out, {})
            text = summary.write(rows, {"commit": "c"}, out)
        self.assertEqual(summary.counts(rows)["not run"], len(steps.STEPS))
        self.assertTrue(all(step.name in text for step in steps.STEPS))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not os.path.exists(f"{sys.argv[1]}/libcuda.so.1") or not os.access(sys.argv[2], os.X_OK):
        sys.exit(__doc__)
    STANDIN, IDLE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
