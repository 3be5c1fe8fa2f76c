// From the measurements of a trial to the rows of the table.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// Why a rank is undefined.
std::string undefined_reason(const std::string& matrix, const std::string& rank,
                             const NonFinite& bad) {
  if (bad.count == 0) return "the " + matrix + " is zero, so " + rank + " is undefined";
  return "the " + matrix + " has " + count_text(bad.count) +
         (bad.count == 1 ? " entry that is" : " entries that are") +
         " not finite, the first in row " + count_text(bad.row) + ", column " +
         count_text(bad.column) + " (counted from 0)";
}

// Why no layer of the pair is reported; empty if nothing is wrong with the activation.
std::string defect(const Pair& pair, const TrialRecord& record, std::size_t p) {
  if (pair.is_weight()) return "";
  const Ranks activation = activation_ranks(record, p);
  const Checks checks = checks_of(record, p);
  if (!checks.is_valid_moment)
    return "the second moment is not symmetric, or its diagonal has a negative entry";
  if (checks.underflows) return contradiction(pair, checks);
  if (std::isnan(activation.stable_rank))
    return undefined_reason(pair.has_moment() ? "second moment" : "activation", "st",
                            activation.non_finite) +
           (pair.has_moment() && activation.non_finite.count > 0
                ? ": an overflow of single precision, unless the activation is not finite itself"
                : "");
  return contradiction(pair, checks);
}

std::string sizes_of(const Observation& one) {
  return std::to_string(one.layer.m) + " x " + std::to_string(one.pair.k);
}

// All layers at all steps and batches, without their ranks.
std::vector<Observation> planned_observations(const Plan& plan) {
  std::vector<Observation> out;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    for (std::size_t l = 0; l < plan.pairs[p].layers.size(); ++l)
      out.push_back(
          {plan.pairs[p], plan.pairs[p].layers[l], p, l, undefined, undefined, undefined});
  }
  return out;
}

// Those that have their ranks and pass the checks; `skipped` takes the reasons of the others.
std::vector<Observation> observations(const Plan& plan, const TrialRecord& record,
                                      std::vector<LeftOut>& skipped) {
  std::vector<Observation> out;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    const std::string of_pair = defect(pair, record, p);
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      const Layer& layer = pair.layers[l];
      std::string why = of_pair;
      Ranks activation, gradient;
      if (why.empty() && !pair.is_weight()) activation = activation_ranks(record, p);
      if (why.empty()) {
        gradient = gradient_ranks(record, p, l);
        if (std::isnan(gradient.nuclear_rank))
          why =
              undefined_reason(pair.is_weight() ? "weight" : "gradient", "nr", gradient.non_finite);
      }
      if (why.empty()) why = contradiction(pair, layer, gradient);
      if (!why.empty()) {
        skipped.push_back({{layer.name, why}, pair.when});
      } else {
        out.push_back({pair, layer, p, l, activation.stable_rank, gradient.nuclear_rank,
                       gradient.stable_rank});
      }
    }
  }
  return out;
}

// One row for each layer and step; `skipped` takes the observations that do not fit the layer's
// others.
std::vector<Row> grouped(const std::vector<Observation>& observed, std::vector<LeftOut>& skipped) {
  std::vector<std::map<std::int64_t, Row>> layers;
  std::map<std::string, std::size_t> places;
  for (const Observation& one : observed) {
    const auto [place, is_new] = places.emplace(one.layer.name, layers.size());
    if (is_new) layers.emplace_back();
    std::map<std::int64_t, Row>& layer = layers[place->second];
    if (!is_new) {
      const Observation& first = layer.begin()->second.all.front();
      if (first.layer.m != one.layer.m || first.pair.k != one.pair.k) {
        skipped.push_back({{one.layer.name, "its size is " + sizes_of(one) + " here but " +
                                                sizes_of(first) + " in its first recording"},
                           one.pair.when});
        continue;
      }
    }
    layer[one.pair.when.step].all.push_back(one);
  }
  std::vector<Row> out;
  for (auto& layer : layers) {
    for (auto& [step, row] : layer) out.push_back(std::move(row));
  }
  return out;
}

// The intervals, each step for itself: a trend in time is no spread.
void pool(std::vector<Row>& rows) {
  std::map<std::int64_t, std::vector<Row*>> steps;
  for (Row& row : rows) {
    if (row.is_judged()) steps[row.step()].push_back(&row);
  }
  for (const auto& [step, at_step] : steps) {
    std::vector<LogRatios> layers;
    for (const Row* row : at_step) layers.push_back(row->log_ratios());
    const std::vector<PooledRatio> ratios = pooled(layers);
    for (std::size_t i = 0; i < at_step.size(); ++i) at_step[i]->ratio = ratios[i];
  }
}

}  // namespace

LogRatios Row::log_ratios() const {
  const auto log_ratio = [](const Observation& one) { return std::log(one.ratio()); };
  LogRatios out{std::isnan(joined) ? over_batches(log_ratio).mean : std::log(joined), {}};
  for (const Observation& one : all) out.batches.push_back(log_ratio(one));
  return out;
}

const Row& LayerRows::deciding() const {
  const auto rank = [](const Row& row) {
    const Holds holds = inequality_holds(row.ratio);
    return std::pair(holds == Holds::no ? 0 : holds == Holds::undecided ? 1 : 2, row.ratio.ratio);
  };
  return *std::min_element(steps.begin(), steps.end(), [&](const Row& one, const Row& other) {
    return rank(one) < rank(other);
  });
}

std::vector<LayerRows> layers_of(const std::vector<Row>& rows) {
  std::vector<LayerRows> out;
  for (std::size_t first = 0, next = 0; first < rows.size(); first = next) {
    while (next < rows.size() && rows[next].name() == rows[first].name()) ++next;
    out.push_back({std::span(rows).subspan(first, next - first)});
  }
  return out;
}

std::vector<Row> planned_rows(const Plan& plan) {
  std::vector<LeftOut> skipped;
  return grouped(planned_observations(plan), skipped);
}

Rows rows_of(const Plan& plan, const TrialRecord& record) {
  std::vector<LeftOut> skipped = plan.skipped;
  std::set<When> times;
  for (const LeftOut& one : skipped) times.insert(one.when);
  for (const Pair& pair : plan.pairs) times.insert(pair.when);
  Rows out;
  out.rows = grouped(observations(plan, record, skipped), skipped);
  for (Row& row : out.rows) row.joined = joined_ratio(record, row.name(), row.step());
  pool(out.rows);
  out.skipped = unique_reasons(skipped, times.size());
  return out;
}

}  // namespace ranklab::ranks
