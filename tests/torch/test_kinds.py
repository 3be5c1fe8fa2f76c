"""Many kinds of models: st and nr of the recording against raw activations and output gradients."""
import os
import sys
import unittest

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
from kinds import KINDS, TOLERANCES, ranks, raw  # the package ranklab is tested on the same models
from test_dump import RecordingTest


class KindsTest(RecordingTest):
    def test_ranks(self):
        self.assertGreaterEqual(len(KINDS), 25)
        for kind, (builder, causes) in KINDS.items():
            with self.subTest(kind):
                torch.manual_seed(3)
                model, loss, *more = builder()
                expected = raw(model, loss, more[0] if more else None)
                model.zero_grad()
                found = self.step(lambda: loss().backward(), model)
                self.assertEqual({name: cause[0] for name, cause in found.items() if cause}, causes)
                measured = {}
                for layer in self.recording["layers"]:
                    if "cause" in layer:
                        continue
                    tensors, parts = self.tensors(layer), layer.get("parts", 0)
                    for i, g in enumerate(tensors["gradient"].chunk(max(parts, 1))):
                        name = layer["name"] + (f".{layer['first_part'] + i}" if parts else "")
                        moment = tensors["second_moment"] if "second_moment" in tensors else tensors["counts"].diag()
                        values, t = torch.linalg.eigvalsh(moment.double()), torch.linalg.svdvals(g.double())
                        measured[name] = float(values.sum() / values[-1]), float(t.sum() ** 2 / t.square().sum()), layer["samples"]
                names = {name for name in expected if name in measured}
                self.assertTrue(names)
                refused = {id(parameter) for name, parameter in model.named_parameters() if name in causes}
                for name in set(expected) - names:
                    self.assertIn(id(model.get_submodule(name).weight), refused, name)
                for name in names:
                    for value, wanted in zip(measured[name], (*ranks(*expected[name]), len(expected[name][0]))):
                        self.assertLess(abs(value / wanted - 1), TOLERANCES.get(kind, 1e-4), (name, value, wanted))


if __name__ == "__main__":
    unittest.main()
