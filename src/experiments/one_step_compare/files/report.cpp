#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/error.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "report/figure/builder.hpp"

namespace ranklab::files {
namespace {

// Both ranks are good to about 1e-12.
constexpr double rounding = 1e-10;
// More names than these make no picture.
constexpr std::size_t most_names = 400;

// What all names begin with, up to a dot.
std::string common_prefix(const std::vector<std::string>& names) {
  std::string prefix = names.size() > 1 ? names.front() : "";
  for (const std::string& name : names) {
    while (!name.starts_with(prefix)) prefix.pop_back();
  }
  return prefix.substr(0, prefix.rfind('.') + 1);
}

// A row of the table; ranks that are not given are NaN.
struct Row {
  const Pair& pair;
  const Layer& layer;
  Ranks activation, gradient;

  bool is_judged() const { return pair.has_activation() && pair.has_gradient(); }
  double ratio() const { return gradient.nuclear_rank / activation.stable_rank; }
  std::uint64_t stable_rank_limit() const { return std::min(pair.k, pair.n); }
  // G = E A' has no higher rank than there are samples.
  std::uint64_t nuclear_rank_limit() const {
    const std::uint64_t side = std::min(layer.m, pair.k);
    return pair.has_activation() ? std::min(side, pair.n) : side;
  }
};

// The ratio's bars are coloured by what it settles, each colour a series of its own.
enum class Settled { spectral, nothing, euclidean };

Settled settled_by(double ratio) {
  const Advantage advantage = advantage_of(ratio);
  if (advantage == Advantage::spectral) return Settled::spectral;
  return advantage == Advantage::euclidean ? Settled::euclidean : Settled::nothing;
}

template <Settled settled>
double ratio_where(const Row& row) {
  return row.is_judged() && settled_by(row.ratio()) == settled ? row.ratio() : std::nan("");
}

constexpr char predicted_ratio[] = "predicted_ratio";

struct Colour {
  const char *series, *label;
  int palette;
  double (*ratio)(const Row&);
};

constexpr std::array<Colour, 3> colours = {{
    {"predicted_ratio.spectral", "Muon: the spectral step is ahead", 2, ratio_where<Settled::spectral>},
    {"predicted_ratio.undecided", "either: less than a factor of 2", 6, ratio_where<Settled::nothing>},
    {"predicted_ratio.euclidean", "Adam/SGD: the Euclidean step is ahead", 4, ratio_where<Settled::euclidean>},
}};

// Why there is no rank.
std::string undefined_reason(const std::string& matrix, const std::string& rank, const NonFinite& bad) {
  if (bad.count == 0) return "the " + matrix + " is zero, " + rank + " of a zero matrix is undefined";
  return "the " + matrix + " has " + count_text(bad.count) + (bad.count == 1 ? " entry that is" : " entries that are") +
         " not finite, the first in row " + count_text(bad.row) + ", column " + count_text(bad.column) + " (counted from 0)";
}

// Why the pair cannot be what a layer has in one step, so that no advice follows from it; empty where nothing speaks against it.
// Padding is alike, and few samples span little; a gradient that is rounded to eight bits leaves that span by half a per cent.
std::string contradiction(const Pair& pair, const Checks& checks) {
  constexpr double alike = 0.1, rounded = 0.05;
  constexpr double fewest = 4;
  const auto n = static_cast<double>(pair.n);
  if (!pair.has_activation() || !pair.has_gradient()) return "";
  if (checks.outside > rounded) {
    return short_number(100 * checks.outside) + " % of the gradient's norm lies outside the span of the activation's " +
           counted(pair.n, "sample") +
           ": it is not the gradient of these samples alone (another batch or step, or uses of the layer " + "that are missing)";
  }
  if (checks.alike >= std::max(fewest, alike * n)) {
    return count_text(checks.alike) + " of the activation's " + counted(pair.n, "sample") +
           " are one and the same: padding that the loss ignores? Leave out samples without an output gradient";
  }
  return "";
}

// The layers that can be reported; the others go to `skipped`.
std::vector<Row> rows_of(const Plan& plan, const TrialRecord& record, std::vector<Skipped>& skipped) {
  std::vector<Row> rows;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    Ranks activation, gradient;
    if (pair.has_activation()) {
      activation = activation_ranks(record, p);
      if (std::isnan(activation.stable_rank)) {
        skipped.push_back({pair.name, undefined_reason("activation", "st", activation.non_finite)});
        continue;
      }
      if (const std::string reason = contradiction(pair, checks_of(record, p)); !reason.empty()) {
        skipped.push_back({pair.name, reason});
        continue;
      }
    }
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      if (pair.has_gradient()) {
        gradient = gradient_ranks(record, p, l);
        if (std::isnan(gradient.nuclear_rank)) {
          skipped.push_back({pair.layers[l].name, undefined_reason("gradient", "nr", gradient.non_finite)});
          continue;
        }
      }
      rows.push_back({pair, pair.layers[l], activation, gradient});
    }
  }
  return rows;
}

void add_scalars(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto add = [&](const std::string& name, auto value) {
    out.scalar(name, std::vector<double>(out.records().size(), static_cast<double>(value)));
  };
  std::size_t spectral = 0, undecided = 0, euclidean = 0;
  for (const Row& row : rows) {
    const std::string& name = row.layer.name;
    if (row.pair.has_activation()) {
      add(name + ".stable_rank", row.activation.stable_rank);
      add(name + ".stable_rank_limit", row.stable_rank_limit());
      add(name + ".n", row.pair.n);
    }
    add(name + ".k", row.pair.k);
    if (row.pair.has_gradient()) {
      add(name + ".m", row.layer.m);
      add(name + ".nuclear_rank", row.gradient.nuclear_rank);
      add(name + ".nuclear_rank_limit", row.nuclear_rank_limit());
      add(name + ".gradient_stable_rank", row.gradient.stable_rank);
    }
    if (!row.is_judged()) continue;
    add(name + ".predicted_ratio", row.ratio());
    const Settled settled = settled_by(row.ratio());
    (settled == Settled::spectral ? spectral : settled == Settled::euclidean ? euclidean : undecided) += 1;
  }
  add("layers", rows.size());
  add("layers_spectral", spectral);
  add("layers_undecided", undecided);
  add("layers_euclidean", euclidean);
}

// Over the rows, counted from 1; none of a number that no row has.
void add_series(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto add = [&](const std::string& name, double (*value)(const Row&)) {
    if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return std::isnan(value(row)); })) return;
    std::vector<double> x;
    for (std::size_t i = 0; i < rows.size(); ++i) x.push_back(static_cast<double>(i + 1));
    out.series(name, "layer", x, [&](const TrialRecord&, std::size_t i) { return value(rows[i]); });
  };
  add("stable_rank", [](const Row& row) { return row.activation.stable_rank; });
  add("nuclear_rank", [](const Row& row) { return row.gradient.nuclear_rank; });
  add(predicted_ratio, [](const Row& row) { return row.ratio(); });
  for (const Colour& colour : colours) add(colour.series, colour.ratio);
  add("gradient_stable_rank", [](const Row& row) { return row.gradient.stable_rank; });
}

void judge(const Row& row, Claims& claims) {
  const Statement eq_1_8{row.layer.name + "/eq-1.8", "Section 1.2.1, eq. (1.8)",
                         "nr(G) >= st(A): one spectral step guarantees at least as much as one Euclidean step"};
  const Words& words = words_for(advantage_of(row.ratio()));
  claims.number(eq_1_8, row.ratio(), at_least(1.0), "nr/st = " + short_number(row.ratio()) + ": " + words.comparison,
                {.rounding = rounding});
}

Table table_of(const std::vector<Row>& rows) {
  Table table{{"layer", "m x k", "n", "stored as", "st(A)", "nr(G)", "nr/st", "(1.8)", "advice"}, {}};
  const auto rank_cell = [](double rank, std::uint64_t limit) {
    return std::isnan(rank) ? "-" : short_number(rank) + " of " + std::to_string(limit);
  };
  for (const Row& row : rows) {
    const Pair& pair = row.pair;
    const std::string m = pair.has_gradient() ? std::to_string(row.layer.m) : "?",
                      n = pair.has_activation() ? std::to_string(pair.n) : "?";
    std::vector<std::string> cells = {row.layer.name,
                                      m + " x " + std::to_string(pair.k),
                                      n,
                                      pair.dtypes,
                                      rank_cell(row.activation.stable_rank, row.stable_rank_limit()),
                                      rank_cell(row.gradient.nuclear_rank, row.nuclear_rank_limit())};
    std::vector<std::string> verdict = {"-", "-", pair.has_gradient() ? "none: no activation" : "none: no gradient"};
    if (row.is_judged()) {
      const Words& words = words_for(advantage_of(row.ratio()));
      verdict = {short_number(row.ratio()), words.verdict, words.advice};
    }
    cells.insert(cells.end(), verdict.begin(), verdict.end());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_figure(ResultBuilder& out, const std::vector<Row>& rows) {
  Axis names{"layer"};
  std::vector<std::string> layers;
  for (const Row& row : rows) layers.push_back(row.layer.name);
  const std::string prefix = common_prefix(layers);
  if (!prefix.empty()) names.label += ", without " + prefix;
  for (const std::string& layer : layers) {
    if (layers.size() <= most_names) names.ticks.push_back(layer.substr(prefix.size()));
  }
  PanelBuilder ratios = out.panel("Advantage of one spectral step", names, log_axis("nr(G) / st(A)"));
  for (const Colour& colour : colours) ratios.curve_if_measured(colour.series, colour.label, {LineStyle::bars, colour.palette});
  ratios.line(2.0, "sure above").line(1.0, "even").line(0.5, "sure below");
  out.panel("Ranks", names, log_axis("rank"))
      .curve_if_measured("stable_rank", "st(A), activation", {LineStyle::bars, 1})
      .curve_if_measured("nuclear_rank", "nr(G), gradient", {LineStyle::bars, 0});
}

void add_notes(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto any = [&](const auto& condition) { return std::any_of(rows.begin(), rows.end(), condition); };
  if (any([](const Row& row) { return row.is_judged(); })) {
    out.note(
        "nr(G)/st(A) is the ratio of the decreases of the loss that one spectral and one Euclidean step guarantee, each with the "
        "step size of its own geometry. For least squares in one layer a ratio of 2 settles which step is ahead, and so does 1/2; "
        "in a network this holds of the quadratic model of that layer.");
    out.note(
        "The ratio says nothing about momentum, about Adam's scaling of single entries, about the Newton-Schulz iteration in place "
        "of the exact polar factor, or about later steps.");
    out.note(
        "The noise of a mini-batch's gradient is of high rank and raises nr(G): take a batch as large as in training, or average "
        "gradients, and take the activations of the same batch and step.");
    out.note("The paper keeps the first and the last layer, embeddings and the output head on Euclidean steps whatever the ratio.");
  }
  if (any([](const Row& row) { return !row.pair.has_gradient(); })) {
    out.note("Activations without a gradient: st(A) alone, no verdict.");
  }
  if (any([](const Row& row) { return !row.pair.has_activation(); })) {
    out.note("Gradients without an activation: nr(G) alone, no verdict.");
  }
}

}  // namespace

Advantage advantage_of(double ratio) {
  const auto at_least = [&](double limit) { return ratio >= limit * (1.0 - rounding); };
  if (at_least(2.0)) return Advantage::spectral;
  if (at_least(1.0)) return Advantage::spectral_by_guarantee;
  return ratio <= 0.5 * (1.0 + rounding) ? Advantage::euclidean : Advantage::euclidean_by_guarantee;
}

const Words& words_for(Advantage advantage) {
  static const std::array<Words, 4> words = {{
      {"holds", "Muon: the spectral step is ahead",
       "one spectral step is sure to lower the loss at least as far as one Euclidean step"},
      {"holds", "either: Muon is favoured, but by less than 2",
       "the guarantees favour the spectral step, the two-sided comparison decides nothing below 2"},
      {"fails", "either: Adam/SGD is favoured, but by less than 2",
       "the guarantees favour the Euclidean step, the mirrored two-sided comparison decides nothing above 1/2"},
      {"fails", "keep Adam/SGD: the Euclidean step is ahead",
       "one Euclidean step is sure to lower the loss at least as far as one spectral step (mirrored comparison, at most 1/2)"},
  }};
  return words[static_cast<std::size_t>(advantage)];
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Which layers should get a spectral step?", records);
  if (records.empty()) return out.take();  // interrupted: nothing is written
  std::vector<Skipped>& skipped = out.result().skipped = plan.skipped;
  const std::vector<Row> rows = rows_of(plan, records.front(), skipped);
  if (rows.empty()) throw Failure(nothing_left(skipped));
  add_scalars(out, rows);
  add_series(out, rows);
  for (const Row& row : rows) {
    if (row.is_judged()) judge(row, out.claims());
  }
  add_figure(out, rows);
  out.result().table = table_of(rows);
  add_notes(out, rows);
  return out.take();
}

}  // namespace ranklab::files
