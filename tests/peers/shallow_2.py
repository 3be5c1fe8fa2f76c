"""[Shallow] Figure 2, in NumPy: token similarity over 20 post-norm blocks, the growth of both parts
in the four steps of each block, and omega and delta of the attention matrices.

    shallow_2.py [--trials 10]

Tokens are rows, as in the paper; heads are computed together.
"""
import argparse

from peer import Clock, Draws, np, report

TOKENS, DIM, HEADS, FFN, LAYERS = 64, 512, 8, 1024, 20


def parts(X):
    """||Pi_1 X||^2 and ||Pi_2 X||^2."""
    mean = X.mean(0)
    rest = X - mean
    return len(X) * (mean @ mean), np.vdot(rest, rest)


def layer_norm(X):
    X = X - X.mean(1, keepdims=True)
    return X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-5)


def head_measures(P, X):
    """omega and delta, means over the heads; mu_1 and mu_2 as in ranklab, which nobody reads."""
    total, rest = X.sum(0), X - X.mean(0)
    column_sums = P.sum(1)  # (h, N)
    omega = np.linalg.norm(column_sums @ rest, axis=1) / np.linalg.norm(total)
    centered = P - P.mean(1, keepdims=True)
    delta = np.sqrt(np.linalg.eigvalsh(centered.transpose(0, 2, 1) @ centered)[:, -1])
    mixed = P @ rest
    mixed -= mixed.mean(1, keepdims=True)
    mu_2 = np.square(mixed).sum((1, 2)) / np.vdot(rest, rest)
    mu_1 = np.square(column_sums @ X).sum(1) / (total @ total)
    return omega.mean(), delta.mean(), mu_1.mean(), mu_2.mean()


def split(X):
    return X.reshape(TOKENS, HEADS, -1).transpose(1, 0, 2)


def block(X, W_q, W_k, W, U, V):
    """The attention matrices and the outputs of the four steps."""
    logits = split(X @ W_q) @ split(X @ W_k).transpose(0, 2, 1)
    logits -= logits.max(2, keepdims=True)
    P = np.exp(logits / np.sqrt(DIM))
    P /= P.sum(2, keepdims=True)
    Y1 = X + (P @ split(X @ W)).transpose(1, 0, 2).reshape(TOKENS, DIM)
    Y2 = layer_norm(Y1)
    Y3 = Y2 + np.maximum(Y2 @ U, 0) @ V
    return P, [Y1, Y2, Y3, layer_norm(Y3)]


def trial(index, clock):
    draws = Draws(clock, index)
    X, series = draws.normal("X", (DIM, TOKENS)).T, {}
    for k in range(LAYERS):
        prefix = f"layer{k}."
        weights = [draws.fan_in(prefix + "W_q", (DIM, DIM), DIM),
                   draws.fan_in(prefix + "W_k", (DIM, DIM), DIM),
                   draws.normal(prefix + "W", (DIM, DIM), DIM**-0.5),
                   draws.fan_in(prefix + "U", (DIM, FFN), DIM),
                   draws.fan_in(prefix + "V", (FFN, DIM), FFN)]
        with clock:
            P, steps = block(X, *weights)
            sizes = [parts(Y) for Y in (X, *steps)]
            for s in range(4):
                (a, b), (c, d) = sizes[s:s + 2]
                series.setdefault(f"step{s + 1}.xi_ratio", []).append((c / a) / (d / b))
            omega, delta, _, _ = head_measures(P, X)
            series.setdefault("omega", []).append(omega)
            series.setdefault("delta", []).append(delta)
            for shared, rest in ([sizes[0]] if k == 0 else []) + [sizes[-1]]:
                series.setdefault("token_similarity", []).append(shared / (shared + rest))
            X = steps[-1]
    return series


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=10)
    options = parser.parse_args()
    clock = Clock()
    trials = [trial(t, clock) for t in range(options.trials)]
    report(clock.seconds, {}, {name: np.mean([one[name] for one in trials], 0)
                               for name in trials[0]})


if __name__ == "__main__":
    main()
