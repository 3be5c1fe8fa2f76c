// A trial measures every layer, several at once if threads are spare, and stores the numbers in its
// record, from which the report reads them.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "ranks/measure.hpp"

namespace ranklab::ranks {
namespace {

// Names of the arrays in a trial's record.
std::string key_of(std::size_t pair) {
  return "pair " + std::to_string(pair);
}
std::string key_of(std::size_t pair, std::size_t layer) {
  return key_of(pair) + " layer " + std::to_string(layer);
}
std::string checks_key_of(std::size_t pair) {
  return key_of(pair) + " checks";
}
std::string joined_key_of(const std::string& layer, std::int64_t step) {
  return "batches of " + layer + " at step " + std::to_string(step);
}

std::vector<double> packed(const Ranks& ranks) {
  return {ranks.stable_rank,    ranks.nuclear_rank,      ranks.non_finite.count,
          ranks.non_finite.row, ranks.non_finite.column, ranks.effective_rank,
          ranks.condition};
}

Ranks unpacked(const TrialRecord& record, const std::string& key) {
  if (!record.has(key))
    throw Failure("the files differ from those of the interrupted run; run without --resume");
  const std::vector<double>& ranks = record.array(key);
  return {
      ranks.at(0), ranks.at(1), {ranks.at(2), ranks.at(3), ranks.at(4)}, ranks.at(5), ranks.at(6)};
}

arma::mat scale_of(const Dequantization& quantized, OpenTensors& open) {
  if (quantized.scale.empty()) return {};
  const StoredTensor& tensor = open.at(quantized.scale);
  return tensor.is_matrix() ? matrix_of(tensor) : matrix_of(tensor.as_matrix(tensor.elements(), 1));
}

StoredGradient gradient_of(const Pair& pair, OpenTensors& open) {
  return {open_gradient(pair, open), pair.quantized.factor / pair.loss_scale,
          scale_of(pair.quantized, open)};
}

StoredActivation activation_of(const Pair& pair, OpenTensors& open) {
  return {open.at(pair.activation), pair.samples_are_rows};
}

// Measures the activation's ranks and checks its gradient against it; false if the activation
// cannot be used.
bool measure_input(const Pair& pair, std::size_t p, const Trial& trial, OpenTensors& open,
                   TrialRecord& record) {
  std::optional<StoredActivation> activation;
  if (!pair.has_moment()) activation = activation_of(pair, open);
  const MeasuredActivation measured =
      activation ? measure_activation(*activation, trial)
                 : measure_second_moment(open.at(pair.second_moment), pair.samples, trial);
  record.set(key_of(p), packed(measured.ranks));
  const bool usable = !std::isnan(measured.ranks.stable_rank);
  CheckedGradient gradient;
  if (usable)
    gradient = check_gradient(activation ? &*activation : nullptr, measured,
                              gradient_of(pair, open), trial);
  record.set(checks_key_of(p), {gradient.outside, measured.is_valid_moment ? 1.0 : 0.0,
                                measured.underflows || gradient.underflows ? 1.0 : 0.0});
  return usable;
}

void measure_pair(const Pair& pair, std::size_t p, const Trial& trial, OpenTensors& open,
                  TrialRecord& record) {
  if (!pair.is_weight() && !measure_input(pair, p, trial, open, record)) return;
  const StoredGradient gradient = gradient_of(pair, open);
  for (std::size_t l = 0; l < pair.layers.size(); ++l) {
    MeasuredGradient measured = measure_gradient(gradient, pair.layers[l], trial);
    const arma::vec& s = measured.s;
    if (pair.is_weight() && !s.empty() && s(0) > 0) {
      measured.ranks.effective_rank = entropy_rank(s);
      measured.ranks.condition = s(0) / s(s.n_elem - 1);
    }
    record.set(key_of(p, l), packed(measured.ranks));
  }
}

struct LayerOfPair {
  std::size_t pair, layer;
};

// A A' of the pair's features, or its diagonal (k x 1).
arma::mat moment_in(const Pair& pair, const Trial& trial, OpenTensors& open) {
  return pair.has_moment() ? read_moment(open.at(pair.second_moment)).block
                           : second_moment(activation_of(pair, open), trial);
}

// nr/st of the batches joined into one.
double join(const Plan& plan, const std::vector<LayerOfPair>& batches, const Trial& trial,
            OpenTensors& open) {
  arma::mat gradient, moment;
  for (const LayerOfPair& one : batches) {
    const Pair& pair = plan.pairs[one.pair];
    const arma::mat rows = rows_of(gradient_of(pair, open), pair.layers[one.layer]).block,
                    of_batch = moment_in(pair, trial, open);
    gradient = gradient.is_empty() ? rows : gradient + rows;
    moment = moment.is_empty() ? of_batch : moment + of_batch;
  }
  if (moment.is_square()) moment = arma::mat(moment + moment.t()) / 2;
  return nuclear_rank(singular_values(gradient)) / stable_rank_of_moment(moment, trial);
}

/// Whether a layer of a pair has both ranks and passes the checks.
bool is_judged(const Plan& plan, const TrialRecord& record, std::size_t p, std::size_t l) {
  const Pair& pair = plan.pairs[p];
  if (pair.is_weight() || std::isnan(activation_ranks(record, p).stable_rank) ||
      !contradiction(pair, checks_of(record, p)).empty())
    return false;
  const Ranks ranks = gradient_ranks(record, p, l);
  return !std::isnan(ranks.nuclear_rank) && contradiction(pair, pair.layers[l], ranks).empty();
}

void join_batches(const Plan& plan, const Trial& trial, TrialRecord& record) {
  using Group = std::pair<std::string, std::int64_t>;  // a layer at a step
  std::map<Group, std::vector<LayerOfPair>> groups;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    if (pair.when.batch < 0) continue;
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      if (!is_judged(plan, record, p, l)) continue;
      std::vector<LayerOfPair>& group = groups[{pair.layers[l].name, pair.when.step}];
      const auto same_size = [&](const LayerOfPair& other) {
        const Pair& first = plan.pairs[other.pair];
        return first.layers[other.layer].m == pair.layers[l].m && first.k == pair.k &&
               first.diagonal == pair.diagonal;
      };
      if (group.empty() || same_size(group.front())) group.push_back({p, l});
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  const std::vector<std::pair<Group, std::vector<LayerOfPair>>> in_order(groups.begin(),
                                                                         groups.end());
  std::vector<double> ratios(in_order.size()), costs;
  for (const auto& [at, batches] : in_order) {
    costs.push_back(0);
    for (const LayerOfPair& each : batches) costs.back() += flops_of(plan.pairs[each.pair]);
  }
  std::vector<OpenTensors> open(in_order.size());  // one for each worker
  trial.for_each_piece(costs, [&](std::size_t g, std::size_t worker) {
    ratios[g] = join(plan, in_order[g].second, trial, open[worker]);
  });
  for (std::size_t g = 0; g < in_order.size(); ++g)
    record.set(joined_key_of(in_order[g].first.first, in_order[g].first.second), ratios[g]);
}

}  // namespace

// Few samples span a small subspace. A gradient that is rounded to eight bits leaves it by half a
// percent of its norm, or by ten times as much if its samples nearly cancel.
std::string contradiction(const Pair& pair, const Checks& checks) {
  constexpr double largest_outside = 0.1;
  if (pair.is_weight()) return "";
  if (checks.underflows)
    return std::string("underflow: the gradient or ") +
           (pair.has_moment() ? "the squares of the activation are" : "the activation is") +
           " below the normal single-precision numbers";
  if (!(checks.outside > largest_outside)) return "";
  return short_number(100 * checks.outside) +
         " % of the gradient's norm lies outside the span of the activation's " +
         plural(pair.n, "sample") +
         ": it is not the gradient of these samples alone; record both on the same batch and "
         "step, and at every call of the layer";
}

std::string contradiction(const Pair& pair, const Layer& layer, const Ranks& gradient) {
  // Rounding to eight bits gives a matrix of low rank many small singular values.
  constexpr double rounding_slack = 1.5;
  if (pair.is_weight()) return "";
  const std::uint64_t limit = std::min({layer.m, pair.k, pair.n});
  if (gradient.nuclear_rank <= rounding_slack * static_cast<double>(limit)) return "";
  return "nr(G) = " + short_number(gradient.nuclear_rank) + " exceeds the limit of " +
         std::to_string(limit) + " for " + plural(pair.n, "sample") + " and a gradient of " +
         std::to_string(layer.m) + " x " + std::to_string(pair.k) +
         ": it is not the gradient of these samples alone; record both on the same batch and step, "
         "and at every call of the layer";
}

TrialRecord run_trial(const Plan& plan, const Trial& trial) {
  std::vector<TrialRecord> measured(plan.pairs.size());
  std::vector<double> costs;
  for (const Pair& pair : plan.pairs) costs.push_back(flops_of(pair));
  std::vector<OpenTensors> open(plan.pairs.size());  // one for each worker
  trial.expect(plan.pairs.size(), "pair");
  trial.for_each_piece(costs, [&](std::size_t p, std::size_t worker) {
    measure_pair(plan.pairs[p], p, trial, open[worker], measured[p]);
    trial.advance();
  });
  TrialRecord record;
  for (const TrialRecord& of_pair : measured) record.insert(of_pair);
  join_batches(plan, trial, record);
  return record;
}

Ranks activation_ranks(const TrialRecord& record, std::size_t pair) {
  return unpacked(record, key_of(pair));
}

Checks checks_of(const TrialRecord& record, std::size_t pair) {
  const std::string key = checks_key_of(pair);
  if (!record.has(key)) return {};
  const std::vector<double>& values = record.array(key);
  return {values.at(0), values.at(1) != 0, values.at(2) != 0};
}

Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  return unpacked(record, key_of(pair, layer));
}

double joined_ratio(const TrialRecord& record, const std::string& layer, std::int64_t step) {
  const std::string key = joined_key_of(layer, step);
  return record.has(key) ? record.array(key).at(0) : undefined;
}

}  // namespace ranklab::ranks
