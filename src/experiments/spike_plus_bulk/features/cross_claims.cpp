// Claims about the cross-Gram matrix of two feature maps: Theorems 3.7 and 3.9 and Corollary 3.8 of
// [Spectral].
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "experiments/spike_plus_bulk/features/measure.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

// Theorem 3.7 and Corollary 3.8 -------------------------------------------------------------------

const Place before_3_7{"spectral/section-3.2.1/moments", "spectral/thm-3.7/",
                       "Section 3.2.1, before Theorem 3.7"},
    defined{before_3_7.statement_id, before_3_7.prefix, before_3_7.source, Part::definition},
    theorem_3_7{"spectral/thm-3.7", "spectral/thm-3.7/", "Theorem 3.7"};

// Claims for every activation: the order of the means, the definition of Sigma, the entries of
// Sigma.
void judge_definitions(const Plan& plan, const SizeClaims& over_d) {
  const std::string exchanged = "spectral/section-3.2.1/transposed";
  const Misprint means =
                     defined.misprint(exchanged, "decomposition", "E[a-bar a'] = mu nu' + Sigma",
                                      "E[a-bar a'] = nu mu' + Sigma"),
                 center = defined.misprint(exchanged, "covariance-definition",
                                           "Sigma = E (a-bar - mu)(a - nu)'",
                                           "Sigma = E (a-bar - nu)(a - mu)'");
  const std::string order =
      "antisymmetric part of the sampled cross-Gram matrix, scaled so that nu mu' gives 1 and mu "
      "nu' gives -1";
  for (const auto& [statement, value] :
       {std::pair(&means.as_printed, -1.0), {&means.corrected, 1.0}})
    judge_at_largest(plan, over_d, *statement, mean_order, within(value, 0.1),
                     "0.1 in the coefficient", order);
  const std::string along =
      "Sigma by its printed entries minus the sampled covariance, along mu - nu, over ||mu - "
      "nu||^2";
  for (const auto& [statement, name] : {std::pair(&center.as_printed, definition_as_printed),
                                        {&center.corrected, definition_corrected}})
    judge_at_largest(plan, over_d, *statement, name, within(0.0, 0.2), "0.2 in the coefficient",
                     along);
  judge_at_largest(plan, over_d,
                   before_3_7("covariance",
                              "Sigma_ij = ||v-bar_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite "
                              "form if the activation is not homogeneous"),
                   cross_squared_error, within(0.0, squared_error_band), slack_of_squared_error,
                   "relative squared error of the formula, estimated from two independent halves "
                   "of the samples");
}

void judge_constants(const Plan& plan, const SizeClaims& over_d) {
  const std::string factor = "spectral/section-3.2.1/mean-vector";
  const Misprint mu = before_3_7.misprint(factor, "mean-vector-mu", "mu_i = ||v_i|| times 1/(2 pi)",
                                          "mu_i = ||v_i|| times 1/sqrt(2 pi)"),
                 nu = before_3_7.misprint(factor, "mean-vector-nu",
                                          "nu_i = ||v-bar_i|| times 1/(2 pi)",
                                          "nu_i = ||v-bar_i|| times 1/sqrt(2 pi)");
  const std::string coefficient = "least-squares coefficient on the row norms";
  for (const auto& [form, value] : {std::pair(&Misprint::as_printed, 0.5 / pi),
                                    {&Misprint::corrected, 1.0 / std::sqrt(2.0 * pi)}}) {
    judge_constant(plan, over_d, mu.*form, mean_coefficient, value, coefficient_band, coefficient);
    judge_constant(plan, over_d, nu.*form, teacher_mean_coefficient, value, coefficient_band,
                   coefficient);
  }
  const std::string coefficients = "spectral/thm-3.7/coefficients";
  const Misprint linear = theorem_3_7.misprint(
                     coefficients, "coefficient-linear",
                     "The coefficient of V-bar V' in the expansion of Sigma is 1/(2 pi)",
                     "The coefficient of V-bar V' in the expansion of Sigma is 1/4"),
                 ones = theorem_3_7.misprint(
                     coefficients, "coefficient-ones",
                     "The coefficient of 11'/d in the expansion of Sigma is 1",
                     "The coefficient of 11'/d in the expansion of Sigma is 1/(4 pi)");
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
  const std::string corollary = "spectral/cor-3.8";
  const Place spectral{theorem_3_7.statement_id, "spectral/", "Theorem 3.7"},
      assumption{corollary, "spectral/cor-3.8/", "Corollary 3.8, Assumption G"},
      proof{corollary, assumption.prefix, "Corollary 3.8, proof", Part::proof},
      after_3_17{corollary, assumption.prefix, "Corollary 3.8, after (3.17)"},
      tail{corollary, assumption.prefix, after_3_17.source, Part::proof},
      eq_3_17{corollary, "spectral/eq-3.17/", "Corollary 3.8, eq. (3.17)", Part::proof};
  const Region like_inverse_root = at_most(-0.5 + exponent_slack),
               like_root = within(0.5, exponent_slack);
  const Misprint expansion = spectral.misprint(
                     "spectral/thm-3.7/coefficients", "thm-3.7",
                     "||Sigma - (V-bar V'/(2 pi) + 11'/d)|| = O(k^(1/2 + eps)/d)",
                     "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d)"),
                 rank_one = proof.misprint("spectral/cor-3.8/rank-one", "rank-one",
                                           "||11'/d - nu mu'/d|| = o(1)",
                                           "||11'/(4 pi d) - nu mu'/(2 d)|| = o(1), so the factor "
                                           "in Corollary 3.8 is 1 + 1/(2d) instead of 1 + 1/d");
  rate(expansion.as_printed, error_as_printed, like_inverse_root);
  rate(expansion.corrected, error_corrected, like_inverse_root);
  rate(rank_one.as_printed, rank_one_as_printed, like_inverse_root);
  rate(rank_one.corrected, rank_one_corrected, like_inverse_root);
  rate(assumption("spike-u", "The norm of u, the mean of A, is of order sqrt(d)"), spike_right_norm,
       like_root);
  rate(assumption("spike-v", "The norm of v, the mean of A-bar, is of order sqrt(d)"),
       spike_left_norm, like_root);
  rate(assumption("gram-bulk-above", "Gamma <= c_2 I"), gram_bulk_max, does_not_grow);
  rate(after_3_17("cross-bulk-above", "s_1 of the cross-Gram bulk is bounded"), sigma_1,
       does_not_grow);
  {
    const auto enough = over_d.claims.only_where(
        plan.singular ? "n <= k: the corollary requires n >= C_0 d with a sufficiently large C_0"
                      : "");
    rate(assumption("gram-bulk-below", "Gamma >= c_1 I"), gram_bulk_min, does_not_shrink);
  }
  const auto& sizes = plan.sizes;
  const bool all_tall =
      std::all_of(sizes.begin(), sizes.end(), [](const Size& size) { return size.k > size.d; });
  const auto tall = over_d.claims.only_where(
      all_tall ? "" : "k <= d at some size: the statement requires k/d > 1");
  rate(after_3_17("cross-bulk-below", "s_d of the cross-Gram bulk is bounded below"), sigma_d,
       does_not_shrink);
  const Metric sampling = [&](const AtSize& at) { return std::sqrt(at.x / plan.n[at.i]); };
  rate(tail("cross-bulk-tail", "s_(d+1) of the cross-Gram bulk is o(1) + O(sqrt(d/n))"),
       ratio(sigma_d_plus_1, sampling), does_not_grow);
  rate(eq_3_17("above", "s_1(V-bar V') <= c_2"), linear_sigma_1, does_not_grow);
  rate(eq_3_17("below", "s_d(V-bar V') >= c_1"), linear_sigma_d, does_not_shrink);
}

// Theorem 3.9 -------------------------------------------------------------------------------------

// u = v = sqrt(d) e_1 and Gamma = Sigma = I, so that B = B-bar = d e_1 e_1' + I and L-bar = I, with
// r = k = d, the offset c = 10 of the step, and W-bar = Diag(1, 1, 0, ..., 0). The gradient at W_1
// has the singular values 10(d + 1)/(d + 11) and 1 - 1/(d + 11), and ||M-bar||_*/||W-bar||_F =
// sqrt(2).
struct SmallTeacher {
  double nuclear_rank, ratio;
};
SmallTeacher small_teacher(double d) {
  constexpr double c = 10.0;
  const double eta = 1.0 / (c + d + 1.0);
  const arma::vec B = {d + 1.0, 1.0}, W = {1.0, 1.0};  // diagonals, where W-bar is not 0
  const arma::vec gradient = W % B % (1.0 - eta * B);
  return {std::pow(arma::accu(gradient), 2) / arma::dot(gradient, gradient),
          arma::accu(W) / arma::norm(W)};
}

void judge_step(const Plan& plan, const SizeClaims& over_d) {
  const std::string theorem = "spectral/thm-3.9";
  const Place eq_3_19{theorem, "spectral/eq-3.19/", "Theorem 3.9, eq. (3.19)"},
      particular{theorem, eq_3_19.prefix, "Theorem 3.9, from eq. (3.19) to eq. (3.20)",
                 Part::proof};
  const std::string square = "spectral/thm-3.9/square";
  const std::string step = ", eta = 1/(c + ||B||), c = " + short_number(plan.config.offset);
  const Metric excess = ratio(nuclear_rank_1, norm_ratio);
  const Metric squared = [](const AtSize& at) {
    return at(nuclear_rank_1) / std::pow(at(norm_ratio), 2);
  };
  const Region of_order_d = at_least(1.0 - exponent_slack);
  const Statement printed =
      showing(square, eq_3_19("as-printed", "nr(grad L(W_1)) >= ||M-bar||_* / ||W-bar||_F"));
  constexpr double d_of_example = 1000.0;
  const SmallTeacher example = small_teacher(d_of_example);
  Tally cases = over_d.tally([&](const AtSize& at, Tally& t) {
    if (!std::isnan(excess(at))) t.count(excess(at) < 1.0);
  });
  cases.count(example.nuclear_rank < example.ratio);
  over_d.claims.never_violated(printed, cases,
                               "quotient of the two sides " + over_d.range(excess) +
                                   " for Gaussian weights" + step +
                                   "; in a worked example with d = " + short_number(d_of_example) +
                                   " and c = 10, nr is " + short_number(example.nuclear_rank) +
                                   " and the right side " + short_number(example.ratio));
  const Misprint order =
      particular.misprint(square, "order",
                          "||M-bar||_* / ||W-bar||_F, the right side of (3.19) as printed, is at "
                          "least of the order d that (3.20) requires",
                          "(||M-bar||_* / ||W-bar||_F)^2, the squared right side of (3.19), is at "
                          "least of the order d that (3.20) requires");
  over_d.exponent(order.as_printed, norm_ratio, of_order_d,
                  "||M-bar||_* / ||W-bar||_F is " + over_d.range(norm_ratio));
  over_d.exponent(
      order.corrected, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); }, of_order_d,
      "measured: the square of ||M-bar||_* / ||W-bar||_F");
  over_d.everywhere(
      beyond(eq_3_19("squared-constant-one",
                     "nr(grad L(W_1)) >= (||M-bar||_* / ||W-bar||_F)^2 with constant 1")),
      [&](const AtSize& at) { return squared(at) - 1.0; },
      "quotient of the two sides " + over_d.range(squared) + step +
          "; the proof gives >= only up to a constant");
  over_d.exponent(
      correcting(printed,
                 eq_3_19("corrected",
                         "nr(grad L(W_1)) >= C (||M-bar||_* / ||W-bar||_F)^2 for a constant C")),
      squared, does_not_shrink, "quotient of the two sides " + over_d.range(squared) + step);
  over_d.exponent({theorem, "spectral/eq-3.20", "Theorem 3.9, eq. (3.20)",
                   "nr(grad L(W_1)) is at least of order d"},
                  nuclear_rank_1, of_order_d,
                  "nr(grad L(W_1)) is " + over_d.range(nuclear_rank_1) + step);
}

void judge_alignment(const SizeClaims& over_d) {
  const Region like_inverse = at_most(-1.0 + exponent_slack);
  for (const auto& [number, distance, bound, vector] :
       {std::tuple{"3.21", distance_gram, distance_gram_bound, "the top eigenvector of B"},
        std::tuple{"3.22", distance_cross, distance_cross_bound,
                   "the top right singular vector of B-bar"}}) {
    const Place equation{"spectral/thm-3.9", std::string("spectral/eq-") + number,
                         std::string("Theorem 3.9, proof, eq. (") + number + ")", Part::proof};
    over_d.exponent(
        equation("", std::string("The distance between ") + vector +
                         " and u/||u||, up to sign, is O(1/d)"),
        distance, like_inverse,
        "distance " + over_d.range(distance) + "; the paper prints argmin over q instead of min");
    over_d.everywhere(
        equation("/davis-kahan", std::string("The distance between ") + vector +
                                     " and u/||u||, up to sign, is at most the bound of Davis, "
                                     "Kahan and Wedin, where u is the sample mean"),
        [d = distance, b = bound](const AtSize& at) { return at(b) - at(d); },
        "in the form of Yu, Wang and Samworth (2015); the bound is " + over_d.range(bound));
  }
  over_d.exponent(
      {"spectral/thm-3.9", "spectral/thm-3.9/alignment", "Theorem 3.9, proof",
       "| r_0'l_0 - 1 | = O(1/d)", Part::proof},
      alignment_defect, like_inverse,
      "1 - |r_0'l_0| is " + over_d.range(alignment_defect) + "; (3.21) and (3.22) imply O(1/d^2)");
}

}  // namespace

void judge_cross_gram(const Plan& plan, const SizeClaims& over_d) {
  judge_definitions(plan, over_d);
  const auto relu = over_d.claims.only_where(plan.not_relu());
  judge_constants(plan, over_d);
  judge_rates(plan, over_d);
  judge_step(plan, over_d);
  judge_alignment(over_d);
  judge_proofs(plan, over_d);
  judge_times(plan, over_d);
}

}  // namespace ranklab::features
