"""Why a matrix is not judged: a cause (a stable code) and a reason (a sentence).

A matrix is judged only if the recorded calls explain its gradient: sum of e (a' v) = G v for random
vectors v, up to rounding and a common factor.
"""
import torch

EXPLAINED = 0.999  # least cosine of the angle between both sides
MOST_NEGLIGIBLE = 0.1  # largest share of ||A||_F^2 from samples without an effect
NO_TOKENS = "no-tokens", "called without a single sample (an expert without tokens)"


def judge(recording):
    """Sums -> (cause, reason), or None if it is judged, for every matrix that was recorded.

    Numbers come from the device here.
    """
    uses = {}
    for sums in recording.matrices.values():
        uses.setdefault(sums.name, []).append(sums)
    out = {}
    for name, own in uses.items():
        try:
            common = why_not(recording, name, own)
        except Exception as error:
            recording.fail([name], error)
            common = recording.refused[name]
        for sums in own:
            out[sums] = common or (NO_TOKENS if sums.empty else of_samples(sums))
    return out


def of_samples(sums):
    count, square, faint = sums.numbers.tolist()
    sums.n, sums.square = int(count), square
    if faint > MOST_NEGLIGIBLE * square:
        return "negligible", (f"{100 * faint / square:.4g} % of ||A||_F^2 is from samples whose "
                              "output gradient is negligible")
    return None


def why_not(recording, name, uses):
    """(cause, reason) that holds for all uses of a parameter, or None."""
    for each in [name, *recording.weights.computed.get(name, ())]:
        if each in recording.refused:
            return recording.refused[each]
    if all(use.empty for use in uses):
        return NO_TOKENS
    total = recording.gradients.get(name)
    if not any(use.calls for use in uses) or total is None:
        return why_not_seen(recording, name, set())
    if not torch.isfinite(total).all():
        return "not-finite", "its gradient is not finite"
    if not total.any():
        return "zero-gradient", ("its gradient is exactly zero (for example behind a layer with "
                                 "zero weights)")
    uses = sorted((use for use in uses if use.sketch is not None), key=lambda use: use.first_row)
    kinds = {use.kind for use in uses}
    if "embedding" in kinds and len(kinds) > 1:
        return "tied", ("tied: its gradient sums its uses as an embedding and as a matrix, which "
                        "have different inputs")
    if len({use.transposed for use in uses}) > 1:
        return "both-orientations", ("used both as W and as its transpose, which have different "
                                     "inputs")
    if any(a.first_row + a.rows > b.first_row for a, b in zip(uses, uses[1:])):
        return "overlap", "its uses overlap: some use more rows than others"
    return unexplained(recording, name, uses, total)


def unexplained(recording, name, uses, total):
    """Compares the gradient that arrived with the calls, and with the one that is left."""
    dtype = uses[0].sketch.dtype
    parts = [use.part(total).to(dtype) for use in uses]
    calls = torch.cat([use.sketch.flatten() for use in uses])
    arrived = torch.cat([(part @ use.probe.to(dtype)).t().flatten()
                         for part, use in zip(parts, uses)])
    shown = sum(part.numel() for part in parts)
    rest = 0.0 if shown == total.numel() else max(0.0, float(total.square().sum()) - sum(
        float(part.square().sum()) for part in parts))
    cosine, _ = compare(calls, arrived, len(uses[0].sketch) * rest)
    kept, scale = 1.0, 1.0
    parameter, before = recording.parameters.get(name), recording.before.get(name)
    if parameter is not None and parameter.grad is not None and recording.compare_final:
        final = dense_like(parameter.grad, total)
        if final is not None and final.any() and not torch.equal(final, total):
            candidates = [final] if before is None else [final, final - before.to(total)]
            found = [compare(total, each) for each in candidates if each.any()]
            good = [each for each in found if each[0] >= EXPLAINED]
            # The optimizer may clear the earlier gradient or not: the factor nearer to 1 is right.
            kept, scale = (min(good, key=lambda each: abs(each[1] - 1)) if good else max(found))
    if cosine >= EXPLAINED and kept >= EXPLAINED:
        recording.scales[name] = scale
        return None
    if cosine < EXPLAINED and name in recording.touched:
        return "other-use", ("its gradient has a regularizer or another use "
                             f"({recording.touched[name]}) that was not observed as a matrix "
                             f"(cosine {cosine:.3f})")
    if cosine < EXPLAINED and name in recording.twice:
        return "second-derivative", ("its gradient has second derivatives (create_graph=True, as "
                                     "for a gradient penalty), which its inputs and output "
                                     f"gradients do not explain (cosine {cosine:.3f})")
    if cosine >= EXPLAINED:
        return "gradient-changed", ("its gradient was changed after it arrived, or it is only one "
                                    "of several gradients that arrived (cosine "
                                    f"{kept:.3f}); measure one update of the optimizer at a time")
    return "gradient-changed", ("its gradient was changed, or a part of its forward pass ran "
                                f"before the measurement (cosine {cosine:.3f})")


def compare(a, b, rest=0.0):
    """(cosine of the angle, scale) of a and b = scale a; b has `rest` more squares than a shows."""
    a, b = a.flatten().double(), b.flatten().double()
    product, square, other = torch.stack([a @ b, a @ a, b @ b]).tolist()
    return product / max((square * (other + rest)) ** 0.5, 1e-300), product / max(square, 1e-300)


def dense_like(gradient, total):
    """A gradient in the type of another, or None if it is a shard."""
    gradient = gradient.detach()
    gradient = gradient.to_dense() if gradient.is_sparse else gradient
    return gradient.to(total) if gradient.shape == total.shape and (
        type(gradient).__name__ != "DTensor") else None


def why_not_seen(recording, name, judged):
    """(cause, reason) why a parameter has no judged use; judged: names of weights that have."""
    parameter, weights = recording.parameters[name] if name in recording.parameters else None, \
        recording.weights
    refused = recording.refused.get(name)
    if refused and refused[0] in ("sharded", "uninitialized", "reshaped"):
        return refused
    if parameter is not None and parameter.dim() < 2:
        return "no-matrix", "no matrix"
    if parameter is not None and not parameter.requires_grad:
        return "frozen", "frozen (requires_grad is False)"
    for computed, behind in weights.computed.items():
        if name in behind and computed in judged:
            return "parametrized", f"a part of {computed}, which is measured instead"
    if refused:
        return refused
    uses = [sums for sums in recording.matrices.values() if sums.name == name]
    if uses:
        if any(sums.calls for sums in uses) and name not in recording.gradients:
            return "gradient-not-seen", ("its gradient did not arrive in the weight; "
                                         "torch.autograd.grad() hides it before PyTorch 2")
        if all(sums.empty for sums in uses):
            return NO_TOKENS
        if not recording.arrived:
            return "no-backward", "its forward pass was observed, but no backward pass ran"
        return "not-in-loss", "no gradient reached its output: the loss does not depend on it"
    if recording.lost is not None:  # an error in a call whose weights are not known
        recording.fail([name], recording.lost)
        return recording.refused[name]
    if name in recording.touched:
        return "function", (f"used by {recording.touched[name]}, but not as a matrix, or a block "
                            "of its rows, that multiplies activations; for example as an input, a "
                            "term, a block of columns, in another shape, or to compute another "
                            "weight")
    grad = None if parameter is None else parameter.grad
    before = recording.before.get(name)
    received = grad is not None and not (
        (before is None and not grad.any()) if not grad.is_sparse else False) and not (
        before is not None and not grad.is_sparse and torch.equal(grad, before))
    if name in recording.without_grad:
        return (("custom-function", "used inside a torch.autograd.Function, which is not measured")
                if received else ("no-grad", "used only under torch.no_grad()"))
    if received:
        return "forward-before", ("it received a gradient, but its forward pass ran before the "
                                  "measurement, or in code that cannot be seen, such as a "
                                  "torch.autograd.Function or torch.func")
    return "not-called", ("not used (a module that is not called, an expert without tokens, or a "
                          "use inside torch.func)")
