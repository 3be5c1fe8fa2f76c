"""Watches the forward and backward passes of one training step, and sums what they show."""
import contextlib

import torch

from . import calls, sums, uses
from .causes import Refused, failure
from .roles import Use
from .weights import CASTS, Weights, address, sees_compiled


class Recording:
    """matrices: (name, kind, place) -> Sums; uses: list of Use, for the roles.

    gradients: name -> sum of the gradients that arrived in a weight during all backward passes.
    refused: name -> (cause, reason); touched: name -> a function that used it in another way.
    """

    def __init__(self, model, measure=True, keeps=False):
        self.weights, self.measure, self.keeps = Weights(model), measure, keeps
        self.parameters, self.refused = self.weights.parameters, self.weights.refused
        self.matrices, self.gradients, self.uses, self.touched = {}, {}, [], {}
        self.listening, self.without_grad, self.twice, self.hooks = {}, set(), set(), []
        self.waiting, self.busy, self.arrived, self.lost = [], False, False, None
        self.scales, self.weights_before, self.shared = {}, {}, sums.Shared()
        self.hidden = False  # whether the forward pass of a reentrant checkpoint used weights
        self.before = {}  # gradients before the recording, which later ones are added to
        for name, parameter in self.parameters.items():
            if measure and parameter.grad is not None and name not in self.refused:
                self.before[name] = dense(parameter.grad).clone()
        # Last, so that an error above does not leave it on.
        self.observer = calls.Observer(self)
        self.uncompiled = (torch.compiler.set_stance("force_eager") if sees_compiled()
                           else contextlib.nullcontext())
        self.observer.__enter__()

    def stop(self):
        """Ends the observation."""
        self.observer.leave()
        with contextlib.suppress(Exception):
            self.uncompiled.__exit__(None, None, None)
        with self.aside([matrix.name for matrix, _ in self.waiting]):
            self.settle()
        for matrix, _ in self.waiting:
            self.weights.refuse(matrix.name, "inputs-freed")
        for hook in [*self.hooks, *self.weights.hooks]:
            hook.remove()
        self.shared, self.listening = None, {}

    def fail(self, names, error):
        for name in names:
            self.refused.setdefault(name, failure(error))
        self.lost = self.lost if names else error

    def observe(self, function, args, more, out):
        """Notes what one call of a built-in function does with weights; never raises."""
        names = []
        try:
            first = next(calls.tensors([out]), None)
            if first is None:
                return
            operands = list(calls.tensors([*args, *more.values()]))
            made_of = [self.weights.names(tensor) for tensor in operands]
            names = list(dict.fromkeys(name for each in made_of for name in each))
            self.follow_frozen(function, operands, out, first)
            if not names:
                return
            if not torch.is_grad_enabled():
                if function in calls.SIGNATURES or function in calls.NOT_MEASURED:
                    self.without_grad.update(names)
                    self.hidden |= calls.region()[0] == "reentrant-forward"
                return
            in_place = (function.endswith("_") and function != "requires_grad_"
                        and any(first is tensor for tensor in operands))
            view = not in_place and first.numel() and address(first) is not None and (
                address(first) in [address(tensor) for tensor in operands])
            if view or not first.requires_grad:
                return
            if function in CASTS:
                if made_of[0] and first.shape == operands[0].shape:
                    self.weights.mark(first, names, source=operands[0])
            elif function in calls.NOT_MEASURED:
                self.note_use(names, function, operands, first)
                raise Refused(calls.NOT_MEASURED[function])
            elif not (function in calls.SIGNATURES and uses.use(self, function, args, more, first)):
                uses.touch(self, function, names, operands, made_of, out)
        except Exception as error:
            self.fail(names, error)

    def follow_frozen(self, function, operands, out, first):
        """Marks what frozen matrices compute, so that a later matrix is not taken for the first."""
        frozen = [name for tensor in operands if not tensor.requires_grad
                  for name in self.weights.at(tensor)
                  if self.parameters[name].dim() > 1 and function in calls.SIGNATURES]
        if frozen and first.requires_grad and first.grad_fn is not None:
            self.add_use(Use(frozen[0], "frozen", first.grad_fn, False))
        elif frozen or any(getattr(t, "_ranklab_frozen", False) for t in operands):
            for tensor in calls.tensors([out]):
                tensor._ranklab_frozen = True

    def note_use(self, names, kind, operands, out):
        """Notes a use of matrices for the roles."""
        state, node = calls.region()
        frozen = any(getattr(t, "_ranklab_frozen", False) for t in operands)
        region = node if state == "reentrant" else None
        for name in names:
            self.add_use(Use(name, kind, out.grad_fn, frozen, region))

    def add_use(self, use):
        def arrive(_, gradients):
            use.arrived |= gradients[0] is not None

        self.uses.append(use)
        if self.measure:
            use.node.register_hook(arrive)

    def repeat(self, function, args, more):
        """Whether a checkpoint repeats this call for its backward pass; keeps its input."""
        if calls.region()[0] != "again":
            return False
        with contextlib.suppress(Exception):  # then the input is missing when the gradient arrives
            uses.use(self, function, args, more, None)
        return True

    def record_use(self, found, kind, value, output, inputs_of,
                   errors_of=lambda g: g.reshape(-1, g.shape[-1]), layout=None):
        """Records one use of the weight `found` (a result of Weights.locate()).

        Once the gradient in `output` arrives, inputs_of(value) returns blocks of samples x k, and
        errors_of turns the gradient into samples x m. Without an output, the call is about to be
        repeated for a backward pass. layout: equal for calls that make equal samples of a value.
        """
        name, place, whole = found
        key = name, kind, place
        if output is None:
            if key in self.matrices:
                self.matrices[key].recomputed.append(value.detach())
            return
        self.note_use([name], "transposed matrix" if place[2] else kind, [value], output)
        if not self.measure or output.is_complex():
            return
        self.listen(name, whole)
        matrix = self.matrices.setdefault(key, sums.Sums(*key, tuple(whole.shape),
                                                           self.keeps))
        matrix.empty = matrix.empty and not output.numel()
        rounded = output.dtype if output.dtype in sums.HALF and value.is_floating_point() else None
        node, checkpointed = self.node(whole), calls.region()[0] == "forward"
        held = None if checkpointed else sums.Held(value)

        def add_gradient(_, gradients):
            if torch.is_grad_enabled():  # create_graph=True
                self.twice.add(name)
            # A backward pass for other inputs alone, such as torch.autograd.grad(loss, x), has no
            # part in the gradient of the weight.
            if gradients[0] is None or not is_wanted(node):
                return
            with self.aside([name]):
                self.arrived = True
                self.settle()

                def add(inputs):
                    matrix.add(inputs_of(inputs), errors_of(gradients[0]), rounded, inputs, layout,
                               self.shared)

                if checkpointed:
                    self.waiting.append((matrix, add))
                    self.settle()
                else:
                    add(held.take())

        # A hook on the node, not the tensor: later in-place changes of the output do not affect it.
        output.grad_fn.register_hook(add_gradient)

    def node(self, whole):
        """The node of the graph at which the gradient of a weight arrives."""
        if whole.grad_fn is not None:
            return whole.grad_fn
        busy, self.busy = self.busy, True
        try:
            return whole.view_as(whole).grad_fn.next_functions[0][0]
        finally:
            self.busy = busy

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

    def listen(self, name, whole):
        """Sums the gradients that arrive in a weight during all backward passes."""
        if id(whole) in self.listening:
            return
        self.listening[id(whole)] = whole

        def add_gradient(gradient):
            with self.aside([name]):
                gradient, total = dense(gradient), self.gradients.get(name)
                if total is None:
                    self.gradients[name] = gradient.to(
                        torch.promote_types(gradient.dtype, torch.float32), copy=True)
                else:
                    total.add_(gradient)

        self.hooks.append(whole.register_hook(add_gradient))

    @contextlib.contextmanager
    def aside(self, names):
        """Work of the recording: not observed, without gradients or autocast, in full float32, and
        its errors are kept."""
        modes = torch.overrides._get_current_function_mode_stack()
        own = modes and modes[-1] is self.observer  # it costs as much as a small operation
        if own:
            torch.overrides._pop_mode()
        busy, self.busy = self.busy, True
        try:
            with torch.no_grad(), torch.autocast("cpu", enabled=False), (
                    torch.autocast("cuda", enabled=False) if torch.cuda.is_available()
                    else contextlib.nullcontext()), sums.precision("highest"):
                yield
        except Exception as error:
            self.fail(names, error)
        finally:
            self.busy = busy
            if own:
                torch.overrides._push_mode(modes[-1])


def is_wanted(node):
    """Whether the running backward pass computes the gradient that arrives at a node."""
    try:
        return torch._C._will_engine_execute_node(node)
    except RuntimeError:  # torch.autograd.grad() with respect to this weight
        return True


def dense(gradient):
    gradient = gradient.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient
