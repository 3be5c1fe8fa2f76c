#include "experiments/one_step_compare/mlp/trial.hpp"

#include <limits>

#include "core/tolerances.hpp"
#include "experiments/one_step_compare/mlp/descent.hpp"
#include "experiments/one_step_compare/mlp/dump.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab::mlp {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// The number of singular values above max(m, n) epsilon s_1, epsilon that of the run's precision.
template <class T>
double numerical_rank(const arma::Mat<T>& A) {
  const arma::vec s = singular_values(arma::conv_to<arma::mat>::from(A));
  const double tolerance = static_cast<double>(std::max(A.n_rows, A.n_cols)) * tolerance::epsilon<T> * s.max();
  return static_cast<double>(arma::accu(s > tolerance));
}

/// Ranks of A_1 ... A_3 and of the gradients of W_1 ... W_3 at the start: what the stable and nuclear ranks could reach.
template <class T>
void measure_ranks(const Problem<T>& problem, TrialRecord& record) {
  MlpPass<T> pass;
  forward(problem.start, problem.X, pass);
  backward(problem.start, problem.X, problem.y, pass);
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    const bool finite = pass.A[l].is_finite() && pass.G[l].is_finite();
    record.set("A" + std::to_string(l + 1) + ".rank", finite ? numerical_rank(pass.A[l]) : undefined);
    record.set("W" + std::to_string(l + 1) + ".rank", finite ? numerical_rank(pass.G[l]) : undefined);
  }
}

/// nr(G_l) / st(A_(l-1)), the two sides of [Spectral] eq. (1.8).
std::vector<double> ratio(const Trajectory& path, std::size_t l, double stable_rank_X) {
  std::vector<double> out = path.nuclear_rank[l];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= l == 0 ? stable_rank_X : path.stable_rank[l - 1][i];
  return out;
}

void store(const std::string& name, Trajectory path, double stable_rank_X, TrialRecord& record) {
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    record.set(ratio_name(name, l + 1), ratio(path, l, stable_rank_X));
  }
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    record.set(stable_rank_name(name, l + 1), std::move(path.stable_rank[l]));
    record.set(nuclear_rank_name(name, l + 1), std::move(path.nuclear_rank[l]));
  }
  record.set(name + ".diverged", path.diverged_at.has_value());
  record.set(name + ".diverged_at", path.diverged_at ? static_cast<double>(*path.diverged_at) : undefined);
  record.set(name + ".final_loss", path.loss.back());
  record.set(name + ".loss", std::move(path.loss));
}

template <class T>
TrialRecord run(const MlpConfig& config, const Trial& trial) {
  const Problem<T> problem = draw_problem<T>(config, trial);
  const std::vector<Method> all = methods(config);
  std::vector<Trajectory> paths(all.size());
  TrialRecord record;
  // The last part, which is short, measures the ranks at the start.
  trial.for_each_part(all.size() + 1, [&](std::size_t i) {
    if (i == all.size()) return measure_ranks(problem, record);
    MlpPass<T> pass;
    paths[i] = descend(config, all[i], problem, trial, pass);
    const bool is_dumped = trial.index() == 0 && !config.dump.empty() && all[i].name == config.optimizer.front();
    if (is_dumped && !paths[i].diverged_at) write_dump(config.dump, problem.X, pass);
  });
  record.set("X.stable_rank", problem.stable_rank_X);
  for (std::size_t i = 0; i < all.size(); ++i) store(all[i].name, std::move(paths[i]), problem.stable_rank_X, record);
  return record;
}

}  // namespace

TrialRecord run_trial(const MlpConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? run<float>(config, trial) : run<double>(config, trial);
}

}  // namespace ranklab::mlp
