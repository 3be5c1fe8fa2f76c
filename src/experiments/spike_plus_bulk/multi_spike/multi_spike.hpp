// `--study multi-spike` of `spiked-model` and `teacher-student`: how long the nuclear rank of the
// gradient stays of the order of the dimension when the Gram matrix has several spikes ([Spectral]
// Theorem 3.6, Remark 1; Theorem 3.11, Corollary 3.12). The matrices are synthetic
// (ensembles/spiked_gram.hpp); other studies use the features of a network.
//
// This header has the parameters with the predictions of [Spectral] Section 3, the numbers that a
// trial records, and the steps from records to the result.
#pragma once

#include <array>

#include "ensembles/spiked_gram.hpp"
#include "experiments/kit.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/window.hpp"
#include "judge/size_claims.hpp"

namespace ranklab::multi_spike {

// Parameters and predictions ----------------------------------------------------------------------

/// One pair of exponents with its Gram matrices, independent of the step.
struct SpikePair {
  double low, high;  // l <= u; a single spike is d^u, so l equals u
  At place = {};  // "l=0.6,u=1": the exponents that distinguish the pair; empty for a single pair

  double smallest_spike(double d) const { return std::pow(d, low); }
  double largest_spike(double d) const { return std::pow(d, high); }

  double burn_in_scale(double d) const { return std::pow(d, high - low) * std::log(d); }
  double window_scale(double d) const { return std::pow(d, high); }
  double remark_scale(double d) const { return std::pow(d, high) * std::log(d); }
};

/// A pair and a step at one size.
struct Setting {
  std::uint64_t d;
  At place;                    // "l=0.6,u=1,c=2,d=64"
  double level, remark_level;  // nuclear ranks that count as large: d / 4 or, for the teacher, d /
                               // 5; d^(1 - eps)
  Span window, remark_window;  // predicted, with the constants of the proofs; empty if from > to
  std::uint64_t horizon;       // the last iteration examined
  std::vector<std::uint64_t> iterations;  // of the series
};

/// A pair and a step: the unit that is compared over d.
struct SpikeFamily {
  SpikePair pair;
  double c;
  At place;                       // "l=0.6,u=1,c=2"
  std::vector<Setting> settings;  // in the order of --d
};

/// The name of a scalar, series or claim contains l=, u=, c= if the flag has several values, and
/// always d=. The plain names `burn_in`, `window_end` and so on belong to the last value of every
/// list.
struct Config : Study {
  Config(LabelModel of = LabelModel::realizable) : model(of) {}

  LabelModel model;
  std::vector<std::uint64_t> d = {64, 128,
                                  256};  // k = m = d; exponents require at least three sizes
  std::uint64_t spikes = 4;  // r of Assumption F, p of Assumption H, at most the smallest d
  std::vector<double> spike_low = {0.75};  // l: the smallest spike is d^l
  std::vector<double> spike_high = {
      1.0};                       // u: the largest spike is d^u; every pair with l <= u is run
  std::vector<double> c = {2.0};  // step eta = 1 / (c ||B||)
  std::uint64_t steps = 0;        // last iteration examined; 0: 20 c d^u log d, rounded up
  double epsilon =
      0.5;  // eps of Remarks 1 and 2: the longer window has nr >= d^(1 - eps), in (0, 1)

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  /// Claims on every pair and family: the matrices, the window, the burn-in, (3.11) or Theorem
  /// 3.11, Remark 1 or 2.
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool teacher() const { return model == LabelModel::teacher; }
  std::vector<SpikePair> pairs() const;       // every l with every u >= l
  std::vector<SpikeFamily> families() const;  // every pair with every c
};

/// The range of the bulk spectrum: c_1 and c_2 of Assumption F.
inline constexpr double c_1 = SpikedShape{}.bulk_low, c_2 = SpikedShape{}.bulk_high;

/// A pair or family at one size: "l=0.6,u=1,d=64".
At at_size(const At& place, std::uint64_t d);
/// Of a pair or family over its sizes: "l=0.6,u=1,burn_in".
Quantity over_all_sizes(const At& place, const Measure& measure);

// Numbers of a trial ------------------------------------------------------------------------------
// Events that do not happen up to the horizon are NaN.

// Of every family and size.
inline constexpr Measure
    ranks = {"nuclear_rank", "nr(G_t)", "nuclear rank of the gradient at iteration t"},
    nuclear_rank_0 = {"nuclear_rank_0", "nr(G_0)", "nuclear rank of the gradient at W_0"},
    nuclear_rank_1 = {"nuclear_rank_1", "nr(G_1)",
                      "nuclear rank of the gradient after the first step"},
    burn_in = {"burn_in", "", "first t at which nr(G_t) reaches the level, a multiple of d"},
    burn_in_crossing =
        {"burn_in_crossing", "",
         "where nr(G_t) reaches the level between two iterations, log nr interpolated"},
    window_end = {"window_end", "", "first later t at which nr(G_t) is below the level"},
    window_length = {"window_length", "", "iterations from the burn-in to the end of the window"},
    remark_burn_in = {"remark_burn_in", "", "first t with nr(G_t) >= d^(1 - eps)"},
    remark_window_end = {"remark_window_end", "", "first later t with nr(G_t) < d^(1 - eps)"},
    peak = {"peak", "max_t nr(G_t)", "largest nuclear rank of the gradient, up to 0.1 %"},
    peak_iteration = {"peak_iteration", "t", "iteration of the largest nuclear rank"},
    window_nuclear = {"window_nuclear", "min_t ||G_t||_*",
                      "smallest nuclear norm of the gradient over the predicted window"},
    window_frobenius = {"window_frobenius", "max_t ||G_t||_F",
                        "largest Frobenius norm of the gradient over the predicted window"},
    evaluations = {"evaluations", "", "singular value decompositions that the search needed"};
// M-bar: the columns of W# U beyond the spikes, or columns p + 1 to r - p of W-bar L-bar. M_nuclear
// is also recorded for every pair and size.
inline constexpr Measure M_nuclear = {"M_nuclear", "||M-bar||_*", "nuclear norm of M-bar"},
                         M_frobenius = {"M_frobenius", "||M-bar||_F", "Frobenius norm of M-bar"},
                         W_frobenius = {"W_frobenius", "||W||_F",
                                        "Frobenius norm of the weights behind the labels"};

// Of every pair and size: the hypotheses as measured, where S is the signal of the Gram matrix.
inline constexpr Measure
    bulk_smallest = {"bulk_smallest", "lambda_k(Sigma)", "smallest eigenvalue of the bulk"},
    bulk_largest = {"bulk_largest", "||Sigma||", "largest eigenvalue of the bulk"},
    spike_smallest = {"spike_smallest", "lambda_r(S)", "smallest spike"},
    spike_largest = {"spike_largest", "||S||", "largest spike"},
    signal_smallest = {"signal_smallest", "lambda_k(S)", "smallest eigenvalue of the signal"},
    signal_remainder = {"signal_remainder", "",
                        "largest eigenvalue of the signal outside the spikes, 0 to rounding"},
    eigenvalue_gap = {"eigenvalue_gap", "lambda_r(B)/lambda_(r+1)(B)",
                      "smallest spike of the Gram matrix over the rest"},
    W_norm = {"W_norm", "||W||", "operator norm of the weights behind the labels"};
// For the teacher, also the cross-Gram matrix and the subspaces of the proof of Theorem 3.11.
inline constexpr Measure
    cross_bulk_norm = {"cross_bulk_norm", "||Sigma||", "norm of the bulk of the cross-Gram matrix"},
    cross_bulk_smallest = {"cross_bulk_smallest", "s_r(Sigma)",
                           "smallest singular value of the bulk of the cross-Gram matrix"},
    cross_bulk_remainder = {"cross_bulk_remainder", "s_(r+1)(Sigma)",
                            "largest further singular value of that bulk, 0 to rounding"},
    lambda_cross_rank = {"lambda_cross_rank", "lambda_r(B)", "eigenvalue at the rank r of Sigma"},
    lambda_spikes = {"lambda_spikes", "lambda_p(B)", "eigenvalue at the number p of spikes"},
    left_distance = {"left_distance", "||UU' - L_1 L_1'||",
                     "distance of the spikes from the top eigenvectors of B, (3.24)"},
    right_distance =
        {"right_distance", "||UU' - R_1 R_1'||",
         "distance of the spikes from the top right singular vectors of B-bar, (3.25)"},
    left_vector_distance = {"left_vector_distance", "",
                            "distance of the spike from the top eigenvector of B, (3.21)"},
    right_vector_distance =
        {"right_vector_distance", "",
         "distance of the spike from the top right singular vector of B-bar, (3.22)"},
    leak = {"leak", "||S-bar_1 R_1' L_2||",
            "what the spikes of the cross-Gram matrix pass to the bulk directions of B"};

// From a trial to the result ----------------------------------------------------------------------

TrialRecord run_trial(const Config& config, const Trial& trial);

/// The sizes of a family or a pair.
Sizes sizes_over_d(const Config& config, const At& place);
/// Makes the claims over d from the numbers of a family or a pair.
SizeClaims over_sizes(const Config& config, const At& place, const Records& records,
                      Claims& claims);

using Prediction = double (SpikePair::*)(double d) const;
/// A number of a family, divided by its prediction; refers to the pair.
Metric over(const Measure& measure, const SpikePair& pair, Prediction prediction);

/// Per trial, b of burn_in / d^(u-l) = a + b log d; NaN if fewer than three sizes reach the level.
/// A burn-in that crosses the level within the first iteration counts as one iteration, the
/// shortest possible burn-in.
std::vector<double> burn_in_slopes(const SpikeFamily& family, const Records& records);

/// How far an exponent may be from the predicted one: 1 / log d, averaged over the sizes. A factor
/// log d moves the exponent by that much, so sizes within a factor of a few cannot distinguish
/// orders that differ by a logarithm.
double exponent_tolerance(const Config& config);

/// "/l=0.6,c=2" of "l=0.6,c=2,": the end of the ids of claims about a family or pair.
std::string id_suffix(const At& place);

/// Claim: the exponent of d in the ratio, from a power law fitted to each trial, lies in `allowed`.
/// A statement of the paper becomes asymptotic.
void judge_exponent(const SizeClaims& over_d, const Statement& statement, const Metric& ratio,
                    Region allowed,
                    const std::string& detail = "exponent of d in the ratio of the two sides");

/// Claims on one pair's matrices: Assumption F, or Assumption H and the proof of Theorem 3.11.
void judge_matrices(const Config& config, const SpikePair& pair, const SizeClaims& over_d);

/// The sizes of the counterexample to the theorems as printed (spike_order.cpp).
inline constexpr std::array<double, 4> sizes_of_example = {64, 128, 256, 512};
/// nr(B (I - eta B)^t) for one spike and a bulk evenly spread over [1, 2]; eta = 1/(c ||B||).
double nuclear_rank_of_example(double d, double spike, double c, double t);
/// Claims that the theorems are false without a spike of order d^u, and true of this model with it.
void judge_spike_order(const Config& config, Claims& claims);
/// Marks a claim as one about the theorem with that condition, under which a family is judged.
template <class S>
S with_spike_order(S statement) {
  statement.misprint_of = statement.statement_id + "/spike-order/as-printed";
  statement.text += ", if lambda_1(B) is of order d^u";
  return statement;
}

}  // namespace ranklab::multi_spike
