// One feature map, [Spectral] Section 3.1: phi with its expansion (3.5) and Figure 16; the spike,
// the bulk, Sigma and its expansion (3.6), Theorem 3.2; the samples, Theorem 3.4; Lemma 3.5. phi(t)
// = 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)), g and h independent and normal.
#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>

#include "ensembles/feature_moments.hpp"
#include "experiments/spike_plus_bulk/features/features.hpp"

namespace ranklab::features {

using std::numbers::pi;

// phi ---------------------------------------------------------------------------------------------

// 2 pi Cov(sigma(g), sigma(t g + sqrt(1 - t^2) h)) and its standard error, from the same g and h at
// every t.
void measure_phi(const Config& c, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(c.activation);
  arma::vec g(c.phi_samples), h(c.phi_samples);
  trial.stream("phi.g").fill_normal({g.memptr(), g.n_elem});
  trial.stream("phi.h").fill_normal({h.memptr(), h.n_elem});
  arma::vec a = g;
  apply(activation, a);
  a -= arma::mean(a);
  const double n = static_cast<double>(c.phi_samples);
  std::vector<double> estimates, errors;
  for (const double t : c.phi_at()) {
    trial.check_interrupt();
    arma::vec b = t * g + std::sqrt((1.0 - t) * (1.0 + t)) * h;
    apply(activation, b);
    const arma::vec product = a % (b - arma::mean(b));
    estimates.push_back(2.0 * pi * arma::accu(product) / (n - 1.0));
    errors.push_back(2.0 * pi * arma::stddev(product) / std::sqrt(n));
  }
  record.set(phi_monte_carlo, estimates);
  record.set(phi_standard_error, errors);
}

namespace {

// Compares the estimates of all trials together with the formula, point by point.
void judge_figure(const FeatureClaims& over_d) {
  const Activation& activation = find_activation(over_d.config.activation);
  const Records& records = over_d.records;
  const std::vector<double> points = over_d.config.phi_at();
  Tally deviations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0.0, variance = 0.0;
    for (const TrialRecord& record : records) {
      sum += record.array(phi_monte_carlo).at(i);
      variance += std::pow(record.array(phi_standard_error).at(i), 2);
    }
    const double n = static_cast<double>(records.size());
    const double deviation =
        std::fabs(sum / n - feature_phi(activation, points[i])) / (std::sqrt(variance) / n);
    deviations.count(!(deviation <= tolerance::standard_errors), deviation);
  }
  Place figure = in_figure(spectral::fig_16, "/", "Section 3.1.1 and Figure 16");
  figure.part = Part::caption;
  over_d.claims.never_violated(
      figure("phi", "phi(t) is 2 pi times the covariance of two features at correlation t"),
      deviations,
      say("sampled pairs at every t of the figure: largest deviation {} standard errors, {} "
          "allowed",
          std::max(0.0, deviations.largest), tolerance::standard_errors),
      WorstCase::largest);
}

void judge_derivatives(Claims& claims) {
  const std::vector<double> printed = {0.0, pi / 2.0, 1.0, 0.0, 1.0, 0.0};
  const std::vector<double> found =
      feature_phi_derivatives(find_activation("relu"), printed.size());
  Tally tally;
  std::vector<std::string> list;
  for (std::size_t m = 0; m < printed.size(); ++m) {
    tally.count(std::fabs(found[m] - printed[m]) > 1e-9);
    list.push_back(short_number(std::fabs(found[m]) < 1e-12 ? 0.0 : found[m]));
  }
  claims.never_violated(
      {spectral::thm_3_2, "spectral/fig-16/derivatives", "Theorem 3.2, proof",
       "The derivatives of phi at 0 of orders 0 to 5 are 0, pi/2, 1, 0, 1, 0", Part::proof},
      tally,
      "2 pi m! times the squared Hermite coefficients of relu, by quadrature: " + joined(list));
}

// |phi(t) - pi t/2 - t^2/2| <= max |phi''''| t^4/4! on [-T, T], T the largest cosine of the run;
// phi''''(t) = (1 + 2 t^2)(1 - t^2)^(-5/2) is largest at T. The smallest margin over a grid.
double taylor_margin(const AtSize& at) {
  constexpr int points = 200;
  const Activation& relu = find_activation("relu");
  double smallest = std::numeric_limits<double>::infinity();
  const double T = std::min(1.0, at(row_cosine));
  const double fourth = (1.0 + 2.0 * T * T) * std::pow(1.0 - T * T, -2.5);
  for (int i = -points; i <= points; ++i) {
    const double t = T * i / points;
    const double rest = std::fabs(feature_phi(relu, t) - pi / 2.0 * t - t * t / 2.0);
    smallest =
        std::min(smallest, fourth * std::pow(t, 4) / 24.0 + tolerance::closed_form<double> - rest);
  }
  return smallest;
}

void judge_remainder(const FeatureClaims& over_d) {
  const Place proof{spectral::thm_3_2, "spectral/eq-3.5/", "Theorem 3.2, proof, eq. (3.5)",
                    Part::proof};
  over_d.everywhere(proof("remainder",
                          "|phi(t) - pi t/2 - t^2/2| is at most max |phi''''| t^4/4! for |t| up to "
                          "the largest cosine of the run"),
                    taylor_margin, "largest cosine " + over_d.range(row_cosine));
}

}  // namespace

void judge_phi(const FeatureClaims& over_d) {
  judge_figure(over_d);
  const auto relu = over_d.claims.only_where(over_d.config.not_relu());
  judge_derivatives(over_d.claims);
  judge_remainder(over_d);
}

// The Gram matrix: the trial ----------------------------------------------------------------------

namespace {

// The norm of a symmetric matrix, from its sorted eigenvalues.
double largest_magnitude(const arma::vec& w) {
  return std::max(std::fabs(w.front()), std::fabs(w.back()));
}

// mu by its formula and as the sample mean, with the unbiased estimates of mu_i / ||v_i|| and
// ||mu||^2 / ||V||_F^2 under the model that the mean is proportional to the norms.
void measure_mean(const FeatureSamples& samples, const PairSums& total, const arma::vec& norm,
                  const arma::vec& mu, const arma::mat& Sigma, TrialRecord& record) {
  const arma::vec mean = total.right_mean();
  const double squared = arma::dot(norm, norm);
  record.set(mean_ratio, arma::norm(mean) / std::sqrt(squared));
  record.set(mean_coefficient, arma::dot(mean, norm) / squared);
  record.set(spike_coefficient,
             arma::dot(samples.student[0].right_mean(), samples.student[1].right_mean()) / squared);
  const double shift = arma::norm(mean - mu);
  record.set(mean_shift, shift);
  record.set(mean_error, shift * shift * total.n / arma::trace(Sigma));
  record.set(mean_squared_norm, arma::dot(mean, mean));
  record.set(spike_formula, arma::dot(mu, mu));
}

// lambda_i(Sigma-bar) >= lambda_(i+1)(B) >= lambda_(i+1)(Sigma-bar), both ascending here, up to
// rounding.
double count_interlacing_violations(const arma::vec& gram, const arma::vec& bulk) {
  const double slack = tolerance::epsilon<double> * static_cast<double>(gram.n_elem) * gram.back();
  double violations = 0.0;
  for (arma::uword i = 0; i < gram.n_elem; ++i) {
    if (gram(i) < bulk(i) - slack) violations += 1.0;
    if (i + 1 < gram.n_elem && bulk(i + 1) < gram(i) - slack) violations += 1.0;
  }
  return violations;
}

// Condition number of T_eta = (I - eta B) B at eta = 1/(c + ||B||), Lemma 3.5; infinite if B is
// singular up to rounding.
double step_condition(const arma::vec& lambda, double offset) {
  const double largest = lambda.back(),
               rounding = static_cast<double>(lambda.n_elem) * tolerance::epsilon<double>;
  const arma::vec T = lambda % (offset + largest - lambda) / (offset + largest);
  if (lambda.front() <= rounding * largest) return std::numeric_limits<double>::infinity();
  return T.max() / T.min();
}

}  // namespace

CovarianceExpansion expand_covariance(const arma::mat& V, const arma::mat& Sigma) {
  const arma::vec norm = row_norms(V);
  const arma::mat gram = V * V.t(), outer = norm * norm.t();
  CovarianceExpansion expansion;
  expansion.remainder = Sigma - gram / 4.0 - arma::square(gram) / outer / (4.0 * pi);
  expansion.remainder.diag() -= (pi - 3.0) / (4.0 * pi) * arma::square(norm);
  // K and its expansion, from the unit rows.
  const arma::mat cosines = gram / outer;
  arma::mat E(arma::size(Sigma));
  for (arma::uword j = 0; j < E.n_cols; ++j) {
    for (arma::uword i = 0; i < E.n_rows; ++i) {
      const double t = i == j ? 1.0 : cosines(i, j);
      E(i, j) = feature_phi(find_activation("relu"), t) - pi / 2.0 * t - t * t / 2.0 -
                (i == j ? (pi - 3.0) / 2.0 : 0.0);
    }
  }
  E /= 2.0 * pi;
  const double size = arma::norm(E, "fro");
  expansion.as_printed = arma::norm(expansion.remainder - E, "fro") / size;
  expansion.corrected = arma::norm(expansion.remainder - E % outer, "fro") / size;
  expansion.rounding = tolerance::closed_form<double> * arma::norm(Sigma, "fro") / size;
  return expansion;
}

void measure_gram(const Config& c, const Size& size, const arma::mat& V,
                  const FeatureSamples& samples, const Trial& trial, TrialRecord& record) {
  const Activation& activation = find_activation(c.activation);
  const bool is_relu = c.relu();  // Theorem 3.2 is about relu
  // Each part sets its own variables. The spectra take most of the time, so parts with a spectrum
  // and more come first.
  using Parts = std::vector<std::function<void()>>;
  const auto run = [&](const Parts& parts) {
    trial.for_each_piece(parts.size(), [&](std::size_t i) {
      trial.check_interrupt();
      parts[i]();
    });
  };
  PairSums total;
  arma::mat Sigma, Sigma_bar;
  arma::vec lambda, bulk, exact, errors, minus_linear, hadamard, remainder;
  TrialRecord rows;
  Parts without_Sigma = {
      [&] { Sigma = feature_covariance(activation, V); },
      [&] {
        total = FeatureSamples::total(samples.student);
        Sigma_bar = total.centered_gram();
      },
      [&] { measure_rows(size, V, rows); },
  };
  if (is_relu) {
    without_Sigma.insert(without_Sigma.begin(),
                         [&] { hadamard = symmetric_eigenvalues(arma::square(V * V.t())); });
  }
  run(without_Sigma);

  CovarianceExpansion expansion;
  double entry_error = 0, squared_error = 0;
  Parts with_Sigma = {
      [&] {
        const arma::mat difference = Sigma_bar - Sigma;
        entry_error = arma::abs(difference).max();
        errors = symmetric_eigenvalues(difference);
      },
      [&] { lambda = symmetric_eigenvalues(total.gram()); },
      [&] { bulk = symmetric_eigenvalues(Sigma_bar); },
      [&] { exact = symmetric_eigenvalues(Sigma); },
      [&] { squared_error = unbiased_squared_error(samples.student, Sigma); },
  };
  if (is_relu) {
    with_Sigma.insert(with_Sigma.begin(),
                      {[&] {
                         expansion = expand_covariance(V, Sigma);
                         remainder = symmetric_eigenvalues(expansion.remainder);
                       },
                       [&] { minus_linear = symmetric_eigenvalues(Sigma - V * V.t() / 4.0); }});
  }
  run(with_Sigma);

  const arma::vec mu = feature_mean(activation, V);
  measure_mean(samples, total, row_norms(V), mu, Sigma, record);
  record.insert(rows);
  record.set(spike, lambda.back());
  record.set(bulk_max, lambda(lambda.n_elem - 2));
  record.set(bulk_min, lambda.front());
  record.set(condition, step_condition(lambda, c.offset));
  record.set(sample_bulk_min, bulk.front());
  record.set(sample_bulk_max, bulk.back());
  record.set(interlacing_violations, count_interlacing_violations(lambda, bulk));
  record.set(sigma_norm, exact.back());
  record.set(sigma_min, exact.front());
  record.set(sigma_squared_error, squared_error);
  record.set(sigma_entry_error, entry_error);
  record.set(sigma_error, largest_magnitude(errors) / exact.back());
  record.set(sigma_minus_linear_min, is_relu ? minus_linear.front() : undefined);
  record.set(hadamard_norm, is_relu ? hadamard.back() : undefined);
  record.set(remainder_norm, is_relu ? largest_magnitude(remainder) : undefined);
  record.set(remainder_as_printed, is_relu ? expansion.as_printed : undefined);
  record.set(remainder_corrected, is_relu ? expansion.corrected : undefined);
  record.set(remainder_rounding, is_relu ? expansion.rounding : undefined);
}

// The Gram matrix: Theorem 3.2 --------------------------------------------------------------------

namespace {

const Place before_3_2{spectral::section_3_1_1_moments, "spectral/thm-3.2/",
                       "Section 3.1.1, before Theorem 3.2"};

// Claims for every activation: the sampled moments compared with the formulas of this program.
void judge_formulas(const FeatureClaims& over_d) {
  over_d.at_largest(
      before_3_2("covariance",
                 "Sigma_ij = ||v_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite form if "
                 "the activation is not homogeneous"),
      sigma_squared_error, within(0.0, squared_error_band), slack_of_squared_error,
      "relative squared error of the formula, estimated from two independent halves "
      "of the samples");
}

void judge_mean(const FeatureClaims& over_d) {
  const std::string factor = spectral::section_3_1_1_mean_vector;
  const Misprint mean = before_3_2.misprint(factor, "mean-vector", "mu_i = ||v_i|| / (2 pi)",
                                            "mu_i = ||v_i|| / sqrt(2 pi)"),
                 norm = before_3_2.misprint(factor, "spike", "||mu||^2 = ||V||_F^2 / (4 pi^2)",
                                            "||mu||^2 = ||V||_F^2 / (2 pi)");
  const std::string coefficient = "least-squares coefficient of the sample mean on the row norms";
  const std::string halves =
      "inner product of the means of two halves of the samples, over ||V||_F^2";
  over_d.constant(mean.as_printed, mean_coefficient, 0.5 / pi, coefficient_band, coefficient);
  over_d.constant(mean.corrected, mean_coefficient, 1.0 / std::sqrt(2.0 * pi), coefficient_band,
                  coefficient);
  over_d.constant(norm.as_printed, spike_coefficient, 0.25 / (pi * pi), coefficient_band, halves);
  over_d.constant(norm.corrected, spike_coefficient, 0.5 / pi, coefficient_band, halves);
}

void judge_bounds(const FeatureClaims& over_d) {
  const Place eq_3_4{spectral::thm_3_2, "spectral/eq-3.4/", "Theorem 3.2, eq. (3.4)"};
  const Tally rows = over_d.tally(
      [](const AtSize& at, Tally& t) { t.count(!(at(squared_norm_deviation) < 1.0)); });
  const auto hypothesis = over_d.claims.only_where(
      rows.violations == 0 ? ""
                           : say("hypothesis (3.3) requires squared row norms within eps < 1 of 1; "
                                 "{} draws of V violate it",
                                 rows.violations));
  const std::string with =
      "eps is the smallest that (3.3) allows; the O term is the measured norm of the remainder of "
      "(3.6)";
  over_d.everywhere(
      eq_3_4("lower", "Sigma >= V V'/4 + ((pi - 3)(1 - eps)/(4 pi) + O(k log^2 k/d^2)) I"),
      [](const AtSize& at) {
        return at(sigma_minus_linear_min) + at(remainder_norm) - eq_3_4_lower(at);
      },
      say("{}; smallest eigenvalue of Sigma - V V'/4 is {}, and the bound is {} without the O "
          "term; "
          "the bound drops the Hadamard square, which contributes about 1/(4 pi), because it is >= "
          "0",
          with, over_d.range(sigma_minus_linear_min), over_d.range(eq_3_4_lower)));
  over_d.everywhere(
      eq_3_4("upper",
             "Sigma <= ((1 + 1/(pi (1 - eps)))/4 ||V||^2 + (pi - 3)(1 + eps)/(4 pi) + O(k log^2 "
             "k/d^2)) I"),
      [](const AtSize& at) { return eq_3_4_upper(at) + at(remainder_norm) - at(sigma_norm); },
      say("{}; ||Sigma|| is {}, and the bound is {}", with, over_d.range(sigma_norm),
          over_d.range(eq_3_4_upper)));
}

void judge_expansion(const FeatureClaims& over_d) {
  const Place eq_3_6{spectral::thm_3_2, "spectral/", "Theorem 3.2, proof, eq. (3.6)", Part::proof},
      O_term{eq_3_6.statement_id, "spectral/eq-3.6/", "Theorem 3.2, eqs. (3.4) and (3.6)"};
  const Metric order = [&](const AtSize& at) {
    const double k = real(over_d.sizes[at.i].k);
    return k * std::pow(std::log(k), 2) / (at.x * at.x);
  };
  over_d.exponent(
      O_term("remainder",
             "The remainder of the expansion of Sigma is O(k log^2 k/d^2) in operator norm"),
      ratio(remainder_norm, order), does_not_grow, "measured: the remainder over k log^2 k/d^2");
  over_d.everywhere(
      eq_3_6("eq-3.6",
             "The last term of the expansion of Sigma is Lambda E Lambda/(2 pi), where E is the "
             "error of the expansion of K, because Sigma conjugates K by Lambda"),
      [](const AtSize& at) { return at(remainder_rounding) - at(remainder_corrected); },
      "Frobenius norm of the error of the identity, over that of E/(2 pi): " +
          over_d.range(remainder_corrected));

  // The proof bounds the Hadamard square by its Lemma 3.1 (2) and leaves out the largest diagonal
  // entry. A worked example with k = d = 2: V V' = 1.5 I, and its Hadamard square is 2.25 I.
  const Place proof{spectral::thm_3_2, "/", "Theorem 3.2, proof", Part::proof};
  const Misprint square =
      proof.misprint(spectral::thm_3_2_hadamard_square, "hadamard-square",
                     "||(V V')^(o 2)|| <= ||V V'||", "||(V V')^(o 2)|| <= max ||v_i||^2 ||V V'||");
  const arma::mat gram = 1.5 * arma::mat(2, 2, arma::fill::eye);
  const double worked = hadamard_quotients(gram, gram).diagonal;
  const auto at_most_one = [&](const Statement& statement, const Metric& value, double of_example) {
    constexpr double allowed = 1.0 + tolerance::residual<double>;
    Tally cases = over_d.tally([&](const AtSize& at, Tally& t) { t.count(value(at) > allowed); });
    cases.count(of_example > allowed);
    over_d.claims.never_violated(statement, cases,
                                 say("quotient of the two sides {} for the drawn V, and {} for V = "
                                     "sqrt(1.5) I, which (3.3) allows",
                                     over_d.range(value), of_example));
  };
  const Metric quotient = ratio(hadamard_norm, linear_norm);
  at_most_one(square.as_printed, quotient, worked * gram(0, 0));
  at_most_one(square.corrected, ratio(quotient, largest_squared_norm), worked);
}

// The Gram matrix: Theorem 3.4 and Lemma 3.5 ------------------------------------------------------

void judge_samples(const FeatureClaims& over_d) {
  const Place theorem{spectral::thm_3_4, "/", "Theorem 3.4"},
      proof{theorem.statement_id, theorem.prefix, "Theorem 3.4, proof", Part::proof},
      lemma{spectral::lemma_3_5, "/", "Lemma 3.5"},
      lemma_proof{lemma.statement_id, lemma.prefix, "Lemma 3.5, proof", Part::proof};
  const Config& c = over_d.config;
  const bool singular = c.singular();
  over_d.exponent(theorem("spike", "The squared norm of the empirical mean is of order d"),
                  mean_squared_norm, of_order_d,
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
  const Metric root = over_d.of_order(root_d_over_n);
  const Metric error =
      ratio(sigma_error, [root, quotient = over_d.of_order(d_over_n)](const AtSize& at) {
        return root(at) + quotient(at);
      });
  over_d.exponent(
      proof("covariance-concentration", "||Sigma-bar - Sigma|| is O((sqrt(d/n) + d/n) ||Sigma||)"),
      error, does_not_grow, "relative error over sqrt(d/n) + d/n is " + over_d.range(error));
  const Metric shift = ratio(mean_shift, root);
  over_d.exponent(proof("mean-concentration", "||mu-bar - mu|| is O(sqrt(d/n))"), shift,
                  does_not_grow,
                  say("||mu-bar - mu|| over sqrt(d/n) is {}, with mu_i = ||v_i||/sqrt(2 pi)",
                      over_d.range(shift)));
  {
    const auto definite = over_d.claims.only_where(
        singular ? "n <= k: B is singular; Assumption E requires a positive definite bulk" : "");
    over_d.exponent(
        lemma("condition",
              "The condition number of T = (I - eta B) B is bounded if eta = 1/(c + ||B||)"),
        condition, does_not_grow,
        say("condition number {}, c = {}", over_d.range(condition), c.offset));
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

void judge_gram(const FeatureClaims& over_d) {
  judge_formulas(over_d);
  const auto relu = over_d.claims.only_where(over_d.config.not_relu());
  judge_mean(over_d);
  judge_bounds(over_d);
  judge_expansion(over_d);
  judge_samples(over_d);
}

}  // namespace ranklab::features
