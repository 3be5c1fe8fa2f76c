// [Spectral] Lemma 2.11: a Gaussian perturbation adds its squared norm; and Lemma 2.12: norms after
// a Gaussian layer.
//
//   (1 - eps)(||x||^2 + ||g||^2) <= ||x + g||^2 <= (1 + eps)(||x||^2 + ||g||^2)       Lemma 2.11
//   ||sigma(W A)||_F^2 >= (1 - eps) (1/2) tau^2 p (k/d) ||A||_F^2                      eq. (2.16)
//
// x, g (d) with g ~ N(0, I); W (k, width): N(0, 1/width); A (width, n) with columns of norm
// sqrt(width); p = P(|sigma(g)| >= tau).
#include <algorithm>

#include "experiments/random_features/concentration/concentration.hpp"

namespace ranklab::concentration {

namespace {

// A trial -----------------------------------------------------------------------------------------

// Lemma 2.11: the share of draws outside the interval, for each ||x||^2 / (sigma^2 d).
const std::vector<double> perturbation_norms = {0.25, 1.0, 4.0};
constexpr char perturbation_outside[] = "perturbation.share_outside";
constexpr double perturbation_epsilon = 0.45;

// Lemma 2.12: the share of draws below the bound, and the smallest quotient of both sides, for each
// activation beyond ReLU.
const char* const activations[] = {"abs", "leaky-relu", "relu2", "gelu", "silu", "quadratic"};
std::string below_of(const std::string& sigma) {
  return sigma + ".share_below";
}
constexpr Measure block_quotient = {"quotient", "",
                                    "largest of the draws' quotients of both sides of (2.16)"},
                  over_printed = {"deviation.over_printed", "",
                                  "exact probability of (C.1) over its printed bound"},
                  over_corrected = {"deviation.over_corrected", "",
                                    "exact probability of (C.1) over its corrected bound"};
Quantity quotient_of(const std::string& sigma) {
  return At("activation", sigma) / block_quotient;
}
constexpr double block_tau = 1.0;  // tau_sigma of Assumption B

void measure_perturbation(const Config& c, const Trial& trial, TrialRecord& record) {
  Means outside(perturbation_norms.size(), c.draws);
  for (std::uint64_t draw = 0; draw < c.draws; ++draw) {
    const arma::vec g = gaussian(trial, numbered("perturbation/g", draw), c.vector, 1);
    for (std::size_t i = 0; i < perturbation_norms.size(); ++i) {
      // The law of g is invariant under rotation, so x may have equal entries.
      const arma::vec x(g.n_elem, arma::fill::value(std::sqrt(perturbation_norms[i])));
      const double apart = arma::dot(x, x) + arma::dot(g, g), sum = arma::dot(x + g, x + g);
      outside.add(i, std::fabs(sum - apart) > perturbation_epsilon * apart ? 1.0 : 0.0);
    }
  }
  record.set(perturbation_outside, outside.values());
}

void measure_block(const Config& c, const std::string& sigma, const Trial& trial,
                   TrialRecord& record) {
  const Activation& activation = find_activation(sigma);
  const double k = static_cast<double>(c.k), d = static_cast<double>(c.width),
               p = small_ball_probability(activation, block_tau),
               epsilon = block_epsilon(p, c.k, c.columns),
               c_sigma = 0.5 * block_tau * block_tau * p;
  BoundShares below(1, c.draws);
  for (std::uint64_t draw = 0; draw < c.draws; ++draw) {
    trial.check_interrupt();
    // The columns have norm sqrt(d) and a common part.
    arma::mat A = gaussian(trial, numbered("block/A", draw), c.width, c.columns);
    A += 1.0;
    A = std::sqrt(d) * arma::normalise(A);
    arma::mat B = gaussian(trial, numbered("block/W", draw), c.k, c.width, 1.0 / std::sqrt(d)) * A;
    apply(activation, B);
    below.add(0, (1.0 - epsilon) * c_sigma * k / d * arma::accu(arma::square(A)),
              arma::accu(arma::square(B)));
  }
  record.set(below_of(sigma), below.share.values());
  record.set(quotient_of(sigma), below.quotient);
}

// Claims: Lemma 2.11 ------------------------------------------------------------------------------

const std::string deviation_text =
    "| ||g||^2 - d | > eps d/4 for g ~ N(0, I_d) with probability at most 2 exp(-eps^2 d/";
const Statement lemma_2_11 = asymptotic(
    Statement{spectral::lemma_2_11, spectral::lemma_2_11, "Lemma 2.11",
              "Share of draws in which ||x + g||^2 is outside (1 - eps)(||x||^2 + ||g||^2) to (1 + "
              "eps)(||x||^2 + ||g||^2): at most 4 exp(-eps^2 d/64)"},
    "one d and eps, three lengths of x, ours");
const Statement every_x = beyond(Statement{
    spectral::lemma_2_11, "spectral/lemma-2.11/every-x", "Lemma 2.11",
    "The interval holds for every x unless |<x, g>| > eps ||x|| ||g||, which has a probability of "
    "at most 4 exp(-eps^2 d/64)"});
const Misprint eq_C_1 =
    Place{spectral::lemma_2_11, "spectral/", "Lemma 2.11, proof, eq. (C.1)", Part::proof}.misprint(
        spectral::lemma_2_11_chi_square, "eq-C.1", deviation_text + "64)", deviation_text + "70)");

// log of both sides' quotient in (C.1), with exponent eps^2 d / divisor.
double log_quotient(double epsilon, double d, double divisor) {
  return log_chi_squared_deviation(d, epsilon / 4.0) - std::log(2.0) +
         epsilon * epsilon * d / divisor;
}

// The smallest d above 4096 at which (C.1) fails as printed; the quotient grows from there on.
double first_violation(double epsilon) {
  double holds = 4096.0, fails = 65536.0;
  while (fails - holds > 1.0) {
    const double d = std::floor(0.5 * (holds + fails));
    (log_quotient(epsilon, d, 64.0) > 0.0 ? fails : holds) = d;
  }
  return fails;
}

void judge_perturbation(const Config& c, const Records& records, Claims& claims) {
  const double d = static_cast<double>(c.vector),
               allowed = 4.0 * std::exp(-perturbation_epsilon * perturbation_epsilon * d / 64.0);
  const std::string vacuous =
      allowed < 1.0 ? "" : "at this d the lemma allows a failure probability of at least 1";
  if (claims.applies(lemma_2_11, vacuous)) {
    // The norm at which most draws are outside.
    const std::size_t worst = worst_size(records, perturbation_outside,
                                         std::vector<bool>(perturbation_norms.size(), true));
    judge_probability(c, lemma_2_11, entry_of(records, perturbation_outside, worst),
                      at_most(allowed),
                      say("outside the interval, the most over ||x||^2 = d/4, d and 4d; eps = {}, "
                          "d = {}, sigma = 1",
                          perturbation_epsilon, c.vector),
                      claims, static_cast<double>(perturbation_norms.size()));
  }
  Tally caps, printed, corrected;
  for (const double eps : {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.499}) {
    for (const double dimension : {2.0, 16.0, 128.0, 1024.0, 8192.0, 16384.0, 65536.0}) {
      const double exponent = eps * eps * dimension;
      const double cap = cap_probability(dimension, eps) / (4.0 * std::exp(-exponent / 64.0));
      caps.count(cap > 1.0, cap);
      const double log_printed = log_quotient(eps, dimension, 64.0),
                   log_corrected = log_quotient(eps, dimension, 70.0);
      printed.count(log_printed > 0.0, std::exp(log_printed));
      corrected.count(log_corrected > 0.0, std::exp(log_corrected));
    }
  }
  const auto judge = [&](const Statement& statement, const Tally& tally, const std::string& how) {
    claims.never_violated(statement, tally,
                          say("{}, eps from 0.01 to 0.499 and d from 2 to 65,536; largest quotient "
                              "of both sides {}",
                              how, tally.largest),
                          WorstCase::largest);
  };
  judge(every_x, caps, "spherical caps by Student's law");
  judge(eq_C_1.as_printed, printed,
        say("at eps = 0.499 violated from d = {} on; both tails of chi-squared",
            count_text(first_violation(0.499))));
  judge(eq_C_1.corrected, corrected, "both tails of chi-squared");
}

// Claims: Lemma 2.12 ------------------------------------------------------------------------------

void judge_block(const Config& c, const std::string& sigma, const Records& records,
                 Claims& claims) {
  const double k = static_cast<double>(c.k), n = static_cast<double>(c.columns);
  const double p = small_ball_probability(find_activation(sigma), block_tau);
  const double epsilon = block_epsilon(p, c.k, c.columns),
               allowed = 2.0 * n * std::exp(-0.5 * p * epsilon * epsilon * k);
  const Statement statement = asymptotic(
      Statement{spectral::lemma_2_12, "spectral/eq-2.16/" + sigma, "Lemma 2.12, eq. (2.16)",
                say("Share of draws in which ||sigma(WA)||_F^2 is below (1 - eps) (1/2) tau^2 p "
                    "(k/d) ||A||_F^2, sigma = {}: at most 2n exp(-c1 eps^2 k)",
                    sigma)},
      "c1 = p/2, which the proof gives");
  const std::string too_large =
      epsilon < 1.0 ? ""
                    : say("at these sizes (2.16) allows a failure probability of a tenth only with "
                          "eps = {}, and the lemma needs eps < 1",
                          epsilon);
  if (!claims.applies(statement, too_large)) return;
  const double largest = std::ranges::max(scalars_of(records, quotient_of(sigma)));
  judge_probability(c, statement, entry_of(records, below_of(sigma), 0), at_most(allowed),
                    say("below the bound; tau = {}, p = {}, eps = {}, k = {}, n = {}; largest "
                        "quotient of both sides {}",
                        block_tau, p, epsilon, c.k, c.columns, largest),
                    claims);
}

// The exact probability of (C.1) over the printed and the corrected bound, eps = 0.499.
void add_deviation(Numbers& out) {
  constexpr double epsilon = 0.499;
  std::vector<double> d, printed, corrected;
  for (double dimension = 64.0; dimension <= 65536.0; dimension *= 2.0) {
    const double log_both = log_chi_squared_deviation(dimension, epsilon / 4.0) - std::log(2.0),
                 exponent = epsilon * epsilon * dimension;
    d.push_back(dimension);
    printed.push_back(std::exp(log_both + exponent / 64.0));
    corrected.push_back(std::exp(log_both + exponent / 70.0));
  }
  out.series_of_points(over_printed, "d", d, printed);
  out.series_of_points(over_corrected, "d", d, corrected);
}

}  // namespace

// The trial, and the result -----------------------------------------------------------------------

double block_epsilon(double p, std::uint64_t k, std::uint64_t columns) {
  return std::sqrt(2.0 * std::log(20.0 * static_cast<double>(columns)) /
                   (p * static_cast<double>(k)));
}

void measure_gaussian_layer(const Config& c, const Trial& trial, TrialRecord& record) {
  measure_perturbation(c, trial, record);
  for (const char* sigma : activations) measure_block(c, sigma, trial, record);
}

void derive_gaussian_layer(Numbers& out) {
  for (const char* sigma : activations) out.scalar(quotient_of(sigma));
  add_deviation(out);
}

void judge_gaussian_layer(const Config& c, const Records& records, Claims& claims) {
  judge_perturbation(c, records, claims);
  for (const char* sigma : activations) judge_block(c, sigma, records, claims);
}

void show_gaussian_layer(Display& out) {
  out.panel("Eq. (C.1), exact probability over the bound", log_axis("dimension d"),
            log_axis("quotient; above 1: violated"))
      .curve(over_printed, "2 exp(-eps^2 d/64), as printed", {LineStyle::line_points})
      .curve(over_corrected, "2 exp(-eps^2 d/70), corrected", {LineStyle::line_points})
      .line(1.0);
}

}  // namespace ranklab::concentration
