// The study files inside: the pairs that the flags name, what the files' headers say of them, what a trial measures, and the way
// from that to the result.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "core/statistics.hpp"
#include "experiments/one_step_compare/files/config.hpp"
#include "report/claims.hpp"
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
  std::string parameter = "", role = "";    // the recording's words: hidden, first, head, embedding, tied
  bool is_weight = false;                   // of --weights-only, in place of the gradient
  Moment moment = {};

  bool has_activation() const { return !activation.empty() || !second_moment.empty(); }
  bool has_gradient() const { return !gradient.empty(); }
};

struct Sources {
  std::vector<Source> pairs;     // in the order of --pair, the manifest, the archives, the recordings
  std::vector<Skipped> skipped;  // keys of one archive that the other does not have, and what a recording could not see
  std::vector<Skipped> vectors;  // parameters that are no matrix
};

inline constexpr std::uint64_t most_parts = 1'000'000;

/// `NAME,ACTIVATION_FILE,GRADIENT_FILE` of --pair. Throws UsageError that names the flag.
Source parse_pair(const FilesConfig& config, const std::string& text);

/// The pairs of --manifest: {"pairs": [{"name", "activation", "gradient", "transpose_activations", "transpose_gradients"}]}. Of the
/// two tensors one may be missing, paths are relative to the manifest, and the flags hold for pairs that do not say. Throws Failure
/// that names the file, the pair and what is wrong.
std::vector<Source> read_manifest(const FilesConfig& config);

/// The layers of --from: a folder that experiments/ranklab_dump.py wrote, or a folder of such folders, step<N> or step<N>.batch<B>.
/// Matrices that it could not see, or doubts, go to `others.skipped`. Throws Failure that names the folder or file and what is
/// wrong.
std::vector<Source> read_recordings(const std::string& folder, Sources& others);

/// `NAME=3` or `NAME=32+8+8` of --split: the gradient's rows in parts of these proportions. NAME may be a glob.
struct Split {
  std::string text, glob;
  std::vector<std::uint64_t> shares;
};

/// Throws UsageError that names the flag.
std::vector<Split> splits_of(const FilesConfig& config);

/// A glob as of a shell.
bool matches_glob(const std::string& glob, const std::string& name);

/// `GLOB: ratio<X` of --fail-if.
struct Gate {
  std::string text, glob;
  bool below = true;  // fails where the ratio is
  double limit = 0;

  bool fails(double ratio) const { return below ? ratio < limit : ratio > limit; }
};

/// Throws UsageError that names the flag.
std::vector<Gate> gates_of(const FilesConfig& config);

/// All pairs that --include and --exclude leave. Throws Failure for a manifest or an archive that cannot be read, UsageError for a
/// name that stands twice and for a glob that matches no name.
Sources list_sources(const FilesConfig& config);

// What will be measured: shapes from the headers, gradients cut into blocks (plan.cpp) -------------------------------------------

/// Rows first_row ... first_row + m - 1 of a pair's gradient; a row of the table.
struct Layer {
  std::string name;
  std::uint64_t first_row = 0, m = 0;  // m = 0: no gradient
};

struct Pair : Source {
  std::uint64_t k = 0, n = 0;  // n = 0: no activation
  bool diagonal = false;       // its second moment is
  std::string dtypes;          // "F32", or "BF16, F32" where activation and gradient differ
  std::vector<Layer> layers;
};

struct Plan {
  std::vector<Pair> pairs;
  std::vector<Skipped> skipped, vectors;
};

/// Opens every file once. Sizes that do not fit leave a pair out, naming both. Throws Failure for what cannot be read and where no
/// layer is left (saying why); UsageError for --split of an unknown name or into parts that do not divide the rows, and as
/// list_sources.
Plan plan_of(const FilesConfig& config);

/// Of the largest layer, as only one is in memory; flops of all.
Estimate estimate_of(const Plan& plan);

/// "no layer is left to measure: NAME: reason; ..."
std::string nothing_left(const std::vector<Skipped>& skipped);

// What a trial measures (measure.cpp) --------------------------------------------------------------------------------------------

/// Entries that are infinite or NaN, and where the first in row-major order stands (counted from 0, as numpy counts).
struct NonFinite {
  double count = 0;
  double row = std::numeric_limits<double>::infinity(), column = row;

  void include(const NonFinite& other);
};

/// Of an activation or of a layer's gradient; NaN of a zero matrix and where an entry is not finite.
struct Ranks {
  double stable_rank = std::numeric_limits<double>::quiet_NaN();
  double nuclear_rank = std::numeric_limits<double>::quiet_NaN();  // of gradients alone
  NonFinite non_finite;                                            // its row counts from the gradient's first, not the layer's
};

/// Of a weight.
struct Spectrum {
  double effective_rank;            // exp of the entropy of s / sum of s
  double condition;                 // largest over smallest singular value; infinite of a singular matrix
  std::array<double, 3> quantiles;  // singular values below which a quarter, a half, three quarters lie, over the largest
};

/// Whether an activation and a gradient can belong together.
struct Checks {
  double alike = 0;                                           // samples that are one and the same: the largest group
  double outside = std::numeric_limits<double>::quiet_NaN();  // share of the gradient outside the samples' span; NaN: not looked at
};

/// Layers one after another; where an activation cannot be used, its gradients are not looked at.
TrialRecord run_trial(const Plan& plan, const Trial& trial);

/// From a trial's record; `pair` and `layer` are indices. Throws Failure where the record is of other files.
Ranks activation_ranks(const TrialRecord& record, std::size_t pair);
Checks checks_of(const TrialRecord& record, std::size_t pair);
Spectrum spectrum_of(const TrialRecord& record, std::size_t pair, std::size_t layer);
Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer);

// What the ratios nr(G) / st(A) of a layer say about a spectral step (advice.cpp), and the result (report.cpp)
// ---------------------------------

/// Where the ratio lies. From one full-gradient step, with L_F and L_op of [Spectral] eq. (1.4), the least-squares loss keeps to
///   L - ||G||_F^2 / L_F  <= L(W_GD) <= L - ||G||_F^2 / (2 L_F)  and  L - ||G||_*^2 / L_op <= L(W_SD) <= L - ||G||_*^2 / (2 L_op).
/// As (||G||_*^2 / L_op) / (||G||_F^2 / L_F) = nr(G) / st(A), the intervals are apart from a ratio of 2 on, and (the mirrored
/// comparison, which the paper does not print) up to a ratio of 1/2; in between only the guarantees can be compared.
enum class Advantage { spectral, spectral_by_guarantee, euclidean_by_guarantee, euclidean };

/// Both ranks are good to about 1e-12; a ratio within this of 1/2, 1 or 2 counts as equal to it.
inline constexpr double ratio_rounding = 1e-10;
Advantage advantage_of(double ratio);

struct Words {
  std::string verdict;     // of (1.8), in the table
  std::string advice;      // one line for the user: "Muon: ...", "either: ...", "keep Adam/SGD: ..."
  std::string comparison;  // what is sure is so for least squares
};
const Words& words_for(Advantage advantage);

/// Which step is sure to be ahead; nothing between 1/2 and 2.
enum class Settled { spectral, nothing, euclidean };

Settled settled_by(double ratio);
/// Of a mean over batches by its 99 % interval: nothing where that does not lie on one side; of one batch by its ratio.
Settled settled_by(const Summary& ratio);

struct Advice {
  Settled settled = Settled::nothing;
  std::string ratio, verdict, text;  // of the table: nr/st, (1.8), the advice
  std::string comparison;            // of the claim
};

/// From a layer's ratios at each step, over the batches there; at least one. Over several steps it is settled where four fifths of
/// them agree. The role of a layer that the paper keeps on Euclidean steps is added to the text.
Advice advice_of(const std::map<std::int64_t, Summary>& ratios, const std::string& role);

/// Every layer that has all its ranks, and whose checks do not speak against it, is reported; the others are listed with the
/// reason. Its claim, <layer>/eq-1.8, is the printed inequality: it holds from a ratio of 1 on; the advice is Muon only from 2 on.
/// Throws Failure where no layer is left.
Result report(const Plan& plan, const std::vector<Gate>& gates, const Records& records);

/// The parameters' names by their advice, as JSON. A parameter with parts that differ is "either".
std::string groups_text(const Plan& plan, const Records& records);

}  // namespace ranklab::files
