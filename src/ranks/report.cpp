// From the rows to the result: scalars, claims, table, notes, gates.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// Of a layer.
constexpr Measure columns = {"k", "k", "columns of the gradient, features of the activation"},
                  samples = {"n", "n", "samples of the activation"},
                  rows_G = {"m", "m", "rows of the gradient"},
                  stable_rank_G = {"gradient_stable_rank", "st(G)", "stable rank of the gradient"};
constexpr Measure layer_count = {"layers", "", "measured layers"};
// Of a weight.
constexpr Measure rows_W = {"m", "m", "rows of the weight"},
                  columns_W = {"k", "k", "columns of the weight"},
                  stable_rank_W = {"stable_rank", "st(W)", "stable rank of the weight"},
                  nuclear_rank_W = {"nuclear_rank", "nr(W)", "nuclear rank of the weight"},
                  effective_rank_W = {"effective_rank", "",
                                      "exp(entropy) of the normalized singular values"},
                  condition_W = {"condition", "s_1/s_r",
                                 "largest singular value over the smallest"},
                  random_st = {"random_stable_rank", "",
                               "stable rank of a random matrix of this shape"},
                  random_nr = {"random_nuclear_rank", "",
                               "nuclear rank of a random matrix of this shape"};

using Scalars = std::vector<std::pair<Measure, double>>;

void add_scalars(const std::string& layer, const Scalars& values, Numbers& out) {
  for (const auto& [measure, value] : values)
    out.scalar(At("layer", layer) / measure, std::vector<double>(out.records().size(), value));
}

// Means over the steps and batches; the ratio of the joined batches, of one step only.
void add_scalars(const LayerRows& layer, Numbers& out) {
  const Row& row = layer.first();
  const Pair& pair = row.pair();
  add_scalars(layer.name(),
              {{columns, static_cast<double>(pair.k)},
               {samples, static_cast<double>(pair.n)},
               {stable_rank_A, layer.mean(stable_rank_of)},
               {rows_G, static_cast<double>(row.m())},
               {nuclear_rank_G, layer.mean(nuclear_rank_of)},
               {stable_rank_G, layer.mean(gradient_stable_rank_of)},
               {predicted_ratio, layer.mean(ratio_of)}},
              out);
  out.sometimes(!layer.has_steps(), [&] {
    add_scalars(layer.name(), {{joined_ratio_of_step, row.ratio.ratio}}, out);
  });
  out.sometimes(!layer.has_steps() && row.ratio.has_interval(), [&] {
    add_scalars(layer.name(), {{ratio_low, row.ratio.low}, {ratio_high, row.ratio.high}}, out);
  });
}

std::string ratio_text(const PooledRatio& ratio) {
  const bool has_width = ratio.high - ratio.low > ratio_rounding * ratio.ratio;
  return short_number(ratio.ratio) +
         (has_width ? " (" + range_text(ratio.low, ratio.high) + ")" : "");
}

void judge_layer(const LayerRows& layer, Claims& claims) {
  const Statement eq_1_8 = beyond(Statement{
      spectral::eq_1_8, layer.name() + "/eq-1.8", "Section 1.2.1, eq. (1.8)",
      std::string("nr(G) >= st(A)") + (layer.has_steps() ? " at every step" : "") +
          ": one spectral step guarantees at least as large a decrease of the loss as one "
          "Euclidean step"});
  const Row& row = layer.deciding();
  const PooledRatio& ratio = row.ratio;
  std::string text = "nr/st = " + ratio_text(ratio);
  if (layer.has_steps())
    text += " at step " + std::to_string(row.step()) + ", which decides among " +
            plural(layer.steps.size(), "step");
  if (!ratio.has_interval())
    return claims.number(eq_1_8, ratio.ratio, at_least(1.0), text, ratio_rounding);
  claims.interval(
      eq_1_8, {ratio.ratio, ratio.low, ratio.high, confidence_level, ratio.values, ratio.degrees},
      at_least(1.0 - ratio_rounding), clauses(pooled_over(ratio), text));
}

Table table_of(const std::vector<Row>& rows) {
  const bool has_steps =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.step() >= 0; });
  Table table{{"layer", "role", "m x k", "n", "st(A)", "nr(G)", "nr/st", "(1.8) holds"}, {}, ""};
  if (has_steps) table.columns.insert(table.columns.begin() + 2, "step");
  for (const Row& row : rows) {
    const Pair& pair = row.pair();
    static constexpr const char* words[] = {"yes", "no", "undecided"};
    std::vector<std::string> cells = {
        row.name(),
        pair.role.empty() ? "-" : pair.role,
        std::to_string(row.m()) + " x " + std::to_string(pair.k),
        std::to_string(pair.n),
        short_number(row.over_batches(stable_rank_of).mean),
        short_number(row.over_batches(nuclear_rank_of).mean),
        ratio_text(row.ratio),
        has_too_few_values(row.ratio)
            ? "two values do not decide"
            : words[static_cast<std::size_t>(inequality_holds(row.ratio))]};
    if (has_steps) cells.insert(cells.begin() + 2, std::to_string(row.step()));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_notes(const std::vector<Row>& rows, Display& out) {
  const auto any = [&](const auto& condition) {
    return std::any_of(rows.begin(), rows.end(), condition);
  };
  const bool has_intervals = any([](const Row& row) { return row.ratio.has_interval(); });
  out.note(std::string(caution) +
           "The criterion compares two guaranteed decreases of a quadratic model; it does not "
           "say which optimizer trains faster." +
           (has_intervals ? ""
                          : " One batch has no interval: from step to step, nr/st may change by a "
                            "factor of 2."));
  out.note(
      "nr(G)/st(A) is the ratio of the decreases of the loss that one spectral step and one "
      "Euclidean step guarantee, each with the step length of its own guarantee. st and nr "
      "depend on the number of samples: use a batch as large as in training, and compare layers "
      "at equal n.");
  if (has_intervals)
    out.note(
        "nr/st is that of all batches of the step joined (their samples and their mean gradient). "
        "Its 99 % interval is from the spread over these batches. Few values tell little about "
        "their spread, so the mean variance of the other layers at this step counts as three "
        "further values. The interval is about this step of this training.");
  if (any([](const Row& row) { return !row.ratio.has_interval(); }))
    out.note("One batch of a step has no interval. Record several batches.");
}

// The spectra of --weights-only, next to those of random matrices.
Ranks ranks_of_weight(const LayerRows& layer, const TrialRecord& record) {
  const Observation& one = layer.first().all.front();
  return gradient_ranks(record, one.pair_index, one.layer_index);
}

void derive_weights(const std::vector<LayerRows>& layers, Numbers& out) {
  std::vector<double> x, effective, stable, nuclear;
  for (const LayerRows& layer : layers) {
    const Ranks ranks = out.declares() ? Ranks() : ranks_of_weight(layer, out.records().front());
    const auto m = static_cast<double>(layer.first().m()),
               k = static_cast<double>(layer.first().pair().k);
    out.sometimes(true, [&] {
      add_scalars(layer.name(),
                  {{rows_W, m},
                   {columns_W, k},
                   {stable_rank_W, ranks.stable_rank},
                   {nuclear_rank_W, ranks.nuclear_rank},
                   {effective_rank_W, ranks.effective_rank},
                   {condition_W, ranks.condition},
                   {random_st, random_stable_rank(m, k)},
                   {random_nr, random_nuclear_rank(m, k)}},
                  out);
    });
    x.push_back(static_cast<double>(x.size() + 1));
    stable.push_back(ranks.stable_rank);
    nuclear.push_back(ranks.nuclear_rank);
    effective.push_back(ranks.effective_rank);
  }
  out.series_of_points(stable_rank_W, "layer", x, stable);
  out.series_of_points(nuclear_rank_W, "layer", x, nuclear);
  out.series_of_points(effective_rank_W, "layer", x, effective);
}

void show_weights(const std::vector<LayerRows>& layers, Display& out) {
  Table table{{"layer", "m x k", "stored as", "st(W)", "nr(W)", "effective rank", "condition",
               "random st", "random nr"},
              {},
              ""};
  for (const LayerRows& layer : layers) {
    const Pair& pair = layer.first().pair();
    const Ranks ranks = ranks_of_weight(layer, out.records().front());
    const auto m = static_cast<double>(layer.first().m()), k = static_cast<double>(pair.k);
    table.rows.push_back(
        {layer.name(), std::to_string(layer.first().m()) + " x " + std::to_string(pair.k),
         pair.dtypes, short_number(ranks.stable_rank), short_number(ranks.nuclear_rank),
         short_number(ranks.effective_rank), short_number(ranks.condition),
         short_number(random_stable_rank(m, k)), short_number(random_nuclear_rank(m, k))});
  }
  out.panel("Ranks of the weights", names_axis(layers), rank_axis("rank"))
      .curve(stable_rank_W, "stable rank st(W)", {LineStyle::bars, 1})
      .curve(nuclear_rank_W, "nuclear rank nr(W)", {LineStyle::bars, 0})
      .curve(effective_rank_W, "effective rank", {LineStyle::bars, 2});
  out.table(std::move(table));
  out.note(
      "The effective rank is exp(entropy) of the singular values divided by their sum. random st "
      "and random nr are those of a large matrix of this shape with independent normal entries.");
}

}  // namespace

bool is_of_weights(const Plan& plan) {
  return !plan.pairs.empty() && plan.pairs.front().is_weight();
}

void derive(const Plan& plan, Numbers& out) {
  const std::vector<Row> rows =
      out.declares() ? planned_rows(plan) : rows_of(plan, out.records().front()).rows;
  const std::vector<LayerRows> layers = layers_of(rows);
  if (is_of_weights(plan)) return derive_weights(layers, out);
  for (const LayerRows& layer : layers) out.sometimes(true, [&] { add_scalars(layer, out); });
  out.scalar(layer_count,
             std::vector<double>(out.records().size(), static_cast<double>(layers.size())));
  derive_layers(layers, out);
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  claims.set_unit(Unit::none);  // claims are about the given matrices, not a population
  if (is_of_weights(plan)) return;
  const Rows all = rows_of(plan, records.front());
  for (const LayerRows& layer : layers_of(all.rows)) judge_layer(layer, claims);
}

void show(const Plan& plan, const std::vector<Gate>& gates, Display& out) {
  const Rows all = rows_of(plan, out.records().front());
  const std::vector<LayerRows> layers = layers_of(all.rows);
  out.skipped(all.skipped);
  if (!plan.flattened.empty()) {
    out.note(
        "3-D tensors read as one matrix each, the first dimension by the other two, as in a "
        "convolution: " +
        joined(plan.flattened) + ". A stack of matrices has to be saved as one tensor each.");
  }
  if (is_of_weights(plan)) return show_weights(layers, out);
  draw(layers, out);
  out.table(table_of(all.rows));
  out.failed_gates(failed_gates(gates, all));
  add_notes(all.rows, out);
}

std::vector<Gate> gates_of(const RanksConfig& config) {
  std::vector<Gate> out;
  for (const std::string& text : config.fail_if) {
    const std::size_t colon = text.rfind(':');
    std::string rule = colon == std::string::npos ? "" : trimmed(text.substr(colon + 1));
    const bool names_ratio = rule.starts_with("ratio");
    if (names_ratio) rule = trimmed(rule.substr(5));
    Gate gate{text, trimmed(text.substr(0, std::min(colon, text.size()))), rule.starts_with('<'),
              0};
    const bool known = names_ratio && (gate.below || rule.starts_with('>'));
    rule = known ? trimmed(rule.substr(1)) : "";
    const char* const first = rule.data();
    const auto [stop, error] = std::from_chars(first, rule.data() + rule.size(), gate.limit);
    if (!known || gate.glob.empty() || error != std::errc() || stop != rule.data() + rule.size() ||
        !std::isfinite(gate.limit)) {
      throw UsageError(
          "--fail-if: '" + printable_key(text) +
          "' is not allowed; allowed: GLOB: ratio<X or GLOB: ratio>X, as in 'blocks.*: ratio<1'");
    }
    out.push_back(std::move(gate));
  }
  return out;
}

void require_layers(const std::vector<Gate>& gates, const Plan& plan) {
  for (const Gate& gate : gates) {
    const auto hit = [&](const auto& each) { return matches_glob(gate.glob, each.name); };
    const bool found = std::any_of(plan.skipped.begin(), plan.skipped.end(), hit) ||
                       std::any_of(plan.pairs.begin(), plan.pairs.end(), [&](const Pair& pair) {
                         return std::any_of(pair.layers.begin(), pair.layers.end(), hit);
                       });
    if (!found) throw UsageError("--fail-if: '" + printable_key(gate.glob) + "' matches no layer");
  }
}

std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const Rows& rows) {
  std::vector<std::string> out;
  for (const Gate& gate : gates) {
    std::set<std::string> judged;
    for (const Row& row : rows.rows) {
      judged.insert(row.name());
      if (matches_glob(gate.glob, row.name()) && gate.fails(row.ratio.ratio)) {
        out.push_back(
            row.name() + (row.step() < 0 ? "" : " at step " + std::to_string(row.step())) +
            ": nr/st = " + short_number(row.ratio.ratio) +
            (row.ratio.values > 1 ? ", " + pooled_over(row.ratio) : "") + " (" + gate.text + ")");
      }
    }
    for (const Skipped& left_out : rows.skipped) {
      if (matches_glob(gate.glob, left_out.name) && judged.insert(left_out.name).second)
        out.push_back(left_out.name + ": not judged (" + gate.text + ")");
    }
  }
  return out;
}

}  // namespace ranklab::ranks
