"""Training steps and weights as people write them: right, or a reason, and never another step than without ranklab."""
import itertools
import os
import sys
import tempfile
import threading
import unittest

import torch
import torch.nn.functional as F
import torch.nn.utils.parametrizations as parametrizations
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds  # noqa: E402
import ranklab  # noqa: E402


def nuclear_rank(matrix):
    s = torch.linalg.svdvals(matrix.detach().double())
    return float(s.sum() ** 2 / s.square().sum())


def stable_rank(samples):
    s = torch.linalg.svdvals(samples.detach().double())
    return float(s.square().sum() / s[0] ** 2)


def modes():
    return len(torch.overrides._get_current_function_mode_stack())


class StepsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 5))
        self.x = torch.randn(64, 12)

    def backward(self, model=None, x=None):
        (self.model if model is None else model)(self.x if x is None else x).float().square().mean().backward()

    def test_validation_under_inference_mode(self):
        for name, layer in {"plain": lambda: nn.Linear(12, 5), "spectral": lambda: parametrizations.spectral_norm(nn.Linear(12, 5)),
                            "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(12, 5)),
                            "old": lambda: nn.utils.weight_norm(nn.Linear(12, 5))}.items():
            with self.subTest(name):
                model = nn.Sequential(layer())
                watcher = ranklab.watch(model, every=1)
                with torch.inference_mode():
                    model(self.x)
                self.backward(model)
                self.assertEqual(set(watcher.step()), {"0"})
                watcher.close()

    def test_a_trace_inside_a_step(self):
        with ranklab.watch(self.model, every=1) as watcher:
            traced = torch.jit.trace(self.model, self.x)  # runs the model twice and compares both
            self.backward()
            self.assertEqual(set(watcher.step()), {"0", "2", "4"})
            self.backward(traced)
            self.assertFalse(watcher.step())
            self.assertIn("TorchScript", watcher.not_judged["2"])

    def test_optimizers_that_change_p_grad(self):
        changes = {"sign": lambda p: p.sub_(0.01 * p.grad.sign_()), "zero": lambda p: (p.sub_(p.grad), p.grad.zero_()),
                   "decay": lambda p: p.sub_(0.1 * p.grad.add_(p, alpha=5)), "noise by data": lambda p: p.data.sub_(0.01 * p.grad.normal_()),
                   "new data": lambda p: setattr(p, "data", p.data - 0.01 * p.grad.sign_())}
        for name, change in changes.items():
            with self.subTest(name), ranklab.watch(self.model, every=1) as watcher:
                for _ in range(3):
                    self.model.zero_grad()
                    self.backward(x=torch.randn(64, 12))
                    expected = nuclear_rank(self.model[2].weight.grad)
                    with torch.no_grad():
                        for p in self.model.parameters():
                            change(p)
                    self.assertAlmostEqual(watcher.step()["2"]["nuclear_rank"] / expected, 1, places=5)

    def test_a_model_that_changes_after_watch(self):
        for name, change in {"cast": lambda m: m.double(), "bfloat16": lambda m: m.bfloat16(), "data": lambda m: setattr(m[0].weight, "data", torch.randn(32, 12)),
                             "a new parameter": lambda m: setattr(m[0], "weight", nn.Parameter(torch.randn(32, 12))),
                             "a new layer": lambda m: m.__setitem__(0, nn.Linear(12, 32))}.items():
            with self.subTest(name):
                self.setUp()
                watcher = ranklab.watch(self.model, every=1)
                change(self.model)
                self.backward(x=self.x.to(self.model[0].weight.dtype))
                found = watcher.step()
                watcher.close()
                self.assertEqual(watcher.not_judged, {})
                self.assertAlmostEqual(found["0"]["nuclear_rank"] / nuclear_rank(self.model[0].weight.grad), 1, places=2 if name == "bfloat16" else 4)

    def test_another_thread(self):
        def elsewhere(function):
            thread = threading.Thread(target=function)
            thread.start()
            thread.join()

        before = modes()
        watcher, found = ranklab.watch(self.model, every=1), []
        self.backward()
        elsewhere(lambda: found.append(watcher.step()))
        self.assertEqual(set(found[0]), {"0", "2", "4"})
        self.model.zero_grad()
        self.backward()
        elsewhere(watcher.close)
        self.model(self.x)  # takes the mode of this thread off
        self.assertEqual((modes(), sum(len(m._forward_pre_hooks) for m in self.model.modules())), (before, 0))

    @torch.backends.mkldnn.flags(enabled=False)  # PyTorch 2 runs nn.LSTM in oneDNN, which rounds otherwise
    def test_recurrent_layers_keep_their_bits(self):
        for kind in nn.LSTM, nn.GRU, nn.RNN:
            for packed, rounded in ((False, False), (True, False), (False, True), (True, True)):
                torch.manual_seed(1)
                model, x = kind(8, 6, num_layers=2, bidirectional=True, batch_first=True), torch.randn(5, 7, 8)

                def step():
                    model.zero_grad()
                    with torch.autocast("cpu", torch.bfloat16, enabled=rounded):
                        out = model(pack_padded_sequence(x, [7, 7, 4, 2, 1], batch_first=True) if packed else x)[0]
                    out = out.data if packed else out
                    out.float().exp().sum().backward()
                    return [out.detach().clone(), *(p.grad.clone() for p in model.parameters())]

                plain = step()
                with ranklab.watch(model, every=1) as watcher:
                    watched = step()
                    self.assertEqual(len(watcher.step()), 8)
                self.assertTrue(all(map(torch.equal, plain, watched)), (kind, packed, rounded))

    def test_recurrent_layers_keep_their_type(self):
        """oneDNN returns bfloat16 under autocast, and PyTorch's own loop does not."""
        for fused, model in itertools.product((True, False), (nn.LSTM(8, 6), nn.GRU(8, 6), nn.LSTMCell(8, 6))):
            x = torch.randn((5, 8) if isinstance(model, nn.LSTMCell) else (7, 5, 8))
            with self.subTest(model=model, oneDNN=fused), torch.backends.mkldnn.flags(enabled=fused), torch.autocast("cpu", torch.bfloat16):
                try:
                    plain = model(x)
                except RuntimeError as error:  # not every processor has an LSTM of oneDNN in bfloat16
                    if "primitive descriptor" not in str(error):
                        raise
                    self.skipTest(f"PyTorch does not run it on this processor: {error}")
                with ranklab.watch(model, every=1):
                    watched = model(x)
                flat = lambda out: [t.dtype for t in (out[0], *(out[1] if isinstance(out[1], tuple) else out[1:]))]
                self.assertEqual(flat(watched), flat(plain))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path, victim = os.path.join(folder, "step1.safetensors"), os.path.join(folder, "victim")
            for name in victim, path + ".partial":
                with open(name, "w", encoding="utf-8") as file:
                    file.write("mine")
            os.symlink(victim, path)
            with ranklab.record(self.model, path):
                self.backward()
            self.assertFalse(os.path.islink(path))
            for name in victim, path + ".partial":
                with open(name, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine")
            self.assertEqual(sorted(os.listdir(folder)), ["step1.safetensors", "step1.safetensors.partial", "victim"])
            start = os.getcwd()
            self.addCleanup(os.chdir, start)
            os.chdir(folder)
            with ranklab.record(self.model, "here.safetensors"):
                self.backward()
                os.chdir(start)
            self.assertIn("here.safetensors", os.listdir(folder))


class Net(nn.Module):
    """The matrix w in a given use, with fc and out behind it."""

    def __init__(self, use, *shape):
        super().__init__()
        self.use, self.w, self.fc, self.out = use, nn.Parameter(torch.randn(shape) / 4), nn.Linear(16, 16), nn.Linear(16, 5)
        self.gain, self.scale = nn.Parameter(torch.ones(16, 1)), nn.Parameter(torch.tensor(0.7))
        self.register_buffer("mask", (torch.arange(192).view(16, 12) % 3 > 0).float())

    def forward(self, x):
        return self.out(self.fc(self.use(self, x)).tanh())


def linear(weight):
    return lambda m, x: F.linear(x, weight(m))


# kind -> (use, shape of w, whether w is measured)
USES = {
    "scaled": (linear(lambda m: m.scale * m.w), (16, 12), True), "divided": (linear(lambda m: m.w / 3), (16, 12), True),
    "normalized": (linear(lambda m: F.normalize(m.w, dim=1)), (16, 12), False), "masked": (linear(lambda m: m.w * m.mask), (16, 12), False),
    "filled": (linear(lambda m: m.w.masked_fill(m.mask > 0, 0)), (16, 12), False),
    "standardized": (linear(lambda m: (m.w - m.w.mean(1, keepdim=True)) / m.w.std(1, keepdim=True)), (16, 12), False),
    "weight norm by hand": (linear(lambda m: m.gain * m.w / m.w.norm(dim=1, keepdim=True)), (16, 12), False),
    "columns": (lambda m, x: F.linear(x[:, :6], m.w[:, :6]), (16, 12), False), "permuted": (linear(lambda m: m.w[torch.arange(15, -1, -1)]), (16, 12), False),
    "reshaped": (linear(lambda m: m.w.reshape(16, -1)), (16, 2, 6), True), "masked, by matmul": (lambda m, x: x @ (m.w * m.mask).t(), (16, 12), False),
    "inner": (lambda m, x: torch.inner(x, m.w), (16, 12), True), "tensordot": (lambda m, x: torch.tensordot(x, m.w, dims=([1], [1])), (16, 12), False),
    "baddbmm": (lambda m, x: torch.baddbmm(torch.zeros(4, 1, 16), x.view(4, 16, 12), m.w).view(64, 16), (4, 12, 16), True),
    "mv": (lambda m, x: torch.stack([torch.mv(m.w, row) for row in x]), (16, 12), True),
    "addmv": (lambda m, x: torch.stack([torch.addmv(m.fc.bias, m.w, row) for row in x]), (16, 12), True),
    "a product and a sum": (lambda m, x: (x[:, None] * m.w).sum(-1), (16, 12), False),
    "multi_dot": (lambda m, x: torch.linalg.multi_dot([x, m.w, torch.eye(16)]), (12, 16), False),
    "experts by token": (lambda m, x: torch.einsum("nk,nmk->nm", x, m.w[torch.arange(64) % 4]), (4, 16, 12), False),
    "a spectral norm": (linear(lambda m: m.w / (torch.ones(16) @ m.w @ torch.ones(12))), (16, 12), False),
    "einsum": (lambda m, x: torch.einsum("nd,hdk->nhk", x, m.w).flatten(1), (4, 12, 4), False),
}


class UsesTest(unittest.TestCase):
    def test_weights(self):
        torch.manual_seed(2)
        x = torch.randn(64, 12)
        for kind, (use, shape, measured) in USES.items():
            with self.subTest(kind):
                net = Net(use, *shape)
                roles = ranklab.groups(net, lambda m: m(x).square().mean()).roles
                self.assertEqual((roles["w"], roles["fc.weight"], roles["out.weight"]), ("first", "hidden", "head"))
                self.assertEqual(roles["gain"], "vector" if "gain" in use.__code__.co_names or "norm by" in kind else roles["gain"])
                with ranklab.watch(net, every=1) as watcher:
                    net(x).square().mean().backward()
                    found = watcher.step()
                names = [name for name in found if name == "w" or name.startswith("w.")]
                self.assertEqual(bool(names), measured, watcher.not_judged)
                if not measured:
                    self.assertNotIn("before the measurement", watcher.not_judged["w"])
                elif names == ["w"]:
                    self.assertAlmostEqual(found["w"]["nuclear_rank"], nuclear_rank(net.w.grad.reshape(16, 12)), places=4)
                    self.assertAlmostEqual(found["w"]["stable_rank"], stable_rank(x), places=4)

    def test_custom_functions(self):
        x, own = torch.randn(64, 12), lambda m, x: kinds.OwnLinear.apply(x, m.w)
        for kind, use, shape in (("plain", own, (16, 16)), ("cast", lambda m, x: kinds.OwnLinear.apply(x.double(), m.w.double()).float(), (16, 16)),
                                 ("view", lambda m, x: kinds.OwnLinear.apply(x, m.w.view(16, 16)), (16, 4, 4)), ("also decayed", own, (16, 16))):
            model = kinds.Model(lambda m, x: m.out(use(m, m.first(x)).tanh()), first=nn.Linear(12, 16), w=kinds.weight(*shape), out=nn.Linear(16, 5))
            loss = lambda m: m(x).square().mean() + (m.w.square().sum() if kind == "also decayed" else 0)
            with self.subTest(kind), ranklab.watch(model, every=1) as watcher:
                loss(model).backward()
                self.assertEqual(set(watcher.step()), {"first", "out"})
                self.assertEqual(watcher.not_judged, {"w": "used inside a torch.autograd.Function, which is not measured"})
                roles = ranklab.groups(model, loss).roles
                self.assertEqual([roles[name] for name in ("first.weight", "w", "out.weight")], ["first", "hidden", "head"])

    def test_a_fused_head_and_loss(self):
        """It takes the gradients in its forward pass, as the kernels do that never hold all logits."""
        class Loss(torch.autograd.Function):
            @staticmethod
            def forward(context, x, w):
                with torch.enable_grad():
                    x, w = (t.detach().requires_grad_() for t in (x, w))
                    loss = F.cross_entropy(F.linear(x, w), torch.arange(64) % 9)
                    context.gradients = torch.autograd.grad(loss, (x, w))
                return loss.detach()

            @staticmethod
            def backward(context, gradient):
                return tuple(gradient * each for each in context.gradients)

        ids = torch.randint(9, (64,))
        for kind in "head", "tied":
            model = kinds.Model(lambda m, t: Loss.apply(m.a(m.first(m.table(t)).tanh()), m.table.weight if kind == "tied" else m.w),
                                table=nn.Embedding(9, 16), first=nn.Linear(16, 16), a=nn.Linear(16, 16), w=kinds.weight(9, 16))
            with self.subTest(kind), ranklab.watch(model, every=1) as watcher:
                model(ids).backward()
                found = watcher.step()
                self.assertEqual([found[name]["role"] for name in ("first", "a")], ["hidden", "hidden"])
                self.assertIn("autograd.Function", watcher.not_judged["table" if kind == "tied" else "w"])
                groups = ranklab.groups(model, lambda m: m(ids))
                self.assertEqual((groups.roles["table.weight" if kind == "tied" else "w"], groups.muon_names), (kind, ["first.weight", "a.weight"]))

    def test_two_scales_of_rows(self):
        """As the fused q, k, v and o of modded-nanogpt: the samples of W are the scaled ones."""
        net = Net(lambda m, x: F.linear(x, m.scale * m.w[:4]).repeat(1, 4) + F.linear(x, (-3 * m.w[4:])).repeat(1, 2)[:, :16], 12, 12)
        x = torch.randn(64, 12)
        with ranklab.watch(net, every=1) as watcher:
            net(x).square().mean().backward()
            found = watcher.step()
        for name, rows in (("w.rows1-4", slice(0, 4)), ("w.rows5-12", slice(4, 12))):
            self.assertAlmostEqual(found[name]["nuclear_rank"], nuclear_rank(net.w.grad[rows]), places=4)
            self.assertAlmostEqual(found[name]["stable_rank"], stable_rank(x), places=4)

    def roles(self, forward, x, **parts):
        model = kinds.Model(forward, **parts)
        with ranklab.watch(model, every=1) as watcher:
            model(x).square().mean().backward()
            watcher.step()
        self.assertFalse([reason for reason in watcher.not_judged.values() if "before the measurement" in reason])
        return {name: role for name, role in ranklab.groups(model, lambda m: m(x).square().mean()).roles.items() if not name.endswith("bias")}

    def test_tables(self):
        x, table, ids = torch.randn(4, 6, 16), kinds.weight, torch.randint(9, (4, 6))
        layers = lambda: {"fc": nn.Linear(16, 16), "out": nn.Linear(16, 5)}
        end = lambda m, h: m.out(m.fc(h).tanh())
        for kind, forward, data, more in (
                ("positions and a class", lambda m, x: end(m, torch.cat([m.c.expand(4, -1, -1), x], 1) + m.p), x, {"c": table(1, 1, 16), "p": table(1, 7, 16)}),
                ("a query over the batch", lambda m, x: end(m, m.q.expand(4, 6, 16)) + x[..., :5], x, {"q": table(6, 16)}),
                ("a query of attention", lambda m, x: end(m, torch.softmax(m.q.expand(4, -1, -1) @ x.transpose(1, 2), -1) @ x), x, {"q": table(1, 3, 16)}),
                ("repeated", lambda m, x: end(m, m.q.unsqueeze(0).repeat(4, 1, 1)) + x[..., :5], x, {"q": table(6, 16)})):
            with self.subTest(kind):
                self.assertEqual(self.roles(forward, data, **layers(), **more), {**dict.fromkeys(more, "table"), "fc.weight": "first", "out.weight": "head"})
        for kind, forward, more in (
                ("a bag", lambda m, t: end(m, m.e(t)), {"e": nn.EmbeddingBag(9, 16)}), ("indices", lambda m, t: end(m, m.e[t]), {"e": table(9, 16)}),
                ("a codebook", lambda m, t: end(m, F.embedding((m.e(t) @ m.e.weight.t()).argmax(-1), m.e.weight)), {"e": nn.Embedding(9, 16)}),
                ("a scaled table", lambda m, t: end(m, F.embedding(t, 4 * m.e)), {"e": table(9, 16)})):
            with self.subTest(kind):
                roles = self.roles(forward, ids, **layers(), **more)
                self.assertEqual([roles.get("e", roles.get("e.weight")), roles["fc.weight"]], ["embedding", "hidden"])

    def test_behind_detach_and_no_grad(self):
        def without(m, x):
            with torch.no_grad():
                return m.a(x).tanh()

        def into_a_buffer(m, x):
            out = torch.zeros(9, 16)
            out[1:, :] = m.a(x).detach()[1:, :]  # PyTorch 1.13 shows modes no x[1:]
            return out

        x = torch.randn(9, 16)
        for kind, first in {"detach": lambda m, x: m.a(x).tanh().detach(), "data": lambda m, x: m.a(x).data * 2, "no_grad": without,
                            "pieces": lambda m, x: torch.stack(list(m.a(x).detach())), "a buffer": into_a_buffer}.items():
            with self.subTest(kind):
                roles = self.roles(lambda m, x: m.out(m.b(first(m, x)).tanh()), x, a=nn.Linear(16, 16), b=nn.Linear(16, 16), out=nn.Linear(16, 5))
                self.assertEqual(roles["b.weight"], "hidden")


if __name__ == "__main__":
    unittest.main()
