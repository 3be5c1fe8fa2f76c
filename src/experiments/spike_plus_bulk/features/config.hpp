// Parameters of the study features. Shapes: V, V-bar (k, d); X (d, n); A = sigma(V X), A-bar = sigma(V-bar X) (k, n);
// W-bar (k, k); B = A A'/n, B-bar = A-bar A'/n (k, k).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/spike_plus_bulk/model.hpp"

namespace ranklab {

struct FeaturesConfig {
  LabelModel model = LabelModel::realizable;
  std::vector<std::uint64_t> k = {128, 256, 512, 1024};  // features, a list
  std::uint64_t d = 0;                                   // input dimension; 0: k/2 for each k
  std::uint64_t n = 0;                                   // samples; 0: 2k for each k
  std::string activation = "relu";                       // sigma, not gated
  double offset = 1.0;                                   // c of the step 1/(c + ||B||_op), positive
  std::uint64_t phi_points = 41;                         // points t at which phi is shown, from -1 to 1
  std::uint64_t phi_samples = 65536;                     // samples of the Monte Carlo estimate of phi
};

/// One entry of the list, with the defaults filled in.
struct FeatureSize {
  std::uint64_t k, d, n;

  /// What the names of its numbers begin with.
  std::string prefix() const { return "k" + std::to_string(k) + "."; }
  /// The name of the stream of the matrix `name`.
  std::string stream(const std::string& name) const { return name + "/k=" + std::to_string(k); }
};

inline std::vector<FeatureSize> feature_sizes(const FeaturesConfig& config) {
  std::vector<FeatureSize> sizes;
  for (const std::uint64_t k : config.k) {
    sizes.push_back({k, config.d == 0 ? k / 2 : config.d, config.n == 0 ? std::max<std::uint64_t>(2 * k, 4) : config.n});
  }
  return sizes;
}

/// The points at which phi is shown.
inline std::vector<double> phi_grid(const FeaturesConfig& config) {
  std::vector<double> t(config.phi_points);
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(t.size() - 1);
  return t;
}

}  // namespace ranklab
