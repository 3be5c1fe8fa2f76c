#include "experiments/one_step_compare/mlp/mlp.hpp"

#include "ensembles/random_features.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "nn/mlp.hpp"
#include "nn/optimizers/muon.hpp"
#include "nn/optimizers/steps.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab::mlp {
namespace {

/// The data and initial weights that all methods of a trial share.
template <class T>
struct Problem {
  arma::Mat<T> X;            // (d, n), entries N(0, 1)
  arma::Row<T> y;            // (1, n), x_1 x_2 x_3
  Mlp<T> start;              // W_1 ... W_4 before the first step
  double stable_rank_X = 0;  // st(X)
};

/// The matrix in double precision; `memory` holds the copy if one is needed.
inline const arma::mat& widened(const arma::mat& A, arma::mat&) {
  return A;
}
inline const arma::mat& widened(const arma::fmat& A, arma::mat& memory) {
  memory = arma::conv_to<arma::mat>::from(A);
  return memory;
}

template <class T>
Problem<T> draw_problem(const Config& config, const Trial& trial) {
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
  set_mean_squared_error(problem.y, pass);
  problem.start.backward(pass);
  for (std::size_t l = 0; l < hidden_layers; ++l) {
    const bool finite = pass.A[l].is_finite() && pass.G[l].is_finite();
    record.set(rank_name("A", l + 1), finite ? numerical_rank(pass.A[l]) : undefined);
    record.set(rank_name("W", l + 1), finite ? numerical_rank(pass.G[l]) : undefined);
  }
}

/// One method on one network, with the ranks at each recorded iteration. With A = A_(l-1) and G =
/// dLoss/dW_l, layer by layer ([Spectral] Section 1.2):
///   Euclidean  W <- W - lr G / L_F,                 L_F = ||A||_op^2 / n,
///   spectral   W <- W - lr ||G||_* / L_op polar(G), L_op = ||A||_F^2 / n,
/// or Muon's step. All four layers step at the same gradient.
template <class T>
struct Descent {
  const Config& config;
  const Method& method;
  const Problem<T>& problem;
  const Trial& trial;
  MlpPass<T>&
      pass;  // after run(): the last pass, at iteration config.steps unless the method diverged
  Mlp<T> net = problem.start;
  std::vector<Muon<T>> muon = std::vector<Muon<T>>(
      layers, Muon<T>(config.momentum));  // only those of the inner layers are used
  Track track = Track(columns_of(config, method));
  double first_loss = undefined;

  /// Returns whether no iteration counts as diverged.
  bool run() {
    const std::uint64_t steps = config.steps;
    for (std::uint64_t t = 0; t <= steps; ++t) {
      if (!measure_loss(t)) {
        track.set(diverged_name(method.name), 1);
        track.set(diverged_at_name(method.name), static_cast<double>(t));
        return false;
      }
      const bool last = t == steps;
      step(last || t % config.record_every == 0, last);
      if (!last) trial.advance();
    }
    track.set(diverged_name(method.name), 0);
    track.set(final_loss_name(method.name), pass.loss);
    return true;
  }

  TrialRecord record() {
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      const std::vector<double>& nr = track.values(nuclear_rank_name(method.name, l));
      for (std::size_t i = 0; i < nr.size(); ++i) {
        track.add(ratio_name(method.name, l),
                  nr[i] / (l == 1 ? problem.stable_rank_X
                                  : track.values(stable_rank_name(method.name, l - 1))[i]));
      }
    }
    return track.take();
  }

  /// Computes the loss and the gradients at iteration t. Returns false if the method has
  /// diverged.
  bool measure_loss(std::uint64_t t) {
    trial.check_interrupt();
    net.forward(problem.X, pass);
    trial.check_interrupt();
    set_mean_squared_error(problem.y, pass);
    net.backward(pass);
    if (!std::isfinite(pass.loss)) return false;
    if (t == 0) first_loss = pass.loss;
    if (pass.loss > divergence_factor * first_loss) return false;
    for (const auto& G : pass.G) {
      if (!G.is_finite()) return false;
    }
    track.set(loss_name(method.name), pass.loss, t);
    return true;
  }

  /// Measures the ranks if `recorded`, and takes the step unless this is the last iteration.
  void step(bool recorded, bool last) {
    trial.for_each_piece(layers, [&](std::size_t l) {
      trial.check_interrupt();
      const bool inner = l > 0 && l < hidden_layers,
                 euclidean = method.inner == InnerStep::euclidean || !inner;
      const Input input = input_of(l, recorded, euclidean && !last);
      const double nuclear_norm = last ? undefined : update(l, euclidean, input);
      if (!recorded || l == hidden_layers) return;
      track.add(nuclear_rank_name(method.name, l + 1), std::isnan(nuclear_norm)
                                                           ? nuclear_rank(pass.G[l])
                                                           : rank_from(nuclear_norm, pass.G[l]));
    });
  }

  // The input A_l of layer l + 1.
  struct Input {
    double squared_norm = 0;  // ||A||_F^2
    double stable_rank = undefined;
  };

  Input input_of(std::size_t l, bool recorded, bool operator_norm_is_needed) {
    arma::mat memory;
    const arma::mat& A = widened(pass.input(l), memory);
    Input input;
    input.squared_norm = arma::dot(A, A);
    if (l == 0) {
      input.stable_rank = problem.stable_rank_X;
    } else if (recorded || operator_norm_is_needed) {
      input.stable_rank = stable_rank(A);
    }
    if (recorded && l > 0) track.add(stable_rank_name(method.name, l), input.stable_rank);
    return input;
  }

  /// Steps W_(l+1). Returns the nuclear norm of the gradient if the step computed it, NaN
  /// otherwise.
  double update(std::size_t l, bool euclidean, const Input& input) {
    const double n = static_cast<double>(config.n);
    const arma::Mat<T>& G = pass.G[l];
    if (euclidean) {
      // ||A||_op^2 = ||A||_F^2 / st(A), so no second eigenvalue computation is needed.
      const double L_F = input.squared_norm > 0 ? input.squared_norm / input.stable_rank / n : 0.0;
      net.W[l] += static_cast<T>(method.lr) * euclidean_step(G, L_F);
      return undefined;
    }
    if (method.inner == InnerStep::muon) {
      net.W[l] += static_cast<T>(config.lr_muon) * muon[l].step(G);
      return undefined;
    }
    const SpectralStep<T> spectral = spectral_step(G, input.squared_norm / n, -1.0);
    net.W[l] += static_cast<T>(method.lr) * spectral.step;
    return spectral.nuclear_norm;
  }

  static double rank_from(double nuclear_norm, const arma::Mat<T>& of) {
    arma::mat memory;
    const arma::mat& G = widened(of, memory);
    const double squares = arma::dot(G, G);
    return squares > 0 ? nuclear_norm * nuclear_norm / squares : undefined;
  }
};

/// Writes two archives with a tensor W<l> for every layer l: its input (k, n) and its gradient
/// (m, k). Creates folders.
template <class T>
void write_dump(const std::string& folder, const MlpPass<T>& pass) {
  std::vector<TensorToWrite> activations, gradients;
  for (std::size_t l = 0; l < layers; ++l) {
    activations.push_back(tensor<T>(say("W{}", l + 1), pass.input(l)));
    gradients.push_back(tensor<T>(say("W{}", l + 1), pass.G[l]));
  }
  const std::vector<std::string> files = dump_files(folder);
  write_safetensors(files[0], activations);
  write_safetensors(files[1], gradients);
}

template <class T>
TrialRecord measure(const Config& config, const Trial& trial) {
  const Problem<T> problem = draw_problem<T>(config, trial);
  const std::vector<Method> methods = config.methods();
  std::vector<TrialRecord> of_methods(methods.size());
  TrialRecord record;
  trial.expect(of_methods.size() * config.steps, "step");
  // The last part, which is short, measures the ranks at the initial weights.
  trial.for_each_piece(of_methods.size() + 1, [&](std::size_t i) {
    if (i == of_methods.size()) return record_ranks(problem, record);
    MlpPass<T> pass;
    Descent<T> descent{config, methods[i], problem, trial, pass};
    const bool is_finite = descent.run();
    const bool is_dumped =
        trial.index() == 0 && !config.dump.empty() && methods[i].name == config.optimizer.front();
    if (is_dumped && is_finite) write_dump(config.dump, pass);
    of_methods[i] = descent.record();
  });
  record.set(stable_rank_X, problem.stable_rank_X);
  for (const TrialRecord& of_method : of_methods) record.insert(of_method);
  count_cases(config, record);
  return record;
}

double phase_end(const Config& config, const TrialRecord& record) {
  const std::vector<double>&second = record.array(ratio_name(gd, 2)),
        &third = record.array(ratio_name(gd, 3));
  const std::vector<double> iterations = config.iterations();
  std::size_t i = 0;
  while (i < iterations.size() && second[i] >= 2 && third[i] >= 2) ++i;
  return i == 0 ? undefined : iterations[i - 1];
}

double log_ratio_at(const TrialRecord& record, const std::string& method, double iteration) {
  if (std::isnan(iteration)) return undefined;
  const auto t = static_cast<std::size_t>(iteration);
  return std::log10(loss_at(record, method, t) / loss_at(record, gd, t));
}

void count_along(const Config& config, const Method& method, TrialRecord& record) {
  Tally small;
  const double limit = small_part * static_cast<double>(config.d);
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

/// One case for each layer whose rank at the initial weights is finite. W_1 is narrower than the
/// other matrices.
void count_maxima(const Misprint& statement, const std::string& matrix, bool of_weights,
                  TrialRecord& record) {
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    const double rank = record.scalar(rank_name(matrix, l));
    if (!std::isfinite(rank)) continue;
    const bool is_W1 = of_weights && l == 1;
    record.count(statement.as_printed.id, !(rank <= (is_W1 ? 128 : 256)));
    record.count(statement.corrected.id, !(is_W1 ? rank <= 128 : rank > 256 && rank <= 512));
  }
}

}  // namespace

void count_cases(const Config& config, TrialRecord& record) {
  for (const Method& method : config.methods()) count_along(config, method, record);
  count_maxima(largest_stable_rank, "A", false, record);
  count_maxima(largest_nuclear_rank, "W", true, record);
  record.set(initial_phase_end, phase_end(config, record));
  for (const Method& method : config.rivals()) {
    record.set(early_ratio_name(method.name),
               log_ratio_at(record, method.name, record.scalar(initial_phase_end)));
    record.set(final_ratio_name(method.name),
               log_ratio_at(record, method.name, static_cast<double>(config.steps)));
  }
}

TrialRecord run_trial(const Config& config, const Trial& trial) {
  return config.single_precision() ? measure<float>(config, trial) : measure<double>(config, trial);
}

std::vector<std::string> dump_files(const std::string& folder) {
  return {folder + "/activations.safetensors", folder + "/gradients.safetensors"};
}

}  // namespace ranklab::mlp
