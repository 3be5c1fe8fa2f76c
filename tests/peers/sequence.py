"""The models, batches and optimiser of `rank-collapse --study train` in PyTorch, on one thread: how many steps a second?

    sequence.py [--model attention|linear-attention|mamba2|s4d] [--task recall|pixels] [--layers 2] [--steps 40]

Prints steps a second, the median over the steps after the first ten. Tokens are random: the time does not depend on them.
Activations are (B, T, d): sequences, tokens, width; maps (out, in). Lambda is 1.
"""
import argparse
import math
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # OpenBLAS has threads of its own, which set_num_threads leaves alone
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


class Parameters:
    """Maps and tables decay, all others do not."""

    def __init__(self):
        self.decaying, self.others = [], []

    def map(self, out, into):
        self.decaying.append((torch.randn(out, into) / math.sqrt(into)).requires_grad_())
        return self.decaying[-1]

    def other(self, start):
        self.others.append(start.requires_grad_())
        return start

    def constant(self, value, *shape):
        return self.other(torch.full(shape, float(value)))

    def affine(self, out, into):
        return self.map(out, into), self.constant(0, out)

    def norm(self, dim):
        return (dim,), self.constant(1, dim), self.constant(0, dim)


class Attention:
    """One head."""

    def __init__(self, own, dim, length, causal):
        self.qkv, self.out, self.causal = own.map(3 * dim, dim), own.map(dim, dim), float(causal)
        self.future = torch.full((length, length), -math.inf).triu(1)

    def __call__(self, x):
        q, k, v = F.linear(x, self.qkv).chunk(3, -1)
        scores = torch.baddbmm(self.future, q, k.transpose(1, 2), beta=self.causal, alpha=1 / math.sqrt(q.shape[-1]))
        return F.linear(torch.bmm(scores.softmax(-1), v), self.out)


class LinearAttention:
    """One head: sum_j (k_j'q_i) v_j / sum_j k_j'q_i."""

    def __init__(self, own, dim, length, causal):
        self.qkv, self.out, self.epsilon = own.map(3 * dim, dim), own.map(dim, dim), 1e-12 if causal else 1e-6
        self.sees = torch.ones(length, length).tril() if causal else torch.ones(length, length)

    def __call__(self, x):
        qk, v = F.linear(x, self.qkv).split([2 * x.shape[-1], x.shape[-1]], -1)
        q, k = (F.elu(qk) + 1).chunk(2, -1)
        weights = torch.bmm(q, k.transpose(1, 2)).mul_(self.sees)
        return F.linear(torch.bmm(weights, v) / (weights.sum(-1, keepdim=True) + self.epsilon), self.out)


class Convolution(torch.autograd.Function):
    """Causal, each channel by itself, w (taps, d). F.conv1d takes twice as long."""

    @staticmethod
    def forward(context, x, w, bias):
        context.save_for_backward(x, w)
        out = torch.addcmul(bias, x, w[-1])
        for lag in range(1, len(w)):
            out[:, lag:].addcmul_(x[:, :-lag], w[-1 - lag])
        return out

    @staticmethod
    def backward(context, dout):
        x, w = context.saved_tensors
        dx, dw = dout * w[-1], [(dout * x).sum((0, 1))]
        for lag in range(1, len(w)):
            dx[:, :-lag].addcmul_(dout[:, lag:], w[-1 - lag])
            dw.insert(0, (dout[:, lag:] * x[:, :-lag]).sum((0, 1)))
        return dx, torch.stack(dw), dout.sum((0, 1))


class Mamba2:
    """Dense: y = M x for each head, M_ij = C_i'B_j exp(sum_{t = j + 1 .. i} dt_t A) dt_j for j <= i, and D on the diagonal."""

    def __init__(self, own, dim, length, _, state=16, head_width=32):
        inner, heads = 2 * dim, 2 * dim // head_width
        self.heads, self.parts = heads, ([inner, inner + 2 * state, heads], [inner, state, state])
        self.into, self.out, self.gain = own.map(sum(self.parts[0]), dim), own.map(dim, inner), own.constant(1, inner)
        self.taps, self.bias = own.other(torch.rand(4, inner + 2 * state) - 0.5), own.constant(0, inner + 2 * state)
        self.dt_bias, self.D = own.other(torch.logspace(-3, -1, heads).expm1().log()), own.constant(1, heads)
        self.A_log = own.other(torch.linspace(1, 16, heads).log())
        self.future, self.diagonal = torch.full((length, length), -math.inf).triu(1), torch.eye(length)

    def __call__(self, u):
        z, xBC, dt = F.linear(u, self.into).split(self.parts[0], -1)
        x, B, C = F.silu(Convolution.apply(xBC, self.taps, self.bias)).split(self.parts[1], -1)
        dt = F.softplus(dt + self.dt_bias).transpose(1, 2).contiguous()
        sums = (dt * -self.A_log.exp()[:, None]).cumsum(-1)
        L = (sums[..., None] - (sums - dt.log())[..., None, :]).add_(self.future).exp_()
        M = L * torch.bmm(C, B.transpose(1, 2))[:, None] + self.D[:, None, None] * self.diagonal
        y = torch.matmul(M, x.unflatten(-1, (self.heads, -1)).transpose(1, 2)).transpose(1, 2).flatten(2)
        r = y * F.silu(z)
        return F.linear(r, self.out * self.gain) * (r.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


class S4d:
    """S4D-Lin: each channel is convolved by FFT, then a gated map."""

    def __init__(self, own, dim, length, _, pairs=8):
        self.C, self.D = own.other(math.sqrt(0.5) * torch.randn(dim, pairs, 2)), own.other(torch.randn(dim))
        self.log_dt, self.log_A_real = own.other(torch.logspace(-3, -1, dim).log()), own.constant(math.log(0.5), dim, pairs)
        self.A_imag = own.other(math.pi * torch.arange(pairs).repeat(dim, 1))
        self.out, self.times = own.affine(2 * dim, dim), torch.arange(float(length))

    def __call__(self, x):
        A, length = torch.complex(-self.log_A_real.exp(), self.A_imag), len(self.times)
        dtA = A * self.log_dt.exp()[:, None]
        weights = torch.view_as_complex(self.C) * (dtA.exp() - 1) / A
        K = 2 * (weights[..., None] * (dtA[..., None] * self.times).exp()).sum(1).real
        # Along the middle axis: in PyTorch 1.13 gelu's gradient is wrong where the one that reaches it is transposed.
        u = torch.fft.irfft(torch.fft.rfft(x, 2 * length, 1) * torch.fft.rfft(K, 2 * length).t(), 2 * length, 1)[:, :length]
        return F.glu(F.linear(F.gelu(torch.addcmul(u, x, self.D)), *self.out))


MIXERS = {"attention": Attention, "linear-attention": LinearAttention, "mamba2": Mamba2, "s4d": S4d}


class Model:
    """Tokens are ids, and their table reads out those asked about; or, where there are classes, numbers, whose mean is read out."""

    def __init__(self, mixer, layers, dim, hidden, length, ids, classes):
        own = self.own = Parameters()
        self.classes = classes
        if classes:
            self.input, self.head = own.affine(dim, 1), own.affine(classes, dim)
        else:
            self.table = own.map(ids, dim)
        self.positions = own.map(length, dim) if "attention" in mixer else None
        self.blocks = [(own.norm(dim), MIXERS[mixer](own, dim, length, not classes), own.norm(dim), own.affine(hidden, dim), own.affine(dim, hidden))
                       for _ in range(layers)]
        self.norm = own.norm(dim)

    def loss(self, tokens, asked, targets):
        x = F.linear(tokens, *self.input) if self.classes else F.embedding(tokens, self.table)
        if self.positions is not None:
            x = x + self.positions
        for norm, mixer, middle_norm, up, down in self.blocks:
            x = x + mixer(F.layer_norm(x, *norm))
            if middle_norm is self.blocks[-1][2] and not self.classes:
                x = x.flatten(0, 1)[asked]  # no token meets another from here on
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, *middle_norm), *up)), *down)
        if self.classes:
            return F.cross_entropy(F.linear(F.layer_norm(x, *self.norm).mean(1), *self.head), targets)
        return F.cross_entropy(F.linear(F.layer_norm(x, *self.norm), self.table), targets)


def steps_a_second(own, draw, loss, steps, decay, clip):
    """The median over the steps after the first ten, each of a batch from draw(). `clip`: gradients together to norm 1."""
    weights = [*own.decaying, *own.others]
    stepper = torch.optim.AdamW([{"params": own.decaying, "weight_decay": decay}, {"params": own.others, "weight_decay": 0.0}], foreach=True)
    seconds = []
    for _ in range(steps + 10):
        batch = draw()
        begin = time.perf_counter()
        for weight in weights:
            weight.grad = None
        loss(*batch).backward()
        if clip:
            gradients = [weight.grad for weight in weights]
            norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
            if norm > 1:
                torch._foreach_mul_(gradients, 1 / norm)
        stepper.step()
        seconds.append(time.perf_counter() - begin)
    timed = sorted(seconds[10:])
    return 1 / timed[len(timed) // 2]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--model", default="attention", choices=MIXERS)
    options.add_argument("--task", default="recall", choices=["recall", "pixels"])
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--steps", type=int, default=40)
    given = options.parse_args()
    torch.manual_seed(1)
    pixels = given.task == "pixels"
    batch, length, answers = (32, 49, 10) if pixels else (64, 32, 64)
    model = Model(given.model, given.layers, 32, 64, length, 64, 10 if pixels else None)

    def draw():
        tokens = torch.randn(batch, length, 1) if pixels else torch.randint(64, (batch, length))
        asked = None if pixels else torch.randint(batch * length, (4 * batch,))
        return tokens, asked, torch.randint(answers, (batch if pixels else 4 * batch,))

    print(steps_a_second(model.own, draw, model.loss, given.steps, 0.0 if pixels else 0.1, True))


if __name__ == "__main__":
    main()
