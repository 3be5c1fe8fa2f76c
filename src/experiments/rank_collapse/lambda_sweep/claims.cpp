// The statements of [LambdaSkip] about Figure 2, and of its Section 5.1 about eq. (7).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"

namespace ranklab::lambda_sweep {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Our thresholds for "little variation" and for statistical equality; the paper gives no number.
constexpr double little_variation = 0.1, equal_within = 0.05, rounding = 1e-10;

// Figure 2 shows Mamba-2 and ALBERT.
bool is_in_figure_2(const ModelSpec& spec) {
  return spec.model == "mamba2" || spec.model == "albert";
}

Place figure_2_of(const StackedModel& model) {
  Place place = in_figure("lambda-skip/fig-2", "lambda-skip/fig-2/" + model.label + "/",
                          "Section 5.1, Figure 2", {"Figure 2"});
  if (is_in_figure_2(model.spec)) return place;
  place.source = "not in the paper, whose Figure 2 shows Mamba-2 and ALBERT";
  place.part = Part::ours;
  place.kind = Kind::beyond;
  return place;
}

// Normalized mu at the last layer in each trial, over the ascending lambda.
struct Sweep {
  const std::vector<double>& lambda;
  std::vector<std::vector<double>> final_mu;
  std::string in_model;  // " in mamba2", the end of the statements

  /// value(mu) of every trial; undefined if the state overflowed for a lambda with used(lambda).
  std::vector<double> per_trial(
      const std::function<bool(double lambda)>& used,
      const std::function<double(const std::vector<double>& mu)>& value) const {
    std::vector<double> out;
    for (const std::vector<double>& mu : final_mu) {
      bool overflowed = false;
      for (std::size_t i = 0; i < mu.size(); ++i)
        overflowed |= used(lambda[i]) && std::isnan(mu[i]);
      out.push_back(overflowed ? undefined : value(mu));
    }
    return out;
  }
  /// The trials in which the state overflowed, for each lambda with used(lambda).
  std::vector<Divergence> overflows(const std::function<bool(double lambda)>& used) const {
    std::vector<Divergence> out;
    for (std::size_t i = 0; i < lambda.size(); ++i) {
      if (!used(lambda[i])) continue;
      out.push_back({"lambda=" + series_number(lambda[i]), {}});
      for (const std::vector<double>& mu : final_mu)
        out.back().in_trial.push_back(std::isnan(mu[i]));
    }
    return out;
  }
};

void judge_dip(const Sweep& sweep, const Place& figure_2, bool single_precision, Claims& claims) {
  const Statement dip = figure_2(
      "dip-at-0",
      "mu at the last layer is lower at lambda = 0 than at any abs(lambda) >= 1" + sweep.in_model);
  const auto zero = std::find(sweep.lambda.begin(), sweep.lambda.end(), 0.0);
  if (zero == sweep.lambda.end())
    return claims.not_applicable(dip, "lambda = 0 is not in the list");
  if (std::none_of(sweep.lambda.begin(), sweep.lambda.end(),
                   [](double lambda) { return std::abs(lambda) >= 1; }))
    return claims.not_applicable(dip, "no abs(lambda) of at least 1 is in the list");
  const auto at_zero = static_cast<std::size_t>(zero - sweep.lambda.begin());
  const auto used = [](double lambda) { return lambda == 0 || std::abs(lambda) >= 1; };
  const auto lead = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double least = infinity;
    for (std::size_t i = 0; i < mu.size(); ++i) {
      if (std::abs(sweep.lambda[i]) >= 1) least = std::min(least, mu[i]);
    }
    return least - mu[at_zero];
  });
  const double margin = single_precision ? single_precision_floor : rounding;
  const Spread leads = spread_of(lead);
  const bool resolved =
      !single_precision || std::max(std::abs(leads.smallest), std::abs(leads.largest)) >= margin;
  const auto precision = claims.only_where(
      resolved ? "" : "single precision does not resolve the difference; use --precision f64",
      Claims::Unmet::verdict_alone);
  const auto runs = claims.about(sweep.overflows(used), true);
  claims.mean(dip, lead, at_least(margin),
              "smallest normalized mu at abs(lambda) >= 1 minus normalized mu at 0; at least " +
                  short_number(margin) + ", so that rounding does not count");
}

struct MirrorPair {
  std::size_t negative, positive;
};

std::vector<MirrorPair> mirror_pairs(const std::vector<double>& lambda) {
  std::vector<MirrorPair> pairs;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (lambda[i] <= 0) continue;
    const auto mirror = std::find(lambda.begin(), lambda.end(), -lambda[i]);
    if (mirror != lambda.end())
      pairs.push_back({static_cast<std::size_t>(mirror - lambda.begin()), i});
  }
  return pairs;
}

void judge_asymmetry(const Sweep& sweep, const ModelSpec& spec, const Place& figure_2,
                     Claims& claims) {
  const Statement as_printed = figure_2(
      "asymmetry/as-printed",
      "mu at the last layer is higher for negative than for positive lambda" + sweep.in_model);
  const std::vector<MirrorPair> pairs = mirror_pairs(sweep.lambda);
  if (pairs.empty())
    return claims.not_applicable(as_printed, "no pair of lambda and -lambda in the list");
  const auto used = [&](double lambda) {
    return std::ranges::any_of(pairs, [&](const MirrorPair& pair) {
      return lambda == sweep.lambda[pair.negative] || lambda == sweep.lambda[pair.positive];
    });
  };
  const auto runs = claims.about(sweep.overflows(used), true);
  const auto lead = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double sum = 0;
    for (const MirrorPair& pair : pairs) sum += mu[pair.negative] - mu[pair.positive];
    return sum / static_cast<double>(pairs.size());
  });
  const std::string detail =
      "normalized mu at -lambda minus normalized mu at lambda, mean over all pairs lambda > 0";
  claims.mean(as_printed, lead, positive(), detail);

  // If the rest of the block is odd, flipping the sign of a weight of mean zero turns lambda into
  // -lambda, up to the sign of the whole state.
  const auto explained = [&](const std::string& relation, const std::string& condition) {
    return beyond(
        Statement{figure_2.statement_id, figure_2.prefix + "asymmetry/corrected",
                  "not in the paper; for random weights",
                  "mu at the last layer is " + relation + sweep.in_model + ", if " + condition});
  };
  const std::string equal = "statistically equal for lambda and -lambda",
                    random_weight = "the mixing has a random weight of mean zero";
  if (spec.has_mlp() || spec.checkpoint != nullptr) {
    claims.not_applicable(
        explained(equal, random_weight),
        std::string("hypothesis not met: ") +
            (spec.has_mlp() ? "the feed-forward net is not odd" : "the weights are trained"));
  } else if (spec.value_weights != "identity") {
    claims.equivalent(explained(equal, random_weight), lead, equal_within, detail);
  } else {
    claims.mean(explained("higher for negative than for positive lambda",
                          "C_V = I and all entries of the mixing matrix have the same sign"),
                lead, at_least(equal_within), detail);
  }
}

void judge_flatness(const Sweep& sweep, const Place& figure_2, Claims& claims) {
  const double outer = std::max(std::abs(sweep.lambda.front()), std::abs(sweep.lambda.back())) / 2;
  const auto used = [&](double lambda) { return std::abs(lambda) >= outer && lambda != 0; };
  const auto range = sweep.per_trial(used, [&](const std::vector<double>& mu) {
    double widest = undefined;  // the larger range of the two signs
    for (const Sign& sign : signs) {
      double low = infinity, high = -infinity, values = 0;
      for (std::size_t i = 0; i < mu.size(); ++i) {
        if (std::abs(sweep.lambda[i]) < outer || sign.of_lambda * sweep.lambda[i] <= 0) continue;
        low = std::min(low, mu[i]);
        high = std::max(high, mu[i]);
        values += 1;
      }
      if (values > 1) widest = std::fmax(widest, high - low);
    }
    return widest;
  });
  const Statement flat =
      figure_2("flat-at-large-lambda",
               "mu at the last layer varies little for large abs(lambda)" + sweep.in_model);
  const auto runs = claims.about(sweep.overflows(used), true);
  claims.mean(flat.kind == Kind::beyond
                  ? flat
                  : reading(flat, "a range of " + short_number(little_variation)),
              range, at_most(little_variation),
              "range of normalized mu over abs(lambda) >= " + short_number(outer) +
                  ", the larger of the two signs");
}

// Section 5.1 on the condition of Theorem 4.1, eq. (7), for stacks of eq. (6) and the models of
// Figure 2.
Statement conservative_for(const StackedModel& model) {
  Statement statement = {"lambda-skip/section-5.1/conservative",
                         "lambda-skip/thm-4.1/conservative/" + model.label, "Section 5.1",
                         "The condition of Theorem 4.1 is conservative: a much smaller abs(lambda) "
                         "keeps the tokens apart in " +
                             model.label,
                         Part::text};
  if (model.spec.row().bare || is_in_figure_2(model.spec))
    return reading(statement, "a factor of 10");
  statement.source = "not in the paper";
  return beyond(statement);
}

// By how many orders of magnitude eq. (7) requires more than the smallest measured strength of
// either sign.
void judge_condition(const Plan& plan, const StackedModel& model, const Records& records,
                     Claims& claims) {
  const Statement conservative = conservative_for(model);
  if (!records.front().has(model.prefix + theorem_condition)) {
    return claims.not_applicable(
        conservative, "hypothesis not met: not a bare stack of eq. (6) whose rows are normalized");
  }
  const std::vector<double> most = per_trial(records, [&](const TrialRecord& record) {
    double orders = undefined;  // fmax skips undefined values
    for (const Sign& sign : signs) {
      const double smallest = record.scalar(model.prefix + sign.smallest_lambda);
      if (smallest > 0)
        orders = std::fmax(orders,
                           std::log10(record.scalar(model.prefix + theorem_condition) / smallest));
    }
    return orders;
  });
  claims.mean(conservative, most, at_least(1),
              "log10 of the abs(lambda) that eq. (7) requires over the smallest measured "
              "abs(lambda), larger of the two signs; the rate a guarantees " +
                  short_number(plan.threshold) +
                  " at the last layer; the condition on mu(Y^(0)) requires more");
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  for (const StackedModel& model : plan.models) {
    const Place figure_2 = figure_2_of(model);
    const Sweep sweep{plan.lambda,
                      arrays_of(records, model.prefix + at_last_layer + measure::mu_normalized),
                      " in " + model.label};
    judge_dip(sweep, figure_2, plan.single_precision, claims);
    judge_asymmetry(sweep, model.spec, figure_2, claims);
    judge_flatness(sweep, figure_2, claims);
    judge_condition(plan, model, records, claims);
  }
}

}  // namespace ranklab::lambda_sweep
