// Claims about the Gram matrix of one feature map: Theorems 3.2 and 3.4 and Lemma 3.5 of
// [Spectral].
#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"
#include "experiments/spike_plus_bulk/features/measure.hpp"

namespace ranklab::features {
namespace {

using std::numbers::pi;

// Theorem 3.2 -------------------------------------------------------------------------------------

const Place before_3_2{"spectral/section-3.1.1/moments", "spectral/thm-3.2/",
                       "Section 3.1.1, before Theorem 3.2"};

// Claims for every activation: the sampled moments compared with the formulas of this program.
void judge_formulas(const Plan& plan, const SizeClaims& over_d) {
  judge_at_largest(plan, over_d,
                   before_3_2("covariance",
                              "Sigma_ij = ||v_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite form if "
                              "the activation is not homogeneous"),
                   sigma_squared_error, within(0.0, squared_error_band), slack_of_squared_error,
                   "relative squared error of the formula, estimated from two independent halves "
                   "of the samples");
  judge_at_largest(
      plan, over_d,
      beyond(before_3_2("mean-entries",
                        "The mean squared distance of the sample mean from the formula for E a is "
                        "tr(Sigma)/n (mu_i = ||v_i||/sqrt(2 pi) for relu)")),
      mean_error, {0.8, 1.25}, "", "n ||mu-bar - mu||^2 / tr Sigma, whose expectation is 1");
}

void judge_mean(const Plan& plan, const SizeClaims& over_d) {
  const std::string factor = "spectral/section-3.1.1/mean-vector";
  const Misprint mean = before_3_2.misprint(factor, "mean-vector", "mu_i = ||v_i|| / (2 pi)",
                                            "mu_i = ||v_i|| / sqrt(2 pi)"),
                 norm = before_3_2.misprint(factor, "spike", "||mu||^2 = ||V||_F^2 / (4 pi^2)",
                                            "||mu||^2 = ||V||_F^2 / (2 pi)");
  const std::string coefficient = "least-squares coefficient of the sample mean on the row norms";
  const std::string halves =
      "inner product of the means of two halves of the samples, over ||V||_F^2";
  judge_constant(plan, over_d, mean.as_printed, mean_coefficient, 0.5 / pi, coefficient_band,
                 coefficient);
  judge_constant(plan, over_d, mean.corrected, mean_coefficient, 1.0 / std::sqrt(2.0 * pi),
                 coefficient_band, coefficient);
  judge_constant(plan, over_d, norm.as_printed, spike_coefficient, 0.25 / (pi * pi),
                 coefficient_band, halves);
  judge_constant(plan, over_d, norm.corrected, spike_coefficient, 0.5 / pi, coefficient_band,
                 halves);
}

void judge_bounds(const SizeClaims& over_d) {
  const Place eq_3_4{"spectral/thm-3.2", "spectral/eq-3.4/", "Theorem 3.2, eq. (3.4)"};
  const Tally rows = over_d.tally(
      [](const AtSize& at, Tally& t) { t.count(!(at(squared_norm_deviation) < 1.0)); });
  const auto hypothesis = over_d.claims.only_where(
      rows.violations == 0 ? ""
                           : "hypothesis (3.3) requires squared row norms within eps < 1 of 1; " +
                                 short_number(rows.violations) + " draws of V violate it");
  const std::string with =
      "eps is the smallest that (3.3) allows; the O term is the measured norm of the remainder of "
      "(3.6)";
  over_d.everywhere(
      eq_3_4("lower", "Sigma >= V V'/4 + ((pi - 3)(1 - eps)/(4 pi) + O(k log^2 k/d^2)) I"),
      [](const AtSize& at) {
        return at(sigma_minus_linear_min) + at(remainder_norm) - eq_3_4_lower(at);
      },
      with + "; smallest eigenvalue of Sigma - V V'/4 is " + over_d.range(sigma_minus_linear_min) +
          ", and the bound is " + over_d.range(eq_3_4_lower) +
          " without the O term; the bound drops the Hadamard square, which contributes about 1/(4 "
          "pi), because it is >= 0");
  over_d.everywhere(
      eq_3_4("upper",
             "Sigma <= ((1 + 1/(pi (1 - eps)))/4 ||V||^2 + (pi - 3)(1 + eps)/(4 pi) + O(k log^2 "
             "k/d^2)) I"),
      [](const AtSize& at) { return eq_3_4_upper(at) + at(remainder_norm) - at(sigma_norm); },
      with + "; ||Sigma|| is " + over_d.range(sigma_norm) + ", and the bound is " +
          over_d.range(eq_3_4_upper));
}

void judge_expansion(const Plan& plan, const SizeClaims& over_d) {
  const Place eq_3_6{"spectral/thm-3.2", "spectral/", "Theorem 3.2, proof, eq. (3.6)", Part::proof},
      O_term{eq_3_6.statement_id, "spectral/eq-3.6/", "Theorem 3.2, eqs. (3.4) and (3.6)"};
  const Metric order = [&](const AtSize& at) {
    const double k = plan.k[at.i];
    return k * std::pow(std::log(k), 2) / (at.x * at.x);
  };
  over_d.exponent(
      O_term("remainder",
             "The remainder of the expansion of Sigma is O(k log^2 k/d^2) in operator norm"),
      ratio(remainder_norm, order), does_not_grow, "measured: the remainder over k log^2 k/d^2");
  const Misprint last =
      eq_3_6.misprint("spectral/thm-3.2/lambda-E", "eq-3.6",
                      "The last term of the expansion of Sigma is E/(2 pi), where E is the error "
                      "of the expansion of K",
                      "The last term of the expansion of Sigma is Lambda E Lambda/(2 pi), where E "
                      "is the error of the expansion of K, because Sigma conjugates K by Lambda");
  const auto exact = [&](const Statement& statement, const char* left) {
    over_d.everywhere(
        statement, [=](const AtSize& at) { return at(remainder_rounding) - at(left); },
        "Frobenius norm of the error of the identity, over that of E/(2 pi): " +
            over_d.range(left));
  };
  exact(last.as_printed, remainder_as_printed);
  exact(last.corrected, remainder_corrected);

  // The proof bounds the Hadamard square by its Lemma 3.1 (2) and leaves out the largest diagonal
  // entry. A worked example with k = d = 2: V V' = 1.5 I, and its Hadamard square is 2.25 I.
  const Place proof{"spectral/thm-3.2", "spectral/thm-3.2/", "Theorem 3.2, proof", Part::proof};
  const Misprint square =
      proof.misprint("spectral/thm-3.2/hadamard-square", "hadamard-square",
                     "||(V V')^(o 2)|| <= ||V V'||", "||(V V')^(o 2)|| <= max ||v_i||^2 ||V V'||");
  const arma::mat gram = 1.5 * arma::mat(2, 2, arma::fill::eye);
  const double worked = hadamard_quotients(gram, gram).diagonal;
  const auto at_most_one = [&](const Statement& statement, const Metric& value, double of_example) {
    constexpr double allowed = 1.0 + tolerance::residual<double>;
    Tally cases = over_d.tally([&](const AtSize& at, Tally& t) { t.count(value(at) > allowed); });
    cases.count(of_example > allowed);
    over_d.claims.never_violated(statement, cases,
                                 "quotient of the two sides " + over_d.range(value) +
                                     " for the drawn V, and " + short_number(of_example) +
                                     " for V = sqrt(1.5) I, which (3.3) allows");
  };
  const Metric quotient = ratio(hadamard_norm, linear_norm);
  at_most_one(square.as_printed, quotient, worked * gram(0, 0));
  at_most_one(square.corrected, ratio(quotient, largest_squared_norm), worked);
}

// Theorem 3.4 and Lemma 3.5 -----------------------------------------------------------------------

void judge_samples(const Plan& plan, const SizeClaims& over_d) {
  const Place theorem{"spectral/thm-3.4", "spectral/thm-3.4/", "Theorem 3.4"},
      proof{theorem.statement_id, theorem.prefix, "Theorem 3.4, proof", Part::proof},
      lemma{"spectral/lemma-3.5", "spectral/lemma-3.5/", "Lemma 3.5"},
      lemma_proof{lemma.statement_id, lemma.prefix, "Lemma 3.5, proof", Part::proof};
  const bool singular = plan.singular;
  over_d.exponent(theorem("spike", "The squared norm of the empirical mean is of order d"),
                  mean_squared_norm, within(1.0, exponent_slack),
                  "||mu-bar||^2 is " + over_d.range(mean_squared_norm));
  {
    const auto enough = over_d.claims.only_where(
        singular ? "n <= k: the theorem requires n >= C_0 d with a sufficiently large C_0" : "");
    over_d.exponent(
        theorem("bulk-below", "The empirical covariance is bounded below: Sigma-bar >= C_1 I"),
        sample_bulk_min, does_not_shrink, "smallest eigenvalue " + over_d.range(sample_bulk_min));
  }
  over_d.exponent(
      theorem("bulk-above", "The empirical covariance is bounded above: Sigma-bar <= C_2 I"),
      sample_bulk_max, does_not_grow, "largest eigenvalue " + over_d.range(sample_bulk_max));
  const Metric d_over_n = [&](const AtSize& at) { return at.x / plan.n[at.i]; };
  const Metric root = [=](const AtSize& at) { return std::sqrt(d_over_n(at)); };
  const Metric error =
      ratio(sigma_error, [=](const AtSize& at) { return root(at) + d_over_n(at); });
  over_d.exponent(
      proof("covariance-concentration", "||Sigma-bar - Sigma|| is O((sqrt(d/n) + d/n) ||Sigma||)"),
      error, does_not_grow, "relative error over sqrt(d/n) + d/n is " + over_d.range(error));
  const Metric shift = ratio(mean_shift, root);
  over_d.exponent(proof("mean-concentration", "||mu-bar - mu|| is O(sqrt(d/n))"), shift,
                  does_not_grow,
                  "||mu-bar - mu|| over sqrt(d/n) is " + over_d.range(shift) +
                      ", with mu_i = ||v_i||/sqrt(2 pi)");
  {
    const auto definite = over_d.claims.only_where(
        singular ? "n <= k: B is singular; Assumption E requires a positive definite bulk" : "");
    over_d.exponent(
        lemma("condition",
              "The condition number of T = (I - eta B) B is bounded if eta = 1/(c + ||B||)"),
        condition, does_not_grow,
        "condition number " + over_d.range(condition) +
            ", c = " + short_number(plan.config.offset));
  }
  over_d.everywhere(
      lemma_proof(
          "interlacing",
          "lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar) for i up to k - 1"),
      [](const AtSize& at) { return -at(interlacing_violations); },
      "checked at every index of every matrix; the paper prints the range up to d - 1, which "
      "should be k - 1");
}

}  // namespace

double eq_3_4_lower(const AtSize& at) {
  return (pi - 3.0) * (1.0 - at(squared_norm_deviation)) / (4.0 * pi);
}

double eq_3_4_upper(const AtSize& at) {
  const double e = at(squared_norm_deviation);
  return (1.0 + 1.0 / (pi * (1.0 - e))) / 4.0 * at(linear_norm) +
         (pi - 3.0) * (1.0 + e) / (4.0 * pi);
}

void judge_gram(const Plan& plan, const SizeClaims& over_d) {
  judge_formulas(plan, over_d);
  const auto relu = over_d.claims.only_where(plan.not_relu());
  judge_mean(plan, over_d);
  judge_bounds(over_d);
  judge_expansion(plan, over_d);
  judge_samples(plan, over_d);
}

}  // namespace ranklab::features
