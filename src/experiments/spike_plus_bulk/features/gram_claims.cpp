// Claims about the Gram matrix of one feature map, Theorems 3.2 and 3.4 and Lemma 3.5 of [Spectral], and about the cross-Gram
// matrix of two, Theorems 3.7 and 3.9 and Corollary 3.8.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

// The mean at the largest size lies in `allowed`; not applicable where that size is too small to measure constants.
void judge_at_largest(const Plan& plan, const SizeClaims& over_d, const Statement& statement, const char* name, Region allowed,
                      const std::string& detail) {
  constexpr std::uint64_t smallest_measured = 64;  // features and samples from which constants are judged
  const Size& size = plan.sizes.back();
  if (!over_d.claims.applies(
          statement, std::min(size.k, size.n) < smallest_measured
                         ? "fewer than " + std::to_string(smallest_measured) + " features or samples even at the largest size"
                         : "")) {
    return;
  }
  over_d.claims.mean(
      statement, scalars_of(over_d.records, size.prefix() + name), allowed,
      detail + "; at k = " + std::to_string(size.k) + ", d = " + std::to_string(size.d) + ", n = " + std::to_string(size.n));
}

// The mean at the largest size is `expected`, within a relative band.
void judge_constant(const Plan& plan, const SizeClaims& over_d, const Statement& statement, const char* name, double expected,
                    double band, const std::string& detail) {
  judge_at_largest(plan, over_d, statement, name, within(expected, band * std::fabs(expected)),
                   detail + ", expected " + short_number(expected) + " within " + short_number(100.0 * band) + "%");
}

// Theorem 3.2 ---------------------------------------------------------------------------------------------------------------

const Place before_3_2{"spectral/thm-3.2/", "Section 3.1.1, before Theorem 3.2"};

// What other activations share with relu: the sampled moments against the formulas of this program.
void judge_formulas(const Plan& plan, const SizeClaims& over_d) {
  judge_at_largest(plan, over_d,
                   before_3_2("covariance",
                              "Sigma_ij = ||v_i|| ||v_j|| phi(t_ij)/(2 pi), or the Hermite form where the "
                              "activation is not homogeneous"),
                   sigma_squared_error, within(0.0, squared_error_band),
                   "relative squared error of the formula, by the product of two independent halves of the samples");
  judge_at_largest(plan, over_d,
                   before_3_2("mean-entries",
                              "the sample mean scatters about the formula for E a, with mu_i = "
                              "||v_i||/sqrt(2 pi) for relu, as its covariance says"),
                   mean_error, {0.8, 1.25}, "n ||mu-bar - mu||^2 / tr Sigma, whose expectation is 1");
}

void judge_mean(const Plan& plan, const SizeClaims& over_d) {
  const Misprint mean = before_3_2.misprint("mean-vector", "mu_i = ||v_i|| / (2 pi)", "mu_i = ||v_i|| / sqrt(2 pi)"),
                 norm = before_3_2.misprint("spike", "||mu||^2 = ||V||_F^2 / (4 pi^2)", "||mu||^2 = ||V||_F^2 / (2 pi)");
  const std::string coefficient = "least-squares coefficient of the sample mean on the row norms";
  const std::string halves = "product of the means of both halves of the samples, over ||V||_F^2";
  judge_constant(plan, over_d, mean.as_printed, mean_coefficient, 0.5 / pi, coefficient_band, coefficient);
  judge_constant(plan, over_d, mean.corrected, mean_coefficient, 1.0 / std::sqrt(2.0 * pi), coefficient_band, coefficient);
  judge_constant(plan, over_d, norm.as_printed, spike_coefficient, 0.25 / (pi * pi), coefficient_band, halves);
  judge_constant(plan, over_d, norm.corrected, spike_coefficient, 0.5 / pi, coefficient_band, halves);
}

void judge_bounds(const SizeClaims& over_d) {
  const Place eq_3_4{"spectral/eq-3.4/", "Theorem 3.2, eq. (3.4)"};
  const Tally rows = over_d.tally([](const AtSize& at, Tally& t) { t.count(!(at(squared_norm_deviation) < 1.0)); });
  const auto hypothesis =
      over_d.claims.only_where(rows.violations == 0 ? ""
                                                    : "hypothesis (3.3) asks for squared row norms within eps < 1 of 1, and " +
                                                          short_number(rows.violations) + " draws of V have none");
  const std::string with = "eps is the smallest that (3.3) allows; the O term is the measured norm of the remainder of (3.6)";
  over_d.everywhere(
      eq_3_4("lower", "Sigma >= V V'/4 + ((pi - 3)(1 - eps)/(4 pi) + O(k log^2 k/d^2)) I"),
      [](const AtSize& at) { return at(sigma_minus_linear_min) + at(remainder_norm) - eq_3_4_lower(at); },
      with + "; smallest eigenvalue of Sigma - V V'/4 is " + over_d.range(sigma_minus_linear_min) + ", the bound " +
          over_d.range(eq_3_4_lower) + " without the O term: the Hadamard square, dropped as >= 0, has about 1/(4 pi)");
  over_d.everywhere(
      eq_3_4("upper", "Sigma <= ((1 + 1/(pi (1 - eps)))/4 ||V||^2 + (pi - 3)(1 + eps)/(4 pi) + O(k log^2 k/d^2)) I"),
      [](const AtSize& at) { return eq_3_4_upper(at) + at(remainder_norm) - at(sigma_norm); },
      with + "; ||Sigma|| is " + over_d.range(sigma_norm) + ", the bound " + over_d.range(eq_3_4_upper));
}

void judge_expansion(const Plan& plan, const SizeClaims& over_d) {
  const Place eq_3_6{"spectral/", "Theorem 3.2, eq. (3.6)"};
  const Metric order = [&](const AtSize& at) {
    const double k = plan.k[at.i];
    return k * std::pow(std::log(k), 2) / (at.x * at.x);
  };
  over_d.exponent(eq_3_6("eq-3.6/remainder", "the remainder of the expansion of Sigma is O(k log^2 k/d^2) in operator norm"),
                  ratio(remainder_norm, order), does_not_grow, "remainder over k log^2 k/d^2 does not grow");
  const Misprint last = eq_3_6.misprint("eq-3.6", "the last term is E/(2 pi), with the E of K's expansion",
                                        "the last term is Lambda E Lambda/(2 pi), as conjugation by Lambda makes it");
  const auto exact = [&](const Statement& statement, const char* left) {
    over_d.everywhere(
        statement, [=](const AtSize& at) { return at(remainder_rounding) - at(left); },
        "Frobenius norm of what the identity leaves, over that of E/(2 pi): " + over_d.range(left));
  };
  exact(last.as_printed, remainder_as_printed);
  exact(last.corrected, remainder_corrected);

  // The proof bounds the Hadamard square by its Lemma 3.1 (2) and leaves out the largest diagonal entry.
  const Place proof{"spectral/thm-3.2/", "Theorem 3.2, proof"};
  const Misprint square =
      proof.misprint("hadamard-square", "||(V V')^(o 2)|| <= ||V V'||", "||(V V')^(o 2)|| <= max ||v_i||^2 ||V V'||");
  const Metric quotient = ratio(hadamard_norm, linear_norm);
  const Metric with_diagonal = ratio(quotient, largest_squared_norm);
  const auto at_most_one = [&](const Statement& statement, const Metric& value, const std::string& more) {
    over_d.everywhere(
        statement, [=](const AtSize& at) { return 1.0 + tolerance::residual<double> - value(at); },
        "quotient " + over_d.range(value) + more);
  };
  at_most_one(square.as_printed, quotient, "; false for orthogonal rows longer than 1");
  at_most_one(square.corrected, with_diagonal, "");
}

// Theorem 3.4 and Lemma 3.5 -------------------------------------------------------------------------------------------------

void judge_samples(const Plan& plan, const SizeClaims& over_d) {
  const Place theorem{"spectral/thm-3.4/", "Theorem 3.4"}, proof{theorem.prefix, "Theorem 3.4, proof"},
      lemma{"spectral/lemma-3.5/", "Lemma 3.5"}, lemma_proof{lemma.prefix, "Lemma 3.5, proof"};
  const bool singular = plan.singular;
  over_d.exponent(theorem("spike", "the squared norm of the empirical mean is of order d"), mean_squared_norm,
                  within(1.0, exponent_slack), "||mu-bar||^2 is " + over_d.range(mean_squared_norm));
  {
    const auto enough =
        over_d.claims.only_where(singular ? "n <= k: the theorem asks for n >= C_0 d with a C_0 that is large enough" : "");
    over_d.exponent(theorem("bulk-below", "the empirical covariance is bounded below, Sigma-bar >= C_1 I"), sample_bulk_min,
                    does_not_shrink, "smallest eigenvalue " + over_d.range(sample_bulk_min));
  }
  over_d.exponent(theorem("bulk-above", "the empirical covariance is bounded above, Sigma-bar <= C_2 I"), sample_bulk_max,
                  does_not_grow, "largest eigenvalue " + over_d.range(sample_bulk_max));
  const Metric d_over_n = [&](const AtSize& at) { return at.x / plan.n[at.i]; };
  const Metric root = [=](const AtSize& at) { return std::sqrt(d_over_n(at)); };
  const Metric error = ratio(sigma_error, [=](const AtSize& at) { return root(at) + d_over_n(at); });
  over_d.exponent(proof("covariance-concentration", "||Sigma-bar - Sigma|| is O((sqrt(d/n) + d/n) ||Sigma||)"), error,
                  does_not_grow, "relative error over sqrt(d/n) + d/n is " + over_d.range(error));
  const Metric shift = ratio(mean_shift, root);
  over_d.exponent(proof("mean-concentration", "||mu-bar - mu|| is O(sqrt(d/n))"), shift, does_not_grow,
                  "over sqrt(d/n): " + over_d.range(shift) + ", with mu_i = ||v_i||/sqrt(2 pi)");
  {
    const auto definite =
        over_d.claims.only_where(singular ? "n <= k: B is singular, and Assumption E asks for a positive definite bulk" : "");
    over_d.exponent(lemma("condition", "the condition number of T = (I - eta B) B is bounded at eta = 1/(c + ||B||)"), condition,
                    does_not_grow, "condition number " + over_d.range(condition) + ", c = " + short_number(plan.config.offset));
  }
  over_d.everywhere(
      lemma_proof("interlacing", "lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar) for i up to k - 1"),
      [](const AtSize& at) { return -at(interlacing_violations); },
      "every index of every matrix; the paper's range ends at d - 1, where k - 1 is meant");
}

// Theorem 3.7 and Corollary 3.8 ---------------------------------------------------------------------------------------------

const Place before_3_7{"spectral/thm-3.7/", "Section 3.2.1, before Theorem 3.7"}, theorem_3_7{"spectral/thm-3.7/", "Theorem 3.7"};

// What holds for any activation: order of the means, definition of Sigma, entries of Sigma.
void judge_definitions(const Plan& plan, const SizeClaims& over_d) {
  const Misprint means = before_3_7.misprint("decomposition", "E[a-bar a'] = mu nu' + Sigma", "E[a-bar a'] = nu mu' + Sigma"),
                 centre = before_3_7.misprint("covariance-definition", "Sigma = E (a-bar - mu)(a - nu)'",
                                              "Sigma = E (a-bar - nu)(a - mu)'");
  const std::string order = "antisymmetric part of the sampled cross-Gram matrix, in units in which nu mu' gives 1 and mu nu' -1";
  judge_at_largest(plan, over_d, means.as_printed, mean_order, {-1.1, -0.9}, order);
  judge_at_largest(plan, over_d, means.corrected, mean_order, {0.9, 1.1}, order);
  const std::string along = "Sigma by its printed entries less the sampled covariance, along mu - nu, over ||mu - nu||^2";
  judge_at_largest(plan, over_d, centre.as_printed, definition_as_printed, within(0.0, 0.2), along);
  judge_at_largest(plan, over_d, centre.corrected, definition_corrected, within(0.0, 0.2), along);
  judge_at_largest(plan, over_d, before_3_7("covariance", "Sigma_ij = ||v-bar_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite form"),
                   cross_squared_error, within(0.0, squared_error_band),
                   "relative squared error of the formula, by the product of two independent halves of the samples");
}

void judge_constants(const Plan& plan, const SizeClaims& over_d) {
  const Misprint mu = before_3_7.misprint("mean-vector-mu", "mu_i = ||v_i|| times 1/(2 pi)", "mu_i = ||v_i|| times 1/sqrt(2 pi)"),
                 nu = before_3_7.misprint("mean-vector-nu", "nu_i = ||v-bar_i|| times 1/(2 pi)",
                                          "nu_i = ||v-bar_i|| times 1/sqrt(2 pi)");
  const std::string coefficient = "least-squares coefficient on the row norms";
  for (const auto& [form, value] :
       {std::pair(&Misprint::as_printed, 0.5 / pi), {&Misprint::corrected, 1.0 / std::sqrt(2.0 * pi)}}) {
    judge_constant(plan, over_d, mu.*form, mean_coefficient, value, coefficient_band, coefficient);
    judge_constant(plan, over_d, nu.*form, teacher_mean_coefficient, value, coefficient_band, coefficient);
  }
  const Misprint linear = theorem_3_7.misprint("coefficient-linear", "V-bar V' stands with 1/(2 pi)", "V-bar V' stands with 1/4"),
                 ones = theorem_3_7.misprint("coefficient-ones", "11'/d stands with 1", "11'/d stands with 1/(4 pi)");
  constexpr double fit_band = 0.02, ones_band = 0.2;
  const std::string fit = "least-squares fit of the sampled cross-covariance to V-bar V' and 11'/d";
  judge_constant(plan, over_d, linear.as_printed, coefficient_linear, 0.5 / pi, fit_band, fit);
  judge_constant(plan, over_d, linear.corrected, coefficient_linear, 0.25, fit_band, fit);
  judge_constant(plan, over_d, ones.as_printed, coefficient_ones, 1.0, ones_band, fit);
  judge_constant(plan, over_d, ones.corrected, coefficient_ones, 0.25 / pi, ones_band, fit);
}

void judge_rates(const Plan& plan, const SizeClaims& over_d) {
  const auto rate = [&](const Statement& statement, const Metric& metric, Region allowed) {
    over_d.exponent(statement, metric, allowed, "measured " + over_d.range(metric));
  };
  const Place spectral{"spectral/", "Theorem 3.7"}, proof{"spectral/cor-3.8/", "Corollary 3.8, proof"},
      assumption{proof.prefix, "Corollary 3.8, Assumption G"}, after_3_17{proof.prefix, "Corollary 3.8, after (3.17)"},
      eq_3_17{"spectral/eq-3.17/", "Corollary 3.8, eq. (3.17)"};
  const Region like_inverse_root = at_most(-0.5 + exponent_slack), like_root = within(0.5, exponent_slack);
  const Misprint expansion = spectral.misprint("thm-3.7", "||Sigma - (V-bar V'/(2 pi) + 11'/d)|| = O(k^(1/2 + eps)/d)",
                                               "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d)"),
                 rank_one = proof.misprint("rank-one", "||11'/d - nu mu'/d|| = o(1)",
                                           "||11'/(4 pi d) - nu mu'/(2 d)|| = o(1), so that 1 + 1/(2d) takes the place of 1 + 1/d");
  rate(expansion.as_printed, error_as_printed, like_inverse_root);
  rate(expansion.corrected, error_corrected, like_inverse_root);
  rate(rank_one.as_printed, rank_one_as_printed, like_inverse_root);
  rate(rank_one.corrected, rank_one_corrected, like_inverse_root);
  rate(assumption("spike-u", "the norm of u, the mean of A, is of order sqrt(d)"), spike_right_norm, like_root);
  rate(assumption("spike-v", "the norm of v, the mean of A-bar, is of order sqrt(d)"), spike_left_norm, like_root);
  rate(assumption("gram-bulk-above", "Gamma <= c_2 I"), gram_bulk_max, does_not_grow);
  rate(after_3_17("cross-bulk-above", "s_1 of the cross-Gram bulk is bounded"), sigma_1, does_not_grow);
  {
    const auto enough =
        over_d.claims.only_where(plan.singular ? "n <= k: the corollary asks for n >= C_0 d with a C_0 that is large enough" : "");
    rate(assumption("gram-bulk-below", "Gamma >= c_1 I"), gram_bulk_min, does_not_shrink);
  }
  const auto& sizes = plan.sizes;
  const bool all_tall = std::all_of(sizes.begin(), sizes.end(), [](const Size& size) { return size.k > size.d; });
  const auto tall = over_d.claims.only_where(all_tall ? "" : "k <= d: the statement asks for k/d > 1");
  rate(after_3_17("cross-bulk-below", "s_d of the cross-Gram bulk is bounded below"), sigma_d, does_not_shrink);
  const Metric sampling = [&](const AtSize& at) { return std::sqrt(at.x / plan.n[at.i]); };
  rate(after_3_17("cross-bulk-tail", "s_(d+1) of the cross-Gram bulk is o(1) + O(sqrt(d/n))"), ratio(sigma_d_plus_1, sampling),
       does_not_grow);
  rate(eq_3_17("above", "s_1(V-bar V') <= c_2"), linear_sigma_1, does_not_grow);
  rate(eq_3_17("below", "s_d(V-bar V') >= c_1"), linear_sigma_d, does_not_shrink);
}

// Theorem 3.9 ---------------------------------------------------------------------------------------------------------------

void judge_step(const Plan& plan, const SizeClaims& over_d) {
  const Place eq_3_19{"spectral/eq-3.19/", "Theorem 3.9, eq. (3.19)"};
  const std::string step = ", eta = 1/(c + ||B||), c = " + short_number(plan.config.offset);
  const Metric excess = ratio(nuclear_rank_1, norm_ratio);
  const Metric squared = [](const AtSize& at) { return at(nuclear_rank_1) / std::pow(at(norm_ratio), 2); };
  const Region of_order_d = at_least(1.0 - exponent_slack);
  over_d.everywhere(
      eq_3_19("as-printed", "nr(grad L(W_1)) >= ||M-bar||_* / ||W-bar||_F"), [&](const AtSize& at) { return excess(at) - 1.0; },
      "quotient " + over_d.range(excess) + step + "; too weak by a square root for (3.20), as the right side is of order sqrt(d)");
  const Misprint order = eq_3_19.misprint("order", "the right side of (3.19) without a square is of the order d that (3.20) needs",
                                          "the right side of (3.19) with a square is of the order d that (3.20) needs");
  over_d.exponent(order.as_printed, norm_ratio, of_order_d, "||M-bar||_* / ||W-bar||_F is " + over_d.range(norm_ratio));
  over_d.exponent(
      order.corrected, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); }, of_order_d, "squared");
  over_d.everywhere(
      eq_3_19("squared-constant-one", "nr(grad L(W_1)) >= (||M-bar||_* / ||W-bar||_F)^2 with constant 1"),
      [&](const AtSize& at) { return squared(at) - 1.0; },
      "quotient " + over_d.range(squared) + step + "; the proof gives >= up to a constant alone");
  over_d.exponent(eq_3_19("corrected", "nr(grad L(W_1)) >= C (||M-bar||_* / ||W-bar||_F)^2 for a constant C"), squared,
                  does_not_shrink, "quotient " + over_d.range(squared) + step);
  over_d.exponent({"spectral/eq-3.20", "Theorem 3.9, eq. (3.20)", "nr(grad L(W_1)) is at least of order d"}, nuclear_rank_1,
                  of_order_d, "nr(grad L(W_1)) is " + over_d.range(nuclear_rank_1) + step);
}

void judge_alignment(const SizeClaims& over_d) {
  const Region like_inverse = at_most(-1.0 + exponent_slack);
  for (const auto& [number, distance, bound, what] :
       {std::tuple{"3.21", distance_gram, distance_gram_bound, "the top eigenvector of B"},
        std::tuple{"3.22", distance_cross, distance_cross_bound, "the top right singular vector of B-bar"}}) {
    const Place equation{std::string("spectral/eq-") + number, std::string("Theorem 3.9, proof, eq. (") + number + ")"};
    over_d.exponent(equation("", std::string("the distance of ") + what + " from u/||u||, up to sign, is O(1/d)"), distance,
                    like_inverse, "distance " + over_d.range(distance) + "; the paper's argmin over q is meant as a min");
    over_d.everywhere(
        equation("/davis-kahan", "that distance is within the bound of Davis, Kahan and Wedin with u the sample mean"),
        [d = distance, b = bound](const AtSize& at) { return at(b) - at(d); },
        "in the form of Yu, Wang and Samworth (2015); the bound is " + over_d.range(bound));
  }
  over_d.exponent({"spectral/thm-3.9/alignment", "Theorem 3.9, proof", "| r_0'l_0 - 1 | = O(1/d)"}, alignment_defect, like_inverse,
                  "1 - |r_0'l_0| is " + over_d.range(alignment_defect) + "; (3.21) and (3.22) even make it O(1/d^2)");
}

}  // namespace

double eq_3_4_lower(const AtSize& at) {
  return (pi - 3.0) * (1.0 - at(squared_norm_deviation)) / (4.0 * pi);
}

double eq_3_4_upper(const AtSize& at) {
  const double e = at(squared_norm_deviation);
  return (1.0 + 1.0 / (pi * (1.0 - e))) / 4.0 * at(linear_norm) + (pi - 3.0) * (1.0 + e) / (4.0 * pi);
}

void judge_gram(const Plan& plan, const SizeClaims& over_d) {
  judge_formulas(plan, over_d);
  const auto relu = over_d.claims.only_where(plan.not_relu());
  judge_mean(plan, over_d);
  judge_bounds(over_d);
  judge_expansion(plan, over_d);
  judge_samples(plan, over_d);
}

void judge_cross_gram(const Plan& plan, const SizeClaims& over_d) {
  judge_definitions(plan, over_d);
  const auto relu = over_d.claims.only_where(plan.not_relu());
  judge_constants(plan, over_d);
  judge_rates(plan, over_d);
  judge_step(plan, over_d);
  judge_alignment(over_d);
}

}  // namespace ranklab::features
