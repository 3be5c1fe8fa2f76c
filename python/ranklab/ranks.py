"""Stable rank, nuclear rank, and what both are for random matrices.

    st(A) = ||A||_F^2 / ||A||_2^2            of the activations A (k x n)
    nr(G) = ||G||_*^2 / ||G||_F^2            of the gradient G (m x k)

Source: Davis and Drusvyatskiy, "When do spectral gradient updates help in deep learning?",
eq. (1.5) and (1.8): a spectral step is favored if nr(G) > st(A).

Accuracy, given A A' and G: both are exact up to rounding in float64, and the largest eigenvalue of
a wide A A' in float32 up to 1e-8. A A' is summed in the type of the samples, in float32 with a
relative error of about 1e-6. The Gram matrix of G is formed in float64, so a singular value has an
error of at most 1e-8 times the largest, and nr of about 1e-6.

Cost: all eigenvalues of the Gram matrix of G in float64. Of A A' the largest one is enough.
"""
import functools
import math

import torch

from .grams import gram_of


LANCZOS = 256  # width from which Lanczos' method is faster than all eigenvalues


def on_host(tensors):
    """The numbers of each tensor as a list. All tensors come to the host together."""
    if not tensors:
        return []
    device, out, at = tensors[0].device, [], 0
    flat = torch.cat([t.detach().reshape(-1).to(device, torch.float64) for t in tensors]).tolist()
    for t in tensors:
        out.append(flat[at:at + t.numel()])
        at += t.numel()
    return out


def stable_ranks(moments):
    """st(A) of each A A' (k x k), of its diagonal (k) if it has no other entries, or of samples
    A' (n x k) as ("samples", A'). NaN if it is zero. Equal tensors are worked on once."""
    once = {id(moment): moment for moment in moments}
    numbers = on_host([trace_and_largest(moment) for moment in once.values()])
    found = {key: trace / most if most > 0 else math.nan
             for key, (trace, most) in zip(once, numbers)}
    return [found[id(moment)] for moment in moments]


def trace_and_largest(moment):
    """[trace, largest eigenvalue] of A A', in float64; zeros for None."""
    if moment is None:
        return torch.zeros(2, dtype=torch.float64)
    if isinstance(moment, tuple):
        a = moment[1].double()
        moment = a @ a.t() if len(a) <= a.shape[1] else gram_of(a)
    exact, moment = moment.dtype == torch.float64 or len(moment) < LANCZOS, moment.double()
    if moment.dim() == 1:
        return torch.stack([moment.sum(), moment.max()])
    most = torch.linalg.eigvalsh(moment)[-1] if exact else largest_eigenvalue(moment)
    return torch.stack([moment.diagonal().sum(), most])


def largest_eigenvalue(a):
    """Of a symmetric matrix (k x k), by Lanczos' method from a random vector, reorthogonalized.

    It ends when the residual ||A v - t v|| is at most 1e-8 t, a bound of the error that is far too
    large in practice. Source: Golub and Van Loan, "Matrix Computations", chapter on Lanczos.
    """
    size, most = len(a), 256
    generator = torch.Generator(a.device).manual_seed(size)
    q = torch.randn(size, generator=generator, dtype=a.dtype, device=a.device)
    basis, t = a.new_zeros(most, size), a.new_zeros(most + 1, most + 1)  # T is tridiagonal
    q /= torch.linalg.vector_norm(q)
    for j in range(most):
        basis[j] = q
        rest = a @ q
        rounding = 1e-12 * torch.linalg.vector_norm(rest)
        t[j, j] = q @ rest
        for _ in range(2):
            rest -= (basis[:j + 1] @ rest) @ basis[:j + 1]
        length = torch.linalg.vector_norm(rest)
        length = torch.where(length > rounding, length, length.new_zeros(()))
        t[j, j + 1] = t[j + 1, j] = length
        q = torch.where(length > 0, rest / length, length)  # 0: the basis is complete
        if j % 12 == 11:
            known = t[:j + 2, :j + 2].cpu()
            values, vectors = torch.linalg.eigh(known[:-1, :-1])
            if known[-1, -2] * vectors[-1, -1].abs() <= 1e-8 * values[-1]:
                return values[-1].to(a.device)
    return torch.linalg.eigvalsh(a)[-1]


def nuclear_ranks(gradients):
    """[nr(G), ||G||_F^2] of each matrix; nr is NaN if it is zero."""
    found = []
    for g in gradients:
        g = g if len(g) <= g.shape[1] else g.t()
        if g.dtype == torch.float64:
            values = torch.linalg.svdvals(g)
        else:
            values = torch.linalg.eigvalsh(gram_of(g.t().double())).clamp(min=0).sqrt()
        square = values.square().sum()
        found.append(torch.stack([values.sum().square() / square, square]))
    return on_host(found)


def random_stable_rank(k, n):
    """st(A) of a k x n matrix of independent normal numbers: k n / (sqrt(k) + sqrt(n))^2, a closed
    form for the largest singular value of a large matrix (Bai and Yin, 1988)."""
    return k * n / (math.sqrt(k) + math.sqrt(n)) ** 2


@functools.lru_cache(None)
def random_nuclear_rank(m, k, n):
    """nr(G) of an m x k matrix of independent normal numbers; if n samples are fewer than m and k,
    of n x max(m, k), since G has at most the rank n.

    A closed form for large matrices, evaluated by the midpoint rule: with d the smaller size and
    b = d / the larger one, nr = d (integral of sqrt(x) p(x) dx)^2 with the density p of Marchenko
    and Pastur (1967), p(x) = sqrt((x - x0)(x1 - x)) / (2 pi b x), x0, x1 = (1 -+ sqrt(b))^2.
    """
    d, b, points, total = min(m, k, n), min(m, k, n) / max(m, k), 400, 0.0
    for i in range(points):  # x = 1 + b - 2 sqrt(b) cos t makes the integrand smooth at both ends
        t = math.pi * (i + 0.5) / points
        x = 1 + b - 2 * math.sqrt(b) * math.cos(t)
        total += 2 * math.sin(t) ** 2 / (math.pi * math.sqrt(x))
    return d * (total * math.pi / points) ** 2
