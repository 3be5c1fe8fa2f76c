// Losses of the study gpt, and the looks of runs in panels that compare them.
#include <algorithm>

#include "experiments/one_step_compare/gpt/figure.hpp"

namespace ranklab::gpt {
namespace {

constexpr std::size_t most_runs = 4;  // with a curve each

int color_of(const Run& run, const Plan& plan) {
  return static_cast<int>(&run - plan.runs.data());
}

/// Adds the difference of the validation losses of two runs from early_steps on; before, the
/// learning rates still rise and the curves cross. Paired by seed, because losses of one seed
/// differ less than losses of two seeds.
void add_difference(ResultBuilder& out, const Run& run, const Run& base, const std::string& name) {
  std::vector<double> steps;
  const double first_step =
      std::min(early_steps, run.measured.back());  // only the end of a short run
  std::copy_if(run.measured.begin(), run.measured.end(), std::back_inserter(steps),
               [&](double t) { return t >= first_step; });
  const std::size_t first = run.measured.size() - steps.size();
  out.series(name, "step", steps, [&run, &base, first](const TrialRecord& record, std::size_t i) {
    const auto loss = [&](const Run& of) {
      return record.array(of.name + "." + validation_loss).at(first + i);
    };
    return loss(run) - loss(base);
  });
}

}  // namespace

CurveLook look(int color, LineStyle style) {
  return {.style = style, .color = color, .band = BandKind::trials};
}

CurveLook look_of(const Run& run, const Plan& plan) {
  return look(color_of(run, plan), run.is_main() ? LineStyle::line : LineStyle::dashed);
}

std::vector<const Run*> shown_runs(const Plan& plan) {
  std::vector<const Run*> comparable, main;
  for (const Run& run : plan.runs) {
    if (is_comparable(run, plan)) comparable.push_back(&run);
    if (run.is_main()) main.push_back(&run);
  }
  return comparable.size() <= most_runs ? comparable : main;
}

void draw_losses(ResultBuilder& out, const Plan& plan) {
  const std::vector<const Run*> shown = shown_runs(plan);
  PanelBuilder held_out = out.panel("Held-out loss", {"training step"}, log_axis("nats per token"));
  for (const Run* run : shown)
    held_out.curve(run->name + "." + validation_loss, figure_label(*run), look_of(*run, plan));
  const Run& base = plan.find("adam") ? *plan.find("adam") : plan.runs.front();
  PanelBuilder difference = out.panel("Held-out loss minus that of " + figure_label(base),
                                      {"training step"}, {"nats per token"});
  for (const Run& run : plan.runs) {
    if (&run == &base || !is_comparable(run, plan) || run.measured != base.measured) continue;
    const std::string name = run.name + ".validation_loss_difference";
    add_difference(out, run, base, name);
    if (std::count(shown.begin(), shown.end(), &run) > 0)
      difference.curve(name, figure_label(run), look_of(run, plan));
  }
  difference.line(0.0, figure_label(base));
}

void draw_final_differences(ResultBuilder& out, const Plan& plan) {
  std::vector<std::pair<const Run*, const Run*>> pairs;
  Axis names{""};
  for (const Run& run : plan.runs) {
    const Run* const adam = adam_for(run, plan);
    if (!adam) continue;
    pairs.emplace_back(&run, adam);
    names.ticks.push_back(tick_label(run));
  }
  PanelBuilder panel = out.panel("Final held-out loss minus Adam's with the same settings", names,
                                 {"nats per token"});
  for (const Run& first : plan.runs) {
    const std::string name = first.optimizer + ".final_validation_loss_difference";
    if (out.has_series(name)) continue;
    std::vector<double> x;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].first->optimizer == first.optimizer) x.push_back(static_cast<double>(i + 1));
    }
    if (x.empty()) continue;
    out.series(name, "run", x, [&](const TrialRecord& record, std::size_t i) {
      const auto& [run, adam] = pairs[static_cast<std::size_t>(x[i]) - 1];
      return final_loss(record, *run) - final_loss(record, *adam);
    });
    panel.curve(name, optimizer_label(first.optimizer),
                look(color_of(first, plan), LineStyle::points));
  }
  panel.line(0.0, "Adam");
}

namespace {

/// What Muon updates, for a tick: "inside layers", "and embedding", "as advised".
std::string grouping_label(const Run& run) {
  const std::vector<std::string>& on = run.config.spectral_on;
  const auto has = [&](const char* word) { return std::count(on.begin(), on.end(), word) > 0; };
  if (has(advice_word)) return "as advised";
  if (has(against_advice_word)) return "against it";
  return has("head") ? "everything" : has("embedding") ? "and embedding" : "inside layers";
}

std::string workload_label(const Changes& workload, const Plan& plan) {
  for (const Run& run : plan.runs) {
    if (workload_of(run) != workload) continue;
    const Config& c = run.config;
    return say("{} steps, {} of width {}", c.steps, counted(c.layers, "layer"), c.dim);
  }
  return "";
}

}  // namespace

void draw_advice_differences(ResultBuilder& out, const Plan& plan) {
  std::vector<Changes> workloads;
  for (const Run& run : plan.runs) {
    if (std::count(workloads.begin(), workloads.end(), workload_of(run)) == 0)
      workloads.push_back(workload_of(run));
  }
  out.columns(2);
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    std::vector<std::pair<const Run*, const Run*>> pairs;
    Axis names{"Muon on ..."};
    std::vector<double> x;
    for (const Run& run : plan.runs) {
      const Run* const adam = adam_for(run, plan);
      if (!adam || workload_of(run) != workloads[w]) continue;
      pairs.emplace_back(&run, adam);
      names.ticks.push_back(grouping_label(run));
      x.push_back(static_cast<double>(pairs.size()));
    }
    if (pairs.empty()) continue;
    const std::string name =
        "final_validation_loss_difference" + (w == 0 ? "" : "." + std::to_string(w + 1));
    out.series(name, "run", x, [pairs](const TrialRecord& record, std::size_t i) {
      return final_loss(record, *pairs[i].first) - final_loss(record, *pairs[i].second);
    });
    out.panel(workload_label(workloads[w], plan), names, {"final held-out loss minus Adam's, nats"})
        .curve(name, "", look(static_cast<int>(w), LineStyle::points))
        .line(0.0, "Adam");
  }
}

}  // namespace ranklab::gpt
