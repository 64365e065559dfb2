"""Pairs of audit mode and plain CUPTI activity that are a tenth of a second apart.

A launch takes a third longer while another guest of the machine uses the other half of the
core, and that comes and goes within seconds: it is what made processes differ that ran one
after the other. So both processes live side by side, idle but for their turn, and take turns
on one core: 5,000 launches untimed and 20,000 timed, then a pause in which what the worker has
left over is done. The order within a round is random. Processes are started anew every few
rounds, on the core that is fastest just then, so that their place in memory is drawn anew too.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

from modes import environment, libraries, recorded

QUIET = 0.03  # seconds; records of a whole turn are joined in a few ms


class Player:
    """One process, from its start to its count."""

    def __init__(self, mode, command, args, folders, number=0):
        self.mode, self.begun = mode, False
        self.folder = os.path.join(args.out, "turns", f"{mode}.{number}" if number else mode)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.errors = open(f"{self.folder}/stderr", "w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            bufsize=1, cwd=self.folder, env=environment(mode, args, folders, self.folder))

    def ready(self):
        self.begun = self.begun or self.process.stdout.readline() == "ready\n"
        return self.begun

    def ask(self, count):
        self.process.stdin.write(f"{count}\n")

    def answer(self):
        return float(self.process.stdout.readline())

    def turn(self, count):
        self.ask(count)
        return self.answer()

    def end(self):
        """What it says at its end; None where it failed or said anything else."""
        try:
            out = self.process.communicate(timeout=30)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return None
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        if self.process.returncode or said:
            print(f"turns.py: {self.mode}: exit {self.process.returncode} {said.strip()}",
                  file=sys.stderr)
            return None
        return json.loads(out)


class Team:
    """Processes of one mode that take their turns at once."""

    def __init__(self, players):
        self.players, self.mode = players, players[0].mode

    def ready(self):
        return all([p.ready() for p in self.players])

    def turn(self, count):
        for player in self.players:
            player.ask(count)
        return statistics.mean([p.answer() for p in self.players])

    def end(self):
        ends = [p.end() for p in self.players]
        return None if None in ends else ends


def quiet(_player):
    return QUIET


def play(players, rounds, line, order, warm=None, rest=quiet):
    """The times of so many rounds, a dictionary each; fewer where a process fails. `line`: what asks
    for a turn; `warm`: called with a player before its turn; `rest`: seconds of pause after it."""
    times = []
    try:
        alive = all([p.ready() for p in players])
        while alive and len(times) < rounds:
            turn = {}
            for player in order.sample(players, len(players)):
                if warm:
                    warm(player)
                turn[player.mode] = player.turn(line)
                time.sleep(rest(player))
            times.append(turn)
    except (OSError, ValueError):
        pass
    return times


def played(start, pairs, plans, order, warm=None, rest=quiet):
    """Several sets of processes, each of which takes its turns when the others rest: what a process has for itself, its
    place in memory or its core, differs from set to set. `start`: gives the players of one; `plans`: {line: rounds}.
    Gives {line: [{"rounds": times} of each set]}, the players, and what they said at their ends."""
    sets = [start() for _ in range(pairs)]
    for players in sets:
        for player in players:
            player.ready()
    times = {line: [{"rounds": play(players, rounds, line, order, warm, rest)} for players in sets] for line, rounds in plans.items()}
    every = [player for players in sets for player in players]
    return times, every, [player.end() for player in every]


def medians(values, seed, resamples=4000):
    """Medians of as many values drawn from these, sorted: what the bootstrap knows of their median."""
    dice = random.Random(seed)
    return sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(resamples))


def bound(values, seed=1, resamples=4000):
    """Median, the end of its one-sided 95% interval, and the tenth and ninetieth percentile of the values."""
    drawn, values = medians(values, seed, resamples), sorted(values)
    return {"pairs": len(values), "median": statistics.median(values), "upper95": drawn[int(resamples * 0.95)],
            "p10": values[len(values) // 10], "p90": values[len(values) * 9 // 10]}


def fastest_cpu(args):
    done = subprocess.run([f"{args.programs}/launch_loop", "cpus"], capture_output=True, text=True)
    speeds = json.loads(done.stdout)
    return max(speeds, key=speeds.get), speeds


def one_set(args, modes, order):
    """Processes on one core and the times of their rounds. None where one failed, or not all it
    launched was recorded: half the work is no bargain."""
    cpu, speeds = fastest_cpu(args)
    command = [f"{args.programs}/launch_loop", "turns", cpu]
    players = [Player(mode, command, args, libraries()) for mode in modes]
    times = play(players, args.turns, args.launches, order)
    good = len(times) == args.turns
    for player in players:
        end = player.end()
        seen = recorded(player.mode, args, player.folder) if end else None
        if not end or seen not in (end["launched"], 0 if player.mode in ("bare", "off") else None):
            print(f"turns.py: {player.mode} recorded {seen} of {end}", file=sys.stderr)
            good = False
    return {"cpu": cpu, "speeds": speeds, "rounds": times} if good else None


def collect(args, modes):
    sets, order, begin = [], random.Random(args.seed), time.monotonic()
    while time.monotonic() - begin < args.turns_limit:
        done = one_set(args, modes, order)
        if done:
            sets.append(done)
        elif not sets and time.monotonic() - begin > args.turns_limit / 4:
            break
    return sets


def ratio(sets, mode, base, seed, resamples):
    """Median of mode / base over all rounds; its bound draws sets, then rounds within them, so
    that what the rounds of a set have in common is not taken for proof. None: fewer than three
    sets."""
    pairs = [[r[mode] / r[base] for r in s["rounds"]] for s in sets]
    if len(pairs) < 3:
        return None
    dice, found = random.Random(seed), []
    for _ in range(resamples):
        drawn = [dice.choices(p, k=len(p)) for p in dice.choices(pairs, k=len(pairs))]
        found.append(statistics.median(r for p in drawn for r in p))
    found.sort()
    flat = sorted(r for p in pairs for r in p)
    return {"mode": mode, "base": base, "metric": "turns", "pairs": len(flat), "sets": len(pairs),
            "ratio": statistics.median(flat), "upper95": found[int(resamples * 0.95)],
            "p10": flat[len(flat) // 10], "p90": flat[len(flat) * 9 // 10],
            "given": statistics.median(r[mode] for s in sets for r in s["rounds"]),
            "driver": statistics.median(r[base] for s in sets for r in s["rounds"])}
