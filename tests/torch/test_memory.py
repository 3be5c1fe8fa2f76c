"""The recorder keeps no activation longer than autograd does, also with torch.utils.checkpoint."""
import torch
from test_dump import RecordingTest, ranklab_dump
from torch import nn
from torch.utils.checkpoint import checkpoint

MODES = {"plain": {}, "reentrant": {"use_reentrant": True}, "not reentrant": {"use_reentrant": False}}


class Blocks(nn.Module):
    """Four blocks; remembers which of their hidden activations still exist."""

    def __init__(self, mode):
        super().__init__()
        self.mode, self.activations = mode, []
        self.blocks = nn.ModuleList(nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 8)]) for _ in range(4))

    def run(self, block, x):
        h = torch.tanh(block[0](x))
        self.activations.append(ranklab_dump.StorageWeakRef(ranklab_dump._storage(h)))
        return block[1](h)

    def forward(self, x):
        for block in self.blocks:
            more = MODES[self.mode]
            x = x + (checkpoint(self.run, block, x, **more) if more else self.run(block, x))
        return x

    def alive(self):
        return sum(not reference.expired() for reference in self.activations)


class MemoryTest(RecordingTest):
    def test_activations_live_as_long_as_without_the_recorder(self):
        for mode in MODES:
            for sizes in ((15, 8), (3, 5, 8)):
                with self.subTest(f"{mode} {len(sizes)}"):
                    model, x = Blocks(mode).double(), torch.randn(sizes).double().requires_grad_()
                    after_forward, after_backward = [], []

                    def steps():
                        loss = model(x).square().sum()
                        after_forward.append(model.alive())
                        loss.backward()
                        after_backward.append(model.alive())  # the graph still exists

                    steps()
                    gradients = [p.grad.clone() for p in model.parameters()]
                    model.zero_grad()
                    model.activations.clear()
                    found = self.step(steps, model)
                    self.assertEqual(after_forward, [4 if mode == "plain" else 0] * 2)
                    self.assertEqual(after_backward, [0, 0])
                    self.assertEqual(set(found.values()), {None})
                    for p, gradient in zip(model.parameters(), gradients):
                        self.close(p.grad, gradient)
                    h, inputs = x.detach(), {}
                    for i, block in enumerate(model.blocks):
                        inputs[f"blocks.{i}.0"] = h
                        inputs[f"blocks.{i}.1"] = torch.tanh(block[0](h)).detach()
                        h = (h + block[1](inputs[f"blocks.{i}.1"])).detach()
                    self.assertEqual(len(self.recording["layers"]), 8)
                    for layer in self.recording["layers"]:
                        a = inputs[layer["name"]].reshape(15, -1)
                        self.close(self.tensors(layer)["second_moment"], a.t() @ a)
                        self.assertEqual((layer["calls"], layer["samples"]), (1, 15))

    def test_a_looped_layer_in_checkpointed_regions(self):
        layer = nn.Linear(8, 8).double()
        inputs, x = [], torch.randn(3, 5, 8).double().requires_grad_()

        def region(x):
            inputs.append(x.detach())
            h = torch.tanh(layer(x))
            inputs.append(h.detach())
            return layer(h)

        def steps():
            h = checkpoint(region, x, use_reentrant=False)
            checkpoint(region, torch.tanh(h), use_reentrant=False).square().sum().backward()

        self.assertEqual(self.step(steps, layer), {"weight": None})
        a = torch.cat(inputs[:4]).reshape(-1, 8)
        self.close(self.tensors(self.recording["layers"][0])["second_moment"], a.t() @ a)

    def test_two_backward_passes_through_one_graph(self):
        model, x = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double(), torch.randn(12, 5).double()

        def steps():
            out = model(x)
            out.square().sum().backward(retain_graph=True)
            out.exp().sum().backward()

        self.assertEqual(self.step(steps, model), {"0.weight": None, "2.weight": None})
        first = self.tensors(self.recording["layers"][0])
        self.assertEqual(self.recording["layers"][0]["calls"], 2)
        self.close(self.tensors(next(l for l in self.recording["layers"] if l["name"] == "0"))["second_moment"], 2 * x.t() @ x)
        self.assertLessEqual({"gradient", "second_moment", "error_moment"}, set(first))

    def test_parameters_cost_about_eight_bytes(self):
        """A square layer keeps its gradient and two moments: samples or triangles, of four bytes a number."""
        model = nn.Linear(512, 512, bias=False)
        for samples in (64, 256, 257, 1024):
            with ranklab_dump.record(model, self.folder, replace=True) as recording:
                model(torch.randn(samples, 512)).square().sum().backward()
            matrix, = recording.matrices.values()
            kept = [recording.gradients["weight"], matrix.sketch, matrix.probe]
            for moment in matrix.moment, matrix.error_moment:
                kept += moment.kept + (moment.triangle.blocks if moment.triangle else [])
            self.assertLess(sum(t.numel() * t.element_size() for t in kept), 9 * 512 ** 2)


if __name__ == "__main__":
    import unittest
    unittest.main()
