#include <algorithm>
#include <armadillo>
#include <cmath>
#include <map>
#include <type_traits>

#include "core/error.hpp"
#include "core/undefined.hpp"
#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "models/tokens.hpp"

namespace ranklab::stable_ranks {
namespace {

arma::mat gaussian(std::uint64_t rows, std::uint64_t columns, double deviation, const Trial& trial,
                   const std::string& name) {
  return draw_gaussian<double>(trial, name.c_str(), rows, columns, deviation);
}

// rows x columns with orthonormal columns, uniformly distributed: Q of a Gaussian matrix, with the
// signs chosen so that R has a positive diagonal (otherwise the law of Q depends on LAPACK's choice
// of reflections).
arma::mat orthonormal_columns(std::uint64_t rows, std::uint64_t columns, const Trial& trial,
                              const std::string& name) {
  arma::mat Q, R;
  if (!arma::qr_econ(Q, R, gaussian(rows, columns, 1.0, trial, name))) {
    throw Failure("QR decomposition of a " + std::to_string(rows) + " x " +
                  std::to_string(columns) + " matrix failed");
  }
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0.0) Q.col(j) *= -1.0;
  }
  return Q;
}

// First-layer weights, k x d; `name` is W, or V for the second factor of a gated activation.
arma::mat first_weights(const StableRankConfig& config, FirstWeights kind, const Trial& trial,
                        const std::string& name) {
  const double d = static_cast<double>(config.d);
  if (kind == FirstWeights::dense)
    return gaussian(config.k, config.d, 1.0 / std::sqrt(d), trial, name + "1");
  if (kind == FirstWeights::low_rank) {
    const double r = static_cast<double>(config.rank);
    return gaussian(config.k, config.rank, 1.0 / std::sqrt(r), trial, name + ".low_rank.left") *
           gaussian(config.rank, config.d, 1.0 / std::sqrt(d), trial, name + ".low_rank.right");
  }
  const std::uint64_t r = std::min(config.k, config.d);
  arma::vec s(r);
  for (arma::uword i = 0; i < r; ++i) s(i) = std::pow(static_cast<double>(i + 1), -config.power);
  s *= std::sqrt(static_cast<double>(config.k)) / arma::norm(s);
  const arma::mat U = orthonormal_columns(config.k, r, trial, name + ".power_law.left");
  return U * arma::diagmat(s) *
         orthonormal_columns(config.d, r, trial, name + ".power_law.right").t();
}

// W_l for l > 1, k x k. Differs from [Spectral]: variance 1/k instead of 1 (Theorem 2.7), because
// the theorem's activations are homogeneous, so the scale changes no stable rank, and the other
// activations would saturate.
arma::mat deep_weights(const StableRankConfig& config, std::uint64_t layer, const Trial& trial,
                       const std::string& name) {
  return gaussian(config.k, config.k, 1.0 / std::sqrt(static_cast<double>(config.k)), trial,
                  name + std::to_string(layer));
}

// Matrices that a trial overwrites repeatedly, kept so that their memory is allocated once.
template <class T>
struct Workspace {
  arma::Mat<T> output, gate;  // k x n
  arma::mat copy, gram;
};

// Computed in double precision for every T; NaN if an entry of A overflowed.
template <class T>
double measured_stable_rank(const arma::Mat<T>& A, Workspace<T>& workspace) {
  if (!A.is_finite()) return undefined;
  const auto smaller_gram = [&](const arma::mat& B) {
    if (B.n_rows <= B.n_cols) {
      workspace.gram = B * B.t();
    } else {
      workspace.gram = B.t() * B;
    }
    return stable_rank_from_gram(workspace.gram);
  };
  if constexpr (std::is_same_v<T, double>) {
    return smaller_gram(A);
  } else {
    workspace.copy = arma::conv_to<arma::mat>::from(A);
    return smaller_gram(workspace.copy);
  }
}

// A homogeneous activation of degree 2 squares the scale at every layer. Division by a power of two
// is exact.
template <class T>
void rescale(arma::Mat<T>& A) {
  const T largest = arma::abs(A).max();
  if (!(largest > T(0)) || !std::isfinite(largest)) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  A *= std::ldexp(T(1), -exponent);
}

template <class T>
struct Weights {
  arma::Mat<T> W, V;  // V is empty unless an activation is gated
};

// workspace.output <- sigma(W A).
template <class T>
void post_activation(const Activation& activation, const Weights<T>& weights, const arma::Mat<T>& A,
                     Workspace<T>& workspace) {
  arma::Mat<T>& output = workspace.output;
  output = weights.W * A;
  apply(activation, output);
  if (activation.gated) {
    workspace.gate = weights.V * A;
    output %= workspace.gate;
  }
  if (activation.degree > 0) rescale(output);
}

template <class T, class Draw>
Weights<T> draw_weights(bool gated, const Draw& draw) {
  const auto convert = [](const arma::mat& M) { return arma::conv_to<arma::Mat<T>>::from(M); };
  return {convert(draw("W")), gated ? convert(draw("V")) : arma::Mat<T>()};
}

template <class T>
void measure_layers(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const StableRankConfig& config = plan.config;
  const bool gated = std::ranges::any_of(
      plan.stacks, [](const std::string& sigma) { return find_activation(sigma).gated; });
  const arma::Mat<T> X =
      arma::conv_to<arma::Mat<T>>::from(gaussian(config.d, config.n, 1.0, trial, "X"));
  Workspace<T> workspace;
  record.set(X_rank, measured_stable_rank(X, workspace));
  std::map<std::string, arma::Mat<T>> A;
  std::map<std::string, std::vector<double>> over_depth;

  for (const WeightKind& kind : weight_kinds) {
    const auto first = draw_weights<T>(gated, [&](const std::string& name) {
      return first_weights(config, kind.weights, trial, name);
    });
    record.set(W_rank(kind), measured_stable_rank(first.W, workspace));
    for (const std::string& sigma : plan.stacks) {
      trial.check_interrupt();
      const bool starts_stack = kind.weights == FirstWeights::dense;
      if (!starts_stack && !plan.listed(sigma)) continue;
      post_activation(find_activation(sigma), first, X, workspace);
      const double st = measured_stable_rank(workspace.output, workspace);
      if (plan.listed(sigma)) record.set(layer_rank(sigma, kind), st);
      if (!starts_stack) continue;
      over_depth[sigma].push_back(st);
      A[sigma] = workspace.output;
    }
  }
  for (std::uint64_t layer = 2; layer <= config.depth; ++layer) {
    const auto weights = draw_weights<T>(
        gated, [&](const std::string& name) { return deep_weights(config, layer, trial, name); });
    for (const std::string& sigma : plan.stacks) {
      trial.check_interrupt();
      post_activation(find_activation(sigma), weights, A[sigma], workspace);
      over_depth[sigma].push_back(measured_stable_rank(workspace.output, workspace));
      A[sigma].swap(workspace.output);
    }
  }
  for (const auto& [sigma, values] : over_depth) record.set(depth_ranks(sigma), values);
}

void measure_tokens(const StableRankConfig& config, const Trial& trial, TrialRecord& record) {
  Stream token_stream = trial.stream("tokens"), embedding_stream = trial.stream("E");
  const std::vector<std::uint32_t> tokens =
      ZipfLaw(config.vocabulary, config.zipf).draw(config.tokens, token_stream);
  const TokenCounts counts = count_tokens(tokens);
  record.set(indicator_rank, indicator_stable_rank(tokens));
  record.set(inverse_p_max, 1.0 / counts.p_max());
  trial.check_interrupt();

  const arma::mat E = draw_embedding(config.d, counts, embedding_stream);
  const arma::rowvec squared_norms = arma::sum(arma::square(E), 0);
  record.set(norm_deviation, arma::abs(squared_norms / static_cast<double>(config.d) - 1.0).max());
  record.set(distinct_tokens, static_cast<double>(counts.id.size()));
  record.set(embedding_rank, stable_rank_from_gram(embedded_gram(E, counts)));
  trial.check_interrupt();
  record.set(embedding_rms_rank,
             stable_rank_from_gram(embedded_gram(rms_normalized_columns(E), counts)));
}

}  // namespace

Plan::Plan(const StableRankConfig& given)
    : config(given),
      stacks(given.activation),
      largest_rank(static_cast<double>(std::min(given.k, given.n))) {
  if (!listed("quadratic")) stacks.emplace_back("quadratic");
  for (const std::string& sigma : config.activation) {
    if (sigma == "relu" || sigma == "abs" || sigma == "leaky-relu") covered.push_back(sigma);
  }
}

TrialRecord run_trial(const Plan& plan, bool single_precision, const Trial& trial) {
  TrialRecord record;
  if (single_precision) {
    measure_layers<float>(plan, trial, record);
  } else {
    measure_layers<double>(plan, trial, record);
  }
  measure_tokens(plan.config, trial, record);
  return record;
}

}  // namespace ranklab::stable_ranks
