// `--study features` of `spiked-model` and `teacher-student`: post-activations of Gaussian inputs
// compared with the formulas of [Spectral] Section 3: mean vector, covariance, phi (Figure 16),
// Theorems 3.2, 3.4 and Lemmas 3.3, 3.5 for the Gram matrix of one feature map; Theorem 3.7,
// Corollary 3.8, Theorem 3.9, Lemma 3.1, eq. (1.9) and the training time of Section 1 for the
// cross-Gram matrix of two.
//
// Shapes: V, V-bar (k, d); X (d, n); A = sigma(V X), A-bar = sigma(V-bar X) (k, n); W-bar (k, k);
// B = A A'/n, B-bar = A-bar A'/n (k, k). Each part of the paper has a file with its measurements
// and its claims.
#pragma once

#include <armadillo>
#include <array>

#include "ensembles/activations.hpp"
#include "experiments/kit.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "judge/size_claims.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::features {

// Parameters --------------------------------------------------------------------------------------

/// One size of a run.
struct Size {
  std::uint64_t k, d, n;

  /// The place of its numbers, "k64".
  At place() const { return {"k", k, say("k{}", k)}; }
  /// The same for a wide size.
  At wide_place() const { return {"wide_d", d, say("wide{}", d)}; }
  /// The name of the stream of the matrix `name`.
  std::string stream(const std::string& name) const { return say("{}/k={}", name, k); }
};
/// k, d or n of every size.
std::vector<double> of_each(const std::vector<Size>& sizes, std::uint64_t Size::*number);

struct Config : Study {
  Config(LabelModel of = LabelModel::realizable) : model(of) {}

  LabelModel model;
  std::vector<std::uint64_t> k = {128, 256, 512, 1024};  // features, a list
  std::uint64_t d = 0;                                   // input dimension; 0: k/2 for each k
  std::uint64_t n = 0;                                   // samples; 0: 2k for each k
  std::string activation = "relu";                       // sigma, not gated
  double offset = 1.0;                                   // c of the step 1/(c + ||B||_op), positive
  std::vector<std::uint64_t> wide_d = {16, 24, 40, 64};  // input dimensions at which Theorem 3.7 is
                                                         // measured with d^(7/4) features, a list
  std::uint64_t phi_points = 41;      // points t at which phi is shown, from -1 to 1
  std::uint64_t phi_samples = 65536;  // samples of the Monte Carlo estimate of phi

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override;
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool teacher() const { return model == LabelModel::teacher; }
  bool relu() const { return activation == "relu"; }
  /// Why a statement about relu does not apply to this run, or "".
  std::string not_relu() const;
  /// Why the sizes of this run are not proportional to a growing d, or "".
  std::string why_no_rates() const;
  std::vector<Size> sizes() const;     // by k, ascending
  std::vector<Size> wide() const;      // by d, ascending: d^(7/4) features, without samples
  std::vector<double> phi_at() const;  // the points t at which phi is shown
  /// Some size has at most as many samples as features, so its covariance is singular.
  bool singular() const;
  bool tall() const;  // k > d at every size
};

/// The number of features at a wide size: d to this power. Theorem 3.7 allows any power below 2.
inline constexpr double wide_power = 1.75;
/// Errors to which gradient descent is run, relative to the initial error and absolute.
inline constexpr std::array<double, 3> relative_errors = {0.1, 0.01, 0.001},
                                       absolute_errors = {1e-4, 1e-7, 1e-10};
/// The indices of the errors for which the times are judged.
inline constexpr std::size_t judged_relative = 0, judged_absolute = 1;
/// Columns of X that are drawn and multiplied at once.
inline constexpr std::uint64_t block_columns = 1024;

// Numbers of a trial, at the place of each size
// ----------------------------------------------------

// The Gram matrix of one feature map.
inline constexpr Measure spike = {"spike", "lambda_1(B)",
                                  "largest eigenvalue of the Gram matrix B"},
                         bulk_max = {"bulk_max", "lambda_2(B)", "second largest eigenvalue of B"},
                         bulk_min = {"bulk_min", "lambda_k(B)", "smallest eigenvalue of B"},
                         condition = {"condition", "cond(T)",
                                      "condition number of T = (I - eta B) B of Lemma 3.5"},
                         interlacing_violations = {
                             "interlacing_violations", "",
                             "indices at which the interlacing of Lemma 3.5 fails"};
// The sample mean mu-bar, and mu by its formula.
inline constexpr Measure
    mean_ratio = {"mean_ratio", "||mu-bar|| / ||V||_F",
                  "norm of the mean feature over the norm of the weights"},
    mean_coefficient = {"mean_coefficient", "",
                        "least-squares coefficient of the mean feature on the row norms of V"},
    spike_coefficient = {"spike_coefficient", "||mu||^2 / ||V||_F^2",
                         "unbiased estimate from both halves of the samples"},
    spike_formula = {"spike_formula", "||mu||^2",
                     "squared norm of the mean feature, by its formula"},
    mean_squared_norm = {"mean_squared_norm", "||mu-bar||^2",
                         "squared norm of the sample mean of the features"},
    mean_shift = {"mean_shift", "||mu-bar - mu||", "distance of the sample mean from the mean"},
    mean_error = {"mean_error", "n ||mu-bar - mu||^2 / tr(Sigma)",
                  "squared error of the sample mean, over its expectation"};
// The sample covariance Sigma-bar, and Sigma by its formula.
inline constexpr Measure
    sample_bulk_min = {"sample_bulk_min", "lambda_k(Sigma-bar)",
                       "smallest eigenvalue of the sample covariance"},
    sample_bulk_max = {"sample_bulk_max", "||Sigma-bar||",
                       "largest eigenvalue of the sample covariance"},
    sigma_norm = {"sigma_norm", "||Sigma||", "largest eigenvalue of the covariance"},
    sigma_min = {"sigma_min", "lambda_k(Sigma)", "smallest eigenvalue of the covariance"},
    sigma_error = {"sigma_error", "||Sigma-bar - Sigma|| / ||Sigma||",
                   "relative error of the sample covariance in operator norm"},
    sigma_entry_error = {"sigma_entry_error", "max_ij |Sigma-bar - Sigma|_ij",
                         "largest error of an entry of the sample covariance"},
    sigma_squared_error = {
        "sigma_squared_error", "",
        "squared relative error of the formula of Sigma, by an unbiased estimate"};
// The rows v_i of V: (3.3), (3.7), (3.8).
inline constexpr Measure squared_norm_deviation = {"squared_norm_deviation",
                                                   "max_i | ||v_i||^2 - 1 |", "eps of (3.3)"},
                         largest_squared_norm = {"largest_squared_norm", "max_i ||v_i||^2",
                                                 "largest squared norm of a row of V"},
                         row_cosine = {"row_cosine", "max_ij |cos(v_i, v_j)|",
                                       "largest cosine between two rows of V"},
                         frobenius_deviation = {"frobenius_deviation", "| ||V||_F^2 / k - 1 |",
                                                "how far the mean squared norm of a row is from 1"},
                         norm_excess = {"norm_excess", "||V|| - sqrt(k/d) - 1",
                                        "how far the norm of V is above its limit; 0 if below"},
                         linear_norm = {"linear_norm", "||V||^2",
                                        "squared operator norm of the weights"};
// Expansion (3.6) of Sigma, for relu only; see CovarianceExpansion.
inline constexpr Measure
    sigma_minus_linear_min = {"sigma_minus_linear_min", "lambda_k(Sigma - V V'/4)",
                              "smallest eigenvalue without the linear term"},
    hadamard_norm = {"hadamard_norm", "||(V V')^(o 2)||", "norm of the entrywise square of V V'"},
    remainder_norm = {"remainder_norm", "", "operator norm of the remainder of expansion (3.6)"},
    remainder_as_printed = {"remainder_as_printed", "",
                            "error of expansion (3.6) as printed, over its remainder"},
    remainder_corrected = {"remainder_corrected", "",
                           "error of expansion (3.6) as corrected, over its remainder"},
    remainder_rounding = {"remainder_rounding", "", "largest such error that rounding explains"};
// phi, once, over phi_at().
inline constexpr Measure
    phi_monte_carlo = {"phi_monte_carlo", "phi(t)",
                       "2 pi times the covariance of two features at the cosine t, sampled"},
    phi_standard_error = {"phi_standard_error", "se(phi(t))", "standard error of the sampled phi"};

// The cross-Gram matrix of two feature maps; also mean_coefficient.
inline constexpr Measure
    cross_spike = {"cross_spike", "s_1(B-bar)",
                   "largest singular value of the cross-Gram matrix B-bar"},
    cross_bulk_max = {"cross_bulk_max", "s_2(B-bar)", "second singular value of B-bar"},
    sigma_1 = {"sigma_1", "s_1", "largest singular value of the bulk of B-bar"},
    sigma_d = {"sigma_d", "s_d", "d-th singular value of the bulk of B-bar"},
    sigma_d_plus_1 = {"sigma_d_plus_1", "s_(d+1)", "singular value d + 1 of the bulk of B-bar"},
    cross_singular_values = {"cross_singular_values", "s_i(B-bar)",
                             "singular values of B-bar at the largest size, descending"},
    cross_bulk_singular_values =
        {"cross_bulk_singular_values", "s_i",
         "singular values of the bulk of B-bar at the largest size, descending"},
    teacher_mean_coefficient =
        {"teacher_mean_coefficient", "",
         "least-squares coefficient of the teacher's mean feature on its row norms"},
    mean_order = {"mean_order", "",
                  "order of the means in the mean of B-bar: 1 for nu mu', -1 for mu nu'"},
    definition_as_printed = {"definition_as_printed", "",
                             "error of the definition of Sigma as printed, along one direction"},
    definition_corrected = {"definition_corrected", "",
                            "error of the definition of Sigma as corrected, along one direction"},
    coefficient_linear = {"coefficient_linear", "",
                          "least-squares coefficient of V-bar V' in Sigma"},
    coefficient_ones = {"coefficient_ones", "", "least-squares coefficient of 11'/d in Sigma"},
    cross_squared_error =
        {"cross_squared_error", "",
         "squared relative error of the formula of Sigma, by an unbiased estimate"},
    error_as_printed = {"error_as_printed", "",
                        "operator norm of the error in Theorem 3.7 as printed"},
    error_corrected = {"error_corrected", "",
                       "operator norm of the error in Theorem 3.7 with 1/4 and 1/(4 pi)"},
    rank_one_as_printed =
        {"rank_one_as_printed", "",
         "distance of the rank-one terms 11' and nu mu', with the printed constants"},
    rank_one_corrected =
        {"rank_one_corrected", "",
         "distance of the rank-one terms 11' and nu mu', with corrected constants"},
    spike_right_norm = {"spike_right_norm", "||u||", "norm of the mean feature of the model"},
    spike_left_norm = {"spike_left_norm", "||v||", "norm of the mean feature of the labels"},
    gram_bulk_min = {"gram_bulk_min", "lambda_k(Gamma)",
                     "smallest eigenvalue of the bulk Gamma of B"},
    gram_bulk_max = {"gram_bulk_max", "||Gamma||", "largest eigenvalue of the bulk Gamma of B"},
    linear_sigma_1 = {"linear_sigma_1", "s_1(V-bar V')", "largest singular value of V-bar V'"},
    linear_sigma_d = {"linear_sigma_d", "s_d(V-bar V')",
                      "smallest nonzero singular value of V-bar V'"},
    norm_ratio = {"ratio", "||M-bar||_* / ||W-bar||_F",
                  "nuclear norm of M-bar over the norm of the weights, (3.19)"},
    nuclear_rank_1 = {"nuclear_rank_1", "nr(G_1)",
                      "nuclear rank of the gradient after the first step"},
    distance_gram = {"distance_gram", "",
                     "distance of u/||u|| from the top eigenvector of B, (3.21)"},
    distance_cross = {"distance_cross", "",
                      "distance of u/||u|| from the top right singular vector of B-bar, (3.22)"},
    distance_gram_bound = {"distance_gram_bound", "",
                           "the Davis-Kahan bound on the distance in (3.21)"},
    distance_cross_bound = {"distance_cross_bound", "",
                            "the Wedin bound on the distance in (3.22)"},
    alignment_defect = {"alignment_defect", "1 - |r_0'l_0|",
                        "how far the top singular vectors of B-bar and B are from parallel"};

// The proof of Theorem 3.7. q has the entries ||v_j||^2; z_i is row i of (V-bar V')^(o 2) - 11'/d.
inline constexpr Measure
    cross_cosine = {"cross_cosine", "max_ij |t_ij|",
                    "largest cosine t between a row of V-bar and a row of V"},
    fourth_derivative = {"fourth_derivative", "phi''''",
                         "fourth derivative of phi at a point up to that cosine"},
    taylor_remainder = {"taylor_remainder", "", "operator norm of the Taylor remainder in (3.16)"},
    square_mean = {"square_mean", "", "d times the mean entry of (V-bar V')^(o 2)"},
    square_error = {"square_error", "||(V-bar V')^(o 2) - 11'/d||",
                    "distance of the entrywise square from its mean"},
    row_trace = {"row_trace", "", "mean of ||z_i||^2 over the formula in the proof of Theorem 3.7"},
    row_sum = {"row_sum", "", "mean of (1'z_i)^2 over the formula in the proof of Theorem 3.7"},
    norm_defect = {"norm_defect", "||q - 1||^2 d/(2k)",
                   "spread of the squared row norms q, over its expectation"},
    fourth_powers = {"fourth_powers", "", "d^2/k^2 times the sum over i != j of <v_i, v_j>^4"};
// At every wide size.
inline constexpr Measure
    wide_ones = {"wide_error_ones", "",
                 "lower bound on the error of Theorem 3.7 with 11'/(4 pi d), k = d^(7/4)"},
    wide_norms = {"wide_error_norms", "", "error of Theorem 3.7 with nu mu'/(2d), k = d^(7/4)"};

// Corollary 3.8 and Assumption G; also spike, bulk_max, bulk_min and mean_shift.
inline constexpr Measure
    teacher_mean_shift = {"teacher_mean_shift", "||nu-bar - nu||",
                          "distance of the teacher's sample mean from its mean"},
    cross_sigma_error = {"cross_sigma_error", "||Sigma-bar - Sigma||",
                         "error of the sampled cross-covariance in operator norm"},
    factor_bound = {"factor_bound", "s_d(V-bar) s_d(V)",
                    "product of the smallest singular values, which bounds s_d(V-bar V')"};
// For infinitely many samples.
inline constexpr Measure
    population_as_printed = {"population_error_as_printed", "||E||",
                             "error of Corollary 3.8 as printed"},
    population_corrected = {"population_error_corrected", "||E||",
                            "error of Corollary 3.8 as corrected"},
    tail_as_printed = {"population_tail_as_printed", "s_(d+1)",
                       "singular value d + 1 of the bulk in Corollary 3.8 as printed"},
    tail_corrected = {"population_tail_corrected", "s_(d+1)",
                      "singular value d + 1 of the bulk in Corollary 3.8 as corrected"},
    cross_interlacing = {"cross_interlacing_violations", "",
                         "indices at which B-bar and its bulk do not interlace"},
    cross_sigma_r = {"cross_sigma_d_minus_1", "s_(d-1)(B-bar)", "singular value d - 1 of B-bar"},
    cross_sigma_d = {"cross_sigma_d", "s_d(B-bar)", "singular value d of B-bar"};

// The proof of Theorem 3.9: R-bar'L in blocks, Q, and H = W-bar L-bar Diag(1, s_2, ...).
inline constexpr Measure
    block_row = {"block_row", "||r_0'L_0||",
                 "top right singular vector of B-bar outside the top eigenvector of B"},
    block_column = {"block_column", "||R_0'l_0||",
                    "top eigenvector of B outside the top right singular vector of B-bar"},
    angle_error = {"angle_error", "| s_(k-1)(R_0'L_0) - |r_0'l_0| |",
                   "error of the identity of principal angles"},
    step_factor = {"step_factor", "1 - eta s_1", "factor of the step on the top direction of B"},
    corner = {"corner", "|a|", "top left entry of Q"},
    corner_row = {"corner_row", "||z||", "norm of the rest of the first row of Q"},
    corner_error = {"corner_error", "||E||", "norm of the rest of the first column of Q"},
    D_max = {"D_max", "s_1(D)", "largest singular value of the other block D of Q"},
    D_min = {"D_min", "s_(k-1)(D)", "smallest singular value of the other block D of Q"},
    Q_max = {"Q_max", "s_1(Q)", "largest singular value of Q"},
    Q_min = {"Q_min", "s_k(Q)", "smallest singular value of Q"},
    blocked_min = {"blocked_min", "s_k([a z'; 0 D])",
                   "smallest singular value of Q without the first column's rest"},
    rank_quotient = {"rank_quotient", "nr(G_1) / nr(H)",
                     "nuclear rank of the gradient at W_1 over that of H"},
    H_nuclear = {"H_nuclear", "||H||_*", "nuclear norm of H"},
    H_frobenius = {"H_frobenius", "||H||_F", "Frobenius norm of H"},
    M_nuclear = {"M_nuclear", "||M-bar||_*", "nuclear norm of the first d columns of W-bar L-bar"},
    W_frobenius = {"W_frobenius", "||W-bar||_F", "Frobenius norm of the teacher's weights"},
    W_norm = {"W_norm", "||W-bar||", "operator norm of the teacher's weights"};

// (1.9) at W_0 and W_1: J/L, nr, and what the best step along the polar factor gains over the
// guarantee of GD. The times of gradient descent to relative_errors and absolute_errors.
inline constexpr Measure stable_rank_A = {"stable_rank", "st(A)", "stable rank of the features"};
using TwoMeasures = std::array<Measure, 2>;
inline constexpr TwoMeasures hessian_ratio = {
    {{"hessian_ratio_0", "J_0/L_0",
      "curvature along the polar factor of the gradient over ||B||, at W_0"},
     {"hessian_ratio_1", "J_1/L_1",
      "curvature along the polar factor of the gradient over ||B||, at W_1"}}};
inline constexpr TwoMeasures gradient_rank = {
    {{"gradient_rank_0", "nr(G_0)", "nuclear rank of the gradient at W_0"},
     {"gradient_rank_1", "nr(G_1)", "nuclear rank of the gradient at W_1"}}};
inline constexpr TwoMeasures polar_gain = {
    {{"polar_gain_0", "",
      "decrease by the best polar step over the guaranteed decrease of GD, at W_0"},
     {"polar_gain_1", "",
      "decrease by the best polar step over the guaranteed decrease of GD, at W_1"}}};
inline constexpr std::array<const char*, 2> labels = {"realizable", "teacher"};
inline constexpr std::size_t realizable_labels = 0;  // index
inline constexpr TwoMeasures relative_time = {
    {{"relative_time_realizable", "t/d",
      "steps of GD to a relative error, over d; realizable labels"},
     {"relative_time_teacher", "t/d",
      "steps of GD to a relative error, over d; labels of the teacher"}}};
inline constexpr TwoMeasures absolute_time = {
    {{"absolute_time_realizable", "t/d",
      "steps of GD to an absolute error, over d; realizable labels"},
     {"absolute_time_teacher", "t/d",
      "steps of GD to an absolute error, over d; labels of the teacher"}}};
inline constexpr Measure decay = {
    "decay", "-2 log(1 - lambda_k/lambda_1)",
    "rate at which GD decreases the slowest part of the loss, for each step"};

TrialRecord run_trial(const Config& config, const Trial& trial);

// Samples (features.cpp) --------------------------------------------------------------------------

/// Sums over n samples of a pair of feature vectors (a_bar, a), which may be identical.
struct PairSums {
  double n = 0.0;
  arma::vec left, right;  // sums of a_bar (kbar) and of a (k)
  arma::mat product;      // sum of a_bar a' (kbar, k)

  PairSums& operator+=(const PairSums& other);
  arma::vec left_mean() const { return left / n; }
  arma::vec right_mean() const { return right / n; }
  /// B-bar = sum a_bar a' / n.
  arma::mat gram() const { return product / n; }
  /// gram() minus the product of the means: Sigma-bar of [Spectral] Theorem 3.4.
  arma::mat centered_gram() const { return gram() - left_mean() * right_mean().t(); }
  /// The unbiased covariance, n/(n - 1) times centered_gram().
  arma::mat covariance() const { return n / (n - 1.0) * centered_gram(); }
};

/// The two halves of the samples, kept apart so that products of independent estimates are
/// unbiased.
struct FeatureSamples {
  std::array<PairSums, 2> student;  // (a, a)
  std::array<PairSums, 2> cross;    // (a_bar, a); empty without a V-bar

  static PairSums total(const std::array<PairSums, 2>& halves);
};

/// <C_1 - C, C_2 - C>_F / ||C||_F^2 over the covariances of the two halves. Its expectation is the
/// relative squared error of C, which is 0 for the true covariance, for any number of samples.
double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C);

/// ||v_i|| of the rows v_i of V.
arma::vec row_norms(const arma::mat& V);

/// Draws X from the stream "X/k=<k>" in blocks of columns and applies sigma(V X), and sigma(V_bar
/// X) unless V_bar is empty.
FeatureSamples sample_features(const Trial& trial, const Size& size, const Activation& activation,
                               const arma::mat& V, const arma::mat& V_bar);

/// A k x columns matrix of N(0, 1/d) entries from the stream `name` of this size.
arma::mat draw_weights(const Trial& trial, const Size& size, const char* name,
                       std::uint64_t columns);

/// Two feature maps and their samples: what several parts of the paper use.
struct TwoMaps {
  Size size;
  double offset;            // c of the step eta = 1/(c + ||B||)
  arma::mat V, V_bar;       // (k, d)
  arma::mat Sigma;          // the covariance of a_bar and a, by its formula
  double squared_error;     // of Sigma: unbiased_squared_error
  PairSums student, cross;  // (a, a) and (a_bar, a)
  SymmetricEigen gram;      // of B, ascending
  arma::mat W_bar;          // (k, k)

  arma::mat B() const { return student.gram(); }
  arma::mat B_bar() const { return cross.gram(); }
  double inverse_step() const { return offset + gram.w.back(); }
};

// Judging (features.cpp) --------------------------------------------------------------------------
//
// The paper leaves most constants unspecified. Therefore "a is of order b as d grows" is judged by
// the exponent of d in a/b, fitted to every trial over the sizes of the run, with a slack for
// factors of lower order.

inline constexpr double rounding_of_norms = 1e-9;  // relative, of an inequality between norms
inline constexpr double exponent_slack = 0.1;      // of fitted exponents
inline constexpr char slack_of_exponents[] = "0.1 in the exponent of d";
inline constexpr double coefficient_band = 0.01;    // relative, of constants
inline constexpr double squared_error_band = 5e-3;  // of a covariance: relative squared error
inline constexpr char slack_of_squared_error[] = "0.5 % in the squared relative error";
inline const Region does_not_grow = at_most(exponent_slack),
                    does_not_shrink = at_least(-exponent_slack),
                    of_order_one = within(0.0, exponent_slack),
                    of_order_d = within(1.0, exponent_slack);

/// An order of the paper: its value at a size, and how it is written.
struct Order {
  double (*at)(const Size& size);
  const char* formula;
};
inline constexpr Order d_over_n{[](const Size& size) { return real(size.d) / real(size.n); },
                                "d/n"};
inline constexpr Order root_d_over_n{[](const Size& size) { return std::sqrt(d_over_n.at(size)); },
                                     "sqrt(d/n)"};
inline constexpr Order root_log_k_over_d{
    [](const Size& size) { return std::sqrt(std::log(real(size.k)) / real(size.d)); },
    "sqrt(log(k)/d)"};
inline constexpr Order k_log_k_over_d_squared{
    [](const Size& size) {
      return real(size.k) * std::pow(std::log(real(size.k)) / real(size.d), 2);
    },
    "k log(k)^2/d^2"};
/// At the wide sizes, where k = d^(7/4).
inline constexpr Order root_k_over_d{
    [](const Size& size) { return std::pow(real(size.d), wide_power / 2.0 - 1.0); }, "sqrt(k)/d"};

Metric of_order(const std::vector<Size>& sizes, const Order& order);

/// The sizes over d, with the places of their numbers: &Size::place or &Size::wide_place.
Sizes sizes_over_d(const std::vector<Size>& sizes, At (Size::*place)() const);

/// Makes the claims of a run: about growth with d, about every size, and about the largest one.
struct FeatureClaims : SizeClaims {
  const Config& config;
  std::vector<Size> sizes;

  Metric of_order(const Order& order) const { return features::of_order(sizes, order); }
  /// As SizeClaims::exponent, with a text that says what the number is.
  void exponent(const Statement& statement, const Metric& metric, Region allowed,
                const std::string& detail) const;
  /// Claim: the exponent of d in the metric lies in `allowed`.
  void rate(const Statement& statement, const Metric& metric, Region allowed,
            const std::string& more = "") const;
  /// The same for the metric divided by the order.
  void rate(const Statement& statement, const Metric& metric, const Order& order, Region allowed,
            const std::string& more = "") const;
  /// Claim: the mean at the largest size lies in `allowed`; not applicable if that size is too
  /// small to measure constants. A statement of the paper becomes asymptotic, with `threshold`.
  void at_largest(const Statement& statement, const Measure& measure, Region allowed,
                  const std::string& threshold, const std::string& detail) const;
  /// Claim: the mean at the largest size is `expected`, within a relative band.
  void constant(const Statement& statement, const Measure& measure, double expected, double band,
                const std::string& detail) const;
};
FeatureClaims over_sizes(const Config& config, const Records& records, Claims& claims);
FeatureClaims over_wide_sizes(const Config& config, const Records& records, Claims& claims);

// The parts of the paper --------------------------------------------------------------------------
// A trial measures each part at every size; the claims of a run follow.

// Theorem 3.2 with Figure 16, Theorem 3.4 and Lemma 3.5 (theorem_3_2.cpp).
void measure_phi(const Config& config, const Trial& trial, TrialRecord& record);
void measure_gram(const Config& config, const Size& size, const arma::mat& V,
                  const FeatureSamples& samples, const Trial& trial, TrialRecord& record);
void judge_phi(const FeatureClaims& over_d);
void judge_gram(const FeatureClaims& over_d);
/// Expansion (3.6): Sigma = V V'/4 + Lambda^-1 (V V')^(o 2) Lambda^-1 / (4 pi) + (pi - 3) Lambda^2
/// / (4 pi) + remainder.
struct CovarianceExpansion {
  arma::mat remainder;  // Lambda E Lambda / (2 pi), with E the error of K's expansion
  double as_printed =
      0.0;  // ||Sigma - the terms as printed, E/(2 pi) among them||_F / ||E/(2 pi)||_F
  double corrected = 0.0;  // the same with Lambda E Lambda in place of E
  double rounding = 0.0;   // largest value of either that rounding explains
};
CovarianceExpansion expand_covariance(const arma::mat& V, const arma::mat& Sigma);

/// The bounds (3.4) on Sigma without their O term, with the smallest eps that satisfies (3.3) in
/// this run.
double eq_3_4_lower(const AtSize& at);
double eq_3_4_upper(const AtSize& at);

// Lemma 3.1 and Lemma 3.3 (lemmas.cpp).
void count_hadamard(const Trial& trial, TrialRecord& record);
void judge_hadamard(const Records& records, Claims& claims);
/// Both sides of Lemma 3.1 for square Q and P: n = ||Q o P||_op, n over max |Q_ij| ||P||_F, and n
/// over max Q_ii ||P||_op.
struct HadamardQuotients {
  double norm, frobenius, diagonal;
};
HadamardQuotients hadamard_quotients(const arma::mat& Q, const arma::mat& P);

/// How far the rows of V are from the conditions (3.3), (3.7) and (3.8).
void measure_rows(const Size& size, const arma::mat& V, TrialRecord& record);
void judge_rows(const FeatureClaims& over_d);
/// A lower bound on the probability that (3.7) fails for independent N(0, 1/d) rows with log k =
/// ratio d, from the upper tail of the squared norms alone. Returned as the logarithm of its ratio
/// to the 4/k that Lemma 3.3 allows.
double log_lemma_3_3_lower(double d, double ratio);
/// An upper bound on the same probability, from both tails of the norms and from the cosines; same
/// units.
double log_lemma_3_3_upper(double d, double ratio);

// Theorem 3.7 and Corollary 3.8 (theorem_3_7.cpp). Their proofs are about relu.
void measure_theorem_3_7(const Config& config, const TwoMaps& maps, const Trial& trial,
                         TrialRecord& record);
void measure_proof_3_7(const TwoMaps& maps, const Trial& trial, TrialRecord& record);
/// Theorem 3.7 with many more features than input dimensions: both errors at a wide size.
void measure_wide(const Size& size, const Trial& trial, TrialRecord& record);
/// The claims for every activation: the order of the means, and Sigma.
void judge_definitions(const FeatureClaims& over_d);
void judge_theorem_3_7(const FeatureClaims& over_d);
void judge_proof_3_7(const FeatureClaims& over_d);
void judge_proof_3_8(const FeatureClaims& over_d);
/// ||a b' - c d'||_op of vectors, in closed form.
double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c,
                     const arma::vec& d);

// Theorem 3.9 with (3.21), (3.22) and Lemmas G.1 and G.2 (theorem_3_9.cpp).
void measure_theorem_3_9(const TwoMaps& maps, const Trial& trial, TrialRecord& record);
void measure_proof_3_9(const TwoMaps& maps, const Trial& trial, TrialRecord& record);
void judge_theorem_3_9(const FeatureClaims& over_d);
void judge_proof_3_9(const FeatureClaims& over_d);

// (1.9) and the time of gradient descent (time.cpp).
void measure_times(const TwoMaps& maps, const Trial& trial, TrialRecord& record);
void judge_times(const FeatureClaims& over_d);
/// sum_i g_i (1 - lambda_i / max lambda)^(2t), where max lambda is the last entry.
double remaining_error(const arma::vec& lambda, const arma::vec& g, double t);
/// The first step t = 0, 1, ... at which remaining_error is at most `error`; NaN if it is larger up
/// to step 1e9. lambda and g (k) are not negative, lambda is ascending.
double descent_time(const arma::vec& lambda, const arma::vec& g, double error);

}  // namespace ranklab::features
