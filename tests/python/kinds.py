"""Many kinds of models, and their raw activations by an independent route.

The raw tensors come from hooks on modules, or from tap() in the model; ranklab uses neither."""
import torch
import torch.nn.functional as F
from torch import bmm, nn
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint


class OwnLinear(torch.autograd.Function):
    """A product with a weight that PyTorch's own functions do not see."""

    @staticmethod
    def forward(context, x, w):
        context.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(context, gradient):
        x, w = context.saved_tensors
        return gradient @ w, gradient.t() @ x


TAPS = None  # layer -> (inputs, output gradients) of its calls, while a model is tapped


def tap(name, inputs, out):
    if TAPS is not None:
        calls = TAPS.setdefault(name, [])
        out.register_hook(lambda e: calls.append((inputs.detach().reshape(-1, inputs.shape[-1]), e.reshape(-1, e.shape[-1]))))
    return out


def tap_module(name, module, inputs, out):
    x, rows = inputs[0], lambda e: e.reshape(-1, e.shape[-1])
    if isinstance(module, nn.Embedding):
        x = F.one_hot(x, module.num_embeddings).to(out.dtype)
    elif isinstance(module, (nn.Conv1d, nn.Conv2d)):
        flat, pair = x.dim() == 3, lambda v: (1, *v) if x.dim() == 3 else v
        padding = (0, *module.padding) if flat else module.padding
        x = F.unfold(x.unsqueeze(2) if flat else x, pair(module.kernel_size), pair(module.dilation), padding, pair(module.stride)).transpose(1, 2)
        rows = lambda e: e.flatten(2).transpose(1, 2).reshape(-1, e.shape[1])
    if not out.requires_grad:
        return
    calls = TAPS.setdefault(name, [])
    out.register_hook(lambda e: calls.append((x.detach().reshape(-1, x.shape[-1]), rows(e))))


class Model(nn.Module):
    """A model of named parts and a forward function of the model."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.run(self, *inputs)


def attention(q, k, v, heads=2):
    split = lambda t: t.reshape(*t.shape[:-1], heads, -1).transpose(-2, -3)
    q, k, v = split(q), split(k), split(v)
    return (torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v).transpose(-2, -3).flatten(-2)


def weight(*sizes):
    return nn.Parameter(torch.randn(*sizes) / sizes[-1] ** 0.5)


def squares(model, *inputs):
    return model, lambda: model(*inputs).square().sum()


X, TOKENS, IMAGES = (4, 6, 8), (4, 6), (3, 2, 9, 9)


def encoder_with_key_padding():
    model = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    x, padding = torch.randn(X), torch.zeros(TOKENS, dtype=torch.bool)
    padding[1, 3:] = padding[3, 4:] = True
    raw = lambda: {f"self_attn.in_proj_weight.{i + 1}": (x[~padding], g) for i, g in enumerate(model.self_attn.in_proj_weight.grad.chunk(3))}
    return model, lambda: model(x, src_key_padding_mask=padding)[~padding].square().sum(), raw


def self_attention():
    model, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(X)
    raw = lambda: {f"in_proj_weight.{i + 1}": (x.reshape(-1, 8), g) for i, g in enumerate(model.in_proj_weight.grad.chunk(3))}
    return model, lambda: model(x, x, x)[0].square().sum(), raw


def cross_attention():
    model, q, kv = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(4, 3, 8), torch.randn(X)
    raw = lambda: {f"in_proj_weight.{i + 1}": ((kv if i else q).reshape(-1, 8), g) for i, g in enumerate(model.in_proj_weight.grad.chunk(3))}
    return model, lambda: model(q, kv, kv)[0].square().sum(), raw


def recurrent(kind):
    model, x = kind(8, 5, batch_first=True), torch.randn(X)

    def raw():
        before = F.pad(model(x)[0], (0, 0, 1, 0))[:, :-1].detach()  # the state before each step
        return {"weight_ih_l0": (x.reshape(-1, 8), model.weight_ih_l0.grad), "weight_hh_l0": (before.reshape(-1, 5), model.weight_hh_l0.grad)}

    return model, lambda: model(x)[0].exp().sum(), raw


def micro_batches():
    model, x = mlp(), torch.randn(20, 8)
    return model, lambda: model(x[:7]).exp().sum().backward() or model(x[7:]).square().sum()


def autocast():
    model, x = mlp(), torch.randn(20, 8)

    def loss():
        with torch.autocast("cpu", torch.bfloat16):
            out = model(x)
        return out.float().square().sum()

    return model, loss


def mlp():
    return nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 5))


def routed():
    def forward(m, x):
        chosen = torch.arange(len(x)) % 2 * 2  # experts 0 and 2
        return torch.cat([expert(x[chosen == e]) for e, expert in enumerate(m.experts)])

    return squares(Model(forward, experts=nn.ModuleList(nn.Linear(8, 5) for _ in range(3))), torch.randn(20, 8))


def grouped_queries():
    def forward(m, x):
        k, v = (t.repeat_interleave(2, -1) for t in m.kv(x).chunk(2, -1))
        return m.out(attention(m.q(x), k, v))

    return squares(Model(forward, q=nn.Linear(8, 8), kv=nn.Linear(8, 8), out=nn.Linear(8, 8)), torch.randn(X))


def swiglu():
    def forward(m, x):
        gate, up = m.both(x).chunk(2, -1)
        return m.down(F.silu(gate) * up)

    return squares(Model(forward, both=nn.Linear(8, 24), down=nn.Linear(12, 8)), torch.randn(X))


def language_model(tied):
    model = Model(lambda m, ids: m.head(torch.tanh(m.body(m.table(ids)))), table=nn.Embedding(11, 8), body=nn.Linear(8, 8),
                  head=nn.Linear(8, 11, bias=False))
    if tied:
        model.head.weight = model.table.weight
    ids = torch.randint(0, 11, TOKENS)
    return model, lambda: F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def ignored_labels():
    model, ids = language_model(False)[0], torch.randint(0, 11, TOKENS)
    labels = ids.clone()
    labels[:, 4:] = -100
    return model, lambda: F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())


def causal_block():
    def forward(m, x):
        x = x + m.out(attention(*m.qkv(m.norm(x)).chunk(3, -1)))
        return x + m.down(F.gelu(m.up(x)))

    return squares(Model(forward, norm=nn.LayerNorm(8), qkv=nn.Linear(8, 24), out=nn.Linear(8, 8), up=nn.Linear(8, 32), down=nn.Linear(32, 8)), torch.randn(X))


def checkpointed():
    def forward(m, x):
        for block in m.blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        return x

    blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 8)) for _ in range(2))
    model, x = Model(forward, blocks=blocks), torch.randn(X, requires_grad=True)
    return model, lambda: model(x).square().sum()


def token_mixer():
    forward = lambda m, x: x + m.channels(torch.tanh(x + m.tokens(x.transpose(1, 2)).transpose(1, 2)))
    return squares(Model(forward, tokens=nn.Linear(6, 6), channels=nn.Linear(8, 8)), torch.randn(X))


def batched_experts():
    model, x = Model(lambda m, x: bmm(x, m.up), up=weight(4, 8, 5)), torch.randn(4, 6, 8)
    raw = lambda: {f"up.{e + 1}": (x[e], model.up.grad[e].t()) for e in range(4)}
    return model, lambda: model(x).exp().sum(), raw


def vision_transformer():
    """With a class token and a table of positions."""
    def forward(m, images):
        h = m.patch(images).flatten(2).transpose(1, 2)
        h = torch.cat([m.token.expand(len(h), -1, -1), h], 1) + m.places
        h = h + m.out(attention(*m.qkv(h).chunk(3, -1)))
        return m.head((h + m.down(F.gelu(m.up(h))))[:, 0])

    return squares(Model(forward, patch=nn.Conv2d(2, 8, 3, 3), token=weight(1, 1, 8), places=weight(1, 10, 8), qkv=nn.Linear(8, 24), out=nn.Linear(8, 8),
                         up=nn.Linear(8, 16), down=nn.Linear(16, 8), head=nn.Linear(8, 5)), torch.randn(IMAGES))


def adapted_experts():
    """A frozen matrix with a low-rank adapter, a router, and a stack of experts (3-D) for all tokens."""
    def forward(m, x):
        m.seen = (m.base(x) + m.b(m.a(x))).tanh()
        shares = torch.softmax(m.router(m.seen), -1).t().unsqueeze(-1)  # experts x samples x 1
        return m.head((shares * (m.seen.expand(4, -1, -1) @ m.experts)).sum(0))

    model, x = Model(forward, base=nn.Linear(8, 8).requires_grad_(False), a=nn.Linear(8, 2), b=nn.Linear(2, 8), router=nn.Linear(8, 4),
                     experts=weight(4, 8, 6), head=nn.Linear(6, 5)), torch.randn(24, 8)
    raw = lambda: {f"experts.{e + 1}": (model.seen.detach(), model.experts.grad[e].t()) for e in range(4)}
    return model, lambda: model(x).square().sum(), raw


def one(parts, forward, *inputs):
    """A model of the given parts whose loss is the sum of exp(output / 4)."""
    model = Model(forward, **parts)
    return model, lambda: (model(*inputs).float() / 4).exp().sum()


# name -> (builder, cause of each parameter that is not judged)
KINDS = {
    "encoder with key padding": (encoder_with_key_padding, {}),
    "self attention": (self_attention, {}),
    "cross attention": (cross_attention, {}),
    "grouped queries": (grouped_queries, {}),
    "fused SwiGLU": (swiglu, {}),
    "causal block with fused qkv": (causal_block, {}),
    "experts, one without tokens": (routed, {"experts.1.weight": "no-tokens"}),
    "batched experts": (batched_experts, {}),
    "LSTM": (lambda: recurrent(nn.LSTM), {}),
    "GRU": (lambda: recurrent(nn.GRU), {}),
    "RNN": (lambda: recurrent(nn.RNN), {}),
    "Conv1d": (lambda: squares(nn.Sequential(nn.Conv1d(6, 5, 3, padding=1), nn.Tanh(), nn.Conv1d(5, 4, 2, stride=2)), torch.randn(X)), {}),
    "strided Conv2d": (lambda: squares(nn.Sequential(nn.Conv2d(2, 5, 3, stride=2, padding=1), nn.Tanh(), nn.Conv2d(5, 4, (2, 3))), torch.randn(IMAGES)), {}),
    "patch embedding": (lambda: squares(nn.Sequential(nn.Conv2d(2, 8, 3, stride=3), nn.Flatten(2), nn.Linear(9, 4)), torch.randn(IMAGES)), {}),
    "depthwise convolution": (lambda: squares(nn.Sequential(nn.Conv1d(6, 6, 3, groups=6), nn.Conv1d(6, 4, 1)), torch.randn(X)), {"0.weight": "grouped-convolution"}),
    "shared layer": (lambda: one({"layer": nn.Linear(8, 8)}, lambda m, x: m.layer(torch.tanh(m.layer(x))), torch.randn(X)), {}),
    "micro-batches": (micro_batches, {}),
    "autocast": (autocast, {}),
    "torch.fx": (lambda: squares(torch.fx.symbolic_trace(mlp()), torch.randn(20, 8)), {}),
    "float64": (lambda: squares(mlp().double(), torch.randn(20, 8).double()), {}),
    "weight norm": (lambda: squares(nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 12)), nn.Tanh(), nn.Linear(12, 5)), torch.randn(20, 8)),
                    {"0.weight_g": "parametrized"}),
    "low-rank adapter": (lambda: one({"base": nn.Linear(8, 8).requires_grad_(False), "a": nn.Linear(8, 2), "b": nn.Linear(2, 8)},
                                     lambda m, x: m.base(x) + m.b(m.a(x)), torch.randn(X)), {"base.weight": "frozen"}),
    "tied autoencoder": (lambda: one({"w": weight(5, 8), "middle": nn.Linear(5, 5)}, lambda m, x: F.linear(m.middle(F.linear(x, m.w)), m.w.t()), torch.randn(X)),
                         {"w": "both-orientations"}),
    "checkpointed": (checkpointed, {}),
    "cast weight": (lambda: one({"w": weight(5, 8)}, lambda m, x: tap("w", x, F.linear(x, m.w.type_as(x))), torch.randn(X).bfloat16()), {}),
    "functional imported by name": (lambda: one({"w": weight(5, 8)}, lambda m, x: tap("w", x, linear(x, m.w)), torch.randn(X)), {}),
    "transposed addmm": (lambda: one({"w": weight(8, 5)}, lambda m, x: tap("w", x, torch.addmm(torch.zeros(5), x, m.w)), torch.randn(20, 8)), {}),
    "matmul operator": (lambda: one({"w": weight(5, 8)}, lambda m, x: tap("w", x, x @ m.w.t()), torch.randn(X)), {}),
    "learned queries": (lambda: one({"q": weight(3, 8), "w": nn.Linear(8, 5)}, lambda m, x: m.w(m.q.expand(4, 3, 8)) * x, torch.randn(4, 3, 5)), {"q": "function"}),
    "language model": (lambda: language_model(False), {}),
    "tied language model": (lambda: language_model(True), {"table.weight": "tied"}),
    "ignored labels": (ignored_labels, {}),
    "residual MLP": (lambda: one({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)}, lambda m, x: x + m.b(torch.relu(m.a(x))), torch.randn(X)), {}),
    "deep linear": (lambda: squares(nn.Sequential(*[nn.Linear(8, 8, bias=False) for _ in range(6)]), torch.randn(20, 8)), {}),
    "token mixer": (token_mixer, {}),
    "bilinear": (lambda: one({"b": nn.Bilinear(8, 8, 5), "l": nn.Linear(5, 3)}, lambda m, x: m.l(m.b(x, x)), torch.randn(X)), {"b.weight": "bilinear"}),
}
TOLERANCES = {"autocast": 0.02, "cast weight": 0.02, "float64": 1e-9}  # others: 1e-4, for sums in float32

def raw(model, loss, more=None):
    """layer -> (samples with an output gradient, gradient), in float64; runs one step."""
    global TAPS
    TAPS, hooks = {}, []
    for name, module in model.named_modules():
        if type(module) in (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d) and name:
            hooks.append(module.register_forward_hook(
                lambda *call, name=name: tap_module(name, *call) if torch.is_grad_enabled() else None))
    loss().backward()
    for hook in hooks:
        hook.remove()
    found, TAPS = TAPS, None
    out = {}
    for name, calls in found.items():
        if calls:
            a, e = (torch.cat(each).double() for each in zip(*calls))
            if len(a):
                out[name] = a[e.abs().sum(1) > 0], e.t() @ a
    return {**out, **(more() if more else {})}


def ranks(a, g):
    """(st(A), nr(G)) by singular values."""
    s, t = torch.linalg.svdvals(a.double()), torch.linalg.svdvals(g.double())
    return float(s.square().sum() / s[0] ** 2), float(t.sum() ** 2 / t.square().sum())
