"""Decides whether a matrix is judged.

A matrix is judged only if the recorded calls explain its gradient: sum of e (a' v) = G v for random
vectors v, up to rounding and a common factor.
"""
import torch

from .causes import failure, why
from .stacks import on_host
from .weights import world_size

EXPLAINED = 0.999  # least cosine of the angle between both sides
MOST_NEGLIGIBLE = 0.1  # largest share of ||A||_F^2 from samples without an effect


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
            if common[name] is None:
                asked[name] = evidence(recording, name, [u for u in own if u.sketch is not None])
        except Exception as error:
            recording.fail([name], error)
            common[name] = recording.refused[name]
    seen = [sums for name in asked for sums in uses[name] if sums.sketch is not None]
    numbers = on_host([*asked.values(), *(sums.numbers for sums in seen)])
    for name, each in zip(asked, numbers):
        common[name] = verdict(recording, name, each)
    out = {sums: common[sums.name] or (why("no-tokens") if sums.empty else None)
           for sums in recording.matrices.values()}
    for sums, (count, square, faint) in zip(seen, numbers[len(asked):]):
        sums.n = int(count)
        if out[sums] is None and faint > MOST_NEGLIGIBLE * square:
            out[sums] = why("negligible", 100 * faint / square)
    return out


def why_not(recording, name, uses):
    """(cause, reason) that holds for all uses of a parameter and needs none of their numbers."""
    for each in [name, *recording.weights.computed.get(name, ())]:
        if each in recording.refused:
            return recording.refused[each]
    if all(use.empty for use in uses):
        return why("no-tokens")
    if not any(use.calls for use in uses) or name not in recording.gradients:
        return why_not_seen(recording, name, set())
    uses = sorted((use for use in uses if use.sketch is not None), key=lambda use: use.first_row)
    if len({use.kind == "embedding" for use in uses}) > 1:
        return why("tied")
    if len({use.transposed for use in uses}) > 1:
        return why("both-orientations")
    if any(a.first_row + a.rows > b.first_row for a, b in zip(uses, uses[1:])):
        return why("overlap")
    return None


def evidence(recording, name, uses):
    """What verdict() needs, on the device: whether the gradient is finite and nonzero; products of
    the calls with the gradient that arrived; of this gradient with the one that is left."""
    total, parameter = recording.gradients[name], recording.parameters.get(name)
    parts = [use.part(total).to(use.sketch.dtype) for use in uses]
    calls = torch.cat([use.sketch.flatten() for use in uses])
    arrived = torch.cat([(part @ use.probe).t().flatten() for part, use in zip(parts, uses)])
    rest = calls.new_zeros((), dtype=torch.float64)
    if sum(part.numel() for part in parts) < total.numel():  # rows that no call used
        rest = square(total) - sum(square(part) for part in parts)
    out = [torch.isfinite(total).all(), total.any(), *products(calls, arrived),
           len(uses[0].sketch) * rest.clamp(min=0)]
    if parameter is not None and parameter.grad is not None and world_size() == 1:
        final, before = dense_like(parameter.grad, total), recording.before.get(name)
        if final is not None:  # the optimizer may clear an earlier gradient or not
            out += products(total, final)
            out += [] if before is None else products(total, final - before.to(total))
    return torch.stack([number.double() for number in out])


def square(tensor):
    return tensor.double().square().sum()


def products(a, b):
    a, b = a.flatten().double(), b.flatten().double()
    return [a @ b, a @ a, b @ b]


def compare(ab, aa, bb):
    """(cosine of the angle, scale) of a and b = scale a."""
    return ab / max((aa * bb) ** 0.5, 1e-300), ab / max(aa, 1e-300)


def verdict(recording, name, numbers):
    finite, nonzero, ab, aa, bb, rest, *left = numbers
    if not finite:
        return why("not-finite")
    if not nonzero:
        return why("zero-gradient")
    cosine, _ = compare(ab, aa, bb + rest)
    kept, scale = 1.0, 1.0
    if left and left[2] > 0:  # else it was cleared
        found = [compare(*left[at:at + 3]) for at in range(0, len(left), 3) if left[at + 2] > 0]
        good = [each for each in found if each[0] >= EXPLAINED]
        kept, scale = min(good, key=lambda each: abs(each[1] - 1)) if good else max(found)
    if cosine >= EXPLAINED and kept >= EXPLAINED:
        recording.scales[name] = scale
        return None
    if cosine < EXPLAINED and name in recording.touched:
        return why("other-use", cosine, recording.touched[name])
    if cosine < EXPLAINED and name in recording.twice:
        return why("second-derivative", cosine)
    return why("gradient-changed", min(cosine, kept))


def dense_like(gradient, total):
    """A gradient in the type of another, or None if it is a shard."""
    gradient = gradient.detach()
    gradient = gradient.to_dense() if gradient.is_sparse else gradient
    return gradient.to(total) if gradient.shape == total.shape and (
        type(gradient).__name__ != "DTensor") else None


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
    uses = [sums for sums in recording.matrices.values() if sums.name == name]
    if uses:
        if any(sums.calls for sums in uses) and name not in recording.gradients:
            return why("gradient-not-seen")
        if all(sums.empty for sums in uses):
            return why("no-tokens")
        return why("not-in-loss" if recording.arrived else "no-backward")
    if recording.lost is not None:  # an error in a call whose weights are not known
        return failure(recording.lost)
    if name in recording.touched:
        return why("function", recording.touched[name])
    received = has_new_gradient(parameter, recording.before.get(name))
    if name in recording.without_grad:
        return why("custom-function" if received else "no-grad")
    return why("forward-before" if received else "not-called")


def has_new_gradient(parameter, before):
    if parameter is None or parameter.grad is None:
        return False
    if parameter.grad.is_sparse:
        return True
    return bool(parameter.grad.any()) if before is None else not torch.equal(parameter.grad, before)
