"""[Spectral] Figure 4, one seed, in NumPy: GD and SpecGD on a squared-ReLU net of four layers, with
all ranks at every step.

Single precision, like the preset. Stable ranks need only the largest eigenvalue of the Gram matrix,
which SciPy computes alone. Nuclear ranks and polar factors come from LAPACK's singular value
decomposition; along SpecGD one decomposition gives both.
"""
import argparse

from peer import Clock, Draws, np, nuclear_rank, report, stable_rank_from_gram

D, WIDTH, N, RATE_GD, RATE_SPEC = 128, 512, 512, 0.081, 0.1
SHAPES = [(WIDTH, D), (WIDTH, WIDTH), (WIDTH, WIDTH), (1, WIDTH)]


def stable_rank(A):
    return stable_rank_from_gram(A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A)


def gradients(W, X, y):
    """The loss, the inputs of the layers and the gradients of their weights."""
    A, slopes = [X], []
    for weight in W[:-1]:
        positive = np.maximum(weight @ A[-1], 0)
        slopes.append(2 * positive)
        A.append(positive * positive)
    residual = W[-1] @ A[-1] - y
    delta, G = np.float32(2 / N) * residual, [None] * 4
    for layer in (3, 2, 1, 0):
        G[layer] = delta @ A[layer].T
        if layer:
            delta = (W[layer].T @ delta) * slopes[layer - 1]
    return float((residual.astype(float) ** 2).mean()), A, G


def descend(W, X, y, spectral, steps, record):
    W, rate = list(W), np.float32(RATE_SPEC if spectral else RATE_GD)
    stable_rank_X = stable_rank(X)
    for t in range(steps + 1):
        loss, A, G = gradients(W, X, y)
        record("loss", loss)
        for layer in range(4):
            st = stable_rank(A[layer]) if layer else stable_rank_X
            if layer:
                record(f"layer{layer}.stable_rank", st)
            L_op = float(np.vdot(A[layer], A[layer])) / N
            if spectral and layer in (1, 2) and t < steps:
                U, s, Vt = np.linalg.svd(G[layer])
                step = (s.sum() / L_op) * (U @ Vt)
            else:
                s = np.linalg.svd(G[layer], compute_uv=False) if layer < 3 else None
                step = G[layer] / np.float32(L_op / st)
            if layer < 3:
                record(f"W{layer + 1}.nuclear_rank", nuclear_rank(s))
            W[layer] = W[layer] - rate * step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    clock, series = Clock(), {}
    draws = Draws(clock)
    X = draws.normal("X", (D, N))
    y = (X[0] * X[1] * X[2])[None].astype(np.float32)
    W = [draws.fan_in(f"W{i + 1}", shape, shape[1]) for i, shape in enumerate(SHAPES)]
    X, W = X.astype(np.float32), [weight.astype(np.float32) for weight in W]
    for method in ("gd", "specgd"):
        def record(name, value):
            series.setdefault(f"{method}.{name}", []).append(value)

        with clock:
            descend(W, X, y, method == "specgd", options.steps, record)
    report(clock.seconds, {}, series)


if __name__ == "__main__":
    main()
