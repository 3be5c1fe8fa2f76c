"""The role of each matrix, by the flow of data in the autograd graph of one forward pass.

    embedding   rows are looked up in it
    first       no parameter matrix lies upstream of its input
    head        no parameter matrix lies downstream of its output, on the way to the loss
    hidden      the others
    tied        used both as an embedding and as a matrix, or in both orientations

Neither names nor the order of modules enter. A model may have several first matrices and heads.
A matrix that is both first and head is a head. Upstream also counts what lies behind detach(),
no_grad() and frozen matrices, since it shapes the input all the same; downstream does not, since no
gradient comes back from there. What leaves PyTorch, such as a NumPy array, is not followed.
"""
import torch
from torch import nn

FROZEN = "frozen"  # in place of a node: a matrix without a gradient
CUSTOM = "torch.autograd.Function"
LOOKUPS = {"Index", "IndexSelect", "Gather", "Take", "Embedding"}  # nodes of the graph


class Behind:
    """What lies upstream of a tensor in ways that the graph does not show: nodes, and FROZEN."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __reduce__(self):  # the tensor may be saved
        return type(None), ()


class Flow:
    """Marks the tensors whose upstream the graph does not show."""

    def __init__(self, weights):
        self.weights, self.marks = weights, []

    def follow(self, frozen, operands, outs):
        """Notes one call; frozen: whether it uses a matrix without a gradient."""
        outs = [t for t in outs if t.is_floating_point() or t.is_complex()]
        if not outs:
            return
        known = {id(mark): mark for mark in map(self.mark_of, operands) if mark is not None}
        nodes = {FROZEN} if frozen else set()
        if not outs[0].requires_grad:
            nodes.update(t.grad_fn for t in operands if t.grad_fn is not None)
        if not nodes and not known:
            return
        if len(known) == 1 and not nodes:
            mark, = known.values()
        else:
            mark = Behind(nodes.union(*(each.nodes for each in known.values())))
            self.marks.append(mark)
        for tensor in outs:
            tensor._ranklab_behind = mark

    def mark_of(self, tensor):
        return getattr(tensor, "_ranklab_behind", None)

    def behind(self, tensors):
        """The nodes, and FROZEN, behind some tensors."""
        return {node for mark in map(self.mark_of, tensors) if mark is not None
                for node in mark.nodes}

    def clear(self):
        """Lets go of the graph, which tensors of the user would keep otherwise."""
        for mark in self.marks:
            mark.nodes = set()


class Use:
    """One use of a matrix: `node` is that of the output in the graph.

    kind: "matrix", "transposed matrix" (stored as k x m), "embedding",
    "convolution", the function that used it, or "frozen".
    inputs: the nodes of its activations; None: all edges of `node`, of which some may lead to the
    weight alone (the power iteration of a spectral norm is a use too).
    behind: what lies upstream of its input beside the graph, see Flow.
    arrived: whether a gradient came back.
    """

    def __init__(self, name, kind, node, behind=(), inputs=None):
        self.name, self.kind, self.node, self.inputs = name, kind, node, inputs
        self.behind, self.arrived = behind, False


def upstream(node, more=()):
    """The nodes directly upstream of a node; more: node -> further ones."""
    return [each for each, _ in node.next_functions if each is not None] + (
        more[node] if node in more else [])


def order_of(roots, more=()):
    """All nodes upstream of the roots, each after those that it leads to (upstream first)."""
    found, seen = [], set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(each, False) for each in upstream(node, more)]
    return found


def find_roles(recording, roots):
    """name -> role of every matrix with a use upstream of the roots (nodes of the graph), or of a
    loss whose backward pass was seen."""
    uses = recording.uses
    at, more = {}, {}
    seen, roots = set(order_of(roots)), roots + [loss.grad_fn for loss in recording.losses]
    add_unseen(recording, order_of(roots), seen)
    for use in uses:
        at.setdefault(use.node, []).append(use)
        more.setdefault(use.node, []).extend(node for node in use.behind if node is not FROZEN)

    def is_use(node):  # what a reentrant checkpoint hides counts as a matrix
        return node in at or type(node).__name__ == "CheckpointFunctionBackward"

    order = order_of(roots)
    above, below = set(), set()  # nodes with a use there or upstream; strictly downstream
    for node in order_of(roots, more):
        if is_use(node) or any(each in above for each in upstream(node, more)):
            above.add(node)
    for node in reversed(order):
        if is_use(node) or node in below:
            below.update(upstream(node))
    reached, by_name = set(order), {}
    for use in uses:
        if use.node in reached and use.kind != "frozen":
            inputs = upstream(use.node) if use.inputs is None else use.inputs
            first = FROZEN not in use.behind and above.isdisjoint([*inputs, *use.behind])
            by_name.setdefault(use.name, []).append((use, first))
    return {name: role_of(each, below) for name, each in by_name.items()}


def add_unseen(recording, order, observed):
    """Adds what the graph alone shows of parameters: a lookup table[ids], of which PyTorch tells
    the modes nothing, custom functions, and other functions (at the nodes `observed`)."""
    weights = recording.weights
    nodes = set(order)
    used = {use.name for use in recording.uses if use.node in nodes}
    seen = {use.name for use in recording.uses} | set(recording.touched) | {
        name for behind in weights.computed.values() for name in behind}
    for node in order:
        custom = isinstance(node, torch.autograd.function.BackwardCFunction)
        inputs = [(each, leaf_of(each, custom)) for each in upstream(node)]
        for _, leaf in inputs:
            name = None if leaf is None else weights.first_names.get(leaf)
            if name is None or leaf.dim() < 2:
                continue
            others = [each for each, other in inputs if other not in weights.first_names]
            if custom and (others or name not in used):
                recording.custom.add(name)
                recording.touched.setdefault(name, CUSTOM)
                if others:  # activations enter too
                    recording.uses.append(Use(name, f"{CUSTOM}, not measured", node, inputs=others))
            elif not custom and name not in seen and node in observed:
                function = type(node).__name__.split("Backward")[0]
                if function in LOOKUPS and leaf.dim() == 2:
                    recording.uses.append(Use(name, "embedding", node))
                recording.touched.setdefault(name, function.lower())


def leaf_of(node, through):
    """The leaf at a node, or None; through: also one behind functions of it alone, as a cast."""
    while through and not hasattr(node, "variable"):
        before = [each for each, _ in node.next_functions if each is not None]
        if len(before) != 1 or type(node).__name__.split("Backward")[0] in LOOKUPS:
            return None
        node, = before
    return getattr(node, "variable", None)


def role_of(uses, below):
    """uses: pairs of a Use and whether no matrix lies upstream of its input."""
    kinds = {use.kind for use, _ in uses}
    if "embedding" in kinds:
        return "embedding" if len(kinds) == 1 else "tied"
    if {"matrix", "transposed matrix"} <= kinds:
        return "tied"
    if not any(use.node in below for use, _ in uses):
        return "head"
    return "first" if all(first for _, first in uses) else "hidden"
