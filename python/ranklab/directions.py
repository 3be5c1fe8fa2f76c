"""The directions D along which probe() moves a matrix with the gradient G:
    gradient       G
    polar          U V', from the singular value decomposition G = U S V'
    newton_schulz  what Muon computes in place of it (Jordan et al., 2024): X = G / ||G||_F, then
                   X <- a X + (b X X' + c (X X')^2) X
    sign           the signs of G
    optimizer      what a step of the user's optimizer subtracts from W
The last axes of a convolution count as one; a stack of experts is one matrix per expert.
"""
import torch

# X <- a X + b X X' X + c (X X')^2 X (Jordan et al., 2024)
JORDAN = (3.4445, -4.7750, 2.0315)


def directions(g, coefficients, iterations, dtype):
    """(direction -> D, residual of Newton-Schulz) for a gradient shaped like the parameter."""
    matrix = g if g.dim() == 3 and g.shape[-1] > 1 and g.shape[0] > 1 else g.flatten(1)
    exact = polar(matrix.double())
    approximate = newton_schulz(matrix, coefficients, iterations, dtype)
    residual = float((approximate.double() - exact).norm() / exact.norm())
    return ({"gradient": g, "polar": exact.to(g.dtype).reshape(g.shape),
             "newton_schulz": approximate.reshape(g.shape), "sign": g.sign()}, residual)


def polar(g):
    """U V' of ... x m x k matrices, without components along singular values that are zero up to
    rounding."""
    u, s, vh = torch.linalg.svd(g, full_matrices=False)
    kept = s > max(g.shape[-2:]) * 1e-7 * s.amax(-1, keepdim=True)
    return (u * kept.to(g.dtype)[..., None, :]) @ vh


def newton_schulz(g, coefficients=JORDAN, iterations=5, dtype=torch.bfloat16):
    """Muon's approximation of the polar factor of ... x m x k matrices, in a type."""
    a, b, c = coefficients
    x = g.to(dtype)
    x = x / (torch.linalg.matrix_norm(x.float(), keepdim=True) + 1e-7).to(dtype)
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.transpose(-1, -2)
    for _ in range(iterations):
        gram = x @ x.transpose(-1, -2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x if wide else x.transpose(-1, -2)).to(g.dtype)
