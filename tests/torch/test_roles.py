"""Roles come from the module tree and the vocabulary, not from the order of calls; samples without an effect are counted; the groups of
`advise --groups` build two optimizers."""
import json
import os
import re
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from test_dump import ROOT, program
import ranklab_dump


class Model(nn.Module):
    """The head is declared before the blocks; with `checkpointed`, blocks run again during the backward pass."""

    def __init__(self, vocabulary=11, checkpointed=False):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, 8), nn.Linear(8, vocabulary)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(2))
        self.checkpointed = checkpointed

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = x + (checkpoint(block, x) if self.checkpointed else block(x))
        return self.head(x)


class RolesTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def record(self, model, loss):
        with ranklab_dump.record(model, os.path.join(self.folder, "step1"), replace=True):
            loss().backward()
        with open(os.path.join(self.folder, "step1", "recording.json"), encoding="utf-8") as file:
            return {layer["name"]: layer for layer in json.load(file)["layers"]}

    def language_model(self, checkpointed=False):
        model, ids = Model(checkpointed=checkpointed).double(), torch.randint(11, (4, 9))
        return model, self.record(model, lambda: F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()))

    def test_a_head_before_its_blocks_and_checkpoints(self):
        for checkpointed in (False, True):
            with self.subTest(checkpointed=checkpointed):
                _, layers = self.language_model(checkpointed)
                roles = {name: layer["role"] for name, layer in layers.items()}
                self.assertEqual(roles.pop("embedding"), "embedding")
                self.assertEqual(roles.pop("head"), "head")
                self.assertEqual(set(roles.values()), {"hidden"})
                self.assertEqual({layer.get("reason") for layer in layers.values()}, {None})

    def test_a_classifier_without_embedding(self):
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).double()
        layers = self.record(model, lambda: F.cross_entropy(model(torch.randn(9, 6, dtype=torch.float64)), torch.randint(3, (9,))))
        self.assertEqual([layers[name]["role"] for name in ("0", "2", "4")], ["first", "hidden", "head"])

    def test_frozen_layers_keep_their_roles(self):
        """Adapters in a frozen model, and a network with frozen ends."""
        model, ids = Model().double(), torch.randint(11, (3, 5))
        model.requires_grad_(False)
        for block in model.blocks:
            block.append(nn.Linear(8, 8).double())
        layers = self.record(model, lambda: model(ids).square().sum())
        self.assertEqual({name: layer["role"] for name, layer in layers.items()}, {"blocks.0.3": "hidden", "blocks.1.3": "hidden"})
        model.embedding.requires_grad_(True)
        layers = self.record(model, lambda: model(ids).square().sum())
        self.assertEqual(layers["blocks.1.3"]["role"], "hidden")
        ends = nn.Sequential(*[nn.Linear(6, 6) for _ in range(4)]).double()
        for end in ends[0], ends[3]:
            end.weight.requires_grad_(False)
        layers = self.record(ends, lambda: ends(torch.randn(9, 6).double()).square().sum())
        self.assertEqual([layers[name]["role"] for name in ("1", "2")], ["hidden", "hidden"])

    def test_samples_with_a_negligible_weight(self):
        model, x = nn.Linear(6, 4).double(), torch.randn(10, 6, dtype=torch.float64)
        weights = torch.tensor([1.0] * 6 + [1e-9] * 4, dtype=torch.float64)
        net = nn.Sequential(model)
        layer = self.record(net, lambda: (weights * net(x).square().sum(1)).sum())["0"]
        self.assertEqual(layer["negligible_samples"], 4)
        self.assertAlmostEqual(layer["negligible_share"], float(x[6:].square().sum() / x.square().sum()), places=12)
        layer = self.record(net, lambda: net(x).square().sum())["0"]
        self.assertEqual((layer["negligible_samples"], layer["negligible_share"]), (0, 0.0))

    def test_the_groups_build_two_optimizers(self):
        """The lines of the guide put every parameter into one of two optimizers."""
        model, _ = self.language_model()
        path = os.path.join(self.folder, "groups.json")
        out = os.path.join(self.folder, "out.json")
        program(["--from", self.folder, "--groups", path, "--out", out, "--quiet"])
        with open(os.path.join(ROOT, "experiments", "README.md"), encoding="utf-8") as file:
            lines = re.search(r"```python\n( *import json\n.*?)```", file.read(), re.S)[1]
        code = "\n".join(line.strip() for line in lines.splitlines()).replace('"groups.json"', repr(path))
        with open(out, encoding="utf-8") as file:
            notes = json.load(file)["notes"]
        note = next(text for text in notes if text.startswith("import json"))
        self.assertEqual(note.replace(json.dumps(path), repr(path)), code.strip())

        class Muon(torch.optim.SGD):  # takes matrices only, as torch.optim.Muon does
            def __init__(self, parameters, lr):
                super().__init__(parameters, lr)
                assert all(p.dim() == 2 for group in self.param_groups for p in group["params"])

        with open(path, encoding="utf-8") as file:
            groups = json.load(file)
        stack = nn.ModuleDict({"model": model, "conv": nn.Conv1d(4, 4, 3)})
        compiled = nn.ModuleDict({"_orig_mod": model})
        hidden = [f"blocks.{b}.{i}.weight" for b in (0, 1) for i in (0, 2)]
        for of, names, matrices in ((model, hidden, 4), (model, [], 0), (compiled, hidden, 4),
                                    (stack, ["conv.weight"] + [f"model.{name}" for name in hidden], 4)):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**groups, "muon": names}, file)
            scope = {"model": of, "Muon": getattr(torch.optim, "Muon", Muon), "torch": torch}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # the file that the lines do not close
                exec(code, scope)
            held = [p for optimizer in scope["optimizers"] for group in optimizer.param_groups for p in group["params"]]
            self.assertEqual(sorted(map(id, held)), sorted(map(id, of.parameters())))
            self.assertEqual(len(scope["muon"]), matrices)
        self.assertLessEqual({"embedding.weight", "head.weight"}, set(groups["euclidean"]))


if __name__ == "__main__":
    unittest.main()
