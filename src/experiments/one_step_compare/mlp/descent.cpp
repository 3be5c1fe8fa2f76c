#include "experiments/one_step_compare/mlp/descent.hpp"

#include <cmath>
#include <limits>

#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "optim/muon.hpp"
#include "optim/steps.hpp"

namespace ranklab::mlp {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double squared_norm(const arma::mat& A) {
  return arma::dot(A, A);
}

// The diagnostics' precision, without a copy where it is the run's.
const arma::mat& widened(const arma::mat& A, arma::mat&) {
  return A;
}
const arma::mat& widened(const arma::fmat& A, arma::mat& memory) {
  memory = arma::conv_to<arma::mat>::from(A);
  return memory;
}

bool is_inner(std::size_t l) {
  return l > 0 && l < hidden_layers;
}

template <class T>
class Descent {
 public:
  Descent(const MlpConfig& config, const Method& method, const Problem<T>& problem, const Trial& trial, MlpPass<T>& pass)
      : config_(config),
        method_(method),
        problem_(problem),
        trial_(trial),
        pass_(pass),
        net_(problem.start),
        muon_(layers, Muon<T>(config.momentum)) {
    trajectory_.loss.assign(config.steps + 1, undefined);
  }

  Trajectory run() {
    const std::uint64_t recorded = recorded_iterations(config_).size();
    for (std::uint64_t t = 0; t <= config_.steps; ++t) {
      if (!measure_loss(t)) {
        trajectory_.diverged_at = t;
        break;
      }
      const bool last = t == config_.steps;
      step(last || t % config_.record_every == 0, last);
    }
    for (auto* ranks : {&trajectory_.stable_rank, &trajectory_.nuclear_rank})
      for (auto& of_layer : *ranks) of_layer.resize(recorded, undefined);
    return std::move(trajectory_);
  }

 private:
  /// The loss and the gradients at iteration t; false where they are no longer numbers.
  bool measure_loss(std::uint64_t t) {
    trial_.check_interrupt();
    forward(net_, problem_.X, pass_);
    trial_.check_interrupt();
    backward(net_, problem_.X, problem_.y, pass_);
    if (!std::isfinite(pass_.loss)) return false;
    if (pass_.loss > divergence_factor * (t == 0 ? pass_.loss : trajectory_.loss[0])) return false;
    for (const auto& G : pass_.G)
      if (!G.is_finite()) return false;
    trajectory_.loss[t] = pass_.loss;
    return true;
  }

  /// The ranks, where they are recorded, and the step, unless this is the last iteration.
  void step(bool recorded, bool last) {
    trial_.for_each_part(layers, [&](std::size_t l) {
      trial_.check_interrupt();
      double nuclear_norm = undefined;
      const bool euclidean = method_.inner == InnerStep::euclidean || !is_inner(l);
      const Input input = input_of(l, recorded, euclidean && !last);
      if (!last) nuclear_norm = update(l, euclidean, input);
      if (!recorded || l == hidden_layers) return;
      trajectory_.nuclear_rank[l].push_back(std::isnan(nuclear_norm) ? nuclear_rank(pass_.G[l])
                                                                     : rank_from(nuclear_norm, pass_.G[l]));
    });
  }

  // A_l, which enters layer l + 1.
  struct Input {
    double squared_norm = 0;  // ||A||_F^2
    double stable_rank = undefined;
  };

  Input input_of(std::size_t l, bool recorded, bool operator_norm_is_needed) {
    arma::mat memory;
    const arma::mat& A = widened(l == 0 ? problem_.X : pass_.A[l - 1], memory);
    Input input;
    input.squared_norm = squared_norm(A);
    if (l == 0) {
      input.stable_rank = problem_.stable_rank_X;
    } else if (recorded || operator_norm_is_needed) {
      input.stable_rank = stable_rank(A);
    }
    if (recorded && l > 0) trajectory_.stable_rank[l - 1].push_back(input.stable_rank);
    return input;
  }

  /// Steps W_(l+1); returns the gradient's nuclear norm where the step needed it, else NaN.
  double update(std::size_t l, bool euclidean, const Input& input) {
    const double n = static_cast<double>(config_.n);
    const arma::Mat<T>& G = pass_.G[l];
    if (euclidean) {
      // ||A||_op^2 = ||A||_F^2 / st(A): one eigenvalue serves both.
      const double L_F = input.squared_norm > 0 ? input.squared_norm / input.stable_rank / n : 0.0;
      net_.W[l] += static_cast<T>(method_.lr) * euclidean_step(G, L_F);
      return undefined;
    }
    if (method_.inner == InnerStep::muon) {
      net_.W[l] += static_cast<T>(config_.lr_muon) * muon_[l].step(G);
      return undefined;
    }
    const SpectralStep<T> spectral = spectral_step(G, input.squared_norm / n, -1.0);
    net_.W[l] += static_cast<T>(method_.lr) * spectral.step;
    return spectral.nuclear_norm;
  }

  static double rank_from(double nuclear_norm, const arma::Mat<T>& G) {
    arma::mat memory;
    const double squares = squared_norm(widened(G, memory));
    return squares > 0 ? nuclear_norm * nuclear_norm / squares : undefined;
  }

  const MlpConfig& config_;
  const Method& method_;
  const Problem<T>& problem_;
  const Trial& trial_;
  MlpPass<T>& pass_;
  Mlp<T> net_;
  std::vector<Muon<T>> muon_;  // one for each layer; only the inner ones are used
  Trajectory trajectory_;
};

}  // namespace

template <class T>
Problem<T> draw_problem(const MlpConfig& config, const Trial& trial) {
  Problem<T> problem;
  problem.X = draw_gaussian<T>(trial, "X", config.d, config.n, 1.0);
  problem.y = problem.X.row(0) % problem.X.row(1) % problem.X.row(2);
  problem.start = draw_mlp<T>(trial, config.d, config.width, hidden_layers, find_activation(config.activation));
  arma::mat memory;
  problem.stable_rank_X = stable_rank(widened(problem.X, memory));
  return problem;
}

template <class T>
Trajectory descend(const MlpConfig& config, const Method& method, const Problem<T>& problem, const Trial& trial, MlpPass<T>& pass) {
  return Descent<T>(config, method, problem, trial, pass).run();
}

template Problem<float> draw_problem<float>(const MlpConfig&, const Trial&);
template Problem<double> draw_problem<double>(const MlpConfig&, const Trial&);
template Trajectory descend<float>(const MlpConfig&, const Method&, const Problem<float>&, const Trial&, MlpPass<float>&);
template Trajectory descend<double>(const MlpConfig&, const Method&, const Problem<double>&, const Trial&, MlpPass<double>&);

}  // namespace ranklab::mlp
