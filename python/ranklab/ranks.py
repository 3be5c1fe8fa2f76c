"""Stable rank, nuclear rank, and what both are for random matrices.

    st(A) = ||A||_F^2 / ||A||_2^2            of the activations A (k x n)
    nr(G) = ||G||_*^2 / ||G||_F^2            of the gradient G (m x k)

Source: Davis and Drusvyatskiy, "When do spectral gradient updates help in deep learning?",
eq. (1.5) and (1.8): a spectral step is favored if nr(G) > st(A).
"""
import math

import torch

EXACT = 256  # up to this size all eigenvalues are computed, above it the largest alone


def stable_rank(moment=None, samples=None):
    """st(A) from A A' (k x k), from its diagonal (k) if it has no other entries, or from A'
    (samples x k). NaN without a nonzero sample."""
    if samples is not None:
        moment = samples @ samples.t() if len(samples) < samples.shape[1] else samples.t() @ samples
    if moment.dim() == 1:
        trace, largest = float(moment.double().sum()), float(moment.max())
    else:
        trace, largest = float(moment.diagonal().double().sum()), largest_eigenvalue(moment)
    return trace / largest if largest > 0 else math.nan


def nuclear_rank(g):
    """nr(G) of a matrix. In float64 from its singular values.

    Otherwise from the eigenvalues of the smaller Gram matrix in float64: a singular value has an
    error of at most 1e-8 times the largest, which is below that of gradients in float32.
    """
    if g.dtype == torch.float64:
        values = torch.linalg.svdvals(g)
    else:
        g = (g if len(g) <= g.shape[1] else g.t()).double()
        values = torch.linalg.eigvalsh(g @ g.t()).clamp(min=0).sqrt()
    total, square = torch.stack([values.sum(), values.square().sum()]).tolist()
    return total ** 2 / square if square > 0 else math.nan


def largest_eigenvalue(matrix):
    """Of a symmetric positive semidefinite matrix (k x k): Lanczos iteration with full
    reorthogonalization, to 1e-6 in float32 and 1e-15 in float64."""
    size = len(matrix)
    if size <= EXACT:
        return float(torch.linalg.eigvalsh(matrix.double())[-1])
    start = torch.randn(size, generator=torch.Generator("cpu").manual_seed(0), device="cpu",
                        dtype=torch.float64)
    v, basis, diagonal, beside, largest = start.to(matrix.device), [], [], [], 0.0
    while len(basis) < size:
        basis.append(v / v.norm())
        v = (matrix @ basis[-1].to(matrix.dtype)).double()
        known = torch.stack(basis)
        product = v @ basis[-1]
        for _ in range(2):
            v = v - known.t() @ (known @ v)
        numbers = torch.stack([product, v.norm()]).tolist()
        diagonal.append(numbers[0])
        beside.append(numbers[1])
        tridiagonal = torch.tensor(diagonal, dtype=torch.float64, device="cpu").diag()
        tridiagonal += torch.tensor(beside[:-1], dtype=torch.float64, device="cpu").diag(-1)
        values, vectors = torch.linalg.eigh(tridiagonal)
        largest, rest = float(values[-1]), beside[-1] * abs(float(vectors[-1, -1]))
        if rest <= 1e-9 * largest:  # the error of the value is about the square of this
            break
    return largest


def random_stable_rank(k, n):
    """st(A) of a k x n matrix of independent normal numbers: k n / (sqrt(k) + sqrt(n))^2, a closed
    form for the largest singular value of a large matrix (Bai and Yin, 1988)."""
    return k * n / (math.sqrt(k) + math.sqrt(n)) ** 2


def random_nuclear_rank(m, k, n):
    """nr(G) of an m x k matrix of independent normal numbers; if n samples are fewer than m and k,
    of n x max(m, k), since G has at most the rank n.

    A closed form for large matrices, evaluated by the midpoint rule: with d the smaller size and
    b = d / the larger one, nr = d (integral of sqrt(x) p(x) dx)^2 with the density p of Marchenko
    and Pastur (1967), p(x) = sqrt((x - x0)(x1 - x)) / (2 pi b x), x0, x1 = (1 -+ sqrt(b))^2.
    """
    d, large = min(m, k, n), max(m, k)
    b = d / large
    # x = center - radius cos t makes the integrand smooth at both ends.
    center, radius, points = 1 + b, 2 * math.sqrt(b), 400
    total = 0.0
    for i in range(points):
        t = math.pi * (i + 0.5) / points
        x = center - radius * math.cos(t)
        total += (radius * math.sin(t)) ** 2 / (2 * math.pi * b * math.sqrt(x))
    return d * (total * math.pi / points) ** 2
