#include "experiments/rank_collapse/bounds/config.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "experiments/rank_collapse/bounds/theorems.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace bounds {
namespace {

constexpr double largest_skip = 1e12;
constexpr std::uint64_t largest_size = 100'000;

std::vector<std::string> bare_models() {
  return models_that([](const ModelRow& row) { return row.bare; });
}

// The switches of a bare stack that the theorems leave open: they fix norm and skip.
bool is_open(const std::string& name) {
  static const std::vector<std::string> open = {"layers",     "state",        "vocabulary",    "share-weights", "input",
                                                "cone-width", "weight-scale", "value-weights", "causal",        "decay"};
  return std::find(open.begin(), open.end(), name) != open.end();
}

// Multiplications and additions of one layer's forward pass, and of M beside it.
double layer_flops(const BoundsConfig& config, const std::string& model, Sizes sizes) {
  const double N = static_cast<double>(sizes.tokens), d = static_cast<double>(sizes.dim);
  const ModelSpec spec = stack_spec(config, model, sizes, "rows");
  return 2 * flops_per_block(spec) + 2 * N * N * (d + static_cast<double>(spec.state));
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
    const ModelSpec own = stack_spec(config_, "attention", {config_.tokens.front(), config_.dim.front()}, "rows");
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

  Estimate estimate() const override {
    const double skips = static_cast<double>(config_.lambda.size()), layers = static_cast<double>(config_.spec.layers);
    Estimate cost;
    for (const Sizes sizes : all_sizes(config_)) {
      const double N = static_cast<double>(sizes.tokens), d = static_cast<double>(sizes.dim);
      const auto layer = [&](const std::string& model) { return layer_flops(config_, model, sizes); };
      // Singular values alone cost about 8/3 n^3; the bidiagonal form is found at half the speed of a product.
      const double svd_N = 6 * N * N * N, svd_d = 6 * d * d * d, open = 2 * N * d * d + 2 * N * N * d + svd_N;
      for (const std::string& model : config_.models) cost.flops += layers * (skips * (layer(model) + open) + svd_d);
      const double attention = layer("attention"), selective = layer("selective-ssm");
      cost.flops += layers * (2 * attention + 6 * selective + 2 * layer("lti-ssm") + 2 * svd_N + 4 * N * N * d);
      // States of every skip; M, its copy in double precision and its decomposition; weights and theirs.
      cost.bytes = std::max(cost.bytes, 8 * ((skips + 12) * N * d + 8 * N * N + 8 * d * d));
    }
    return cost;
  }

  Result run(Runner& runner) const override {
    const bool single_precision = runner.single_precision();
    const auto records = runner.run([&](Trial& trial) { return run_trial(config_, single_precision, trial); });
    return report(config_, records);
  }

 private:
  BoundsConfig config_;
};

template <class T>
TrialRecord all_parts(const BoundsConfig& config, const Trial& trial) {
  TrialRecord record;
  for (const Sizes sizes : all_sizes(config)) {
    for (const std::string& model : config.models) judge_skips<T>(config, model, sizes, trial, record);
    judge_attention<T>(config, sizes, trial, record);
    judge_selective<T>(config, sizes, trial, record);
    judge_pure_attention<T>(config, sizes, trial, record);
    for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) judge_lti<T>(config, theorem, sizes, trial, record);
    judge_pure_selective<T>(config, sizes, trial, record);
  }
  return record;
}

}  // namespace

std::vector<Sizes> all_sizes(const BoundsConfig& config) {
  std::vector<Sizes> sizes;
  for (const std::uint64_t N : config.tokens) {
    for (const std::uint64_t d : config.dim) sizes.push_back({N, d});
  }
  return sizes;
}

bool representative(const BoundsConfig& config, Sizes sizes) {
  return sizes.tokens == config.tokens.back() && sizes.dim == config.dim.back();
}

ModelSpec stack_spec(const BoundsConfig& config, const std::string& model, Sizes sizes, const std::string& norm) {
  ModelSpec spec = config.spec;
  spec.model = model;
  spec.tokens = sizes.tokens;
  spec.dim = sizes.dim;
  spec.norm = norm;
  const ModelRow& row = spec.row();
  if (!row.has("value-weights")) spec.value_weights = ModelSpec{}.value_weights;
  if (!row.has("causal")) spec.causal = false;
  if (!row.has("decay")) spec.decay = ModelSpec{}.decay;
  ranklab::settle(spec);
  return spec;
}

bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack) {
  const bool violated = smaller > larger + slack;
  record.count(statement.id, violated, smaller > 0 && larger > 0 ? larger / smaller : undefined);
  return violated;
}

bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack) {
  const bool violated = smaller > larger + slack * (1 + std::abs(larger));
  record.count(statement.id, violated, std::exp(larger - smaller));
  return violated;
}

void keep_worst(TrialRecord& record, const Worst& number, double value) {
  const std::string name = "worst/" + number.name;
  const double worst = record.scalar_or_nan(name);
  const bool worse = std::isfinite(value) && (std::isnan(worst) || number.badness(value) > number.badness(worst));
  record.set(name, worse ? value : worst);
}

std::vector<double> worst_of(const Records& records, const Worst& number) {
  return scalars_of(records, "worst/" + number.name);
}

void add_degenerate_rows(TrialRecord& record, std::uint64_t rows) {
  record.set(degenerate_rows, (record.has(degenerate_rows) ? record.scalar(degenerate_rows) : 0.0) + static_cast<double>(rows));
}

TrialRecord run_trial(const BoundsConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? all_parts<float>(config, trial) : all_parts<double>(config, trial);
}

}  // namespace bounds

BoundsConfig::BoundsConfig() {
  spec.layers = 16;
  spec.decay = 0.99;       // alpha^(2N) of Theorem 4.3's bound is not yet small at N = 32
  spec.cone_width = 0.25;  // tokens of Theorems A.2 and 4.3 about 20 degrees apart
}

std::unique_ptr<Study> make_bounds_study() {
  return std::make_unique<bounds::BoundsStudy>();
}

}  // namespace ranklab
