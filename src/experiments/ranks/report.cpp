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

using Scalars = std::vector<std::pair<std::string, double>>;

void add_scalars(ResultBuilder& out, const std::string& layer, const Scalars& values) {
  for (const auto& [name, value] : values)
    out.scalar(At("layer", layer) / name, std::vector<double>(out.records().size(), value));
}

void add_scalars(ResultBuilder& out, const Row& row) {
  const Pair& pair = row.pair();
  const std::string& name = row.name();
  add_scalars(out, name, {{"k", static_cast<double>(pair.k)}});
  if (pair.has_activation())
    add_scalars(out, name,
                {{"n", static_cast<double>(pair.n)}, {"stable_rank", row.mean(stable_rank_of)}});
  if (pair.has_gradient())
    add_scalars(out, name,
                {{"m", static_cast<double>(row.m())},
                 {"nuclear_rank", row.mean(nuclear_rank_of)},
                 {"gradient_stable_rank", row.mean(gradient_stable_rank_of)}});
  if (!row.is_judged()) return;
  add_scalars(out, name, {{"predicted_ratio", row.mean(ratio_of)}, {"ratio", row.ratio.ratio}});
  if (row.ratio.has_interval())
    add_scalars(out, name, {{"ratio_low", row.ratio.low}, {"ratio_high", row.ratio.high}});
}

std::string ratio_text(const PooledRatio& ratio) {
  const bool has_width = ratio.high - ratio.low > ratio_rounding * ratio.ratio;
  return short_number(ratio.ratio) +
         (has_width ? " (" + range_text(ratio.low, ratio.high) + ")" : "");
}

void judge(const Row& row, Claims& claims) {
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

void add_notes(ResultBuilder& out, const std::vector<Row>& rows) {
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
Result report_weights(const std::vector<Row>& rows, const TrialRecord& record, ResultBuilder& out) {
  Table table{{"layer", "m x k", "stored as", "st(W)", "nr(W)", "effective rank", "condition",
               "random st", "random nr"},
              {},
              ""};
  std::vector<double> x, effective, stable, nuclear;
  for (const Row& row : rows) {
    const Observation& one = row.all.front();
    const Ranks ranks = gradient_ranks(record, one.pair_index, one.layer_index);
    const auto m = static_cast<double>(row.m()), k = static_cast<double>(one.pair.k);
    const double random_st = random_stable_rank(m, k), random_nr = random_nuclear_rank(m, k);
    add_scalars(out, row.name(),
                {{"m", m},
                 {"k", k},
                 {"stable_rank", ranks.stable_rank},
                 {"nuclear_rank", ranks.nuclear_rank},
                 {"effective_rank", ranks.effective_rank},
                 {"condition", ranks.condition},
                 {"random_stable_rank", random_st},
                 {"random_nuclear_rank", random_nr}});
    table.rows.push_back({row.name(), std::to_string(row.m()) + " x " + std::to_string(one.pair.k),
                          one.pair.dtypes, short_number(ranks.stable_rank),
                          short_number(ranks.nuclear_rank), short_number(ranks.effective_rank),
                          short_number(ranks.condition), short_number(random_st),
                          short_number(random_nr)});
    x.push_back(static_cast<double>(x.size() + 1));
    stable.push_back(ranks.stable_rank);
    nuclear.push_back(ranks.nuclear_rank);
    effective.push_back(ranks.effective_rank);
  }
  out.series_of_points("stable_rank", "layer", x, stable);
  out.series_of_points("nuclear_rank", "layer", x, nuclear);
  out.series_of_points("effective_rank", "layer", x, effective);
  out.panel("Ranks of the weights", names_axis(rows), rank_axis("rank"))
      .curve("stable_rank", "stable rank st(W)", {LineStyle::bars, 1})
      .curve("nuclear_rank", "nuclear rank nr(W)", {LineStyle::bars, 0})
      .curve("effective_rank", "effective rank", {LineStyle::bars, 2});
  out.result().table = std::move(table);
  out.note(
      "The effective rank is exp(entropy) of the singular values divided by their sum. random st "
      "and random nr are those of a large matrix of this shape with independent normal entries.");
  return out.take();
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

Result report(const Plan& plan, const std::vector<Gate>& gates, const Records& records) {
  const bool weights = !plan.pairs.empty() && plan.pairs.front().is_weight;
  ResultBuilder out(weights ? "Spectra of weights" : "Ranks of activations and gradients", records);
  out.claims().set_unit(Unit::none);  // claims are about the given matrices, not a population
  const Rows all = rows_of(plan, records.front());
  out.result().skipped = all.skipped;
  if (!plan.flattened.empty()) {
    out.note("3-D tensors read as one matrix each, the first dimension by the other two: " +
             joined(plan.flattened) + "; pass --experts GLOB to read them as stacks of matrices.");
  }
  if (weights) return report_weights(all.rows, records.front(), out);
  for (const Row& row : all.rows) {
    add_scalars(out, row);
    if (row.is_judged()) judge(row, out.claims());
  }
  out.scalar("layers", std::vector<double>(records.size(), static_cast<double>(all.rows.size())));
  draw(out, all.rows);
  out.result().table = table_of(all);
  out.result().failed_gates = failed_gates(gates, all);
  add_notes(out, all.rows);
  return out.take();
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
