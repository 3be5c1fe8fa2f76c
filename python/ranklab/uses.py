"""Which calls use a weight as a matrix, and what their samples and output gradients are."""
import torch

from . import calls, sums
from .causes import Refused
from .weights import SCALINGS, whole_of

ADDING = {"addmm", "baddbmm", "addbmm", "addmv"}  # whose first operand is no factor
SUMS, SUMMED = {"sum", "mean"}, "a product and a sum, not measured"
INDEXING = {"__getitem__": 1, "index_select": 2, "gather": 2, "take": 1, "take_along_dim": 1}


class Mark:
    """Marks a tensor as the output of a matrix, or as the products of the weights `name`."""

    def __init__(self, weights, name):
        self.weights, self.name = weights, name

    def __reduce__(self):  # the tensor may be saved
        return type(None), ()


def use(recording, function, args, more, out):
    """Records a call that uses a weight as a matrix; False if it cannot be recorded.

    Without `out`, the call is about to be repeated for a backward pass.
    """
    if function == "embedding":
        return embedding(recording, out, **calls.given(function, args, more))
    if function.startswith("conv"):
        return convolution(recording, out, **calls.given(function, args, more))
    return product(recording, function, *calls.sides(function, args, more), out,
                   calls.given(function, args, more)["weight"] if function == "linear" else None)


def computed(recording, function, args, operands, out):
    """Notes for the roles which weights are multiplied by activations after a function of them, as
    after a mask, a normalization or a custom autograd function. Returns their names."""
    place = calls.PLACES.get(function)
    if place is not None:
        factor = args[place] if place < len(args) else None
        # F.embedding() and torch.embedding() differ in their order: the indices have no gradient.
        weights = [factor] if isinstance(factor, torch.Tensor) and factor.requires_grad else [
            t for t in operands if function.startswith("embedding") and t.requires_grad]
        inputs = [t for t in operands if all(t is not each for each in weights)]
    else:
        made = [(t, recording.sources(t)) for t in operands[function in ADDING:]]
        weights = [t for t, names in made if names]
        inputs = [t for t, names in made if not names]
        if not inputs:
            return []
    names = list(dict.fromkeys(
        name for t in weights for name in recording.sources(t, place is not None)))
    if not names:
        return []
    kind = "embedding" if function.startswith("embedding") else (
        "convolution" if function.startswith("conv") else f"{function}, not measured")
    recording.note_use(names, kind, inputs, out)
    return names


def summed(recording, function, operands, names, out):
    """Notes a product that is written out: (x[:, None] * W).sum(-1)."""
    mark = getattr(operands[0], "_ranklab_products", None) if operands else None
    if function in SUMS and mark is not None and mark.weights is recording.weights:
        recording.note_use(mark.name, SUMMED, operands, out)
    sizes = [t.numel() for t in operands]
    if function in SCALINGS and names and len(sizes) == 2 and max(sizes) < out.numel():
        out._ranklab_products = Mark(recording.weights, names)


def lookup(recording, function, args, out):
    """Whether a call looks rows up in a table by a tensor of indices, which is noted."""
    if function not in INDEXING or len(args) <= INDEXING[function]:
        return False
    found = recording.weights.matrix(args[0]) if args[0].dim() == 2 else None
    index = [t for t in calls.tensors(args[1:]) if not t.is_floating_point()
             and t.dtype != torch.bool]
    # As many indices as rows permute or select the rows of a matrix.
    if found is None or not index or index[0].dim() == 1 and len(index[0]) == len(args[0]):
        return False
    recording.note_use([found.name], "embedding", [], out)
    return True


def touch(recording, function, names, operands, made_of, out):
    """Notes another use of weights: a term, an input, or a part of another weight."""
    pair = made_of[1:3] if function in ("addmm", "baddbmm") else made_of[:2]
    note = function.strip("_") + (" with another parameter"
                                  if function in calls.SIGNATURES and all(pair) else "")
    for name in names:
        recording.touched.setdefault(name, note)
    if all(each or tensor.dim() == 0 for tensor, each in zip(operands, made_of)):
        for tensor in calls.tensors([out]):
            recording.weights.mark(tensor, names)


def touch_input(recording, function, tensor):
    """Notes weights that are the input of a product."""
    for name in recording.weights.names(tensor) or recording.sources(tensor):
        recording.touched.setdefault(name, f"{function} as an input")


def columns(t):
    return t.transpose(-1, -2).reshape(-1, t.shape[-2])


def product(recording, function, left, right, out, stored=None):
    """out = left @ right, where one factor is a weight or a stack of weights."""
    weights, record = recording.weights, recording.record_use
    # A parameter with a batch axis is a sample (a learned query). Two matrices of parameters are a
    # regularizer or a product of weights, and their rows are no samples.
    if (function != "linear" and weights.names(left) and weights.names(right)
            and left.dim() == right.dim() and not is_state(weights, left, right)):
        return False
    if any(t.layout != torch.strided or t.is_nested for t in (left, right)):
        raise Refused("sparse-input")
    # right.t() of F.linear() is a view of what the weight is a view of, which may have no name.
    of_right = None if right.dim() != 2 else weights.matrix(
        stored if stored is not None else right.t())
    of_left = weights.matrix(left) if left.dim() == 2 and of_right is None else None
    if right.dim() == 1:
        if of_left is not None:
            record(of_left, "matrix", right, out, sums.rows)
        return of_left is not None
    stack = [weights.matrix(w.t()) for w in right] if (
        right.dim() == left.dim() == 3 and len(left) == len(right)) else [None]
    if out is not None and not all(stack) and (of_right or of_left):
        touch_input(recording, function, left if of_right else right)
    if of_right is not None:
        record(of_right, "matrix", left, out, sums.rows, layout="rows")
    elif of_left is not None:
        record(of_left, "matrix", right, out, lambda t: sums.rows(columns(t)), columns, "columns")
    elif None not in stack:
        for e, found in enumerate(stack):
            record(found, "matrix", left, out, lambda t, e=e: sums.rows(t[e]), lambda g, e=e: g[e])
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
    if found is None or found.factor is not None:
        return False
    if scale_grad_by_freq:
        recording.note_use([found.name], "embedding", [], out)
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
            recording.note_use([found.name], "grouped convolution", [input], out)
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
