// From the rows to the result: scalars, claims, table, notes, gates.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/ranks/measure.hpp"
#include "experiments/ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// Of a layer.
constexpr Measure columns = {"k", "k", "columns of the gradient, features of the activation"},
                  samples = {"n", "n", "samples of the activation"},
                  rows_G = {"m", "m", "rows of the gradient"},
                  stable_rank_G = {"gradient_stable_rank", "st(G)", "stable rank of the gradient"},
                  joined_ratio_of_layer = {"ratio", "nr(G) / st(A)",
                                           "the ratio, geometric mean over the steps"},
                  ratio_low = {"ratio_low", "", "lower end of the 99 % interval of the ratio"},
                  ratio_high = {"ratio_high", "", "upper end of the 99 % interval of the ratio"};
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

void add_scalars(const Row& row, const Scalars& values, Numbers& out) {
  for (const auto& [measure, value] : values)
    out.scalar(At("layer", row.name()) / measure, std::vector<double>(out.records().size(), value));
}

void add_scalars(const Row& row, Numbers& out) {
  const Pair& pair = row.pair();
  add_scalars(row, {{columns, static_cast<double>(pair.k)}}, out);
  if (pair.has_activation()) {
    add_scalars(row,
                {{samples, static_cast<double>(pair.n)}, {stable_rank_A, row.mean(stable_rank_of)}},
                out);
  }
  if (pair.has_gradient()) {
    add_scalars(row,
                {{rows_G, static_cast<double>(row.m())},
                 {nuclear_rank_G, row.mean(nuclear_rank_of)},
                 {stable_rank_G, row.mean(gradient_stable_rank_of)}},
                out);
  }
  if (!row.is_judged()) return;
  add_scalars(
      row, {{predicted_ratio, row.mean(ratio_of)}, {joined_ratio_of_layer, row.ratio.ratio}}, out);
  out.sometimes(row.ratio.has_interval(), [&] {
    add_scalars(row, {{ratio_low, row.ratio.low}, {ratio_high, row.ratio.high}}, out);
  });
}

std::string ratio_text(const PooledRatio& ratio) {
  const bool has_width = ratio.high - ratio.low > ratio_rounding * ratio.ratio;
  return short_number(ratio.ratio) +
         (has_width ? " (" + range_text(ratio.low, ratio.high) + ")" : "");
}

void judge_layer(const Row& row, Claims& claims) {
  const Statement eq_1_8 =
      beyond(Statement{spectral::eq_1_8, row.name() + "/eq-1.8", "Section 1.2.1, eq. (1.8)",
                       "nr(G) >= st(A): one spectral step guarantees at least as large a decrease "
                       "of the loss as one Euclidean step"});
  const PooledRatio& ratio = row.ratio;
  const std::string text = "nr/st = " + ratio_text(ratio);
  if (!ratio.has_interval())
    return claims.number(eq_1_8, ratio.ratio, at_least(1.0), text, ratio_rounding);
  claims.interval(
      eq_1_8, {ratio.ratio, ratio.low, ratio.high, confidence_level, ratio.values, ratio.degrees},
      at_least(1.0 - ratio_rounding), clauses(pooled_over(ratio), text));
}

std::string or_dash(double rank) {
  return std::isnan(rank) ? "-" : short_number(rank);
}

Table table_of(const Rows& all) {
  Table table{{"layer", "role", "m x k", "n", "st(A)", "nr(G)", "nr/st", "(1.8) holds"}, {}, ""};
  for (const Row& row : all.rows) {
    const Pair& pair = row.pair();
    static constexpr const char* words[] = {"yes", "no", "undecided"};
    table.rows.push_back(
        {row.name(), pair.role.empty() ? "-" : pair.role,
         (pair.has_gradient() ? std::to_string(row.m()) : "?") + " x " + std::to_string(pair.k),
         pair.has_activation() ? std::to_string(pair.n) : "?", or_dash(row.mean(stable_rank_of)),
         or_dash(row.mean(nuclear_rank_of)), row.is_judged() ? ratio_text(row.ratio) : "-",
         !row.is_judged() ? "-"
         : has_too_few_values(row.ratio)
             ? "two values do not decide"
             : words[static_cast<std::size_t>(inequality_holds(row.ratio))]});
  }
  return table;
}

void add_notes(const std::vector<Row>& rows, Display& out) {
  const auto any = [&](const auto& condition) {
    return std::any_of(rows.begin(), rows.end(), condition);
  };
  const bool has_intervals = any([](const Row& row) { return row.ratio.has_interval(); });
  if (any([](const Row& row) { return row.is_judged(); })) {
    out.note(std::string(caution) +
             "The criterion compares two guaranteed decreases of a quadratic model; it does not "
             "say which optimizer trains faster." +
             (has_intervals ? ""
                            : " One step has no interval: from step to step, nr/st may change by "
                              "a factor of 2."));
    out.note(
        "nr(G)/st(A) is the ratio of the decreases of the loss that one spectral step and one "
        "Euclidean step guarantee, each with the step length of its own guarantee. st and nr "
        "depend on the number of samples: use a batch as large as in training, and compare layers "
        "at equal n.");
  }
  if (has_intervals)
    out.note(
        "nr/st is the geometric mean over the steps, at each step of all batches joined (their "
        "samples and their mean gradient). Its 99 % interval is from the spread over the steps, or "
        "over the batches of the only step. Few values tell little about their spread, so the mean "
        "variance of the other layers counts as three further values. The interval is about this "
        "training; another one can differ by more.");
  if (any([](const Row& row) { return row.is_judged() && !row.ratio.has_interval(); }))
    out.note(
        "One batch at one step has no interval: ratios can change by a factor of 2 or more from "
        "step to step. Record several steps and batches.");
  if (any([](const Row& row) { return !row.pair().has_gradient(); }))
    out.note("Activations without a gradient: st(A) only, no verdict.");
  if (any([](const Row& row) { return !row.pair().has_activation(); }))
    out.note("Gradients without an activation: nr(G) only, no verdict.");
}

// The spectra of --weights-only, next to those of random matrices.
Ranks ranks_of_weight(const Row& row, const TrialRecord& record) {
  return gradient_ranks(record, row.all.front().pair_index, row.all.front().layer_index);
}

void derive_weights(const std::vector<Row>& rows, Numbers& out) {
  std::vector<double> x, effective, stable, nuclear;
  for (const Row& row : rows) {
    const Ranks ranks = out.declares() ? Ranks() : ranks_of_weight(row, out.records().front());
    const auto m = static_cast<double>(row.m()), k = static_cast<double>(row.pair().k);
    out.sometimes(true, [&] {
      add_scalars(row,
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

void show_weights(const std::vector<Row>& rows, Display& out) {
  Table table{{"layer", "m x k", "stored as", "st(W)", "nr(W)", "effective rank", "condition",
               "random st", "random nr"},
              {},
              ""};
  for (const Row& row : rows) {
    const Pair& pair = row.pair();
    const Ranks ranks = ranks_of_weight(row, out.records().front());
    const auto m = static_cast<double>(row.m()), k = static_cast<double>(pair.k);
    table.rows.push_back({row.name(), std::to_string(row.m()) + " x " + std::to_string(pair.k),
                          pair.dtypes, short_number(ranks.stable_rank),
                          short_number(ranks.nuclear_rank), short_number(ranks.effective_rank),
                          short_number(ranks.condition), short_number(random_stable_rank(m, k)),
                          short_number(random_nuclear_rank(m, k))});
  }
  out.panel("Ranks of the weights", names_axis(rows), rank_axis("rank"))
      .curve(stable_rank_W, "stable rank st(W)", {LineStyle::bars, 1})
      .curve(nuclear_rank_W, "nuclear rank nr(W)", {LineStyle::bars, 0})
      .curve(effective_rank_W, "effective rank", {LineStyle::bars, 2});
  out.table(std::move(table));
  out.note(
      "The effective rank is exp(entropy) of the singular values divided by their sum. random st "
      "and random nr are those of a large matrix of this shape with independent normal entries.");
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

bool is_of_weights(const Plan& plan) {
  return !plan.pairs.empty() && plan.pairs.front().is_weight;
}

void derive(const Plan& plan, Numbers& out) {
  const std::vector<Row> rows =
      out.declares() ? planned_rows(plan) : rows_of(plan, out.records().front()).rows;
  if (is_of_weights(plan)) return derive_weights(rows, out);
  for (const Row& row : rows) out.sometimes(true, [&] { add_scalars(row, out); });
  out.scalar(layer_count,
             std::vector<double>(out.records().size(), static_cast<double>(rows.size())));
  derive_layers(rows, out);
}

void judge(const Plan& plan, const Records& records, Claims& claims) {
  claims.set_unit(Unit::none);  // claims are about the given matrices, not a population
  if (is_of_weights(plan)) return;
  for (const Row& row : rows_of(plan, records.front()).rows) {
    if (row.is_judged()) judge_layer(row, claims);
  }
}

void show(const Plan& plan, const std::vector<Gate>& gates, Display& out) {
  const Rows all = rows_of(plan, out.records().front());
  out.skipped(all.skipped);
  if (!plan.flattened.empty()) {
    out.note("3-D tensors read as one matrix each, the first dimension by the other two: " +
             joined(plan.flattened) + "; pass --experts GLOB to read them as stacks of matrices.");
  }
  if (is_of_weights(plan)) return show_weights(all.rows, out);
  draw(all.rows, out);
  out.table(table_of(all));
  out.failed_gates(failed_gates(gates, all));
  add_notes(all.rows, out);
}

std::vector<Gate> gates_of(const FilesConfig& config) {
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
      if (!row.is_judged()) continue;
      judged.insert(row.name());
      if (matches_glob(gate.glob, row.name()) && gate.fails(row.ratio.ratio)) {
        out.push_back(row.name() + ": nr/st = " + short_number(row.ratio.ratio) +
                      (row.ratio.values > 1 ? ", " + pooled_over(row.ratio) : "") + " (" +
                      gate.text + ")");
      }
    }
    const auto not_judged = [&](const std::string& name) {
      if (matches_glob(gate.glob, name) && judged.insert(name).second)
        out.push_back(name + ": not judged (" + gate.text + ")");
    };
    for (const Row& row : rows.rows) not_judged(row.name());
    for (const Skipped& left_out : rows.skipped) not_judged(left_out.name);
  }
  return out;
}

}  // namespace ranklab::ranks
