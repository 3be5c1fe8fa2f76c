// The cross-Gram matrix of two feature maps: Theorems 3.7 and 3.9 and Corollary 3.8 of [Spectral].
#include <algorithm>
#include <numbers>
#include <tuple>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/feature_moments.hpp"

namespace ranklab::features {

using std::numbers::pi;

// The trial ---------------------------------------------------------------------------------------

namespace {

// Tests of E[a_bar a'] = nu mu' + Sigma: the order of the means and the definition of Sigma. With w
// along mu - nu and u along the ones, w'B-bar u - u'B-bar w is a known number times +1 for nu mu'
// and times -1 for mu nu'.
void measure_definitions(const PairSums& cross, const arma::vec& mu, const arma::vec& nu,
                         const arma::mat& Sigma, TrialRecord& record) {
  const arma::vec difference = mu - nu;
  const double squared = arma::dot(difference, difference), length = std::sqrt(squared);
  const arma::vec w = difference / length;
  const arma::vec u(mu.n_elem, arma::fill::value(1.0 / std::sqrt(static_cast<double>(mu.n_elem))));
  const arma::mat B_bar = cross.gram();
  const double signal = arma::dot(w, nu) * arma::dot(u, mu) - arma::dot(u, nu) * arma::dot(w, mu);
  const auto form = [](const arma::vec& left, const arma::mat& M, const arma::vec& right) {
    return arma::dot(left, arma::vec(M * right));
  };
  record.set(mean_order, (form(w, B_bar, u) - form(u, B_bar, w)) / signal);

  // w'(mean of (a_bar - x)(a - y)')w from the samples; w'Sigma w from the entries of Sigma.
  const auto centered = [&](const arma::vec& x, const arma::vec& y) {
    const double wx = arma::dot(w, x), wy = arma::dot(w, y);
    return form(w, B_bar, w) - wx * arma::dot(w, cross.right_mean()) -
           arma::dot(w, cross.left_mean()) * wy + wx * wy;
  };
  const double entries = form(w, Sigma, w);
  record.set(definition_as_printed, (entries - centered(mu, nu)) / squared);
  record.set(definition_corrected, (entries - centered(nu, mu)) / squared);
}

// Least squares of the sampled cross-covariance on V-bar V' and 11'/d, and the errors of both forms
// of Theorem 3.7.
void measure_expansion(const Size& size, const FeatureSamples& samples, const PairSums& cross,
                       const arma::mat& linear, const arma::mat& Sigma, TrialRecord& record) {
  const double k = static_cast<double>(size.k), d = static_cast<double>(size.d);
  const arma::mat sampled = cross.covariance();
  const double xx = arma::dot(linear, linear), xy = arma::accu(linear) / d, yy = k * k / (d * d);
  const double bx = arma::dot(sampled, linear), by = arma::accu(sampled) / d;
  const double determinant = xx * yy - xy * xy;
  record.set(coefficient_linear, (bx * yy - by * xy) / determinant);
  record.set(coefficient_ones, (by * xx - bx * xy) / determinant);
  record.set(cross_squared_error, unbiased_squared_error(samples.cross, Sigma));
  record.set(error_as_printed, operator_norm(arma::mat(Sigma - linear / (2.0 * pi) - 1.0 / d)));
  record.set(error_corrected,
             operator_norm(arma::mat(Sigma - linear / 4.0 - 1.0 / (4.0 * pi * d))));
}

// The largest and the smallest nonzero singular value of V-bar V', from triangular factors of V'V
// and V-bar'V-bar.
void measure_linear_part(const arma::mat& V, const arma::mat& V_bar, TrialRecord& record) {
  double first = undefined, last = undefined;
  arma::mat R, R_bar;
  if (V.n_rows >= V.n_cols && arma::chol(R, arma::mat(V.t() * V)) &&
      arma::chol(R_bar, arma::mat(V_bar.t() * V_bar))) {
    const arma::vec s = singular_values(R_bar * R.t());
    first = s.front();
    last = s.back();
  }
  record.set(linear_sigma_1, first);
  record.set(linear_sigma_d, last);
}

double vector_distance(const arma::vec& a, const arma::vec& b) {
  return std::min(arma::norm(a - b), arma::norm(a + b));
}

// Both sides of (3.21) and (3.22), where u is the mean of the features, and Theorem 3.9's nuclear
// ranks.
void measure_alignment_and_step(const Size& size, double offset, const PairSums& student,
                                const PairSums& cross, const arma::vec& bulk_values,
                                const Trial& trial, TrialRecord& record) {
  const arma::mat B = student.gram(), B_bar = cross.gram();
  const SymmetricEigen gram = symmetric_eigen(B);
  trial.check_interrupt();
  const SymmetricEigen left = symmetric_eigen(arma::mat(B_bar * B_bar.t()));
  trial.check_interrupt();
  const arma::vec mean = student.right_mean(), u_hat = arma::normalise(mean);
  const arma::vec l_0 = gram.Q.tail_cols(1),
                  r_0 = arma::normalise(arma::vec(B_bar.t() * left.Q.tail_cols(1)));
  record.set(distance_gram, vector_distance(u_hat, l_0));
  record.set(distance_cross, vector_distance(u_hat, r_0));
  record.set(alignment_defect, 1.0 - std::fabs(arma::dot(r_0, l_0)));

  // Davis-Kahan and Wedin in the form of Yu, Wang, Samworth 2015, Corollary 1 and Theorem 4, for a
  // spike of rank one.
  const arma::vec Gamma = symmetric_eigenvalues(student.centered_gram());
  const double spike_factor =
      1.0 + 0.5 / static_cast<double>(size.d);  // of nu-bar mu-bar' in Corollary 3.8
  const double root = std::pow(2.0, 1.5),
               s = spike_factor * arma::norm(mean) * arma::norm(cross.left_mean()),
               e = bulk_values.front();
  record.set(gram_bulk_min, Gamma.front());
  record.set(gram_bulk_max, Gamma.back());
  record.set(distance_gram_bound, root * Gamma.back() / arma::dot(mean, mean));
  record.set(distance_cross_bound, root * (2.0 * s + e) * e / (s * s));
  trial.check_interrupt();

  const arma::mat W_bar = draw_weights(trial, size, "W-bar", size.k);
  const arma::uword r = std::min(size.d, size.k);
  const arma::mat M_bar = W_bar * left.Q.tail_cols(r);
  record.set(norm_ratio, arma::accu(singular_values(M_bar)) / arma::norm(W_bar, "fro"));
  trial.check_interrupt();
  const double eta = 1.0 / (offset + gram.w.back());
  record.set(nuclear_rank_1, nuclear_rank(arma::mat(W_bar * (B_bar - eta * B_bar * B))));
}

}  // namespace

double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c,
                     const arma::vec& d) {
  // The squared singular values of P Q', P = [a c], Q = [b -d], are the eigenvalues of (P'P)(Q'Q).
  const double p11 = arma::dot(a, a), p12 = arma::dot(a, c), p22 = arma::dot(c, c);
  const double q11 = arma::dot(b, b), q12 = -arma::dot(b, d), q22 = arma::dot(d, d);
  const double trace = p11 * q11 + 2.0 * p12 * q12 + p22 * q22;
  const double determinant = (p11 * p22 - p12 * p12) * (q11 * q22 - q12 * q12);
  return std::sqrt(
      std::max(0.0, trace + std::sqrt(std::max(0.0, trace * trace - 4.0 * determinant))) / 2.0);
}

void measure_cross_gram(const Config& c, const Size& size, const arma::mat& V,
                        const arma::mat& V_bar, const FeatureSamples& samples, const Trial& trial,
                        TrialRecord& record) {
  const Activation& activation = find_activation(c.activation);
  const double d = static_cast<double>(size.d);
  const arma::vec mu = feature_mean(activation, V), nu = feature_mean(activation, V_bar);
  const arma::mat Sigma = feature_cross_covariance(activation, V_bar, V);
  const PairSums student = FeatureSamples::total(samples.student),
                 cross = FeatureSamples::total(samples.cross);
  const auto coefficient = [](const arma::vec& mean, const arma::vec& norm) {
    return arma::dot(mean, norm) / arma::dot(norm, norm);
  };
  record.set(mean_coefficient, coefficient(cross.right_mean(), row_norms(V)));
  record.set(teacher_mean_coefficient, coefficient(cross.left_mean(), row_norms(V_bar)));
  record.set(spike_right_norm, arma::norm(cross.right_mean()));
  record.set(spike_left_norm, arma::norm(cross.left_mean()));
  measure_definitions(cross, mu, nu, Sigma, record);
  trial.check_interrupt();
  measure_expansion(size, samples, cross, V_bar * V.t(), Sigma, record);
  trial.check_interrupt();
  measure_linear_part(V, V_bar, record);

  // Corollary 3.8 replaces 11'/d by a multiple of nu mu': by nu mu'/d as printed, and 11'/(4 pi d)
  // by nu mu'/(2d) here.
  const arma::vec ones(mu.n_elem, arma::fill::ones);
  record.set(rank_one_as_printed, rank_two_norm(ones / d, ones, nu / d, mu));
  record.set(rank_one_corrected, rank_two_norm(ones / (4.0 * pi * d), ones, nu / (2.0 * d), mu));

  const arma::vec values = singular_values(cross.gram());
  trial.check_interrupt();
  const arma::vec bulk = singular_values(
      arma::mat(cross.gram() - (1.0 + 0.5 / d) * cross.left_mean() * cross.right_mean().t()));
  trial.check_interrupt();
  const auto entry = [](const arma::vec& s, std::uint64_t i) {
    return i < s.n_elem ? s(i) : undefined;
  };
  record.set(cross_spike, entry(values, 0));
  record.set(cross_bulk_max, entry(values, 1));
  record.set(sigma_1, entry(bulk, 0));
  record.set(sigma_d, entry(bulk, size.d - 1));
  record.set(sigma_d_plus_1, entry(bulk, size.d));
  record.set(cross_singular_values, std::vector<double>(values.begin(), values.end()));
  record.set(cross_bulk_singular_values, std::vector<double>(bulk.begin(), bulk.end()));
  measure_alignment_and_step(size, c.offset, student, cross, bulk, trial, record);
}

// Claims: Theorem 3.7 and Corollary 3.8 -----------------------------------------------------------

namespace {

const Place before_3_7{"spectral/section-3.2.1/moments", "spectral/thm-3.7/",
                       "Section 3.2.1, before Theorem 3.7"},
    theorem_3_7{"spectral/thm-3.7", "spectral/thm-3.7/", "Theorem 3.7"};

// Claims for every activation: the order of the means, the definition of Sigma, the entries of
// Sigma.
void judge_definitions(const Config& c, const SizeClaims& over_d) {
  Place defined = before_3_7;
  defined.part = Part::definition;
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
    judge_at_largest(c, over_d, *statement, mean_order, within(value, 0.1),
                     "0.1 in the coefficient", order);
  const std::string along =
      "Sigma by its printed entries minus the sampled covariance, along mu - nu, over ||mu - "
      "nu||^2";
  for (const auto& [statement, name] : {std::pair(&center.as_printed, definition_as_printed),
                                        {&center.corrected, definition_corrected}})
    judge_at_largest(c, over_d, *statement, name, within(0.0, 0.2), "0.2 in the coefficient",
                     along);
  judge_at_largest(c, over_d,
                   before_3_7("covariance",
                              "Sigma_ij = ||v-bar_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite "
                              "form if the activation is not homogeneous"),
                   cross_squared_error, within(0.0, squared_error_band), slack_of_squared_error,
                   "relative squared error of the formula, estimated from two independent halves "
                   "of the samples");
}

void judge_constants(const Config& c, const SizeClaims& over_d) {
  const std::string factor = "spectral/section-3.2.1/mean-vector";
  const Misprint mu = before_3_7.misprint(factor, "mean-vector-mu", "mu_i = ||v_i|| times 1/(2 pi)",
                                          "mu_i = ||v_i|| times 1/sqrt(2 pi)"),
                 nu = before_3_7.misprint(factor, "mean-vector-nu",
                                          "nu_i = ||v-bar_i|| times 1/(2 pi)",
                                          "nu_i = ||v-bar_i|| times 1/sqrt(2 pi)");
  const std::string coefficient = "least-squares coefficient on the row norms";
  for (const auto& [form, value] : {std::pair(&Misprint::as_printed, 0.5 / pi),
                                    {&Misprint::corrected, 1.0 / std::sqrt(2.0 * pi)}}) {
    judge_constant(c, over_d, mu.*form, mean_coefficient, value, coefficient_band, coefficient);
    judge_constant(c, over_d, nu.*form, teacher_mean_coefficient, value, coefficient_band,
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
  judge_constant(c, over_d, linear.as_printed, coefficient_linear, 0.5 / pi, fit_band, fit);
  judge_constant(c, over_d, linear.corrected, coefficient_linear, 0.25, fit_band, fit);
  judge_constant(c, over_d, ones.as_printed, coefficient_ones, 1.0, ones_band, fit);
  judge_constant(c, over_d, ones.corrected, coefficient_ones, 0.25 / pi, ones_band, fit);
}

void judge_rates(const Config& c, const SizeClaims& over_d) {
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
  judge_rate(over_d, expansion.as_printed, error_as_printed, like_inverse_root);
  judge_rate(over_d, expansion.corrected, error_corrected, like_inverse_root);
  judge_rate(over_d, rank_one.as_printed, rank_one_as_printed, like_inverse_root);
  judge_rate(over_d, rank_one.corrected, rank_one_corrected, like_inverse_root);
  judge_rate(over_d, assumption("spike-u", "The norm of u, the mean of A, is of order sqrt(d)"),
             spike_right_norm, like_root);
  judge_rate(over_d, assumption("spike-v", "The norm of v, the mean of A-bar, is of order sqrt(d)"),
             spike_left_norm, like_root);
  judge_rate(over_d, assumption("gram-bulk-above", "Gamma <= c_2 I"), gram_bulk_max, does_not_grow);
  judge_rate(over_d, after_3_17("cross-bulk-above", "s_1 of the cross-Gram bulk is bounded"),
             sigma_1, does_not_grow);
  {
    const auto enough = over_d.claims.only_where(
        c.singular() ? "n <= k: the corollary requires n >= C_0 d with a sufficiently large C_0"
                     : "");
    judge_rate(over_d, assumption("gram-bulk-below", "Gamma >= c_1 I"), gram_bulk_min,
               does_not_shrink);
  }
  const std::vector<Size> sizes = c.sizes();
  const bool all_tall =
      std::all_of(sizes.begin(), sizes.end(), [](const Size& size) { return size.k > size.d; });
  const auto tall = over_d.claims.only_where(
      all_tall ? "" : "k <= d at some size: the statement requires k/d > 1");
  judge_rate(over_d, after_3_17("cross-bulk-below", "s_d of the cross-Gram bulk is bounded below"),
             sigma_d, does_not_shrink);
  judge_rate(over_d,
             tail("cross-bulk-tail", "s_(d+1) of the cross-Gram bulk is o(1) + O(sqrt(d/n))"),
             ratio(sigma_d_plus_1, root_d_over_n(c)), does_not_grow);
  judge_rate(over_d, eq_3_17("above", "s_1(V-bar V') <= c_2"), linear_sigma_1, does_not_grow);
  judge_rate(over_d, eq_3_17("below", "s_d(V-bar V') >= c_1"), linear_sigma_d, does_not_shrink);
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

void judge_step(const Config& c, const SizeClaims& over_d) {
  const std::string theorem = "spectral/thm-3.9";
  const Place eq_3_19{theorem, "spectral/eq-3.19/", "Theorem 3.9, eq. (3.19)"},
      particular{theorem, eq_3_19.prefix, "Theorem 3.9, from eq. (3.19) to eq. (3.20)",
                 Part::proof};
  const std::string square = "spectral/thm-3.9/square";
  const std::string step = say(", eta = 1/(c + ||B||), c = {}", c.offset);
  const Metric excess = ratio(nuclear_rank_1, norm_ratio);
  const Metric squared = [](const AtSize& at) {
    return at(nuclear_rank_1) / std::pow(at(norm_ratio), 2);
  };
  const Region at_least_order_d = at_least(1.0 - exponent_slack);
  const Statement printed =
      showing(square, eq_3_19("as-printed", "nr(grad L(W_1)) >= ||M-bar||_* / ||W-bar||_F"));
  constexpr double d_of_example = 1000.0;
  const SmallTeacher example = small_teacher(d_of_example);
  Tally cases = over_d.tally([&](const AtSize& at, Tally& t) {
    if (!std::isnan(excess(at))) t.count(excess(at) < 1.0);
  });
  cases.count(example.nuclear_rank < example.ratio);
  over_d.claims.never_violated(
      printed, cases,
      say("quotient of the two sides {} for Gaussian weights{}; in a "
          "worked example with d = {} and c = 10, nr is {} and the right "
          "side {}",
          over_d.range(excess), step, d_of_example, example.nuclear_rank, example.ratio));
  const Misprint order =
      particular.misprint(square, "order",
                          "||M-bar||_* / ||W-bar||_F, the right side of (3.19) as printed, is at "
                          "least of the order d that (3.20) requires",
                          "(||M-bar||_* / ||W-bar||_F)^2, the squared right side of (3.19), is at "
                          "least of the order d that (3.20) requires");
  over_d.exponent(order.as_printed, norm_ratio, at_least_order_d,
                  "||M-bar||_* / ||W-bar||_F is " + over_d.range(norm_ratio));
  over_d.exponent(
      order.corrected, [](const AtSize& at) { return std::pow(at(norm_ratio), 2); },
      at_least_order_d, "measured: the square of ||M-bar||_* / ||W-bar||_F");
  over_d.everywhere(
      beyond(eq_3_19("squared-constant-one",
                     "nr(grad L(W_1)) >= (||M-bar||_* / ||W-bar||_F)^2 with constant 1")),
      [&](const AtSize& at) { return squared(at) - 1.0; },
      say("quotient of the two sides {}{}; the proof gives >= only up to a constant",
          over_d.range(squared), step));
  over_d.exponent(
      correcting(printed,
                 eq_3_19("corrected",
                         "nr(grad L(W_1)) >= C (||M-bar||_* / ||W-bar||_F)^2 for a constant C")),
      squared, does_not_shrink, say("quotient of the two sides {}{}", over_d.range(squared), step));
  over_d.exponent({theorem, "spectral/eq-3.20", "Theorem 3.9, eq. (3.20)",
                   "nr(grad L(W_1)) is at least of order d"},
                  nuclear_rank_1, at_least_order_d,
                  say("nr(grad L(W_1)) is {}{}", over_d.range(nuclear_rank_1), step));
}

void judge_alignment(const SizeClaims& over_d) {
  const Region like_inverse = at_most(-1.0 + exponent_slack);
  for (const auto& [number, distance, bound, vector] :
       {std::tuple{"3.21", distance_gram, distance_gram_bound, "the top eigenvector of B"},
        std::tuple{"3.22", distance_cross, distance_cross_bound,
                   "the top right singular vector of B-bar"}}) {
    const Place equation{"spectral/thm-3.9", say("spectral/eq-{}", number),
                         say("Theorem 3.9, proof, eq. ({})", number), Part::proof};
    const std::string the_distance =
        say("The distance between {} and u/||u||, up to sign, is ", vector);
    over_d.exponent(
        equation("", the_distance + "O(1/d)"), distance, like_inverse,
        say("distance {}; the paper prints argmin over q instead of min", over_d.range(distance)));
    over_d.everywhere(
        equation("/davis-kahan", the_distance + "at most the bound of Davis, Kahan and Wedin, "
                                                "where u is the sample mean"),
        [d = distance, b = bound](const AtSize& at) { return at(b) - at(d); },
        "in the form of Yu, Wang and Samworth (2015); the bound is " + over_d.range(bound));
  }
  over_d.exponent(
      {"spectral/thm-3.9", "spectral/thm-3.9/alignment", "Theorem 3.9, proof",
       "| r_0'l_0 - 1 | = O(1/d)", Part::proof},
      alignment_defect, like_inverse,
      say("1 - |r_0'l_0| is {}; (3.21) and (3.22) imply O(1/d^2)", over_d.range(alignment_defect)));
}

}  // namespace

void judge_cross_gram(const Config& c, const SizeClaims& over_d) {
  judge_definitions(c, over_d);
  const auto relu = over_d.claims.only_where(c.not_relu());
  judge_constants(c, over_d);
  judge_rates(c, over_d);
  judge_step(c, over_d);
  judge_alignment(over_d);
  judge_proof_3_7(c, over_d);
  {
    const std::vector<Size> sizes = c.sizes();
    const auto tall = over_d.claims.only_where(
        std::all_of(sizes.begin(), sizes.end(),
                    [](const Size& size) { return size.k > size.d && size.n > size.k; })
            ? ""
            : "the statement requires k > d and n >= C_0 d; this run has k <= d or n <= k");
    judge_proof_3_8(over_d);
    judge_proof_3_9(over_d);
  }
  judge_times(c, over_d);
}

}  // namespace ranklab::features
