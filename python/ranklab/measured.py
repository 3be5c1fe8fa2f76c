"""What a recording has measured, matrix by matrix, summed over the ranks of torch.distributed."""
import torch

from .causes import failure
from .grams import gram_of
from .reasons import GRADIENT_ONLY, judge, why_not_seen
from .roles import find_roles
from .weights import world_size

ABSENT = {"no-tokens", "not-called"}  # on one rank: it adds nothing to the sums of the others


def layers(recording, reduce=True):
    """(list of Sums, name -> (cause, reason) of parameters without one) of an ended recording.

    Numbers come from the device here. If torch.distributed is initialized and `reduce` is true, all
    ranks must call it; each returns the sums over all ranks, and a matrix is judged only if no rank
    refuses it.
    """
    try:
        found, others = local(recording)
    except Exception as error:
        found, others = [], {"": failure(error)}
    if reduce and world_size() > 1:
        found = over_ranks(found, others, recording)
    return found, others


def local(recording):
    roles = find_roles(recording, [use.node for use in recording.uses if use.arrived])
    found = []
    for layer, why in judge(recording).items():
        if layer.sketch is None and why is not None and why[0] not in ABSENT | set(GRADIENT_ONLY):
            recording.refused.setdefault(layer.name, why)
        layer.why, layer.role = why, roles.get(layer.name, "hidden")
        if why is None:
            try:
                layer.finish(recording.gradients[layer.name])
            except Exception as error:
                layer.fail(error)
        found.append(layer)
    # A use without a gradient, such as an argmax over a codebook, is none if there are others. A
    # parameter behind a computed weight is a part of that one.
    used = {layer.layer() for layer in found if layer.calls}
    behind = {name for layer in found for name in recording.weights.computed.get(layer.name, ())}
    found = [layer for layer in found if layer.name not in behind
             and (layer.calls or layer.layer() not in used)]
    named = {layer.name for layer in found}
    return found, {name: why_not_seen(recording, name, named)
                   for name in recording.parameters if name not in named}


def over_ranks(found, others, recording):
    """The layers of all ranks, with their sums. Each rank does the same collectives in the same
    order, whatever failed on it."""
    own = {layer.key(): layer for layer in found}
    mine = {key: (layer.why, layer.n, None if layer.gradient is None else (
        tuple(layer.gradient.shape), layer.gradient.dtype)) for key, layer in own.items()}
    everywhere = [None] * world_size()
    torch.distributed.all_gather_object(everywhere, (mine, others.get("")))
    broken = next((error for _, error in everywhere if error is not None), None)
    for key in sorted({key for each, _ in everywhere for key in each}, key=str):
        told = [each[key] for each, _ in everywhere if key in each]
        why = broken or next((w for w, _, _ in told if w is not None and w[0] not in ABSENT), None)
        shape, layer = next((s for _, _, s in told if s is not None), None), own.get(key)
        if why is None and shape is not None:
            device = next(iter(recording.parameters.values())).device
            moment, gradient = reduced(layer, *shape, key[1] == "embedding", device)
            if layer is not None:
                layer.gram, layer.gradient = moment, gradient.div_(world_size())
                layer.kept, layer.why, layer.n = [], None, sum(n for _, n, _ in told)
        elif layer is not None and why is not None:
            layer.why = why
    return found


def reduced(layer, shape, dtype, diagonal, device):
    """A A' and G, summed over all ranks."""
    if layer is None or layer.gradient is None:
        width = shape[1:]
        own = (torch.zeros(width if diagonal else 2 * width, dtype=dtype, device=device),
               torch.zeros(shape, dtype=dtype, device=device))
    else:
        samples = layer.samples()
        own = layer.gram if samples is None else gram_of(samples), layer.gradient
    out = [tensor.contiguous().clone() for tensor in own]
    for tensor in out:
        torch.distributed.all_reduce(tensor)
    return out
