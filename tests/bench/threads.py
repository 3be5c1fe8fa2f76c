"""What more threads gain in one trial: the wall time of one thread over that of more, in turn, and
what build/speedup computes for up to 16 threads from the times of the parts.

The measured times need idle cores. A machine measures as many threads as it has cores.
"""
import os
from dataclasses import dataclass
from typing import Mapping, Optional

from intervals import mean_and_std
from measure import run
from rows import Row

COUNTS = (2, 4, 8, 16)
TARGET = 1.7  # on two threads


@dataclass(frozen=True)
class OneTrial:
    name: str
    work: str  # in the table
    command: str
    inputs: Optional[str] = None  # arguments of build/bench that write the inputs
    parts: bool = True  # whether build/speedup sees its parts


def training(name, work, command):
    return OneTrial(name, work, f"{command} --precision f32")


GPT = "one-step-compare --study gpt --dim 128 --optimizer muon --steps 110"
TRAIN = "rank-collapse --study train"
FILES = ("ranks --activations {{folder}}/{0}activation{1}.safetensors"
         " --gradients {{folder}}/{0}gradient{1}.safetensors")
RUNS = [
    training("gpt", "GPT, d 128, Muon, 110 steps", f"{GPT} --measure-steps 0"),
    training("gpt-measured", "the same, measured at 11 steps", GPT),
    training("recall", "Mamba-2 on recall, 800 steps", f"{TRAIN} --model mamba2 --lambda 1 "
             "--steps 800"),
    training("patches", "24 blocks of a vision Transformer, 1,000 steps",
             f"{TRAIN} --task patches --variant de-escalated --layers 24 --steps 1000"),
    OneTrial("figure-4", "Figure 4, 20 steps", "one-step-compare --study mlp --activation relu2 "
             "--d 128 --width 512 --n 512 --steps 20"),
    OneTrial("figure-16", "Figure 16", "spiked-model --study features --k 128,256,512,1024"),
    OneTrial("files-2", "files: two layers, 2048 x 2048, 2,048 samples",
             FILES.format("pair-", 2048), "layer {folder} 2048 2048", parts=False),
    OneTrial("files-1", "files: one layer, 4096 x 4096, 65,536 samples",
             FILES.format("", 4096), "layer {folder} 4096 65536", parts=False),
]
TINY_RUNS = [OneTrial("tiny", "toy sizes", "spiked-model --study features --k 16,24")]


@dataclass(frozen=True)
class SpeedUp:
    run: OneTrial
    measured: Mapping[int, list]  # threads -> one ratio per turn
    computed: Mapping[int, float]  # threads -> ratio

    @property
    def turns(self):
        return max(map(len, self.measured.values()), default=1)

    def values(self):
        """Lists of numbers by name."""
        name = f"threads.{self.run.name}"
        return {**{f"{name}.measured_{n}": ratios for n, ratios in self.measured.items()},
                **{f"{name}.computed_{n}": [ratio] for n, ratio in self.computed.items()}}

    def series(self):
        name, out = f"threads.{self.run.name}", []
        for what, points in (("measured", {1: [1.0], **self.measured}),
                             ("computed", {n: [ratio] for n, ratio in self.computed.items()})):
            summaries = [mean_and_std(ratios) for ratios in points.values()]
            if points:
                out.append({"name": f"{name}.{what}", "quantity": what, "at": {"command": name}, "x_name": "threads",
                            "x": [float(n) for n in points], "mean": [m for m, _ in summaries],
                            "std": [s for _, s in summaries]})
        return out

    def panel(self):
        looks = {"measured": {"label": "measured", "style": "points", "color": 1},
                 "computed": {"label": "computed from the parts", "style": "line+points",
                              "color": 0}}
        return {"title": self.run.work, "x": {"label": "threads", "scale": "log"},
                "y": {"label": "speed-up", "scale": "linear"}, "group": "threads",
                "curves": [{"series": one["name"], **looks[one["name"].rsplit(".", 1)[1]]}
                           for one in reversed(self.series())], "lines": []}

    def cells(self):
        """The row of the table: measured, then computed; `-` where there is none."""
        measured = [f"{mean_and_std(self.measured[n])[0]:.2f}" if n in self.measured else "-"
                    for n in COUNTS]
        computed = [f"{self.computed[n]:.2f}" if n in self.computed else "-" for n in COUNTS]
        return [self.run.work, *(f"{m} ({c})" for m, c in zip(measured, computed)),
                f"> {TARGET:g}"]


COLUMNS = ["one trial", *(f"{n} threads" for n in COUNTS), "target for 2"]


def computed_speed_ups(program, words):
    """threads -> speed-up, of the lines `threads<tab>speed-up` of build/speedup."""
    lines = run([os.path.join(program.build, "speedup"), *words])[0].splitlines()
    return {int(n): float(ratio) for n, ratio in (line.split("\t") for line in lines[2:])}


def measure_speed_up(program, one, turns, cores=os.cpu_count()):
    row = Row(one.name, one.work, f"{one.command} --trials 1", inputs=one.inputs)
    program.write_inputs(row)
    computed = computed_speed_ups(program, row.ours.split()) if one.parts else {}
    measured = {n: [] for n in COUNTS if n <= cores}
    for _ in range(turns):
        program.measure_once(row)
        alone = program.wall
        for n, ratios in measured.items():
            program.measure_once(row, threads=n)
            ratios.append(alone / program.wall)
    program.remove_inputs()
    return SpeedUp(one, measured, computed)


def figure(found):
    return {"title": "What more threads gain in one trial", "columns": 3,
            "panels": [one.panel() for one in found],
            "tables": [{"title": "Speed-up, measured (computed from the parts)",
                        "columns": COLUMNS, "rows": [one.cells() for one in found]}]}
