// Internal header of the study stable-rank: what a trial records, the claims that are judged from
// the records and by quadrature, and the steps from records to the result.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/random_features/stable_rank/config.hpp"
#include "models/activations.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::stable_ranks {

/// Quantities that follow from the config.
struct Plan {
  explicit Plan(const StableRankConfig& given);
  bool listed(const std::string& activation) const {
    return std::ranges::count(config.activation, activation) > 0;
  }

  StableRankConfig config;
  std::vector<std::string> stacks;  // activations of the deep networks: those listed, and
                                    // quadratic, which Theorem 2.8 is about
  std::vector<std::string>
      covered;          // those listed that Theorems 2.6 and 2.7 cover: relu, abs, leaky-relu
  double largest_rank;  // of any A_l: min(k, n)
};

// What a trial records ----------------------------------------------------------------------------

/// The three fixed first-layer weights of Theorem 2.6, all with rows of mean square norm 1.
enum class FirstWeights { dense, low_rank, power_law };
struct WeightKind {
  FirstWeights weights;
  std::string claim;   // last part of a claim's id
  std::string suffix;  // of a scalar's name
};
inline const WeightKind weight_kinds[] = {{FirstWeights::dense, "dense", ""},
                                          {FirstWeights::low_rank, "low-rank", "_low_rank"},
                                          {FirstWeights::power_law, "power-law", "_power_law"}};

inline constexpr char X_rank[] = "X.stable_rank";
inline const auto W_rank = [](const WeightKind& kind) { return "W.stable_rank" + kind.suffix; };
// The stable rank of sigma(W X), for each listed activation; and those of A_1 ... A_depth, an
// array, for all stacks.
inline const auto layer_rank = [](const std::string& sigma, const WeightKind& W) {
  return sigma + ".stable_rank" + W.suffix;
};
inline const auto depth_ranks = [](const std::string& sigma) {
  return sigma + ".depth.stable_rank";
};

// Stable ranks for the token sequence: of its indicator H, of its embedding X, and of the embedding
// with RMS-normalized columns.
inline constexpr char indicator_rank[] = "token_indicator.stable_rank",
                      inverse_p_max[] = "token_indicator.inverse_p_max";
inline constexpr char embedding_rank[] = "embedding.stable_rank",
                      embedding_rms_rank[] = "embedding_rms.stable_rank";
inline constexpr char norm_deviation[] =
    "embedding.norm_deviation";  // largest | ||e_j||^2 / d - 1 |
inline constexpr char distinct_tokens[] = "embedding.distinct_tokens";

TrialRecord run_trial(const Plan& plan, const Trial& trial);

// Figure 12, by quadrature (table.cpp) ------------------------------------------------------------

/// One row of the table: inequality (2.9), alpha f <= (E sigma)^2 and E sigma^2 <= beta f, and the
/// last column, NSR(z) <= beta / alpha. It is checked for a W with equal rows and for a W with one
/// row of each variance. Each listed variance in turn belongs to the row of W that sets s_*; every
/// listed variance that is at least as large is then a row of W. The claims' ids are
/// spectral/fig-12/<name> and <name>/nsr. If the row has an s_*, the reading of s_* follows in the
/// id.
void judge_row(const std::string& name, const Activation& activation, const PrintedMoments& printed,
               const std::vector<double>& variances, Claims& claims);

/// The rows of all listed activations.
void judge_table(const StableRankConfig& config, Claims& claims);

// The theorems and the lemma (claims.cpp) ---------------------------------------------------------

/// Theorems 2.6 and 2.7.
void judge_one_layer(const Plan& plan, const Records& records, Claims& claims);
void judge_random_layers(const Plan& plan, const Records& records, Claims& claims);

/// Theorem 2.7 with n in the exponent as printed, and with the rows of W_l. Its example: a Gaussian
/// 4 x 4 matrix W whose positive entries are those of a permutation and lie in [1, largest_entry].
/// Then st(relu(W)) >= 1 + 3/largest_entry^2 = 3.241, above the bound 1.01/0.99^2 pi = 3.2374.
void judge_exponent(Claims& claims);
inline constexpr double largest_entry = 1.157;
/// The probability of such a W, 8.8e-9.
double failure_of_copies();

/// [Spectral] eq. (2.12): the bound on st(A_l) with quadratic activations as printed, 27 *
/// 3^(2^(l+2)) / (2c), infinite if it overflows; and the number of samples that Theorem 2.8
/// requires for it, 9 * 3^(2^(l+1)) log(1/(2c)) / 32.
double quadratic_bound(std::uint64_t layer, double c);
double quadratic_samples(std::uint64_t layer, double c);

/// Theorem 2.8, one claim for each layer up to the second: the third needs 8.4 million samples.
inline constexpr std::uint64_t deepest_quadratic = 2;
void judge_quadratic(const Plan& plan, const Records& records, Claims& claims);

/// Eq. (2.15), its remark about Zipf's law, and Lemma 2.9.
void judge_tokens(const StableRankConfig& config, const Records& records, Claims& claims);

/// All claims of the study.
void judge(const Plan& plan, const Records& records, Claims& claims);

// The result (report.cpp) -------------------------------------------------------------------------

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::stable_ranks
