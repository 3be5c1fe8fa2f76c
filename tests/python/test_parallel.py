"""Two processes: sums over the ranks of torch.distributed, with DDP and, where it exists, FSDP2."""
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

import ranklab

RANKS = 2
HERE = os.path.abspath(__file__)


def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5)).double()


def batch():
    torch.manual_seed(4)
    return torch.randn(16, 6, dtype=torch.float64), torch.randint(5, (16,))


def measured(net, forward, rank):
    inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
    watcher = ranklab.watch(net)
    F.cross_entropy(forward(inputs), labels).backward()
    found = watcher.step()
    watcher.close()
    return {"found": found, "not_judged": watcher.not_judged}


def run(rank, port, path):
    os.environ["USE_LIBUV"] = "0"  # PyTorch 2.6 of Debian 13 lacks it
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    out = {}
    parallel = nn.parallel.DistributedDataParallel(model())
    out["ddp"] = measured(parallel.module, parallel, rank)
    out["wrapper"] = measured(parallel, parallel, rank)
    net = nn.ModuleList([nn.Linear(6, 5, bias=False), nn.Linear(6, 5, bias=False)]).double()
    out["expert"] = measured(net, lambda x: net[0](x) + (net[1](x) if rank else 0), rank)
    if rank == 1:  # an error on one rank stops none of them
        ranklab.measured.judge = None
    out["broken"] = measured(parallel.module, parallel, rank)
    if rank == 1:
        ranklab.measured.judge = ranklab.reasons.judge
    if fsdp2():
        from torch.distributed.device_mesh import init_device_mesh
        sharded, mesh = model(), init_device_mesh("cpu", (RANKS,))
        for part in (sharded[0], sharded[2], sharded):
            fsdp2()(part, mesh=mesh)
        inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
        try:
            F.cross_entropy(sharded(inputs), labels).backward()
            sharded.zero_grad()
            out["fsdp2"] = measured(sharded, sharded, rank)
        except AttributeError as error:  # PyTorch 2.6 shards on a GPU alone
            out["fsdp2"] = str(error)
    with open(f"{path}{rank}", "w", encoding="utf-8") as file:
        json.dump(out, file)
    # No clean end: in PyTorch 1.13 the destructor of the group, which holds the lock of Python, may
    # wait for a thread of gloo that waits for this lock.
    torch.distributed.barrier()
    os._exit(0)


def fsdp2():
    try:
        from torch.distributed.fsdp import fully_shard
    except (ImportError, ValueError):  # ValueError: PyTorch 1.13 with Python 3.11
        return None
    return fully_shard


@unittest.skipUnless(torch.distributed.is_available() and torch.distributed.is_gloo_available()
                     if hasattr(torch.distributed, "is_gloo_available") else torch.distributed.is_available(),
                     "without torch.distributed and gloo")
class ParallelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
            free.bind(("127.0.0.1", 0))
            port, path = free.getsockname()[1], os.path.join(folder, "rank")
            free.close()
            processes = [subprocess.Popen([sys.executable, HERE, str(rank), str(port), path], stderr=subprocess.PIPE, text=True)
                         for rank in range(RANKS)]
            try:
                for process in processes:
                    _, said = process.communicate(timeout=120)
                    assert process.returncode == 0, said
            finally:
                for process in processes:
                    process.kill()
            cls.ranks = []
            for rank in range(RANKS):
                with open(f"{path}{rank}", encoding="utf-8") as file:
                    cls.ranks.append(json.load(file))
        net = model()
        watcher = ranklab.watch(net)
        F.cross_entropy(net(batch()[0]), batch()[1]).backward()
        cls.whole = watcher.step()
        watcher.close()

    def check(self, kind):
        for rank in self.ranks:
            self.assertEqual(rank[kind]["not_judged"], {})
            self.assertEqual(len(rank[kind]["found"]), 2)
            for name, values in rank[kind]["found"].items():
                for key in ("stable_rank", "nuclear_rank", "samples", "gradient_rms"):
                    self.assertAlmostEqual(values[key], self.whole[name.replace("module.", "")][key], places=10)

    def test_ddp(self):
        self.check("ddp")
        self.check("wrapper")

    @unittest.skipUnless(fsdp2(), "before PyTorch 2.6")
    def test_fsdp2(self):
        if isinstance(self.ranks[0]["fsdp2"], str):
            self.skipTest(f"this PyTorch cannot shard on a CPU: {self.ranks[0]['fsdp2']}")
        self.check("fsdp2")

    def test_an_expert_with_tokens_on_one_rank(self):
        self.assertEqual(self.ranks[0]["expert"]["found"]["0"]["samples"], 16)
        self.assertEqual(self.ranks[1]["expert"]["found"]["1"]["samples"], 8)

    def test_an_error_on_one_rank(self):
        for rank in self.ranks:
            self.assertFalse(rank["broken"]["found"])
            self.assertIn("NoneType", " ".join(rank["broken"]["not_judged"].values()))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        run(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        unittest.main()
