// What the ratios nr(G) / st(A) of a layer say about a spectral step (advice.cpp), layer by layer, and the result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "experiments/one_step_compare/files/measure.hpp"
#include "report/figure/builder.hpp"

namespace ranklab::files {

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

/// nr / st of a layer at one step: over its batches, and, where there are several, of all of them joined.
struct StepRatio {
  Summary batches;
  double joined = undefined;
};

Settled settled_by(double ratio);
/// Of several batches: what the 99 % interval of their mean and the joined batches both say; of one batch by its ratio.
Settled settled_by(const StepRatio& ratio);

struct Advice {
  Settled settled = Settled::nothing;
  std::string ratio, verdict, text;  // of the table: nr/st, (1.8), the advice
  std::string comparison;            // of the claim
};

/// Whether the paper keeps layers of this role on Euclidean steps whatever the ratio.
bool is_kept_euclidean(const std::string& role);

/// From a layer's ratios at each step; at least one. Over several steps it is settled where four fifths of them agree. The role of
/// a layer that the paper keeps on Euclidean steps is added to the text.
Advice advice_of(const std::map<std::int64_t, StepRatio>& ratios, const std::string& role);

// Rows of the table (rows.cpp) ---------------------------------------------------------------------------------------------------

/// A layer at one step, on one batch; ranks that are not given are NaN.
struct Observation {
  const Pair& pair;
  const Layer& layer;
  std::size_t pair_index, layer_index;
  Ranks activation, gradient;

  double stable_rank() const { return activation.stable_rank; }
  double nuclear_rank() const { return gradient.nuclear_rank; }
  double gradient_stable_rank() const { return gradient.stable_rank; }
  double ratio() const { return gradient.nuclear_rank / activation.stable_rank; }
};

using Value = double (Observation::*)() const;

/// A layer at all its steps, on all its batches; at least one.
struct Row {
  std::vector<Observation> all;
  std::map<std::int64_t, std::vector<Joined>> joined;  // by step, where that has several batches

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  bool is_judged() const { return pair().has_activation() && pair().has_gradient(); }
  bool has_steps() const;

  double mean(Value value) const;
  /// Over the batches of each step.
  std::map<std::int64_t, Summary> by_step(Value value) const;
  std::map<std::int64_t, StepRatio> ratios() const;
  /// The largest values that the ranks can have: G = E A' has no higher rank than there are samples.
  std::uint64_t stable_rank_limit() const;
  std::uint64_t nuclear_rank_limit() const;
  Advice advice() const { return advice_of(ratios(), pair().role); }
};

struct Rows {
  std::vector<Row> rows;  // layers that have all their ranks, and whose checks do not speak against them, at one moment at least
  std::vector<Skipped> skipped;  // the others, and those that are left out at some moments
  std::size_t not_judged = 0;    // layers without advice

  std::size_t count(Settled settled) const;
};
Rows rows_of(const Plan& plan, const TrialRecord& record);

// The result (report.cpp, weights.cpp, gates.cpp) --------------------------------------------------------------------------------

/// `GLOB: ratio<X` of --fail-if.
struct Gate {
  std::string text, glob;
  bool below = true;  // fails where the ratio is
  double limit = 0;

  bool fails(double ratio) const { return below ? ratio < limit : ratio > limit; }
};

/// Throws UsageError that names the flag.
std::vector<Gate> gates_of(const FilesConfig& config);

/// Throws UsageError for a gate that no layer is behind.
void require_layers(const std::vector<Gate>& gates, const Plan& plan);

/// What the gates say of the layers; one that is not judged passes none.
std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const Rows& rows);

/// The claim of a layer, <layer>/eq-1.8, is the printed inequality: it holds from a ratio of 1 on; the advice is Muon only from 2
/// on.
Result report(const Plan& plan, const std::vector<Gate>& gates, const Records& records);
Result report_weights(const Rows& rows, const TrialRecord& record, ResultBuilder& out);

/// The series of the layers and their pictures (figure.cpp).
void draw(ResultBuilder& out, const std::vector<Row>& rows);
/// Ticks of an axis of layers, without what all their names begin with.
Axis names_axis(const std::vector<Row>& rows);

/// Throws UsageError for a file of --groups that is another file than such a one.
void require_groups_file(const std::string& path);

/// The parameters' names by their advice, as JSON. A parameter with parts that differ is "either".
std::string groups_text(const Plan& plan, const Records& records);

}  // namespace ranklab::files
