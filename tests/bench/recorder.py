"""How much CPU time and disk space the PyTorch recorder costs a training step.

    python3 tests/bench/recorder.py
    python3 tests/bench/recorder.py --other /path/to/another/ranklab_dump.py

Prints, for float32 models of linear layers and several numbers of tokens, the CPU time of a forward
and a backward pass that is recorded into files, or measured by watch(every=1), over that of a plain
pass, and the bytes of a recording per parameter. All kinds of passes take turns, and each ratio is
that of the medians. With --other a second version of the recorder takes turns too.
"""
import argparse
import importlib.util
import os
import resource
import statistics
import tempfile

import torch
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENGTH = 256  # tokens of a sequence


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def transformer(d):
    layer = lambda: nn.TransformerEncoderLayer(d, d // 64, 4 * d, 0.0, "gelu", batch_first=True,
                                               norm_first=True)
    return nn.Sequential(layer(), layer())


def mlp(d):
    return nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))


MODELS = {"transformer": transformer, "mlp": mlp}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Case:
    """One model, and the ways to run a pass of it."""

    def __init__(self, kind, d, tokens, recorders, folder):
        torch.manual_seed(0)
        self.model = MODELS[kind](d)
        self.x = torch.randn(max(1, tokens // LENGTH), min(tokens, LENGTH), d)
        self.y = torch.randn_like(self.x)
        self.folder, self.recorders, self.bytes = folder, recorders, {}
        self.parameters = sum(p.numel() for p in self.model.parameters())

    def plain(self):
        self.model.zero_grad(set_to_none=True)
        (self.model(self.x) - self.y).square().mean().backward()

    def record(self, name):
        target = os.path.join(self.folder, "step")
        with self.recorders[name].record(self.model, target, replace=True):
            self.plain()
        self.bytes[name] = sum(os.path.getsize(os.path.join(target, file))
                               for file in os.listdir(target)) / self.parameters

    def watch(self, name):
        with self.recorders[name].watch(self.model, every=1) as watcher:
            self.plain()
            watcher.step()

    def measure(self, repeats):
        ways = {"plain": self.plain}
        for name in self.recorders:
            ways["record", name] = lambda name=name: self.record(name)
            ways["watch", name] = lambda name=name: self.watch(name)
        seconds = {way: [] for way in ways}
        for turn in range(repeats + 1):
            for way, run in ways.items():
                before = cpu_seconds()
                run()
                if turn > 0:  # the first turn warms up
                    seconds[way].append(cpu_seconds() - before)
        return {way: statistics.median(each) for way, each in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--other", help="a second version of ranklab_dump.py")
    parser.add_argument("--models", default="transformer,mlp")
    parser.add_argument("--widths", default="256,768")
    parser.add_argument("--tokens", default="512,1024,2048,4096")
    parser.add_argument("--repeats", type=int, default=5)
    config = parser.parse_args()
    paths = {"this": os.path.join(ROOT, "experiments", "ranklab_dump.py"), "other": config.other}
    recorders = {name: load(path, f"recorder_{name}") for name, path in paths.items() if path}
    print("model        d    tokens  " + "  ".join(
        f"{name + ' record':>12} {name + ' watch':>12} {'bytes':>6}" for name in recorders))
    for kind in config.models.split(","):
        for d in map(int, config.widths.split(",")):
            for tokens in map(int, config.tokens.split(",")):
                with tempfile.TemporaryDirectory() as folder:
                    case = Case(kind, d, tokens, recorders, folder)
                    seconds = case.measure(config.repeats)
                ratio = lambda *way: seconds[way] / seconds["plain"]
                print(f"{kind:11} {d:4} {tokens:6}    " + "  ".join(
                    f"{ratio('record', name):12.2f} {ratio('watch', name):12.2f} "
                    f"{case.bytes[name]:6.2f}" for name in recorders), flush=True)


if __name__ == "__main__":
    main()
