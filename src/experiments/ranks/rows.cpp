// From the measurements of a trial to the rows of the table.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "experiments/ranks/measure.hpp"
#include "experiments/ranks/ranks.hpp"

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
  if (!pair.has_activation()) return "";
  const Ranks activation = activation_ranks(record, p);
  if (!checks_of(record, p).is_valid_moment)
    return "the second moment is not symmetric, or its diagonal has a negative entry";
  if (std::isnan(activation.stable_rank))
    return undefined_reason("activation", "st", activation.non_finite);
  return contradiction(pair, checks_of(record, p));
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
      if (why.empty() && pair.has_activation()) activation = activation_ranks(record, p);
      if (why.empty() && pair.has_gradient()) {
        gradient = gradient_ranks(record, p, l);
        if (std::isnan(gradient.nuclear_rank))
          why = undefined_reason(pair.is_weight ? "weight" : "gradient", "nr", gradient.non_finite);
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

void pool(std::vector<Row>& rows) {
  std::vector<Row*> judged;
  std::vector<LogRatios> layers;
  for (Row& row : rows) {
    if (!row.is_judged()) continue;
    judged.push_back(&row);
    layers.push_back(row.log_ratios());
  }
  const std::vector<PooledRatio> ratios = pooled(layers);
  for (std::size_t i = 0; i < judged.size(); ++i) judged[i]->ratio = ratios[i];
}

}  // namespace

namespace {

// One row for each layer; `skipped` takes the observations that do not fit its others.
std::vector<Row> grouped(const std::vector<Observation>& observed, std::vector<LeftOut>& skipped) {
  std::vector<Row> out;
  std::set<std::string> judged;  // layers with both ranks in at least one recording
  for (const Observation& one : observed) {
    if (one.pair.is_judged()) judged.insert(one.layer.name);
  }
  std::map<std::string, std::size_t> places;
  for (const Observation& one : observed) {
    const std::string& name = one.layer.name;
    if (judged.contains(name) && !one.pair.is_judged()) {
      skipped.push_back(
          {{name, one.pair.has_activation() ? "there is no gradient" : "there is no activation"},
           one.pair.when});
      continue;
    }
    const auto [place, is_new] = places.emplace(name, out.size());
    if (is_new) out.emplace_back();
    Row& row = out[place->second];
    if (!is_new && (row.m() != one.layer.m || row.pair().k != one.pair.k)) {
      skipped.push_back({{name, "its size is " + sizes_of(one) + " here but " +
                                    sizes_of(row.all.front()) + " in its first recording"},
                         one.pair.when});
      continue;
    }
    row.all.push_back(one);
  }
  return out;
}

}  // namespace

bool Row::has_steps() const {
  return by_step(stable_rank_of).size() > 1;
}

LogRatios Row::log_ratios() const {
  const auto log_ratio = [](const Observation& one) { return std::log(one.ratio()); };
  LogRatios out;
  for (const auto& [step, of_batches] : by_step(log_ratio))
    out.steps.push_back(joined.contains(step) ? std::log(joined.at(step)) : of_batches.mean);
  for (const Observation& one : all) out.batches.push_back(log_ratio(one));
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
  for (Row& row : out.rows) {
    for (const Observation& one : row.all) {
      const double ratio = joined_ratio(record, row.name(), one.pair.when.step);
      if (!std::isnan(ratio)) row.joined[one.pair.when.step] = ratio;
    }
  }
  pool(out.rows);
  out.skipped = unique_reasons(skipped, times.size());
  return out;
}

}  // namespace ranklab::ranks
