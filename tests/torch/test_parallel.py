"""Data-parallel training: each rank records its own share, and `ranklab advise` joins the shares."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.distributed
import torch.nn.functional as F
from torch import nn

from test_dump import ROOT, program, read

RANKS = 2


def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5)).double()


def batch():
    torch.manual_seed(4)
    return torch.randn(16, 6, dtype=torch.float64), torch.randint(5, (16,))


def train(rank, port, folder):
    """One step of rank `rank`; called in a process of its own."""
    import ranklab_dump
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    parallel = nn.parallel.DistributedDataParallel(model())
    inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
    with ranklab_dump.record(parallel.module, os.path.join(folder, "step1")):
        half = len(inputs) // 2
        with parallel.no_sync():  # gradient accumulation
            (F.cross_entropy(parallel(inputs[:half]), labels[:half]) / 2).backward()
        (F.cross_entropy(parallel(inputs[half:]), labels[half:]) / 2).backward()
    parallel.zero_grad()
    with ranklab_dump.record(parallel.module, os.path.join(folder, "other", "step1")):
        loss = F.cross_entropy(parallel(inputs), labels)
        (loss + parallel.module[0].weight.square().sum()).backward()
    torch.distributed.destroy_process_group()


@unittest.skipUnless(torch.distributed.is_available() and torch.distributed.is_gloo_available()
                     if hasattr(torch.distributed, "is_gloo_available") else torch.distributed.is_available(), "no gloo")
class ParallelTest(unittest.TestCase):
    def test_two_ranks(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        dump = folder.name
        os.mkdir(os.path.join(dump, "other"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        path = os.pathsep.join([os.path.join(ROOT, "experiments"), os.path.join(ROOT, "tests", "torch")])
        processes = [subprocess.Popen([sys.executable, "-c", f"import test_parallel; test_parallel.train({rank}, {port}, {dump!r})"],
                                      env=dict(os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1")) for rank in range(RANKS)]
        self.assertEqual([process.wait(timeout=120) for process in processes], [0] * RANKS)
        shares = []
        for rank in range(RANKS):
            share = os.path.join(dump, f"step1.rank{rank}of{RANKS}")
            with open(os.path.join(share, "recording.json"), encoding="utf-8") as file:
                recording = json.load(file)
            self.assertEqual((recording["rank"], recording["ranks"]), (rank, RANKS))
            shares.append({layer["name"]: read(os.path.join(share, layer["file"])) for layer in recording["layers"]})
        # The whole batch in one process.
        whole, (inputs, labels) = model(), batch()
        F.cross_entropy(whole(inputs), labels).backward()
        hidden = torch.relu(whole[0](inputs)).detach()
        for name, activation, layer in (("0", inputs, whole[0]), ("2", hidden, whole[2])):
            moment = sum(share[name]["second_moment"] for share in shares)
            gradient = sum(share[name]["gradient"] for share in shares) / RANKS
            torch.testing.assert_close(moment, activation.t() @ activation)
            torch.testing.assert_close(gradient, layer.weight.grad)
        document = self.advise(dump)
        for name, activation, layer in (("0", inputs, whole[0]), ("2", hidden, whole[2])):
            a, g = torch.linalg.svdvals(activation), torch.linalg.svdvals(layer.weight.grad)
            ratio = (g.sum() / g.norm()) ** 2 / ((a.norm() / a[0]) ** 2)
            self.assertAlmostEqual(document["scalars"][f"{name}.ratio"]["mean"], float(ratio), places=9)
        # A regularizer changes the gradient of the first layer.
        document = self.advise(os.path.join(dump, "other"))
        self.assertIn("a regularizer or another use", {one["name"]: one["reason"] for one in document["skipped"]}["0"])
        self.assertIn("2.ratio", document["scalars"])

    def advise(self, folder):
        out = os.path.join(folder, "out.json")
        program(["--from", folder, "--out", out, "--quiet"])
        with open(out, encoding="utf-8") as file:
            return json.load(file)


if __name__ == "__main__":
    unittest.main()
