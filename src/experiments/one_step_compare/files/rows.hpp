// The advice that follows from the ratios nr(G) / st(A) (advice.cpp), layer by layer, and the
// result.
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

/// The range in which the ratio lies. For one full-gradient step, with L_F and L_op of [Spectral]
/// eq. (1.4), the least-squares loss satisfies
///   L - ||G||_F^2 / L_F   <= L(W_GD) <= L - ||G||_F^2 / (2 L_F)
///   L - ||G||_*^2 / L_op  <= L(W_SD) <= L - ||G||_*^2 / (2 L_op).
/// Since (||G||_*^2 / L_op) / (||G||_F^2 / L_F) = nr(G) / st(A), the intervals do not overlap if
/// the ratio is above 2 (they touch at 2), or (the mirrored comparison, which the paper does not
/// print) below 1/2. In between, only the guarantees can be compared.
enum class Advantage { spectral, spectral_by_guarantee, euclidean_by_guarantee, euclidean };

/// Both ranks have a relative error of about 1e-12; a ratio within this of 1/2, 1 or 2 counts as
/// equal to it.
inline constexpr double ratio_rounding = 1e-10;
Advantage advantage_of(double ratio);

struct Words {
  std::string verdict;  // of (1.8), in the table
  std::string advice;   // one line for the user: "Muon: ...", "either: ...", "keep Adam/SGD: ..."
  std::string comparison;  // for the claim: what is guaranteed, and what is not
};
const Words& words_for(Advantage advantage);

/// Which step is ahead for sure; `nothing` for ratios between 1/2 and 2.
enum class Settled { spectral, nothing, euclidean };

/// nr / st of a layer at one step: over its batches and, if there are several, of all of them
/// joined.
struct StepRatio {
  Summary batches;
  double joined = undefined;
};

Settled settled_by(double ratio);
/// For one batch, settled by its ratio. For several, only if the 99 % interval of their mean and
/// the joined batches agree.
Settled settled_by(const StepRatio& ratio);

struct Advice {
  Settled settled = Settled::nothing;
  std::string ratio, verdict, text;  // table cells: nr/st, (1.8), advice
  std::string comparison;            // for the claim's detail
};

/// Whether the paper keeps layers of this role on Euclidean steps whatever the ratio.
bool is_kept_euclidean(const std::string& role);

/// The advice from a layer's ratios at each step (at least one). Several steps settle it if four
/// fifths of them agree. If the paper keeps Euclidean steps for this role, the text says so.
Advice advice_of(const std::map<std::int64_t, StepRatio>& ratios, const std::string& role);

// Rows of the table (rows.cpp) --------------------------------------------------------------------

/// A layer at one step, on one batch; ranks of missing matrices are NaN.
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

/// A layer at all its steps and batches; at least one.
struct Row {
  std::vector<Observation> all;
  std::map<std::int64_t, std::vector<Joined>> joined;  // by step, for steps with several batches

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  bool is_judged() const { return pair().has_activation() && pair().has_gradient(); }
  bool has_steps() const;

  double mean(Value value) const;
  /// Summary over the batches of each step.
  std::map<std::int64_t, Summary> by_step(Value value) const;
  std::map<std::int64_t, StepRatio> ratios() const;
  /// Upper limits of the ranks from the shapes. The rank of G = E A' is at most the number of
  /// samples.
  std::uint64_t stable_rank_limit() const;
  std::uint64_t nuclear_rank_limit() const;
  Advice advice() const { return advice_of(ratios(), pair().role); }
};

struct Rows {
  // Layers that have all their ranks, and pass the checks, in at least one recording
  std::vector<Row> rows;
  // The other layers, and those that are left out of some recordings
  std::vector<Skipped> skipped;
  std::size_t not_judged = 0;  // layers without advice

  std::size_t count(Settled settled) const;
};
Rows rows_of(const Plan& plan, const TrialRecord& record);

// The result (report.cpp, weights.cpp, gates.cpp) -------------------------------------------------

/// `GLOB: ratio<X` of --fail-if.
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

/// The claim <layer>/eq-1.8 of each layer is the printed inequality: it holds for ratios of at
/// least 1. The advice is Muon only for ratios of at least 2.
Result report(const Plan& plan, const std::vector<Gate>& gates, const Records& records);
Result report_weights(const Rows& rows, const TrialRecord& record, ResultBuilder& out);

/// Adds the series of the layers and the figure (figure.cpp).
void draw(ResultBuilder& out, const std::vector<Row>& rows);
/// An axis of layers; its tick labels omit the common prefix of the names.
Axis names_axis(const std::vector<Row>& rows);

/// Throws UsageError if the file of --groups exists and is not a groups file.
void require_groups_file(const std::string& path);

/// The parameter names by advice, as JSON. A parameter whose parts get different advice is
/// "either".
std::string groups_text(const Plan& plan, const Records& records);

}  // namespace ranklab::files
