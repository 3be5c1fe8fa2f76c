// Small functions of weight matrices that both models of the study use.
#pragma once

#include <string>

#include "experiments/one_step_compare/curvature/layered.hpp"
#include "nn/optimizer.hpp"

namespace ranklab::curvature {

inline double squares(const arma::mat& M) {
  return arma::dot(M, M);
}
/// D with all matrices but one set to 0.
Blocks only(const Blocks& D, std::size_t i);
Blocks polar_factors(const Blocks& G);
Rule rule_of(const std::string& optimizer);

}  // namespace ranklab::curvature
