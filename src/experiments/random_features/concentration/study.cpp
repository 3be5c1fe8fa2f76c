// The study concentration: plan, flags, memory; scalars, series and figure from the records.
#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "experiments/random_features/concentration/concentration.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace concentration {

Plan::Plan(const ConcentrationConfig& given)
    : config(given),
      spike{given.p0, given.bulk},
      laws(make_laws(given.d)),
      n(given.n.begin(), given.n.end()),
      activations{"abs", "leaky-relu", "relu2", "gelu", "silu", "quadratic"} {
  const double c = config.failure_probability, scale = std::log(1.0 / (2.0 * c)) / config.p0;
  spike_n.push_back(std::ceil(printed_samples(config.p0, c)));
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0})
    spike_n.push_back(std::ceil(factor * scale));
  spike_n.push_back(std::ceil(needed_samples(config.p0, c)));
}

namespace {

void add_numbers(const Plan& plan, ResultBuilder& out) {
  const auto scalar_at = [&](const std::string& name, const std::string& array, std::size_t i) {
    out.scalar(name, per_trial(out.records(), [&](const TrialRecord& record) {
                 return record.array(array).at(i);
               }));
  };
  scalar_at("spike.share_above_printed", spike_above, at_printed);
  scalar_at("spike.share_above_needed", spike_above, plan.spike_n.size() - 1);
  for (const char* name : {spike_above, spike_above_moment, spike_trace, spike_few, spike_rank})
    out.series(name, "n", plan.spike_n);
  std::vector<double> none, root;
  for (const double n : plan.spike_n) none.push_back(std::pow(1.0 - plan.spike.p0, n));
  out.series_of_points("spike.no_large_sample", "n", plan.spike_n, none);
  for (const Law& law : plan.laws) {
    scalar_at(law.name + rank_error, law.name + rank_error, plan.n.size() - 1);
    for (const std::string& name :
         {std::string(rank_error), std::string(noise_above), share_above(theorem_2_3),
          largest_quotient(theorem_2_3), share_above(theorem_B_1), largest_quotient(theorem_B_1),
          share_above(theorem_B_2), largest_quotient(theorem_B_2)})
      out.series(law.name + name, "n", plan.n);
  }
  for (const double n : plan.n) root.push_back(1.0 / std::sqrt(n));
  out.series_of_points("inverse_square_root", "n", plan.n, root);
  for (const char* name : {layer_p0, layer_effective_rank, layer_rank, layer_above})
    out.series(name, "layer", 1.0);
  for (const std::string& sigma : plan.activations)
    scalar_at(sigma + ".quotient", sigma + ".quotient", 0);
}

// (2.3) at every layer, from the constants of each trial.
void add_layer_bound(const Plan& plan, ResultBuilder& out) {
  std::vector<double> layers;
  for (std::uint64_t l = 1; l <= plan.config.depth; ++l) layers.push_back(static_cast<double>(l));
  out.series("layer.bound", "layer", layers, [&](const TrialRecord& record, std::size_t l) {
    return 2.0 / (record.array(layer_p0).at(l) * layer_c0 * plan.config.failure_probability) *
           record.array(layer_effective_rank).at(l);
  });
}

// The exact probability of (C.1) over the printed and the corrected bound, eps = 0.499.
void add_deviation(ResultBuilder& out) {
  constexpr double epsilon = 0.499;
  std::vector<double> d, printed, corrected;
  for (double dimension = 64.0; dimension <= 65536.0; dimension *= 2.0) {
    const double log_both = log_chi_squared_deviation(dimension, epsilon / 4.0) - std::log(2.0),
                 exponent = epsilon * epsilon * dimension;
    d.push_back(dimension);
    printed.push_back(std::exp(log_both + exponent / 64.0));
    corrected.push_back(std::exp(log_both + exponent / 70.0));
  }
  out.series_of_points("deviation.over_printed", "d", d, printed);
  out.series_of_points("deviation.over_corrected", "d", d, corrected);
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  const CurveLook points{LineStyle::line_points, -1, 0.0, BandKind::interval};
  const Axis n = log_axis("samples n"), layer = {"layer"};
  out.panel("Theorem 2.2: samples above the bound", n, unit_axis("share of samples"))
      .curve(spike_above, "st(Z_n) above the bound (2.3)", points)
      .curve("spike.no_large_sample", "no large sample, (1 - p0)^n", {LineStyle::dotted})
      .line(2.0 * plan.config.failure_probability, "allowed, 2c")
      .band(plan.spike_n[at_printed], plan.spike_n[at_printed] * 1.15, "n as printed", 2)
      .band(plan.spike_n.back() / 1.15, plan.spike_n.back(), "n as the proof needs it", 3);
  PanelBuilder error = out.panel("Lemma 2.1 and Theorem 2.3: error of the stable rank", n,
                                 log_axis("|st(Z_n) - er(M)| / er(M)"));
  for (const Law& law : plan.laws) error.curve(law.name + rank_error, law.text, points);
  error.curve("inverse_square_root", "1/sqrt(n)", {LineStyle::dotted});
  out.panel("Quadratic layers, inputs N(1, s^2 I)", layer, rank_axis("stable rank"))
      .curve(layer_rank, "st(A_l), measured", points)
      .curve("layer.bound", "bound (2.3) with the law's own constants", points)
      .line(static_cast<double>(std::min(plan.config.width, layer_samples)),
            "largest possible rank");
  out.panel("Eq. (C.1), exact probability over the bound", log_axis("dimension d"),
            log_axis("quotient; above 1: violated"))
      .curve("deviation.over_printed", "2 exp(-eps^2 d/64), as printed", {LineStyle::line_points})
      .curve("deviation.over_corrected", "2 exp(-eps^2 d/70), corrected", {LineStyle::line_points})
      .line(1.0);
}

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("From the second moment to the stable rank of a sample", records);
  add_numbers(plan, out);
  add_layer_bound(plan, out);
  add_deviation(out);
  judge_constant_probability(plan, records, out.claims());
  judge_high_probability(plan, records, out.claims());
  judge_quadratic_layers(plan, records, out.claims());
  judge_blocks(plan, records, out.claims());
  add_figure(plan, out);
  out.note(
      "The bound (2.12) of Theorem 2.8 is above 177,147 at the first layer and above 1e16 at the "
      "third, so no matrix that fits in memory can exceed it. The run judges its proof and Theorem "
      "2.2 with the constants of the run's own inputs.");
  return out.take();
}

}  // namespace
}  // namespace concentration

namespace {

class ConcentrationStudy : public Study {
 public:
  std::vector<Field> fields() override {
    ConcentrationConfig& c = config_;
    return {
        size_field("draws", c.draws, 1, 10'000, "", "independent samples per trial and statement"),
        real_field("p0", c.p0, 1e-5, 0.05, "p0",
                   "probability of a large sample in Theorem 2.2; at most 0.05"),
        real_field("failure-probability", c.failure_probability, 0.01, 0.4, "c",
                   "constant of Theorem 2.2, which may fail with probability 2c"),
        size_field("bulk", c.bulk, 2, 10'000, "", "dimension of the small samples"),
        size_field("d", c.d, 2, 1'000, "d", "dimension of z in Theorem 2.3 and Appendix B"),
        size_list_field("n", c.n, 1, 10'000'000, "n", "sample sizes, ascending"),
        real_field("u", c.u, 1.0, 100.0, "u", "number u of Theorems 2.3, B.1 and B.2; at least 1"),
        real_field("epsilon", c.epsilon, 0.001, 0.9, "eps", "value of eps1 = eps2 in Lemma 2.5"),
        size_field("depth", c.depth, 1, 6, "l", "layers with quadratic activations"),
        size_field("width", c.width, 2, 10'000, "",
                   "rows of the quadratic layers, and columns of W in Lemma 2.12"),
        real_field("noise", c.noise, 0.0, 10.0, "s",
                   "standard deviation of the quadratic network's input around its mean"),
        size_field("vector", c.vector, 2, largest_size, "d", "dimension of x in Lemma 2.11"),
        size_field("k", c.k, 1, largest_size, "k", "rows of W in Lemma 2.12"),
        size_field("columns", c.columns, 1, largest_size, "n", "columns of A in Lemma 2.12"),
    };
  }

  void validate() const override {
    if (config_.n.size() < 2 || !std::ranges::is_sorted(config_.n))
      throw UsageError("--n needs at least two sizes in ascending order");
  }

  Estimate estimate() const override {
    const concentration::Plan plan(config_);
    const auto real = [](std::uint64_t size) { return static_cast<double>(size); };
    const double width = real(config_.width);
    return {.bytes = 8.0 * std::max({2.0 * real(config_.bulk) * plan.spike_n.back(),
                                     4.0 * real(config_.d) * real(config_.n.back()),
                                     (real(config_.depth) + 3.0) * width *
                                         real(concentration::layer_population),
                                     3.0 * real(config_.k) * (width + real(config_.columns))})};
  }

  Work work() const override {
    return each_trial([plan = concentration::Plan(config_)](Trial& trial) {
      return concentration::run_trial(plan, trial);
    });
  }
  Result report(const Records& records) const override {
    return concentration::report(concentration::Plan(config_), records);
  }

 private:
  ConcentrationConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_concentration_study() {
  return std::make_unique<ConcentrationStudy>();
}

}  // namespace ranklab
