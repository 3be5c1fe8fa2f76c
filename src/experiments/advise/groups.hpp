// --groups: the file for the parameter groups of an optimizer.
#pragma once

#include <string>
#include <vector>

#include "experiments/advise/rows.hpp"

namespace ranklab::advise {

/// Throws UsageError if the file of --groups exists and is not a groups file.
void require_groups_file(const std::string& path);

struct Groups {
  std::string text;                    // parameter names by advice, as JSON
  std::vector<std::string> differing;  // "qkv.weight (qkv.1 muon, qkv.2 either)"
};

/// A parameter whose parts get different advice is "either". Layers that the paper keeps on
/// Euclidean steps are "euclidean", whatever their ratio.
Groups groups_of(const Plan& plan, const Records& records);

/// Lines of Python that put every parameter of `model` into one of two optimizers, by the file at
/// `path`. `Muon` is torch.optim.Muon or any other class.
std::string optimizers_snippet(const std::string& path);

}  // namespace ranklab::advise
