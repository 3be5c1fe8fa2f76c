"""record() writes what watch() measures, as a safetensors file of plain f32."""
import json
import math
import os
import tempfile
import unittest

import torch
from torch import nn

import ranklab


def read(path):
    """(metadata, name -> tensor) of a safetensors file."""
    with open(path, "rb") as file:
        content = file.read()
    size = int.from_bytes(content[:8], "little")
    header, out = json.loads(content[8:8 + size]), {}
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    end = 8 + size
    for name, entry in header.items():
        assert entry["dtype"] == "F32" and entry["data_offsets"][0] == end - 8 - size
        first, end = (8 + size + at for at in entry["data_offsets"])
        numbers = torch.frombuffer(bytearray(content[first:end]), dtype=torch.float32)
        out[name] = numbers.reshape(entry["shape"])
    assert end == len(content)
    return metadata, out


def causes_of(path):
    """parameter -> cause, or None if it is judged, of the matrices of a recording."""
    metadata, tensors = read(path)
    causes = {name: each["cause"] for name, each in json.loads(metadata["not_seen"]).items() if each["cause"] != "no-matrix"}
    for layer in json.loads(metadata["layers"]):
        causes[layer["parameter"]] = layer.get("cause")
        assert ("cause" in layer) != (f"{layer['name']}.gradient" in tensors), layer
    return causes


class RecordTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "step1.safetensors")
        self.model = nn.ModuleDict({"table": nn.Embedding(9, 6), "fc": nn.Linear(6, 40), "out": nn.Linear(40, 5),
                                    "frozen": nn.Linear(2, 2).requires_grad_(False)})
        self.ids = torch.randint(9, (12,))

    def loss(self):
        m = self.model
        return m["out"](torch.tanh(m["fc"](m["table"](self.ids)))).exp().mean()

    def test_a_file_without_a_matrix_warns(self):
        with tempfile.TemporaryDirectory() as folder, self.assertWarnsRegex(UserWarning, "no matrix was measured: not used"):
            with ranklab.record(nn.Linear(2, 2), os.path.join(folder, "a.safetensors")):
                pass

    def test_tensors_and_metadata(self):
        m = self.model
        with ranklab.record(m, self.path):
            self.loss().backward()
        metadata, tensors = read(self.path)
        self.assertEqual(metadata["format"], "ranklab.recording/2")
        layers = {layer["name"]: layer for layer in json.loads(metadata["layers"])}
        self.assertEqual({name: layer["role"] for name, layer in layers.items()},
                         {"table": "embedding", "fc": "hidden", "out": "head"})
        a = m["table"](self.ids).detach()
        h = torch.tanh(m["fc"](a)).detach()
        expected = {"table.counts": torch.bincount(self.ids, minlength=9).float(), "table.gradient": m["table"].weight.grad.t(),
                    "fc.second_moment": a.t() @ a, "fc.gradient": m["fc"].weight.grad,
                    "out.activations": h, "out.gradient": m["out"].weight.grad}
        self.assertEqual(set(tensors), set(expected))
        for name, value in expected.items():
            torch.testing.assert_close(tensors[name], value)
        self.assertEqual((layers["fc"]["n"], layers["fc"]["calls"], layers["fc"]["shape"]), (12, 1, [40, 6]))
        not_seen = json.loads(metadata["not_seen"])
        self.assertEqual((not_seen["frozen.weight"]["cause"], not_seen["fc.bias"]["cause"]), ("frozen", "no-matrix"))
        self.assertEqual(float(metadata["loss_scale"]), 1)

    def test_the_scale_of_the_loss(self):
        def unscale():
            for p in self.model.parameters():
                if p.grad is not None:
                    p.grad.div_(1024)

        for given, undo, expected in ((None, unscale, 1024), (512, lambda: None, 512), (None, lambda: None, 1)):
            self.model.zero_grad()
            with ranklab.record(self.model, self.path, loss_scale=given):
                (1024 * self.loss()).backward()
                undo()
            self.assertTrue(math.isclose(float(read(self.path)[0]["loss_scale"]), expected, rel_tol=1e-6))

    def test_nothing_is_written_after_an_exception(self):
        modes = torch.overrides._get_current_function_mode_stack  # a default device is a mode too
        before = len(modes())
        with self.assertRaises(KeyError):
            with ranklab.record(self.model, self.path):
                raise KeyError
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(len(modes()), before)
        for path, text in (os.path.join(self.path, "no", "folder"), "does not exist; create it first"), (os.path.dirname(self.path), "name a file in it"):
            with self.assertRaisesRegex(OSError, text):
                with ranklab.record(self.model, path):
                    self.fail("the block runs, although the file cannot be written")
        for path, options, text in (self.path, {"loss_scale": -1}, "loss_scale"), (self.path + ".pt", {}, "must end in .safetensors"):
            with self.assertRaisesRegex(ValueError, text):
                with ranklab.record(self.model, path, **options):
                    self.fail("the block runs")


if __name__ == "__main__":
    unittest.main()
