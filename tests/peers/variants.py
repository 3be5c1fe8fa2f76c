"""The vision Transformer and the language model of `rank-collapse --study train --variant ...` in PyTorch, on one thread: steps a second.

    variants.py [--task patches|text] [--variant pre|post|de-escalated] [--layers 24] [--steps 20]

Prints steps a second, the median over the steps after the first ten. Tokens are random: the time does not depend on them. Activations
are (B, T, d); width 32, net 64 with ReLU, 4 heads, no output map: the start `alg1`. tau is 1: at the block's end over all tokens for
patches, at the net's input over the strict prefix for text. Relative positions are shifted as in Transformer-XL's code.
"""
import argparse
import math

from sequence import Parameters, steps_a_second, torch
import torch.nn.functional as F

DIM, NET, HEADS = 32, 64, 4


def heads_of(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Attention:
    def __init__(self, own, length, shared):
        self.qkv, self.shared, self.scale = own.map(3 * DIM, DIM), shared, 1 / math.sqrt(DIM / HEADS)
        if shared:
            self.relative = own.map(DIM, DIM)
            self.future = torch.full((length, length), -math.inf).triu(1)
            frequencies = 10000 ** (-torch.arange(0, DIM, 2) / DIM)
            angles = torch.arange(length - 1, -1, -1.0)[:, None] * frequencies
            self.waves = torch.cat([angles.sin(), angles.cos()], -1)

    def __call__(self, x):
        q, k, v = (heads_of(part) for part in F.linear(x, self.qkv).chunk(3, -1))
        if not self.shared:
            return (torch.matmul(q * self.scale, k.transpose(-1, -2)).softmax(-1) @ v).transpose(1, 2).flatten(2)
        u, w = (bias.view(HEADS, 1, -1) for bias in self.shared)
        lags = heads_of(F.linear(self.waves, self.relative)[None])
        by_lag = torch.matmul(q + w, lags.transpose(-1, -2))
        size = by_lag.shape[-1]
        shifted = F.pad(by_lag, (1, 0)).flatten(2)[..., size:].view(by_lag.shape)
        scores = (torch.matmul(q + u, k.transpose(-1, -2)) + shifted) * self.scale + self.future
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Model:
    def __init__(self, task, variant, layers):
        own = self.own = Parameters()
        self.text, self.variant, self.length = task == "text", variant, 32 if task == "text" else 17
        if self.text:
            self.table, self.bias = own.map(80, DIM), own.constant(0, 80)
            shared = [own.map(DIM, 1), own.map(DIM, 1)]
        else:
            self.input, self.head, self.norm = own.affine(DIM, 49), own.affine(10, DIM), own.norm(DIM)
            self.first, self.positions, shared = own.map(1, DIM), own.map(17, DIM), None
        self.blocks = [(own.norm(DIM), Attention(own, self.length, shared), own.norm(DIM), own.affine(NET, DIM), own.affine(DIM, NET))
                       for _ in range(layers)]
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
    options = argparse.ArgumentParser()
    options.add_argument("--task", default="patches", choices=["patches", "text"])
    options.add_argument("--variant", default="post", choices=["pre", "post", "de-escalated"])
    options.add_argument("--layers", type=int, default=24)
    options.add_argument("--steps", type=int, default=20)
    given = options.parse_args()
    torch.manual_seed(1)
    model, text = Model(given.task, given.variant, given.layers), given.task == "text"

    def draw():
        if text:
            return torch.randint(80, (16, 32)), torch.randint(80, (16, 32))
        return torch.randn(32, 16, 49), torch.randint(10, (32,))

    print(steps_a_second(model.own, draw, model.loss, given.steps, 0.0 if text else 0.1, False))


if __name__ == "__main__":
    main()
