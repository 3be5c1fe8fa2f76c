"""Several tensors at once: matrices of one shape in a stack, and numbers that come to the host."""
import torch

BATCH = 2 ** 24  # most numbers that are stacked, so that the copies stay below about 1 GB


def on_host(tensors):
    """The numbers of each tensor as a list. All tensors come to the host together."""
    if not tensors:
        return []
    device, out, at = tensors[0].device, [], 0
    flat = torch.cat([t.detach().reshape(-1).to(device, torch.float64) for t in tensors]).tolist()
    for t in tensors:
        out.append(flat[at:at + t.numel()])
        at += t.numel()
    return out


def batches(matrices, most=BATCH):
    """(indices, stack) of matrices of equal shape, type and device."""
    equal = {}
    for i, matrix in enumerate(matrices):
        equal.setdefault((matrix.shape, matrix.dtype, matrix.device), []).append(i)
    for (shape, *_), indices in equal.items():
        count = max(1, most // max(1, shape.numel()))
        for at in range(0, len(indices), count):
            part = indices[at:at + count]
            yield part, (torch.stack([matrices[i] for i in part]) if len(part) > 1
                         else matrices[part[0]][None])
