// `one-step-compare --study files` and `ranklab ranks`: the paper's two numbers for matrices in
// files, st of activations and nr of gradients, and its criterion ([Spectral] Sections 1.2 and
// 1.2.1, eq. (1.8)); the ranks of weights.
//
// Layers are measured one after another, so a file of 10 GB does not need 10 GB of memory. One
// trial measures all layers. Nothing is drawn: --seed changes nothing, and further trials repeat
// the first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct FilesConfig {
  // NAME,ACTIVATION_FILE,GRADIENT_FILE; one of the two files may be empty
  std::vector<std::string> pair = {};
  std::vector<std::string> manifest = {};        // JSON files that list pairs
  std::string activations = {}, gradients = {};  // two archives, paired by key
  std::vector<std::string> from = {};            // recordings, or folders of recordings
  bool transpose_activations = false;            // the rows of an activation are samples
  bool transpose_gradients = false;              // gradients are k x m
  bool allow_repeats = false;                    // repeated samples are not padding
  // Globs of pair names, comma-separated; an empty list includes all pairs
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
  std::vector<std::string> split = {};          // NAME=PARTS, comma-separated
  std::vector<std::string> split_columns = {};  // the same for columns
  std::vector<std::string> experts = {};        // globs of 3-D stacks of matrices, comma-separated
  std::vector<std::string> fail_if = {};        // GLOB: ratio<X
  std::string weights_only = {};  // archive, index or folder of weights; only their spectra
  std::uint64_t heads = 1;  // per part of each split layer; of every layer if no layer is split
};

std::unique_ptr<Study> make_files_study();

/// The flags of --study files that paths stand for, by what the files contain. Throws Failure for a
/// path that cannot be read, UsageError for paths that do not go together.
std::vector<std::pair<std::string, std::string>> flags_of_paths(
    const std::vector<std::string>& paths);

}  // namespace ranklab
