// --fail-if: the exit status for a pipeline.
#pragma once

#include <string>
#include <vector>

#include "experiments/advise/rows.hpp"

namespace ranklab::advise {

/// `GLOB: ratio<X` of --fail-if.
struct Gate {
  std::string text, glob;
  bool below = true;  // fails if the ratio is below the limit, else if it is above
  double limit = 0;

  bool fails(double ratio) const { return below ? ratio < limit : ratio > limit; }
};

/// Throws UsageError that names the flag.
std::vector<Gate> gates_of(const FilesConfig& config);

/// Throws UsageError for a gate that matches no layer.
void require_layers(const std::vector<Gate>& gates, const Plan& plan);

/// One line for each layer that fails a gate. A layer that is not judged fails every gate that
/// matches it.
std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const Rows& rows);

}  // namespace ranklab::advise
