#include "experiments/one_step_compare/mlp/figure.hpp"

#include <cmath>

#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab::mlp {
namespace {

LineStyle style_of(std::size_t method) {
  return method == 0 ? LineStyle::line : method == 1 ? LineStyle::dashed : LineStyle::dotted;
}

using NameOf = std::string (*)(const std::string& method, std::size_t layer);

void add_curves(Panel& panel, const MlpConfig& config, NameOf name_of) {
  const std::vector<Method> all = methods(config);
  for (std::size_t l = 1; l <= hidden_layers; ++l)
    for (std::size_t i = 0; i < all.size(); ++i)
      panel.curves.push_back(
          {name_of(all[i].name, l), all[i].label + ", layer " + std::to_string(l), style_of(i), static_cast<int>(l - 1)});
}

Panel loss_panel(const MlpConfig& config) {
  Panel panel{"Training loss", {"iteration"}, {"mean squared error", Scale::log}, {}, {}};
  const std::vector<Method> all = methods(config);
  for (std::size_t i = 0; i < all.size(); ++i)
    panel.curves.push_back({all[i].name + ".loss", all[i].label, style_of(i), static_cast<int>(i)});
  return panel;
}

Panel stable_rank_panel(const MlpConfig& config, const std::vector<TrialRecord>& records) {
  Panel panel{"Stable rank of the post-activations", {"iteration"}, {"st(A)", Scale::log}, {}, {}};
  add_curves(panel, config, stable_rank_name);
  const double of_X = summarise(scalars_of(records, "X.stable_rank")).mean;
  if (std::isfinite(of_X)) panel.lines.push_back({of_X, "st(X)"});
  panel.lines.push_back({static_cast<double>(config.d), "d"});
  return panel;
}

Panel nuclear_rank_panel(const MlpConfig& config) {
  Panel panel{"Nuclear rank of the gradients", {"iteration"}, {"nr(G)", Scale::log}, {}, {}};
  add_curves(panel, config, nuclear_rank_name);
  return panel;
}

Panel ratio_panel(const MlpConfig& config) {
  Panel panel{"Condition (1.8): above 1 a spectral step promises more",
              {"iteration"},
              {"nr(G) / st of the layer's input", Scale::log},
              {},
              {}};
  add_curves(panel, config, ratio_name);
  panel.lines.push_back({1.0, "nr = st"});
  return panel;
}

}  // namespace

Figure figure(const MlpConfig& config, const std::vector<TrialRecord>& records) {
  Figure out;
  for (const std::string& name : config.panels) {
    if (name == "loss") out.panels.push_back(loss_panel(config));
    if (name == "stable-rank") out.panels.push_back(stable_rank_panel(config, records));
    if (name == "nuclear-rank") out.panels.push_back(nuclear_rank_panel(config));
    if (name == "ratio") out.panels.push_back(ratio_panel(config));
  }
  return out;
}

}  // namespace ranklab::mlp
