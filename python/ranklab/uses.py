"""Which calls use a weight as a matrix, and what their samples and output gradients are."""
import torch

from . import calls, sums
from .causes import Refused
from .weights import whole_of


def use(recording, function, args, more, out):
    """Records a call that uses a weight as a matrix; False if it cannot be recorded.

    Without `out`, the call is about to be repeated for a backward pass.
    """
    if function == "embedding":
        return embedding(recording, out, **calls.given(function, args, more))
    if function.startswith("conv"):
        return convolution(recording, out, **calls.given(function, args, more))
    return product(recording, *calls.sides(function, args, more), out)


def touch(recording, function, names, operands, made_of, out):
    """Notes another use of weights: a term, an input, or a part of another weight."""
    pair = made_of[1:3] if function == "addmm" else made_of[:2]
    note = function.strip("_") + (" with another parameter"
                                  if function in calls.SIGNATURES and all(pair) else "")
    for name in names:
        recording.touched.setdefault(name, note)
    if all(each or tensor.dim() == 0 for tensor, each in zip(operands, made_of)):
        for tensor in calls.tensors([out]):
            recording.weights.mark(tensor, names)


def columns(t):
    return t.transpose(-1, -2).reshape(-1, t.shape[-2])


def product(recording, left, right, out):
    """out = left @ right, where one factor is a weight or a stack of weights."""
    weights, record = recording.weights, recording.record_use
    if right.dim() < 2:
        raise Refused("vector")
    # A parameter with a batch axis is a sample (a learned query). Two matrices of parameters are a
    # regularizer or a product of weights, and their rows are no samples.
    if (weights.names(left) and weights.names(right) and left.dim() == right.dim()
            and not is_state(weights, left, right)):
        return False
    if any(t.layout != torch.strided or t.is_nested for t in (left, right)):
        raise Refused("sparse-input")
    of_right = weights.matrix(right.t()) if right.dim() == 2 else None
    of_left = weights.matrix(left) if left.dim() == 2 else None
    stack = [weights.matrix(w.t()) for w in right] if right.dim() == left.dim() == 3 else [None]
    if of_right is not None:
        record(of_right, "matrix", left, out, sums.rows, layout="rows")
    elif of_left is not None:
        record(of_left, "matrix", right, out, lambda t: sums.rows(columns(t)), columns, "columns")
    elif None not in stack:
        for e, found in enumerate(stack):
            record(found, "matrix", left, out, lambda t, e=e: sums.rows(t[e]), lambda g, e=e: g[e])
    elif left.dim() > 2 and right.dim() > 2:
        if out is not None:
            recording.note_use(weights.names(left) + weights.names(right), "matrix", [left, right],
                               out)
        raise Refused("batched-product")
    else:
        return False
    return True


def is_state(weights, left, right):
    """Whether the left factor is a parameter of one row, such as a learned initial state."""
    names = weights.names(left)
    return not set(names) & set(weights.names(right)) and all(
        weights.parameters[name].numel() == weights.parameters[name].shape[-1] for name in names)


def embedding(recording, out, weight, indices, padding_idx=-1, scale_grad_by_freq=False,
              sparse=None):
    found = recording.weights.matrix(weight)
    if found is None:
        return False
    if scale_grad_by_freq:
        recording.note_use([found[0]], "embedding", [], out)
        raise Refused("scaled-by-frequency")

    def errors_of(g):
        g = g.reshape(-1, g.shape[-1])
        return g if padding_idx < 0 else g * (indices.reshape(-1, 1) != padding_idx)

    recording.record_use(found, "embedding", indices, out, lambda t: [t.reshape(-1)], errors_of)
    return True


def convolution(recording, out, input, weight, bias=None, stride=1, padding=0, dilation=1,
                groups=1):
    found = recording.weights.locate(weight, whole_of)
    if found is None:
        return False
    if groups != 1:
        if out is not None:
            recording.note_use([found[0]], "grouped convolution", [input], out)
        raise Refused("grouped-convolution", groups)
    dims = weight.dim() - 2

    def each(v):
        return (v,) * dims if isinstance(v, int) else tuple(v) * (dims // len(v) or 1)

    def batched(t):
        return t if t.dim() == dims + 2 else t.unsqueeze(0)

    steps, gaps, (rows, _, *kernel) = each(stride), each(dilation), weight.shape
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(gaps, kernel)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(p, p) for p in each(0 if padding == "valid" else padding)]
    recording.record_use(found, "convolution", input, out,
                         lambda x: sums.patches(batched(x), kernel, steps, pads, gaps),
                         lambda g: batched(g).movedim(1, -1).reshape(-1, rows),
                         (tuple(kernel), steps, tuple(pads), gaps))
    return True
