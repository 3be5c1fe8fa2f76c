#include <algorithm>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {
namespace {

/// Pairs of logarithms, predicted and reached, of one trial.
struct Pairs {
  std::vector<double> predicted, reached;
};
Pairs pairs_of(const View& view, const TrialRecord& record, const std::string& when, const std::string& what) {
  const std::vector<double>&x = view.series(record, when + predicted), &y = view.series(record, when + what);
  Pairs out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double log_x = std::log(x[i]), log_y = std::log(y[i]);
    if (std::isfinite(log_x) && std::isfinite(log_y)) out.predicted.push_back(log_x), out.reached.push_back(log_y);
  }
  return out;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double other) { return other < value; }),
               equal = std::count(values.begin(), values.end(), value);
    out.push_back(static_cast<double>(below) + 0.5 * static_cast<double>(equal - 1));
  }
  return out;
}

/// Spearman's correlation of ranks; NaN for fewer than three pairs.
double rank_correlation(const Pairs& pairs) {
  if (pairs.predicted.size() < 3) return undefined;
  const std::vector<double> x = ranks_of(pairs.predicted), y = ranks_of(pairs.reached);
  const Summary of_x = summarise(x), of_y = summarise(y);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - of_x.mean) * (y[i] - of_y.mean);
  return sum / static_cast<double>(x.size() - 1) / of_x.std / of_y.std;
}

double share_of_signs(const Pairs& pairs) {
  double right = 0;
  for (std::size_t i = 0; i < pairs.predicted.size(); ++i) right += (pairs.predicted[i] > 0) == (pairs.reached[i] > 0);
  return right / static_cast<double>(pairs.predicted.size());
}

double median_difference(const Pairs& pairs) {
  return median(differences(pairs.reached, pairs.predicted));
}

/// The share of the better step of the two that is the more frequent one: what a rule that never looks gets right.
double base_rate(const Pairs& pairs) {
  const auto spectral = static_cast<double>(
      std::count_if(pairs.reached.begin(), pairs.reached.end(), [](double log_ratio) { return log_ratio > 0; }));
  const double share = spectral / static_cast<double>(pairs.reached.size());
  return std::max(share, 1 - share);
}

double lead_over_base_rate(const Pairs& pairs) {
  return share_of_signs(pairs) - base_rate(pairs);
}

std::string steps_text(const std::vector<double>& steps) {
  std::vector<std::string> words;
  for (const double t : steps) words.push_back(short_number(t));
  return joined(words);
}

/// `place` begins the ids, `what` is the series of ratios, `where` says on which batch.
void judge_ratios(const View& view, const Named& named, const std::string& place, const std::string& when, const char* what,
                  const std::string& where, Claims& claims) {
  const auto of = [&](double (*measure)(const Pairs&)) {
    return per_trial(view.records(), [&](const TrialRecord& record) { return measure(pairs_of(view, record, when, what)); });
  };
  const std::string source = "Section 1, eq. (1.1)", at = (when.empty() ? ", on " : ", early in training, on ") + where,
                    detail = "over blocks and steps " + steps_text(stepped_in(view.run(), !when.empty()));
  claims.mean(
      reading(named(place, source, "one-step",
                    "of best steps along G and along polar(G) the better is the one that nr/st names, in at least nine of ten "
                    "cases" +
                        at),
              "nine of ten cases"),
      of(share_of_signs), at_least(0.9),
      "share of cases, " + detail + "; always naming the more frequent one is right in " + mean_text(of(base_rate)));
  claims.mean(beyond(named(place + "/lead", source, "one-step",
                           "nr/st names the better step more often than always naming the more frequent one does" + at)),
              of(lead_over_base_rate), positive(), "difference of shares, " + detail);
  claims.mean(reading(named(place + "/order", source, "one-step", "the ratio of their decreases orders blocks as nr/st does" + at),
                      "a rank correlation of 0.5"),
              of(rank_correlation), at_least(0.5), "rank correlation " + detail + "; at least 0.5 wanted");
  claims.equivalent(
      reading(named(place + "/size", source, "one-step", "the ratio is of the size of nr/st, within a factor of 2" + at),
              "a factor of 2"),
      of(median_difference), std::log(2.0), "median of log(reached / predicted) " + detail);
}

}  // namespace

void judge_one_step(const View& view, const Named& named, Claims& claims) {
  for (const std::string when : {"", early}) {
    if (stepped_in(view.run(), !when.empty()).empty()) continue;
    const std::string place = when.empty() ? "eq-1.1" : "eq-1.1/early";
    judge_ratios(view, named, place, when, reached, "the batch that gave the gradient", claims);
    judge_ratios(view, named, place + "/independent", when, reached_elsewhere, "an independent batch", claims);
  }
}

}  // namespace ranklab::gpt
