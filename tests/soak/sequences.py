"""Sequences of steps around one result: kill, change, resume, replace, inject an error.

A row of SEQUENCES is a name and its steps, which run one after another in an empty folder. To add a
sequence, add a row; a new kind of step is a function that returns a function of the folder.
"""
import os
import shutil
import signal
import subprocess
import time

from harness import (BINARY, TINY, Check, Failed, Skipped, expect, expect_same, finish, read,
                     refused, run, start, wait_for, write)

MED = TINY.replace("--trials 3", "--trials 60 --quiet").replace("--steps 20", "--steps 200")
OUT = f"{MED} --out out.json"
GPT = ("one-step-compare --study gpt --vocab char --layers 1 --dim 8 --heads 1 --context 8 --batch 2"
       " --steps 400 --trials 12 --quiet --text t.txt --out out.json")
TEXT, OTHER_TEXT = "the quick brown fox jumps over the lazy dog. " * 300, "pack my box with jugs. " * 600
PRESET = ('{"command": "random-features", "title": "Small", "config": {"study": "trajectory", "m": 12,'
          ' "k": 10, "d": 5, "n": 30, "steps": 200, "restart-every": 10, "trials": 60}}')
JOURNAL = "out.json.journal"


def does(words, *needles, env=None):
    """The run succeeds, with these words on standard error."""
    def step(folder):
        process = run(words, folder, env=env and dict(os.environ, **env))
        for needle in needles:
            expect(needle in process.err, f"{words}: no {needle!r} in {process.err!r}")
    return step


def refuses(words, *needles, code=2, env=None):
    """The run fails with one line, and no file changes."""
    def step(folder):
        before = contents(folder)
        refused(words, folder, *needles, codes=(code,), env=env and dict(os.environ, **env))
        expect(contents(folder) == before, f"{words}: changed a file")
    return step


def contents(folder):
    return {os.path.join(place, name): read(place, name) for place, _, names in os.walk(folder)
            for name in names if not name.startswith("program")}


def stopped(words, number=signal.SIGKILL, journal=JOURNAL, trials=3):
    """The run is stopped when its journal has about this number of trials."""
    def step(folder):
        path = os.path.join(folder, journal)
        process = start(f"{words} --threads 1", folder)

        def grew():
            return os.path.exists(path) and os.path.getsize(path) > 3000 + 400 * trials
        expect(wait_for(grew, process, 60, words), f"{words}: ended before it was stopped")
        process.send_signal(number)
        finish(process, 60, words)
        expect(process.returncode != 0, f"{words}: ended before it was stopped")
    return step


def text(name, content):
    return lambda folder: write(folder, name, content)


def removed(name):
    def step(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return step


def linked(target, name):
    return lambda folder: os.symlink(target, os.path.join(folder, name))


def there(*names):
    def step(folder):
        for name in names:
            expect(os.path.exists(os.path.join(folder, name)), f"{name} is missing")
    return step


def gone(*names):
    def step(folder):
        for name in names:
            expect(not os.path.exists(os.path.join(folder, name)), f"{name} is still there")
    return step


def same_as(words, name="out.json"):
    """The result equals that of an undisturbed run."""
    def step(folder):
        run(words.replace("--out " + name, "--out whole.json"), folder)
        expect_same(read(folder, name), read(folder, "whole.json"), words)
    return step


def injected(calls, words, needle, code=1):
    """System calls fail: "rename:error=ENOSPC" and such, as for strace."""
    def step(folder):
        if shutil.which("strace") is None:
            raise Skipped("strace is not installed")
        process = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + calls,
                                  BINARY, *words.split()], cwd=folder, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=300)
        if "PTRACE" in process.stderr:
            raise Skipped("strace may not trace here")
        expect(process.returncode == code, f"{words}: exit {process.returncode}: {process.stderr[-300:]}")
        expect(needle in process.stderr, f"{words}: no {needle!r} in {process.stderr!r}")
    return step


def other_program(words, *needles, code=2):
    """Another program of the same commit: a copy with one byte more."""
    def step(folder):
        program = os.path.join(folder, "program")
        shutil.copy(BINARY, program)
        with open(program, "ab") as file:
            file.write(b"x")
        process = subprocess.run([program, *words.split()], cwd=folder, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=120)
        expect(process.returncode == code, f"{words}: exit {process.returncode}: {process.stderr[-300:]}")
        for needle in needles:
            expect(needle in process.stderr, f"{words}: no {needle!r} in {process.stderr!r}")
    return step


def race(folder):
    """Two runs with other seeds and one target, at once: one wins, or the later one is refused."""
    for seed in range(1, 21):
        words = [f"{TINY} --seed {seed + 100 * i} --quiet --out race.json" for i in (0, 1)]
        pair = [start(each, folder) for each in words]
        for process, each in zip(pair, words):
            finish(process, 60, each)
        expect(sorted(process.returncode for process in pair) in ([0, 1], [0, 2]),
               f"two runs at once: exits {[process.returncode for process in pair]}")
        os.remove(os.path.join(folder, "race.json"))


def stopped_link(folder):
    """A run writes through a link; meanwhile another writes to the target."""
    process = start(f"{MED} --trials 100000 --out link.json", folder)
    expect(wait_for(lambda: os.path.exists(os.path.join(folder, JOURNAL)), process, 30, "link"),
           "no journal of the target")
    try:
        refused(f"{OUT} --trials 100000 --resume", folder, "another run is writing")
    finally:
        process.kill()
        finish(process, 30, "link")


def folder_comes(folder):
    """The result's place becomes a folder while the run is going."""
    process = start(f"{OUT} --threads 1", folder)
    wait_for(lambda: os.path.exists(os.path.join(folder, JOURNAL)), process, 30, "folder")
    os.mkdir(os.path.join(folder, "out.json"))
    finish(process, 60, OUT)
    expect(process.returncode == 1, f"exit {process.returncode}, not 1")


def verified_quickly(folder):
    """A pipe that nobody writes to."""
    os.mkfifo(os.path.join(folder, "t.txt"))
    begin = time.monotonic()
    refused("verify out.json", folder, "t.txt", "is neither a file nor a folder")
    expect(time.monotonic() - begin < 2, "verify waits for a pipe")


SEQUENCES = {
    "the input changes before the run is resumed": [
        text("t.txt", TEXT), stopped(GPT, signal.SIGINT), text("t.txt", OTHER_TEXT),
        refuses(f"{GPT} --resume", '"t.txt" is'), text("t.txt", TEXT), does(f"{GPT} --resume"),
        same_as(GPT), gone(JOURNAL)],
    "the input changes before the result is verified": [
        text("t.txt", TEXT), does(GPT), does("verify out.json"), text("t.txt", OTHER_TEXT),
        refuses("verify out.json", "out.json: the run read another t.txt", code=1),
        removed("t.txt"), verified_quickly],
    "the input changes before the parts are merged": [
        text("t.txt", TEXT), does(f"{GPT.replace('out.json', '1.part')} --shard 1/2"),
        does(f"{GPT.replace('out.json', '2.part')} --shard 2/2"), text("t.txt", OTHER_TEXT),
        refuses("merge 1.part 2.part --out m.json", "the run read another t.txt", code=1),
        text("t.txt", TEXT), does("merge 1.part 2.part --out out.json"), same_as(GPT)],
    "another kernel resumes": [
        stopped(OUT), refuses(f"{OUT} --resume", "blas_core", env={"OPENBLAS_CORETYPE": "Prescott"}),
        does(f"{OUT} --resume"), same_as(OUT)],
    "another program resumes": [
        stopped(OUT), other_program(f"{OUT} --resume", "program is"), there(JOURNAL),
        does(f"{OUT} --resume"), same_as(OUT)],
    "another run has the same target": [
        stopped(OUT), refuses(f"{OUT} --seed 2", JOURNAL, "of a different run (seed is 1 there, 2 here)"),
        refuses("spiked-model --study gradient-rank --k 32 --steps 5 --trials 2 --out out.json",
                "of a different run"),
        does(f"{OUT} --resume"), same_as(OUT)],
    "another run is forced at the same target": [
        stopped(OUT), does(f"{OUT} --seed 2 --force"), same_as(f"{OUT} --seed 2")],
    "the result cannot be renamed": [
        injected("rename:error=ENOSPC", f"{OUT} --threads 1", "No space left"), there(JOURNAL),
        does(f"{OUT} --resume"), same_as(OUT), gone(JOURNAL)],
    "the journal cannot be flushed": [
        injected("fsync:error=EIO", f"{OUT} --threads 1", "cannot write"),
        does(f"{OUT} --resume"), same_as(OUT)],
    "a trial cannot be written": [
        injected("pwrite64:error=ENOSPC:when=4", f"{OUT} --threads 1", "cannot write"), there(JOURNAL),
        does(f"{OUT} --resume"), same_as(OUT)],
    "reproduce cannot rename the result": [
        text("experiments/small.json", PRESET),
        injected("rename:error=ENOSPC", "reproduce small --threads 1", "No space left"),
        there("results/small.json.journal"), does("reproduce small"),
        gone("results/small.json.journal"), there("results/small.json", "results/report.html")],
    "reproduce is killed and continued": [
        text("experiments/small.json", PRESET),
        stopped("reproduce small", journal="results/small.json.journal"),
        there("results/small.json.journal"), does("reproduce small"),
        same_as("run small --quiet --out results/small.json", "results/small.json")],
    "the weights are deleted before the run is resumed": [
        text("t.txt", TEXT), stopped(f"{GPT} --save w.safetensors"), removed("w.safetensors"),
        does(f"{GPT} --save w.safetensors --resume", "w.safetensors is missing")],
    "a link to the target": [linked("out.json", "link.json"), stopped_link],
    "the target becomes a folder": [
        folder_comes, there(JOURNAL), removed("out.json"), does(f"{OUT} --resume"), same_as(OUT)],
    "two runs at once": [race],
}
SHORT = ("the input changes before the run is resumed", "the result cannot be renamed",
         "reproduce cannot rename the result", "another run has the same target")


def sequence(name):
    def check(folder):
        for number, step in enumerate(SEQUENCES[name]):
            try:
                step(folder)
            except Failed as problem:
                raise Failed(f"step {number + 1}: {problem}") from None
    return Check(name, check)


def checks(_seed, short):
    return [sequence(name) for name in (SHORT if short else SEQUENCES)]
