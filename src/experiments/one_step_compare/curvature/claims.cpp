#include <algorithm>

#include "experiments/one_step_compare/curvature/curvature.hpp"

namespace ranklab::curvature {
namespace {

// "Does not grow" is judged by the exponent of a power law over the multiples of a size.
constexpr double largest_exponent = 0.1;
// A ratio within this factor counts as about 1.
constexpr double about = 2;

void judge_scaling(const Records& records, Claims& claims) {
  const Place place{spectral::section_4_2_scaling, "spectral/section-4.2/",
                    "Section 4.2, scaling with the number of samples"};
  const std::string
      weights = ", for Gaussian weights of operator norm 2 (the number is an exponent of n)",
      of_n = say("{} in the exponent of n", largest_exponent),
      detail = "exponent, from half to four times the samples of the run";
  // C_F, or n C_F: ||A_(l-1)||_F^2 is of order n.
  const auto judge = [&](const Statement& statement, double power, double largest) {
    const auto value = [&](const TrialRecord& record, std::size_t i) {
      return record.array(C_F_over_n)[i] * std::pow(multiples[i], power);
    };
    claims.mean(asymptotic(statement, of_n), slopes_over(records, multiples, value, fit_power),
                at_most(largest + largest_exponent), detail);
  };
  judge(place("C_F/n", "C_F does not grow with the number of samples" + weights), 0, 0);
  const Misprint feature_term = place.misprint(
      spectral::section_4_2_feature_term, "C_F/feature-term",
      "C_F ||A_(l-1)||_F^2, the contribution of the feature term, is of order one in n: n C_F does "
      "not grow with n" +
          weights,
      "n C_F grows at most like sqrt(n)" + weights);
  judge(feature_term.as_printed, 1, 0);
  judge(feature_term.corrected, 1, 0.5);
}

/// The weight matrices at the measured steps of every training.
class Trainings {
 public:
  Trainings(const Config& config, const Records& records)
      : config_(config),
        records_(records),
        divergence_(divergence_of(records, "the training", diverged)) {}

  const Divergence& divergence() const { return divergence_; }
  /// A place of the paper: the id of a claim names the transformer.
  Place place(const char* source) const {
    return {
        spectral::section_4_4_rule,
        config_.is_transformer() ? "spectral/section-4.4/transformer/" : "spectral/section-4.4/",
        source};
  }
  /// value(record) of every trial, undefined if the training diverged: an average over its steps
  /// would be one over the steps before that.
  template <class Value>
  std::vector<double> per_trial(const Value& value) const {
    return ranklab::per_trial(records_, [&](const TrialRecord& record) {
      return record.scalar(diverged) > 0 ? undefined : value(record);
    });
  }
  /// Logarithms over all matrices and measured steps of one trial.
  std::vector<double> logs(const TrialRecord& record, const Measure& what) const {
    std::vector<double> out;
    for (const WeightMatrix& matrix : config_.matrices()) {
      for (const double value : record.array(of_matrix(matrix, what)))
        out.push_back(std::log(value));
    }
    return out;
  }
  /// The finite shares of a joint direction; one outside the region is a violation.
  Tally tally(const std::string& name, Region allowed) const {
    return tally_of(records_, [&](const TrialRecord& record, Tally& out) {
      for (const double value : record.array(name)) {
        if (std::isfinite(value))
          out.count(!(value >= allowed.low && value <= allowed.high), value);
      }
    });
  }

 private:
  const Config& config_;
  const Records& records_;
  const Divergence divergence_;
};

double mean_size(const std::vector<double>& logs) {
  double sum = 0, count = 0;
  for (const double x : logs) {
    if (std::isfinite(x)) sum += std::fabs(x), count += 1;
  }
  return sum / count;
}

/// How much more often nr >= st names the step that is ahead than the best constant rule does, as a
/// difference of shares.
double lead_of(const std::vector<double>& predicted, const std::vector<double>& actual) {
  double right = 0, spectral = 0, count = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i])) continue;
    count += 1;
    right += (predicted[i] >= 0) == (actual[i] >= 0);
    spectral += actual[i] >= 0;
  }
  return (right - std::max(spectral, count - spectral)) / count;
}

/// Whether (1.8) may be read as advice: the number that it takes as 1, and its choice between the
/// two steps at their best lengths.
void judge_advice(const Trainings& trainings, Claims& claims) {
  const Place place = trainings.place("Section 4.4, eqs. (4.11) and (4.18)");
  claims.mean(
      beyond(place("constant", say("The curvature per ||D A||_F^2 is the same along G and along "
                                   "polar(G) (within a factor of {} on average)",
                                   about))),
      trainings.per_trial(
          [&](const TrialRecord& record) { return mean_size(trainings.logs(record, constant)); }),
      at_most(std::log(about)), "mean of abs(log ratio) over matrices and measured steps");
  claims.mean(beyond(place("choice",
                           "nr >= st names the step that is ahead at the best lengths, in the "
                           "quadratic model, at least as often as the best constant rule")),
              trainings.per_trial([&](const TrialRecord& record) {
                return lead_of(trainings.logs(record, rank_ratio),
                               trainings.logs(record, advantage));
              }),
              compared(at_least(0.0)),
              "difference of the shares of correct picks, over matrices and measured steps");
}

void judge_shares(const Trainings& trainings, Claims& claims) {
  const Place place = trainings.place("Section 4.4, eq. (4.12)");
  for (const JointDirection& direction : joint_directions) {
    const Tally tally = trainings.tally(direction.of(single_share), {1 / about, about});
    claims.never_violated(
        beyond(place("own-share/" + direction.name,
                     say("A step along the {} of all matrices at once has the curvature of single "
                         "matrices, within a factor of {}, at every measured step",
                         direction.label, about))),
        tally,
        say("sum over matrices over the whole: from {}", range_text(tally.smallest, tally.largest)),
        WorstCase::smallest);
  }
}

std::string worst_text(const Records& records, const Inequality& statement) {
  double trained = 0;
  for (const TrialRecord& record : records) {
    const double share = record.scalar_or_nan(largest_share_of(statement));
    if (share > trained) trained = share;
  }
  return say("largest share of the bound {} in the trained networks, {} with worked examples",
             trained, tally_of(records, statement.id).largest);
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::training);
  const Trainings trainings(*this, records);
  {
    const auto training = claims.about({trainings.divergence()});
    judge_advice(trainings, claims);
    judge_shares(trainings, claims);
  }
  if (is_transformer()) return judge_attention(records, claims);
  for (const Inequality* statement : counted_statements)
    claims.never_violated(*statement, records, worst_text(records, *statement), WorstCase::largest);
  judge_scaling(records, claims);
}

}  // namespace ranklab::curvature
