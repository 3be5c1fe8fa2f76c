#include <cmath>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/mlp/descent.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "models/random_features.hpp"

namespace ranklab::mlp {
namespace {

template <class T>
Problem<T> draw_problem(const MlpConfig& config, const Trial& trial) {
  Problem<T> problem;
  problem.X = draw_gaussian<T>(trial, "X", config.d, config.n, 1.0);
  problem.y = problem.X.row(0) % problem.X.row(1) % problem.X.row(2);
  problem.start = Mlp<T>::draw(trial, config.d, config.width, hidden_layers,
                               find_activation(config.activation));
  arma::mat memory;
  problem.stable_rank_X = stable_rank(widened(problem.X, memory));
  return problem;
}

/// The number of singular values above max(m, n) epsilon s_1, with epsilon of the run's precision.
template <class T>
double numerical_rank(const arma::Mat<T>& A) {
  const arma::vec s = singular_values(arma::conv_to<arma::mat>::from(A));
  const double tolerance =
      static_cast<double>(std::max(A.n_rows, A.n_cols)) * tolerance::epsilon<T> * s.max();
  return static_cast<double>(arma::accu(s > tolerance));
}

template <class T>
void record_ranks(const Problem<T>& problem, TrialRecord& record) {
  MlpPass<T> pass;
  problem.start.forward(problem.X, pass);
  problem.start.backward(problem.X, problem.y, pass);
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    const bool finite = pass.A[l].is_finite() && pass.G[l].is_finite();
    record.set(rank_name("A", l + 1), finite ? numerical_rank(pass.A[l]) : undefined);
    record.set(rank_name("W", l + 1), finite ? numerical_rank(pass.G[l]) : undefined);
  }
}

void record_trajectory(const std::string& method, Trajectory path, TrialRecord& record) {
  const double of_X = record.scalar(stable_rank_X);
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    std::vector<double> ratio = path.nuclear_rank[l];
    for (std::size_t i = 0; i < ratio.size(); ++i)
      ratio[i] /= l == 0 ? of_X : path.stable_rank[l - 1][i];
    record.set(ratio_name(method, l + 1), std::move(ratio));
  }
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    record.set(stable_rank_name(method, l + 1), std::move(path.stable_rank[l]));
    record.set(nuclear_rank_name(method, l + 1), std::move(path.nuclear_rank[l]));
  }
  record.set(diverged_name(method), path.diverged_at.has_value());
  record.set(diverged_at_name(method),
             path.diverged_at ? static_cast<double>(*path.diverged_at) : undefined);
  record.set(final_loss_name(method), path.loss.back());
  record.set(loss_name(method), std::move(path.loss));
}

std::string activation_file(std::size_t l) {
  return "A" + std::to_string(l) + ".npy";
}
std::string gradient_file(std::size_t l) {
  return "G" + std::to_string(l + 1) + ".npy";
}

/// Writes A<l-1>.npy (k, n) and the gradient of W_l, G<l>.npy (m, k), for every layer l, then
/// manifest.json, which pairs them under the name W<l>, for the study files. Creates folders.
template <class T>
void write_dump(const std::string& folder, const arma::Mat<T>& X, const MlpPass<T>& pass) {
  std::string pairs;
  for (std::size_t l = 0; l < layers; ++l) {
    const std::string activation = activation_file(l), layer = std::to_string(l + 1),
                      gradient = gradient_file(l);
    write_npy(folder + "/" + activation, l == 0 ? X : pass.A[l - 1]);
    write_npy(folder + "/" + gradient, pass.G[l]);
    pairs += std::string(l == 0 ? "" : ",") + "\n    {\"name\": \"W" + layer +
             "\", \"activation\": \"" + activation + "\", \"gradient\": \"" + gradient +
             "\", \"transpose_activations\": false}";
  }
  // Written last, so that a manifest never names a missing file.
  write_file_atomically(manifest_path(folder), "{\n  \"pairs\": [" + pairs + "\n  ]\n}\n");
}

template <class T>
TrialRecord measure(const Plan& plan, const Trial& trial) {
  const Problem<T> problem = draw_problem<T>(plan.config, trial);
  std::vector<Trajectory> paths(plan.methods.size());
  TrialRecord record;
  trial.expect(paths.size() * plan.config.steps, "step");
  // The last part, which is short, measures the ranks at the initial weights.
  trial.for_each_part(paths.size() + 1, [&](std::size_t i) {
    if (i == paths.size()) return record_ranks(problem, record);
    MlpPass<T> pass;
    paths[i] = Descent<T>{plan, plan.methods[i], problem, trial, pass}.run();
    const bool is_dumped = trial.index() == 0 && !plan.config.dump.empty() &&
                           plan.methods[i].name == plan.config.optimizer.front();
    if (is_dumped && !paths[i].diverged_at) write_dump(plan.config.dump, problem.X, pass);
  });
  record.set(stable_rank_X, problem.stable_rank_X);
  for (std::size_t i = 0; i < paths.size(); ++i)
    record_trajectory(plan.methods[i].name, std::move(paths[i]), record);
  count_cases(plan, record);
  return record;
}

double phase_end(const Plan& plan, const TrialRecord& record) {
  const std::vector<double>&second = record.array(ratio_name(gd, 2)),
        &third = record.array(ratio_name(gd, 3));
  std::size_t i = 0;
  while (i < plan.iterations.size() && second[i] >= 2 && third[i] >= 2) ++i;
  return i == 0 ? undefined : plan.iterations[i - 1];
}

double log_ratio_at(const TrialRecord& record, const std::string& method, double iteration) {
  if (std::isnan(iteration)) return undefined;
  const auto t = static_cast<std::size_t>(iteration);
  return std::log10(loss_at(record, method, t) / loss_at(record, gd, t));
}

void count_along(const Plan& plan, const Method& method, TrialRecord& record) {
  Tally small;
  const double limit = small_part * static_cast<double>(plan.config.d);
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    Tally condition_holds;
    for (const double ratio : record.array(ratio_name(method.name, l))) {
      if (std::isfinite(ratio)) condition_holds.count(ratio < 1, ratio);
    }
    record.add(condition(method, l).id, condition_holds);
    const double cases = condition_holds.cases;
    record.set(condition_share_name(method.name, l),
               cases > 0 ? (cases - condition_holds.violations) / cases : undefined);
    for (const double st : record.array(stable_rank_name(method.name, l))) {
      if (std::isfinite(st)) small.count(!(st < limit), st);
    }
  }
  record.add(small_stable_rank(method).id, small);
}

/// One case for each layer whose rank at the initial weights is finite.
void count_maxima(const Misprint& statement, const std::string& matrix, TrialRecord& record) {
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    const double rank = record.scalar(rank_name(matrix, l));
    if (!std::isfinite(rank)) continue;
    const bool is_W1 = matrix == "W" && l == 1;
    record.count(statement.as_printed.id, !(rank <= (is_W1 ? 128 : 256)));
    record.count(statement.corrected.id, !(is_W1 ? rank <= 128 : rank > 256 && rank <= 512));
  }
}

}  // namespace

void count_cases(const Plan& plan, TrialRecord& record) {
  for (const Method& method : plan.methods) count_along(plan, method, record);
  count_maxima(largest_stable_rank, "A", record);
  count_maxima(largest_nuclear_rank, "W", record);
  record.set(initial_phase_end, phase_end(plan, record));
  for (const Method& method : plan.rivals()) {
    record.set(early_ratio_name(method.name),
               log_ratio_at(record, method.name, record.scalar(initial_phase_end)));
    record.set(final_ratio_name(method.name),
               log_ratio_at(record, method.name, static_cast<double>(plan.config.steps)));
  }
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  return plan.config.single_precision() ? measure<float>(plan, trial)
                                        : measure<double>(plan, trial);
}

std::string manifest_path(const std::string& folder) {
  return folder + "/manifest.json";
}

std::vector<std::string> dump_files(const std::string& folder) {
  std::vector<std::string> out = {manifest_path(folder)};
  for (std::size_t l = 0; l < layers; ++l) {
    out.push_back(folder + "/" + activation_file(l));
    out.push_back(folder + "/" + gradient_file(l));
  }
  return out;
}

}  // namespace ranklab::mlp
