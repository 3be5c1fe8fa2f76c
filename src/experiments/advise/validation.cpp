#include "experiments/advise/validation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "report/claims.hpp"

namespace ranklab::advise {
namespace {

constexpr auto gradient = static_cast<std::size_t>(Direction::gradient),
               polar = static_cast<std::size_t>(Direction::polar);

/// One layer on one pair of batches.
struct Case {
  double by_ratio, by_curvature;  // log of the predicted advantage of polar(G)
  double actual;        // the same on the other batch; infinite if one direction is useless
  double kept, length;  // Validation::kept and Validation::length of this layer
};

/// No step lowers the loss along a direction whose slope is negative.
double decrease_or_zero(const BestStep& step) {
  return std::isfinite(step.decrease) ? step.decrease : 0;
}

Case case_of(const PredictedSteps::Fresh& one) {
  return {
      std::log(one.ratio), std::log(one.expected[polar].decrease / one.expected[gradient].decrease),
      std::log(decrease_or_zero(one.best[polar]) / decrease_or_zero(one.best[gradient])),
      one.decrease[polar] / one.expected[polar].decrease,
      std::isfinite(one.best[polar].length) ? one.best[polar].length / one.expected[polar].length
                                            : 0};
}

double share(const std::vector<Case>& cases, const auto& condition) {
  double count = 0;
  for (const Case& one : cases) count += condition(one);
  return count / static_cast<double>(cases.size());
}

double median_of(const std::vector<Case>& cases, double Case::*number) {
  std::vector<double> values;
  for (const Case& one : cases) values.push_back(one.*number);
  return median(values);
}

double order(const std::vector<Case>& cases, double Case::*prediction) {
  std::vector<double> predicted, actual;
  for (const Case& one : cases) {
    predicted.push_back(one.*prediction);
    actual.push_back(one.actual);
  }
  return rank_correlation(predicted, actual);
}

/// The mean with its interval, cut to the range of possible values.
std::string with_interval(const Score& score, double least, double most,
                          std::string (*text)(double)) {
  const double mean = score.values.mean, half = score.half_width();
  if (!std::isfinite(half)) return text(mean);
  return text(mean) + " (" + text(std::max(least, mean - half)) + " to " +
         text(std::min(most, mean + half)) + ")";
}

std::string share_text(const Score& score) {
  return with_interval(score, 0, 1, percent);
}
std::string correlation_text(const Score& score) {
  return with_interval(score, -1, 1, short_number);
}
std::string multiple_text(const Score& score) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return with_interval(score, -infinity, infinity, short_number);
}

}  // namespace

double Score::half_width() const {
  return values.n < fewest_values ? std::numeric_limits<double>::infinity()
                                  : confidence_half_width(values);
}

bool Validation::orders_nothing() const {
  const auto is_above_zero = [](const Score& score) {
    return score.values.mean - score.half_width() > 0;
  };
  return !is_above_zero(order_by_ratio) && !is_above_zero(order_by_curvature);
}

Validation validate(const std::vector<Row>& rows) {
  Validation out;
  std::map<std::pair<std::int64_t, std::size_t>, std::vector<Case>> pairs;  // by step and pair
  for (const Row& row : rows) {
    bool has_pairs = false;
    for (const auto& [step, predicted] : row.steps) {
      for (std::size_t b = 0; b < predicted.fresh.size(); ++b) {
        const Case one = case_of(predicted.fresh[b]);
        if (std::isnan(one.actual)) continue;
        pairs[{step, b / 2}].push_back(one);
        has_pairs = true;
      }
    }
    out.layers += has_pairs;
  }
  if (pairs.empty()) {
    throw Failure(
        "--validate needs two batches of one step, recorded with second moments of output "
        "gradients: record(model, \"dump/step100.batch0\"), then record(model, "
        "\"dump/step100.batch1\") before the optimizer's step");
  }
  out.pairs = pairs.size();
  std::vector<double> better, right_ratio, right_curvature, order_ratio, order_curvature, kept,
      length;
  for (const auto& pair : pairs) {
    const std::vector<Case>& cases = pair.second;
    const auto right = [&](double Case::*prediction) {
      return share(cases,
                   [&](const Case& one) { return (one.*prediction > 0) == (one.actual > 0); });
    };
    better.push_back(share(cases, [](const Case& one) { return one.actual > 0; }));
    right_ratio.push_back(right(&Case::by_ratio));
    right_curvature.push_back(right(&Case::by_curvature));
    order_ratio.push_back(order(cases, &Case::by_ratio));
    order_curvature.push_back(order(cases, &Case::by_curvature));
    kept.push_back(median_of(cases, &Case::kept));
    length.push_back(median_of(cases, &Case::length));
  }
  out.spectral_is_better.values = summarize(better);
  out.right_by_ratio.values = summarize(right_ratio);
  out.right_by_curvature.values = summarize(right_curvature);
  out.order_by_ratio.values = summarize(order_ratio);
  out.order_by_curvature.values = summarize(order_curvature);
  out.kept.values = summarize(kept);
  out.length.values = summarize(length);
  return out;
}

std::vector<std::string> sentences_of(const Validation& v) {
  std::vector<std::string> out = {
      "Over " + plural(v.pairs, "pair") + " of batches of the same step and " +
          plural(v.layers, "layer") +
          " (each batch predicts, the other checks with its gradient and curvature; means with "
          "99 % intervals for three or more pairs): the polar factor is the better direction in " +
          share_text(v.spectral_is_better) + " of the layers.",
      "nr/st picks the better direction in " + share_text(v.right_by_ratio) +
          " of the layers, and the curvature in " + share_text(v.right_by_curvature) +
          ". Their rank correlations with the advantage of the polar factor on the other batch "
          "are " +
          correlation_text(v.order_by_ratio) + " and " + correlation_text(v.order_by_curvature) +
          ".",
      "On the other batch the best length along the polar factor is " + multiple_text(v.length) +
          " times the predicted one. At the predicted length " +
          (v.kept.values.mean < 0 ? "the loss rises: the decrease is " : "the decrease is ") +
          multiple_text(v.kept) + " times the predicted one (medians over the layers)."};
  if (v.orders_nothing()) {
    out.push_back(
        "At this batch size, neither number is known to order the layers: use the advice for all "
        "layers together, not to rank them.");
  }
  return out;
}

}  // namespace ranklab::advise
