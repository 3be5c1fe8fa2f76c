// Claims about the best single steps: does nr/st, eq. (1.1), predict which is better? The paper
// compares guaranteed decreases, so these claims about measured ones are ours.
#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {
namespace {

/// Logarithms of the predicted and the measured ratios of one trial, from the pairs in which both
/// are finite.
struct Pairs {
  std::vector<double> predicted, measured;
};
Pairs pairs_of(const RunRecords& view, const TrialRecord& record, const std::string& prediction,
               const std::string& measured) {
  const std::vector<double>&x = view.series(record, prediction), &y = view.series(record, measured);
  Pairs out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double log_x = std::log(x[i]), log_y = std::log(y[i]);
    if (std::isfinite(log_x) && std::isfinite(log_y))
      out.predicted.push_back(log_x), out.measured.push_back(log_y);
  }
  return out;
}

double order_of(const Pairs& pairs) {
  return rank_correlation(pairs.predicted, pairs.measured);
}

/// The share of pairs in which the prediction picks the better step.
double share_of_correct_picks(const Pairs& pairs) {
  double right = 0;
  for (std::size_t i = 0; i < pairs.predicted.size(); ++i)
    right += (pairs.predicted[i] > 0) == (pairs.measured[i] > 0);
  return right / static_cast<double>(pairs.predicted.size());
}

/// The share that the best constant rule gets right, which always picks the step that is better
/// more often.
double base_rate(const Pairs& pairs) {
  const auto spectral =
      static_cast<double>(std::count_if(pairs.measured.begin(), pairs.measured.end(),
                                        [](double log_ratio) { return log_ratio > 0; }));
  const double share = spectral / static_cast<double>(pairs.measured.size());
  return std::max(share, 1 - share);
}

double lead_over_base_rate(const Pairs& pairs) {
  return share_of_correct_picks(pairs) - base_rate(pairs);
}

/// The batch on which the best steps are compared.
struct ComparedOn {
  const char *ids, *where;  // of the claims' ids; in words
  const Measure& measured;
};
constexpr ComparedOn compared_on[] = {{"", "the batch that gave the gradient", batch_ratio},
                                      {"independent/", "an independent batch", independent_ratio}};

/// Questions about one prediction of the ratios.
struct Questions {
  const RunRecords& view;
  const Stage& stage;
  const Measure& prediction;
  const ComparedOn& batch;

  std::vector<double> of(double (*measure)(const Pairs&)) const {
    return view.of_whole_runs([&](const TrialRecord& record) {
      return measure(pairs_of(view, record, stage.at() / prediction, stage.at() / batch.measured));
    });
  }
  double mean_of(double (*measure)(const Pairs&)) const { return summarize(of(measure)).mean; }
  std::string prefix() const { return say("spectral/eq-1.1/{}{}", stage.id, batch.ids); }
  /// The end of a statement.
  std::string at() const { return say("{}, on {}", stage.when, batch.where); }
  std::string steps() const {
    std::vector<std::string> words;
    for (const double t : view.run().one_steps(stage)) words.push_back(short_number(t));
    return joined(words);
  }
};

void judge_ratios(const Questions& ask, const Named& named, Claims& claims) {
  const auto place = [&](const std::string& question) {
    return beyond(in_text(spectral::eq_1_1, ask.prefix() + question, "Section 1, eq. (1.1)"));
  };
  const std::string over = "over matrices and steps " + ask.steps();
  claims.mean(named(place(""), "one-step",
                    say("nr/st picks the better of the best steps along G and along polar(G) in at "
                        "least 90 % of the cases {}",
                        ask.at())),
              ask.of(share_of_correct_picks), at_least(0.9),
              say("share of cases, {}; always picking the step that is better more often is right "
                  "in {}",
                  over, ask.mean_of(base_rate)));
  claims.mean(named(place("lead/"), "one-step",
                    say("nr/st picks the better of the best steps along G and along polar(G) more "
                        "often than the best constant rule {}",
                        ask.at())),
              ask.of(lead_over_base_rate), positive(),
              say("difference of the shares of correct picks, {}; the constant rule always picks "
                  "the step that is better more often",
                  over));
}

/// The ratio that the curvature predicts: which step is better, and the order of the cases.
void judge_curvature(const Questions& ask, const Named& named, Claims& claims) {
  const auto statement = [&](const std::string& question, const std::string& what) {
    const Place place = in_text(spectral::eq_1_1, say("{}curvature/{}/", ask.prefix(), question),
                                "K-FAC: second moments of inputs and output gradients");
    return named(beyond(place), "one-step",
                 say("The ratio of the best decreases along polar(G) and G that the curvature of "
                     "the layer predicts {} {}",
                     what, ask.at()));
  };
  const std::string over = "over matrices (without the embedding) and steps " + ask.steps();
  claims.mean(
      statement("lead", "picks the better step more often than the best constant rule"),
      ask.of(lead_over_base_rate), positive(),
      say("difference of the shares of correct picks, {}; it picks the better step in {} of the "
          "cases, and the constant rule in {}",
          over, ask.mean_of(share_of_correct_picks), ask.mean_of(base_rate)));
  claims.mean(statement("order", "has a rank correlation of at least 0.5 with the measured ratio"),
              ask.of(order_of), at_least(0.5), "Spearman's rank correlation " + over);
}

}  // namespace

void judge_one_step(const RunRecords& view, const Named& named, Claims& claims) {
  for (const Stage& stage : {late, early}) {
    if (view.run().one_steps(stage).empty()) continue;
    for (const ComparedOn& batch : compared_on)
      judge_ratios({view, stage, predicted_ratio, batch}, named, claims);
    for (const ComparedOn& batch : compared_on)
      judge_curvature({view, stage, curvature_ratio, batch}, named, claims);
  }
}

}  // namespace ranklab::gpt
