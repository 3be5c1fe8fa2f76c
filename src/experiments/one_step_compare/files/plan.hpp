// What --study files will measure: shapes from the headers of the files, gradients cut into blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/one_step_compare/files/pairs.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// Rows first_row ... first_row + m - 1 of a pair's gradient; a row of the table.
struct PlannedLayer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;  // m = 0: no gradient
};

struct PlannedPair {
  LayerPair source;
  std::uint64_t k = 0, n = 0;  // n = 0: no activation
  std::string dtypes;          // "F32", or "BF16, F32" where activation and gradient differ
  std::vector<PlannedLayer> layers;
  bool has_activation() const { return !source.activation.empty(); }
  bool has_gradient() const { return !source.gradient.empty(); }
};

struct FilesPlan {
  std::vector<PlannedPair> pairs;
  std::vector<Skipped> skipped;
};

/// Opens every file once. Throws Failure for what cannot be read, for shapes that do not pair (naming both) and where no layer is
/// left (saying why); UsageError for --split of an unknown name or into parts that do not divide the rows, and as list_pairs.
FilesPlan plan_files(const FilesConfig& config);

/// Of the largest layer, as only one is in memory; flops of all.
Estimate estimate_files(const FilesPlan& plan);

/// "no layer is left to measure: NAME: reason; ..."
std::string nothing_left(const std::vector<Skipped>& skipped);

}  // namespace ranklab
