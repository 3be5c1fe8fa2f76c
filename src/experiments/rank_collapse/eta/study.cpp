#include "experiments/rank_collapse/eta/config.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/eta/report.hpp"
#include "experiments/rank_collapse/eta/trial.hpp"
#include "run/once_per_run.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t largest_size = 100'000;

template <class T>
std::vector<TrialRecord> run_samples(const EtaConfig& config, Runner& runner) {
  OncePerRun<std::vector<EtaCase<T>>> fixed;
  return runner.run([&](Trial& trial) {
    const auto& cases = fixed.get([&] { return eta_cases<T>(config, trial); });
    return eta_trial(config, cases, trial);
  });
}

class EtaStudy : public Study {
 public:
  std::vector<Field> fields() override {
    EtaConfig& c = config_;
    return {
        size_field("tokens", c.tokens, 2, largest_size, "n", "rows of X"),
        size_list_field("dim", c.dim, 1, largest_size, "d", "columns of X, one curve for each"),
        excluding_low(real_list_field("t", c.t, 0.0, 1.0, "t", "X = e v' + t Q")),
        excluding_low(real_field("alpha", c.alpha, 0.0, 1e6, "alpha", "Y = X + alpha P X W")),
    };
  }

  void validate() const override {
    std::map<std::string, double> names;
    for (const double t : config_.t) {
      if (!names.emplace(short_number(t), t).second) {
        throw UsageError("--t: two values have the same first four digits, by which the samples of W are told apart");
      }
    }
  }

  Estimate estimate() const override {
    Estimate cost;
    const double n = static_cast<double>(config_.tokens), values = static_cast<double>(config_.t.size());
    double largest = 0;
    for (const std::uint64_t dim : config_.dim) {
      const double d = static_cast<double>(dim);
      cost.bytes += values * 8 * 2 * n * d;
      largest = std::max(largest, 8 * (5 * n * n + 8 * n * d + 4 * d * d));
      cost.flops += values * (2 * n * d * d + 20 * n * d + 60 * d * d);
    }
    cost.bytes += largest;
    return cost;
  }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    const auto records = single ? run_samples<float>(config_, runner) : run_samples<double>(config_, runner);
    return eta_result(EtaRun(config_, records), single);
  }

 private:
  EtaConfig config_;
};

}  // namespace

EtaConfig::EtaConfig() {
  for (int i = 1; i <= 20; ++i) t.push_back(i / 20.0);
}

std::vector<std::uint64_t> ascending_dim(const EtaConfig& config) {
  std::vector<std::uint64_t> dim = config.dim;
  std::sort(dim.begin(), dim.end());
  return dim;
}

std::vector<double> ascending_t(const EtaConfig& config) {
  std::vector<double> t = config.t;
  std::sort(t.begin(), t.end());
  return t;
}

std::unique_ptr<Study> make_eta_study() {
  return std::make_unique<EtaStudy>();
}

}  // namespace ranklab
