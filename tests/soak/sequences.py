"""Sequences of steps around one result: kill, change, resume, inject an error.

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
JOURNAL = "out.json.journal"


def does(words):
    return lambda folder: run(words, folder)


def refuses(words, needle, code=2):
    """The run fails with one line, and no file changes."""
    def step(folder):
        before = contents(folder)
        refused(words, folder, needle, codes=(code,))
        expect(contents(folder) == before, f"{words}: changed a file")
    return step


def contents(folder):
    return {os.path.join(place, name): read(place, name) for place, _, names in os.walk(folder)
            for name in names if not name.startswith("program")}


def stopped(words, number=signal.SIGKILL):
    """The run is stopped when its journal has about three trials."""
    def step(folder):
        path = os.path.join(folder, JOURNAL)
        process = start(f"{words} --threads 1", folder)

        def grew():
            return os.path.exists(path) and os.path.getsize(path) > 4200
        expect(wait_for(grew, process, 60, words), f"{words}: ended before it was stopped")
        process.send_signal(number)
        finish(process, 60, words)
        expect(process.returncode != 0, f"{words}: ended before it was stopped")
    return step


def text(name, content):
    return lambda folder: write(folder, name, content)


def removed(name):
    return lambda folder: os.remove(os.path.join(folder, name))


def has_journal(expected):
    def step(folder):
        found = os.path.exists(os.path.join(folder, JOURNAL))
        expect(found == expected, f"{JOURNAL} is {'still there' if found else 'missing'}")
    return step


def same_as(words):
    """The result equals that of an undisturbed run."""
    def step(folder):
        run(words.replace("out.json", "whole.json"), folder)
        expect_same(read(folder, "out.json"), read(folder, "whole.json"), words)
    return step


def injected(calls, words, needle):
    """System calls fail: "rename:error=ENOSPC" and such, as for strace."""
    def step(folder):
        if shutil.which("strace") is None:
            raise Skipped("strace is not installed")
        process = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + calls,
                                  BINARY, *words.split()], cwd=folder, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=300)
        if "PTRACE" in process.stderr:
            raise Skipped("strace may not trace here")
        expect(process.returncode == 1, f"{words}: exit {process.returncode}: {process.stderr[-300:]}")
        expect(needle in process.stderr, f"{words}: no {needle!r} in {process.stderr!r}")
    return step


def other_program(words, needle):
    """Another program of the same commit: a copy with one byte more."""
    def step(folder):
        program = os.path.join(folder, "program")
        shutil.copy(BINARY, program)
        with open(program, "ab") as file:
            file.write(b"x")
        process = subprocess.run([program, *words.split()], cwd=folder, capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=120)
        expect(process.returncode == 2, f"{words}: exit {process.returncode}: {process.stderr[-300:]}")
        expect(needle in process.stderr, f"{words}: no {needle!r} in {process.stderr!r}")
    return step


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
        same_as(GPT), has_journal(False)],
    "the input changes before the result is verified": [
        text("t.txt", TEXT), does(GPT), does("verify out.json"), text("t.txt", OTHER_TEXT),
        refuses("verify out.json", "out.json: the run read another t.txt", code=1),
        removed("t.txt"), verified_quickly],
    "another program resumes": [
        stopped(OUT), other_program(f"{OUT} --resume", "program is"), has_journal(True),
        does(f"{OUT} --resume"), same_as(OUT)],
    "the result cannot be renamed": [
        injected("rename:error=ENOSPC", f"{OUT} --threads 1", "No space left"), has_journal(True),
        does(f"{OUT} --resume"), same_as(OUT), has_journal(False)],
    "the journal cannot be flushed": [
        injected("fsync:error=EIO", f"{OUT} --threads 1", "cannot write"),
        does(f"{OUT} --resume"), same_as(OUT)],
    "a trial cannot be written": [
        injected("pwrite64:error=ENOSPC:when=4", f"{OUT} --threads 1", "cannot write"), has_journal(True),
        does(f"{OUT} --resume"), same_as(OUT)],
}
SHORT = ("the input changes before the run is resumed", "the result cannot be renamed")


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
