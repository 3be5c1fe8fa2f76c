"""The role of each matrix, by the flow of data in the autograd graph of one forward pass.

    embedding   rows are looked up in it
    first       no parameter matrix lies upstream of its input
    head        no parameter matrix lies downstream of its output, on the way to the loss
    hidden      the others
    tied        used both as an embedding and as a matrix, or in both orientations

Neither names nor the order of modules enter. A model may have several first matrices and heads.
A matrix that is both first and head is a head.
"""
from torch import nn


class Use:
    """One use of a matrix: `node` is that of the output in the graph.

    kind: "matrix", "transposed matrix" (stored as k x m), "embedding",
    "convolution", the function that used it, or "frozen".
    after_frozen: whether a frozen matrix lies upstream, of which the graph shows nothing.
    region: the node of a reentrant checkpoint inside whose backward pass the use lies.
    arrived: whether a gradient came back.
    """

    def __init__(self, name, kind, node, after_frozen, region=None):
        self.name, self.kind, self.node = name, kind, node
        self.after_frozen, self.region, self.arrived = after_frozen, region, False
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

    def next(self, node):
        edges = self.before.get(node)
        edges = node.next_functions if edges is None else edges
        edges += self.before[self.owner[node]] if node in self.owner else ()
        return [each for each, _ in edges if each is not None] + self.inside.get(node, [])

    def order(self, roots):
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
                    stack += [(each, False) for each in self.next(node)]
        return found


def find_roles(uses, roots):
    """name -> role of every matrix with a use upstream of the roots (nodes of the graph)."""
    graph, at = Graph(uses), {}
    order = graph.order(roots)
    for use in uses:
        at.setdefault(use.node, []).append(use)
    above, below = set(), set()  # nodes with a use strictly upstream, strictly downstream
    for node in order:
        if any(each in at or each in above for each in graph.next(node)):
            above.add(node)
    for node in reversed(order):
        if node in at or node in below:
            below.update(graph.next(node))
    reached, by_name = set(order), {}
    for use in uses:
        if use.node in reached and use.kind != "frozen":
            by_name.setdefault(use.name, []).append(use)
    return {name: role_of(each, above, below) for name, each in by_name.items()}


def role_of(uses, above, below):
    kinds = {use.kind for use in uses}
    if "embedding" in kinds:
        return "embedding" if len(kinds) == 1 else "tied"
    if {"matrix", "transposed matrix"} <= kinds:
        return "tied"
    if not any(use.node in below for use in uses):
        return "head"
    if not any(use.node in above or use.after_frozen for use in uses):
        return "first"
    return "hidden"
