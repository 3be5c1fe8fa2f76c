"""What a recording has measured, matrix by matrix, summed over the ranks of torch.distributed."""
import torch

from .reasons import NO_TOKENS, judge, why_not_seen
from .recording import failure
from .roles import find_roles

ABSENT = {NO_TOKENS[0], "not-called"}  # on one rank: it adds nothing to the sums of the others


class Layer:
    """One matrix.

    name: of its parameter without ".weight", with its block of rows if it has one.
    parameter: the name of the parameter, or of the weight that a parametrization computes.
    moment: A A' (k x k), or its diagonal (k) for an embedding; None if samples is given.
    samples: A' (samples x k), while they are fewer than k / 2.
    gradient: G (m x k); n: samples with e != 0; calls: of the layer.
    blocks: how many matrices the rows of G are: 3 for q, k and v of attention.
    why: (cause, reason) if it is not judged; then the others may be None.
    """

    def __init__(self, sums, why, role):
        self.key = sums.name, sums.kind, sums.first_row, sums.rows, sums.transposed, sums.size
        self.name, self.parameter, self.kind, self.calls = (
            sums.layer(), sums.name, sums.kind, sums.calls)
        self.why, self.role, self.blocks, self.n = why, role, sums.blocks(), sums.n
        self.moment = self.samples = self.gradient = None

    def fill(self, sums, gradients):
        self.samples, self.moment = sums.samples(), sums.gram
        self.gradient = sums.part(gradients[sums.name]).to(sums.sketch.dtype)

    def fail(self, error):
        self.why = "recorder-error", failure(error)

    def parts(self):
        """(name, G) of each block of rows that is a matrix of its own."""
        if self.blocks == 1:
            return [(self.name, self.gradient)]
        return [(f"{self.name}.{i + 1}", g)
                for i, g in enumerate(self.gradient.chunk(self.blocks))]


def layers(recording, reduce=True):
    """(list of Layer, name -> (cause, reason) of parameters without one) of an ended recording.

    Numbers come from the device here. If torch.distributed is initialized and `reduce` is true, all
    ranks must call it; each returns the sums over all ranks, and a matrix is judged only if no rank
    refuses it.
    """
    try:
        found, others = local(recording)
    except Exception as error:
        found, others = [], {"": ("recorder-error", failure(error))}
    distributed = torch.distributed
    if reduce and distributed.is_available() and distributed.is_initialized() and (
            distributed.get_world_size() > 1):
        found = over_ranks(found, others, recording)
    return found, others


def local(recording):
    roles = find_roles(recording.uses, [use.node for use in recording.uses if use.arrived])
    found = []
    for sums, why in judge(recording).items():
        if sums.sketch is None and why is not None and why[0] not in ABSENT | {"tied"}:
            recording.weights.refuse(sums.name, *why)
        layer = Layer(sums, why, roles.get(sums.name, "hidden"))
        if why is None:
            try:
                layer.fill(sums, recording.gradients)
            except Exception as error:
                layer.fail(error)
        found.append(layer)
    named = {layer.parameter for layer in found}
    judged = {layer.parameter for layer in found if layer.why is None}
    behind = {name for each in named for name in recording.weights.computed.get(each, ())}
    others = {name: why_not_seen(recording, name, named | judged)
              for name in recording.parameters if name not in named or name in behind - named}
    return found, others


def over_ranks(found, others, recording):
    """The layers of all ranks, with their sums. Each rank does the same collectives in the same
    order, whatever failed on it."""
    distributed, ranks = torch.distributed, torch.distributed.get_world_size()
    own = {layer.key: layer for layer in found}
    mine = {key: (layer.why, layer.n, None if layer.gradient is None else (
        tuple(layer.gradient.shape), layer.gradient.dtype)) for key, layer in own.items()}
    everywhere = [None] * ranks
    distributed.all_gather_object(everywhere, (mine, others.get("")))
    broken = next((error for _, error in everywhere if error is not None), None)
    out = []
    for key in sorted({key for each, _ in everywhere for key in each}, key=str):
        told = [each[key] for each, _ in everywhere if key in each]
        whys = [why for why, _, _ in told if why is not None and why[0] not in ABSENT]
        shape = next((shape for _, _, shape in told if shape is not None), None)
        layer = own.get(key)
        if not whys and broken is None and shape is not None:
            total = reduced(layer, shape, key[1], next(iter(recording.parameters.values())).device)
            if layer is not None:
                layer.moment, layer.gradient = total
                layer.samples, layer.why, layer.n = None, None, sum(n for _, n, _ in told)
        elif layer is not None and (whys or broken):
            layer.why = (whys or [broken])[0]
        if layer is not None:
            out.append(layer)
    return out


def reduced(layer, shape, kind, device):
    """(A A', mean of G) over all ranks."""
    (rows, width), dtype = shape
    if layer is None or layer.gradient is None:
        moment = torch.zeros((width,) if kind == "embedding" else (width, width), dtype=dtype,
                             device=device)
        gradient = torch.zeros(rows, width, dtype=dtype, device=device)
    else:
        moment = layer.moment if layer.samples is None else layer.samples.t() @ layer.samples
        gradient = layer.gradient
    moment, gradient = moment.contiguous().clone(), gradient.contiguous().clone()
    torch.distributed.all_reduce(moment)
    torch.distributed.all_reduce(gradient)
    return moment, gradient.div_(torch.distributed.get_world_size())
