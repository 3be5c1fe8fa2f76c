"""The sums over the samples of one matrix: A A', the check of the gradient, the number of samples.

A matrix W (m x k) maps a sample a to W a. The loss has the gradient e in W a, and the gradient in W
is G = sum of e a'. A sample with e = 0 (padding, a label that the loss ignores) does not enter G;
it is left out of A as well. All sums stay on the device of the samples. Nothing here waits for the
device, except once for each matrix that reads the same tensor as the one before it.
"""
import torch
import torch.nn.functional as F

from . import private
from .causes import Refused, failure
from .grams import add_lower, gram_of, mirror
from .weights import layer_name

PROBES = 8  # random vectors v that compare sum of e (a' v) with G v
BLOCK = 2 ** 22  # numbers in a block of unfolded patches or converted samples
# A sample whose largest |e| is below this share of the mean has no effect: a mask of -30 leaves
# 1e-13, a learned token does not.
NEGLIGIBLE = 1e-5
HALF = torch.bfloat16, torch.float16


class Shared:
    """The last product A A', for the next matrix that reads the same tensor (q, k and v)."""

    def __init__(self):
        self.key = self.used = self.product = self.value = None

    def find(self, value, layout, used):
        """A A' of the same samples, or None."""
        same = self.value is not None and self.key == self.key_of(value, layout)
        return self.product if same and torch.equal(used, self.used) else None

    def keep(self, value, layout, used, product):
        self.key, self.value = self.key_of(value, layout), value  # so that its address stays taken
        self.used, self.product = used, product

    def key_of(self, value, layout):
        return (layout, value.data_ptr(), value.shape, value.stride(), value.dtype)


class Sums:
    """The sums for one block of rows of a parameter.

    kind: "matrix", "embedding" (a sample is the one-hot vector of an id) or "convolution" (a sample
    is a patch). place: (first row, rows, transposed) in the parameter. size: its shape, or that of
    the matrix to which it was reshaped. Samples are kept while they are fewer than k / 2.
    n: samples with e != 0. After the measurement: gradient, G (m x k); role; why, (cause, reason)
    if the matrix is not judged.
    """

    def __init__(self, name, kind, place, size):
        self.name, self.kind, self.size = name, kind, size
        self.first_row, self.rows, self.transposed = place
        self.width = (product(size[1:]) if kind == "convolution" else
                      self.rows if kind == "embedding" or self.transposed else size[-1])  # k
        self.gram, self.kept, self.count = None, [], 0  # k x k, or matrices of samples x k
        self.sketch = self.probe = self.numbers = None
        self.calls, self.n, self.empty = 0, 0, True  # empty: no call had a sample
        self.gradient = self.role = self.why = None
        self.recomputed = []  # inputs of calls that a checkpointed region repeats

    def add(self, blocks, errors, rounded, value, layout, shared):
        """Adds one call. blocks: samples x k one after another (ids for an embedding), made of
        `value` as `layout` says (None: by this call alone); errors: samples x m; rounded: the type
        to which autocast rounded the samples."""
        dtype = torch.promote_types(errors.dtype, torch.float32)
        errors = errors.to(dtype if self.sketch is None else self.sketch.dtype)
        layout = layout and (layout, errors.dtype, rounded)
        self.calls += 1
        if not errors.numel():
            return
        if self.sketch is None:
            self.begin(errors)
        sizes = torch.maximum(errors.amax(1), -errors.amin(1))  # abs() would copy them all
        used = sizes > 0
        faint = used & (sizes < NEGLIGIBLE * sizes.sum() / used.sum())
        if self.kind == "embedding":
            ids, = blocks
            self.gram.index_add_(0, ids, used.to(errors.dtype))
            self.sketch.addmm_(self.probe[ids].t(), errors)
            squares = torch.ones_like(sizes)
        else:
            squares = self.add_samples(blocks, errors, used, rounded, value, layout, shared)
        self.numbers += torch.stack([used.double().sum(), (squares * used).double().sum(),
                                     (squares * faint).double().sum()])

    def begin(self, errors):
        self.numbers = errors.new_zeros(3, dtype=torch.float64)
        self.sketch = errors.new_zeros(PROBES, errors.shape[1])
        generator = torch.Generator(errors.device).manual_seed(self.width)
        self.probe = torch.randn(self.width, PROBES, generator=generator, dtype=errors.dtype,
                                 device=errors.device)
        if self.kind == "embedding":
            self.gram = errors.new_zeros(self.width)  # the diagonal of A A': counts

    def add_samples(self, blocks, errors, used, rounded, value, layout, shared):
        """Keeps few samples, else adds their A A'; returns ||a||^2 of each."""
        few = self.gram is None and self.count + len(errors) <= self.width // 2
        known = None if few or layout is None else shared.find(value, layout, used)
        new = None if few or known is not None else errors.new_zeros(self.width, self.width)
        squares, at = [], 0
        for inputs in blocks:
            exact = rounded or inputs.dtype in HALF
            inputs = (inputs.to(rounded) if rounded else inputs).to(errors.dtype)
            here, at = slice(at, at + len(inputs)), at + len(inputs)
            if errors.is_cuda or not bool(used[here].all()):  # 0 * inf would be NaN
                inputs = torch.where(used[here, None], inputs, inputs.new_zeros(()))
            squares.append(torch.linalg.vector_norm(inputs, dim=1).square())
            self.sketch.addmm_((inputs @ self.probe).t(), errors[here])
            if few:
                self.kept.append(inputs.clone())
            elif new is not None:
                with precision("high" if exact and errors.is_cuda else "highest"):
                    add_lower(new, inputs)
        if few:
            self.count += len(errors)
            return torch.cat(squares)
        if new is not None:
            known = mirror(new)
            if layout is not None:
                shared.keep(value, layout, used, known)
        if self.kept:
            self.gram, self.kept = gram_of(torch.cat(self.kept)), []
        self.gram = known if self.gram is None else self.gram + known  # `known` may be shared
        return torch.cat(squares)

    def finish(self, total):
        self.gradient = self.part(total).to(self.sketch.dtype)

    def fail(self, error):
        self.why = failure(error)

    def key(self):
        return self.name, self.kind, self.first_row, self.rows, self.transposed, self.size

    def moment(self):
        """A A', its diagonal, or ("samples", A') while these are few."""
        samples = self.samples()
        return self.gram if samples is None else ("samples", samples)

    def entries(self):
        """(first, end) of its entries in the parameter, if its rows are contiguous."""
        return self.first_row * self.size[-1], (self.first_row + self.rows) * self.size[-1]

    def samples(self):
        """All samples with e != 0 (samples x k) while they are few, else None."""
        return torch.cat(self.kept) if self.kept else None

    def part(self, tensor):
        """The rows of a tensor shaped like the parameter, as the matrix m x k of this use."""
        if self.kind == "convolution":
            return tensor.reshape(len(tensor), -1)
        rows = tensor.reshape(-1, self.size[-1])[self.first_row:self.first_row + self.rows]
        return rows.t() if self.transposed != (self.kind == "embedding") else rows

    def blocks(self):
        """How many matrices of their own the rows are: q, k and v of attention."""
        packed = (self.kind == "matrix" and not self.transposed and len(self.size) == 2
                  and self.name.endswith("in_proj_weight") and self.size[0] == 3 * self.size[1])
        return self.rows // self.size[1] if packed and self.rows % self.size[1] == 0 else 1

    def layer(self):
        """The name of the matrix: of its parameter, with the block of rows if it is a part."""
        name = layer_name(self.name)
        if self.kind == "convolution" or self.rows * self.size[-1] == product(self.size):
            return name
        expert = len(self.size) == 3 and self.rows == self.size[1]
        packed = name.endswith("in_proj_weight") and self.rows == self.size[1] and (
            self.first_row % self.rows == 0)
        return (f"{name}.{self.first_row // self.rows + 1}" if expert or packed else
                f"{name}.rows{self.first_row + 1}-{self.first_row + self.rows}")


class Held:
    """The input of a call: kept until its gradient arrives, then only while autograd keeps it.

    The user's loss often lives until the next step, and with it the graph that holds this.
    """

    def __init__(self, tensor):
        self.tensor = tensor.detach()

    def take(self):
        if self.tensor is None:  # a second backward pass through a retained graph
            storage = private.storage_of(self.storage)
            if storage is None:
                raise Refused("inputs-freed")
            return self.like.new_empty(0).set_(storage, *self.place)
        tensor, self.tensor = self.tensor, None
        self.storage, self.like = private.weak_storage(tensor), tensor.new_empty(0)
        self.place = tensor.storage_offset(), tensor.shape, tensor.stride()
        return tensor


class precision:
    """Sets the precision of products in float32, if this PyTorch lets it be read and set.

    "high" uses TF32, whose products of numbers in bfloat16 or float16 are exact.
    """

    def __init__(self, wanted):
        self.wanted, self.before = wanted, None

    def __enter__(self):
        try:
            self.before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision(self.wanted)
        except Exception:  # newer settings of the user exclude the older functions
            self.before = None

    def __exit__(self, *_):
        if self.before is not None:
            torch.set_float32_matmul_precision(self.before)


def rows(tensor):
    """... x k as blocks of samples x k of at most BLOCK numbers."""
    samples = tensor.reshape(-1, tensor.shape[-1])
    return samples.split(max(1, BLOCK // max(1, samples.shape[1])))


def patches(x, kernel, stride, padding, dilation):
    """Batch x channels x sizes as blocks of samples x (channels x kernel), as in the weight."""
    x = F.pad(x, [p for pair in reversed(padding) for p in pair])
    counts = [(size - gap * (width - 1) - 1) // step + 1
              for size, width, step, gap in zip(x.shape[2:], kernel, stride, dilation)]
    columns = x.shape[1] * product(kernel)
    for images in x.split(max(1, BLOCK // max(1, columns * product(counts)))):
        each, channel, *axes = images.stride()
        windows = images.as_strided(
            (len(images), *counts, x.shape[1], *kernel),
            (each, *[a * step for a, step in zip(axes, stride)], channel,
             *[a * gap for a, gap in zip(axes, dilation)]), images.storage_offset())
        yield windows.reshape(len(images) * product(counts), columns)


def product(numbers):
    out = 1
    for number in numbers:
        out *= number
    return out
