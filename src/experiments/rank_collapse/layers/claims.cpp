#include "experiments/rank_collapse/layers/claims.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>

#include "experiments/rank_collapse/model_fields.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// "near one", "nearly the same", "around": the papers give no numbers.
constexpr double near_one = 0.95, same_curve = 0.05, around = 0.1, nearly_constant = 1e-3;
// |lambda| up to the usual 1 is small; large is the largest of the list, and at least this.
constexpr double small_lambda = 1.0, large_lambda = 2.0;

// The extreme of a final measure over curves, per trial; NaN where a value is undefined.
std::vector<double> extreme_final(const std::vector<std::string>& curves, const std::string& measure, const Records& records,
                                  bool largest) {
  std::vector<double> out(records.size(), largest ? -infinity : infinity);
  for (const std::string& curve : curves) {
    const std::vector<double> values = final_values(curve, measure, records);
    for (std::size_t t = 0; t < out.size(); ++t) {
      const bool further = largest ? values[t] > out[t] : values[t] < out[t];
      if (further || std::isnan(values[t])) out[t] = values[t];
    }
  }
  return out;
}

std::string names_of(const std::vector<std::string>& curves) {
  std::string out;
  for (const std::string& curve : curves) out += (out.empty() ? "" : ", ") + curve;
  return out;
}

// [LambdaSkip] Figure 1 -----------------------------------------------------------------------------------------------

struct LambdaCurves {
  std::vector<std::string> small, one, large;
};

LambdaCurves sort_curves(const DepthGroup& group) {
  LambdaCurves sorted;
  double largest = large_lambda;
  for (const DepthCurve& curve : group.curves) {
    if (curve.lambda.size() == 1) largest = std::max(largest, std::abs(curve.lambda.front()));
  }
  for (const DepthCurve& curve : group.curves) {
    if (curve.lambda.size() != 1) continue;
    const double lambda = curve.lambda.front();
    if (std::abs(lambda) <= small_lambda) sorted.small.push_back(curve.name);
    if (lambda == 1) sorted.one.push_back(curve.name);
    if (std::abs(lambda) == largest) sorted.large.push_back(curve.name);
  }
  return sorted;
}

void add_lambda_claims(const DepthGroup& group, double threshold, const Records& records, std::vector<Claim>& claims) {
  const std::string id = "lambda-skip/fig-1/" + model_label(group.spec) + "/", source = "Section 5.1, Figure 1";
  const LambdaCurves curves = sort_curves(group);
  const bool gated = group.spec.has_gate();
  const auto judge = [&](const std::string& what, const std::string& statement, const std::vector<std::string>& of,
                         bool collapses) {
    if (gated) {
      claims.push_back(not_applicable(id + what, source, statement, "hypothesis not met: the gate is on; the figure removes it"));
    } else if (of.empty()) {
      claims.push_back(not_applicable(id + what, source, statement, "hypothesis not met: no such lambda in the list"));
    } else {
      claims.push_back(judge_mean(id + what, source, statement, extreme_final(of, "mu_normalized", records, collapses),
                                  collapses ? -infinity : threshold, collapses ? threshold : infinity,
                                  "normalised mu after the last layer, " + std::string(collapses ? "largest" : "smallest") +
                                      " over " + names_of(of) + "; collapsed: below " + short_number(threshold)));
    }
  };
  judge("small-lambda-collapses", "with abs(lambda) up to 1 the tokens collapse", curves.small, true);
  judge("lambda-1-collapses", "the usual lambda = 1 collapses too", curves.one, true);
  judge("large-lambda-keeps", "with large abs(lambda) they do not collapse", curves.large, false);
}

// [Shallow] Figure 1 --------------------------------------------------------------------------------------------------

void add_encoder_claims(const DepthGroup& group, const Records& records, std::vector<Claim>& claims) {
  const std::string source = "Section 1.1, Figure 1";
  for (const DepthCurve& curve : group.curves) {
    if (curve.lambda != std::vector<double>{1}) continue;
    for (const std::string kind : {"token", "cosine"}) {
      claims.push_back(judge_mean("shallow/fig-1-" + kind + "-similarity/" + group.spec.model, source,
                                  kind + " similarity rises to one in " + group.spec.model,
                                  final_values(curve.name, kind + "_similarity", records), near_one, infinity,
                                  "after the last block; near one: above " + short_number(near_one)));
    }
    std::vector<double> gaps;
    for (const TrialRecord& record : records) {
      const auto &t_sim = record.array(curve.name + ".token_similarity"), &t_cos = record.array(curve.name + ".cosine_similarity");
      double gap = 0;
      for (std::size_t k = 1; k < t_sim.size(); ++k) gap = std::max(gap, std::abs(t_sim[k] - t_cos[k]));
      gaps.push_back(gap);
    }
    claims.push_back(judge_mean("shallow/fig-1-same-curve/" + group.spec.model, source,
                                "the two similarities have nearly the same curve", gaps, -infinity, same_curve,
                                "largest difference over the blocks; tokens of one norm have t_sim = (1 + (n - 1) t_cos)/n"));
  }
}

// [Shallow] Figures 2 and 4 --------------------------------------------------------------------------------------------------

Claim judge_rise(const std::string& id, const std::string& source, const std::string& statement, const std::string& curve,
                 const Records& records) {
  std::vector<double> rises;
  for (const auto& t_sim : arrays_of(records, curve + ".token_similarity")) rises.push_back(t_sim.back() - t_sim.front());
  return judge_mean(id, source, statement, rises, std::numeric_limits<double>::min(), infinity, "last block less input");
}

void add_post_norm_claims(const DepthGroup& group, const Records& records, std::vector<Claim>& claims) {
  const std::string id = "shallow/fig-2-similarity-rises", source = "Section 2.4, Figure 2",
                    statement = "token similarity escalates in the post-norm model";
  for (const DepthCurve& curve : group.curves) {
    if (curve.lambda != std::vector<double>{1}) continue;
    claims.push_back(judge_rise(id, source, statement, curve.name, records));
    return;
  }
  claims.push_back(not_applicable(id, source, statement, "hypothesis not met: lambda = 1 is not in the list"));
}

void add_pre_norm_claims(const DepthGroup& group, const std::vector<DepthGroup>& groups, const Records& records,
                         std::vector<Claim>& claims) {
  const std::string source = "Section 3.1, Figure 4", &curve = group.curves.front().name;
  const auto norms = arrays_of(records, curve + ".norm");
  claims.push_back(
      judge_rise("shallow/fig-4-similarity-rises", source, "token similarity still rises in the pre-norm model", curve, records));
  double shrinking = 0, single = 0;
  for (std::size_t k = 1; k < norms.front().size(); ++k) {
    double growth = 0;
    for (const auto& norm : norms) {
      growth += norm[k] * norm[k] - norm[k - 1] * norm[k - 1];
      if (norm[k] <= norm[k - 1]) single += 1;
    }
    if (!(growth > 0)) shrinking += 1;
  }
  claims.push_back(
      judge_violations("shallow/fig-4-norm-grows", source, "||X||_F grows from block to block, in expectation", shrinking,
                       static_cast<double>(norms.front().size() - 1),
                       "of the mean of ||X||_F^2 over the trials; in single trials it shrank " + short_number(single) + " times"));
  std::vector<double> spread;
  for (const auto& normed : arrays_of(records, curve + ".branch_input_norm")) {
    const auto [least, most] = std::minmax_element(normed.begin(), normed.end());
    spread.push_back(*most / *least - 1);
  }
  claims.push_back(judge_mean("shallow/fig-4-normed-constant", source, "||LN(X)||_F is constant", spread, -infinity,
                              nearly_constant,
                              "relative spread over the blocks; constant: within " + short_number(nearly_constant)));
  const std::string statement = "similarity escalates more slowly than in the post-norm model";
  const auto post =
      std::find_if(groups.begin(), groups.end(), [](const DepthGroup& g) { return g.spec.row().figure == DepthFigure::shallow_2; });
  if (post == groups.end()) {
    claims.push_back(not_applicable("shallow/fig-4-slower", source, statement, "--also post-norm is needed to compare with"));
    return;
  }
  std::vector<double> gaps;
  for (const TrialRecord& record : records) {
    const auto &pre_norm = record.array(curve + ".token_similarity"),
               &post_norm = record.array(post->curves.front().name + ".token_similarity");
    const std::size_t blocks = std::min(pre_norm.size(), post_norm.size());
    double sum = 0;
    for (std::size_t k = 1; k < blocks; ++k) sum += post_norm[k] - pre_norm[k];
    gaps.push_back(sum / static_cast<double>(blocks - 1));
  }
  claims.push_back(judge_mean("shallow/fig-4-slower", source, statement, gaps, std::numeric_limits<double>::min(), infinity,
                              "lead of the post-norm model's similarity, mean over the blocks"));
}

// [Shallow] Figure 5 --------------------------------------------------------------------------------------------------

void add_de_escalation_claims(const DepthGroup& group, const Records& records, std::vector<Claim>& claims) {
  const std::string source = "Section 3.2, Figure 5";
  const std::vector<std::pair<double, double>> levels = {{0.1, 0.0}, {0.5, 0.5}, {1.0, 1.0}};  // tau, diversity
  for (const DepthCurve& curve : group.curves) {
    for (const auto& [tau, level] : levels) {
      if (curve.tau != std::vector<double>{tau}) continue;
      for (const std::string when : {"after", "before"}) {
        const auto diversity = final_values(curve.name + (when == "before" ? ".before" : ""), "token_diversity", records);
        claims.push_back(judge_mean("shallow/fig-5-tau-" + series_number(tau) + "/" + when, source,
                                    "with tau = " + series_number(tau) + " the token diversity is around " + series_number(level),
                                    diversity, level > 0 ? level - around : -infinity, level < 1 ? level + around : infinity,
                                    "t_div at the last block, " + when + " the operation; around: within " + short_number(around)));
      }
    }
  }
}

}  // namespace

std::vector<Claim> layers_claims(const LayersConfig& config, const Records& records) {
  std::vector<Claim> claims;
  if (records.empty()) return claims;
  const std::vector<DepthGroup> groups = depth_groups(config);
  for (const DepthGroup& group : groups) {
    const DepthFigure figure = group.spec.row().figure;
    if (config.de_escalates()) {
      if (figure == DepthFigure::shallow_2) add_de_escalation_claims(group, records, claims);
    } else if (figure == DepthFigure::shallow_1) {
      add_encoder_claims(group, records, claims);
    } else if (figure == DepthFigure::shallow_4) {
      add_pre_norm_claims(group, groups, records, claims);
    } else if (figure == DepthFigure::shallow_2) {
      add_post_norm_claims(group, records, claims);
    } else {
      add_lambda_claims(group, config.threshold, records, claims);
    }
  }
  return claims;
}

}  // namespace ranklab
