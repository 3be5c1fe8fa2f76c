#include "experiments/advise/rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/text.hpp"

namespace ranklab::advise {
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

void pool(std::vector<Row>& rows) {
  std::vector<Row*> judged;
  std::vector<LogRatios> layers;
  for (Row& row : rows) {
    if (!row.is_judged()) continue;
    judged.push_back(&row);
    layers.push_back(row.log_ratios());
  }
  const std::vector<PooledRatio> ratios = pooled(layers);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    judged[i]->ratio = ratios[i];
    judged[i]->ratio.low *= judged[i]->least_share_of_ratio();
  }
}

/// Pools one positive number of the predicted steps of each layer, as nr/st is pooled.
template <class Number>
void pool_steps(const std::vector<Row*>& rows, const Number& number,
                const std::function<void(Row&, const PooledRatio&)>& store) {
  std::vector<LogRatios> layers;
  for (const Row* row : rows) {
    LogRatios& of_row = layers.emplace_back();
    for (const auto& [step, predicted] : row->steps) {
      of_row.steps.push_back(std::log(number(predicted.joined)));
      for (const BestSteps& batch : predicted.batches)
        of_row.batches.push_back(std::log(number(batch)));
    }
  }
  const std::vector<PooledRatio> all = pooled(layers);
  for (std::size_t i = 0; i < rows.size(); ++i) store(*rows[i], all[i]);
}

void pool_predicted_steps(std::vector<Row>& rows) {
  constexpr auto gradient = static_cast<std::size_t>(Direction::gradient),
                 polar = static_cast<std::size_t>(Direction::polar);
  std::vector<Row*> known;
  for (Row& row : rows) {
    if (row.has_predicted_steps()) known.push_back(&row);
  }
  pool_steps(
      known, [](const BestSteps& best) { return best[polar].decrease / best[gradient].decrease; },
      [](Row& row, const PooledRatio& value) { row.advantage = value; });
  for (std::size_t d = 0; d < directions; ++d) {
    pool_steps(
        known, [d](const BestSteps& best) { return best[d].decrease; },
        [d](Row& row, const PooledRatio& value) { row.decrease[d] = value; });
    pool_steps(
        known, [d](const BestSteps& best) { return best[d].length; },
        [d](Row& row, const PooledRatio& value) { row.length[d] = value; });
  }
}

std::string sizes_of(const Observation& one) {
  return std::to_string(one.layer.m) + " x " + std::to_string(one.pair.k);
}

}  // namespace

double Row::mean(Value value) const {
  std::vector<double> values;
  for (const Observation& one : all) values.push_back((one.*value)());
  return summarize(values).mean;
}

std::map<std::int64_t, Summary> Row::by_step(Value value) const {
  std::map<std::int64_t, std::vector<double>> values;
  for (const Observation& one : all) values[one.pair.when.step].push_back((one.*value)());
  std::map<std::int64_t, Summary> out;
  for (const auto& [step, at_step] : values) out[step] = summarize(at_step);
  return out;
}

bool Row::has_steps() const {
  return by_step(&Observation::stable_rank).size() > 1;
}

std::map<std::int64_t, double> Row::ratio_by_step() const {
  std::map<std::int64_t, double> out;
  for (const auto& [step, log_ratio] : by_step(&Observation::log_ratio)) {
    out[step] =
        joined.contains(step) ? joined.at(step).back().ratio.mean : std::exp(log_ratio.mean);
  }
  return out;
}

LogRatios Row::log_ratios() const {
  LogRatios out;
  for (const auto& [step, ratio_at_step] : ratio_by_step())
    out.steps.push_back(std::log(ratio_at_step));
  for (const Observation& one : all) out.batches.push_back(one.log_ratio());
  return out;
}

bool drawing_hides(const Row& row) {
  return row.ratio.ratio >= 1 - ratio_rounding &&
         row.ratio.ratio * row.least_share_of_ratio() < 1 - ratio_rounding;
}

// The largest eigenvalue of the second moment of N normal samples is on average at most
// (1 + sqrt(st/N))^2 times that of all (Gordon's inequality), so that their stable rank x gives
// st <= x / (1 - sqrt(x/N))^2.
double Row::least_share_of_ratio() const {
  std::map<std::int64_t, double> drawn;
  for (const Observation& one : all)
    drawn[one.pair.when.step] += static_cast<double>(one.pair.drawn);
  double out = 1.0;
  for (const auto& [step, stable_rank] : by_step(&Observation::stable_rank)) {
    if (drawn.at(step) == 0) continue;
    const double root = std::sqrt(stable_rank.mean / drawn.at(step));
    out = std::min(out, root < 1 ? (1 - root) * (1 - root) : 0.0);
  }
  return out;
}

Advice Row::advice() const {
  Advice out = advice_of(ratio, pair().role);
  if (!ratio.has_interval() && drawing_hides(*this)) {
    out.settled = Settled::nothing;
    out.verdict = "undecided";
    out.text = "either: too few samples were drawn for st(A)";
  }
  const double alone = std::exp(mean(&Observation::log_ratio));
  if (settled_by(alone) != settled_by(ratio.ratio))
    out.text += "; one batch alone gives " + short_number(alone) + ": the batch size matters";
  return out;
}

std::uint64_t Row::stable_rank_limit() const {
  return std::min(pair().k, pair().n);
}

std::uint64_t Row::nuclear_rank_limit() const {
  const std::uint64_t side = std::min(m(), pair().k);
  return pair().has_activation() ? std::min(side, pair().n) : side;
}

std::size_t Rows::count(Settled settled) const {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.is_judged() && row.advice().settled == settled;
  }));
}

Rows rows_of(const Plan& plan, const TrialRecord& record) {
  Rows out;
  std::vector<LeftOut> skipped = plan.skipped;
  std::vector<Observation> measured_layers;
  std::set<When> times;
  std::set<std::string> judged;  // layers with both ranks in at least one recording
  for (const LeftOut& one : skipped) times.insert(one.when);
  for (std::size_t p = 0; p < plan.pairs.size(); ++p) {
    const Pair& pair = plan.pairs[p];
    times.insert(pair.when);
    const std::string reason = defect(pair, record, p);
    for (std::size_t l = 0; l < pair.layers.size(); ++l) {
      const Layer& layer = pair.layers[l];
      const bool measured = reason.empty();
      const Ranks activation =
                      pair.has_activation() && measured ? activation_ranks(record, p) : Ranks(),
                  gradient =
                      pair.has_gradient() && measured ? gradient_ranks(record, p, l) : Ranks();
      std::string why = reason;
      if (measured && pair.has_gradient() && std::isnan(gradient.nuclear_rank)) {
        why = undefined_reason(pair.is_weight ? "weight" : "gradient", "nr", gradient.non_finite);
      }
      if (why.empty()) why = contradiction(pair, layer, gradient);
      if (!why.empty()) {
        skipped.push_back({{layer.name, why}, pair.when});
        continue;
      }
      measured_layers.push_back({pair, layer, p, l, activation, gradient});
      if (pair.has_activation() && pair.has_gradient()) judged.insert(layer.name);
    }
  }
  std::map<std::string, std::size_t> places;
  for (const Observation& one : measured_layers) {
    const std::string& name = one.layer.name;
    if (judged.contains(name) && !(one.pair.has_activation() && one.pair.has_gradient())) {
      skipped.push_back(
          {{name, one.pair.has_activation() ? "there is no gradient" : "there is no activation"},
           one.pair.when});
      continue;
    }
    const auto [place, is_new] = places.emplace(name, out.rows.size());
    if (is_new) out.rows.emplace_back();
    Row& row = out.rows[place->second];
    if (!is_new && (row.m() != one.layer.m || row.pair().k != one.pair.k)) {
      skipped.push_back({{name, "its size is " + sizes_of(one) + " here but " +
                                    sizes_of(row.all.front()) + " in its first recording"},
                         one.pair.when});
      continue;
    }
    row.all.push_back(one);
  }
  for (Row& row : out.rows) {
    for (const Observation& one : row.all) {
      const std::int64_t step = one.pair.when.step;
      std::vector<Joined> joined = joined_batches(record, row.name(), step);
      if (!joined.empty()) row.joined[step] = std::move(joined);
      PredictedSteps predicted = predicted_steps(record, row.name(), step);
      if (predicted.are_known()) row.steps[step] = std::move(predicted);
    }
    if (!row.is_judged()) out.not_judged += 1;
  }
  pool(out.rows);
  pool_predicted_steps(out.rows);
  out.skipped = unique_reasons(skipped, times.size());
  for (const Skipped& one : out.skipped) out.not_judged += places.contains(one.name) ? 0 : 1;
  return out;
}

}  // namespace ranklab::advise
