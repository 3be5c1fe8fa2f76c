"""watch() measures ranks and step lengths during training and writes no files."""
from unittest import mock

import torch
import torch.nn.functional as F
from test_dump import RecordingTest, ranklab_dump
from torch import nn
from torch.overrides import TorchFunctionMode

KEYS = ["stable_rank", "nuclear_rank", "ratio", "length", "decrease", "length_gradient", "decrease_gradient"]


def expected(a, g, e):
    """From raw activations a (samples x k), the gradient g and the output gradients e (samples x m)."""
    s, (u, t, vh) = torch.linalg.svdvals(a), torch.linalg.svd(g, full_matrices=False)
    out = {"stable_rank": s.square().sum() / s[0] ** 2, "nuclear_rank": t.sum() ** 2 / t.square().sum()}
    out["ratio"] = out["nuclear_rank"] / out["stable_rank"]
    for end, d in ("", u @ vh), ("_gradient", g):
        slope, curvature = (g * d).sum(), (e @ d @ a.t()).square().sum()
        out["length" + end], out["decrease" + end] = slope / curvature, slope ** 2 / (2 * curvature)
    return {key: float(value) for key, value in out.items()}


class WatchTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 3))
        self.x, self.y = torch.randn(40, 5), torch.randint(3, (40,))

    def backward(self, model=None):
        F.cross_entropy((model or self.model)(self.x), self.y).backward()

    def raw(self):
        """name -> (activations, gradient, output gradients) in float64, from hooks on the modules."""
        model, found, hooks = self.model, {}, []
        for name in ("0", "2", "4"):
            def keep(module, inputs, out, name=name):
                found[name] = [inputs[0].detach()]
                out.register_hook(lambda e: found[name].append(e))
            hooks.append(model[int(name)].register_forward_hook(keep))
        model.zero_grad()
        self.backward()
        for hook in hooks:
            hook.remove()
        return {name: (a.double(), model[int(name)].weight.grad.double(), e.double()) for name, (a, e) in found.items()}

    def compare(self, found, tolerance):
        self.assertEqual(set(found), {"0", "2", "4"})
        for name, (a, g, e) in self.raw().items():
            self.assertEqual(list(found[name]), KEYS)
            for key, value in expected(a, g, e).items():
                self.assertLess(abs(found[name][key] / value - 1), tolerance, (name, key))

    def test_values(self):
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-9)):
            with self.subTest(dtype):
                self.model, self.x = self.model.to(dtype), self.x.to(dtype)
                self.model.zero_grad()
                watcher = ranklab_dump.watch(self.model)
                self.backward()
                found = watcher.step()
                watcher.close()
                self.compare(found, tolerance)
                self.assertEqual(watcher.not_judged, {})

    def test_advise_predicts_the_same_steps(self):
        """The program, from a recording, against raw activations and output gradients."""
        for dtype, tolerance in ((torch.float32, 2e-2), (torch.float64, 1e-9)):  # error moments in bf16, and in float64
            with self.subTest(dtype):
                self.model, self.x = self.model.to(dtype), self.x.to(dtype)
                self.model.zero_grad()
                with ranklab_dump.record(self.model, self.folder, replace=True):
                    self.backward()
                scalars = self.measured()
                for name, raw in self.raw().items():
                    values = expected(*raw)
                    for end, key in (("", "polar"), ("_gradient", "gradient")):
                        for what in ("length", "decrease"):
                            self.assertLess(abs(scalars[f"{name}.{key}.{what}"]["mean"] / values[what + end] - 1), tolerance, (name, key, what))

    def test_the_length_is_the_best_one_for_least_squares(self):
        """With one output and residuals of -1 and 1 the quadratic model is n times that of a sum of squares."""
        model, x = nn.Linear(5, 1, bias=False).double(), torch.randn(40, 5).double()
        target = torch.sign(torch.randn(40, 1)).double() + x.detach() @ model.weight.detach().t()
        watcher = ranklab_dump.watch(model)
        ((model(x) - target).square().sum(1) / 2).sum().backward()
        layer = watcher.step()["weight"]
        watcher.close()
        g = model.weight.grad
        a = x.t() @ x
        best = float((g * g).sum() / (g @ a @ g.t()))
        self.assertAlmostEqual(layer["length_gradient"] * 40, best, places=10)

    def test_only_every_third_step_is_watched(self):
        modes = lambda: len(torch.overrides._get_current_function_mode_stack())
        optimizer, hooks = torch.optim.SGD(self.model.parameters(), 0.1), lambda: len(self.model[0].weight._backward_hooks or ())
        watched, found = [], []
        with ranklab_dump.watch(self.model, every=3) as watcher:
            for step in range(7):
                watched.append(modes())
                optimizer.zero_grad()
                self.backward()
                if step % 2:  # before or after the optimizer's step
                    found.append(watcher.step())
                    optimizer.step()
                else:
                    optimizer.step()
                    found.append(watcher.step())
        self.assertEqual(watched, [1, 0, 0, 1, 0, 0, 1])
        self.assertEqual([each is not None for each in found], [True, False, False] * 2 + [True])
        self.assertEqual((modes(), hooks()), (0, 0))
        self.assertEqual([watcher.step() for _ in range(4)], [None] * 4)  # closed
        self.assertEqual(modes(), 0)
        self.assertEqual(len(found[3]), 3)
        self.assertNotEqual(found[0], found[3])

    def test_the_gradient_may_be_cleared_clipped_or_accumulated(self):
        watcher = ranklab_dump.watch(self.model, every=1)
        self.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1e-3)
        self.model.zero_grad()
        first = watcher.step()
        self.backward()
        second = watcher.step()
        self.backward()  # beside an earlier gradient
        third = watcher.step()
        watcher.close()
        for found in (first, second, third):
            self.compare(found, 1e-4)

    def test_parts_and_layers_without_a_value(self):
        attention = nn.MultiheadAttention(8, 2)
        model = nn.ModuleDict({"table": nn.Embedding(9, 8), "attention": attention, "unused": nn.Linear(3, 3)}).double()
        ids = torch.randint(9, (6, 4))
        watcher = ranklab_dump.watch(model)
        h = model["table"](ids)
        attention(h, h, h)[0].square().sum().backward()
        found = watcher.step()
        watcher.close()
        self.assertEqual(set(found), {"table", "attention.out_proj", *(f"attention.in_proj_weight.{i}" for i in (1, 2, 3))})
        self.assertEqual(list(watcher.not_judged), ["unused.weight"])
        counts = torch.bincount(ids.flatten(), minlength=9)
        self.assertAlmostEqual(found["table"]["stable_rank"], int(counts.sum()) / int(counts.max()))
        self.assertEqual([key for key, value in found["table"].items() if value == value], KEYS[:3])
        self.assertEqual(list(found["table"]), list(found["attention.out_proj"]))
        for part, g in enumerate(attention.in_proj_weight.grad.chunk(3)):
            t = torch.linalg.svdvals(g)
            self.assertAlmostEqual(found[f"attention.in_proj_weight.{part + 1}"]["nuclear_rank"], float(t.sum() ** 2 / t.square().sum()))
        with ranklab_dump.watch(model, include="table*") as watcher:
            model["table"](ids).exp().sum().backward()
            self.assertEqual(list(watcher.step()), ["table"])

    def test_parts_have_their_own_lengths(self):
        model, x, c = nn.Module(), torch.randn(40, 8).double(), torch.randn(40, 24).double()
        model.in_proj_weight = nn.Parameter(torch.randn(24, 8).double())
        watcher, found = ranklab_dump.watch(model), []
        out = F.linear(x, model.in_proj_weight)
        out.register_hook(found.append)
        (out * c).exp().sum().backward()
        measured = watcher.step()
        watcher.close()
        for part, (g, e) in enumerate(zip(model.in_proj_weight.grad.chunk(3), found[0].chunk(3, 1))):
            for key, value in expected(x, g, e).items():
                self.assertAlmostEqual(measured[f"in_proj_weight.{part + 1}"][key] / value, 1, places=8)

    def test_samples_without_an_effect(self):
        watcher, weights = ranklab_dump.watch(self.model), torch.ones(40)
        weights[:20] = 1e-9
        self.x[:20, 0] += 9
        (self.model(self.x).square().sum(1) * weights).sum().backward()
        self.assertNotIn("0", watcher.step())
        rank = lambda x: float(x.square().sum() / torch.linalg.matrix_norm(x, 2) ** 2)
        self.assertIn(f"without them st(A) is {rank(self.x[20:]) / rank(self.x):.3g} times as large", watcher.not_judged["0"])

    def test_errors_never_end_a_step(self):
        parts = ("_Recording.__init__", "_Recording.measure", "_Recording.layers", "_Recording.why_not_seen", "_polar",
                 "_largest_eigenvalue", "_Triangle.full", "_Matrix.add", "_Recording.settle")
        for part in parts:
            with self.subTest(part), mock.patch(f"ranklab_dump.{part}", side_effect=RuntimeError("broken")):
                watcher = ranklab_dump.watch(nn.Sequential(self.model, nn.Linear(2, 2)), every=1)
                self.backward()
                found = watcher.step()
                watcher.close()
                self.assertTrue(any("broken" in reason for reason in watcher.not_judged.values()), watcher.not_judged)
                self.assertEqual(len(torch.overrides._get_current_function_mode_stack()), 0)
                self.assertTrue(part == "_Recording.why_not_seen" or not found)

    def test_an_error_in_one_layer_leaves_the_others(self):
        watcher, polar = ranklab_dump.watch(self.model), ranklab_dump._polar
        self.backward()
        broken = lambda g: polar(g) if len(g) != 6 else 1 / 0
        with mock.patch("ranklab_dump._polar", broken):
            self.assertEqual(set(watcher.step()), {"0", "4"})
        self.assertIn("division by zero", watcher.not_judged["2"])

    def test_other_modes_stay(self):
        class Other(TorchFunctionMode):
            def __torch_function__(self, function, kinds, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        watcher, stack = ranklab_dump.watch(self.model, every=9), torch.overrides._get_current_function_mode_stack
        with Other() as other, Other() as inner:
            self.backward()
            self.assertEqual(len(watcher.step()), 3)
            self.assertEqual(stack(), [other, inner])
        self.assertEqual(stack(), [])

    def test_arguments(self):
        for wrong in {"every": 0}, {"every": 1.5}, {"every": True}, {"samples": True}:
            with self.assertRaises(ValueError):
                ranklab_dump.watch(self.model, **wrong)
        with self.assertRaisesRegex(TypeError, "torch.nn.Module, not dict"):
            ranklab_dump.watch({})
        with self.assertRaisesRegex(TypeError, "torch.nn.Module, not NoneType"):
            with ranklab_dump.record(None, "never-written"):
                pass

    def test_the_largest_eigenvalue(self):
        q = torch.linalg.qr(torch.randn(300, 300).double())[0]
        for values in (torch.ones(300), torch.linspace(0, 1, 300), 1 / torch.arange(1, 301), 1 - 1e-5 * torch.arange(300), torch.eye(300)[0]):
            a = (q * values.double()) @ q.t()
            for matrix, places in (a, 12), (a.float(), 5):
                self.assertAlmostEqual(ranklab_dump._largest_eigenvalue(matrix[0], matrix.__matmul__), 1, places=places)


if __name__ == "__main__":
    import unittest
    unittest.main()
