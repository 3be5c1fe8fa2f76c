"""The largest eigenvalue of A A', from it or from the samples.

Sources: Lanczos (1950), with full reorthogonalization; block Krylov spaces: Golub and Underwood
(1977), Musco and Musco (2015).
"""
import torch

from .grams import gram_of
from .stacks import BATCH, batches, on_host

SMALL = 256  # up to this size A A' is converted to float64
STEPS = 24  # of the Lanczos iteration, before the result is looked at for the first time on a GPU
WIDTH, MOST = 8, 6  # of the block Krylov space: vectors at a time, and steps


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


def largest_of_samples(a):
    """Of A A', from the samples (n x k) in float32: in a block Krylov space, which reads them twice
    in a step. Without a sum A A' if the space holds the vector soon, as it does if the samples have
    a mean."""
    start = torch.randn(a.shape[1], WIDTH, generator=torch.Generator("cpu").manual_seed(0))
    v, basis = start.to(a), a.new_zeros(a.shape[1], 0)
    images = basis
    for _ in range(MOST):
        for _ in range(2):
            v = v - basis @ (basis.t() @ v)
        v = torch.linalg.qr(v)[0]
        basis, image = torch.cat([basis, v], 1), a.t() @ (a @ v)
        images, v = torch.cat([images, image], 1), image
        projected = (basis.t() @ images).double()
        values, vectors = torch.linalg.eigh((projected + projected.t()) / 2)
        value, vector = float(values[-1]), vectors[:, -1:].to(a)
        residual = torch.linalg.vector_norm(images @ vector - value * (basis @ vector))
        if not value > 0 or float(residual) <= 1e-5 * value:
            return value
    return largest_eigenvalues([gram_of(a)])[0]
