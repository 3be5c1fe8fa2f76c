// [Spectral] Lemma 3.1, about Hadamard products, counted over random matrices and over matrices at
// which an inequality is an equality; and Lemma 3.3, about the rows of a Gaussian V.
#include <algorithm>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::features {

// Lemma 3.1 ---------------------------------------------------------------------------------------

namespace {

const Place lemma_3_1{spectral::lemma_3_1, "/", "Lemma 3.1"};
const std::array<Inequality, 3> items = {
    lemma_3_1.counted("1", "||Q o P||_op <= max_ij |Q_ij| ||P||_F for any two matrices"),
    lemma_3_1.counted("2", "||Q o P||_op <= max_i Q_ii ||P||_op if Q >= 0"),
    lemma_3_1.counted("3", "Q o P >= 0 if Q >= 0 and P >= 0")};

constexpr std::array<arma::uword, 5> matrix_sizes = {1, 2, 5, 12, 30};

arma::mat draw(Stream& stream, arma::uword rows, arma::uword columns) {
  arma::mat G(rows, columns);
  stream.fill_normal({G.memptr(), G.n_elem});
  return G;
}

// A positive semidefinite matrix of the given rank.
arma::mat draw_semidefinite(Stream& stream, arma::uword k, arma::uword rank) {
  const arma::mat G = draw(stream, k, rank);
  return G * G.t();
}

void count_pair(const arma::mat& Q, const arma::mat& P, bool Q_semidefinite, bool P_semidefinite,
                TrialRecord& record) {
  constexpr double allowed = 1.0 + tolerance::residual<double>;
  const HadamardQuotients sides = hadamard_quotients(Q, P);
  record.count(items[0].id, sides.frobenius > allowed, sides.frobenius);
  if (!Q_semidefinite) return;
  record.count(items[1].id, sides.diagonal > allowed, sides.diagonal);
  if (!P_semidefinite) return;
  const double smallest = symmetric_eigenvalues(Q % P).front() / sides.norm;
  record.count(items[2].id, smallest < 1.0 - allowed, smallest);
}

}  // namespace

HadamardQuotients hadamard_quotients(const arma::mat& Q, const arma::mat& P) {
  const double norm = operator_norm(arma::mat(Q % P));
  return {norm, norm / (arma::abs(Q).max() * arma::norm(P, "fro")),
          norm / (Q.diag().max() * operator_norm(P))};
}

void count_hadamard(const Trial& trial, TrialRecord& record) {
  for (const Inequality& item : items) record.add(item.id, {});
  Stream stream = trial.stream("lemma-3.1");
  for (const arma::uword k : matrix_sizes) {
    const arma::mat ones(k, k, arma::fill::ones);
    for (const arma::uword rank : {arma::uword(1), std::max<arma::uword>(k / 2, 1), k}) {
      const arma::mat Q = draw_semidefinite(stream, k, rank),
                      P = draw_semidefinite(stream, k, k + 1 - rank), G = draw(stream, k, k),
                      H = draw(stream, k, rank) * draw(stream, rank, k);
      count_pair(G, H, false, false, record);
      count_pair(Q, G, true, false, record);
      count_pair(Q, H, true, false, record);
      count_pair(Q, P, true, true, record);
      count_pair(ones, H, true, false, record);  // equality in 2; in 1 if the rank is 1
      count_pair(Q, ones, true, true, record);
    }
  }
}

void judge_hadamard(const Records& records, Claims& claims) {
  const std::array<const char*, 3> shown = {"quotient of the two sides",
                                            "quotient of the two sides",
                                            "smallest eigenvalue of Q o P over its norm"};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Tally tally = tally_of(records, items[i].id);
    claims.never_violated(items[i], records,
                          say("random matrices of 1 to 30 rows and all ranks; {} from {} to {}",
                              shown[i], tally.smallest, tally.largest),
                          i == 2 ? WorstCase::smallest : WorstCase::largest);
  }
}

// Lemma 3.3 ---------------------------------------------------------------------------------------

void measure_rows(const Size& size, const arma::mat& V, TrialRecord& record) {
  const arma::vec norm = row_norms(V);
  const double k = real(size.k), d = real(size.d);
  record.set(squared_norm_deviation, arma::abs(arma::square(norm) - 1.0).max());
  record.set(largest_squared_norm, arma::square(norm).max());
  arma::mat cosines = V * V.t();
  cosines /= norm * norm.t();
  cosines.diag().zeros();
  record.set(row_cosine, arma::abs(cosines).max());
  record.set(frobenius_deviation, std::fabs(arma::dot(V, V) / k - 1.0));
  const arma::mat gram = size.d < size.k ? arma::mat(V.t() * V) : arma::mat(V * V.t());
  const double largest = std::sqrt(symmetric_eigenvalues(gram).max());
  record.set(linear_norm, largest * largest);
  record.set(norm_excess, std::max(0.0, largest - std::sqrt(k / d) - 1.0));
}

namespace {

// (3.7) fails with probability at most 4/k. Measured: the fraction of the sizes of one trial at
// which it fails.
void judge_failures(const FeatureClaims& over_d) {
  const Statement statement = reading(
      Statement{
          spectral::lemma_3_3, "spectral/eq-3.7", "Lemma 3.3, eq. (3.7)",
          "The cosines between rows of V and the deviations of their squared norms from 1 are "
          "at most 4 sqrt(log(k)/d) with probability at least 1 - 4/k"},
      "the frequency of failures in the run, against 4/k");
  std::vector<std::size_t> covered;
  double allowed = 0.0;
  const std::vector<double> k = of_each(over_d.sizes, &Size::k);
  for (std::size_t i = 0; i < k.size(); ++i) {
    if (std::log(k[i]) / over_d.x[i] > 0.25) continue;
    covered.push_back(i);
    allowed += std::min(1.0, 4.0 / k[i]);
  }
  if (!over_d.claims.applies(statement,
                             covered.empty() ? "log(k)/d exceeds 1/4 at every size" : ""))
    return;
  const double count = static_cast<double>(covered.size());
  const Metric unit = over_d.of_order(root_log_k_over_d);
  const auto failed = [&](const TrialRecord& record) {
    double failures = 0.0;
    for (const std::size_t i : covered) {
      const AtSize at = over_d.at(record, i);
      const double bound = 4.0 * unit(at);
      failures += at(row_cosine) <= bound && at(squared_norm_deviation) <= bound ? 0.0 : 1.0;
    }
    return failures / count;
  };
  over_d.claims.mean(statement, per_trial(over_d.records, failed), {0.0, allowed / count},
                     say("fraction of the sizes at which a bound fails; over sqrt(log(k)/d): "
                         "cosines {}, deviations {}",
                         over_d.range(ratio(row_cosine, unit)),
                         over_d.range(ratio(squared_norm_deviation, unit))));
}

void judge_norms(const FeatureClaims& over_d) {
  over_d.everywhere(
      asymptotic(
          Statement{spectral::lemma_3_3, "spectral/eq-3.3",
                    "Theorem 3.2, eq. (3.3), and the text before Lemma 3.3",
                    "The rows of a Gaussian V are incoherent: their squared norms are within eps < "
                    "1 of 1 and their cosines at most c sqrt(log(k)/d)",
                    Part::text},
          "c = 4 of Lemma 3.3"),
      [unit = over_d.of_order(root_log_k_over_d)](const AtSize& at) {
        const double bound = 4.0 * unit(at);
        if (bound >= 1.0) return undefined;
        return std::min(1.0 - at(squared_norm_deviation), bound - at(row_cosine));
      },
      "judged at the sizes at which 4 sqrt(log(k)/d) of Lemma 3.3 is below 1, with its c = 4; eps "
      "is " +
          over_d.range(squared_norm_deviation));
  const Metric needed = [](const AtSize& at) {
    return std::max(at(norm_excess), at(frobenius_deviation)) * std::sqrt(at.x);
  };
  over_d.everywhere(
      asymptotic(Statement{spectral::lemma_3_3, "spectral/eq-3.8", "Lemma 3.3, eq. (3.8)",
                           "||V|| <= sqrt(k/d) + 1 + delta and | ||V||_F^2/k - 1 | <= delta, with "
                           "probability at least 1 - 4 exp(-c delta^2 d)"},
                 "c = 1/2, delta = 4/sqrt(d)"),
      [&](const AtSize& at) { return 4.0 - needed(at); },
      "judged at delta = 4/sqrt(d), for which 4 exp(-c delta^2 d) = 0.0013 with the usual c = 1/2 "
      "(the paper gives no c); the smallest delta that satisfies both bounds, times sqrt(d), is " +
          over_d.range(needed));
}

// Lemma 3.3 at the edge of its hypothesis, by tail probabilities instead of samples, because such a
// k is too large to draw.
void judge_hypothesis(Claims& claims) {
  constexpr double proven = 0.16;
  Tally at_quarter, up_to_proven;
  double first = 0.0;
  for (const double d : {16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0}) {
    const double lower = log_lemma_3_3_lower(d, 0.25);
    if (lower > 0.0 && first == 0.0) first = d;
    at_quarter.count(lower > 0.0, lower);
    for (int i = 1; i <= 16; ++i) {
      const double log_k = proven * i / 16.0 * d;
      const double upper =
          log_k < std::log(2.0) ? undefined : log_lemma_3_3_upper(d, proven * i / 16.0);
      up_to_proven.count(upper > 0.0, upper);  // a single row has no pair of rows
    }
  }
  const Place place{spectral::lemma_3_3, "/", "Lemma 3.3, hypothesis of eq. (3.7)"};
  const Misprint enough = place.misprint(
      spectral::lemma_3_3_hypothesis, "hypothesis",
      "log(k)/d <= 1/4 suffices for a failure probability of at most 4/k in eq. (3.7)",
      "log(k)/d <= 4/25 suffices for a failure probability of at most 4/k in eq. (3.7)");
  claims.never_violated(
      enough.as_printed, at_quarter,
      say("P(some ||v_i||^2 > 3), from the chi-squared tail, over 4/k, at log k = "
          "d/4 for d from 16 to 4096: largest exp({}), first above 1 at d = {}",
          at_quarter.largest, first));
  claims.never_violated(enough.corrected, up_to_proven,
                        say("union bound (both tails of the norms, and the cosines), over 4/k: at "
                            "most exp({}) for 16 "
                            "values of log(k)/d up to 4/25 and d from 16 to 4096",
                            up_to_proven.largest));
}

}  // namespace

void judge_rows(const FeatureClaims& over_d) {
  judge_failures(over_d);
  judge_norms(over_d);
  judge_hypothesis(over_d.claims);
}

double log_lemma_3_3_lower(double d, double ratio) {
  const double log_k = ratio * d, log_p = log_chi_squared_tail(d, 4.0 * std::sqrt(ratio));
  // 1 - (1 - p)^k; k p replaces it if p is tiny.
  const double log_kp = log_k + log_p;
  const double some = log_kp < -20.0 ? log_kp : std::log(-std::expm1(-std::exp(log_kp)));
  return some - (std::log(4.0) - log_k);
}

double log_lemma_3_3_upper(double d, double ratio) {
  const double log_k = ratio * d, u = 4.0 * std::sqrt(ratio);
  // Relative to 1/k: k^2 times the upper tail; the lower tail is at most exp(-d u^2/4) = k^-4 for u
  // < 1 and empty above; a cosine exceeds u with probability at most 2 exp(-d u^2/2) = 2 k^-8, of
  // k^2/2 pairs.
  const double norms = std::exp(2.0 * log_k + log_chi_squared_tail(d, u));
  return std::log(norms + std::exp(-2.0 * log_k) + std::exp(-5.0 * log_k)) - std::log(4.0);
}

}  // namespace ranklab::features
