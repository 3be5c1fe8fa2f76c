"""Data-parallel training (DDP, FSDP): each rank records its own share, and `advise` joins them."""
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


class Regularized(nn.Sequential):
    """The forward pass also computes a penalty: FSDP allows a use of weights only there."""

    def forward(self, x):
        self.penalty = self[0].weight.square().sum()
        return super().forward(x)


class WithEinsum(nn.Sequential):
    """One layer is used in a way that is not recorded."""

    def forward(self, x):
        return self[2](torch.relu(torch.einsum("nk,mk->nm", x, self[0].weight)))


def batch():
    torch.manual_seed(4)
    return torch.randn(16, 6, dtype=torch.float64), torch.randint(5, (16,))


def fsdp_works():
    """Whether FSDP runs on a CPU."""
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    return torch.distributed.is_available() and version >= (2, 4)


def sharded(strategy, nested=False, net=None, **options):
    """The model under FSDP."""
    from torch.distributed import fsdp
    options.update(sharding_strategy=fsdp.ShardingStrategy[strategy], device_id=torch.device("cpu"))
    options.setdefault("use_orig_params", True)
    net = net or model()
    if nested:
        net[2] = fsdp.FullyShardedDataParallel(net[2], **options)
    return fsdp.FullyShardedDataParallel(net, **options)


def step(parallel, recorded, folder, rank):
    """One recorded step of two micro-batches."""
    import ranklab_dump
    inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
    with ranklab_dump.record(recorded, folder):
        half = len(inputs) // 2
        with parallel.no_sync():  # gradient accumulation
            (F.cross_entropy(parallel(inputs[:half]), labels[:half]) / 2).backward()
        (F.cross_entropy(parallel(inputs[half:]), labels[half:]) / 2).backward()
    parallel.zero_grad()


def regularized_step(parallel, recorded, folder, rank, penalty):
    import ranklab_dump
    inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
    with ranklab_dump.record(recorded, folder):
        loss = F.cross_entropy(parallel(inputs), labels)
        (loss + penalty()).backward()


def train(rank, folder):
    """The steps of rank `rank` with DDP; called in a process of its own."""
    parallel = nn.parallel.DistributedDataParallel(model())
    step(parallel, parallel.module, os.path.join(folder, "step1"), rank)
    regularized_step(parallel, parallel.module, os.path.join(folder, "other", "step1"), rank,
                     lambda: parallel.module[0].weight.square().sum())


def train_whole(rank, folder):
    """FSDP whose gradients are whole."""
    for name, nested in ("flat", False), ("nested", True):
        parallel = sharded("NO_SHARD", nested)
        step(parallel, parallel, os.path.join(folder, name, "step1"), rank)
    parallel = sharded("NO_SHARD")
    step(parallel, parallel.module, os.path.join(folder, "module", "step1"), rank)
    parallel = sharded("NO_SHARD", net=WithEinsum(*model()))
    step(parallel, parallel, os.path.join(folder, "einsum", "step1"), rank)
    parallel = sharded("NO_SHARD", net=Regularized(*model()))
    regularized_step(parallel, parallel, os.path.join(folder, "other", "step1"), rank,
                     lambda: parallel.module.penalty)


def train_shards(rank, folder):
    """FSDP and tensor parallelism whose gradients are shards, with and without the recorder."""
    import ranklab_dump
    for strategy in "FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD":
        for original in (False, True) if strategy != "NO_SHARD" else (False,):
            parallel, plain = (sharded(strategy, nested=True, use_orig_params=original)
                               for _ in range(2))
            own = os.path.join(folder, f"{strategy}.{original}")
            step(parallel, parallel, os.path.join(own, "step1"), rank)
            if original:
                inner = sharded(strategy)
                step(inner, inner.module, os.path.join(folder, f"{strategy}.module", "step1"), rank)
            inputs, labels = (t.chunk(RANKS)[rank] for t in batch())
            with ranklab_dump.record(parallel, os.path.join(own, "again")):
                F.cross_entropy(parallel(inputs), labels).backward()
            F.cross_entropy(plain(inputs), labels).backward()
            for own, expected in zip(parallel.parameters(), plain.parameters()):
                torch.testing.assert_close(own.grad, expected.grad)
    from torch.distributed.fsdp import MixedPrecision
    converted = sharded("NO_SHARD", mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))
    with ranklab_dump.record(converted, os.path.join(folder, "converted", "step1")):
        converted(batch()[0]).square().sum().backward()
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    net = parallelize_module(model(), init_device_mesh("cpu", (RANKS,)), {"2": ColwiseParallel()})
    with ranklab_dump.record(net, os.path.join(folder, "DTensor", "step1")):
        net(batch()[0]).square().sum().backward()


def run(rank, port, folder, task):
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank,
                                         world_size=RANKS)
    task(rank, folder)
    torch.distributed.destroy_process_group()


@unittest.skipUnless(torch.distributed.is_available() and torch.distributed.is_gloo_available()
                     if hasattr(torch.distributed, "is_gloo_available") else torch.distributed.is_available(), "no gloo")
class ParallelTest(unittest.TestCase):
    def run_ranks(self, task):
        """Runs train(), train_whole() or train_shards() in all ranks; returns its folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        path = [os.path.join(ROOT, "experiments"), os.path.join(ROOT, "tests", "torch")]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path), OMP_NUM_THREADS="1",
                           USE_LIBUV="0", PYTHONWARNINGS="ignore")
        call = f"{port}, {folder.name!r}, t.{task.__name__}"
        processes = [subprocess.Popen(
            [sys.executable, "-c", f"import test_parallel as t; t.run({rank}, {call})"],
            env=environment) for rank in range(RANKS)]
        self.assertEqual([process.wait(timeout=120) for process in processes], [0] * RANKS)
        return folder.name

    def recordings(self, folder, step="step1"):
        """(folder, recording.json) of every rank."""
        for rank in range(RANKS):
            share = os.path.join(folder, f"{step}.rank{rank}of{RANKS}")
            with open(os.path.join(share, "recording.json"), encoding="utf-8") as file:
                recording = json.load(file)
            self.assertEqual((recording["rank"], recording["ranks"]), (rank, RANKS))
            yield share, recording

    def check_sums(self, folder):
        """The shares of the ranks must add up to the whole batch in one process."""
        shares = [{layer["name"]: read(os.path.join(share, layer["file"]))
                   for layer in recording["layers"]}
                  for share, recording in self.recordings(folder)]
        whole, (inputs, labels) = model(), batch()
        F.cross_entropy(whole(inputs), labels).backward()
        hidden = torch.relu(whole[0](inputs)).detach()
        document = self.advise(folder)
        for name, activation, layer in (("0", inputs, whole[0]), ("2", hidden, whole[2])):
            moment = sum(share[name]["second_moment"] for share in shares)
            gradient = sum(share[name]["gradient"] for share in shares) / RANKS
            torch.testing.assert_close(moment, activation.t() @ activation)
            torch.testing.assert_close(gradient, layer.weight.grad)
            a, g = torch.linalg.svdvals(activation), torch.linalg.svdvals(layer.weight.grad)
            ratio = (g.sum() / g.norm()) ** 2 / ((a.norm() / a[0]) ** 2)
            self.assertAlmostEqual(document["scalars"][f"{name}.ratio"]["mean"], float(ratio),
                                   places=9)

    def check_regularizer(self, folder):
        """A regularizer changes the gradient of the first layer."""
        document = self.advise(folder)
        reasons = {one["name"]: one["reason"] for one in document["skipped"]}
        self.assertIn("a regularizer or another use", reasons["0"])
        self.assertIn("2.ratio", document["scalars"])

    def test_two_ranks(self):
        folder = self.run_ranks(train)
        self.check_sums(folder)
        self.check_regularizer(os.path.join(folder, "other"))

    @unittest.skipUnless(fsdp_works(), "FSDP needs a GPU in this version of PyTorch")
    def test_fsdp_with_whole_gradients(self):
        folder = self.run_ranks(train_whole)
        for name in "flat", "nested", "module":
            with self.subTest(name):
                self.check_sums(os.path.join(folder, name))
                for _, recording in self.recordings(os.path.join(folder, name)):
                    self.assertEqual(recording["not_seen"],
                                     {"0.bias": "no matrix", "2.bias": "no matrix"})
        self.check_regularizer(os.path.join(folder, "other"))
        for _, recording in self.recordings(os.path.join(folder, "einsum")):  # only of one layer
            self.assertEqual(recording["causes"]["0.weight"], "einsum")
            self.assertEqual([layer.get("cause") for layer in recording["layers"]], [None])

    @unittest.skipUnless(fsdp_works(), "FSDP needs a GPU in this version of PyTorch")
    def test_shards_are_refused(self):
        folder = self.run_ranks(train_shards)
        flat = {"_flat_param": "sharded", "2._flat_param": "sharded"}
        parts = {"0.weight": "sharded", "2.weight": "sharded",
                 "0.bias": "no-matrix", "2.bias": "no-matrix"}
        unknown = dict.fromkeys(parts, "sharded")  # without the FSDP module no shape is known
        expected = {"NO_SHARD.False": flat}
        for strategy in "FULL_SHARD", "SHARD_GRAD_OP":
            expected.update({f"{strategy}.False": flat, f"{strategy}.True": parts,
                             f"{strategy}.module": unknown})
        for name, causes in expected.items():
            with self.subTest(name):
                for _, recording in self.recordings(os.path.join(folder, name)):
                    self.assertEqual((recording["causes"], recording["layers"]), (causes, []))
                    self.assertIn("NO_SHARD and use_orig_params=True",
                                  [*recording["not_seen"].values()][0])
        for _, recording in self.recordings(os.path.join(folder, "converted")):
            self.assertEqual(recording["layers"], [])
            self.assertEqual(recording["causes"], {
                name: cause.replace("sharded", "mixed-precision") for name, cause in parts.items()})
        for _, recording in self.recordings(os.path.join(folder, "DTensor")):
            self.assertEqual([layer["name"] for layer in recording["layers"]
                              if "reason" not in layer], ["0"])
            self.assertEqual(recording["causes"]["2.weight"], "sharded")

    def advise(self, folder):
        out = os.path.join(folder, "out.json")
        program(["--from", folder, "--out", out, "--quiet"])
        with open(out, encoding="utf-8") as file:
            return json.load(file)


if __name__ == "__main__":
    unittest.main()
