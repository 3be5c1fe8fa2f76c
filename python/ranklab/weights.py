"""Finds the parameter behind a tensor: the parameter itself, a view, a cast, or a weight that a
parametrization computes.

A tensor is known by the address of its storage, so a function that was imported by name, a view and
a block of rows are found without a change of the model. Casts and products with a scalar copy
their numbers; their results carry a mark that names the source.
"""
import weakref
from collections import namedtuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from . import private
from .calls import Hook
from .causes import failure, why

# Functions whose result is the same matrix in another type, place or memory layout.
CASTS = {"to", "type", "type_as", "float", "double", "half", "bfloat16", "cuda", "cpu",
         "contiguous", "clone"}
SCALINGS = {"mul", "multiply", "__mul__", "__rmul__", "div", "divide", "true_divide",
            "__truediv__"}
# Parts of a module's path that wrappers add.
WRAPPERS = {"", "_orig_mod", "_checkpoint_wrapped_module"}


class Origin:
    """What a tensor computed from weights alone is made of.

    source: the tensor of which it is a cast, or factor times which it is; name: the weight that it
    is, if a parametrization computed it. Neither is set for any other function of weights. version:
    of the tensor; after a change in place it is no longer what it was.
    """

    def __init__(self, weights, names, version, source=None, name=None, factor=None):
        self.weights, self.names, self.version = weights, names, version
        self.source, self.name, self.factor = source, name, factor

    def __reduce__(self):  # the tensor may be saved with the model
        return type(None), ()


# A matrix found behind a tensor, which is factor (None: 1) times it; whole: the weight; place:
# (first row, rows, transposed) in it; size: its shape, as a matrix if it was reshaped to one.
Found = namedtuple("Found", "name place whole size factor")


class Weights:
    """The parameters of a model.

    parameters: name -> parameter, each once; tied: name -> its other names.
    computed: name of a parametrized weight -> names of the parameters behind it.
    refused: name -> (cause, reason) of parameters that are known not to be observable.
    """

    def __init__(self, model):
        self.parameters, self.tied, self.computed, self.refused = {}, {}, {}, {}
        self.first_names, self.hooks, self.sharded = {}, [], {}
        self.model, self.strangers, self.scans, self.marked = weakref.ref(model), {}, 100, False
        for prefix, module in modules_of(model):
            self.add_module(prefix, module)
        self.places, self.where = {}, {}  # address of a storage -> names; name -> address
        for name, parameter in self.parameters.items():
            self.check_type(name, parameter)
            self.put(name, parameter)

    def put(self, name, parameter):
        """Notes where the numbers of a parameter are."""
        if name in self.refused or not parameter.numel() or address(parameter) is None:
            return
        place = address(parameter)
        if self.where.get(name) in self.places:
            self.places[self.where[name]].remove(name)
        self.where[name] = place
        self.places.setdefault(place, []).append(name)

    def keep_up(self, parameter):
        """Follows a parameter that was moved, cast or replaced since the start."""
        name = self.first_names.get(parameter)
        if name is None:
            if id(parameter) not in self.strangers and self.scans > 0:
                self.scans -= 1  # few, since another model may have many parameters
                self.strangers = {id(p): prefix + own for prefix, module in modules_of(self.model())
                                  for own, p in module.named_parameters(recurse=False)}
            name = self.strangers.get(id(parameter))
            if name is None or name not in self.parameters:
                return
            self.first_names[parameter], self.parameters[name] = name, parameter
        if name not in self.sharded and self.where.get(name) != address(parameter):
            self.put(name, parameter)

    def add_module(self, prefix, module):
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
            if private.is_dtensor(parameter):
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
        elif private.is_dtensor(parameter):
            self.refuse(name, "sharded")
        elif parameter.is_complex():
            self.refuse(name, "complex")

    def refuse(self, name, cause):
        self.refused.setdefault(name, why(cause))

    def mark_computed(self, name, out):
        try:
            if isinstance(out, torch.Tensor):
                self.mark(out, self.computed[name], name=name)
        except Exception as error:  # it is in the user's forward pass
            self.refused.setdefault(name, failure(error))

    def mark(self, tensor, names, **more):
        tensor._ranklab_origin = Origin(self, names, private.version(tensor), **more)
        self.marked = True

    def origin(self, tensor):
        """(origin, the tensor that carries it) of a tensor or of the tensor that it views."""
        for base in (tensor, private.base_of(tensor)) if self.marked else ():
            found = getattr(base, "_ranklab_origin", None)
            if found is not None and found.weights is self and (
                    found.version == private.version(base)):
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
        base = private.base_of(tensor)
        if self.sharded:
            self.add_unsharded(base)
        if isinstance(base, nn.Parameter):
            self.keep_up(base)
        found = self.places.get(address(tensor), [])
        return found if len(found) < 2 else [
            name for name in found if overlap(tensor, self.parameters[name])]

    def add_unsharded(self, whole):
        """Adds the whole matrix that fully_shard (FSDP2) puts in the place of a DTensor."""
        name = self.first_names.get(whole)
        if not isinstance(whole, nn.Parameter) or name is not None and name not in self.sharded:
            return
        if name is None:
            name = next((name for name, (module, own) in self.sharded.items()
                         if getattr(module, own, None) is whole), None)
        if name is None or private.is_dtensor(whole):
            return
        self.first_names[whole], self.parameters[name] = name, whole
        self.refused.pop(name, None)
        self.places[address(whole)] = [name]  # a new address in each forward pass

    def locate(self, weight, match):
        """The Found that a tensor is, or None.

        match(tensor, weight): (place, size) of the tensor in the weight, or None.
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
        else:
            found = self.locate_source(weight, base, origin.source, match)
            if found is None or origin.factor is None:
                return found
            return found._replace(factor=origin.factor if found.factor is None
                                  else found.factor * origin.factor)
        for name, whole in candidates:
            fits = match(weight, whole)
            if fits is not None:
                return Found(name, fits[0], whole, fits[1], None)
            if whole.dim() < 2 and min(weight.shape) > 1 and weight.numel() <= whole.numel():
                self.refuse(name, "reshaped")
        return None

    def locate_source(self, weight, base, source, match):
        """locate() of the source of which `weight` is a view after a cast or a scaling."""
        if source.stride() == base.stride():  # take the same view of the source
            start = source.storage_offset() - base.storage_offset()
            return self.locate(source.as_strided(
                weight.shape, weight.stride(), weight.storage_offset() + start), match)
        if whole_of(weight, base):  # in another layout only the whole matrix can be followed
            return self.locate(source, match)
        if base.dim() == 2 and whole_of(weight, base.t()):
            return self.locate(source.t(), match)
        return None

    def matrix(self, weight):
        return self.locate(weight, rows_of) if weight.dim() == 2 else None


def modules_of(model):
    """(prefix, module) of all modules, without what wrappers add to their paths."""
    for path, module in [] if model is None else model.named_modules():
        yield "".join(part + "." for part in path.split(".") if part not in WRAPPERS), module


def layer_name(name):
    """The name of a matrix: of its parameter, without ".weight"."""
    return name[:-len(".weight")] if name.endswith(".weight") else name


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
    """((first row, rows, transposed), shape) of the rows of a weight that a matrix is, or None.

    The shape is that of the weight, or (rows, columns) if it was reshaped to a matrix.
    """
    if whole.dim() < 2:
        return None
    start, total = part.storage_offset() - whole.storage_offset(), whole.numel()
    shapes = []  # (columns, strides, shape)
    if whole.dim() == 2 or whole.is_contiguous():
        shapes.append((whole.shape[-1], whole.stride()[-2:], tuple(whole.shape)))
    if whole.is_contiguous():
        shapes += [(c, (c, 1), (total // c, c)) for c in dict.fromkeys(part.shape)
                   if c and total % c == 0 and c != whole.shape[-1]]
    for columns, (step, stride), shape in shapes:
        first, rest = divmod(start, max(step, 1))
        for transposed, rows in ((False, part), (True, part.t())):
            fits = all(size == 1 or found == expected for size, found, expected in zip(
                rows.shape, rows.stride(), (step, stride)))
            if (fits and rest == 0 and rows.shape[1] == columns
                    and 0 <= first <= total // columns - len(rows)):
                return (first, len(rows), transposed), shape
    return None


def whole_of(part, whole):
    """((first row, rows, transposed), shape) if a tensor is a whole weight, else None."""
    def geometry(t):
        return t.shape, t.stride(), t.storage_offset()
    return ((0, len(whole), False), tuple(whole.shape)) if (
        geometry(part) == geometry(whole)) else None


def overlap(a, b):
    """Whether two tensors in the same storage may have a number in common."""
    (a, a_end), (b, b_end) = [
        (t.storage_offset(), t.storage_offset() + sum(
            (size - 1) * step for size, step in zip(t.shape, t.stride())) + 1) for t in (a, b)]
    return a < b_end and b < a_end
