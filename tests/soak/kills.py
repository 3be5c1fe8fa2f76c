"""Runs that are killed at random moments and continued until they are done: the result must equal
that of an undisturbed run. Two processes that write one file: one wins, and the file is whole."""
import json
import os
import signal
import threading
import time

from harness import (TINY, Check, Unneeded, expect, expect_no_processes, expect_same, finish,
                     generator, read, run, start, temporary_files, write)

KILLS, SHORT_KILLS = 200, 3
MOST_KILLS_OF_A_RUN = 8

# Runs of two to three seconds on one thread.
RUNS = {
    "trajectory": "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20"
                  " --trials 60",
    "gradient-rank": "spiked-model --study gradient-rank --k 32,64,96 --steps 60 --trials 24",
    "layers": "rank-collapse --model mamba2 --lambda -1,0,1 --layers 12 --tokens 24 --dim 32"
              " --trials 200",
    "escalation-rate": "rank-collapse --study escalation-rate --layers 8 --tokens 16 --dim 32"
                       " --heads 2 --trials 4000",
    "regression": "one-step-compare --trials 4000 --m-high 24 --k-high 24 --n-high 48",
    "train": "rank-collapse --study train --steps 20 --batch 4 --dim 16 --trials 10"
             " --model attention,mamba2 --lambda 0,1",
}
PRESETS = {
    "first": ("random-features", {"study": "trajectory", "m": 40, "k": 40, "d": 20, "n": 120,
                                  "steps": 60, "restart-every": 20, "trials": 20}),
    "second": ("one-step-compare", {"study": "mlp", "d": 6, "width": 8, "n": 16, "steps": 40,
                                    "trials": 40}),
    "third": ("spiked-model", {"study": "gradient-rank", "k": [32, 64], "steps": 40,
                               "trials": 30}),
}


class Undisturbed:
    """The result of a run that nothing disturbed, and how long it took; made on first use."""

    def __init__(self):
        self.lock, self.made = threading.Lock(), {}

    def get(self, name, make):
        with self.lock:
            if name not in self.made:
                begin = time.monotonic()
                result = make()
                self.made[name] = (result, time.monotonic() - begin)
            return self.made[name]


class Count:
    """Kills and the temporary files that they left, over all checks."""

    def __init__(self, wanted):
        self.lock, self.wanted, self.kills, self.files = threading.Lock(), wanted, 0, 0

    def add(self, files):
        with self.lock:
            self.kills += 1
            self.files += files

    def enough(self):
        return self.kills >= self.wanted


def files_of(folder):
    """Name and size of each file, for noticing a write."""
    found = set()
    for entry in os.scandir(folder):
        try:
            found.add((entry.name, entry.stat().st_size))
        except OSError:
            pass  # the file was removed meanwhile
    return found


def wait_for_a_moment(process, folder, random, duration):
    """Returns at a random moment of the process: any time, or just after a file has changed."""
    if random.random() < 0.6:
        time.sleep(random.uniform(0, duration))
        return
    changes, before = random.randint(1, 4), files_of(folder)
    deadline = time.monotonic() + duration
    while changes > 0 and process.poll() is None and time.monotonic() < deadline:
        now = files_of(folder)
        changes -= now != before
        before = now
    time.sleep(random.choice((0.0, random.uniform(0, 0.005))))


def kill_until_done(words, folder, results, random, duration, count):
    """Starts the run, kills it, starts it again and so on until it ends; returns the kills."""
    kills, most = 0, random.randint(3, MOST_KILLS_OF_A_RUN)
    while True:
        process = start(f"{words} --threads {random.choice((1, 2, 4))}", folder)
        if kills < most and not count.enough():
            wait_for_a_moment(process, results, random, duration)
            process.send_signal(signal.SIGKILL)
        errors = finish(process, 300, words)
        if process.returncode != -signal.SIGKILL:
            expect(process.returncode == 0,
                   f"exit {process.returncode} after {kills} kills: {errors[-500:]}")
            return kills
        kills += 1
        count.add(len(temporary_files(folder)))
        for path in temporary_files(folder):
            os.remove(path)
        expect_no_processes(folder, f"after kill {kills}")


def killed_run(name, number, seed, undisturbed, count):
    words = f"{RUNS[name]} --out out.json --resume --quiet"

    def check(folder):
        if count.enough():
            raise Unneeded
        os.mkdir(os.path.join(folder, "whole"))
        reference, duration = undisturbed.get(name, lambda: (
            run(words + " --threads 1", os.path.join(folder, "whole")),
            read(folder, "whole/out.json"))[1])
        os.mkdir(os.path.join(folder, "killed"))
        place = os.path.join(folder, "killed")
        kills = kill_until_done(words, place, place, generator(seed, name, number), duration, count)
        expect_same(read(place, "out.json"), reference, f"{name} after {kills} kills")
        expect(os.listdir(place) == ["out.json"], f"left behind: {os.listdir(place)}")
    return Check(f"{name} {number}", check)


def write_presets(folder):
    for name, (program, config) in PRESETS.items():
        write(folder, f"experiments/{name}.json", json.dumps(
            {"command": program, "title": f"Preset {name}", "seconds": 1, "config": config}))
    os.mkdir(os.path.join(folder, "results"))


def results_and_pictures(folder):
    return {name: read(folder, f"results/{name}") for name in os.listdir(folder + "/results")}


def killed_reproduce(number, seed, undisturbed, count):
    def whole(folder):
        write_presets(folder)
        run("reproduce --threads 1", folder)
        return results_and_pictures(folder)

    def check(folder):
        if count.enough():
            raise Unneeded
        os.mkdir(os.path.join(folder, "whole"))
        os.mkdir(os.path.join(folder, "killed"))
        reference, duration = undisturbed.get("reproduce",
                                              lambda: whole(os.path.join(folder, "whole")))
        place = os.path.join(folder, "killed")
        write_presets(place)
        kills = kill_until_done("reproduce", place, place + "/results",
                                generator(seed, "reproduce", number), duration, count)
        files = results_and_pictures(place)
        expect(set(files) == set(reference), f"files after {kills} kills: {sorted(files)}")
        for name, content in files.items():
            if name.endswith(".json"):
                expect_same(content, reference[name], f"{name} after {kills} kills")
            elif name.endswith(".svg"):
                expect(content == reference[name], f"{name} differs after {kills} kills")
    return Check(f"reproduce {number}", check)


def two_writers(number, seed, trials):
    """Two runs with one --out, started at almost the same time."""
    random = generator(seed, "two writers", number)
    seconds = random.uniform(0, 0.03)

    def check(folder):
        runs = [f"{TINY} --trials {trials} --seed {s} --out out.json --quiet" for s in (1, 2)]
        first = start(runs[0], folder)
        time.sleep(seconds)
        second = start(runs[1], folder)
        errors = [finish(process, 120, "two writers") for process in (first, second)]
        codes = [process.returncode for process in (first, second)]
        winner = 1 - codes.index(max(codes))
        if codes == [0, 0]:  # the second began to write when the first had just ended
            winner = 1
        else:
            # Exit 2: the first has ended, and a result with other parameters is not replaced.
            expect(sorted(codes) in ([0, 1], [0, 2]), f"exit codes {codes}: {errors}")
            error = errors[1 - winner]
            needle = "another run" if max(codes) == 1 else "--force"
            expect(len(error.splitlines()) == 1 and needle in error, error)
        os.mkdir(os.path.join(folder, "whole"))
        run(runs[winner], os.path.join(folder, "whole"))
        expect_same(read(folder, "out.json"), read(folder, "whole/out.json"), "the winner's result")
        expect(sorted(os.listdir(folder)) == ["out.json", "whole"], f"{os.listdir(folder)}")
    return Check(f"two writers {number}", check)


def checks(seed, short):
    undisturbed, count = Undisturbed(), Count(SHORT_KILLS if short else KILLS)

    def tally(_):
        expect(count.enough(), f"only {count.kills} of {count.wanted} kills")
        return f"{count.kills} kills; {count.files} left a temporary file"
    if short:
        names, rounds = ["trajectory"], 1
    else:
        # A run is killed three to eight times if it does not end before.
        names, rounds = list(RUNS), 12
    chains = [killed_run(name, number, seed, undisturbed, count)
              for number in range(rounds) for name in names]
    chains += [killed_reproduce(number, seed, undisturbed, count)
               for number in range(0 if short else rounds)]
    # The studies take turns, so that a shorter time still reaches all of them.
    chains.sort(key=lambda check: int(check.name.split()[-1]))
    if short:
        return [two_writers(0, seed, 60)] + chains
    pairs = [two_writers(number, seed, 300) for number in range(10)]
    return pairs + chains + [Check("kills", tally, alone=True)]
