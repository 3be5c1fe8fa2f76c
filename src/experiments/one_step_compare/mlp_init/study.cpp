#include "experiments/one_step_compare/mlp_init/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/one_step_compare/mlp/methods.hpp"
#include "experiments/one_step_compare/mlp_init/report.hpp"
#include "linalg/spectra.hpp"
#include "models/mlp.hpp"
#include "models/random_features.hpp"

namespace ranklab {
namespace {

using mlp::hidden_layers;

/// st(X) and then st(A_1), ..., st(A_3) of each net at its draw, for n samples that no other n shares.
template <class T>
std::vector<double> stable_ranks(const MlpInitConfig& config, const std::vector<Mlp<T>>& nets, std::uint64_t n,
                                 const Trial& trial) {
  const arma::Mat<T> X = draw_gaussian<T>(trial, ("X/n=" + std::to_string(n)).c_str(), config.d, n, 1.0);
  std::vector<double> out = {stable_rank(arma::conv_to<arma::mat>::from(X))};
  MlpPass<T> pass;
  for (const Mlp<T>& net : nets) {
    trial.check_interrupt();
    forward(net, X, pass);
    for (const arma::Mat<T>& A : pass.A) {
      trial.check_interrupt();
      out.push_back(stable_rank(arma::conv_to<arma::mat>::from(A)));
    }
  }
  return out;
}

/// The weights stay as n varies, as in the paper's figure.
template <class T>
TrialRecord run_trial(const MlpInitConfig& config, const Trial& trial) {
  const std::vector<std::uint64_t> n = ascending_n(config);
  const std::vector<MlpInitNet> named = mlp_init_nets(config);
  std::vector<Mlp<T>> nets;
  for (const MlpInitNet& net : named)
    nets.push_back(draw_mlp<T>(trial, config.d, config.width, hidden_layers, find_activation(net.activation), net.prefix));
  std::vector<std::vector<double>> at_n(n.size());
  // The largest n comes first, so that threads end together.
  trial.for_each_part(n.size(), [&](std::size_t part) {
    const std::size_t i = n.size() - 1 - part;
    at_n[i] = stable_ranks(config, nets, n[i], trial);
  });
  TrialRecord record;
  const auto store = [&](const std::string& name, std::size_t entry) {
    std::vector<double> values;
    for (const auto& ranks : at_n) values.push_back(ranks[entry]);
    record.set(name, std::move(values));
  };
  store("X.stable_rank", 0);
  for (std::size_t net = 0; net < named.size(); ++net)
    for (std::size_t l = 1; l <= hidden_layers; ++l)
      store(named[net].prefix + "layer" + std::to_string(l) + ".stable_rank", net * hidden_layers + l);
  return record;
}

class MlpInitStudy : public Study {
 public:
  std::vector<Field> fields() override {
    constexpr std::uint64_t largest = 100'000;
    MlpInitConfig& c = config_;
    Field also = choice_list_field("also", c.also, activation_names(), "", "further activations, drawn beside for contrast");
    return {
        choice_field("activation", c.activation, activation_names(), "sigma",
                     "activation of the three hidden layers; swiglu is gated"),
        or_empty(also),
        size_field("d", c.d, 1, largest, "d", "input dimension"),
        size_field("width", c.width, 0, largest, "4d", "units of each hidden layer; 0: 4 d"),
        size_list_field("n", c.n, 1, 10'000'000, "n", "samples: the batch sizes"),
    };
  }

  void settle() override {
    if (config_.width == 0) config_.width = 4 * config_.d;
  }

  void validate() const override {
    if (std::find(config_.also.begin(), config_.also.end(), config_.activation) != config_.also.end())
      throw UsageError("--also: '" + config_.activation + "' is not allowed; allowed: activations other than that of --activation");
  }

  Estimate estimate() const override {
    const auto real = [](std::uint64_t size) { return static_cast<double>(size); };
    const double d = real(config_.d), h = real(config_.width);
    Estimate cost;
    for (const MlpInitNet& net : mlp_init_nets(config_)) {
      const double rows = find_activation(net.activation).gated ? 2 * h : h, weights = rows * (d + 2 * h) + h;
      cost.bytes += 8 * weights;
      for (const std::uint64_t each : config_.n) {
        const double n = real(each), small = std::min(h, n), large = std::max(h, n);
        cost.flops += 2 * n * weights + 3 * (2 * small * small * large + 4.0 / 3 * small * small * small);
      }
    }
    const double n = real(ascending_n(config_).back());
    cost.bytes += 8 * n * (d + 12 * h);
    return cost;
  }

  Result run(Runner& runner) const override {
    const auto records = runner.run([&](Trial& trial) {
      return runner.single_precision() ? run_trial<float>(config_, trial) : run_trial<double>(config_, trial);
    });
    return mlp_init_result(config_, records);
  }

 private:
  MlpInitConfig config_;
};

}  // namespace

std::vector<MlpInitNet> mlp_init_nets(const MlpInitConfig& config) {
  std::vector<MlpInitNet> nets = {{config.activation, ""}};
  for (const std::string& name : config.also) nets.push_back({name, name + "."});
  return nets;
}

std::vector<std::uint64_t> ascending_n(const MlpInitConfig& config) {
  std::vector<std::uint64_t> n = config.n;
  std::sort(n.begin(), n.end());
  return n;
}

std::unique_ptr<Study> make_mlp_init_study() {
  return std::make_unique<MlpInitStudy>();
}

}  // namespace ranklab
