"""Runs a row: our program and the peer in turn, on one thread, with the same BLAS kernels."""
import json
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(os.path.dirname(HERE), "peers")
PYTHON = os.environ.get("PEER_PYTHON", "/usr/bin/python3")  # Debian's, with NumPy and PyTorch


class Disagreement(Exception):
    """The peer computes other numbers than ranklab."""


def run(command, environment=None):
    """The output, the CPU seconds and the peak memory in MB of a process."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {process.returncode}")
    return output.decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


class Program:
    """A build of ranklab, and a folder for inputs and results."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.binary = os.path.join(build, "ranklab")
        self.result = os.path.join(folder, "out.json")
        self.wall = 0.0  # seconds of the last run

    def is_experiment(self, row):
        return not row.script and not row.block and not row.ours.startswith("--")

    def words(self, row, options=(), threads=1):
        words = [self.binary, *row.ours.format(folder=self.folder).split()]
        return [*words, "--threads", str(threads), *options] if self.is_experiment(row) else words

    def measure_once(self, row, options=(), threads=1):
        options = ["--quiet", "--force", "--out", self.result, *options]
        start = time.monotonic()
        _, seconds, memory = run(self.words(row, options, threads))
        self.wall = time.monotonic() - start
        return seconds, memory

    def measure(self, row):
        """CPU seconds, per step for a training, and peak memory in MB."""
        if row.block:
            return self.measure_block(row)
        if not row.steps:
            return self.measure_once(row)
        few, many = row.steps
        short, _ = self.measure_once(row, ["--steps", str(few)])
        long, memory = self.measure_once(row, ["--steps", str(many)])
        return (long - short) / (many - few), memory

    def measure_block(self, row):
        """Seconds and peak memory in MB of a row that build/bench measures."""
        output, _, memory = run([os.path.join(self.build, "bench"), *row.ours.split()])
        return json.loads(output)["seconds"], memory

    def last_result(self):
        with open(self.result, encoding="utf-8") as file:
            return json.load(file)

    def estimate(self, row, options=()):
        """What --dry-run predicts."""
        return json.loads(run(self.words(row, ["--dry-run", *options]))[0])["estimate"]

    def environment(self):
        """The environment of a result: version, compiler, BLAS and its kernels."""
        run([self.binary, *"random-features --m 8 --k 8 --d 4 --n 8 --steps 1 --trials 1".split(),
             "--quiet", "--force", "--out", self.result])
        environment = self.last_result()["environment"]
        return {name: environment[name] for name in environment if name not in ("argv", "folder")}

    def write_inputs(self, row):
        if row.inputs:
            run([os.path.join(self.build, "bench"),
                 *row.inputs.format(folder=self.folder).split()])

    def remove_inputs(self):
        for name in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, name))

    def building_blocks(self):
        """(name, value, unit) lines of build/bench; names that start with `limit ` are limits."""
        output, _, _ = run([os.path.join(self.build, "bench")])
        lines = [line.split("\t") for line in output.splitlines()]
        return [(name, float(value), unit) for name, value, unit in lines]


class Peers:
    """Python scripts on one thread, with the kernels that our program has chosen: OpenBLAS alone
    may choose slower ones for a processor that it does not know."""

    def __init__(self, kernels, folder):
        self.folder = folder
        self.environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        if kernels:
            self.environment["OPENBLAS_CORETYPE"] = kernels

    def run(self, command):
        """The report of a script, and its peak memory in MB."""
        script, *arguments = command.format(folder=self.folder).split()
        words = [PYTHON, os.path.join(PEERS, script), *arguments]
        output, _, memory = run(words, self.environment)
        return json.loads(output), memory


def missing_modules(command):
    """The Python modules that a peer needs and that are not installed."""
    with open(os.path.join(PEERS, command.split()[0]), encoding="utf-8") as file:
        text = file.read()
    needed = ["numpy"] + (["scipy"] if "scipy" in text or "stable_rank_from_gram" in text else [])
    needed += ["torch"] if "torch" in text else []
    return [m for m in needed if subprocess.run(
        [PYTHON, "-c", f"import {m}"], stderr=subprocess.DEVNULL).returncode != 0]


def relative_difference(a, b):
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if largest > 0 else 0.0


def values_of(result, name):
    """A series or a scalar of a result, or of a peer's report, as a list."""
    if isinstance(result["series"], dict):
        return result["series"].get(name) or [result["scalars"][name]]
    for series in result["series"]:
        if series["name"] == name:
            return series["mean"]
    return [result["scalars"][name]["mean"]]


def check_agreement(row, result, report):
    """The largest relative difference of the compared numbers. Raises Disagreement."""
    worst = 0.0
    for name, bound in row.agree.items():
        tolerance, first = bound if isinstance(bound, tuple) else (bound, None)
        ours, theirs = values_of(result, name), values_of(report, name)
        if len(ours) != len(theirs):
            raise Disagreement(f"{row.name}: {name} has {len(ours)} entries, but the peer's has "
                               f"{len(theirs)}")
        difference = max(map(relative_difference, ours[:first], theirs[:first]))
        if not difference <= tolerance:
            raise Disagreement(f"{row.name}: {name} differs by {difference:.2g} from the peer's, "
                               f"allowed {tolerance:g}")
        worst = max(worst, difference)
    return worst


class Measured:
    """What was measured for a row. The lists have one entry per turn."""

    def __init__(self, row):
        self.row = row
        self.ours, self.peer, self.memory, self.peer_memory = [], [], [], []
        self.difference = self.blas = self.note = None
        self.versions = {}

    @property
    def ratios(self):
        return [theirs / ours for ours, theirs in zip(self.ours, self.peer)]


def measure_turn(program, peers, measured, has_peer):
    """Runs the row once, then its peer. Compares the numbers in the first turn."""
    row = measured.row
    if row.script:
        result, memory = peers.run(row.ours)
        seconds = result["seconds"]
    else:
        seconds, memory = program.measure(row)
    measured.ours.append(seconds)
    measured.memory.append(memory)
    if not has_peer:
        return
    report, memory = peers.run(row.peer)
    if row.agree and measured.difference is None:
        measured.difference = check_agreement(
            row, result if row.script else program.last_result(), report)
    measured.blas, measured.versions = report["blas"], report["versions"]
    measured.peer.append(report["seconds"])
    measured.peer_memory.append(memory)


def measure_row(program, peers, row, turns, budget):
    """Runs a row and its peer in turn, at least twice and at most `turns` times; no third turn
    after `budget` seconds. Returns nothing if the row itself needs a missing Python module."""
    measured = Measured(row)
    missing = missing_modules(row.peer) if row.peer else []
    if missing:
        if row.script:
            return None
        measured.note = f"no peer, because python3-{' and python3-'.join(missing)} is missing"
    program.write_inputs(row)
    start = time.monotonic()
    while len(measured.ours) < turns:
        measure_turn(program, peers, measured, has_peer=bool(row.peer) and not missing)
        if len(measured.ours) >= 2 and time.monotonic() - start > budget:
            break
    program.remove_inputs()
    return measured


def machine():
    """The kernel and the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    release = platform.release().split("-")[0]
    return {"kernel": f"{platform.system()} {release}", "cores": os.cpu_count(),
            "cpu": models[0] if models else platform.machine()}
