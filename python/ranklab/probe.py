"""What one step of all hidden matrices really does to the loss: the best length on one batch, and
its effect on another.

For the hidden matrices W with the gradients G on `batch`, the step of length t along D is W - t D,
with one t for all of them. The loss is evaluated, not modelled. D is
    gradient    G
    polar       U V' of the singular value decomposition G = U S V' (Muon without momentum)
    optimizer   what a step of the user's optimizer subtracts from W
The last axes of a convolution count as one; a stack of experts is one matrix per expert.
"""
import copy
import functools
import inspect
import math
import types
from collections import defaultdict

import torch

from . import private
from .groups import NoScalar, groups
from .polar import polar
from .restored import random_state, set_random_state, weights_restored
from .watch import check_model, optimizers_of

NO_SCALAR = "probe(): loss(model, batch) must return a scalar tensor with a gradient"
START = 0.01  # ||t D||_F / ||W||_F of the middle of the scan, or t sqrt(numbers) if W = 0
SCAN = -4, 5  # the exponents of 4 that multiply it
EVALUATIONS = 16  # lengths tried on `batch` per direction
GOLDEN = (math.sqrt(5) - 1) / 2
# Types of attributes of an optimizer that a step can only replace, so that they are put back.
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, type,
         types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def probe(model, loss, batch, other, optimizer=None):
    """Measures the decrease of the loss that one step of all hidden matrices gives.

    It takes at most 60 forward passes (4, then 17 per direction, and 2 for the optimizer's own
    length) and 2 backward passes; the result has the number. The length is the best one on
    `batch`, so read `decrease_other`, on batches as large as those of training, and repeat it over
    pairs of batches: its spread is the error bar. The length is no learning rate.

    loss: loss(model, batch) returns the scalar loss. batch, other: what it takes; lengths are
    chosen on `batch` and judged on `other`. optimizer: one of torch.optim, or a list; its own
    lengths are the unit of t for its direction.

    Returns {"loss": on batch, "loss_other": on other, "forward_passes": their number,
             "matrices": names of the parameters that move, "hidden": direction -> values} with
        length             the best t found on `batch`; 0 if no tried length lowers the loss
        decrease           loss before - after that step, on `batch`
        decrease_other     the same step on `other`
        decrease_given, decrease_other_given   of optimizer: its step with its own length (t = 1)

    Every evaluation starts from the same random state and buffers. Weights, gradients, buffers, the
    optimizer and the random state are restored bit for bit, also after an exception.
    Throws TypeError for a loss that is no scalar with a gradient, and for what is no optimizer;
    ValueError if the loss is not finite, no hidden matrix has a gradient, an optimizer has no
    parameter of the model, needs a closure, or keeps state outside of its state_dict(), which
    cannot be restored.
    """
    check_model("probe()", model)
    optimizers = [] if optimizer is None else optimizers_of("probe()", optimizer)
    for each in optimizers:
        check_optimizer(each, model)
    with weights_restored(model):
        run = Run(model, loss)
        with torch.no_grad():
            before = run.evaluate(batch), run.evaluate(other)
        if not all(map(math.isfinite, before)):
            raise ValueError(f"probe(): the loss is not finite: {before[0]} on batch, {before[1]} "
                             "on other")
        set_random_state(run.random)
        try:
            roles = groups(model, lambda model: run.loss(model, batch)).roles
        except NoScalar as error:
            raise TypeError(NO_SCALAR) from error
        weights = {name: p for name, p in model.named_parameters()
                   if roles.get(name) == "hidden" and not private.is_dtensor(p)}
        gradients = gradients_of(model, weights, lambda: run.loss(model, batch))
        if not gradients:
            raise ValueError("probe(): no hidden matrix of the model has a gradient")
        along = {"gradient": gradients, "polar": {n: polar_of(g) for n, g in gradients.items()}}
        steps = optimizer_steps(model, weights, optimizers)
        if steps:
            along["optimizer"] = steps
        with torch.no_grad():
            hidden = {direction: best_step([(weights[name], d) for name, d in each.items()],
                                           run.evaluate, batch, other, before,
                                           direction == "optimizer")
                      for direction, each in along.items()}
        return {"loss": before[0], "loss_other": before[1], "forward_passes": run.passes,
                "matrices": list(gradients), "hidden": hidden}


class Run:
    """The forward passes of a probe, each from the same random state and buffers."""

    def __init__(self, model, loss):
        self.model, self.given, self.passes, self.random = model, loss, 0, random_state()
        self.buffers = [(b, b.clone()) for b in model.buffers()]

    def loss(self, model, data):
        self.passes += 1
        return self.given(model, data)

    def evaluate(self, data):
        set_random_state(self.random)
        for buffer, value in self.buffers:
            buffer.copy_(value)
        value = self.loss(self.model, data)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise TypeError(NO_SCALAR)
        return float(value)


def polar_of(g):
    """The polar factor of a gradient shaped like the parameter."""
    matrix = g if g.dim() == 3 and g.shape[-1] > 1 and g.shape[0] > 1 else g.flatten(1)
    return polar(matrix.double()).to(g.dtype).reshape(g.shape)


def best_step(pairs, evaluate, batch, other, before, given):
    """The values of probe() for a step of all pairs (W, D) by the same length.

    Of EVALUATIONS lengths, those by factors of 4 come first; the others narrow the interval around
    the best. A minimum that lies between two lengths, and that neither shows, may be missed.
    """
    start = [(w, w.clone(), d) for w, d in pairs]
    tried = {0.0: before[0]}

    def at(t, data=batch):
        for w, value, d in start:
            w.copy_(value - t * d)
        return evaluate(data)

    def try_length(t):
        if t not in tried and len(tried) <= EVALUATIONS:
            value = at(t)
            tried[t] = value if math.isfinite(value) else math.inf

    try:
        size = sum(float(d.double().square().sum()) for _, d in pairs) ** 0.5
        scale = sum(float(w.double().square().sum()) for w, _ in pairs) ** 0.5
        unit = 1.0 if given else START * (scale or sum(w.numel() for w, _ in pairs) ** 0.5) / size
        for i in range(*SCAN):
            try_length(unit * 4.0 ** i)
        while len(tried) <= EVALUATIONS:
            known = sorted(tried)
            i = known.index(min(tried, key=tried.get))
            if i == 0:  # every length is too long
                try_length(known[1] / 4)
            elif i == len(known) - 1:
                try_length(known[-1] * 4)
            else:  # into the longer side of the interval around the best length
                low, best, high = known[i - 1:i + 2]
                try_length(best + (1 - GOLDEN) * ((high - best) if high - best > best - low
                                                  else (low - best)))
        best = min(tried, key=tried.get)
        out = {"length": best, "decrease": before[0] - tried[best],
               "decrease_other": before[1] - at(best, other) if best > 0 else 0.0}
        if given:
            out["decrease_given"] = before[0] - (tried[1.0] if 1.0 in tried else at(1.0))
            out["decrease_other_given"] = before[1] - at(1.0, other)
        return out
    finally:
        for w, value, _ in start:
            w.copy_(value)


def gradients_of(model, weights, loss):
    """name -> gradient of the loss; the user's gradients are put aside by weights_restored()."""
    for p in model.parameters():
        p.grad = None
    with torch.enable_grad():
        loss().backward()
    return {name: (p.grad.to_dense() if p.grad.is_sparse else p.grad).detach().clone()
            for name, p in weights.items() if p.grad is not None and bool(p.grad.any())}


def check_optimizer(optimizer, model):
    """Throws ValueError for an optimizer whose step cannot be taken back."""
    name, own = type(optimizer).__name__, set(map(id, model.parameters()))
    if not any(id(p) in own for group in optimizer.param_groups for p in group["params"]):
        raise ValueError("probe(): the optimizer has no parameter of this model")
    usual = set(vars(torch.optim.SGD([torch.zeros(1)], lr=1.0)))
    for key, value in vars(optimizer).items():
        plain = isinstance(value, PLAIN) or isinstance(value, tuple) and all(
            isinstance(each, PLAIN) for each in value) or type(value).__module__.startswith(
            ("torch.distributed", "torch._C", "torch.cuda"))
        if key not in usual and not plain:
            raise ValueError(f"probe(): {name} keeps state in its attribute {key}, outside of its "
                             "state_dict(), which cannot be restored")
    needed = [each for each in inspect.signature(optimizer.step).parameters.values()
              if each.default is each.empty and each.kind == each.POSITIONAL_OR_KEYWORD]
    if needed:
        raise ValueError(f"probe(): the step of {name} needs the argument {needed[0].name}")


def optimizer_steps(model, weights, optimizers):
    """name -> W before - after one step of the optimizers with the gradients of the model."""
    before = {p: p.detach().clone() for p in model.parameters()} if optimizers else {}
    for each in optimizers:
        # A copy of the state and the groups takes the step; the attributes are put back.
        kept = dict(vars(each))
        options = [dict(group) for group in each.param_groups]
        each.state = defaultdict(dict, {p: copy.deepcopy(s) for p, s in each.state.items()})
        for group in each.param_groups:
            group.update({key: copy.deepcopy(value) for key, value in group.items()
                          if key != "params"})
        try:
            each.step()
        finally:
            vars(each).clear()
            vars(each).update(kept)
            for group, values in zip(each.param_groups, options):
                group.clear()
                group.update(values)
    out = {name: before[p] - p.detach() for name, p in weights.items() if p in before}
    with torch.no_grad():
        for p, value in before.items():
            p.copy_(value)
    return {name: step for name, step in out.items() if bool(step.any())}
