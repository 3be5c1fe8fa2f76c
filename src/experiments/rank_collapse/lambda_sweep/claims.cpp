// What [LambdaSkip] Figure 2 says, and what Section 5.1 says of Theorem 4.1 beside it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/text.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"

namespace ranklab::lambda_sweep {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// "little variation", and statistically equal: the paper gives no number.
constexpr double little_variation = 0.1, equal_within = 0.05, rounding = 1e-10;

// Normalised mu at the last layer in each trial, over the ascending lambda.
struct Sweep {
  const std::vector<double>& lambda;
  std::vector<std::vector<double>> final_mu;

  std::vector<double> per_trial(const std::function<double(const std::vector<double>& mu)>& value) const {
    std::vector<double> out;
    for (const std::vector<double>& mu : final_mu) out.push_back(value(mu));
    return out;
  }
};

void judge_dip(const Sweep& sweep, const Place& figure_2, Claims& claims) {
  const Statement dip = figure_2("dip-at-0", "mu at the last layer has a dip at lambda = 0: lower than at any abs(lambda) >= 1");
  const auto zero = std::find(sweep.lambda.begin(), sweep.lambda.end(), 0.0);
  if (zero == sweep.lambda.end() || sweep.lambda.size() < 2) return claims.not_applicable(dip, "lambda = 0 is not in the list");
  const auto at_zero = static_cast<std::size_t>(zero - sweep.lambda.begin());
  const auto lead = sweep.per_trial([&](const std::vector<double>& mu) {
    double least = infinity;
    for (std::size_t i = 0; i < mu.size(); ++i) {
      if (std::abs(sweep.lambda[i]) >= 1) least = std::min(least, mu[i]);
    }
    return least - mu[at_zero];
  });
  claims.mean(dip, lead, at_least(rounding),
              "smallest normalised mu at abs(lambda) >= 1, less that at 0; beyond rounding, " + short_number(rounding));
}

struct MirrorPair {
  std::size_t negative, positive;
};

std::vector<MirrorPair> mirror_pairs(const std::vector<double>& lambda) {
  std::vector<MirrorPair> pairs;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (lambda[i] <= 0) continue;
    const auto mirror = std::find(lambda.begin(), lambda.end(), -lambda[i]);
    if (mirror != lambda.end()) pairs.push_back({static_cast<std::size_t>(mirror - lambda.begin()), i});
  }
  return pairs;
}

void judge_asymmetry(const Sweep& sweep, const ModelSpec& spec, const Place& figure_2, Claims& claims) {
  const Statement as_printed = figure_2("asymmetry/as-printed", "negative lambda gives a higher mu than positive");
  const std::vector<MirrorPair> pairs = mirror_pairs(sweep.lambda);
  if (pairs.empty()) return claims.not_applicable(as_printed, "no pair of lambda and -lambda in the list");
  const auto lead = sweep.per_trial([&](const std::vector<double>& mu) {
    double sum = 0;
    for (const MirrorPair& pair : pairs) sum += mu[pair.negative] - mu[pair.positive];
    return sum / static_cast<double>(pairs.size());
  });
  const std::string detail = "normalised mu at -lambda less that at lambda, mean over the mirrored pairs";
  claims.mean(as_printed, lead, positive(), detail);

  // Flipping the sign of a weight of mean zero turns lambda into -lambda, up to the sign of the whole state: where the rest of the
  // block is odd.
  const auto corrected = [&](const char* text) { return correcting(as_printed, figure_2("asymmetry/corrected", text)); };
  if (spec.has_mlp() || spec.checkpoint != nullptr) {
    claims.not_applicable(corrected("with a random weight of mean zero lambda and -lambda are statistically equal"),
                          std::string("hypothesis not met: ") +
                              (spec.has_mlp() ? "the feed-forward net is not odd" : "the weights are trained"));
  } else if (spec.value_weights != "identity") {
    claims.equivalent(
        corrected("where a random weight of mean zero stands between the skip and the output of the mixing, lambda and "
                  "-lambda are statistically equal"),
        lead, equal_within, detail);
  } else {
    claims.mean(corrected("with C_V = I and a mixing matrix of one sign, negative lambda gives a higher mu than positive"), lead,
                at_least(equal_within), detail);
  }
}

void judge_flatness(const Sweep& sweep, const Place& figure_2, Claims& claims) {
  const double outer = std::max(std::abs(sweep.lambda.front()), std::abs(sweep.lambda.back())) / 2;
  const auto range = sweep.per_trial([&](const std::vector<double>& mu) {
    double widest = 0;  // of each sign by itself
    for (const Sign& sign : signs) {
      double low = infinity, high = -infinity;
      for (std::size_t i = 0; i < mu.size(); ++i) {
        if (std::abs(sweep.lambda[i]) < outer || sign.of_lambda * sweep.lambda[i] <= 0) continue;
        low = std::min(low, mu[i]);
        high = std::max(high, mu[i]);
      }
      widest = std::max(widest, high - low);
    }
    return widest;
  });
  claims.mean(reading(figure_2("flat-at-large-lambda", "as abs(lambda) increases, mu varies little"),
                      "a range of " + short_number(little_variation)),
              range, at_most(little_variation),
              "range of normalised mu where abs(lambda) >= " + short_number(outer) + ", for each sign");
}

// Theorem 4.1 beside what was measured: by how many orders of magnitude it asks for more.
void judge_theorem(const Plan& plan, const StackedModel& model, const Records& records, Claims& claims) {
  const Statement conservative =
      reading(Statement{"lambda-skip/thm-4.1/conservative/" + model.label, "Section 5.1, Theorem 4.1",
                        "the condition of Theorem 4.1 is conservative: much smaller abs(lambda) keep the tokens apart"},
              "a factor of 10");
  if (!records.front().has(model.prefix + theorem_lambda)) {
    return claims.not_applicable(conservative, "hypothesis not met: not a bare stack of eq. (6) whose rows are normalised");
  }
  const std::vector<double> least = per_trial(records, [&](const TrialRecord& record) {
    double orders = infinity;
    for (const Sign& sign : signs) orders = std::fmin(orders, record.scalar(model.prefix + sign.orders_of_magnitude));
    return orders;  // the least of those that are defined
  });
  claims.mean(conservative, least, at_least(1),
              "log10 of the theorem's abs(lambda), at the rate a that keeps " + short_number(plan.threshold) +
                  " through all layers, over the smallest measured one; much smaller: by a factor of 10");
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  for (const StackedModel& model : plan.models) {
    const Place figure_2 = in_figure("lambda-skip/fig-2/" + model.label + "/", "Section 5.1, Figure 2", {"Figure 2"});
    const Sweep sweep{plan.lambda, arrays_of(records, model.prefix + at_last_layer + measure::mu_normalized)};
    judge_dip(sweep, figure_2, claims);
    judge_asymmetry(sweep, model.spec, figure_2, claims);
    judge_flatness(sweep, figure_2, claims);
    judge_theorem(plan, model, records, claims);
  }
}

}  // namespace ranklab::lambda_sweep
