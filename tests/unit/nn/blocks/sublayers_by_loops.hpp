// The common parts of the blocks of BERT, ALBERT and GPT-2, computed one number at a time from
// perturbed weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "nn/blocks/by_loops.hpp"
#include "nn/blocks/perturbed_tensors.hpp"

namespace by_loops {

using Weights = PerturbedTensors<double>;

inline arma::mat linear(const Weights& w, const std::string& name, const arma::mat& X) {
  return linear(w[name + ".weight"], X, w[name + ".bias"]);
}

// This is the identity with --norm none.
inline arma::mat layer_norm(const ranklab::ModelSpec& spec, const Weights& w,
                            const std::string& name, const arma::mat& X) {
  if (spec.norm == "none") return X;
  arma::mat Y = normalized(X, "layer", spec.norm_epsilon);
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    for (arma::uword c = 0; c < Y.n_rows; ++c)
      Y(c, t) = w[name + ".weight"](c) * Y(c, t) + w[name + ".bias"](c);
  }
  return Y;
}

inline double sigma(const std::string& activation, double x) {
  if (activation == "relu") return std::max(x, 0.0);
  if (activation == "gelu") return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3))));
}

}  // namespace by_loops
