"""Watches the forward and backward passes of one training step, and sums what they show."""
import contextlib

import torch

from . import calls, private, sums, uses
from .causes import Refused, failure, why
from .roles import Flow, Use
from .weights import CASTS, SCALINGS, Weights, address, world_size

SAMPLE = 64  # entries of a weight that tell whether it changed without a new version (p.data)
ENTRIES = 2 ** 16  # that update_rms compares
COPIES = CASTS | SCALINGS  # of a frozen matrix, which have no mark of the weight
MOST_NODES = 2000  # of the graph between a factor and the parameters that it is made of


class Recording:
    """matrices: (name, kind, place) -> Sums; uses: list of Use, for the roles.

    gradients: name -> sum of the gradients that arrived in a weight during all backward passes.
    between: name -> comparisons (pair()) of this sum with p.grad before each later one arrived.
    states: name -> what the weight was at the first call with a gradient, see state_of(). drift:
    name -> how much its entries differed at later calls. refused: name -> (cause, reason); touched:
    name -> a function that used it in another way. custom: names of weights that enter a
    torch.autograd.Function. losses: tensors whose backward pass ran, which keep their graph.
    data: nodes of products that depend on more than parameters.
    """

    def __init__(self, model, measure=True):
        self.weights, self.measure = Weights(model), measure
        self.parameters, self.refused = self.weights.parameters, self.weights.refused
        self.matrices, self.gradients, self.uses, self.touched = {}, {}, [], {}
        self.listening, self.without_grad, self.twice, self.hooks = {}, set(), set(), []
        self.waiting, self.busy, self.arrived, self.lost = [], False, False, None
        self.scales, self.weights_before, self.shared = {}, {}, sums.Shared()
        self.shapes, self.cuts = {}, {}  # name -> the shape of the matrix; sizes of cut outputs
        self.between, self.states, self.drift, self.flow = {}, {}, {}, Flow(self.weights)
        self.data, self.custom, self.losses = set(), set(), []
        self.before = {}  # gradients before the recording, which later ones are added to
        for name, parameter in self.parameters.items():
            if measure and name not in self.refused and parameter.dim() > 1:
                if parameter.grad is not None:
                    self.before[name] = dense(parameter.grad).clone()
                if parameter.requires_grad:
                    self.listen(name, parameter)
        # Last, so that an error above does not leave it on.
        self.observer = calls.Observer(self)
        self.uncompiled = (torch.compiler.set_stance("force_eager") if private.sees_compiled()
                           else contextlib.nullcontext())
        self.observer.__enter__()

    def stop(self):
        """Ends the observation."""
        model = self.weights.model()
        self.observer.leave([] if model is None else list(model.modules()))
        with contextlib.suppress(Exception):
            self.uncompiled.__exit__(None, None, None)
        with self.aside([matrix.name for matrix, _ in self.waiting]):
            self.settle()
        for matrix, _ in self.waiting:
            self.weights.refuse(matrix.name, "inputs-freed")
        for hook in [*self.hooks, *self.weights.hooks]:
            hook.remove()
        self.shared, self.listening = None, {}
        self.flow.clear()

    def fail(self, names, error):
        for name in names:
            self.refused.setdefault(name, failure(error))
        self.lost = self.lost if names else error

    def observe(self, function, args, more, out):
        """Notes what one call of a built-in function does with weights; never raises."""
        names = []
        try:
            outs = list(calls.tensors([out]))
            if not outs:
                return
            first, operands = outs[0], list(calls.tensors([*args, *more.values()]))
            made_of = [self.weights.names(tensor) for tensor in operands]
            names = list(dict.fromkeys(name for each in made_of for name in each))
            self.follow(function, operands, names, outs)
            if operands and not self.measure:
                self.note_cut(operands[0], outs)
            if not torch.is_grad_enabled():
                if names and (function in calls.SIGNATURES or function in calls.NOT_MEASURED):
                    self.without_grad.update(names)
                    if private.region() == "reentrant":
                        self.refused.update(dict.fromkeys(names, why("reentrant-checkpoint")))
                return
            if names or function in calls.PRODUCTS or function in calls.NOT_MEASURED or (
                    function in uses.SUMS):
                self.observe_weights(function, args, more, out, first, operands, made_of, names)
        except Exception as error:
            self.fail(names, error)

    def observe_weights(self, function, args, more, out, first, operands, made_of, names):
        """observe() with gradients, of a call that may use weights."""
        in_place = (function.endswith("_") and function != "requires_grad_"
                    and any(first is tensor for tensor in operands))
        view = not in_place and first.numel() and address(first) is not None and (
            address(first) in [address(tensor) for tensor in operands])
        if view or not first.requires_grad:
            return
        if function in CASTS:
            if made_of[0] and first.shape == operands[0].shape:
                self.weights.mark(first, names, source=operands[0])
            return
        if function in SCALINGS and self.scaled(function, args, first):
            return
        multiplies = function in calls.SIGNATURES or function in calls.NOT_MEASURED
        weights = []
        try:
            if function in calls.SIGNATURES and uses.use(self, function, args, more, first):
                return
            if multiplies:
                weights = uses.computed(self, function, args, operands, first)
            if weights and function in calls.NOT_MEASURED:
                raise Refused(calls.NOT_MEASURED[function])
            if weights and function not in calls.PLACES and max(t.dim() for t in operands) > 2:
                raise Refused("batched-product")
            if not weights:
                uses.summed(self, function, operands, names, first)
            if names and not weights:
                uses.lookup(self, function, args, first)
            if names:
                uses.touch(self, function, names, operands, made_of, out)
        except Refused as refused:
            if not self.uses or self.uses[-1].node is not first.grad_fn:  # it has a role
                weights = uses.computed(self, function, args, operands, first)
            for name in names or weights:
                self.refused.setdefault(name, refused.args)
        finally:
            factors = operands[function in uses.ADDING:]
            if multiplies and (function in calls.PLACES or not all(map(self.sources, factors))):
                self.data.add(first.grad_fn)

    def note_cut(self, tensor, outs):
        """Notes that the outputs of a matrix are cut into blocks, as of a fused q, k and v."""
        mark, shape = getattr(tensor, "_ranklab_output", None), tensor.shape
        if mark is None or mark.weights is not self.weights:
            return
        sizes = [out.shape[-1] if out.dim() else 0 for out in outs]
        if len(outs) > 1 and sum(sizes) == shape[-1] and all(
                out.shape[:-1] == shape[:-1] for out in outs):
            self.cuts.setdefault(mark.name, sizes)
        rest = outs[0].shape[len(shape) - 1:]  # ... x 3 x heads x width
        if len(outs) == 1 and len(rest) > 2 and rest[0] in (2, 3) and (
                outs[0].shape[:len(shape) - 1] == shape[:-1] and rest.numel() == shape[-1]):
            self.cuts.setdefault(mark.name, [shape[-1] // rest[0]] * rest[0])

    def scaled(self, function, args, out):
        """Marks a weight times a scalar: as a matrix it maps the sample a as W maps factor a."""
        if len(args) != 2:
            return False
        for weight, factor in (args, args[::-1]):
            plain = isinstance(factor, (int, float))
            if not isinstance(weight, torch.Tensor) or out.shape != weight.shape or not (
                    plain or isinstance(factor, torch.Tensor) and factor.numel() == 1):
                continue
            names = self.weights.names(weight)
            divides = "div" in function
            if not names or weight.dim() < 2 or divides and weight is not args[0]:
                continue
            if not plain and any(name in names for *_, name in self.upstream(factor)):
                continue  # a norm of the weight
            with self.aside(names):
                factor = factor if plain else factor.detach().reshape(())
                self.weights.mark(out, names, source=weight,
                                  factor=1 / factor if divides else factor)
            return True
        return False

    def follow(self, function, operands, names, outs):
        """Marks what lies behind a call without a gradient, see Flow."""
        matrices = [] if function not in COPIES and function not in calls.SIGNATURES and (
            function not in calls.NOT_MEASURED) else [
            name for t in operands if not (t.requires_grad and torch.is_grad_enabled())
            for name in self.weights.names(t) or self.weights.at(t)
            if name in self.parameters and self.parameters[name].dim() > 1]
        if matrices and outs[0].requires_grad and outs[0].grad_fn is not None:
            self.add_use(Use(matrices[0], "frozen", outs[0].grad_fn))
        self.flow.follow(bool(matrices), operands, outs)

    def upstream(self, tensor, stop=()):
        """(node, leaf, name) of the graph upstream of a tensor: at most MOST_NODES, and nothing
        behind the nodes `stop`. leaf: a tensor that no operation made; name: of a parameter."""
        stack, seen = [tensor.grad_fn], {None}
        while stack and len(seen) <= MOST_NODES:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                leaf = getattr(node, "variable", None)
                yield node, leaf, None if leaf is None else self.weights.first_names.get(leaf)
                stack += [each for each, _ in node.next_functions] if node not in stop else []

    def sources(self, tensor, always=False):
        """Names of the matrices of which alone a tensor is computed, by the graph. None if more
        enters: activations (unless `always`), or more numbers than the matrices have."""
        if tensor.grad_fn is None and isinstance(tensor, torch.nn.Parameter):
            own = self.weights.first_names.get(tensor)
            return [] if own is None or is_gain(tensor) else [own]
        names, size, stacked, looked_up = [], 0, False, False
        for count, (node, leaf, name) in enumerate(self.upstream(tensor, self.data), 1):
            if node in self.data or leaf is not None and name is None or count == MOST_NODES:
                if not always:
                    return []
            elif name is not None:
                stacked |= leaf.dim() > 2 and leaf.shape[0] > 1
                size += leaf.numel()
                names += [] if is_gain(leaf) else [name]
            looked_up |= type(node).__name__.startswith("Index")
        fits = always or tensor.numel() <= size or stacked and looked_up  # W[experts] of each token
        return names if fits else []

    def note_use(self, names, kind, operands, out):
        """Notes a use of matrices for the roles."""
        behind = self.flow.behind(operands)
        nodes = None if any(t.requires_grad and t.grad_fn is None for t in operands) else [
            t.grad_fn for t in operands if t.grad_fn is not None]
        for name in names:
            self.add_use(Use(name, kind, out.grad_fn, behind, nodes))
        if len(names) == 1 and not self.measure:
            out._ranklab_output = uses.Mark(self.weights, names[0])

    def add_use(self, use):
        def arrive(_, gradients):
            use.arrived |= gradients[0] is not None

        self.uses.append(use)
        if self.measure:
            use.node.register_hook(arrive)

    def repeat(self, function, args, more):
        """Whether a checkpoint repeats this call for its backward pass; keeps its input."""
        if private.region() != "again":
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
        name, place, whole, size, factor = found
        self.shapes[name] = size
        key = name, kind, place, size
        if output is None:
            if key in self.matrices:
                self.matrices[key].recomputed.append(value.detach())
            return
        self.note_use([name], "transposed matrix" if place[2] else kind, [value], output)
        if not self.measure or output.is_complex():
            return
        states = self.states_of(name)
        self.listen(name, whole)
        if factor is not None:  # (factor W) a = W (factor a)
            plain, layout = inputs_of, None

            def inputs_of(value):
                return (block * factor for block in plain(value))
        matrix = self.matrices.setdefault(key, sums.Sums(*key))
        matrix.empty = matrix.empty and not output.numel()
        rounded = output.dtype if output.dtype in sums.HALF and value.is_floating_point() else None
        node, checkpointed = self.node(whole), private.region() == "forward"
        held = None if checkpointed else sums.Held(value)

        def add_gradient(_, gradients):
            if torch.is_grad_enabled():  # create_graph=True
                self.twice.add(name)
            # A backward pass for other inputs alone, such as torch.autograd.grad(loss, x), has no
            # part in the gradient of the weight.
            if gradients[0] is None or not private.is_wanted(node):
                return
            with self.aside([name]):
                self.arrived = True
                self.see(states)
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
                if total is not None and self.parameters.get(name) is whole:
                    self.compare_sum(name, whole, total)
                if total is None:
                    self.gradients[name] = gradient.to(
                        torch.promote_types(gradient.dtype, torch.float32), copy=True)
                else:
                    total.add_(gradient)

        self.hooks.append(whole.register_hook(add_gradient))

    def compare_sum(self, name, parameter, total):
        """Compares the sum so far with p.grad, to which the next gradient is added."""
        if name in self.weights.sharded:  # FSDP moves p.grad to its shards
            return
        if parameter.grad is None:
            self.weights.refuse(name, "cleared")
        elif not parameter.grad.is_sparse and world_size() == 1:  # DDP averages p.grad in between
            self.between.setdefault(name, []).append(
                pair(total, parameter.grad.detach().clone(), self.before.get(name)))

    def states_of(self, name):
        """Name -> state_of() of a weight, or of those behind a computed one, at a call."""
        names = [] if name in self.weights.sharded else [
            each for each in (name, *self.weights.computed.get(name, ()))
            if each in self.parameters]
        with self.aside(names):
            return {each: state_of(self.parameters[each]) for each in names}
        return {}

    def see(self, states):
        """Compares a call whose gradient arrives with the first one: an optimizer may have run."""
        for name, state in states.items():
            first = self.states.setdefault(name, state)
            if state[:2] != first[:2]:
                self.weights.refuse(name, "updated")
            elif state is not first:
                self.drift.setdefault(name, []).append((state[2] - first[2]).abs().max())

    def changed(self, name):
        """Whether a weight changed since its first call: True, or a number that is not 0."""
        first, parameter = self.states.get(name), self.parameters.get(name)
        if first is None or parameter is None:
            return False
        now = state_of(parameter)
        return now[:2] != first[:2] or (now[2] - first[2]).abs().max()

    @contextlib.contextmanager
    def aside(self, names):
        """Work of the recording: not observed, without gradients or autocast, in full float32, and
        its errors are kept."""
        modes = private.modes()
        own = modes and modes[-1] is self.observer  # it costs as much as a small operation
        if own:
            private.pop()
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
                private.push(modes[-1])


def is_gain(parameter):
    """Whether a parameter has one axis at most, such as the gains of weight_norm (m x 1)."""
    return parameter.numel() == max(parameter.shape, default=1)


def state_of(parameter):
    """(version, address, some entries) of a weight: which change with it."""
    flat = parameter.detach().reshape(-1)
    return (private.version(parameter), parameter.data_ptr(),
            flat[::max(1, len(flat) // SAMPLE)].clone())


def some_entries(parameter):
    """All entries of a matrix, or ENTRIES of them at random, the same in each call."""
    entries = parameter.detach().reshape(-1)
    return entries if len(entries) <= ENTRIES else entries[some_indices(parameter)]


def some_indices(parameter):
    """The places of some_entries() in the flattened matrix."""
    size, device = parameter.numel(), parameter.device
    if size <= ENTRIES:
        return torch.arange(size, device=device)
    generator = torch.Generator(device).manual_seed(size)
    return torch.randint(size, (ENTRIES,), generator=generator, device=device)


def pair(total, gradient, before):
    """Products that compare a sum of gradients with p.grad: with all of it, and with what it has
    more than before the recording. 6 numbers, on the device."""
    gradient = gradient.to(total)
    first = products(total, gradient)
    return torch.stack(first + (products(total, gradient - before.to(total))
                                if before is not None else first))


def products(a, b):
    a, b = a.flatten().double(), b.flatten().double()
    return [a @ b, a @ a, b @ b]


def dense(gradient):
    gradient = gradient.detach()
    return gradient.to_dense() if gradient.is_sparse else gradient
