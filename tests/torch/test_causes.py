"""Every matrix that is not judged has its own cause: a stable code beside the sentence."""
import unittest
import unittest.mock
import warnings

import torch
import torch.nn.functional as F
from test_dump import RecordingTest, ranklab_dump
from torch import nn


class CausesTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.x = torch.randn(12, 5).double()
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()

    def step(self, steps, model=None, **options):
        return super().step(steps, model or self.model, **options)

    def backward(self):
        self.model(self.x).square().sum().backward()

    def test_a_backward_pass_after_the_block(self):
        found = self.step(lambda: self.model(self.x))
        for name in ("0.weight", "2.weight"):
            self.expect(found, name, "no-backward", "no backward pass ran inside the with block")

    def test_a_forward_pass_before_the_block(self):
        loss = self.model(self.x).square().sum()
        found = self.step(loss.backward)
        for name in ("0.weight", "2.weight"):
            self.expect(found, name, "forward-before", "its forward pass ran before")

    def test_a_forward_pass_without_gradients(self):
        def steps():
            with torch.no_grad():
                h = self.model[0](self.x)
            self.model[2](torch.tanh(h)).sum().backward()

        found = self.step(steps)
        self.expect(found, "0.weight", "no-grad", "torch.no_grad()")
        self.assertIsNone(found["2.weight"])

    def test_a_loss_that_does_not_depend_on_a_layer(self):
        def steps():
            self.model[0](self.x)
            self.model[2](torch.randn(4, 7).double()).sum().backward()

        self.expect(self.step(steps), "0.weight", "not-in-loss", "does not depend on it")

    def test_a_module_that_is_never_called(self):
        found = self.step(lambda: self.model[0](self.x).sum().backward())
        self.expect(found, "2.weight", "not-called", "not used inside the with block")
        self.assertIsNone(found["0.weight"])

    def test_second_derivatives(self):
        """A gradient penalty."""
        x = self.x.clone().requires_grad_()

        def steps():
            gradient, = torch.autograd.grad(self.model(x).sum(), x, create_graph=True)
            (self.model(x).square().sum() + 9 * gradient.square().sum()).backward()

        for name in ("0.weight", "2.weight"):
            self.expect(self.step(steps), name, "second-derivative", "create_graph=True")

    def test_two_updates_in_one_block(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def steps():
            for _ in range(2):
                optimizer.zero_grad(set_to_none=False)
                self.model(self.x).square().sum().backward()
                optimizer.step()

        self.expect(self.step(steps), "0.weight", "gradient-changed", "record one update of the optimizer per block")

    def test_functions_that_hide_their_operations(self):
        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(context, x, w):
                context.save_for_backward(x, w)
                return x @ w.t()

            @staticmethod
            def backward(context, gradient):
                x, w = context.saved_tensors
                return gradient @ w, gradient.t() @ x

        class Sign(torch.autograd.Function):
            forward = staticmethod(lambda context, w: w.sign())
            backward = staticmethod(lambda context, gradient: gradient)

        weight = self.model[0].weight
        found = self.step(lambda: self.model[2](Linear.apply(self.x, weight)).square().sum().backward())
        self.expect(found, "0.weight", "custom-function", "inside a torch.autograd.Function")
        self.assertIsNone(found["2.weight"])
        self.model.zero_grad()
        found = self.step(lambda: F.linear(self.x, Sign.apply(weight)).square().sum().backward())
        self.expect(found, "0.weight", "forward-before", "torch.autograd.Function")

    def test_other_uses_of_a_matrix(self):
        table = nn.Embedding(9, 4, scale_grad_by_freq=True).double()
        found = self.step(lambda: table(torch.tensor([1, 1, 2])).square().sum().backward(), table)
        self.expect(found, "weight", "scaled-by-frequency", "scale_grad_by_freq")
        weight = self.model[0].weight
        found = self.step(lambda: F.linear(self.x[:, :3], weight[:, :3]).square().sum().backward())
        self.expect(found, "0.weight", "function", "a block of columns")
        found = self.step(lambda: F.linear(self.model[2].weight @ weight, self.x).square().sum().backward())
        self.expect(found, "0.weight", "function", "another parameter")
        found = self.step(lambda: torch.zeros(12, 7).double().addmm_(self.x, weight.t()).square().sum().backward())
        self.expect(found, "0.weight", "function", "used by addmm,")
        found = self.step(lambda: (self.x.to_sparse() @ weight.t()).square().sum().backward())
        self.assertIn(found["0.weight"][0], ("sparse-input", "function"))
        flat = nn.ParameterList([nn.Parameter(torch.randn(35).double())])
        found = self.step(lambda: F.linear(self.x, flat[0].view(7, 5)).square().sum().backward(), flat)
        self.expect(found, "0", "reshaped", "a vector that is reshaped")

    def test_sparse_activations(self):
        """A graph network with a sparse adjacency matrix."""
        adjacency = torch.eye(12).double().to_sparse()
        found = self.step(lambda: (adjacency @ self.model(self.x)).square().sum().backward())
        self.assertEqual(found, {"0.weight": None, "2.weight": None})

    def test_long_errors_are_cut(self):
        with unittest.mock.patch.object(ranklab_dump, "_times", side_effect=RuntimeError("word " * 4000)):
            found = self.step(self.backward)
        self.assertEqual(found["0.weight"][0], "recorder-error")
        self.assertLess(len(found["0.weight"][1]), 300)

    def test_frozen_and_not_included(self):
        self.model[0].weight.requires_grad_(False)
        found = self.step(self.backward)
        self.expect(found, "0.weight", "frozen", "requires_grad")
        found = self.step(self.backward, include="0.*")
        self.expect(found, "2.weight", "not-included", "include")
        self.assertEqual(self.recording["not_seen"]["0.bias"], "no matrix")
        self.assertEqual(self.recording["causes"]["0.bias"], "no-matrix")

    def test_torchscript(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model[0] = torch.jit.script(self.model[0])
        found = self.step(self.backward)
        self.expect(found, "0.weight", "compiled", "TorchScript")
        self.assertIsNone(found["2.weight"])

    def test_torch_compile_before_2_6(self):
        # PyTorch 2 wraps compiled modules in this class, or sets this attribute.
        compiled = type("OptimizedModule", (nn.Sequential,), {})(nn.Linear(3, 3)).double()
        model = nn.Sequential(compiled, nn.Linear(3, 3)).double()
        model[1]._compiled_call_impl = lambda: None
        with unittest.mock.patch.object(ranklab_dump, "_can_run_uncompiled", lambda: False):
            found = self.step(lambda: None, model)
        self.expect(found, "0.0.weight", "compiled", "torch.compile")
        self.expect(found, "1.weight", "compiled", "torch.compile")

    @unittest.skipUnless(hasattr(getattr(torch, "compiler", None), "set_stance"), "before PyTorch 2.6")
    def test_torch_compile(self):
        """Compiled code runs uncompiled during a recording, and compiled before and after it."""
        runs = []

        def backend(graph, _):
            return lambda *args: runs.append(1) or graph(*args)

        class Model(nn.Sequential):
            def forward(self, x):
                return self[2](self[1](self[0](x)))

        uncompiled = self.model
        self.step(self.backward)
        expected = [self.tensors(layer) for layer in self.recording["layers"]]
        for compiled in "model", "layers", "method", "loss":
            with self.subTest(compiled):
                torch.compiler.reset()
                model, loss = uncompiled, lambda m: m(self.x).square().sum()
                if compiled == "model":
                    model = torch.compile(model, backend=backend)
                elif compiled == "layers":
                    model = nn.Sequential(*(torch.compile(m, backend=backend) for m in uncompiled))
                elif compiled == "loss":
                    loss = torch.compile(loss, backend=backend)
                else:
                    model = Model(*uncompiled)
                    model.compile(backend=backend)
                loss(model).backward()
                self.assertTrue(runs)
                runs.clear()
                found = self.step(lambda: loss(model).backward(), model)
                self.assertEqual(found, {"0.weight": None, "2.weight": None})
                self.assertFalse(runs)
                for layer, tensors in zip(self.recording["layers"], expected):
                    for name, tensor in tensors.items():
                        self.close(self.tensors(layer)[name], tensor)
                loss(model).backward()
                self.assertTrue(runs)
                runs.clear()

    def test_a_function_of_the_weight(self):
        w = self.model[0].weight
        mask = (torch.rand(7, 5) < 0.5).double()
        found = self.step(lambda: F.linear(self.x, w * mask).square().sum().backward())
        self.expect(found, "0.weight", "function", "used by mul")
        found = self.step(lambda: F.linear(self.x, w + 0.1 * w.sign()).sum().backward())
        self.expect(found, "0.weight", "function", "used by ")

    def test_experts_without_tokens(self):
        model = nn.ModuleList([nn.Linear(5, 5) for _ in range(3)]).double()
        chosen = torch.tensor([0, 2] * 6)

        def steps(skip):
            out = torch.zeros_like(self.x)
            for e, expert in enumerate(model):
                at = (chosen == e).nonzero()[:, 0]
                if len(at) or not skip:
                    out = out.index_add(0, at, expert(self.x[at]))
            out.square().sum().backward()

        found = self.step(lambda: steps(False), model)
        self.expect(found, "1.weight", "no-tokens", "without a single sample")
        self.assertIsNone(found["0.weight"])
        found = self.step(lambda: model[1](self.x[:0]), model)  # its output is not even used
        self.expect(found, "1.weight", "no-tokens", "without a single sample")
        found = self.step(lambda: steps(True), model)
        self.expect(found, "1.weight", "not-called", "expert without tokens")

    def test_a_gradient_that_is_exactly_zero(self):
        nn.init.zeros_(self.model[2].weight)
        found = self.step(self.backward)
        self.expect(found, "0.weight", "zero-gradient", "exactly zero")
        self.assertIsNone(found["2.weight"])

    def test_a_gradient_that_is_not_finite(self):
        found = self.step(lambda: (self.model(self.x).sum() * float("inf")).backward())
        self.expect(found, "2.weight", "not-finite", "not finite")

    def test_functions_that_are_not_recorded(self):
        e, b = nn.Parameter(torch.randn(4, 5).double()), nn.Bilinear(5, 5, 2).double()
        c, g = nn.ConvTranspose1d(5, 3, 2).double(), nn.Conv1d(6, 6, 1, groups=2).double()
        v, s = (nn.Parameter(torch.randn(*size).double()) for size in ((4, 5), (2, 3, 5, 4)))
        model = nn.ModuleDict({"b": b, "c": c, "g": g, "l": nn.LSTM(5, 4, proj_size=3).double()})
        model.e, model.v, model.s, x = e, v, s, self.x

        def steps():
            loss = torch.einsum("nk,mk->nm", x, e).sum() + b(x, x).sum() + (v @ x[0]).sum()
            loss = loss + c(x.t().unsqueeze(0)).sum() + g(torch.ones(2, 6, 3).double()).sum()
            loss = loss + (torch.ones(2, 3, 7, 5).double() @ s).sum() + model["l"](x)[0].sum()
            loss.backward()

        found = self.step(steps, model)
        for name, cause, words in (
                ("e", "einsum", "einsum"), ("b.weight", "bilinear", "bilinear"),
                ("c.weight", "transposed-convolution", "transposed convolution"),
                ("g.weight", "grouped-convolution", "2 groups"), ("v", "vector", "vector"),
                ("s", "batched-product", "batched"),
                ("l.weight_ih_l0", "projected-lstm", "proj_size")):
            self.expect(found, name, cause, words)

    def test_changed_gradients(self):
        handle = self.model[0].weight.register_hook(lambda g: g * torch.rand_like(g))
        found = self.step(self.backward)
        handle.remove()
        self.expect(found, "0.weight", "gradient-changed", "its gradient was changed")
        self.model.zero_grad()
        self.assertNotIn("scaled", self.recording["layers"][1])
        self.model[0].weight.register_hook(lambda g: g / 4)
        found = self.step(self.backward)
        self.assertEqual(found, {"0.weight": None, "2.weight": None})  # scaled, but judged
        self.assertAlmostEqual(self.recording["layers"][0]["scaled"], 0.25)
        self.assertNotIn("scaled", self.recording["layers"][1])

    def test_cleared_gradients_are_accepted(self):
        for clear in (True, False):
            found = self.step(lambda: (self.backward(), self.model.zero_grad(clear)))
            self.assertEqual(found, {"0.weight": None, "2.weight": None})

    def test_lazy_parameters_and_shards(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = nn.ModuleDict({"lazy": nn.LazyLinear(3), "shard": nn.Linear(3, 3)})
        flat = type("FlatParameter", (nn.Parameter,), {})
        model["shard"].weight = flat(torch.randn(9))
        found = self.step(lambda: None, model)
        self.expect(found, "lazy.weight", "uninitialized", "lazy")
        self.expect(found, "shard.weight", "sharded", "FSDP")
