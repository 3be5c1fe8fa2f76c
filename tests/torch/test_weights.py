"""Weights that are cast, viewed, computed by a parametrization, or used by imported functions."""
import copy
import io
import warnings

import torch
import torch.nn.functional as F
from test_dump import RecordingTest, ranklab_dump
from torch import nn
from torch.functional import einsum
from torch.nn.functional import conv1d, embedding, linear
from torch.nn.utils import parametrizations, parametrize


class WeightsTest(RecordingTest):
    def inputs(self, module, run):
        """All samples that reach a module during run(), from a hook on its calls."""
        found = []
        hook = module.register_forward_pre_hook(lambda _, args: found.append(args[0].detach()))
        run()
        hook.remove()
        return torch.cat([x.reshape(-1, x.shape[-1]) for x in found])

    def layer(self, name):
        return next(layer for layer in self.recording["layers"] if layer["name"] == name)

    def close_to(self, a, b, tolerance):
        self.assertEqual(a.shape, b.shape)
        self.assertLess(float((a - b).norm()), tolerance * float(b.norm()))

    def test_casts_are_followed_to_the_parameter(self):
        x = torch.randn(40, 6)
        casts = {"type_as": lambda w, x: w.type_as(x), "to": lambda w, x: w.to(x.dtype),
                 "keyword": lambda w, x: w.to(dtype=torch.bfloat16), "like": lambda w, x: w.to(x),
                 "bfloat16": lambda w, x: w.bfloat16(), "twice": lambda w, x: w.half().to(x),
                 "transposed": lambda w, x: w.t().bfloat16().t(),
                 "view": lambda w, x: w.bfloat16().view(8, 6), "clone": lambda w, x: w.clone().to(x),
                 "rows": lambda w, x: w[:].to(x),
                 "contiguous": lambda w, x: w.t().contiguous().to(x).t()}
        for name, cast in casts.items():
            with self.subTest(name):
                model = nn.ModuleList([nn.Linear(6, 8, bias=False), nn.Linear(8, 3)])

                def steps():
                    h = F.linear(x.bfloat16(), cast(model[0].weight, x.bfloat16()))
                    model[1](h.float()).square().sum().backward()

                self.assertEqual(self.step(steps, model), {"0.weight": None, "1.weight": None})
                tensors, rounded = self.tensors(self.layer("0")), x.bfloat16().double()
                self.close(tensors["second_moment"], rounded.t() @ rounded)
                self.close_to(tensors["gradient"], model[0].weight.grad.double(), 1e-2)
                self.assertEqual(self.layer("0")["parameter"], "0.weight")

    def test_parts_of_a_cast_matrix(self):
        model, x = nn.Linear(6, 8, bias=False), torch.randn(40, 6).double()

        def steps():
            w = model.weight.double()
            (F.linear(x, w[:3]).square().sum() + (x.square() @ w[3:].t()).exp().sum()).backward()

        self.assertEqual(self.step(steps, model), {"weight": None})
        first, second = self.recording["layers"]
        self.close(self.tensors(first)["second_moment"], x.t() @ x)
        self.close(self.tensors(second)["second_moment"], x.square().t() @ x.square())
        self.close_to(self.tensors(second)["gradient"], model.weight.grad[3:].double(), 1e-6)

    def test_a_cast_stack_of_experts_and_convolution(self):
        up, conv = nn.Parameter(torch.randn(3, 4, 6)), nn.Conv1d(2, 3, 2)
        model = nn.ModuleList([conv])
        model.up, x, y = up, torch.randn(3, 10, 4).double(), torch.randn(2, 2, 9).double()

        def steps():
            loss = torch.bmm(x, up.double()).square().sum()
            (loss + F.conv1d(y, conv.weight.double()).square().sum()).backward()

        self.assertEqual(self.step(steps, model), {"0.weight": None, "up": None})
        experts = [layer for layer in self.recording["layers"] if layer["name"] == "up"]
        self.assertEqual([layer["first_part"] for layer in experts], [1, 2, 3])
        self.close(self.tensors(experts[1])["second_moment"], x[1].t() @ x[1])
        patches = y.unfold(2, 2, 1).transpose(1, 2).reshape(-1, 4)
        self.close(self.tensors(self.layer("0"))["second_moment"], patches.t() @ patches)

    def test_autocast(self):
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
        x = torch.randn(40, 6)

        def steps():
            with torch.autocast("cpu", torch.bfloat16):
                out = model(x)
            out.float().square().sum().backward()

        self.assertEqual(self.step(steps, model), {"0.weight": None, "2.weight": None})
        self.close(self.tensors(self.layer("0"))["second_moment"], x.double().t() @ x.double())
        self.close_to(self.tensors(self.layer("2"))["gradient"], model[2].weight.grad.double(), .02)

    def test_parametrized_weights(self):
        class LowRank(nn.Module):
            def __init__(self):
                super().__init__()
                self.b, self.a = nn.Parameter(torch.randn(8, 2)), nn.Parameter(torch.randn(2, 6))

            def forward(self, w):
                return w + self.b @ self.a

        changes = {
            "weight_norm": lambda m: nn.utils.weight_norm(m),
            "old spectral_norm": lambda m: nn.utils.spectral_norm(m),
            "spectral_norm": lambda m: parametrizations.spectral_norm(m),
            "orthogonal": lambda m: parametrizations.orthogonal(m),
            "low rank": lambda m: parametrize.register_parametrization(m, "weight", LowRank())}
        x = torch.randn(40, 6).double()
        for name, change in changes.items():
            with self.subTest(name):
                model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
                change(model[0])
                found = self.step(lambda: model(x).square().sum().backward(), model)
                layer = self.layer("0")
                self.assertNotIn("reason", layer)
                self.assertIs(layer["parametrized"], True)
                self.assertEqual(layer["role"], "first")
                self.assertIn(layer["parameter"], layer["computed_from"])
                self.assertEqual(model.get_parameter(layer["parameter"]).numel(), 48)
                names = dict(model.named_parameters())
                for each in layer["computed_from"]:
                    if each != layer["parameter"] and names[each].dim() > 1:
                        self.expect(found, each, "parametrized", "a part of 0.weight")
                # Independently: the same layer with the computed weight as a leaf.
                model.eval()  # no further power iteration
                if "old" in name:
                    model(x)
                weight = model[0].weight.detach().requires_grad_()
                model[2](torch.tanh(F.linear(x, weight, model[0].bias))).square().sum().backward()
                tensors = self.tensors(layer)
                self.close(tensors["second_moment"], x.t() @ x)
                self.close(tensors["gradient"], weight.grad)

    def test_a_square_convolution_is_no_stack_of_experts(self):
        model = nn.Sequential(nn.Conv1d(4, 8, 3), nn.Conv1d(8, 8, 3)).double()
        self.step(lambda: model(torch.randn(2, 4, 9).double()).square().sum().backward(), model)
        self.assertEqual([layer["name"] for layer in self.recording["layers"]], ["0", "1"])
        self.assertNotIn("parts", self.layer("1"))

    def test_a_copy_of_the_model_is_not_recorded(self):
        """Such as the moving average of a model: made inside the block, and used there."""
        first = parametrizations.orthogonal(nn.Linear(5, 5)).double()
        model, x = nn.Sequential(first, nn.Linear(5, 3).double()), torch.randn(9, 5).double()

        def steps():
            other = copy.deepcopy(model)
            (model(x) - other(2 * x)).square().sum().backward()

        found = self.step(steps, model)
        self.assertIsNone(found["1.weight"])
        self.assertEqual([layer["samples"] for layer in self.recording["layers"] if "reason" not in layer], [9, 9])
        self.close(self.tensors(self.layer("0"))["second_moment"], x.t() @ x)

    def test_a_parametrized_convolution(self):
        model = nn.Sequential(nn.utils.weight_norm(nn.Conv1d(2, 3, 2)), nn.Flatten(),
                              nn.Linear(24, 2)).double()
        y = torch.randn(4, 2, 9).double()
        self.step(lambda: model(y).square().sum().backward(), model)
        self.assertIs(self.layer("0")["parametrized"], True)
        patches = y.unfold(2, 2, 1).transpose(1, 2).reshape(-1, 4)
        self.close(self.tensors(self.layer("0"))["second_moment"], patches.t() @ patches)

    def test_adapters_are_plain_layers(self):
        class Adapted(nn.Module):
            def __init__(self):
                super().__init__()
                self.base, self.a = nn.Linear(6, 8), nn.Linear(6, 2, bias=False)
                self.b = nn.Linear(2, 8, bias=False)
                self.base.weight.requires_grad_(False)

            def forward(self, x):
                return self.base(x) + self.b(self.a(x))

        model, x = Adapted().double(), torch.randn(20, 6).double()
        found = self.step(lambda: model(x).square().sum().backward(), model)
        self.assertEqual(found["base.weight"][0], "frozen")
        self.assertIsNone(found["a.weight"])
        self.close(self.tensors(self.layer("b"))["gradient"], model.b.weight.grad)
        self.close(self.tensors(self.layer("a"))["second_moment"], x.t() @ x)

    def test_functions_that_were_imported_by_name(self):
        model = nn.ModuleDict({"t": nn.Embedding(9, 4), "l": nn.Linear(4, 5), "m": nn.Linear(5, 5),
                               "c": nn.Conv1d(5, 2, 3), "e": nn.Linear(5, 5)}).double()
        ids, product = torch.randint(0, 9, (3, 7)), torch.matmul

        def steps():
            h = embedding(ids, model["t"].weight)
            h = product(linear(h, model["l"].weight), model["m"].weight.t())
            (conv1d(h.transpose(1, 2), model["c"].weight).square().sum()
             + einsum("bnk,mk->bnm", h, model["e"].weight).sum()).backward()

        found = self.step(steps, model)
        self.assertEqual(found.pop("e.weight")[0], "einsum")
        self.assertEqual(found, dict.fromkeys(["t.weight", "l.weight", "m.weight", "c.weight"]))
        h = model["t"](ids).reshape(-1, 4).detach()
        self.close(self.tensors(self.layer("l"))["second_moment"], h.t() @ h)
        self.close(self.tensors(self.layer("m"))["gradient"], model["m"].weight.grad)

    def test_a_model_whose_parameters_share_one_buffer(self):
        buffer, x = torch.randn(60), torch.randn(11, 5)
        model = nn.Sequential(nn.Linear(5, 7, bias=False), nn.Linear(7, 3, bias=False))
        model[0].weight.data, model[1].weight.data = buffer[:35].view(7, 5), buffer[36:57].view(3, 7)
        for dtype in (torch.float32, torch.float64):
            model.zero_grad()
            self.assertEqual(self.step(lambda: F.linear(
                model[0](x).to(dtype), model[1].weight.to(dtype)).square().sum().backward(), model),
                {"0.weight": None, "1.weight": None})
            self.close_to(self.tensors(self.layer("1"))["gradient"],
                          model[1].weight.grad.double(), 1e-6)

    def test_matrices_stored_as_input_times_output(self):
        model, x = nn.ParameterList([nn.Parameter(torch.randn(6, 8))]), torch.randn(11, 6)
        for used in (lambda w: w.t(), lambda w: w.t().contiguous(), lambda w: w.double().t().float()):
            model.zero_grad()
            self.assertEqual(self.step(lambda: F.linear(x, used(model[0])).exp().sum().backward(),
                                       model), {"0": None})
            self.close_to(self.tensors(self.layer("0"))["gradient"],
                          model[0].grad.t().double(), 1e-6)

    def test_blocks_of_rows_are_layers_of_their_own(self):
        """Queries, keys and values from views of one matrix, and one table for two kinds of ids."""
        model = nn.ModuleDict({"qkv": nn.Linear(6, 18), "table": nn.Embedding(10, 6)}).double()
        ids, others = torch.tensor([1, 2, 2, 5]), torch.tensor([0, 3, 3, 3])

        def steps():
            h = F.embedding(ids, model["table"].weight[:6]) + F.embedding(others, model["table"].weight[6:])
            out = [F.linear(h * scale, w) for scale, w in zip((1, 2, -1), model["qkv"].weight.split((8, 8, 2)))]
            torch.cat(out, 1).exp().sum().backward()

        self.assertEqual(self.step(steps, model), {"qkv.weight": None, "table.weight": None})
        blocks = {"qkv.rows1-8": slice(0, 8), "qkv.rows9-16": slice(8, 16), "qkv.rows17-18": slice(16, 18),
                  "table.rows1-6": slice(0, 6), "table.rows7-10": slice(6, 10)}
        layers, measured = {layer["name"]: layer for layer in self.recording["layers"]}, self.measured()
        self.assertEqual(set(layers), set(blocks))
        watcher = ranklab_dump.watch(model)
        model.zero_grad()
        steps()
        found = watcher.step()
        watcher.close()
        self.assertEqual(set(found), set(blocks))
        for name, rows in blocks.items():
            self.assertEqual(layers[name]["parameter"], name.split(".")[0] + ".weight")
            t = torch.linalg.svdvals(model[name.split(".")[0]].weight.grad[rows])
            for rank in found[name]["nuclear_rank"], measured[f"{name}.nuclear_rank"]["mean"]:
                self.assertAlmostEqual(rank, float(t.sum() ** 2 / t.square().sum()), places=6)

    def test_tensors_that_were_changed_in_place_are_activations(self):
        """A learned token that activations are added to, or written over."""
        model = nn.ModuleDict({"first": nn.Linear(5, 4), "second": nn.Linear(4, 3)}).double()
        model.token, x = nn.Parameter(torch.randn(2, 4).double()), torch.randn(8, 5).double()

        def added():
            h = model.token.repeat(4, 1)
            h += model["first"](x)
            return h

        def written():
            h = model.token.repeat(8, 1)
            h[::2] = model["first"](x)
            return h

        for changed in added, written:
            with self.subTest(changed.__name__):
                model.zero_grad()
                found = self.step(lambda: model["second"](changed()).square().sum().backward(), model)
                self.assertIsNone(found["first.weight"])
                self.assertIsNone(found["second.weight"])
                h = changed().detach()
                self.close(self.tensors(self.layer("second"))["second_moment"], h.t() @ h)

    def test_a_learned_initial_state_is_a_sample(self):
        class Loop(nn.Module):
            def __init__(self):
                super().__init__()
                self.state, self.hidden, self.input = nn.Parameter(torch.randn(1, 4)), nn.Linear(4, 4), nn.Linear(3, 4)

            def forward(self, x):
                h = self.state
                for each in x:
                    h = torch.tanh(self.hidden(h) + self.input(each))
                return h

        model = Loop().double()
        x, found = torch.randn(5, 7, 3).double(), {}
        inputs = self.inputs(model.hidden, lambda: found.update(self.step(lambda: model(x).square().sum().backward(), model)))
        self.assertIsNone(found["hidden.weight"])
        self.close(self.tensors(self.layer("hidden"))["second_moment"], inputs.t() @ inputs)

    def test_a_saved_model_has_no_hooks_of_the_recorder(self):
        """Older weight norm keeps the computed matrix, which has such a hook, as an attribute."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = nn.utils.weight_norm(nn.Linear(5, 7)).double()
        model, x, file = nn.Sequential(layer), torch.randn(9, 5).double(), io.BytesIO()

        def steps():
            loss = model(x).square().sum()
            torch.save(model, file)
            loss.backward()

        if hasattr(torch.autograd.graph, "Node"):
            self.assertIsNone(self.step(steps, model)["0.weight_v"])
            self.assertFalse(b"ranklab_dump" in file.getvalue())  # which torch.load() would need
        else:
            self.assertIsNone(self.step(lambda: model(x).square().sum().backward(), model)["0.weight_v"])

    def test_a_detached_weight_is_no_use(self):
        model, x = nn.Linear(5, 7).double(), torch.randn(11, 5).double()
        self.step(lambda: (F.linear(x.square(), model.weight.detach()) * model(x)).sum().backward()
                  or torch.einsum("ij,ni->nj", model.weight.detach(), model(x)), model)
        layer = self.recording["layers"][0]
        self.assertNotIn("reason", layer)
        self.assertEqual(layer["calls"], 1)
