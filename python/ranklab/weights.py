"""Finds the parameter behind a tensor: the parameter itself, a view, a cast, or a weight that a
parametrization computes.

A tensor is known by the address of its storage, so a function that was imported by name, a view and
a block of rows are found without a change of the model. Casts copy their numbers; their results
carry a mark that names the source.
"""
import sys

import torch
from torch import nn
from torch.nn.utils import parametrize

from .causes import why

# Functions whose result is the same matrix in another type, place or memory layout.
CASTS = {"to", "type", "type_as", "float", "double", "half", "bfloat16", "cuda", "cpu",
         "contiguous", "clone"}
# Parts of a module's path that wrappers add.
WRAPPERS = {"", "_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"}


class Origin:
    """What a tensor computed from weights alone is made of.

    source: the tensor of which it is a cast; name: the weight that it is, if a parametrization
    computed it. Neither is set for any other function of weights. version: of the tensor; after a
    change in place it is no longer what it was.
    """

    def __init__(self, weights, names, version, source=None, name=None):
        self.weights, self.names, self.version = weights, names, version
        self.source, self.name = source, name

    def __reduce__(self):  # the tensor may be saved with the model
        return type(None), ()


class Hook:
    """A forward hook. Its copy in a copy of the module does nothing."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *call):
        if self.function is not None:
            self.function(*call)

    def __reduce__(self):
        return Hook, (None,)


class Weights:
    """The parameters of a model.

    parameters: name -> parameter, each once; tied: name -> its other names.
    computed: name of a parametrized weight -> names of the parameters behind it.
    refused: name -> (cause, reason) of parameters that are known not to be observable.
    """

    def __init__(self, model):
        self.parameters, self.tied, self.computed, self.refused = {}, {}, {}, {}
        self.first_names, self.hooks, self.sharded = {}, [], {}
        self.marked, self.sees_compiled = False, sees_compiled()
        for path, module in model.named_modules():
            prefix = "".join(part + "." for part in path.split(".") if part not in WRAPPERS)
            self.add_module(prefix, module)
        self.places = {}  # address of a storage -> names
        for name, parameter in self.parameters.items():
            self.check_type(name, parameter)
            if name not in self.refused and parameter.numel() and address(parameter) is not None:
                self.places.setdefault(address(parameter), []).append(name)

    def add_module(self, prefix, module):
        if isinstance(module, torch.jit.ScriptModule) or not self.sees_compiled and (
                type(module).__name__ == "OptimizedModule"
                or getattr(module, "_compiled_call_impl", None) is not None):
            for name, _ in module.named_parameters():
                self.refuse(prefix + name, "compiled")
        if parametrize.is_parametrized(module):
            for own, weight in module.parametrizations.items():
                inside = f"{prefix}parametrizations.{own}."
                self.computed[prefix + own] = [inside + n for n, _ in weight.named_parameters()]
                self.hooks.append(weight.register_forward_hook(Hook(
                    lambda *call, name=prefix + own: self.mark_computed(name, call[-1]))))
        parameters = dict(module.named_parameters(recurse=False))
        for own, parameter in parameters.items():
            name = prefix + own
            first = self.first_names.setdefault(parameter, name)
            if first != name:
                self.tied.setdefault(first, []).append(name)
                continue
            self.parameters[name] = parameter
            if type(parameter).__name__ == "DTensor":
                self.sharded[name] = module, own
            # Older parametrizations store the computed weight as a plain attribute in a hook.
            for end in ("_orig", "_v"):
                plain = own[:-len(end)]
                if own.endswith(end) and isinstance(vars(module).get(plain), torch.Tensor):
                    self.computed[prefix + plain] = [
                        prefix + n for n in parameters if n.startswith(plain + "_")]
                    self.hooks.append(module.register_forward_pre_hook(Hook(
                        lambda module, _, plain=plain: self.mark_computed(
                            prefix + plain, vars(module).get(plain)))))

    def check_type(self, name, parameter):
        """Refuses parameters that hold no whole real matrix."""
        kind = type(parameter).__name__
        if "Uninitialized" in kind:
            self.refuse(name, "uninitialized")
        elif kind in ("FlatParameter", "DTensor") or hasattr(parameter, "_sharded_size") or getattr(
                parameter, "_fsdp_flattened", False):
            self.refuse(name, "sharded")
        elif parameter.is_complex():
            self.refuse(name, "complex")

    def refuse(self, name, cause):
        self.refused.setdefault(name, why(cause))

    def mark_computed(self, name, out):
        if isinstance(out, torch.Tensor):
            self.mark(out, self.computed[name], name=name)

    def mark(self, tensor, names, **more):
        tensor._ranklab_origin = Origin(self, names, tensor._version, **more)
        self.marked = True

    def origin(self, tensor):
        """(origin, the tensor that carries it) of a tensor or of the tensor that it views."""
        for base in (tensor, tensor._base) if self.marked else ():
            found = getattr(base, "_ranklab_origin", None)
            if found is not None and found.weights is self and found.version == base._version:
                return found, base
        return None, None

    def names(self, tensor):
        """Names of the parameters of which alone the tensor is a view, a cast or a function."""
        if torch.is_grad_enabled() and not tensor.requires_grad:
            return []
        origin, _ = self.origin(tensor)
        return self.at(tensor) if origin is None else origin.names

    def at(self, tensor):
        """Names of the parameters whose storage a tensor uses, also frozen ones."""
        if self.sharded:
            self.add_unsharded(tensor)
        found = self.places.get(address(tensor), [])
        return found if len(found) < 2 else [
            name for name in found if overlap(tensor, self.parameters[name])]

    def add_unsharded(self, tensor):
        """Adds the whole matrix that fully_shard (FSDP2) puts in the place of a DTensor."""
        whole = tensor if tensor._base is None else tensor._base
        name = self.first_names.get(whole)
        if not isinstance(whole, nn.Parameter) or name is not None and name not in self.sharded:
            return
        if name is None:
            name = next((name for name, (module, own) in self.sharded.items()
                         if module._parameters.get(own) is whole), None)
        if name is None or type(whole).__name__ == "DTensor":
            return
        self.first_names[whole], self.parameters[name] = name, whole
        self.refused.pop(name, None)
        self.places[address(whole)] = [name]  # a new address in each forward pass

    def locate(self, weight, match):
        """(name, place, whole weight) of the weight that a tensor is, or None.

        match(tensor, weight): the place of the tensor in the weight, or None.
        """
        if torch.is_grad_enabled() and not weight.requires_grad:
            return None
        origin, base = self.origin(weight)
        if origin is None:
            candidates = [(name, self.parameters[name]) for name in self.at(weight)]
        elif origin.name is not None:
            candidates = [(origin.name, base)]
        elif origin.source is None:
            return None
        elif origin.source.stride() == base.stride():  # take the same view of the cast tensor
            start = origin.source.storage_offset() - base.storage_offset()
            return self.locate(origin.source.as_strided(
                weight.shape, weight.stride(), weight.storage_offset() + start), match)
        elif whole_of(weight, base):  # in another layout only the whole matrix can be followed
            return self.locate(origin.source, match)
        elif base.dim() == 2 and whole_of(weight, base.t()):
            return self.locate(origin.source.t(), match)
        else:
            return None
        for name, whole in candidates:
            place = match(weight, whole)
            if place is not None:
                return name, place, whole
            if whole.dim() < 2 and min(weight.shape) > 1 and weight.numel() <= whole.numel():
                self.refuse(name, "reshaped")
        return None

    def matrix(self, weight):
        return self.locate(weight, rows_of) if weight.dim() == 2 else None


def sees_compiled():
    """Whether torch.compile was used, and its compiled code can run uncompiled."""
    # The first call of torch.compile loads the module.
    return "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")


def world_size():
    """The number of ranks of torch.distributed, 1 without it."""
    distributed = torch.distributed
    return distributed.get_world_size() if (
        distributed.is_available() and distributed.is_initialized()) else 1


def address(tensor):
    """Where the storage of a tensor begins; None without a storage (sparse, or in torch.func)."""
    try:
        return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
    except RuntimeError:
        return None


def rows_of(part, whole):
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


def whole_of(part, whole):
    """(first row, rows, transposed) if a tensor is a whole weight, else None."""
    def geometry(t):
        return t.shape, t.stride(), t.storage_offset()
    return (0, len(whole), False) if geometry(part) == geometry(whole) else None


def overlap(a, b):
    """Whether two tensors in the same storage may have a number in common."""
    (a, a_end), (b, b_end) = [
        (t.storage_offset(), t.storage_offset() + sum(
            (size - 1) * step for size, step in zip(t.shape, t.stride())) + 1) for t in (a, b)]
    return a < b_end and b < a_end
