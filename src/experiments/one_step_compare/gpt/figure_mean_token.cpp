// The figure of runs with and without the mean token.
#include <cmath>

#include "experiments/one_step_compare/gpt/claims.hpp"
#include "experiments/one_step_compare/gpt/figure.hpp"
#include "report/figure/cell_text.hpp"

namespace ranklab::gpt {
namespace {

std::vector<const Run*> halves(const Plan& plan) {
  std::vector<const Run*> out;
  for (const std::string optimizer : {"adam", "muon"}) {
    const MeanTokenPair pair = plan.mean_token_pair(optimizer);
    if (pair) out.insert(out.end(), {pair.kept, pair.removed});
  }
  return out;
}

/// Geometric means over layers and steps, arithmetic means over trials.
void add_mean_token_table(ResultBuilder& out, const std::vector<const Run*>& runs) {
  FigureTable table{"With and without the mean token, means from step 32 on (\u00B1 99 %)",
                    {"run", "st of A and Am", "nr(G)", "nr/st", "polar(G) over G, same batch",
                     "polar(G) over G, other batch", "final held-out loss, nats per token"},
                    {}};
  for (const Run* run : runs) {
    const RunRecords view(*run, out.records());
    const auto cell = [&](const auto& log_of) {
      return ranklab::mean_text(per_trial(
          out.records(), [&](const TrialRecord& record) { return std::exp(log_of(record)); }));
    };
    const auto ranks = [&](const std::vector<std::string>& names) {
      return cell([&](const TrialRecord& record) { return mean_log(view, record, names); });
    };
    const auto advantage = [&](const char* what) {
      if (one_step_points(*run, false).empty()) return std::string("not measured");
      return cell(
          [&](const TrialRecord& record) { return mean_log_advantage(view, record, what); });
    };
    table.rows.push_back(
        {figure_label(*run), ranks(input_ranks()), ranks(gradient_ranks(*run)),
         ranks(rank_ratios(*run)), advantage(batch_ratio), advantage(independent_ratio),
         ranklab::mean_text(scalars_of(out.records(), run->name + "." + final_validation_loss))});
  }
  out.figure_table(std::move(table));
}

}  // namespace

bool draw_mean_token(ResultBuilder& out, const Plan& plan) {
  const std::vector<const Run*> runs = halves(plan);
  if (runs.empty()) return false;
  if (!out.records().empty()) add_mean_token_table(out, runs);
  out.columns(2);
  const struct {
    const char* title;
    std::string what, y_label;
  } panels[] = {{"Input A of attention, mean over layers", stable_rank_of("A"), "stable rank"},
                {"Input Am of the net, mean over layers", stable_rank_of("Am"), "stable rank"},
                {"Gradient of W1, mean over layers", nuclear_rank_of("W1"), "nuclear rank"}};
  for (const auto& [title, what, y_label] : panels) {
    PanelBuilder panel = out.panel(title, {"training step"}, rank_axis(y_label));
    for (const Run* run : runs)
      panel.curve(run->name + ".mean." + what, figure_label(*run), look_of(*run, plan));
    panel.group("mean token");
  }
  PanelBuilder loss = out.panel("Held-out loss", {"training step"}, log_axis("nats per token"));
  for (const Run* run : runs)
    loss.curve(run->name + "." + validation_loss, figure_label(*run), look_of(*run, plan));
  return true;
}

}  // namespace ranklab::gpt
