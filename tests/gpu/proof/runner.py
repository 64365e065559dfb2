"""Runs steps beside each other as far as they bear it, within the time there is, and leaves nothing running."""
import collections
import glob
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

import figures
from proof import machine

BESIDE = 3     # steps that share a GPU: a dozen programs that start at once take seconds each to get their context
GRACE = 3      # seconds between asking a step to end and killing it
TICK = 0.05
SQUEEZED = 256 << 10  # bytes from which a file of a step is compressed
DONE = ("pass", "fail", "timeout", "crash")  # what is not run again
MARK = "GPU_PROOF_STEP"  # in the environment of all that a step starts


def read_result(folder):
    try:
        with open(os.path.join(folder, "result.json")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


class Running:
    """A step that has begun."""

    def __init__(self, step, gpus, run):
        self.step, self.gpus, self.folder = step, gpus, os.path.join(run.results, step.name)
        self.keep_earlier()
        os.makedirs(os.path.join(self.folder, "out"))
        self.mark = uuid.uuid4().hex
        self.before = machine.now(gpus)
        command = [word.format(**dict(run.places, out=os.path.join(self.folder, "out"))) for word in step.command]
        env = {name: value for name, value in os.environ.items()
               if name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH") and (name == "GPUWATCH_CUPTI" or not name.startswith("GPUWATCH_"))}
        env.update({"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "GPUWATCH_SUMMARY": "0", MARK: self.mark,
                    "CUDA_VISIBLE_DEVICES": ",".join(gpus)})
        with open(os.path.join(self.folder, "command"), "w") as file:
            file.write(" ".join(command) + "\n")
        self.begin = time.monotonic()
        self.deadline = self.begin + step.limit
        with open(os.path.join(self.folder, "stdout"), "wb") as out, open(os.path.join(self.folder, "stderr"), "wb") as err:
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                                                cwd=os.path.join(self.folder, "out"), start_new_session=True,
                                                preexec_fn=lambda: os.sched_setaffinity(0, run.cpus_of(gpus)))
            except OSError as error:
                err.write(f"{error}\n".encode())
                self.process = None

    def keep_earlier(self):
        """What an earlier call left of this step stays, beside."""
        if not os.path.exists(self.folder):
            return
        if (read_result(self.folder) or {}).get("status") == "skip":
            shutil.rmtree(self.folder)
            return
        number = 1
        while os.path.exists(f"{self.folder}.{number}"):
            number += 1
        os.rename(self.folder, f"{self.folder}.{number}")

    def ended(self):
        return self.process is None or self.process.poll() is not None

    def group(self, number):
        try:
            os.killpg(self.process.pid, number)
        except (AttributeError, OSError):
            pass

    def strays(self):
        """Processes of the step that made process groups of their own: they bear its mark."""
        found = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if name.isdigit() and f"{MARK}={self.mark}".encode() in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
        return found

    def kill(self):
        """End the step and all it started."""
        until = time.monotonic() + GRACE
        self.group(signal.SIGTERM)
        while not self.ended() and time.monotonic() < until:
            time.sleep(TICK)
        self.group(signal.SIGKILL)
        for pid in self.strays():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        if self.process:
            self.process.wait()


def text_of(path, most=4 << 20):
    try:
        with open(path, "rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def verdict(status, text):
    """(status by name, reason) of a step that ended by itself."""
    skips = [line for line in text.splitlines() if line.startswith("SKIP")]
    if status == 0:
        return "pass", ""
    if status == 77:
        return "skip", skips[-1][4:].strip(" :") if skips else "exit status 77"
    if status < 0:
        return "crash", f"signal {-status}"
    return "fail", ""


def squeeze(folder):
    """Compress what is large; what was compiled on the way is of no use to anybody."""
    shutil.rmtree(f"{folder}/out/cache", ignore_errors=True)
    for path in glob.glob(f"{folder}/**", recursive=True):
        if os.path.isfile(path) and not os.path.islink(path) and not path.endswith((".gz", ".xz", ".zst")) and \
                os.path.getsize(path) >= SQUEEZED:
            with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb", 6) as squeezed:
                shutil.copyfileobj(plain, squeezed)
            os.remove(path)


class Run:
    """Steps, the GPUs to run them on, and where what comes of them goes."""

    def __init__(self, steps, gpus, results, places, source, limit, say, beside=BESIDE):
        self.results, self.places, self.source, self.say, self.beside = results, dict(places, results=results), source, say, beside
        self.gpus = list(gpus)
        self.until = time.monotonic() + limit if limit else float("inf")
        self.begin = time.monotonic()
        self.running, self.stopped = [], False
        self.waiting = collections.OrderedDict((one.name, one) for one in sorted(steps, key=lambda one: one.priority))
        self.skipped = {}
        self.needed = {name for one in steps for name in one.after}  # their output is read: it is squeezed at the end

    def seconds(self):
        return time.monotonic() - self.begin

    def cpus_of(self, gpus):
        """The CPUs of steps on these GPUs: each GPU's steps have their own, so that no two launch from the same core."""
        cpus = sorted(os.sched_getaffinity(0))
        if not gpus or len(cpus) < len(self.gpus):
            return cpus
        return [cpus[i] for at, gpu in enumerate(self.gpus) if gpu in gpus
                for i in range(at * len(cpus) // len(self.gpus), (at + 1) * len(cpus) // len(self.gpus))]

    # -- what may begin --

    def bears(self, step, gpu):
        """Whether the GPU is free for this step as it is now."""
        there = [run.step.how for run in self.running if gpu in run.gpus]
        if step.how in ("timed", "alone"):
            return not there
        return "timed" not in there and "alone" not in there and len(there) < self.beside and \
            not (step.how == "sampler" and "sampler" in there)

    def noisy(self, step):
        """Whether the step may not run because of others elsewhere."""
        hows = [run.step.how for run in self.running]
        return "timed" in hows if step.how in ("shared", "sampler") else \
            step.how == "timed" and any(how in ("shared", "sampler") for how in hows)

    def free_at(self, gpu):
        return max([run.begin + run.step.seconds for run in self.running if gpu in run.gpus], default=0)

    def choose(self):
        """(step, its GPUs) of all that may begin now. A step that must wait keeps the GPUs that will be free for it
        soonest, and lesser ones that would disturb it."""
        chosen, kept, quiet = [], set(), False
        for step in list(self.waiting.values()):
            if step.name in self.skipped or any(name in self.waiting or name in (run.step.name for run in self.running)
                                                for name in step.after):
                continue
            if step.how == "cpu":
                if not any(run.step.how == "timed" for run in self.running):
                    chosen.append((step, []))
                continue
            if quiet and step.how in ("shared", "sampler"):
                continue
            free = [gpu for gpu in self.gpus if gpu not in kept and self.bears(step, gpu)]
            free.sort(key=lambda gpu: sum(gpu in run.gpus for run in self.running))
            if len(free) >= step.gpus and not self.noisy(step):
                return chosen + [(step, free[:step.gpus])]  # what is free has changed: look again
            kept.update(sorted((gpu for gpu in self.gpus if gpu not in kept), key=self.free_at)[:step.gpus])
            quiet = quiet or step.how == "timed"
        return chosen

    def left(self):
        return self.until - time.monotonic()

    def prepare(self):
        """Set aside what can't run now, with the reason."""
        for name, step in list(self.waiting.items()):
            if step.gpus > len(self.gpus):
                self.skipped[name] = f"needs {step.gpus} GPUs, there {'is' if len(self.gpus) == 1 else 'are'} {len(self.gpus)}"
            for other in step.after:
                found = read_result(os.path.join(self.results, other))
                if other not in self.waiting and not (found and found["status"] in ("pass", "fail")):
                    self.skipped[name] = f"the output of {other} is not there"
        for name in self.skipped:
            self.waiting.pop(name, None)

    # -- running --

    def start(self):
        while not self.stopped:
            found = self.choose()
            begun = False
            for step, gpus in found:
                if step.seconds > self.left():
                    self.skipped[step.name] = f"not begun: it takes about {step.seconds} s, {max(0, self.left()):.0f} s were left"
                    del self.waiting[step.name]
                    begun = True
                    continue
                missing = [name for name in step.after
                           if (read_result(os.path.join(self.results, name)) or {}).get("status") not in ("pass", "fail")]
                del self.waiting[step.name]
                begun = True
                if missing:
                    self.skipped[step.name] = f"the output of {missing[0]} is not there"
                    continue
                self.say(f"begin {step.name} on {'GPU ' + ','.join(gpus) if gpus else 'the CPU'} (about {step.seconds} s)")
                self.running.append(Running(step, gpus, self))
            if not begun:
                return

    def finish(self, run, status=None, reason=""):
        text = text_of(f"{run.folder}/stdout")
        code = run.process.returncode if run.process else 127
        if status is None:
            status, reason = verdict(code, text)
        lines, found = text.splitlines(), []
        failures = [line[:300] for line in lines if line.startswith("FAIL")]
        if status in ("fail", "crash") and not reason:
            reason = last_line(text_of(f"{run.folder}/stderr")) or (failures or [last_line(text)])[0]
        try:
            with open(f"{run.folder}/out/{figures.NAME}") as file:
                found = json.load(file)
        except (OSError, ValueError):
            pass
        missed = {f"FAIL {figures.text(one)}"[:300] for one in found}
        result = {"name": run.step.name, "shows": run.step.shows, "status": status, "reason": reason, "exit": code,
                  "seconds": round(time.monotonic() - run.begin, 1), "gpus": run.gpus, "how": run.step.how,
                  "passed": sum(line.startswith("PASS") for line in lines), "failed": len(failures),
                  "skipped": sum(line.startswith("SKIP") for line in lines),
                  "failures": [line for line in failures if line not in missed][:20],  # the others stand among the figures
                  "figures": found, "before": run.before, "after": machine.now(run.gpus), "source": self.source}
        with open(f"{run.folder}/result.json.new", "w") as file:
            json.dump(result, file, indent=1)
        os.rename(f"{run.folder}/result.json.new", f"{run.folder}/result.json")
        if run.step.name not in self.needed:
            squeeze(run.folder)
        self.say(f"{status.upper()} {run.step.name}, {result['seconds']:.0f} s"
                 + (f", {result['passed']} passed, {result['failed']} failed" if result["passed"] + result["failed"] else "")
                 + (f": {reason}" if reason else ""))

    def look(self):
        """Take what has ended, end what has had its time."""
        for run in list(self.running):
            over = time.monotonic() > run.deadline
            if not run.ended() and not over:
                continue
            over = over and not run.ended()
            run.kill()  # what it may have left behind, too
            self.running.remove(run)
            self.finish(run, *(("timeout", f"killed after its limit of {run.step.limit} s") if over else ()))

    def stop(self, *_signal):
        self.stopped = True

    def all(self):
        """Until everything is done, the time is over, or a signal comes. Gives the reasons of what was left out."""
        self.prepare()
        spoken = 0
        while True:
            self.look()
            if self.stopped or self.left() <= 0:
                why = "stopped by a signal" if self.stopped else "the time was over"
                for run in self.running:
                    run.group(signal.SIGTERM)  # all at once: each may need its grace
                for run in list(self.running):
                    run.kill()
                    self.running.remove(run)
                    self.finish(run, "cut", why)
                for name in self.waiting:
                    self.skipped[name] = f"not begun: {why}"
                break
            self.start()
            if not self.running:
                if self.waiting:  # nothing runs and nothing may begin: a step that waits for one that was left out
                    for name in self.waiting:
                        self.skipped[name] = "what it needs was left out"
                break
            if self.seconds() - spoken > 30:
                spoken = self.seconds()
                self.say("running: " + ", ".join(f"{run.step.name} for {time.monotonic() - run.begin:.0f} s" for run in self.running)
                         + f"; {len(self.waiting)} to come")
            time.sleep(TICK)
        for name in self.needed:
            squeeze(os.path.join(self.results, name))
        return self.skipped


class Idle:
    """An idle context on each GPU: where none is open, the driver sets the GPU up anew for each program."""

    def __init__(self, program, gpus):
        self.processes = []
        for gpu in gpus if os.path.exists(program) else []:
            self.processes.append(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   env=dict(os.environ, CUDA_VISIBLE_DEVICES=gpu)))
        self.open = sum(process.stdout.readline() == b"ready\n" for process in self.processes)
        if self.open < len(gpus):
            print(f"prove: {self.open} idle contexts on {len(gpus)} GPUs ({program})", file=sys.stderr)

    def close(self):
        for process in self.processes:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
