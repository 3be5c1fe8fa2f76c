"""st and nr against singular values in float64, and the sums that matrices share."""
import unittest

import torch
from torch import nn

import kinds
import ranklab
from ranklab import ranks


def spectra(d):
    i = torch.arange(1, d + 1, dtype=torch.float64)
    return {"flat": torch.ones_like(i), "1/i": 1 / i, "1/i^2": i ** -2, "exponential": (-i / 8).exp(), "rank 3": (i <= 3).double()}


class RanksTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)

    def test_nuclear_rank(self):
        for kind, s in spectra(120).items():
            u, v = (torch.linalg.qr(torch.randn(size, 120).double())[0] for size in (120, 300))
            g = ((u * s) @ v.t()).float()
            exact = torch.linalg.svdvals(g.double())
            expected = float(exact.sum() ** 2 / exact.square().sum())
            for scale in 1, 1e-25, 1e25:
                for nr, _ in ranks.nuclear_ranks([scale * g, scale * g.t()]):
                    self.assertLess(abs(nr / expected - 1), 2e-6, (kind, scale))

    def test_stable_rank(self):
        for k, n in (60, 40), (200, 900), (400, 900):
            for mean in 0, 1:
                a = torch.randn(n, k) + mean
                exact = torch.linalg.svdvals(a.double())
                expected = float(exact.square().sum() / exact[0] ** 2)
                values = ranks.stable_ranks([a.t() @ a, torch.eye(3), ("samples", a), ("samples", a.t())])
                self.assertAlmostEqual(values[1], 3)
                for value in (values[0], *values[2:]):
                    self.assertLess(abs(value / expected - 1), 1e-6, (k, mean))
        self.assertTrue(torch.tensor(ranks.stable_ranks([torch.zeros(5, 5)])).isnan().all())

    def test_largest_eigenvalue(self):
        q = torch.linalg.qr(torch.randn(300, 300).double())[0]
        for kind, s in {**spectra(300), "rank 1": torch.eye(300)[0].double(), "close": 1 - 1e-9 * torch.arange(300).double()}.items():
            for scale in 1e-30, 1e30:
                self.assertLess(abs(ranks.largest_eigenvalue(scale * (q * s) @ q.t()) / (scale * s[0]) - 1), 1e-8, kind)
        self.assertEqual(ranks.largest_eigenvalue(torch.zeros(300, 300).double()), 0)

    def test_queries_keys_and_values_share_one_sum(self):
        def forward(m, x):
            h = kinds.attention(m.q(x), m.k(x), m.v(x))
            return m.out(h[:, -1] if m.last else h)

        for last in False, True:  # the last token alone enters the loss: q has fewer samples
            model, x = kinds.Model(forward, **{name: nn.Linear(8, 8) for name in ("q", "k", "v", "out")}), torch.randn(4, 6, 8)
            model.last = last
            loss = lambda: model(x).exp().sum()
            expected = kinds.raw(model, loss)
            model.zero_grad()
            for _ in range(2):
                with ranklab.watch(model) as watcher:
                    loss().backward()
                    sums = {s.name: s for s in watcher.recording.matrices.values()}
                    self.assertIs(sums["k.weight"].gram, sums["v.weight"].gram)
                    self.assertEqual(sums["q.weight"].gram is sums["k.weight"].gram, not last)
                    found = watcher.step()
            for name, pair in expected.items():
                for value, wanted in zip((found[name]["stable_rank"], found[name]["nuclear_rank"]), kinds.ranks(*pair)):
                    self.assertLess(abs(value / wanted - 1), 1e-5, name)


if __name__ == "__main__":
    unittest.main()
