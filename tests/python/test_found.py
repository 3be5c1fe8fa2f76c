"""What watch() returns: a table, flat(), history, parts, the momentum, and tied matrices."""
import csv
import io
import math
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import kinds
import ranklab
from test_steps import nuclear_rank


class FoundTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.model = kinds.Model(lambda m, x: m.out(m.o(kinds.attention(*m.qkv(x).chunk(3, -1)))), qkv=nn.Linear(8, 24), o=nn.Linear(8, 8), out=nn.Linear(8, 5))
        self.x = torch.randn(4, 6, 8)

    def backward(self):
        self.model(self.x).exp().mean().backward()

    def test_table_flat_and_history(self):
        watcher = ranklab.watch(self.model, every=2)
        for _ in range(3):
            self.model.zero_grad()
            self.backward()
            found = watcher.step()
        lines = str(found).splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["matrix", "qkv", "o", "out"])
        self.assertIn(f"{found['o']['nuclear_rank']:.4g}", lines[2])
        flat = found.flat()
        self.assertEqual(flat["o/stable_rank"], found["o"]["stable_rank"])
        self.assertTrue(all(isinstance(value, (int, float)) and not math.isnan(value) for value in flat.values()))
        self.assertEqual([(row["step"], row["matrix"]) for row in watcher.history], [(s, m) for s in (0, 2) for m in ("qkv", "o", "out")])
        self.assertEqual(watcher.history[-1]["nuclear_rank"], found["out"]["nuclear_rank"])
        out = io.StringIO()
        rows = csv.DictWriter(out, watcher.history[0])
        rows.writeheader()
        rows.writerows(watcher.history)
        self.assertEqual(len(out.getvalue().splitlines()), 7)

    def test_parts(self):
        """Their numbers: SevenTest."""
        with ranklab.watch(self.model, every=1, parts={"qkv": 3, "o": ("heads", 2), "out.weight": [2, 3]}) as watcher:
            self.backward()
            found = watcher.step()
        self.assertEqual({name: values["shape"] for name, values in found.items()}, {
            **{f"qkv.{i}": (8, 8) for i in (1, 2, 3)}, "o.1": (8, 4), "o.2": (8, 4), "out.1": (2, 8), "out.2": (3, 8)})
        with ranklab.watch(self.model, every=1, parts={"o*": 3}) as watcher:
            self.backward()
            found = watcher.step()
            self.assertEqual(set(found), {"qkv"})
            self.assertIn("\nnot measured: out: the parts 3 do not divide its 5 rows", str(found))
            self.assertIn("no matrix was measured\nnot measured: qkv: not used", str(watcher.step()))
        for error, parts in ((ValueError, {"no": 3}), (ValueError, {"o": 0}), (ValueError, {"o": ("cols", 2)}), (TypeError, ["o"])):
            with self.assertRaisesRegex(error, "parts"):
                ranklab.watch(self.model, parts=parts)
        with self.assertRaisesRegex(ValueError, "SGD has no parameter of this model"):
            ranklab.watch(self.model, optimizer=torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1))

    def test_momentum(self):
        """Its numbers: SevenTest."""
        optimizer = torch.optim.SGD([self.model.qkv.weight, self.model.o.weight], 0.1, momentum=0.9)
        with ranklab.watch(self.model, every=1, optimizer=[optimizer, torch.optim.Adam(self.model.out.parameters())]) as watcher:
            self.backward()
            optimizer.step()
            found = watcher.step()
        self.assertTrue(math.isnan(found["out"]["momentum_nuclear_rank"]))
        self.assertIn("nr of momentum", str(found))
        with self.assertRaisesRegex(TypeError, "watch\\(\\): needs an optimizer"):
            ranklab.watch(self.model, optimizer=3)

    def test_tied(self):
        model, loss = kinds.language_model(True)
        with ranklab.watch(model, every=1) as watcher:
            loss().backward()
            found = watcher.step()
        self.assertAlmostEqual(found["table"]["nuclear_rank"] / nuclear_rank(model.table.weight.grad), 1, places=5)
        self.assertTrue(math.isnan(found["table"]["stable_rank"]))
        self.assertIn("tied", watcher.not_judged["table"])
        self.assertNotIn("table/stable_rank", found.flat())

    def test_filters_and_statistics(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3), nn.Dropout(0.5), nn.Flatten(), nn.Linear(96, 5))
        images = torch.randn(4, 3, 8, 8)
        before, random = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
        found = ranklab.groups(model, lambda m: F.cross_entropy(m(images), torch.arange(4)), filters=True)
        self.assertTrue(all(torch.equal(value, before[key]) for key, value in model.state_dict().items()))
        self.assertTrue(torch.equal(random, torch.get_rng_state()))
        self.assertEqual(found.muon_names, ["3.weight"])
        self.assertIn("6 x 72", found.notes["3.weight"])
        self.assertEqual(ranklab.groups(model, lambda m: F.cross_entropy(m(images), torch.arange(4))).muon_names, [])

    def test_fused_matrices_are_named(self):
        cuts = {"chunk": lambda h: h.chunk(3, -1)[0], "split": lambda h: h.split([4, 2, 2], -1)[0].repeat(1, 1, 2) if h.shape[-1] == 8 else h.split([8, 8, 8], -1)[0],
                "reshape": lambda h: h.reshape(4, 6, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)[0].transpose(1, 2).flatten(2)}
        for kind, cut in cuts.items():
            model = kinds.Model(lambda m, x: m.out(cut(m.qkv(m.first(x)))), first=nn.Linear(8, 8), qkv=nn.Linear(8, 24), out=nn.Linear(8, 5))
            note = ranklab.groups(model, lambda m: m(self.x).square().mean()).notes["qkv.weight"]
            self.assertIn('parts={"qkv": 3}', note, kind)


if __name__ == "__main__":
    unittest.main()
