"""[Spectral] Figure 3, one seed, in NumPy: GD, SpecGD, and SpecGD restarted from GD every 100
iterations and from the peak of nr.

The eigenbasis of B is used as in ranklab: an n-sized gradient costs more, and leaves rounding noise
in the direction that the first step of GD clears. The polar factor comes from LAPACK's singular
value decomposition, which is the way to it in NumPy.
"""
import argparse

from peer import Clock, Draws, np, nuclear_rank, report

M, K, D, N = 100, 100, 50, 400
ROUNDING = M * 2.0**-52


def gap(E, eigenvalues):
    return 0.5 * (eigenvalues @ (E * E).sum(0))


def spectral_descent(E, eigenvalues, trace, steps):
    """The objective gaps and nuclear ranks along SpecGD."""
    gaps, ranks = [], []
    for _ in range(steps + 1):
        gaps.append(gap(E, eigenvalues))
        G = E * eigenvalues
        U, s, Vt = np.linalg.svd(G, full_matrices=False)
        ranks.append(nuclear_rank(s))
        rank = int((s > ROUNDING * s[0]).sum())
        next_E = E - s.sum() / trace * (U[:, :rank] @ Vt[:rank])
        zero = (G == 0).all(0)
        next_E[:, zero] = E[:, zero]
        E = next_E
    return gaps, ranks


def descend(A, W_sharp, steps):
    """All runs of the figure, as (scalars, series)."""
    eigenvalues, U = np.linalg.eigh(A @ A.T / N)
    eigenvalues, U = eigenvalues[::-1], U[:, ::-1]
    eigenvalues = np.where(eigenvalues > ROUNDING * eigenvalues[0], eigenvalues, 0)
    start, trace = -W_sharp @ U, eigenvalues.sum()
    E, gaps, ranks, restarts, largest = start, [], [], [], -1.0
    for t in range(steps + 1):
        gaps.append(gap(E, eigenvalues))
        ranks.append(nuclear_rank(np.linalg.svd(E * eigenvalues, compute_uv=False)))
        if ranks[-1] > largest:
            largest, peak = ranks[-1], ("specgd_from_peak", t, E)
        if t % 100 == 0 and 0 < t < steps:
            restarts.append((f"specgd_from_{t}", t, E))
        E = E * (1 - eigenvalues / eigenvalues[0])
    series = {"gd.objective_gap": gaps, "gd.nuclear_rank": ranks}
    for name, t, E in [("specgd", 0, start), peak, *restarts]:
        gaps, ranks = spectral_descent(E, eigenvalues, trace, steps - t)
        series[f"{name}.objective_gap"] = gaps
        series[f"{name}.nuclear_rank"] = ranks
    return {"stable_rank_A": trace / eigenvalues[0], "gd.nuclear_rank_peak": largest}, series


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    clock = Clock()
    draws = Draws(clock)
    X, V = draws.normal("X", (D, N)), draws.normal("V", (K, D), D**-0.5)
    W_sharp = draws.normal("W_sharp", (M, K), K**-0.5)
    with clock:
        scalars, series = descend(np.maximum(V @ X, 0), W_sharp, options.steps)
    report(clock.seconds, scalars, series)


if __name__ == "__main__":
    main()
