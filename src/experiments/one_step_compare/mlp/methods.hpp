// The optimizers that the study mlp compares, and the names of what it measures of each.
#pragma once

#include <string>
#include <vector>

#include "experiments/one_step_compare/mlp/config.hpp"

namespace ranklab::mlp {

inline constexpr std::size_t hidden_layers = 3, layers = hidden_layers + 1;

/// How the layers between the first hidden and the output step; these two always take Euclidean steps.
enum class InnerStep { euclidean, spectral, muon };

struct Method {
  std::string name;   // of its series: gd, specgd, muon, specgd_equal_lr
  std::string label;  // GD
  InnerStep inner = InnerStep::euclidean;
  double lr = 0;  // of Euclidean and spectral steps
};

/// GD first, then those of config.optimizer in its order, then SpecGD with GD's learning rate where that is asked for.
std::vector<Method> methods(const MlpConfig& config);

/// Iterations at which ranks are measured: multiples of record_every, and the last.
std::vector<double> recorded_iterations(const MlpConfig& config);

/// "gd.layer2.stable_rank", "gd.W2.nuclear_rank" and "gd.W2.ratio"; layers count from 1.
std::string stable_rank_name(const std::string& method, std::size_t layer);
std::string nuclear_rank_name(const std::string& method, std::size_t layer);
std::string ratio_name(const std::string& method, std::size_t layer);

}  // namespace ranklab::mlp
