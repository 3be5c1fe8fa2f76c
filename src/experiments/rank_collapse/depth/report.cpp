#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"

namespace ranklab {

std::string of_curve(const std::string& curve, const std::string& what) {
  return curve + "." + what;
}

std::string before_de_escalation(const std::string& measure) {
  return "before." + measure;
}

std::vector<double> final_values(const std::string& curve, const std::string& what,
                                 const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    return record.array(of_curve(curve, what)).back();
  });
}

std::vector<Divergence> overflows(const std::vector<std::string>& curves, const Records& records) {
  std::vector<Divergence> out;
  for (const std::string& curve : curves)
    out.push_back(divergence_of(records, curve, of_curve(curve, overflow_layer)));
  return out;
}

std::string too_shallow(const ModelSpec& spec) {
  constexpr std::uint64_t enough_layers = 32;
  if (spec.layers >= enough_layers) return "";
  return say("hypothesis not met: {}; the model of the figure has 64",
             counted(spec.layers, "layer"));
}

void add_depth_series(const std::string& curve, ResultBuilder& out) {
  const auto add = [&](const std::string& name, double first_x = 0) {
    if (out.records().front().has(name)) out.series(name, "layer", first_x);
  };
  for (const std::string& what : token_measures()) add(of_curve(curve, what));
  add(of_curve(curve, measure::log10_norm));
  for (const std::string& what : token_measures()) add(of_curve(curve, before_de_escalation(what)));
  add(of_curve(curve, measure::branch_input_norm), 1);
  add(of_curve(curve, measure::branch_output_norm), 1);
}

void add_depth_scalars(const std::vector<std::string>& curves, ResultBuilder& out) {
  std::vector<double> degenerate(out.records().size(), 0.0), diverged = degenerate;
  std::vector<std::string> overflowed;
  for (const std::string& curve : curves) {
    const std::vector<double> rows = scalars_of(out.records(), of_curve(curve, degenerate_rows)),
                              layers = scalars_of(out.records(), of_curve(curve, overflow_layer));
    double earliest = 0;
    for (std::size_t t = 0; t < layers.size(); ++t) {
      degenerate[t] += rows[t];
      if (layers[t] == 0) continue;
      diverged[t] += 1;
      earliest = earliest == 0 ? layers[t] : std::min(earliest, layers[t]);
    }
    if (earliest > 0) overflowed.push_back(say("{} (layer {})", curve, earliest));
  }
  out.scalar(degenerate_rows, degenerate);
  out.scalar("diverged", diverged);
  out.diverged_where("diverged");
  if (overflowed.empty()) return;
  out.note(
      say("Overflow (earliest layer over the trials): {}. Later values of these curves are "
          "undefined.",
          joined(overflowed)));
}

std::string collapse_note(const std::vector<std::string>& curves, double threshold,
                          const Records& records) {
  std::vector<std::string> by_mu, by_rank_alone, kept;
  for (const std::string& curve : curves) {
    const double mu = summarize(final_values(curve, measure::mu_normalized, records)).mean;
    // rank_one_residual is the squared distance from parallel tokens relative to ||Y||_F^2, so its
    // square root is comparable to mu_normalized.
    const double from_rank_one =
        std::sqrt(summarize(final_values(curve, measure::rank_one_residual, records)).mean);
    if (!std::isfinite(mu)) continue;
    (mu < threshold ? by_mu : from_rank_one < threshold ? by_rank_alone : kept).push_back(curve);
  }
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : joined(names);
  };
  return say(
      "At the last layer, mean over trials, threshold {}: mu_normalized is below it (the tokens "
      "are equal) for {}; only the square root of rank_one_residual is below it (the tokens are "
      "parallel or anti-parallel, a collapse that mu does not detect) for {}; both are above it "
      "for {}.",
      threshold, list(by_mu), list(by_rank_alone), list(kept));
}

Result with_rounding_note(Result result, bool single_precision) {
  const std::string measured = measure::mu_normalized;
  const bool hidden =
      std::any_of(result.series.begin(), result.series.end(), [&](const Series& series) {
        return series.name.ends_with(measured) &&
               std::any_of(series.mean.begin(), series.mean.end(),
                           [](double mu) { return mu < single_precision_floor; });
      });
  if (single_precision && hidden) {
    result.notes.push_back(say(
        "In single precision, normalized mu below {} is rounding noise; --precision f64 resolves "
        "smaller values.",
        single_precision_floor));
  }
  return result;
}

}  // namespace ranklab
