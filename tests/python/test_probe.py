"""probe() against a brute-force grid, and what it restores."""
import contextlib
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
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 3)).double()
        batch, other = [(x.double(), y) for x, y in (self.batch, self.other)]
        found = ranklab.probe(model, loss, batch, other)
        loss(model, batch).backward()
        self.assertEqual(found["matrices"], ["2.weight", "4.weight"])
        weights = [dict(model.named_parameters())[name] for name in found["matrices"]]
        start = [w.detach().clone() for w in weights]
        factors = []
        for w in weights:
            u, _, vh = torch.linalg.svd(w.grad, full_matrices=False)
            factors.append(u @ vh)
        for direction, along in {"gradient": [w.grad for w in weights], "polar": factors}.items():
            own, best = found["hidden"][direction], 0.0

            @torch.no_grad()
            def at(t, data):
                for w, value, d in zip(weights, start, along):
                    w.copy_(value - t * d)
                return float(loss(model, data))

            for i in range(-120, 121):
                best = max(best, found["loss"] - at(own["length"] * 2 ** (i / 30), batch))
            self.assertAlmostEqual(at(own["length"], batch), found["loss"] - own["decrease"], places=12)
            self.assertAlmostEqual(at(own["length"], other), found["loss_other"] - own["decrease_other"], places=12)
            self.assertGreater(own["decrease"], 0.98 * best, direction)

    def test_everything_is_restored(self):
        optimizer = torch.optim.Adam(self.model.parameters(), 1e-2)
        loss(self.model, self.batch).backward()
        optimizer.step()
        before, calls = [t.clone() for t in self.state()], []
        kept = {p: {k: v.clone() for k, v in s.items() if torch.is_tensor(v)} for p, s in optimizer.state.items()}
        counted = lambda model, batch: calls.append(1) or loss(model, batch)
        found = ranklab.probe(self.model, counted, self.batch, self.other, optimizer)
        self.assertEqual(found["forward_passes"], len(calls))
        self.assertLessEqual(len(calls), 60)
        self.assertEqual((found["matrices"], set(found["hidden"])), (["3.weight"], {"gradient", "polar", "optimizer"}))
        self.assertGreater(found["hidden"]["polar"]["decrease"], 0)
        for number in 3, 5, 20, 50, 0:  # an exception in the middle, and none
            calls = []

            def broken(model, batch):
                calls.append(1)
                if len(calls) == number:
                    raise KeyError("on purpose")
                return loss(model, batch)

            with self.assertRaises(KeyError) if number else contextlib.nullcontext():
                ranklab.probe(self.model, broken, self.batch, self.other, optimizer)
            for a, b in zip(self.state(), before):
                self.assertTrue(torch.equal(a, b))
            for p, state in kept.items():
                for key, value in state.items():
                    self.assertTrue(torch.equal(optimizer.state[p][key], value))

    def test_the_step_of_the_optimizer(self):
        """decrease_given is that of a real step of the hidden matrix alone."""
        model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, 3))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        loss(model, self.other).backward()
        optimizer.step()
        found = ranklab.probe(model, loss, self.batch, self.other, optimizer)
        own, others = found["hidden"]["optimizer"], [p.detach().clone() for p in model.parameters()]
        model.zero_grad()
        loss(model, self.batch).backward()
        optimizer.step()
        with torch.no_grad():
            for (name, p), value in zip(model.named_parameters(), others):
                if name != "2.weight":
                    p.copy_(value)
        self.assertAlmostEqual(float(loss(model, self.batch)), found["loss"] - own["decrease_given"], places=6)
        self.assertAlmostEqual(float(loss(model, self.other)), found["loss_other"] - own["decrease_other_given"], places=6)

    def test_state_outside_of_state_dict(self):
        class Counting(torch.optim.SGD):
            steps = 0

            def step(self, closure=None):
                self.steps += 1
                super().step()

        class Keeping(torch.optim.SGD):
            def __init__(self, parameters):
                super().__init__(parameters, lr=0.1)
                self._buffers = {}

        optimizer = Counting(self.model.parameters(), lr=0.1)
        optimizer.steps = 7
        ranklab.probe(self.model, loss, self.batch, self.other, optimizer)
        self.assertEqual(optimizer.steps, 7)
        for optimizer, text in (Keeping(self.model.parameters()), "Keeping keeps state in its attribute _buffers"), (
                torch.optim.LBFGS(self.model.parameters()), "LBFGS"):
            with self.assertRaisesRegex(ValueError, text):
                ranklab.probe(self.model, loss, self.batch, self.other, optimizer)

    def test_wrong_arguments(self):
        model, x = nn.Sequential(*[nn.Linear(3, 3) for _ in range(3)]), torch.randn(2, 3)

        def fails(error, text, model=model, loss=lambda m, x: m(x).sum(), **more):
            with self.assertRaisesRegex(error, "^probe\\(\\): " + text):
                ranklab.probe(model, loss, x, x, **more)
        fails(TypeError, "model must be a torch.nn.Module", model={})
        fails(TypeError, "loss\\(model, batch\\) must return a scalar", loss=lambda m, x: m(x))
        fails(TypeError, "loss\\(model, batch\\) must return a scalar", loss=lambda m, x: float(m(x).sum()))
        fails(TypeError, "loss\\(model, batch\\) must return a scalar tensor with a gradient", loss=lambda m, x: m(x).sum().detach())
        fails(TypeError, "needs an optimizer of torch.optim", optimizer="adam")
        fails(ValueError, "the optimizer has no parameter of this model", optimizer=torch.optim.SGD(nn.Linear(3, 3).parameters(), 1))
        fails(ValueError, "the loss is not finite", loss=lambda m, x: m(x).sum() / 0)
        fails(ValueError, "no hidden matrix of the model has a gradient", model=nn.Linear(3, 3))

    def test_newton_schulz(self):
        g = torch.linalg.qr(torch.randn(9, 9).double())[0]
        self.assertLess(float((ranklab.newton_schulz(g, (1.5, -0.5, 0), 40, torch.float64) - g).norm()), 1e-6)


if __name__ == "__main__":
    unittest.main()
