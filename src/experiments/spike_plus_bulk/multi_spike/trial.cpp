// The study multi-spike: the predictions of a run, and what a trial computes.
#include <algorithm>
#include <armadillo>
#include <numeric>
#include <optional>

#include "ensembles/gram_descent.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::multi_spike {

// Pairs, families and their predictions -----------------------------------------------------------

namespace {

At shown_at(const char* axis, double value, std::size_t values) {
  return values == 1 ? At() : At(axis, value);
}

// 0 to 5, then each a third larger than the one before, and the horizon.
std::vector<std::uint64_t> recorded_iterations(std::uint64_t horizon) {
  std::vector<std::uint64_t> iterations;
  for (std::uint64_t t = 0; t < horizon; t += 1 + (t < 5 ? 0 : t / 3)) iterations.push_back(t);
  iterations.push_back(horizon);
  return iterations;
}

// The window lasts from C_1 d^(u-l) log d to C_2 d^u with the constants of the proof: C_1 = c u, at
// which (3.12) becomes 1, and C_2 = c, at which a bulk direction with eigenvalue 1 has lost a
// factor e. The window of Remarks 1 and 2 lasts to c eps / (2 c_2) d^u log d: until then no bulk
// direction has lost more than d^(-eps/2), so the square in nr costs at most d^(-eps).
Setting setting(const Config& config, const SpikeFamily& family, std::uint64_t size) {
  const double d = real(size);
  Setting at{size,
             at_size(family.place, size),
             d * (config.teacher() ? 0.2 : 0.25),
             std::pow(d, 1 - config.epsilon),
             {},
             {},
             0,
             {}};
  at.window = {whole_count(std::ceil(family.c * family.pair.high * family.pair.burn_in_scale(d))),
               whole_count(family.c * family.pair.window_scale(d))};
  const double remark_factor = family.c * config.epsilon / (2 * c_2);
  at.remark_window = {at.window.from, whole_count(remark_factor * family.pair.remark_scale(d))};
  at.horizon = config.steps > 0
                   ? config.steps
                   : whole_count(std::ceil(20 * family.c * family.pair.remark_scale(d)));
  at.iterations = recorded_iterations(at.horizon);
  return at;
}

}  // namespace

At at_size(const At& place, std::uint64_t d) {
  return place & At("d", d);
}

Quantity over_all_sizes(const At& place, const Measure& measure) {
  return {place.text.empty() ? measure.name : place.text + "," + measure.name, measure, place};
}

std::vector<SpikePair> Config::pairs() const {
  const bool single = spikes == 1;  // d^u for any l
  const std::vector<double> lows = single ? std::vector<double>{0.0} : spike_low;
  std::vector<SpikePair> all;
  for (const double low : lows) {
    for (const double high : spike_high) {
      const At place = shown_at("l", low, lows.size()) & shown_at("u", high, spike_high.size());
      if (low <= high) all.push_back({single ? high : low, high, place});
    }
  }
  return all;
}

std::vector<SpikeFamily> Config::families() const {
  std::vector<SpikeFamily> all;
  for (const SpikePair& pair : pairs()) {
    for (const double each : c) {
      SpikeFamily family{pair, each, pair.place & shown_at("c", each, c.size()), {}};
      for (const std::uint64_t size : d) family.settings.push_back(setting(*this, family, size));
      all.push_back(std::move(family));
    }
  }
  return all;
}

// The trial ---------------------------------------------------------------------------------------

namespace {

constexpr double peak_tolerance = 1e-3;  // relative; nr is flat around its peak

double iteration_or_nan(const std::optional<std::uint64_t>& t) {
  return t ? real(*t) : undefined;
}

double nuclear_norm(const arma::mat& M) {
  return M.is_empty() ? 0.0 : arma::accu(singular_values(M));
}

// The problem of one pair and size, with the reference matrix M-bar of the theorem: columns of W#
// U, or of W-bar L-bar.
struct Problem {
  arma::mat B, G_0;
  arma::vec lambda;  // eigenvalues of B, descending
  arma::mat L;       // and eigenvectors
  double M_nuclear = 0, M_frobenius = 0, W_frobenius = 0;
};

// [Spectral] (3.24), (3.25) and their consequences in the proof of Theorem 3.11. Shapes: U, V, L_1,
// R_1 are d x p.
void record_subspaces(const SpikedGram& gram, const SpikedCrossGram& cross, const Problem& problem,
                      const Svd<double>& svd, TrialRecord& record) {
  const arma::uword p = gram.U.n_cols, d = gram.U.n_rows;
  const arma::mat L_1 = problem.L.head_cols(p), R_1 = svd.V.head_cols(p);
  // ||UU' - QQ'||_op = ||(I - UU') Q||_op for equally many orthonormal columns.
  const auto distance = [&](const arma::mat& Q) {
    return singular_values(Q - gram.U * (gram.U.t() * Q)).max();
  };
  record.set(left_distance, distance(L_1));
  record.set(right_distance, distance(R_1));
  record.set(cross_bulk_norm, singular_values(cross.Sigma).max());
  // (3.21), (3.22): the smaller of ||u - q|| and ||u + q||, because the sign of a singular vector
  // is arbitrary.
  const auto vector_distance = [&](const arma::vec& q) {
    const arma::vec u = gram.U.col(0);
    return std::min(arma::norm(u - q), arma::norm(u + q));
  };
  record.set(left_vector_distance, vector_distance(L_1.col(0)));
  record.set(right_vector_distance, vector_distance(R_1.col(0)));
  if (p < d) {
    const arma::mat passed = arma::diagmat(svd.s.head(p)) * R_1.t() * problem.L.tail_cols(d - p);
    record.set(leak, singular_values(passed).max());
  } else {
    record.set(leak, 0.0);
  }
}

void record_hypotheses(const SpikedGram& gram, const arma::vec& lambda, const SpikedShape& shape,
                       const arma::mat& W, TrialRecord& record) {
  const arma::vec bulk = symmetric_eigenvalues(gram.Sigma),
                  spikes = arma::reverse(symmetric_eigenvalues(gram.S));
  record.set(bulk_smallest, bulk.min());
  record.set(bulk_largest, bulk.max());
  record.set(spike_largest, spikes(0));
  record.set(spike_smallest, spikes(shape.spikes - 1));
  // Outside the spikes S is 0, to rounding.
  const double rest =
      shape.spikes == shape.d ? 0.0 : arma::abs(spikes.tail(shape.d - shape.spikes)).max();
  record.set(signal_remainder, rest);
  record.set(signal_smallest, spikes.min());
  record.set(eigenvalue_gap,
             shape.spikes == shape.d ? undefined : lambda(shape.spikes - 1) / lambda(shape.spikes));
  record.set(W_norm, operator_norm(W));
}

Problem make_problem(const Config& config, const SpikePair& pair, std::uint64_t d,
                     const Trial& trial, TrialRecord& record) {
  const SpikedShape shape{.d = d, .spikes = config.spikes, .low = pair.low, .high = pair.high};
  const bool teacher = config.teacher();
  const SpikedGram gram = draw_spiked_gram(trial, shape);
  const std::string W_name = (teacher ? "W_bar" : "W_sharp") + shape.suffix();
  const arma::mat W = draw_gaussian<double>(trial, W_name.c_str(), d, d, 1 / std::sqrt(real(d)));
  trial.check_interrupt();

  Problem problem;
  problem.B = gram.B();
  const SymmetricEigen eigen = symmetric_eigen(problem.B);
  problem.lambda = arma::reverse(eigen.w);
  problem.L = arma::fliplr(eigen.Q);
  problem.W_frobenius = arma::norm(W, "fro");
  record_hypotheses(gram, problem.lambda, shape, W, record);
  arma::mat M, factor = problem.B;
  if (teacher) {
    const SpikedCrossGram cross = draw_spiked_cross_gram(trial, shape, gram);
    factor = cross.B();
    const Svd<double> svd = thin_svd(factor);
    record_subspaces(gram, cross, problem, svd, record);
    const std::uint64_t r = shape.cross_rank(), p = shape.spikes;
    record.set(lambda_cross_rank, problem.lambda(r - 1));
    record.set(lambda_spikes, problem.lambda(p - 1));
    const arma::vec bulk = singular_values(cross.Sigma);
    record.set(cross_bulk_smallest, bulk(r - 1));
    record.set(cross_bulk_remainder, r == d ? 0.0 : bulk(r));
    if (r > 2 * p) M = W * svd.U.cols(p, r - p - 1);  // columns p + 1 to r - p, counted from 1
  } else if (shape.spikes < d) {
    M = W * problem.L.tail_cols(d - shape.spikes);
  }
  problem.G_0 = -(W * factor);
  problem.M_nuclear = nuclear_norm(M);
  problem.M_frobenius = M.is_empty() ? 0.0 : arma::norm(M, "fro");
  record.set(M_nuclear, problem.M_nuclear);
  trial.check_interrupt();
  return problem;
}

// log ||G_t||_F of G_t = G_0 (I - eta B)^t for real t, a sum over eigendirections of B.
class FrobeniusPath {
 public:
  FrobeniusPath(const Problem& problem, double eta) {
    const arma::mat rotated = problem.G_0 * problem.L;
    log_weight_ = arma::log(arma::sum(arma::square(rotated), 0).t());
    log_factor_ = arma::log(arma::abs(1 - eta * problem.lambda));
  }
  double operator()(double t) const {
    arma::vec terms = log_weight_;
    if (t > 0) terms += 2 * t * log_factor_;
    const double largest = terms.max();
    return (largest + std::log(arma::accu(arma::exp(terms - largest)))) / 2;
  }

 private:
  arma::vec log_weight_, log_factor_;  // (d)
};

// The point between start - 1 and start at which log nr crosses the threshold, by linear
// interpolation.
double crossing(WindowSearch& search, double threshold, const std::optional<std::uint64_t>& start) {
  if (!start || *start == 0) return iteration_or_nan(start);
  const double before = std::log(search.nuclear_rank(*start - 1)),
               after = std::log(search.nuclear_rank(*start));
  return real(*start) - (after - std::log(threshold)) / (after - before);
}

// The first t after the start at which nr is below the threshold.
double end_of_window(WindowSearch& search, double threshold,
                     const std::optional<std::uint64_t>& start, std::uint64_t last) {
  if (!start || *start >= last) return undefined;
  return iteration_or_nan(search.first_below(threshold, {*start, last}));
}

TrialRecord measure_family(const SpikeFamily& family, const Setting& setting,
                           const Problem& problem, const Trial& trial) {
  TrialRecord record;
  const std::uint64_t last = setting.horizon;
  const GramDescent descent = GramDescent::with_step(problem.G_0, problem.B, family.c);
  const FrobeniusPath log_frobenius(problem, descent.eta());
  WindowSearch search({[&](std::uint64_t t) {
                         trial.check_interrupt();
                         return descent.nuclear_rank(t);
                       },
                       log_frobenius});
  std::vector<double> series;
  for (const std::uint64_t t : setting.iterations) series.push_back(search.nuclear_rank(t));
  record.set(ranks, series);
  record.set(nuclear_rank_0, series.front());
  record.set(nuclear_rank_1, search.nuclear_rank(1));

  const auto start = search.first_at_least(setting.level, {0, last});
  const double end = end_of_window(search, setting.level, start, last);
  record.set(burn_in, iteration_or_nan(start));
  record.set(burn_in_crossing, crossing(search, setting.level, start));
  record.set(window_end, end);
  record.set(window_length, end - iteration_or_nan(start));

  const auto remark_start = search.first_at_least(setting.remark_level, {0, last});
  record.set(remark_burn_in, iteration_or_nan(remark_start));
  record.set(remark_window_end, end_of_window(search, setting.remark_level, remark_start, last));

  const WindowSearch::Peak highest = search.peak({0, last}, peak_tolerance);
  record.set(peak, highest.nuclear_rank);
  record.set(peak_iteration, real(highest.iteration));

  // Neither norm increases along the iterates, so the extremes are at the ends of the window.
  const Span window = setting.window;
  const bool judged = window.from <= window.to;
  record.set(window_nuclear, judged ? search.nuclear_norm(window.to) : undefined);
  record.set(window_frobenius, judged ? std::exp(log_frobenius(real(window.from))) : undefined);
  record.set(M_nuclear, problem.M_nuclear);
  record.set(M_frobenius, problem.M_frobenius);
  record.set(W_frobenius, problem.W_frobenius);
  record.set(evaluations, real(search.evaluations()));
  return record;
}

}  // namespace

TrialRecord run_trial(const Config& config, const Trial& trial) {
  const std::vector<SpikePair> pairs = config.pairs();
  const std::vector<SpikeFamily> families = config.families();
  // Large sizes first, so that the threads finish together.
  std::vector<std::size_t> by_size(config.d.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::sort(by_size.begin(), by_size.end(),
            [&](std::size_t a, std::size_t b) { return config.d[a] > config.d[b]; });
  std::vector<TrialRecord> parts(pairs.size() * by_size.size());
  trial.for_each_piece(parts.size(), [&](std::size_t part) {
    const std::size_t i = by_size[part / pairs.size()];
    const SpikePair& pair = pairs[part % pairs.size()];
    TrialRecord of_pair;
    const Problem problem = make_problem(config, pair, config.d[i], trial, of_pair);
    parts[part].insert(of_pair, at_size(pair.place, config.d[i]).text + ".");
    for (const SpikeFamily& family : families) {
      if (family.pair.place.text != pair.place.text) continue;
      const Setting& setting = family.settings[i];
      parts[part].insert(measure_family(family, setting, problem, trial), setting.place.text + ".");
    }
  });
  TrialRecord record;
  for (const TrialRecord& part : parts) record.insert(part);
  return record;
}

}  // namespace ranklab::multi_spike
