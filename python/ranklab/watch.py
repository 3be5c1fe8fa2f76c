"""Measures the ranks of a model's matrices during training.

    watcher = ranklab.watch(model, every=100)
    for x, y in batches:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        found = watcher.step()  # a Found for every measured step, else None

A step that is not measured runs as without watch(). A measured step has one more product per
matrix (A A', k x k), about k / (5 m) of the work of its forward and backward pass, and then the
ranks: python/README.md has the costs, which tests/python/time_watch.py measures. ranks.py says how
accurate the ranks are.
"""
import contextlib
import math
from collections.abc import Mapping

import torch
from torch import nn

from . import ranks
from .causes import failure
from .measured import layers
from .parts import check_parts, cut
from .ranks import on_host
from .reasons import GRADIENT_ONLY
from .recording import Recording, some_entries, some_indices
from .weights import layer_name, world_size

MOST_REASONS = 5  # that a printed Found has
MOMENTUM = "momentum_buffer", "momentum", "exp_avg", "moment1", "m", "buf"  # in optimizers' state


def watch(model, every=100, reduce=True, parts=None, optimizer=None):
    """Measures the first and then each `every`-th training step of a model.

    every: training steps from one measured step to the next.
    reduce: sums A A' and G over all ranks of torch.distributed, if it is initialized. Then every
        rank must call watch() and step() alike.
    parts: matrices that are measured in parts, by patterns of their names: {"*.qkv": 3} cuts the
        rows into 3 equal blocks, {"*.qkv": [64, 16, 16]} into blocks of these sizes, and
        {"*.o_proj": ("heads", 8)} the columns into 8, each with its own rows of A. They are named
        NAME.1, NAME.2, ...
    optimizer: one of torch.optim, or a list; adds momentum_nuclear_rank, of its momentum.

    Returns a Watcher. Other steps run as if there were none. Throws TypeError for a model that is
    no torch.nn.Module, an optimizer that is none and parts that are no dict, and ValueError for
    another `every`, parts that match no matrix, and an optimizer of another model; nothing
    afterwards.
    """
    check_model("watch()", model)
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise ValueError("watch(): every must be an integer of at least 1")
    if parts is not None:
        check_parts(parts, [each for name, p in model.named_parameters() if p.dim() > 1
                            for each in (layer_name(name), name)])
    optimizers = [] if optimizer is None else optimizers_of("watch()", optimizer)
    own = set(map(id, model.parameters()))
    for each in optimizers:
        if not any(id(p) in own for group in each.param_groups for p in group["params"]):
            raise ValueError(f"watch(): {type(each).__name__} has no parameter of this model")
    return Watcher(model, every, reduce, parts or {}, optimizers)


def optimizers_of(function, given):
    """A list of one or several optimizers. Throws TypeError for anything else."""
    optimizers = list(given) if isinstance(given, (list, tuple)) else [given]
    if not all(hasattr(each, "param_groups") for each in optimizers):
        raise TypeError(f"{function}: needs an optimizer of torch.optim, or a list of them")
    return optimizers


def check_model(function, model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"{function}: model must be a torch.nn.Module, not {type(model).__name__}")


class Found(dict):
    """Matrix -> its values, see Watcher.step(). Printed, it is a table, with what has no value.

    not_judged: as in Watcher.
    """

    not_judged = {}

    def flat(self):
        """{"blocks.0.q/stable_rank": 1.5, ...}: all numbers, without those that are NaN."""
        return {f"{name}/{key}": value for name, values in self.items()
                for key, value in values.items()
                if isinstance(value, (int, float)) and not math.isnan(value)}

    def __str__(self):
        left = [f"not measured: {name}: {reason}" if name else f"not measured: {reason}"
                for name, reason in self.not_judged.items() if name not in self]
        if len(left) > MOST_REASONS:
            more = f"and {len(left) - MOST_REASONS} others: Watcher.not_judged has the reasons"
            left[MOST_REASONS:] = [more]
        if not self:
            return "\n".join(["no matrix was measured", *left])
        momentum = any("momentum_nuclear_rank" in values for values in self.values())
        rows = [["matrix", "role", "m x k", "samples", "st", "nr", "nr/st"]
                + ["nr of momentum"] * momentum]
        for name, v in self.items():
            numbers = [v["stable_rank"], v["nuclear_rank"], v["ratio"]]
            numbers += [v.get("momentum_nuclear_rank", math.nan)] * momentum
            rows.append([name, v["role"], "{} x {}".format(*v["shape"]), str(v["samples"])]
                        + ["-" if math.isnan(x) else f"{x:.4g}" for x in numbers])
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(["  ".join(
            text.ljust(width) if i < 2 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows] + left)


class Watcher:
    """The result of watch(). Call step() once per training step, after the backward pass: until
    then every step is measured, into the same sums.

    not_judged: matrix -> the reason why the last measured step has no value for it, or of a tied
    one no stable rank. history: a list of dicts, one per matrix and measured step, with "step"
    (the number of calls of step() before), "matrix", and the values of step().
    """

    def __init__(self, model, every, reduce, parts, optimizers):
        self.model, self.every, self.reduce = model, every, reduce
        self.parts, self.optimizers, self.history = parts, optimizers, []
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
        """Ends a training step. Returns None, or a Found if the step was measured: a dict.

        Its keys are the names of the parameters, without ".weight"; NAME.1, NAME.2 and NAME.3 are
        q, k and v of an in_proj_weight, or the parts of watch(). Each value is a dict of
            stable_rank, nuclear_rank, ratio: st(A), nr(G) and nr(G) / st(A);
            random_stable_rank, random_nuclear_rank, random_ratio: the same of random matrices of
                normal numbers of that shape and number of samples, in closed form (ranks.py);
            samples: n, the samples (tokens, images) whose output has a gradient, in all calls;
            shape: (m, k); role: hidden, first, head, embedding or tied, as in groups();
            gradient_rms: root mean square of the entries of G, as it arrived in the backward pass;
            update_rms: of the change of the weights since the step before; of a matrix with more
                than 65,536 entries, of as many of them at random. If step() is called before the
                optimizer's, it is that of the step before, and 0 at first. NaN for a weight
                that is computed from parameters, as by weight_norm;
            momentum_nuclear_rank: with `optimizer`, of the momentum that it has now, so that
                step() belongs after optimizer.step(). Muon orthogonalizes it, or with Nesterov's
                method a mean of it and G. NaN for a matrix without momentum.
        Of a tied matrix, which has no one A, stable_rank, the ratios and random_* are NaN.
        """
        if self.closed:
            return None
        found = self.stop()
        self.history += [{"step": self.steps, "matrix": name, **values}
                         for name, values in (found or {}).items()]
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
                found, self.not_judged = measure(
                    recording, self.reduce, self.parts, self.optimizers)
                found.not_judged = self.not_judged
                return found
            raise recording.lost
        except Exception as error:
            self.not_judged = {"": failure(error)[1]}
            found = Found()
            found.not_judged = self.not_judged
            return found


def measure(recording, reduce, parts, optimizers):
    """(Found, matrix -> reason) of a recording that has ended."""
    measured, others = layers(recording, reduce)
    found = values_of([layer for layer in measured if layer.why is None], recording, parts,
                      optimizers)
    if world_size() == 1:
        found.update(values_of(tied(measured, recording), recording, {}, optimizers))
    reasons = {layer.layer(): layer.why[1] for layer in measured if layer.why is not None}
    reasons.update({layer_name(name): reason for name, (cause, reason) in others.items()
                    if cause != "no-matrix"})
    return found, reasons


def tied(measured, recording):
    """One layer for each matrix that has ranks of its gradient alone, with all of that."""
    found = {layer.name: layer for layer in measured if layer.why is not None
             and layer.why[0] in GRADIENT_ONLY and len(layer.size) == 2
             and layer.name in recording.gradients}
    for name, layer in found.items():
        layer.gradient, layer.role, layer.n = recording.gradients[name], "tied", 0
    return list(found.values())


def values_of(given, recording, parts, optimizers):
    """Matrix -> the values that Watcher.step() describes, for each part of each layer."""
    try:
        return together(given, recording, parts, optimizers)
    except Exception as error:
        if len(given) > 1:
            return Found((name, values) for layer in given for name, values in values_of(
                [layer], recording, parts, optimizers).items())
        for layer in given:
            layer.fail(error)
        return Found()


def together(given, recording, parts, optimizers):
    moments = {}  # one object for equal tensors, so that they are worked on once
    pieces = [(layer, name, moments.setdefault(id(moment), moment), piece) for layer in given
              for name, moment, piece in (cut(layer, parts) if layer.why is None else
                                          [(layer.layer(), None, lambda g: g)])]
    stable = ranks.stable_ranks([moment for _, _, moment, _ in pieces])
    nuclear = ranks.nuclear_ranks([piece(layer.gradient) for layer, _, _, piece in pieces])
    changes = updates([(layer, piece) for layer, _, _, piece in pieces], recording)
    out = Found()
    for (layer, name, _, piece), st, (nr, square), change in zip(pieces, stable, nuclear, changes):
        shape = piece(layer.gradient).shape
        out[name] = values(st, nr, square, shape, layer.n, layer.role, change)
        if optimizers:
            momentum = momentum_of(optimizers, recording.parameters.get(layer.name))
            out[name]["momentum_nuclear_rank"] = math.nan if momentum is None else (
                ranks.nuclear_ranks([piece(momentum if layer.why is not None else
                                           layer.part(momentum))])[0][0])
    return out


def values(st, nr, square, shape, n, role, change):
    """The values of one matrix m x k with n samples; square: ||G||_F^2."""
    m, k = shape
    random = (ranks.random_stable_rank(k, n), ranks.random_nuclear_rank(m, k, n)) if n else (
        math.nan, math.nan)
    return {"stable_rank": st, "nuclear_rank": nr, "ratio": nr / st,
            "random_stable_rank": random[0], "random_nuclear_rank": random[1],
            "random_ratio": random[1] / random[0], "samples": n, "shape": (m, k), "role": role,
            "gradient_rms": (square / (m * k)) ** 0.5, "update_rms": change}


def updates(pieces, recording):
    """Root mean square of the change of each (layer, piece of it) since the recording began; NaN
    without a parameter of its own, and if no entry that is compared lies in the piece."""
    squares, out = {}, []
    for layer, piece in pieces:
        now = recording.parameters.get(layer.name)
        before = recording.weights_before.get(layer.name)
        if now is None or before is None or len(before) != len(entries := some_entries(now)):
            out.append(torch.full((), math.nan))
            continue
        if layer.name not in squares:
            squares[layer.name] = (entries.double() - before.to(entries)).square()
        changes = squares[layer.name]
        if piece(layer.gradient).numel() < now.numel():
            changes = changes[inside(layer, piece, now)]
        out.append(changes.mean().sqrt())
    return [number for number, in on_host(out)]


def inside(layer, piece, parameter):
    """Which of some_entries() lie in a piece of a layer."""
    size, at = parameter.numel(), some_indices(parameter)
    columns = size // len(parameter) if layer.kind == "convolution" else layer.size[-1]
    shape = size // columns, columns
    rows = piece(layer.part(torch.arange(shape[0])[:, None].expand(shape)))
    across = piece(layer.part(torch.arange(columns).expand(shape)))
    row, column = at // columns, at % columns
    return ((row >= int(rows[0, 0])) & (row <= int(rows[-1, -1]))
            & (column >= int(across[0, 0])) & (column <= int(across[-1, -1])))


def momentum_of(optimizers, parameter):
    """The momentum of a parameter, or None."""
    for optimizer in optimizers:
        state = optimizer.state.get(parameter, {}) if parameter is not None else {}
        fits = {key: value for key, value in (
            state.items() if isinstance(state, Mapping) else ())
            if isinstance(value, torch.Tensor) and value.numel() == parameter.numel() > 1}
        key = next((key for key in MOMENTUM if key in fits), None)
        if key is not None or len(fits) == 1:
            found = fits[key or next(iter(fits))].detach()
            if torch.isfinite(found).all() and found.any():
                found = found.to(torch.promote_types(found.dtype, torch.float32))
                return found.reshape(parameter.shape)
    return None
