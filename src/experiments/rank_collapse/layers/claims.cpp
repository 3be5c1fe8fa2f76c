// The statements of [LambdaSkip] Figure 1 and [Shallow] Figures 1, 2, 4 and 5, judged from the
// curves.
#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/layers/gradients.hpp"
#include "experiments/rank_collapse/layers/layers.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::layers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Our thresholds for "near one", "nearly the same", "around" and "constant", for which the papers
// give no numbers.
constexpr double near_one = 0.95, same_curve = 0.05, around = 0.1, nearly_constant = 1e-3;
// Our thresholds for "neither vanish nor explode" and "roughly at a constant level": the largest
// gradient norm of the blocks over the smallest.
constexpr double stable_gradients = 10, constant_level = 2;
// [LambdaSkip] Figure 1 shows Mamba-2 2.7B, which has 64 layers. A model with fewer than half as
// many cannot contradict a collapse.
constexpr std::uint64_t enough_layers = 32;
// A small |lambda| is at most 1, the usual value. The large one is the largest of the list, and at
// least large_lambda.
constexpr double small_lambda = 1.0, large_lambda = 2.0;

// The plain residual connection.
bool has_plain_skip(const DepthCurve& curve) {
  return curve.lambda == std::vector<double>{1};
}

// [LambdaSkip] Figure 1 ---------------------------------------------------------------------------

// The extreme of normalized mu at the last layer over curves, per trial; NaN if any value is
// undefined.
std::vector<double> extreme_final_mu(const std::vector<std::string>& curves, const Records& records,
                                     bool largest) {
  return per_trial(records, [&](const TrialRecord& record) {
    double extreme = largest ? -infinity : infinity;
    for (const std::string& curve : curves) {
      const double mu = record.array(of_curve(curve, measure::mu_normalized)).back();
      if (std::isnan(mu)) return mu;
      extreme = largest ? std::max(extreme, mu) : std::min(extreme, mu);
    }
    return extreme;
  });
}

void judge_skips(const DepthGroup& group, double threshold, const Records& records,
                 Claims& claims) {
  const Place figure_1 =
      in_figure("lambda-skip/fig-1", "lambda-skip/fig-1/" + model_label(group.spec) + "/",
                "Section 5.1, Figure 1", {"Figure 1"});
  const bool is_shown = group.spec.model == "mamba2";  // the figure shows no other model
  const std::string scale =
      counted(group.spec.layers,
              group.spec.checkpoint != nullptr ? "trained layer" : "untrained layer") +
      "; the figure shows 64 trained ones";
  const auto hypothesis = claims.only_where(
      group.spec.has_gate() ? "hypothesis not met: the gate is on; the figure removes it" : "");
  const auto curves_where = [&](const auto& predicate) {
    std::vector<std::string> names;
    for (const DepthCurve& curve : group.curves) {
      if (curve.lambda.size() == 1 && predicate(curve.lambda.front())) names.push_back(curve.name);
    }
    return names;
  };
  double largest = large_lambda;
  for (const DepthCurve& curve : group.curves) {
    if (curve.lambda.size() == 1) largest = std::max(largest, std::abs(curve.lambda.front()));
  }
  const auto judge = [&](const Statement& statement, const std::vector<std::string>& curves,
                         bool collapses) {
    if (!claims.applies(statement,
                        curves.empty() ? "hypothesis not met: no such lambda in the list" : ""))
      return;
    const bool is_shallow = collapses && group.spec.layers < enough_layers;
    const auto depth = claims.only_where(
        is_shallow ? "hypothesis not met: " + counted(group.spec.layers, "layer") +
                         "; the model of the figure has 64"
                   : "",
        Claims::Unmet::verdict_alone);
    const auto runs = claims.about(overflows(curves, records));
    claims.mean(is_shown ? reading(statement, "mu/||Y||_F of " + short_number(threshold))
                         : beyond(statement),
                extreme_final_mu(curves, records, collapses),
                collapses ? at_most(threshold) : at_least(threshold),
                clauses("normalized mu after the last layer, " +
                            std::string(collapses ? "largest" : "smallest") + " over " +
                            joined(curves) + "; collapsed: below " + short_number(threshold),
                        is_shown ? scale : ""));
  };
  const std::string in_model = " in " + model_label(group.spec);
  judge(figure_1("small-lambda-collapses",
                 "The tokens collapse for every abs(lambda) up to 1" + in_model),
        curves_where([](double lambda) { return std::abs(lambda) <= small_lambda; }), true);
  judge(figure_1("lambda-1-collapses", "The tokens collapse for the usual lambda = 1" + in_model),
        curves_where([](double lambda) { return lambda == 1; }), true);
  judge(
      figure_1("large-lambda-keeps", "The tokens do not collapse for large abs(lambda)" + in_model),
      curves_where([&](double lambda) { return std::abs(lambda) == largest; }), false);
}

// [Shallow] Figure 1 ------------------------------------------------------------------------------

void judge_encoder(const DepthGroup& group, const Records& records, Claims& claims) {
  const std::string& model = group.spec.model;
  const Place figure_1 =
      in_figure("shallow/fig-1", "shallow/", "Section 1.1, Figure 1", {"Figure 1"});
  for (const DepthCurve& curve : group.curves) {
    if (!has_plain_skip(curve)) continue;
    const auto run = claims.about(overflows({curve.name}, records));
    const bool has_dropout = curve.dropout > 0;
    const std::string variant = model + (has_dropout ? "/dropout" : ""),  // in the id
        in_model =
            " in " + model + (has_dropout ? " with dropout " + short_number(curve.dropout) : "");
    // The figure has no dropout.
    const auto judged = [&](const Statement& statement, const std::string& threshold) {
      return has_dropout ? beyond(statement) : reading(statement, threshold);
    };
    for (const auto& [kind, similarity] :
         {std::pair("token", measure::token_similarity), {"cosine", measure::cosine_similarity}}) {
      claims.mean(
          judged(figure_1(std::string("fig-1-") + kind + "-similarity/" + variant,
                          "The " + std::string(kind) + " similarity rises to near one" + in_model),
                 short_number(near_one)),
          final_values(curve.name, similarity, records), at_least(near_one),
          std::string(kind) + " similarity after the last block; near one: above " +
              short_number(near_one));
    }
    const std::vector<double> gaps = per_trial(records, [&](const TrialRecord& record) {
      const auto &t_sim = record.array(of_curve(curve.name, measure::token_similarity)),
                 &t_cos = record.array(of_curve(curve.name, measure::cosine_similarity));
      double gap = undefined;
      for (std::size_t k = 1; k < t_sim.size(); ++k)
        gap = std::fmax(gap, std::abs(t_sim[k] - t_cos[k]));  // of blocks where both are defined
      return record.scalar(of_curve(curve.name, overflow_layer)) > 0 ? undefined : gap;
    });
    claims.mean(
        judged(figure_1(
                   "fig-1-same-curve/" + variant,
                   "Token similarity and cosine similarity have nearly the same curve" + in_model),
               "a distance of " + short_number(same_curve)),
        gaps, at_most(same_curve),
        "largest difference of the two similarities over the blocks; tokens with equal norms have "
        "t_sim = (1 + (n - 1) t_cos)/n");
  }
}

void judge_gradients(const DepthGroup& group, const Records& records, Claims& claims) {
  const ModelSpec& spec = group.spec;
  const std::vector<double> ratios = gradient_ratios(spec, records);
  const Place figure_1 =
      in_figure("shallow/fig-1", "shallow/fig-1-gradient", "Section 1.1, Figure 1", {"Figure 1"});
  const std::string ratio_text = "largest gradient norm of a block over the smallest";
  // The trials are counted. In a mean, one trial with vanishing gradients would either dominate the
  // others or go unnoticed.
  const auto trials_above = [&](double limit) {
    Tally tally;
    for (const double ratio : ratios) {
      if (!std::isnan(ratio))  // infinite if the gradient of a block is exactly zero
        tally.count(ratio > limit, std::isfinite(ratio) ? ratio : undefined);
    }
    return tally;
  };
  const Tally unstable = trials_above(stable_gradients), off_level = trials_above(constant_level);
  const std::string range = ratio_text + ": " + range_text(unstable.smallest, unstable.largest);
  const Statement stable =
      figure_1("/" + spec.model, "Gradients neither vanish nor explode in " + spec.model +
                                     ": the largest gradient norm of a block is at most " +
                                     short_number(stable_gradients) + " times the smallest");
  claims.never_violated(
      spec.shares_weights()  // the paper leaves the gradients of such models out
          ? beyond(stable)
          : reading(stable, "a factor of " + short_number(stable_gradients)),
      unstable,
      range + (spec.shares_weights()
                   ? "; each norm is that of one block's part of the gradient with respect to the "
                     "shared weights; the paper does not show such models"
                   : ""),
      WorstCase::largest);
  if (spec.shares_weights()) return;
  const std::string level = "a factor of " + short_number(constant_level);
  claims.never_violated(
      reading(figure_1("-level/" + spec.model,
                       "The gradient norm is roughly the same in all blocks of " + spec.model),
              level),
      off_level, range + "; roughly the same: within " + level, WorstCase::largest);
}

// [Shallow] Figures 2 and 4 -----------------------------------------------------------------------

void judge_rise(const Statement& statement, const std::string& curve, const Records& records,
                Claims& claims) {
  const std::vector<double> rises = per_trial(records, [&](const TrialRecord& record) {
    const auto& t_sim = record.array(of_curve(curve, measure::token_similarity));
    return t_sim.back() - t_sim.front();
  });
  const auto run = claims.about(overflows({curve}, records));
  claims.mean(statement, rises, positive(),
              "token similarity after the last block minus that of the input");
}

void judge_post_norm(const DepthGroup& group, const Records& records, Claims& claims) {
  // Figure 2 has 20 blocks, and the study escalation judges them.
  const Statement rises =
      beyond(in_figure("shallow/fig-2", "shallow/", "Section 2.4, Figure 2", {"Figure 2"})(
          "fig-2-similarity-rises", "The token similarity rises in the post-norm model"));
  const auto curve = std::find_if(group.curves.begin(), group.curves.end(), has_plain_skip);
  if (curve == group.curves.end())
    return claims.not_applicable(rises, "hypothesis not met: lambda = 1 is not in the list");
  judge_rise(rises, curve->name, records, claims);
}

// Relative growth of a norm that is rounding, also in single precision.
constexpr double rounding_of_norms = 1e-6;

void judge_norms(const Place& figure_4, const std::string& curve, const Records& records,
                 Claims& claims) {
  const auto run = claims.about(overflows({curve}, records));
  const auto norms = arrays_of(records, of_curve(curve, measure::norm));
  Tally growth;
  double decreases = 0;  // in single trials
  for (std::size_t k = 1; k < norms.front().size(); ++k) {
    double sum = 0, before = 0;
    for (const auto& norm : norms) {
      sum += norm[k] * norm[k] - norm[k - 1] * norm[k - 1];
      before += norm[k - 1] * norm[k - 1];
      if (norm[k] <= norm[k - 1]) decreases += 1;
    }
    if (std::isfinite(sum)) growth.count(!(sum > rounding_of_norms * before));
  }
  claims.never_violated(
      figure_4("norm-grows",
               "||X||_F grows from block to block in expectation in the pre-norm model"),
      growth,
      "growth of the mean of ||X||_F^2 over the trials; number of decreases in single trials: " +
          short_number(decreases));
  const std::vector<double> spread = per_trial(records, [&](const TrialRecord& record) {
    const auto& normed = record.array(of_curve(curve, measure::branch_input_norm));
    if (std::isnan(normed.back())) return undefined;
    const auto [least, most] = std::minmax_element(normed.begin(), normed.end());
    return *most / *least - 1;
  });
  claims.mean(
      reading(figure_4("normed-constant", "||LN(X)||_F is constant in the pre-norm model"),
              "a relative spread of " + short_number(nearly_constant)),
      spread, at_most(nearly_constant),
      "largest ||LN(X)||_F of a block relative to the smallest, minus 1; constant: at most " +
          short_number(nearly_constant));
}

void judge_pre_norm(const DepthGroup& group, const std::vector<DepthGroup>& groups,
                    const Records& records, Claims& claims) {
  if (group.curves.empty()) return;  // the strengths per layer belong to a model of other depth
  const Place figure_4 =
      in_figure("shallow/fig-4", "shallow/fig-4-", "Section 3.1, Figure 4", {"Figure 4"});
  const std::string& curve = group.curves.front().name;
  judge_rise(figure_4("similarity-rises", "The token similarity rises in the pre-norm model"),
             curve, records, claims);
  judge_norms(figure_4, curve, records, claims);

  const Statement slower = figure_4(
      "slower",
      "The token similarity rises more slowly in the pre-norm than in the post-norm model");
  const auto post = std::find_if(groups.begin(), groups.end(), [](const DepthGroup& g) {
    return g.spec.row().figure == DepthFigure::shallow_2;
  });
  const bool has_post_norm = post != groups.end() && !post->curves.empty();
  if (!claims.applies(slower, !has_post_norm ? "the comparison requires --also post-norm" : ""))
    return;
  const std::vector<double> leads = per_trial(records, [&](const TrialRecord& record) {
    const auto &pre_norm = record.array(of_curve(curve, measure::token_similarity)),
               &post_norm =
                   record.array(of_curve(post->curves.front().name, measure::token_similarity));
    const std::size_t blocks = std::min(pre_norm.size(), post_norm.size());
    double sum = 0;
    for (std::size_t k = 1; k < blocks; ++k) sum += post_norm[k] - pre_norm[k];
    return sum / static_cast<double>(blocks - 1);
  });
  const auto runs = claims.about(overflows({curve, post->curves.front().name}, records), true);
  claims.mean(slower, leads, positive(),
              "token similarity of the post-norm minus that of the pre-norm model, mean over the "
              "blocks");
}

// [Shallow] Figure 5 ------------------------------------------------------------------------------

// The level at tau = 1/2 depends on the variance of the entries of W: t_sim/t_div is multiplied by
// (1 - tau)^2 (1 + alpha^2 d sigma^2) per block.
std::string variance_matters(const ModelSpec& spec) {
  return "the entries of W have variance " + spec.weight_variance +
         ", on which the level depends: at 20 blocks, n = 64, d = 512 and h = 8 it is 0.99 (0.97 "
         "before) with 1/d, and 5e-6 (1e-6 before) with the printed h/d";
}

void judge_de_escalation(const DepthGroup& group, const Records& records, Claims& claims) {
  const std::vector<std::pair<double, double>> levels = {
      {0.1, 0.0}, {0.5, 0.5}, {1.0, 1.0}};  // tau, diversity
  for (const DepthCurve& curve : group.curves) {
    for (const auto& [tau, level] : levels) {
      if (curve.tau != std::vector<double>{tau}) continue;
      const auto run = claims.about(overflows({curve.name}, records));
      const Place figure_5 =
          in_figure("shallow/fig-5", "shallow/fig-5-tau-" + series_number(tau) + "/",
                    "Section 3.2, Figure 5", {"Figure 5"});
      const std::string text = "The token diversity at the last block is around " +
                               series_number(level) + " with tau = " + series_number(tau);
      const Region allowed = {level > 0 ? level - around : -infinity,
                              level < 1 ? level + around : infinity};
      const std::string after = measure::token_diversity;
      for (const auto& [when, diversity] :
           {std::pair("after", after), {"before", before_de_escalation(after)}}) {
        claims.mean(
            reading(figure_5(when, text + " (" + when + " de-escalation)"), short_number(around)),
            final_values(curve.name, diversity, records), allowed,
            clauses(std::string("t_div at the last block, ") + when +
                        " de-escalation; around: within " + short_number(around),
                    tau == 0.5 ? variance_matters(group.spec) : ""));
      }
    }
  }
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  for (const DepthGroup& group : plan.groups) {
    const DepthFigure figure = group.spec.row().figure;
    if (plan.de_escalates) {
      if (figure == DepthFigure::shallow_2) judge_de_escalation(group, records, claims);
    } else if (is_encoder(group.spec.row())) {
      judge_encoder(group, records, claims);
      if (plan.gradients) judge_gradients(group, records, claims);
    } else if (figure == DepthFigure::shallow_4) {
      judge_pre_norm(group, plan.groups, records, claims);
    } else if (figure == DepthFigure::shallow_2) {
      judge_post_norm(group, records, claims);
    } else {
      judge_skips(group, plan.threshold, records, claims);
    }
  }
}

}  // namespace ranklab::layers
