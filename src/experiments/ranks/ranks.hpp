// `ranklab ranks`: the paper's two numbers for matrices in files, st of activations and nr of
// gradients, and its criterion ([Spectral] Sections 1.2 and 1.2.1, eq. (1.8)); the ranks of
// weights.
//
// Layers are measured one after another, so a file of 10 GB does not need 10 GB of memory. One
// trial measures all layers. Nothing is drawn: --seed changes nothing, and further trials repeat
// the first.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/ranks/pooling.hpp"
#include "experiments/study.hpp"
#include "io/tensors/tensor_file.hpp"
#include "run/trials.hpp"

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

/// What `ranks` runs. Its results name the command one-step-compare and the study files, as those
/// of earlier versions do; that command does not have the study.
const Experiment& ranks_experiment();

/// The flags that paths stand for, by what the files contain. Throws Failure for a path that cannot
/// be read, UsageError for paths that do not go together.
std::vector<std::pair<std::string, std::string>> flags_of_paths(
    const std::vector<std::string>& paths);

}  // namespace ranklab

// Internals of the study -------------------------------------------------------------------------

namespace ranklab::ranks {

// What the flags say (selection.cpp, manifest.cpp, recordings.cpp, weights.cpp) ------------------

/// When a pair was recorded; -1: unknown.
struct When {
  std::int64_t step = -1, batch = -1;

  auto operator<=>(const When&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

/// The factors that turn stored integers or 8-bit floats into weights. Entry (i, j) of the weight
/// is the stored entry times factor * scale(i / rows, j / columns).
struct Dequantization {
  std::string scale = {};  // address; empty: the entries are the weights
  double factor = 1.0;
};

struct ListedPair {
  std::string name;                  // printable
  std::string activation;            // address for open_tensor; empty: none
  std::string gradient;              // likewise; at least one of activation and gradient is given
  bool transposed = false;           // the activation is n x k: its rows are samples
  bool gradient_transposed = false;  // the gradient is k x m

  // A A' (k x k), or its diagonal, and the number of samples instead of the activation A
  std::string second_moment = {};
  std::uint64_t samples = 0;
  // number of equal blocks of the gradient's rows, NAME.1, NAME.2, ...; 0: not cut
  std::uint64_t blocks = 0;
  std::string role = {};    // as recorded: hidden, first, head, embedding, tied
  double loss_scale = 1.0;  // factor of the gradient over that of the loss
  bool is_weight = false;   // `gradient` is a weight of --weights-only
  Dequantization quantized = {};
  bool may_repeat = false;  // repeated samples are not padding
  When when = {};

  bool has_activation() const { return !activation.empty() || !second_moment.empty(); }
  bool has_gradient() const { return !gradient.empty(); }
  bool is_judged() const { return has_activation() && has_gradient(); }
};

/// A layer that is not measured, perhaps at this step and batch only.
struct LeftOut : Skipped {
  When when = {};
};

inline constexpr std::uint64_t most_samples = 1'000'000'000'000;

struct Listing {
  std::vector<ListedPair> pairs;  // in the order of --pair, manifests, archives, recordings
  std::vector<LeftOut> skipped;
};

/// Parses `NAME,ACTIVATION_FILE,GRADIENT_FILE` of --pair. Throws UsageError that names the flag.
ListedPair parse_pair(const FilesConfig& config, const std::string& text);

/// The layer's name: the parameter's name without `.weight`.
std::string layer_name(const std::string& parameter);

/// Adds the pairs of a manifest (manifest.cpp):
///   {"step", "batch", "pairs": [{"name", "activation" or "second_moment" with "samples",
///     "gradient", "transpose_activations", "transpose_gradients"}]}
/// One of the two tensors may be missing. Paths are relative to the manifest. The flags apply to
/// pairs without a "transpose_..." key of their own. Throws Failure that names the file, the pair
/// and what is wrong.
void add_manifest(const FilesConfig& config, const std::string& path, Listing& out);

/// Whether the file is a recording: its metadata has "format": "ranklab.recording/...".
bool is_recording(const std::string& path);

/// Adds the layers of --from: files that ranklab.record() of the Python package wrote, and folders
/// of files step<N>.safetensors or step<N>.batch<B>.safetensors. What a recording does not judge
/// goes to `skipped` with its reason. Throws Failure that names the file and what is wrong.
void add_recordings(const std::vector<std::string>& paths, Listing& out);

/// Adds the matrices of --weights-only: an archive, an index of shards, or a folder of shards.
/// Every tensor that is no matrix of weights goes to `skipped` with its reason. Throws Failure as
/// WeightsFile does, and for a folder that lacks a shard.
void add_weights(const std::string& path, Listing& out);

/// All pairs that --include and --exclude select. Throws Failure for a file that cannot be read,
/// UsageError for a repeated name and for a glob that matches no name.
Listing list_pairs(const FilesConfig& config);

/// The comma-separated elements of a flag that may be repeated.
std::vector<std::string> comma_separated(const std::vector<std::string>& texts);

// What will be measured ---------------------------------------------------------------------------
//
// Shapes come from the headers (plan.cpp), matrices are cut into blocks (cuts.cpp).

/// Rows of a pair's gradient that form one row of the table: m / chunk chunks of `chunk` rows each.
/// The first one starts at `first_row`; each next one starts `stride` rows later.
struct Layer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;  // m = 0: no gradient
  std::uint64_t chunk = m, stride = m;
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
};

/// The cuts of each pair, in the order of the pairs. Throws UsageError for a name that no pair has,
/// and for a pair that cannot be cut.
std::vector<Cut> cuts_of(const FilesConfig& config, const std::vector<ListedPair>& pairs);

struct ColumnPart {
  std::string name;
  std::uint64_t first = 0, count = 0;
};

/// Throw UsageError that names the flags if the size is not a multiple of the number of blocks.
std::vector<ColumnPart> cut_columns(const std::string& name, std::uint64_t columns, const Cut& cut);
std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut);

/// One matrix of a listed pair: the whole, one matrix of a stack, or one part of its columns.
struct Pair : ListedPair {
  std::uint64_t k = 0, n = 0;       // n = 0: no activation
  std::uint64_t expert = 0;         // which matrix of a stack, from 1; 0: not a stack
  std::uint64_t first_feature = 0;  // the k features start here
  bool diagonal = false;            // the second moment is diagonal
  std::string dtypes;               // "F32", or "BF16, F32" if activation and gradient differ
  std::vector<Layer> layers;

  std::uint64_t m() const;  // of all layers
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
StoredTensor open_second_moment(const Pair& pair, OpenTensors& open);

struct Plan {
  // Shared by planning and the trial
  std::shared_ptr<OpenTensors> open = std::make_shared<OpenTensors>();
  std::vector<Pair> pairs;
  std::vector<LeftOut> skipped;
  // 3-D gradients that are read as matrices because no activation shows that they are stacks
  std::vector<std::string> flattened;
};

/// Opens every file once. A pair whose sizes do not fit is left out, with a reason that gives both.
/// Throws Failure for a file that cannot be read, and if no layer is left (with the reasons);
/// UsageError as cuts_of, cut_rows and list_pairs do.
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

/// Measures the layers one after another; if an activation cannot be used, its gradients are
/// skipped. Then joins the batches of each step (trial.cpp).
TrialRecord run_trial(const Plan& plan, const Trial& trial);

// The rows of the table (rows.cpp) ----------------------------------------------------------------

/// A layer at one step, on one batch; ranks of missing matrices are NaN.
struct Observation {
  const Pair& pair;
  const Layer& layer;
  std::size_t pair_index, layer_index;
  double stable_rank, nuclear_rank, gradient_stable_rank;

  double ratio() const { return nuclear_rank / stable_rank; }
};

/// A layer at all its steps and batches; at least one.
struct Row {
  std::vector<Observation> all;
  std::map<std::int64_t, double> joined;  // nr/st of all batches joined, for steps with several
  PooledRatio ratio = {};                 // of judged layers

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  bool is_judged() const { return pair().is_judged(); }
  bool has_steps() const;

  /// Summary over the batches of each step.
  template <class Value>
  std::map<std::int64_t, Summary> by_step(const Value& value) const {
    std::map<std::int64_t, std::vector<double>> values;
    for (const Observation& one : all) values[one.pair.when.step].push_back(value(one));
    std::map<std::int64_t, Summary> out;
    for (const auto& [step, at_step] : values) out[step] = summarize(at_step);
    return out;
  }
  /// Mean over all steps and batches.
  template <class Value>
  double mean(const Value& value) const {
    std::vector<double> values;
    for (const Observation& one : all) values.push_back(value(one));
    return summarize(values).mean;
  }
  /// log nr/st at each step: of the joined batches, or the mean over batches that were not joined.
  LogRatios log_ratios() const;
};

// Values of an observation, for by_step() and mean().
inline double stable_rank_of(const Observation& one) {
  return one.stable_rank;
}
inline double nuclear_rank_of(const Observation& one) {
  return one.nuclear_rank;
}
inline double gradient_stable_rank_of(const Observation& one) {
  return one.gradient_stable_rank;
}
inline double ratio_of(const Observation& one) {
  return one.ratio();
}

struct Rows {
  // Layers that have all their ranks, and pass the checks, in at least one recording
  std::vector<Row> rows;
  // The other layers, and those that are left out of some recordings
  std::vector<Skipped> skipped;
};
Rows rows_of(const Plan& plan, const TrialRecord& record);
/// The rows that the files allow, without their ranks: a layer or an observation may turn out to
/// have none.
std::vector<Row> planned_rows(const Plan& plan);

// The result --------------------------------------------------------------------------------------

/// `GLOB: ratio<X` of --fail-if (report.cpp).
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

/// The plan is of --weights-only.
bool is_of_weights(const Plan& plan);

// report.cpp; the claim <layer>/eq-1.8 of each layer is the printed inequality nr(G) >= st(A).
void derive(const Plan& plan, Numbers& out);
void judge(const Plan& plan, const Records& records, Claims& claims);
void show(const Plan& plan, const std::vector<Gate>& gates, Display& out);

// What the result has of every layer, and as series over the layers.
inline constexpr Measure stable_rank_A = {"stable_rank", "st(A)", "stable rank of the activation"},
                         nuclear_rank_G = {"nuclear_rank", "nr(G)", "nuclear rank of the gradient"},
                         predicted_ratio = {
                             "predicted_ratio", "nr(G) / st(A)",
                             "nuclear rank of the gradient over the stable rank of the activation"};

/// Adds the series of the layers; draws them (figure.cpp).
void derive_layers(const std::vector<Row>& rows, Numbers& out);
void draw(const std::vector<Row>& rows, Display& out);
/// An axis of layers; its tick labels omit the common prefix of the names.
Axis names_axis(const std::vector<Row>& rows);

}  // namespace ranklab::ranks
