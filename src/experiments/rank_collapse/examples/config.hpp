// `rank-collapse --study examples`: the two-token systems of [LambdaSkip] Propositions A.10.1
// (Sys-1), 4.3.1 and 4.3.2 (Sys-2), iterated by eq. (6) and compared with their exact forms.
#pragma once

#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct ExamplesConfig {
  // sys1: M = [[1, 0], [2, 1]], Y(0) = I; sys2: M = [[1, 0], [y1.y2, 1]].
  std::string system = "sys1";
  // Values on both sides of the critical values -2, -3/2 and -1.
  std::vector<double> lambda = {-3, -2.5, -2, -1.75, -1.5, -1.25, -1, -0.75, -0.5, 0, 1, 2};
  std::uint64_t layers = 400;  // K
  // sys2: row 2 of Y(0) is (alpha_0, sqrt(1 - alpha_0^2)); in (0, 1].
  double alpha0 = 1 / std::numbers::sqrt2;
};

std::unique_ptr<Study> make_examples_study();

}  // namespace ranklab
