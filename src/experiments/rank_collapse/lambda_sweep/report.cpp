#include "experiments/rank_collapse/lambda_sweep/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// "little variation", and statistically equal: the paper gives no number.
constexpr double little_variation = 0.1, equal_within = 0.05, rounding = 1e-10;

const std::vector<std::string>& swept_measures() {
  static const std::vector<std::string> names = {"mu_normalized", "rank_one_residual", "cosine_similarity"};
  return names;
}

// One number per trial, from the array of normalised mu at the last layer.
std::vector<double> from_final(const Records& records, const std::string& prefix,
                               const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> out;
  for (const TrialRecord& record : records) out.push_back(f(record.array(prefix + "final.mu_normalized")));
  return out;
}

struct MirrorPair {
  std::size_t negative, positive;
};

std::vector<MirrorPair> mirror_pairs(const std::vector<double>& lambda) {
  std::vector<MirrorPair> pairs;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (lambda[i] <= 0) continue;
    const auto mirror = std::find(lambda.begin(), lambda.end(), -lambda[i]);
    if (mirror != lambda.end()) pairs.push_back({static_cast<std::size_t>(mirror - lambda.begin()), i});
  }
  return pairs;
}

void add_dip(const std::vector<double>& lambda, const std::string& prefix, const std::string& id, const Records& records,
             std::vector<Claim>& claims) {
  const std::string statement = "mu at the last layer has a dip at lambda = 0: lower than at any abs(lambda) >= 1",
                    source = "Section 5.1, Figure 2";
  const auto zero = std::find(lambda.begin(), lambda.end(), 0.0);
  if (zero == lambda.end() || lambda.size() < 2) {
    claims.push_back(not_applicable(id + "dip-at-0", source, statement, "lambda = 0 is not in the list"));
    return;
  }
  const auto at_zero = static_cast<std::size_t>(zero - lambda.begin());
  const auto lead = from_final(records, prefix, [&](const std::vector<double>& mu) {
    double least = infinity;
    for (std::size_t i = 0; i < mu.size(); ++i) {
      if (std::abs(lambda[i]) >= 1) least = std::min(least, mu[i]);
    }
    return least - mu[at_zero];
  });
  claims.push_back(
      judge_mean(id + "dip-at-0", source, statement, lead, rounding, infinity,
                 "smallest normalised mu at abs(lambda) >= 1, less that at 0; beyond rounding, " + short_number(rounding)));
}

void add_asymmetry(const std::vector<double>& lambda, const StackedModel& swept, const std::string& id, const Records& records,
                   std::vector<Claim>& claims) {
  const std::string source = "Section 5.1, Figure 2", statement = "negative lambda gives a higher mu than positive";
  const std::vector<MirrorPair> pairs = mirror_pairs(lambda);
  if (pairs.empty()) {
    claims.push_back(not_applicable(id + "asymmetry/as-printed", source, statement, "no pair of lambda and -lambda in the list"));
    return;
  }
  const auto lead = from_final(records, swept.prefix, [&](const std::vector<double>& mu) {
    double sum = 0;
    for (const MirrorPair& pair : pairs) sum += mu[pair.negative] - mu[pair.positive];
    return sum / static_cast<double>(pairs.size());
  });
  const std::string detail = "normalised mu at -lambda less that at lambda, mean over the mirrored pairs";
  claims.push_back(
      judge_mean(id + "asymmetry/as-printed", source, statement, lead, std::numeric_limits<double>::min(), infinity, detail));
  // Flipping the sign of a weight of mean zero turns lambda into -lambda, up to the sign of the whole state: where the rest of the
  // block is odd.
  if (swept.spec.has_mlp() || swept.spec.checkpoint != nullptr) {
    claims.push_back(not_applicable(
        id + "asymmetry/corrected", source, "with a random weight of mean zero lambda and -lambda are statistically equal",
        std::string("hypothesis not met: ") +
            (swept.spec.has_mlp() ? "the feed-forward net is not odd" : "the weights are published ones")));
  } else if (swept.spec.value_weights != "identity") {
    claims.push_back(
        judge_mean(id + "asymmetry/corrected", source,
                   "where a random weight of mean zero stands between the skip and the output of the mixing, lambda and "
                   "-lambda are statistically equal",
                   lead, -equal_within, equal_within, detail));
  } else {
    claims.push_back(judge_mean(id + "asymmetry/corrected", source,
                                "with C_V = I and a mixing matrix of one sign, negative lambda gives a higher mu than positive",
                                lead, equal_within, infinity, detail));
  }
}

void add_flatness(const std::vector<double>& lambda, const std::string& prefix, const std::string& id, const Records& records,
                  std::vector<Claim>& claims) {
  const std::string source = "Section 5.1, Figure 2", statement = "as abs(lambda) increases, mu varies little";
  const double largest = std::max(std::abs(lambda.front()), std::abs(lambda.back()));
  std::vector<std::size_t> outer;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (std::abs(lambda[i]) >= largest / 2) outer.push_back(i);
  }
  const auto spread = from_final(records, prefix, [&](const std::vector<double>& mu) {
    double widest = 0;  // of each sign by itself
    for (const int sign : {1, -1}) {
      double low = infinity, high = -low;
      for (const std::size_t i : outer) {
        if (sign * lambda[i] <= 0) continue;
        low = std::min(low, mu[i]);
        high = std::max(high, mu[i]);
      }
      widest = std::max(widest, high - low);
    }
    return widest;
  });
  claims.push_back(judge_mean(id + "flat-at-large-lambda", source, statement, spread, -infinity, little_variation,
                              "range of normalised mu where abs(lambda) >= " + short_number(largest / 2) + ", for each sign"));
}

// Theorem 4.1 beside what was measured: by how many orders of magnitude it asks for more.
void add_theorem(const LambdaSweepConfig& config, const StackedModel& swept, const Records& records, Result& result) {
  const std::string id = "lambda-skip/thm-4.1/conservative/" + swept.label, source = "Section 5.1, Theorem 4.1";
  const std::string statement = "the condition of Theorem 4.1 is conservative: much smaller abs(lambda) keep the tokens apart";
  if (records.empty() || !records.front().has(swept.prefix + "theorem_lambda")) {
    result.claims.push_back(
        not_applicable(id, source, statement, "hypothesis not met: not a bare stack of eq. (6) whose rows are normalised"));
    return;
  }
  for (const char* name : {"S", "C_M", "theorem_rate", "theorem_condition", "theorem_lambda"}) {
    result.scalars.push_back({swept.prefix + name, scalars_of(records, swept.prefix + name)});
  }
  std::vector<double> least(records.size(), infinity);
  for (const std::string sign : {"positive", "negative"}) {
    std::vector<double> orders;
    for (std::size_t t = 0; t < records.size(); ++t) {
      const double smallest = records[t].scalar(swept.prefix + "smallest_lambda_" + sign);
      orders.push_back(smallest > 0 ? std::log10(records[t].scalar(swept.prefix + "theorem_lambda") / smallest)
                                    : std::numeric_limits<double>::quiet_NaN());
      if (!std::isnan(orders.back())) least[t] = std::min(least[t], orders.back());
    }
    result.scalars.push_back({swept.prefix + "orders_of_magnitude_" + sign, orders});
  }
  result.claims.push_back(judge_mean(id, source, statement, least, 1, infinity,
                                     "log10 of the theorem's abs(lambda), at the rate a that keeps " +
                                         short_number(config.threshold) +
                                         " through all layers, over the smallest measured one; much smaller: by a factor of 10"));
}

Figure sweep_figure(const LambdaSweepConfig& config) {
  Figure figure;
  for (const std::string measure : {"mu_normalized", "rank_one_residual"}) {
    const std::string label = measure == "mu_normalized" ? "normalised mu" : "rank-one residual";
    Panel panel{"Last layer: " + label, {"lambda"}, {label}, {}, {}};
    for (const StackedModel& swept : stacked_models(config.model, config.also)) {
      panel.curves.push_back({swept.prefix + "final." + measure, swept.label, LineStyle::line_points});
    }
    panel.lines.push_back({config.threshold, "threshold"});
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

std::string threshold_note(const StackedModel& swept, double threshold, const Records& records) {
  const auto text = [&](const char* sign) {
    const Summary summary = summarise(scalars_of(records, swept.prefix + "smallest_lambda_" + sign));
    return summary.n == 0 ? std::string("none in the list") : short_number(summary.mean);
  };
  return swept.label + ": from abs(lambda) = " + text("positive") + " on (positive), " + text("negative") +
         " (negative), mu_normalized and rank_one_residual stay above " + short_number(threshold) + " through all " +
         std::to_string(swept.spec.layers) + " layers.";
}

}  // namespace

Result lambda_sweep_result(const LambdaSweepConfig& config, const Records& records) {
  Result result;
  result.title = "The last layer against the strength of the skip, " + config.model.model;
  result.notes = file_notes(config.model);
  const std::vector<double> lambda = config.ascending_lambda();
  std::vector<double> degenerate(records.size(), 0.0), diverged(records.size(), 0.0);
  for (const StackedModel& swept : stacked_models(config.model, config.also)) {
    for (const std::string stage : {"final.", "least."}) {
      for (const std::string& measure : swept_measures()) {
        const std::string name = swept.prefix + stage + measure;
        result.series.push_back(series_over_trials(name, "lambda", lambda, arrays_of(records, name)));
      }
    }
    for (const std::string sign : {"positive", "negative"}) {
      const std::string name = swept.prefix + "smallest_lambda_" + sign;
      result.scalars.push_back({name, scalars_of(records, name)});
    }
    for (std::size_t t = 0; t < records.size(); ++t) {
      degenerate[t] += records[t].scalar(swept.prefix + "degenerate_rows");
      diverged[t] += records[t].scalar(swept.prefix + "diverged");
    }
    const std::string id = "lambda-skip/fig-2/" + swept.label + "/";
    add_dip(lambda, swept.prefix, id, records, result.claims);
    add_asymmetry(lambda, swept, id, records, result.claims);
    add_flatness(lambda, swept.prefix, id, records, result.claims);
    add_theorem(config, swept, records, result);
    result.notes.push_back(threshold_note(swept, config.threshold, records));
  }
  result.diverged = std::any_of(diverged.begin(), diverged.end(), [](double curves) { return curves > 0; });
  result.scalars.push_back({"degenerate_rows", degenerate});
  result.scalars.push_back({"diverged", diverged});
  result.figure = sweep_figure(config);
  return result;
}

}  // namespace ranklab
