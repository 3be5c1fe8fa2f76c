"""[Spectral] Figures 14 and 15, one seed, in NumPy: the nuclear rank of the gradient along gradient
descent, at several k, and the window in which it is at least d/4.

    figure_14.py [--teacher] [--k 64,128,256,512]

The closed form G_t = G_0 (I - eta B)^t in the eigenbasis of B replaces the iteration, as in
ranklab, because 1024 products of k x k matrices would take longer than everything else. The window
is found by doubling t and then by bisection.
"""
import argparse

from peer import Clock, Draws, np, nuclear_rank, report, stable_rank_from_gram

SAMPLED = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


class Descent:
    """The gradients of gradient descent in the eigenbasis of B."""

    def __init__(self, G_0, eigenvalues, U, eta):
        rotated = G_0 @ U
        rotated[:, eigenvalues == 0] = 0
        self.norms = np.sqrt((rotated * rotated).sum(0))
        self.columns = rotated / np.where(self.norms > 0, self.norms, 1)
        with np.errstate(divide="ignore"):
            self.log_norms = np.log(self.norms)
            factor = np.abs(1 - eta * eigenvalues)
            self.log_factor = np.log(np.where(factor <= 2.0**-50, 0, factor))

    def nuclear_rank(self, t):
        """nr(G_t). Column sizes are relative to the largest, so that they do not underflow."""
        log_size = self.log_norms + (t * self.log_factor if t else 0)
        scaled = self.columns * np.exp(log_size - log_size.max())
        return nuclear_rank(np.linalg.svd(scaled, compute_uv=False))

    def window(self, level):
        """The first t with nr >= level, and the first later t with nr < level."""
        start = self.first(lambda t: self.nuclear_rank(t) >= level, 0)
        return start, self.first(lambda t: self.nuclear_rank(t) < level, start)

    @staticmethod
    def first(condition, low):
        if condition(low):
            return low
        high = low + 1
        while not condition(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if condition(middle) else (middle, high)
        return high


def measure(A, labels, W, d, sampled, scalars, series, at):
    n = A.shape[1]
    B = A @ A.T / n
    cross = labels @ A.T / n if labels is not A else B
    eigenvalues, U = np.linalg.eigh(B)
    eigenvalues = np.where(eigenvalues > len(B) * 2.0**-52 * eigenvalues[-1], eigenvalues, 0)
    descent = Descent(-W @ cross, eigenvalues, U, 1 / eigenvalues[-1])
    scalars[at + "stable_rank_A"] = stable_rank_from_gram(B)
    mean, label_mean = A.mean(1), labels.mean(1)
    bulk = np.linalg.eigvalsh(B - np.outer(mean, mean))
    scalars[at + "bulk_smallest"], scalars[at + "bulk_largest"] = bulk[0], bulk[-1]
    if labels is not A:
        cross_bulk = np.linalg.svd(cross - np.outer(label_mean, mean), compute_uv=False)
        scalars[at + "cross_bulk_largest"] = cross_bulk[0]
    scalars[at + "nuclear_rank_W"] = nuclear_rank(np.linalg.svd(W, compute_uv=False))
    lemma = Descent(-W @ cross, eigenvalues, U, 1 / (eigenvalues[-1] + 1))
    scalars[at + "nuclear_rank_1_offset"] = lemma.nuclear_rank(1)
    scalars[at + "window_start"], scalars[at + "window_end"] = descent.window(d / 4)
    series[at + "nuclear_rank"] = [descent.nuclear_rank(t) for t in sampled]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--teacher", action="store_true")
    parser.add_argument("--k", default="64,128,256,512")
    options = parser.parse_args()
    clock, scalars, series = Clock(), {}, {}
    draws = Draws(clock)
    for k in map(int, options.k.split(",")):
        d, n, at = k // 2, 2 * k, f"/k={k}"
        X, V = draws.normal("X" + at, (d, n)), draws.normal("V" + at, (k, d), d**-0.5)
        V_bar = draws.normal("V_bar" + at, (k, d), d**-0.5) if options.teacher else V
        name = "W_bar" if options.teacher else "W_sharp"
        W = draws.normal(name + at, (k, k), k**-0.5)
        with clock:
            A = np.maximum(V @ X, 0)
            labels = np.maximum(V_bar @ X, 0) if options.teacher else A
            measure(A, labels, W, d, SAMPLED, scalars, series, f"k{k}.")
    report(clock.seconds, scalars, series)


if __name__ == "__main__":
    main()
