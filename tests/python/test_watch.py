"""watch() against raw activations, on many kinds of models."""
import sys
import os
import time
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds  # noqa: E402
import ranklab  # noqa: E402
from test_steps import nuclear_rank, stable_rank  # noqa: E402


def modes():
    """How many modes see each call: those of ranklab, and for example a default device."""
    return len(torch.overrides._get_current_function_mode_stack())


class KindsTest(unittest.TestCase):
    def run_kind(self, kind, double):
        builder, causes = kinds.KINDS[kind]
        torch.manual_seed(3)
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        try:
            model, loss, *more = builder()
            expected = kinds.raw(model, loss, more[0] if more else None)
            model.zero_grad()
            watcher = ranklab.watch(model, every=9)
            loss().backward()
            found = watcher.step()
        finally:
            torch.set_default_dtype(default)
        return model, causes, expected, found, watcher

    def compare(self, kind, double, tolerance):
        model, causes, expected, found, watcher = self.run_kind(kind, double)
        weights = {name for name, reason in watcher.not_judged.items() if not reason.startswith("a part of")}
        causes = {name for name, cause in causes.items() if cause != "parametrized"}
        strip = lambda name: name[:-len(".weight")] if name.endswith(".weight") else name
        self.assertEqual({strip(n) for n in weights}, {strip(n) for n in causes})
        names = set(expected) & set(found)
        self.assertTrue(names)
        for name in names:
            own = found[name]
            values = own["stable_rank"], own["nuclear_rank"], own["samples"]
            for value, wanted in zip(values, (*kinds.ranks(*expected[name]), len(expected[name][0]))):
                if own["role"] == "tied":  # see test_tied
                    continue
                self.assertLess(abs(value / wanted - 1), tolerance, (name, value, wanted))

    def test_float32(self):
        self.assertGreaterEqual(len(kinds.KINDS), 25)
        for kind in kinds.KINDS:
            with self.subTest(kind):
                self.compare(kind, False, kinds.TOLERANCES.get(kind, 1e-4))

    def test_float64(self):
        for kind in kinds.KINDS:
            if kind not in ("autocast", "cast weight"):
                with self.subTest(kind):
                    self.compare(kind, True, 1e-13)


# name -> (builder, parts, optimizer)
SEVEN = {"MLP": (lambda: kinds.squares(kinds.mlp(), torch.randn(20, 8)), {"0": [4, 8]}, "Adam"),
         "convolutions": (kinds.KINDS["strided Conv2d"][0], {}, "SGD"),
         "LSTM": (kinds.KINDS["LSTM"][0], {"weight_ih_l0": 4, "weight_hh_l0": [10, 10]}, "Adam"),
         "GPT": (kinds.causal_block, {"qkv": 3, "out": ("heads", 2)}, "SGD"),
         "ViT": (kinds.vision_transformer, {"qkv": 3, "out": ("heads", 2)}, "Adam"),
         "tied table": (lambda: kinds.language_model(True), {"body": 2}, "SGD"),
         "adapter and experts": (kinds.adapted_experts, {"b": 2}, "SGD")}


class SevenTest(unittest.TestCase):
    """st, nr, nr of the momentum and the parts are those of singular values in float64, of activations and gradients from hooks on the modules."""

    def expected(self, model, raw, rules, optimizer, before):
        """matrix -> (A', G, momentum, change of the weight) in float64."""
        def momentum(name):
            weights = dict(model.named_parameters())
            parameter = weights.get(name, weights.get(name + ".weight"))
            at = () if parameter is not None else (int(name.split(".")[-1]) - 1,)  # an expert
            parameter = weights[name.rsplit(".", 1)[0]] if at else parameter
            buffer = optimizer.state[parameter].get("momentum_buffer", optimizer.state[parameter].get("exp_avg"))
            change = parameter.detach() - before[id(parameter)]
            return [each[at[0]].t() if at else each.flatten(1) for each in (buffer, change)]

        out = {}
        for name, (a, g) in raw.items():
            rule, (b, c) = rules.get(name), momentum(name)
            if rule is None:
                out[name] = a, g, b, c
            elif isinstance(rule, tuple):
                out.update({f"{name}.{i + 1}": each for i, each in enumerate(zip(*(t.chunk(rule[1], 1) for t in (a, g, b, c))))})
            else:
                sizes = rule if isinstance(rule, list) else len(g) // rule
                out.update({f"{name}.{i + 1}": (a, *each) for i, each in enumerate(zip(g.split(sizes), b.split(sizes), c.split(sizes)))})
        return out

    def compare(self, builder, rules, kind, tolerance):
        torch.manual_seed(4)
        model, loss, *more = builder()
        own = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(own, 1e-3) if kind == "Adam" else torch.optim.SGD(own, 1e-3, momentum=0.9)
        with ranklab.watch(model, every=1, parts=rules, optimizer=optimizer) as watcher:
            for _ in range(3):
                optimizer.zero_grad()
                raw = kinds.raw(model, loss, more[0] if more else None)
                if hasattr(model, "table"):  # its two uses have no one A
                    raw = {"body": raw["body"], "table": (None, model.table.weight.grad)}
                before = {id(p): p.detach().clone() for p in model.parameters()}
                optimizer.step()
                found = watcher.step()
                expected = self.expected(model, raw, rules, optimizer, before)
                self.assertEqual(set(found), set(expected))
                for name, (a, g, b, c) in expected.items():
                    values = found[name]
                    wanted = {"nuclear_rank": nuclear_rank(g), "momentum_nuclear_rank": nuclear_rank(b), "update_rms": float(c.square().mean().sqrt())}
                    wanted.update({} if a is None else {"stable_rank": stable_rank(a), "samples": len(a)})
                    for key, value in wanted.items():
                        self.assertLess(abs(values[key] / value - 1), tolerance, (name, key))

    def test_against_singular_values(self):
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        for dtype, tolerance in ((torch.float32, 2e-5), (torch.float64, 1e-12)):
            torch.set_default_dtype(dtype)
            for name, case in SEVEN.items():
                with self.subTest(name, dtype=dtype):
                    self.compare(*case, tolerance)


class WatchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 3))
        self.x, self.y = torch.randn(40, 5), torch.randint(3, (40,))

    def backward(self):
        F.cross_entropy(self.model(self.x), self.y).backward()

    def test_only_every_third_step_is_watched(self):
        optimizer, watched, found = torch.optim.SGD(self.model.parameters(), 0.1), [], []
        others = modes()
        with ranklab.watch(self.model, every=3) as watcher:
            for _ in range(7):
                watched.append(modes() - others)
                optimizer.zero_grad()
                self.backward()
                optimizer.step()
                found.append(watcher.step())
        self.assertEqual(watched, [1, 0, 0, 1, 0, 0, 1])
        self.assertEqual([each is not None for each in found], [True, False, False] * 2 + [True])
        self.assertEqual((modes(), len(self.model[0].weight._backward_hooks or ())), (others, 0))
        self.assertIsNone(watcher.step())
        self.assertGreater(found[0]["0"]["update_rms"], 0)
        self.assertAlmostEqual(found[0]["0"]["update_rms"], 0.1 * found[0]["0"]["gradient_rms"], places=6)

    def test_the_update_of_a_large_matrix_is_a_mean_over_some_of_its_entries(self):
        layer = nn.Linear(300, 400, bias=False)
        with ranklab.watch(layer, every=1, parts={"*": [100, 300]}) as watcher:
            layer(torch.randn(8, 300)).square().sum().backward()
            with torch.no_grad():
                layer.weight[:100] += 1
                layer.weight[100:] += 2
            found = watcher.step()
        self.assertEqual([round(values["update_rms"], 4) for values in found.values()], [1, 2])

    def test_the_gradient_may_be_cleared_clipped_or_accumulated(self):
        watcher, found = ranklab.watch(self.model, every=1), []
        self.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1e-3)
        self.model.zero_grad()
        found.append(watcher.step())
        for _ in range(2):  # the second one beside an earlier gradient
            self.backward()
            found.append(watcher.step())
        watcher.close()
        for each in found:
            self.assertEqual(set(each), {"0", "2", "4"})
            self.assertAlmostEqual(each["2"]["ratio"], found[0]["2"]["ratio"], places=4)

    def test_errors_never_end_a_step(self):
        parts = ("recording.Recording.__init__", "recording.uses.use",
                 "recording.calls.tensors", "sums.Sums.add", "sums.Sums.samples", "reasons.why_not", "reasons.evidence", "reasons.verdict",
                 "measured.find_roles", "measured.judge", "ranks.nuclear_ranks", "ranks.stable_ranks", "ranks.on_host", "watch.on_host", "reasons.on_host",
                 "weights.Weights.names", "weights.Weights.locate", "recording.Recording.settle",
                 "recording.dense", "watch.layers", "weights.address", "sums.rows")
        others = modes()
        for part in parts:
            with self.subTest(part), mock.patch(f"ranklab.{part}", side_effect=RuntimeError("broken")):
                watcher = ranklab.watch(nn.Sequential(self.model, nn.Linear(2, 2)), every=1)
                self.model.zero_grad()
                self.backward()
                found = watcher.step()
                watcher.close()
            with self.subTest(part):
                self.assertEqual(modes(), others)
                self.assertFalse(found, found)
                self.assertTrue(any("broken" in reason for reason in watcher.not_judged.values()), watcher.not_judged)

    def test_a_watcher_that_is_dropped_ends_its_measurement(self):
        others = modes()
        watcher = ranklab.watch(self.model)
        self.assertEqual(modes(), others + 1)
        del watcher
        self.assertEqual(modes(), others)

    def test_time(self):
        """A step with watch on one thread, in pairs with plain steps."""
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(128, 128), nn.GELU())])
        x = torch.randn(4096, 128)

        def step(watcher):
            start = time.perf_counter()
            model.zero_grad()
            model(x).square().mean().backward()
            if watcher:
                watcher.step()
            return time.perf_counter() - start

        watcher, idle = ranklab.watch(model, every=1), []
        for _ in range(3):
            step(watcher)
        pairs = []
        for _ in range(9):
            watched = step(watcher)
            watcher.close()
            plain = step(None)
            watcher = ranklab.watch(model, every=1)
            pairs.append(watched / plain)
        watcher.close()
        watcher = ranklab.watch(model, every=10 ** 6)
        step(watcher)
        for _ in range(9):
            idle.append(step(watcher) / step(None))
        measured, idle = sorted(pairs)[4], sorted(idle)[4]
        print(f"\na step with watch: {measured:.2f} of a plain one where it measures, {idle:.2f} elsewhere")
        self.assertLess(measured, 2.5)
        self.assertLess(idle, 1.3)


if __name__ == "__main__":
    unittest.main()
