#include <algorithm>
#include <armadillo>
#include <cmath>
#include <map>

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
struct Workspace {
  arma::mat output, gate;  // k x n
  arma::mat gram;
};

// NaN if an entry of A overflowed.
double measured_stable_rank(const arma::mat& A, Workspace& workspace) {
  if (!A.is_finite()) return undefined;
  if (A.n_rows <= A.n_cols) {
    workspace.gram = A * A.t();
  } else {
    workspace.gram = A.t() * A;
  }
  return stable_rank_from_gram(workspace.gram);
}

// A homogeneous activation of degree 2 squares the scale at every layer. Division by a power of two
// is exact.
void rescale(arma::mat& A) {
  const double largest = arma::abs(A).max();
  if (!(largest > 0) || !std::isfinite(largest)) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  A *= std::ldexp(1.0, -exponent);
}

struct Weights {
  arma::mat W, V;  // V is empty unless an activation is gated
};

// workspace.output <- sigma(W A).
void post_activation(const Activation& activation, const Weights& weights, const arma::mat& A,
                     Workspace& workspace) {
  arma::mat& output = workspace.output;
  output = weights.W * A;
  apply(activation, output);
  if (activation.gated) {
    workspace.gate = weights.V * A;
    output %= workspace.gate;
  }
  if (activation.degree > 0) rescale(output);
}

template <class Draw>
Weights draw_weights(bool gated, const Draw& draw) {
  return {draw("W"), gated ? draw("V") : arma::mat()};
}

void measure_layers(const Plan& plan, const Trial& trial, TrialRecord& record) {
  const StableRankConfig& config = plan.config;
  const bool gated = std::ranges::any_of(
      plan.stacks, [](const std::string& sigma) { return find_activation(sigma).gated; });
  const arma::mat X = gaussian(config.d, config.n, 1.0, trial, "X");
  Workspace workspace;
  record.set(X_rank, measured_stable_rank(X, workspace));
  std::map<std::string, arma::mat> A;
  std::map<std::string, std::vector<double>> over_depth;

  for (const WeightKind& kind : weight_kinds) {
    const auto first = draw_weights(gated, [&](const std::string& name) {
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
    const auto weights = draw_weights(
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

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  TrialRecord record;
  measure_layers(plan, trial, record);
  measure_tokens(plan.config, trial, record);
  return record;
}

}  // namespace ranklab::stable_ranks
