"""What the campaigns share: options, places in the build tree, runs with a bound, one line a criterion."""
import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))


class Campaign:
    """One campaign: its options, its folder, its criteria."""

    def __init__(self, name, purpose, short, long, unit="runs", options=()):
        parser = argparse.ArgumentParser(prog=f"tests/campaign/{name}", description=purpose)
        parser.add_argument("--long", action="store_true", help=f"{long} {unit} instead of {short}")
        parser.add_argument("--count", type=int, help=f"how many {unit}")
        parser.add_argument("--seconds", type=float, help="stop after this time, whatever is left")
        parser.add_argument("--seed", type=int, default=1, help="of what is drawn; resume a long form with another")
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at the same time")
        parser.add_argument("--build", default=os.path.join(TREE, "build"), help="the build tree")
        parser.add_argument("--library", help="the libgpuwatch.so under test (that of the build tree)")
        parser.add_argument("--tool", help="the gpuwatch command that reads logs (that of the build tree)")
        parser.add_argument("--record", metavar="FILE", help="append the figures, in Markdown, to this file")
        parser.add_argument("--commit", help="what the library under test was built from, for the record (the tree's)")
        for flags, settings in options:
            parser.add_argument(flags, **settings)
        self.name, self.unit = name, unit
        self.options = parser.parse_args()
        self.command = " ".join(["tests/campaign/" + name] + sys.argv[1:])
        self.count = self.options.count or (long if self.options.long else short)
        self.random = random.Random(self.options.seed)
        self.build = os.path.abspath(self.options.build)
        self.library = os.path.abspath(self.options.library or os.path.join(self.build, "lib/libgpuwatch.so"))
        self.tool = os.path.abspath(self.options.tool or os.path.join(self.build, "bin/gpuwatch"))
        self.standin = os.path.join(self.build, "tests/standin")
        self.clients = os.path.join(self.build, "tests/campaign")
        self.lines, self.passed, self.failed = [], 0, 0
        self.started = time.monotonic()
        for path in (self.library, self.tool, self.standin, self.clients):
            if not os.path.exists(path):
                print(f"skipped: {path} is missing: build the tree first")
                sys.exit(77)
        self.folder = tempfile.mkdtemp(prefix=f"gpuwatch-{name}.")
        os.chmod(self.folder, 0o755)
        # Live segments lie in memory or nowhere.
        self.memory = tempfile.mkdtemp(prefix=f"gpuwatch-{name}.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)

    def client(self, name):
        return os.path.join(self.clients, name)

    def recording(self, log):
        """The path of a log recorded on a GPU (tests/logs)."""
        return os.path.join(self.options.build, "tests/logs", log + ".gwl")

    def elapsed(self):
        return time.monotonic() - self.started

    def over(self):
        """Whether --seconds have passed."""
        return self.options.seconds is not None and self.elapsed() > self.options.seconds

    def environment(self, watched=True, before=(), after=(), **more):
        """That of a program, bare or watched, with other libraries preloaded before and after ours."""
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.folder, "LC_ALL": "C.UTF-8",
               "TMPDIR": self.folder, "LD_LIBRARY_PATH": self.standin, "GPUWATCH_SUMMARY": "0",
               "GPUWATCH_RUN_DIR": self.memory}
        libraries = [*before, *([self.library] if watched else []), *after]
        if libraries:
            env["LD_PRELOAD"] = " ".join(libraries)
        env.update({k: str(v) for k, v in more.items()})
        return env

    def scratch(self):
        """A new folder; the caller removes it with drop()."""
        return tempfile.mkdtemp(dir=self.folder)

    @staticmethod
    def drop(folder):
        shutil.rmtree(folder, ignore_errors=True)

    def each(self, work, items):
        """work(item) for each item on --jobs threads, until --seconds are over: the results in any order."""
        items = iter(items)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            waiting = set()
            done = False
            while waiting or not done:
                while not done and len(waiting) < 2 * self.options.jobs:
                    item = next(items, None)
                    if item is None or self.over():
                        done = True
                    else:
                        waiting.add(pool.submit(work, item))
                if waiting:
                    ready, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                    for future in ready:
                        yield future.result()

    def say(self, line):
        self.lines.append(line)
        print(line, flush=True)

    def figure(self, text):
        """A figure that decides nothing."""
        self.say(f"     {text}")

    def criterion(self, name, good, figures=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        self.say(f"{'pass' if good else 'FAIL'} {name}" + (f": {figures}" if figures else ""))

    def skip(self, name, reason):
        self.say(f"skip {name}: {reason}")

    def end(self):
        """The final line, the record, the exit status."""
        self.drop(self.folder)
        self.drop(self.memory)
        last = f"{self.passed} passed, {self.failed} failed"
        self.say(last)
        if self.options.record:
            self.write(self.options.record)
        if not self.passed and not self.failed:
            sys.exit(77)
        sys.exit(1 if self.failed else 0)

    def write(self, path):
        git = self.options.commit or subprocess.run(["git", "-C", TREE, "describe", "--always", "--dirty",
                                                     "--abbrev=8"], capture_output=True, text=True).stdout.strip()
        new = not os.path.exists(path)
        with open(path, "a", encoding="utf-8") as out:
            if new:
                out.write(f"# Campaign {self.name}\n")
            out.write(f"\n## {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, commit {git}\n\n"
                      f"`{self.command}`, {self.elapsed():.0f} s, seed {self.options.seed}, on {os.cpu_count()} "
                      f"shared x86-64 cores, Linux {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}, "
                      "no GPU (stand-in driver).\n\n")
            out.writelines(f"    {line}\n" for line in self.lines)


def run(command, env, cwd, timeout=60, before=None, status_alone=False):
    """(status, stdout, stderr) of a program in a group of its own; status "hang" after @p timeout seconds."""
    where = subprocess.DEVNULL if status_alone else subprocess.PIPE
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=where, stderr=where,
                               start_new_session=True, preexec_fn=before)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out or b"", err or b""
    except subprocess.TimeoutExpired:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.kill()
        out, err = process.communicate()
        return "hang", out or b"", err or b""


def ours(stderr):
    """The lines of @p stderr that are gpuwatch's, and the others."""
    lines = stderr.splitlines()
    return ([line for line in lines if line.startswith(b"gpuwatch: ")],
            [line for line in lines if not line.startswith(b"gpuwatch: ")])


def report(tool, *logs, by=None, **more):
    """(status, the report as JSON or None, stderr) of `gpuwatch report`."""
    done = subprocess.run([tool, "report", "--json", *([f"--by={by}"] if by else []), *logs], capture_output=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **more}, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith(b"{") else None, done.stderr
