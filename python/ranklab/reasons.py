"""Decides whether a matrix is judged.

A matrix is judged only if the recorded calls explain its gradient: sum of e (a' v) = G v for random
vectors v, up to rounding and a common factor. G is the gradient as it arrives: what an optimizer
does with p.grad in place afterwards does not matter.
"""
import math

import torch

from . import private
from .causes import failure, why
from .ranks import on_host
from .recording import pair, products
from .uses import SUMMED
from .weights import world_size

EXPLAINED = 0.999  # least cosine of the angle between both sides
MOST_NEGLIGIBLE = 0.1  # largest share of ||A||_F^2 from samples without an effect
GRADIENT_ONLY = "tied", "both-orientations"  # causes of matrices with a nuclear rank alone


def judge(recording):
    """Sums -> (cause, reason), or None if it is judged, for every matrix that was recorded.

    The numbers of all matrices come from the device together.
    """
    uses, common, asked = {}, {}, {}
    for sums in recording.matrices.values():
        uses.setdefault(sums.name, []).append(sums)
    for name, own in uses.items():
        try:
            common[name] = why_not(recording, name, own)
            if common[name] is None or common[name][0] in GRADIENT_ONLY:
                asked[name] = evidence(recording, name, [u for u in own if u.sketch is not None])
        except Exception as error:
            recording.fail([name], error)
            common[name] = recording.refused[name]
    seen = [sums for name in asked for sums in uses[name] if sums.sketch is not None]
    numbers = on_host([*asked.values(), *(sums.numbers for sums in seen)])
    for name, each in zip(asked, numbers):
        tied = common[name]
        common[name] = verdict(recording, name, each, tied is None) or tied
    out = {sums: common[sums.name] or (why("no-tokens") if sums.empty else
                                       None if sums.calls else why("not-in-loss"))
           for sums in recording.matrices.values()}
    for sums, (count, square, faint) in zip(seen, numbers[len(asked):]):
        sums.n = int(count)
        if out[sums] is None:
            out[sums] = out_of_range(sums, count, square)
        if out[sums] is None and faint > MOST_NEGLIGIBLE * square:
            out[sums] = why("negligible", 100 * faint / square)
    return out


def out_of_range(sums, count, square):
    """(cause, reason) if ||A||_F^2 is too large or too small for sums in the type of the sums."""
    dtype = sums.sketch.dtype
    limits, name = torch.finfo(dtype), str(dtype).replace("torch.", "")
    if not square < limits.max / 4:
        return why("overflow", name)
    if square < count * sums.width * 100 * limits.tiny / limits.eps:
        return why("underflow", name, "inputs")
    return None


def why_not(recording, name, uses):
    """(cause, reason) that holds for all uses of a parameter and needs none of their numbers."""
    for each in [name, *recording.weights.computed.get(name, ())]:
        if each in recording.refused:
            return recording.refused[each]
    if all(use.empty for use in uses):
        return why("no-tokens")
    if not any(use.calls for use in uses) or name not in recording.gradients:
        return why_not_seen(recording, name, set())
    uses = sorted((use for use in uses if use.sketch is not None), key=lambda use: use.entries())
    if len({use.kind == "embedding" for use in uses}) > 1:
        return why("tied")
    if len({use.transposed for use in uses}) > 1:
        return why("both-orientations")
    if any(a.entries()[1] > b.entries()[0] for a, b in zip(uses, uses[1:])):
        return why("overlap")
    return None


def evidence(recording, name, uses):
    """What verdict() needs, on the device: whether the gradient is finite and nonzero, and its
    largest entry; whether the weight changed between its calls, and since; products of the calls
    with the gradient that arrived; then pair()s of its sum with p.grad."""
    total, parameter = recording.gradients[name], recording.parameters.get(name)
    parts = [use.part(total).to(use.sketch.dtype) for use in uses]
    calls = torch.cat([use.sketch.flatten() for use in uses])
    arrived = torch.cat([(part @ use.probe).t().flatten() for part, use in zip(parts, uses)])
    rest = calls.new_zeros((), dtype=torch.float64)
    if sum(part.numel() for part in parts) < total.numel():  # rows that no call used
        rest = square(total) - sum(square(part) for part in parts)
    behind = [name, *recording.weights.computed.get(name, ())]
    drift = [number for each in behind for number in recording.drift.get(each, ())]
    changed = [number for number in map(recording.changed, behind) if number is not False]
    compared = list(recording.between.get(name, ()))
    if parameter is not None and parameter.grad is not None and world_size() == 1:
        final = dense_like(parameter.grad, total)
        if final is not None:  # the optimizer may clear an earlier gradient or not
            compared.append(pair(total, final, recording.before.get(name)))
    out = [torch.isfinite(total).all(), total.any(), total.abs().max(), largest(drift, total),
           largest(changed, total), *products(calls, arrived),
           len(uses[0].sketch) * rest.clamp(min=0), *torch.cat([total.new_zeros(0), *compared])]
    return torch.stack([number.double() for number in out])


def largest(numbers, like):
    """The largest of some numbers, 0 if there is none."""
    return torch.stack([like.new_zeros(()), *(torch.as_tensor(number).to(like)
                                              for number in numbers)]).max()


def square(tensor):
    return tensor.double().square().sum()


def compare(ab, aa, bb):
    """(cosine of the angle, scale) of a and b = scale a."""
    return ab / max((aa * bb) ** 0.5, 1e-300), ab / max(aa, 1e-300)


def best_of(pair):
    """compare() of a pair(): of its better half."""
    found = [compare(*pair[at:at + 3]) for at in (0, 3) if pair[at + 2] > 0]
    good = [each for each in found if each[0] >= EXPLAINED]
    return min(good, key=lambda each: abs(each[1] - 1)) if good else max(found, default=(0.0, 0.0))


def verdict(recording, name, numbers, explained=True):
    """(cause, reason) of why a matrix is not judged; explained: whether its calls must explain its
    gradient."""
    finite, nonzero, entry, drift, changed, ab, aa, bb, rest, *left = numbers
    dtype = recording.gradients[name].dtype
    if not finite:
        return why("not-finite")
    if not nonzero:
        return why("zero-gradient")
    if entry < 100 * torch.finfo(dtype).tiny / torch.finfo(dtype).eps:
        return why("underflow", str(dtype).replace("torch.", ""), "gradients")
    if drift:
        return why("updated")
    count = len(recording.between.get(name, ()))
    between = [best_of(left[6 * at:6 * at + 6]) for at in range(count)]
    if any(cosine < EXPLAINED or abs(scale - 1) > 0.01 for cosine, scale in between):
        return why("cleared")
    if not math.isfinite(ab + aa + bb + rest):
        return why("overflow", str(dtype).replace("torch.", ""))
    cosine, kept, scale = compare(ab, aa, bb + rest)[0], 1.0, 1.0
    final = left[6 * count:]
    if final and final[2] > 0:  # else it was cleared
        kept, scale = best_of(final)
        if kept < EXPLAINED and changed:  # an optimizer has run: it may use p.grad as it likes
            kept, scale = 1.0, 1.0
    if (cosine >= EXPLAINED or not explained) and kept >= EXPLAINED:
        recording.scales[name] = scale
        return None
    if explained and cosine < EXPLAINED and name in recording.touched:
        return why("other-use", cosine, recording.touched[name])
    if explained and cosine < EXPLAINED and name in recording.twice:
        return why("second-derivative", cosine)
    return why("gradient-changed", min(cosine, kept) if explained else kept)


def dense_like(gradient, total):
    """A gradient in the type of another, or None if it is a shard."""
    gradient = gradient.detach()
    gradient = gradient.to_dense() if gradient.is_sparse else gradient
    return gradient.to(total) if gradient.shape == total.shape and (
        not private.is_dtensor(gradient)) else None


def why_not_seen(recording, name, judged):
    """(cause, reason) why a parameter has no judged use; judged: names of weights that have."""
    parameter, refused = recording.parameters.get(name), recording.refused.get(name)
    if refused and refused[0] in ("sharded", "uninitialized", "reshaped"):
        return refused
    if parameter is not None and parameter.dim() < 2:
        return why("no-matrix")
    if parameter is not None and not parameter.requires_grad:
        return why("frozen")
    for computed, behind in recording.weights.computed.items():
        if name in behind and computed in judged:
            return why("parametrized", computed)
    if refused:
        return refused
    if name in recording.custom:
        return why("custom-function")
    uses = [sums for sums in recording.matrices.values() if sums.name == name]
    if uses:
        if any(sums.calls for sums in uses) and name not in recording.gradients:
            return why("gradient-not-seen")
        if all(sums.empty for sums in uses):
            return why("no-tokens")
        if name in recording.gradients:  # by a way that was not observed
            return why("forward-before")
        return why("not-in-loss" if recording.arrived else "no-backward")
    if recording.lost is not None:  # an error in a call whose weights are not known
        return failure(recording.lost)
    used = next((use.kind for use in recording.uses if use.name == name and use.kind != "frozen"),
                None)
    touched = recording.touched.get(name)
    if used == "embedding":
        return why("lookup")
    if touched in ("mul", "multiply", "rmul") and used in (None, SUMMED):
        return why("elementwise")
    if used is not None:
        return why("computed", touched or used.split(",")[0])
    if touched is not None:
        return why("function", touched)
    received = name in recording.gradients or has_new_gradient(
        parameter, recording.before.get(name))
    if name in recording.without_grad:
        if not received:
            return why("no-grad")
        if not recording.losses:  # else the graph would show a custom function
            return why("custom-function")
    return why("forward-before" if received else "not-called")


def has_new_gradient(parameter, before):
    if parameter is None or parameter.grad is None:
        return False
    if parameter.grad.is_sparse:
        return True
    return bool(parameter.grad.any()) if before is None else not torch.equal(
        parameter.grad, before.to(parameter.grad))
