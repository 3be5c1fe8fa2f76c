"""The speed of PyTorch, on one thread, with the vision Transformer and language model of `rank-collapse --study train --variant ...`.

    variants.py [--task patches|text] [--variant pre|post|de-escalated] [--layers 24] [--steps 20]

Prints the report of peer.py, with the CPU seconds of a step: the median over the steps after the first
ten. Tokens are random because the time does not depend on them.
Activations have the shape (B, T, d). Width 32, feed-forward net of 64 units with ReLU, 4 heads, no output map (initialization `alg1`).
tau is 1. For patches, the mean over all tokens is removed at the end of the block; for text, the mean over the strict prefix is removed
at the input of the net. Relative positions are shifted as in the code of Transformer-XL.
"""
import argparse
import math

from peer import report
from sequence import Parameters, seconds_per_step, torch
import torch.nn.functional as F

DIM, NET, HEADS = 32, 64, 4


def split_heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Attention:
    def __init__(self, parameters, length, shared):
        self.qkv, self.shared, self.scale = parameters.map(3 * DIM, DIM), shared, 1 / math.sqrt(DIM / HEADS)
        if shared:
            self.relative = parameters.map(DIM, DIM)
            self.future = torch.full((length, length), -math.inf).triu(1)
            frequencies = 10000 ** (-torch.arange(0, DIM, 2) / DIM)
            angles = torch.arange(length - 1, -1, -1.0)[:, None] * frequencies
            self.waves = torch.cat([angles.sin(), angles.cos()], -1)

    def __call__(self, x):
        q, k, v = (split_heads(part) for part in F.linear(x, self.qkv).chunk(3, -1))
        if not self.shared:
            return (torch.matmul(q * self.scale, k.transpose(-1, -2)).softmax(-1) @ v).transpose(1, 2).flatten(2)
        u, w = (bias.view(HEADS, 1, -1) for bias in self.shared)
        lags = split_heads(F.linear(self.waves, self.relative)[None])
        by_lag = torch.matmul(q + w, lags.transpose(-1, -2))
        size = by_lag.shape[-1]
        shifted = F.pad(by_lag, (1, 0)).flatten(2)[..., size:].view(by_lag.shape)
        scores = (torch.matmul(q + u, k.transpose(-1, -2)) + shifted) * self.scale + self.future
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Model:
    def __init__(self, task, variant, layers):
        parameters = self.parameters = Parameters()
        self.text, self.variant, self.length = task == "text", variant, 32 if task == "text" else 17
        if self.text:
            self.table, self.bias = parameters.map(80, DIM), parameters.constant(0, 80)
            shared = [parameters.map(DIM, 1), parameters.map(DIM, 1)]
        else:
            self.input, self.head, self.norm = parameters.affine(DIM, 49), parameters.affine(10, DIM), parameters.norm(DIM)
            self.first, self.positions, shared = parameters.map(1, DIM), parameters.map(17, DIM), None
        self.blocks = [(parameters.norm(DIM), Attention(parameters, self.length, shared), parameters.norm(DIM),
                        parameters.affine(NET, DIM), parameters.affine(DIM, NET)) for _ in range(layers)]
        self.seen = torch.arange(self.length, dtype=torch.float).clamp(min=1)[:, None]

    def remove_mean(self, x):
        if not self.text:
            return x - x.mean(1, keepdim=True)
        return x - (x.cumsum(1) - x) / self.seen

    def loss(self, tokens, targets):
        if self.text:
            x = math.sqrt(DIM) * F.embedding(tokens, self.table)
        else:
            x = torch.cat([self.first.expand(len(tokens), 1, DIM), F.linear(tokens, *self.input)], 1) + self.positions
        for norm, attention, second, up, down in self.blocks:
            if self.variant == "pre":
                x = x + attention(F.layer_norm(x, *norm))
                x = x + F.linear(F.relu(F.linear(F.layer_norm(x, *second), *up)), *down)
                continue
            x = F.layer_norm(x + attention(x), *norm)
            if self.variant == "de-escalated" and self.text:
                x = self.remove_mean(x)
            x = F.layer_norm(x + F.linear(F.relu(F.linear(x, *up)), *down), *second)
            if self.variant == "de-escalated" and not self.text:
                x = self.remove_mean(x)
        if self.text:
            return F.cross_entropy(F.linear(x, self.table, self.bias).flatten(0, 1), targets.flatten())
        return F.cross_entropy(F.linear(F.layer_norm(x[:, 0], *self.norm), *self.head), targets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="patches", choices=["patches", "text"])
    parser.add_argument("--variant", default="post", choices=["pre", "post", "de-escalated"])
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(1)
    model, text = Model(options.task, options.variant, options.layers), options.task == "text"

    def draw():
        if text:
            return torch.randint(80, (16, 32)), torch.randint(80, (16, 32))
        return torch.randn(32, 16, 49), torch.randint(10, (32,))

    report(seconds_per_step(model.parameters, draw, model.loss, options.steps,
                            0.0 if text else 0.1, False))


if __name__ == "__main__":
    main()
