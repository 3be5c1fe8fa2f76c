"""Which parameters Muon takes and which the other optimizer, by dataflow (see roles.py)."""
import weakref
from collections.abc import Mapping
from enum import Enum

import torch

from .recording import Recording, is_gain
from .restored import buffers_restored
from .roles import find_roles
from .watch import check_model, optimizers_of
from .weights import layer_name

KNOWN = weakref.WeakKeyDictionary()  # model -> the Groups last found for it
# Functions of which a parameter is a term or an input: its rows are data, as in a table.
TERMS = {"add", "radd", "iadd", "sub", "rsub", "cat", "concat", "concatenate", "stack", "expand",
         "expand_as", "broadcast_to", "repeat", "repeat_interleave", "tile", "where", "setitem",
         "layer_norm", "dropout", "interpolate", "pad", "lerp", "masked_fill", "index_put",
         "masked_scatter", "scaled_dot_product_attention", "normalize", "matmul", "bmm",
         "baddbmm", "einsum"}
MARKS = ("muon", "dion"), ("adam", "lion", "sgd", "lamb", "adagrad", "rmsprop", "adafactor")


class NoScalar(TypeError):
    """The loss is no scalar tensor with a gradient."""


class Groups:
    """muon, other: lists of parameters, each parameter once, frozen ones nowhere.

    muon_names, other_names: their names. roles: name -> role; notes: name -> what it is besides.
    Printed, it is a table.
    """

    def __init__(self, filters=False):
        self.muon, self.other, self.muon_names, self.other_names = [], [], [], []
        self.roles, self.notes, self.filters = {}, {}, filters

    def add(self, name, parameter, role, note):
        self.roles[name] = role
        if note:
            self.notes[name] = note
        for_muon = role == "hidden" and (parameter.dim() == 2 or self.filters and (
            note.startswith("convolution")))
        (self.muon if for_muon else self.other).append(parameter)
        (self.muon_names if for_muon else self.other_names).append(name)

    def __str__(self):
        width = max(map(len, self.roles), default=0)
        lines = []
        for name, role in self.roles.items():
            group = "muon" if name in self.muon_names else "other"
            note = f" ({self.notes[name]})" if name in self.notes else ""
            lines.append(f"{group:5}  {name:{width}}  {role}{note}")
        return "\n".join(lines)


def groups(model, loss, filters=False):
    """The parameters of a model in two groups; see Groups.

    loss: loss(model) runs one forward pass and returns the scalar loss.
    filters: whether Muon gets hidden filters of convolutions too, for a Muon that flattens each to
    a matrix, p.flatten(1), as the reference does; torch.optim.Muon takes matrices alone.

    Muon gets all hidden matrices with two axes. Stacks of experts are hidden matrices too, but
    torch.optim.Muon does not take them: they are in `other`, and notes says so, as it says which
    matrices are fused and how to cut them. Parameters that are frozen in the model are in no group.
    The roles are embedding, first, hidden, head and tied (roles.py); vector (also gains such as
    those of weight_norm, m x 1); table, whose rows are data (positions, a class token, learned
    queries); other and unknown, whose notes say how they are used; unused.

    The forward pass runs with gradients for all parameters, so that roles are right behind frozen
    layers. Buffers, such as the statistics of BatchNorm, and the random state of PyTorch are
    restored. The model must have seen its lazy layers before.

    Throws TypeError if `loss` is no function or returns no scalar with a gradient, ValueError if it
    uses no matrix of the model, or a reentrant checkpoint hides the use of one.
    """
    check_model("groups()", model)
    if not callable(loss):
        raise TypeError("groups(): loss must be a function of the model that computes the loss: "
                        "groups(model, lambda model: loss_fn(model(x), y))")
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        for p in frozen:
            p.requires_grad_(True)
        with buffers_restored(model):
            recording, value = forward(model, loss)
    finally:
        for p in frozen:
            p.requires_grad_(False)
    for name, (cause, reason) in recording.refused.items():
        if cause == "reentrant-checkpoint":
            raise ValueError(f"groups(): {name} is {reason}")
    uses = recording.uses
    roles = find_roles(recording, [value.grad_fn])
    out, kinds, counts = Groups(filters), {}, {}
    for use in uses:
        kinds.setdefault(use.name, use.kind)
        counts[use.name] = counts.get(use.name, 0) + 1
    names = set(map(id, frozen))
    for name, parameter in recording.parameters.items():
        if id(parameter) not in names:
            out.add(name, parameter, *describe(recording, name, parameter, roles, kinds, counts))
    matrices = [name for name, p in recording.parameters.items() if p.dim() > 1]
    if matrices and all(out.roles.get(name, "unused") == "unused" for name in matrices):
        raise ValueError("groups(): the loss uses no matrix of this model; loss(model) must call "
                         "the model that it is given")
    KNOWN[model] = out
    return out


def forward(model, loss):
    """(recording, loss) of one forward pass with gradients."""
    recording = Recording(model, measure=False)
    try:
        with torch.enable_grad():
            value = loss(model)
    finally:
        recording.stop()
    if not isinstance(value, torch.Tensor) or value.numel() != 1 or value.grad_fn is None:
        raise NoScalar("groups(): loss(model) must return a scalar tensor with a gradient")
    return recording, value


def describe(recording, name, parameter, roles, kinds, counts):
    """(role, note) of a parameter."""
    if parameter.dim() < 2:
        return "vector", ""
    whole = next((weight for weight, behind in recording.weights.computed.items()
                  if name in behind and weight in roles), name)
    if whole != name and is_gain(parameter):
        return "vector", f"a gain of {whole}"
    role = roles.get(whole)
    if role is None:
        return without_role(recording, name, parameter)
    kind, notes, used_as = kinds[whole], [], recording.shapes.get(whole, ())
    if parameter.dim() > 2 and parameter.shape[0] == 1 and kind.endswith("not measured"):
        return "table", f"used by {kind}"
    if "convolution" in kind or kind.startswith("conv"):
        rows, *rest = parameter.shape
        notes.append(f"{kind}; flattened, a matrix of {rows} x {parameter.numel() // rows}" + (
            ", but each of its groups is a matrix of its own" if "grouped" in kind else ""))
    elif kind not in ("matrix", "transposed matrix", "embedding"):
        notes.append(f"used by {kind}")
    elif parameter.dim() > 2:
        notes.append("used as a matrix of {} x {}".format(*used_as) if len(used_as) == 2 else
                     "stack of experts" if parameter.dim() == 3 else "stack")
    if whole != name:
        notes.append(f"a part of {whole}")
    if name in recording.weights.tied:
        notes.append("tied to " + ", ".join(recording.weights.tied[name]))
    if role == "hidden" and counts[whole] > 1 and parameter.dim() == 2:
        notes.append(f"shared: used {counts[whole]} times")
    fused = recording.cuts.get(whole)
    packed = name.endswith("in_proj_weight") and parameter.shape[0] == 3 * parameter.shape[1]
    if role == "hidden" and packed:
        notes.append(f"fused: 3 matrices of {parameter.shape[1]} outputs, which watch() measures "
                     "apart, and Muon treats apart if each is a parameter of its own")
    elif role == "hidden" and fused:
        rule = len(fused) if len(set(fused)) == 1 else fused
        sizes, cut = ", ".join(map(str, fused)), f'{{"{layer_name(name)}": {rule}}}'
        notes.append(f"fused: {len(fused)} matrices of {sizes} outputs, which watch(parts={cut}) "
                     "measures apart, and Muon treats apart if each is a parameter of its own")
    return role, ", ".join(notes)


def without_role(recording, name, parameter):
    """(role, note) of a parameter that is not used as a matrix."""
    if name in recording.custom:
        return "unknown", "used inside a torch.autograd.Function"
    if name in recording.touched:
        function = recording.touched[name]
        data = function in TERMS or function.endswith("as an input")
        if is_gain(parameter) and not (data and parameter.dim() > 2):
            return "vector", f"used by {function}"
        return "table" if data else "other", f"used by {function}, not as a matrix"
    if name in recording.without_grad:
        return "unknown", "used only without gradients, or inside a torch.autograd.Function"
    if name in recording.refused:
        return "unknown", recording.refused[name][1]
    return "unused", "the loss does not depend on it"


def check_groups(optimizers, model, loss=None):
    """Sentences on what is wrong with the groups of one or several optimizers; none if all is well.

    They name the parameters that are left out, those that are in two groups, and the matrices of
    Muon that are not hidden. What is Muon's is read from the groups and from the state of each
    parameter ("use_muon", "algorithm", "kind" and the like), else from the class: all parameters of
    one that is called Muon or Dion. If such a class has vectors too, or another optimizer in its
    name, and marks nothing, one sentence says that it cannot be read; another one, that no
    parameter is known as Muon's. loss: as in groups(); not
    needed after groups(model, loss). Throws TypeError for what is no optimizer.
    """
    check_model("check_groups()", model)
    optimizers = optimizers_of("check_groups()", optimizers)
    found = groups(model, loss) if loss is not None else KNOWN.get(model)
    names = {}
    for name, parameter in model.named_parameters():
        names.setdefault(parameter, name)
    places, muon, out = {}, {}, []  # how often a parameter is in a group; those of Muon, in order
    for optimizer in optimizers:
        own, readable = muon_of(optimizer)
        muon.update(dict.fromkeys(own))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                places[parameter] = places.get(parameter, 0) + 1
        if not readable:
            out.append(f"which parameters {type(optimizer).__name__} orthogonalizes cannot be "
                       'read: neither its groups nor its state have a mark such as "use_muon"')
    for parameter, name in names.items():
        count = places.get(parameter, 0)
        if count == 0 and parameter.requires_grad:
            out.append(f"{name} is in no group: no optimizer changes it")
        elif count > 1:
            out.append(f"{name} is in {count} groups: it is changed {count} times per step")
    out += [f"a parameter of shape {tuple(p.shape)} belongs to an optimizer, but not to the model"
            for p in places if p not in names]
    for parameter in muon:
        name = names.get(parameter)
        if name is None:
            continue
        if found is None and parameter.dim() < 2:
            out.append(f"{name} is in Muon, but is no matrix")
        elif found is not None and found.roles.get(name) != "hidden":
            note = found.notes.get(name)
            out.append(f"{name} is in Muon, but its role is {found.roles.get(name, 'unknown')}"
                       + (f" ({note})" if note else ""))
    if not muon and all(muon_of(optimizer)[1] for optimizer in optimizers):
        out.append('no parameter is known as Muon\'s: mark its groups with "use_muon": True, or '
                   "call the class of its optimizer Muon")
    if found is None and muon:
        out.append("the roles of Muon's matrices are not known: call groups(model, loss) first, or "
                   "pass loss")
    return out


def muon_of(optimizer):
    """(parameters that an optimizer orthogonalizes, whether that can be read)."""
    muon, unmarked = [], []
    for group in optimizer.param_groups:
        of_group = mark_of({key: value for key, value in group.items() if key != "params"})
        for parameter in group["params"]:
            state = optimizer.state.get(parameter)
            mark = mark_of(state) if isinstance(state, Mapping) else None
            mark = of_group if mark is None else mark
            if mark is None:
                unmarked.append(parameter)
            elif mark:
                muon.append(parameter)
    # That of Accelerate holds another one.
    name = type(getattr(optimizer, "optimizer", optimizer)).__name__.lower()
    if not unmarked or not any(word in name for word in MARKS[0]):
        return muon, True
    several = any(word in name.replace("adamuon", "") for word in MARKS[1]) or any(
        p.dim() < 2 for p in unmarked)
    marked = len(unmarked) < sum(len(group["params"]) for group in optimizer.param_groups)
    if several and not marked:
        return muon, False
    return muon + unmarked, True


def mark_of(values):
    """Whether a group or a state says that it is Muon's; None if it says nothing."""
    for key, value in values.items():
        key = str(key).lower()
        if isinstance(value, Enum):
            value = value.name
        if isinstance(value, (int, torch.Tensor)) and key.split("_")[0] in ("use", "is", "apply"):
            value = bool(value)
        said = value.lower() if isinstance(value, str) else key if isinstance(value, bool) else ""
        if any(word in said for word in MARKS[0]):
            return value is not False
        # Not "match_rms_adamw", a rule for the rate of torch.optim.Muon.
        if any(said.startswith(word) if isinstance(value, str) else word in said
               for word in MARKS[1]):
            return value is False
    return None
