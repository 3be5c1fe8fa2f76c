// The pairs of an activation and a gradient that the flags of --study files name, before a tensor is looked at.
#pragma once

#include <string>
#include <vector>

#include "experiments/one_step_compare/files/config.hpp"
#include "report/result.hpp"

namespace ranklab {

struct LayerPair {
  std::string name;         // printable
  std::string activation;   // address as open_tensor takes it; empty: none
  std::string gradient;     // likewise; one of the two is given
  bool transposed = false;  // the activation is n x k: its rows are samples
};

struct LayerPairs {
  std::vector<LayerPair> pairs;  // in the order of --pair, the manifest, the archives
  std::vector<Skipped> skipped;  // keys of one archive that the other does not have
};

/// `NAME,ACTIVATION_FILE,GRADIENT_FILE` of --pair. Throws UsageError that names the flag.
LayerPair parse_pair(const std::string& text, bool transposed);

/// The pairs of a manifest: {"pairs": [{"name", "activation", "gradient", "transpose_activations"}]}. Of the two tensors one may be
/// missing, paths are relative to the manifest, and `transposed` holds for pairs that do not say. Throws Failure that names the
/// file, the pair and what is wrong.
std::vector<LayerPair> read_manifest(const std::string& path, bool transposed);

/// All pairs that --include and --exclude leave. Throws Failure for a manifest or an archive that cannot be read, UsageError for a
/// name that stands twice and for a glob that matches no name.
LayerPairs list_pairs(const FilesConfig& config);

}  // namespace ranklab
