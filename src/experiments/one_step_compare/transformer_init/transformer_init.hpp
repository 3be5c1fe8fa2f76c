// Internals of the study transformer-init: the bounds of [Spectral] Section 2.2, what a trial
// records, and the functions from the records to the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/one_step_compare/transformer_init/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::transformer_init {

// Bounds on stable ranks and column norms, with the printed constants (bounds.cpp) ----------------

/// Lemma 2.12 for ReLU: c_sigma = (1 - Phi(1)) / 2.
double relu_small_ball();

/// c_- d <= ||x_t||^2 <= c_+ d for every column x_t.
struct ColumnRange {
  double low = 0.0, high = 0.0;  // c_-, c_+
};

/// The ranges of the columns of X_att by (E.7), and of X_plus by Proposition 2.14 (i), from the
/// range of the block's input.
ColumnRange attention_columns(const ColumnRange& input, double delta);
ColumnRange output_columns(const ColumnRange& input, double delta);

/// Proposition 2.14 (ii), for a block whose input has stable rank `stable_rank_X`. The bound on
/// X_plus follows from (E.11) and the middle of (E.13).
struct BlockBounds {
  double A_rms, X_att, A_mlp_rms, B, X_plus;
};
BlockBounds block_bounds(const ColumnRange& input, double stable_rank_X, double delta);

/// ||M||_F^2 and ||M||_op^2.
struct SquaredNorms {
  double frobenius = 0.0, op = 0.0;

  double stable_rank() const { return frobenius / op; }
};

/// Lemma 2.13, eq. (2.17): bound on st(X + W H) for W (d, k) with entries N(0, 1/k); `d_over_k` is
/// d / k.
double residual_bound(const SquaredNorms& X, const SquaredNorms& H, double d_over_k, double delta);

/// Corollary 2.15 with the constants of its proof (Appendix F), delta = 1 / (8 L), from an
/// embedding whose columns have squared norms in [1 - eps, 1 + eps] d. Entry l bounds block l of
/// the paper, l = 0 ... L - 1; `final_rms` bounds RMSNorm(X^(L)).
struct DepthBounds {
  std::vector<double> X, A_rms, A_mlp_rms;
  double final_rms = 0.0;
};
DepthBounds depth_bounds(std::uint64_t layers, double eps, double one_over_p_max);

// What a trial records (trial.cpp) ----------------------------------------------------------------

/// The measured matrices of a block, from its input X to its output X_plus.
inline const std::vector<std::string> block_matrices = {"X",         "A_rms", "H",     "X_att",
                                                        "A_mlp_rms", "B",     "X_plus"};
/// The matrices whose column norms are measured.
inline const std::vector<std::string> column_matrices = {"X", "X_att", "X_plus"};

// Names of arrays with an entry for each block.
inline const auto rank_of = [](const std::string& matrix) { return matrix + ".stable_rank"; };
inline const auto frobenius_of = [](const std::string& matrix) {
  return matrix + ".frobenius_squared";
};
inline const auto operator_of = [](const std::string& matrix) {
  return matrix + ".operator_squared";
};
inline const auto column_low_of = [](const std::string& matrix) {
  return matrix + ".column_low";
};  // smallest ||m_t||^2 / d
inline const auto column_high_of = [](const std::string& matrix) {
  return matrix + ".column_high";
};  // largest ||m_t||^2 / d

// Names of scalars.
inline constexpr char inverse_p_max[] = "inverse_p_max", distinct_tokens[] = "distinct_tokens";
inline constexpr char norm_deviation[] =
    "embedding.norm_deviation";                              // largest | ||x_t||^2 / d - 1 |
inline constexpr char final_rank[] = "A_final.stable_rank";  // of RMSNorm of the last output

TrialRecord run_trial(const TransformerInitConfig& config, const Trial& trial);

// From records to the result (claims.cpp, study.cpp) ----------------------------------------------

/// The measurements of one block of one trial; blocks count from 0.
class MeasuredBlock {
 public:
  MeasuredBlock(const TrialRecord& trial, std::size_t index) : trial_(trial), index_(index) {}

  const TrialRecord& trial() const { return trial_; }
  std::size_t index() const { return index_; }
  double rank(const std::string& matrix) const { return at(rank_of(matrix)); }
  SquaredNorms norms(const std::string& matrix) const {
    return {at(frobenius_of(matrix)), at(operator_of(matrix))};
  }
  ColumnRange columns(const std::string& matrix) const {
    return {at(column_low_of(matrix)), at(column_high_of(matrix))};
  }

 private:
  double at(const std::string& name) const { return trial_.array(name).at(index_); }

  const TrialRecord& trial_;
  std::size_t index_;
};

/// A bound of Proposition 2.14 (ii).
struct BoundedRank {
  std::string matrix;
  double BlockBounds::*bound;
  std::string text;
  bool for_every_weight = false;  // not only with high probability

  /// The bound, from the measured input of the block.
  double at(const MeasuredBlock& block, double delta) const;
  /// st(matrix) over its bound.
  double over_bound(const MeasuredBlock& block, double delta) const;
};
inline const BoundedRank bounded_B = {"B", &BlockBounds::B, "st(B) <= 2 pi"};
inline const std::vector<BoundedRank> bounded_ranks = {
    {"A_rms", &BlockBounds::A_rms, "st(A_rms) <= (c_+/c_-) st(X)", true},
    {"X_att", &BlockBounds::X_att, "st(X_att) <= (1+delta)/(1-delta) (1 + 2/c_-) st(X)"},
    {"A_mlp_rms", &BlockBounds::A_mlp_rms,
     "st(A_mlp_rms) <= ((1+delta)/(1-delta))^2 (c_+ + 1)/c_- (1 + 2/c_-) st(X)"},
    bounded_B,
    {"X_plus", &BlockBounds::X_plus,
     "st(X_plus) <= 2 pi (1+delta)/(1-delta) (1 + (1+delta)(c_+ + 1) / "
     "((1/2)(1-Phi(1))(1-delta)))"},
};

/// The bounds of Corollary 2.15, from the embedding of one trial.
DepthBounds corollary_bounds(const TransformerInitConfig& config, const TrialRecord& record);

void judge(const TransformerInitConfig& config, const Records& records, Claims& claims);

}  // namespace ranklab::transformer_init
