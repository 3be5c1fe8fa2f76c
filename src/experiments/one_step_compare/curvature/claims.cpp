#include <algorithm>

#include "experiments/one_step_compare/curvature/attention_constants.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"

namespace ranklab::curvature {
namespace {

// "Does not grow" is judged by the exponent of a power law over the multiples of a size.
constexpr double largest_exponent = 0.1;
// A ratio within this factor counts as about 1.
constexpr double about = 2;

void judge_scaling(const Records& records, Claims& claims) {
  const Place place{"spectral/section-4.2/scaling", "spectral/section-4.2/",
                    "Section 4.2, scaling with the number of samples"};
  const std::string weights = ", for Gaussian weights of operator norm 2",
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
      "spectral/section-4.2/feature-term", "C_F/feature-term",
      "C_F ||A_(l-1)||_F^2, the contribution of the feature term, is of order one in n: n C_F does "
      "not grow with n" +
          weights,
      "n C_F grows at most like sqrt(n)" + weights);
  judge(feature_term.as_printed, 1, 0);
  judge(feature_term.corrected, 1, 0.5);
}

/// The training, which diverges only for the model mlp.
Divergence divergence_of(const Config& config, const Records& records) {
  if (!config.is_transformer())
    return ranklab::divergence_of(records, "the training", diverged_name);
  return {"the training", std::vector<bool>(records.size(), false)};
}

/// value(record) of every trial, undefined if the training diverged: an average over its steps
/// would be one over the steps before that.
template <class Value>
std::vector<double> whole_trainings(const Config& config, const Records& records,
                                    const Value& value) {
  std::vector<double> out = per_trial(records, value);
  const Divergence training = divergence_of(config, records);
  for (std::size_t t = 0; t < out.size(); ++t) {
    if (training.in_trial[t]) out[t] = undefined;
  }
  return out;
}

/// Logarithms over all matrices and measured steps of one trial.
std::vector<double> logs_of(const Config& config, const TrialRecord& record, const char* what) {
  std::vector<double> out;
  for (const std::string& matrix : config.matrices()) {
    for (const double value : record.array(of_matrix(matrix, what))) out.push_back(std::log(value));
  }
  return out;
}

double mean_size(const std::vector<double>& logs) {
  double sum = 0, count = 0;
  for (const double x : logs) {
    if (std::isfinite(x)) sum += std::fabs(x), count += 1;
  }
  return sum / count;
}

constexpr char rule[] = "spectral/section-4.4/rule";

std::string place_of(const Config& config) {
  return "spectral/section-4.4/" + std::string(!config.is_transformer() ? "" : "transformer/");
}

/// Whether (1.8) may be read as advice: the numbers that it takes as 1, and its choice between the
/// two steps at their best lengths.
void judge_advice(const Config& config, const Records& records, Claims& claims) {
  const Place place{rule, place_of(config), "Section 4.4, eqs. (4.11) and (4.18)"};
  const std::string factor = say("a factor of {}", about);
  for (const auto& [id, what, text] :
       {std::tuple{"constant", constant,
                   "The curvature per ||D A||_F^2 is the same along G and along polar(G)"},
        {"slack", slack,
         "The bounds of ||D A||_F by the norms of D and A are equally tight for G and polar(G)"}}) {
    claims.mean(beyond(place(id, std::string(text) + " (within " + factor + " on average)")),
                whole_trainings(config, records,
                                [&, name = what](const TrialRecord& record) {
                                  return mean_size(logs_of(config, record, name));
                                }),
                at_most(std::log(about)),
                "mean of abs(log ratio) over matrices and measured steps");
  }
  const auto lead = [&](const TrialRecord& record) {
    const auto predicted = logs_of(config, record, rank_ratio),
               actual = logs_of(config, record, advantage);
    double right = 0, spectral = 0, count = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (!std::isfinite(actual[i])) continue;
      count += 1;
      right += (predicted[i] >= 0) == (actual[i] >= 0);
      spectral += actual[i] >= 0;
    }
    return (right - std::max(spectral, count - spectral)) / count;
  };
  claims.mean(beyond(place("choice",
                           "nr >= st names the step that is ahead at the best lengths, in the "
                           "quadratic model, at least as often as the best constant rule")),
              whole_trainings(config, records, lead), compared(at_least(0.0)),
              "difference of the shares of correct picks, over matrices and measured steps");
  claims.mean(beyond(place("order",
                           "nr/st orders the cases by how far the spectral step is ahead at the "
                           "best lengths (rank correlation at least 1/2)")),
              whole_trainings(config, records,
                              [&](const TrialRecord& record) {
                                std::vector<double> predicted, actual;
                                const auto x = logs_of(config, record, rank_ratio),
                                           y = logs_of(config, record, advantage);
                                for (std::size_t i = 0; i < y.size(); ++i) {
                                  if (std::isfinite(x[i]) && std::isfinite(y[i]))
                                    predicted.push_back(x[i]), actual.push_back(y[i]);
                                }
                                return rank_correlation(predicted, actual);
                              }),
              at_least(0.5), "Spearman's rank correlation over matrices and measured steps");
}

void judge_shares(const Config& config, const Records& records, Claims& claims) {
  const Place place{rule, place_of(config), "Section 4.4, eq. (4.12)"};
  for (const std::string& direction : joint_directions) {
    const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& out) {
      for (const double share : record.array(own_share_of(direction))) {
        if (std::isfinite(share)) out.count(!(share >= 1 / about && share <= about), share);
      }
    });
    claims.never_violated(
        beyond(place("own-share/" + direction,
                     say("A step along the {} of all matrices at once has the curvature of single "
                         "matrices, within a factor of {}, at every measured step",
                         direction == "polar" ? "polar factors" : "gradients", about))),
        tally,
        "sum over matrices over the whole: from " + range_text(tally.smallest, tally.largest),
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

void judge(const Config& config, const Records& records, Claims& claims) {
  {
    const auto training = claims.about({divergence_of(config, records)});
    judge_advice(config, records, claims);
    judge_shares(config, records, claims);
  }
  if (config.is_transformer()) return judge_attention(records, claims);
  for (const Inequality* statement : counted_statements)
    claims.never_violated(*statement, records, worst_text(records, *statement), WorstCase::largest);
  judge_scaling(records, claims);
}

}  // namespace ranklab::curvature
