"""What the recorder costs: CPU time of a training step of a PyTorch model, with and without it.

    recorder.py plain|record|watch [--steps 20] [--width 256] [--batch 8] [--linear]

`record` records every step and writes its files, which are then deleted: new memory for files costs
a virtual machine more than the recorder. `watch` measures every tenth step, without files.
The model is a Transformer of 4 blocks on sequences of 128 tokens, with AdamW. With --linear its
blocks have no attention, norm or skip: two linear layers and a GELU. One step comes before the first that is timed.
"""
import argparse
import os
import sys
import tempfile

from peer import Clock, report
import torch
import torch.nn.functional as F
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))
import ranklab

torch.set_num_threads(1)
TOKENS, VOCABULARY = 128, 512


class Transformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True,
                                       norm_first=True) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)
        self.future = torch.full((TOKENS, TOKENS), float("-inf")).triu(1)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.future)
        return self.head(self.norm(x))


def linear_layers(width):
    blocks = [[nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)]
              for _ in range(4)]
    return nn.Sequential(nn.Embedding(VOCABULARY, width), *sum(blocks, []),
                         nn.Linear(width, VOCABULARY))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["plain", "record", "watch"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--linear", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = (linear_layers if options.linear else Transformer)(options.width)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    clock, losses = Clock(), []

    def step(ids):
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        losses.append(loss.item())

    with tempfile.TemporaryDirectory() as folder:
        watcher = ranklab.watch(model, every=10) if options.mode == "watch" else None
        for t in range(options.steps + 1):
            if t == 1:
                clock = Clock()
            ids = torch.randint(VOCABULARY, (options.batch, TOKENS + 1))
            with clock:
                if options.mode == "record":
                    with ranklab.record(model, os.path.join(folder, "step.safetensors")):
                        step(ids)
                else:
                    step(ids)
                if watcher:
                    watcher.step()
                optimizer.step()
                optimizer.zero_grad()
    report(clock.seconds / options.steps, {}, {"loss": losses})


if __name__ == "__main__":
    main()
