"""Layers with one input share its second moment, and recordings are small."""
import json
import os
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

from test_dump import RecordingTest, ranklab_dump


class Attention(nn.Module):
    """Causal attention with separate projections, and a feed-forward layer."""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        future = torch.full((x.shape[1],) * 2, float("-inf"), dtype=x.dtype).triu(1)
        scores = q @ k.transpose(1, 2) + future
        x = x + self.o(scores.softmax(-1) @ v)
        return x + self.down(F.gelu(self.up(x)))


class SharedInputTest(RecordingTest):
    def moments(self):
        return {layer["name"]: self.tensors(layer)["second_moment"]
                for layer in self.recording["layers"]}

    def two(self):
        """Two layers that get the same 40 samples."""
        model = nn.ModuleDict({"a": nn.Linear(5, 4), "b": nn.Linear(5, 3)}).double()
        return model, torch.randn(40, 5).double()

    def test_projections_of_attention(self):
        model, batches = Attention(6), [torch.randn(2, 9, 6).double() for _ in range(2)]
        plain = ranklab_dump._Moment.like
        with mock.patch("ranklab_dump._Moment.like", side_effect=plain) as like:
            def loss():
                model(batches[0]).square().sum().backward()
                return model(batches[1]).square().sum()

            self.record(model, loss)
            self.assertEqual(like.call_count, 2)  # once per batch
        whole, moments = torch.cat(batches), self.moments()
        # The first query sees only itself.
        for name, x in ("q", whole[:, 1:]), ("k", whole), ("v", whole):
            x = x.reshape(-1, 6)
            self.close(moments[name], x.t() @ x)

    def test_calls_that_use_other_samples(self):
        """Some of the 40 samples are not used by one layer; then they may be large, or NaN."""
        for few in (0, 3, 30):
            for value in (1.0, 1e8, float("nan")):
                for order in ("ab", "ba"):
                    with self.subTest(f"{few} {value} {order}"):
                        model, x = self.two()
                        x[:few] = value

                        def loss():
                            out = {name: model[name](x) for name in order}
                            whole = out["b"] if value == 1.0 else out["b"][few:]
                            return out["a"][few:].square().sum() + whole.square().sum()

                        self.record(model, loss)
                        moments = self.moments()
                        self.close(moments["a"], x[few:].t() @ x[few:])
                        part = x if value == 1.0 else x[few:]
                        self.close(moments["b"], part.t() @ part)

    def test_large_samples_are_not_subtracted(self):
        model, x = self.two()
        x[0] = 1e12
        for order in ("ab", "ba"):
            def loss():
                out = {name: model[name](x) for name in order}
                return out["a"][1:].square().sum() + (out["b"] * 1e-12).square().sum()

            self.record(model, loss)
            moments = self.moments()
            self.close(moments["a"], x[1:].t() @ x[1:])
            self.close(moments["b"], x.t() @ x)

    def test_no_moment_is_kept_for_later_calls(self):
        model, x = self.two()
        with ranklab_dump.record(model, self.folder) as recording:
            loss = model["a"](x).square().sum() + model["b"](x).square().sum()
            shared, = recording.inputs.values()
            self.assertEqual(shared.calls, 2)
            loss.backward(retain_graph=True)
            self.assertEqual((recording.inputs, shared.moment, shared.calls), ({}, None, 0))
            loss.backward()
            model["a"](x)
            unused = model["b"](x)
            shared, = recording.inputs.values()
            unused.sum().backward()
            self.assertIsNotNone(shared.moment)
        self.assertIsNone(shared.moment)
        first, second = recording.matrices.values()
        self.close(first.moment.full(), 2 * x.t() @ x)
        self.close(second.moment.full(), 3 * x.t() @ x)

    def test_an_error_leaves_no_moment(self):
        model, x = self.two()
        loss = lambda: model["a"](x).sum() + model["b"](x).sum()
        backward = lambda: (loss().backward(), loss().backward())
        for part in ("_Input.add_to", "_Moment.like", "_Moment.add_moment", "_Triangle.add_sum"):
            broken = mock.patch(f"ranklab_dump.{part}", side_effect=RuntimeError("broken"))
            with self.subTest(part), broken:
                found = self.step(backward, model)
                failed = [name for name, cause in found.items() if cause]
                self.assertIn("b.weight", failed)  # its gradient arrives first
                for name in failed:
                    self.expect(found, name, "recorder-error", "broken")


class SizeTest(RecordingTest):
    def size(self):
        return sum(os.path.getsize(os.path.join(self.folder, name))
                   for name in os.listdir(self.folder))

    def test_eight_bytes_per_parameter(self):
        for kind in ("fused", "separate"):
            with self.subTest(kind):
                torch.manual_seed(0)
                model = Attention(128) if kind == "separate" else nn.TransformerEncoderLayer(
                    128, 4, 512, 0.0, "gelu", batch_first=True, norm_first=True)
                x = torch.randn(4, 64, 128)
                self.step(lambda: model(x).square().mean().backward(), model)
                self.assertLess(self.size(), 8 * sum(p.numel() for p in model.parameters()))

    def test_eight_bytes_per_parameter_of_layers_d_4d_d(self):
        """For few samples, and for many more than inputs."""
        for d in (128, 256, 512):
            for samples in (64, 512, 4096):
                with self.subTest(f"{d} {samples}"):
                    torch.manual_seed(0)
                    model = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
                    x = torch.randn(samples, d)
                    self.step(lambda: model(x).square().mean().backward(), model)
                    self.assertLess(self.size(), 8 * sum(p.numel() for p in model.parameters()))

    def test_few_samples_need_no_product(self):
        """Samples are written as they are while they are fewer numbers than a triangle."""
        for samples, products, names in ((64, 0, {"inputs", "output_gradients"}),
                                         (65, 2, {"second_moment", "error_moment"})):
            model, x = nn.Linear(128, 128), torch.randn(samples, 128)
            plain = ranklab_dump._Triangle.add
            with mock.patch("ranklab_dump._Triangle.add", autospec=True, side_effect=plain) as add:
                self.step(lambda: model(x).square().sum().backward(), model)
            self.assertEqual(add.call_count, products)
            with open(os.path.join(self.folder, "0.safetensors"), "rb") as file:
                content = file.read()
            header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
            self.assertEqual(set(header), {"gradient", *names})

    def test_samples_of_several_calls_become_a_triangle(self):
        """Ten calls of 20 samples: with 128 inputs, the fourth call is one too many."""
        model, x = nn.Linear(128, 128), torch.randn(10, 20, 128)
        for calls in (1, 3, 4, 10):
            with ranklab_dump.record(model, self.folder, replace=True) as recording:
                for each in x[:calls]:
                    model(each).square().sum().backward()
            matrix, = recording.matrices.values()
            self.assertEqual(matrix.moment.triangle is None, calls <= 3)
            seen = x[:calls].reshape(-1, 128)
            self.close(matrix.moment.full(), seen.t() @ seen)
            e = 2 * model(seen).detach()
            self.close(matrix.error_moment.full(), e.t() @ e)

    def test_watch_and_files_of_few_samples_agree_with_raw_activations(self):
        """st(A), and the best lengths along polar(G) and G."""
        for samples in (30, 70, 300):
            model = nn.Linear(150, 192, bias=False)
            x, y = torch.randn(samples, 150), torch.randn(samples, 192)
            loss = lambda: (model(x) - y).square().mean()
            with ranklab_dump.watch(model, every=1) as watcher:
                loss().backward()
                watched = watcher.step()["weight"]
            model.zero_grad()
            self.step(lambda: loss().backward(), model)
            measured = self.measured()
            x, e = x.double(), (2 * (model(x) - y).detach() / y.numel()).double()
            g, s = e.t() @ x, torch.linalg.svdvals(x)
            u, _, v = torch.linalg.svd(g, full_matrices=False)
            stable = float(s.square().sum() / s[0] ** 2)
            self.assertAlmostEqual(watched["stable_rank"] / stable, 1, places=5)
            self.assertAlmostEqual(measured["weight.stable_rank"]["mean"] / stable, 1, places=4)
            for direction, end, d in ("polar", "", u @ v), ("gradient", "_gradient", g):
                length = float((g * d).sum() / (e @ d @ x.t()).square().sum())
                self.assertAlmostEqual(watched["length" + end] / length, 1, places=4)
                self.assertAlmostEqual(
                    measured[f"weight.{direction}.length"]["mean"] / length, 1, places=3)

    def test_samples_are_copies(self):
        """The memory of an activation may be used again after the backward pass."""
        model, x = nn.Linear(400, 30), torch.randn(100, 400)
        expected = x.t() @ x
        with ranklab_dump.record(model, self.folder) as recording:
            model(x).square().mean().backward()
            x.zero_()
        matrix, = recording.matrices.values()
        self.assertIsNotNone(matrix.moment.samples())
        self.close(matrix.moment.full(), expected)

    def test_drawn_samples_stand_for_all(self):
        """At most 512 of 2,000 output gradients, as samples and in a triangle."""
        for outputs, drawn in ((1100, 512), (768, 384), (700, 512)):
            model, x = nn.Linear(400, outputs), torch.randn(2000, 400)
            with ranklab_dump.record(model, self.folder, replace=True) as recording:
                out = model(x)
                out.square().mean().backward()
            matrix, = recording.matrices.values()
            self.assertEqual(matrix.error_samples, drawn)
            self.assertEqual(matrix.error_moment.samples() is None, outputs == 700)
            squares = float((2 * out / out.numel()).square().sum())
            self.assertLess(abs(matrix.error_moment.trace() / squares - 1), 0.01)

    def test_curvature_from_drawn_samples(self):
        """tr(D M D' B) along G and polar(G), from 224 of 4,096 output gradients of a small model."""
        d = 128
        for seed in range(4):
            torch.manual_seed(seed)
            model = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d),
                                  nn.LayerNorm(d), nn.Linear(d, 50))
            x = torch.randn(4096, d) * torch.logspace(0, -1.5, d)
            labels = torch.randint(50, (4096,))
            hidden = []
            model[0].register_forward_hook(lambda _, __, out: (out.retain_grad(), hidden.append(out))
                                           and None)
            with ranklab_dump.record(model, self.folder, replace=True) as recording:
                F.cross_entropy(model(x), labels).backward()
            matrix, = (each for each in recording.matrices.values()
                       if (each.moment.size, each.error_moment.size) == (d, 4 * d))
            self.assertEqual(matrix.error_samples, 224)
            e, x = hidden[0].grad.double(), x.double()
            g, drawn = model[0].weight.grad.double(), matrix.error_moment.full().double()
            u, _, v = torch.linalg.svd(g, full_matrices=False)
            for direction in (g, u @ v):
                form = lambda errors: float(((errors @ direction) * (direction @ x.t() @ x)).sum())
                self.assertLess(abs(form(drawn) / form(e.t() @ e) - 1), 0.05)

    def test_strata_of_squares(self):
        """Of 4,000 samples 512 are drawn, each as often, and their squares sum to nearly all."""
        random, squares = ranklab_dump._Random(), torch.rand(4000).double() ** 4
        drawn = torch.zeros(4000)
        for _ in range(200):
            rows = random.sample(squares, squares > 0, 512)
            self.assertEqual(len(set(rows.tolist())), 512)
            self.assertLess(abs(float(squares[rows].sum() * 4000 / 512 / squares.sum()) - 1), 0.01)
            drawn[rows] += 1
        self.assertLess(abs(float(drawn[squares.argsort()[:400]].mean()) / 25.6 - 1), 0.02)
        self.assertLess(float((drawn - 25.6).abs().max()), 25.6)
        self.assertEqual(random.sample(squares[:5], squares[:5] > 0, 512).tolist(), [0, 1, 2, 3, 4])

    def test_rounded_second_moments(self):
        """In two bytes from 128 inputs on; float16 only if every square fits into its range."""
        cases = {"few": (127, 1.0, torch.float32, 1e-6), "many": (128, 1.0, torch.float16, 1e-4),
                 "large": (128, 300.0, torch.bfloat16, 1e-3),
                 "small": (128, 1e-5, torch.bfloat16, 1e-3),
                 "asked": (128, 1.0, torch.float64, 1e-9)}
        for name, (size, scale, dtype, tolerance) in cases.items():
            with self.subTest(name):
                model, x = nn.Linear(size, 3), scale * torch.randn(1000, size)
                x[:, 5] = 0
                options = {"dtype": dtype} if name == "asked" else {}
                self.step(lambda: model(x).sum().backward(), model, **options)
                moment = self.tensors(self.recording["layers"][0])["second_moment"]
                self.assertEqual(moment.dtype, dtype)
                x = x.double()
                exact = x.t() @ x
                self.close(moment, exact)
                self.assertEqual(float(moment[5, 5]), 0)
                stable = float(exact.trace() / torch.linalg.eigvalsh(exact)[-1])
                layer = self.recording["layers"][0]["name"]
                found = self.measured()[f"{layer}.stable_rank"]["mean"]
                self.assertLess(abs(found / stable - 1), tolerance)


class SameTest(RecordingTest):
    def test_one_changed_number_is_found(self):
        """Of any type and size, at any place in memory, in any layout."""
        for kind in torch.float32, torch.float64, torch.bfloat16:
            for offset in range(4):
                for rows, columns in (3, 5), (4, 6), (1, 1), (0, 3):
                    memory = torch.randn(offset + rows * columns).to(kind)
                    a = memory[offset:].view(rows, columns)
                    for b in a.clone(), a.t().contiguous().t():
                        self.assertTrue(ranklab_dump._same(a, b))
                        for at in range(a.numel()):
                            changed = b.clone()
                            changed[at // columns, at % columns] += 1
                            self.assertFalse(ranklab_dump._same(a, changed))
                    self.assertEqual(ranklab_dump._same(a, a.reshape(-1)), False)


if __name__ == "__main__":
    import unittest
    unittest.main()
