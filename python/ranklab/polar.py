"""The polar factor of a matrix, and Muon's approximation of it."""
import torch

# X <- a X + b X X' X + c (X X')^2 X (Jordan et al., 2024)
JORDAN = (3.4445, -4.7750, 2.0315)


def polar(g):
    """U V' of the singular value decomposition G = U S V' of ... x m x k matrices, without
    components along singular values that are zero up to rounding."""
    u, s, vh = torch.linalg.svd(g, full_matrices=False)
    kept = s > max(g.shape[-2:]) * 1e-7 * s.amax(-1, keepdim=True)
    return (u * kept.to(g.dtype)[..., None, :]) @ vh


def newton_schulz(g, coefficients=JORDAN, iterations=5, dtype=torch.bfloat16):
    """Muon's approximation of the polar factor of ... x m x k matrices, computed in dtype.

    X = G / ||G||_F, then X <- a X + (b X X' + c (X X')^2) X with the coefficients (a, b, c). The
    result has the type of G.
    """
    a, b, c = coefficients
    x = g.to(dtype)
    x = x / (torch.linalg.matrix_norm(x.float(), keepdim=True) + 1e-7).to(dtype)
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.transpose(-1, -2)
    for _ in range(iterations):
        gram = x @ x.transpose(-1, -2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x if wide else x.transpose(-1, -2)).to(g.dtype)
