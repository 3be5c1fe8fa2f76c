"""[Spectral] Figure 12, one draw, in NumPy: stable ranks of post-activations for three kinds of
first-layer weights and over five layers, and of token embeddings.

The table of moments, which ranklab computes once per run by quadrature, is not in the peer.
"""
from peer import Clock, Draws, np, open_uniform, report, stable_rank_from_gram
from scipy.special import expit, ndtr

K, D, N, DEPTH, RANK, VOCABULARY, TOKENS, ZIPF = 512, 256, 2048, 5, 5, 50257, 16384, 0.86
ACTIVATIONS = {"abs": np.abs, "relu": lambda z: np.maximum(z, 0),
               "leaky-relu": lambda z: np.maximum(z, 0.1 * z),
               "relu2": lambda z: np.square(np.maximum(z, 0)),
               "gelu": lambda z: z * ndtr(z), "silu": lambda z: z * expit(z),
               "quadratic": np.square}


def stable_rank(A):
    return stable_rank_from_gram(A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A)


def orthonormal(G):
    Q, R = np.linalg.qr(G)
    return Q * np.sign(np.diag(R))


def layers(draws, clock, scalars, series):
    X, kinds = draws.normal("X", (D, N)), {"": draws.normal("W1", (K, D), D**-0.5)}
    left = draws.normal("W.low_rank.left", (K, RANK), RANK**-0.5)
    right = draws.normal("W.low_rank.right", (RANK, D), D**-0.5)
    power = [draws.normal(f"W.power_law.{side}", (rows, D))
             for side, rows in (("left", K), ("right", D))]
    deep = [draws.normal(f"W{layer}", (K, K), K**-0.5) for layer in range(2, DEPTH + 1)]
    with clock:
        kinds["_low_rank"] = left @ right
        s = 1.0 / np.arange(1, D + 1)
        s *= np.sqrt(K) / np.linalg.norm(s)
        kinds["_power_law"] = orthonormal(power[0]) * s @ orthonormal(power[1]).T
        scalars["X.stable_rank"] = stable_rank(X)
        for suffix, W in kinds.items():
            scalars["W.stable_rank" + suffix] = stable_rank(W)
            Z = W @ X
            for name, activation in ACTIVATIONS.items():
                if name != "quadratic" or not suffix:
                    A = activation(Z)
                    scalars[f"{name}.stable_rank{suffix}"] = stable_rank(A)
                if not suffix:
                    ranks = [scalars[f"{name}.stable_rank"]]
                    for weights in deep:
                        A = activation(weights @ A)
                        if name in ("relu2", "quadratic"):  # the scale is squared in each layer
                            A /= np.abs(A).max()
                        ranks.append(stable_rank(A))
                    series[f"{name}.depth.stable_rank"] = ranks
    del scalars["quadratic.stable_rank"]


def tokens(draws, clock, scalars):
    a, b, c, d = draws.words("tokens", TOKENS)
    u = np.stack([open_uniform(a, b), open_uniform(c, d)], 1).ravel()
    with clock:
        draws.generator.random(TOKENS)
        cumulative = np.cumsum(np.arange(1.0, VOCABULARY + 1) ** -ZIPF)
        ids = np.searchsorted(cumulative[:-1], u * cumulative[-1], side="right")
        _, counts = np.unique(ids, return_counts=True)
    E = draws.normal("E", (D, len(counts)))
    with clock:
        scalars["token_indicator.stable_rank"] = TOKENS / counts.max()
        weighted = E * np.sqrt(counts)
        scalars["embedding.stable_rank"] = stable_rank(weighted)
        weighted *= np.sqrt(D) / np.linalg.norm(E, axis=0)
        scalars["embedding_rms.stable_rank"] = stable_rank(weighted)


def main():
    clock, scalars, series = Clock(), {}, {}
    draws = Draws(clock)
    layers(draws, clock, scalars, series)
    tokens(draws, clock, scalars)
    report(clock.seconds, scalars, series)


if __name__ == "__main__":
    main()
