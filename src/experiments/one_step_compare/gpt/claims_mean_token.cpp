// If stable ranks are low because tokens share a mean ([Shallow]), then taking the mean token out
// must raise st(A) and change what a spectral step gains ([Spectral]). Runs with and without the
// mean over earlier tokens in the inputs of attention and net.
#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {
namespace {

std::string times_text(const std::vector<double>& logs) {
  return say("a factor of {}", std::exp(summarize(logs).mean));
}

/// Judges the mean over trials of `of` without the mean token minus `of` with it.
template <class Of>
void judge_change(const Statement& statement, const MeanTokenPair& pair, const Records& records,
                  const Of& of, Region allowed, const std::string& what, Claims& claims) {
  const RunRecords kept(*pair.kept, records), removed(*pair.removed, records);
  const auto along = [&](const RunRecords& view) {
    return view.per_trial([&](const TrialRecord& record) { return of(view, record); });
  };
  const std::vector<double> changes = differences(along(removed), along(kept));
  const auto runs = claims.about(divergences({pair.removed, pair.kept}, records), true);
  claims.mean(statement, changes, compared(allowed), what + times_text(changes));
}

void judge_ranks(const Place& place, const MeanTokenPair& pair, const Records& records,
                 Claims& claims) {
  const std::string run = " (" + pair.kept->label + ")",
                    detail = "logarithm, mean over layers and measured steps from 32 on; ";
  const auto logs_of = [](const std::vector<std::string>& names) {
    return [names](const RunRecords& view, const TrialRecord& record) {
      return mean_log(view, record, names);
    };
  };
  judge_change(beyond(place("st",
                            "Without the mean token, the stable ranks of the inputs of attention "
                            "and net are higher" +
                                run)),
               pair, records, logs_of(input_ranks()), at_least(0.0), detail, claims);
  judge_change(
      beyond(place("nr",
                   "Without the mean token, the nuclear ranks of the gradients inside layers are "
                   "higher" +
                       run)),
      pair, records, logs_of(gradient_ranks(*pair.kept)), at_least(0.0), detail, claims);
  judge_change(
      beyond(place("ratio",
                   "Without the mean token, nr/st of the matrices inside layers is lower" + run)),
      pair, records, logs_of(rank_ratios(*pair.kept)), at_most(0.0), detail, claims);
}

void judge_single_steps(const Place& place, const MeanTokenPair& pair, const Records& records,
                        Claims& claims) {
  for (const auto& [id, what, where] :
       {std::tuple{"one-step", batch_ratio, "on the batch that gave the gradient"},
        {"independent/one-step", independent_ratio, "on an independent batch"}}) {
    judge_change(
        beyond(place(id, std::string("Without the mean token, the best step along polar(G) gains "
                                     "less over the best step along G ") +
                             where + " (" + pair.kept->label + ")")),
        pair, records,
        [series = what](const RunRecords& view, const TrialRecord& record) {
          return mean_log_advantage(view, record, series);
        },
        at_most(0.0), "logarithm, mean over matrices and steps from 32 on; ", claims);
  }
}

void judge_losses(const Place& place, const Plan& plan, const Records& records, Claims& claims) {
  for (const std::string optimizer : {"adam", "muon"}) {
    const MeanTokenPair pair = plan.mean_token_pair(optimizer);
    judge_pair(beyond(place("loss/" + optimizer,
                            "Without the mean token, the final held-out loss is at most as high (" +
                                optimizer_label(optimizer) + ")")),
               pair.removed, pair.kept, "needs runs of " + optimizer_label(optimizer),
               compared(at_most(0.0)), records, claims);
  }
  const MeanTokenPair adam = plan.mean_token_pair("adam"), muon = plan.mean_token_pair("muon");
  const Statement gain = beyond(place(
      "gain", "Without the mean token, Muon gains less over Adam in the final held-out loss"));
  if (!claims.applies(gain, adam && muon ? "" : "needs runs of Adam and of Muon")) return;
  const auto gain_of = [&](const Run& of_adam, const Run& of_muon) {
    return differences(losses_of(of_adam, records), losses_of(of_muon, records));
  };
  const auto kept = gain_of(*adam.kept, *muon.kept),
             removed = gain_of(*adam.removed, *muon.removed);
  const auto runs =
      claims.about(divergences({adam.kept, muon.kept, adam.removed, muon.removed}, records));
  claims.mean(gain, differences(removed, kept), compared(at_most(0.0)),
              "difference of the gains in nats; without the mean token " + mean_text(removed) +
                  ", with it " + mean_text(kept));
}

std::vector<std::string> of_blocks(const Run& run, std::string (*name)(const std::string&)) {
  std::vector<std::string> out;
  for (const std::string& block : hidden_blocks(run)) out.push_back("*." + name(block));
  return out;
}

}  // namespace

double mean_log(const RunRecords& view, const TrialRecord& record,
                const std::vector<std::string>& names) {
  double sum = 0, count = 0;
  view.for_each(record, names, late, [&](double value) {
    if (value > 0) sum += std::log(value), count += 1;
  });
  return sum / count;
}

double mean_log_advantage(const RunRecords& view, const TrialRecord& record, const char* what) {
  double sum = 0, count = 0;
  for (const double ratio : view.series(record, what)) {
    if (std::isfinite(ratio) && ratio > 0) sum += std::log(ratio), count += 1;
  }
  return sum / count;
}

std::vector<std::string> input_ranks() {
  return {"*.A.stable_rank", "*.Am.stable_rank"};
}

std::vector<std::string> gradient_ranks(const Run& run) {
  return of_blocks(run, nuclear_rank_of);
}

std::vector<std::string> rank_ratios(const Run& run) {
  return of_blocks(run, ratio_of);
}

void judge_mean_token(const Plan& plan, const Records& records, Claims& claims) {
  const Place place{"spectral/eq-1.8", "spectral/eq-1.8/mean-token/",
                    "Section 1.2.1, with [Shallow] eq. (21)"};
  bool any = false;
  for (const std::string optimizer : {"adam", "muon"}) {
    const MeanTokenPair pair = plan.mean_token_pair(optimizer);
    if (!pair) continue;
    any = true;
    const Place of_optimizer{place.statement_id, place.prefix + optimizer + "/", place.source};
    judge_ranks(of_optimizer, pair, records, claims);
    if (!one_step_points(*pair.kept, false).empty() &&
        !one_step_points(*pair.removed, false).empty())
      judge_single_steps(of_optimizer, pair, records, claims);
  }
  if (any) judge_losses(place, plan, records, claims);
}

}  // namespace ranklab::gpt
