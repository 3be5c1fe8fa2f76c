#include "experiments/rank_collapse/token_escalation.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/rank_collapse/stacked_model.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

}  // namespace

arma::mat part(const arma::mat& A, std::size_t i) {
  const arma::vec mean = arma::mean(A, 1);
  arma::mat out = A;
  if (i == 0) {
    out.each_col() = mean;
  } else {
    out.each_col() -= mean;
  }
  return out;
}

Escalation measure_escalation(const TokenParts& X, const TokenParts& Y) {
  return {Y.shared / X.shared, Y.rest / X.rest, X.diversity() / Y.diversity()};
}

double rate_from_excess(double excess, double similarity) {
  return 1 + excess * similarity;
}

double identity_error(const Escalation& step, double similarity) {
  return std::abs(rate_from_excess(step.xi_ratio() - 1, similarity) - step.rate) /
         std::max(1.0, step.rate);
}

HeadMeasures head_measures(const arma::mat& P, const arma::mat& X) {
  const arma::mat rest = part(X, 1);
  const arma::vec column_sums = arma::sum(P, 1),
                  sum = arma::sum(X, 1);  // sqrt(N) (e'P)' and sqrt(N) (e'X)'
  HeadMeasures head;
  head.omega = arma::norm(rest * column_sums) / arma::norm(sum);
  head.delta = operator_norm(part(P, 1));
  head.mu_1_squared = squared(X * column_sums) / squared(sum);
  // Pi_2 P X = Pi_2 P Pi_2 X, because Pi_2 P e = 0. Without the shared part, the rounding error is
  // relative to the rest.
  head.mu_2_squared = squared(part(rest * P, 1)) / squared(rest);
  return head;
}

AttentionMeasures mean_over_heads(const std::vector<HeadMeasures>& heads) {
  AttentionMeasures mean;
  const double share = 1 / static_cast<double>(heads.size());
  for (const HeadMeasures& head : heads) {
    mean.omega += share * head.omega;
    mean.delta += share * head.delta;
    mean.mu_1_squared += share * head.mu_1_squared;
    mean.mu_2_squared += share * head.mu_2_squared;
    mean.mu_1_bound += share * head.mu_1_bound();
    mean.mu_2_bound += share * head.mu_2_bound();
  }
  return mean;
}

double second_eigenvalue(const arma::mat& P) {
  // P' Pi_2 has the eigenvalues of P, except that the 1 of the vector of ones becomes 0.
  return spectral_radius(part(P, 1));
}

double asymmetry(const arma::mat& P) {
  return arma::norm(P - P.t(), "fro") / arma::norm(P, "fro");
}

StepStrength step_strength(const ModelSpec& spec, double lambda) {
  // The variance of the entries of W, times d.
  const double variance = spec.weight_variance == "h/d" ? static_cast<double>(spec.heads) : 1.0;
  const double size = spec.alpha * spec.weight_scale;
  return {lambda * lambda, size * size * variance};
}

double expected_xi(const StepStrength& strength, double mu_squared) {
  return strength.skip + strength.attention * mu_squared;
}

double expected_excess(const StepStrength& strength, double mu_1_squared, double mu_2_squared) {
  return strength.attention * (mu_1_squared - mu_2_squared) / expected_xi(strength, mu_2_squared);
}

XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha) {
  const double d = static_cast<double>(A.n_rows), norm = squared(A), strength = alpha * alpha;
  const double variance =
      (4 * strength * squared(B * A.t()) + 2 * strength * strength * squared(B * B.t())) / d;
  return {1 + strength * squared(B) / norm, std::sqrt(variance) / norm};
}

DrawnTokens::DrawnTokens(std::uint64_t tokens, std::uint64_t d, const Trial& first) {
  const double scale = 1 / std::sqrt(static_cast<double>(d)),
               e = 1 / std::sqrt(static_cast<double>(tokens));
  DrawnTensors<double> tensors(first, say("d={}/", d));
  ev = tensors.vector("v", d, EntryLaw::normal(1.0)) * arma::rowvec(tokens, arma::fill::value(e));
  Q = tensors.matrix("Q", d, tokens, EntryLaw::normal(1.0));
  W_q = tensors.matrix("W_q", d, d, EntryLaw::uniform(-scale, scale));
  W_k = tensors.matrix("W_k", d, d, EntryLaw::uniform(-scale, scale));
}

namespace token_escalation {

std::vector<Field> PathConfig::path_flags(const std::vector<std::string>& models) {
  std::vector<Field> fields = model_fields(spec, models);
  fields.push_back(real_field("lambda", lambda, -1e6, 1e6, "lambda",
                              "strength of the skip in step 1; 1: the plain residual"));
  return fields;
}

Estimate PathConfig::memory() const {
  const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
               h = static_cast<double>(spec.heads),
               q = spec.has_mlp() ? static_cast<double>(spec.ffn) : 0,
               weights = parameters_per_block(spec);
  constexpr double states = 12, head_matrices = 6;
  // Memory of one block at a time: its weights, states, feed-forward layer and attention matrices,
  // and the copies for the measures of a head.
  return {.bytes = 8 * (weights + states * d * N + q * N + (h + head_matrices) * N * N)};
}

bool PathConfig::is_algorithm_1() const {
  return spec.row().figure == DepthFigure::shallow_2;
}

std::string PathConfig::unmet_setting() const {
  const std::string about = "the statement is about ";
  if (!is_algorithm_1())
    return about + say("the blocks of Algorithm 1, not --model {}", spec.model);
  if (spec.alpha != 1) return about + say("alpha = 1, not --alpha {}", spec.alpha);
  if (lambda != 1) return about + say("the plain residual, not --lambda {}", lambda);
  if (spec.weight_scale != 1) return about + say("--weight-scale 1, not {}", spec.weight_scale);
  if (spec.norm != "layer") return about + say("layer normalization, not --norm {}", spec.norm);
  if (!spec.has_mlp()) return about + "blocks with a feed-forward net, not --mlp off";
  if (spec.shares_weights()) return about + "fresh weights at every block, not --share-weights on";
  if (spec.input != "gaussian")
    return about + say("standard Gaussian input, not --input {}", spec.input);
  return "";
}

// The path ----------------------------------------------------------------------------------------

namespace {

bool is_finite(const BlockPassage& passage) {
  const auto finite = [](const arma::mat& A) { return A.is_finite(); };
  return finite(passage.X) && std::ranges::all_of(passage.P, finite) &&
         std::ranges::all_of(passage.steps, finite);
}

// The number of zero tokens. After the norm `rows` these are the rows that it could not normalize.
double zero_tokens(const arma::mat& Y) {
  return static_cast<double>(arma::accu(arma::sum(arma::abs(Y), 0) == 0));
}

double count_degenerate_rows(const ModelSpec& spec, const BlockPassage& passage) {
  if (spec.norm != "rows") return 0;
  return zero_tokens(passage.steps[1]) + (spec.has_mlp() ? zero_tokens(passage.steps[3]) : 0);
}

void measure(BlockPassage& passage) {
  passage.parts[0] = token_parts(passage.X);
  for (std::size_t s = 0; s < passage.steps.size(); ++s)
    passage.parts[s + 1] = token_parts(passage.steps[s]);
  passage.heads.clear();
  for (const arma::mat& P : passage.P) passage.heads.push_back(head_measures(P, passage.X));
}

}  // namespace

BlockArrays undefined_blocks(const PathConfig& config, const std::vector<std::string>& names) {
  BlockArrays arrays;
  for (const std::string& name : names) arrays[name].assign(config.spec.layers, undefined);
  return arrays;
}

TrialRecord follow_path(
    const PathConfig& config, const Trial& trial,
    const std::function<void(std::uint64_t k, const BlockPassage& passage)>& visit) {
  const ModelSpec& spec = config.spec;
  BlockArrays arrays = undefined_blocks(config, {omega, delta, mu_1, mu_2, mu_1_bound, mu_2_bound});
  std::vector<double> similarity(spec.layers + 1, undefined), diversity = similarity;
  bool finite = true;
  double zeroed = 0;
  BlockPassage passage;
  passage.X = draw_input<double>(spec, trial).Y;
  std::unique_ptr<SteppedBlock<double>> block;  // one that all layers share is built once
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    if (block == nullptr || !spec.shares_weights())
      block = make_block_of<SteppedBlock>(spec, *tensors_of_layer<double>(spec, trial, k));
    BlockSteps<double> steps = block->steps(passage.X, config.lambda);
    passage.P = std::move(steps.P);
    passage.steps = std::move(steps.Y);
    finite = is_finite(passage);
    if (!finite) break;
    zeroed += count_degenerate_rows(spec, passage);
    measure(passage);
    for (const auto& [state, parts] :
         {std::pair(k, passage.parts.front()), {k + 1, passage.parts.back()}}) {
      similarity[state] = parts.similarity();
      diversity[state] = parts.diversity();
    }
    const AttentionMeasures mean = mean_over_heads(passage.heads);
    for (const auto& [name, value] : {std::pair<Measure, double>{omega, mean.omega},
                                      {delta, mean.delta},
                                      {mu_1, mean.mu_1_squared},
                                      {mu_2, mean.mu_2_squared},
                                      {mu_1_bound, mean.mu_1_bound},
                                      {mu_2_bound, mean.mu_2_bound}}) {
      arrays[name][k] = value;
    }
    visit(k, passage);
    passage.X = std::move(passage.steps.back());
  }
  TrialRecord record;
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  record.set(token_similarity, std::move(similarity));
  record.set(token_diversity, std::move(diversity));
  record.set(diverged, finite ? 0.0 : 1.0);
  record.set(degenerate_rows, zeroed);
  return record;
}

void count_identity(const Escalation& step, double similarity, Tally& tally) {
  const double error = identity_error(step, similarity);
  if (std::isfinite(error)) tally.count(error > tolerance::closed_form<double>, error);
}

// Judging -----------------------------------------------------------------------------------------

std::vector<std::size_t> clean_blocks(const TrialRecord& record) {
  constexpr double smallest = tolerance::smallest_diversity<double>;
  const std::vector<double>& diversity = record.array(token_diversity);
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k + 1 < diversity.size(); ++k) {
    if (diversity[k] >= smallest && diversity[k + 1] >= smallest) blocks.push_back(k);
  }
  return blocks;
}

BlockValues clean_values(const Records& records, const ValueAtSize& value) {
  const std::size_t blocks = records.front().array(token_diversity).size() - 1;
  BlockValues values(blocks, std::vector<double>(records.size(), undefined));
  for (std::size_t t = 0; t < records.size(); ++t) {
    for (const std::size_t k : clean_blocks(records[t])) values[k][t] = value(records[t], k);
  }
  return values;
}

BlockValues clean_values(const Records& records, const std::string& name) {
  return clean_values(
      records, [&](const TrialRecord& record, std::size_t k) { return at(record, name, k); });
}

namespace {

// "block 3", "blocks 1 to 3, 7": ascending.
std::string block_list(const std::vector<std::size_t>& blocks) {
  std::string out = blocks.size() == 1 ? "block " : "blocks ";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[last] + 1) ++last;
    out += (i == 0 ? "" : ", ") + std::to_string(blocks[i]);
    if (last > i) out += (last == i + 1 ? ", " : " to ") + std::to_string(blocks[last]);
    i = last;
  }
  return out;
}

std::string range_text(const Tally& tally) {
  return tally.smallest == tally.largest ? short_number(tally.smallest)
                                         : ranklab::range_text(tally.smallest, tally.largest);
}

}  // namespace

Claim judge_blocks(const Statement& statement, const BlockValues& values, Region allowed,
                   const std::string& detail) {
  std::vector<std::size_t> outside, undecided, ties, unmeasured;  // blocks, from 1
  Tally means, means_outside;
  Claim worst;
  double worst_excess = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Claim at_block = judge_mean(statement, values[k], allowed);
    if (std::ranges::any_of(values[k], [](double value) { return std::isinf(value); })) {
      undecided.push_back(k + 1);
      continue;
    }
    const double mean = at_block.measured,
                 excess = std::max(allowed.low - mean, mean - allowed.high);
    if (std::isnan(mean)) {
      unmeasured.push_back(k + 1);
      continue;
    }
    if (means.cases == 0 || excess > worst_excess) worst = at_block, worst_excess = excess;
    means.count(at_block.verdict == Verdict::fails, mean);
    if (at_block.verdict == Verdict::not_applicable) undecided.push_back(k + 1);
    if (!tie_text(values[k], allowed).empty()) ties.push_back(k + 1);
    if (at_block.verdict != Verdict::fails) continue;
    outside.push_back(k + 1);
    means_outside.count(true, mean);
  }
  if (means.cases == 0) return not_applicable(statement, "no block has a defined value");
  std::string text = (means.smallest == means.largest ? "mean " : "means from ") +
                     say("{} over {}, {}", range_text(means),
                         plural(static_cast<std::uint64_t>(means.cases), "block"),
                         plural(values.front().size(), "trial"));
  if (!outside.empty())
    text += say("; outside at {}: {}", block_list(outside), range_text(means_outside));
  if (!undecided.empty()) text += "; undecided at " + block_list(undecided);
  if (!ties.empty()) text += "; a tie in every trial at " + block_list(ties);
  if (!unmeasured.empty())
    text += "; excluded as undefined or rounding noise: " + block_list(unmeasured);
  worst.verdict = !outside.empty()     ? Verdict::fails
                  : !undecided.empty() ? Verdict::not_applicable
                                       : Verdict::holds;
  worst.undecided = worst.verdict == Verdict::not_applicable;
  worst.detail = clauses(text, detail);
  return worst;
}

void judge_identity(const Records& records, Claims& claims) {
  claims.never_violated(eq_6, records,
                        say("an identity, so more cases show no more than one; largest error "
                            "divided by max(1, rate): {}",
                            std::max(0.0, tally_of(records, eq_6.id).largest)));
}

void judge_bounds(const Records& records, Claims& claims) {
  const Statement eq_11 = {
      shallow::lemma_2_4, "shallow/eq-11",
      "Lemma 2.4, eq. (11), and Section 2.2.2 for several heads",
      "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2, with all four averaged over heads"};
  // If P mixes completely, delta^2 is rounding noise.
  constexpr double noise = slack * slack;
  Tally first, second;
  for (const TrialRecord& record : records) {
    first.begin_trial();
    second.begin_trial();
    for (const std::size_t k : clean_blocks(record)) {
      const double mu[] = {at(record, mu_1, k), at(record, mu_2, k)};
      const double bound[] = {at(record, mu_1_bound, k), at(record, mu_2_bound, k)};
      if (!std::isfinite(mu[0] + bound[0] + mu[1] + bound[1])) continue;
      first.count(mu[0] < bound[0] * (1 - slack), mu[0] - bound[0]);
      second.count(mu[1] > bound[1] * (1 + slack) + noise, bound[1] - mu[1]);
    }
  }
  first.end_trials();
  Tally both = first;
  both.add(second);
  claims.never_violated(
      eq_11, both,
      both.cases > 0 ? say("smallest margins {} and {}", first.smallest, second.smallest) : "");
}

}  // namespace token_escalation
}  // namespace ranklab
