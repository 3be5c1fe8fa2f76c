#include "experiments/one_step_compare/mlp_init/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fits.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab {
namespace {

using mlp::hidden_layers;
using Records = std::vector<TrialRecord>;
constexpr double infinity = std::numeric_limits<double>::infinity();

// "Grows" and "essentially constant" are judged by the exponent e of a power law n^e: a stable rank that grows by less than a
// tenth where n doubles (e = 0.14) counts as constant. Values of n below which no fit is made.
constexpr double constant_margin = 0.14;
constexpr std::size_t fewest_n = 3;

std::string layer_name(const MlpInitNet& net, std::size_t layer) {
  return net.prefix + "layer" + std::to_string(layer);
}

std::vector<double> sizes(const MlpInitConfig& config) {
  const std::vector<std::uint64_t> n = ascending_n(config);
  return {n.begin(), n.end()};
}

/// Exponent of st(A_l) as a power of n, one for each trial; NaN for fewer values of n than a fit needs.
std::vector<double> exponents(const MlpInitConfig& config, const Records& records, const std::string& layer) {
  std::vector<double> out;
  for (const TrialRecord& record : records) {
    const std::vector<double>& ranks = record.array(layer + ".stable_rank");
    out.push_back(ranks.size() < fewest_n ? std::nan("") : fit_power(sizes(config), ranks).slope);
  }
  return out;
}

/// st(A_l) at the largest n over the width, its largest possible value there.
std::vector<double> shares_of_width(const MlpInitConfig& config, const Records& records, const std::string& layer) {
  const double largest = std::min(static_cast<double>(config.width), sizes(config).back());
  std::vector<double> out;
  for (const TrialRecord& record : records) out.push_back(record.array(layer + ".stable_rank").back() / largest);
  return out;
}

std::string growth_text(const MlpInitConfig& config, const Records& records, const std::string& layer) {
  const Series ranks = series_over_trials("", "", sizes(config), arrays_of(records, layer + ".stable_rank"));
  return "exponent of n; mean stable rank " + short_number(ranks.mean.front()) + " at n = " + short_number(ranks.x.front()) + ", " +
         short_number(ranks.mean.back()) + " at n = " + short_number(ranks.x.back());
}

void add_growth_claim(Result& result, const MlpInitConfig& config, const Records& records, const MlpInitNet& net,
                      std::size_t layer) {
  const std::string name = layer_name(net, layer), of_layer = "of layer " + std::to_string(layer);
  const bool gated = net.activation == "swiglu", squared = net.activation == "relu2";
  if (!gated && !squared) return;  // the paper says nothing of others
  const std::string id = "spectral/fig-17/" + net.activation + "/layer" + std::to_string(layer) + (gated ? "/grows" : "/constant");
  const std::string statement = gated ? "with SwiGLU the stable rank " + of_layer + " at initialisation grows with the batch size"
                                      : "with squared ReLU the stable rank " + of_layer + " stays essentially constant";
  if (sizes(config).size() < fewest_n) {
    result.claims.push_back(not_applicable(id, "Figure 17", statement, "needs three values of --n or more"));
    return;
  }
  result.claims.push_back(judge_mean(id, "Figure 17", statement, exponents(config, records, name),
                                     gated ? constant_margin : -infinity, gated ? infinity : constant_margin,
                                     growth_text(config, records, name)));
}

// "Towards their ambient dimension": at least half of it at the figure's largest n.
void add_ambient_claim(Result& result, const MlpInitConfig& config, const Records& records, const MlpInitNet& net,
                       std::size_t layer) {
  if (net.activation != "swiglu") return;
  const std::string name = layer_name(net, layer), n = short_number(sizes(config).back());
  const std::string id = "spectral/fig-17/swiglu/layer" + std::to_string(layer) + "/ambient-dimension";
  const std::string statement = "with SwiGLU the stable rank of layer " + std::to_string(layer) +
                                " grows towards the ambient dimension: it has reached half of it at the largest batch";
  if (sizes(config).back() < 8 * static_cast<double>(config.width)) {
    result.claims.push_back(not_applicable(id, "Figure 17", statement, "the largest --n is below 8 times the width"));
    return;
  }
  result.claims.push_back(judge_mean(id, "Figure 17", statement, shares_of_width(config, records, name), 0.5, infinity,
                                     "share of the width " + std::to_string(config.width) + " at n = " + n));
}

std::string title_of(const std::string& activation) {
  return activation == "swiglu" ? "SwiGLU" : activation == "relu2" ? "Squared ReLU" : activation;
}

Panel panel_of(const MlpInitNet& net) {
  Panel panel{
      title_of(net.activation) + ": st at initialisation", {"batch size n", Scale::log}, {"stable rank", Scale::log}, {}, {}};
  for (std::size_t l = 1; l <= hidden_layers; ++l)
    panel.curves.push_back(
        {layer_name(net, l) + ".stable_rank", "layer " + std::to_string(l), LineStyle::line_points, static_cast<int>(l - 1)});
  panel.curves.push_back({"X.stable_rank", "input X", LineStyle::dotted, 3});
  return panel;
}

}  // namespace

Result mlp_init_result(const MlpInitConfig& config, const Records& records) {
  Result result;
  result.title = "Stable rank of post-activations at initialisation over the batch size";
  const std::vector<double> n = sizes(config);
  for (const MlpInitNet& net : mlp_init_nets(config)) {
    for (std::size_t l = 1; l <= hidden_layers; ++l) {
      const std::string layer = layer_name(net, l);
      result.series.push_back(series_over_trials(layer + ".stable_rank", "n", n, arrays_of(records, layer + ".stable_rank")));
      result.scalars.push_back({layer + ".exponent", exponents(config, records, layer)});
      result.scalars.push_back({layer + ".share_of_width", shares_of_width(config, records, layer)});
      add_growth_claim(result, config, records, net, l);
      add_ambient_claim(result, config, records, net, l);
    }
    result.figure.panels.push_back(panel_of(net));
  }
  result.series.push_back(series_over_trials("X.stable_rank", "n", n, arrays_of(records, "X.stable_rank")));
  return result;
}

}  // namespace ranklab
