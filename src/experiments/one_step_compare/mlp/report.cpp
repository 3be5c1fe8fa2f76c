#include <algorithm>
#include <functional>

#include "core/statistics.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "report/builder.hpp"

namespace ranklab::mlp {
namespace {

void add_scalars(ResultBuilder& out, const Plan& plan) {
  for (const Method& method : plan.methods) {
    for (const auto& name_of : {diverged_name, diverged_at_name, final_loss_name})
      out.scalar(name_of(method.name));
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      out.scalar(condition_share_name(method.name, l));
    if (method.name == gd) continue;
    out.scalar(early_ratio_name(method.name));
    out.scalar(final_ratio_name(method.name));
  }
  out.scalars({initial_phase_end, stable_rank_X});
  for (const char* matrix : {"A", "W"}) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) out.scalar(rank_name(matrix, l));
  }
}

void add_series(ResultBuilder& out, const Plan& plan) {
  for (const Method& method : plan.methods) {
    out.series(loss_name(method.name), "iteration");
    for (const auto& name_of : {stable_rank_name, nuclear_rank_name, ratio_name}) {
      for (std::size_t l = 1; l <= hidden_layers; ++l)
        out.series(name_of(method.name, l), "iteration", plan.iterations);
    }
  }
}

// Where the axis of the loss ends: losses below are as good as zero, and would flatten the rest.
constexpr double zero_loss = 1e-16;

// A quantity of every hidden layer: small multiples with one panel per layer.
struct LayerQuantity {
  std::string panel;          // its name in --panels
  std::string title;          // of a panel, without the layer
  std::string further_title;  // of the figure, if it is not the first one
  std::string y_label;
  LayerName series;
};
const LayerQuantity layer_quantities[] = {
    {"stable-rank", "Stable rank", "Stable ranks of the post-activations, by layer",
     "stable rank st(A)", stable_rank_name},
    {"nuclear-rank", "Nuclear rank", "Nuclear ranks of the gradients, by layer",
     "nuclear rank nr(G)", nuclear_rank_name},
    {"ratio", "Condition (1.8)",
     "Condition (1.8), by layer: a ratio above 1 favors the spectral step",
     "nr(G) / stable rank of the input", ratio_name},
};

std::string legend_label(const Method& method) {
  return method.name == gd       ? "gradient descent (GD)"
         : method.name == specgd ? "spectral descent (SpecGD)"
                                 : method.label;
}

// One curve per method. The trials are shown one by one, because some diverge and others stay far
// from the rest.
void add_curves(PanelBuilder& panel, const Plan& plan,
                const std::function<std::string(const std::string& method)>& series) {
  for (std::size_t i = 0; i < plan.methods.size(); ++i) {
    panel.curve(series(plan.methods[i].name), legend_label(plan.methods[i]),
                {.color = static_cast<int>(i), .band = BandKind::trials});
  }
}

void add_loss_panel(ResultBuilder& out, const Plan& plan) {
  const bool shows_trials = std::ranges::any_of(
      out.result().series, [](const Series& series) { return !series.trials.empty(); });
  PanelBuilder panel =
      out.panel(shows_trials ? "Training loss: median and seeds" : "Training loss", {"iteration"},
                with_floor(log_axis("mean squared error"), zero_loss));
  add_curves(panel, plan, loss_name);
}

void add_layer_panels(ResultBuilder& out, const Plan& plan, const LayerQuantity& quantity) {
  const bool is_ratio = quantity.panel == "ratio";
  for (std::size_t l = 1; l <= hidden_layers; ++l) {
    PanelBuilder panel =
        out.panel(quantity.title + ", layer " + std::to_string(l), {"iteration"},
                  is_ratio ? log_axis(quantity.y_label) : rank_axis(quantity.y_label));
    panel.group(quantity.panel);
    add_curves(panel, plan, [&](const std::string& method) { return quantity.series(method, l); });
    if (is_ratio) panel.line(1.0, "nr = st");
    if (quantity.panel != "stable-rank") continue;
    panel.line(summarize(scalars_of(out.records(), stable_rank_X)).mean, "st of input X")
        .line(static_cast<double>(plan.config.d), "d = " + std::to_string(plan.config.d));
  }
}

// A figure is one row: the small multiples of one quantity, possibly with the loss. Further
// quantities have their own figures.
void add_figures(ResultBuilder& out, const Plan& plan) {
  std::size_t columns = 0;
  bool has_quantity = false;
  for (const std::string& name : plan.config.panels) {
    if (name == "loss") {
      add_loss_panel(out, plan);
      columns += 1;
    } else {
      const LayerQuantity& quantity =
          *std::ranges::find(layer_quantities, name, &LayerQuantity::panel);
      if (has_quantity) {
        out.next_figure(quantity.further_title);
        columns = 0;
      }
      add_layer_panels(out, plan, quantity);
      has_quantity = true;
      columns += hidden_layers;
    }
    out.columns(columns);
  }
}

void note_divergence(ResultBuilder& out, const Method& method) {
  const Records& records = out.records();
  std::vector<std::string> trials;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].scalar(diverged_name(method.name)) == 0) continue;
    trials.push_back(std::to_string(i) + " (iteration " +
                     short_number(records[i].scalar(diverged_at_name(method.name))) + ")");
  }
  if (trials.empty()) return;
  out.diverged_where(diverged_name(method.name));
  out.note(method.label + " diverged in " + short_number(static_cast<double>(trials.size())) +
           " of " + std::to_string(records.size()) + " trials (counted from 0): " + joined(trials) +
           ". A trial diverges if its loss or a gradient is not finite, or its loss is above " +
           short_number(divergence_factor) +
           " times the initial loss. After a divergence, the curves are means over the other "
           "trials only and look better than they are.");
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("A four-layer network trained on x1 x2 x3: losses and ranks of each method",
                    records);
  out.claims().set_unit(Unit::training);
  add_scalars(out, plan);
  add_series(out, plan);
  judge(plan, records, out.claims());
  add_figures(out, plan);
  for (const Method& method : plan.methods) note_divergence(out, method);
  const std::string& dumped = plan.config.optimizer.front();
  if (!plan.config.dump.empty() && records.front().scalar(diverged_name(dumped)) != 0) {
    out.note("No files were written to --dump, because trial 0 of " + dumped + " diverged.");
  }
  return out.take();
}

}  // namespace ranklab::mlp
