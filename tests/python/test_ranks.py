"""st and nr against singular values in float64, and the sums that matrices share."""
import unittest
from unittest import mock

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
        """By eigenvalues, and by the products that a GPU takes in their place."""
        for kind, s in spectra(120).items():
            u, v = (torch.linalg.qr(torch.randn(size, 120).double())[0] for size in (120, 300))
            g = ((u * s) @ v.t()).float()
            exact = torch.linalg.svdvals(g.double())
            expected = float(exact.sum() ** 2 / exact.square().sum())
            found = [nr for nr, _ in ranks.nuclear_ranks([g, g.t(), 3 * g])]
            with mock.patch.object(ranks, "products_pay", lambda gram: True):
                found += [nr for nr, _ in ranks.nuclear_ranks([g, g.t(), 3 * g])]
            for nr in found:
                self.assertLess(abs(nr / expected - 1), 1e-6, kind)

    def test_stable_rank(self):
        for k, n in (60, 40), (200, 900), (400, 900):
            for mean in 0, 1:
                a = torch.randn(n, k) + mean
                exact = torch.linalg.svdvals(a.double())
                expected = float(exact.square().sum() / exact[0] ** 2)
                values = ranks.stable_ranks([a.t() @ a, torch.eye(3), 2 * a.t() @ a])
                self.assertAlmostEqual(values[1], 3)
                for value in values[::2]:
                    self.assertLess(abs(value / expected - 1), 1e-6, (k, mean))

    def test_stable_rank_of_samples(self):
        """In the block Krylov space where it is enough, else by the sum A A'."""
        for name, spectrum in spectra(300).items():
            for n in 500, 900:
                u, v = (torch.linalg.qr(torch.randn(size, 300).double())[0] for size in (n, 400))
                a = ((u * spectrum) @ v.t()).float()
                exact = torch.linalg.svdvals(a.double())
                value, = ranks.stable_ranks([a])
                self.assertLess(abs(value * float(exact[0] ** 2 / exact.square().sum()) - 1), 1e-5, (name, n))
        self.assertTrue(ranks.stable_ranks([torch.zeros(500, 400)])[0] != ranks.stable_ranks([torch.ones(500, 400)])[0])

    def test_as_many_samples_as_inputs(self):
        """Samples k x k are not taken for a sum A A'."""
        a = torch.randn(50, 50)
        exact = torch.linalg.svdvals(a.double())
        value, = ranks.stable_ranks([ranks.moment_of(mock.Mock(samples=lambda: a))])
        self.assertLess(abs(value * float(exact[0] ** 2 / exact.square().sum()) - 1), 1e-6)

    def test_a_wide_matrix_keeps_its_samples_instead_of_a_larger_sum(self):
        x = torch.randn(4, 700, 24)
        model = nn.Sequential(nn.Linear(24, 1200), nn.GELU(), nn.Linear(1200, 8, bias=False))
        for calls in 1, 3, 4:  # 700, 2100 and 2800 samples of 1200 inputs
            with ranklab.watch(model) as watcher:
                model.zero_grad()
                for each in x[:calls]:
                    model(each).square().sum().backward()
                kept = {sums.name: sums.samples() for sums in watcher.recording.matrices.values()}["2.weight"]
                found = watcher.step()
            self.assertEqual(kept is not None, calls < 4)
            a = torch.cat([nn.functional.gelu(model[0](each)) for each in x[:calls]]).detach().double()
            exact = torch.linalg.svdvals(a)
            self.assertLess(abs(found["2"]["stable_rank"] / float(exact.square().sum() / exact[0] ** 2) - 1), 1e-6, calls)
            self.assertEqual(found["2"]["samples"], 700 * calls)

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
