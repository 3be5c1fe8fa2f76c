"""The role of each matrix, by the flow of data in the autograd graph of one forward pass.

    embedding   rows are looked up in it
    first       no parameter matrix lies upstream of its input
    head        no parameter matrix lies downstream of its output, on the way to the loss
    hidden      the others
    tied        used both as an embedding and as a matrix, or in both orientations

Neither names nor the order of modules enter. A model may have several first matrices and heads.
A matrix that is both first and head is a head. Upstream also counts what lies behind detach(),
no_grad() and frozen matrices, since it shapes the input all the same; downstream does not, since no
gradient comes back from there.
"""
import torch
from torch import nn

FROZEN = "frozen"  # in place of a node: a matrix without a gradient


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
    behind: what lies upstream of its input beside the graph, see Flow.
    region: the node of a reentrant checkpoint inside whose backward pass the use lies.
    arrived: whether a gradient came back.
    """

    def __init__(self, name, kind, node, behind=(), region=None):
        self.name, self.kind, self.node = name, kind, node
        self.behind, self.region, self.arrived = behind, region, False
        # The Python object of the region may outlive its node in the graph.
        self.before = region.next_functions if region is not None else ()


class Graph:
    """The graph upstream of some nodes, with what reentrant checkpoints hide joined to it."""

    def __init__(self, uses):
        self.inside, self.owner, self.before = {}, {}, {}
        for use in uses:
            if use.region is not None:
                self.inside.setdefault(use.region, []).append(use.node)
                self.before[use.region] = use.before
        for region, nodes in self.inside.items():  # their inputs are leaves of the inner graph
            for node in self.order(nodes):
                leaf = getattr(node, "variable", None)
                if leaf is not None and not isinstance(leaf, nn.Parameter):
                    self.owner[node] = region

    def next(self, node, more=()):
        """The nodes upstream of a node; more: node -> further ones."""
        edges = self.before.get(node)
        edges = node.next_functions if edges is None else edges
        edges += self.before[self.owner[node]] if node in self.owner else ()
        return [each for each, _ in edges if each is not None] + self.inside.get(node, []) + (
            more[node] if node in more else [])

    def order(self, roots, more=()):
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
                    stack += [(each, False) for each in self.next(node, more)]
        return found


def find_roles(recording, roots):
    """name -> role of every matrix with a use upstream of the roots (nodes of the graph)."""
    uses = recording.uses
    graph, at, more = Graph(uses), {}, {}
    add_unseen(recording, graph, graph.order(roots))
    for use in uses:
        at.setdefault(use.node, []).append(use)
        more.setdefault(use.node, []).extend(node for node in use.behind if node is not FROZEN)
    order = graph.order(roots)
    above, below = set(), set()  # nodes with a use strictly upstream, strictly downstream
    for node in graph.order(roots, more):
        if any(each in at or each in above for each in graph.next(node, more)) or any(
                FROZEN in use.behind for use in at.get(node, ())):
            above.add(node)
    for node in reversed(order):
        if node in at or node in below:
            below.update(graph.next(node))
    reached, by_name = set(order), {}
    for use in uses:
        if use.node in reached and use.kind != "frozen":
            by_name.setdefault(use.name, []).append(use)
    return {name: role_of(each, above, below) for name, each in by_name.items()}


def add_unseen(recording, graph, order):
    """Adds what the graph alone shows of parameters: a lookup table[ids], of which PyTorch tells
    the modes nothing, and other functions."""
    weights = recording.weights
    seen = {use.name for use in recording.uses} | set(recording.touched) | {
        name for behind in weights.computed.values() for name in behind}
    for node in order:
        for each in graph.next(node):
            leaf = getattr(each, "variable", None)
            name = None if leaf is None else weights.first_names.get(leaf)
            if name is None or name in seen or leaf.dim() < 2:
                continue
            if isinstance(node, torch.autograd.function.BackwardCFunction):
                recording.without_grad.add(name)
                continue
            function = type(node).__name__.split("Backward")[0]
            if function in ("Index", "IndexSelect", "Gather", "Take"):
                recording.uses.append(Use(name, "embedding", node))
            recording.touched.setdefault(name, function.lower())


def role_of(uses, above, below):
    kinds = {use.kind for use in uses}
    if "embedding" in kinds:
        return "embedding" if len(kinds) == 1 else "tied"
    if {"matrix", "transposed matrix"} <= kinds:
        return "tied"
    if not any(use.node in below for use in uses):
        return "head"
    if not any(use.node in above for use in uses):
        return "first"
    return "hidden"
