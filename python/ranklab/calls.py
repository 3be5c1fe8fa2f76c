"""Sees every call of a built-in function of PyTorch, and which of them multiply by a weight.

A TorchFunctionMode sees the calls of torch functions, methods and operators, wherever they are
made, but not those inside TorchScript and torch.autograd.Function. torch.compile runs its code
uncompiled meanwhile (PyTorch 2.6 on). Errors of this package never leave a call.
"""
import sys
import types

import torch
import torch.utils.checkpoint
from torch import nn
from torch.overrides import TorchFunctionMode

from . import recurrent

# The functions that use a matrix, with the names of their arguments; for a product the two factors
# come last.
PRODUCTS = {
    "linear": ("input", "weight"), "matmul": ("input", "other"), "__matmul__": ("input", "other"),
    "mm": ("input", "mat2"), "bmm": ("input", "mat2"), "addmm": ("input", "mat1", "mat2")}
SIGNATURES = {
    **PRODUCTS, "embedding": ("weight", "indices", "padding_idx", "scale_grad_by_freq"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"),
                    ("input", "weight", "bias", "stride", "padding", "dilation", "groups"))}
# Functions that use a weight as a matrix but are not measured, and their causes.
NOT_MEASURED = {"einsum": "einsum", "bilinear": "bilinear", **dict.fromkeys(
    ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), "transposed-convolution")}


class Observer(TorchFunctionMode):
    """Hands every call to a recording (observe(), repeat(), fail(), weights, busy)."""

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
        if name in recurrent.FUNCTIONS and torch.is_grad_enabled():
            weights = []
            try:
                weights = [name for t in tensors(args) for name in self.recording.weights.names(t)]
                if weights:
                    with self:
                        return recurrent.recurrent(name, *args)
            except Exception as error:  # PyTorch computes it, and reports errors of the caller
                self.recording.fail(weights, error)
        if (isinstance(function, types.FunctionType)
                and all(kind in (torch.Tensor, nn.Parameter) for kind in kinds)
                and asks_for_modes(function)):
            with self:
                return body(function)(*args, **kwargs)
        if name in SIGNATURES and torch.is_grad_enabled() and self.recording.repeat(
                name, args, kwargs):
            return function(*args, **kwargs)
        out = function(*args, **kwargs)
        if isinstance(out, (torch.Tensor, list, tuple)):
            self.recording.observe(name, args, kwargs, out)
        return out


def asks_for_modes(function):
    """Whether a Python function of PyTorch offers each call to the mode before it runs.

    Tensor.storage() and methods that call super(), such as Tensor.unflatten(), do too, but the call
    inside them has the same name and would run them again.
    """
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
    """Where the running call is in a region of torch.utils.checkpoint: (state, node).

    "forward": in the forward pass of a region without reentrant autograd; "again": in its
    repetition; "reentrant": in the repetition of a reentrant one, with its node in the graph; else
    None.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == torch.utils.checkpoint.__file__:
            name = frame.f_code.co_name
            if name in ("unpack", "unpack_hook"):
                return "again", None
            if name == "backward":
                return "reentrant", frame.f_locals.get("ctx")
            if name == "forward" and "ctx" in frame.f_locals:
                return "reentrant-forward", None
            if name in ("checkpoint", "_checkpoint_without_reentrant"):
                return "forward", None
        frame = frame.f_back
    return None, None


def tensors(values):
    """All tensors in nested lists and tuples."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors(value)


def given(function, args, more):
    """The arguments of a call by name."""
    return {**dict(zip(SIGNATURES[function], args)), **more}


def sides(function, args, more):
    """(left, right) of a product out = left @ right."""
    named = given(function, args, more)
    left, right = (named[name] for name in SIGNATURES[function][-2:])
    return (left, right.t()) if function == "linear" else (left, right)
