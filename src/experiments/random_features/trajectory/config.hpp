// `random-features --study trajectory`: gradient descent compared with spectral gradient descent on
// random-feature regression, with spectral restarts from the iterates of gradient descent
// ([Spectral] Figures 3 and 11).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "experiments/study.hpp"

namespace ranklab {

struct TrajectoryConfig {
  std::string activation = "relu";         // sigma; swiglu is gated and draws a second V
  std::uint64_t m = 100;                   // rows of W; the sizes are Figure 3's
  std::uint64_t k = 100, d = 50, n = 400;  // features, input dimension, samples
  std::uint64_t steps = 1000;              // iterations from W_0 = 0
  std::uint64_t restart_every =
      100;  // SpecGD restarts from the GD iterates 0 < t < steps at multiples of this; 0: none
  bool from_peak =
      true;  // also restart from the GD iterate whose gradient has the largest nuclear rank
  // Differs from [Spectral]: V ~ N(0, 1/d) and W# ~ N(0, 1/k) instead of the standard Gaussians of
  // its text, because these reproduce its figure.
  std::string scale = "code";  // "code": V ~ N(0, 1/d), W# ~ N(0, 1/k); "paper": both N(0, 1)
  double step_scale = 1.0;     // multiplies both methods' steps; GD diverges above 2
  double polar_rtol = 0.0;     // relative tolerance of the polar factor; 0: max(m, k) epsilon
};

std::unique_ptr<Study> make_trajectory_study();

}  // namespace ranklab
