"""Every matrix that is not judged has its own cause, a stable code, beside the sentence; training as it is found in the field."""
import copy
import os
import sys
import tempfile
import threading
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds  # noqa: E402
import ranklab  # noqa: E402
from test_record import causes_of  # noqa: E402


def causes(model, steps):
    """parameter -> cause, or None if it is judged, of all matrices; from a recording."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.safetensors")
        with ranklab.record(model, path):
            steps()
        return causes_of(path)


class Sign(torch.autograd.Function):
    forward = staticmethod(lambda context, w: w.sign())
    backward = staticmethod(lambda context, gradient: gradient)


def without_gradients(m, x):
    with torch.no_grad():
        h = m[0](x)
    m[2](torch.tanh(h)).sum().backward()


def penalty(m, x):
    x = x.clone().requires_grad_()
    gradient, = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    (m(x).square().sum() + 9 * gradient.square().sum()).backward()


def two_updates(m, x, step=None):
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        loss(m, x)
        step(m) if step else optimizer.step()


def by_data(m):
    for p in m.parameters():
        p.data.add_(p.grad, alpha=-0.1)


def sam(m, x):
    loss(m, x)
    with torch.no_grad():
        for p in m.parameters():
            p.add_(p.grad, alpha=1e-3)
    m.zero_grad()
    loss(m, x)


def in_place(m, x):
    """As the reference Muon: grad.lerp_(momentum)."""
    loss(m, x)
    with torch.no_grad():
        for p in m.parameters():
            p.sub_(0.1 * p.grad.lerp_(torch.randn_like(p), 0.95))


def scaled_inputs(m, x, scale):
    """Inputs whose squares float32 does not have."""
    m.float()
    m[2](torch.tanh(1 / scale * F.linear(scale * x.float(), m[0].weight) + 0.1)).square().sum().backward()


def other_thread(m, x):
    out = []
    thread = threading.Thread(target=lambda: out.append(m(x)))
    thread.start()
    thread.join()
    out[0].sum().backward()


def straight_through(m, x):
    w = m[0].weight
    F.linear(x, w + (w.sign() - w).detach()).square().sum().backward()


def inner_step(m, x):
    """MAML: the loss after one inner step of gradient descent."""
    w, v = m[0].weight, m[2].weight
    gradients = torch.autograd.grad(F.linear(torch.tanh(F.linear(x, w)), v).square().sum(), (w, v), create_graph=True)
    w, v = (p - 0.1 * g for p, g in zip((w, v), gradients))
    F.linear(torch.tanh(F.linear(x, w)), v).square().sum().backward()


def hooked(change):
    def steps(m, x):
        handle = m[0].weight.register_hook(change)
        loss(m, x)
        handle.remove()
    return steps


def loss(m, x):
    m(x).square().sum().backward()


# kind -> (steps with the model Linear(5, 7), Tanh, Linear(7, 3), causes of its two matrices)
STEPS = {
    "a usual step": (loss, None, None),
    "no backward pass": (lambda m, x: m(x), "no-backward", "no-backward"),
    "no forward pass": (lambda m, x: None, "not-called", "not-called"),
    "a layer under no_grad": (without_gradients, "no-grad", None),
    "a layer without effect on the loss": (lambda m, x: (m[0](x), m[2](torch.randn(4, 7).double()).sum().backward()), "not-in-loss", None),
    "a layer that is not called": (lambda m, x: m[0](x).sum().backward(), None, "not-called"),
    "a gradient penalty": (penalty, "second-derivative", "second-derivative"),
    "two updates": (two_updates, "updated", "updated"),
    "two updates by p.data": (lambda m, x: two_updates(m, x, by_data), "updated", "updated"),
    "two passes, cleared between": (lambda m, x: (loss(m, x), m.zero_grad(True), loss(m, x)), "cleared", "cleared"),
    "two passes, set to zero between": (lambda m, x: (loss(m, x), m.zero_grad(False), loss(m, x)), "cleared", "cleared"),
    "two passes, added up": (lambda m, x: (loss(m, x), loss(m, x)), None, None),
    "a pass without a backward pass after the update": (lambda m, x: (in_place(m, x), m(x)), None, None),
    "SAM": (sam, "updated", "updated"),
    "tensordot": (lambda m, x: m[2](torch.tensordot(x, m[0].weight, dims=([1], [1]))).square().sum().backward(), "tensordot", None),
    "multi_dot": (lambda m, x: torch.linalg.multi_dot([x, m[0].weight.t(), m[2].weight.t()]).square().sum().backward(), "multi-dot", "multi-dot"),
    "a product and a sum": (lambda m, x: m[2]((x[:, None] * m[0].weight).sum(-1)).square().sum().backward(), "elementwise", None),
    "a gain": (lambda m, x: m[2](x[:, :1] * m[0].weight[:, 0]).square().sum().backward(), "elementwise", None),
    "much too large": (lambda m, x: m.float()[0](1e38 * x.float()).mean().backward(), "overflow", "not-called"),
    "an optimizer that works on p.grad in place": (in_place, None, None),
    "too large": (lambda m, x: scaled_inputs(m, x, 1e20), "overflow", None),
    "too small": (lambda m, x: scaled_inputs(m, x, 1e-20), "underflow", None),
    "a function of its own": (lambda m, x: m[2](kinds.OwnLinear.apply(x, m[0].weight)).square().sum().backward(), "custom-function", None),
    "the sign of a weight": (lambda m, x: F.linear(x, Sign.apply(m[0].weight)).square().sum().backward(), "computed", "not-called"),
    "a block of columns": (lambda m, x: F.linear(x[:, :3], m[0].weight[:, :3]).square().sum().backward(), "computed", "not-called"),
    "a table by indices": (lambda m, x: F.linear(m[2].weight[torch.tensor([[0, 2], [1, 1]])], m[0].weight[:, :1].expand(7, 7)).sum().backward(), "computed", "lookup"),
    "a product of weights": (lambda m, x: F.linear(x, m[2].weight @ m[0].weight).square().sum().backward(), "computed", "computed"),
    "a sum in place": (lambda m, x: torch.zeros(12, 7).double().addmm_(x, m[0].weight.t()).square().sum().backward(), "function", "not-called"),
    "a mask of the weight": (lambda m, x: F.linear(x, m[0].weight * (m[0].weight > 0)).square().sum().backward(), "computed", "not-called"),
    "straight-through quantization": (straight_through, "computed", "not-called"),
    "decay in the loss": (lambda m, x: (m(x).square().sum() + 9 * m[0].weight.square().sum()).backward(), "other-use", None),
    "an orthogonality penalty": (lambda m, x: (m(x).square().sum() + 9 * (m[0].weight.t() @ m[0].weight).square().sum()).backward(), "other-use", None),
    "a penalty on rows without another use": (
        lambda m, x: (F.linear(x, m[0].weight[:4]).square().sum() + 9 * m[0].weight[4:].square().sum()).backward(), "other-use", "not-called"),
    "a gradient that is not finite": (lambda m, x: (m(x).sum() * float("inf")).backward(), "not-finite", "not-finite"),
    "a changed gradient": (hooked(lambda g: g * torch.rand_like(g)), "gradient-changed", None),
    "a scaled gradient": (hooked(lambda g: g / 4), None, None),
    "cleared gradients": (lambda m, x: (loss(m, x), m.zero_grad(True)), None, None),
    "gradients set to zero": (lambda m, x: (loss(m, x), m.zero_grad(False)), None, None),
    "clipped gradients": (lambda m, x: (loss(m, x), nn.utils.clip_grad_norm_(m.parameters(), 1e-3)), None, None),
    "sparse adjacency": (lambda m, x: (torch.eye(12).double().to_sparse() @ m(x)).square().sum().backward(), None, None),
    "a detached use": (lambda m, x: (F.linear(x.square(), m[0].weight.detach()).sum() * m(x).sum()).backward(), None, None),
    "another thread": (other_thread, "forward-before", "forward-before"),
    "an inner step": (inner_step, *["cleared" if hasattr(torch, "compile") else "other-use"] * 2),
    "gradients by torch.autograd.grad": (lambda m, x: torch.autograd.grad(m(x).sum(), list(m.parameters())),
                                         *[None if hasattr(torch, "compile") else "gradient-not-seen"] * 2),
}


def other_functions():
    model = nn.ModuleDict({"b": nn.Bilinear(5, 5, 2), "c": nn.ConvTranspose1d(5, 3, 2), "g": nn.Conv1d(6, 6, 1, groups=2),
                           "l": nn.LSTM(5, 4, proj_size=3), "table": nn.Embedding(9, 4, scale_grad_by_freq=True), "bag": nn.EmbeddingBag(9, 4),
                           "frozen": nn.Linear(5, 5).requires_grad_(False), "empty": nn.Linear(5, 5)})
    for name, size in {"e": (4, 5), "v": (4, 5), "s": (2, 3, 5, 4), "flat": (35,)}.items():
        model.register_parameter(name, nn.Parameter(torch.randn(size)))
    x = torch.randn(12, 5)

    def steps():
        m = model
        total = torch.einsum("nk,mk->nm", x, m.e).sum() + m["b"](x, x).sum() + (m.v @ x[0]).sum() + m["l"](x)[0].sum()
        total = total + m["c"](x.t().unsqueeze(0)).sum() + m["g"](torch.ones(2, 6, 3)).sum() + (torch.ones(2, 3, 7, 5) @ m.s).sum()
        total = total + m["bag"](torch.tensor([[1, 2], [2, 3]])).sum()
        total = total + m["table"](torch.tensor([1, 1, 2])).sum() + F.linear(x, m.flat.view(7, 5)).sum() + m["frozen"](x).sum()
        (total + m["empty"](x[:0]).sum()).backward()

    return model, steps, {
        "e": "einsum", "b.weight": "bilinear", "c.weight": "transposed-convolution", "g.weight": "grouped-convolution", "v": None,
        "s": "batched-product", "flat": "reshaped", "table.weight": "scaled-by-frequency", "bag.weight": "embedding-bag", "frozen.weight": "frozen",
        "empty.weight": "no-tokens", "l.weight_ih_l0": "projected-lstm", "l.weight_hh_l0": "projected-lstm", "l.weight_hr_l0": "projected-lstm"}


def zero_weights():
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    nn.init.zeros_(model[2].weight)
    return model, lambda: loss(model, torch.ones(4, 5)), {"0.weight": "zero-gradient", "2.weight": None}


def both_orientations():
    model, x = nn.Sequential(nn.Linear(7, 4), nn.Linear(4, 4)), torch.randn(9, 7)
    return model, lambda: F.linear(model(x), model[0].weight.t()).square().sum().backward(), {"0.weight": "both-orientations", "1.weight": None}


def overlap():
    model, x = nn.Sequential(nn.Linear(6, 20)), torch.randn(9, 6)
    steps = lambda: (model(x).square().sum() + F.linear(x.square(), model[0].weight[:12]).sum()).backward()
    return model, steps, {"0.weight": "overlap"}


def self_and_cross_attention():
    model, q, kv = nn.MultiheadAttention(8, 2), torch.randn(5, 3, 8), torch.randn(7, 3, 8)
    steps = lambda: model(model(q, q, q)[0], kv, kv)[0].square().sum().backward()
    return model, steps, {"in_proj_weight": "overlap", "out_proj.weight": None}


def torchscript():
    model = nn.Sequential(torch.jit.script(nn.Linear(5, 7)), nn.Linear(7, 3))
    return model, lambda: loss(model, torch.randn(4, 5)), {"0.weight": "function", "1.weight": None}


def lazy_and_sharded():
    model = nn.ModuleDict({"lazy": nn.LazyLinear(3, bias=False), "shard": nn.Linear(3, 3)})
    model["shard"].weight = type("DTensor", (nn.Parameter,), {})(torch.randn(3, 3))
    return model, lambda: None, {"lazy.weight": "uninitialized", "shard.weight": "sharded"}


def sparse_embedding():
    model, ids = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 2)), torch.tensor([[1, 2, 2], [5, 2, 0]])
    return model, lambda: loss(model, ids), {"0.weight": None, "1.weight": None}


def rows_of_one_matrix():
    model, x = nn.Sequential(nn.Linear(6, 20)), torch.randn(9, 6)
    rows = lambda: model[0].weight.split((8, 8, 4))
    return model, lambda: sum(F.linear(i * x, w).exp().sum() for i, w in enumerate(rows(), 1)).backward(), {"0.weight": None}


def half_precision():
    model, x = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 10)).bfloat16(), torch.randn(20, 16).bfloat16()
    return model, lambda: loss(model, x), {"0.weight": None, "2.weight": None}


def adapters():
    """LoRA at its start: B is zero, so A has no gradient."""
    model = nn.ModuleDict({"base": nn.Linear(6, 8).requires_grad_(False), "a": nn.Linear(6, 2), "b": nn.Linear(2, 8)})
    nn.init.zeros_(model["b"].weight)
    x = torch.randn(20, 6)
    steps = lambda: (model["base"](x) + model["b"](model["a"](x))).square().sum().backward()
    return model, steps, {"base.weight": "frozen", "a.weight": "zero-gradient", "b.weight": None}


def faint_samples():
    """A mask of -30 leaves output gradients of 1e-13, not 0."""
    model, x = nn.Sequential(nn.Linear(5, 7)), torch.randn(12, 5)
    return model, lambda: (model(x) * torch.where(torch.arange(12) % 2 > 0, 1.0, 1e-13)[:, None]).sum().backward(), {"0.weight": "negligible"}


def complex_numbers():
    model, x = nn.Sequential(nn.Linear(5, 7, dtype=torch.complex64)), torch.randn(12, 5).to(torch.complex64)
    return model, lambda: model(x).abs().sum().backward(), {"0.weight": "complex"}


MODELS = [faint_samples, complex_numbers, other_functions, zero_weights, both_orientations, overlap, self_and_cross_attention, torchscript, lazy_and_sharded,
          sparse_embedding, rows_of_one_matrix, half_precision, adapters]


# Causes that other tests have, or that need more than one process, another PyTorch or rare inputs.
ELSEWHERE = {"parts", "no-matrix", "parametrized", "tied", "recorder-error", "inputs-freed", "sparse-input",
             "gradient-not-seen", "second-derivative", "reentrant-checkpoint"}


class CausesTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(6)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def test_steps(self):
        for kind, (steps, *expected) in STEPS.items():
            with self.subTest(kind):
                model, x = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double(), torch.randn(12, 5).double()
                found = causes(model, lambda: steps(model, x))
                self.assertEqual([found["0.weight"], found["2.weight"]], expected)

    def test_a_forward_pass_before(self):
        model = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3))
        early = model(torch.randn(4, 5)).sum()
        self.assertEqual(causes(model, early.backward), {"0.weight": "forward-before", "1.weight": "forward-before"})

    def test_models(self):
        for kind in MODELS:
            with self.subTest(kind.__name__):
                model, steps, expected = kind()
                self.assertEqual(causes(model, steps), expected)

    def test_every_cause_is_tested(self):
        shown = {cause for _, *found in STEPS.values() for cause in found}
        shown |= {cause for kind in MODELS for cause in kind()[2].values()} | ELSEWHERE
        self.assertEqual(set(ranklab.causes.REASONS), shown - {None})


class FieldTest(unittest.TestCase):
    """Loops as people write them: st and nr are those of hooks on the modules."""

    def setUp(self):
        torch.manual_seed(8)
        self.model = nn.ModuleDict({"a": nn.Linear(16, 24), "b": nn.Linear(24, 24), "c": nn.Linear(24, 10)})
        self.x, self.y = torch.randn(60, 16), torch.randint(10, (60,))

    def out(self, x, kind=None):
        m = self.model
        middle = lambda z: F.dropout(F.relu(m["b"](z)), 0.2)
        h = F.relu(m["a"](x))
        return m["c"](middle(h) if kind is None else checkpoint(middle, h, use_reentrant=kind))

    def two_backward_passes(self):
        out = self.out(self.x)
        F.cross_entropy(out[:, :5], self.y % 5).backward(retain_graph=True)
        out[:30, 5:].pow(2).mean().backward()

    def a_pass_without_gradients(self):
        with torch.no_grad():
            z = self.out(3 * self.x)[:, :1]
        F.cross_entropy(self.out(self.x + z), self.y).backward()

    def unequal_micro_batches(self):
        for part, kind in ((slice(0, 40), False), (slice(40, 60), None)):
            (65536 * F.cross_entropy(self.out(self.x[part].clone().requires_grad_(), kind), self.y[part])).backward()
        for p in self.model.parameters():
            p.grad.div_(65536)

    def offloaded(self):
        with torch.autograd.graph.save_on_cpu(), torch.autograd.detect_anomaly():
            F.cross_entropy(self.out(self.x), self.y).backward()

    def a_whole_step(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
        F.cross_entropy(self.out(self.x), self.y).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.01)
        optimizer.step()

    def test_loops(self):
        for loop in (self.two_backward_passes, self.a_pass_without_gradients, self.unequal_micro_batches, self.offloaded, self.a_whole_step):
            with self.subTest(loop.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.model.zero_grad()
                torch.manual_seed(9)
                # raw() calls .backward() on the result
                expected = kinds.raw(self.model, lambda: loop() or torch.zeros((), requires_grad=True))
                self.model.zero_grad(set_to_none=True)
                torch.manual_seed(9)
                with ranklab.watch(self.model) as watcher:
                    loop()
                    found = watcher.step()
                self.assertEqual((set(found), watcher.not_judged), ({"a", "b", "c"}, {}))
                for name, (a, g) in expected.items():
                    for value, wanted in zip((found[name]["stable_rank"], found[name]["nuclear_rank"]), kinds.ranks(a, g)):
                        self.assertLess(abs(value / wanted - 1), 1e-4, name)

    def test_a_copy_of_the_model_is_not_measured(self):
        """Such as a moving average, made inside the measured step."""
        model = nn.Sequential(nn.utils.parametrizations.orthogonal(nn.Linear(5, 5)), nn.Linear(5, 3))
        x = torch.randn(9, 5)
        with ranklab.watch(model) as watcher:
            other = copy.deepcopy(model)
            (model(x) - other(2 * x)).square().sum().backward()
            found = watcher.step()
        self.assertEqual({name: values["samples"] for name, values in found.items()}, {"0": 9, "1": 9})

    def test_odd_names(self):
        model = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("a/b", "x y", 'q"uote', "new\nline", "ünïcode", "100%", "l" * 300)})

        def steps():
            x = torch.randn(9, 4)
            for layer in model.values():
                x = torch.tanh(layer(x))
            x.sum().backward()

        self.assertEqual(set(causes(model, steps).values()), {None})


if __name__ == "__main__":
    unittest.main()
