// Figure 18: the same net with SwiGLU, at a small and at a large batch.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/one_step_compare/mlp/figure_claims.hpp"
#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab::mlp {
namespace {

using Records = std::vector<TrialRecord>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// "Essentially coincide": losses within a factor of 1.25 of each other, on average along the run.
const double coincidence = std::log10(1.25);
// "Close to its initial value", as a ratio; and what counts as "about 3".
constexpr double close_low = 0.8, close_high = 1.25, about_3_low = 2.0, about_3_high = 4.0;

// The figure's batches are 512 and 8196 at width 512: the regimes are told apart by n over the width.
std::string not_small_batch(const MlpConfig& config) {
  return config.n <= 2 * config.width ? "" : "the panel has n = width, this run more than twice that";
}
std::string not_large_batch(const MlpConfig& config) {
  return config.n >= 8 * config.width ? "" : "the panel has n = 16 times the width, this run less than 8 times";
}

// "Early": when one of the two has lost this part of its starting loss. Later on too many trials have diverged.
constexpr double early_loss = 0.25;

/// log10 of SpecGD's loss over GD's at the first iteration at which one of them has fallen by early_loss: below 0 SpecGD was
/// faster. NaN where neither ever has, or one diverged before.
double quarter_log_ratio(const TrialRecord& record) {
  const std::vector<double>&gd = record.array("gd.loss"), &spec = record.array("specgd.loss");
  for (std::size_t t = 0; t < gd.size(); ++t)
    if (std::min(gd[t], spec[t]) <= (1 - early_loss) * gd.front()) return std::log10(spec[t] / gd[t]);
  return undefined;
}

std::vector<double> quarter_log_ratios(const Records& records) {
  std::vector<double> out;
  for (const TrialRecord& record : records) out.push_back(quarter_log_ratio(record));
  return out;
}

/// |log10(SpecGD's loss over GD's)|, averaged over the iterations; NaN where one of them diverged.
std::vector<double> mean_distances(const Records& records) {
  std::vector<double> out;
  for (const TrialRecord& record : records) {
    const std::vector<double>&gd = record.array("gd.loss"), &spec = record.array("specgd.loss");
    double sum = 0;
    for (std::size_t t = 0; t < gd.size(); ++t) sum += std::abs(std::log10(spec[t] / gd[t]));
    out.push_back(sum / static_cast<double>(gd.size()));
  }
  return out;
}

std::string counted(const Records& records, const std::string& text) {
  double neither = 0;
  for (const TrialRecord& record : records) neither += record.scalar("gd.diverged") == 0 && record.scalar("specgd.diverged") == 0;
  return text + "; neither diverged in " + short_number(neither) + " of " + std::to_string(records.size()) + " trials";
}

void add_early_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  const std::string detail =
      counted(records, "log10 of SpecGD's loss over GD's at the first iteration at which one of them has fallen by a quarter");
  const std::vector<double> ratios = quarter_log_ratios(records);
  const Text small{"spectral/fig-18a/early-advantage", "Figure 18 (a)",
                   "with SwiGLU at n = 512 SpecGD lowers the loss faster at first"};
  out.push_back(unless(small, not_small_batch(config),
                       [&] { return judge_mean(small.id, small.source, small.statement, ratios, -infinity, 0.0, detail); }));
  const Text large{"spectral/fig-18b/no-early-advantage", "Figure 18 (b)",
                   "with SwiGLU at n = 8196 SpecGD lowers the loss no faster at first, by a factor of 1.25 or more"};
  out.push_back(unless(large, not_large_batch(config), [&] {
    return judge_mean(large.id, large.source, large.statement, ratios, -coincidence, infinity, detail);
  }));
  const Text same{"spectral/fig-18b/coincide", "Figure 18 (b)",
                  "with SwiGLU at n = 8196 the losses of GD and SpecGD essentially coincide: within a factor of 1.25 on average"};
  out.push_back(unless(same, not_large_batch(config), [&] {
    return judge_mean(same.id, same.source, same.statement, mean_distances(records), -infinity, coincidence,
                      counted(records, "mean of |log10 of the ratio of the losses| over the run"));
  }));
}

/// The last stable rank of a layer that is defined, over the first, or by itself.
std::vector<double> last_stable_ranks(const Records& records, const std::string& method, std::size_t layer, bool over_first) {
  std::vector<double> out;
  for (const TrialRecord& record : records) {
    const std::vector<double>& st = record.array(stable_rank_name(method, layer));
    out.push_back(over_first ? st.back() / st.front() : st.back());
  }
  return out;
}

void add_stable_rank_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  for (const Method& method : methods(config)) {
    if (method.name != "gd" && method.name != "specgd") continue;
    for (const std::size_t layer : {1, 2}) {
      const std::string l = std::to_string(layer);
      const Text text{"spectral/fig-18/layer" + l + "-keeps-its-rank/" + method.name, "Figure 18, caption",
                      "with SwiGLU the stable rank of layer " + l + " stays close to its initial value along " + method.label};
      out.push_back(judge_mean(text.id, text.source, text.statement, last_stable_ranks(records, method.name, layer, true),
                               close_low, close_high, counted(records, "last stable rank over the first")));
    }
    const Text text{"spectral/fig-18/layer3-drops-to-3/" + method.name, "Figure 18, caption",
                    "with SwiGLU the stable rank of layer 3 drops to about 3 along " + method.label};
    out.push_back(judge_mean(text.id, text.source, text.statement, last_stable_ranks(records, method.name, hidden_layers, false),
                             about_3_low, about_3_high, counted(records, "last stable rank")));
  }
}

}  // namespace

void add_figure_18_claims(const MlpConfig& config, const Records& records, std::vector<Claim>& out) {
  const std::vector<Method> all = methods(config);
  if (std::any_of(all.begin(), all.end(), [](const Method& each) { return each.name == "specgd"; }))
    add_early_claims(config, records, out);
  add_stable_rank_claims(config, records, out);
}

}  // namespace ranklab::mlp
