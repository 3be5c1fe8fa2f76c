// What the ratio nr(G) / st(A) of a layer says about a spectral step: the claim and one line of advice.
#pragma once

#include <string>

#include "report/result.hpp"

namespace ranklab {

/// Where the ratio lies. From one full-gradient step, with L_F and L_op of [Spectral] eq. (1.4), the least-squares loss keeps to
///   L - ||G||_F^2 / L_F  <= L(W_GD) <= L - ||G||_F^2 / (2 L_F)  and  L - ||G||_*^2 / L_op <= L(W_SD) <= L - ||G||_*^2 / (2 L_op).
/// As (||G||_*^2 / L_op) / (||G||_F^2 / L_F) = nr(G) / st(A), the intervals are apart from a ratio of 2 on, and (the mirrored
/// comparison, which the paper does not print) up to a ratio of 1/2; in between only the guarantees can be compared.
enum class Advantage { spectral, spectral_by_guarantee, euclidean_by_guarantee, euclidean };

/// A ratio within rounding of 1/2, 1 or 2 counts as equal to it.
Advantage advantage_of(double ratio);

/// One line for the user: "Muon: ...", "either: ...", "keep Adam/SGD: ...".
std::string advice(Advantage advantage);

/// <layer>/eq-1.8: holds from a ratio of 2 on, fails below 1, not-applicable in between, where nothing is decided.
Claim advantage_claim(const std::string& layer, double nuclear_rank, double stable_rank);

}  // namespace ranklab
