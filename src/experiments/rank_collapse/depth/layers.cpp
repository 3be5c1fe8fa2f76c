// `rank-collapse --study layers`: token geometry after every layer, for several strengths of the
// skip or of de-escalation ([LambdaSkip] Figure 1; [Shallow] Figures 1, 2, 4, 5), and for encoders
// the gradient norm of each block's weights (depth/gradients.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/kit.hpp"
#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::layers {
namespace {

// Flags -------------------------------------------------------------------------------------------

using Groups = std::vector<DepthGroup>;

struct Config : DepthConfig {
  // One curve for each value. Empty: the default list of the model, or 1 if tau is given.
  std::vector<double> lambda;
  std::vector<double> lambda_per_layer;  // one more curve, with a strength for each layer
  std::vector<double> tau;               // in [0, 1]; one curve for each, instead of lambda
  // Encoders only: one more curve, with lambda = 1 and this dropout rate, as in training.
  double dropout = 0;
  bool gradients = false;  // encoders only: also the gradient norm of each block's weights
  double threshold = 0.1;  // mu_normalized or rank_one_residual below it counts as collapsed

  std::vector<Field> flags() override;
  void fill_defaults() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override { return "Token geometry over the layers of " + model.model; }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  /// If true, curves are named by tau, and each is measured before and after de-escalation.
  bool de_escalates() const { return !tau.empty(); }
  /// The curves of --model, then those of the models of --also, whose names begin with the model's
  /// label and a dot.
  Groups groups() const;
};

std::vector<Field> Config::flags() {
  const std::vector<Field> of_study = {
      or_empty(real_list_field("lambda", lambda, -1e12, 1e12, "lambda",
                               "strengths of the skip, one curve per value")),
      or_empty(
          with_repeats(real_list_field("lambda-per-layer", lambda_per_layer, -1e12, 1e12, "lambda",
                                       "one more curve, with one skip strength per layer"))),
      or_empty(real_list_field("tau", tau, 0.0, 1.0, "tau",
                               "strengths of de-escalation, one curve per value")),
      also_field(also),
      real_field("dropout", dropout, 0.0, 0.9, "",
                 "encoders: one more curve, with lambda = 1 and this dropout rate, as in training"),
      switch_field("gradients", gradients,
                   "encoders: also measure the gradient norm of each block's weights"),
      real_field("threshold", threshold, 0.0, 1.0, "",
                 "tokens count as collapsed if mu_normalized or rank_one_residual is below it"),
  };
  return all_fields(
      {{precision_field(precision)}, model_fields(model), of_study, file_fields(model)});
}

std::vector<double> default_lambda(const Config& c) {
  if (c.de_escalates()) return {1};
  if (!c.lambda_per_layer.empty()) return {};
  return c.model.row().lambda_varies ? std::vector<double>{-2, -1, -0.5, 0, 0.5, 1, 2}
                                     : std::vector<double>{1};
}

void Config::fill_defaults() {
  DepthConfig::fill_defaults();
  if (lambda.empty()) lambda = default_lambda(*this);
}

std::vector<DepthPath> curves_of(const Config& c, const ModelSpec& spec, const At& model) {
  std::vector<DepthPath> curves;
  // A list with one value per layer fits only models as deep as the main model.
  const bool per_layer_lambda = spec.layers == c.model.layers && !c.lambda_per_layer.empty();
  if (c.de_escalates()) {
    const std::vector<double>& lambda = per_layer_lambda ? c.lambda_per_layer : c.lambda;
    for (const double tau : c.tau) curves.push_back({model / At("tau", tau), lambda, tau});
    return curves;
  }
  for (const double lambda : c.lambda) curves.push_back({model / At("lambda", lambda), {lambda}});
  if (per_layer_lambda)
    curves.push_back({model / At("lambda", "per-layer", "lambda=per-layer"), c.lambda_per_layer});
  if (c.dropout > 0) curves.push_back({model / At("dropout", c.dropout), {1}, {}, c.dropout});
  return curves;
}

// `models` have the weights of all trainings, the groups those of one.
Groups groups_of(const Config& c, const std::vector<StackedModel>& models, std::uint64_t training) {
  Groups groups;
  for (const StackedModel& model : models)
    groups.push_back({model.training(training), curves_of(c, model.spec, model.at)});
  return groups;
}

Groups Config::groups() const {
  return groups_of(*this, stacked_models(model, also), 0);
}

// BERT and ALBERT, the models of [Shallow] Figure 1.
bool is_encoder(const ModelRow& row) {
  return row.figure == DepthFigure::shallow_1;
}

void require_length(const std::vector<double>& per_layer, const std::string& flag,
                    std::uint64_t layers) {
  if (per_layer.empty() || per_layer.size() == layers) return;
  throw UsageError(
      say("{}: {} values are not allowed with --layers {}; allowed: one value per layer", flag,
          per_layer.size(), layers));
}

void require_dropout(const Config& c, const Groups& groups) {
  const auto refuse = [](const std::string& conflict, const std::string& allowed) {
    throw UsageError(say("--dropout is not allowed with {}; allowed: {}", conflict, allowed));
  };
  if (c.de_escalates()) refuse("--tau", "only --lambda");
  for (const DepthGroup& group : groups) {
    if (!is_encoder(group.spec.row()))
      refuse("the model " + model_label(group.spec), joined(models_that(is_encoder), "|"));
  }
}

// Throws unless each group is as run_with_gradients requires it.
void require_gradients(const Groups& groups) {
  const auto refuse = [](const std::string& conflict, const std::string& allowed) {
    throw UsageError(say("--gradients: on is not allowed with {}; allowed: {}", conflict, allowed));
  };
  for (const DepthGroup& group : groups) {
    const ModelSpec& spec = group.spec;
    if (!is_encoder(spec.row()))
      refuse("the model " + model_label(spec), joined(models_that(is_encoder), "|"));
    if (spec.input != "tokens") refuse("--input " + spec.input, "tokens");
    if (spec.norm != "layer") refuse("--norm " + spec.norm, "layer");
    if (!spec.has_mlp()) refuse("--mlp off", "on");
    const auto de_escalates = [](const DepthPath& curve) { return curve.tau.has_value(); };
    if (std::any_of(group.curves.begin(), group.curves.end(), de_escalates))
      refuse("--tau", "only --lambda 1");
    const auto has_dropout = [](const DepthPath& curve) { return curve.dropout > 0; };
    const auto first = group.curves.begin();
    const bool is_plain = first != group.curves.end() && first->lambda == std::vector<double>{1} &&
                          !has_dropout(*first) &&
                          std::all_of(first + 1, group.curves.end(), has_dropout);
    if (!is_plain) refuse("these strengths of the skip", "only --lambda 1");
  }
}

void Config::check() const {
  require_length(lambda_per_layer, "--lambda-per-layer", model.layers);
  if (de_escalates() && lambda.size() > 1)
    throw UsageError("--lambda: a list is not allowed with --tau; allowed: one value");
  const Groups all = groups();
  if (dropout > 0) require_dropout(*this, all);
  if (gradients) require_gradients(all);
}

Estimate Config::memory() const {
  return gradients ? cost_with_gradients(groups()) : depth_cost(groups());
}

// The trial ---------------------------------------------------------------------------------------

Work Config::work() const {
  Work out =
      depth_work(model, curves_in(groups()),
                 [this, models = stacked_models(model, also)](std::uint64_t training,
                                                              const std::vector<Trial>& trials) {
                   const auto run = gradients ? run_with_gradients : run_groups;
                   return run(groups_of(*this, models, training), trials, single_precision());
                 });
  if (gradients) out.batch_size = 1;  // every trial reads published weights itself
  return out;
}

// Claims ------------------------------------------------------------------------------------------

constexpr double infinity = std::numeric_limits<double>::infinity();

// Our thresholds for "near one", "nearly the same", "around" and "constant", for which the papers
// give no numbers.
constexpr double near_one = 0.95, same_curve = 0.05, around = 0.1, nearly_constant = 1e-3;
// Our thresholds for "neither vanish nor explode" and "roughly at a constant level": the largest
// gradient norm of the blocks over the smallest.
constexpr double stable_gradients = 10, constant_level = 2;
// A small |lambda| is at most 1, the usual value. The large one is the largest of the list, and at
// least large_lambda.
constexpr double small_lambda = 1.0, large_lambda = 2.0;

// The plain residual connection.
bool has_plain_skip(const DepthPath& curve) {
  return curve.lambda == std::vector<double>{1};
}

// [LambdaSkip] Figure 1 ---------------------------------------------------------------------------

// The extreme of a measure at the last layer over curves, per trial; NaN if any value is undefined.
std::vector<double> extreme_final(const Measure& what, const std::vector<At>& curves,
                                  const Records& records, bool largest) {
  return per_trial(records, [&](const TrialRecord& record) {
    double extreme = largest ? -infinity : infinity;
    for (const At& curve : curves) {
      const double value = record.array(curve / what).back();
      if (std::isnan(value)) return value;
      extreme = largest ? std::max(extreme, value) : std::min(extreme, value);
    }
    return extreme;
  });
}

// The order that the figure shows, by either measure: every small |lambda| ends below every large
// one. Collapse is convergence to rank one ([LambdaSkip] Section 3.1), which mu alone does not
// show.
void judge_order_of_skips(const Place& figure_1, const std::string& in_model, bool is_shown,
                          const std::vector<At>& small, const std::vector<At>& large,
                          const Records& records, Claims& claims) {
  const struct {
    const char* id;
    Measure measure;
    const char* words;
  } orders[] = {{"residual-order", measure::rank_one_residual, "The distance from rank one"},
                {"mu-order", measure::mu_normalized, "Normalized mu"}};
  std::vector<At> all = small;
  all.insert(all.end(), large.begin(), large.end());
  for (const auto& [id, measure, words] : orders) {
    const Statement statement = figure_1(
        id, say("{} after the last layer is smaller for every abs(lambda) up to 1 than for the "
                "largest abs(lambda){}: smallest of the large minus largest of the small",
                words, in_model));
    if (!claims.applies(statement, small.empty() || large.empty()
                                       ? "hypothesis not met: no such lambda in the list"
                                       : ""))
      continue;
    const auto runs = claims.about(overflows(all, records), true);
    claims.mean(is_shown ? statement : beyond(statement),
                differences(extreme_final(measure, large, records, false),
                            extreme_final(measure, small, records, true)),
                positive(), say("{} over {}", measure.name, listed(all)));
  }
}

void judge_skips(const DepthGroup& group, double threshold, const Records& records,
                 Claims& claims) {
  const Place figure_1 =
      in_figure(lambda_skip::fig_1, say("lambda-skip/fig-1/{}/", model_label(group.spec)),
                "Section 5.1, Figure 1");
  const bool is_shown = group.spec.model == "mamba2";  // the figure shows no other model
  const std::string scale =
      say("{}; the figure shows 64 trained ones",
          plural(group.spec.layers,
                 group.spec.checkpoint != nullptr ? "trained layer" : "untrained layer"));
  const auto hypothesis = claims.only_where(
      group.spec.has_gate() ? "hypothesis not met: the gate is on; the figure removes it" : "");
  const auto curves_where = [&](const auto& predicate) {
    std::vector<At> curves;
    for (const DepthPath& curve : group.curves) {
      if (curve.lambda.size() == 1 && predicate(curve.lambda.front())) curves.push_back(curve.at);
    }
    return curves;
  };
  double largest = large_lambda;
  for (const DepthPath& curve : group.curves) {
    if (curve.lambda.size() == 1) largest = std::max(largest, std::abs(curve.lambda.front()));
  }
  const auto judge = [&](const Statement& statement, const std::vector<At>& curves,
                         bool collapses) {
    if (!claims.applies(statement,
                        curves.empty() ? "hypothesis not met: no such lambda in the list" : ""))
      return;
    const auto depth =
        claims.only_where(collapses ? too_shallow(group.spec) : "", Claims::Unmet::verdict_alone);
    const auto runs = claims.about(overflows(curves, records));
    claims.mean(
        is_shown ? reading(statement, say("mu/||Y||_F of {}", threshold)) : beyond(statement),
        extreme_final(measure::mu_normalized, curves, records, collapses),
        collapses ? at_most(threshold) : at_least(threshold),
        clauses(say("normalized mu after the last layer, {} over {}; collapsed: below {}",
                    collapses ? "largest" : "smallest", listed(curves), threshold),
                is_shown ? scale : ""));
  };
  const std::string in_model = say(" in {}{}", model_row(group.spec.model).title,
                                   is_shown                                 ? " without gate"
                                   : group.spec.value_weights == "identity" ? " with C_V = I"
                                                                            : "");
  const auto mu_last = [&](const char* lambda) {
    return say("{}: mu/||Y||_F after the last layer, {}", in_model, lambda);
  };
  const std::vector<At> small = curves_where(
                            [](double lambda) { return std::abs(lambda) <= small_lambda; }),
                        large = curves_where(
                            [&](double lambda) { return std::abs(lambda) == largest; });
  judge(figure_1("small-lambda-collapses", "The tokens collapse for every abs(lambda) up to 1" +
                                               mu_last("largest over these lambda")),
        small, true);
  judge(figure_1("lambda-1-collapses",
                 "The tokens collapse for the usual lambda = 1" + mu_last("lambda = 1")),
        curves_where([](double lambda) { return lambda == 1; }), true);
  judge(figure_1("large-lambda-keeps", "The tokens do not collapse for the largest abs(lambda)" +
                                           mu_last("smaller of both signs")),
        large, false);
  judge_order_of_skips(figure_1, in_model, is_shown, small, large, records, claims);
}

// [Shallow] Figure 1 ------------------------------------------------------------------------------

// "BERT" for the model bert.
std::string in_capitals(std::string model) {
  std::ranges::transform(model, model.begin(), [](unsigned char c) { return std::toupper(c); });
  return model;
}

void judge_encoder(const DepthGroup& group, const Records& records, Claims& claims) {
  const std::string& model = group.spec.model;
  const Place figure_1 = in_figure(shallow::fig_1, "shallow/", "Section 1.1, Figure 1");
  for (const DepthPath& curve : group.curves) {
    if (!has_plain_skip(curve)) continue;
    const auto run = claims.about(overflows({curve.at}, records));
    const bool has_dropout = curve.dropout > 0;
    const std::string variant = model + (has_dropout ? "/dropout" : ""),  // in the id
        in_model = say(" in {}{}", in_capitals(model),
                       has_dropout ? say(" with dropout {}", curve.dropout) : "");
    // The paper names no dropout; without it is our reading.
    const auto judged = [&](const Statement& statement, const std::string& threshold) {
      return has_dropout ? beyond(statement) : reading(statement, threshold);
    };
    for (const auto& [kind, similarity] :
         {std::pair("token", measure::token_similarity), {"cosine", measure::cosine_similarity}}) {
      claims.mean(judged(figure_1(say("fig-1-{}-similarity/{}", kind, variant),
                                  say("The {} similarity rises to near one{}: its value after the "
                                      "last block",
                                      kind, in_model)),
                         say("{}, ours", near_one)),
                  final_values(curve.at, similarity, records), at_least(near_one));
    }
    const std::vector<double> gaps = per_trial(records, [&](const TrialRecord& record) {
      const auto &t_sim = record.array(curve.at / measure::token_similarity),
                 &t_cos = record.array(curve.at / measure::cosine_similarity);
      double gap = undefined;
      for (std::size_t k = 1; k < t_sim.size(); ++k)
        gap = std::fmax(gap, std::abs(t_sim[k] - t_cos[k]));  // of blocks where both are defined
      return record.scalar(curve.at / overflow_layer) > 0 ? undefined : gap;
    });
    claims.mean(
        judged(figure_1("fig-1-same-curve/" + variant,
                        "Token similarity and cosine similarity have nearly the same curve" +
                            in_model + ": their largest difference over the blocks"),
               say("a difference of {}, ours", same_curve)),
        gaps, at_most(same_curve), "tokens with equal norms have t_sim = (1 + (n - 1) t_cos)/n");
  }
}

// max_l g_l / min_l g_l of each trial; NaN if any g_l is NaN.
std::vector<double> gradient_ratios(const ModelSpec& spec, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    const std::vector<double>& norms = record.array(gradient_norms_of(spec));
    if (std::any_of(norms.begin(), norms.end(), [](double norm) { return std::isnan(norm); }))
      return undefined;
    const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
    return *most / *least;
  });
}

void judge_gradients(const DepthGroup& group, const Records& records, Claims& claims) {
  const ModelSpec& spec = group.spec;
  const std::vector<double> ratios = gradient_ratios(spec, records);
  const Place figure_1 =
      in_figure(shallow::fig_1, "shallow/fig-1-gradient", "Section 1.1, Figure 1");
  // The trials are counted. In a mean, one trial with vanishing gradients would either dominate the
  // others or go unnoticed.
  const auto trials_above = [&](double limit) {
    Tally tally;
    for (const double ratio : ratios) {
      tally.begin_trial();
      if (!std::isnan(ratio))  // infinite if the gradient of a block is exactly zero
        tally.count(ratio > limit, std::isfinite(ratio) ? ratio : undefined);
    }
    return tally;
  };
  const Tally unstable = trials_above(stable_gradients), off_level = trials_above(constant_level);
  const std::string range = say("largest gradient norm of a block over the smallest: {}",
                                range_text(unstable.smallest, unstable.largest));
  const Statement stable =
      figure_1("/" + spec.model,
               say("Gradients neither vanish nor explode in {}: the largest gradient norm of a "
                   "block is at most {} times the smallest",
                   in_capitals(spec.model), stable_gradients));
  claims.never_violated(
      spec.shares_weights()  // the paper leaves the gradients of such models out
          ? beyond(stable)
          : reading(stable, say("a factor of {}, ours", stable_gradients)),
      unstable,
      range + (spec.shares_weights()
                   ? "; each norm is that of one block's part of the gradient with respect to the "
                     "shared weights; the paper does not show such models"
                   : ""),
      WorstCase::largest);
  if (spec.shares_weights()) return;
  const std::string level = say("a factor of {}", constant_level);
  claims.never_violated(reading(figure_1("-level/" + spec.model,
                                         "The gradient norm is roughly the same in all blocks of " +
                                             in_capitals(spec.model)),
                                level + ", ours"),
                        off_level, say("{}; roughly the same: within {}", range, level),
                        WorstCase::largest);
}

// [Shallow] Figure 4 ------------------------------------------------------------------------------

void judge_rise(const Statement& statement, const At& curve, const Records& records,
                Claims& claims) {
  const std::vector<double> rises = per_trial(records, [&](const TrialRecord& record) {
    const auto& t_sim = record.array(curve / measure::token_similarity);
    return t_sim.back() - t_sim.front();
  });
  const auto run = claims.about(overflows({curve}, records));
  claims.mean(statement, rises, positive());
}

// Relative growth of a norm that is rounding, also in single precision.
constexpr double rounding_of_norms = 1e-6;

void judge_norms(const Place& figure_4, const At& curve, const Records& records, Claims& claims) {
  const auto run = claims.about(overflows({curve}, records));
  const auto norms = arrays_of(records, curve / measure::norm);
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
      say("growth of the mean of ||X||_F^2 over the trials; number of decreases in single trials: "
          "{}",
          decreases));
  const std::vector<double> spread = per_trial(records, [&](const TrialRecord& record) {
    const auto& normed = record.array(curve / measure::branch_input_norm);
    if (std::isnan(normed.back())) return undefined;
    const auto [least, most] = std::minmax_element(normed.begin(), normed.end());
    return *most / *least - 1;
  });
  claims.mean(
      reading(figure_4("normed-constant",
                       "||LN(X)||_F is constant in the pre-norm model: the largest of a block "
                       "relative to the smallest, minus 1"),
              say("a relative spread of {}, ours", nearly_constant)),
      spread, at_most(nearly_constant));
}

// [Shallow] Section 3.1: attention's role diminishes with depth. By Section 3 its role is the size
// of its input relative to the residual, ||LN(X)||_F/||X||_F. That of its output is ours.
void judge_role(const At& curve, const Records& records, Claims& claims) {
  const Place section = {shallow::sec_3_1, "/", "Section 3.1"};
  const auto run = claims.about(overflows({curve}, records));
  const auto norms = arrays_of(records, curve / measure::norm);
  const auto falls = [&](const Measure& measured) {
    const auto sizes = arrays_of(records, curve / measured);
    Tally tally;
    double before = undefined;
    for (std::size_t k = 0; k < sizes.front().size(); ++k) {
      double share = 0;
      for (std::size_t t = 0; t < sizes.size(); ++t)
        share += sizes[t][k] / norms[t][k] / static_cast<double>(sizes.size());
      if (std::isfinite(before) && std::isfinite(share))
        tally.count(!(share < before), share / before);
      before = share;
    }
    return tally;
  };
  const auto say_range = [](const Tally& tally) {
    return say("the mean over the trials divided by that of the block before: {}",
               range_text(tally.smallest, tally.largest));
  };
  const Tally input = falls(measure::branch_input_norm),
              output = falls(measure::branch_output_norm);
  claims.never_violated(
      asymptotic(section("input",
                         "In the pre-norm model, attention's input becomes smaller relative to the "
                         "residual: ||LN(X)||_F/||X||_F falls from block to block"),
                 "60 blocks"),
      input, say_range(input), WorstCase::largest);
  claims.never_violated(
      beyond(section("output",
                     "In the pre-norm model, attention's output becomes smaller relative to the "
                     "residual: ||A||_F/||X||_F falls from block to block")),
      output, say_range(output), WorstCase::largest);
}

void judge_pre_norm(const DepthGroup& group, const std::vector<DepthGroup>& groups,
                    const Records& records, Claims& claims) {
  if (group.curves.empty()) return;  // the strengths per layer belong to a model of other depth
  const Place figure_4 = in_figure(shallow::fig_4, "shallow/fig-4-", "Section 3.1, Figure 4");
  const At& curve = group.curves.front().at;
  judge_rise(
      figure_4("similarity-rises",
               "The token similarity rises in the pre-norm model: after the last block minus "
               "that of the input"),
      curve, records, claims);
  judge_norms(figure_4, curve, records, claims);
  judge_role(curve, records, claims);

  const Statement slower = figure_4(
      "slower",
      "The token similarity rises more slowly in the pre-norm than in the post-norm model: the "
      "post-norm minus the pre-norm one, mean over the blocks");
  const auto post = std::find_if(groups.begin(), groups.end(), [](const DepthGroup& g) {
    return g.spec.row().figure == DepthFigure::shallow_2;
  });
  const bool has_post_norm = post != groups.end() && !post->curves.empty();
  if (!claims.applies(slower, !has_post_norm ? "the comparison requires --also post-norm" : ""))
    return;
  const std::vector<double> leads = per_trial(records, [&](const TrialRecord& record) {
    const auto &pre_norm = record.array(curve / measure::token_similarity),
               &post_norm = record.array(post->curves.front().at / measure::token_similarity);
    const std::size_t blocks = std::min(pre_norm.size(), post_norm.size());
    double sum = 0;
    for (std::size_t k = 1; k < blocks; ++k) sum += post_norm[k] - pre_norm[k];
    return sum / static_cast<double>(blocks - 1);
  });
  const auto runs = claims.about(overflows({curve, post->curves.front().at}, records), true);
  claims.mean(slower, leads, positive());
}

// [Shallow] Figure 5 ------------------------------------------------------------------------------

void judge_de_escalation(const DepthGroup& group, const Records& records, Claims& claims) {
  const std::vector<std::pair<double, double>> levels = {
      {0.1, 0.0}, {0.5, 0.5}, {1.0, 1.0}};  // tau, diversity
  for (const DepthPath& curve : group.curves) {
    for (const auto& [tau, level] : levels) {
      if (curve.tau != tau) continue;
      const auto run = claims.about(overflows({curve.at}, records));
      const Place figure_5 =
          in_figure(shallow::fig_5, say("shallow/fig-5-tau-{}/", series_number(tau)),
                    "Section 3.2, Figure 5");
      const std::string text =
          say("The token diversity is around {} with tau = {}: t_div at the last block",
              series_number(level), series_number(tau));
      const Region allowed = {level > 0 ? level - around : -infinity,
                              level < 1 ? level + around : infinity};
      for (const auto& [when, diversity] : {std::pair("after", measure::token_diversity),
                                            {"before", before_de_escalation::token_diversity}}) {
        // The figure applies (21) to the output of each block: before it is ours.
        const Statement statement = figure_5(when, say("{}, {} (21)", text, when));
        claims.mean(
            when == std::string("after") ? reading(statement, say("within {}, ours", around))
                                         : beyond(statement),
            final_values(curve.at, diversity, records), allowed,
            tau == 0.5 ? say("the entries of W have variance {}, on which the level depends",
                             group.spec.weight_variance)
                       : "");
      }
    }
  }
}

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(independent_unit(model));
  const Groups all = groups();
  for (const DepthGroup& group : all) {
    const DepthFigure figure = group.spec.row().figure;
    if (de_escalates()) {
      if (figure == DepthFigure::shallow_2) judge_de_escalation(group, records, claims);
    } else if (is_encoder(group.spec.row())) {
      judge_encoder(group, records, claims);
      if (gradients) judge_gradients(group, records, claims);
    } else if (figure == DepthFigure::shallow_4) {
      judge_pre_norm(group, all, records, claims);
    } else if (figure != DepthFigure::shallow_2) {
      judge_skips(group, threshold, records, claims);
    }
  }
}

// The result --------------------------------------------------------------------------------------

struct Drawn {
  Measure measure;
  std::string title;
  Axis axis;
  bool has_threshold = false;       // of a collapse
  std::string further_figure = {};  // the title of its own figure; empty: the first figure
};

// The similarities for encoders and pre-norm, as in the papers' figures; otherwise the distances
// of the tokens from equality and, in a second figure, from being parallel.
std::vector<Drawn> drawn_measures(const Config& c) {
  const Drawn token_similarity = {measure::token_similarity, "Token similarity",
                                  unit_axis("token similarity")};
  if (c.de_escalates()) {
    return {{measure::token_diversity, "Token diversity",
             unit_axis("token diversity (1 - token similarity)")}};
  }
  const DepthFigure figure = c.model.row().figure;
  if (is_encoder(c.model.row())) {
    return {token_similarity,
            {measure::cosine_similarity, "Cosine similarity", unit_axis("cosine similarity")}};
  }
  if (figure == DepthFigure::shallow_4) return {token_similarity};
  return {{measure::mu_normalized, "Normalized mu", normalized_mu_axis(), true},
          {measure::rank_one_residual, "Rank-one residual", rank_one_residual_axis(), true,
           "Distance from rank one over the layers"}};
}

// The axis of the states after 0, 1, ... layers or, in [Shallow], blocks.
Axis depth_axis(const ModelSpec& spec) {
  return {spec.row().figure == DepthFigure::lambda_skip_1 ? "number of layers"
                                                          : "number of blocks"};
}

// The values that a verdict uses: the threshold of a collapse, and the diversity of [Shallow]
// Figure 5 that is not an end of the axis.
void add_lines(const Config& c, const Groups& groups, const Drawn& drawn, PanelBuilder& panel) {
  if (drawn.has_threshold) panel.line(c.threshold, threshold_label(c.threshold));
  const auto is_half = [](const DepthPath& curve) { return curve.tau == 0.5; };
  const std::vector<DepthPath>& curves = groups.front().curves;
  if (std::any_of(curves.begin(), curves.end(), is_half))
    panel.line(0.5, "paper's level for tau = 0.5");
}

bool has_one_lambda(const DepthPath& curve) {
  return curve.lambda.size() == 1;
}

// "tau = 0.1", "lambda = -5", "lambda per layer", "dropout 0.1"
std::string label_of(const DepthPath& curve) {
  if (curve.dropout > 0) return "dropout " + series_number(curve.dropout);
  if (curve.tau) return "tau = " + series_number(*curve.tau);
  return has_one_lambda(curve) ? "lambda = " + series_number(curve.lambda.front())
                               : "lambda per layer";
}

// Dashed for a negative lambda. With a tau, dashes mean "before de-escalation".
LineStyle style_of(const DepthPath& curve) {
  if (curve.dropout > 0) return LineStyle::dotted;
  const bool dashed = !curve.tau && has_one_lambda(curve) && curve.lambda.front() < 0;
  return dashed ? LineStyle::dashed : LineStyle::line;
}

// From the largest lambda to the smallest: the curves of lambda and -lambda often coincide, and the
// dashes of -lambda must lie on the line of lambda.
std::vector<DepthPath> in_drawing_order(std::vector<DepthPath> curves) {
  std::stable_sort(curves.begin(), curves.end(), [](const DepthPath& a, const DepthPath& b) {
    return has_one_lambda(a) && (!has_one_lambda(b) || a.lambda.front() > b.lambda.front());
  });
  return curves;
}

// A panel of one model. `words` is the end of its title.
void add_panel_of_group(const Config& c, const Groups& groups, const DepthGroup& group,
                        const Drawn& drawn, const std::string& words, BandKind band, Display& out) {
  PanelBuilder panel =
      out.panel(figure_label(group.spec) + words, depth_axis(group.spec), drawn.axis);
  if (groups.size() > 1) panel.group(drawn.measure);
  int color = 0;
  for (const DepthPath& curve : in_drawing_order(group.curves)) {
    const std::string label = label_of(curve);
    panel.curve(curve.at / drawn.measure, label + (c.de_escalates() ? ", after de-escalation" : ""),
                {.style = style_of(curve), .color = color, .band = band});
    if (c.de_escalates()) {
      panel.curve(curve.at / before_de_escalation::token_diversity,
                  label + ", before de-escalation",
                  {.style = LineStyle::dashed, .color = color, .band = band});
    }
    ++color;
  }
  add_lines(c, groups, drawn, panel);
}

// All models in one panel: one color per model, with a dashed curve for dropout.
void add_panel_of_models(const Config& c, const Groups& groups, const Drawn& drawn, BandKind band,
                         Display& out) {
  PanelBuilder panel = out.panel(drawn.title, depth_axis(c.model), drawn.axis);
  int color = 0;
  for (const DepthGroup& group : groups) {
    for (const DepthPath& curve : group.curves) {
      const bool has_dropout = curve.dropout > 0;
      panel.curve(curve.at / drawn.measure,
                  figure_label(group.spec) + (has_dropout ? ", " + label_of(curve) : ""),
                  {.style = has_dropout ? LineStyle::dashed : LineStyle::line,
                   .color = color,
                   .band = band});
    }
    ++color;
  }
  add_lines(c, groups, drawn, panel);
}

// The models are side by side, in rows of equal length if they do not fit in one.
std::size_t models_per_row(std::size_t models) {
  constexpr std::size_t most = 5;
  const std::size_t rows = (models + most - 1) / most;
  return (models + rows - 1) / rows;
}

void add_figure(const Config& c, const Groups& groups, Display& out) {
  const auto has_one_curve = [](const DepthGroup& group) {
    return std::count_if(group.curves.begin(), group.curves.end(),
                         [](const DepthPath& curve) { return curve.dropout == 0; }) == 1;
  };
  const std::size_t models = groups.size();
  const bool one_panel =
      !c.de_escalates() && models > 1 && std::all_of(groups.begin(), groups.end(), has_one_curve);
  const BandKind band = band_of_trials(c.model, out.records().size());
  const std::vector<Drawn> measures = drawn_measures(c);
  for (const Drawn& drawn : measures) {
    if (!drawn.further_figure.empty()) out.next_figure(drawn.further_figure);
    if (one_panel) {
      add_panel_of_models(c, groups, drawn, band, out);
      continue;
    }
    if (models > 1) out.columns(models_per_row(models));
    // The axis alone names the measure if all panels of the figure have the same one.
    const bool names_measure = is_encoder(c.model.row()) && !c.de_escalates();
    for (const DepthGroup& group : groups) {
      add_panel_of_group(c, groups, group, drawn, names_measure ? ": " + drawn.axis.label : "",
                         band, out);
    }
  }
  if (c.model.row().figure == DepthFigure::shallow_4 && !c.de_escalates()) {
    const At& curve = groups.front().curves.front().at;
    out.panel("Norms in the pre-norm Transformer", {"block"}, log_axis("Frobenius norm"))
        .curve(curve / measure::norm, "tokens X", {.band = band})
        .curve(curve / measure::branch_input_norm, "normalized tokens LN(X)", {.band = band})
        .curve(curve / measure::branch_output_norm, "attention output P LN(X) W", {.band = band});
  }
}

void add_gradient_panel(const Groups& groups, Display& out) {
  // The shape of the curve depends on the draw, so each draw is shown if they are not too many.
  constexpr std::size_t most_draws = 20;
  const BandKind band = out.records().size() <= most_draws ? BandKind::trials : BandKind::interval;
  PanelBuilder panel = out.panel("Gradient of the weights of each block", {"block"},
                                 log_axis("Frobenius norm of the gradient"));
  for (const DepthGroup& group : groups) {
    panel.curve(
        gradient_norms_of(group.spec),
        figure_label(group.spec) + (group.spec.shares_weights() ? ", part of one block" : ""),
        {.band = band});
  }
  out.note(
      "gradient_norm is the Frobenius norm of the gradient with respect to all weights of a block "
      "(maps, biases and gains). The paper states neither loss nor tokens nor dropout. Here the "
      "loss is the mean cross-entropy of the logits E'X_L against uniformly random targets, "
      "without dropout, where E is the token table of the model. For albert the logits are "
      "E'M X_L, where M is the map of its embedding.");
  const auto shares = [](const DepthGroup& group) { return group.spec.shares_weights(); };
  if (std::none_of(groups.begin(), groups.end(), shares)) return;
  out.note(
      "If all blocks share their weights, gradient_norm is the norm of one block's part of the "
      "gradient; the paper does not show such models.");
}

std::string settings_text(const ModelSpec& spec) {
  std::string text = say("{}: norm {}", model_label(spec), spec.norm);
  if (spec.row().has("gating")) {
    text += say(", gate {}, lambda on the {}{}{}, with the per-head skip D", spec.gating,
                spec.skip_at == "mixer" ? "mixer's input" : "residual stream",
                spec.skip_input == "normed" ? " after its norm" : "",
                spec.norm == "none" ? ", norms removed: " + spec.norm_off : "");
  }
  if (spec.row().has("lambda-at")) {
    text += say(", lambda on the residual of {}",
                spec.lambda_at == "both" ? "both sub-layers" : "attention");
  }
  return text +
         (spec.checkpoint == nullptr ? ", random weights"
          : spec.trainings > 1       ? ", weights trained here"
                                     : ", published weights") +
         (spec.shares_weights() ? ", the same in every layer" : "");
}

constexpr Measure
    final_rank_one_residual = {"final_rank_one_residual", "1 - sigma_1(Y)^2/||Y||_F^2",
                               "after the last layer: squared distance from rank one over the "
                               "squared norm"},
    final_token_similarity = {"final_token_similarity", "t_sim(Y)",
                              "after the last layer: share of the squared norm in the common part"},
    final_cosine_similarity = {"final_cosine_similarity", "t_cos(Y)",
                               "after the last layer: mean cosine over pairs of tokens"},
    gradient_ratio = {"gradient_ratio", "", "largest gradient norm of a block over the smallest"};

constexpr struct {
  Measure last, of;
} last_values[] = {{measure::final_mu_normalized, measure::mu_normalized},
                   {final_rank_one_residual, measure::rank_one_residual},
                   {final_token_similarity, measure::token_similarity},
                   {final_cosine_similarity, measure::cosine_similarity}};

void Config::derive(Numbers& out) const {
  const Groups all = groups();
  for (const DepthGroup& group : all) {
    for (const DepthPath& curve : group.curves) {
      add_depth_series(group.spec, curve, out);
      for (const auto& [last, of] : last_values)
        out.scalar(curve.at / last, final_values(curve.at, of, out.records()));
    }
  }
  add_depth_scalars(curves_in(all), out);
  if (!gradients) return;
  for (const DepthGroup& group : all) {
    out.series(gradient_norms_of(group.spec), "block", layers_from(1, group.spec));
    out.scalar(At("model", model_label(group.spec)) / gradient_ratio,
               gradient_ratios(group.spec, out.records()));
  }
}

void Config::show(Display& out) const {
  const Groups all = groups();
  for (std::string& note : file_notes(model)) out.note(std::move(note));
  for (const DepthGroup& group : all) out.note(settings_text(group.spec) + ".");
  note_overflows(curves_in(all), out);
  out.note(collapse_note(curves_in(all), threshold, out.records()));
  if (dropout > 0) {
    out.note(
        "Dropout as in training: entries of the embedding, of the attention matrices and of the "
        "outputs of both branches are set to 0 at rate p, and the others are divided by 1 - p, "
        "independently in every block. The paper does not say whether dropout was on.");
  }
  add_figure(*this, all, out);
  if (gradients) add_gradient_panel(all, out);
  note_rounding(mu_arrays(all), single_precision(), out);
}

}  // namespace
}  // namespace ranklab::layers

namespace ranklab {

std::unique_ptr<Study> make_layers_study() {
  return std::make_unique<layers::Config>();
}

}  // namespace ranklab
