// Internal header of the study features: the plan of a run, the numbers that a trial records, and
// the steps from records to the result. Shapes: V, V-bar (k, d); X (d, n); A = sigma(V X), A-bar =
// sigma(V-bar X) (k, n); W-bar (k, k); B = A A'/n, B-bar = A-bar A'/n (k, k).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/spike_plus_bulk/features/config.hpp"
#include "report/size_claims.hpp"
#include "run/trials.hpp"

namespace ranklab::features {

// The plan ----------------------------------------------------------------------------------------

/// One entry of the list, with the defaults filled in.
struct Size {
  std::uint64_t k, d, n;

  /// The prefix of the names of its numbers.
  std::string prefix() const { return "k" + std::to_string(k) + "."; }
  /// The same for a wide size.
  std::string wide_prefix() const { return "wide" + std::to_string(d) + "."; }
  /// The name of the stream of the matrix `name`.
  std::string stream(const std::string& name) const { return name + "/k=" + std::to_string(k); }
};

struct Plan {
  FeaturesConfig config;
  LabelModel model;
  std::vector<Size> sizes;      // by k, ascending
  std::vector<double> k, d, n;  // of the sizes
  std::vector<Size> wide;       // by d, ascending: d^(7/4) features, without samples
  std::vector<double> wide_d;   // of the wide sizes
  std::vector<double> phi_at;   // the points t at which phi is shown
  std::string no_rates;         // why this run cannot judge exponents of d; empty if it can
  bool
      singular;  // some size has at most as many samples as features, so its covariance is singular

  bool teacher() const { return model == LabelModel::teacher; }
  bool relu() const { return config.activation == "relu"; }
  /// Why a statement about relu does not apply to this run, or "".
  std::string not_relu() const {
    return relu() ? "" : "the statement is about relu; this run uses " + config.activation;
  }
};

Plan make_plan(const FeaturesConfig& config, LabelModel model);

/// The number of features at a wide size: d to this power. Theorem 3.7 allows any power below 2.
inline constexpr double wide_power = 1.75;
/// Errors to which gradient descent is run, relative to the initial error and absolute.
inline constexpr std::array<double, 3> relative_errors = {0.1, 0.01, 0.001},
                                       absolute_errors = {1e-4, 1e-7, 1e-10};
/// The indices of the errors for which the times are judged.
inline constexpr std::size_t judged_relative = 0, judged_absolute = 1;

/// Columns of X that are drawn and multiplied at once.
inline constexpr std::uint64_t block_columns = 1024;

// Numbers of a trial, for every size, after the prefix of the size --------------------------------

// The Gram matrix of one feature map.
inline constexpr char spike[] = "spike", bulk_max[] = "bulk_max",
                      bulk_min[] = "bulk_min";    // lambda_1, lambda_2, lambda_k of B
inline constexpr char condition[] = "condition";  // of T_eta, Lemma 3.5
inline constexpr char interlacing_violations[] = "interlacing_violations";  // indices
inline constexpr char mean_ratio[] =
    "mean_ratio";  // ||mu-bar|| / ||V||_F of the sample mean mu-bar
inline constexpr char mean_coefficient[] =
    "mean_coefficient";  // least squares of mu-bar on the row norms
inline constexpr char spike_coefficient[] =
    "spike_coefficient";  // mu-bar'mu-bar of both halves of the samples / ||V||_F^2
inline constexpr char spike_formula[] = "spike_formula",
                      mean_squared_norm[] = "mean_squared_norm";  // ||mu||^2, ||mu-bar||^2
inline constexpr char mean_shift[] = "mean_shift",
                      mean_error[] = "mean_error";  // ||mu-bar - mu||; n ()^2 / tr Sigma
inline constexpr char sample_bulk_min[] = "sample_bulk_min",
                      sample_bulk_max[] = "sample_bulk_max";                   // of Sigma-bar
inline constexpr char sigma_norm[] = "sigma_norm", sigma_min[] = "sigma_min";  // of Sigma
inline constexpr char sigma_error[] = "sigma_error";  // ||Sigma-bar - Sigma|| / ||Sigma||
inline constexpr char sigma_entry_error[] = "sigma_entry_error";  // largest entry of the difference
inline constexpr char sigma_squared_error[] = "sigma_squared_error";  // see unbiased_squared_error
// The rows v_i of V: (3.3), (3.7), (3.8).
inline constexpr char squared_norm_deviation[] =
    "squared_norm_deviation";  // max | ||v_i||^2 - 1 |, the eps of (3.3)
inline constexpr char largest_squared_norm[] = "largest_squared_norm", row_cosine[] = "row_cosine";
inline constexpr char frobenius_deviation[] = "frobenius_deviation";  // | ||V||_F^2 / k - 1 |
inline constexpr char norm_excess[] = "norm_excess",
                      linear_norm[] = "linear_norm";  // ||V|| - sqrt(k/d) - 1; ||V||^2
// Expansion (3.6) of Sigma, for relu only.
inline constexpr char sigma_minus_linear_min[] =
    "sigma_minus_linear_min";                             // smallest eigenvalue of Sigma - V V'/4
inline constexpr char hadamard_norm[] = "hadamard_norm";  // ||(V V')^(o 2)||
inline constexpr char remainder_norm[] = "remainder_norm";
inline constexpr char remainder_as_printed[] = "remainder_as_printed",
                      remainder_corrected[] = "remainder_corrected",
                      remainder_rounding[] = "remainder_rounding";
// phi, once, over the plan's phi_at.
inline constexpr char phi_monte_carlo[] = "phi_monte_carlo",
                      phi_standard_error[] = "phi_standard_error";

// The cross-Gram matrix of two feature maps; also mean_coefficient.
inline constexpr char cross_spike[] = "cross_spike",
                      cross_bulk_max[] = "cross_bulk_max";  // s_1, s_2 of B-bar
inline constexpr char sigma_1[] = "sigma_1", sigma_d[] = "sigma_d",
                      sigma_d_plus_1[] = "sigma_d_plus_1";  // s_i of its bulk
inline constexpr char cross_singular_values[] = "cross_singular_values",
                      cross_bulk_singular_values[] =
                          "cross_bulk_singular_values";  // all, descending
inline constexpr char teacher_mean_coefficient[] = "teacher_mean_coefficient";
inline constexpr char mean_order[] = "mean_order",
                      definition_as_printed[] = "definition_as_printed",
                      definition_corrected[] = "definition_corrected";
inline constexpr char coefficient_linear[] = "coefficient_linear",
                      coefficient_ones[] = "coefficient_ones";
inline constexpr char cross_squared_error[] = "cross_squared_error";
inline constexpr char error_as_printed[] = "error_as_printed",
                      error_corrected[] = "error_corrected";  // of Theorem 3.7
inline constexpr char rank_one_as_printed[] = "rank_one_as_printed",
                      rank_one_corrected[] = "rank_one_corrected";
inline constexpr char spike_right_norm[] = "spike_right_norm",
                      spike_left_norm[] = "spike_left_norm";  // ||u||, ||v||
inline constexpr char gram_bulk_min[] = "gram_bulk_min",
                      gram_bulk_max[] = "gram_bulk_max";  // of Gamma
inline constexpr char linear_sigma_1[] = "linear_sigma_1",
                      linear_sigma_d[] = "linear_sigma_d";  // of V-bar V'
inline constexpr char norm_ratio[] = "ratio";               // ||M-bar||_* / ||W-bar||_F
inline constexpr char nuclear_rank_1[] =
    "nuclear_rank_1";  // of the gradient at W_1, eta = 1/(c + ||B||)
inline constexpr char distance_gram[] = "distance_gram",
                      distance_cross[] = "distance_cross";  // (3.21), (3.22)
inline constexpr char distance_gram_bound[] = "distance_gram_bound",
                      distance_cross_bound[] = "distance_cross_bound";
inline constexpr char alignment_defect[] = "alignment_defect";  // 1 - |r_0'l_0|

// The proof of Theorem 3.7. q has the entries ||v_j||^2; z_i is row i of (V-bar V')^(o 2) - 11'/d.
inline constexpr char cross_cosine[] = "cross_cosine";  // largest |t| between a v-bar_i and a v_j
inline constexpr char fourth_derivative[] =
    "fourth_derivative";  // of phi, in the Taylor remainder at that cosine
inline constexpr char taylor_remainder[] = "taylor_remainder";  // operator norm, of K by (3.16)
inline constexpr char square_mean[] = "square_mean";    // d times the mean of (V-bar V')^(o 2)
inline constexpr char square_error[] = "square_error";  // ||(V-bar V')^(o 2) - 11'/d||
inline constexpr char row_trace[] = "row_trace",
                      row_sum[] = "row_sum";  // mean ||z_i||^2, mean (1'z_i)^2, over the formula
inline constexpr char norm_defect[] = "norm_defect";      // ||q - 1||^2 d/(2k)
inline constexpr char fourth_powers[] = "fourth_powers";  // sum over i != j of <v_i, v_j>^4 d^2/k^2
// At every wide size, after its prefix: a lower bound on the error with 11'/(4 pi d), and the error
// with nu mu'/(2d).
inline constexpr char wide_ones[] = "wide_error_ones", wide_norms[] = "wide_error_norms";

// Corollary 3.8 and Assumption G; also spike, bulk_max, bulk_min and mean_shift.
inline constexpr char teacher_mean_shift[] = "teacher_mean_shift";  // ||nu-bar - nu||
inline constexpr char cross_sigma_error[] = "cross_sigma_error";    // ||Sigma-bar - Sigma||
inline constexpr char factor_bound[] = "factor_bound";              // s_d(V-bar) s_d(V)
inline constexpr char population_as_printed[] = "population_error_as_printed",
                      population_corrected[] =
                          "population_error_corrected";  // ||E||, infinitely many samples
inline constexpr char tail_as_printed[] = "population_tail_as_printed",
                      tail_corrected[] = "population_tail_corrected";        // s_(d+1), likewise
inline constexpr char cross_interlacing[] = "cross_interlacing_violations";  // indices
inline constexpr char cross_sigma_r[] = "cross_sigma_d_minus_1",
                      cross_sigma_d[] = "cross_sigma_d";  // s_(d-1), s_d of B-bar

// The proof of Theorem 3.9: R-bar'L in blocks, Q, and H = W-bar L-bar Diag(1, s_2, ...).
inline constexpr char block_row[] = "block_row",
                      block_column[] = "block_column";  // ||r_0'L_0||, ||R_0'l_0||
inline constexpr char angle_error[] = "angle_error";    // | s_(k-1)(R_0'L_0) - |r_0'l_0| |
inline constexpr char step_factor[] = "step_factor";    // 1 - eta s_1
inline constexpr char corner[] = "corner", corner_row[] = "corner_row",
                      corner_error[] = "corner_error";  // |a|, ||z||, ||E||
inline constexpr char D_max[] = "D_max", D_min[] = "D_min", Q_max[] = "Q_max",
                      Q_min[] = "Q_min";                  // extreme singular values
inline constexpr char blocked_min[] = "blocked_min";      // s_k of [a z'; 0 D]
inline constexpr char rank_quotient[] = "rank_quotient";  // nr(grad L(W_1)) / nr(H)
inline constexpr char H_nuclear[] = "H_nuclear", H_frobenius[] = "H_frobenius",
                      M_nuclear[] = "M_nuclear", W_frobenius[] = "W_frobenius", W_norm[] = "W_norm";

// (1.9) at W_0 and W_1: J/L, nr, and what the best step along the polar factor gains over the
// guarantee of GD. The times of gradient descent to relative_errors and absolute_errors.
inline constexpr char stable_rank_A[] = "stable_rank";
inline constexpr std::array<const char*, 2> hessian_ratio = {"hessian_ratio_0", "hessian_ratio_1"},
                                            gradient_rank = {"gradient_rank_0", "gradient_rank_1"},
                                            polar_gain = {"polar_gain_0", "polar_gain_1"};
inline constexpr std::array<const char*, 2> labels = {"realizable", "teacher"};
inline constexpr std::size_t realizable_labels = 0;  // index
inline constexpr std::array<const char*, 2> relative_time = {"relative_time_realizable",
                                                             "relative_time_teacher"},
                                            absolute_time = {"absolute_time_realizable",
                                                             "absolute_time_teacher"};
inline constexpr char decay[] = "decay";  // -2 log(1 - lambda_k/lambda_1)

TrialRecord run_trial(const Plan& plan, const Trial& trial);

// Judging -----------------------------------------------------------------------------------------
//
// The paper leaves most constants unspecified. Therefore "a is of order b as d grows" is judged by
// the exponent of d in a/b, fitted to every trial over the sizes of the run, with a slack for
// factors of lower order.

inline constexpr double rounding_of_norms = 1e-9;  // relative, of an inequality between norms
inline constexpr double exponent_slack = 0.1;      // of fitted exponents
inline constexpr char slack_of_exponents[] = "0.1 in the exponent of d";
inline constexpr double coefficient_band =
    0.01;  // relative, of constants measured with many samples
inline constexpr double squared_error_band = 5e-3;  // of a covariance: relative squared error
inline constexpr char slack_of_squared_error[] = "0.5 % in the squared relative error";
inline const Region does_not_grow = at_most(exponent_slack),
                    does_not_shrink = at_least(-exponent_slack);

/// Makes the claims about growth with d and about every size.
SizeClaims over_sizes(const Plan& plan, const Records& records, Claims& claims);

/// Claim: the mean at the largest size lies in `allowed`; not applicable if that size is too small
/// to measure constants. A statement of the paper becomes asymptotic, with `slack` as its
/// threshold.
void judge_at_largest(const Plan& plan, const SizeClaims& over_d, const Statement& statement,
                      const char* name, Region allowed, const std::string& slack,
                      const std::string& detail);
/// Claim: the mean at the largest size is `expected`, within a relative band.
void judge_constant(const Plan& plan, const SizeClaims& over_d, const Statement& statement,
                    const char* name, double expected, double band, const std::string& detail);

/// The bounds (3.4) on Sigma without their O term, with the smallest eps that satisfies (3.3) in
/// this run.
double eq_3_4_lower(const AtSize& at);
double eq_3_4_upper(const AtSize& at);

/// The claims about the Gram matrix of one feature map (gram_claims.cpp), and all claims about the
/// cross-Gram matrix of two (cross_claims.cpp).
void judge_gram(const Plan& plan, const SizeClaims& over_d);
void judge_cross_gram(const Plan& plan, const SizeClaims& over_d);

/// The claims about the proofs of Theorem 3.7, Corollary 3.8 and Theorem 3.9 (proof_claims.cpp)
/// with the lemmas of Appendix G (appendix_claims.cpp), and about (1.9) and the time of gradient
/// descent (time_claims.cpp). All expect relu.
void judge_proofs(const Plan& plan, const SizeClaims& over_d);
void judge_appendix(const SizeClaims& over_d);
void judge_times(const Plan& plan, const SizeClaims& over_d);
/// Lemma 3.1 (hadamard.cpp).
void judge_hadamard(const Records& records, Claims& claims);

/// The wide sizes, by d.
SizeClaims over_wide_sizes(const Plan& plan, const Records& records, Claims& claims);

/// All claims of a run.
void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::features
