"""SIGINT: every preset ends within two seconds, at its full size; so do commands that read large
files, convert a picture with a program that hangs, or verify. A second SIGINT ends any run at once."""
import glob
import json
import os
import signal
import struct
import time

from harness import (ROOT, TINY, Check, Failed, Skipped, expect, expect_no_processes, fake_converter,
                     finish, generator, run, start, temporary_files, write)

LIMIT = 2.0  # seconds from the signal to the end of the process, but those without a processor
MOMENTS = 3
LATEST = 4.0  # seconds after the start of the latest signal

SHORT_PRESETS = ("spectral-fig04", "lambda-skip-table1-recall", "spectral-gpt")
# One call of LAPACK takes many seconds here, and the first signal waits for its end.
LONG_CALL = "one-step-compare --study mlp --d 1024 --width 4096 --n 8192 --trials 1 --out out.json"


def waited(process):
    """The seconds that each thread of the process has waited for a processor: {id: seconds}."""
    seconds, place = {}, f"/proc/{process.pid}/task"
    try:
        for thread in os.listdir(place):
            with open(f"{place}/{thread}/schedstat", encoding="utf-8") as file:
                seconds[thread] = int(file.read().split()[1]) / 1e9
    except OSError:
        pass  # the thread has ended
    return seconds


def interrupt(words, folder, seconds, env=None, codes=(130, -signal.SIGINT)):
    """Starts the command and interrupts it after this time. Returns the seconds until it ended, less
    those in which other processes kept a thread from running; None if it was complete before."""
    process = start(words, folder, env=env)
    time.sleep(seconds)
    if process.poll() == 0:
        finish(process, 1, words)
        return None
    if process.poll() is not None:
        raise Failed(f"{words}: ended before the signal, exit {process.returncode}: "
                     f"{finish(process, 1, words)[-300:]}")
    before, lost, begin = waited(process), 0.0, time.monotonic()
    process.send_signal(signal.SIGINT)
    while process.poll() is None and time.monotonic() < begin + 60:
        now = waited(process)
        lost = max([lost] + [now[thread] - before.get(thread, 0.0) for thread in now])
        time.sleep(0.01)
    took = time.monotonic() - begin - lost
    errors = finish(process, 1, f"{words}: after SIGINT")
    if process.returncode == 0:  # the signal came after the last trial
        return None
    expect(process.returncode in codes, f"{words}: exit {process.returncode}: {errors[-300:]}")
    expect_no_processes(folder, words)
    expect(not temporary_files(folder), f"{words}: left {temporary_files(folder)}")
    return took


def answered(words, folder, moments, env=None, codes=(130, -signal.SIGINT)):
    """Interrupts at each of the moments; earlier if the machine is so fast that the run is complete."""
    worst = 0.0
    for seconds in moments:
        took = interrupt(words, folder, seconds, env, codes)
        for _ in range(5):
            if took is None:
                seconds /= 2
                took = interrupt(words, folder, seconds, env, codes)
        if took is None and 0 in codes:  # there is nothing to interrupt
            took = 0.0
        expect(took is not None, f"{words}: complete, after a SIGINT at {seconds:.2f} s")
        expect(took <= LIMIT, f"{words}: ended {took:.1f} s after the SIGINT at {seconds:.2f} s")
        worst = max(worst, took)
    return f"{worst:.1f} s" if worst > LIMIT / 2 else ""


def presets():
    """{name: its seconds in full}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "experiments", "*.json"))):
        if path.endswith(".schema.json"):
            continue
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)[:-len(".json")]] = json.load(file)["seconds"]
    return found


def whole_preset(name, seconds, seed, short):
    """Early, while files are read and tables are made, and later."""
    def check(folder):
        random = generator(seed, name)
        if name.endswith("-trained") and name != "lambda-skip-trained":
            run("run lambda-skip-trained --steps 2 --quiet", folder)  # writes the weights
        latest = min(LATEST, seconds / 4)
        moments = [random.uniform(0.05, 0.3)]
        if not short:
            moments += [random.uniform(0.3 * latest, latest) for _ in range(MOMENTS - 1)]
        # The examples take less than a second.
        codes = (130, -signal.SIGINT) + ((0,) if seconds <= 1 else ())
        return answered(f"run {name} --threads 2 --quiet --force --out out.json", folder, moments,
                        codes=codes)
    return Check(name, check, alone=True)


def second_signal():
    def check(folder):
        process = start(LONG_CALL, folder)
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        finish(process, 60, "the second SIGINT")
        took = time.monotonic() - begin
        expect(process.returncode == 130, f"exit {process.returncode}")
        expect(took < 1.0, f"ended {took:.1f} s after the second SIGINT")
    return Check("a second SIGINT", check, alone=True)


def write_matrix(folder, name, rows, columns):
    """An archive of one matrix of random doubles, written row by row."""
    header = json.dumps({"a": {"dtype": "F64", "shape": [rows, columns], "data_offsets": [0, 8 * rows * columns]}}).encode()
    block = struct.pack("<4096d", *generator(0, name).choices([-1.0, 0.25, 0.5, 2.0], k=4096))
    with open(os.path.join(folder, name), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _ in range(rows * columns // 4096):
            file.write(block)


def files():
    """Two large matrices. The numbers repeat, but that is no matter here."""
    def check(folder):
        write_matrix(folder, "a.safetensors", 2048, 16384)
        write_matrix(folder, "g.safetensors", 4096, 2048)
        return answered("ranks --activations a.safetensors --gradients g.safetensors --quiet --force"
                        " --out out.json", folder, [0.2, 1.0])
    return Check("files", check, alone=True)


def preset(folder, name, trials):
    write(folder, f"experiments/{name}.json", json.dumps(
        {"command": "random-features", "title": name, "seconds": 1,
         "config": {"study": "trajectory", "m": 40, "k": 40, "d": 20, "n": 120, "steps": 60,
                    "restart-every": 20, "trials": trials}}))


def hanging_converter():
    """`plot` waits for rsvg-convert; the file of an earlier result must survive."""
    def check(folder):
        environment = fake_converter(folder, "exec sleep 1000")
        run(f"{TINY} --quiet --out a.json", folder)
        return answered("plot a.json --out a.png", folder, [0.7], environment)
    return Check("plot with an rsvg-convert that hangs", check, alone=True)


def verify():
    def check(folder):
        words = "one-step-compare --study mlp --d 64 --width 128 --n 512 --steps 400 --trials 4"
        run(f"{words} --quiet --out a.json", folder)
        return answered("verify a.json", folder, [0.3, 0.6])
    return Check("verify", check, alone=True)


def reproduce():
    def check(folder):
        preset(folder, "long", 4000)
        return answered("reproduce", folder, [0.1, 1.5])
    return Check("reproduce", check, alone=True)


def report():
    """The page of all reference results takes about a second to draw."""
    def check(folder):
        results = sorted(glob.glob(os.path.join(ROOT, "results", "reference", "*.json")))
        if not results:
            raise Skipped("no results/reference")
        return answered(["report", "--quiet", "--out", "page.html", *results], folder, [0.1, 0.4])
    return Check("report", check, alone=True)


def checks(seed, short):
    if short:
        return [whole_preset(name, seconds, seed, short) for name, seconds in presets().items()
                if name in SHORT_PRESETS] + [hanging_converter()]
    return [files(), hanging_converter(), verify(), reproduce(), report(), second_signal()] + [
        whole_preset(name, seconds, seed, short) for name, seconds in presets().items()]
