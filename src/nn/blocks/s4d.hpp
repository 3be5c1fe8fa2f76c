// S4D: a diagonal state-space model per channel, post-norm ([LambdaSkip] Appendix A.13.1; Gu et
// al., 2022).
//
//   y_t[c] = sum_j K_c[j] u_{t-j}[c] + D_c u_t[c]
//   Z = GLU(W_o gelu(Y) + b_o),   GLU([a; b]) = a o sigmoid(b)
//   the block: X <- norm(lambda X + Z)
//
// Tensors, with the names and storage order of the authors' code: `kernel.C`, `kernel.log_dt`,
// `kernel.log_A_real`, `kernel.A_imag`, `D`, `output_linear.0.weight`, `output_linear.0.bias`,
// `norm.weight`, `norm.bias`. Norms other than `layer` have no gain.
#pragma once

#include <armadillo>

namespace ranklab {

/// The kernels of d channels as sums of n/2 modes, one per conjugate pair: K_c[l] = 2 Re sum_m
/// weight(c, m) pole(c, m)^l.
struct S4dModes {
  arma::cx_mat weight, pole;  // (d, n/2)
};

/// The zero-order hold of h' = A h + u, y = 2 Re C h, A = -exp(log_A_real) + i A_imag, with step dt
/// = exp(log_dt): pole = exp(dt A), weight = C (exp(dt A) - 1) / A. C (n, d): alternating real and
/// imaginary parts; log_dt (d); log_A_real and A_imag (n/2 d), channel by channel.
S4dModes s4d_modes(const arma::mat& C, const arma::vec& log_dt, const arma::vec& log_A_real,
                   const arma::vec& A_imag);

/// y_t[c] = sum_{j <= t} K_c[j] u_{t-j}[c] for U (d, N), by the recurrence of each mode: O(N n d),
/// without the kernels. Always in double precision, because a mode may remember thousands of tokens
/// and the error of its pole grows with them.
arma::mat modal_convolution(const S4dModes& modes, const arma::mat& U);

}  // namespace ranklab
