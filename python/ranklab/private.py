"""All names of PyTorch that are not documented and that this package uses.

    torch.overrides._get_current_function_mode_stack, _pop_mode, _push_mode
        the modes that see each call of this thread. Without them the end of a measurement cannot
        take its mode out from between others: the mode stays, and hands every call on at once.
    has_torch_function* in the globals of PyTorch's Python functions
        Without them such a function is one call: the matrices inside it have a reason.
    the names of the functions of torch/utils/checkpoint.py, on the stack
        Without them a repeated call is counted twice: the gradient check refuses the matrix.
    torch._C._will_engine_execute_node
        whether the running backward pass computes the gradient of a weight. Without it each pass
        does, and the gradient check refuses the matrix after torch.autograd.grad(loss, x).
    torch.UntypedStorage._new_with_weak_ptr
        a storage that autograd still keeps. Without it a second backward pass through a retained
        graph has the reason "inputs-freed".
    the class DTensor
        read by name, so that no import fails. Under another name a sharded matrix has a reason.
    Tensor._base, Tensor._version, Parameter's class
        what a tensor is a view of, and how often it was changed in place. Inference tensors have no
        version: None.
"""
import sys
import types

import torch
import torch.utils.checkpoint
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef


def modes():
    """The modes of this thread, the innermost last."""
    return getattr(torch.overrides, "_get_current_function_mode_stack", list)()


def pop():
    torch.overrides._pop_mode()


def push(mode):
    torch.overrides._push_mode(mode)


def remove(mode):
    """Takes a mode off the stack of this thread, wherever it is; False if it is not there."""
    found, above = False, []
    while mode in modes():
        found = True
        above.append(torch.overrides._pop_mode())
    for each in reversed(above):
        if each is not mode:
            push(each)
    return found


def version(tensor):
    """How often a tensor was changed in place, or None for an inference tensor."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def base_of(tensor):
    """The tensor itself, or the one of which it is a view."""
    base = tensor._base
    return tensor if base is None else base


def opens(function, kinds):
    """Whether a Python function of PyTorch offers each call to the modes before it runs.

    Tensor.storage() and methods that call super(), such as Tensor.unflatten(), do too, but the call
    inside them has the same name and would run them again.
    """
    if not isinstance(function, types.FunctionType) or not all(
            kind in (torch.Tensor, nn.Parameter) for kind in kinds):
        return False
    names = function.__code__.co_names
    return function.__name__ != "storage" and "super" not in names and any(
        name.startswith("has_torch_function") and name in function.__globals__ for name in names)


def body(function):
    """A copy of such a function that runs at once, so that the mode sees the calls inside it."""
    never = {name: lambda *_: False for name in function.__code__.co_names
             if name.startswith("has_torch_function")}
    copy = types.FunctionType(function.__code__, {**function.__globals__, **never},
                              function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def region():
    """Where the running call is in a region of torch.utils.checkpoint.

    "forward": in the forward pass of a region without reentrant autograd; "again": in its
    repetition; "reentrant": in the forward pass of a reentrant one; else None.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == torch.utils.checkpoint.__file__:
            name = frame.f_code.co_name
            if name in ("unpack", "unpack_hook"):
                return "again"
            if name == "forward" and "ctx" in frame.f_locals:
                return "reentrant"
            if name in ("checkpoint", "_checkpoint_without_reentrant"):
                return "forward"
        frame = frame.f_back
    return None


def is_wanted(node):
    """Whether the running backward pass computes the gradient that arrives at a node."""
    try:
        return torch._C._will_engine_execute_node(node)
    except (AttributeError, RuntimeError):  # torch.autograd.grad() with respect to this weight
        return True


def weak_storage(tensor):
    """A weak reference to the storage of a tensor."""
    return StorageWeakRef(tensor.untyped_storage() if hasattr(tensor, "untyped_storage")
                          else tensor.storage())


def storage_of(weak):
    """The storage of a weak reference, or None if it was freed."""
    make = getattr(torch.UntypedStorage, "_new_with_weak_ptr", lambda _: None)
    return make(weak.cdata)


def sees_compiled():
    """Whether torch.compile was used, and its compiled code can run uncompiled."""
    # The first call of torch.compile loads the module.
    return "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")


def autocasts():
    """Whether autocast is on, on a GPU or a CPU."""
    try:
        return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    except TypeError:  # before PyTorch 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()


def is_dtensor(tensor):
    return type(tensor).__name__ == "DTensor"
