"""The same on a CUDA device, and with what newer PyTorch has; skipped elsewhere."""
import os
import sys
import time
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kinds  # noqa: E402
import ranklab  # noqa: E402


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.n1(x)).chunk(3, -1))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary, width, depth, heads):
        super().__init__()
        self.table, self.norm = nn.Embedding(vocabulary, width), nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def language_loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].flatten())


@unittest.skipUnless(torch.cuda.is_available() and hasattr(torch, "set_default_device"), "without a CUDA device")
class CudaTest(unittest.TestCase):
    def setUp(self):  # the activations that the tests compare with are those of full float32
        for backend in torch.backends.cudnn, torch.backends.cuda.matmul:
            self.addCleanup(setattr, backend, "allow_tf32", backend.allow_tf32)
            backend.allow_tf32 = False

    def test_kinds(self):
        for kind, (builder, _) in kinds.KINDS.items():
            with self.subTest(kind), torch.device("cuda"):
                torch.manual_seed(3)
                model, loss, *more = builder()
                model.cuda()
                expected = kinds.raw(model, loss, more[0] if more else None)
                model.zero_grad()
                watcher = ranklab.watch(model, every=9)
                loss().backward()
                found = watcher.step()
                names = set(expected) & set(found)
                self.assertTrue(names, watcher.not_judged)
                for name in names:
                    values = found[name]["stable_rank"], found[name]["nuclear_rank"]
                    for value, wanted in zip(values, kinds.ranks(*expected[name])):
                        self.assertLess(abs(value / wanted - 1), kinds.TOLERANCES.get(kind, 1e-4), (name, value, wanted))

    def test_no_synchronization(self):
        model, x = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8)).cuda(), torch.randn(512, 64).cuda()
        watcher = ranklab.watch(model, every=2)
        self.addCleanup(watcher.close)
        for step in range(4):
            torch.cuda.set_sync_debug_mode("error")
            try:
                model(x).square().mean().backward()
            finally:
                torch.cuda.set_sync_debug_mode("default")
            self.assertEqual(watcher.step() is not None, step % 2 == 0)
        self.assertEqual(watcher.not_judged, {})

    def test_time(self):
        model, ids = GPT(8192, 768, 6, 12).cuda(), torch.randint(8192, (16, 1025)).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

        def step(watcher):
            torch.cuda.synchronize()
            start = time.perf_counter()
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                loss = language_loss(model, ids)
            loss.backward()
            optimizer.step()
            found = watcher.step() if watcher else None
            torch.cuda.synchronize()
            return time.perf_counter() - start, found

        watcher = ranklab.watch(model, every=1)
        for _ in range(2):
            step(watcher)
        watched = sorted(step(watcher)[0] for _ in range(5))[2]
        self.assertEqual(watcher.not_judged, {})
        watcher.close()
        plain = sorted(step(None)[0] for _ in range(10))[5]
        idle = ranklab.watch(model, every=10 ** 6)
        step(idle)
        other = sorted(step(idle)[0] for _ in range(10))[5]
        print(f"\nGPT on {torch.cuda.get_device_name()}: {1e3 * plain:.1f} ms per step, with watch {1e3 * watched:.1f} ms "
              f"where it measures, {1e3 * other:.1f} ms elsewhere")
        self.assertLess(other / plain, 1.2)

    def test_probe_restores(self):
        model, ids = GPT(64, 64, 2, 4).cuda(), torch.randint(64, (2, 8, 33)).cuda()
        before = [p.detach().clone() for p in model.parameters()]
        found = ranklab.probe(model, language_loss, ids[0], ids[1])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, model.parameters())))
        self.assertGreater(found["hidden"]["polar"]["decrease"], 0)


@unittest.skipUnless(hasattr(getattr(torch, "compiler", None), "set_stance"), "before PyTorch 2.6")
class NewTest(unittest.TestCase):
    def test_torch_compile(self):
        """Compiled code runs uncompiled in a measured step, and compiled before and after it."""
        runs = []

        def backend(graph, _):
            return lambda *args: runs.append(1) or graph(*args)

        torch.manual_seed(0)
        plain, x = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)), torch.randn(20, 5)
        loss = lambda model: model(x).square().sum()
        watcher = ranklab.watch(plain)
        loss(plain).backward()
        expected = watcher.step()
        watcher.close()
        compiled = torch.compile(plain, backend=backend)
        loss(compiled).backward()
        self.assertTrue(runs)
        watcher = ranklab.watch(compiled, every=2)
        runs.clear()
        loss(compiled).backward()
        self.assertFalse(runs)
        found = watcher.step()
        loss(compiled).backward()
        self.assertTrue(runs)
        watcher.close()
        self.assertEqual(set(found), set(expected))
        self.assertAlmostEqual(found["0"]["ratio"], expected["0"]["ratio"], places=4)
        self.assertEqual(ranklab.groups(compiled, lambda compiled: loss(compiled)).roles["2.weight"], "head")

    @unittest.skipUnless(hasattr(torch.optim, "Muon"), "before PyTorch 2.9")
    def test_torch_optim_muon(self):
        model, ids = GPT(32, 16, 2, 2), torch.randint(32, (2, 4, 9))
        found = ranklab.groups(model, lambda model: language_loss(model, ids[0]))
        optimizers = [torch.optim.Muon(found.muon, lr=0.01), torch.optim.AdamW(found.other, lr=0.01)]
        self.assertEqual(ranklab.check_groups(optimizers, model), [])
        with ranklab.watch(model, every=1) as watcher:
            for _ in range(2):
                language_loss(model, ids[0]).backward()
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
                measured = watcher.step()
        self.assertEqual((len(measured), watcher.not_judged), (10, {}))
        values = ranklab.probe(model, language_loss, ids[0], ids[1], optimizers)
        self.assertIn("decrease_given", values["hidden"]["optimizer"])
        with mock.patch.object(found, "muon", [*found.muon, model.head.weight]):
            wrong = ranklab.check_groups([torch.optim.Muon(found.muon), optimizers[1]], model)
        self.assertEqual(len(wrong), 2)


if __name__ == "__main__":
    unittest.main()
