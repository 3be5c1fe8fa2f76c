"""What is no sample is not recorded as one; samples that hardly count are measured; some are drawn."""
import json
import os
import statistics
import subprocess

import torch
import torch.nn.functional as F
from test_dump import RecordingTest, program, ranklab_dump
from test_size import Attention
from torch import nn


class SamplesTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.x = torch.randn(12, 5).double()
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
        self.loss = lambda: self.model(self.x).square().sum()

    def layer(self, name):
        return next(layer for layer in self.recording["layers"] if layer["name"] == name)

    def test_regularizers_add_no_samples(self):
        w = self.model[0].weight
        normed = lambda: w / w.norm(dim=1, keepdim=True)
        penalties = {"squares": lambda: w.square().sum(),
                     "orthogonal": lambda: (w.t() @ w - torch.eye(5).double()).square().sum(),
                     "linear": lambda: F.linear(w, w).square().sum(),
                     "normed": lambda: (normed() @ normed().t()).exp().sum(),
                     "one normed": lambda: (normed() @ w.t()).square().sum(),
                     "other": lambda: (self.model[2].weight @ w).square().sum(),
                     "decay": lambda: torch.linalg.norm(w), "sum": lambda: (3 * w.exp()).sum()}
        for name, penalty in penalties.items():
            for strength, cause in ((1e-9, None), (1e3, "other-use")):
                with self.subTest(f"{name} {strength}"):
                    self.model.zero_grad()
                    found = self.step(lambda: (self.loss() + strength * penalty()).backward(),
                                      self.model)
                    layer, tensors = self.layer("0"), self.tensors(self.layer("0"))
                    self.assertEqual(layer.get("cause"), cause)
                    self.close(tensors["second_moment"], self.x.t() @ self.x)
                    self.assertEqual((layer["calls"], layer["samples"]), (1, 12))
                    if name != "other":
                        self.assertIsNone(found["2.weight"])
                    if cause:
                        self.expect(found, "0.weight", cause, "a regularizer or another use")

    def test_learned_queries_are_samples(self):
        model = nn.ParameterDict({"query": nn.Parameter(torch.randn(1, 4, 5).double()),
                                  "w": nn.Parameter(torch.randn(3, 5).double())})

        def steps():
            query = model["query"].expand(6, -1, -1)
            (F.linear(query, model["w"]) * torch.randn(6, 4, 3).double()).sum().backward()

        found = self.step(steps, model)
        self.assertIsNone(found["w"])
        samples = model["query"].detach().expand(6, -1, -1).reshape(-1, 5)
        self.close(self.tensors(self.layer("w"))["second_moment"], samples.t() @ samples)

    def test_complex_weights(self):
        layer = nn.Linear(5, 4, dtype=torch.complex128)
        model = nn.ModuleList([layer, nn.Linear(4, 3)])
        model[1].double()
        x = torch.randn(12, 5, dtype=torch.complex128)
        found = self.step(lambda: model[1](layer(x).abs()).square().sum().backward(), model)
        self.expect(found, "0.weight", "complex", "complex")
        self.assertIsNone(found["1.weight"])

    def test_negligible_samples(self):
        weights = torch.ones(12).double()
        weights[3:6], weights[6] = 1e-9, 0.0
        x = self.x * torch.linspace(1, 2, 12).double()[:, None]

        def steps():
            for batch in (x, x[:6]):  # judged call by call
                (self.model(batch).square().sum(1) * weights[:len(batch)]).sum().backward()

        self.step(steps, self.model)
        squares, layer = x.square().sum(1), self.layer("0")
        self.assertEqual((layer["samples"], layer["dropped"]), (17, 1))
        self.assertEqual(layer["negligible_samples"], 6)
        total = squares.sum() - squares[6] + squares[:6].sum()
        self.assertAlmostEqual(layer["negligible_share"], float(2 * squares[3:6].sum() / total))
        self.step(lambda: self.loss().backward(), self.model)
        self.assertEqual(self.layer("2")["negligible_samples"], 0)
        self.assertEqual(self.layer("2")["negligible_share"], 0)

    def squares(self, x):
        return self.model(x).square().sum()

    def rank(self, x):
        return float(x.square().sum() / torch.linalg.matrix_norm(x, 2) ** 2)

    def test_negligible_calls(self):
        """One loss term of negligible weight, before or after the other, or in a call of its own kind."""
        first, faint = torch.randn(30, 5).double(), torch.randn(60, 5).double()
        faint[:, 0] += 9
        both = torch.cat([first, faint])
        loss = self.squares
        for steps, known in ((lambda: loss(first) + 1e-9 * loss(faint), False), (lambda: 1e-9 * loss(faint) + loss(first), True)):
            self.step(lambda: steps().backward(), self.model)
            layer = self.layer("0")
            self.assertEqual(layer["negligible_samples"], 60)
            self.assertAlmostEqual(layer["negligible_share"], float(faint.square().sum() / both.square().sum()), places=10)
            if known:  # otherwise the calls with an effect came later
                self.assertAlmostEqual(layer["negligible_change"], self.rank(first) / self.rank(both), places=8)
            else:
                self.assertNotIn("negligible_change", layer)
            with self.assertRaises(subprocess.CalledProcessError) as refused:
                self.measured()
            self.assertIn(f"0: {100 * layer['negligible_share']:.4g} % of the second moment", refused.exception.stderr)

    def test_negligible_samples_of_a_recurrent_network(self):
        """The gradient vanishes over the steps."""
        cell, x = nn.Linear(6, 6, bias=False).double(), torch.randn(40, 3, 6).double()
        cell.weight.data *= 0.2 / float(torch.linalg.matrix_norm(cell.weight.data, 2))
        states = []

        def steps():
            h = torch.zeros(3, 6).double()
            for each in x:
                states.append(h.detach())
                h = torch.tanh(cell(h) + each)
                h.register_hook(lambda g: gradients.append(float(g.norm(dim=1).min())))
            h.square().sum().backward()

        gradients = []
        self.step(steps, cell)
        layer = self.recording["layers"][0]
        self.assertGreater(layer["negligible_samples"], 60)
        kept = len([g for g in gradients if g ** 2 > 1e-10]) - 8  # at least: the mean falls as calls arrive
        self.assertLess(layer["negligible_samples"], 3 * (40 - kept))

    def test_confident_samples_leave_the_advice(self):
        """Samples of a well-trained classifier have no effect, but the stable rank is that of the others."""
        x, weights = torch.randn(400, 5).double(), torch.ones(400).double()
        weights[:150] = 1e-9
        self.step(lambda: (self.model(x).square().sum(1) * weights).sum().backward(), self.model)
        layer = self.layer("0")
        self.assertGreater(layer["negligible_share"], 0.3)
        change = self.rank(x[150:]) / self.rank(x)
        self.assertAlmostEqual(layer["negligible_change"], change, places=8)
        self.assertLess(abs(change - 1), 0.1)
        self.assertIn("0.stable_rank", self.measured())

    def test_drawn_negligible_samples(self):
        x, weights = torch.randn(2000, 5).double(), torch.ones(2000).double()
        weights[::4] = 1e-9
        self.step(lambda: (self.model(x).square().sum(1) * weights).sum().backward(), self.model, samples=1000)
        self.assertAlmostEqual(self.layer("0")["negligible_share"], 0.25, delta=0.04)
        self.assertAlmostEqual(self.layer("0")["negligible_change"], 1, delta=0.05)

    def test_gradients_of_inputs_alone_are_no_samples(self):
        """Adversarial training: several gradients of the input before that of the weights."""
        model = self.model

        def steps(wanted):
            delta = torch.zeros(12, 5).double().requires_grad_()
            for _ in range(3):
                if wanted == "grad":
                    change, = torch.autograd.grad(self.squares(self.x + delta), delta)
                else:
                    self.squares(self.x + delta).backward(inputs=[delta])
                    change, delta.grad = delta.grad, None
                delta = (delta + 0.1 * change.sign()).detach().requires_grad_()
            self.squares(self.x + delta).backward()
            self.seen = (self.x + delta).detach()

        for wanted in "grad", "inputs":
            with self.subTest(wanted):
                model.zero_grad()
                self.assertEqual(self.step(lambda: steps(wanted), model), {"0.weight": None, "2.weight": None})
                layer = self.layer("0")
                self.assertEqual((layer["samples"], layer["calls"]), (12, 1))
                self.assertNotIn("scaled", layer)
                self.close(self.tensors(layer)["second_moment"], self.seen.t() @ self.seen)

    def test_gradients_of_some_weights(self):
        first, second = self.model[0].weight, self.model[2].weight

        def steps():
            torch.autograd.grad(self.squares(self.x), second)
            for weight, gradient in zip((first, second), torch.autograd.grad(self.squares(self.x), (first, second))):
                weight.grad = gradient

        if hasattr(torch.autograd.graph, "Node"):  # from PyTorch 2 on these gradients are seen
            found = self.step(steps, self.model)
            self.assertIsNone(found["0.weight"])
            self.assertEqual(self.layer("0")["calls"], 1)
            self.assertEqual(self.layer("2")["calls"], 2)

    def test_negligible_ids(self):
        table = nn.Embedding(9, 4).double()
        ids, weights = torch.tensor([1, 2, 2, 5]), torch.tensor([1, 1, 1e-9, 1]).double()
        self.step(lambda: (table(ids).square().sum(1) * weights).sum().backward(), table)
        layer = self.recording["layers"][0]
        self.assertEqual((layer["negligible_samples"], layer["negligible_share"]), (1, 0.25))

    def test_padding_without_an_attention_mask(self):
        """Tokens that others attend to are samples, even if the loss ignores them."""
        block = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).double()
        model = nn.ModuleDict({"table": nn.Embedding(9, 8, padding_idx=0), "lower": block, "upper": nn.Linear(8, 9)}).double()
        ids = torch.randint(1, 9, (4, 6))
        ids[:, 4:] = 0
        labels = ids.masked_fill(ids == 0, -100)
        causal = torch.full((6, 6), float("-inf")).triu(1).double()
        for mask, dropped in (causal, 8), (None, 0):
            def steps():
                h = model["lower"](model["table"](ids) + torch.randn(6, 8).double(), mask)
                F.cross_entropy(model["upper"](h).flatten(0, 1), labels.flatten()).backward()

            self.step(steps, model)
            self.assertEqual(self.layer("lower.self_attn.in_proj_weight")["dropped"], dropped)
            self.assertEqual(self.layer("lower.self_attn.in_proj_weight")["negligible_samples"], 0)
            self.assertEqual(self.layer("upper")["dropped"], 8)


class DrawnSamplesTest(RecordingTest):
    """record(..., samples=N)"""

    def drawn(self, model, loss, samples):
        model.zero_grad()
        with ranklab_dump.record(model, self.folder, replace=True, samples=samples) as recording:
            loss().backward()
        with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
            self.layers = {layer["name"]: layer for layer in json.load(file)["layers"]}
        return {name: matrix for (name, *_), matrix in recording.matrices.items()}

    def test_each_is_one_of_the_used_samples(self):
        """300 samples, of which each third has no output gradient: 25 of 200, in one call and two."""
        model, x = nn.Linear(120, 20, bias=False), torch.randn(300, 120)
        weights = (torch.arange(300) % 3 > 0).float()[:, None]
        for calls in 1, 2:
            loss = lambda: sum((weights * model(x)).square().sum() for _ in range(calls))
            matrix = self.drawn(model, loss, 25)["weight"]
            rows = matrix.moment.samples() / (200 / 25) ** 0.5
            places = [((x - row).norm(dim=1) < 1e-5).nonzero().flatten().tolist() for row in rows]
            self.assertEqual([len(found) for found in places], [1] * 25 * calls)
            self.assertTrue(all(place % 3 > 0 for place, in places))
            for call in range(calls):
                self.assertEqual(len({place for place, in places[25 * call:25 * call + 25]}), 25)
            layer = self.layers["weight"]
            self.assertEqual((layer["samples"], layer["input_samples"]), (200 * calls, 25 * calls))
            self.close(self.tensors(layer)["gradient"], model.weight.grad)

    def test_triangles_hold_the_drawn_samples(self):
        """299 of 300 samples: the second moment lacks one of them. None is lacking if N is larger."""
        model, x = nn.Linear(30, 20).double(), torch.randn(300, 30).double()
        loss = lambda: model(x).square().sum()
        self.drawn(model, loss, 299)
        found = self.tensors(self.layers["weight"])["second_moment"]
        without = [(x.t() @ x - torch.outer(row, row)) * 300 / 299 for row in x]
        self.assertLess(min(float((found - each).norm()) for each in without), 1e-9)
        for samples in 300, 10 ** 6, None:
            self.drawn(model, loss, samples)
            self.assertNotIn("input_samples", self.layers["weight"])
            self.close(self.tensors(self.layers["weight"])["second_moment"], x.t() @ x)

    def test_all_samples_are_drawn_alike(self):
        """The mean of many second moments is that of all samples, large and small ones."""
        model = nn.Linear(6, 4).double()
        x = torch.randn(40, 6).double() * torch.logspace(-1, 1, 40).double()[:, None]
        repeats = 400
        with ranklab_dump.record(model, self.folder, samples=8) as recording:
            for _ in range(repeats):
                model(x).square().sum().backward()
        matrix, = recording.matrices.values()
        total = matrix.moment.full() / repeats
        deviations = torch.stack([torch.outer(row, row) for row in x]) * 40 - x.t() @ x
        error = (deviations.square().sum((1, 2)).mean() / 8 / repeats) ** 0.5  # with replacement
        self.assertLess(float((total - x.t() @ x).norm()), 3 * float(error))

    def test_stable_ranks_are_low_by_a_share_of_st_over_samples(self):
        """The note of the program and the description of record() say so."""
        for decay, inputs, samples in (0.6, 100, 200), (1.0, 200, 100):
            scale, shares = torch.arange(1, inputs + 1) ** (-decay / 2), []
            for _ in range(200):
                x, model = torch.randn(3000, inputs) * scale, nn.Linear(inputs, 20)
                values = torch.linalg.eigvalsh(x.t() @ x)
                stable = float(values.sum() / values[-1])
                with ranklab_dump.watch(model, samples=samples) as watcher:
                    model(x).pow(3).mean().backward()
                    found = watcher.step()["weight"]
                shares.append((1 - found["stable_rank"] / stable) * samples / stable)
            error = statistics.stdev(shares) / len(shares) ** 0.5
            self.assertLess(error, 0.15)
            self.assertLess(abs(statistics.mean(shares) - 1), 0.3 + 3 * error)

    def test_projections_of_attention_share_their_drawn_samples(self):
        model, x = Attention(6).double(), torch.randn(4, 9, 6).double()
        self.drawn(model, lambda: model(x).square().sum(), 4)
        moments = {name: self.tensors(layer)["second_moment"] for name, layer in self.layers.items()}
        self.close(moments["k"], moments["v"])
        for name in "qkvo":
            self.assertEqual(self.layers[name]["input_samples"], 4)
            values = torch.linalg.eigvalsh(moments[name])  # of four samples: the others are 0
            self.assertEqual((values.abs() < 1e-9).tolist(), [True, True, False, False, False, False])
            self.assertGreater(float(values.min()), -1e-9)
        # The first query of each sequence sees only itself, so q draws among 32 samples.
        self.assertEqual([self.layers[name]["samples"] for name in "qkv"], [32, 36, 36])

    def test_patches_and_ids(self):
        model = nn.ModuleDict({"table": nn.Embedding(9, 4), "conv": nn.Conv1d(4, 5, 3)}).double()
        ids = torch.randint(9, (6, 20))
        self.drawn(model, lambda: model["conv"](model["table"](ids).mT).square().sum(), 10)
        self.assertEqual(self.layers["conv"]["input_samples"], 10)
        self.assertNotIn("input_samples", self.layers["table"])
        counts = self.tensors(self.layers["table"])["counts"]
        self.assertEqual(counts.tolist(), torch.bincount(ids.flatten(), minlength=9).tolist())

    def test_the_program_says_so(self):
        """It also accepts features that are zero in all drawn samples, but not in the gradient."""
        model = nn.Sequential(nn.Linear(8, 30), nn.ReLU(), nn.Linear(30, 6)).double()
        x = torch.randn(200, 30).double() * (torch.rand(200, 30) < 0.02)
        loss = lambda: model[2](x).square().sum() + model[0](x[:, :8]).square().sum()
        self.drawn(model, loss, 16)
        found = self.tensors(self.layers["2"])["second_moment"]
        self.assertTrue((found.diagonal() == 0).any())
        result = self.folder + ".json"
        program(["--from", self.folder, "--out", result, "--quiet"])
        with open(result, encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual({layer["layer"] for layer in written["advice"]}, {"0", "2"})
        values = torch.linalg.eigvalsh(found)
        share = float(values.sum() / values[-1]) / 16
        note, = (each for each in written["notes"] if "drawn at random" in each)
        self.assertIn("In 2 layers ", note)
        self.assertGreaterEqual(float(note.split("by about ")[1].split(" %")[0]), 99 * share / (1 - share))

    def test_other_numbers_are_refused(self):
        for wrong in 0, -1, 2.5, "all":
            with self.subTest(wrong):
                with self.assertRaisesRegex(ValueError, "samples must be an integer of at least 1"):
                    with ranklab_dump.record(nn.Linear(2, 2), self.folder, samples=wrong):
                        pass
                with self.assertRaisesRegex(ValueError, "samples must be an integer of at least 1"):
                    ranklab_dump.watch(nn.Linear(2, 2), samples=wrong)
        self.assertFalse(os.path.exists(self.folder))
