"""Stable rank, nuclear rank, and what both are for random matrices.

    st(A) = ||A||_F^2 / ||A||_2^2            of the activations A (k x n)
    nr(G) = ||G||_*^2 / ||G||_F^2            of the gradient G (m x k)

Source: Davis and Drusvyatskiy, "When do spectral gradient updates help in deep learning?",
eq. (1.5) and (1.8): a spectral step is favored if nr(G) > st(A).

Accuracy, given A A' and G. In float64 both are exact up to rounding. In float32 the largest
eigenvalue of A A' has a relative error of about 1e-6, or 1e-15 up to k = 256. Of G in float32 the
Gram matrix is formed in float64, so a singular value has an error of at most 1e-8 times the
largest; nr is then exact to 1e-6 or better.
"""
import functools
import math

import torch

from .eigenvalues import largest_eigenvalues, largest_of_samples
from .grams import gram_of
from .stacks import batches, on_host

# GPUs (compute capability) whose products in float64 are as fast as in float32. On an H100, 16
# matrices of 1024 x 1024 take 0.6 ms per product, and 164 ms for their eigenvalues; one of
# 4096 x 4096 takes 118 ms for its eigenvalues, which is less than its products.
FAST_FLOAT64, MOST_PRODUCTS = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0)), 2048
# X <- a X + b X X' X + c (X X')^2 X: 13 steps take singular values from 1e-7 to [0.68, 1.21] and
# keep them there (Jordan et al., 2024), 3 more to 1 within 1e-9.
JORDAN = (3.4445, -4.7750, 2.0315)
ITERATION = [JORDAN] * 13 + [(15 / 8, -10 / 8, 3 / 8)] * 3


def moment_of(layer):
    """A A' of a layer (sums.py); of few samples A' A, which has the same eigenvalues; many samples
    that were kept, as they are."""
    samples = layer.samples()
    if samples is None:
        return layer.gram
    n, k = samples.shape
    return samples @ samples.t() if 2 * n <= k else gram_of(samples) if n == k else samples


def stable_ranks(moments):
    """st(A) of each A A' (k x k), of its diagonal (k) if it has no other entries, or of samples
    (another number x k). NaN if it is zero."""
    once = list({id(moment): moment for moment in moments}.values())
    full = [moment for moment in once if moment.dim() == 2 and len(moment) == moment.shape[1]]
    largest = dict(zip(map(id, full), largest_eigenvalues(full)))
    largest.update({id(m): largest_of_samples(m) for m in once
                    if m.dim() == 2 and id(m) not in largest})
    numbers = on_host([torch.stack([trace_of(m), (m if m.dim() == 1 else m[:1, :1]).max().double()])
                       for m in once])
    found = {}
    for moment, (trace, entry) in zip(once, numbers):
        most = largest.get(id(moment), entry)
        found[id(moment)] = trace / most if most > 0 else math.nan
    return [found[id(moment)] for moment in moments]


def trace_of(moment):
    if moment.dim() == 1:
        return moment.double().sum()
    if len(moment) == moment.shape[1]:
        return moment.diagonal().double().sum()
    return torch.linalg.vector_norm(moment, dim=1).double().square().sum()


def nuclear_ranks(gradients):
    """[nr(G), ||G||_F^2] of each matrix; nr is NaN if it is zero."""
    found, out = [], [None] * len(gradients)
    for indices, stack in batches([g if len(g) <= g.shape[1] else g.t() for g in gradients]):
        if stack.dtype == torch.float64:
            values = torch.linalg.svdvals(stack)
            total, square = values.sum(-1), values.square().sum(-1)
        else:
            gram = grams(stack)
            square = gram.diagonal(0, 1, 2).sum(-1)
            total = (nuclear_norms(gram, square) if products_pay(gram) else
                     torch.linalg.eigvalsh(gram).clamp(min=0).sqrt().sum(-1))
        found.append((indices, torch.stack([total.square() / square, square], 1)))
    for (indices, _), numbers in zip(found, on_host([table for _, table in found])):
        for place, i in enumerate(indices):
            out[i] = numbers[2 * place:2 * place + 2]
    return out


def grams(stack):
    """G G' of each G, in float64."""
    wide = stack.double()
    if stack.is_cuda or stack.shape[1] <= 64:
        return wide @ wide.transpose(1, 2)
    return torch.stack([gram_of(g.t()) for g in wide])


def products_pay(gram):
    return gram.is_cuda and 32 < gram.shape[-1] <= MOST_PRODUCTS and (
        torch.cuda.get_device_capability(gram.device) in FAST_FLOAT64)


def nuclear_norms(gram, square):
    """||G||_* of each G from G G' (batch x d x d) and ||G||_F^2, by products alone.

    ||G||_* = tr(polar(G) G'). With X = G / ||G||_F at first, h = X X' and s = X G' / ||G||_F are
    polynomials of G G', and a step X <- q X has s <- q s and h <- q h q. A singular value of less
    than 1e-7 ||G||_F may be counted in part.
    """
    h = gram / square[:, None, None]
    s = h
    for a, b, c in ITERATION[:-1]:
        q = torch.baddbmm(h, h, h, beta=b, alpha=c)
        q.diagonal(0, 1, 2).add_(a)
        s, h = q @ s, q @ h @ q
    a, b, c = ITERATION[-1]
    return square.sqrt() * (a * s.diagonal(0, 1, 2).sum(-1) + b * (h * s).sum((1, 2))
                            + c * ((h @ h) * s).sum((1, 2)))


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
