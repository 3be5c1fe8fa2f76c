// The study files inside: the pairs that the flags name, what the files' headers say of them, what a trial measures, and the way
// from that to the result.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/one_step_compare/files/config.hpp"
#include "io/tensors/tensor_file.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::files {

// What the flags say, before a tensor is looked at (pairs.cpp) ------------------------------------------------------------------

/// When a pair was recorded; -1: not said.
struct Moment {
  std::int64_t step = -1, batch = -1;

  auto operator<=>(const Moment&) const = default;
};

struct Source {
  std::string name;                  // printable
  std::string activation;            // address as open_tensor takes it; empty: none
  std::string gradient;              // likewise; one of the two is given
  bool transposed = false;           // the activation is n x k: its rows are samples
  bool gradient_transposed = false;  // the gradient is k x m

  // A recording holds, in place of the activation A, A A' (k x k) or its diagonal, and the number of samples.
  std::string second_moment = "";
  std::uint64_t samples = 0;
  std::uint64_t parts = 0, first_part = 1;  // the gradient's rows are so many blocks NAME.<first_part>, ...; 0: not cut
  std::string role = "";                    // the recording's word: hidden, first, head, embedding, tied
  bool is_weight = false;                   // of --weights-only, in place of the gradient
  bool may_repeat = false;                  // samples that are one and the same are meant so
  Moment moment = {};

  bool has_activation() const { return !activation.empty() || !second_moment.empty(); }
  bool has_gradient() const { return !gradient.empty(); }
};

/// A layer that is not measured; it may be so at one moment alone.
struct LeftOut : Skipped {
  Moment moment = {};
};

inline constexpr std::uint64_t most_samples = 1'000'000'000'000;

struct Sources {
  std::vector<Source> pairs;     // in the order of --pair, the manifests, the archives, the recordings
  std::vector<LeftOut> skipped;  // keys of one archive that the other does not have, what a recording could not see
  std::vector<Skipped> vectors;  // parameters that are no matrix
  std::map<std::string, std::string> parameters;  // of the layers, where they are called otherwise
};

/// `NAME,ACTIVATION_FILE,GRADIENT_FILE` of --pair. Throws UsageError that names the flag.
Source parse_pair(const FilesConfig& config, const std::string& text);

/// A layer's name for its parameter's: without `.weight`.
std::string layer_name(const std::string& parameter);

/// The pairs of a manifest (manifest.cpp): {"step", "batch", "pairs": [{"name", "activation" or "second_moment" with "samples",
/// "gradient", "transpose_activations", "transpose_gradients"}]}. Of the two tensors one may be missing, paths are relative to the
/// manifest, and the flags hold for pairs that do not say. Throws Failure that names the file, the pair and what is wrong.
std::vector<Source> read_manifest(const FilesConfig& config, const std::string& path);

/// The layers of --from (recording.cpp): a folder that experiments/ranklab_dump.py wrote, or a folder of such folders, step<N> or
/// step<N>.batch<B>. Matrices that it could not see, or doubts, go to `others.skipped`. Throws Failure that names the folder or
/// file and what is wrong.
std::vector<Source> read_recordings(const std::string& folder, Sources& others);

/// Elements of a flag that may stand several times and may hold commas.
std::vector<std::string> comma_separated(const std::vector<std::string>& texts);

/// All pairs that --include and --exclude leave. Throws Failure for a manifest or an archive that cannot be read, UsageError for a
/// name that stands twice and for a glob that matches no name.
Sources list_sources(const FilesConfig& config);

// What will be measured: shapes from the headers (plan.cpp), matrices cut into blocks (cuts.cpp) ----------------------------------

/// Rows of a pair's gradient, a row of the table: m / run runs of `run` rows, the first from `first_row`, each `stride` after the
/// one before.
struct Layer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;  // m = 0: no gradient
  std::uint64_t run = m, stride = m;
};

/// `NAME=3`, `NAME=32+8+8` or, where the parts are interleaved in 16 groups, `NAME=3@16`, of --split; NAME may be a glob.
struct Split {
  std::string text, glob;
  std::vector<std::uint64_t> shares;
  std::uint64_t groups = 1;
};

inline constexpr std::uint64_t most_parts = 1'000'000;

/// Throws UsageError that names the flag. Columns are not interleaved.
std::vector<Split> splits_of(const FilesConfig& config);
std::vector<Split> column_splits_of(const FilesConfig& config);

/// How a pair is cut: its columns, with the rows of the activation; its rows into parts; and each of these, or the whole, into
/// heads.
struct Cut {
  Split columns, rows;      // without shares: not so
  std::uint64_t heads = 0;  // 0: not so
  std::uint64_t first_part = 1;
};

/// Of each pair, in their order. Throws UsageError for a name that no pair has, and for a pair that cannot be cut.
std::vector<Cut> cuts_of(const FilesConfig& config, const std::vector<Source>& pairs);

struct ColumnPart {
  std::string name;
  std::uint64_t first = 0, count = 0;
};

/// Throw UsageError that names the flags where the blocks are not of equal, whole size.
std::vector<ColumnPart> cut_columns(const std::string& name, std::uint64_t columns, const Cut& cut);
std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut);

/// A matrix of a source, or the part of it that has a layer's name for itself.
struct Pair : Source {
  std::uint64_t k = 0, n = 0;       // n = 0: no activation
  std::uint64_t expert = 0;         // which matrix of a stack, from 1; 0: no stack
  std::uint64_t first_feature = 0;  // the k features are these, of more
  bool diagonal = false;            // its second moment is
  std::string dtypes;               // "F32", or "BF16, F32" where activation and gradient differ
  std::vector<Layer> layers;
};

/// Files and tensors that were opened last: the layers of an archive, the matrices of a stack and the blocks of one follow each
/// other; a long header is read, and a compressed member inflated, once.
class OpenTensors {
 public:
  /// As open_tensor.
  const StoredTensor& at(const std::string& address);

 private:
  static constexpr std::size_t most = 4;  // of each
  std::map<std::string, TensorFile> files_;
  std::map<std::string, StoredTensor> tensors_;
};

/// The pair's tensors as matrices: one of a stack (E, m, k) or (E, k, n); a convolution's (out, in, ...) flattened to its rows; an
/// activation (..., k) of samples flattened to n x k. All of their features. Throw Failure as open_tensor and StoredTensor::at do.
StoredTensor open_gradient(const Pair& pair, OpenTensors& open);
StoredTensor open_activation(const Pair& pair, OpenTensors& open);
/// k x k, or its diagonal.
StoredTensor open_second_moment(const Pair& pair, OpenTensors& open);

struct Plan {
  std::shared_ptr<OpenTensors> open = std::make_shared<OpenTensors>();  // from the headers to the trial
  std::vector<Pair> pairs;
  std::vector<LeftOut> skipped;
  std::vector<Skipped> vectors;
  std::map<std::string, std::string> parameters;  // of layers and their parts, where they are called otherwise
  std::vector<std::string> flattened;             // gradients of three dimensions without an activation that could say how

  const std::string& parameter_of(const std::string& layer) const;
};

/// Opens every file once. Sizes that do not fit leave a pair out, naming both. Throws Failure for what cannot be read and where no
/// layer is left (saying why); UsageError as cuts_of, cut_rows and list_sources do.
Plan plan_of(const FilesConfig& config);

/// Of the largest layer, as only one is in memory; flops of all.
Estimate estimate_of(const Plan& plan);

/// "no layer is left to measure: NAME: reason; ..."
std::string nothing_left(const std::vector<Skipped>& skipped);

/// A layer once, with its first reason and, where there are several, the number of recordings that leave it out.
std::vector<Skipped> once_each(const std::vector<LeftOut>& skipped, std::size_t recordings);

}  // namespace ranklab::files
