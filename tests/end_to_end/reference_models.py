"""Reference implementations of published models: their equations, in plain loops over lists of numbers.

A checkpoint is a dictionary {name: (shape, values)} with the tensor names of the published files. A hidden state is a list of rows,
one per token. A model returns a list of states: the embedding and the output of each block.
"""
import math
import random


class RandomCheckpoint:
    """Builds a checkpoint of random numbers. No tensor is neutral (a zero bias, a gain of one), so that each one matters."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = {}

    def add(self, name, *shape, around=0.0, spread=0.5):
        self.tensors[name] = (shape, [around + spread * self.random.gauss(0, 1) for _ in range(math.prod(shape))])

    def linear(self, name, outputs, inputs):
        self.add(name + ".weight", outputs, inputs)
        self.add(name + ".bias", outputs)

    def norm(self, name, size):
        self.add(name + ".weight", size, around=1.0, spread=0.3)
        self.add(name + ".bias", size, spread=0.3)


def rows_of(tensor):
    (rows, cols), values = tensor
    return [values[i * cols:(i + 1) * cols] for i in range(rows)]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def transposed(M):
    return [list(column) for column in zip(*M)]


def layer_norm(X, gain, bias, epsilon):
    out = []
    for x in X:
        mean = math.fsum(x) / len(x)
        variance = math.fsum((v - mean) ** 2 for v in x) / len(x)
        out.append([g * (v - mean) / math.sqrt(variance + epsilon) + b for v, g, b in zip(x, gain, bias)])
    return out


def rms_norm(X, gain, epsilon):
    return [[g * v / math.sqrt(dot(x, x) / len(x) + epsilon) for v, g in zip(x, gain)] for x in X]


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_new(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def silu(x):
    return x / (1 + math.exp(-x))


def add_skip(X, Y, factor=1.0):
    return [[factor * a + b for a, b in zip(x, y)] for x, y in zip(X, Y)]


def attention(Q, K, V, heads, causal=False):
    width = len(Q[0]) // heads
    out = [[0.0] * len(V[0]) for _ in Q]
    for h in range(heads):
        columns = slice(h * width, (h + 1) * width)
        for i, q in enumerate(Q):
            seen = range(i + 1) if causal else range(len(K))
            logits = [dot(q[columns], K[j][columns]) / math.sqrt(width) for j in seen]
            weights = [math.exp(l - max(logits)) for l in logits]
            total = math.fsum(weights)
            for c in range(columns.start, columns.stop):
                out[i][c] = math.fsum(w / total * V[j][c] for w, j in zip(weights, seen))
    return out


class Weights:
    def __init__(self, tensors, prefix=""):
        self.tensors, self.prefix = tensors, prefix

    def vector(self, name):
        return self.tensors[self.prefix + name][1]

    def matrix(self, name):
        return rows_of(self.tensors[self.prefix + name])

    def linear(self, X, name, stored_inputs_first=False):
        W = self.matrix(name + ".weight")
        if stored_inputs_first:
            W = transposed(W)
        return [[dot(w, x) + b for w, b in zip(W, self.vector(name + ".bias"))] for x in X]

    def norm(self, X, name, epsilon):
        return layer_norm(X, self.vector(name + ".weight"), self.vector(name + ".bias"), epsilon)


# --- BERT and ALBERT ---------------------------------------------------------------------------------------------------------

def bert_checkpoint(seed=1, layers=2, d=8, ffn=12, vocabulary=11, positions=9, types=2):
    m = RandomCheckpoint(seed)
    for name, rows in (("word", vocabulary), ("position", positions), ("token_type", types)):
        m.add(f"embeddings.{name}_embeddings.weight", rows, d)
    m.norm("embeddings.LayerNorm", d)
    for i in range(layers):
        p = f"encoder.layer.{i}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            m.linear(p + "attention." + name, d, d)
        m.norm(p + "attention.output.LayerNorm", d)
        m.linear(p + "intermediate.dense", ffn, d)
        m.linear(p + "output.dense", d, ffn)
        m.norm(p + "output.LayerNorm", d)
    return m.tensors


def encoder_embedding(w, ids, epsilon):
    word, position = (w.matrix(f"embeddings.{name}_embeddings.weight") for name in ("word", "position"))
    kind = w.matrix("embeddings.token_type_embeddings.weight")[0]
    return w.norm([[a + b + c for a, b, c in zip(word[id], position[i], kind)] for i, id in enumerate(ids)], "embeddings.LayerNorm", epsilon)


def encoder_steps(w, X, names, heads, lambdas, epsilon, activation):
    """The states after attention with its skip, after the norm, after the feed-forward net with its skip, and after the second norm."""
    query, key, value, dense, first_norm, first, second, second_norm = names
    mixed = w.linear(attention(w.linear(X, query), w.linear(X, key), w.linear(X, value), heads), dense)
    steps = [add_skip(X, mixed, lambdas[0])]
    steps.append(w.norm(steps[0], first_norm, epsilon))
    Z = [[activation(z) for z in row] for row in w.linear(steps[1], first)]
    steps.append(add_skip(steps[1], w.linear(Z, second), lambdas[1]))
    steps.append(w.norm(steps[2], second_norm, epsilon))
    return steps


def encoder_block(*arguments):
    return encoder_steps(*arguments)[-1]


def bert_names(i):
    return [f"encoder.layer.{i}." + n for n in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
                                                "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")]


def bert(tensors, ids, heads, layers, lambdas=(1, 1), epsilon=1e-12, activation=gelu):
    w = Weights(tensors)
    states = [encoder_embedding(w, ids, epsilon)]
    for i in range(layers):
        states.append(encoder_block(w, states[-1], bert_names(i), heads, lambdas, epsilon, activation))
    return states


def albert_checkpoint(seed=2, d=8, ffn=12, vocabulary=11, positions=9, embedding=4):
    m = RandomCheckpoint(seed)
    for name, rows in (("word", vocabulary), ("position", positions), ("token_type", 2)):
        m.add(f"embeddings.{name}_embeddings.weight", rows, embedding)
    m.norm("embeddings.LayerNorm", embedding)
    m.linear("encoder.embedding_hidden_mapping_in", d, embedding)
    p = "encoder.albert_layer_groups.0.albert_layers.0."
    for name in ("query", "key", "value", "dense"):
        m.linear(p + "attention." + name, d, d)
    m.norm(p + "attention.LayerNorm", d)
    m.linear(p + "ffn", ffn, d)
    m.linear(p + "ffn_output", d, ffn)
    m.norm(p + "full_layer_layer_norm", d)
    return m.tensors


def albert(tensors, ids, heads, layers, lambdas=(1, 1), epsilon=1e-12, activation=gelu_new):
    w = Weights(tensors)
    states = [w.linear(encoder_embedding(w, ids, epsilon), "encoder.embedding_hidden_mapping_in")]
    p = "encoder.albert_layer_groups.0.albert_layers.0."
    names = [p + n for n in ("attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn",
                             "ffn_output", "full_layer_layer_norm")]
    for _ in range(layers):
        states.append(encoder_block(w, states[-1], names, heads, lambdas, epsilon, activation))
    return states


# --- GPT-2 -------------------------------------------------------------------------------------------------------------------

def gpt2_checkpoint(seed=3, layers=2, d=8, ffn=8, vocabulary=11, positions=9):
    """The default ffn equals d, so that shapes do not reveal the orientation of a stored matrix."""
    m = RandomCheckpoint(seed)
    m.add("wte.weight", vocabulary, d)
    m.add("wpe.weight", positions, d)
    for i in range(layers):
        p = f"h.{i}."
        m.norm(p + "ln_1", d)
        m.norm(p + "ln_2", d)
        for name, inputs, outputs in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, ffn), ("mlp.c_proj", ffn, d)):
            m.add(p + name + ".weight", inputs, outputs)
            m.add(p + name + ".bias", outputs)
    m.norm("ln_f", d)
    return m.tensors


def gpt2(tensors, ids, heads, layers, lambdas=(1, 1), epsilon=1e-5, activation=gelu_new):
    w = Weights(tensors)
    word, position = w.matrix("wte.weight"), w.matrix("wpe.weight")
    states = [[[a + b for a, b in zip(word[id], position[i])] for i, id in enumerate(ids)]]
    for k in range(layers):
        p = f"h.{k}."
        X = states[-1]
        d = len(X[0])
        qkv = w.linear(w.norm(X, p + "ln_1", epsilon), p + "attn.c_attn", True)
        Q, K, V = ([row[i * d:(i + 1) * d] for row in qkv] for i in range(3))
        X = add_skip(X, w.linear(attention(Q, K, V, heads, causal=True), p + "attn.c_proj", True), lambdas[0])
        Z = [[activation(z) for z in row] for row in w.linear(w.norm(X, p + "ln_2", epsilon), p + "mlp.c_fc", True)]
        states.append(add_skip(X, w.linear(Z, p + "mlp.c_proj", True), lambdas[1]))
    return states


# --- Mamba-2 -----------------------------------------------------------------------------------------------------------------

def mamba2_checkpoint(seed=4, layers=2, d=8, heads=4, state=3, vocabulary=13, groups=1, taps=4):
    m = RandomCheckpoint(seed)
    inner, channels = 2 * d, 2 * d + 2 * groups * state
    m.add("backbone.embedding.weight", vocabulary, d)
    for i in range(layers):
        p = f"backbone.layers.{i}."
        m.add(p + "norm.weight", d, around=1.0, spread=0.3)
        m.add(p + "mixer.dt_bias", heads)
        m.add(p + "mixer.A_log", heads)
        m.add(p + "mixer.D", heads)
        m.add(p + "mixer.in_proj.weight", inner + channels + heads, d)
        m.add(p + "mixer.conv1d.weight", channels, 1, taps)
        m.add(p + "mixer.conv1d.bias", channels)
        m.add(p + "mixer.norm.weight", inner, around=1.0, spread=0.3)
        m.add(p + "mixer.out_proj.weight", d, inner)
    m.add("backbone.norm_f.weight", d)
    return m.tensors


def mamba2_mixer(w, p, U, groups, epsilon, gate):
    heads, inner = len(w.vector(p + "mixer.D")), len(w.vector(p + "mixer.norm.weight"))
    (channels, _, taps), conv = w.tensors[w.prefix + p + "mixer.conv1d.weight"]
    state, width = (channels - inner) // (2 * groups), inner // heads
    projected = [[dot(row, u) for row in w.matrix(p + "mixer.in_proj.weight")] for u in U]
    z = [row[:inner] for row in projected]
    bias = w.vector(p + "mixer.conv1d.bias")
    xBC = []
    for t in range(len(U)):
        xBC.append([silu(bias[c] + math.fsum(conv[c * taps + k] * projected[t - taps + 1 + k][inner + c]
                                             for k in range(taps) if t - taps + 1 + k >= 0)) for c in range(channels)])
    y = [[0.0] * inner for _ in U]
    for h in range(heads):
        group = h * groups // heads
        A, D, dt_bias = (w.vector(p + "mixer." + n)[h] for n in ("A_log", "D", "dt_bias"))
        memory = [[0.0] * width for _ in range(state)]
        for t in range(len(U)):
            dt = math.log1p(math.exp(projected[t][inner + channels + h] + dt_bias))
            x = xBC[t][h * width:(h + 1) * width]
            B = xBC[t][inner + group * state:inner + (group + 1) * state]
            C = xBC[t][inner + (groups + group) * state:inner + (groups + group + 1) * state]
            decay = math.exp(-math.exp(A) * dt)
            memory = [[decay * m + dt * B[n] * x[c] for c, m in enumerate(memory[n])] for n in range(state)]
            for c in range(width):
                y[t][h * width + c] = math.fsum(C[n] * memory[n][c] for n in range(state)) + D * x[c]
    if gate:
        y = [[v * silu(g) for v, g in zip(row, gates)] for row, gates in zip(y, z)]
    part = inner // groups
    gain = w.vector(p + "mixer.norm.weight")
    normed = [sum((rms_norm([row[g * part:(g + 1) * part]], gain[g * part:(g + 1) * part], epsilon)[0] for g in range(groups)), []) for row in y]
    return [[dot(row, v) for row in w.matrix(p + "mixer.out_proj.weight")] for v in normed]


def mamba2(tensors, ids, layers, lam=1.0, epsilon=1e-5, gate=True, groups=1):
    w = Weights(tensors, "backbone.")
    table = w.matrix("embedding.weight")
    states = [[list(table[id]) for id in ids]]
    for i in range(layers):
        p = f"layers.{i}."
        U = rms_norm(states[-1], w.vector(p + "norm.weight"), epsilon)
        states.append(add_skip(states[-1], mamba2_mixer(w, p, U, groups, epsilon, gate), lam))
    return states


# --- geometry ----------------------------------------------------------------------------------------------------------------

def norm(X):
    return math.sqrt(math.fsum(v * v for row in X for v in row))


def mu(X):
    mean = [math.fsum(column) / len(X) for column in zip(*X)]
    return norm([[v - m for v, m in zip(row, mean)] for row in X])


def cosine_similarity(X):
    cosines = [dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)) for i, a in enumerate(X) for b in X[i + 1:]]
    return math.fsum(cosines) / len(cosines)
