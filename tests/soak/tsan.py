#!/usr/bin/env python3
"""`make tsan`: runs a program that was compiled with ThreadSanitizer and counts the races it finds.

tsan.py [--seconds N] [--seed N] [WORD...]

Runs every study with four threads and a progress bar, trials whose parts share the threads, signals
and --resume, shards, and the commands that read results; with words, only the runs whose names
contain one of them. The last line is `tsan: N runs, N races`. Exits with status 1 if there is a
race or a run fails. RANKLAB_BUILD sets the build folder.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import BINARY, CORES, TINY, Failed, expect, smoke_runs, write  # noqa: E402

SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
# The sanitizer of g++ 12 and 13 refuses the address layout of newer kernels.
FIXED_LAYOUT = ["setarch", os.uname().machine, "-R"] if shutil.which("setarch") else []
RUN_SECONDS = 480  # limit of one command; the sanitizer makes it five to twenty times slower

_TRAIN = ("rank-collapse --study train --steps 4 --batch 4 --dim 16 --model attention,mamba2"
          " --lambda 0,1")
_GPT = ("one-step-compare --study gpt --vocab char --layers 1 --dim 8 --heads 2 --context 8"
        " --batch 2 --steps 3 --optimizer muon,adam")
# Fewer trials than threads: the parts of a trial run on the spare threads. Batches have five parts.
PARTS = {
    "train": f"{_TRAIN} --trials 1",
    "train on large batches": "rank-collapse --study train --steps 4 --batch 160 --dim 16"
                              " --model attention,linear-attention,mamba2,mamba1,s4d --trials 1",
    "train on images": "rank-collapse --study train --task patches --steps 3 --batch 96 --dim 16"
                       " --trials 1 --train-size 192 --test-size 96 --heads 2 --variant post,pre",
    "gpt": f"{_GPT} --trials 1",
    "gpt on large batches": f"{_GPT} --trials 1 --batch 160 --one-step on",
    "features": "teacher-student --study features --k 24 --n 5001 --trials 1",
    "gpt and its variants": f"{_GPT} --trials 1 --also muon,lr-embedding=0.01",
    "layers": "rank-collapse --model mamba2 --lambda -1,0,1 --layers 6 --tokens 16 --dim 16"
              " --state 4 --trials 1",
    "trajectory": f"{TINY} --trials 1",
    "mlp": "one-step-compare --study mlp --d 8 --n 32 --steps 6 --trials 1",
    "gradient-rank": "spiked-model --study gradient-rank --k 32,48,64 --steps 10 --trials 1",
}
BLAS = {
    "gradient-rank": "spiked-model --study gradient-rank --k 200,300 --steps 4 --trials 2",
    "layers": "rank-collapse --model attention --layers 3 --tokens 200 --dim 200 --trials 2",
}
LONG = ("random-features --m 24 --k 24 --d 12 --n 60 --steps 40 --restart-every 20 --trials 400"
        " --quiet --out out.json --threads 4 --progress always")


class Program:
    """Runs ranklab in a folder and collects the sanitizer's reports of all its processes."""

    def __init__(self, folder):
        self.folder = folder
        options = f"log_path={folder}/tsan-report exitcode=0"
        self.environment = dict(os.environ, TSAN_OPTIONS=options)

    def suppress(self):
        self.environment["TSAN_OPTIONS"] += f" suppressions={SUPPRESSIONS}"

    def start(self, words):
        return subprocess.Popen(FIXED_LAYOUT + [BINARY] + words.split(), cwd=self.folder,
                                env=self.environment, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, words, codes=(0,)):
        process = self.start(words)
        try:
            errors = process.communicate(timeout=RUN_SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"{words}: did not end within {RUN_SECONDS} s") from None
        expect(process.returncode in codes, f"{words}: exit {process.returncode}: {errors[-400:]}")

    def reports(self):
        text = ""
        for name in sorted(glob.glob(f"{self.folder}/tsan-report.*")):
            with open(name, encoding="utf-8", errors="replace") as file:
                text += file.read()
        return text


def study(words):
    return lambda program, _: program.run(f"{words} --threads 4 --progress always --out out.json")


def parts(words):
    return lambda program, _: program.run(f"{words} --threads 4 --quiet --out out.json")


def blas_threads(words):
    def work(program, _):
        program.suppress()
        program.run(f"{words} --threads 2 --blas-threads 2 --quiet --out out.json")
    return work


def interrupted(number):
    """A run that gets a signal after some of its trials, then continues with --resume."""
    def work(program, numbers):
        process = program.start(LONG)
        journal = os.path.join(program.folder, "out.json.journal")
        deadline = time.monotonic() + RUN_SECONDS
        while process.poll() is None and time.monotonic() < deadline and (
                not os.path.exists(journal) or os.path.getsize(journal) < 20_000):
            time.sleep(0.005)
        time.sleep(numbers.uniform(0, 0.5))
        process.send_signal(number)
        errors = process.communicate(timeout=RUN_SECONDS)[1]
        expect(process.returncode in (0, 128 + number),
               f"exit {process.returncode}: {errors[-400:]}")
        program.run(LONG + " --resume")
    return work


def shards(program, _):
    names = [f"p.{i}-of-2.part" for i in (1, 2)]
    for i, name in enumerate(names, 1):
        program.run(f"{TINY} --trials 9 --threads 4 --progress always --shard {i}/2 --out {name}")
    program.run(f"merge --dry-run {' '.join(names)}")
    program.run(f"merge {' '.join(names)} --out merged.json")


def reading(program, _):
    program.run(f"{TINY} --threads 4 --quiet --out a.json")
    program.run(f"{TINY} --seed 2 --threads 4 --quiet --out b.json")
    for words in ("plot a.json --out a.svg", "plot a.json --out a.png",
                  "report a.json b.json --out page.html", "verify a.json",
                  "export a.json --what trials --out a.csv", "list"):
        program.run(words)
    program.run("compare a.json b.json", codes=(0, 1))


def files(program, _):
    """A layer's activation and gradients on two threads, and several layers at once."""
    program.run("one-step-compare --study mlp --d 8 --n 32 --steps 3 --trials 1 --dump dump --quiet"
                " --out out.json")
    for _ in range(10):  # the threads of so small layers do not meet in every run
        program.run("ranks --activations dump/activations.safetensors --gradients dump/gradients.safetensors --threads 16"
                    " --quiet --force --out files.json")


def reproduce(program, _):
    for name, trials in (("one", 3), ("two", 4)):
        write(program.folder, f"experiments/{name}.json", json.dumps(
            {"command": "one-step-compare", "title": name, "seconds": 1,
             "config": {"study": "mlp", "d": 6, "width": 8, "n": 16, "steps": 5,
                        "trials": trials}}))
    program.run("reproduce --threads 4")


def all_runs():
    runs = {f"study: {name}": study(words) for name, words in smoke_runs().items()}
    runs |= {f"parts: {name}": parts(words) for name, words in PARTS.items()}
    runs |= {f"BLAS threads: {name}": blas_threads(words) for name, words in BLAS.items()}
    runs |= {"SIGINT and --resume": interrupted(signal.SIGINT),
             "SIGTERM and --resume": interrupted(signal.SIGTERM),
             "shards and merge": shards, "files": files, "plot, report, verify": reading,
             "reproduce": reproduce}
    # The long ones first, so that no core waits for the last one.
    return dict(sorted(runs.items(), key=lambda run: "train" not in run[0]))


def attempt(name, work, seed, deadline):
    """Returns (number of reports, text), or None if there is no time left."""
    if time.monotonic() > deadline:
        return None
    folder = tempfile.mkdtemp(prefix="ranklab-tsan-")
    program, problem = Program(folder), ""
    try:
        work(program, random.Random(f"{seed} {name}"))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}\n"
    reports = program.reports()
    shutil.rmtree(folder, ignore_errors=True)
    return reports.count("WARNING: ThreadSanitizer"), problem, reports


def main():
    parser = argparse.ArgumentParser(description="Looks for races with ThreadSanitizer.")
    parser.add_argument("--seconds", type=float, default=900, help="limit of the total time")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of the name of a run")
    options = parser.parse_args()
    runs = {name: work for name, work in all_runs().items()
            if not options.words or any(word in name for word in options.words)}
    start, races, failed, left_out = time.monotonic(), 0, 0, []
    print(f"tsan: seed {options.seed}, at most {options.seconds:g} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        futures = {pool.submit(attempt, name, work, options.seed, start + options.seconds): name
                   for name, work in runs.items()}
        for future in concurrent.futures.as_completed(futures):
            if future.result() is None:
                left_out.append(futures[future])
                continue
            found, problem, reports = future.result()
            races, failed = races + found, failed + (problem != "")
            if found or problem:
                print(f"{futures[future]}: {found} races\n{problem}{reports}", flush=True)
    if left_out:
        print(f"tsan: no time for {len(left_out)} runs: {', '.join(left_out)}")
    if failed:
        print(f"tsan: {failed} failed runs")
    print(f"tsan: {len(runs) - len(left_out)} runs, {races} races")
    return 1 if races or failed else 0


if __name__ == "__main__":
    sys.exit(main())
