#include "experiments/spike_plus_bulk/gradient_rank/trial.hpp"

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/gram_descent.hpp"

// Shapes: X (d, n); V, V-bar (k, d); A, A-bar (k, n); W# or W-bar (m, k); Gram matrix B = A A' / n and cross-Gram matrix
// A-bar A' / n (k, k). In the realizable model A-bar = A, so that both commands share the formulas of the teacher.

namespace ranklab {
namespace {

using gradient_rank::at_k;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t iterated_steps = 64;  // of the closed form that are compared with an iteration of W itself

constexpr std::uint64_t longest_search = std::uint64_t{1} << 40;  // iterations; a window that is open beyond has no end

using Values = std::map<std::string, double>;

// One k of one trial, ready to be sampled.
struct Problem {
  std::unique_ptr<GramDescent> descent;
  Values values;
};

template <class T>
struct Drawn {
  arma::Mat<T> A, labelling;  // (k, n): features, and those that make the labels
  arma::Mat<T> W;             // (m, k): W# or W-bar
};

// Entries of V are N(0, 1/d), as in Theorem 3.4: rows of norm 1 on average. Those of W are N(0, 1/k); the paper has 1/m in
// Section 3.1.2 and 1/d in Theorems 3.6 and 3.9, but a common factor changes no nuclear rank. Each k draws from streams of its
// own, so that its numbers do not depend on the other values of k.
template <class T>
Drawn<T> draw(const GradientRankConfig& config, LabelModel model, const FeatureSizes& sizes, const Trial& trial) {
  const std::string at = "/k=" + std::to_string(sizes.k);
  const double v_std = 1 / std::sqrt(static_cast<double>(sizes.d)), w_std = 1 / std::sqrt(static_cast<double>(sizes.k));
  Drawn<T> drawn;
  drawn.A = draw_random_features<T>(trial, sizes, config.activation, v_std, {"X" + at, "V" + at, "V2" + at});
  if (model == LabelModel::realizable) {
    drawn.labelling = drawn.A;
    drawn.W = draw_gaussian<T>(trial, ("W_sharp" + at).c_str(), sizes.m, sizes.k, w_std);
  } else {
    drawn.labelling = draw_random_features<T>(trial, sizes, config.activation, v_std, {"X" + at, "V_bar" + at, "V2_bar" + at});
    drawn.W = draw_gaussian<T>(trial, ("W_bar" + at).c_str(), sizes.m, sizes.k, w_std);
  }
  return drawn;
}

// A B' / n, in double for either precision: rounded to single, the Gram matrix of a rank-deficient A would be indefinite.
template <class T>
arma::mat gram(const arma::Mat<T>& A, const arma::Mat<T>& B) {
  return arma::conv_to<arma::mat>::from(A) * arma::conv_to<arma::mat>::from(B).t() / static_cast<double>(A.n_cols);
}

// Lemma 3.10 on the run's own matrices: the largest ||G_t - closed form||_F / ||G_0||_F, where G_t is the gradient at the
// iterate W_t itself, by the n-sized formulas.
template <class T>
double closed_form_error(const Drawn<T>& drawn, const GramDescent& descent, std::uint64_t steps, const Trial& trial) {
  const T n = static_cast<T>(drawn.A.n_cols);
  const arma::Mat<T> Y = drawn.W * drawn.labelling;
  arma::Mat<T> W(arma::size(drawn.W), arma::fill::zeros);
  double largest = 0, scale = 0;
  for (std::uint64_t t = 0; t <= std::min(steps, iterated_steps); ++t) {
    trial.check_interrupt();
    const arma::Mat<T> G = (W * drawn.A - Y) * drawn.A.t() / n;
    const arma::mat closed = descent.gradient(t);
    if (t == 0) scale = arma::norm(closed, "fro");
    largest = std::max(largest, arma::norm(arma::conv_to<arma::mat>::from(G) - closed, "fro"));
    W -= static_cast<T>(descent.eta()) * G;
  }
  return scale > 0 ? largest / scale : undefined;
}

// Assumptions E and G with the spikes of Theorem 3.4 and Corollary 3.8, the empirical means: B = u u' + bulk and
// cross = v u' + cross bulk. Then Section 3.1.2's (3.2.2's) bound on nr(W_0) with its constants C = ||W||, kappa = ||W v||/||v||.
// Differs from [Spectral]: Section 3.2.2 asks for ||W-bar u|| >= kappa ||u||, but its estimate needs the left spike v.
template <class T>
void measure_spikes(const Drawn<T>& drawn, LabelModel model, const arma::mat& B, const arma::mat& cross, std::uint64_t d,
                    Values& values) {
  const auto mean = [](const arma::Mat<T>& A) {
    const arma::mat exact = arma::conv_to<arma::mat>::from(A);
    return arma::vec(arma::mean(exact, 1));
  };
  const arma::vec u = mean(drawn.A), v = mean(drawn.labelling);
  const arma::vec bulk = symmetric_eigenvalues(B - u * u.t());
  values["spike"] = arma::dot(u, u);
  values["bulk_smallest"] = bulk.front();
  values["bulk_largest"] = bulk.back();
  arma::vec cross_bulk = arma::sort(arma::abs(bulk), "descend");
  if (model == LabelModel::teacher) {
    cross_bulk = singular_values(cross - v * u.t());
    values["cross_spike"] = arma::norm(u) * arma::norm(v);
    values["cross_bulk_largest"] = cross_bulk.front();
    values["cross_bulk_d"] = cross_bulk(std::min<arma::uword>(d, cross_bulk.n_elem) - 1);
  }
  const arma::mat W = arma::conv_to<arma::mat>::from(drawn.W);
  const arma::vec weights = singular_values(W);
  const double C = weights.front(), spike = arma::norm(u) * arma::norm(v), kappa = arma::norm(W * v) / arma::norm(v);
  const double floor = kappa * spike - C * arma::norm(cross_bulk);
  values["nuclear_rank_0_bound"] = floor > 0 ? std::pow(C * (spike + arma::accu(cross_bulk)) / floor, 2) : undefined;
  values["nuclear_rank_W"] = nuclear_rank(weights);
}

// Lemma 3.5 at its own step eta = 1 / (offset + ||B||), with the constants c_1, c_2 of Assumption E that the run has.
void measure_lemma(const GramDescent& descent, double offset, Values& values) {
  const GramDescent lemma = descent.with_eta(GramDescent::step(descent.lambda(), 1.0, offset));
  const double top = descent.lambda().front(), c_1 = values.at("bulk_smallest"), c_2 = values.at("bulk_largest");
  const double spike = offset * top / (offset + top), low = c_1 * (1 - c_2 / (offset + top));
  values["condition_T"] = descent.lambda().back() > 0 ? lemma.condition(1) : std::numeric_limits<double>::infinity();
  values["condition_T_bound"] = low > 0 ? std::max(spike, c_2) / std::min(spike, low) : undefined;
  values["nuclear_rank_1_offset"] = lemma.nuclear_rank(1);
}

// First t in (low, high] with holds(t), where holds(high) and not holds(low): by bisection, exact for a single change.
template <class Holds>
std::uint64_t first_change(std::uint64_t low, std::uint64_t high, const Holds& holds) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

// The window of a large gradient rank: the first t with nr(G_t) >= d/4, and the first later t with nr(G_t) < d/4, sought at
// t = 0, 1, 2, 4, 8, ... whatever --steps is, and then by bisection. Undefined where a search meets no such t.
void measure_window(const GramDescent& descent, std::uint64_t d, const Trial& trial, Values& values) {
  const auto large = [&](std::uint64_t t) {
    trial.check_interrupt();
    return descent.nuclear_rank(t) >= static_cast<double>(d) / 4;
  };
  const auto small = [&](std::uint64_t t) { return !large(t); };
  values["window_start"] = values["window_end"] = undefined;
  std::uint64_t t = 0, before = 0;
  for (; t <= longest_search && !large(t); t = std::max<std::uint64_t>(1, 2 * t)) before = t;
  if (t > longest_search) return;
  values["window_start"] = static_cast<double>(t == 0 ? 0 : first_change(before, t, large));
  for (; t <= longest_search && !small(t); t = std::max<std::uint64_t>(1, 2 * t)) before = t;
  if (t <= longest_search) values["window_end"] = static_cast<double>(first_change(before, t, small));
}

template <class T>
Problem measure(const GradientRankConfig& config, LabelModel model, std::uint64_t k, const Trial& trial) {
  trial.check_interrupt();
  const FeatureSizes sizes = sizes_at(config, k);
  const Drawn<T> drawn = draw<T>(config, model, sizes, trial);
  const arma::mat B = gram(drawn.A, drawn.A), cross = model == LabelModel::teacher ? gram(drawn.labelling, drawn.A) : B;
  const arma::mat G_0 = -arma::conv_to<arma::mat>::from(drawn.W) * cross;
  trial.check_interrupt();
  Problem problem;
  problem.descent = std::make_unique<GramDescent>(GramDescent::with_step(G_0, B, config.c, config.eta_offset));
  const GramDescent& descent = *problem.descent;
  Values& values = problem.values;
  values["B_norm"] = descent.lambda().front();
  values["stable_rank_A"] = stable_rank_from_gram(B);
  measure_spikes(drawn, model, B, cross, sizes.d, values);
  trial.check_interrupt();
  const bool zero = descent.lambda().front() == 0;  // no feature is active: there is no step
  if (zero) {
    for (const char* name : {"condition_T", "condition_T_bound", "nuclear_rank_1_offset"}) values[name] = undefined;
  } else {
    measure_lemma(descent, theorem_offset(config), values);
  }
  measure_window(descent, sizes.d, trial, values);
  const arma::mat Y = arma::conv_to<arma::mat>::from(drawn.W) * arma::conv_to<arma::mat>::from(drawn.labelling);
  const double loss = arma::dot(Y, Y) / (2 * static_cast<double>(sizes.n));
  values["minimum_ratio"] = loss > 0 ? 1 - descent.decrease_to_minimum() / loss : undefined;
  if (k == ascending_k(config).front()) {
    values["closed_form_error"] = zero ? undefined : closed_form_error(drawn, descent, config.steps, trial);
    values["closed_form_tolerance"] = tolerance::residual<T>;
  }
  return problem;
}

}  // namespace

std::string gradient_rank::at_k(std::uint64_t k, const std::string& quantity) {
  return "k" + std::to_string(k) + "." + quantity;
}

TrialRecord gradient_rank_trial(const GradientRankConfig& config, LabelModel model, bool single_precision, const Trial& trial) {
  // The largest k comes first, so that threads end together.
  std::vector<std::uint64_t> k = ascending_k(config);
  std::reverse(k.begin(), k.end());
  std::vector<Problem> problems(k.size());
  trial.for_each_part(k.size(), [&](std::size_t i) {
    problems[i] = single_precision ? measure<float>(config, model, k[i], trial) : measure<double>(config, model, k[i], trial);
  });

  // Iterations 0 and 1 are always sampled; those of the list follow.
  std::vector<std::uint64_t> steps = {0, 1};
  const std::vector<std::uint64_t> sampled = sampled_steps(config);
  steps.insert(steps.end(), sampled.begin(), sampled.end());
  const std::size_t count = steps.size();
  std::vector<double> nuclear_rank(k.size() * count);
  trial.for_each_part(nuclear_rank.size(), [&](std::size_t part) {
    trial.check_interrupt();
    const std::size_t i = part / count, s = part % count;
    if (s >= 2 && steps[s] <= 1) return;  // one of the first two
    nuclear_rank[part] = problems[i].descent->nuclear_rank(steps[s]);
  });

  TrialRecord record;
  for (std::size_t i = 0; i < k.size(); ++i) {
    const auto first = nuclear_rank.begin() + static_cast<std::ptrdiff_t>(i * count);
    std::vector<double> curve(first + 2, first + static_cast<std::ptrdiff_t>(count));
    for (std::size_t s = 0; s < sampled.size() && sampled[s] <= 1; ++s) curve[s] = first[static_cast<std::ptrdiff_t>(sampled[s])];
    record.set(at_k(k[i], "nuclear_rank"), std::move(curve));
    record.set(at_k(k[i], "nuclear_rank_0"), first[0]);
    record.set(at_k(k[i], "nuclear_rank_1"), first[1]);
    for (const auto& [name, value] : problems[i].values) {
      record.set(name.starts_with("closed_form") ? name : at_k(k[i], name), value);
    }
  }
  return record;
}

}  // namespace ranklab
