#include "experiments/random_features/stable_rank/study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "experiments/random_features/stable_rank/claims.hpp"
#include "experiments/random_features/stable_rank/trial.hpp"
#include "models/gaussian_moments.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_size = 100000;

// One value per trial, as the columns of a table: trials x length.
std::vector<std::vector<double>> repeated(const std::vector<double>& values, std::size_t trials) {
  return std::vector<std::vector<double>>(trials, values);
}

class StableRankStudy : public Study {
 public:
  std::vector<Field> fields() override;
  void validate() const override;
  Estimate estimate() const override { return stable_rank_estimate(config_); }
  Result run(Runner& runner) const override;

 private:
  void add_scalars(const std::vector<TrialRecord>& records, Result& result) const;
  void add_series(const std::vector<TrialRecord>& records, Result& result) const;
  void add_claims(const std::vector<TrialRecord>& records, Result& result) const;
  Figure figure() const;

  StableRankConfig config_;
};

std::vector<Field> StableRankStudy::fields() {
  StableRankConfig& c = config_;
  return {
      choice_list_field("activation", c.activation, activation_names(), "sigma",
                        "activations, each from the same draws of W and X"),
      size_field("k", c.k, 1, largest_size, "k", "rows of every weight matrix"),
      size_field("d", c.d, 1, largest_size, "d", "dimension of the input and of the token embedding"),
      size_field("n", c.n, 1, largest_size, "n", "samples"),
      size_field("depth", c.depth, 1, 100, "l", "layers of the random networks"),
      excluding_low(real_field("epsilon", c.epsilon, 0.0, 1.0, "eps", "eps_1 = eps_2 of Theorems 2.6 and 2.7, below 1")),
      size_field("rank", c.rank, 1, largest_size, "r", "rank of the low-rank W, at most min(k, d)"),
      real_field("power", c.power, 0.0, 100.0, "p", "the power-law W has singular values proportional to i^(-p)"),
      excluding_low(real_list_field("variances", c.variances, 0.0, 1e6, "w' Sigma w", "variances at which Figure 12 is checked")),
      size_field("vocabulary", c.vocabulary, 1, 10000000, "V", "number of tokens that may occur"),
      size_field("tokens", c.tokens, 1, 10000000, "", "length of the token sequence"),
      real_field("zipf", c.zipf, 0.0, 10.0, "s", "token j has probability proportional to j^(-s)"),
      excluding_low(real_field("failure-probability", c.failure_probability, 0.0, 0.5, "c",
                               "Theorem 2.8 may fail with probability 2c; below 0.5")),
  };
}

void StableRankStudy::validate() const {
  if (config_.rank > std::min(config_.k, config_.d)) {
    throw UsageError("--rank " + std::to_string(config_.rank) +
                     " is not allowed: at most min(--k, --d) = " + std::to_string(std::min(config_.k, config_.d)));
  }
  if (config_.epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
  if (config_.failure_probability >= 0.5) throw UsageError("--failure-probability 0.5 is not allowed: below 0.5");
}

Result StableRankStudy::run(Runner& runner) const {
  const bool single_precision = runner.single_precision();
  const std::vector<TrialRecord> records =
      runner.run([&](Trial& trial) { return stable_rank_trial(config_, single_precision, trial); });
  Result result;
  result.title = "Stable rank of post-activations";
  add_scalars(records, result);
  add_series(records, result);
  add_claims(records, result);
  result.figure = figure();
  const double largest_rank = static_cast<double>(std::min(config_.k, config_.n));
  if (quadratic_bound(1, config_.failure_probability) >= largest_rank) {
    result.notes.push_back("The bound of Theorem 2.8 exceeds min(k, n) at every layer, so that it says nothing at these sizes.");
  }
  result.notes.push_back(
      "Theorems 2.6 and 2.7 cover relu, abs and leaky-relu; the other activations are shown without a bound that is proved for "
      "them.");
  return result;
}

void StableRankStudy::add_scalars(const std::vector<TrialRecord>& records, Result& result) const {
  const auto add = [&](const std::string& name) { result.scalars.push_back({name, scalars_of(records, name)}); };
  const auto add_constant = [&](const std::string& name, double value) {
    result.scalars.push_back({name, std::vector<double>(records.size(), value)});
  };
  for (const auto& name : config_.activation) {
    for (const WeightKind& kind : weight_kinds) add(name + ".stable_rank" + kind.suffix);
    const auto printed = printed_moments(name);
    const GaussianMoments moments = gaussian_moments(find_activation(name), 1.0);
    add_constant(name + ".nsr_bound", printed ? printed->nsr_bound(1.0) : std::numeric_limits<double>::quiet_NaN());
    add_constant(name + ".nsr_quadrature", moments.noise_to_signal());
    add_constant(name + ".alpha", moments.mean * moments.mean);
    add_constant(name + ".beta", moments.second);
  }
  add("X.stable_rank");
  for (const WeightKind& kind : weight_kinds) add(std::string("W.stable_rank") + kind.suffix);
  for (const char* name : {"token_indicator.stable_rank", "token_indicator.inverse_p_max", "embedding.stable_rank",
                           "embedding_rms.stable_rank", "embedding.norm_deviation", "embedding.distinct_tokens"}) {
    add(name);
  }
}

void StableRankStudy::add_series(const std::vector<TrialRecord>& records, Result& result) const {
  for (const WeightKind& kind : weight_kinds) {
    std::vector<std::vector<double>> measured(records.size());
    for (std::size_t t = 0; t < records.size(); ++t) {
      for (const auto& name : config_.activation) measured[t].push_back(records[t].scalar(name + ".stable_rank" + kind.suffix));
    }
    result.series.push_back(series_over_trials(std::string("stable_rank") + kind.suffix, "activation", measured, 1.0));
  }
  std::vector<double> quadrature, bound;
  for (const auto& name : config_.activation) {
    const auto printed = printed_moments(name);
    quadrature.push_back(gaussian_moments(find_activation(name), 1.0).noise_to_signal());
    bound.push_back(printed ? printed->nsr_bound(1.0) : std::numeric_limits<double>::quiet_NaN());
  }
  result.series.push_back(series_over_trials("nsr_quadrature", "activation", repeated(quadrature, records.size()), 1.0));
  result.series.push_back(series_over_trials("nsr_bound", "activation", repeated(bound, records.size()), 1.0));

  for (const auto& name : depth_activations(config_)) {
    const std::string metric = name + ".depth.stable_rank";
    result.series.push_back(series_over_trials(metric, "layer", arrays_of(records, metric), 1.0));
  }
  std::vector<double> quadratic;
  for (std::uint64_t layer = 1; layer <= config_.depth; ++layer) {
    quadratic.push_back(quadratic_bound(layer, config_.failure_probability));
  }
  result.series.push_back(series_over_trials("quadratic.depth.bound", "layer", repeated(quadratic, records.size()), 1.0));
}

void StableRankStudy::add_claims(const std::vector<TrialRecord>& records, Result& result) const {
  for (const auto& claims : {table_claims(config_), one_layer_claims(config_, records), random_layer_claims(config_, records),
                             quadratic_claims(config_, records), token_claims(config_, records)}) {
    result.claims.insert(result.claims.end(), claims.begin(), claims.end());
  }
}

Figure StableRankStudy::figure() const {
  Panel one_layer{
      "One layer, dense W", {"activation", Scale::linear, config_.activation}, {"stable rank of sigma(WX)", Scale::log}, {}, {}};
  // Side by side: measured values and bounds often coincide.
  one_layer.curves = {{"stable_rank", "measured", LineStyle::points, -1, -0.15},
                      {"nsr_quadrature", "NSR by quadrature", LineStyle::points},
                      {"nsr_bound", "printed bound on the NSR", LineStyle::points, -1, 0.15}};

  Panel depth{"Random layers", {"layer"}, {"stable rank of A_l", Scale::log}, {}, {}};
  for (const auto& name : config_.activation) depth.curves.push_back({name + ".depth.stable_rank", name, LineStyle::line_points});
  depth.lines.push_back({std::numbers::pi, "pi"});

  Panel quadratic{"Quadratic activations", {"layer"}, {"stable rank of A_l", Scale::log}, {}, {}};
  quadratic.curves = {{"quadratic.depth.stable_rank", "measured", LineStyle::line_points},
                      {"quadratic.depth.bound", "bound (2.12)", LineStyle::dashed}};
  quadratic.lines.push_back({static_cast<double>(std::min(config_.k, config_.n)), "largest rank, min(k, n)"});
  return {{one_layer, depth, quadratic}};
}

}  // namespace

std::unique_ptr<Study> make_stable_rank_study() {
  return std::make_unique<StableRankStudy>();
}

}  // namespace ranklab
