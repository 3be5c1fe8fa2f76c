"""Sees every call of a built-in function of PyTorch, and which of them multiply by a weight.

A TorchFunctionMode sees the calls of torch functions, methods and operators, wherever they are
made, but not those inside TorchScript and torch.autograd.Function. torch.compile runs its code
uncompiled meanwhile (PyTorch 2.6 on). Errors of this package never leave a call.
"""
import threading

import torch
from torch.overrides import TorchFunctionMode

from . import private, recurrent

# The functions that use a matrix, with the names of their arguments; for a product the two factors
# come last.
PRODUCTS = {
    "linear": ("input", "weight"), "inner": ("input", "other"), "matmul": ("input", "other"),
    "__matmul__": ("input", "other"), "__rmatmul__": ("other", "input"),
    "mm": ("input", "mat2"), "bmm": ("input", "mat2"), "addmm": ("input", "mat1", "mat2"),
    "baddbmm": ("input", "batch1", "batch2"), "mv": ("input", "vec"),
    "addmv": ("input", "mat", "vec")}
SIGNATURES = {
    **PRODUCTS, "embedding": ("weight", "indices", "padding_idx", "scale_grad_by_freq"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"),
                    ("input", "weight", "bias", "stride", "padding", "dilation", "groups"))}
# Functions that use a weight as a matrix but are not measured, and their causes.
NOT_MEASURED = {
    "einsum": "einsum", "bilinear": "bilinear", "tensordot": "tensordot",
    "addbmm": "batched-product", "embedding_bag": "embedding-bag", **dict.fromkeys(
        ("linalg_multi_dot", "chain_matmul"), "multi-dot"), **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), "transposed-convolution")}
# Where the weight is among the arguments. Of the other functions each factor may be one.
PLACES = {"linear": 1, "embedding": 0, "embedding_bag": 0, "bilinear": 2, **dict.fromkeys(
    ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1)}


class Observer(TorchFunctionMode):
    """Hands every call to a recording (observe(), repeat(), fail(), weights, busy)."""

    def __init__(self, recording):
        super().__init__()
        self.recording, self.thread, self.sweepers = recording, threading.get_ident(), []

    def leave(self, modules):
        """Ends the mode. Only its own thread can take it off the stack of modes: elsewhere it hands
        all calls on, until the next forward pass of a module in its thread takes it off."""
        self.recording = None
        if private.remove(self) or self.thread == threading.get_ident():
            return
        self.sweepers = [module.register_forward_pre_hook(Hook(self.sweep)) for module in modules]

    def sweep(self, *_):
        alive = any(thread.ident == self.thread for thread in threading.enumerate())
        if private.remove(self) or not alive:
            for hook in self.sweepers:
                hook.remove()
            self.sweepers = []

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        # PyTorch turns the mode off in here; `with self` turns it on again.
        kwargs, recording = kwargs or {}, self.recording
        if recording is None or recording.busy or torch.jit.is_tracing():
            return function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if name in recurrent.FUNCTIONS and torch.is_grad_enabled():
            weights = []
            try:
                weights = [name for t in tensors(args) for name in recording.weights.names(t)]
                if weights:
                    with self:
                        out = recurrent.recurrent(name, *args)
                    return out if not private.autocasts() else recurrent.like(
                        out, recurrent.one_step(function, name, *args))
            except Exception as error:  # PyTorch computes it, and reports errors of the caller
                recording.fail(weights, error)
        if name == "backward" and args[0].grad_fn is not None:
            recording.losses.append(args[0])
        if private.opens(function, kinds):
            with self:
                return private.body(function)(*args, **kwargs)
        if name in SIGNATURES and torch.is_grad_enabled() and recording.repeat(name, args, kwargs):
            return function(*args, **kwargs)
        out = function(*args, **kwargs)
        if isinstance(out, (torch.Tensor, list, tuple)):
            recording.observe(name, args, kwargs, out)
        elif name == "__setitem__":
            recording.observe(name, args, kwargs, args[0])
        return out


class Hook:
    """A hook of a module. Its copy in a copy of the module does nothing."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *call):
        if self.function is not None:
            self.function(*call)

    def __reduce__(self):
        return Hook, (None,)


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
    if function == "__rmatmul__":
        left, right = args[1], args[0]
    flip = function == "linear" or function == "inner" and right.dim() == 2
    return (left, right.t()) if flip else (left, right)
