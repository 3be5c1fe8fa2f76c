"""Which parameters Muon takes and which the other optimizer, by dataflow (see roles.py)."""
import weakref

import torch

from .recording import Recording
from .roles import find_roles
from .watch import check_model, optimizers_of

KNOWN = weakref.WeakKeyDictionary()  # model -> the Groups last found for it


class NoScalar(TypeError):
    """The loss is no scalar tensor with a gradient."""


class Groups:
    """muon, other: lists of parameters, each parameter once, frozen ones nowhere.

    muon_names, other_names: their names. roles: name -> role; notes: name -> what it is besides.
    """

    def __init__(self):
        self.muon, self.other, self.muon_names, self.other_names = [], [], [], []
        self.roles, self.notes = {}, {}

    def add(self, name, parameter, role, note):
        self.roles[name] = role
        if note:
            self.notes[name] = note
        for_muon = role == "hidden" and parameter.dim() == 2
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


def groups(model, loss):
    """The parameters of a model in two groups; see Groups.

    loss: loss(model) runs one forward pass and returns the scalar loss.
    Muon gets the hidden matrices with two axes. Stacks of experts and convolutions are hidden
    matrices too, but torch.optim.Muon does not take them: they are in `other`, and notes says so.
    Parameters that are frozen in the model are in no group. The forward pass runs with gradients
    for all of them, so that roles are right behind frozen layers; it changes buffers such as those
    of BatchNorm as any forward pass does. The model must have seen its lazy layers before.

    Throws TypeError if `loss` is no function or returns no scalar with a gradient.
    """
    check_model("groups()", model)
    if not callable(loss):
        raise TypeError("groups(): loss must be a function of the model that computes the loss: "
                        "groups(model, lambda model: loss_fn(model(x), y))")
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        for p in frozen:
            p.requires_grad_(True)
        recording, value = forward(model, loss)
    finally:
        for p in frozen:
            p.requires_grad_(False)
    uses = recording.uses
    roles = find_roles(uses, [value.grad_fn])
    out, kinds, counts = Groups(), {}, {}
    for use in uses:
        kinds.setdefault(use.name, use.kind)
        counts[use.name] = counts.get(use.name, 0) + 1
    names = set(map(id, frozen))
    for name, parameter in recording.parameters.items():
        if id(parameter) not in names:
            out.add(name, parameter, *describe(recording, name, parameter, roles, kinds, counts))
    KNOWN[model] = out
    return out


def forward(model, loss):
    """(recording, loss) of one forward pass with gradients."""
    recording = Recording(model, measure=False)
    try:
        with torch.enable_grad():
            value = loss(model)
        if recording.hidden:  # a reentrant checkpoint has a graph only during the backward pass
            gradients = [(p, p.grad) for p in model.parameters()]
            try:
                value.backward(retain_graph=True)
            finally:
                for p, gradient in gradients:
                    p.grad = gradient
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
    role, notes = roles.get(whole), []
    if role is None:
        if name in recording.touched:
            return "other", f"used by {recording.touched[name]}, not as a matrix"
        if name in recording.without_grad:
            return "unknown", "used only without gradients, or inside a torch.autograd.Function"
        if name in recording.refused:
            return "unknown", recording.refused[name][1]
        return "unused", "the loss does not depend on it"
    if whole != name:
        notes.append(f"a part of {whole}")
    if name in recording.weights.tied:
        notes.append("tied to " + ", ".join(recording.weights.tied[name]))
    if role == "hidden" and counts[whole] > 1:
        notes.append(f"shared: used {counts[whole]} times")
    if "convolution" in kinds[whole] or kinds[whole].startswith("conv"):
        notes.append("convolution")
    elif parameter.dim() > 2:
        notes.append("stack of experts" if parameter.dim() == 3 else "stack")
    elif kinds[whole] not in ("matrix", "transposed matrix", "embedding"):
        notes.append(f"used by {kinds[whole]}")
    return role, ", ".join(notes)


def check_groups(optimizers, model, loss=None):
    """Sentences on what is wrong with the groups of one or several optimizers; none if all is well.

    They name the parameters that are left out, those that are in two groups, and the matrices of
    Muon that are not hidden. An optimizer counts as Muon if its class has that word in its name, or
    for its groups with "use_muon". loss: as in groups(); not needed after groups(model, loss).
    Throws TypeError for what is no optimizer.
    """
    check_model("check_groups()", model)
    optimizers = optimizers_of("check_groups()", optimizers)
    found = groups(model, loss) if loss is not None else KNOWN.get(model)
    names = {}
    for name, parameter in model.named_parameters():
        names.setdefault(parameter, name)
    places, muon, out = {}, {}, []  # how often a parameter is in a group; those of Muon, in order
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            is_muon = group.get("use_muon", "muon" in type(optimizer).__name__.lower())
            for parameter in group["params"]:
                places[parameter] = places.get(parameter, 0) + 1
                if is_muon:
                    muon[parameter] = True
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
    if found is None and muon:
        out.append("the roles of Muon's matrices are not known: call groups(model, loss) first, or "
                   "pass loss")
    return out
