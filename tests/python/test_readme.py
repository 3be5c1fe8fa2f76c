"""The first Python lines of the README run as printed."""
import contextlib
import csv
import io
import os
import re
import tempfile
import unittest
from unittest import mock

import torch
from torch import nn

import ranklab

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ReadmeTest(unittest.TestCase):
    def test_the_first_lines_of_your_own_model(self):
        """They use model, optimizer, loss_fn, x and y, define everything else, and print something."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            section = file.read().split("\n## Your own model\n", 1)[1].split("\n## ", 1)[0]
        lines = re.search(r"(?ms)^```python\n(import ranklab$.*?)^```$", section)
        self.assertIsNotNone(lines, 'no block of "Your own model" begins with `import ranklab`')
        torch.manual_seed(0)
        given = {"model": nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)),
                 "loss_fn": nn.CrossEntropyLoss(), "x": torch.randn(64, 8), "y": torch.randint(4, (64,))}
        given["optimizer"] = torch.optim.AdamW(given["model"].parameters())
        out, folder = io.StringIO(), os.getcwd()
        with tempfile.TemporaryDirectory() as there, contextlib.redirect_stdout(out):
            os.chdir(there)
            try:
                exec(compile(lines[1], "README.md", "exec"), given)
            finally:
                os.chdir(folder)
        self.assertIn("2.weight", out.getvalue())  # the one hidden matrix


class PageTest(unittest.TestCase):
    def test_the_lines_of_the_page(self):
        """All blocks of python/README.md, with a Muon that changes p.grad in place as the reference does."""
        class Muon(torch.optim.SGD):
            @torch.no_grad()
            def step(self):
                for p in self.param_groups[0]["params"]:
                    if p.dim() == 2:
                        buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                        buffer.lerp_(p.grad, 0.05)
                        p.sub_(0.02 * ranklab.newton_schulz(p.grad.lerp_(buffer, 0.95)))

        with open(os.path.join(ROOT, "python", "README.md"), encoding="utf-8") as file:
            blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", file.read())
        self.assertEqual(len(blocks), 2)
        torch.manual_seed(0)
        batches = [(torch.randn(64, 8), torch.randint(4, (64,))) for _ in range(101)]
        model, logged, out = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)), mock.Mock(), io.StringIO()
        given = {"model": model, "loss_fn": nn.CrossEntropyLoss(), "x": batches[0][0], "y": batches[0][1], "batches": batches, "batch": batches[0],
                 "other": batches[1], "optimizer": Muon(model.parameters(), 0.1), "wandb": logged, "writer": logged, "csv": csv, "file": io.StringIO()}
        with contextlib.redirect_stdout(out):
            for block in blocks:
                exec(compile(block, "python/README.md", "exec"), given)
        self.assertEqual([call.kwargs["step"] for call in logged.log.call_args_list], [0, 100])
        self.assertIn("2/momentum_nuclear_rank", logged.log.call_args[0][0])
        self.assertEqual(len(given["file"].getvalue().splitlines()), 7)
        self.assertIn("polar", out.getvalue())


if __name__ == "__main__":
    unittest.main()
