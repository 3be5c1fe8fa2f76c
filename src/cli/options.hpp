// The flags that every experiment command has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace ranklab {

struct CommonOptions {
  std::string study;          // one study of the command
  std::string preset;         // a file of experiments/, without .json; empty: none
  std::string config;         // a preset file or an earlier result; empty: none
  std::string out;            // path of the result; "-": standard output; empty: the default path
  std::uint64_t seed = 1;     // master seed
  std::uint64_t trials = 1;   // independent repetitions
  std::uint64_t threads = 1;  // for trials, and for parts of trials
  std::uint64_t blas_threads = 1;
  std::string progress = "auto";
  bool quiet = false;
  bool dry_run = false;
  bool strict = false;
  bool expect = false;
  bool resume = false;
  bool reuse_trials = false;  // those of another build, and keep them for the next one
  bool force = false;
  std::string shard;               // "i/N"; empty: the whole run
  std::vector<std::string> claim;  // statements of one's own (own/formula.hpp)
  bool keep_trials = false;        // store the curves of single trials
  std::string claims = "brief";    // which claims the terminal shows: brief or all
};

/// The flags' declarations, bound to `options`. The values of config_fields() are stored in the
/// result's config; those of session_fields() do not change a result.
std::vector<Field> config_fields(CommonOptions& options, const std::vector<std::string>& studies);
std::vector<Field> session_fields(CommonOptions& options);

}  // namespace ranklab
