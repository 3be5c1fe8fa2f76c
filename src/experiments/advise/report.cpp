#include "experiments/advise/report.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/advise/validation.hpp"
#include "report/result_json.hpp"

namespace ranklab::advise {
namespace {

void add_scalars(ResultBuilder& out, const Rows& all) {
  const auto add = [&](const std::string& name, auto value) {
    out.scalar(name, std::vector<double>(out.records().size(), static_cast<double>(value)));
  };
  for (const Row& row : all.rows) {
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
    if (row.is_judged()) {
      add(name + ".predicted_ratio", row.mean(&Observation::ratio));
      add(name + ".ratio", row.ratio.ratio);
      if (row.ratio.has_interval()) {
        add(name + ".ratio_low", row.ratio.low);
        add(name + ".ratio_high", row.ratio.high);
      }
    }
    if (row.has_predicted_steps()) {
      const auto add_pooled = [&](const std::string& of, const PooledRatio& value) {
        add(name + "." + of, value.ratio);
        if (!value.has_interval()) return;
        add(name + "." + of + "_low", value.low);
        add(name + "." + of + "_high", value.high);
      };
      add_pooled("advantage", row.advantage);
      for (std::size_t d = 0; d < directions; ++d) {
        const auto direction = static_cast<Direction>(d);
        if (!row.has_direction(direction)) continue;
        add_pooled(name_of(direction) + ".decrease", row.decrease_of(direction));
        add_pooled(name_of(direction) + ".length", row.length_of(direction));
      }
    }
    if (row.joined.size() == 1 && !row.has_steps())
      add(name + ".joined_ratio", row.ratio_by_step().begin()->second);
  }
  add("layers", all.rows.size());
  add("layers_spectral", all.count(Settled::spectral));
  add("layers_undecided", all.count(Settled::nothing));
  add("layers_euclidean", all.count(Settled::euclidean));
}

void judge(const Row& row, Claims& claims) {
  const Statement eq_1_8 =
      beyond(Statement{"spectral/eq-1.8", row.name() + "/eq-1.8", "Section 1.2.1, eq. (1.8)",
                       "nr(G) >= st(A): one spectral step guarantees at least as large a decrease "
                       "of the loss as one Euclidean step"});
  const PooledRatio& ratio = row.ratio;
  const std::string text = "nr/st = " + row.advice().ratio + ": " +
                           std::string(comparison_of(advantage_of(ratio.ratio)));
  if (!ratio.has_interval() && drawing_hides(row))
    return claims.not_applicable(
        eq_1_8, text + "; with the stable rank of all samples, not of those drawn at random, " +
                    "nr/st may be below 1");
  if (!ratio.has_interval())
    return claims.number(eq_1_8, ratio.ratio, at_least(1.0), text, ratio_rounding);
  claims.interval(
      eq_1_8, {ratio.ratio, ratio.low, ratio.high, confidence_level, ratio.values, ratio.degrees},
      at_least(1.0 - ratio_rounding), clauses(pooled_over(ratio), text));
}

std::string with_interval(const PooledRatio& value) {
  return short_number(value.ratio) +
         (value.has_interval() ? " (" + range_text(value.low, value.high) + ")" : "");
}

Table table_of(const Rows& all) {
  Table table{{"layer", "m x k", "n", "stored as", "st(A)", "nr(G)", "nr/st", "(1.8)"}, {}, ""};
  const bool predicts = std::any_of(all.rows.begin(), all.rows.end(), [](const Row& row) {
    return row.is_judged() && row.has_predicted_steps();
  });
  if (predicts) table.columns.insert(table.columns.end(), {"polar/G", "length"});
  table.columns.push_back("advice");
  const auto rank_cell = [](double rank, std::uint64_t limit) {
    return std::isnan(rank) ? "-" : short_number(rank) + " of " + std::to_string(limit);
  };
  for (const Row& row : all.rows) {
    const Pair& pair = row.pair();
    const std::string m = pair.has_gradient() ? std::to_string(row.m()) : "?",
                      n = !pair.has_activation() ? "?"
                          : pair.drawn == 0
                              ? std::to_string(pair.n)
                              : std::to_string(pair.drawn) + " of " + std::to_string(pair.n);
    std::vector<std::string> cells = {
        row.name(),
        m + " x " + std::to_string(pair.k),
        n,
        pair.dtypes,
        rank_cell(row.mean(&Observation::stable_rank), row.stable_rank_limit()),
        rank_cell(row.mean(&Observation::nuclear_rank), row.nuclear_rank_limit())};
    Advice advice{Settled::nothing, "-", "-",
                  pair.has_gradient() ? "not judged: no activation" : "not judged: no gradient"};
    if (row.is_judged()) advice = row.advice();
    cells.insert(cells.end(), {advice.ratio, advice.verdict});
    if (predicts && row.is_judged() && row.has_predicted_steps()) {
      cells.insert(cells.end(), {with_interval(row.advantage),
                                 short_number(row.length_of(Direction::polar).ratio)});
    } else if (predicts) {
      cells.insert(cells.end(), {"-", "-"});
    }
    cells.push_back(advice.text);
    table.rows.push_back(std::move(cells));
  }
  table.summary = "Muon " + std::to_string(all.count(Settled::spectral)) + ", either " +
                  std::to_string(all.count(Settled::nothing)) + ", Euclidean " +
                  std::to_string(all.count(Settled::euclidean)) + ", not judged " +
                  std::to_string(all.not_judged);
  return table;
}

/// What the curvature predicts, and how many layers the intervals tell apart.
void add_notes_on_steps(ResultBuilder& out, const std::vector<Row>& rows) {
  double known = 0, spectral = 0, pairs = 0, apart = 0;
  for (const Row& row : rows) {
    if (!row.is_judged()) continue;
    if (row.has_predicted_steps()) {
      known += 1;
      spectral += row.advantage.ratio > 1;
    }
    for (const Row& other : rows) {
      if (&other == &row) break;
      if (!other.is_judged() || !row.ratio.has_interval() || !other.ratio.has_interval()) continue;
      pairs += 1;
      apart += row.ratio.low > other.ratio.high || other.ratio.low > row.ratio.high;
    }
  }
  if (known > 0) {
    out.note(
        "polar/G compares the best steps along the polar factor and along the gradient: the "
        "decrease of the loss along one over that along the other, by the curvature of the layer "
        "(second moments of its inputs and of its output gradients, as in K-FAC). length is the "
        "best length t of the step W - t polar(G). The prediction is for the recorded batch; on "
        "another batch both steps gain less. It favors the polar factor in " +
        count_text(spectral) + " of " + plural(static_cast<std::size_t>(known), "layer") + ".");
  }
  if (pairs > 0) {
    out.note("nr/st tells " + count_text(apart) + " of " +
             plural(static_cast<std::size_t>(pairs), "pair") +
             " of layers apart: their 99 % intervals do not overlap.");
  }
}

void add_validation(ResultBuilder& out, const std::vector<Row>& rows) {
  const Validation validation = validate(rows);
  for (const auto& [name, score] : {std::pair("polar_is_better", validation.spectral_is_better),
                                    {"right_by_ratio", validation.right_by_ratio},
                                    {"right_by_curvature", validation.right_by_curvature},
                                    {"order_by_ratio", validation.order_by_ratio},
                                    {"order_by_curvature", validation.order_by_curvature},
                                    {"decrease_kept", validation.kept},
                                    {"best_length", validation.length}}) {
    const auto add = [&, place = "validation." + std::string(name)](const std::string& ending,
                                                                    double value) {
      out.scalar(place + ending, std::vector<double>(out.records().size(), value));
    };
    add("", score.values.mean);
    if (!std::isfinite(score.half_width())) continue;
    add("_low", score.values.mean - score.half_width());
    add("_high", score.values.mean + score.half_width());
  }
  for (const std::string& sentence : sentences_of(validation)) out.note(validated + sentence);
}

AdvisedLayer advised(const Row& row) {
  AdvisedLayer out{row.name(),
                   row.pair().role,
                   std::string(word_for(row.advice().settled)),
                   static_cast<double>(row.m()),
                   static_cast<double>(row.pair().k),
                   static_cast<double>(row.pair().n),
                   row.mean(&Observation::stable_rank),
                   row.mean(&Observation::nuclear_rank),
                   row.ratio.ratio,
                   row.ratio.has_interval() ? row.ratio.low : undefined,
                   row.ratio.has_interval() ? row.ratio.high : undefined,
                   {}};
  for (std::size_t d = 0; row.has_predicted_steps() && d < directions; ++d) {
    const auto direction = static_cast<Direction>(d);
    if (row.has_direction(direction))
      out.steps.push_back(
          {name_of(direction), row.decrease_of(direction).ratio, row.length_of(direction).ratio});
  }
  return out;
}

// If one eigenvalue of the second moment is far above the others, N samples make it too large by
// about st/N of itself (second-order perturbation); for the largest error see
// least_share_of_ratio().
void add_note_on_drawn_samples(ResultBuilder& out, const std::vector<Row>& rows) {
  std::size_t layers = 0;
  double usual = 0, most = 0;
  for (const Row& row : rows) {
    if (!row.is_judged() || row.pair().drawn == 0) continue;
    layers += 1;
    const double share = row.least_share_of_ratio(), part = std::pow(1 - std::sqrt(share), 2);
    usual = std::max(usual, part / (1 - part));
    most = std::max(most, 1 / share - 1);
  }
  if (layers == 0) return;
  const auto larger = [](double by) {
    return std::isfinite(by) ? percent(by) : std::string("an unknown share");
  };
  out.note(
      "In " + plural(layers, "layer") +
      " st(A) is that of N samples drawn at random. That of all samples is larger: by about " +
      larger(usual) +
      " in the worst layer if one eigenvalue is much larger than the others, as usual, and by up "
      "to " +
      larger(most) +
      " if all are equal. nr/st is too high by as much. The intervals and the advice allow for "
      "it.");
}

void add_notes(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto any = [&](const auto& condition) {
    return std::any_of(rows.begin(), rows.end(), condition);
  };
  if (any([](const Row& row) { return row.is_judged(); })) {
    out.note(
        "nr(G)/st(A) is the ratio of the decreases of the loss that one spectral step and one "
        "Euclidean step guarantee, each with the step length of its own guarantee. For least "
        "squares in one layer and these lengths, the spectral step is ahead if the ratio is at "
        "least 2, and the Euclidean step if it is at most 1/2. With the best length along each "
        "direction the order may be another. In a network, this holds for the quadratic model of "
        "that layer.");
    out.note(
        "The ratio ignores momentum, Adam's per-entry scaling, the Newton-Schulz iteration that "
        "replaces the exact polar factor, and later steps.");
    out.note(
        "Mini-batch noise has high rank and raises nr(G): use a batch as large as in training, or "
        "average gradients, and use the activations of the same batch and step.");
    add_note_on_drawn_samples(out, rows);
    std::vector<std::string> kept;
    for (const Row& row : rows) {
      if (row.is_judged() && is_kept_euclidean(row.pair().role)) kept.push_back(row.name());
    }
    out.note(
        "The paper keeps Euclidean steps for the first and the last layer, embeddings and the "
        "output head, whatever the ratio" +
        (kept.empty() ? "." : "; here: " + ranklab::joined(kept) + "."));
    if (any([](const Row& row) { return row.ratio.has_interval(); })) {
      out.note(
          "nr/st is the geometric mean over the steps, at each step of all batches joined (their "
          "samples and their mean gradient). Its 99 % interval is from the spread over the steps, "
          "or over the batches of the only step. Few values tell little about their spread, so the "
          "mean variance of the other layers counts as three further values. A layer gets Muon "
          "(or a Euclidean step) if nr/st is at least 2 (at most 1/2) and the interval does not "
          "contain 1. With two values the inequality (1.8) is undecided, as every claim with fewer "
          "than three. The steps of one training resemble each other, so the interval is about "
          "this "
          "training; another one can differ by more.");
    }
    if (any([](const Row& row) { return row.is_judged() && !row.ratio.has_interval(); })) {
      out.note(
          "One batch at one step has no interval: ratios can change by a factor of 2 or more "
          "from step to step. Record several steps and batches.");
    }
  }
  if (any([](const Row& row) { return !row.pair().has_gradient(); })) {
    out.note("Activations without a gradient: st(A) only, no verdict.");
  }
  if (any([](const Row& row) { return !row.pair().has_activation(); })) {
    out.note("Gradients without an activation: nr(G) only, no verdict.");
  }
}

}  // namespace

Result report(const Plan& plan, const std::vector<Gate>& gates, bool validates,
              const Records& records) {
  const bool weights = !plan.pairs.empty() && plan.pairs.front().is_weight;
  ResultBuilder out(weights ? "Spectra of weights" : "Which layers should get a spectral step?",
                    records);
  out.claims().set_unit(Unit::none);  // claims are about the given matrices, not a population
  const Rows all = rows_of(plan, records.front());
  out.result().skipped = all.skipped;
  if (!plan.flattened.empty()) {
    out.note("3-D tensors read as one matrix each, the first dimension by the other two: " +
             joined(plan.flattened) + "; pass --experts GLOB to read them as stacks of matrices.");
  }
  if (weights) return report_weights(all, records.front(), out);
  add_scalars(out, all);
  draw(out, all.rows);
  for (const Row& row : all.rows) {
    if (!row.is_judged()) continue;
    judge(row, out.claims());
    out.result().advice.push_back(advised(row));
  }
  out.result().table = table_of(all);
  out.result().failed_gates = failed_gates(gates, all);
  add_notes(out, all.rows);
  add_notes_on_steps(out, all.rows);
  if (validates) add_validation(out, all.rows);
  return out.take();
}

}  // namespace ranklab::advise
