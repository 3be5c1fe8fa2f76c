"""rsvg-convert that is missing, fails, is killed or hangs: `plot` of a PNG or PDF ends with one line
and exit 1 and keeps an earlier picture. If ranklab is killed, rsvg-convert ends."""
import os
import shutil
import signal
import time

from harness import (TINY, Check, expect, expect_no_processes, fake_converter, finish, processes_in,
                     read, refused, run, start, temporary_files, wait_for, write)

COMMANDS = {"PNG": "plot a.json --out a.png", "PDF": "plot a.json --out a.pdf"}
DEADLINE = 60  # seconds that rsvg-convert may take
FAKES = {
    "fails": ("echo 'Error reading SVG: XML parse error' >&2; exit 3", "XML parse error"),
    "fails without a word": ("exit 3", "rsvg-convert failed"),
    "writes nothing": ("cat > /dev/null", "rsvg-convert"),
    "is killed": ("kill -9 $$", "rsvg-convert failed"),
    "does not read its input": ("exec 0<&-; echo 'no input' >&2; exit 1", "no input"),
    "writes without end on standard error": ("head -c 3000000 /dev/zero >&2; exit 4",
                                             "rsvg-convert"),
}
OLD = b"of an earlier run"


def prepare(folder):
    run(f"{TINY} --quiet --out a.json", folder)
    for name in ("a.png", "a.pdf"):
        write(folder, name, OLD)
    return read(folder, "a.json")


def expect_kept(folder, result):
    expect(read(folder, "a.json") == result, "the result has changed")
    for name in ("a.png", "a.pdf"):
        expect(read(folder, name) == OLD, f"{name} has changed")
    expect(not temporary_files(folder), f"left {temporary_files(folder)}")


def without_picture(kind, folder, needle, environment):
    result = prepare(folder)
    refused(COMMANDS[kind], folder, needle, env=environment)
    expect_kept(folder, result)
    expect_no_processes(folder, kind)


def missing(kind):
    def check(folder):
        os.makedirs(os.path.join(folder, "empty"), exist_ok=True)
        without_picture(kind, folder, "librsvg2-bin",
                        dict(os.environ, PATH=os.path.join(folder, "empty")))
    return Check(f"{kind} without rsvg-convert", check)


def broken(kind, how):
    script, needle = FAKES[how]
    return Check(f"{kind} with an rsvg-convert that {how}", lambda folder: without_picture(
        kind, folder, needle, fake_converter(folder, script)))


def hanging(kind, number):
    """A killed ranklab takes an rsvg-convert that hangs with it."""
    def check(folder):
        result = prepare(folder)
        process = start(COMMANDS[kind], folder, env=fake_converter(folder, "exec sleep 1000"))
        wait_for(lambda: "sleep" in processes_in(folder).values(), process, 20, "rsvg-convert")
        process.send_signal(number)
        finish(process, 10, f"{kind} after signal {number}")
        expect_no_processes(folder, f"{kind} after signal {number}")
        expect_kept(folder, result)
    return Check(f"{kind} with an rsvg-convert that hangs, signal {number}", check)


def deadline(kind):
    def check(folder):
        result = prepare(folder)
        begin = time.monotonic()
        refused(COMMANDS[kind], folder, "rsvg-convert", seconds=DEADLINE + 30,
                env=fake_converter(folder, "exec sleep 1000"))
        took = time.monotonic() - begin
        expect(took > DEADLINE / 2, f"gave up after {took:.0f} s")
        expect_kept(folder, result)
        expect_no_processes(folder, kind)
    return Check(f"{kind} gives up an rsvg-convert that hangs", check)


def checks(_, short):
    if not shutil.which("rsvg-convert"):
        raise SystemExit("rsvg-convert is missing")
    if short:
        return [broken("PNG", "fails"), hanging("PNG", signal.SIGKILL)]
    found = [deadline("PNG")]
    found += [missing(kind) for kind in COMMANDS]
    found += [broken(kind, how) for kind in COMMANDS for how in FAKES]
    return found + [hanging(kind, number) for kind in COMMANDS
                    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)]
