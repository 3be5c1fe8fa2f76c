"""Records what one training step shows about every weight matrix of a PyTorch model.

    import ranklab_dump
    with ranklab_dump.record(model, "dump/step100"):
        loss_fn(model(x), y).backward()

`ranklab advise dump` reads the recordings and advises, layer by layer, whether Muon pays off.

A layer maps each sample a (a token, an image patch, a time step) to W a. If the loss has the
gradient e in W a, its gradient in W is G = sum of e a'. The recording keeps G and the second
moment, the sum of a a'. Both are summed over all calls of the layer, all its places in the model
and all micro-batches during the backward pass, so no activation outlives that pass. Samples with
e = 0 (padding, positions that the loss ignores) are left out. The recording lists every parameter
that it cannot observe, with the reason.

Needs only PyTorch 1.13 or later. Does not observe modules compiled by torch.compile or TorchScript,
or calls into C++ that take several weights at once. Exceptions are nn.LSTM, nn.GRU and nn.RNN,
which are computed step by step during a recording.
"""
import contextlib
import ctypes
import fnmatch
import json
import os
import shutil

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
except ModuleNotFoundError:  # the package also installs this file on systems without PyTorch
    torch = None

FORMAT = "ranklab.recording/1"


@contextlib.contextmanager
def record(model, folder, include="*", dtype=None, replace=False):
    """Records the forward and backward passes of `model` inside the `with` block into `folder`.

    folder: must not exist unless `replace` is true.
    include: a glob of parameter names, to record only a part of a large model.
    dtype: type of the sums; default: float64 on the CPU, float32 elsewhere.

    Nothing is written if the block raises an exception.
    """
    if torch is None:
        raise ModuleNotFoundError("ranklab_dump needs PyTorch; install it with apt (python3-torch) "
                                  "or pip (torch)")
    if os.path.exists(folder) and not replace:
        raise FileExistsError(f"{folder} exists; pass replace=True to record() to replace it")
    recording = _Recording(model, include, dtype)
    with recording.patched_functions():
        yield recording
    recording.write(folder)


class _Matrix:
    """The sums for one block of rows of a parameter, used as a matrix or as an embedding."""

    def __init__(self, name, parameter, kind, first_row, transposed, order):
        self.name, self.parameter, self.kind = name, parameter, kind
        self.first_row, self.transposed, self.order = first_row, transposed, order
        self.moment = self.gradient = None
        self.samples = self.dropped = self.calls = 0

    def add(self, inputs, errors, dtype):
        """inputs: samples x k; errors: samples x m, the gradient of the loss in the outputs."""
        used = (errors != 0).any(1)
        kept = int(used.sum())
        self.calls += 1
        self.samples += kept
        self.dropped += len(used) - kept
        if kept < len(used):
            inputs, errors = inputs[used], errors[used]
        errors = errors.to(dtype)
        if self.kind == "embedding":  # inputs are ids of one-hot vectors: a diagonal moment
            size = len(self.parameter)
            moment = torch.bincount(inputs, minlength=size).to(dtype)
            zeros = torch.zeros(errors.shape[1], size, dtype=dtype, device=errors.device)
            gradient = zeros.index_add_(1, inputs, errors.t())
        else:
            inputs = inputs.to(dtype)
            moment, gradient = inputs.t() @ inputs, errors.t() @ inputs
        self.moment = moment if self.moment is None else self.moment + moment
        self.gradient = gradient if self.gradient is None else self.gradient + gradient


class _Recording:
    def __init__(self, model, include, dtype):
        self.parameters, self.tied = {}, {}
        named = ((f"{module}.{own}" if module else own, parameter)
                 for module, part in model.named_modules()
                 for own, parameter in part.named_parameters(recurse=False))
        for name, parameter in named:
            first = next((known for known, other in self.parameters.items()
                          if other is parameter), None)
            if first is None:
                self.parameters[name] = parameter
            else:
                self.tied.setdefault(first, []).append(name)
        self.include, self.dtype = include, dtype
        self.matrices, self.unobserved = {}, {}
        # Uses of all weights, recorded or not: they decide which layers are first and last.
        self.uses, self.first_use, self.last_use, self.embeds = 0, {}, {}, False
        self.before = {name: None if p.grad is None else p.grad.detach().clone()
                       for name, p in self.parameters.items()}
        self.places = {}
        for name, parameter in self.parameters.items():
            self.places.setdefault(_storage(parameter), []).append(name)

    # Uses ---------------------------------------------------------------------------------------

    def owner(self, weight):
        """(name, first row, transposed) of the parameter that contains a weight matrix, or None."""
        if not isinstance(weight, torch.Tensor) or weight.dim() != 2:
            return None
        for name in self.places.get(_storage(weight), ()):
            parameter = self.parameters[name]
            columns = parameter.shape[-1]
            offset = weight.storage_offset() - parameter.storage_offset()
            if not 0 <= offset < parameter.numel() or not parameter.is_contiguous():
                continue
            if (weight.dim() == 2 and weight.shape[1] == columns and weight.stride(0) == columns
                    and offset % columns == 0):
                return name, offset // columns, False
            if weight.shape[0] == columns and weight.stride(1) == columns and offset % columns == 0:
                return name, offset // columns, True
        return None

    def owners(self, tensor):
        """Names of the parameters that share storage with `tensor`."""
        return self.places.get(_storage(tensor), []) if isinstance(tensor, torch.Tensor) else []

    def record_use(self, found, kind, inputs, output,
                   errors_of=lambda g: g.reshape(-1, g.shape[-1])):
        """Records one use of the weight `found` (a result of owner()).

        Once the gradient in `output` arrives, inputs() returns samples x k, and errors_of turns the
        gradient into samples x m.
        """
        if found is None or output.grad_fn is None or not self.parameters[found[0]].requires_grad:
            return
        name, first_row, transposed = found
        self.uses += 1
        self.embeds |= kind == "embedding"
        if kind == "matrix":
            self.first_use.setdefault(name, self.uses)
            self.last_use[name] = self.uses
        if not fnmatch.fnmatch(name, self.include):
            return
        matrix = self.matrices.setdefault(
            (name, first_row, kind),
            _Matrix(name, self.parameters[name], kind, first_row, transposed, len(self.matrices)))

        # A hook on the node, not the tensor: later in-place changes of the output do not affect it.
        def add_gradient(_, gradients):
            if gradients[0] is not None:
                with torch.no_grad():
                    on_cpu = gradients[0].device.type == "cpu"
                    dtype = self.dtype or (torch.float64 if on_cpu else torch.float32)
                    matrix.add(inputs(), errors_of(gradients[0]), dtype)

        output.grad_fn.register_hook(add_gradient)

    def mark_unobserved(self, name, reason):
        self.unobserved.setdefault(name, reason)

    # Functions that use weights -----------------------------------------------------------------

    def linear(self, original, x, weight, bias=None):
        out = original(x, weight, bias)
        x = x.detach()
        self.record_use(self.owner(weight), "matrix", lambda: x.reshape(-1, x.shape[-1]), out)
        return out

    def addmm(self, original, bias, x, weight, **scales):
        out = original(bias, x, weight, **scales)
        self.product(x, weight, out)
        return out

    def matmul(self, original, left, right, **more):
        out = original(left, right, **more)
        self.product(left, right, out)
        return out

    def product(self, left, right, out):
        """out = left @ right, where one factor is a weight or a stack of weights."""
        used = self.owners(left) + self.owners(right)
        if not used:
            return
        if left.dim() < 2 or right.dim() < 2:
            for name in used:
                self.mark_unobserved(name, "used in a product with a vector, which is not recorded")
            return
        left_value, right_value = left.detach(), right.detach()
        of_right, of_left = (self.owner(w.t()) if w.dim() == 2 else None
                             for w in (right, left.transpose(-1, -2)))
        if of_right is not None:
            self.record_use(of_right, "matrix",
                            lambda: left_value.reshape(-1, left_value.shape[-1]), out)
        elif of_left is not None:
            columns = lambda t: t.transpose(-1, -2).reshape(-1, t.shape[-2])
            self.record_use(of_left, "matrix", lambda: columns(right_value), out, columns)
        elif right.dim() == 3 and left.dim() == 3 and self.owner(right[0].t()) is not None:
            for e in range(len(right)):
                self.record_use(self.owner(right[e].t()), "matrix", lambda e=e: left_value[e], out,
                                lambda g, e=e: g[e])
        else:
            for name in used:
                self.mark_unobserved(name, "used in a batched product, which is not recorded")

    def einsum(self, original, *operands):
        is_list = len(operands) == 2 and isinstance(operands[1], (list, tuple))
        flat = operands[1] if is_list else operands[1:]
        for operand in flat:
            for name in self.owners(operand):
                self.mark_unobserved(name, "used by einsum, which is not recorded")
        return original(*operands)

    def embedding(self, original, ids, weight, padding_idx=None, *more, **options):
        out = original(ids, weight, padding_idx, *more, **options)
        found = self.owner(weight)
        padding = None if padding_idx is None else padding_idx % len(weight)

        def errors_of(g):
            g = g.reshape(-1, g.shape[-1])
            return g if padding is None else g * (ids.reshape(-1, 1) != padding)

        self.record_use(found, "embedding", lambda: ids.reshape(-1), out, errors_of)
        return out

    def conv(self, original, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        out = original(x, weight, bias, stride, padding, dilation, groups)
        for name in self.owners(weight):
            dims = weight.dim() - 2
            if groups != 1:
                self.mark_unobserved(
                    name, f"a convolution with {groups} groups ({groups} matrices), "
                    "which is not recorded")
                continue
            each = lambda v: (v,) * dims if isinstance(v, int) else tuple(v)
            value, steps, gaps = x.detach(), each(stride), each(dilation)
            if padding == "same":
                total = [d * (k - 1) for d, k in zip(gaps, weight.shape[2:])]
                pads = [(t // 2, t - t // 2) for t in total]
            else:
                pads = [(p, p) for p in each(0 if padding == "valid" else padding)]
            by_batch = value if value.dim() == dims + 2 else value.unsqueeze(0)
            inputs = lambda: _patches(by_batch, weight.shape[2:], steps, pads, gaps)
            batched = lambda g: g if g.dim() == dims + 2 else g.unsqueeze(0)
            errors_of = lambda g: batched(g).movedim(1, -1).reshape(-1, weight.shape[0])
            self.record_use((name, 0, False), "matrix", inputs, out, errors_of)
        return out

    def recurrent(self, original, module, x, hx=None):
        if getattr(module, "proj_size", 0):
            for name, parameter in self.parameters.items():
                if any(parameter is own for own in module.parameters(recurse=False)):
                    self.mark_unobserved(
                        name, "a recurrent layer with proj_size, which is not recorded")
            return original(module, x, hx)
        return _recurrent(module, x, hx)

    @contextlib.contextmanager
    def patched_functions(self):
        # Accepted names of the first arguments, for callers that pass keywords.
        pair, layer = (("input",), ("other", "mat2")), (("input",), ("weight",))
        patches = [(F, "linear", self.linear, layer),
                   (torch, "addmm", self.addmm, (("input",), ("mat1",), ("mat2",))),
                   (torch, "einsum", self.einsum, ()), (F, "embedding", self.embedding, layer)]
        patches += [(torch, name, self.matmul, pair) for name in ("matmul", "bmm", "mm")]
        patches += [(torch.Tensor, name, self.matmul, pair)
                    for name in ("matmul", "__matmul__", "bmm", "mm")]
        patches += [(F, name, self.conv, layer) for name in ("conv1d", "conv2d", "conv3d")]
        patches += [(cls, "forward", self.recurrent, ((), ("input",)))
                    for cls in (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell)]
        with contextlib.ExitStack() as stack:
            for place, name, handler, names in patches:
                original = getattr(place, name)
                own = name in vars(place)
                setattr(place, name, _around(handler, original, names))
                if own:
                    stack.callback(setattr, place, name, original)
                else:
                    stack.callback(delattr, place, name)
            yield

    # The recording ------------------------------------------------------------------------------

    def mismatch(self, name):
        """Why the recorded uses do not explain the parameter's gradient; None if they do."""
        parameter = self.parameters[name]
        uses = [m for m in self.matrices.values() if m.name == name]
        if len({m.kind for m in uses}) > 1:
            return ("tied: its gradient sums its uses as an embedding and as a matrix, "
                    "which have different inputs")
        if parameter.grad is None:  # already cleared by the optimizer
            return None
        first = uses[0].gradient
        seen = torch.zeros(parameter.numel() // parameter.shape[-1], parameter.shape[-1],
                           dtype=first.dtype, device=parameter.device)
        if (first.shape[0] == parameter.shape[0] and parameter.dim() > 2
                and first.numel() == parameter.numel()):
            seen = first  # a convolution
        else:
            for m in uses:
                part = m.gradient.t() if m.transposed != (m.kind == "embedding") else m.gradient
                seen[m.first_row:m.first_row + len(part)] += part
        seen = seen.reshape(-1)
        whole = parameter.grad.detach().reshape(-1).to(seen.dtype)
        before = self.before[name]
        candidates = [whole]
        if before is not None:
            candidates.append(whole - before.reshape(-1).to(seen.dtype))
        cosine = max(float(seen @ c / (seen.norm() * c.norm()).clamp_min(1e-300))
                     for c in candidates)
        if cosine < 0.999:
            return (f"the recorded uses do not explain its gradient (cosine {cosine:.3f}): it has "
                    "uses that were not observed, or its gradient was changed")
        return None

    def layers(self):
        """(matrix, entry) for every observed matrix."""
        uses = [m for m in self.matrices.values() if m.gradient is not None]
        last = max(self.last_use, key=self.last_use.get, default=None)
        first = None if self.embeds else min(self.first_use, key=self.first_use.get, default=None)
        for m in sorted(uses, key=lambda m: m.order):
            name = m.name[:-len(".weight")] if m.name.endswith(".weight") else m.name
            rows, all_rows = len(m.gradient), m.parameter.shape[0]
            role = ("tied" if m.name in self.tied else m.kind if m.kind == "embedding" else
                    "head" if m.name == last else "first" if m.name == first else "hidden")
            entry = {"name": name, "parameter": m.name, "samples": m.samples, "dropped": m.dropped,
                     "calls": m.calls, "role": role}
            if (m.kind == "matrix" and m.name.endswith("in_proj_weight")
                    and all_rows == 3 * m.parameter.shape[1]):
                size = all_rows // 3
                entry.update(parts=rows // size, first_part=m.first_row // size + 1)
            elif (m.parameter.dim() == 3
                  and rows * m.gradient.shape[1] * len(m.parameter) == m.parameter.numel()):
                entry.update(parts=1, first_part=m.first_row // m.parameter.shape[1] + 1)
            reason = self.unobserved.get(m.name) or self.mismatch(m.name)
            if reason:
                entry["reason"] = reason
            yield m, entry

    def write(self, folder):
        partial = folder.rstrip("/") + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        layers, seen = [], set()
        for number, (matrix, entry) in enumerate(self.layers()):
            entry["file"] = f"{number}.safetensors"
            moment = "counts" if matrix.kind == "embedding" else "second_moment"
            _save(os.path.join(partial, entry["file"]),
                  {moment: matrix.moment, "gradient": matrix.gradient})
            layers.append(entry)
            seen.add(matrix.name)
        others = {name: self.reason_unobserved(name)
                  for name in self.parameters if name not in seen}
        with open(os.path.join(partial, "recording.json"), "w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, "layers": layers, "not_seen": others, "tied": self.tied},
                      file, indent=1)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(partial, folder)

    def reason_unobserved(self, name):
        parameter = self.parameters[name]
        if parameter.dim() < 2:
            return "no matrix"  # part of the format: ranklab reads this reason
        if not fnmatch.fnmatch(name, self.include):
            return "not selected by include"
        if not parameter.requires_grad:
            return "frozen (requires_grad is False)"
        return self.unobserved.get(name, "no use that can be recorded")


def _storage(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


def _around(handler, original, names):
    def call(*args, **more):
        args = list(args)
        for spellings in names[len(args):]:
            args += [more.pop(name) for name in spellings if name in more]
        return handler(original, *args, **more)

    return call


def _patches(x, kernel, stride, padding, dilation):
    """Batch x channels x sizes as samples x (channels x kernel), ordered as a flattened weight."""
    x = F.pad(x, [p for pair in reversed(padding) for p in pair])
    for axis, (size, step, gap) in enumerate(zip(kernel, stride, dilation)):
        at = 2 + axis
        count = (x.shape[at] - gap * (size - 1) - 1) // step + 1
        starts = torch.arange(count, device=x.device)[:, None] * step
        index = (starts + torch.arange(size, device=x.device) * gap).reshape(-1)
        x = x.index_select(at, index)
        x = x.reshape(*x.shape[:at], count, size, *x.shape[at + 1:]).movedim(at + 1, -1)
    # x: (batch, channels, positions, kernel)
    dims = len(kernel)
    x = x.movedim(1, 1 + dims)
    return x.reshape(-1, x.shape[1 + dims] * _product(kernel))


def _product(numbers):
    out = 1
    for number in numbers:
        out *= number
    return out


def _cell(kind, gates_x, gates_h, state):
    """One step of a recurrent layer, given W_ih x and W_hh h; state is (h, c) or (h,)."""
    if kind == "LSTM":
        i, f, g, o = (gates_x + gates_h).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    if kind == "GRU":
        (r, z, n), (hr, hz, hn) = gates_x.chunk(3, -1), gates_h.chunk(3, -1)
        z = torch.sigmoid(z + hz)
        return ((1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * state[0],)
    return ((torch.relu if kind == "relu" else torch.tanh)(gates_x + gates_h),)


def _recurrent(module, x, hx):
    """Computes nn.LSTM, nn.GRU, nn.RNN and their cells step by step, to record every use."""
    kind = type(module).__name__.replace("Cell", "")
    if kind == "RNN":
        kind = module.nonlinearity
    cells = 2 if kind == "LSTM" else 1
    states = hx if isinstance(hx, tuple) else (hx,) if hx is not None else None
    if not hasattr(module, "num_layers"):
        if states is None:
            states = (x.new_zeros(*x.shape[:-1], module.hidden_size),) * cells
        new = _cell(kind, F.linear(x, module.weight_ih, module.bias_ih),
                    F.linear(states[0], module.weight_hh, module.bias_hh), states)
        return new if cells == 2 else new[0]
    packed, lengths = x if isinstance(x, PackedSequence) else None, None
    if packed is not None:
        x, lengths = pad_packed_sequence(PackedSequence(packed.data, packed.batch_sizes))
        if states is not None and packed.sorted_indices is not None:
            states = tuple(s.index_select(1, packed.sorted_indices) for s in states)
    single = packed is None and x.dim() == 2
    if single:
        x = x.unsqueeze(1)
        states = None if states is None else tuple(s.unsqueeze(1) for s in states)
    elif packed is None and module.batch_first:
        x = x.transpose(0, 1)
    directions = 2 if module.bidirectional else 1
    if states is None:
        zeros = x.new_zeros(module.num_layers * directions, x.shape[1], module.hidden_size)
        states = (zeros,) * cells
    last = []
    for layer in range(module.num_layers):
        outputs = []
        for direction in range(directions):
            suffix = f"_l{layer}{'_reverse' * direction}"
            parameter = lambda name: getattr(module, name + suffix, None)
            gates = F.linear(x, parameter("weight_ih"), parameter("bias_ih"))
            state, steps = tuple(s[layer * directions + direction] for s in states), [None] * len(x)
            for t in (reversed(range(len(x))) if direction else range(len(x))):
                new = _cell(kind, gates[t],
                            F.linear(state[0], parameter("weight_hh"), parameter("bias_hh")), state)
                if lengths is not None:  # sequences that have ended keep their state
                    runs = (t < lengths).to(x.device)[:, None]
                    new = tuple(torch.where(runs, n, s) for n, s in zip(new, state))
                state = new
                steps[t] = state[0]
            outputs.append(torch.stack(steps))
            last.append(state)
        x = torch.cat(outputs, -1)
        if layer + 1 < module.num_layers and module.dropout:
            x = F.dropout(x, module.dropout, module.training)
    final = tuple(torch.stack([state[i] for state in last]) for i in range(cells))
    if packed is not None:
        again = pack_padded_sequence(x, lengths)
        x = PackedSequence(again.data, again.batch_sizes, packed.sorted_indices,
                           packed.unsorted_indices)
        if packed.unsorted_indices is not None:
            final = tuple(s.index_select(1, packed.unsorted_indices) for s in final)
    elif single:
        x, final = x.squeeze(1), tuple(s.squeeze(1) for s in final)
    elif module.batch_first:
        x = x.transpose(0, 1)
    return x, final if cells == 2 else final[0]


def _save(path, tensors):
    """Writes a safetensors file: the length of the JSON header, the header, the entries."""
    header, at, blobs = {}, 0, []
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        blob = ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        header[name] = {"dtype": {torch.float64: "F64", torch.float32: "F32"}[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(blobs))
