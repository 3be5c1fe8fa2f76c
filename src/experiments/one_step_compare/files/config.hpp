// `one-step-compare --study files`: the stable rank of the user's own activations against the nuclear rank of their gradients,
// layer by layer: which layers should get a spectral update such as Muon's ([Spectral] Sections 1.2 and 1.2.1, eq. (1.8))?
//
// Layers are measured one after another, so that a file of 10 GB does not need 10 GB. One trial measures all of them; nothing is
// drawn, so --seed changes nothing and further trials repeat the first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct FilesConfig {
  std::vector<std::string> pair = {};            // NAME,ACTIVATION_FILE,GRADIENT_FILE; one of the files may be missing
  std::vector<std::string> manifest = {};        // JSON files of pairs
  std::string activations = {}, gradients = {};  // two archives, paired by key
  std::string from = {};                         // a folder of recordings
  bool transpose_activations = false;            // rows of an activation are samples
  bool transpose_gradients = false;              // gradients are k x m
  bool allow_repeats = false;                    // samples that are one and the same are no padding
  std::vector<std::string> include = {};         // globs of pair names, commas between them; none: all
  std::vector<std::string> exclude = {};
  std::vector<std::string> split = {};          // NAME=PARTS, commas between them
  std::vector<std::string> split_columns = {};  // likewise
  std::vector<std::string> experts = {};        // globs of stacks of matrices, commas between them
  std::vector<std::string> fail_if = {};        // GLOB: ratio<X
  std::string groups = {};                      // where the names go, by their advice
  std::string weights_only = {};                // an archive of weights: their spectra alone
  std::uint64_t heads = 1;                      // of every split layer's parts, or of every layer where none is split
};

std::unique_ptr<Study> make_files_study();

}  // namespace ranklab
