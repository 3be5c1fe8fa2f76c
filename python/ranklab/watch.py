"""Measures the ranks of a model's matrices during training.

    watcher = ranklab.watch(model, every=100)
    for x, y in batches:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        found = watcher.step()  # a dict for every measured step, else None

A step that is not measured runs as without watch(). A measured step has one more product per
matrix (A A', k x k), about k / (5 m) of the work of its forward and backward pass, and then the
ranks. On one CPU core it took 1.3 to 1.5 times a plain step of a Transformer (width 128 to 384,
2,048 tokens), and 1.4 to 2 times that of a model of linear layers alone. On a GPU and with few
samples the ranks cost more, several plain steps. tests/python/time_watch.py prints all of this.
ranks.py says how accurate the ranks are.
"""
import contextlib

import torch
from torch import nn

from . import ranks
from .causes import failure
from .measured import layers
from .recording import Recording
from .stacks import on_host

ENTRIES = 2 ** 16  # that update_rms compares


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
    """The result of watch(). Call step() once per training step, after the backward pass: until
    then every step is measured, into the same sums.

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

        Its keys are the names of the parameters, without ".weight"; NAME.1, NAME.2 and NAME.3 are
        q, k and v of an in_proj_weight. Each value is a dict of
            stable_rank, nuclear_rank, ratio: st(A), nr(G) and nr(G) / st(A);
            random_stable_rank, random_nuclear_rank, random_ratio: the same of random matrices of
                normal numbers of that shape and number of samples, in closed form (ranks.py);
            samples: n, the samples (tokens, images) whose output has a gradient, in all calls;
            shape: (m, k); role: hidden, first, head, embedding or tied, as in groups();
            gradient_rms: root mean square of the entries of G, as it arrived in the backward pass;
            update_rms: of the change of the weights since the step before; of a matrix with more
                than 65,536 entries, of as many of them at random. If step() is called before the
                optimizer's, it is that of the step before, and 0 at first. NaN for parts of
                other weights.
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
            self.recording = Recording(self.model, keeps=True)
            with self.recording.aside([]):
                self.recording.weights_before = {
                    name: some_entries(p).clone() for name, p in self.recording.parameters.items()
                    if name not in self.recording.refused and p.dim() > 1}
        except Exception as error:
            if self.recording is not None:
                self.recording.stop()
            self.recording, self.not_judged = None, {"": failure(error)[1]}

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
            self.not_judged = {"": failure(error)[1]}
            return {}


def some_entries(parameter):
    """All entries of a matrix, or ENTRIES of them at random, the same in each call."""
    entries, size = parameter.detach().reshape(-1), parameter.numel()
    if size <= ENTRIES:
        return entries
    generator = torch.Generator(entries.device).manual_seed(size)
    return entries[torch.randint(size, (ENTRIES,), generator=generator, device=entries.device)]


def measure(recording, reduce):
    """(matrix -> values, matrix -> reason) of a recording that has ended."""
    measured, others = layers(recording, reduce)
    found = values_of([layer for layer in measured if layer.why is None], recording)
    reasons = {layer.layer(): layer.why[1] for layer in measured if layer.why is not None}
    reasons.update({name: reason for name, (cause, reason) in others.items()
                    if cause != "no-matrix"})
    return found, reasons


def values_of(judged, recording):
    """Matrix -> the values that Watcher.step() describes, for each block of each layer."""
    try:
        return together(judged, recording)
    except Exception as error:
        if len(judged) > 1:
            return {name: values for layer in judged
                    for name, values in values_of([layer], recording).items()}
        for layer in judged:
            layer.fail(error)
        return {}


def together(judged, recording):
    parts = [(layer, name, g) for layer in judged for name, g in layer.parts()]
    stable = dict(zip(judged, ranks.stable_ranks([ranks.moment_of(layer) for layer in judged])))
    nuclear, changes = ranks.nuclear_ranks([g for _, _, g in parts]), {}
    for layer in judged:
        now, before = (of.get(layer.name)
                       for of in (recording.parameters, recording.weights_before))
        if now is not None and before is not None and now.shape == torch.Size(layer.size):
            changes[layer] = (some_entries(now).double() - before).square().mean().sqrt()
    changes = dict(zip(changes, on_host(list(changes.values()))))
    out = {}
    for (layer, name, g), (nr, square) in zip(parts, nuclear):
        st, (m, k) = stable[layer], g.shape
        random = ranks.random_stable_rank(k, layer.n), ranks.random_nuclear_rank(m, k, layer.n)
        out[name] = {"stable_rank": st, "nuclear_rank": nr, "ratio": nr / st,
                     "random_stable_rank": random[0], "random_nuclear_rank": random[1],
                     "random_ratio": random[1] / random[0], "samples": layer.n, "shape": (m, k),
                     "role": layer.role, "gradient_rms": (square / (m * k)) ** 0.5,
                     "update_rms": changes.get(layer, [float("nan")])[0]}
    return out
