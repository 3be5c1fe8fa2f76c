#include "experiments/rank_collapse/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/stack.hpp"

namespace ranklab::bounds {

std::vector<Sizes> all_sizes(const Config& config) {
  std::vector<Sizes> sizes;
  for (const std::uint64_t N : config.tokens) {
    for (const std::uint64_t d : config.dim) sizes.push_back({N, d});
  }
  return sizes;
}

bool representative(const Config& config, Sizes sizes) {
  return sizes.tokens == config.tokens.back() && sizes.dim == config.dim.back();
}

ModelSpec stack_spec(const Config& config, const std::string& model, Sizes sizes,
                     const std::string& norm) {
  ModelSpec spec = config.spec;
  spec.model = model;
  spec.tokens = sizes.tokens;
  spec.dim = sizes.dim;
  spec.norm = norm;
  const ModelRow& row = spec.row();
  if (!row.has("value-weights")) spec.value_weights = ModelSpec{}.value_weights;
  if (!row.has("causal")) spec.causal = false;
  if (!row.has("decay")) spec.decay = ModelSpec{}.decay;
  ranklab::resolve_defaults(spec);
  return spec;
}

std::unique_ptr<BareBlock<double>> bare_block(const ModelSpec& spec, const Trial& trial,
                                              std::uint64_t layer) {
  DrawnTensors<double> tensors = block_tensors<double>(spec, trial, layer);
  return make_block_of<BareBlock>(spec, tensors);
}

namespace {

// A ratio that overflows is not shown. Sides that differ by rounding only count as equal.
double shown(double ratio, bool violated) {
  if (!std::isfinite(ratio)) return undefined;
  return violated ? ratio : std::max(1.0, ratio);
}

}  // namespace

bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger,
             double slack) {
  if (std::isnan(larger - smaller) || smaller == infinity) return false;  // overflow: no case
  const bool violated = smaller > larger + slack;
  record.count(statement.id, violated,
               smaller > 0 && larger > 0 ? shown(larger / smaller, violated) : undefined);
  return violated;
}

bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger,
                  double slack) {
  if (std::isnan(larger - smaller) || smaller == infinity) return false;  // overflow: no case
  const bool violated = smaller > larger + slack * (1 + std::abs(larger));
  record.count(statement.id, violated, shown(std::exp(larger - smaller), violated));
  return violated;
}

void keep_worst(TrialRecord& record, const Worst& number, double value) {
  const std::string name = "worst/" + number.name;
  const double worst = record.scalar_or_nan(name);
  const bool worse =
      std::isfinite(value) && (std::isnan(worst) || number.badness(value) > number.badness(worst));
  record.set(name, worse ? value : worst);
}

std::vector<double> worst_of(const Records& records, const Worst& number) {
  return scalars_of(records, "worst/" + number.name);
}

void add_degenerate_rows(TrialRecord& record, std::uint64_t rows) {
  record.set(degenerate_rows, (record.has(degenerate_rows) ? record.scalar(degenerate_rows) : 0.0) +
                                  static_cast<double>(rows));
}

double smallest_cosine(const arma::mat& Y) {
  arma::mat products = Y.t() * Y;
  products.diag().fill(std::numeric_limits<double>::max());
  return products.min();
}

double smallest_weight(const arma::mat& M, bool causal) {
  double smallest = infinity;
  for (arma::uword j = 0; j < M.n_cols; ++j)
    smallest = std::min(smallest, M.col(j).tail(M.n_rows - (causal ? j : 0)).min());
  return smallest;
}

std::vector<double> growth_of_steps(const std::vector<double>& log_mu) {
  std::vector<double> growth;
  for (std::size_t k = 2; k < log_mu.size(); ++k) {
    growth.push_back((log_mu[k] - log_mu[k - 1]) / (log_mu[k - 1] - log_mu[k - 2]));
  }
  return growth;
}

double mean_growth(const std::vector<double>& log_mu) {
  std::vector<double> steps;
  for (std::size_t k = 1; k < log_mu.size() && std::isfinite(log_mu[k]); ++k)
    steps.push_back(log_mu[k] - log_mu[k - 1]);
  if (steps.size() < 2) return undefined;
  const std::size_t last = steps.size() - 1, first = last / 2;
  const double ratio = steps[last] / steps[first];
  return ratio < 0 ? undefined : std::pow(ratio, 1 / static_cast<double>(last - first));
}

std::vector<double> padded(std::vector<double> values, std::size_t size) {
  values.resize(size, undefined);
  return values;
}

// Judging -----------------------------------------------------------------------------------------

std::string violations_text(const Tally& tally) {
  return say("{} of {}", count_text(tally.violations), count_text(tally.cases));
}

std::string non_violations_text(const Tally& tally) {
  return say("{} of {}", count_text(tally.cases - tally.violations), count_text(tally.cases));
}

std::string mean_text(const Records& records, const Worst& number) {
  return short_number(summarize(worst_of(records, number)).mean);
}

void judge_counted(const Statement& statement, const Records& records, Claims& claims,
                   std::string detail, const std::string& unmet) {
  static const TrialRecord examples = worked_examples();
  const Tally random = tally_of(records, statement.id), example = examples.tally(statement.id);
  Tally all = random;
  all.add(example);
  if (!claims.applies(statement, all.cases == 0 ? clauses(unmet, detail) : "")) return;
  if (all.smallest > 0 && std::isfinite(all.smallest)) {
    detail = clauses(say("smallest ratio of the two sides {}", all.smallest), detail);
  }
  if (example.cases > 0) {
    detail = clauses(say("violations in random stacks: {}, in worked examples: {}",
                         violations_text(random), violations_text(example)),
                     detail);
  }
  claims.never_violated(statement, all, detail);
}

void judge_counted(const Misprint& statement, const Records& records, Claims& claims,
                   const std::string& detail_as_printed, const std::string& detail_corrected) {
  judge_counted(statement.as_printed, records, claims, detail_as_printed);
  judge_counted(statement.corrected, records, claims, detail_corrected);
}

void judge_worst(const Statement& statement, const Worst& number, Region allowed,
                 const Records& records, Claims& claims, const std::string& detail,
                 const std::string& unmet) {
  const std::vector<double> per_trial = worst_of(records, number);
  if (!claims.applies(statement, summarize(per_trial).n == 0 ? clauses(unmet, detail) : "")) return;
  claims.mean(statement, per_trial, allowed, detail);
}

}  // namespace ranklab::bounds
