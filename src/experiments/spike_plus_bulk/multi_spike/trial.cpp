#include <algorithm>
#include <armadillo>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/undefined.hpp"
#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/gram_descent.hpp"
#include "models/random_features.hpp"
#include "models/spiked_gram.hpp"

namespace ranklab::multi_spike {
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

SpikedShape shape_of(const Plan& plan, const SpikePair& pair, std::uint64_t d) {
  SpikedShape shape;
  shape.d = d;
  shape.spikes = plan.config.spikes;
  shape.low = pair.low;
  shape.high = pair.high;
  return shape;
}

// [Spectral] (3.24), (3.25) and their consequences in the proof of Theorem 3.11. Shapes: U, V, L_1,
// R_1 are d x p.
void record_subspaces(const SpikedGram& gram, const SpikedCrossGram& cross, const Problem& problem,
                      const Svd<double>& svd, const std::string& at, TrialRecord& record) {
  const arma::uword p = gram.U.n_cols, d = gram.U.n_rows;
  const arma::mat L_1 = problem.L.head_cols(p), R_1 = svd.V.head_cols(p);
  // ||UU' - QQ'||_op = ||(I - UU') Q||_op for equally many orthonormal columns.
  const auto distance = [&](const arma::mat& Q) {
    return singular_values(Q - gram.U * (gram.U.t() * Q)).max();
  };
  record.set(at + left_distance, distance(L_1));
  record.set(at + right_distance, distance(R_1));
  record.set(at + cross_bulk_norm, singular_values(cross.Sigma).max());
  // (3.21), (3.22): the smaller of ||u - q|| and ||u + q||, because the sign of a singular vector
  // is arbitrary.
  const auto vector_distance = [&](const arma::vec& q) {
    const arma::vec u = gram.U.col(0);
    return std::min(arma::norm(u - q), arma::norm(u + q));
  };
  record.set(at + left_vector_distance, vector_distance(L_1.col(0)));
  record.set(at + right_vector_distance, vector_distance(R_1.col(0)));
  if (p < d) {
    const arma::mat passed = arma::diagmat(svd.s.head(p)) * R_1.t() * problem.L.tail_cols(d - p);
    record.set(at + leak, singular_values(passed).max());
  } else {
    record.set(at + leak, 0.0);
  }
}

void record_hypotheses(const SpikedGram& gram, const arma::vec& lambda, const SpikedShape& shape,
                       const arma::mat& W, const std::string& at, TrialRecord& record) {
  const arma::vec bulk = symmetric_eigenvalues(gram.Sigma),
                  spikes = arma::reverse(symmetric_eigenvalues(gram.S));
  record.set(at + bulk_smallest, bulk.min());
  record.set(at + bulk_largest, bulk.max());
  record.set(at + spike_largest, spikes(0));
  record.set(at + spike_smallest, spikes(shape.spikes - 1));
  // Outside the spikes S is 0, to rounding.
  const double rest =
      shape.spikes == shape.d ? 0.0 : arma::abs(spikes.tail(shape.d - shape.spikes)).max();
  record.set(at + signal_remainder, rest);
  record.set(at + signal_smallest, spikes.min());
  record.set(at + eigenvalue_gap,
             shape.spikes == shape.d ? undefined : lambda(shape.spikes - 1) / lambda(shape.spikes));
  record.set(at + W_norm, operator_norm(W));
}

Problem make_problem(const Plan& plan, const SpikePair& pair, std::uint64_t d, const Trial& trial,
                     TrialRecord& record) {
  const SpikedShape shape = shape_of(plan, pair, d);
  const std::string at = at_size(pair.names, d);
  const bool teacher = plan.teacher();
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
  record_hypotheses(gram, problem.lambda, shape, W, at, record);
  arma::mat M, factor = problem.B;
  if (teacher) {
    const SpikedCrossGram cross = draw_spiked_cross_gram(trial, shape, gram);
    factor = cross.B();
    const Svd<double> svd = thin_svd(factor);
    record_subspaces(gram, cross, problem, svd, at, record);
    const std::uint64_t r = shape.cross_rank(), p = shape.spikes;
    record.set(at + lambda_cross_rank, problem.lambda(r - 1));
    record.set(at + lambda_spikes, problem.lambda(p - 1));
    const arma::vec bulk = singular_values(cross.Sigma);
    record.set(at + cross_bulk_smallest, bulk(r - 1));
    record.set(at + cross_bulk_remainder, r == d ? 0.0 : bulk(r));
    if (r > 2 * p) M = W * svd.U.cols(p, r - p - 1);  // columns p + 1 to r - p, counted from 1
  } else if (shape.spikes < d) {
    M = W * problem.L.tail_cols(d - shape.spikes);
  }
  problem.G_0 = -(W * factor);
  problem.M_nuclear = nuclear_norm(M);
  problem.M_frobenius = M.is_empty() ? 0.0 : arma::norm(M, "fro");
  record.set(at + M_nuclear, problem.M_nuclear);
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

void record_family(const SpikeFamily& family, const Setting& setting, const Problem& problem,
                   const Trial& trial, TrialRecord& record) {
  const std::string& at = setting.prefix;
  const std::uint64_t last = setting.horizon;
  const GramDescent descent = GramDescent::with_step(problem.G_0, problem.B, family.c, 0.0);
  const FrobeniusPath log_frobenius(problem, descent.eta());
  WindowSearch search({[&](std::uint64_t t) {
                         trial.check_interrupt();
                         return descent.nuclear_rank(t);
                       },
                       log_frobenius});
  std::vector<double> series;
  for (const std::uint64_t t : setting.iterations) series.push_back(search.nuclear_rank(t));
  record.set(at + ranks, series);
  record.set(at + nuclear_rank_0, series.front());
  record.set(at + nuclear_rank_1, search.nuclear_rank(1));

  const auto start = search.first_at_least(setting.level, {0, last});
  const double end = end_of_window(search, setting.level, start, last);
  record.set(at + burn_in, iteration_or_nan(start));
  record.set(at + burn_in_crossing, crossing(search, setting.level, start));
  record.set(at + window_end, end);
  record.set(at + window_length, end - iteration_or_nan(start));

  const auto remark_start = search.first_at_least(setting.remark_level, {0, last});
  record.set(at + remark_burn_in, iteration_or_nan(remark_start));
  record.set(at + remark_window_end,
             end_of_window(search, setting.remark_level, remark_start, last));

  const WindowSearch::Peak highest = search.peak({0, last}, peak_tolerance);
  record.set(at + peak, highest.nuclear_rank);
  record.set(at + peak_iteration, real(highest.iteration));

  // Neither norm increases along the iterates, so the extremes are at the ends of the window.
  const Span window = setting.window;
  const bool judged = window.from <= window.to;
  record.set(at + window_nuclear, judged ? search.nuclear_norm(window.to) : undefined);
  record.set(at + window_frobenius,
             judged ? std::exp(log_frobenius(real(window.from))) : undefined);
  record.set(at + M_nuclear, problem.M_nuclear);
  record.set(at + M_frobenius, problem.M_frobenius);
  record.set(at + W_frobenius, problem.W_frobenius);
  record.set(at + evaluations, real(search.evaluations()));
}

}  // namespace

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  // Large sizes first, so that the threads finish together.
  std::vector<std::size_t> by_size(plan.config.d.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::sort(by_size.begin(), by_size.end(),
            [&](std::size_t a, std::size_t b) { return plan.config.d[a] > plan.config.d[b]; });
  std::vector<TrialRecord> parts(plan.pairs.size() * by_size.size());
  trial.for_each_part(parts.size(), [&](std::size_t part) {
    const std::size_t i = by_size[part / plan.pairs.size()];
    const SpikePair& pair = plan.pairs[part % plan.pairs.size()];
    const Problem problem = make_problem(plan, pair, plan.config.d[i], trial, parts[part]);
    for (const SpikeFamily& family : plan.families) {
      if (family.pair.names == pair.names)
        record_family(family, family.settings[i], problem, trial, parts[part]);
    }
  });
  TrialRecord record;
  for (const TrialRecord& part : parts) record.insert(part);
  return record;
}

}  // namespace ranklab::multi_spike
