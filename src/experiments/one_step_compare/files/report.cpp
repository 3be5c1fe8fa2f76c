#include "experiments/one_step_compare/files/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/files/advice.hpp"

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// More names than these cannot be read below an axis.
constexpr std::size_t most_names = 200;

std::string key_of(std::size_t pair) {
  return "pair " + std::to_string(pair);
}
std::string key_of(std::size_t pair, std::size_t layer) {
  return key_of(pair) + " layer " + std::to_string(layer);
}

std::vector<double> packed(const NonFinite& bad) {
  return {static_cast<double>(bad.count), static_cast<double>(bad.row), static_cast<double>(bad.column)};
}

NonFinite unpacked(const TrialRecord& record, const std::string& name) {
  const std::vector<double>& values = record.array(name);
  return {static_cast<std::uint64_t>(values.at(0)), static_cast<std::uint64_t>(values.at(1)),
          static_cast<std::uint64_t>(values.at(2))};
}

// A row of the table.
struct ReportedLayer {
  const PlannedPair* pair = nullptr;
  const PlannedLayer* layer = nullptr;
  double stable_rank = undefined, nuclear_rank = undefined, gradient_stable_rank = undefined;  // NaN: not given

  bool is_judged() const { return pair->has_activation() && pair->has_gradient(); }
  double ratio() const { return nuclear_rank / stable_rank; }
  std::uint64_t stable_rank_limit() const { return std::min(pair->k, pair->n); }
  std::uint64_t nuclear_rank_limit() const { return std::min(layer->m, pair->k); }
};

double recorded(const TrialRecord& record, const std::string& name) {
  if (!record.has(name)) throw Failure("the files are not those of the run that was interrupted; run it without --resume");
  return record.scalar(name);
}

// The layers that can be reported; the others go to `skipped`.
std::vector<ReportedLayer> reported(const FilesPlan& plan, const TrialRecord& record, std::vector<Skipped>& skipped) {
  std::vector<ReportedLayer> out;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const PlannedPair& pair = plan.pairs[p];
    double stable_rank = undefined;
    if (pair.has_activation()) {
      stable_rank = recorded(record, key_of(p) + " stable rank");
      if (std::isnan(stable_rank)) {
        skipped.push_back({pair.source.name, undefined_reason("activation", unpacked(record, key_of(p) + " non-finite"))});
        continue;
      }
    }
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      ReportedLayer layer{&pair, &pair.layers[l], stable_rank, undefined, undefined};
      if (pair.has_gradient()) {
        layer.nuclear_rank = recorded(record, key_of(p, l) + " nuclear rank");
        layer.gradient_stable_rank = record.scalar(key_of(p, l) + " stable rank");
        if (std::isnan(layer.nuclear_rank)) {
          skipped.push_back({layer.layer->name, undefined_reason("gradient", unpacked(record, key_of(p, l) + " non-finite"))});
          continue;
        }
      }
      out.push_back(layer);
    }
  }
  return out;
}

void add_scalars(const std::vector<ReportedLayer>& layers, std::size_t trials, Result& result) {
  const auto add = [&](const std::string& name, double value) {
    result.scalars.push_back({name, std::vector<double>(trials, value)});
  };
  double spectral = 0, undecided = 0, euclidean = 0;
  for (const ReportedLayer& layer : layers) {
    const std::string& name = layer.layer->name;
    if (layer.pair->has_activation()) {
      add(name + ".stable_rank", layer.stable_rank);
      add(name + ".stable_rank_limit", static_cast<double>(layer.stable_rank_limit()));
      add(name + ".n", static_cast<double>(layer.pair->n));
    }
    add(name + ".k", static_cast<double>(layer.pair->k));
    if (layer.pair->has_gradient()) {
      add(name + ".m", static_cast<double>(layer.layer->m));
      add(name + ".nuclear_rank", layer.nuclear_rank);
      add(name + ".nuclear_rank_limit", static_cast<double>(layer.nuclear_rank_limit()));
      add(name + ".gradient_stable_rank", layer.gradient_stable_rank);
    }
    if (!layer.is_judged()) continue;
    add(name + ".predicted_ratio", layer.ratio());
    const Advantage advantage = advantage_of(layer.ratio());
    (advantage == Advantage::spectral ? spectral : advantage == Advantage::euclidean ? euclidean : undecided) += 1;
  }
  add("layers", static_cast<double>(layers.size()));
  add("layers_spectral", spectral);
  add("layers_undecided", undecided);
  add("layers_euclidean", euclidean);
}

void add_series(const std::vector<ReportedLayer>& layers, std::size_t trials, Result& result) {
  const auto add = [&](const std::string& name, const auto& value) {
    std::vector<double> values;
    for (const ReportedLayer& layer : layers) values.push_back(value(layer));
    if (std::all_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) return;
    result.series.push_back(series_over_trials(name, "layer", std::vector<std::vector<double>>(trials, values), 1.0));
  };
  add("stable_rank", [](const ReportedLayer& layer) { return layer.stable_rank; });
  add("nuclear_rank", [](const ReportedLayer& layer) { return layer.nuclear_rank; });
  add("predicted_ratio", [](const ReportedLayer& layer) { return layer.ratio(); });
  add("gradient_stable_rank", [](const ReportedLayer& layer) { return layer.gradient_stable_rank; });
}

std::string rank_cell(double rank, std::uint64_t limit) {
  return std::isnan(rank) ? "-" : short_number(rank) + " of " + std::to_string(limit);
}

std::string verdict_cell(Advantage advantage) {
  if (advantage == Advantage::spectral) return "holds";
  return advantage == Advantage::spectral_by_guarantee ? "inconclusive" : "fails";
}

Table table_of(const std::vector<ReportedLayer>& layers) {
  Table table{{"layer", "m x k", "n", "stored as", "st(A)", "nr(G)", "nr/st", "(1.8)", "advice"}, {}};
  for (const ReportedLayer& layer : layers) {
    const PlannedPair& pair = *layer.pair;
    const std::string m = pair.has_gradient() ? std::to_string(layer.layer->m) : "?";
    const std::string n = pair.has_activation() ? std::to_string(pair.n) : "?";
    const bool judged = layer.is_judged();
    const std::string missing = pair.has_gradient() ? "none: no activation" : "none: no gradient";
    table.rows.push_back({layer.layer->name, m + " x " + std::to_string(pair.k), n, pair.dtypes,
                          rank_cell(layer.stable_rank, layer.stable_rank_limit()),
                          rank_cell(layer.nuclear_rank, layer.nuclear_rank_limit()), judged ? short_number(layer.ratio()) : "-",
                          judged ? verdict_cell(advantage_of(layer.ratio())) : "-",
                          judged ? advice(advantage_of(layer.ratio())) : missing});
  }
  return table;
}

Figure figure_of(const std::vector<ReportedLayer>& layers, const Result& result) {
  Axis names{"layer"};
  if (layers.size() <= most_names) {
    for (const ReportedLayer& layer : layers) names.ticks.push_back(layer.layer->name);
  }
  const auto has = [&](const std::string& name) {
    return std::any_of(result.series.begin(), result.series.end(), [&](const Series& series) { return series.name == name; });
  };
  Figure figure;
  if (has("predicted_ratio")) {
    Panel ratio{"Predicted one-step advantage of the spectral step", names, {"nr(G) / st(A)", Scale::log}, {}, {}};
    ratio.curves = {{"predicted_ratio", "nr(G) / st(A)", LineStyle::bars}};
    ratio.lines = {{2.0, "sure above"}, {1.0, "even"}, {0.5, "sure below"}};
    figure.panels.push_back(ratio);
  }
  Panel ranks{"Ranks", names, {"rank", Scale::log}, {}, {}};
  if (has("stable_rank")) ranks.curves.push_back({"stable_rank", "st(A), activation", LineStyle::bars, 1});
  if (has("nuclear_rank")) ranks.curves.push_back({"nuclear_rank", "nr(G), gradient", LineStyle::bars, 0});
  figure.panels.push_back(ranks);
  return figure;
}

std::vector<std::string> notes_for(const std::vector<ReportedLayer>& layers) {
  std::vector<std::string> notes;
  const auto any = [&](const auto& condition) { return std::any_of(layers.begin(), layers.end(), condition); };
  if (any([](const ReportedLayer& layer) { return layer.is_judged(); })) {
    notes = {
        "nr(G)/st(A) is the ratio of the decreases of the loss that one spectral and one Euclidean step guarantee, each with the "
        "step size of its own geometry. For least squares in one layer a ratio of 2 settles which step is ahead, and so does 1/2; "
        "in "
        "a network this holds of the quadratic model of that layer.",
        "The ratio says nothing about momentum, about Adam's scaling of single entries, about the Newton-Schulz iteration in place "
        "of the exact polar factor, or about later steps.",
        "The noise of a mini-batch's gradient is of high rank and raises nr(G): take a batch as large as in training, or average "
        "gradients, and take the activations of the same batch and step.",
        "The paper keeps the first and the last layer, embeddings and the output head on Euclidean steps whatever the ratio."};
  }
  if (any([](const ReportedLayer& layer) { return !layer.pair->has_gradient(); }))
    notes.push_back("Activations without a gradient: st(A) alone, no verdict.");
  if (any([](const ReportedLayer& layer) { return !layer.pair->has_activation(); }))
    notes.push_back("Gradients without an activation: nr(G) alone, no verdict.");
  return notes;
}

}  // namespace

void record_activation(TrialRecord& record, std::size_t pair, const ActivationRank& rank) {
  record.set(key_of(pair) + " stable rank", rank.stable_rank);
  record.set(key_of(pair) + " non-finite", packed(rank.non_finite));
}

void record_gradient(TrialRecord& record, std::size_t pair, std::size_t layer, const GradientRank& rank) {
  record.set(key_of(pair, layer) + " nuclear rank", rank.nuclear_rank);
  record.set(key_of(pair, layer) + " stable rank", rank.stable_rank);
  record.set(key_of(pair, layer) + " non-finite", packed(rank.non_finite));
}

Result files_result(const FilesPlan& plan, const std::vector<TrialRecord>& records) {
  Result result;
  result.title = "Which layers should get a spectral step?";
  if (records.empty()) return result;  // interrupted: nothing is written
  result.skipped = plan.skipped;
  const std::vector<ReportedLayer> layers = reported(plan, records.front(), result.skipped);
  if (layers.empty()) throw Failure(nothing_left(result.skipped));
  add_scalars(layers, records.size(), result);
  add_series(layers, records.size(), result);
  for (const ReportedLayer& layer : layers) {
    if (layer.is_judged()) result.claims.push_back(advantage_claim(layer.layer->name, layer.nuclear_rank, layer.stable_rank));
  }
  result.figure = figure_of(layers, result);
  result.table = table_of(layers);
  result.notes = notes_for(layers);
  return result;
}

}  // namespace ranklab
