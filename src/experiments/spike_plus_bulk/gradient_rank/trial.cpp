#include <algorithm>
#include <armadillo>
#include <cmath>
#include <limits>
#include <optional>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"
#include "experiments/spike_plus_bulk/window.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "models/gram_descent.hpp"
#include "models/random_features.hpp"

// Shapes: X (d, n); V, V-bar (k, d); A, A-bar (k, n); W# or W-bar (m, k); Gram matrix B = A A' / n
// and cross-Gram matrix A-bar A' / n (k, k). In the realizable model A-bar = A, so both commands
// share the formulas of the teacher.

namespace ranklab::gradient_rank {
namespace {

constexpr std::uint64_t longest_search =
    std::uint64_t{1} << 40;  // iterations; a window that is still open there has no end

// One k of one trial, ready to be sampled.
struct Problem {
  std::optional<GramDescent> descent;
  TrialRecord numbers;
};

struct Drawn {
  arma::mat A, label_features;  // (k, n): features of the model and of the labels
  arma::mat W;                  // (m, k): W# or W-bar
};

// Entries of V are N(0, 1/d), as in Theorem 3.4: the rows have norm 1 on average. Entries of W are
// N(0, 1/k). The paper has 1/m in Section 3.1.2 and 1/d in Theorems 3.6 and 3.9, but a common
// factor changes no nuclear rank. Each k draws from its own streams, so its numbers do not depend
// on the other values of k.
Drawn draw(const Plan& plan, const Size& size, const Trial& trial) {
  const std::string at = "/k=" + std::to_string(size.k), &activation = plan.config.activation;
  const FeatureSizes sizes{size.m, size.k, size.d, size.n};
  const double v_std = 1 / std::sqrt(static_cast<double>(size.d)),
               w_std = 1 / std::sqrt(static_cast<double>(size.k));
  Drawn drawn;
  drawn.A = draw_random_features(trial, sizes, activation, v_std, {"X" + at, "V" + at, "V2" + at});
  drawn.label_features = plan.teacher()
                             ? draw_random_features(trial, sizes, activation, v_std,
                                                    {"X" + at, "V_bar" + at, "V2_bar" + at})
                             : drawn.A;
  const std::string W_name = (plan.teacher() ? "W_bar" : "W_sharp") + at;
  drawn.W = draw_gaussian<double>(trial, W_name.c_str(), size.m, size.k, w_std);
  return drawn;
}

// A B' / n. B is copied, because Armadillo multiplies a matrix by its own transpose with another
// routine, which may round differently.
arma::mat gram(const arma::mat& A, const arma::mat& B) {
  return A * arma::mat(B).t() / static_cast<double>(A.n_cols);
}

// Lemma 3.10 on the run's matrices: the largest ||G_t - closed form||_F / ||G_0||_F, where G_t is
// the gradient at the iterate W_t, by the n-sized formulas.
double error_of_closed_form(const Drawn& drawn, const GramDescent& descent, std::uint64_t steps,
                            const Trial& trial) {
  const double n = static_cast<double>(drawn.A.n_cols);
  const arma::mat Y = drawn.W * drawn.label_features;
  arma::mat W(arma::size(drawn.W), arma::fill::zeros);
  double largest = 0, scale = 0;
  for (std::uint64_t t = 0; t <= std::min(steps, iterated_steps); ++t) {
    trial.check_interrupt();
    const arma::mat G = (W * drawn.A - Y) * drawn.A.t() / n;
    const arma::mat closed = descent.gradient(t);
    if (t == 0) scale = arma::norm(closed, "fro");
    largest = std::max(largest, arma::norm(G - closed, "fro"));
    W -= descent.eta() * G;
  }
  return scale > 0 ? largest / scale : undefined;
}

// Assumptions E and G with the spikes of Theorem 3.4 and Corollary 3.8, the empirical means: B = u
// u' + bulk and cross = v u' + cross bulk. Then Section 3.1.2's (3.2.2's) bound on nr(W_0) with its
// constants C = ||W||, kappa = ||W v||/||v||. Differs from [Spectral]: ||W-bar v|| >= kappa ||v||
// instead of ||W-bar u|| >= kappa ||u|| (Section 3.2.2), because the paper's estimate uses the left
// spike v.
void measure_spikes(const Drawn& drawn, const Plan& plan, const Size& size, const arma::mat& B,
                    const arma::mat& cross, TrialRecord& record) {
  const auto mean = [](const arma::mat& A) { return arma::vec(arma::mean(A, 1)); };
  const arma::vec u = mean(drawn.A), v = mean(drawn.label_features);
  const arma::vec bulk = symmetric_eigenvalues(B - u * u.t());
  record.set(size.at(spike_B), arma::dot(u, u));
  record.set(size.at(bulk_smallest), bulk.front());
  record.set(size.at(bulk_largest), bulk.back());
  arma::vec cross_bulk = arma::sort(arma::abs(bulk), "descend");
  if (plan.teacher()) {
    cross_bulk = singular_values(cross - v * u.t());
    record.set(size.at(cross_spike), arma::norm(u) * arma::norm(v));
    record.set(size.at(cross_bulk_largest), cross_bulk.front());
    record.set(size.at(cross_bulk_d),
               cross_bulk(std::min<arma::uword>(size.d, cross_bulk.n_elem) - 1));
  }
  const arma::mat& W = drawn.W;
  const arma::vec weights = singular_values(W);
  const double C = weights.front(), spike = arma::norm(u) * arma::norm(v),
               kappa = arma::norm(W * v) / arma::norm(v);
  const double floor = kappa * spike - C * arma::norm(cross_bulk);
  record.set(size.at(nuclear_rank_0_bound),
             floor > 0 ? std::pow(C * (spike + arma::accu(cross_bulk)) / floor, 2) : undefined);
  record.set(size.at(nuclear_rank_W), nuclear_rank(weights));
}

// Lemma 3.5 at its own step eta = 1 / (offset + ||B||), with the constants c_1, c_2 of Assumption E
// in this run.
void measure_lemma(const GramDescent& descent, double offset, const Size& size,
                   TrialRecord& record) {
  const GramDescent lemma = descent.with_eta(GramDescent::step(descent.lambda(), 1.0, offset));
  const double top = descent.lambda().front(), c_1 = record.scalar(size.at(bulk_smallest)),
               c_2 = record.scalar(size.at(bulk_largest));
  const double spike = offset * top / (offset + top), low = c_1 * (1 - c_2 / (offset + top));
  record.set(size.at(condition_T), descent.lambda().back() > 0
                                       ? lemma.condition(1)
                                       : std::numeric_limits<double>::infinity());
  record.set(size.at(condition_T_bound),
             low > 0 ? std::max(spike, c_2) / std::min(spike, low) : undefined);
  record.set(size.at(nuclear_rank_1_offset), lemma.nuclear_rank(1));
}

// The window of a large gradient rank, nr(G_t) >= d/4. The search continues beyond --steps.
void measure_window(const GramDescent& descent, const Size& size, const Trial& trial,
                    TrialRecord& record) {
  const RankPath path{[&](std::uint64_t t) {
                        trial.check_interrupt();
                        return descent.nuclear_rank(t);
                      },
                      [&](double t) { return descent.log_frobenius(t); }};
  const RankWindow window = first_window(path, static_cast<double>(size.d) / 4, longest_search);
  record.set(size.at(window_start), window.start ? static_cast<double>(*window.start) : undefined);
  record.set(size.at(window_end), window.end ? static_cast<double>(*window.end) : undefined);
}

Problem measure(const Plan& plan, const Size& size, const Trial& trial) {
  trial.check_interrupt();
  const Drawn drawn = draw(plan, size, trial);
  const arma::mat B = gram(drawn.A, drawn.A),
                  cross = plan.teacher() ? gram(drawn.label_features, drawn.A) : B;
  const arma::mat G_0 = -drawn.W * cross;
  trial.check_interrupt();
  Problem problem{GramDescent::with_step(G_0, B, plan.config.c, plan.config.eta_offset), {}};
  const GramDescent& descent = *problem.descent;
  TrialRecord& record = problem.numbers;
  record.set(size.at(B_norm), descent.lambda().front());
  record.set(size.at(stable_rank_A), stable_rank_from_gram(B));
  measure_spikes(drawn, plan, size, B, cross, record);
  trial.check_interrupt();
  const bool zero = descent.lambda().front() == 0;  // no feature is active, so there is no step
  if (zero) {
    for (const char* name : {condition_T, condition_T_bound, nuclear_rank_1_offset})
      record.set(size.at(name), undefined);
  } else {
    measure_lemma(descent, plan.theorem_offset, size, record);
  }
  measure_window(descent, size, trial, record);
  const arma::mat Y = drawn.W * drawn.label_features;
  const double loss = arma::dot(Y, Y) / (2 * static_cast<double>(size.n));
  record.set(size.at(minimum_ratio),
             loss > 0 ? 1 - descent.decrease_to_minimum() / loss : undefined);
  if (size.k == plan.sizes.front().k) {
    record.set(closed_form_error,
               zero ? undefined : error_of_closed_form(drawn, descent, plan.config.steps, trial));
    record.set(closed_form_tolerance, tolerance::residual<double>);
  }
  return problem;
}

}  // namespace

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  const std::vector<Size>& sizes = plan.sizes;
  std::vector<Problem> problems(sizes.size());
  trial.for_each_part(plan.k, [&](std::size_t i) { problems[i] = measure(plan, sizes[i], trial); });

  // Iterations 0 and 1 are always sampled; the other iterations of the plan follow.
  std::vector<std::uint64_t> steps = {0, 1};
  std::copy_if(plan.sampled.begin(), plan.sampled.end(), std::back_inserter(steps),
               [](std::uint64_t t) { return t > 1; });
  const std::size_t count = steps.size();
  std::vector<double> ranks(sizes.size() * count), costs;
  for (const double k : plan.k) costs.insert(costs.end(), count, k);
  trial.for_each_part(costs, [&](std::size_t part) {
    trial.check_interrupt();
    ranks[part] = problems[part / count].descent->nuclear_rank(steps[part % count]);
  });

  TrialRecord record;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double* const rank = ranks.data() + i * count;
    std::vector<double> sampled;
    for (const std::uint64_t t : plan.sampled) {
      if (t <= 1) sampled.push_back(rank[t]);
    }
    sampled.insert(sampled.end(), rank + 2, rank + count);
    record.set(sizes[i].at(curve), std::move(sampled));
    record.set(sizes[i].at(nuclear_rank_0), rank[0]);
    record.set(sizes[i].at(nuclear_rank_1), rank[1]);
    record.insert(problems[i].numbers);
  }
  return record;
}

}  // namespace ranklab::gradient_rank
