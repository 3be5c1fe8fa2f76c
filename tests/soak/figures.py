"""gnuplot that is missing, fails, is killed or hangs: `plot` ends with one line and exit 1 and keeps
an earlier picture; `report` writes a page that says why there is no picture. If ranklab is killed,
gnuplot ends."""
import os
import shutil
import signal
import time

from harness import (TINY, Check, expect, expect_no_processes, expect_same, fake_gnuplot, finish,
                     processes_in, read, refused, run, start, temporary_files, wait_for, write)
from signals import preset

COMMANDS = {"plot": "plot a.json --out a.svg", "report": "report a.json --out page.html"}
DEADLINE = 60  # seconds that gnuplot may take
FAKES = {
    "fails": ("echo 'line 3: undefined variable: x' >&2; exit 3", "undefined variable: x"),
    "fails without a word": ("exit 3", "gnuplot failed"),
    "writes nothing": ("cat > /dev/null", "gnuplot"),
    "is killed": ("kill -9 $$", "gnuplot failed"),
    "does not read its input": ("exec 0<&-; echo 'no input' >&2; exit 1", "no input"),
    "writes without end on standard error": ("head -c 3000000 /dev/zero >&2; exit 4", "gnuplot"),
}
OLD = b"of an earlier run"


def prepare(folder):
    run(f"{TINY} --quiet --out a.json", folder)
    for name in ("a.svg", "page.html"):
        write(folder, name, OLD)
    return read(folder, "a.json")


def expect_kept(folder, result):
    expect(read(folder, "a.json") == result, "the result has changed")
    for name in ("a.svg", "page.html"):
        expect(read(folder, name) == OLD, f"{name} has changed")
    expect(not temporary_files(folder), f"left {temporary_files(folder)}")


def without_gnuplot(folder):
    """An environment whose PATH has no gnuplot."""
    os.makedirs(os.path.join(folder, "empty"), exist_ok=True)
    return dict(os.environ, PATH=os.path.join(folder, "empty"))


def without_picture(kind, folder, needle, environment):
    result = prepare(folder)
    if kind == "plot":
        refused(COMMANDS[kind], folder, needle, env=environment)
    else:
        run(COMMANDS[kind], folder, env=environment)
        page = read(folder, "page.html").decode()
        expect("Not drawn" in page and needle in page, "the page does not say what is missing")
        write(folder, "page.html", OLD)
    expect_kept(folder, result)
    expect_no_processes(folder, kind)


def missing(kind):
    return Check(f"{kind} without gnuplot", lambda folder: without_picture(
        kind, folder, "gnuplot-nox", without_gnuplot(folder)))


def broken(kind, how):
    script, needle = FAKES[how]
    return Check(f"{kind} with a gnuplot that {how}", lambda folder: without_picture(
        kind, folder, needle, fake_gnuplot(folder, script)))


def reproduce(how):
    """The result of each preset is kept, and `reproduce` ends with exit 1."""
    def check(folder):
        preset(folder, "one", 3)
        environment = (without_gnuplot(folder) if how == "is missing" else
                       fake_gnuplot(folder, FAKES[how][0]))
        process = run("reproduce", folder, codes=(1,), env=environment)
        expect("gnuplot" in process.err, process.err)
        result = read(folder, "results/one.json")
        run("run one --quiet --out whole.json", folder)
        expect_same(result, read(folder, "whole.json"), "the result")
        process = run("reproduce", folder)
        expect("kept" in process.err, f"the result is not kept: {process.err}")
        expect(os.path.exists(os.path.join(folder, "results/one.svg")), "no picture")
    return Check(f"reproduce with a gnuplot that {how}", check)


def hanging(kind, number):
    """A killed ranklab takes a gnuplot that hangs with it."""
    def check(folder):
        result = prepare(folder)
        process = start(COMMANDS[kind], folder, env=fake_gnuplot(folder, "exec sleep 1000"))
        wait_for(lambda: "sleep" in processes_in(folder).values(), process, 20, "gnuplot")
        process.send_signal(number)
        finish(process, 10, f"{kind} after signal {number}")
        expect_no_processes(folder, f"{kind} after signal {number}")
        expect_kept(folder, result)
    return Check(f"{kind} with a gnuplot that hangs, signal {number}", check)


def deadline(kind):
    def check(folder):
        result = prepare(folder)
        begin = time.monotonic()
        refused(COMMANDS[kind], folder, "gnuplot", seconds=DEADLINE + 30,
                env=fake_gnuplot(folder, "exec sleep 1000"))
        took = time.monotonic() - begin
        expect(took > DEADLINE / 2, f"gave up after {took:.0f} s")
        expect_kept(folder, result)
        expect_no_processes(folder, kind)
    return Check(f"{kind} gives up a gnuplot that hangs", check)


def checks(_, short):
    if not shutil.which("gnuplot"):
        raise SystemExit("gnuplot is missing")
    if short:
        return [broken("plot", "fails"), hanging("plot", signal.SIGKILL)]
    found = [deadline("plot")]
    found += [missing(kind) for kind in COMMANDS]
    found += [broken(kind, how) for kind in COMMANDS for how in FAKES]
    found += [reproduce(how) for how in ("is missing", "fails", "is killed")]
    return found + [hanging(kind, number) for kind in COMMANDS
                    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)]
