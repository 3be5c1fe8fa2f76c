"""The studies `layers` and `lambda-sweep` of rank-collapse in PyTorch: Mamba-2 or GPT-2 blocks with
random weights, several strengths of the skip, and the geometry of the tokens after every block.

    depth.py mamba2|gpt2 [--layers 8] [--dim 768] [--tokens 128] [--lambda=-1,0,1]

Single precision. All strengths share the weights of a block and run as one batch. The geometry
comes from the eigenvalues of the N x N Gram matrix in double precision, as in ranklab.
"""
import argparse
import math

from peer import Clock, Draws, np, report
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_grad_enabled(False)


def softplus_inverse_of_step(u):
    """The bias whose softplus is exp(u)."""
    dt = np.maximum(np.exp(u), 1e-4)
    return dt + np.log(-np.expm1(-dt))


def rms_norm(x):
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


class Layer:
    """Draws the weights of a block as tensors of shape (out, in)."""

    def __init__(self, draws, prefix):
        self.draws, self.prefix = draws, prefix

    def map(self, name, inputs, outputs, bound=None):
        bound = bound or inputs**-0.5
        drawn = self.draws.uniform(self.prefix + name, (inputs, outputs), -bound, bound)
        return torch.from_numpy(np.ascontiguousarray(drawn.T))

    def normal(self, name, inputs, outputs, deviation):
        drawn = self.draws.normal(self.prefix + name, (inputs, outputs), deviation)
        return torch.from_numpy(np.ascontiguousarray(drawn.T))

    def vector(self, name, size, low, high, function=lambda u: u):
        doubles = Draws(self.draws.clock, self.draws.trial)
        drawn = function(doubles.uniform(self.prefix + name, (size,), low, high))
        return torch.from_numpy(drawn.astype(np.float32))


class Mamba2:
    """One group of states. The scan is a product with the dense matrix of each head, which is the
    fastest form in PyTorch at 128 tokens."""

    def __init__(self, layer, layers, dim, tokens, state=128, head_width=64, taps=4):
        inner = 2 * dim
        self.heads = inner // head_width
        channels = inner + 2 * state
        self.sizes, self.parts = [inner, channels, self.heads], [inner, state, state]
        self.into = layer.map("mixer.in_proj.weight", dim, sum(self.sizes), dim**-0.5)
        self.taps = layer.map("mixer.conv1d.weight", taps, channels)[:, None]
        self.bias = layer.vector("mixer.conv1d.bias", channels, -taps**-0.5, taps**-0.5)
        self.dt_bias = layer.vector("mixer.dt_bias", self.heads, math.log(1e-3), math.log(1e-1),
                                    softplus_inverse_of_step)
        self.A = -layer.vector("mixer.A_log", self.heads, 1.0, 16.0)
        self.out = layer.map("mixer.out_proj.weight", inner, dim, (inner * layers)**-0.5)
        self.future = torch.full((tokens, tokens), -math.inf).triu(1)

    def mixer(self, u):
        z, xBC, dt = F.linear(u, self.into).split(self.sizes, -1)
        padded = F.pad(xBC.transpose(1, 2), (self.taps.shape[-1] - 1, 0))
        xBC = F.silu(F.conv1d(padded, self.taps, self.bias, groups=len(self.taps)))
        x, B, C = xBC.transpose(1, 2).split(self.parts, -1)
        dt = F.softplus(dt + self.dt_bias).transpose(1, 2)  # (batch, heads, tokens)
        sums = (dt * self.A[:, None]).cumsum(-1)
        M = (sums[..., None] - sums[..., None, :]).add_(self.future).exp_()
        M.mul_(torch.bmm(C, B.transpose(1, 2))[:, None])
        x = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        y = torch.matmul(M, x * dt[..., None]) + x
        y = y.transpose(1, 2).flatten(2) * F.silu(z)
        return F.linear(rms_norm(y), self.out)

    def __call__(self, x, strengths):
        return strengths * x + self.mixer(rms_norm(x))

    @staticmethod
    def embedding(draws, ids, dim):
        columns = [draws.normal("embedding", (dim,), 0.02, skip=i * ((dim + 1) // 2)) for i in ids]
        return torch.from_numpy(np.stack(columns))

    vocabulary = 50288


class Gpt2:
    """Pre-norm blocks with causal attention; biases are zero and gains one at the start."""

    def __init__(self, layer, layers, dim, tokens):
        small = 0.02 / math.sqrt(2 * layers)
        self.heads = dim // 64
        self.qkv = layer.normal("attn.c_attn.weight", dim, 3 * dim, 0.02)
        self.out = layer.normal("attn.c_proj.weight", dim, dim, small)
        self.up = layer.normal("mlp.c_fc.weight", dim, 4 * dim, 0.02)
        self.down = layer.normal("mlp.c_proj.weight", 4 * dim, dim, small)
        self.future = torch.full((tokens, tokens), -math.inf).triu(1)

    def attention(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in F.linear(x, self.qkv).chunk(3, -1))
        scores = torch.matmul(q, k.transpose(-1, -2)).mul_(q.shape[-1]**-0.5).add_(self.future)
        return F.linear(torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(2), self.out)

    @staticmethod
    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

    def __call__(self, x, strengths):
        dim = x.shape[-1:]
        x = strengths * x + self.attention(F.layer_norm(x, dim))
        return x + F.linear(self.gelu(F.linear(F.layer_norm(x, dim), self.up)), self.down)

    @staticmethod
    def embedding(draws, ids, dim):
        columns = [draws.normal("wte.weight", (dim,), 0.02, skip=i * ((dim + 1) // 2)) for i in ids]
        positions = draws.normal("wpe.weight", (dim, len(ids)), 0.02)
        return torch.from_numpy(np.stack(columns)) + torch.from_numpy(positions.T)

    vocabulary = 50257


def geometry(states):
    """mu / ||Y||, 1 - s_1^2 / ||Y||^2, the mean cosine and the stable rank of each state."""
    out = []
    for Y in states.double():
        rest = (Y - Y.mean(0)).square().sum()
        eigenvalues = torch.linalg.eigvalsh(Y @ Y.t()).clamp(min=0)
        total, unit = eigenvalues.sum(), F.normalize(Y, dim=1).sum(0)
        cosine = (unit.square().sum() - len(Y)) / (len(Y) * (len(Y) - 1))
        out.append([(rest / Y.square().sum()).sqrt(), eigenvalues[:-1].sum() / total, cosine,
                    total / eigenvalues[-1]])
    return np.array(out, dtype=float)


MEASURES = ["mu_normalized", "rank_one_residual", "cosine_similarity", "stable_rank"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["mamba2", "gpt2"])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--lambda", dest="strengths", default="-1,0,1")
    options = parser.parse_args()
    Block = {"mamba2": Mamba2, "gpt2": Gpt2}[options.model]
    strengths = [float(word) for word in options.strengths.split(",")]
    clock = Clock()
    draws = Draws(clock, dtype=np.float32)
    words = Draws(Clock()).uniform("tokens", (options.tokens,))
    ids = (words * Block.vocabulary).astype(int)
    x = Block.embedding(draws, ids, options.dim).expand(len(strengths), -1, -1)
    with clock:
        found = [geometry(x)]
    for k in range(options.layers):
        layer = Layer(draws, f"layer{k}.")
        block = Block(layer, options.layers, options.dim, options.tokens)
        with clock:
            x = block(x, torch.tensor(strengths)[:, None, None])
            found.append(geometry(x))
    series = {}
    for i, name in enumerate(MEASURES):
        series["final." + name] = found[-1][:, i]
        for s, strength in enumerate(strengths):
            series[f"lambda={strength:g}.{name}"] = [state[s, i] for state in found]
    report(clock.seconds, {}, series)


if __name__ == "__main__":
    main()
