"""Writes what one training step shows about every matrix of a model to a safetensors file.

    with ranklab.record(model, "step100.safetensors"):
        loss_fn(model(x), y).backward()

Tensors, all F32 in row-major order, for each judged matrix NAME (such as blocks.0.fc1):
    NAME.gradient        G (m x k), the sum over all backward passes of the block
    NAME.second_moment   A A' (k x k), the sum of a a' over the samples a with e != 0; or
    NAME.activations     A' (n x k), one row per sample, if they are fewer than k / 2; or
    NAME.counts          (k), the diagonal of A A' of an embedding, whose other entries are 0: how
                         often each of the k rows was looked up. Its G is (m x k), the transpose of
                         the gradient of the table.
A convolution has m = its output channels and k = input channels times the kernel's size, in the
order of the weight. The rows of G of NAME.in_proj_weight may be q, k and v one after another; then
"blocks" is 3 (or 2), and each block of m / 3 rows is a matrix with the same A.

Metadata (`__metadata__`; all values are strings, and lists and objects are JSON text):
    format       "ranklab.recording/2"
    layers       a list of objects: name; parameter (its full name); kind ("matrix", "embedding" or
                 "convolution"); role ("embedding", "first", "hidden", "head" or "tied", see
                 roles.py); shape [m, k]; blocks; n (samples with e != 0); calls; loss_scale; and
                 for a matrix that is not judged cause (a stable code) and reason, without tensors
    not_seen     an object: parameter -> {"cause": ..., "reason": ...} for every other parameter;
                 the cause of vectors is "no-matrix"
    tied         an object: parameter -> a list of its other names
    loss_scale   the factor that G has beside the gradient of the loss, such as that of a
                 GradScaler: the argument of record(); else, if the gradient was unscaled or clipped
                 inside the block, the factor by which it became smaller; else 1
    ranks        number of ranks of torch.distributed over which A A' is summed and G averaged
    torch        the version of PyTorch
"""
import contextlib
import json
import os
import tempfile
import warnings

import torch

from .measured import layers
from .recording import Recording
from .watch import check_model
from .weights import world_size

FORMAT = "ranklab.recording/2"


@contextlib.contextmanager
def record(model, path, loss_scale=None, reduce=True):
    """Records the forward and backward passes inside the `with` block into a file.

    loss_scale: the factor of the loss, if the block does not undo it. reduce: as in watch(); rank 0
    writes the file. An existing file is replaced, and of a link the link itself. Nothing is written
    if the block raises an exception; of two processes that write one file, the last one has it
    whole. Throws TypeError for a model that is no torch.nn.Module, ValueError for a loss scale
    that is not a positive number and a file that is not called .safetensors, and OSError for a
    missing folder, and if the file cannot be written.
    """
    check_model("record()", model)
    if loss_scale is not None and not 0 < loss_scale < float("inf"):
        raise ValueError("record(): loss_scale must be a positive number")
    path = os.path.abspath(os.fspath(path))  # the block may change the folder
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"record(): the folder {folder} does not exist; create it first")
    if os.path.isdir(path):
        raise IsADirectoryError(f"record(): {path} is a folder; name a file in it")
    if not path.endswith(".safetensors"):
        raise ValueError(f"record(): {path} must end in .safetensors")
    recording = Recording(model)
    try:
        yield
    except BaseException:
        recording.stop()
        raise
    recording.stop()
    with recording.aside([]):
        measured, others = layers(recording, reduce)
        if all(layer.why is not None for layer in measured):
            reasons = [layer.why[1] for layer in measured] + [why[1] for why in others.values()]
            first = next(iter(reasons), "the model has none")
            warnings.warn(f"record(): no matrix was measured: {first}", stacklevel=3)
        write(path, measured, others, recording, loss_scale)
        return
    raise recording.lost


def write(path, measured, others, recording, loss_scale):
    tensors, entries, scales = {}, [], []
    for layer in measured:
        entry = {"name": layer.layer(), "parameter": layer.name, "kind": layer.kind,
                 "role": layer.role, "n": layer.n, "calls": layer.calls}
        entries.append(entry)
        if layer.why is not None:
            entry["cause"], entry["reason"] = layer.why
            continue
        scale = loss_scale or 1 / recording.scales.get(layer.name, 1.0)
        entry.update(shape=list(layer.gradient.shape), blocks=layer.blocks(), loss_scale=scale)
        scales.append(scale)
        samples, name = layer.samples(), layer.layer()
        tensors[f"{name}.gradient"] = layer.gradient
        kind = ("activations" if samples is not None else
                "counts" if layer.kind == "embedding" else "second_moment")
        tensors[f"{name}.{kind}"] = layer.gram if samples is None else samples
    metadata = {
        "format": FORMAT, "layers": json.dumps(entries), "tied": json.dumps(recording.weights.tied),
        "not_seen": json.dumps({name: {"cause": cause, "reason": reason}
                                for name, (cause, reason) in others.items()}),
        "loss_scale": repr(float(loss_scale or sorted(scales or [1])[len(scales) // 2])),
        "ranks": str(world_size()), "torch": torch.__version__}
    if world_size() == 1 or torch.distributed.get_rank() == 0:
        save(path, tensors, metadata)


def save(path, tensors, metadata):
    """Writes a safetensors file: the length of the JSON header (8 bytes, little endian), the
    header, and the numbers. The file appears under its name only when it is complete."""
    header, at = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [at, at + 4 * tensor.numel()]}
        at += 4 * tensor.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder, name = os.path.split(path)
    number, partial = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".partial", dir=folder)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors.values():
                file.write(bytes_of(tensor.detach().to("cpu", torch.float32).contiguous()))
        os.chmod(partial, 0o666 & ~umask())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(partial)
        raise


def umask():
    """The permissions that new files of this process lack; mkstemp() grants only the owner's."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def bytes_of(tensor):
    """The bytes of a contiguous tensor of the CPU, without numpy."""
    import ctypes
    size = tensor.numel() * tensor.element_size()
    return bytes((ctypes.c_char * size).from_address(tensor.data_ptr())) if size else b""
