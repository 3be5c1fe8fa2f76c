#include <algorithm>
#include <functional>
#include <numbers>

#include "core/error.hpp"
#include "core/undefined.hpp"
#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "models/gaussian_moments.hpp"
#include "models/tokens.hpp"
#include "report/figure/builder.hpp"

namespace ranklab {
namespace stable_ranks {
namespace {

double printed_nsr_bound(const std::string& activation) {
  const auto printed = printed_moments(activation);
  return printed ? printed->nsr_bound(1.0) : undefined;
}

// value(activation) for every listed activation.
std::vector<double> over_activations(const Plan& plan,
                                     const std::function<double(const std::string&)>& value) {
  std::vector<double> values;
  for (const std::string& name : plan.config.activation) values.push_back(value(name));
  return values;
}

void add_scalars(const Plan& plan, ResultBuilder& out) {
  const auto add_constant = [&](const std::string& name, double value) {
    out.scalar(name, std::vector<double>(out.records().size(), value));
  };
  for (const std::string& name : plan.config.activation) {
    for (const WeightKind& kind : weight_kinds) out.scalar(layer_rank(name, kind));
    const GaussianMoments moments = gaussian_moments(find_activation(name), 1.0);
    add_constant(name + ".nsr_bound", printed_nsr_bound(name));
    add_constant(name + ".nsr_quadrature", moments.noise_to_signal());
    add_constant(name + ".alpha", moments.mean * moments.mean);
    add_constant(name + ".beta", moments.second);
  }
  out.scalar(X_rank);
  for (const WeightKind& kind : weight_kinds) out.scalar(W_rank(kind));
  out.scalars({indicator_rank, inverse_p_max, embedding_rank, embedding_rms_rank, norm_deviation,
               distinct_tokens});
}

void add_series(const Plan& plan, ResultBuilder& out) {
  const auto add_constant = [&](const std::string& name, const std::string& x_name,
                                const std::vector<double>& values) {
    out.series(series_over_trials(name, x_name, std::vector(out.records().size(), values), 1.0));
  };
  for (const WeightKind& kind : weight_kinds) {
    const auto measured = per_trial(out.records(), [&](const TrialRecord& record) {
      return over_activations(
          plan, [&](const std::string& name) { return record.scalar(layer_rank(name, kind)); });
    });
    out.series(series_over_trials("stable_rank" + kind.suffix, "activation", measured, 1.0));
  }
  const auto quadrature = [](const std::string& name) {
    return gaussian_moments(find_activation(name), 1.0).noise_to_signal();
  };
  add_constant("nsr_quadrature", "activation", over_activations(plan, quadrature));
  add_constant("nsr_bound", "activation", over_activations(plan, printed_nsr_bound));
  for (const std::string& name : plan.stacks) out.series(depth_ranks(name), "layer", 1.0);
  std::vector<double> bounds;
  for (std::uint64_t layer = 1; layer <= plan.config.depth; ++layer) {
    bounds.push_back(quadratic_bound(layer, plan.config.failure_probability));
  }
  add_constant("quadratic.depth.bound", "layer", bounds);
  // The bound grows doubly exponentially. The figure shows it only as far as it does not flatten
  // the other curves.
  if (bounds.front() >= 100 * plan.largest_rank) return;
  for (double& bound : bounds) bound = bound < 100 * plan.largest_rank ? bound : undefined;
  add_constant("quadratic.depth.bound.drawn", "layer", bounds);
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  // The points are drawn side by side, because measured values and bounds often coincide.
  out.panel("One layer, dense W", {"activation", Scale::linear, plan.config.activation},
            log_axis("stable rank of sigma(WX)"))
      .curve("stable_rank", "measured", {LineStyle::points, -1, -0.15})
      .curve("nsr_quadrature", "NSR by quadrature", {LineStyle::points})
      .curve("nsr_bound", "printed bound on the NSR", {LineStyle::points, -1, 0.15});
  PanelBuilder depth = out.panel("Random layers", {"layer"}, log_axis("stable rank of A_l"));
  for (const std::string& name : plan.config.activation)
    depth.curve(depth_ranks(name), name, {LineStyle::line_points});
  depth.line(std::numbers::pi, "pi");
  out.panel("Quadratic activations", {"layer"}, log_axis("stable rank of A_l"))
      .curve(depth_ranks("quadratic"), "measured", {LineStyle::line_points})
      .curve_if_measured("quadratic.depth.bound.drawn", "bound (2.12), as far as it fits the axis",
                         {LineStyle::dashed})
      .line(
          plan.largest_rank,
          std::string("largest rank, min(k, n)") +
              (out.has_series("quadratic.depth.bound.drawn") ? "" : "; bound (2.12) is far above"));
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Stable rank of post-activations", records);
  out.claims().set_unit(Unit::draw);
  add_scalars(plan, out);
  add_series(plan, out);
  judge(plan, records, out.claims());
  add_figure(plan, out);
  if (quadratic_bound(1, plan.config.failure_probability) >= plan.largest_rank) {
    out.note(
        "The bound of Theorem 2.8 exceeds min(k, n) at every layer, so it is vacuous at these "
        "sizes.");
  }
  out.note(
      "Theorems 2.6 and 2.7 cover relu, abs and leaky-relu; the paper proves no bound for the "
      "other activations.");
  return out.take();
}

}  // namespace
}  // namespace stable_ranks

namespace {

class StableRankStudy : public Study {
 public:
  std::vector<Field> fields() override {
    StableRankConfig& c = config_;
    return {
        choice_list_field("activation", c.activation, activation_names(), "sigma",
                          "activations, all applied to the same draws of W and X"),
        size_field("k", c.k, 1, largest_size, "k", "rows of every weight matrix"),
        size_field("d", c.d, 1, largest_size, "d",
                   "dimension of the input and of the token embedding"),
        size_field("n", c.n, 1, largest_size, "n", "samples"),
        size_field("depth", c.depth, 1, 100, "l", "layers of the random networks"),
        excluding_low(real_field("epsilon", c.epsilon, 0.0, 1.0, "eps",
                                 "value of eps_1 = eps_2 in Theorems 2.6 and 2.7; below 1")),
        size_field("rank", c.rank, 1, largest_size, "r",
                   "rank of the low-rank W, at most min(k, d)"),
        real_field("power", c.power, 0.0, 100.0, "p",
                   "exponent of the power-law W, with singular values proportional to i^(-p)"),
        excluding_low(real_list_field("variances", c.variances, 0.0, 1e6, "w' Sigma w",
                                      "variances at which Figure 12 is checked")),
        size_field("vocabulary", c.vocabulary, 1, 10000000, "V",
                   "vocabulary size: number of distinct tokens"),
        size_field("tokens", c.tokens, 1, 10000000, "", "length of the token sequence"),
        real_field("zipf", c.zipf, 0.0, 10.0, "s",
                   "Zipf exponent: token j has probability proportional to j^(-s)"),
        excluding_low(
            real_field("failure-probability", c.failure_probability, 0.0, 0.5, "c",
                       "constant of Theorem 2.8, which may fail with probability 2c; below 0.5")),
    };
  }

  void validate() const override {
    if (config_.rank > std::min(config_.k, config_.d)) {
      throw UsageError("--rank " + std::to_string(config_.rank) +
                       " is not allowed: at most min(--k, --d) = " +
                       std::to_string(std::min(config_.k, config_.d)));
    }
    if (config_.epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
    if (config_.failure_probability >= 0.5)
      throw UsageError("--failure-probability 0.5 is not allowed: below 0.5");
  }

  Estimate estimate() const override;

  Result run(Runner& runner) const override {
    const stable_ranks::Plan plan(config_);
    const bool single_precision = runner.single_precision();
    return stable_ranks::report(plan, runner.run([&](Trial& trial) {
      return stable_ranks::run_trial(plan, single_precision, trial);
    }));
  }

 private:
  StableRankConfig config_;
};

Estimate StableRankStudy::estimate() const {
  const stable_ranks::Plan plan(config_);
  const double k = static_cast<double>(config_.k), d = static_cast<double>(config_.d),
               n = static_cast<double>(config_.n);
  const double layers = static_cast<double>(config_.depth),
               stacks = static_cast<double>(plan.stacks.size());
  const double distinct = ZipfLaw(config_.vocabulary, config_.zipf)
                              .expected_distinct(static_cast<double>(config_.tokens));
  const double side = std::min(k, n), wide = std::max(k, n);
  double products = 0.0, products_with_gate = 0.0;
  for (const std::string& name : plan.stacks) {
    const double kinds = plan.listed(name) ? 3.0 : 1.0;  // of first weights
    products += kinds;
    products_with_gate += kinds * (find_activation(name).gated ? 2.0 : 1.0);
  }
  const double gate = products_with_gate > products ? 2.0 : 1.0;

  Estimate cost;
  // The eigenvalues of a symmetric matrix of order s take about 4/3 s^3.
  const double per_gram = side * side * wide + 4.0 / 3.0 * side * side * side;
  cost.flops = products_with_gate * 2.0 * k * d * n + products * per_gram;
  cost.flops += (layers - 1.0) * (stacks * per_gram + (stacks + gate - 1.0) * 2.0 * k * k * n);
  cost.flops +=
      gate * 4.0 * k * d * std::min(k, d) + 2.0 * d * d * distinct + 8.0 / 3.0 * d * d * d;
  // The outputs of all stacks, one new output with its gate or its copy in double precision, the
  // input, the weights in two copies, and the Gram matrix with its workspace.
  const double layer_bytes = 8.0 * ((stacks + 3.0) * k * n + 2.0 * d * n +
                                    2.0 * gate * k * std::max(k, d) + 3.0 * side * side);
  const double token_bytes = 8.0 * (3.0 * d * distinct + 3.0 * d * d +
                                    2.0 * static_cast<double>(config_.tokens + config_.vocabulary));
  cost.bytes = std::max(layer_bytes, token_bytes);
  return cost;
}

}  // namespace

std::unique_ptr<Study> make_stable_rank_study() {
  return std::make_unique<StableRankStudy>();
}

}  // namespace ranklab
