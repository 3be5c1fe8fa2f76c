#include "experiments/random_features/stable_rank/trial.hpp"

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "core/error.hpp"
#include "linalg/spectra.hpp"
#include "models/activations.hpp"
#include "models/tokens.hpp"

namespace ranklab {
namespace {

arma::mat gaussian(std::uint64_t rows, std::uint64_t columns, double deviation, const Trial& trial, const std::string& name) {
  arma::mat G(rows, columns);
  Stream stream = trial.stream(name);
  stream.fill_normal({G.memptr(), G.n_elem}, deviation);
  return G;
}

// rows x columns with orthonormal columns, uniformly distributed: Q of a Gaussian matrix, with the signs chosen so that
// R has a positive diagonal (otherwise the law of Q depends on LAPACK's choice of reflections).
arma::mat orthonormal_columns(std::uint64_t rows, std::uint64_t columns, const Trial& trial, const std::string& name) {
  arma::mat Q, R;
  if (!arma::qr_econ(Q, R, gaussian(rows, columns, 1.0, trial, name))) {
    throw Failure("QR decomposition of a " + std::to_string(rows) + " x " + std::to_string(columns) + " matrix failed");
  }
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0.0) Q.col(j) *= -1.0;
  }
  return Q;
}

// First-layer weights, k x d; `name` is W, or V for the second factor of a gated activation.
arma::mat first_weights(const StableRankConfig& config, std::size_t kind, const Trial& trial, const std::string& name) {
  const double d = static_cast<double>(config.d);
  if (kind == 0) return gaussian(config.k, config.d, 1.0 / std::sqrt(d), trial, name + "1");
  if (kind == 1) {
    const double r = static_cast<double>(config.rank);
    return gaussian(config.k, config.rank, 1.0 / std::sqrt(r), trial, name + ".low_rank.left") *
           gaussian(config.rank, config.d, 1.0 / std::sqrt(d), trial, name + ".low_rank.right");
  }
  const std::uint64_t r = std::min(config.k, config.d);
  arma::vec s(r);
  for (arma::uword i = 0; i < r; ++i) s(i) = std::pow(static_cast<double>(i + 1), -config.power);
  s *= std::sqrt(static_cast<double>(config.k)) / arma::norm(s);
  const arma::mat U = orthonormal_columns(config.k, r, trial, name + ".power_law.left");
  return U * arma::diagmat(s) * orthonormal_columns(config.d, r, trial, name + ".power_law.right").t();
}

// W_l for l > 1, k x k. Differs from [Spectral]: variance 1/k instead of 1 (Theorem 2.7), because the activations of the
// theorem are homogeneous, so that the scale changes no stable rank, and the others would saturate.
arma::mat deep_weights(const StableRankConfig& config, std::uint64_t layer, const Trial& trial, const std::string& name) {
  return gaussian(config.k, config.k, 1.0 / std::sqrt(static_cast<double>(config.k)), trial, name + std::to_string(layer));
}

// Matrices of a trial that are written again and again, kept so that the memory is asked for once.
template <class T>
struct Workspace {
  arma::Mat<T> output, gate;  // k x n
  arma::mat copy, gram;
};

// In double precision whatever T; NaN where an entry overflowed.
template <class T>
double measured_stable_rank(const arma::Mat<T>& A, Workspace<T>& workspace) {
  if (!A.is_finite()) return std::numeric_limits<double>::quiet_NaN();
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

// A homogeneous activation of degree 2 squares the scale at every layer. Division by a power of two keeps every digit.
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
void post_activation(const Activation& activation, const Weights<T>& weights, const arma::Mat<T>& A, Workspace<T>& workspace) {
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
void measure_layers(const StableRankConfig& config, Trial& trial, TrialRecord& record) {
  const std::vector<std::string> names = depth_activations(config);
  const bool gated = std::any_of(names.begin(), names.end(), [](const auto& name) { return find_activation(name).gated; });
  const arma::Mat<T> X = arma::conv_to<arma::Mat<T>>::from(gaussian(config.d, config.n, 1.0, trial, "X"));
  Workspace<T> workspace;
  record.set("X.stable_rank", measured_stable_rank(X, workspace));
  std::map<std::string, arma::Mat<T>> A;
  std::map<std::string, std::vector<double>> over_depth;

  for (std::size_t kind = 0; kind < weight_kinds.size(); ++kind) {
    const auto first = draw_weights<T>(gated, [&](const std::string& name) { return first_weights(config, kind, trial, name); });
    record.set(std::string("W.stable_rank") + weight_kinds[kind].suffix, measured_stable_rank(first.W, workspace));
    for (const auto& name : names) {
      trial.check_interrupt();
      const bool listed = std::find(config.activation.begin(), config.activation.end(), name) != config.activation.end();
      if (kind > 0 && !listed) continue;
      post_activation(find_activation(name), first, X, workspace);
      const double st = measured_stable_rank(workspace.output, workspace);
      if (listed) record.set(name + ".stable_rank" + weight_kinds[kind].suffix, st);
      if (kind > 0) continue;
      over_depth[name].push_back(st);
      A[name] = workspace.output;
    }
  }
  for (std::uint64_t layer = 2; layer <= config.depth; ++layer) {
    const auto weights = draw_weights<T>(gated, [&](const std::string& name) { return deep_weights(config, layer, trial, name); });
    for (const auto& name : names) {
      trial.check_interrupt();
      post_activation(find_activation(name), weights, A[name], workspace);
      over_depth[name].push_back(measured_stable_rank(workspace.output, workspace));
      A[name].swap(workspace.output);
    }
  }
  for (const auto& [name, values] : over_depth) record.set(name + ".depth.stable_rank", values);
}

void measure_tokens(const StableRankConfig& config, Trial& trial, TrialRecord& record) {
  Stream token_stream = trial.stream("tokens"), embedding_stream = trial.stream("E");
  const std::vector<std::uint32_t> tokens = ZipfLaw(config.vocabulary, config.zipf).draw(config.tokens, token_stream);
  const TokenCounts counts = count_tokens(tokens);
  record.set("token_indicator.stable_rank", indicator_stable_rank(tokens));
  record.set("token_indicator.inverse_p_max", 1.0 / counts.p_max());
  trial.check_interrupt();

  const arma::mat E = draw_embedding(config.d, counts, embedding_stream);
  const arma::rowvec squared_norms = arma::sum(arma::square(E), 0);
  record.set("embedding.norm_deviation", arma::abs(squared_norms / static_cast<double>(config.d) - 1.0).max());
  record.set("embedding.distinct_tokens", static_cast<double>(counts.id.size()));
  record.set("embedding.stable_rank", stable_rank_from_gram(embedded_gram(E, counts)));
  trial.check_interrupt();
  record.set("embedding_rms.stable_rank", stable_rank_from_gram(embedded_gram(rms_normalised_columns(E), counts)));
}

}  // namespace

std::vector<std::string> depth_activations(const StableRankConfig& config) {
  std::vector<std::string> names = config.activation;
  if (std::find(names.begin(), names.end(), "quadratic") == names.end()) names.emplace_back("quadratic");
  return names;
}

TrialRecord stable_rank_trial(const StableRankConfig& config, bool single_precision, Trial& trial) {
  TrialRecord record;
  if (single_precision) {
    measure_layers<float>(config, trial, record);
  } else {
    measure_layers<double>(config, trial, record);
  }
  measure_tokens(config, trial, record);
  return record;
}

Estimate stable_rank_estimate(const StableRankConfig& config) {
  const double k = static_cast<double>(config.k), d = static_cast<double>(config.d), n = static_cast<double>(config.n);
  const double layers = static_cast<double>(config.depth);
  const double distinct = ZipfLaw(config.vocabulary, config.zipf).expected_distinct(static_cast<double>(config.tokens));
  const double side = std::min(k, n), wide = std::max(k, n);
  double stacks = 0.0, products = 0.0, products_with_gate = 0.0;
  for (const auto& name : depth_activations(config)) {
    const bool listed = std::find(config.activation.begin(), config.activation.end(), name) != config.activation.end();
    stacks += 1.0;
    products += listed ? 3.0 : 1.0;
    products_with_gate += (listed ? 3.0 : 1.0) * (find_activation(name).gated ? 2.0 : 1.0);
  }
  const double gate = products_with_gate > products ? 2.0 : 1.0;

  Estimate cost;
  // The eigenvalues of a symmetric matrix of order s take about 4/3 s^3.
  const double per_gram = side * side * wide + 4.0 / 3.0 * side * side * side;
  cost.flops = products_with_gate * 2.0 * k * d * n + products * per_gram;
  cost.flops += (layers - 1.0) * (stacks * per_gram + (stacks + gate - 1.0) * 2.0 * k * k * n);
  cost.flops += gate * 4.0 * k * d * std::min(k, d) + 2.0 * d * d * distinct + 8.0 / 3.0 * d * d * d;
  // Outputs of all stacks, one new output with its gate or copy in double, input, weights in two copies, Gram matrix with its
  // workspace.
  const double layer_bytes = 8.0 * ((stacks + 3.0) * k * n + 2.0 * d * n + 2.0 * gate * k * std::max(k, d) + 3.0 * side * side);
  const double token_bytes =
      8.0 * (3.0 * d * distinct + 3.0 * d * d + 2.0 * static_cast<double>(config.tokens + config.vocabulary));
  cost.bytes = std::max(layer_bytes, token_bytes);
  return cost;
}

}  // namespace ranklab
