#include "experiments/advise/validation.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"

namespace ranklab::advise {
namespace {

constexpr auto gradient = static_cast<std::size_t>(Direction::gradient),
               polar = static_cast<std::size_t>(Direction::polar);

/// One layer on one pair of batches.
struct Case {
  double by_ratio, by_curvature;  // log of the predicted advantage of polar(G)
  double actual;  // the same on the other batch; infinite if one direction is useless
  double kept;
};

/// No step lowers the loss along a direction whose slope is negative.
double decrease_or_zero(const BestStep& step) {
  return std::isfinite(step.decrease) ? step.decrease : 0;
}

Case case_of(const PredictedSteps::Fresh& one) {
  return {std::log(one.ratio),
          std::log(one.expected[polar].decrease / one.expected[gradient].decrease),
          std::log(decrease_or_zero(one.best[polar]) / decrease_or_zero(one.best[gradient])),
          one.decrease[polar] / one.expected[polar].decrease};
}

double share(const std::vector<Case>& cases, const auto& condition) {
  double count = 0;
  for (const Case& one : cases) count += condition(one);
  return count / static_cast<double>(cases.size());
}

double order(const std::vector<Case>& cases, double Case::*prediction) {
  std::vector<double> predicted, actual;
  for (const Case& one : cases) {
    predicted.push_back(one.*prediction);
    actual.push_back(one.actual);
  }
  return rank_correlation(predicted, actual);
}

std::string with_interval(const Score& score, const auto& text) {
  const double mean = score.values.mean, half = score.half_width();
  if (!std::isfinite(half)) return text(mean);
  return text(mean) + " (" + text(mean - half) + " to " + text(mean + half) + ")";
}

std::string share_text(const Score& score) {
  return with_interval(score, [](double value) { return percent(value); });
}

std::string number_text(const Score& score) {
  return with_interval(score, [](double value) { return short_number(value); });
}

}  // namespace

bool Validation::orders_nothing() const {
  const auto is_above_zero = [](const Score& score) {
    return score.values.mean - score.half_width() > 0;
  };
  return !is_above_zero(order_by_ratio) && !is_above_zero(order_by_curvature);
}

Validation validate(const std::vector<Row>& rows) {
  Validation out;
  std::map<std::pair<std::int64_t, std::size_t>, std::vector<Case>> pairs;  // by step and batch
  for (const Row& row : rows) {
    bool has_pairs = false;
    for (const auto& [step, predicted] : row.steps) {
      for (std::size_t b = 0; b < predicted.fresh.size(); ++b) {
        const Case one = case_of(predicted.fresh[b]);
        if (std::isnan(one.actual)) continue;
        pairs[{step, b}].push_back(one);
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
  std::vector<double> better, right_ratio, right_curvature, order_ratio, order_curvature, kept;
  for (const auto& [at, cases] : pairs) {
    const auto right = [&](double Case::*prediction) {
      return share(cases,
                   [&](const Case& one) { return (one.*prediction > 0) == (one.actual > 0); });
    };
    better.push_back(share(cases, [](const Case& one) { return one.actual > 0; }));
    right_ratio.push_back(right(&Case::by_ratio));
    right_curvature.push_back(right(&Case::by_curvature));
    order_ratio.push_back(order(cases, &Case::by_ratio));
    order_curvature.push_back(order(cases, &Case::by_curvature));
    std::vector<double> shares;
    for (const Case& one : cases) shares.push_back(one.kept);
    kept.push_back(median(shares));
  }
  out.spectral_is_better.values = summarize(better);
  out.right_by_ratio.values = summarize(right_ratio);
  out.right_by_curvature.values = summarize(right_curvature);
  out.order_by_ratio.values = summarize(order_ratio);
  out.order_by_curvature.values = summarize(order_curvature);
  out.kept.values = summarize(kept);
  return out;
}

std::vector<std::string> sentences_of(const Validation& v) {
  std::vector<std::string> out = {
      "Over " + counted(v.pairs, "pair") + " of batches of the same step and " +
          counted(v.layers, "layer") +
          " (predicted on one batch, checked with the gradient and the curvature of another; means "
          "with 99 % intervals): the polar factor is the better direction in " +
          share_text(v.spectral_is_better) + " of the layers.",
      "nr/st picks the better direction in " + share_text(v.right_by_ratio) +
          " of the layers, and the curvature in " + share_text(v.right_by_curvature) +
          ". Their rank correlations with the advantage of the polar factor on the other batch "
          "are " +
          number_text(v.order_by_ratio) + " and " + number_text(v.order_by_curvature) + ".",
      "At its predicted length, the step along the polar factor has " + share_text(v.kept) +
          " of its predicted decrease on the other batch (median over the layers)."};
  if (v.orders_nothing()) {
    out.push_back(
        "At this batch size, neither number is known to order the layers: use the advice for all "
        "layers together, not to rank them.");
  }
  return out;
}

}  // namespace ranklab::advise
