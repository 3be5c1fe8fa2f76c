#include "experiments/rank_collapse/bounds/bounds.hpp"

#include <algorithm>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/bounds/skips.hpp"
#include "experiments/rank_collapse/bounds/without_skip.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab::bounds {

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

double smallest_cosine(const arma::mat& Y) {
  arma::mat products = Y.t() * Y;
  products.diag().fill(std::numeric_limits<double>::max());
  return products.min();
}

double smallest_weight(const arma::mat& M, bool causal) {
  double smallest = infinity;
  for (arma::uword j = 0; j < M.n_cols; ++j) smallest = std::min(smallest, M.col(j).tail(M.n_rows - (causal ? j : 0)).min());
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
  for (std::size_t k = 1; k < log_mu.size() && std::isfinite(log_mu[k]); ++k) steps.push_back(log_mu[k] - log_mu[k - 1]);
  if (steps.size() < 2) return undefined;
  const std::size_t last = steps.size() - 1, first = last / 2;
  const double ratio = steps[last] / steps[first];
  return ratio < 0 ? undefined : std::pow(ratio, 1 / static_cast<double>(last - first));
}

std::vector<double> padded(std::vector<double> values, std::size_t size) {
  values.resize(size, undefined);
  return values;
}

// Cases worked by hand -------------------------------------------------------------------------------------------------------

namespace {

// One layer of eq. (6) from matrices given in the paper's layout, tokens as rows.
Layer layer_of(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V, double lambda) {
  arma::mat next = arma::mat(M * Y * C_V + lambda * Y).t();
  normalise_rows(next);
  return open_layer(Y.t(), M, C_V, value_norms(C_V), lambda, next);
}

// Sys-2 without skip, two tokens 20 degrees apart, W_B = W_C = I, alpha = 1: token 2 becomes y_2 + (y_1.y_2) y_1, so that the
// tangent of the angle halves at every layer. All hypotheses hold (lambda_min = M_11 = 1), and 1 - c^2 = sin^2 20 < 1/4.
void judge_halving(double slack, TrialRecord& record) {
  const double start = 20 * arma::datum::pi / 180;
  const SelectiveNorms norms{2, 1, std::cos(start), 1, 1};
  for (double K = 1; K <= 16; ++K) {
    const double mu = std::sqrt(2.0) * std::sin(std::atan(std::tan(start) * std::exp2(-K)) / 2);
    compare_selective(norms, K, mu, true, slack, record);
  }
}

}  // namespace

TrialRecord worked_examples() {
  const double slack = tolerance::residual<double>;
  TrialRecord record;
  // Equal tokens of which the second grows: Y~ = (1, 0), (2, 0) has mu^2 = 1/2 and largest row 2, D Y~ has mu = 0 < 1/8.
  judge_layer(layer_of({{1, 0}, {1, 0}}, {{0, 0}, {1, 0}}, arma::mat(2, 2, arma::fill::eye), 1.0), slack, record);
  // One row of M adds N equal tokens up: it is N + lambda long, and S C_M + lambda = sqrt N + lambda.
  arma::mat adding(4, 4, arma::fill::zeros);
  adding.row(0).ones();
  judge_layer(layer_of(arma::mat(4, 1, arma::fill::ones), adding, arma::mat(1, 1, arma::fill::ones), 1.0), slack, record);
  // Sys-1 of Appendix A.10 at a skip near -1: row 1 all but vanishes, so that both rows turn to e_1 in one layer.
  const Layer turned = layer_of({{1, 0}, {0, 1}}, {{1, 0}, {2, 1}}, arma::mat(2, 2, arma::fill::eye), -0.9);
  judge_layer(turned, slack, record);
  judge_stack({turned.norms, turned.lambda, 1, turned.mu, turned.mu_next}, {0.04}, slack, record);
  // Lemma A.4: two tokens 50 degrees apart, S = W_C W_B' positive definite with eigenvalues 0.1 and 1.9, alpha = 1.
  const arma::mat S = {{1, 0.9}, {0.9, 1}};
  const double angle = 50 * arma::datum::pi / 180;
  const arma::vec y_1 = {1, 0}, y_2 = {std::cos(angle), -std::sin(angle)};
  compare(record, thm_4_3::lemma_A_4, 0.1 * arma::dot(y_1, y_2), arma::as_scalar(y_2.t() * S * y_1), slack);
  judge_halving(slack, record);
  return record;
}

// Judging --------------------------------------------------------------------------------------------------------------------

std::string violations_text(const Tally& tally) {
  return count_text(tally.violations) + " of " + count_text(tally.cases);
}

std::string cases_left(const Tally& tally) {
  return count_text(tally.cases - tally.violations) + " of " + count_text(tally.cases);
}

std::string mean_text(const Records& records, const Worst& number) {
  return short_number(summarise(worst_of(records, number)).mean);
}

void judge_counted(const Statement& statement, const Records& records, Claims& claims, std::string detail,
                   const std::string& unmet) {
  static const TrialRecord examples = worked_examples();
  const Tally random = tally_of(records, statement.id), example = examples.tally(statement.id);
  Tally all = random;
  all.add(example);
  if (!claims.applies(statement, all.cases == 0 ? clauses(unmet, detail) : "")) return;
  if (all.smallest > 0 && std::isfinite(all.smallest)) {
    detail = clauses("smallest ratio of the two sides " + short_number(all.smallest), detail);
  }
  if (example.cases > 0) {
    detail = clauses("random stacks " + violations_text(random) + ", worked examples " + violations_text(example), detail);
  }
  claims.never_violated(statement, all, detail);
}

void judge_worst(const Statement& statement, const Worst& number, Region allowed, const Records& records, Claims& claims,
                 const std::string& detail, const std::string& unmet) {
  const std::vector<double> per_trial = worst_of(records, number);
  if (!claims.applies(statement, summarise(per_trial).n == 0 ? clauses(unmet, detail) : "")) return;
  claims.mean(statement, per_trial, allowed, detail);
}

// All parts ------------------------------------------------------------------------------------------------------------------

namespace {

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

TrialRecord run_trial(const BoundsConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? all_parts<float>(config, trial) : all_parts<double>(config, trial);
}

void judge(const BoundsConfig& config, const Records& records, Claims& claims) {
  judge_theorem_4_1(config, records, claims);
  judge_theorem_4_2(config, records, claims);
  judge_theorem_4_3(records, claims);
  judge_theorem_A_3(records, claims);
  for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) judge_lti_theorem(theorem, records, claims);
  judge_theorem_A_10(records, claims);
}

}  // namespace ranklab::bounds
