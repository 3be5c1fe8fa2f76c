"""Example of experiments/README.md: trains a character-level language model of four Transformer blocks and records it.

    PYTHONPATH=experiments python3 tests/torch/language_model.py TEXT DIR [STEPS]
"""
import sys

import ranklab_dump
import torch
import torch.nn.functional as F
from torch import nn

TEXT, DIR, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1000
BATCH, CONTEXT, WIDTH = 16, 64, 64


class Model(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.embedding, self.places = nn.Embedding(characters, WIDTH), nn.Parameter(0.02 * torch.randn(CONTEXT, WIDTH))
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
                                    for _ in range(4))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)

    def forward(self, ids):
        mask = torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1)
        x = self.embedding(ids) + self.places
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


torch.manual_seed(0)
with open(TEXT, encoding="utf-8") as file:
    text = file.read()
characters = sorted(set(text))
data = torch.tensor([characters.index(c) for c in text])
model = Model(len(characters))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)


def loss():
    starts = torch.randint(len(data) - CONTEXT, (BATCH,)).tolist()
    batch = torch.stack([data[i:i + CONTEXT + 1] for i in starts])
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


for step in range(STEPS + 1):
    if step % (STEPS // 20) == 0:
        with ranklab_dump.record(model, f"{DIR}/step{step}"):
            value = loss()
            value.backward()
        print(f"step {step}: {value.item():.3f}", flush=True)
    else:
        loss().backward()
    optimizer.step()
    optimizer.zero_grad()
