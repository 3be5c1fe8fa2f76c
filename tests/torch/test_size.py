"""Layers with one input share its second moment, and recordings are small."""
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
        plain = ranklab_dump._Triangle.like
        with mock.patch("ranklab_dump._Triangle.like", side_effect=plain) as like:
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
        backward = lambda: (model["a"](x).sum() + model["b"](x).sum()).backward()
        for part in ("_Input.add_to", "_Triangle.like", "_Triangle.add_sum"):
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


if __name__ == "__main__":
    import unittest
    unittest.main()
