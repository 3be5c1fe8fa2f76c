// Internal header of the study spectral-gap.
//
// Why |lambda_2| of softmax attention is about sqrt(1/n + 1/d)/3: the entries of W_q and W_k have
// variance 1/(3 d), so those of B = W_q W_k' have variance 1/(9 d). The scores X B X'/sqrt(d) of
// normal tokens X (n, d) are small, so P = 1 1'/n + Pi_2 X B X'/(n sqrt(d)) up to second order. Its
// second eigenvalue is therefore that of B (X'X/n)/sqrt(d). For large n and d, the spectral radius
// of a product of an independent B and S is sqrt(||S||_F^2 / (9 d)), and ||X'X/n||_F^2 = d (1 +
// d/n).
#pragma once

#include <armadillo>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "experiments/rank_collapse/spectral_gap/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::spectral_gap {

/// Laws of independent positive entries with finite moments.
enum class Law {
  uniform,      // on (0, 1)
  exponential,  // the rows are then uniform on the simplex
  lognormal,    // exp(N(0, 1))
};
inline constexpr std::array laws = {Law::uniform, Law::exponential, Law::lognormal};
std::string name_of(Law law);
/// The standard deviation of an entry divided by its mean.
double variation(Law law);

/// An n x n matrix of independent entries whose rows are divided by their sums, transposed: columns
/// sum to one.
arma::mat markov_matrix(Law law, std::uint64_t n, const Streams& streams);

/// P' of eq. (2) for X (n, d) with entries N(0, 1): columns sum to one.
arma::mat attention(std::uint64_t n, std::uint64_t d, const Streams& streams);

/// sqrt(1/n + 1/d)/3.
double predicted_second_eigenvalue(std::uint64_t n, std::uint64_t d);

struct Plan {
  explicit Plan(const SpectralGapConfig& config);

  std::vector<std::uint64_t> tokens, dim;  // ascending
};

/// The array of |lambda_2| over n, for a law or for attention of one d.
std::string array_of(Law law);
std::string array_of(std::uint64_t d);

TrialRecord run_trial(const Plan& plan, const Trial& trial);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::spectral_gap
