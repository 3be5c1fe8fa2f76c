"""Measures the ranks of a model's matrices during training.

    watcher = ranklab.watch(model, every=100)
    for x, y in batches:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        found = watcher.step()  # a dict for every measured step, else None
"""
import contextlib
import math

import torch
from torch import nn

from . import ranks
from .measured import layers
from .recording import Recording, failure


def watch(model, every=100, reduce=True):
    """Measures the first and then each `every`-th training step of a model.

    every: training steps from one measured step to the next.
    reduce: sums A A' and G over all ranks of torch.distributed, if it is initialized. Then every
        rank must call watch() and step() alike.

    Returns a Watcher. Other steps run as if there were none. Throws TypeError for a model that is
    no torch.nn.Module, and ValueError for another `every`; nothing afterwards.
    """
    check_model("watch()", model)
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise ValueError("watch(): every must be an integer of at least 1")
    return Watcher(model, every, reduce)


def check_model(function, model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"{function}: model must be a torch.nn.Module, not {type(model).__name__}")


class Watcher:
    """The result of watch(). Call step() once per training step, after the backward pass.

    not_judged: matrix -> the reason why the last measured step has no value for it.
    """

    def __init__(self, model, every, reduce):
        self.model, self.every, self.reduce = model, every, reduce
        self.steps, self.not_judged, self.closed, self.recording = 0, {}, False, None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):  # a notebook may run watch() again
        with contextlib.suppress(Exception):
            self.close()

    def step(self):
        """Ends a training step. Returns None, or a dict if the step was measured.

        Its keys are the names of matrices. Each value is a dict of
            stable_rank, nuclear_rank, ratio: st(A), nr(G) and nr(G) / st(A);
            random_stable_rank, random_nuclear_rank, random_ratio: the same of random matrices of
                normal numbers of that shape and number of samples, in closed form (ranks.py);
            samples: n, the samples a with e != 0 in all calls;
            shape: (m, k); role: see roles.py;
            gradient_rms: root mean square of the entries of G, as it arrived in the backward pass;
            update_rms: of the change of the weights since the step before. It is 0 if step() is
                called before the optimizer's, and NaN for parts of other weights.
        """
        if self.closed:
            return None
        found = self.stop()
        self.steps += 1
        if self.steps % self.every == 0:
            self.start()
        return found

    def close(self):
        """Ends the measurement. step() then returns None."""
        if self.recording is not None:
            self.recording.stop()
        self.recording, self.closed = None, True

    def start(self):
        try:
            self.recording = Recording(self.model)
            with torch.no_grad():
                self.recording.weights_before = {
                    name: p.detach().clone() for name, p in self.recording.parameters.items()
                    if name not in self.recording.refused and p.dim() > 1}
        except Exception as error:
            if self.recording is not None:
                self.recording.stop()
            self.recording, self.not_judged = None, {"": failure(error)}

    def stop(self):
        recording, self.recording = self.recording, None
        if recording is None:
            return None
        try:
            recording.stop()
            with recording.aside([]):
                found, self.not_judged = measure(recording, self.reduce)
                return found
            raise recording.lost
        except Exception as error:
            self.not_judged = {"": failure(error)}
            return {}


def measure(recording, reduce):
    """(matrix -> values, matrix -> reason) of a recording that has ended."""
    found, reasons = {}, {}
    measured, others = layers(recording, reduce)
    for layer in measured:
        if layer.why is None:
            try:
                found.update(values_of(layer, recording))
                continue
            except Exception as error:
                layer.fail(error)
        reasons[layer.name] = layer.why[1]
    reasons.update({name: reason for name, (cause, reason) in others.items()
                    if cause != "no-matrix"})
    return found, reasons


def values_of(layer, recording):
    """Matrix -> the values that Watcher.step() describes, for each block of a layer."""
    stable, out = ranks.stable_rank(layer.moment, layer.samples), {}
    change, weight = math.nan, recording.parameters.get(layer.parameter)
    before = recording.weights_before.get(layer.parameter)
    if before is not None:
        change = rms(weight.detach() - before)
    for name, g in layer.parts():
        m, k = g.shape
        nuclear = ranks.nuclear_rank(g)
        random = ranks.random_stable_rank(k, layer.n), ranks.random_nuclear_rank(m, k, layer.n)
        out[name] = {"stable_rank": stable, "nuclear_rank": nuclear, "ratio": nuclear / stable,
                     "random_stable_rank": random[0], "random_nuclear_rank": random[1],
                     "random_ratio": random[1] / random[0], "samples": layer.n, "shape": (m, k),
                     "role": layer.role, "gradient_rms": rms(g), "update_rms": change}
    return out


def rms(tensor):
    return float(tensor.double().square().mean().sqrt())
