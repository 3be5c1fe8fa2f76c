// [Spectral] Theorems 2.3, B.1 and B.2, which hold with high probability, Lemma 2.1 (consistency)
// and Lemma 2.5 (noise-to-signal ratio), for three laws of z with known constants: N(0, I), N(1, I)
// and ReLU features. In the bounds C = c = 1.
//
//   |st(Z_n) - er(M)| / er(M) <= C K^4 sqrt((er(M) + u)/n)                              Theorem 2.3
#include <algorithm>
#include <limits>
#include <numbers>

#include "core/fits.hpp"
#include "experiments/random_features/concentration/concentration.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::concentration {

// The laws ----------------------------------------------------------------------------------------

// The psi_2 norm of N(0, 1): E exp(g^2 / K^2) = (1 - 2/K^2)^(-1/2) = 2 at K^2 = 8/3. Every centered
// Y with E exp(t Y) <= exp(t^2 / 2), such as a 1-Lipschitz function of Gaussian vectors minus its
// mean, has at most this norm.
constexpr double gaussian_psi_2 = 1.6329931618554521;

double Law::effective_rank() const {
  return ranklab::effective_rank(symmetric_eigenvalues(M));
}

std::vector<Law> make_laws(std::uint64_t d) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double dimension = static_cast<double>(d), pi = std::numbers::pi;
  const arma::vec zero(d, arma::fill::zeros), one(d, arma::fill::ones);
  const arma::mat I(d, d, arma::fill::eye);

  // log E exp(t (||z||^2 - E||z||^2)) for z ~ N(mu, I): -d/2 log(1 - 2t) + t ||mu||^2/(1 - 2t) - t
  // (d + ||mu||^2).
  const auto normal = [&](double mu_squared) {
    return [=](double t) {
      if (t >= 0.5) return infinity;
      return -0.5 * dimension * std::log1p(-2.0 * t) + t * mu_squared / (1.0 - 2.0 * t) -
             t * (dimension + mu_squared);
    };
  };
  // The entries of ||z||^2 are max(0, g)^2: 0 or g^2, with probability 1/2 each.
  const auto rectified = [=](double t) {
    if (t >= 0.5) return infinity;
    return dimension * (std::log(0.5 + 0.5 / std::sqrt(1.0 - 2.0 * t)) - 0.5 * t);
  };

  Law isotropic{"isotropic", "N(0, I)", zero, I};
  isotropic.K = isotropic.K_norm = gaussian_psi_2;
  isotropic.L = sub_exponential_parameter(normal(0.0), std::sqrt(2.0 * dimension));
  isotropic.from_gaussian = [](arma::mat&) {};

  Law shifted{"shifted", "N(1, I)", one, I + one * one.t()};
  shifted.K = shifted.K_norm = gaussian_psi_2;  // Sigma = I <= M
  shifted.L = sub_exponential_parameter(normal(dimension), std::sqrt(6.0 * dimension));
  shifted.from_gaussian = [](arma::mat& G) { G += 1.0; };

  // E max(0, g) = 1/sqrt(2 pi), E max(0, g)^2 = 1/2, E max(0, g)^4 = 3/2.
  Law relu{"relu", "ReLU features", one / std::sqrt(2.0 * pi),
           (0.5 - 0.5 / pi) * I + one * one.t() / (2.0 * pi)};
  // Example 2.1 with the constant of Gaussian concentration: z is a 1-Lipschitz function of g.
  relu.K_norm = gaussian_psi_2;
  relu.K = relu.K_norm / std::sqrt(0.5 - 0.5 / pi);
  relu.L = sub_exponential_parameter(rectified, std::sqrt(1.25 * dimension));
  relu.from_gaussian = [](arma::mat& G) { G.for_each([](double& g) { g = std::max(0.0, g); }); };
  return {isotropic, shifted, relu};
}

// A trial -----------------------------------------------------------------------------------------

namespace {

// Arrays over n, for each law.
constexpr Measure
    rank_error = {"rank_error", "|st(Z_n) - er(M)| / er(M)",
                  "relative error of the sample's stable rank, mean over draws"},
    noise_above = {"noise.share_above", "",
                   "share of draws whose noise-to-signal ratio is above the bound of Lemma 2.5"},
    inverse_square_root = {"inverse_square_root", "1/sqrt(n)",
                           "order of the error of the stable rank"};
struct Bounded {
  Measure share, quotient;
  Place place;
  std::string text;
  double tail;  // factor of exp(-u) in the failure probability
};
constexpr char of_quotient[] = "largest of the draws' quotients of both sides, with C = 1";
const Bounded theorem_2_3{{"rank.share", "", "share of draws that violate Theorem 2.3"},
                          {"rank.quotient", "", of_quotient},
                          {spectral::thm_2_3, "/", "Theorem 2.3"},
                          "|st(Z_n) - er(M)| / er(M) <= C K^4 sqrt((er(M) + u)/n)",
                          5.0},
    theorem_B_1{{"trace.share", "", "share of draws that violate Theorem B.1"},
                {"trace.quotient", "", of_quotient},
                {spectral::thm_B_1, "/", "Theorem B.1, eq. (B.2)"},
                "|tr(M_n) - tr(M)| <= C K^2 tr(M) (sqrt(u/n) + u/n)",
                4.0},
    theorem_B_2{{"moment.share", "", "share of draws that violate Theorem B.2"},
                {"moment.quotient", "", of_quotient},
                {spectral::thm_B_2, "/", "Theorem B.2"},
                "||M_n - M||_op <= C K^4 (sqrt((er(M) + u)/n) + (er(M) + u)/n) ||M||_op",
                4.0};

Quantity of(const Law& law, const Measure& measure) {
  return At("law", law.name) / measure;
}

// One path: the first n columns, for ascending n.
class Path {
 public:
  explicit Path(const arma::mat& Z)
      : Z_(Z), sum_(Z.n_rows, Z.n_rows, arma::fill::zeros), total_(Z.n_rows, arma::fill::zeros) {}

  void extend_to(std::uint64_t n) {
    const arma::mat block = Z_.cols(used_, n - 1);
    sum_ += block * block.t();
    total_ += arma::sum(block, 1);
    used_ = n;
  }
  arma::mat moment() const { return sum_ / static_cast<double>(used_); }
  arma::vec mean() const { return total_ / static_cast<double>(used_); }

 private:
  const arma::mat& Z_;
  arma::uword used_ = 0;
  arma::mat sum_;
  arma::vec total_;
};

void measure_law(const Config& c, const Law& law, const Trial& trial, TrialRecord& record) {
  const std::size_t sizes = c.n.size();
  const double er = law.effective_rank(), trace = arma::trace(law.M), op_norm = trace / er,
               K2 = law.K * law.K, u = c.u;
  const double noise = trace / arma::dot(law.mean, law.mean),
               noise_bound = (1.0 + c.epsilon) / std::pow(1.0 - c.epsilon, 2) * noise;
  Means error(sizes, c.draws), noise_share(sizes, c.draws);
  BoundShares rank(sizes, c.draws), of_trace(sizes, c.draws), of_moment(sizes, c.draws);
  for (std::uint64_t draw = 0; draw < c.draws; ++draw) {
    arma::mat Z = gaussian(trial, numbered("law/" + law.name, draw), c.d, c.n.back());
    law.from_gaussian(Z);
    Path path(Z);
    for (std::size_t i = 0; i < sizes; ++i) {
      trial.check_interrupt();
      path.extend_to(c.n[i]);
      const arma::mat M_n = path.moment();
      const double n = static_cast<double>(c.n[i]), trace_n = arma::trace(M_n),
                   relative_error = std::fabs(stable_rank_from_gram(M_n) - er) / er;
      const double deviation = std::sqrt((er + u) / n), root = std::sqrt(u / n);
      error.add(i, relative_error);
      rank.add(i, relative_error, K2 * K2 * deviation);
      of_trace.add(i, std::fabs(trace_n - trace), K2 * trace * (root + root * root));
      of_moment.add(i, operator_norm(M_n - law.M),
                    K2 * K2 * (deviation + deviation * deviation) * op_norm);
      const arma::vec mean = path.mean();
      noise_share.add(i, trace_n / arma::dot(mean, mean) > noise_bound ? 1.0 : 0.0);
    }
  }
  record.set(of(law, rank_error), error.values());
  record.set(of(law, noise_above), noise_share.values());
  const auto set = [&](const Bounded& bounded, const BoundShares& shares) {
    record.set(of(law, bounded.share), shares.share.values());
    record.set(of(law, bounded.quotient), shares.quotient);
  };
  set(theorem_2_3, rank);
  set(theorem_B_1, of_trace);
  set(theorem_B_2, of_moment);
}

// Claims ------------------------------------------------------------------------------------------

double count_used(const std::vector<bool>& used) {
  return static_cast<double>(std::ranges::count(used, true));
}

// Constants of Lemma 2.5, from its proof.
//
// Mean: let ||X||_psi2 <= K and E X = 0. If |t| K <= 1, exp(x) <= x + exp(x^2) gives E exp(tX) <=
// E exp(t^2 X^2) <= exp(a (tK)^2) with a = log 2. Otherwise tX <= (tK)^2/2 + X^2/(2 K^2) gives the
// same with a = (1 + log 2)/2 = 0.847. So the mean of n copies is below -s with probability at most
// exp(-n s^2/(4 a K^2)), and 1/(4 a) > 1/4.
//
// Second moment: let ||Y||_psi1 <= L, E Y = 0 and |t| L <= 1/2. With y = |Y|/L, E exp(tY) <= 1 +
// E (tY)^2 exp(|tY|)/2, and y^2 exp(y/2)/2 <= (8/e^2) exp(y), so E exp(tY) <= exp(2.166 (tL)^2).
// So the mean of n copies exceeds s with probability at most exp(-n min(s^2/L^2, s/L)/8.67).
constexpr double c_1 = 1.0 / 4.0, c_2 = 1.0 / 9.0;

// The failure probability that Lemma 2.5 allows.
double allowed_failure(const Law& law, double epsilon, double n) {
  const double m = arma::trace(law.M), mu2 = arma::dot(law.mean, law.mean);
  const double relative = epsilon * m / law.L;
  return 2.0 * std::exp(-c_1 * n * epsilon * epsilon * mu2 / (law.K_norm * law.K_norm)) +
         2.0 * std::exp(-c_2 * n * std::min(relative * relative, relative));
}

void judge_noise(const Config& c, const Law& law, const Records& records, Claims& claims) {
  if (arma::dot(law.mean, law.mean) == 0.0) return;
  const Statement statement = asymptotic(
      Statement{spectral::lemma_2_5, "spectral/lemma-2.5/" + law.name, "Lemma 2.5",
                say("Share of samples of {} in which m2-hat/||mu-hat||^2 exceeds (1 + eps1)/(1 - "
                    "eps2)^2 m2/||mu||^2: at most the printed failure probability",
                    law.text)},
      "c1 = 1/4 and c2 = 1/9, which the proof gives");
  std::vector<bool> used;
  std::vector<double> allowed;
  for (const double n : c.sizes()) {
    allowed.push_back(allowed_failure(law, c.epsilon, n));
    used.push_back(allowed.back() < 1.0);
  }
  const std::string too_few =
      count_used(used) > 0.0
          ? ""
          : "at every n of the run the lemma allows a failure probability of at least 1";
  if (!claims.applies(statement, too_few)) return;
  const Quantity array = of(law, noise_above);
  const std::size_t worst = worst_size(records, array, used);
  judge_probability(c, statement, entry_of(records, array, worst), at_most(allowed[worst]),
                    say("samples of {} that violate the inequality at n = {}, the size with the "
                        "largest share among those at which the lemma allows less than 1; K = {}, "
                        "L = {}",
                        law.text, c.n[worst], law.K_norm, law.L),
                    claims, count_used(used));
}

// The exponent of n in the mean error of each trial.
void judge_consistency(const Config& c, const Law& law, const Records& records, Claims& claims) {
  const Quantity array = of(law, rank_error);
  const auto slopes = slopes_over(
      records, c.sizes(),
      [&](const TrialRecord& record, std::size_t i) { return record.array(array).at(i); },
      fit_power, 2);
  claims.mean(
      asymptotic(Statement{spectral::lemma_2_1, "spectral/lemma-2.1/" + law.name, "Lemma 2.1",
                           say("Exponent of n in the mean of |st(Z_n) - er(M)| for {}: below 0",
                               law.text)},
                 "an exponent of n below 0, ours"),
      slopes, compared(at_most(0.0)),
      say("exponent of n in the mean error of each trial; {}, er(M) = {}, relative error {} at n = "
          "{}",
          law.text, law.effective_rank(), mean_of_entry(records, array, c.n.size() - 1),
          c.n.back()));
}

// A bound with C = c = 1. The hypothesis n >= C K^8 (er(M) + u) is that of Theorem 2.3.
void judge_bound(const Config& c, const Law& law, const Bounded& bounded, const Records& records,
                 Claims& claims) {
  const double allowed = bounded.tail * std::exp(-c.u);
  const double needed =
      &bounded == &theorem_2_3 ? std::pow(law.K, 8) * (law.effective_rank() + c.u) : 0.0;
  const Statement statement = asymptotic(
      bounded.place(law.name, say("Share of samples of {} that violate {}: at most {} exp(-c u)",
                                  law.text, bounded.text, bounded.tail)),
      "C = c = 1, ours");
  std::vector<bool> used;
  for (const double n : c.sizes()) used.push_back(n >= needed);
  std::string unmet;
  if (allowed >= 1.0) unmet = "at this u the theorem allows a failure probability of at least 1";
  if (count_used(used) == 0.0) {
    unmet = say("the theorem requires n >= C K^8 (er(M) + u) = {} with C = 1; the largest n is {}",
                needed, c.n.back());
  }
  if (!claims.applies(statement, unmet)) return;
  const Quantity array = of(law, bounded.share);
  const std::size_t worst = worst_size(records, array, used);
  double quotient = 0.0;
  for (const TrialRecord& record : records) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) quotient = std::max(quotient, record.array(of(law, bounded.quotient)).at(i));
    }
  }
  judge_probability(c, statement, entry_of(records, array, worst), at_most(allowed),
                    say("samples of {} above the bound; K = {}, u = {}; all samples satisfy the "
                        "bound with C = {}",
                        law.text, law.K, c.u, quotient),
                    claims, count_used(used));
}

// B.1's proof: ||<z - mu, mu>||_psi2 <= K sqrt(mu' Sigma mu). (B.1) has M in place of Sigma, and
// K >= 1. Counterexample: z = (mu + sigma g) e_1 with mu^2 = 2 sigma^2, which satisfies (B.1) with
// K = 1.
void judge_cross_term(Claims& claims) {
  const Misprint cross = Place{spectral::thm_B_1, "/", "Theorem B.1, proof", Part::proof}.misprint(
      spectral::thm_B_1_cross_term, "cross-term",
      "||<z - mu, mu>||_psi2 <= K sqrt(mu' Sigma mu) under (B.1)",
      "||<z - mu, mu>||_psi2 <= K sqrt(mu' M mu) under (B.1)");
  const double sigma = 1.0, mu = std::sqrt(2.0), M = mu * mu + sigma * sigma;
  const double K = std::max(1.0, gaussian_psi_2 * sigma / std::sqrt(M)),
               norm = gaussian_psi_2 * sigma * mu;
  const std::string law = say("quotient of both sides for z = (sqrt(2) + g) e_1 and K = {}", K);
  claims.number(cross.as_printed, norm / (K * mu * sigma), at_most(1.0), law);
  claims.number(cross.corrected, norm / (K * mu * std::sqrt(M)), at_most(1.0), law);
}

}  // namespace

// The trial, and the result -----------------------------------------------------------------------

void measure_laws(const Config& c, const Trial& trial, TrialRecord& record) {
  for (const Law& law : make_laws(c.d)) measure_law(c, law, trial, record);
}

void derive_laws(const Config& c, Numbers& out) {
  for (const Law& law : make_laws(c.d)) {
    out.scalar(of(law, rank_error), entry_of(out.records(), of(law, rank_error), c.n.size() - 1));
    out.series(of(law, rank_error), "n", c.sizes());
    out.series(of(law, noise_above), "n", c.sizes());
    for (const Bounded* bounded : {&theorem_2_3, &theorem_B_1, &theorem_B_2}) {
      out.series(of(law, bounded->share), "n", c.sizes());
      out.series(of(law, bounded->quotient), "n", c.sizes());
    }
  }
  std::vector<double> root;
  for (const double n : c.sizes()) root.push_back(1.0 / std::sqrt(n));
  out.series_of_points(inverse_square_root, "n", c.sizes(), root);
}

void judge_laws(const Config& c, const Records& records, Claims& claims) {
  for (const Law& law : make_laws(c.d)) {
    judge_consistency(c, law, records, claims);
    judge_bound(c, law, theorem_2_3, records, claims);
    judge_noise(c, law, records, claims);
    judge_bound(c, law, theorem_B_1, records, claims);
    judge_bound(c, law, theorem_B_2, records, claims);
  }
  judge_cross_term(claims);
}

void show_laws(const Config& c, Display& out) {
  PanelBuilder error = out.panel("Lemma 2.1 and Theorem 2.3: error of the stable rank",
                                 log_axis("samples n"), log_axis("|st(Z_n) - er(M)| / er(M)"));
  for (const Law& law : make_laws(c.d)) {
    error.curve(of(law, rank_error), law.text,
                {.style = LineStyle::line_points, .band = BandKind::interval});
  }
  error.curve(inverse_square_root, "1/sqrt(n)", {LineStyle::dotted});
}

}  // namespace ranklab::concentration
