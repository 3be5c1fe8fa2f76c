"""What one step really does to the loss: the best length on one batch, and its effect on another.

For a matrix W with the gradient G on `batch`, the step of length t along D is W - t D. The loss is
evaluated, not modelled. D is "gradient" (G), "polar" (U V' of the singular value decomposition
G = U S V'), "newton_schulz" (Muon's approximation of it), "sign" (of each entry) or "optimizer".
"""
import contextlib
import copy
import math
from collections import defaultdict

import torch

from .directions import directions
from .groups import NoScalar, groups
from .directions import JORDAN
from .watch import check_model, optimizers_of

NO_SCALAR = "probe(): loss(model, batch) must return a scalar tensor with a gradient"
GOLDEN = (math.sqrt(5) - 1) / 2
START = 0.01  # ||t D||_F / ||W||_F of the middle of the scan, or t sqrt(numbers) if W = 0
SCAN = -8, 11  # the exponents of 2 that multiply it


def probe(model, loss, batch, other, optimizer=None, include=None, coefficients=JORDAN,
          iterations=5, dtype=torch.bfloat16, evaluations=8):
    """Measures the decrease of the loss that one step gives, per matrix and for all hidden ones.

    The length is the best one on `batch`, so read `decrease_other`, on batches as large as those of
    training, and repeat it over pairs of batches: its spread is the error bar. The length is
    no learning rate: experiments/muon.md has what came of such lengths in training.

    loss: loss(model, batch) returns the scalar loss. batch, other: what it takes; lengths are
    chosen on `batch` and judged on `other`. optimizer: one of torch.optim, or a list; its own
    lengths are the unit of t for its direction. include(name): whether to measure the matrix of
    this parameter, such as "blocks.0.fc1.weight"; default: all. coefficients, iterations, dtype: of
    Newton-Schulz. evaluations: forward passes of each golden section, of which each of the two best
    minima among 19 lengths (from 4e-5 to 10 times the size of W by factors of 2, and further while
    the loss falls) has one. So a direction of a matrix takes about 30 forward passes.

    Returns {"loss": on batch, "loss_other": on other, "roles": name -> role,
             "matrices": name -> direction -> values, "hidden": direction -> values} with
        length             the best t found on `batch`; 0 if no tried length lowers the loss
        decrease           loss before - after that step, on `batch`
        decrease_other     the same step on `other`
        residual           of newton_schulz: ||D - U V'||_F / ||U V'||_F
        decrease_given, decrease_other_given   of optimizer: its step with its own length (t = 1)
    A hidden step moves all hidden matrices that are measured by the same t along their own D.

    Every evaluation starts from the same random state and buffers. Weights, gradients, buffers, the
    optimizer and the random state are restored bit for bit, also after an exception.
    Throws TypeError for a loss that is no scalar with a gradient, and for what is no optimizer;
    ValueError if the loss is not finite, no matrix has a gradient or is included, or an optimizer
    has no parameter of the model.
    """
    check_model("probe()", model)
    optimizers = [] if optimizer is None else optimizers_of("probe()", optimizer)
    if any(own_parameters(each, model) == 0 for each in optimizers):
        raise ValueError("probe(): the optimizer has no parameter of this model")
    with restored(model):
        random = random_state()
        buffers = [(b, b.clone()) for b in model.buffers()]

        def evaluate(data):
            set_random_state(random)
            for buffer, value in buffers:
                buffer.copy_(value)
            value = loss(model, data)
            if not isinstance(value, torch.Tensor) or value.numel() != 1:
                raise TypeError(NO_SCALAR)
            return float(value)

        with torch.no_grad():
            before = evaluate(batch), evaluate(other)
        if not all(map(math.isfinite, before)):
            raise ValueError(f"probe(): the loss is not finite: {before[0]} on batch, {before[1]} "
                             "on other")
        set_random_state(random)
        try:
            found = groups(model, lambda model: loss(model, batch))
        except NoScalar as error:
            raise TypeError(NO_SCALAR) from error
        weights = {name: p for name, p in model.named_parameters()
                   if p.requires_grad and p.dim() > 1 and type(p).__name__ != "DTensor"}
        if not weights:
            raise ValueError("probe(): no matrix of the model requires a gradient")
        set_random_state(random)
        gradients = gradients_of(model, weights, lambda: loss(model, batch))
        steps = optimizer_steps(model, weights, optimizers)
        measured = [name for name in gradients if include is None or include(name)]
        if gradients and not measured:
            raise ValueError(f"probe(): include() is true for no name, such as {min(gradients)}")
        with torch.no_grad():
            along, residuals = {}, {}
            for name in measured:
                along[name], residuals[name] = directions(
                    gradients[name], coefficients, iterations, dtype)
                if name in steps:
                    along[name]["optimizer"] = steps[name]

            def search(names, direction):
                pairs = [(weights[name], along[name][direction]) for name in names
                         if direction in along[name]]
                values = best_step(pairs, evaluate, batch, other, before, evaluations,
                                   direction == "optimizer")
                if direction == "newton_schulz":
                    values["residual"] = max(residuals[name] for name in names)
                return values

            out = {name: {direction: search([name], direction) for direction in along[name]}
                   for name in measured}
            hidden = [name for name in measured if found.roles.get(name) == "hidden"]
            kinds = dict.fromkeys(direction for name in hidden for direction in along[name])
            return {"loss": before[0], "loss_other": before[1], "roles": dict(found.roles),
                    "matrices": out, "hidden": {kind: search(hidden, kind) for kind in kinds}}


def best_step(pairs, evaluate, batch, other, before, evaluations, given):
    """The values of probe() for a step of all pairs (W, D) by the same length.

    A minimum that lies between two lengths of scan(), and that neither shows, may be missed.
    """
    start = [(w, w.clone(), d) for w, d in pairs]
    tried = {0.0: before[0]}

    def at(t, data=batch):
        for w, value, d in start:
            w.copy_(value - t * d)
        return evaluate(data)

    def loss_at(t):
        if t not in tried:
            value = at(t)
            tried[t] = value if math.isfinite(value) else math.inf
        return tried[t]

    try:
        size = sum(float(d.double().square().sum()) for _, d in pairs) ** 0.5
        scale = sum(float(w.double().square().sum()) for w, _ in pairs) ** 0.5
        t = 1.0 if given else START * (scale or sum(w.numel() for w, _ in pairs) ** 0.5) / size
        for middle in scan(loss_at, t):
            golden_section(loss_at, middle / 2, middle, 2 * middle, evaluations)
        best = min(tried, key=tried.get)
        out = {"length": best, "decrease": before[0] - tried[best],
               "decrease_other": before[1] - at(best, other) if best > 0 else 0.0}
        if given:
            out["decrease_given"], out["decrease_other_given"] = (
                before[0] - loss_at(1.0), before[1] - at(1.0, other))
        return out
    finally:
        for w, value, _ in start:
            w.copy_(value)


def scan(loss_at, t, most=40):
    """Tries lengths by factors of 2 around t, and more beyond the end at which the loss is least.

    Returns the lengths in the middle of the two best intervals [t / 2, 2 t] with a minimum.
    """
    losses = {i: loss_at(t * 2.0 ** i) for i in range(*SCAN)}
    for _ in range(most):
        best, low, high = min(losses, key=losses.get), min(losses), max(losses)
        if losses[best] >= loss_at(0.0) or best == low:  # every length is too long
            losses[low - 1] = loss_at(t * 2.0 ** (low - 1))
        elif best == high:
            losses[high + 1] = loss_at(t * 2.0 ** (high + 1))
        else:
            break
    minima = [i for i in losses if losses[i] < loss_at(0.0) and losses[i] <= min(
        losses.get(i - 1, -math.inf), losses.get(i + 1, -math.inf))]
    return [t * 2.0 ** i for i in sorted(minima, key=losses.get)[:2]]


def golden_section(loss_at, low, middle, high, evaluations):
    """Narrows an interval with low < middle < high and the least loss in the middle."""
    for _ in range(evaluations):
        if high - middle > middle - low:
            new = middle + (1 - GOLDEN) * (high - middle)
            low, middle, high = ((middle, new, high) if loss_at(new) < loss_at(middle)
                                 else (low, middle, new))
        else:
            new = middle - (1 - GOLDEN) * (middle - low)
            low, middle, high = ((low, new, middle) if loss_at(new) < loss_at(middle)
                                 else (new, middle, high))


def gradients_of(model, weights, loss):
    """name -> gradient of the loss; the gradients of the user are put aside by restored()."""
    for p in model.parameters():
        p.grad = None
    with torch.enable_grad():
        loss().backward()
    return {name: (p.grad.to_dense() if p.grad.is_sparse else p.grad).detach().clone()
            for name, p in weights.items() if p.grad is not None and bool(p.grad.any())}


def own_parameters(optimizer, model):
    own = set(map(id, model.parameters()))
    return sum(id(p) in own for group in optimizer.param_groups for p in group["params"])


def optimizer_steps(model, weights, optimizers):
    """name -> W before - after one step of the optimizers with the gradients of the model."""
    before = {p: p.detach().clone() for p in model.parameters()} if optimizers else {}
    for each in optimizers:
        state, options = each.state, [dict(group) for group in each.param_groups]
        each.state = defaultdict(dict, {p: copy.deepcopy(s) for p, s in state.items()})
        try:
            each.step()
        finally:
            each.state = state
            for group, values in zip(each.param_groups, options):
                group.clear()
                group.update(values)
    out = {name: before[p] - p.detach() for name, p in weights.items() if p in before}
    with torch.no_grad():
        for p, value in before.items():
            p.copy_(value)
    return {name: step for name, step in out.items() if bool(step.any())}


@contextlib.contextmanager
def restored(model):
    """Restores weights, gradients, buffers and the random state afterwards."""
    random = random_state()
    values = [(t, t.detach().clone()) for t in [*model.parameters(), *model.buffers()]]
    gradients = [(p, p.grad) for p in model.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in values:
                tensor.copy_(value)
        for p, gradient in gradients:
            p.grad = gradient
        set_random_state(random)


def random_state():
    return torch.get_rng_state(), (torch.cuda.get_rng_state_all()
                                   if torch.cuda.is_available() else None)


def set_random_state(state):
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
