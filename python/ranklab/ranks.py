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

from .grams import add_lower, mirror

SMALL = 256  # up to this size A A' is converted to float64
BATCH = 2 ** 24  # most numbers that are stacked, so that the copies stay below about 1 GB
STEPS = 24  # of the Lanczos iteration, before the result is looked at for the first time on a GPU
# GPUs (compute capability) whose products in float64 are as fast as in float32. On an H100, 16
# matrices of 1024 x 1024 take 0.6 ms per product, and 164 ms for their eigenvalues; one of
# 4096 x 4096 takes 118 ms for its eigenvalues, which is less than its products.
FAST_FLOAT64, MOST_PRODUCTS = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0)), 2048
# X <- a X + b X X' X + c (X X')^2 X: 13 steps take singular values from 1e-7 to [0.68, 1.21] and
# keep them there (Jordan et al., 2024), 3 more to 1 within 1e-9.
JORDAN = (3.4445, -4.7750, 2.0315)
ITERATION = [JORDAN] * 13 + [(15 / 8, -10 / 8, 3 / 8)] * 3


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


def batches(matrices, most=BATCH):
    """(indices, stack) of matrices of equal shape, type and device."""
    equal = {}
    for i, matrix in enumerate(matrices):
        equal.setdefault((matrix.shape, matrix.dtype, matrix.device), []).append(i)
    for (shape, *_), indices in equal.items():
        count = max(1, most // max(1, shape.numel()))
        for at in range(0, len(indices), count):
            part = indices[at:at + count]
            yield part, (torch.stack([matrices[i] for i in part]) if len(part) > 1
                         else matrices[part[0]][None])


def moment_of(layer):
    """A A' of a layer (sums.py), or A' A of few samples, which has the same eigenvalues."""
    samples = layer.samples()
    return layer.gram if samples is None else samples @ samples.t()


def stable_ranks(moments):
    """st(A) of each A A' (k x k), or of its diagonal (k) if it has no other entries. NaN if it is
    zero."""
    once = list({id(moment): moment for moment in moments}.values())
    full = [moment for moment in once if moment.dim() == 2]
    largest = dict(zip(map(id, full), largest_eigenvalues(full)))
    numbers = on_host([torch.stack([
        (m.diagonal() if m.dim() == 2 else m).double().sum(), m.max().double()]) for m in once])
    found = {}
    for moment, (trace, entry) in zip(once, numbers):
        most = largest.get(id(moment), entry)
        found[id(moment)] = trace / most if most > 0 else math.nan
    return [found[id(moment)] for moment in moments]


def largest_eigenvalues(matrices):
    """Of symmetric positive semidefinite matrices (k x k): by all eigenvalues if they are small and
    on a CPU, else by the Lanczos iteration."""
    small = {i for i, m in enumerate(matrices) if len(m) <= SMALL and not m.is_cuda}
    out = [float(torch.linalg.eigvalsh(m.double())[-1]) if i in small else 0.0
           for i, m in enumerate(matrices)]
    rest = [i for i in range(len(matrices)) if i not in small]
    running = [([rest[i] for i in indices], Lanczos(stack))
               for indices, stack in batches([matrices[i] for i in rest], 4 * BATCH)]
    while running:
        for _, iteration in running:
            iteration.go_on()
        tables = on_host([iteration.table for _, iteration in running])
        unfinished = []
        for (indices, iteration), numbers in zip(running, tables):
            values, residuals = iteration.largest(numbers)
            for i, value in zip(indices, values):
                out[i] = value
            # The error is at most the residual, and about its square over the gap.
            rest = [j for j, (value, residual) in enumerate(zip(values, residuals))
                    if residual > iteration.limit * value]
            if rest and not iteration.ended():
                iteration.keep(rest)
                unfinished.append(([indices[j] for j in rest], iteration))
        running = unfinished
    return out


class Lanczos:
    """The Lanczos iteration with full reorthogonalization for a stack (batch x k x k).

    table: diagonal and subdiagonal (batch x 2 x steps) of the tridiagonal matrices so far.
    """

    def __init__(self, stack):
        count, size = len(stack), stack.shape[-1]
        self.stack = stack.double() if size <= SMALL else stack
        self.limit = 1e-9 if self.stack.dtype == torch.float64 else 1e-5
        start = torch.randn(size, 1, generator=torch.Generator("cpu").manual_seed(0), device="cpu",
                            dtype=torch.float64)
        self.next = (start / start.norm()).to(stack.device).expand(count, size, 1)
        self.basis, self.table = self.next[:, :, :0], self.next.new_zeros(count, 2, 0)

    def ended(self):
        return self.basis.shape[2] >= self.stack.shape[-1]

    def keep(self, which):
        """Goes on with some of the matrices."""
        if len(which) < len(self.stack):
            self.stack, self.next, self.basis, self.table = (
                t[which] for t in (self.stack, self.next, self.basis, self.table))

    def go_on(self):
        """More steps: few at a time on a CPU, where looking at the result costs nothing."""
        before = self.basis.shape[2]
        steps = max(STEPS, 2 * before) if self.stack.is_cuda else STEPS // 3 + before // 2
        steps = min(steps, self.stack.shape[-1] - before)
        self.basis = torch.cat([self.basis, self.basis.new_zeros(*self.basis.shape[:2], steps)], 2)
        self.table = torch.cat([self.table, self.table.new_zeros(len(self.stack), 2, steps)], 2)
        for j in range(before, before + steps):
            v = self.next
            self.basis[:, :, j:j + 1] = v
            known = self.basis[:, :, :j + 1]
            w = (self.stack @ v.to(self.stack.dtype)).double()
            self.table[:, 0, j] = (v * w).sum((1, 2))
            for _ in range(2):
                w = w - known @ (known.transpose(1, 2) @ w)
            length = torch.linalg.vector_norm(w, dim=1, keepdim=True)
            self.table[:, 1, j] = length[:, 0, 0]
            self.next = w / length.clamp(min=1e-300)

    def largest(self, numbers):
        """(largest eigenvalues, residuals) from the table on the host."""
        table = torch.tensor(numbers, dtype=torch.float64, device="cpu").view(self.table.shape)
        diagonal, beside = table.unbind(1)
        values, vectors = torch.linalg.eigh(
            torch.diag_embed(diagonal) + torch.diag_embed(beside[:, :-1], -1))
        residuals = beside[:, -1] * vectors[:, -1, -1].abs()
        return values[:, -1].tolist(), residuals.tolist()


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
    out = wide.new_zeros(len(stack), stack.shape[1], stack.shape[1])
    for gram, g in zip(out, wide):
        mirror(add_lower(gram, g.t()))
    return out


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
