#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "experiments/one_step_compare/files/files.hpp"
#include "report/figure/builder.hpp"
#include "report/result_json.hpp"

namespace ranklab::files {
namespace {

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

// A layer at one step, on one batch; ranks that are not given are NaN.
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

// A row of the table: a layer at all its steps, on all its batches.
struct Row {
  std::vector<Observation> all;

  const std::string& name() const { return all.front().layer.name; }
  const Pair& pair() const { return all.front().pair; }
  std::uint64_t m() const { return all.front().layer.m; }
  bool is_judged() const { return pair().has_activation() && pair().has_gradient(); }

  double mean(Value value) const {
    std::vector<double> values;
    for (const Observation& one : all) values.push_back((one.*value)());
    return summarise(values).mean;
  }

  /// Over the batches of each step.
  std::map<std::int64_t, Summary> by_step(Value value) const {
    std::map<std::int64_t, std::vector<double>> values;
    for (const Observation& one : all) values[one.pair.moment.step].push_back((one.*value)());
    std::map<std::int64_t, Summary> out;
    for (const auto& [step, at_step] : values) out[step] = summarise(at_step);
    return out;
  }

  std::uint64_t stable_rank_limit() const { return std::min(pair().k, pair().n); }
  // G = E A' has no higher rank than there are samples.
  std::uint64_t nuclear_rank_limit() const {
    const std::uint64_t side = std::min(m(), pair().k);
    return pair().has_activation() ? std::min(side, pair().n) : side;
  }

  Advice advice() const { return advice_of(by_step(&Observation::ratio), pair().role); }
};

constexpr char predicted_ratio[] = "predicted_ratio";

struct Colour {
  const char *series, *label;
  int palette;
  Settled settled;
};

// The ratio's bars are coloured by what it settles, each colour a series of its own.
constexpr std::array<Colour, 3> colours = {{
    {"predicted_ratio.spectral", "Muon: the spectral step is ahead", 2, Settled::spectral},
    {"predicted_ratio.undecided", "either: less than a factor of 2", 6, Settled::nothing},
    {"predicted_ratio.euclidean", "Adam/SGD: the Euclidean step is ahead", 4, Settled::euclidean},
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
           ": it is not the gradient of these samples alone (another batch or step, or uses of the layer that are missing)";
  }
  if (checks.alike >= std::max(fewest, alike * n)) {
    return count_text(checks.alike) + " of the activation's " + counted(pair.n, "sample") +
           " are one and the same: padding that the loss ignores? Leave out samples without an output gradient";
  }
  return "";
}

// The layers that can be reported; the others go to `skipped`, once for each reason.
std::vector<Row> rows_of(const Plan& plan, const TrialRecord& record, std::vector<Skipped>& skipped) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> places;
  std::set<std::pair<std::string, std::string>> said;
  const auto skip = [&](const std::string& name, const std::string& reason) {
    if (said.insert({name, reason}).second) skipped.push_back({name, reason});
  };
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    Ranks activation, gradient;
    if (pair.has_activation()) {
      activation = activation_ranks(record, p);
      const std::string undefined =
          std::isnan(activation.stable_rank) ? undefined_reason("activation", "st", activation.non_finite) : "";
      const std::string reason = undefined.empty() ? contradiction(pair, checks_of(record, p)) : undefined;
      if (!reason.empty()) {
        skip(pair.name, reason);
        continue;
      }
    }
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      if (pair.has_gradient()) {
        gradient = gradient_ranks(record, p, l);
        if (std::isnan(gradient.nuclear_rank)) {
          skip(pair.layers[l].name, undefined_reason("gradient", "nr", gradient.non_finite));
          continue;
        }
      }
      const auto [place, is_new] = places.emplace(pair.layers[l].name, rows.size());
      if (is_new) rows.emplace_back();
      rows[place->second].all.push_back({pair, pair.layers[l], p, l, activation, gradient});
    }
  }
  return rows;
}

Axis names_axis(const std::vector<Row>& rows) {
  Axis names{"layer"};
  std::vector<std::string> layers;
  for (const Row& row : rows) layers.push_back(row.name());
  const std::string prefix = common_prefix(layers);
  if (!prefix.empty()) names.label += ", without " + prefix;
  for (const std::string& layer : layers) {
    if (layers.size() <= most_names) names.ticks.push_back(layer.substr(prefix.size()));
  }
  return names;
}

// What the gates say of the layers; one that is not judged passes none.
std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const std::vector<Row>& rows,
                                      const std::vector<Skipped>& skipped) {
  std::vector<std::string> out;
  for (const Gate& gate : gates) {
    for (const Row& row : rows) {
      if (!matches_glob(gate.glob, row.name())) continue;
      const double ratio = row.is_judged() ? row.mean(&Observation::ratio) : std::nan("");
      if (!row.is_judged()) out.push_back(row.name() + ": not judged (" + gate.text + ")");
      if (gate.fails(ratio)) out.push_back(row.name() + ": nr/st = " + short_number(ratio) + " (" + gate.text + ")");
    }
    for (const Skipped& left_out : skipped) {
      if (matches_glob(gate.glob, left_out.name)) out.push_back(left_out.name + ": not judged (" + gate.text + ")");
    }
  }
  return out;
}

Result report_weights(const std::vector<Row>& rows, const TrialRecord& record, ResultBuilder& out) {
  Table table{{"layer", "m x k", "stored as", "st(W)", "nr(W)", "effective rank", "condition", "quartiles of s / s_1"}, {}, ""};
  const auto add = [&](const std::string& name, double value) {
    out.scalar(name, std::vector<double>(out.records().size(), value));
  };
  std::vector<double> x, effective, stable, nuclear;
  for (const Row& row : rows) {
    const Observation& one = row.all.front();
    const Spectrum spectrum = spectrum_of(record, one.pair_index, one.layer_index);
    const std::string& name = row.name();
    add(name + ".m", static_cast<double>(row.m()));
    add(name + ".k", static_cast<double>(row.pair().k));
    add(name + ".stable_rank", one.gradient_stable_rank());
    add(name + ".nuclear_rank", one.nuclear_rank());
    add(name + ".effective_rank", spectrum.effective_rank);
    add(name + ".condition", spectrum.condition);
    const auto& [low, middle, high] = spectrum.quantiles;
    for (const auto& [quantile, value] : {std::pair(".quantile_25", low), {".quantile_50", middle}, {".quantile_75", high}}) {
      add(name + quantile, value);
    }
    table.rows.push_back({name, std::to_string(row.m()) + " x " + std::to_string(row.pair().k), row.pair().dtypes,
                          short_number(one.gradient_stable_rank()), short_number(one.nuclear_rank()),
                          short_number(spectrum.effective_rank), short_number(spectrum.condition),
                          short_number(low) + ", " + short_number(middle) + ", " + short_number(high)});
    x.push_back(static_cast<double>(x.size() + 1));
    stable.push_back(one.gradient_stable_rank());
    nuclear.push_back(one.nuclear_rank());
    effective.push_back(spectrum.effective_rank);
  }
  out.series_of_points("stable_rank", "layer", x, stable);
  out.series_of_points("nuclear_rank", "layer", x, nuclear);
  out.series_of_points("effective_rank", "layer", x, effective);
  out.panel("Weights", names_axis(rows), log_axis("rank"))
      .curve("stable_rank", "st(W)", {LineStyle::bars, 1})
      .curve("nuclear_rank", "nr(W)", {LineStyle::bars, 0})
      .curve("effective_rank", "effective rank", {LineStyle::bars, 2});
  out.result().table = std::move(table);
  out.note("The effective rank is exp of the entropy of the singular values over their sum.");
  return out.take();
}

std::size_t count_of(const std::vector<Row>& rows, Settled settled) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.is_judged() && row.advice().settled == settled; }));
}

void add_scalars(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto add = [&](const std::string& name, auto value) {
    out.scalar(name, std::vector<double>(out.records().size(), static_cast<double>(value)));
  };
  for (const Row& row : rows) {
    const std::string& name = row.name();
    if (row.pair().has_activation()) {
      add(name + ".stable_rank", row.mean(&Observation::stable_rank));
      add(name + ".stable_rank_limit", row.stable_rank_limit());
      add(name + ".n", row.pair().n);
    }
    add(name + ".k", row.pair().k);
    if (row.pair().has_gradient()) {
      add(name + ".m", row.m());
      add(name + ".nuclear_rank", row.mean(&Observation::nuclear_rank));
      add(name + ".nuclear_rank_limit", row.nuclear_rank_limit());
      add(name + ".gradient_stable_rank", row.mean(&Observation::gradient_stable_rank));
    }
    if (row.is_judged()) add(name + ".predicted_ratio", row.mean(&Observation::ratio));
  }
  add("layers", rows.size());
  add("layers_spectral", count_of(rows, Settled::spectral));
  add("layers_undecided", count_of(rows, Settled::nothing));
  add("layers_euclidean", count_of(rows, Settled::euclidean));
}

// Over the rows, counted from 1; none of a number that no row has.
void add_series(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto add = [&](const std::string& name, const auto& value) {
    if (std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return std::isnan(value(row)); })) return;
    std::vector<double> x;
    for (std::size_t i = 0; i < rows.size(); ++i) x.push_back(static_cast<double>(i + 1));
    out.series(name, "layer", x, [&](const TrialRecord&, std::size_t i) { return value(rows[i]); });
  };
  const auto mean = [](Value value) { return [value](const Row& row) { return row.mean(value); }; };
  add("stable_rank", mean(&Observation::stable_rank));
  add("nuclear_rank", mean(&Observation::nuclear_rank));
  add("predicted_ratio", mean(&Observation::ratio));
  for (const Colour& colour : colours) {
    add(colour.series, [&](const Row& row) {
      return row.is_judged() && row.advice().settled == colour.settled ? row.mean(&Observation::ratio) : std::nan("");
    });
  }
  add("gradient_stable_rank", mean(&Observation::gradient_stable_rank));
}

bool is_over_training(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.by_step(&Observation::ratio).size() > 1; });
}

// Of each layer over the steps, with the spread over the batches of a step.
void add_training(ResultBuilder& out, const std::vector<Row>& rows) {
  std::map<std::int64_t, std::map<Settled, double>> advice;
  for (const Row& row : rows) {
    for (const auto& [what, value] : {std::pair("stable_rank", &Observation::stable_rank),
                                      {"nuclear_rank", &Observation::nuclear_rank},
                                      {"predicted_ratio", &Observation::ratio}}) {
      Series series{row.name() + "." + what, "step", {}, {}, {}};
      for (const auto& [step, summary] : row.by_step(value)) {
        if (summary.n == 0) continue;
        series.x.push_back(static_cast<double>(step));
        series.mean.push_back(summary.mean);
        series.std.push_back(summary.std);
      }
      if (!series.x.empty()) out.series(std::move(series));
    }
    if (!row.is_judged()) continue;
    for (const auto& [step, ratio] : row.by_step(&Observation::ratio)) advice[step][settled_by(ratio)] += 1;
  }
  for (const Colour& colour : colours) {
    Series series{std::string("layers_over_steps") + (colour.series + std::string("predicted_ratio").size()), "step", {}, {}, {}};
    for (const auto& [step, counts] : advice) {
      series.x.push_back(static_cast<double>(step));
      series.mean.push_back(counts.contains(colour.settled) ? counts.at(colour.settled) : 0.0);
      series.std.push_back(0.0);
    }
    out.series(std::move(series));
  }
}

void judge(const Row& row, Claims& claims) {
  const Statement eq_1_8{row.name() + "/eq-1.8", "Section 1.2.1, eq. (1.8)",
                         "nr(G) >= st(A): one spectral step guarantees at least as much as one Euclidean step"};
  const auto steps = row.by_step(&Observation::ratio);
  const Advice advice = row.advice();
  const std::string text = "nr/st = " + advice.ratio + ": " + advice.comparison;
  if (steps.size() > 1) {
    Tally tally;
    for (const auto& [step, ratio] : steps) tally.count(!(ratio.mean >= 1 - ratio_rounding));
    return claims.never_violated(eq_1_8, tally, text);
  }
  if (row.all.size() == 1) return claims.number(eq_1_8, row.all.front().ratio(), at_least(1.0), text, ratio_rounding);
  std::vector<double> ratios;
  for (const Observation& one : row.all) ratios.push_back(one.ratio());
  claims.mean(eq_1_8, ratios, at_least(1.0), text);
}

Table table_of(const std::vector<Row>& rows, std::size_t skipped) {
  Table table{{"layer", "m x k", "n", "stored as", "st(A)", "nr(G)", "nr/st", "(1.8)", "advice"}, {}, ""};
  const auto rank_cell = [](double rank, std::uint64_t limit) {
    return std::isnan(rank) ? "-" : short_number(rank) + " of " + std::to_string(limit);
  };
  for (const Row& row : rows) {
    const Pair& pair = row.pair();
    const std::string m = pair.has_gradient() ? std::to_string(row.m()) : "?",
                      n = pair.has_activation() ? std::to_string(pair.n) : "?";
    std::vector<std::string> cells = {row.name(),
                                      m + " x " + std::to_string(pair.k),
                                      n,
                                      pair.dtypes,
                                      rank_cell(row.mean(&Observation::stable_rank), row.stable_rank_limit()),
                                      rank_cell(row.mean(&Observation::nuclear_rank), row.nuclear_rank_limit())};
    std::vector<std::string> verdict = {"-", "-", pair.has_gradient() ? "none: no activation" : "none: no gradient"};
    if (row.is_judged()) {
      const Advice advice = row.advice();
      verdict = {advice.ratio, advice.verdict, advice.text};
    }
    cells.insert(cells.end(), verdict.begin(), verdict.end());
    table.rows.push_back(std::move(cells));
  }
  const std::size_t muon = count_of(rows, Settled::spectral), either = count_of(rows, Settled::nothing),
                    keep = count_of(rows, Settled::euclidean);
  table.summary = "Muon " + std::to_string(muon) + ", either " + std::to_string(either) + ", keep Adam/SGD " +
                  std::to_string(keep) + ", not judged " + std::to_string(rows.size() + skipped - muon - either - keep);
  return table;
}

void add_figure(ResultBuilder& out, const std::vector<Row>& rows) {
  const Axis names = names_axis(rows);
  PanelBuilder ratios = out.panel("Advantage of one spectral step", names, log_axis("nr(G) / st(A)"));
  for (const Colour& colour : colours) ratios.curve_if_measured(colour.series, colour.label, {LineStyle::bars, colour.palette});
  ratios.line(2.0, "sure above").line(1.0, "even").line(0.5, "sure below");
  out.panel("Ranks", names, log_axis("rank"))
      .curve_if_measured("stable_rank", "st(A), activation", {LineStyle::bars, 1})
      .curve_if_measured("nuclear_rank", "nr(G), gradient", {LineStyle::bars, 0});
}

// Few layers are drawn one by one, of many the numbers that each advice has.
void add_training_figure(ResultBuilder& out, const std::vector<Row>& rows) {
  constexpr std::size_t most_curves = 7;
  const auto judged = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_judged(); });
  if (static_cast<std::size_t>(judged) <= most_curves) {
    PanelBuilder ratios = out.panel("Over training", {"step"}, log_axis("nr(G) / st(A)"));
    for (const Row& row : rows) {
      if (row.is_judged()) ratios.curve(row.name() + ".predicted_ratio", row.name(), {LineStyle::line_points});
    }
    ratios.line(2.0, "sure above").line(1.0, "even").line(0.5, "sure below");
    return;
  }
  PanelBuilder counts = out.panel("Layers over training", {"step"}, {"layers"});
  for (const Colour& colour : colours) {
    counts.curve(std::string("layers_over_steps") + (colour.series + std::string("predicted_ratio").size()), colour.label,
                 {LineStyle::line_points, colour.palette});
  }
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
    if (any([](const Row& row) { return row.by_step(&Observation::ratio).size() > 1; })) {
      out.note("Over several steps a layer is Muon's, or Adam's, where it is so in four fifths of them; " +
               std::string("a step with several batches counts by the 99 % interval of their mean."));
    }
    if (any([](const Row& row) { return row.all.size() == 1; })) {
      out.note("One batch at one step has no error bars: ratios move from step to step, by a factor of 2 and more.");
    }
  }
  if (any([](const Row& row) { return !row.pair().has_gradient(); })) {
    out.note("Activations without a gradient: st(A) alone, no verdict.");
  }
  if (any([](const Row& row) { return !row.pair().has_activation(); })) {
    out.note("Gradients without an activation: nr(G) alone, no verdict.");
  }
}

}  // namespace

Result report(const Plan& plan, const std::vector<Gate>& gates, const Records& records) {
  const bool weights = !plan.pairs.empty() && plan.pairs.front().is_weight;
  ResultBuilder out(weights ? "Spectra of weights" : "Which layers should get a spectral step?", records);
  if (records.empty()) return out.take();  // interrupted: nothing is written
  std::vector<Skipped>& skipped = out.result().skipped = plan.skipped;
  const std::vector<Row> rows = rows_of(plan, records.front(), skipped);
  if (rows.empty()) throw Failure(nothing_left(skipped));
  if (weights) return report_weights(rows, records.front(), out);
  add_scalars(out, rows);
  add_series(out, rows);
  const bool over_training = is_over_training(rows);
  if (over_training) add_training(out, rows);
  for (const Row& row : rows) {
    if (row.is_judged()) judge(row, out.claims());
  }
  if (over_training) add_training_figure(out, rows);
  add_figure(out, rows);
  out.result().table = table_of(rows, skipped.size());
  out.result().failed_gates = failed_gates(gates, rows, skipped);
  add_notes(out, rows);
  return out.take();
}

std::string groups_text(const Plan& plan, const Records& records) {
  constexpr std::array<const char*, 3> names = {"muon", "either", "euclidean"};  // in the order of Settled
  std::vector<Skipped> skipped = plan.skipped;
  const std::vector<Row> rows = rows_of(plan, records.front(), skipped);
  std::map<std::string, std::set<Settled>> advice;
  nlohmann::ordered_json out = {{"muon", nlohmann::json::array()},
                                {"either", nlohmann::json::array()},
                                {"euclidean", nlohmann::json::array()},
                                {"not_judged", nlohmann::json::object()}};
  for (const Row& row : rows) {
    const std::string& parameter = row.pair().parameter.empty() ? row.pair().name : row.pair().parameter;
    if (row.is_judged()) {
      advice[parameter].insert(row.advice().settled);
    } else {
      out["not_judged"][parameter] = "st or nr alone";
    }
  }
  skipped.insert(skipped.end(), plan.vectors.begin(), plan.vectors.end());
  for (const Skipped& one : skipped) {
    if (!advice.contains(one.name)) out["not_judged"][one.name] = one.reason;
  }
  for (const auto& [parameter, settled] : advice) {
    out[names[static_cast<std::size_t>(settled.size() > 1 ? Settled::nothing : *settled.begin())]].push_back(parameter);
  }
  return format_json(out);
}

}  // namespace ranklab::files
