#include "experiments/one_step_compare/mlp/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "io/atomic_file.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace mlp {
namespace {

Field learning_rate(const char* name, double& value, const std::string& help) {
  return excluding_low(real_field(name, value, 0.0, 1000.0, "", help));
}

class MlpStudy : public Study {
 public:
  std::vector<Field> fields() override {
    constexpr std::uint64_t largest = 100'000, largest_steps = 10'000'000;
    MlpConfig& c = config_;
    Field dump = text_field("dump", c.dump,
                            "folder for trial 0's last activations and gradients (first "
                            "--optimizer) and a manifest for --study files");
    dump.names_output = true;
    return {
        precision_field(c.precision),
        choice_field("activation", c.activation, activation_names(), "sigma",
                     "activation of the three hidden layers; swiglu is gated"),
        size_field("d", c.d, 3, largest, "d", "input dimension"),
        size_field("width", c.width, 0, largest, "4d", "units of each hidden layer; 0: 4 d"),
        size_field("n", c.n, 1, 10'000'000, "n", "samples; each step uses all of them"),
        size_field("steps", c.steps, 1, largest_steps, "T", "steps of each optimizer"),
        learning_rate(
            "lr-gd", c.lr_gd,
            "factor on GD's steps 1/L_F; Figure 18 uses 0.01 at n = 512 and 0.0035 at n = 8196"),
        learning_rate("lr-spec", c.lr_spec,
                      "factor on SpecGD's steps ||G||_*/L_op (layers 1, 4: 1/L_F); Figure 18 uses "
                      "0.025 and 0.0015"),
        choice_list_field(
            "optimizer", c.optimizer, {specgd, muon}, "",
            "optimizers to compare with GD; their spectral steps are on layers 2 and 3"),
        learning_rate("lr-muon", c.lr_muon,
                      "Muon's learning rate on layers 2 and 3; layers 1 and 4 step as in SpecGD"),
        real_field("momentum", c.momentum, 0.0, 0.9999, "beta",
                   "momentum of Muon's gradient average; 0: no averaging"),
        switch_field(
            "equal-lr", c.equal_lr,
            "run SpecGD again at --lr-gd, so that both methods have the same learning rate"),
        size_field("record-every", c.record_every, 1, largest_steps, "",
                   "steps between two measurements of the ranks; losses are always recorded"),
        choice_list_field("panels", c.panels, MlpConfig().panels, "",
                          "panels of the figure, in this order"),
        dump,
    };
  }

  std::vector<Output> outputs(std::uint64_t trial) const override {
    if (trial > 0 || config_.dump.empty()) return {};
    std::vector<Output> out;
    for (const std::string& file : dump_files(config_.dump)) out.push_back({file});
    return out;
  }

  void resolve_defaults() override {
    if (config_.width == 0) config_.width = 4 * config_.d;
  }

  void validate() const override {
    if (config_.equal_lr && !plan_of(config_).runs(specgd)) {
      throw UsageError(
          "--equal-lr: 'on' is not allowed without SpecGD; allowed: with specgd in --optimizer");
    }
  }

  Estimate estimate() const override {
    const Plan plan = plan_of(config_);
    const bool gated = find_activation(config_.activation).gated;
    const auto real = [](std::uint64_t size) { return static_cast<double>(size); };
    const double d = real(config_.d), h = real(config_.width), n = real(config_.n),
                 rows = gated ? 2 * h : h;
    const double weights = rows * (d + 2 * h) + h, count = real(plan.methods.size());
    const double recorded = real(plan.iterations.size()), steps = real(config_.steps);
    Estimate cost;
    // Per method: activations, slopes and their product; weights, gradients, a step and
    // decompositions. Shared: the samples, the initial weights and the recorded series.
    cost.bytes = 8 * (count * ((3 * h + 3 * rows + 2 * h) * n + 3 * weights + 6 * rows * h) +
                      2 * d * n + weights + 4 * (steps + 12 * recorded));
    return cost;
  }

  Work work() const override {
    if (!config_.dump.empty()) check_writable(manifest_path(config_.dump));
    return each_trial([plan = plan_of(config_)](Trial& trial) { return run_trial(plan, trial); });
  }
  Result report(const Records& records) const override {
    return mlp::report(plan_of(config_), records);
  }

 private:
  MlpConfig config_;
};

}  // namespace

Plan plan_of(const MlpConfig& config) {
  Plan plan{config, {{gd, "GD", InnerStep::euclidean, config.lr_gd}}, {}};
  for (const std::string& name : config.optimizer) {
    if (name == specgd)
      plan.methods.push_back({name, "SpecGD", InnerStep::spectral, config.lr_spec});
    if (name == muon) plan.methods.push_back({name, "Muon", InnerStep::muon, config.lr_spec});
  }
  if (config.equal_lr)
    plan.methods.push_back(
        {"specgd_equal_lr", "SpecGD at GD's rate", InnerStep::spectral, config.lr_gd});
  for (std::uint64_t t = 0; t < config.steps; t += config.record_every)
    plan.iterations.push_back(static_cast<double>(t));
  plan.iterations.push_back(static_cast<double>(config.steps));
  return plan;
}

bool Plan::runs(const std::string& method) const {
  return std::any_of(methods.begin(), methods.end(),
                     [&](const Method& each) { return each.name == method; });
}

}  // namespace mlp

std::unique_ptr<Study> make_mlp_study() {
  return std::make_unique<mlp::MlpStudy>();
}

}  // namespace ranklab
