#include "experiments/rank_collapse/bounds/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/rank_collapse/bounds/report.hpp"
#include "experiments/rank_collapse/bounds/trial.hpp"
#include "experiments/rank_collapse/model_fields.hpp"

namespace ranklab {
namespace {

constexpr double largest_skip = 1e12;
constexpr std::uint64_t largest_size = 100'000;

const std::vector<std::string>& bare_models() {
  static const std::vector<std::string> names = {"attention", "linear-attention", "lti-ssm", "selective-ssm"};
  return names;
}

// The switches of a bare stack that the theorems leave open: they fix norm and skip.
bool is_open(const std::string& name) {
  static const std::vector<std::string> open = {"layers",     "state",        "vocabulary",    "share-weights", "input",
                                                "cone-width", "weight-scale", "value-weights", "causal",        "decay"};
  return std::find(open.begin(), open.end(), name) != open.end();
}

class BoundsStudy : public Study {
 public:
  std::vector<Field> fields() override {
    BoundsConfig& c = config_;
    std::vector<Field> list = {
        choice_list_field("model", c.models, bare_models(), "", "the stacks of Theorem 4.1"),
        size_list_field("tokens", c.tokens, 2, largest_size, "N", "tokens of a sequence"),
        size_list_field("dim", c.dim, 1, largest_size, "d", "width of a token"),
        real_list_field("lambda", c.lambda, -largest_skip, largest_skip, "lambda", "skips of Theorem 4.1"),
        excluding_low(real_list_field("a", c.a, 0.0, 1.0, "a", "collapse rates of Theorem 4.1, below 1")),
    };
    for (Field& field : model_fields(c.spec, bare_models())) {
      if (is_open(field.name)) list.push_back(std::move(field));
    }
    return list;
  }

  void settle() override {
    // The bare stacks share these values of their own.
    const ModelSpec own = bounds_spec(config_, "attention", config_.tokens.front(), config_.dim.front(), "rows");
    config_.spec.state = own.state;
    config_.spec.vocabulary = own.vocabulary;
    config_.spec.share_weights = own.share_weights;
    config_.spec.input = own.input;
  }

  void validate() const override {
    for (const double a : config_.a) {
      if (a >= 1) throw UsageError("--a 1 is not allowed: eq. (7) asks for a collapse rate below 1");
    }
  }

  Estimate estimate() const override { return bounds::bounds_estimate(config_); }

  Result run(Runner& runner) const override {
    const bool single_precision = runner.single_precision();
    const auto records = runner.run([&](Trial& trial) { return bounds::bounds_trial(config_, single_precision, trial); });
    return bounds::bounds_result(config_, records);
  }

 private:
  BoundsConfig config_;
};

}  // namespace

BoundsConfig::BoundsConfig() {
  spec.layers = 16;
  spec.decay = 0.99;       // alpha^(2N) of Theorem 4.3's bound is not yet small at N = 32
  spec.cone_width = 0.25;  // tokens of Theorems A.2 and 4.3 about 20 degrees apart
}

ModelSpec bounds_spec(const BoundsConfig& config, const std::string& model, std::uint64_t tokens, std::uint64_t dim,
                      const std::string& norm) {
  ModelSpec spec = config.spec;
  spec.model = model;
  spec.tokens = tokens;
  spec.dim = dim;
  spec.norm = norm;
  const bool attends = model == "attention" || model == "linear-attention";
  if (!attends) {
    spec.value_weights = ModelSpec{}.value_weights;
    spec.causal = false;
  }
  if (model != "selective-ssm") spec.decay = ModelSpec{}.decay;
  ranklab::settle(spec);
  return spec;
}

std::unique_ptr<Study> make_bounds_study() {
  return std::make_unique<BoundsStudy>();
}

}  // namespace ranklab
