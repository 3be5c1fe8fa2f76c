"""The speed of PyTorch, on one thread, with the model, batch and optimizers of `one-step-compare --study gpt`.

    gpt.py [--dim 64] [--optimizer adam|muon] [--steps 40]

Prints the report of peer.py, with the CPU seconds of a step: the median over the steps after the first
ten. Tokens are random because the time does not depend on them.
"""
import argparse
import math
import time

from peer import report  # before torch: sets the threads of OpenBLAS, as set_num_threads does not
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


class Gpt:
    """Maps of a layer with the same input are computed as one product."""

    def __init__(self, vocabulary, layers, dim, heads, context):
        self.heads, self.dim, self.context = heads, dim, context
        std = 0.5 / math.sqrt(dim)
        self.embedding = torch.randn(vocabulary, dim)
        self.head = torch.zeros(vocabulary, dim)
        self.qkv = [std * torch.randn(3 * dim, dim) for _ in range(layers)]
        self.out = [torch.zeros(dim, dim) for _ in range(layers)]
        self.up = [std * torch.randn(4 * dim, dim) for _ in range(layers)]
        self.down = [torch.zeros(dim, 4 * dim) for _ in range(layers)]
        self.hidden = [*self.qkv, *self.out, *self.up, *self.down]
        for weight in [self.embedding, self.head, *self.hidden]:
            weight.requires_grad_()
        half = dim // heads // 2
        angle = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.cosine, self.sine = angle.cos(), angle.sin()
        self.mask = torch.full((context, context), -math.inf).triu(1)

    def rotated(self, x):
        left, right = x.chunk(2, -1)
        return torch.cat([left * self.cosine - right * self.sine, left * self.sine + right * self.cosine], -1)

    def loss(self, ids, targets):
        batch = ids.shape[0]
        x = rms_normed(F.embedding(ids, self.embedding))
        for qkv, out, up, down in zip(self.qkv, self.out, self.up, self.down):
            q, k, v = F.linear(rms_normed(x), qkv).view(batch, self.context, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            q, k = self.rotated(rms_normed(q)), self.rotated(rms_normed(k))
            scores = torch.baddbmm(self.mask, q.reshape(-1, *q.shape[2:]), k.reshape(-1, *k.shape[2:]).transpose(1, 2),
                                   alpha=1 / math.sqrt(q.shape[-1]))
            mixed = torch.bmm(scores.softmax(-1), v.reshape(-1, *v.shape[2:])).view(batch, self.heads, self.context, -1)
            x = x + F.linear(mixed.transpose(1, 2).reshape(batch, self.context, self.dim), out)
            x = x + F.linear(F.linear(rms_normed(x), up).relu().square(), down)
        return F.cross_entropy(F.linear(rms_normed(x), self.head).view(-1, self.head.shape[0]), targets.reshape(-1))


def rms_normed(x):
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


class Muon:
    def __init__(self, weights, rate):
        self.weights, self.rate, self.moments = weights, rate, [torch.zeros_like(w) for w in weights]

    @torch.no_grad()
    def step(self):
        for weight, moment in zip(self.weights, self.moments):
            moment.lerp_(weight.grad, 0.05)
            # The maps of queries, keys and values are separate matrices.
            parts = weight.grad.lerp(moment, 0.95).split(weight.shape[1] if weight.shape[0] == 3 * weight.shape[1] else weight.shape[0])
            step = torch.cat([newton_schulz(part) * max(1, part.shape[0] / part.shape[1]) ** 0.5 for part in parts])
            weight.sub_(step, alpha=self.rate)


def newton_schulz(u):
    x = u / (u.norm() + 1e-7)
    if tall := x.shape[0] > x.shape[1]:
        x = x.t()
    for _ in range(5):
        s = x @ x.t()
        x = torch.addmm(x, torch.addmm(s, s, s, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.t() if tall else x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--optimizer", default="adam", choices=["adam", "muon"])
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    torch.manual_seed(1)
    vocabulary, batch, context = 1024, 16, 64
    model = Gpt(vocabulary, 4, options.dim, 4, context)
    outer = [model.embedding, model.head]
    if options.optimizer == "adam":
        groups = [{"params": outer, "lr": 3e-2}, {"params": model.hidden, "lr": 1e-2}]
        optimizers = [torch.optim.Adam(groups, betas=(0.9, 0.95), foreach=True)]
    else:
        optimizers = [torch.optim.Adam(outer, lr=3e-2, betas=(0.9, 0.95), foreach=True), Muon(model.hidden, 0.02)]
    seconds = []
    for _ in range(options.steps + 10):
        ids = torch.randint(vocabulary, (batch, context + 1))
        begin = time.process_time()
        for weight in [*outer, *model.hidden]:
            weight.grad = None
        model.loss(ids[:, :-1], ids[:, 1:]).backward()
        for optimizer in optimizers:
            optimizer.step()
        seconds.append(time.process_time() - begin)
    timed = sorted(seconds[10:])
    report(timed[len(timed) // 2])


if __name__ == "__main__":
    main()
