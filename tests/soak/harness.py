"""What the checks of `make soak` and `make tsan` share: starting ranklab, watching it, comparing
results."""
import json
import os
import random
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"), "ranklab"))
CORES = len(os.sched_getaffinity(0))
EXEMPT = ("environment", "timing")  # parts of a result that may differ between equal runs

TINY = ("random-features --study trajectory --m 12 --k 10 --d 5 --n 30 --steps 20"
        " --restart-every 10 --trials 3")

# A shell that starts the checks in the background makes them, and every run, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Failed(Exception):
    """A check failed; the message is its report."""


class Skipped(Exception):
    """A check cannot run on this machine; the message says why."""


class Unneeded(Exception):
    """A check has nothing left to do, and is not counted."""


class Check:
    """A named function of an empty folder. A check that is `alone` runs while no other does."""

    def __init__(self, name, function, alone=False):
        self.name, self.function, self.alone = name, function, alone


def expect(condition, message):
    if not condition:
        raise Failed(message)


def command(arguments):
    return [BINARY] + (arguments.split() if isinstance(arguments, str) else list(arguments))


def start(arguments, folder, env=None, **more):
    """Starts ranklab in its own process group, with the environment `env` or its parent's."""
    return subprocess.Popen(command(arguments), cwd=folder, env=env, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, start_new_session=True, **more)


def finish(process, seconds, what):
    """Waits for the process and returns its standard error. One that does not end is killed."""
    try:
        process.out, errors = process.communicate(timeout=seconds)
        return errors
    except subprocess.TimeoutExpired:
        kill_group(process)
        raise Failed(f"{what}: did not end within {seconds} s") from None


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def run(arguments, folder, codes=(0,), seconds=120, **more):
    """Runs ranklab to its end. Its exit code must be in `codes`; the process has `out`, `err`."""
    what = arguments if isinstance(arguments, str) else " ".join(arguments)
    process = start(arguments, folder, **more)
    process.err = finish(process, seconds, what)
    expect(process.returncode in codes,
           f"{what}: exit {process.returncode}, not {codes}: {process.err[-500:]}")
    return process


def refused(arguments, folder, *needles, codes=(1,), **more):
    """Runs ranklab, which must fail with one line that contains every needle."""
    process = run(arguments, folder, codes, **more)
    expect(len(process.err.splitlines()) == 1, f"{arguments}: not one line: {process.err[-800:]!r}")
    for needle in needles:
        expect(needle in process.err, f"{arguments}: no {needle!r} in {process.err!r}")
    return process.err


def read(folder, name, mode="rb"):
    with open(os.path.join(folder, name), mode) as file:
        return file.read()


def write(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def comparable(text):
    """A result without the parts that may differ; numbers are kept as written, digit by digit."""
    document = json.loads(text, parse_float=lambda s: "float " + s, parse_int=lambda s: "int " + s)
    for key in EXEMPT:
        document.pop(key)
    return json.dumps(document)


def expect_same(text, reference, what):
    if comparable(text) == comparable(reference):
        return
    a, b = json.loads(text), json.loads(reference)
    differing = [key for key in b if key not in EXEMPT and a.get(key) != b[key]]
    parts = ", ".join(differing) or "its form"
    raise Failed(f"{what}: differs from the undisturbed run in {parts}")


def temporary_files(folder):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names
            if ".tmp." in name]


def processes_in(folder):
    """The processes whose working directory is the folder or below it: {id: name}."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            if not entry.isdigit() or not os.readlink(f"/proc/{entry}/cwd").startswith(folder):
                continue
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                name, state = file.read().split("(", 1)[1].rsplit(")", 1)
            if state.split()[0] != "Z":
                found[int(entry)] = name
        except OSError:
            pass  # the process has ended, or belongs to someone else
    return found


def expect_no_processes(folder, what, seconds=2.0):
    """No process may remain in the folder after this time. Ends those that do."""
    deadline = time.monotonic() + seconds
    while (left := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for number in left:
        os.kill(number, signal.SIGKILL)
    expect(not left, f"{what}: left running: {', '.join(left.values())}")


def wait_for(condition, process, seconds, what):
    """Waits until the condition holds or the process ends; returns True if the condition holds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    kill_group(process)
    raise Failed(f"{what}: nothing happened within {seconds} s")


def fake_converter(folder, script):
    """Writes a shell script named rsvg-convert; returns the environment in which ranklab finds it."""
    path = write(folder, "fake/rsvg-convert", "#!/bin/sh\n" + script + "\n")
    os.chmod(path, 0o755)
    return dict(os.environ, PATH=os.path.dirname(path) + os.pathsep + os.environ["PATH"])


def smoke_runs():
    """The tiny run of each study: {name: arguments}."""
    folder = os.path.join(ROOT, "tests", "end_to_end")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from test_smoke import RUNS  # pylint: disable=import-outside-toplevel
    return RUNS


def generator(seed, *names):
    """Random numbers that depend on the seed and the names only."""
    return random.Random(f"{seed} {' '.join(map(str, names))}")
