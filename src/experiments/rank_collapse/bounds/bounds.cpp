// What the parts of a trial share; how stacks are judged; the worked examples, which need no random
// numbers; one trial, which runs the parts of all theorems in turn; and the claims in the paper's
// order.
#include "experiments/rank_collapse/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "experiments/rank_collapse/bounds/adversarial_inputs.hpp"
#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
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
  if (!spec.row().has("decay")) spec.decay = ModelSpec{}.decay;
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

std::string violations_text(const Tally& tally) {
  return say("{} of {}", count_text(tally.violations), count_text(tally.cases));
}

}  // namespace

arma::mat gaussian_of(const Trial& trial, const std::string& name, arma::uword rows,
                      arma::uword cols) {
  arma::mat G(rows, cols);
  Stream stream = trial.stream(say("{}.{}x{}", name, rows, cols));
  stream.fill_normal({G.memptr(), G.n_elem});
  return G;
}

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
  const std::string name = std::string("worst/") + number.name;
  const double worst = record.scalar_or_nan(name);
  const bool worse =
      std::isfinite(value) && (std::isnan(worst) || number.badness(value) > number.badness(worst));
  record.set(name, worse ? value : worst);
}

std::vector<double> worst_of(const Records& records, const Worst& number) {
  return scalars_of(records, std::string("worst/") + number.name);
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

std::string StackClaims::violations(const std::string& id) const {
  return violations_text(tally(id));
}

std::string StackClaims::non_violations(const std::string& id) const {
  const Tally counts = tally(id);
  return say("{} of {}", count_text(counts.cases - counts.violations), count_text(counts.cases));
}

std::string StackClaims::mean_text(const Worst& number) const {
  return short_number(summarize(worst_of(records, number)).mean);
}

void StackClaims::counted(const Statement& statement, std::string detail,
                          const std::string& unmet) const {
  if (counted_ids != nullptr) counted_ids->push_back(statement.id);
  static const TrialRecord examples = worked_examples();
  const Tally random = tally(statement.id), example = examples.tally(statement.id);
  Tally all = random;
  all.add(example);
  if (!claims.applies(statement, all.cases == 0 ? clauses(unmet, detail) : "")) return;
  if (all.smallest > 0 && std::isfinite(all.smallest)) {
    detail = clauses(say("smallest ratio of the two sides {}", all.smallest), detail);
  }
  if (example.cases > 0) {
    const std::string drawn =
        random.cases > 0 ? say("violations in random stacks: {}, in", violations_text(random))
                         : "violations in";
    detail = clauses(say("{} worked examples: {}", drawn, violations_text(example)), detail);
  }
  claims.never_violated(statement, all, detail);
}

void StackClaims::counted(const Misprint& statement, const std::string& detail_as_printed,
                          const std::string& detail_corrected) const {
  counted(statement.as_printed, detail_as_printed);
  counted(statement.corrected, detail_corrected);
}

void StackClaims::worst(const Statement& statement, const Worst& number, Region allowed,
                        const std::string& detail, const std::string& unmet) const {
  const std::vector<double> per_trial = worst_of(records, number);
  if (claims.applies(statement, summarize(per_trial).n == 0 ? clauses(unmet, detail) : ""))
    claims.mean(statement, per_trial, allowed, detail);
}

// Worked examples ---------------------------------------------------------------------------------

namespace {

// One layer of eq. (6). The matrices are in the paper's layout, with one token per row.
Layer layer_of(const arma::mat& Y, const arma::mat& M, const arma::mat& C_V, double lambda) {
  arma::mat next = arma::mat(M * Y * C_V + lambda * Y).t();
  normalize_rows(next);
  return open_layer(Y.t(), M, C_V, value_norms(C_V), lambda, next);
}

// Sys-2 without a skip, two tokens 20 degrees apart, W_B = W_C = I, alpha = 1. Token 2 becomes y_2
// + (y_1.y_2) y_1, so the tangent of the angle halves at every layer. All hypotheses hold
// (lambda_min = M_11 = 1), and 1 - c^2 = sin^2 20 < 1/4.
void judge_halving(double slack, TrialRecord& record) {
  const double start = 20 * arma::datum::pi / 180;
  const SelectiveNorms norms{2, 1, std::cos(start), 1, 1};
  arma::mat Y = {{1, std::cos(start)}, {0, std::sin(start)}};
  for (double K = 1; K <= 16; ++K) {
    const double tangent = std::tan(start) * std::exp2(-K);
    compare_selective(norms, K, std::sqrt(2.0) * std::sin(std::atan(tangent) / 2), true, slack,
                      record);
    Y = Y * arma::trimatl(arma::mat(Y.t() * Y)).t();
    normalize_rows(Y);
    compare(record, thm_4_3::halving, token_spread(Y), tangent / std::sqrt(2.0), slack);
  }
}

// Theorem 4.3 with S = W_C W_B' = Diag(2.5, 0.625), alpha = 1 and the tokens (1, 2)/sqrt 5 and (-1,
// 2)/sqrt 5: M = I, so the tokens never move, and all row sums are 1. c = phi = 0.6 and mu^2 = 0.4
// at every layer. Rounding would destroy this fixed point, so M is computed in integers, 40 times
// the entries: 8 S times the products of the entries of sqrt 5 times the tokens.
constexpr int standing[2][2] = {{1, 2}, {-1, 2}};
constexpr int weight_of_standing(int i, int j) {
  constexpr int S[2] = {20, 5};
  return standing[i][0] * S[0] * standing[j][0] + standing[i][1] * S[1] * standing[j][1];
}
static_assert(weight_of_standing(0, 0) == 40 && weight_of_standing(1, 0) == 0 &&
              weight_of_standing(1, 1) == 40);

void judge_standing(double slack, TrialRecord& record) {
  const SelectiveNorms norms{2, 1, 0.6, 0.625, 2.5};
  for (double K = 1; K <= 16; ++K)
    compare_selective(norms, K, mu_of_standing(), false, slack, record);
}

// Theorem A.10 with N = 2, d = 1, W_BC = 2 and the tokens 1 and 0: y_1 becomes 2 y_1^3, so 2
// and 16.
void judge_cubing(double slack, TrialRecord& record) {
  double log_y = 0;
  for (double k = 1; k <= 2; ++k) {
    log_y = 3 * log_y + std::numbers::ln2;
    const double log_mu = log_y - std::numbers::ln2 / 2;
    compare_logs(record, thm_A_10::as_printed, log_mu, cubic_printed(k, 2, std::numbers::ln2, 0),
                 slack);
    compare_logs(record, thm_A_10::corrected, log_mu, cubic_corrected(k, 2, std::numbers::ln2, 0),
                 slack);
  }
}

// Lemmas A.1 and A.5, Corollary A.3.1, the step of Theorem A.8, and W with ||W||_F > 1 whose powers
// vanish.
void judge_norm_examples(double slack, TrialRecord& record) {
  judge_product(arma::rowvec{0, 1}, arma::vec{1, 0}, slack, record);
  judge_matrix_norms(arma::mat(2, 1, arma::fill::ones), slack, record);
  judge_matrix_norms(arma::mat(1, 2, arma::fill::ones), slack, record);
  // y_2'S y_1 = cos 60 + 4 sin 60, so row 2 of M Y has norm 4.55 > 2^(3/2).
  const double angle = 60 * arma::datum::pi / 180;
  const arma::mat Y = {{1, std::cos(angle)}, {0, std::sin(angle)}}, S = {{1, -4}, {4, 1}};
  judge_scales(Y, arma::trimatl(arma::mat(Y.t() * S * Y)), S, slack, record);
  LtiLogs kept;  // W = e_1 e_1', Y^0 = e_1: all norms are 1
  kept.N = 2;
  kept.k = 1;
  judge_step_A_8(kept, slack, record);
  LtiLogs vanishing;  // W^k of ((1/2, 0), (2, 1/2)) at k = 32, Y^0 = e_1 with mu = 1 / sqrt 2
  vanishing.N = 2;
  vanishing.k = 32;
  vanishing.frobenius = 32 * std::log(4.5) / 2;
  vanishing.mu_start = std::log(0.5) / 2;
  vanishing.mu = std::log(127.0) - std::log(2.0) / 2 - 32 * std::log(2.0);
  count_large_norm(vanishing, record);
}

}  // namespace

double mu_of_standing() {
  const auto product = [](int i, int j) {
    return standing[i][0] * standing[j][0] + standing[i][1] * standing[j][1];
  };
  // Of two unit rows.
  return std::sqrt(1 - static_cast<double>(product(0, 1)) / product(0, 0));
}

TrialRecord worked_examples() {
  const double slack = tolerance::residual<double>;
  TrialRecord record;
  // Two equal tokens, and M lengthens the second: Y~ = (1, 0), (2, 0) has mu^2 = 1/2 and largest
  // row 2, and D Y~ has mu^2 = 0 < 1/8.
  judge_layer(layer_of({{1, 0}, {1, 0}}, {{0, 0}, {1, 0}}, arma::mat(2, 2, arma::fill::eye), 1.0),
              slack, record);
  // One row of M adds up N equal tokens: the resulting row has length N + lambda, but S C_M +
  // lambda = sqrt N + lambda.
  arma::mat adding(4, 4, arma::fill::zeros);
  adding.row(0).ones();
  const arma::mat one(1, 1, arma::fill::ones);
  judge_layer(layer_of(arma::mat(4, 1, arma::fill::ones), adding, one, 1.0), slack, record);
  // Sys-1 of Appendix A.10 with lambda near -1: the skip nearly cancels y_2 in row 2 and y_1 in row
  // 1, so both rows have nearly the direction e_1 after one layer.
  const Layer turned =
      layer_of({{1, 0}, {0, 1}}, {{1, 0}, {2, 1}}, arma::mat(2, 2, arma::fill::eye), -0.9);
  judge_layer(turned, slack, record);
  judge_stack({turned.norms, turned.lambda, 1, turned.mu, turned.mu_next}, {0.04}, slack, record);
  // With one lambda_k for each layer, b is negative too, and any mu meets it.
  compare(record, layer_lambda::as_printed, 0.04 * turned.mu, turned.mu_next, slack);
  // Tokens 1 and -1, C_V = 4 and a skip of 3: Y~ = (4 + 3, 4 - 3)', so both become 1 and mu is 0.
  judge_layer(layer_of(arma::vec{1, -1}, {{1, 0}, {1, 0}}, 4 * one, 3.0), slack, record);
  // Lemma A.4: tokens at 110 and 160 degrees, S = W_C W_B' positive definite with eigenvalues 0.1
  // and 1.9, alpha = 1: M_21 = y_2'S y_1 = -0.257.
  const arma::mat S = {{1, 0.9}, {0.9, 1}};
  constexpr double degree = std::numbers::pi / 180;
  const arma::vec y_1 = {std::cos(110 * degree), std::sin(110 * degree)},
                  y_2 = {std::cos(160 * degree), std::sin(160 * degree)};
  compare(record, thm_4_3::lemma_A_4, 0.1 * arma::dot(y_1, y_2), arma::as_scalar(y_2.t() * S * y_1),
          slack);
  judge_halving(slack, record);
  // N = 2 and W_B = W_C = I: lambda_max = 1, not at most 1/2.
  compare(record, thm_4_3::small_lambda_max, 1.0, 0.5, slack);
  judge_standing(slack, record);
  judge_cubing(slack, record);
  judge_norm_examples(slack, record);
  // Tokens 1 and -1, with mu = ||Y||_F, become 1 and 2 - 1 = 1, with mu = 0.
  judge_lti_input({0, -infinity}, record);
  return record;
}

// All parts ---------------------------------------------------------------------------------------

TrialRecord run_trial(const Config& config, const Trial& trial) {
  TrialRecord record;
  for (const Sizes sizes : all_sizes(config)) {
    for (const std::string& model : config.models) {
      judge_skips(config, model, sizes, trial, record);
      judge_layer_lambdas(config, model, sizes, trial, record);
    }
    judge_mamba(config, sizes, trial, record);
    judge_attention(config, sizes, trial, record);
    judge_selective(config, sizes, trial, record);
    judge_pure_attention(config, sizes, trial, record);
    for (const LtiTheorem& theorem : {thm_A_7, thm_A_8})
      judge_lti(config, theorem, sizes, trial, record);
    judge_pure_selective(config, sizes, trial, record);
    judge_products(sizes, trial, record);
    judge_skewed(config, sizes, trial, record);
    judge_adversarial_inputs(config, sizes, trial, record);
  }
  return record;
}

void judge_all(const StackClaims& stacks) {
  judge_lemma_A_1(stacks);
  judge_theorem_4_1(stacks);
  judge_footnote_2(stacks);
  judge_layer_lambda_claims(stacks);
  judge_remark_claims(stacks);
  judge_theorem_4_2(stacks);
  judge_theorem_4_3(stacks);
  judge_theorem_A_3(stacks);
  judge_lemma_A_5(stacks);
  judge_lemma_A_6(stacks);
  for (const LtiTheorem& theorem : {thm_A_7, thm_A_8}) judge_lti_theorem(theorem, stacks);
  judge_theorem_A_10(stacks);
  judge_adversarial_claims(stacks);
}

}  // namespace ranklab::bounds
