// A trial measures every layer, several at once if threads are spare, and stores the numbers in its
// record, from which the report reads them.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/advise/measure.hpp"
#include "experiments/advise/predicted_steps.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::advise {
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
std::string joined_norm_key_of(std::size_t pair) {
  return key_of(pair) + " joined norm";
}
std::string spectrum_key_of(std::size_t pair, std::size_t layer) {
  return key_of(pair, layer) + " spectrum";
}
std::string joined_key_of(const std::string& layer, std::int64_t step) {
  return "batches of " + layer + " at step " + std::to_string(step);
}

std::vector<double> packed(const Ranks& ranks) {
  return {ranks.stable_rank, ranks.nuclear_rank, ranks.non_finite.count, ranks.non_finite.row,
          ranks.non_finite.column};
}

Ranks unpacked(const TrialRecord& record, const std::string& key) {
  if (!record.has(key))
    throw Failure("the files differ from those of the interrupted run; run without --resume");
  const std::vector<double>& ranks = record.array(key);
  return {ranks.at(0), ranks.at(1), {ranks.at(2), ranks.at(3), ranks.at(4)}};
}

// The members of Spectrum, from singular values in descending order.
std::vector<double> spectrum_of(const arma::vec& s) {
  if (s.empty() || !(s(0) > 0)) return std::vector<double>(5, undefined);
  const arma::vec quantiles = arma::quantile(s, arma::vec{0.25, 0.5, 0.75}) / s(0);
  return {entropy_rank(s), s(0) / s(s.n_elem - 1), quantiles(0), quantiles(1), quantiles(2)};
}

StoredGradient gradient_of(const Pair& pair, OpenTensors& open) {
  return {open_gradient(pair, open), pair.gradient_transposed, pair.first_feature, pair.k};
}

StoredActivation activation_of(const Pair& pair, OpenTensors& open) {
  return {open_activation(pair, open), pair.transposed, pair.first_feature, pair.k};
}

StoredMoment moment_in(const Pair& pair, OpenTensors& open) {
  return {open_second_moment(pair, open), pair.moment_storage};
}

// Measures the activation's ranks and checks its gradient against it; false if the activation
// cannot be used.
bool measure_input(const Pair& pair, std::size_t p, const Trial& trial, OpenTensors& open,
                   TrialRecord& record) {
  const bool recorded = !pair.second_moment.empty();
  std::optional<StoredActivation> activation;
  if (!recorded) activation = activation_of(pair, open);
  const MeasuredActivation measured =
      recorded ? measure_second_moment(moment_in(pair, open), pair.first_feature, pair.k, trial)
               : measure_activation(*activation, trial);
  record.set(key_of(p), packed(measured.ranks));
  if (std::isnan(measured.ranks.stable_rank)) {
    record.set(checks_key_of(p), {0.0, undefined, measured.is_valid_moment ? 1.0 : 0.0});
    return false;
  }
  // Features that are zero in the drawn samples need not be zero in all.
  const double outside = pair.has_gradient() && pair.drawn == 0
                             ? outside_span(recorded ? nullptr : &*activation, measured,
                                            gradient_of(pair, open), trial)
                             : undefined;
  record.set(checks_key_of(p),
             {recorded ? 0.0 : static_cast<double>(largest_repeat_count(measured.read.sketch)),
              outside, 1.0});
  return true;
}

void measure_gradients(const Pair& pair, std::size_t p, const Trial& trial, OpenTensors& open,
                       TrialRecord& record) {
  const StoredGradient gradient = gradient_of(pair, open);
  for (std::size_t l = 0; l < pair.layers.size(); ++l) {
    const MeasuredGradient measured = measure_gradient(gradient, pair.layers[l], trial);
    record.set(key_of(p, l), packed(measured.ranks));
    if (pair.is_weight) record.set(spectrum_key_of(p, l), spectrum_of(measured.s));
  }
}

// Measures a pair's activation and, unless that cannot be used, the gradients of its layers.
void measure_pair(const Pair& pair, std::size_t p, const Trial& trial, OpenTensors& open,
                  TrialRecord& record) {
  if (!pair.has_gradient()) {
    measure_input(pair, p, trial, open, record);
  } else if (!pair.has_activation()) {
    measure_gradients(pair, p, trial, open, record);
  } else {
    std::atomic<bool> is_usable = true;
    TrialRecord of_gradients;
    // Counts only if the activation can be used, as on one thread, which then reads no gradient.
    std::exception_ptr gradient_error;
    OpenTensors also_open;  // another thread may read the gradients meanwhile
    trial.for_each_part(2, [&](std::size_t part) {
      if (part == 0) {
        is_usable = measure_input(pair, p, trial, open, record);
      } else if (is_usable) {
        try {
          measure_gradients(pair, p, trial, also_open, of_gradients);
        } catch (const Failure&) {
          gradient_error = std::current_exception();
        }
      }
    });
    if (!is_usable) return;
    if (gradient_error) std::rethrow_exception(gradient_error);
    record.insert(of_gradients);
  }
}

// All rows of a pair's gradient.
Layer whole(const Pair& pair) {
  Layer out{pair.layers.front().name, pair.layers.front().first_row, 0};
  for (const Layer& layer : pair.layers) {
    out.first_row = std::min(out.first_row, layer.first_row);
    out.m += layer.m;
  }
  out.run = out.stride = out.m;
  return out;
}

struct LayerOfPair {
  std::size_t pair, layer;
};

// A A' of the pair's features, or its diagonal.
SecondMoment<double> moment_of(const Pair& pair, const Trial& trial, OpenTensors& open) {
  if (pair.second_moment.empty()) return second_moment(activation_of(pair, open), trial);
  return moment_in(pair, open).moment(pair.first_feature, pair.k);
}

// Joins `size` consecutive batches into one, for all disjoint groups of that size. `known`: nr of
// all batches joined, or null.
Joined join(const Plan& plan, const std::vector<LayerOfPair>& batches, std::size_t size,
            const double* known, const Trial& trial, OpenTensors& open) {
  std::vector<double> stable_ranks, nuclear_ranks, ratios;
  double samples = 0;
  for (std::size_t first = 0; first + size <= batches.size(); first += size) {
    arma::mat gradient;
    SecondMoment<double> moment;
    for (std::size_t b = first; b < first + size; ++b) {
      const Pair& pair = plan.pairs[batches[b].pair];
      arma::mat rows = rows_of(gradient_of(pair, open), pair.layers[batches[b].layer]).block;
      SecondMoment<double> own = moment_of(pair, trial, open);
      if (b == first) {
        gradient = std::move(rows), moment = std::move(own);
      } else {
        gradient += rows, add_to(moment, own);
      }
      samples += static_cast<double>(pair.n);
    }
    stable_ranks.push_back(stable_rank_of_moment(moment, [&] { trial.check_interrupt(); }));
    nuclear_ranks.push_back(known != nullptr && size == batches.size()
                                ? *known
                                : nuclear_rank(singular_values(gradient)));
    ratios.push_back(nuclear_ranks.back() / stable_ranks.back());
  }
  return {static_cast<double>(size), samples / static_cast<double>(ratios.size()),
          summarize(stable_ranks), summarize(nuclear_ranks), summarize(ratios)};
}

// Compares the mean gradient of the shares of all ranks with the gradient that the optimizer sees.
// A rank on which the layer had no samples has no share.
void check_ranks(const Plan& plan, const Trial& trial, TrialRecord& record) {
  std::map<std::pair<std::string, When>, std::vector<std::size_t>> groups;
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    if (pair.ranks > 1 && std::isfinite(pair.gradient_norm) && !pair.layers.empty())
      groups[{pair.layers.front().name, {pair.when.step, pair.when.batch / pair.ranks}}].push_back(
          p);
  }
  for (const auto& [at, shares] : groups) {
    trial.check_interrupt();
    arma::mat sum;
    for (const std::size_t p : shares) {
      const StoredGradient gradient = gradient_of(plan.pairs[p], *plan.open);
      const arma::mat rows = rows_of(gradient, whole(plan.pairs[p])).block;
      sum = sum.is_empty() ? rows : sum + rows;
    }
    const Pair& first = plan.pairs[shares.front()];
    const double mean = arma::norm(sum, "fro") / static_cast<double>(first.ranks);
    for (const std::size_t p : shares)
      record.set(joined_norm_key_of(p),
                 first.gradient_norm > 0 ? mean / first.gradient_norm : undefined);
  }
}

/// Whether a layer of a pair has both ranks and passes the checks.
bool is_judged(const Plan& plan, const TrialRecord& record, std::size_t p, std::size_t l) {
  const Pair& pair = plan.pairs[p];
  if (!pair.has_gradient() || !pair.has_activation()) return false;
  if (std::isnan(activation_ranks(record, p).stable_rank) ||
      !contradiction(pair, checks_of(record, p)).empty())
    return false;
  const Ranks ranks = gradient_ranks(record, p, l);
  return !std::isnan(ranks.nuclear_rank) && contradiction(pair, pair.layers[l], ranks).empty();
}

void join_batches(const Plan& plan, const JoinedGradients& gradients, const Trial& trial,
                  TrialRecord& record) {
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
  std::vector<std::vector<double>> packed(groups.size());
  const std::vector<std::pair<Group, std::vector<LayerOfPair>>> in_order(groups.begin(),
                                                                         groups.end());
  std::vector<double> costs;
  for (const auto& [at, batches] : in_order) {
    costs.push_back(0);
    for (const LayerOfPair& each : batches) costs.back() += flops_of(plan.pairs[each.pair]);
  }
  std::vector<OpenTensors> open(groups.size());  // one for each worker
  trial.for_each_part(costs, [&](std::size_t g, std::size_t worker) {
    const auto& [at, batches] = in_order[g];
    const auto found = gradients.find(at);
    const bool same_batches =
        found != gradients.end() &&
        std::equal(batches.begin(), batches.end(), found->second.pairs.begin(),
                   found->second.pairs.end(),
                   [](const LayerOfPair& a, std::size_t pair) { return a.pair == pair; });
    const double* known = same_batches ? &found->second.nuclear_rank : nullptr;
    for (std::size_t size = 2; size <= batches.size(); size = std::min(2 * size, batches.size())) {
      const Joined joined = join(plan, batches, size, known, trial, open[worker]);
      packed[g].insert(packed[g].end(), {joined.batches, joined.samples});
      for (const Summary& summary : {joined.stable_rank, joined.nuclear_rank, joined.ratio}) {
        packed[g].insert(packed[g].end(),
                         {summary.mean, summary.std, static_cast<double>(summary.n)});
      }
      if (size == batches.size()) break;
    }
  });
  for (std::size_t g = 0; g < in_order.size(); ++g) {
    const auto& [layer, step] = in_order[g].first;
    if (!packed[g].empty()) record.set(joined_key_of(layer, step), packed[g]);
  }
}

}  // namespace

// Padded samples are identical, and few samples span a small subspace. A gradient that is rounded
// to eight bits leaves that subspace by half a percent of its norm, or by ten times as much if its
// samples nearly cancel.
std::string contradiction(const Pair& pair, const Checks& checks) {
  constexpr double largest_repeated_share = 0.1, largest_outside = 0.1;
  constexpr double fewest_repeated = 4, largest_difference = 1e-3;
  const auto n = static_cast<double>(pair.n);
  if (!pair.has_activation() || !pair.has_gradient()) return "";
  if (std::abs(checks.joined_norm - 1) > largest_difference) {
    return "the gradients of the " + std::to_string(pair.ranks) + " ranks have a mean of " +
           short_number(checks.joined_norm) +
           " times the norm of the optimizer's gradient: the layer has uses that were not "
           "recorded, or its gradient was changed";
  }
  if (checks.outside > largest_outside) {
    return short_number(100 * checks.outside) +
           " % of the gradient's norm lies outside the span of the activation's " +
           plural(pair.n, "sample") +
           ": it is not the gradient of these samples alone; record both on the same batch and "
           "step, and at every call of the layer";
  }
  if (!pair.may_repeat &&
      checks.repeated >= std::max(fewest_repeated, largest_repeated_share * n)) {
    return count_text(checks.repeated) + " of the activation's " + plural(pair.n, "sample") +
           " are nearly identical, which suggests padding that the loss ignores; leave out samples "
           "without an output gradient, or pass --allow-repeats if samples repeat on purpose "
           "(tokens, flags)";
  }
  return "";
}

std::string contradiction(const Pair& pair, const Layer& layer, const Ranks& gradient) {
  // Rounding to eight bits gives a matrix of low rank many small singular values.
  constexpr double rounding_slack = 1.5;
  if (!pair.has_activation() || !pair.has_gradient()) return "";
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
  trial.for_each_part(costs, [&](std::size_t p, std::size_t worker) {
    measure_pair(plan.pairs[p], p, trial, open[worker], measured[p]);
    trial.advance();
  });
  TrialRecord record;
  for (const TrialRecord& of_pair : measured) record.insert(of_pair);
  check_ranks(plan, trial, record);
  const auto usable = [&](std::size_t p, std::size_t l) { return is_judged(plan, record, p, l); };
  const auto ratio = [&](std::size_t p, std::size_t l) {
    return gradient_ranks(record, p, l).nuclear_rank / activation_ranks(record, p).stable_rank;
  };
  join_batches(plan, predict_steps(plan, trial, usable, ratio, record), trial, record);
  return record;
}

Ranks activation_ranks(const TrialRecord& record, std::size_t pair) {
  return unpacked(record, key_of(pair));
}

Spectrum spectrum_of(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  const std::vector<double>& values = record.array(spectrum_key_of(pair, layer));
  return {values.at(0), values.at(1), {values.at(2), values.at(3), values.at(4)}};
}

Checks checks_of(const TrialRecord& record, std::size_t pair) {
  if (!record.has(checks_key_of(pair))) return {};
  const std::vector<double>& values = record.array(checks_key_of(pair));
  const std::string joined_norm = joined_norm_key_of(pair);
  return {values.at(0), values.at(1), values.at(2) != 0,
          record.has(joined_norm) ? record.scalar(joined_norm) : undefined};
}

Ranks gradient_ranks(const TrialRecord& record, std::size_t pair, std::size_t layer) {
  return unpacked(record, key_of(pair, layer));
}

std::vector<Joined> joined_batches(const TrialRecord& record, const std::string& layer,
                                   std::int64_t step) {
  const std::string key = joined_key_of(layer, step);
  std::vector<Joined> out;
  if (!record.has(key)) return out;
  const std::vector<double>& values = record.array(key);
  const auto summary_at = [&](std::size_t i) {
    return Summary{values.at(i), values.at(i + 1), static_cast<std::size_t>(values.at(i + 2))};
  };
  for (std::size_t i = 0; i < values.size(); i += 11) {
    out.push_back(
        {values[i], values[i + 1], summary_at(i + 2), summary_at(i + 5), summary_at(i + 8)});
  }
  return out;
}

}  // namespace ranklab::advise
