"""probe() against a brute-force grid, and what it restores."""
import unittest

import torch
import torch.nn.functional as F
from torch import nn

import ranklab


def loss(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


class ProbeTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 16), nn.Dropout(0.1),
                                   nn.Tanh(), nn.Linear(16, 3))
        self.batch, self.other = [(torch.randn(32, 6), torch.randint(3, (32,))) for _ in range(2)]

    def state(self):
        return [*self.model.state_dict().values(), torch.get_rng_state(),
                *(p.grad for p in self.model.parameters() if p.grad is not None)]

    def test_a_grid_finds_nothing_better(self):
        model, (x, _) = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 3)).double(), self.batch
        batch, other = (x.double(), self.batch[1]), (self.other[0].double(), self.other[1])
        found = ranklab.probe(model, loss, batch, other, dtype=torch.float64)
        weights = dict(model.named_parameters())
        loss(model, batch).backward()
        for name, values in found["matrices"].items():
            w, g = weights[name], weights[name].grad
            u, _, vh = torch.linalg.svd(g, full_matrices=False)
            for direction, d in {"gradient": g, "polar": u @ vh, "sign": g.sign()}.items():
                own, start, best = values[direction], w.detach().clone(), 0.0
                with torch.no_grad():
                    for i in range(-120, 121):
                        w.copy_(start - own["length"] * 2 ** (i / 30) * d)
                        best = max(best, found["loss"] - float(loss(model, batch)))
                    w.copy_(start - own["length"] * d)
                    self.assertAlmostEqual(float(loss(model, batch)), found["loss"] - own["decrease"], places=12)
                    self.assertAlmostEqual(float(loss(model, other)), found["loss_other"] - own["decrease_other"], places=12)
                    w.copy_(start)
                self.assertGreater(own["decrease"], 0.99 * best, (name, direction))

    def test_a_far_better_minimum_is_found(self):
        class Wells(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(1, 1))

        def two_wells(model, batch):  # at w = 0.95 and, deeper, at w = -1
            w = (batch @ model.w).sum()
            return -0.1 * (-((w - 0.95) / 0.02) ** 2).exp() - (-((w + 1) / 0.3) ** 2).exp()

        found = ranklab.probe(Wells(), two_wells, torch.ones(1, 1), torch.ones(1, 1))
        self.assertAlmostEqual(found["matrices"]["w"]["polar"]["length"], 2, places=1)
        self.assertGreater(found["matrices"]["w"]["polar"]["decrease"], 0.99)

    def test_everything_is_restored(self):
        optimizer = torch.optim.Adam(self.model.parameters(), 1e-2)
        loss(self.model, self.batch).backward()
        optimizer.step()
        before = [t.clone() for t in self.state()]
        kept = {p: {k: v.clone() for k, v in s.items() if torch.is_tensor(v)} for p, s in optimizer.state.items()}
        found = ranklab.probe(self.model, loss, self.batch, self.other, optimizer)
        self.assertEqual(set(found["matrices"]["3.weight"]), {"gradient", "polar", "newton_schulz", "sign", "optimizer"})
        self.assertEqual(found["hidden"], found["matrices"]["3.weight"])
        for number in 5, 40, 90:  # an exception in the middle
            calls = []

            def broken(model, batch):
                calls.append(1)
                if len(calls) == number:
                    raise KeyError("on purpose")
                return loss(model, batch)

            with self.assertRaises(KeyError):
                ranklab.probe(self.model, broken, self.batch, self.other, optimizer)
            for a, b in zip(self.state(), before):
                self.assertTrue(torch.equal(a, b))
            for p, state in kept.items():
                for key, value in state.items():
                    self.assertTrue(torch.equal(optimizer.state[p][key], value))

    def test_wrong_arguments(self):
        model, x = nn.Linear(3, 3), torch.randn(2, 3)
        def fails(error, text, model=model, loss=lambda m, x: m(x).sum(), **more):
            with self.assertRaisesRegex(error, "^probe\\(\\): " + text):
                ranklab.probe(model, loss, x, x, **more)
        fails(TypeError, "model must be a torch.nn.Module", model={})
        fails(ValueError, "include\\(\\) is true for no name, such as weight", include=lambda name: False)
        fails(TypeError, "loss\\(model, batch\\) must return a scalar", loss=lambda m, x: m(x))
        fails(TypeError, "loss\\(model, batch\\) must return a scalar", loss=lambda m, x: float(m(x).sum()))
        fails(TypeError, "loss\\(model, batch\\) must return a scalar tensor with a gradient", loss=lambda m, x: m(x).sum().detach())
        fails(TypeError, "needs an optimizer of torch.optim", optimizer="adam")
        fails(ValueError, "the optimizer has no parameter of this model", optimizer=torch.optim.SGD(nn.Linear(3, 3).parameters(), 1))
        fails(ValueError, "the loss is not finite", loss=lambda m, x: m(x).sum() / 0)
        fails(ValueError, "no matrix of the model requires a gradient", model=nn.Linear(3, 3).requires_grad_(False))

    def test_the_residual_of_newton_schulz(self):
        g = torch.linalg.qr(torch.randn(9, 9).double())[0]
        self.assertLess(float((ranklab.newton_schulz(g, (1.5, -0.5, 0), 40, torch.float64) - g).norm()), 1e-6)


if __name__ == "__main__":
    unittest.main()
