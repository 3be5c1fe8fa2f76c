"""Records what one training step shows about every weight matrix of a PyTorch model.

    import ranklab_dump
    with ranklab_dump.record(model, "dump/step100"):
        loss_fn(model(x), y).backward()

`ranklab advise dump` reads the recordings and advises, layer by layer, whether Muon pays off.
watch() measures the same ranks during training, without files.

A layer maps each sample a (a token, an image patch, a time step) to W a. If the loss has the
gradient e in W a, its gradient in W is G = sum of e a'. The recording keeps G, the second moment
(the sum of a a') and the error moment (the sum of e e'), of the latter at most 512 samples of each
call, scaled up. If there are few samples, it keeps copies of them instead of a moment. The sums are
over all calls of the layer, all its places in the model and all micro-batches during the backward
pass. No activation is kept longer than autograd keeps it. Samples
with e = 0 (padding, positions that the loss ignores) are left out. The recording lists every
parameter that it cannot observe, with the reason. An error of the recorder never ends the training
step.

Roles: an `embedding` is looked up by ids; `tied` matrices have several names in the model; the
`head` is the only matrix with one output row per row of the largest embedding table, else the last
used matrix in the order of model.named_modules(); in a model without an embedding the first used
matrix in that order is `first`; all others are `hidden`.

In data-parallel training each rank records its own share into `<folder>.rank<r>of<ranks>`.

Needs only PyTorch 1.13 or later. A TorchFunctionMode sees every call of PyTorch, except those
inside TorchScript modules. During a recording, code compiled by torch.compile runs uncompiled (from
PyTorch 2.6 on; before, it is not seen), and nn.LSTM, nn.GRU and nn.RNN are computed step by step.
"""
import contextlib
import ctypes
import fnmatch
import functools
import json
import os
import shutil
import sys
import threading
import types

try:
    import torch
    import torch.nn.functional as F
    import torch.utils.checkpoint
    from torch import nn
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.nn.utils import parametrize
    from torch.overrides import TorchFunctionMode
except ModuleNotFoundError:  # the package also installs this file on systems without PyTorch
    torch, TorchFunctionMode = None, object

FORMAT = "ranklab.recording/1"
DTYPES = {} if torch is None else {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}

# The functions that are recorded, with the names of their first arguments; the factors of a product
# come last.
SIGNATURES = {
    "linear": ("input", "weight"), "matmul": ("input", "other"), "__matmul__": ("input", "other"),
    "mm": ("input", "mat2"), "bmm": ("input", "mat2"), "addmm": ("input", "mat1", "mat2"),
    "embedding": ("weight", "indices", "padding_idx", "scale_grad_by_freq"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"),
                    ("input", "weight", "bias", "stride", "padding", "dilation", "groups"))}
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu",
             "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}
# Functions that use a weight as a matrix but are not recorded: their causes and reasons.
NOT_RECORDED = {
    "einsum": ("einsum", "used by einsum, which is not recorded"),
    "bilinear": ("bilinear", "used by a bilinear layer, which is not recorded"),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        ("transposed-convolution", "used by a transposed convolution, which is not recorded"))}
SAMPLED = 512  # most samples of a call from which the moment of the output gradients is estimated
MOST_OUTPUTS = 8192  # no such moment for matrices with more rows (the head of a vocabulary)
FEWEST_KEPT = 768  # from so many outputs on, at most half as many samples: they need no product
FEWEST_ROUNDED = 128  # second moments of fewer inputs are written as they are
PROBES = 8  # random vectors that compare the gradient of a weight with the recorded calls
BLOCK = 2 ** 22  # numbers in a block of unfolded patches or converted inputs (32 MB in float64)
LARGEST_PACKED = 1024  # largest triangle for which memory is kept (1.2 MB in bfloat16)
CACHED = 2 ** 16  # numbers in a block that stays in the cache of a core (256 KB in float32)
# A sample whose output gradient has a square below this share of the mean has no effect. A mask of
# -30 leaves 1e-26, a learned token does not.
NEGLIGIBLE = 1e-10
MOST_CHANGE = 0.1  # largest change of the stable rank by samples without an effect
MOST_NEGLIGIBLE = 0.1  # largest share of the second moment, if the change is not known
NO_TOKENS = "no-tokens", "called without a single sample (an expert without tokens)"
# Parts of a module's path that do not belong to the name of a layer: wrapped modules.
WRAPPERS = {"", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"}
# Functions whose result is the same matrix in another type, place or memory layout.
CASTS = {"to", "type", "type_as", "float", "double", "half", "bfloat16", "cuda", "cpu",
         "contiguous", "clone"}


@contextlib.contextmanager
def record(model, folder, include="*", dtype=None, replace=False, samples=None):
    """Records the forward and backward passes of `model` inside the `with` block into `folder`.

    folder: must not exist unless `replace` is true.
    include: a glob of parameter names, to record only a part of a large model.
    dtype: type of the sums; default: float64 if the output gradients are, else float32.
    samples: the most samples of each call of a layer that enter its second moment, drawn at random;
        default: all. Fewer take less time, but st(A) is low by a share of st(A) / samples up to
        twice its root.

    Nothing is written if the block raises an exception.
    """
    _need_torch()
    _check_model("record()", model)
    if dtype not in (None, torch.float32, torch.float64):
        raise ValueError("record(): dtype must be torch.float32 or torch.float64")
    _check_samples("record()", samples)
    folder, (rank, ranks) = os.fspath(folder).rstrip("/"), _rank()
    if ranks > 1:
        folder += f".rank{rank}of{ranks}"
    if os.path.exists(folder) and not replace:
        raise FileExistsError(f"{folder} exists; pass replace=True to record() to replace it")
    recording = _Recording(model, include, dtype, samples)
    try:
        with _Observer(recording):
            yield recording
    finally:
        recording.stop()
    recording.write(folder)


def watch(model, every=100, include="*", samples=None):
    """Measures the ranks of the layers during training, at the first and at each `every`-th step.

    Call step() of the result once per training step, after the backward pass:

        watcher = ranklab_dump.watch(model, every=100)
        for x, y in batches:
            optimizer.zero_grad()
            loss_fn(model(x), y).backward()
            optimizer.step()
            found = watcher.step()  # a dict for every measured step, else None

    It writes no files. Other steps run without the recorder. close(), or the end of a `with` block,
    ends it. include, samples: as in record().
    """
    _need_torch()
    _check_model("watch()", model)
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise ValueError("watch(): every must be an integer of at least 1")
    _check_samples("watch()", samples)
    return Watcher(model, every, include, samples)


class Watcher:
    """The result of watch().

    not_judged: layer -> the reason why the last measured step has no value for it.
    """

    def __init__(self, model, every, include, samples):
        self.model, self.every, self.include, self.samples = model, every, include, samples
        self.steps, self.not_judged, self.closed, self.recording = 0, {}, False, None
        self._start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def step(self):
        """Ends a training step. Returns None, or a dict of layers if the step was measured.

        A layer has the entries of measure().
        """
        if self.closed:
            return None
        recording = self._stop()
        found = None if recording is None else self._measure(recording)
        self.steps += 1
        if self.steps % self.every == 0:
            self._start()
        return found

    def close(self):
        self._stop()
        self.closed = True

    def _start(self):
        try:
            self.recording = _Recording(self.model, self.include, None, self.samples)
            self.observer = _Observer(self.recording).__enter__()
        except Exception as error:
            self.recording, self.not_judged = None, {"": _failure(error)}

    def _stop(self):
        recording, self.recording = self.recording, None
        if recording is not None:
            self.observer.leave()
            recording.stop()
        return recording

    def _measure(self, recording):
        found, self.not_judged, seen = {}, {}, set()
        try:
            for matrix, entry in recording.layers():
                seen.update([matrix.name, entry["parameter"]])
                reason = entry.get("reason") or _reason_without_effect(entry)
                values = {}
                if reason is None:
                    with recording.aside([matrix.name]):
                        values = recording.measure(matrix, entry)
                    reason = recording.refused.get(matrix.name, (None, None))[1]
                if reason is None:
                    found.update(values)
                else:
                    self.not_judged[entry["name"]] = reason
            for name in recording.parameters:
                if name not in seen:
                    cause, reason = recording.why_not_seen(name, seen)
                    if cause != "no-matrix":
                        self.not_judged[name] = reason
        except Exception as error:
            self.not_judged[""] = _failure(error)
        return found


class _Observer(TorchFunctionMode):
    """Hands every call of a built-in function of PyTorch to the recording."""

    def __init__(self, recording):
        super().__init__()
        self.recording = recording

    def leave(self):
        """Ends the mode, even if other modes were entered after it."""
        above = []
        while self in torch.overrides._get_current_function_mode_stack():
            above.append(torch.overrides._pop_mode())
        for mode in reversed(above[:-1]):
            torch.overrides._push_mode(mode)

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        # PyTorch turns the mode off in here; `with self` turns it on again.
        kwargs = kwargs or {}
        if self.recording.busy:
            return function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if name in RECURRENT and torch.is_grad_enabled():
            weights = self.recording.weights_among(args)
            try:
                if weights:
                    with self:
                        return _recurrent(name, *args)
            except Exception as error:  # PyTorch computes it, and reports errors of the caller
                self.recording.fail(weights, error)
        if (isinstance(function, types.FunctionType)
                and all(kind in (torch.Tensor, nn.Parameter) for kind in kinds)
                and _asks_for_modes(function)):
            with self:
                return _body(function)(*args, **kwargs)
        if name in SIGNATURES and torch.is_grad_enabled() and _checkpoint() == "again":
            self.recording.repeat(name, args, kwargs)
            return function(*args, **kwargs)
        out = function(*args, **kwargs)
        if isinstance(out, (torch.Tensor, list, tuple)):
            self.recording.observe(name, args, kwargs, out)
        return out


def _need_torch():
    if torch is None:
        raise ModuleNotFoundError("ranklab_dump needs PyTorch; install it with apt (python3-torch) "
                                  "or pip (torch)")


def _check_model(function, model):
    if not isinstance(model, nn.Module):
        raise TypeError(f"{function}: model must be a torch.nn.Module, not {type(model).__name__}")


def _check_samples(function, samples):
    if samples is not None and (not isinstance(samples, int) or isinstance(samples, bool)
                                or samples < 1):
        raise ValueError(f"{function}: samples must be an integer of at least 1, or None for all")


class _Refused(Exception):
    """A use of a weight that is not recorded: its cause, a stable code, and the reason."""


class _Triangle:
    """The sum of a a' over samples: its lower triangle, in blocks of rows."""

    def __init__(self, size, like):
        # More and smaller blocks would need fewer multiplications, but slower ones.
        self.step = min(256, max(64, -(-size // 8)))
        self.size, self.like, self.blocks = size, like, None

    def copy(self):
        out = _Triangle(self.size, self.like)
        out.blocks = [block.clone() for block in self.blocks]
        return out

    def add_sum(self, other):
        for own, block in zip(self.blocks, other.blocks):
            own.add_(block)

    def add(self, samples, factor=1):
        """samples: samples x size."""
        first, blocks = self.blocks is None, []
        for start in range(0, self.size, self.step):
            end = min(start + self.step, self.size)
            blocks.append(self.like.new_empty(end - start, end) if first
                          else self.blocks[len(blocks)])
            # With beta = 0 the product replaces numbers that were never set.
            blocks[-1].addmm_(samples[:, start:end].t(), samples[:, :end], alpha=factor,
                              beta=0 if first else 1)
        self.blocks = blocks

    def packed(self, dtype):
        """Row by row: (0,0), (1,0), (1,1), (2,0), ...; rounded to a type, in memory of the CPU."""
        key, rounded = (self.size, dtype), _rounded.blocks
        if key in rounded:
            blocks, rows = rounded[key]
        else:
            with torch.inference_mode(False):  # later steps write to it as well
                blocks = [torch.empty(block.shape, dtype=dtype, device="cpu")
                          for block in self.blocks]
            rows = [row for block in blocks for row in _rows(block)]
            if self.size <= LARGEST_PACKED:
                rounded[key] = blocks, rows
        for own, block in zip(blocks, self.blocks):
            own.copy_(block)
        return torch.frombuffer(bytearray().join(rows), dtype=dtype)

    def full(self):
        """The whole matrix."""
        lower = torch.cat([F.pad(b, (0, self.size - b.shape[1])) for b in self.blocks]).tril()
        return lower + lower.tril(-1).t()

    def diagonal(self):
        return torch.cat([b.diagonal(b.shape[1] - b.shape[0]) for b in self.blocks])


class _Rounded(threading.local):
    """Memory for triangles of one size and type, and its rows up to the diagonal.

    It is kept from step to step, because to find the rows takes longer than to copy them.
    """

    def __init__(self):
        self.blocks = {}


_rounded = _Rounded()


class _Moment:
    """The sum of a a' over samples.

    It keeps copies of the samples as long as they are fewer numbers than a triangle. Then no
    product is needed. More samples become a triangle.
    """

    def __init__(self, size, like):
        self.size, self.empty = size, like.new_empty(0)
        self.kept, self.count = [], 0  # matrices of samples x size
        self.triangle, self.lent = None, False
        self.whole = None  # the whole matrix, once it is asked for

    @classmethod
    def like(cls, other):
        """Without samples, of the size of another moment."""
        return cls(other.size, other.empty)

    def dtype(self):
        return self.empty.dtype

    def holds(self, count):
        """Whether it can keep this many more samples."""
        return self.triangle is None and 2 * (self.count + count) <= self.size

    def add(self, samples, factor=1, own=False):
        """samples: samples x size; factor: weight of each a a'.

        own: the samples are a copy already.
        """
        if factor > 0 and self.holds(len(samples)):
            samples = samples.to(self.dtype(), copy=not own)
            self.keep(samples if factor == 1 else samples.mul_(factor ** 0.5))
        elif len(samples):
            self.own_triangle().add(samples.to(self.dtype()), factor)

    def keep(self, samples):
        self.kept.append(samples)
        self.count += len(samples)

    def own_triangle(self):
        """The triangle, not shared with other moments, with all samples in it."""
        if self.triangle is None:
            self.triangle = _Triangle(self.size, self.empty)
        elif self.lent:
            self.triangle = self.triangle.copy()
        kept, self.kept, self.lent = self.kept, [], False
        for samples in kept:
            self.triangle.add(samples)
        return self.triangle

    def add_moment(self, other):
        """Adds another moment, which shares its numbers and must not change afterwards."""
        if other.triangle is None:
            for samples in other.kept:
                self.keep(samples) if self.holds(len(samples)) else self.add(samples)
        elif self.triangle is None and not self.kept:
            self.triangle, self.lent = other.triangle, True
        else:
            self.own_triangle().add_sum(other.triangle)

    def samples(self):
        """All samples as one matrix; None for a triangle."""
        if self.triangle is not None:
            return None
        return (self.kept[0] if len(self.kept) == 1 else torch.cat(self.kept) if self.kept
                else self.empty.new_zeros(0, self.size))

    def identity(self):
        """Equal for moments that share all their numbers."""
        return (id(self.triangle) if self.triangle is not None
                else tuple(id(samples) for samples in self.kept))

    def diagonal(self):
        if self.triangle is not None:
            return self.triangle.diagonal()
        return self.samples().square().sum(0)

    def trace(self):
        return float(self.diagonal().sum())

    def full(self):
        """The whole matrix."""
        if self.whole is None:
            samples = self.samples()
            self.whole = self.triangle.full() if samples is None else samples.t() @ samples
        return self.whole

    def part(self, rows):
        """The moment of some features."""
        out = _Moment(rows.stop - rows.start, self.empty)
        if self.triangle is None:
            out.kept = [self.samples()[:, rows]]
        else:
            out.triangle, out.whole = self.triangle, self.full()[rows, rows]
        return out

    def form(self, d, other):
        """tr(d M d' B) with the moment B."""
        mine, others = self.samples(), other.samples()
        if others is not None:
            d = others @ d
        if mine is not None:
            d = d @ mine.t()
        left = d if others is not None else other.full() @ d
        right = d if mine is not None else d @ self.full()
        return float((left * right).sum())

    def times(self, v):
        samples = self.samples()
        return self.full() @ v if samples is None else samples.t() @ (samples @ v)

    def largest_eigenvalue(self, part=None):
        """Of the moment, or of what is left of it without a part."""
        return _largest_eigenvalue(
            self.empty.new_zeros(self.size),
            self.times if part is None else lambda v: self.times(v) - part.times(v))

    def short_type(self):
        """The type in which the second moment of inputs is written.

        Small ones and sums in float64 are not rounded. float16 has three more bits than bfloat16,
        but is used only if the whole diagonal is within its range.
        """
        if self.size < FEWEST_ROUNDED or self.dtype() == torch.float64:
            return self.dtype()
        limits, samples, squares = torch.finfo(torch.float16), self.samples(), self.diagonal()
        if not squares.all():
            squares = squares[squares != 0]
        if not len(squares):
            return torch.bfloat16
        least, most = map(float, torch.aminmax(squares))
        if samples is None:
            fits = limits.tiny <= least and most <= limits.max
        else:  # an entry that is small for its feature may lose bits
            fits = (limits.tiny ** 2 * len(samples) <= least
                    and max(map(abs, map(float, torch.aminmax(samples)))) <= limits.max)
        return torch.float16 if fits else torch.bfloat16

    def tensor(self, dtype):
        """(whether they are samples, samples x size or a packed triangle), rounded to a type."""
        samples = self.samples()
        return ((True, samples.to(dtype)) if samples is not None
                else (False, self.triangle.packed(dtype)))


class _Held:
    """An input of a call: kept until its gradient arrives, then only while autograd keeps it.

    A second backward pass through a retained graph needs it again.
    """

    def __init__(self, tensor):
        self.tensor = tensor.detach()

    def take(self):
        if self.tensor is None:
            storage = torch.UntypedStorage._new_with_weak_ptr(self.storage.cdata)
            if storage is None:
                raise _Refused("inputs-freed", "its inputs were freed before its gradient arrived")
            return self.like.new_empty(0).set_(storage, *self.place)
        tensor, self.tensor = self.tensor, None
        self.storage, self.like = StorageWeakRef(_storage(tensor)), tensor.new_empty(0)
        self.place = tensor.storage_offset(), tensor.shape, tensor.stride()
        return tensor


class _Input:
    """A tensor that several calls take as their input: q, k and v of attention, for example.

    The first call whose gradient arrives sums the second moment for all of them.
    """

    def __init__(self, key, storage):
        self.key, self.storage, self.calls = key, storage, 0
        self.moment = self.used = self.factor = None

    def add_to(self, total, blocks, used, drawn, factor):
        """Adds the second moment of the drawn samples to a total; False if it must sum them."""
        self.calls -= 1
        if self.moment is None:
            if self.calls <= 0:
                return False
            moment = _Moment.like(total)
            for block, rows in zip(blocks, _split(drawn, blocks)):
                every = bool(rows.all())
                moment.add((block if every else block[rows]).to(total.dtype()), factor,
                           own=not every)
            self.moment, self.used, self.factor = moment, used, factor
        moment, before = self.moment, self.used
        if self.calls <= 0:
            self.moment = self.used = None
        # The other calls may use some more or fewer samples: the gradient of the first query of
        # causal attention is 0.
        differ = int((used != before).sum())
        if moment.dtype() != total.dtype() or differ > len(used) // 8:
            return False
        if differ == 0:
            total.add_moment(moment)
            return True
        if moment.triangle is None or max(factor, self.factor) > 1:
            return False
        fewer, more = (
            torch.cat([b[rows] for b, rows in zip(blocks, _split(mask, blocks))]).to(total.dtype())
            for mask in (before & ~used, used & ~before))
        if len(fewer) and not _square(fewer) < moment.trace() / 4:  # the difference is not exact
            return False
        total.add_moment(moment)
        for samples, factor in (fewer, -1), (more, 1):
            if len(samples):
                total.add(samples, factor)
        return True


class _Matrix:
    """The sums for one block of rows of a parameter, used as a matrix or as an embedding."""

    def __init__(self, name, kind, place):
        self.name, self.kind = name, kind
        self.first_row, self.rows, self.transposed = place
        self.moment = self.error_moment = self.sketch = self.probe = self.products = None
        self.samples = self.dropped = self.calls = self.input_samples = self.error_samples = 0
        self.squares = 0.0  # of the output gradients of all samples
        # Samples without an effect: their number and their part of the moment.
        self.negligible, self.faint = 0, None
        # For each call the largest square of an output gradient, and of its other samples the
        # number and the trace of their moment; filled from the second call on.
        self.by_call = []
        self.recomputed = []  # inputs of calls that a checkpointed region repeats

    def add(self, blocks, errors, dtype, random, most=None, shared=None):
        """Adds the samples of one call.

        blocks: matrices of samples x k, one after another (for an embedding: ids).
        shared: an _Input if other calls have the same blocks.
        errors: samples x m, the gradient of the loss in the outputs.
        random: _Random.
        most: the most samples in the second moment of the inputs; None: all.
        """
        errors = errors.to(dtype if self.moment is None else self.sketch.dtype)
        squares = torch.linalg.vector_norm(errors, dim=1).double().square()
        used = squares > 0
        # One transfer from the device for all three.
        kept, total, largest = torch.stack([used.double().sum(), squares.sum(),
                                            F.pad(squares, (0, 1)).max()]).tolist()
        kept = int(kept)
        self.calls += 1
        self.samples += kept
        self.dropped += len(used) - kept
        self.squares += total
        negligible = used & (squares < self.least_square())
        faint = int(negligible.sum())
        self.negligible += faint
        if self.calls == 2:
            self.by_call[0][-1] = self.trace(self.moment) - self.trace(self.faint)
        self.by_call.append([largest, kept - faint, 0.0])
        drawn, factor = used, 1
        if most is not None and kept > most and self.kind != "embedding":
            drawn, factor = torch.zeros_like(used), kept / most
            drawn[random.sample(squares, used, most)] = True
        self.input_samples += kept if factor == 1 else most
        at, added = 0, False
        for inputs in blocks:
            rows = slice(at, at + len(inputs))
            if self.moment is None:
                size = self.rows if self.kind == "embedding" else inputs.shape[1]
                self.start(size, errors, random)
            if at == 0 and shared is not None:
                added = shared.add_to(self.moment, blocks, used, drawn, factor)
            self.add_block(inputs, errors[rows], used[rows] if kept < len(used) else None,
                           negligible[rows] if faint else None, drawn[rows], factor, added)
            at = rows.stop
        if self.error_moment is not None and kept:
            drawn = random.sample(squares, used, self.most_errors())
            self.error_moment.add(errors[drawn], kept / len(drawn), own=True)
            self.error_samples += len(drawn)

    def start(self, size, errors, random):
        outputs = errors.shape[1]
        self.probe, self.sketch = random.probe(size, errors), errors.new_zeros(PROBES, outputs)
        if self.kind == "embedding":  # inputs are ids of one-hot vectors: a diagonal moment
            self.moment = errors.new_zeros(size)
        else:
            self.moment = _Moment(size, errors)
            if outputs <= min(MOST_OUTPUTS, 8 * size):
                self.error_moment = _Moment(outputs, errors)

    def most_errors(self):
        """The most samples of a call from which the moment of the output gradients is summed.

        Fewer if a product is then not needed, and for a matrix with many more outputs than inputs,
        so that it takes 3.5 bytes per parameter.
        """
        size, outputs = self.moment.size, self.error_moment.size
        most = outputs // 2 if outputs >= FEWEST_KEPT else SAMPLED
        if size >= FEWEST_ROUNDED and 2 * outputs > 7 * size:
            most = min(most, 7 * size // 4)
        return min(SAMPLED, most)

    def add_block(self, inputs, errors, used, negligible, drawn, factor, added):
        """used: None if all are; negligible: None if none is.

        drawn: the samples for the second moment; added: whether it contains them already.
        factor: their weight, greater than 1 if they are only a part of the used samples.
        """
        if negligible is not None:
            faint = inputs[negligible & drawn]
            if self.faint is None:
                self.faint = (torch.zeros_like(self.moment) if self.kind == "embedding"
                              else _Moment.like(self.moment))
            if self.kind == "embedding":
                self.faint += torch.bincount(faint, minlength=len(self.faint))
            else:
                self.faint.add(faint.to(self.sketch.dtype), factor, own=True)
        if self.calls > 1:
            others = inputs if used is None else inputs[used]
            if negligible is not None:
                others = inputs[~negligible if used is None else used & ~negligible]
            self.by_call[-1][-1] += (len(others) if self.kind == "embedding"
                                     else _square(others.to(self.sketch.dtype)))
        if not added and factor > 1:
            self.moment.add(inputs[drawn].to(self.sketch.dtype), factor, own=True)
        every = used is None or bool(used.all())
        if not every:
            inputs, errors = inputs[used], errors[used]
        if self.kind == "embedding":
            self.moment += torch.bincount(inputs, minlength=len(self.moment))
            seen = self.probe[inputs]
        else:
            inputs = inputs.to(self.sketch.dtype)
            if not added and factor == 1:
                self.moment.add(inputs, own=not every)
            seen = _times(inputs, self.probe)
        _add_product(self.sketch, seen, errors)

    def least_square(self):
        """Samples below it have no effect: their output gradients have smaller squares."""
        return NEGLIGIBLE * self.squares / max(self.samples, 1)

    def trace(self, moment):
        if moment is None:
            return 0.0
        return float(moment.sum()) if self.kind == "embedding" else moment.trace()

    def without_effect(self):
        """What the samples without an effect are, as entries of the recording.

        negligible_samples, negligible_share: their number, and their share of the trace of the
        second moment. negligible_change: the stable rank without them over that with them; not
        known for calls that look negligible only after later calls, unless they are few.
        """
        late = [call for call in self.by_call if call[0] < self.least_square()]
        count = self.negligible + sum(call[1] for call in late)
        trace = self.trace(self.moment)
        late_trace = sum(call[2] for call in late)
        share = (self.trace(self.faint) + late_trace) / trace if trace else 0.0
        out = {"negligible_samples": count, "negligible_share": share}
        # The largest eigenvalue changes by at most the share times the rank.
        if late_trace <= trace / 100 and share * min(self.samples, self.size()) > MOST_CHANGE / 2:
            if self.kind == "embedding":
                rest = self.moment - self.faint
                change = float(self.moment.max() / rest.max())
            else:
                change = (self.moment.largest_eigenvalue()
                          / self.moment.largest_eigenvalue(self.faint))
            out["negligible_change"] = (1 - share) * change
        return out

    def size(self):
        return len(self.moment) if self.kind == "embedding" else self.moment.size

    def part(self, tensor):
        """The rows of a tensor shaped like the parameter, as the matrix m x k of this use."""
        if self.kind == "convolution":
            return tensor.reshape(len(tensor), -1)
        rows = tensor.reshape(-1, tensor.shape[-1])[self.first_row:self.first_row + self.rows]
        return rows.t() if self.transposed != (self.kind == "embedding") else rows


class _Random:
    """Random numbers of a recording: always the same, and apart from the generators of PyTorch."""

    def __init__(self):
        self.generator, self.probes = torch.Generator().manual_seed(0), {}

    def sample(self, squares, used, most):
        """Places of at most `most` used samples, all with the same probability.

        They are at equal distances in the order of their squares, so that the sum of these squares,
        scaled up, is nearly that of all samples.
        """
        places = used.nonzero()[:, 0]
        count = len(places)
        if count <= most:
            return places
        shuffled = places[torch.randperm(count, generator=self.generator).to(places.device)]
        order = shuffled[squares[shuffled].argsort()]  # equal ones are in random order
        start = torch.rand((), generator=self.generator, dtype=torch.float64)
        chosen = ((torch.arange(most, dtype=torch.float64) + start) * (count / most)).long()
        return order[chosen.clamp(max=count - 1).to(order.device)]

    def probe(self, size, like):
        """Fixed normal vectors, size x PROBES."""
        key = size, like.dtype, like.device
        if key not in self.probes:
            self.probes[key] = torch.randn(
                size, PROBES, generator=torch.Generator().manual_seed(size)).to(like)
        return self.probes[key]


class _Origin:
    """What a tensor computed from weights alone is made of.

    source: the tensor of which it is a cast; name: the weight that it is, if a parametrization
    computed it. Neither is set for any other function of weights. version: of the tensor; after a
    change in place it is another one, and the tensor no longer what it was.
    """

    def __init__(self, recording, names, version, source=None, name=None):
        self.recording, self.names, self.source, self.name = recording, names, source, name
        self.version = version

    def __reduce__(self):  # a tensor that has it may be saved with the model
        return type(None), ()


class _Hook:
    """A forward hook. The one in a copy of the module does nothing."""

    def __init__(self, function):
        self.function = function

    def __call__(self, _module, _inputs, out):
        if self.function is not None:
            self.function(out)

    def __deepcopy__(self, _):
        return _Hook(None)


class _Recording:
    def __init__(self, model, include, dtype, most):
        self.include, self.dtype, self.most = include, dtype, most
        self.parameters, self.known, self.tied, self.order = {}, {}, {}, {}
        # The causes of refusals: parameter name -> (code, sentence).
        self.refused, self.touched = {}, {}
        self.matrices, self.sizes, self.gradients, self.random = {}, {}, {}, _Random()
        self.listening, self.busy, self.inputs = set(), False, {}
        self.waiting = []  # checkpointed calls whose gradient arrived before their inputs
        # Uses of all weights, recorded or not: they decide the roles.
        self.uses, self.tables, self.without_grad, self.fed = {}, {}, set(), set()
        self.arrived, self.scales, self.lost = False, {}, None
        self.twice, self.reshaped = set(), set()  # second derivatives; vectors used as matrices
        self.rank, self.ranks = _rank()
        # Weights computed by a parametrization: name -> names of the parameters behind it.
        self.computed, self.attributes, self.hooks = {}, [], []
        self.marked = False  # whether a tensor has an _Origin
        self.sees_compiled = _can_run_uncompiled()
        # Parameters of FSDP: module and attribute that hold the numbers during the forward pass, by
        # name; those that are known to be whole or shards, or are computed with in another type.
        self.holders, self.whole, self.shards, self.converted = {}, set(), set(), set()
        for path, module in model.named_modules():
            prefix = "".join(part + "." for part in path.split(".") if part not in WRAPPERS)
            try:
                self.add_module(prefix, module)
            except Exception as error:
                self.fail([name for name in self.parameters if name.startswith(prefix)], error)
        self.before, self.places = {}, {}  # gradients before the recording that are not 0
        if self.holders and not any(self.parameters[name].dim() > 1 for name in self.holders):
            self.shards.update(self.parameters[name] for name in self.holders)
        for name, parameter in self.parameters.items():
            try:
                self.check_type(name, parameter)
                if parameter.grad is not None and _any(_whole(parameter.grad)):
                    self.before[name] = _whole(parameter.grad).clone()
                if parameter.numel() and _address(parameter) is not None:
                    self.places.setdefault(_address(parameter), []).append(name)
            except Exception as error:
                self.fail([name], error)
        self.frozen = {}
        for address, names in self.places.items():
            matrices = [name for name in names if self.parameters[name].dim() > 1
                        and not self.parameters[name].requires_grad]
            if matrices:
                self.frozen[address] = matrices
        # Last, so that an error above does not leave it on.
        self.uncompiled = (torch.compiler.set_stance("force_eager") if self.sees_compiled
                           else contextlib.nullcontext())

    def add_module(self, prefix, module):
        if isinstance(module, torch.jit.ScriptModule) or not self.sees_compiled and (
                type(module).__name__ == "OptimizedModule"
                or getattr(module, "_compiled_call_impl", None) is not None):
            for name, _ in module.named_parameters():
                self.refuse(prefix + name, "compiled", "inside a module compiled by TorchScript, "
                            "or by torch.compile before PyTorch 2.6, whose calls cannot be seen")
        if type(module).__name__ == "FullyShardedDataParallel":
            self.add_flat(module)
        if parametrize.is_parametrized(module):
            for own, weight in module.parametrizations.items():
                inside = f"{prefix}parametrizations.{own}."
                self.add_computed(prefix + own, inside, [n for n, _ in weight.named_parameters()])
                self.hooks.append(weight.register_forward_hook(
                    _Hook(functools.partial(self.mark_computed, prefix + own))))
        parameters = dict(module.named_parameters(recurse=False))
        for own, parameter in parameters.items():
            name = prefix + own
            first = self.known.setdefault(parameter, name)
            if first != name:
                self.tied.setdefault(first, []).append(name)
                continue
            self.parameters[name] = parameter
            self.order.setdefault(name, len(self.order))
            if getattr(parameter, "_fsdp_flattened", False):
                self.holders[name] = module, own
            # Older parametrizations store the computed weight as a plain attribute.
            for end in ("_orig", "_v"):
                plain = own[:-len(end)]
                if own.endswith(end) and isinstance(vars(module).get(plain), torch.Tensor):
                    self.attributes.append((module, plain, prefix + plain))
                    self.add_computed(prefix + plain, prefix,
                                      [n for n in parameters if n.startswith(plain + "_")])

    def add_flat(self, module):
        """Notes which parameters of an FSDP module are whole and which are shards of a matrix."""
        flat = getattr(module._handle, "flat_param", None)  # None without parameters of its own
        for parameter, shape in zip(getattr(flat, "_params", None) or (),
                                    getattr(flat, "_shapes", ())):
            known = self.whole if len(shape) < 2 or parameter.shape == shape else self.shards
            known.add(parameter)
            if module._handle._uses_param_mixed_precision:
                self.converted.add(parameter)

    def add_computed(self, name, prefix, owns):
        self.computed[name] = [prefix + own for own in owns]
        self.order.setdefault(name, len(self.order))

    def check_type(self, name, parameter):
        """Refuses parameters that hold no whole real matrix."""
        kind = type(parameter).__name__
        if "Uninitialized" in kind:
            self.refuse(name, "uninitialized", "a lazy parameter without a shape; call the model "
                        "once before the recording")
        elif (kind in ("FlatParameter", "DTensor") or hasattr(parameter, "_sharded_size")
              or parameter in self.shards - self.whole):
            self.refuse(name, "sharded", "sharded (FSDP or DTensor): no process has the whole "
                        "gradient of the matrix; record under DDP, or under FSDP with NO_SHARD and "
                        "use_orig_params=True")
        elif parameter in self.converted:
            self.refuse(name, "mixed-precision", "used as a copy in another type "
                        "(MixedPrecision of FSDP); record with torch.autocast instead")
        elif parameter.is_complex():
            self.refuse(name, "complex", "a complex matrix, which is not recorded")

    def __reduce__(self):  # like _Origin
        return type(None), ()

    def stop(self):
        """Ends the recording."""
        self.uncompiled.__exit__(None, None, None)
        with self.aside([matrix.name for matrix, _ in self.waiting]):
            self.settle()
        for matrix, _ in self.waiting:
            self.refuse(matrix.name, "inputs-freed", "its inputs were freed before its gradient "
                        "arrived")
        self.waiting = []
        for shared in self.inputs.values():
            shared.moment = None
        self.inputs.clear()
        for hook in self.hooks:
            hook.remove()

    def refuse(self, name, cause, reason):
        self.refused.setdefault(name, (cause, reason))

    def fail(self, names, error):
        for name in names:
            self.refuse(name, *(error.args if isinstance(error, _Refused) else (
                "recorder-error", _failure(error))))

    # Which weight a tensor is -------------------------------------------------------------------

    def mark_computed(self, name, out):
        """Remembers the result of a parametrization."""
        if isinstance(out, torch.Tensor):
            self.mark(out, self.computed[name], name=name)

    def mark(self, tensor, names, **more):
        tensor._ranklab_origin = _Origin(self, names, tensor._version, **more)
        self.marked = True

    def origin(self, tensor):
        """(origin, the tensor that carries it) of a tensor or of the tensor that it views."""
        if not self.marked and not self.attributes:
            return None, None
        for base in (tensor, tensor._base):
            for module, own, name in self.attributes if base is not None else ():
                if vars(module).get(own) is base:
                    return _Origin(self, self.computed[name], base._version, name=name), base
            found = getattr(base, "_ranklab_origin", None)
            if (found is not None and found.recording is self
                    and found.version == base._version):
                return found, base
        return None, None

    def names(self, tensor):
        """Names of the parameters of which alone the tensor is a view, a cast or a function."""
        if torch.is_grad_enabled() and not tensor.requires_grad:
            return []
        origin, _ = self.origin(tensor)
        if origin is not None:
            return origin.names
        found = self.places.get(_address(tensor), [])
        if len(found) < 2 or not self.holders:
            return found
        return [name for name in found if _overlap(tensor, self.parameters[name])]

    def locate(self, weight, match):
        """(name, (first row, rows, transposed), weight) of the weight with a tensor, or None.

        match(tensor, weight): the place of the tensor in the weight, or None.
        """
        if torch.is_grad_enabled() and not weight.requires_grad:
            return None
        origin, base = self.origin(weight)
        if origin is None:
            candidates = [(n, self.parameters[n]) for n in self.places.get(_address(weight), ())]
        elif origin.name is not None:
            candidates = [(origin.name, base)]
        elif origin.source is None:
            return None
        elif origin.source.stride() == base.stride():  # take the same view of the cast tensor
            start = origin.source.storage_offset() - base.storage_offset()
            return self.locate(origin.source.as_strided(
                weight.shape, weight.stride(), weight.storage_offset() + start), match)
        elif _whole_of(weight, base):  # in another layout only the whole matrix can be followed
            return self.locate(origin.source, match)
        elif base.dim() == 2 and _whole_of(weight, base.t()):
            return self.locate(origin.source.t(), match)
        else:
            return None
        for name, whole in candidates:
            place = match(weight, whole)
            if place is not None:
                return name, place, whole
            if whole.dim() < 2 and min(weight.shape) > 1 and _overlap(weight, whole) and (
                    weight.numel() <= whole.numel()):  # no copies of a vector, as of a state
                self.reshaped.add(name)
        return None

    def matrix(self, weight):
        return self.locate(weight, _rows_of) if weight.dim() == 2 else None

    # Uses ---------------------------------------------------------------------------------------

    def observe(self, function, args, more, out):
        """Notes what one call of a built-in function does with weights; never raises."""
        names = []
        try:
            first = out if isinstance(out, torch.Tensor) else next(_tensors([out]), None)
            if first is None:
                return
            operands = list(_tensors([*args, *more.values()]))
            if self.frozen and function in SIGNATURES:
                self.use_frozen(function, operands)
            made_of = [self.names(tensor) for tensor in operands]
            if not any(made_of):
                return
            names = list(dict.fromkeys(name for each in made_of for name in each))
            if not torch.is_grad_enabled():
                if function in SIGNATURES or function in RECURRENT or function in NOT_RECORDED:
                    self.without_grad.update(names)
                return
            in_place = (function.endswith("_") and function != "requires_grad_"
                        and any(first is tensor for tensor in operands))
            view = not in_place and first.numel() and _address(first) is not None and (
                _address(first) in [_address(t) for t in operands])
            if view or not first.requires_grad:
                return
            if function in CASTS:
                if made_of[0] and first.shape == operands[0].shape:
                    self.mark(first, names, source=operands[0])
            elif function in NOT_RECORDED:
                raise _Refused(*NOT_RECORDED[function])
            elif function in SIGNATURES and self.use(function, args, more, first):
                for name in names:  # a learned query is an input
                    if name not in self.uses and name not in self.tables:
                        self.touched.setdefault(name, function.strip("_"))
            else:
                pair = made_of[1:3] if function == "addmm" else made_of[:2]
                use = function.strip("_") + (" with another parameter"
                                             if function in SIGNATURES and all(pair) else "")
                for name in names:
                    self.touched.setdefault(name, use)
                if all(each or tensor.dim() == 0 for tensor, each in zip(operands, made_of)):
                    for tensor in _tensors([out]):
                        self.mark(tensor, names)
        except Exception as error:
            self.fail(names, error)
            self.lost = self.lost if names else error

    def use_frozen(self, function, operands):
        """Notes a use of a matrix without a gradient: it may be the first or the last."""
        for tensor in operands:
            for name in self.frozen.get(_address(tensor), ()):
                parameter = self.parameters[name]
                if function == "embedding":
                    self.tables[name] = len(parameter)
                else:
                    self.uses[name] = {parameter.shape[0], *(
                        () if function == "linear" or function.startswith("conv")
                        else parameter.shape[-1:])}

    def repeat(self, function, args, more):
        """Keeps the input of a call that a checkpointed region repeats for its backward pass."""
        with contextlib.suppress(Exception):  # then the input is missing when the gradient arrives
            self.use(function, args, more, None)

    def use(self, function, args, more, out):
        """Records a call that uses a weight as a matrix; False if it cannot be recorded."""
        spellings = SIGNATURES[function]
        given = {**dict(zip(spellings, args)), **more}
        if function == "embedding":
            return self.embedding(given["weight"], given["indices"],
                                  given.get("padding_idx", -1),
                                  given.get("scale_grad_by_freq", False), out)
        if function.startswith("conv"):
            return self.convolution(out=out, **given)
        left, right = (given[name] for name in spellings[-2:])
        return self.product(left, right.t() if function == "linear" else right, out)

    def record_use(self, found, kind, value, output, inputs_of,
                   errors_of=lambda g: g.reshape(-1, g.shape[-1]), shares=False):
        """Records one use of the weight `found` (a result of locate()).

        Once the gradient in `output` arrives, inputs_of(value) returns blocks of samples x k, and
        errors_of turns the gradient into samples x m. Without an output, the call is about to be
        repeated for a backward pass. shares: whether inputs_of is the same for all such calls.
        """
        name, place, whole = found
        key = name, kind, place
        if output is None:
            if key in self.matrices:
                self.matrices[key].recomputed.append(value.detach())
            return
        self.sizes[name] = size = tuple(whole.shape)
        if kind == "embedding":
            self.tables[name] = size[0]
        else:
            self.uses.setdefault(name, set()).add(size[-1] if place[2] else place[1])
        if output.numel():
            self.fed.add(name)
        if output.is_complex() or not self.included(name):
            return
        self.listen(name, whole)
        matrix, node = self.matrices.setdefault(key, _Matrix(*key)), self.node(name, whole)
        checkpointed = _checkpoint() == "forward"
        held = None if checkpointed else _Held(value)
        shared = self.input(value) if shares and not checkpointed else None

        def add_gradient(_, gradients):
            if torch.is_grad_enabled():  # create_graph=True
                self.twice.add(name)
            # A backward pass for other inputs alone, such as torch.autograd.grad(loss, x), has no
            # part in the gradient of the weight.
            if gradients[0] is None or not _is_wanted(node):
                return
            with self.aside([name]):
                self.arrived = True
                self.settle()
                add = lambda inputs: matrix.add(inputs_of(inputs), errors_of(gradients[0]),
                                                self.type_of(gradients[0]), self.random, self.most,
                                                shared)
                if checkpointed:
                    self.waiting.append((matrix, add))
                    self.settle()
                else:
                    add(held.take())
                if shared is not None and shared.calls <= 0:
                    self.inputs.pop(shared.key, None)

        # A hook on the node, not the tensor: later in-place changes of the output do not affect it.
        output.grad_fn.register_hook(add_gradient)

    def node(self, name, whole):
        """The node of the graph at which the gradient of a weight arrives."""
        whole = self.seen_by_autograd(name, whole)
        if whole.grad_fn is not None:
            return whole.grad_fn
        busy, self.busy = self.busy, True
        try:
            return whole.view_as(whole).grad_fn.next_functions[0][0]
        finally:
            self.busy = busy

    def seen_by_autograd(self, name, whole):
        """FSDP computes with views of a flat parameter, new in each pass."""
        module, own = self.holders.get(name, (None, None))
        return whole if module is None else vars(module).get(own, whole)

    def input(self, value):
        """The _Input of a tensor, which has one call more, or None."""
        with contextlib.suppress(Exception):  # then each call sums its own inputs
            storage = StorageWeakRef(_storage(value))  # its address is not used again as long as
            key = (storage.cdata, value._version, value.storage_offset(), value.shape,  # it exists
                   value.stride(), value.dtype)
            shared = self.inputs.setdefault(key, _Input(key, storage))
            shared.calls += 1
            return shared

    def settle(self):
        """Adds checkpointed calls whose gradient has arrived and whose inputs are known again.

        PyTorch repeats a region before or shortly after the first gradient arrives in it. The
        gradients arrive in the reverse order of the calls.
        """
        waiting, self.waiting = self.waiting, []
        for matrix, add in waiting:
            if not matrix.recomputed:
                self.waiting.append((matrix, add))
                continue
            with self.aside([matrix.name]):
                add(matrix.recomputed.pop())

    @contextlib.contextmanager
    def aside(self, names):
        """Work of the recorder: not observed, without gradients, and its errors are kept."""
        busy, self.busy = self.busy, True
        try:
            with self.unobserved(), torch.no_grad(), torch.autocast("cpu", enabled=False), (
                    torch.autocast("cuda", enabled=False) if torch.is_autocast_enabled()
                    else contextlib.nullcontext()):
                yield
        except Exception as error:
            self.fail(names, error)
        finally:
            self.busy = busy

    @contextlib.contextmanager
    def unobserved(self):
        """Takes the mode away: it costs each call as much as a small operation."""
        modes = torch.overrides._get_current_function_mode_stack()
        own = modes and isinstance(modes[-1], _Observer) and modes[-1].recording is self
        if own:
            torch.overrides._pop_mode()
        try:
            yield
        finally:
            if own:
                torch.overrides._push_mode(modes[-1])

    def type_of(self, gradient):
        return self.dtype or torch.promote_types(gradient.dtype, torch.float32)

    def listen(self, name, whole):
        """Sums the gradients that arrive in a weight during all backward passes."""
        whole = self.seen_by_autograd(name, whole)
        if name in self.listening or getattr(whole, "_ranklab_listener", None) is self:
            return
        if whole is self.parameters.get(name):
            self.listening.add(name)
        else:
            whole._ranklab_listener = self

        def add_gradient(gradient):
            with self.aside([name]):
                gradient, total = _whole(gradient), self.gradients.get(name)
                if total is None:
                    self.gradients[name] = gradient.to(self.type_of(gradient), copy=True)
                else:
                    total.add_(gradient)

        # A hook of a tensor that is an attribute of a module would be saved with the model.
        if any(vars(module).get(own) is whole for module, own, _ in self.attributes) and hasattr(
                whole.grad_fn, "register_prehook"):
            place = whole.output_nr
            self.hooks.append(whole.grad_fn.register_prehook(
                lambda gradients: add_gradient(gradients[place])))
        else:
            self.hooks.append(whole.register_hook(add_gradient))

    # Functions that use weights -----------------------------------------------------------------

    def product(self, left, right, out):
        """out = left @ right, where one factor is a weight or a stack of weights."""
        both = self.names(left) and self.names(right)
        if right.dim() < 2:
            raise _Refused("vector", "used in a product with a vector, which is not recorded")
        # A parameter with a batch axis is a sample (a learned query). Two matrices of parameters
        # are a regularizer or a product of weights, and their rows are no samples.
        if both and left.dim() == right.dim() and not self.is_state(left, right):
            return False
        if any(t.layout != torch.strided or t.is_nested for t in (left, right)):
            raise _Refused("sparse-input", "its input is a sparse or nested tensor, which is not "
                           "recorded")
        of_right = self.matrix(right.t()) if right.dim() == 2 else None
        of_left = self.matrix(left) if left.dim() == 2 else None
        stack = [self.matrix(w.t()) for w in right] if right.dim() == left.dim() == 3 else [None]
        rows = lambda t: _blocks(t.reshape(-1, t.shape[-1]))
        columns = lambda t: t.transpose(-1, -2).reshape(-1, t.shape[-2])
        if of_right is not None:
            self.record_use(of_right, "matrix", left, out, rows, shares=True)
        elif of_left is not None:
            self.record_use(of_left, "matrix", right, out, lambda t: _blocks(columns(t)), columns)
        elif None not in stack:
            for e, found in enumerate(stack):
                self.record_use(found, "matrix", left, out, lambda t, e=e: rows(t[e]),
                                lambda g, e=e: g[e])
        elif left.dim() > 2 and right.dim() > 2:
            raise _Refused("batched-product", "used in a batched product, which is not recorded")
        else:
            return False
        return True

    def is_state(self, left, right):
        """Whether the left factor is a parameter of one row, such as a learned initial state."""
        names = self.names(left)
        return not set(names) & set(self.names(right)) and all(
            self.parameters[name].numel() == self.parameters[name].shape[-1] for name in names)

    def embedding(self, weight, ids, padding, by_frequency, out):
        found = self.matrix(weight)
        if found is None:
            return False
        if by_frequency:
            raise _Refused("scaled-by-frequency", "an embedding with scale_grad_by_freq=True, "
                           "whose gradient is not the sum over its samples")

        def errors_of(g):
            g = g.reshape(-1, g.shape[-1])
            return g if padding < 0 else g * (ids.reshape(-1, 1) != padding)

        self.record_use(found, "embedding", ids, out, lambda t: [t.reshape(-1)], errors_of)
        return True

    def convolution(self, input, weight, out, bias=None, stride=1, padding=0, dilation=1, groups=1):
        found = self.locate(weight, _whole_of)
        if found is None:
            return False
        if groups != 1:
            raise _Refused("grouped-convolution", f"a convolution with {groups} groups "
                           f"({groups} matrices), which is not recorded")
        dims = weight.dim() - 2
        each = lambda v: (v,) * dims if isinstance(v, int) else tuple(v) * (dims // len(v) or 1)
        steps, gaps, (rows, _, *kernel) = each(stride), each(dilation), weight.shape
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(gaps, kernel)]
            pads = [(t // 2, t - t // 2) for t in total]
        else:
            pads = [(p, p) for p in each(0 if padding == "valid" else padding)]
        batched = lambda t: t if t.dim() == dims + 2 else t.unsqueeze(0)
        self.record_use(found, "convolution", input, out,
                        lambda x: _patches(batched(x), kernel, steps, pads, gaps),
                        lambda g: batched(g).movedim(1, 0).reshape(rows, -1).t())
        return True

    def weights_among(self, args):
        try:
            return [name for tensor in _tensors(args) for name in self.names(tensor)]
        except Exception:
            return []

    # The recording ------------------------------------------------------------------------------

    def included(self, name):
        return any(fnmatch.fnmatch(n, self.include) for n in [name, *self.computed.get(name, ())])

    def judge(self, name):
        """(cause, reason) why the recorded uses are not the gradient of a weight, or None."""
        uses = sorted((m for m in self.matrices.values()
                       if m.name == name and m.moment is not None), key=lambda m: m.first_row)
        kinds = {m.kind for m in uses}
        if "embedding" in kinds and len(kinds) > 1:
            return ("tied", "tied: its gradient sums its uses as an embedding and as a matrix, "
                    "which have different inputs")
        if len({m.transposed for m in uses}) > 1:
            return ("both-orientations", "used both as W and as its transpose, which have "
                    "different inputs")
        if any(a.first_row + a.rows > b.first_row for a, b in zip(uses, uses[1:])):
            return ("overlap", "its uses overlap: some use more rows than others")
        # The gradient that arrived, and the one that the calls explain, both times random vectors.
        total = self.gradients[name]
        parts = [m.part(total).to(m.sketch.dtype) for m in uses]
        calls = torch.cat([m.sketch.flatten() for m in uses])
        arrived = torch.cat([self.products(m).t().flatten() for m in uses])
        used = sum(part.numel() for part in parts)
        unused = (0 if used == total.numel()  # else the squares of the rows that no call has used
                  else max(_square(total) - sum(map(_square, parts)), 0))
        cosine, own = _compare(calls, arrived, PROBES * unused)
        scale, kept = own, 1.0
        # The gradient that arrived, and the one that the optimizer sees, unless it is cleared.
        parameter = self.parameters.get(name)
        if parameter is not None and parameter.grad is not None and self.ranks == 1:
            final, before = _whole(parameter.grad).to(total.dtype), self.before.get(name)
            if not _same(final, total) and final.any():
                candidates = [final] if before is None else [final, final - before.to(total.dtype)]
                kept, changed = max(_compare(total, each) for each in candidates)
                scale = own * changed
        if min(cosine, kept) >= 0.999:
            self.scales[name] = own if abs(own - 1) > 0.01 else 1, scale
            return None
        if name in self.touched and cosine < 0.999:
            return ("other-use", f"its gradient has a regularizer or another use ("
                    f"{self.touched[name]}) that was not observed as a matrix (cosine "
                    f"{cosine:.3f})")
        if name in self.twice:
            return ("second-derivative", "its gradient has second derivatives (create_graph=True, "
                    "as for a gradient penalty), which its inputs and output gradients do not "
                    f"explain (cosine {cosine:.3f})")
        if cosine >= 0.999:
            return ("gradient-changed", "its gradient was changed after it arrived, or it is only "
                    "one of several gradients that arrived inside the with block (cosine "
                    f"{kept:.3f}); record one update of the optimizer per block")
        return ("gradient-changed", "its gradient was changed, or a part of its forward pass "
                f"ran before the recording (cosine {cosine:.3f})")

    def gradient(self, m):
        """The gradient m x k of a use, in the type of its other sums, or None."""
        total = self.gradients.get(m.name)
        if total is None:
            return None
        own, _ = self.scales.get(m.name, (1, 1))  # a hook of the user may scale the gradient
        gradient = m.part(total).to(m.sketch.dtype)
        return gradient if own == 1 else gradient / own

    def products(self, m):
        """The gradient of a use times its probes, m x PROBES."""
        if m.products is None:
            m.products = _times(m.part(self.gradients[m.name]).to(m.sketch.dtype), m.probe)
        return m.products

    def why_not(self, m, verdicts):
        """(cause, reason) why a matrix is not judged, or None."""
        for name in [m.name, *self.computed.get(m.name, ())]:
            if name in self.refused:
                return self.refused[name]
        if m.samples + m.dropped == 0:
            return NO_TOKENS
        gradient = self.gradient(m)
        if gradient is None:
            return ("gradient-not-seen", "its gradient did not arrive in the weight; "
                    "torch.autograd.grad() hides it before PyTorch 2")
        # Infinite or NaN entries make the products with the probes infinite or NaN, and products of
        # zeros are zeros. So most gradients need no further pass over the memory.
        square = _square(self.products(m))
        if not 0 < square < float("inf") and not torch.isfinite(gradient).all():
            return "not-finite", "its gradient is not finite"
        if not square > 0 and not gradient.any():
            return ("zero-gradient", "its gradient is exactly zero (for example behind a layer "
                    "with zero weights)")
        if m.name not in verdicts:
            verdicts[m.name] = self.judge(m.name)
        return verdicts[m.name]

    def roles(self):
        """Head and first; see the head of this file."""
        used = sorted(self.uses, key=self.order.get)
        rows = max(self.tables.values(), default=None)
        heads = [name for name in used if rows in self.uses[name]]
        roles = {} if self.tables else dict.fromkeys(used[:1], "first")
        roles.update(dict.fromkeys(heads if len(heads) == 1 else used[-1:], "head"))
        return roles

    def layers(self):
        """(matrix, entry) for every observed matrix."""
        roles, verdicts = self.roles(), {}
        for m in self.matrices.values():
            if m.moment is None:
                continue
            parameter = self.parameters.get(m.name)
            entry = {"name": _name_of(m, self.sizes[m.name]), "parameter": m.name,
                     "samples": m.samples, "dropped": m.dropped, "calls": m.calls,
                     "role": ("tied" if m.name in self.tied else m.kind if m.kind == "embedding"
                              else roles.get(m.name, "hidden"))}
            try:
                entry.update(_parts(m, self.sizes[m.name]), **m.without_effect())
                if m.input_samples < m.samples:
                    entry["input_samples"] = m.input_samples
                if m.error_moment is not None:
                    entry["error_samples"] = m.error_samples
                if parameter is None:
                    size = _product(self.sizes[m.name])
                    behind = self.computed[m.name]
                    entry.update(parametrized=True, computed_from=behind, parameter=max(
                        behind, key=lambda name: self.parameters[name].numel() == size))
                else:
                    # To join the shares of ranks. An earlier gradient is a part of this one, unless
                    # it was cleared.
                    if (self.ranks > 1 and parameter.grad is not None
                            and m.name not in self.before):
                        entry["gradient_norm"] = float(
                            torch.linalg.vector_norm(m.part(_whole(parameter.grad))))
                why = self.why_not(m, verdicts)
                _, scale = self.scales.get(m.name, (1, 1))
                if abs(scale - 1) > 0.01:
                    entry["scaled"] = scale
            except Exception as error:
                self.fail([m.name], error)
                why = self.refused[m.name]
            if why:
                entry["cause"], entry["reason"] = why
            yield m, entry

    def write(self, folder):
        partial = folder + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        layers, seen = [], set()
        for number, (matrix, entry) in enumerate(self.layers()):
            entry["file"] = f"{number}.safetensors"
            try:
                tensors = self.tensors(matrix)
            except Exception as error:
                self.fail([matrix.name], error)
                entry["cause"], entry["reason"] = self.refused[matrix.name]
                tensors = {}
            _save(os.path.join(partial, entry["file"]), tensors)
            layers.append(entry)
            seen.update([matrix.name, entry["parameter"]])
        others = {name: self.why_not_seen(name, seen)
                  for name in self.parameters if name not in seen}
        recording = {"format": FORMAT, "layers": layers,
                     "not_seen": {name: reason for name, (_, reason) in others.items()},
                     "causes": {name: cause for name, (cause, _) in others.items()},
                     "tied": self.tied}
        if self.ranks > 1:
            recording.update(rank=self.rank, ranks=self.ranks)
        with open(os.path.join(partial, "recording.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(recording))  # much faster than with indentation
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(partial, folder)

    def tensors(self, m):
        """The tensors of a matrix that are written to its file."""
        if m.kind == "embedding":
            out = {"counts": m.moment}
        else:
            are_samples, tensor = m.moment.tensor(m.moment.short_type())
            out = {"inputs" if are_samples else "second_moment": tensor}
        gradient = self.gradient(m)
        if gradient is not None:
            out["gradient"] = gradient
        if m.error_moment is not None:
            full = m.sketch.dtype == torch.float64
            dtype = m.sketch.dtype if full else torch.bfloat16
            are_samples, tensor = m.error_moment.tensor(dtype)
            out["output_gradients" if are_samples else "error_moment"] = tensor
        return out

    def measure(self, m, entry):
        """Layer name -> values of a judged matrix, for each of its parts.

        stable_rank: st(A) = tr(M) / lambda_max(M) of the second moment M.
        nuclear_rank: nr(G) = ||G||_*^2 / ||G||_F^2 of the gradient; ratio: nr(G) / st(A).

        A step W - t D lowers a quadratic model of the loss by t <G, D> - t^2 / 2 tr(D M D' B) with
        the moment B of the output gradients. For a mean loss the number of samples cancels.
        length, decrease: the best t and its decrease for D = the polar factor of G;
        length_gradient, decrease_gradient: the same for D = G. All four are NaN without B: for
        embeddings, and for matrices with more than 8192 outputs or 8 outputs per input.
        """
        gradient, out = self.gradient(m), {}
        if m.kind == "embedding":
            stable = float(m.moment.sum() / m.moment.max())
        else:
            stable = m.moment.trace() / m.moment.largest_eigenvalue()
        parts = entry.get("parts", 0)
        rows = len(gradient) // max(parts, 1)
        for part, g in enumerate(gradient.split(rows)):
            nuclear, frobenius, polar = _polar(g)
            nuclear_rank = (nuclear / frobenius) ** 2
            values = {"stable_rank": stable, "nuclear_rank": nuclear_rank,
                      "ratio": nuclear_rank / stable,
                      **dict.fromkeys(("length", "decrease", "length_gradient",
                                       "decrease_gradient"), float("nan"))}
            if m.error_moment is not None:
                errors = m.error_moment.part(slice(part * rows, (part + 1) * rows))
                for end, d, slope in ("", polar, nuclear), ("_gradient", g, frobenius ** 2):
                    curvature = m.moment.form(d, errors)
                    values["length" + end] = slope / curvature
                    values["decrease" + end] = slope ** 2 / (2 * curvature)
            out[entry["name"] + (f".{entry['first_part'] + part}" if parts else "")] = values
        return out

    def why_not_seen(self, name, seen):
        """(cause, reason) why no use of a parameter was recorded."""
        parameter = self.parameters[name]
        refused = self.refused.get(name)
        if refused and refused[0] in ("sharded", "uninitialized"):  # without a shape of its own
            return refused
        if parameter.dim() < 2:
            return (("reshaped", "a vector that is reshaped to matrices, which is not recorded")
                    if name in self.reshaped else
                    ("no-matrix", "no matrix"))  # part of the format: ranklab reads this reason
        if not self.included(name):
            return "not-included", "not selected by include"
        if not parameter.requires_grad:
            return "frozen", "frozen (requires_grad is False)"
        for computed, behind in self.computed.items():
            if name in behind and computed in seen:
                return "parametrized", f"a part of {computed}, which is recorded instead"
        if refused:
            return refused
        if name in self.uses or name in self.tables:
            if name not in self.fed:
                return NO_TOKENS
            if not self.arrived:
                return ("no-backward", "its forward pass was observed, but no backward pass ran "
                        "inside the with block")
            return "not-in-loss", "no gradient reached its output: the loss does not depend on it"
        if self.lost is not None:  # an error in a call whose weights are not known
            self.fail([name], self.lost)
            return self.refused[name]
        if name in self.touched:
            return ("function", f"used by {self.touched[name]}, but not as a matrix, or a block "
                    "of its rows, that multiplies activations; for example as an input, a term, a "
                    "block of columns, in another shape, or to compute another weight")
        grad, before = parameter.grad, self.before.get(name)
        has_gradient = grad is not None and (_any(_whole(grad)) if before is None
                                             else not torch.equal(_whole(grad), before))
        if name in self.without_grad:
            return (("custom-function", "used inside a torch.autograd.Function, which is not "
                     "recorded") if has_gradient else
                    ("no-grad", "used only under torch.no_grad()"))
        if has_gradient:
            return ("forward-before", "it received a gradient, but its forward pass ran before the "
                    "with block, or in code that the recorder does not see, such as a "
                    "torch.autograd.Function or torch.func")
        return ("not-called", "not used inside the with block (a module that is not called, an "
                "expert without tokens, or a use inside torch.func)")


def _reason_without_effect(entry):
    """Why samples without an effect leave a layer without advice, or None. As in recording.cpp."""
    share, change = entry["negligible_share"], entry.get("negligible_change")
    if change is None:
        unjudged, without = share > MOST_NEGLIGIBLE, ""
    else:
        unjudged = max(change, 1 / max(change, 1e-300)) > 1 + MOST_CHANGE
        without = f": without them st(A) is {change:.3g} times as large"
    return (f"{100 * share:.4g} % of the second moment is from samples whose output gradient is "
            f"negligible{without}" if unjudged else None)


def _can_run_uncompiled():
    """Whether torch.compile was used, and its compiled code can run uncompiled."""
    # The first call of torch.compile loads the module.
    return "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")


def _is_wanted(node):
    """Whether the running backward pass computes the gradient that arrives at a node."""
    try:
        return torch._C._will_engine_execute_node(node)
    except RuntimeError:  # torch.autograd.grad() with respect to this weight
        return True


def _failure(error):
    text = " ".join(str(error).split())
    return f"the recorder failed: {text if len(text) <= 200 else text[:200] + ' ...'}"


def _rank():
    """(rank, number of ranks) of this process."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def _whole(gradient):
    gradient = gradient.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient


def _storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def _address(tensor):
    """Where the storage of a tensor with numbers begins; faster than to ask the storage.

    None without a storage: sparse tensors, and those inside torch.func.
    """
    try:
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
    except RuntimeError:
        return None


def _checkpoint():
    """Whether the running call is in a region of torch.utils.checkpoint without reentrant autograd.

    Returns "forward" during the forward pass, "again" during its repetition, else None.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == torch.utils.checkpoint.__file__:
            name = frame.f_code.co_name
            if name in ("unpack", "unpack_hook"):
                return "again"
            if name == "backward":  # reentrant: the region runs like any other code
                return None
            if name in ("checkpoint", "_checkpoint_without_reentrant"):
                return "forward"
        frame = frame.f_back
    return None


def _tensors(values):
    """All tensors in nested lists and tuples."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _rows_of(part, whole):
    """(first row, rows, transposed) of the rows of a weight that a matrix is, or None."""
    if whole.dim() < 2 or whole.dim() > 2 and not whole.is_contiguous():
        return None
    columns, (step, stride) = whole.shape[-1], whole.stride()[-2:]
    first, rest = divmod(part.storage_offset() - whole.storage_offset(), max(step, 1))
    for transposed, rows in ((False, part), (True, part.t())):
        fits = all(size == 1 or found == expected
                   for size, found, expected in zip(rows.shape, rows.stride(), (step, stride)))
        if (fits and rest == 0 and rows.shape[1] == columns
                and 0 <= first <= whole.numel() // columns - len(rows)):
            return first, len(rows), transposed
    return None


def _whole_of(part, whole):
    """(first row, rows, transposed) if a tensor is a whole weight, else None."""
    geometry = lambda t: (t.shape, t.stride(), t.storage_offset())
    return (0, len(whole), False) if geometry(part) == geometry(whole) else None


def _overlap(a, b):
    """Whether two tensors in the same storage may have a number in common."""
    (a, a_end), (b, b_end) = [
        (t.storage_offset(), t.storage_offset() + sum(
            (size - 1) * step for size, step in zip(t.shape, t.stride())) + 1) for t in (a, b)]
    return a < b_end and b < a_end


def _parts(m, size):
    """The entries for a block of the projections of attention or for an expert of a stack."""
    return ({"parts": m.rows // size[1], "first_part": m.first_row // size[1] + 1}
            if _is_numbered(m, size) else {})


def _is_numbered(m, size):
    """Whether a use is of whole parts of the projections of attention, or of an expert."""
    if m.kind != "matrix":
        return False
    if len(size) == 3:
        return m.rows == size[1]
    return (m.name.endswith("in_proj_weight") and size[0] == 3 * size[1]
            and m.rows % size[1] == m.first_row % size[1] == 0)


def _name_of(m, size):
    """The name of a layer: of its weight, and of its block of rows unless that is numbered."""
    name = m.name[:-len(".weight")] if m.name.endswith(".weight") else m.name
    is_part = m.kind != "convolution" and m.rows * size[-1] < _product(size)
    return (f"{name}.rows{m.first_row + 1}-{m.first_row + m.rows}"
            if is_part and not _is_numbered(m, size) else name)


def _asks_for_modes(function):
    """Whether a Python function of PyTorch offers each call to the mode before it runs.

    Tensor.storage() and methods that call super(), such as Tensor.unflatten(), do too, but the call
    inside them has the same name and would run them again.
    """
    names = function.__code__.co_names
    return function.__name__ != "storage" and "super" not in names and any(
        name.startswith("has_torch_function") and name in function.__globals__ for name in names)


def _body(function):
    """A copy of such a function that runs at once, so that the mode sees the calls inside it."""
    never = {name: lambda *_: False for name in function.__code__.co_names
             if name.startswith("has_torch_function")}
    copy = types.FunctionType(function.__code__, {**function.__globals__, **never},
                              function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _blocks(samples):
    """samples x k in blocks of at most BLOCK numbers."""
    return samples.split(max(1, BLOCK // max(1, samples.shape[1])))


def _split(samples, blocks):
    """Splits numbers of all samples like the samples."""
    return samples.split([len(block) for block in blocks])


def _patches(x, kernel, stride, padding, dilation):
    """Batch x channels x sizes as blocks of samples x (channels x kernel), as in the weight."""
    x = F.pad(x, [p for pair in reversed(padding) for p in pair])
    counts = [(size - gap * (width - 1) - 1) // step + 1
              for size, width, step, gap in zip(x.shape[2:], kernel, stride, dilation)]
    columns = x.shape[1] * _product(kernel)
    for images in x.split(max(1, BLOCK // (columns * _product(counts)))):
        each, channel, *axes = images.stride()
        windows = images.as_strided(
            (x.shape[1], *kernel, len(images), *counts),
            (channel, *[a * gap for a, gap in zip(axes, dilation)],
             each, *[a * step for a, step in zip(axes, stride)]), images.storage_offset())
        yield windows.reshape(columns, len(images) * _product(counts)).t()


def _product(numbers):
    out = 1
    for number in numbers:
        out *= number
    return out


def _cell(kind, gates_x, gates_h, state):
    """One step of a recurrent layer, given W_ih x and W_hh h; state is (h, c) or (h,)."""
    if kind == "lstm":
        i, f, g, o = (gates_x + gates_h).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    if kind == "gru":
        (r, z, n), (hr, hz, hn) = gates_x.chunk(3, -1), gates_h.chunk(3, -1)
        z = torch.sigmoid(z + hz)
        return ((1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * state[0],)
    return ((torch.relu if kind == "rnn_relu" else torch.tanh)(gates_x + gates_h),)


def _recurrent(function, x, *args):
    """torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu and their cells, step by step."""
    kind = function.replace("_cell", "")
    states_of = lambda hx: tuple(hx) if kind == "lstm" else (hx,)
    if kind != function:
        hx, w_ih, w_hh, b_ih, b_hh = (*args, None, None)[:5]
        states = states_of(hx)
        new = _cell(kind, F.linear(x, w_ih, b_ih), F.linear(states[0], w_hh, b_hh), states)
        return new if kind == "lstm" else new[0]
    if isinstance(args[2], bool):  # (steps, batch, k), or (batch, steps, k)
        hx, *args, batch_first = args
        x = x.transpose(0, 1) if batch_first else x
        size = x.shape[:2]
        out, last = _steps(kind, x.reshape(-1, x.shape[-1]), [size[1]] * size[0], states_of(hx),
                           *args)
        out = out.reshape(*size, -1)
        return (out.transpose(0, 1) if batch_first else out, *last)
    sizes, hx, *args = args  # packed sequences: the first sizes[t] rows take part in step t
    out, last = _steps(kind, x, sizes.tolist(), states_of(hx), *args)
    return (out, *last)


def _steps(kind, x, sizes, states, weights, biases, layers, dropout, training, bidirectional):
    """x: samples x k, the steps one after another; states: layers and directions x batch x k."""
    each, directions, last = 4 if biases else 2, 2 if bidirectional else 1, []
    if len(weights) != each * layers * directions:
        raise _Refused("projected-lstm", "a recurrent layer with proj_size, which is not recorded")
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh, b_ih, b_hh = (*weights[each * at:each * (at + 1)], None, None)[:4]
            gates = F.linear(x, w_ih, b_ih).split(sizes)
            state, steps = [s[at] for s in states], [None] * len(sizes)
            for t in (reversed(range(len(sizes))) if direction else range(len(sizes))):
                runs = sizes[t]  # the other sequences have ended, or have not begun yet
                now = [s[:runs] for s in state]
                new = _cell(kind, gates[t], F.linear(now[0], w_hh, b_hh), now)
                state = [torch.cat([n, s[runs:]]) for n, s in zip(new, state)]
                steps[t] = new[0]
            outputs.append(torch.cat(steps))
            last.append(state)
        x = torch.cat(outputs, -1)
        if layer + 1 < layers and dropout:
            x = F.dropout(x, dropout, training)
    return x, [torch.stack(each_layer) for each_layer in zip(*last)]


def _largest_eigenvalue(like, times):
    """Of a positive semidefinite matrix: Lanczos iteration with full reorthogonalization.

    like: a vector of the matrix's type; times(v): its product with a vector. The relative error is
    about that of the products: 1e-6 in float32, 1e-14 in float64.
    """
    size = len(like)
    v = torch.randn(size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    basis, diagonal, beside, largest = [], [], [], 0.0
    v = v.to(like.device)
    while len(basis) < size:
        basis.append(v / v.norm())
        v = times(basis[-1].to(like.dtype)).double()
        diagonal.append(float(v @ basis[-1]))
        known = torch.stack(basis)
        for _ in range(2):
            v = v - known.t() @ (known @ v)
        beside.append(float(v.norm()))
        of = lambda numbers: torch.tensor(numbers, dtype=torch.float64)
        values, vectors = torch.linalg.eigh(of(diagonal).diag() + of(beside[:-1]).diag(-1))
        largest, rest = float(values[-1]), beside[-1] * abs(float(vectors[-1, -1]))
        if rest <= 1e-9 * largest:
            break
    return largest


def _polar(g):
    """(nuclear norm, Frobenius norm, polar factor) of a matrix.

    From the eigenvalues of the smaller Gram matrix in float64. A singular value has an error of at
    most about 1e-8 times the largest one, below that of gradients in float32. The polar factor has
    no components along singular values within the rounding errors of g.
    """
    wide = (g if len(g) <= g.shape[1] else g.t()).double()
    values, vectors = torch.linalg.eigh(wide @ wide.t())
    singular = values.clamp(min=0).sqrt()
    rounding = max(max(g.shape) * torch.finfo(g.dtype).eps, 1e-7) * singular[-1]
    inverse = torch.where(singular > rounding, 1 / singular, torch.zeros_like(singular))
    polar = ((vectors * inverse) @ (vectors.t() @ wide)).to(g.dtype)
    return (float(singular.sum()), float(torch.linalg.vector_norm(wide)),
            polar if len(g) <= g.shape[1] else polar.t())


def _batches(*matrices):
    """Matrices of equally many rows, as batches of blocks that fit in a cache, and then the rest.

    A product with a matrix of few columns is up to three times as fast in such blocks.
    """
    rows = max(16, CACHED // max(t.shape[1] for t in matrices))
    batches = len(matrices[0]) // rows
    if batches:
        yield [t[:batches * rows].unflatten(0, (batches, rows)) for t in matrices]
    if len(matrices[0]) > batches * rows:
        yield [t[batches * rows:].unsqueeze(0) for t in matrices]


def _times(a, b):
    """a @ b, where b has few columns."""
    blocks = [torch.bmm(block, b.expand(len(block), *b.shape)) for block, in _batches(a)]
    return torch.cat([block.flatten(0, 1) for block in blocks]) if blocks else a @ b


def _add_product(out, a, b):
    """Adds a' b to out, where a has few columns."""
    for left, right in _batches(a, b):
        out.addbmm_(left.transpose(1, 2), right)


def _any(tensor):
    """Whether a number is not 0. The extremes are found five times as fast as by any()."""
    return bool(tensor.numel()) and any(float(each) != 0 for each in torch.aminmax(tensor))


def _same(a, b):
    """Whether two finite tensors of one type are equal; zeros of other signs may count as unequal.

    Integers of 64 bits are compared twice as fast as twice as many floats of 32 bits.
    """
    in_pairs = all(t.is_contiguous() and t.numel() * t.element_size() % 8 == 0
                   and t.storage_offset() * t.element_size() % 8 == 0 for t in (a, b))
    if in_pairs and a.shape == b.shape:
        a, b = a.flatten().view(torch.int64), b.flatten().view(torch.int64)
    return torch.equal(a, b)


def _square(tensor):
    return float(torch.linalg.vector_norm(tensor)) ** 2


def _compare(a, b, rest=0):
    """(cosine of the angle, scale) of a and b = scale a; b has `rest` more squares than a shows."""
    product, square = float(torch.dot(a.reshape(-1), b.reshape(-1))), _square(a)
    return product / max((square * (_square(b) + rest)) ** 0.5, 1e-300), product / square


def _memory(tensor):
    """The bytes of a contiguous tensor, which must outlive them."""
    size = tensor.numel() * tensor.element_size()
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())).cast("B")


def _rows(block):
    """The bytes of the rows of a block of a triangle up to the diagonal."""
    memory, size, (rows, width) = _memory(block), block.element_size(), block.shape
    return [memory[size * i * width:size * (i * width + width - rows + 1 + i)]
            for i in range(rows)]


def _save(path, tensors):
    """Writes a safetensors file: the length of the JSON header, the header, the entries."""
    header, at, blobs = {}, 0, []
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + size]}
        at += size
        blobs.append(tensor)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in blobs:
            file.write(_memory(tensor))
