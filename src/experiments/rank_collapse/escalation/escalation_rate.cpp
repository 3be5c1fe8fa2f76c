// `rank-collapse --study escalation-rate`: the escalation rate of step 1 over redraws of only its
// W, compared with its expectation and with the estimates from the attention matrices ([Shallow]
// Figure 3).
//
// The path through the blocks (token_escalation.hpp) is that of trial 0 of `escalation`, and
// it is the same in every trial. A trial redraws the W of every block and measures step 1 of each
// block on the path.
#include <algorithm>

#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/stack.hpp"
#include "nn/blocks/transformer.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::escalation_rate {
namespace {

using namespace token_escalation;

// Flags -------------------------------------------------------------------------------------------

struct Config : PathConfig {
  std::vector<Field> flags() override { return path_flags({"post-norm"}); }
  void fill_defaults() override { resolve_defaults(spec); }
  Estimate memory() const override {
    const double N = static_cast<double>(spec.tokens), d = static_cast<double>(spec.dim),
                 h = static_cast<double>(spec.heads), K = static_cast<double>(spec.layers);
    constexpr double states = 5;
    // The whole path is computed once and stays in memory; its memory counts in every trial.
    const double r = std::min(d, N), path = 8 * K * ((d + r) * N + h * N * N);
    return {.bytes = PathConfig::memory().bytes + path + 8 * (r * d + states * d * N)};
  }
  Work work() const override;
  std::string title() const override {
    return "Escalation rate of step 1 over redraws of its weights";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

// What a trial records: arrays over blocks, in addition to those of every path --------------------

// These belong to the path and are the same in every trial: means over heads of |lambda_2(P)| and
// of the estimates (16) and (17) of E[xi_1]/E[xi_2] - 1, and the largest omega + delta and ||P -
// P'||_F/||P||_F of a head.
constexpr Measure lambda_2 = {"lambda_2", "|lambda_2(P)|",
                              "second largest modulus of an eigenvalue of the attention matrix"},
                  estimate_1 = {"estimate_1", "Estimate 1",
                                "estimate of xi_1/xi_2 - 1 from omega and delta"},
                  estimate_2 = {"estimate_2", "Estimate 2",
                                "estimate of xi_1/xi_2 - 1 from lambda_2"};
constexpr char largest_sum[] = "omega_plus_delta", largest_asymmetry[] = "asymmetry";
// Step 1 with the W of the trial, in addition to its `rate`.
constexpr Measure xi_1 = {"xi_1", "xi_1", "growth of the squared norm of the tokens' mean part"},
                  xi_2 = {"xi_2", "xi_2", "growth of the squared norm of the rest"},
                  excess = {"xi_ratio_minus_1", "xi_1/xi_2 - 1",
                            "how much faster the mean part grows than the rest"};
// Of the result.
constexpr Measure rate_1 = {"rate_estimate_1", "r", "rate that Estimate 1 predicts"},
                  rate_2 = {"rate_estimate_2", "r", "rate that Estimate 2 predicts"},
                  sharpened = {
                      "xi_ratio_minus_1_sharpened", "xi_1/xi_2 - 1",
                      "xi_1/xi_2 - 1 with control variates of eq. (9): less spread, the same mean"};

// The path, which is the same for all trials ------------------------------------------------------

// One block: its input X (d, N), the triangular factor R (r, N) of X, and P' (N, N) of each head.
struct FixedBlock {
  arma::mat X, R;
  std::vector<arma::mat> P;
  TokenParts parts;  // of X
};

struct FixedPath {
  std::vector<FixedBlock> blocks;  // up to the block that diverges
  TrialRecord record;
};

// The path through the blocks of `first`, which is trial 0 of the run.
FixedPath fixed_path(const Config& c, const Trial& first) {
  BlockArrays arrays =
      undefined_blocks(c, {lambda_2, estimate_1, estimate_2, largest_sum, largest_asymmetry});
  FixedPath path;
  path.record = follow_path(c, first, [&](std::uint64_t k, const BlockPassage& passage) {
    for (auto& [name, values] : arrays) values[k] = 0;
    const double share = 1 / static_cast<double>(passage.P.size());
    for (std::size_t h = 0; h < passage.P.size(); ++h) {
      const HeadMeasures& head = passage.heads[h];
      const arma::mat& P = passage.P[h];
      const double eigenvalue = second_eigenvalue(P);
      arrays[lambda_2][k] += share * eigenvalue;
      arrays[estimate_1][k] +=
          share * expected_excess(c.strength(), head.mu_1_bound(), head.mu_2_bound());
      arrays[estimate_2][k] += share * expected_excess(c.strength(), 1.0, eigenvalue * eigenvalue);
      double &sum = arrays[largest_sum][k], &asymmetric = arrays[largest_asymmetry][k];
      sum = std::max(sum, head.omega + head.delta);
      asymmetric = std::max(asymmetric, asymmetry(P));
    }
    path.blocks.push_back(
        {passage.X, triangular_factor(passage.X), passage.P, passage.parts.front()});
  });
  for (auto& [name, values] : arrays) path.record.set(name, std::move(values));
  return path;
}

// A trial -----------------------------------------------------------------------------------------

// lambda X + alpha [P_1 X W_1 ... P_h X W_h]. W acts only on the span of the tokens. Let Q (d, r)
// be an orthonormal basis of the span, r = min(d, N). Then X = QR and W'X = (Q'W)'R, and the
// entries of Q'W (r, d) are independent and normal, as those of W. A trial draws Q'W instead of W,
// from the stream `layer<k>.W_in_span`.
arma::mat redrawn_step(const Config& c, const FixedBlock& block, std::uint64_t k,
                       const Trial& trial) {
  DrawnTensors<double> tensors = block_tensors<double>(c.spec, trial, k);
  const arma::mat W =
      tensors.matrix("W_in_span", block.R.n_rows, c.spec.dim, value_start(c.spec));  // Q'W
  return c.lambda * block.X + c.spec.alpha * mixed_heads<double>(W.t() * block.R, block.P);
}

TrialRecord redraw(const Config& c, const FixedPath& path, const Trial& trial) {
  BlockArrays arrays = undefined_blocks(c, {xi_1, xi_2, excess, rate});
  Tally identity;
  for (std::uint64_t k = 0; k < path.blocks.size(); ++k) {
    trial.check_interrupt();
    const FixedBlock& block = path.blocks[k];
    const Escalation step =
        measure_escalation(block.parts, token_parts(redrawn_step(c, block, k, trial)));
    arrays[xi_1][k] = step.xi_1;
    arrays[xi_2][k] = step.xi_2;
    arrays[excess][k] = step.xi_ratio() - 1;
    arrays[rate][k] = step.rate;
    count_identity(step, block.parts.similarity(), identity);
  }
  TrialRecord record = path.record;
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  record.add(eq_6.id, identity);
  return record;
}

Work Config::work() const {
  const auto path = std::make_shared<OncePerRun<FixedPath>>();
  return each_trial([this, path](Trial& trial) {
    return redraw(*this, path->get([&] { return fixed_path(*this, trial.first()); }), trial);
  });
}

// What follows from the records, at block k -------------------------------------------------------

// The rate that an estimate of E[xi_1]/E[xi_2] - 1 predicts.
double rate_by(const Measure& estimate, const TrialRecord& record, std::size_t k) {
  return rate_from_excess(at(record, estimate, k), at(record, token_similarity, k));
}

// The excess minus its first-order terms in xi_i - E[xi_i], with E[xi_i] from eq. (9) as control
// variates. It has the same mean over W but far less spread, because only second-order terms
// remain.
double sharpened_excess(const Config& c, const TrialRecord& record, std::size_t k) {
  const double E_1 = expected_xi(c.strength(), at(record, mu_1, k)),
               E_2 = expected_xi(c.strength(), at(record, mu_2, k));
  return at(record, excess, k) - (at(record, xi_1, k) - E_1) / E_2 +
         (at(record, xi_2, k) - E_2) * E_1 / (E_2 * E_2);
}

// Claims ------------------------------------------------------------------------------------------

// Our threshold: the largest difference between two curves relative to the smaller one.
constexpr double nearly_identical = 0.05;
const std::string by_control_variates =
    "with the expectations (9) as control variates, which reduces the spread";

// Marks a statement about E[r]: these are for large d.
Statement for_large_d(const Config& c, const Statement& statement) {
  return asymptotic(statement, say("d = {} counts as large", c.spec.dim));
}

// The left-hand side of (15), with means over heads.
double left_of_15(const TrialRecord& record, std::size_t k) {
  return std::max(at(record, mu_1, k) - at(record, mu_1_bound, k),
                  at(record, mu_2_bound, k) - at(record, mu_2, k));
}

// [Shallow] Theorem 2.6 for several heads: the means of the bounds (11) over heads enter eq. (16).
void judge_guarantee(const Config& c, const Records& records, Claims& claims) {
  const Statement eq_16 =
      for_large_d(c, {shallow::thm_2_6, "shallow/eq-16", "Theorem 2.6, eq. (16)",
                      say("E[r] >= 1 + Estimate 1 (averaged over heads) times t_sim at every block "
                          "with omega + delta < 1 and a left-hand side of (15) of at least {}: "
                          "smallest mean rate minus its bound",
                          away_from_zero)});
  if (!claims.applies(eq_16, c.strength().attention == 0 ? "step 1 has no attention" : "")) return;
  const auto margin = [&](const TrialRecord& record, std::size_t k) {
    if (!(at(record, largest_sum, k) < 1) || left_of_15(record, k) < away_from_zero)
      return undefined;
    const double guaranteed =
        expected_excess(c.strength(), at(record, mu_1_bound, k), at(record, mu_2_bound, k));
    return (sharpened_excess(c, record, k) - guaranteed) * at(record, token_similarity, k);
  };
  claims.add(judge_blocks(eq_16, clean_values(records, margin), at_least(0), by_control_variates));
}

// [Shallow] eq. (17) is a bound for symmetric P. If P is not symmetric, its distance from the mean
// is reported but not judged.
void judge_symmetric(const Config& c, const Records& records, Claims& claims) {
  const auto margin = [&](const TrialRecord& record, std::size_t k) {
    return (sharpened_excess(c, record, k) - at(record, estimate_2, k)) *
           at(record, token_similarity, k);
  };
  const double asymmetric = spread_of(records.front().array(largest_asymmetry)).largest;
  const auto symmetric = claims.only_where(
      asymmetric <= slack ? ""
                          : say("P is not symmetric: ||P - P'||_F/||P||_F up to {}", asymmetric),
      Claims::Unmet::verdict_alone);
  const Statement eq_17 =
      for_large_d(c, {shallow::cor_2_7, "shallow/eq-17", "Corollary 2.7, eq. (17)",
                      "E[r] >= 1 + Estimate 2 times t_sim at every block if P is symmetric: "
                      "smallest mean rate minus the rate from Estimate 2"});
  claims.add(judge_blocks(eq_17, clean_values(records, margin), at_least(0), by_control_variates));
}

void judge_estimates(const Config& c, const Records& records, Claims& claims) {
  // Estimate 2 is closer if and only if the mean is on its side of the midpoint.
  const auto side = [&](const TrialRecord& record, std::size_t k) {
    const double first = at(record, estimate_1, k), second = at(record, estimate_2, k);
    if (first == second) return undefined;
    return (second > first ? 1 : -1) * (sharpened_excess(c, record, k) - (first + second) / 2);
  };
  claims.add(judge_blocks(
      in_figure(shallow::fig_3, "shallow/", "Section 2.4, Figure 3 (middle)")(
          "fig-3-closer",
          "Estimate 2 is closer to the mean of xi_1/xi_2 - 1 than Estimate 1 at every block: "
          "smallest distance of the mean from the midpoint of the two, positive toward Estimate 2"),
      clean_values(records, side), compared(at_least(0)), by_control_variates));

  const auto spread = [&](const TrialRecord& record, std::size_t k) {
    const double mean =
        rate_from_excess(sharpened_excess(c, record, k), at(record, token_similarity, k));
    const auto [low, high] =
        std::minmax({mean, rate_by(estimate_1, record, k), rate_by(estimate_2, record, k)});
    return std::isfinite(low + high) ? high / low - 1 : undefined;
  };
  const std::string within_this = say("{} %", 100 * nearly_identical);
  claims.add(judge_blocks(
      reading(
          in_figure(shallow::fig_3, "shallow/", "Section 2.4, Figure 3 (right)")(
              "fig-3-rates",
              say("The mean rate and its two estimates are nearly identical (within {}) at every "
                  "block: their largest relative difference",
                  within_this)),
          say("{}, ours", within_this)),
      clean_values(records, spread), at_most(nearly_identical), by_control_variates));
}

// Judges how far estimates are from the values of a formula. `largest` has gaps for the largest
// distance and, in percent, for the largest standard error.
void judge_distances(const Distances& distances, const Statement& statement,
                     Sentence<double, double> largest, Claims& claims) {
  distances.judge(statement, "a standard error requires two trials and a defined block",
                  say(largest, distances.tally.largest, 100 * distances.width), claims);
}

std::string allowed_distance() {
  return say("within {} standard errors at every block", tolerance::standard_errors);
}
// "(lambda = 1 in the paper ...)": how the formulas below differ from the printed ones.
std::string difference_from_paper(const Config& c) {
  return say("(lambda = 1 in the paper{})",
             c.spec.heads == 1 ? "" : ", mu_i^2 averaged over heads");
}

// [Shallow] eq. (9), and (29) for several heads.
void judge_expectation(const Config& c, const Records& records, Claims& claims) {
  Distances distances;
  for (const auto& [xi, mu] : {std::pair<Measure, Measure>{xi_1, mu_1}, {xi_2, mu_2}}) {
    const BlockValues sampled = clean_values(records, xi);
    for (std::size_t k = 0; k < sampled.size(); ++k) {
      const Summary summary = summarize(sampled[k]);
      distances.add(summary.mean, standard_error(summary),
                    expected_xi(c.strength(), at(records.front(), mu, k)), slack);
    }
  }
  const bool one = c.spec.heads == 1;
  const Place place = one ? Place{shallow::lemma_2_4, "shallow/", "Lemma 2.4, eq. (9)"}
                          : Place{shallow::lemma_A_6, "shallow/", "Lemma A.6, eq. (29)"};
  judge_distances(
      distances,
      place(one ? "eq-9" : "eq-29", say("E[xi_i] = lambda^2 + alpha^2 d sigma^2 mu_i^2 {}, {}",
                                        difference_from_paper(c), allowed_distance())),
      "largest distance of a sample mean from the expectation {} standard errors, which are at "
      "most {} % of the expectation",
      claims);
}

// The quotient of the means of xi_1 and xi_2 with its standard error by the delta method: the error
// of mean(xi_1 - q xi_2)/mean(xi_2). NaN where a block is not clean.
struct Quotient {
  double value, error;
};
Quotient quotient_of_means(const std::vector<double>& xi_1_values,
                           const std::vector<double>& xi_2_values) {
  const double below = summarize(xi_2_values).mean, value = summarize(xi_1_values).mean / below;
  std::vector<double> rest;
  for (std::size_t t = 0; t < xi_1_values.size(); ++t)
    rest.push_back(xi_1_values[t] - value * xi_2_values[t]);
  return {value, standard_error(summarize(rest)) / below};
}

// [Shallow] eq. (13), and (18) for several heads: their quotient E[xi_1]/E[xi_2]. The rest of both
// is the identity (6) and the definition (14) of eta.
void judge_expected_rate(const Config& c, const Records& records, Claims& claims) {
  const BlockValues first = clean_values(records, xi_1), second = clean_values(records, xi_2);
  Distances distances;
  for (std::size_t k = 0; k < first.size(); ++k) {
    const Quotient measured = quotient_of_means(first[k], second[k]);
    distances.add(measured.value, measured.error,
                  1 + expected_excess(c.strength(), at(records.front(), mu_1, k),
                                      at(records.front(), mu_2, k)),
                  slack);
  }
  const bool one = c.spec.heads == 1;
  const Place place = one ? Place{shallow::prop_2_5, "shallow/", "Proposition 2.5, eq. (13)"}
                          : Place{shallow::prop_2_9, "shallow/", "Proposition 2.9, eq. (18)"};
  judge_distances(
      distances,
      place(one ? "eq-13" : "eq-18",
            say("In E[r] = 1 + (E[xi_1]/E[xi_2] - 1 - E[eta]) t_sim, the quotient of expectations "
                "is (lambda^2 + alpha^2 d sigma^2 mu_1^2)/(lambda^2 + alpha^2 d sigma^2 mu_2^2) "
                "{}, {}",
                difference_from_paper(c), allowed_distance())),
      "quotient of the sample means of xi_1 and xi_2; largest distance from the formula {} "
      "standard errors, which are at most {} % of it",
      claims);
}

void judge_hypothesis(const TrialRecord& path, Claims& claims) {
  Tally tally;
  for (const std::size_t k : clean_blocks(path)) {
    const double sum = at(path, largest_sum, k);
    if (!std::isfinite(sum)) continue;
    tally.count(sum >= 1, left_of_15(path, k));
  }
  claims.never_violated(
      beyond(Statement{shallow::thm_2_6, "shallow/thm-2.6-hypothesis", "Theorem 2.6",
                       "The hypothesis omega + delta < 1 is met for every head of every block"}),
      tally,
      tally.cases > 0 ? say("largest omega + delta {}; smallest left-hand side of (15) {}",
                            spread_of(path.array(largest_sum)).largest, tally.smallest)
                      : "");
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  const auto path = claims.about({divergence_of(records, "the path", diverged)});
  judge_guarantee(*this, records, claims);
  judge_symmetric(*this, records, claims);
  {
    const auto setting = claims.only_where(unmet_setting());
    judge_estimates(*this, records, claims);
  }
  judge_expectation(*this, records, claims);
  judge_expected_rate(*this, records, claims);
  judge_identity(records, claims);
  judge_bounds({records.front()}, claims);
  judge_hypothesis(records.front(), claims);
}

// The result --------------------------------------------------------------------------------------

void Config::derive(Numbers& out) const {
  out.scalar(token_escalation::degenerate_rows);
  out.scalar(diverged);
  out.diverged("path", scalars_of(out.records(), diverged));
  out.series(token_similarity, "block", layers_from(0, spec));
  const std::vector<double> blocks = layers_from(1, spec);
  for (const Measure& each :
       {excess, estimate_1, estimate_2, rate, xi_1, xi_2, mu_1, mu_2, omega, delta, lambda_2})
    out.series(each, "block", blocks);
  for (const auto& [predicted, estimate] :
       {std::pair<Measure, Measure>{rate_1, estimate_1}, {rate_2, estimate_2}}) {
    out.series(predicted, "block", blocks,
               [&estimate = estimate](const TrialRecord& record, std::size_t k) {
                 return rate_by(estimate, record, k);
               });
  }
  out.series(sharpened, "block", blocks, [this](const TrialRecord& record, std::size_t k) {
    return sharpened_excess(*this, record, k);
  });
}

void Config::show(Display& out) const {
  const std::string mean = "mean over draws of W", by_bounds = "Estimate 1, from omega and delta",
                    by_eigenvalue = "Estimate 2, from the second eigenvalue";
  const CurveLook measured = {.style = LineStyle::line_points,
                              .color = 0,
                              .band = BandKind::standard_error},
                  first = {.style = LineStyle::dashed, .color = 1},
                  second = {.style = LineStyle::dotted, .color = 2};
  out.panel("Token similarity on the fixed path", {"number of blocks"},
            unit_axis("token similarity"))
      .curve(token_similarity, "the path, the same in every draw", {.color = 3});
  out.panel("Step 1: excess growth of the mean part", {"block"},
            {"xi_1/xi_2 - 1 (growth of mean part over rest)"})
      .curve(excess, mean, measured)
      .curve(estimate_1, by_bounds, first)
      .curve(estimate_2, by_eigenvalue, second);
  out.panel("Step 1: escalation rate", {"block"}, {"token diversity before / after step 1"})
      .curve(rate, mean, measured)
      .curve(rate_1, by_bounds, first)
      .curve(rate_2, by_eigenvalue, second);
  out.note(
      "Only the W of step 1 differs between trials. The path through the blocks is that of trial 0 "
      "of the study escalation with the same seed.");
  out.note(
      "The figure shows the means over W with their standard errors, because the estimates predict "
      "a mean.");
}

}  // namespace
}  // namespace ranklab::escalation_rate

namespace ranklab {

std::unique_ptr<Study> make_escalation_rate_study() {
  return std::make_unique<escalation_rate::Config>();
}

}  // namespace ranklab
