"""An error of the recorder never ends a training step: it names the layer and the cause."""
import contextlib
import json
import os
from unittest import mock

import torch
import torch.nn.functional as F
from test_dump import RecordingTest, ranklab_dump
from torch import nn


class NeverRaisesTest(RecordingTest):
    def causes(self, model, loss, **options):
        """Cause of every recorded layer (None if it is judged) and of every other parameter."""
        self.record(model, loss, **options)
        return {**self.recording["causes"],
                **{layer["parameter"]: layer.get("cause") for layer in self.recording["layers"]}}

    def named(self, name):
        return [layer for layer in self.recording["layers"] if layer["name"] == name]

    def test_a_tied_autoencoder(self):
        class Autoencoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.middle = nn.Linear(7, 4), nn.Linear(4, 4)

            def forward(self, x):
                h = torch.tanh(self.middle(torch.tanh(self.encoder(x))))
                return F.linear(h, self.encoder.weight.t())

        model, x = Autoencoder(), torch.randn(9, 7).double()
        causes = self.causes(model, lambda: (model(x) - x).square().sum())
        self.assertEqual(causes["encoder.weight"], "both-orientations")
        self.assertIsNone(causes["middle.weight"])
        used, transposed = self.named("encoder")
        h = torch.tanh(model.middle(torch.tanh(model.encoder(x)))).detach()
        self.close(self.tensors(used)["second_moment"], x.t() @ x)
        self.close(self.tensors(transposed)["second_moment"], h.t() @ h)
        self.close(self.tensors(used)["gradient"], model.encoder.weight.grad)
        self.close(self.tensors(transposed)["gradient"], model.encoder.weight.grad.t())

    def test_one_attention_layer_for_both_self_and_cross_attention(self):
        model = nn.MultiheadAttention(8, 2)
        q, kv = torch.randn(5, 3, 8).double(), torch.randn(7, 3, 8).double()

        def loss():
            h = model(q, q, q)[0]
            return model(h, kv, kv)[0].square().sum()

        causes = self.causes(model, loss)
        self.assertEqual(causes["in_proj_weight"], "overlap")
        self.assertIsNone(causes["out_proj.weight"])
        self.assertEqual([len(self.tensors(layer)["gradient"])
                          for layer in self.named("in_proj_weight")], [24, 8, 16])

    def test_a_whole_matrix_and_its_first_rows(self):
        layer = nn.Linear(6, 20, bias=False)
        model = nn.ModuleList([layer, nn.Linear(6, 6)])
        x = torch.randn(9, 6).double()

        def loss():
            h = torch.tanh(model[1](x))
            return layer(h).square().sum() + F.linear(h.square(), layer.weight[:12]).sum()

        causes = self.causes(model, loss)
        self.assertEqual(causes, {"0.weight": "overlap", "1.weight": None, "1.bias": "no-matrix"})
        self.assertIn("overlap", self.named("0")[0]["reason"])

    def test_uses_of_equal_rows_add_up(self):
        model = nn.Linear(6, 20, bias=False)
        x = torch.randn(9, 6).double()
        y = x.square()
        self.record(model, lambda: (
            F.linear(x, model.weight[:12]).square().sum() + F.linear(y, model.weight[:12]).exp().sum()
            + F.linear(x, model.weight[12:]).square().sum()))
        first, second = self.recording["layers"]
        both = torch.cat([x, y])
        self.close(self.tensors(first)["second_moment"], both.t() @ both)
        self.close(self.tensors(first)["gradient"], model.weight.grad[:12])
        self.close(self.tensors(second)["second_moment"], x.t() @ x)
        self.close(self.tensors(second)["gradient"], model.weight.grad[12:])
        self.assertEqual([first.get("cause"), second.get("cause")], [None, None])

    def test_a_sparse_embedding(self):
        model = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 2))
        ids = torch.tensor([[1, 2, 2], [5, 2, 0]])
        layers = self.record(model, lambda: model(ids).square().sum())
        self.assertNotIn("reason", layers["0"])
        self.close(self.tensors(layers["0"])["gradient"], model[0].weight.grad.to_dense().t())
        with ranklab_dump.record(model, self.folder, replace=True):  # beside an earlier gradient
            model(ids + 1).sum().backward()
        with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
            self.assertNotIn("reason", json.load(file)["layers"][0])

    def test_errors_inside_the_recorder_name_the_layer(self):
        model, x = nn.Sequential(nn.Linear(5, 7), nn.LSTM(7, 3)), torch.randn(4, 5).double()
        loss = lambda: model(x)[0].square().sum()
        expected = loss_gradients(model.double(), loss)
        for part in ("_Matrix.add", "_Recording.use", "_Recording.names", "_Recording.judge",
                     "_Recording.locate", "_Recording.record_use", "_Matrix.part", "_steps",
                     "_Recording.check_type", "_storage", "_rows_of", "_parts",
                     "_Recording.settle", "_Triangle.add", "_Triangle.packed"):
            with self.subTest(part), mock.patch(f"ranklab_dump.{part}", side_effect=broken):
                causes = self.causes(model, loss)
                found = [p.grad for p in model.parameters()]
                for a, b in zip(found, expected):
                    self.close(a, b)
                if part != "_steps":
                    self.assertEqual(causes["0.weight"], "recorder-error", part)
                self.assertIsNotNone(causes["1.weight_hh_l0"])

    def test_calls_that_use_no_weights_work_as_before(self):
        model, x = nn.Linear(5, 7).double(), torch.randn(4, 5).double()
        with ranklab_dump.record(model, self.folder):
            self.assertEqual(x.storage().data_ptr(), x.data_ptr())
            self.assertEqual(x.norm(dim=1).shape, (4,))

    def test_a_backward_pass_inside_autocast(self):
        model, x = nn.Linear(5, 7), torch.randn(4, 5)

        def steps():
            with torch.autocast("cpu", torch.bfloat16):
                model(x).float().square().sum().backward()

        self.assertEqual(self.step(steps, model), {"weight": None})
        self.close(self.tensors(self.recording["layers"][0])["second_moment"],
                   x.double().t() @ x.double())

    def test_methods_that_call_the_same_method_of_the_base_class(self):
        model, x = nn.Linear(4, 6), torch.randn(5, 4).double()

        def loss():
            h = model(x).unflatten(1, (2, 3)).square()
            return h.rename("n", "a", "b").align_to("a", "n", "b").rename(None).sum()

        self.assertEqual(self.causes(model, loss), {"weight": None, "bias": "no-matrix"})

    def test_a_recording_that_ends_in_inference_mode_does_not_disturb_the_next(self):
        model, x = nn.Linear(131, 2), torch.randn(600, 131)  # a size that no other test has
        for mode in torch.inference_mode, contextlib.nullcontext:
            recording = ranklab_dump.record(model, self.folder, replace=True)
            recording.__enter__()
            model(x).square().sum().backward()
            with mode():
                recording.__exit__(None, None, None)
            model.zero_grad()
        with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
            layer, = json.load(file)["layers"]
        self.assertNotIn("cause", layer)
        self.close(self.tensors(layer)["second_moment"], x.t() @ x)

    def test_errors_of_the_user_still_arrive(self):
        model = nn.Sequential(nn.Linear(5, 7), nn.LSTM(7, 3)).double()
        for wrong, text in ((torch.randn(4, 6).double(), "mat1"), (torch.randn(5), "")):
            with self.assertRaisesRegex(RuntimeError, text):
                with ranklab_dump.record(model, self.folder):
                    model(wrong)
        with self.assertRaisesRegex(RuntimeError, "input.size"):
            with ranklab_dump.record(model, self.folder):
                model[1](torch.randn(2, 2, 9).double())
        self.assertFalse(os.path.exists(self.folder))

    def test_a_full_disk_is_reported(self):
        model = nn.Linear(3, 3)
        with mock.patch("ranklab_dump._save", side_effect=OSError(28, "No space left on device")):
            with self.assertRaises(OSError):
                self.record(model, lambda: model(torch.ones(2, 3).double()).sum())


def broken(*_, **__):
    raise RuntimeError("broken\non purpose")


def loss_gradients(model, loss):
    model.zero_grad()
    loss().backward()
    return [p.grad.clone() for p in model.parameters()]
