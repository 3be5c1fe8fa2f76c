"""The speed of PyTorch, on one thread, with the models, batches and optimizer of `rank-collapse --study train`.

    sequence.py [--model attention|linear-attention|mamba2|mamba1|s4d] [--task recall|pixels] [--layers 2] [--steps 40]

Prints the report of peer.py, with the CPU seconds of a step: the median over the steps after the first
ten. Tokens are random because the time does not depend on them.
Activations have the shape (B, T, d): sequences, tokens, width. Maps have the shape (out, in). Lambda is 1.
"""
import argparse
import math
import time

from peer import report  # before torch: sets the threads of OpenBLAS, as set_num_threads does not
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


class Parameters:
    """Weight decay applies to maps and embedding tables only."""

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
    """Softmax attention with one head."""

    def __init__(self, parameters, dim, length, causal):
        self.qkv, self.out, self.causal = parameters.map(3 * dim, dim), parameters.map(dim, dim), float(causal)
        self.future = torch.full((length, length), -math.inf).triu(1)

    def __call__(self, x):
        q, k, v = F.linear(x, self.qkv).chunk(3, -1)
        scores = torch.baddbmm(self.future, q, k.transpose(1, 2), beta=self.causal, alpha=1 / math.sqrt(q.shape[-1]))
        return F.linear(torch.bmm(scores.softmax(-1), v), self.out)


class LinearAttention:
    """Linear attention with one head: y_i = sum_j (k_j'q_i) v_j / sum_j k_j'q_i."""

    def __init__(self, parameters, dim, length, causal):
        self.qkv, self.out, self.epsilon = parameters.map(3 * dim, dim), parameters.map(dim, dim), 1e-12 if causal else 1e-6
        self.visible = torch.ones(length, length).tril() if causal else torch.ones(length, length)

    def __call__(self, x):
        qk, v = F.linear(x, self.qkv).split([2 * x.shape[-1], x.shape[-1]], -1)
        q, k = (F.elu(qk) + 1).chunk(2, -1)
        weights = torch.bmm(q, k.transpose(1, 2)).mul_(self.visible)
        return F.linear(torch.bmm(weights, v) / (weights.sum(-1, keepdim=True) + self.epsilon), self.out)


class Convolution(torch.autograd.Function):
    """Causal convolution of each channel with its own filter; w has the shape (taps, d). F.conv1d would take twice as long."""

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
    """Mamba-2 in dense form: y = M x per head, M_ij = C_i'B_j exp(sum_{t = j + 1 .. i} dt_t A) dt_j for j <= i, plus D on the diagonal."""

    def __init__(self, parameters, dim, length, _, state=16, head_width=32):
        inner, heads = 2 * dim, 2 * dim // head_width
        self.heads, self.parts = heads, ([inner, inner + 2 * state, heads], [inner, state, state])
        self.into, self.out, self.gain = parameters.map(sum(self.parts[0]), dim), parameters.map(dim, inner), parameters.constant(1, inner)
        self.taps, self.bias = parameters.other(torch.rand(4, inner + 2 * state) - 0.5), parameters.constant(0, inner + 2 * state)
        self.dt_bias, self.D = parameters.other(torch.logspace(-3, -1, heads).expm1().log()), parameters.constant(1, heads)
        self.A_log = parameters.other(torch.linspace(1, 16, heads).log())
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


class Mamba1:
    """Mamba-1: a loop over tokens, h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t and y_t = h_t C_t, with the time axis first. On one thread this is
    faster than to compute all decays before the loop, because those do not fit in cache."""

    def __init__(self, parameters, dim, length, _, state=16):
        inner, rank = 2 * dim, math.ceil(dim / 16)
        self.parts = [rank, state, state]
        self.into, self.out = parameters.map(2 * inner, dim), parameters.map(dim, inner)
        self.taps, self.bias = parameters.other(torch.rand(4, inner) - 0.5), parameters.constant(0, inner)
        self.select, self.step = parameters.map(sum(self.parts), inner), parameters.map(inner, rank)
        self.dt_bias, self.D = parameters.other(torch.logspace(-3, -1, inner).expm1().log()), parameters.constant(1, inner)
        self.A_log = parameters.other(torch.arange(1.0, state + 1).log().repeat(inner, 1))

    def __call__(self, u):
        x, z = F.linear(u, self.into).chunk(2, -1)
        x = F.silu(Convolution.apply(x, self.taps, self.bias))
        low, B, C = F.linear(x, self.select).split(self.parts, -1)
        dt = F.softplus(F.linear(low, self.step, self.dt_bias))
        A, h, outputs = -self.A_log.exp(), torch.zeros(len(u), *self.A_log.shape), []
        for dt_t, u_t, B_t, C_t in zip(*(v.transpose(0, 1).contiguous().unbind() for v in (dt, dt * x, B, C))):
            h = torch.addcmul(u_t[..., None] * B_t[:, None], (dt_t[..., None] * A).exp(), h)
            outputs.append(torch.bmm(h, C_t[..., None]).squeeze(-1))
        return F.linear((torch.stack(outputs, 1) + self.D * x) * F.silu(z), self.out)


class S4d:
    """S4D-Lin: a convolution of each channel by FFT, followed by a gated map."""

    def __init__(self, parameters, dim, length, _, pairs=8):
        self.C, self.D = parameters.other(math.sqrt(0.5) * torch.randn(dim, pairs, 2)), parameters.other(torch.randn(dim))
        self.log_dt, self.log_A_real = parameters.other(torch.logspace(-3, -1, dim).log()), parameters.constant(math.log(0.5), dim, pairs)
        self.A_imag = parameters.other(math.pi * torch.arange(pairs).repeat(dim, 1))
        self.out, self.times = parameters.affine(2 * dim, dim), torch.arange(float(length))

    def __call__(self, x):
        A, length = torch.complex(-self.log_A_real.exp(), self.A_imag), len(self.times)
        dtA = A * self.log_dt.exp()[:, None]
        weights = torch.view_as_complex(self.C) * (dtA.exp() - 1) / A
        K = 2 * (weights[..., None] * (dtA[..., None] * self.times).exp()).sum(1).real
        # The FFT runs along the middle axis because PyTorch 1.13 computes a wrong gradient of gelu if the incoming gradient is transposed.
        u = torch.fft.irfft(torch.fft.rfft(x, 2 * length, 1) * torch.fft.rfft(K, 2 * length).t(), 2 * length, 1)[:, :length]
        return F.glu(F.linear(F.gelu(torch.addcmul(u, x, self.D)), *self.out))


MIXERS = {"attention": Attention, "linear-attention": LinearAttention, "mamba2": Mamba2, "mamba1": Mamba1, "s4d": S4d}


class Model:
    """Without `classes`, tokens are ids, and the embedding table predicts the answers at the queried positions. With `classes`, tokens are
    numbers, and a head classifies the mean over the tokens."""

    def __init__(self, mixer, layers, dim, hidden, length, ids, classes):
        parameters = self.parameters = Parameters()
        self.classes = classes
        if classes:
            self.input, self.head = parameters.affine(dim, 1), parameters.affine(classes, dim)
        else:
            self.table = parameters.map(ids, dim)
        self.positions = parameters.map(length, dim) if "attention" in mixer else None
        self.blocks = [(parameters.norm(dim), MIXERS[mixer](parameters, dim, length, not classes), parameters.norm(dim),
                        parameters.affine(hidden, dim), parameters.affine(dim, hidden)) for _ in range(layers)]
        self.norm = parameters.norm(dim)

    def loss(self, tokens, queried, targets):
        x = F.linear(tokens, *self.input) if self.classes else F.embedding(tokens, self.table)
        if self.positions is not None:
            x = x + self.positions
        for norm, mixer, middle_norm, up, down in self.blocks:
            x = x + mixer(F.layer_norm(x, *norm))
            if middle_norm is self.blocks[-1][2] and not self.classes:
                x = x.flatten(0, 1)[queried]  # after the last mixer tokens are processed independently
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, *middle_norm), *up)), *down)
        if self.classes:
            return F.cross_entropy(F.linear(F.layer_norm(x, *self.norm).mean(1), *self.head), targets)
        return F.cross_entropy(F.linear(F.layer_norm(x, *self.norm), self.table), targets)


def seconds_per_step(parameters, draw, loss, steps, decay, clip):
    """The median over the steps after the first ten. draw() gives a batch; `clip` limits the global norm of the gradients to 1."""
    weights = [*parameters.decaying, *parameters.others]
    groups = [{"params": parameters.decaying, "weight_decay": decay}, {"params": parameters.others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, foreach=True)
    seconds = []
    for _ in range(steps + 10):
        batch = draw()
        begin = time.process_time()
        for weight in weights:
            weight.grad = None
        loss(*batch).backward()
        if clip:
            gradients = [weight.grad for weight in weights]
            norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
            if norm > 1:
                torch._foreach_mul_(gradients, 1 / norm)
        optimizer.step()
        seconds.append(time.process_time() - begin)
    timed = sorted(seconds[10:])
    return timed[len(timed) // 2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="attention", choices=MIXERS)
    parser.add_argument("--task", default="recall", choices=["recall", "pixels"])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    torch.manual_seed(1)
    pixels = options.task == "pixels"
    batch, length, answers = (32, 49, 10) if pixels else (64, 32, 64)
    model = Model(options.model, options.layers, 32, 64, length, 64, 10 if pixels else None)

    def draw():
        tokens = torch.randn(batch, length, 1) if pixels else torch.randint(64, (batch, length))
        queried = None if pixels else torch.randint(batch * length, (4 * batch,))
        return tokens, queried, torch.randint(answers, (batch if pixels else 4 * batch,))

    report(seconds_per_step(model.parameters, draw, model.loss, options.steps,
                            0.0 if pixels else 0.1, True))


if __name__ == "__main__":
    main()
