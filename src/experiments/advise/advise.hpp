// Internals of the study files: the pairs that the flags name, the plan from the files' headers,
// the measurements of a trial, and the result.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/undefined.hpp"
#include "experiments/advise/config.hpp"
#include "io/tensors/tensor_file.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::advise {

// What the flags say, before any tensor is opened (pairs.cpp) -------------------------------------

/// When a pair was recorded; -1: unknown.
struct When {
  std::int64_t step = -1, batch = -1;

  auto operator<=>(const When&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

/// How a file holds a second moment X X' of samples X (k x n).
enum class MomentStorage {
  matrix,    // k x k, or its diagonal
  triangle,  // the packed lower triangle, row by row
  samples,   // X', n x k
};

struct Source {
  std::string name;                  // printable
  std::string activation;            // address for open_tensor; empty: none
  std::string gradient;              // likewise; at least one of activation and gradient is given
  bool transposed = false;           // the activation is n x k: its rows are samples
  bool gradient_transposed = false;  // the gradient is k x m

  // A recording holds A A' (k x k), or its diagonal, and the number of samples instead of the
  // activation A.
  std::string second_moment = {};
  std::uint64_t samples = 0;
  MomentStorage moment_storage = MomentStorage::matrix;
  std::uint64_t drawn = 0;  // so many of the samples, drawn at random, stand for all; 0: all
  // E E' (m x m) of the gradients in the layer's outputs, or empty
  std::string error_moment = {};
  MomentStorage error_storage = MomentStorage::matrix;
  // The gradient's rows are `parts` equal blocks NAME.<first_part>, ...; 0: not cut
  std::uint64_t parts = 0, first_part = 1;
  std::string role = {};    // as recorded: hidden, first, head, embedding, tied
  bool is_weight = false;   // `gradient` is a weight of --weights-only
  bool may_repeat = false;  // repeated samples are not padding
  When when = {};
  // A recording of data-parallel training: this is the share of one of `ranks` processes. The
  // shares of a step and batch are batches of their own (batch = batch * ranks + rank), and their
  // joined gradient is the one that the optimizer sees, with this norm.
  std::int64_t ranks = 1;
  double gradient_norm = undefined;

  bool has_activation() const { return !activation.empty() || !second_moment.empty(); }
  bool has_gradient() const { return !gradient.empty(); }
};

/// A layer that is not measured, perhaps at this step and batch only.
struct LeftOut : Skipped {
  When when = {};
};

inline constexpr std::uint64_t most_samples = 1'000'000'000'000;

struct Sources {
  // In the order of --pair, the manifests, the archives, the recordings
  std::vector<Source> pairs;
  // Keys that only one of the two archives has, and what a recording could not observe
  std::vector<LeftOut> skipped;
  std::vector<Skipped> vectors;                   // parameters that are not matrices
  std::map<std::string, std::string> parameters;  // layer name -> parameter name
};

/// Parses `NAME,ACTIVATION_FILE,GRADIENT_FILE` of --pair. Throws UsageError that names the flag.
Source parse_pair(const FilesConfig& config, const std::string& text);

/// The layer's name: the parameter's name without `.weight`.
std::string layer_name(const std::string& parameter);

/// The pairs of a manifest (manifest.cpp):
///   {"step", "batch", "pairs": [{"name", "activation" or "second_moment" with "samples",
///     "gradient", "transpose_activations", "transpose_gradients"}]}
/// One of the two tensors may be missing. Paths are relative to the manifest. The flags apply to
/// pairs without a "transpose_..." key of their own. Throws Failure that names the file, the pair
/// and what is wrong.
std::vector<Source> read_manifest(const FilesConfig& config, const std::string& path);

/// The layers of --from (recording.cpp): a folder that experiments/ranklab_dump.py wrote, or a
/// folder of such folders, step<N> or step<N>.batch<B>, each for data-parallel training with the
/// ending .rank<r>of<R>, where all ranks must be there. Matrices that it could not observe, or
/// whose gradient it could not explain, go to `others.skipped`. Throws Failure that names the
/// folder or file and what is wrong.
std::vector<Source> read_recordings(const std::string& folder, Sources& others);

/// The comma-separated elements of a flag that may be repeated.
std::vector<std::string> comma_separated(const std::vector<std::string>& texts);

/// All pairs that --include and --exclude select. Throws Failure for a manifest or an archive that
/// cannot be read, UsageError for a repeated name and for a glob that matches no name.
Sources list_sources(const FilesConfig& config);

// What will be measured ---------------------------------------------------------------------------
//
// Shapes come from the headers (plan.cpp), matrices are cut into blocks (cuts.cpp).

/// Rows of a pair's gradient that form one row of the table: m / run runs of `run` rows each. The
/// first run starts at `first_row`; each next one starts `stride` rows later.
struct Layer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;  // m = 0: no gradient
  std::uint64_t run = m, stride = m;
};

/// An element of --split: `NAME=3`, `NAME=32+8+8`, or `NAME=3@16` for parts that are interleaved in
/// 16 groups. NAME may be a glob.
struct Split {
  std::string text, glob;
  std::vector<std::uint64_t> shares;
  std::uint64_t groups = 1;
};

inline constexpr std::uint64_t most_parts = 1'000'000;

/// Throw UsageError that names the flag. Columns cannot be interleaved.
std::vector<Split> splits_of(const FilesConfig& config);
std::vector<Split> column_splits_of(const FilesConfig& config);

/// How a pair is cut: first its columns (with the rows of the activation), then its rows into
/// parts, then each part, or the whole, into heads.
struct Cut {
  Split columns, rows;      // no shares: not cut
  std::uint64_t heads = 0;  // 0: not cut
  std::uint64_t first_part = 1;
};

/// The cuts of each pair, in the order of the pairs. Throws UsageError for a name that no pair has,
/// and for a pair that cannot be cut.
std::vector<Cut> cuts_of(const FilesConfig& config, const std::vector<Source>& pairs);

struct ColumnPart {
  std::string name;
  std::uint64_t first = 0, count = 0;
};

/// Throw UsageError that names the flags if the size is not a multiple of the number of blocks.
std::vector<ColumnPart> cut_columns(const std::string& name, std::uint64_t columns, const Cut& cut);
std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut);

/// One matrix of a source: the whole source, one matrix of a stack, or one part of its columns.
struct Pair : Source {
  std::uint64_t k = 0, n = 0;       // n = 0: no activation
  std::uint64_t expert = 0;         // which matrix of a stack, from 1; 0: not a stack
  std::uint64_t first_feature = 0;  // the k features start here
  bool diagonal = false;            // the second moment is diagonal
  std::string dtypes;               // "F32", or "BF16, F32" if activation and gradient differ
  std::vector<Layer> layers;
};

/// A cache of recently opened files and tensors. The layers of an archive, the matrices of a stack
/// and the blocks of a matrix follow each other; the cache reads a long header, and inflates a
/// compressed member, only once.
class OpenTensors {
 public:
  /// Opens as open_tensor does.
  const StoredTensor& at(const std::string& address);

 private:
  static constexpr std::size_t most = 4;  // of each
  std::map<std::string, TensorFile> files_;
  std::map<std::string, StoredTensor> tensors_;
};

/// The pair's tensors as matrices: one matrix of a stack (E, m, k) or (E, k, n); a convolution
/// (out, in, ...) flattened to `out` rows; an activation (..., k) flattened to n x k. They hold all
/// features. Throw Failure as open_tensor and StoredTensor::at do.
StoredTensor open_gradient(const Pair& pair, OpenTensors& open);
StoredTensor open_activation(const Pair& pair, OpenTensors& open);
/// As Pair::moment_storage says.
StoredTensor open_second_moment(const Pair& pair, OpenTensors& open);

struct Plan {
  // Shared by planning and the trial
  std::shared_ptr<OpenTensors> open = std::make_shared<OpenTensors>();
  std::vector<Pair> pairs;
  std::vector<LeftOut> skipped;
  std::vector<Skipped> vectors;
  std::map<std::string, std::string> parameters;  // name of a layer or its part -> parameter name
  // 3-D gradients that are read as matrices because no activation shows that they are stacks
  std::vector<std::string> flattened;
  bool validates = false;  // predictions from each batch are checked on another one

  const std::string& parameter_of(const std::string& layer) const;
};

/// Returns k if length = k (k + 1) / 2, the length of the packed triangle of a k x k matrix;
/// otherwise 0.
std::uint64_t packed_side(std::uint64_t length);

/// Opens every file once. A pair whose sizes do not fit is left out, with a reason that gives both.
/// Throws Failure for a file that cannot be read, and if no layer is left (with the reasons);
/// UsageError as cuts_of, cut_rows and list_sources do.
Plan plan_of(const FilesConfig& config);

/// Memory of the largest layer, since each thread measures one layer at a time.
Estimate estimate_of(const Plan& plan);
/// Floating-point operations that measure one pair.
double flops_of(const Pair& pair);

/// "no layer is left to measure: NAME: reason; ..."
std::string no_layer_left_message(const std::vector<Skipped>& skipped);

/// Each layer once, with its first reason. If the layer has other reasons too, or is left out of
/// some recordings only, the reason ends with the number of recordings that leave it out.
std::vector<Skipped> unique_reasons(const std::vector<LeftOut>& skipped, std::size_t recordings);

}  // namespace ranklab::advise
