#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "report/figure/builder.hpp"

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

constexpr LineStyle style_of_layer[hidden_layers] = {LineStyle::line, LineStyle::dashed,
                                                     LineStyle::dotted};

// One panel. Colors distinguish methods, line styles layers.
void add_panel(ResultBuilder& out, const Plan& plan, const std::string& panel) {
  const std::vector<Method>& methods = plan.methods;
  const auto of_layers = [&](const std::string& title, const std::string& y, auto name_of) {
    PanelBuilder built = out.panel(title, {"iteration"}, log_axis(y));
    for (std::size_t i = 0; i < methods.size(); ++i) {
      for (std::size_t l = 1; l <= hidden_layers; ++l) {
        built.curve(name_of(methods[i].name, l), methods[i].label + ", layer " + std::to_string(l),
                    {style_of_layer[l - 1], static_cast<int>(i)});
      }
    }
    return built;
  };
  if (panel == "loss") {
    PanelBuilder built = out.panel("Training loss", {"iteration"}, log_axis("mean squared error"));
    for (std::size_t i = 0; i < methods.size(); ++i) {
      built.curve(loss_name(methods[i].name), methods[i].label,
                  {LineStyle::line, static_cast<int>(i)});
    }
  }
  if (panel == "stable-rank") {
    of_layers("Stable rank of the post-activations", "st(A)", stable_rank_name)
        .line(summarize(scalars_of(out.records(), stable_rank_X)).mean, "st(X)")
        .line(static_cast<double>(plan.config.d), "d");
  }
  if (panel == "nuclear-rank")
    of_layers("Nuclear rank of the gradients", "nr(G)", nuclear_rank_name);
  if (panel == "ratio") {
    of_layers("Condition (1.8): a ratio above 1 favors the spectral step",
              "nr(G) / st of the layer's input", ratio_name)
        .line(1.0, "nr = st");
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
  for (const std::string& panel : plan.config.panels) add_panel(out, plan, panel);
  for (const Method& method : plan.methods) note_divergence(out, method);
  const std::string& dumped = plan.config.optimizer.front();
  if (!plan.config.dump.empty() && !records.empty() &&
      records.front().scalar(diverged_name(dumped)) != 0) {
    out.note("No files were written to --dump, because trial 0 of " + dumped + " diverged.");
  }
  return out.take();
}

}  // namespace ranklab::mlp
