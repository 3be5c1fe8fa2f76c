"""How the cost of each study grows with its main parameter: measured time and memory, the exponent
of a power law next to the theory's, and the memory that --dry-run predicts.

The exponent is fitted to the last three values, because small sizes are dominated by the start.
Memory is that above an idle program's.
"""
import math
from dataclasses import dataclass
from typing import Tuple

from intervals import mean_and_std
from measure import run
from rows import Row

PRACTICAL_SECONDS, PRACTICAL_MB = 600.0, 16e3  # of one run on one thread


@dataclass(frozen=True)
class Sweep:
    name: str
    parameter: str
    command: str  # {v} is the value; {v/2}, {2v} and so on are computed
    values: Tuple[int, ...]
    time: float  # exponents by theory
    memory: float
    reason: str


SWEEPS = [
    Sweep("trajectory", "k", "random-features --study trajectory --m {v} --k {v} --d {v/2} "
          "--n {4v} --steps 50 --restart-every 0", (64, 128, 256, 512), 3, 2,
          "a polar factor of a k x k matrix in each step"),
    Sweep("stable-rank", "n", "random-features --study stable-rank --activation relu --k 256 "
          "--d 128 --depth 3 --tokens 256 --vocabulary 512 --n {v}", (4096, 8192, 16384, 32768),
          1, 1, "products of k x k with k x n"),
    Sweep("gradient-rank", "k", "spiked-model --study gradient-rank --k {v} --steps 4",
          (128, 256, 512, 1024), 3, 2, "singular values of k x k matrices"),
    Sweep("features", "k", "spiked-model --study features --k {v}", (128, 256, 512, 1024), 3, 2,
          "eigenvalues of k x k matrices"),
    Sweep("multi-spike", "d", "spiked-model --study multi-spike --d {v} --spikes 4",
          (64, 128, 256, 512), 3, 2, "singular values of d x d matrices"),
    Sweep("mlp", "width", "one-step-compare --study mlp --d 64 --width {v} --n {v} --steps 4",
          (128, 256, 512, 1024), 3, 2, "singular values of gradients, width x width"),
    Sweep("gpt", "d", "one-step-compare --study gpt --measure-steps 0 --steps 20 --dim {v} "
          "--precision f32", (32, 64, 128, 256), 2, 2, "products of tokens x d with d x d"),
    Sweep("attention", "tokens", "rank-collapse --study layers --model attention --dim 64 "
          "--layers 4 --lambda 1 --tokens {v}", (1024, 2048, 4096, 8192), 2, 2,
          "N x N attention matrices"),
    Sweep("linear-attention", "tokens", "rank-collapse --study layers --model linear-attention "
          "--dim 64 --layers 4 --lambda 1 --tokens {v}", (16384, 32768, 65536, 131072), 1, 1,
          "products of N x d with d x d"),
    Sweep("mamba2", "d", "rank-collapse --study layers --model mamba2 --layers 2 --tokens 64 "
          "--vocabulary 512 --lambda 1 --precision f32 --dim {v}", (512, 1024, 2048, 4096), 2, 2,
          "weights of 6 d^2 numbers, drawn and applied to a fixed number of tokens"),
    Sweep("escalation", "layers", "rank-collapse --study escalation --layers {v}",
          (10, 20, 40, 80), 1, 0, "one block after another; a block is freed before the next"),
    Sweep("trials", "trials", "rank-collapse --study escalation --layers 8 --trials {v}",
          (4, 8, 16, 32), 1, 0, "independent trials"),
]

TINY_SWEEPS = [Sweep("tiny", "k", "random-features --study trajectory --m {v} --k {v} --d {v/2} "
                     "--n {4v} --steps 10 --restart-every 0", (16, 24, 32), 3, 2, "toy sizes")]


def filled(command, value):
    for form, number in (("{v}", value), ("{v/2}", value // 2), ("{2v}", 2 * value),
                         ("{4v}", 4 * value)):
        command = command.replace(form, str(number))
    return command if "--trials" in command else command + " --trials 1"


def exponent(values, costs):
    """The slope of log cost over log value, by least squares over the last three; None if a cost
    is not positive."""
    points = [(math.log(v), math.log(c)) for v, c in list(zip(values, costs))[-3:] if c > 0]
    if len(points) < 3:
        return None
    x_mean, y_mean = (mean_and_std([p[i] for p in points])[0] for i in (0, 1))
    return (sum((x - x_mean) * (y - y_mean) for x, y in points)
            / sum((x - x_mean) ** 2 for x, _ in points))


class Grown:
    """One sweep as measured; the lists have one entry per value."""

    def __init__(self, sweep):
        self.sweep = sweep
        self.seconds, self.memory, self.predicted_memory = [], [], []

    @property
    def time_exponent(self):
        return exponent(self.sweep.values, self.seconds)

    @property
    def memory_exponent(self):
        return exponent(self.sweep.values, self.memory)

    @property
    def practical(self):
        """The value at which a run takes 10 minutes or 16 GB, and which of the two comes first. The
        exponents are the larger of the fitted and the theory's."""
        last, sweep = self.sweep.values[-1], self.sweep
        time = max(self.time_exponent or 0, sweep.time)
        limits = [(last * (PRACTICAL_SECONDS / self.seconds[-1]) ** (1 / time), "10 min")]
        memory = max(self.memory_exponent or 0, sweep.memory)
        if sweep.memory and self.memory[-1] > 0:
            limits.append((last * (PRACTICAL_MB / self.memory[-1]) ** (1 / memory), "16 GB"))
        return min(limits)


def measure_sweep(program, sweep):
    _, _, idle = run([program.binary, "--version"])
    grown = Grown(sweep)
    for value in sweep.values:
        row = Row(sweep.name, sweep.name, filled(sweep.command, value))
        grown.predicted_memory.append(program.estimate(row)["memory_bytes"] / 1e6)
        seconds, memory = program.measure(row)
        grown.seconds.append(seconds)
        grown.memory.append(memory - idle)
    return grown


COLUMNS = ["study", "sizes", "CPU time", "exponent", "theory", "memory exponent", "theory ",
           "practical up to", "predicted / memory"]


def number(value):
    return "-" if value is None else f"{value:.2f}"


def rounded(value):
    """Two digits, without an exponent."""
    digits = max(0, int(math.floor(math.log10(value))) - 1)
    return f"{round(value, -digits):.0f}"


def cells(grown):
    sweep = grown.sweep
    limit, reason = grown.practical
    memory = grown.predicted_memory[-1] / grown.memory[-1] if grown.memory[-1] > 0 else None
    return [sweep.name, f"{sweep.parameter} {sweep.values[0]} to {sweep.values[-1]}",
            f"{grown.seconds[0]:.2g} to {grown.seconds[-1]:.3g} s", number(grown.time_exponent),
            f"{sweep.time:g}", number(grown.memory_exponent), f"{sweep.memory:g}",
            f"{sweep.parameter} {rounded(limit)} ({reason})", number(memory)]


def series(grown):
    """The curves of one sweep: the measured costs, and the memory as predicted."""
    name, values = f"growth.{grown.sweep.name}", [float(v) for v in grown.sweep.values]
    lists = {"seconds": grown.seconds, "memory_mb": grown.memory,
             "predicted_memory_mb": grown.predicted_memory}
    return [{"name": f"{name}.{what}", "quantity": what, "at": {"command": name},
             "x_name": grown.sweep.parameter, "x": values,
             "mean": numbers, "std": [0.0] * len(numbers)} for what, numbers in lists.items()]


def panel(grown):
    name = f"growth.{grown.sweep.name}"
    return {"title": f"{grown.sweep.name}: theory {grown.sweep.time:g}, fitted "
                     f"{number(grown.time_exponent)}",
            "x": {"label": grown.sweep.parameter, "scale": "log"},
            "y": {"label": "seconds on one thread", "scale": "log"}, "group": "growth",
            "curves": [{"series": f"{name}.seconds", "label": "CPU time", "style": "line+points",
                        "color": 0}], "lines": []}


def scalars(grown):
    name = f"growth.{grown.sweep.name}"
    out = {f"{name}.time_exponent": grown.time_exponent,
           f"{name}.memory_exponent": grown.memory_exponent,
           f"{name}.practical": grown.practical[0]}
    return {key: value for key, value in out.items() if value is not None}


def figure(grown):
    return {"title": "How the cost grows", "columns": 3, "panels": [panel(one) for one in grown],
            "tables": [{"title": "Cost against size", "columns": COLUMNS,
                        "rows": [cells(one) for one in grown]}]}
