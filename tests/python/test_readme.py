"""The first Python lines of the README run as printed."""
import contextlib
import io
import os
import re
import tempfile
import unittest

import torch
from torch import nn

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


if __name__ == "__main__":
    unittest.main()
