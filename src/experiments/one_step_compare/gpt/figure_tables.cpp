// Tables of the study gpt: Table 2, losses after training, violations of condition (1.8).
#include <algorithm>
#include <cmath>

#include "experiments/one_step_compare/gpt/claims.hpp"
#include "experiments/one_step_compare/gpt/figure.hpp"
#include "report/figure/cell_text.hpp"
#include "report/figure/text.hpp"

namespace ranklab::gpt {
namespace {

/// The changes of a run, without what is the optimizer's own: its learning rate and its matrices.
Changes shared_changes(const Run& run) {
  return changes_without(run, [](const std::string& key) {
    return key == "spectral-on" || (key.starts_with("lr-") && key != "lr-embedding");
  });
}

std::string in_percent(std::vector<double> values) {
  for (double& value : values) value *= 100;
  return ranklab::mean_text(values);
}

bool is_measured(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

/// The final held-out loss of a run minus that of another, in each trial: losses of one seed differ
/// less than losses of two seeds.
std::vector<double> final_differences(const Records& records, const Run& run, const Run& base) {
  return per_trial(records, [&](const TrialRecord& record) {
    return final_loss(record, run) - final_loss(record, base);
  });
}

/// [Spectral] Table 2, as printed.
struct PrintedLosses {
  double adam, on_W2, muon, share;
};
constexpr PrintedLosses printed_without_gate = {3.9242, 3.7023, 3.5654, printed_plain},
                        printed_with_gate = {3.8837, 3.7843, 3.5125, printed_gated};

std::vector<std::string> printed_cells(const PrintedLosses& printed) {
  std::vector<std::string> out;
  for (const double number : {printed.adam, printed.on_W2, printed.muon,
                              printed.adam - printed.on_W2, printed.adam - printed.muon})
    out.push_back(digits_of(number, std::chars_format::fixed, 4));
  out.push_back(number_text(100 * printed.share));
  return out;
}

std::vector<std::string> measured_cells(const Plan& plan, const Records& records, Changes changes,
                                        const Share& share) {
  const Run *const adam = plan.find("adam", changes), *const muon = plan.find("muon", changes);
  changes.emplace_back("spectral-on", "W2");
  const Run* const on_W2 = plan.find("muon", changes);
  std::vector<std::string> out;
  for (const Run* run : {adam, on_W2, muon})
    out.push_back(
        run ? ranklab::mean_text(scalars_of(records, run->name + "." + final_validation_loss))
            : "not run");
  for (const Run* run : {on_W2, muon})
    out.push_back(run && adam ? ranklab::mean_text(final_differences(records, *adam, *run))
                              : "not run");
  out.push_back(share.per_trial.empty()  ? "not run"
                : !share.missing.empty() ? "undefined"
                                         : in_percent(share.per_trial));
  return out;
}

}  // namespace

bool is_comparable(const Run& run, const Plan& plan) {
  const Config &a = run.config, &b = plan.config;
  return a.dim == b.dim && a.layers == b.layers && a.steps == b.steps;
}

const Run* adam_for(const Run& run, const Plan& plan) {
  if (run.optimizer == "adam") return nullptr;
  for (const auto& kept : {shared_changes, workload_of}) {
    const auto found = std::find_if(plan.runs.begin(), plan.runs.end(), [&](const Run& other) {
      return other.optimizer == "adam" && kept(other) == kept(run);
    });
    if (found != plan.runs.end()) return &*found;
  }
  return nullptr;
}

void add_advice_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      "Matrices that the advice puts on a spectral step, from Adam with each run's learning rates "
      "(mean over seeds)",
      {"run"},
      {}};
  const std::vector<std::string> blocks = hidden_blocks(plan.runs.front());
  table.columns.insert(table.columns.end(), blocks.begin(), blocks.end());
  for (const Run& run : plan.runs) {
    if (!run.follows_advice() || hidden_blocks(run) != blocks) continue;
    std::vector<std::string> cells = {figure_label(run)};
    for (const std::string& block : blocks) {
      cells.push_back(
          short_number(
              summarize(scalars_of(out.records(), run.name + "." + advised_of(block))).mean) +
          " of " + std::to_string(run.config.layers));
    }
    table.rows.push_back(std::move(cells));
  }
  out.figure_table(std::move(table));
}

void add_loss_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      "Held-out loss after training, nats per token",
      {"run", "loss (\u00B1 99 %)", "minus Adam's with the same settings (\u00B1 99 %)"},
      {}};
  for (const Run& run : plan.runs) {
    const Run* const adam = adam_for(run, plan);
    if (!is_comparable(run, plan) && !follows_advice(plan)) continue;
    table.rows.push_back(
        {figure_label(run),
         ranklab::mean_text(scalars_of(out.records(), run.name + "." + final_validation_loss)),
         adam ? ranklab::mean_text(final_differences(out.records(), run, *adam)) : ""});
  }
  out.figure_table(std::move(table));
}

void add_violation_table(ResultBuilder& out, const Plan& plan) {
  FigureTable table{
      "Cases with nr(G) < st, of all matrices inside the layers at all measured steps",
      {"run"},
      {}};
  for (const Run& run : plan.runs) {
    if (is_comparable(run, plan)) table.rows.push_back({figure_label(run)});
  }
  for (const auto& [scalar, when] :
       {std::pair(violations_early, "before step 32"), {violations, "from step 32 on"}}) {
    std::vector<std::vector<double>> shares;
    for (const Run& run : plan.runs) {
      if (is_comparable(run, plan))
        shares.push_back(scalars_of(out.records(), run.name + "." + scalar));
    }
    if (std::none_of(shares.begin(), shares.end(), is_measured)) continue;
    table.columns.push_back(std::string(when) + ", % (\u00B1 99 %)");
    for (std::size_t i = 0; i < shares.size(); ++i)
      table.rows[i].push_back(is_measured(shares[i]) ? in_percent(shares[i]) : "not measured");
  }
  if (table.columns.size() > 1) out.figure_table(std::move(table));
}

bool add_table_2(ResultBuilder& out, const Plan& plan) {
  if (out.records().empty()) return false;
  const Table2 shares = table_2(plan, out.records());
  if (shares.plain.per_trial.empty() && shares.gated.per_trial.empty()) return false;
  FigureTable table{
      "Table 2: held-out loss, nats per token (printed: 160 million parameters, FineWeb)",
      {"", "not gated, printed", "not gated, measured (\u00B1 99 %)", "gated, printed",
       "gated, measured (\u00B1 99 %)"},
      {{"Adam"},
       {"Muon on W2 only"},
       {"Muon on attention and MLP"},
       {"gain of Muon on W2 only over Adam"},
       {"gain of Muon on attention and MLP over Adam"},
       {"share of this gain from W2 only, %"}}};
  const Records& records = out.records();
  for (const std::vector<std::string>& cells :
       {printed_cells(printed_without_gate), measured_cells(plan, records, {}, shares.plain),
        printed_cells(printed_with_gate),
        measured_cells(plan, records, {{"activation", "swiglu"}}, shares.gated)}) {
    for (std::size_t i = 0; i < cells.size(); ++i) table.rows[i].push_back(cells[i]);
  }
  out.figure_table(std::move(table));
  return true;
}

}  // namespace ranklab::gpt
