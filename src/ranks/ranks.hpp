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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/study.hpp"
#include "io/tensors/tensor_file.hpp"
#include "ranks/pooling.hpp"
#include "run/trials.hpp"

namespace ranklab {

struct RanksConfig {
  std::string activations = {}, gradients = {};  // two archives, paired by key
  std::vector<std::string> from = {};            // recordings, or folders of recordings
  // Globs of pair names, comma-separated; an empty list includes all pairs
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};
  std::vector<std::string> split = {};    // NAME=PARTS, comma-separated
  std::vector<std::string> fail_if = {};  // GLOB: ratio<X
  std::string weights_only = {};          // archive, index or folder of weights; only their spectra
  std::uint64_t heads = 1;  // per part of each split layer; of every layer if no layer is split
};

std::unique_ptr<Study> make_ranks_study();

/// The command `ranks`: one study, whose numbers are about the given files and not about a model of
/// ours. It has no presets, so `list` does not show it.
const Experiment& ranks_experiment();

/// The flags that paths stand for, by what the files contain: recordings, or one archive of
/// weights. Throws Failure for a path that cannot be read, UsageError for paths that do not go
/// together, such as two checkpoints.
std::vector<std::pair<std::string, std::string>> flags_of_paths(
    const std::vector<std::string>& paths);

}  // namespace ranklab

// Internals of the study -------------------------------------------------------------------------

namespace ranklab::ranks {

// What the flags say (selection.cpp, recordings.cpp, weights.cpp) -------------------------------

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

/// An activation and its gradient, or a weight alone.
struct ListedPair {
  std::string name;               // printable
  std::string activation = {};    // address for open_tensor; empty: none
  std::string gradient = {};      // likewise, of the gradient or of the weight; never empty
  bool samples_are_rows = false;  // the activation is n x k

  // A A' (k x k), or its diagonal, and the number of samples instead of the activation A
  std::string second_moment = {};
  std::uint64_t samples = 0;
  // number of equal blocks of the gradient's rows, NAME.1, NAME.2, ...; 0: not cut
  std::uint64_t blocks = 0;
  std::string role = {};    // as recorded: hidden, first, head, embedding, tied
  double loss_scale = 1.0;  // factor of the gradient over that of the loss
  Dequantization quantized = {};
  When when = {};

  bool has_moment() const { return !second_moment.empty(); }
  bool is_weight() const { return activation.empty() && second_moment.empty(); }
};

/// A layer that is not measured, perhaps at this step and batch only.
struct LeftOut : Skipped {
  When when = {};
};

inline constexpr std::uint64_t most_samples = 1'000'000'000'000;

struct Listing {
  std::vector<ListedPair> pairs;  // in the order of archives, recordings
  std::vector<LeftOut> skipped;
};

/// The layer's name: the parameter's name without `.weight`.
std::string layer_name(const std::string& parameter);

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
Listing list_pairs(const RanksConfig& config);

/// The comma-separated elements of a flag that may be repeated.
std::vector<std::string> comma_separated(const std::vector<std::string>& texts);

// What will be measured ---------------------------------------------------------------------------
//
// Shapes come from the headers (plan.cpp), matrices are cut into blocks (cuts.cpp).

/// Rows of a pair's gradient that form one row of the table: m / chunk chunks of `chunk` rows each.
/// The first one starts at `first_row`; each next one starts `stride` rows later.
struct Layer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;
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

/// Throws UsageError that names the flag.
std::vector<Split> splits_of(const RanksConfig& config);

/// How the rows of a pair's gradient are cut: into parts, then each part, or the whole, into heads.
struct Cut {
  Split rows;               // no shares: not cut
  std::uint64_t heads = 0;  // 0: not cut
};

/// The cuts of each pair, in the order of the pairs. Throws UsageError for a name that no pair has,
/// and for a pair that cannot be cut.
std::vector<Cut> cuts_of(const RanksConfig& config, const std::vector<ListedPair>& pairs);

/// Throws UsageError that names the flags if the size is not a multiple of the number of blocks.
std::vector<Layer> cut_rows(const std::string& name, std::uint64_t rows, const Cut& cut);

/// A listed pair with its sizes.
struct Pair : ListedPair {
  std::uint64_t k = 0, n = 0;  // n = 0: a weight
  bool diagonal = false;       // the second moment is diagonal
  std::string dtypes;          // "F32", or "BF16, F32" if activation and gradient differ
  std::vector<Layer> layers;

  std::uint64_t m() const;  // of all layers
};

/// A cache of recently opened files and tensors. The layers of an archive and the blocks of a
/// matrix follow each other; the cache reads a long header, and inflates a compressed member, only
/// once.
class OpenTensors {
 public:
  /// Opens as open_tensor does.
  const StoredTensor& at(const std::string& address);

 private:
  static constexpr std::size_t most = 4;  // of each
  std::map<std::string, TensorFile> files_;
  std::map<std::string, StoredTensor> tensors_;
};

/// The pair's gradient or weight as a matrix; a convolution (out, in, ...) is flattened to `out`
/// rows. Throws Failure as open_tensor does.
StoredTensor open_gradient(const Pair& pair, OpenTensors& open);

struct Plan {
  // Shared by planning and the trial
  std::shared_ptr<OpenTensors> open = std::make_shared<OpenTensors>();
  std::vector<Pair> pairs;
  std::vector<LeftOut> skipped;
  std::vector<std::string> flattened;  // weights of three dimensions, which may be stacks
};

/// Opens every file once. A pair whose sizes do not fit is left out, with a reason that gives both.
/// Throws Failure for a file that cannot be read, and if no layer is left (with the reasons);
/// UsageError as cuts_of, cut_rows and list_pairs do.
Plan plan_of(const RanksConfig& config);

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

/// A layer at one step, with its batches; at least one.
struct Row {
  std::vector<Observation> all;
  double joined = undefined;  // nr/st of all batches joined, if there are several
  PooledRatio ratio = {};     // of judged layers

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  std::int64_t step() const { return pair().when.step; }
  bool is_judged() const { return !pair().is_weight(); }

  /// Summary over the batches.
  template <class Value>
  Summary over_batches(const Value& value) const {
    std::vector<double> values;
    for (const Observation& one : all) values.push_back(value(one));
    return summarize(values);
  }
  /// log nr/st of the joined batches, or the mean over batches that were not joined; and of each.
  LogRatios log_ratios() const;
};

// Values of an observation, for over_batches().
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

/// The rows of one layer, in the order of their steps.
struct LayerRows {
  std::span<const Row> steps;

  const Row& first() const { return steps.front(); }
  const std::string& name() const { return first().name(); }
  bool has_steps() const { return steps.size() > 1; }
  /// The row on which (1.8) at every step depends: of those for which it does not hold, else of the
  /// undecided ones, else of all, that with the smallest ratio.
  const Row& deciding() const;
  /// Mean over all steps and batches.
  template <class Value>
  double mean(const Value& value) const {
    std::vector<double> values;
    for (const Row& row : steps) {
      for (const Observation& one : row.all) values.push_back(value(one));
    }
    return summarize(values).mean;
  }
};
/// The layers of rows that rows_of() or planned_rows() made.
std::vector<LayerRows> layers_of(const std::vector<Row>& rows);

struct Rows {
  // Layers that have all their ranks, and pass the checks, at this step
  std::vector<Row> rows;
  // The other layers, and those that are left out of some recordings
  std::vector<Skipped> skipped;
};
/// The rows of a layer follow each other, in the order of their steps.
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
std::vector<Gate> gates_of(const RanksConfig& config);

/// Throws UsageError for a gate that matches no layer.
void require_layers(const std::vector<Gate>& gates, const Plan& plan);

/// One line for each layer and step that fails a gate. A layer that is not judged fails every gate
/// that matches it.
std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const Rows& rows);

/// The plan is of --weights-only.
bool is_of_weights(const Plan& plan);

// report.cpp; the claim <layer>/eq-1.8 of each layer is the printed inequality nr(G) >= st(A), at
// every step.
void derive(const Plan& plan, Numbers& out);
void judge(const Plan& plan, const Records& records, Claims& claims);
void show(const Plan& plan, const std::vector<Gate>& gates, Display& out);

// What the result has of every layer, and as series over the layers.
inline constexpr Measure
    stable_rank_A = {"stable_rank", "st(A)", "stable rank of the activation"},
    nuclear_rank_G = {"nuclear_rank", "nr(G)", "nuclear rank of the gradient"},
    predicted_ratio = {"predicted_ratio", "nr(G) / st(A)",
                       "nuclear rank of the gradient over the stable rank of the activation"},
    joined_ratio_of_step = {"ratio", "nr(G) / st(A)",
                            "the ratio, of all batches of the step joined"},
    ratio_low = {"ratio_low", "", "lower end of the 99 % interval of the ratio"},
    ratio_high = {"ratio_high", "", "upper end of the 99 % interval of the ratio"};

/// Adds the series of the layers; draws them (figure.cpp).
void derive_layers(const std::vector<LayerRows>& layers, Numbers& out);
void draw(const std::vector<LayerRows>& layers, Display& out);
/// An axis of layers; its tick labels omit the common prefix of the names.
Axis names_axis(const std::vector<LayerRows>& layers);

}  // namespace ranklab::ranks
