#include <algorithm>
#include <limits>
#include <optional>

#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {

std::vector<Divergence> divergences(const std::vector<const Run*>& runs, const Records& records) {
  std::vector<Divergence> out;
  for (const Run* run : runs) {
    if (run) out.push_back(divergence_of(records, run->label, run->name + "." + diverged));
  }
  return out;
}

std::vector<double> losses_of(const Run& run, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    const double loss = record.scalar(run.name + "." + final_validation_loss);
    return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
  });
}

std::string losses_text(const Run& run, const Records& records) {
  return run.label + " " + mean_text(losses_of(run, records));
}

void judge_pair(const Statement& statement, const Run* first, const Run* second,
                const std::string& missing, Region allowed, const Records& records,
                Claims& claims) {
  if (!claims.applies(statement, first && second ? "" : missing)) return;
  const auto runs = claims.about(divergences({first, second}, records));
  claims.mean(statement, differences(losses_of(*first, records), losses_of(*second, records)),
              allowed,
              "difference of the final validation losses in nats; " + losses_text(*first, records) +
                  ", " + losses_text(*second, records));
}

namespace {

// Nats. "Changes little" is judged as a change by less than this.
constexpr double slight = 0.05;

/// The changes of a run, without the learning rates of the optimizers, since each may be tuned.
Changes without_learning_rates(const Run& run) {
  return changes_without(run, [](const std::string& key) {
    return key == "lr-adam" || key == "lr-muon" || key == "lr-polar" || key == "lr-sgd";
  });
}

void judge_optimizers(const Plan& plan, const Records& records, Claims& claims) {
  const Place one = in_text("spectral/section-1/muon", "spectral/section-1/", "Section 1");
  judge_pair(one("muon", "The final validation loss of Muon is at most that of Adam"),
             plan.find("muon"), plan.find("adam"), "needs --optimizer adam,muon",
             compared(at_most(0.0)), records, claims);
  for (const Run& muon : plan.runs) {
    const Changes changes = without_learning_rates(muon);
    if (muon.optimizer != "muon" || changes.size() != 1) continue;
    const auto adam = std::find_if(plan.runs.begin(), plan.runs.end(), [&](const Run& run) {
      return run.optimizer == "adam" && without_learning_rates(run) == changes;
    });
    if (adam == plan.runs.end()) continue;
    const std::string what = changes.front().first + "=" + changes.front().second;
    judge_pair(one(what + "/muon",
                   "The final validation loss of Muon is at most that of Adam (" + what + ")"),
               &muon, &*adam, "", compared(at_most(0.0)), records, claims);
  }
  const Run* const with_embedding = plan.find("muon", {{"spectral-on", "hidden+embedding"}});
  const Statement small_change = reading(
      in_text("spectral/section-1.2.1/emb-muon", "spectral/section-1.2.1/", "Section 1.2.1")(
          "emb-muon",
          "Muon on the embedding in addition to the matrices inside the layers changes the "
          "final validation loss by less than 0.05 nats"),
      say("{} nats", slight));
  const Run* const inside = plan.find("muon");
  if (!claims.applies(small_change,
                      with_embedding && inside
                          ? ""
                          : "needs --optimizer muon --also muon,spectral-on=hidden+embedding"))
    return;
  const auto runs = claims.about(divergences({with_embedding, inside}, records));
  claims.equivalent(
      small_change, differences(losses_of(*with_embedding, records), losses_of(*inside, records)),
      slight,
      "difference of the final validation losses in nats; " +
          losses_text(*with_embedding, records) + ", " + losses_text(*inside, records));
}

void judge_initial(const Plan& plan, const Records& records, Claims& claims) {
  const Statement statement =
      asymptotic(Statement{"spectral/cor-2.15", "spectral/cor-2.15/init", "Corollary 2.15",
                           "With Gaussian weights and ReLU, the stable ranks of the "
                           "post-activations are at most 2 pi before the first step"},
                 "before the first step, every layer; the C of d >= C L^2 log n is left open by "
                 "the paper");
  Tally tally;
  for (const Run& run : plan.runs) {
    if (run.config.init != "gauss" || run.config.activation != "relu") continue;
    for (const TrialRecord& record : records) {
      for (std::size_t l = 0; l < run.config.layers; ++l) {
        const double st = record.array(run.name + "." + stable_rank_of(in_layer(l, "S"))).front();
        if (run.measured.front() == 0 && std::isfinite(st))
          tally.count(!(st <= 2 * std::acos(-1.0)), st);
      }
    }
  }
  if (!claims.applies(
          statement,
          tally.cases > 0
              ? ""
              : "needs --init gauss --activation relu, or --also adam,activation=relu,init=gauss"))
    return;
  claims.never_violated(statement, tally, say("largest stable rank {}", tally.largest),
                        WorstCase::largest);
}

/// Exponents of the width for the mean nuclear rank of the gradients inside the layers and for the
/// mean stable rank of A, Am and S. The runs are those of the first optimizer at different widths,
/// at the last step that all of them measure before their learning rates decay.
void judge_width(const Plan& plan, const Records& records, Claims& claims) {
  std::vector<const Run*> runs = {&plan.runs.front()};
  for (const Run& run : plan.runs) {
    const bool has_own_dim = std::any_of(run.changes.begin(), run.changes.end(),
                                         [](const auto& change) { return change.first == "dim"; });
    if (run.optimizer == plan.runs.front().optimizer && has_own_dim) runs.push_back(&run);
  }
  std::optional<double> step;
  for (const double t : runs.front()->measured) {
    if (std::all_of(runs.begin(), runs.end(), [&](const Run* run) {
          return std::count(run->measured.begin(), run->measured.end(), t) > 0 &&
                 t <= decay_start * static_cast<double>(run->config.steps);
        }))
      step = t;
  }
  std::vector<double> widths;
  for (const Run* run : runs) widths.push_back(static_cast<double>(run->config.dim));
  const auto mean_at = [&](const TrialRecord& record, const Run& run,
                           const std::vector<std::string>& names) {
    const RunRecords view(run, records);
    const auto i = static_cast<std::size_t>(
        std::find(run.measured.begin(), run.measured.end(), *step) - run.measured.begin());
    double sum = 0, count = 0;
    for (std::size_t l = 0; l < view.layers(); ++l) {
      for (const std::string& name : names)
        sum += view.series(record, in_layer(l, name))[i], count += 1;
    }
    return sum / count;
  };
  const Place place =
      in_text("spectral/section-1.2.1/width", "spectral/section-1.2.1/", "Section 1.2.1");
  const std::string slack = "an exponent of 0.25 of the width";
  const Statement grows = asymptotic(place("nr/width",
                                           "The nuclear ranks of the gradients inside the layers "
                                           "grow at least as fast as the fourth root of the width"),
                                     slack),
                  stays = asymptotic(place("st/width",
                                           "The stable ranks of the activations grow at most as "
                                           "fast as the fourth root of the width"),
                                     slack);
  const std::string missing =
      runs.size() >= 3 && step
          ? ""
          : "needs runs at two other widths, for example --also adam,dim=32 --also adam,dim=128";
  const struct {
    const Statement& statement;
    std::vector<std::string> names;
    Region allowed;
  } both[] = {{grows,
               {"Wq.nuclear_rank", "Wk.nuclear_rank", "Wv.nuclear_rank", "Wo.nuclear_rank",
                "W1.nuclear_rank", "W2.nuclear_rank"},
               at_least(0.25)},
              {stays, {"A.stable_rank", "Am.stable_rank", "S.stable_rank"}, at_most(0.25)}};
  for (const auto& each : both) {
    if (!claims.applies(each.statement, missing)) continue;
    const auto compared_runs = claims.about(divergences(runs, records), true);
    const auto value = [&](const TrialRecord& record, std::size_t i) {
      return mean_at(record, *runs[i], each.names);
    };
    // A fit without the width at which a run diverged would be about other runs.
    const auto slopes = [&] {
      std::vector<double> out = slopes_over(records, widths, value, fit_power);
      for (std::size_t t = 0; t < out.size(); ++t) {
        for (std::size_t i = 0; i < runs.size(); ++i)
          if (std::isnan(value(records[t], i))) out[t] = undefined;
      }
      return out;
    };
    std::string means;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto of_run =
          per_trial(records, [&](const TrialRecord& record) { return value(record, i); });
      means += say("{}d = {}: {}", i == 0 ? "" : ", ", widths[i], mean_text(of_run));
    }
    claims.mean(each.statement, slopes(), each.allowed,
                say("exponent of the width at step {}; mean ranks by width: {}", *step, means));
  }
}

// Gated activations -------------------------------------------------------------------------------

/// Two runs of one optimizer that differ only in the gate of the activation: without and with it.
/// Null pointers if no such pair exists.
std::pair<const Run*, const Run*> gated_pair(const Plan& plan) {
  for (const Run& run : plan.runs) {
    if (run.changes == Changes{{"activation", "swiglu"}} && plan.find(run.optimizer) &&
        plan.config.activation != "swiglu") {
      return {plan.find(run.optimizer), &run};
    }
  }
  return {nullptr, nullptr};
}

void judge_gate(const Plan& plan, const Records& records, Claims& claims) {
  const std::pair<const Run*, const Run*> pair = gated_pair(plan);
  const Run *const plain = pair.first, *const gated = pair.second;
  const Place place =
      in_text("spectral/section-1.2.2/gated", "spectral/section-1.2.2/", "Section 1.2.2");
  for (const bool trained : {false, true}) {
    for (const bool of_rank : {true, false}) {
      const std::string when = trained ? "after training" : "at the first measured step";
      const Statement statement = place(
          std::string(of_rank ? "" : "mean-") + (trained ? "trained" : "init") + "/gated",
          of_rank ? "A gate raises the stable rank of the post-activations " + when
                  : "A gate lowers the share of the squared norm of the post-activations that lies "
                    "in their mean over tokens " +
                        when);
      if (!claims.applies(statement, gated ? ""
                                           : "needs a run with activation=swiglu, for example "
                                             "--also adam,activation=swiglu"))
        continue;
      const std::string name = of_rank ? ".stable_rank" : ".mean_share";
      const auto mean_of = [&](const Run& run, const TrialRecord& record) {
        double sum = 0;
        for (std::size_t l = 0; l < run.config.layers; ++l) {
          const std::vector<double>& values =
              record.array(run.name + "." + in_layer(l, "S") + name);
          sum += trained ? values.back() : values.front();
        }
        return sum / static_cast<double>(run.config.layers);
      };
      const auto of_plain = per_trial(
                     records, [&](const TrialRecord&record) { return mean_of(*plain, record); }),
                 of_gated = per_trial(
                     records, [&](const TrialRecord&record) { return mean_of(*gated, record); });
      const auto runs = claims.about(divergences({plain, gated}, records), true);
      claims.mean(statement, differences(of_gated, of_plain),
                  compared(of_rank ? at_least(0.0) : at_most(0.0)),
                  "difference of the means over layers; with a gate " + mean_text(of_gated) +
                      ", without " + mean_text(of_plain));
    }
  }
}

Share share_of_gain(const Plan& plan, const Records& records, Changes changes) {
  const Run *const adam = plan.find("adam", changes), *const muon = plan.find("muon", changes);
  changes.emplace_back("spectral-on", "W2");
  const Run* const on_W2 = plan.find("muon", changes);
  if (!adam || !muon || !on_W2)
    return {{},
            {},
            "",
            "needs runs of Adam, Muon and Muon on W2 alone, as in the preset spectral-table2"};
  const auto gain = differences(losses_of(*adam, records), losses_of(*muon, records)),
             part = differences(losses_of(*adam, records), losses_of(*on_W2, records));
  Share out{{adam, muon, on_W2},
            {},
            losses_text(*adam, records) + ", " + losses_text(*muon, records) + ", " +
                losses_text(*on_W2, records),
            ""};
  const Summary summary = summarize(gain);
  if (summary.n == gain.size() && !(summary.mean > confidence_half_width(summary)))
    out.missing = say("Muon's gain is not above 0 with {} % confidence; {}", 100 * confidence_level,
                      out.detail);
  // No ratio of sums if a run diverged.
  if (!std::isfinite(sum_of(gain)) || !std::isfinite(sum_of(part))) {
    out.per_trial.assign(gain.size(), undefined);
    return out;
  }
  const double n = static_cast<double>(gain.size()), whole = sum_of(part) / sum_of(gain);
  for (std::size_t i = 0; i < gain.size(); ++i) {
    const double without = (sum_of(part) - part[i]) / (sum_of(gain) - gain[i]);
    out.per_trial.push_back(n * whole - (n - 1) * without);
  }
  return out;
}

void judge_table_2(const Plan& plan, const Records& records, Claims& claims) {
  const auto [plain, gated] = table_2(plan, records);
  const Place place = in_figure("spectral/table-2", "spectral/table-2/", "Table 2", {"Table 2"});
  const double about = 0.15;
  const std::string threshold = "15 percentage points";
  const struct {
    Statement statement;
    const Share& share;
    double printed;
  } both[] = {
      {reading(place("table2", "Muon on W2 alone achieves about 62 % of Muon's gain over Adam"),
               threshold),
       plain, printed_plain},
      {reading(place("gated/table2",
                     "With a gated activation, Muon on W2 alone achieves about 27 % of "
                     "Muon's gain over Adam"),
               threshold),
       gated, printed_gated}};
  for (const auto& [statement, share, printed] : both) {
    const auto runs = claims.about(divergences(share.runs, records), true);
    if (claims.applies(statement, share.missing))
      claims.mean(statement, share.per_trial, within(printed, about), share.detail);
  }
  const Statement order = in_text(place.statement_id, place.prefix, place.source, place.figures)(
      "order/table2",
      "A gated activation lowers the share of Muon's gain over Adam that Muon on W2 alone "
      "achieves");
  if (claims.applies(order, plain.missing.empty() ? gated.missing : plain.missing)) {
    std::vector<const Run*> both_runs = plain.runs;
    both_runs.insert(both_runs.end(), gated.runs.begin(), gated.runs.end());
    const auto runs = claims.about(divergences(both_runs, records), true);
    claims.mean(order, differences(gated.per_trial, plain.per_trial), compared(at_most(0.0)),
                "difference of the shares, with a gate minus without");
  }
}

}  // namespace

Table2 table_2(const Plan& plan, const Records& records) {
  return {share_of_gain(plan, records, {}),
          share_of_gain(plan, records, {{"activation", "swiglu"}})};
}

void judge_comparisons(const Plan& plan, const Records& records, Claims& claims) {
  judge_initial(plan, records, claims);
  judge_width(plan, records, claims);
  judge_optimizers(plan, records, claims);
  judge_gate(plan, records, claims);
  judge_table_2(plan, records, claims);
  judge_advice(plan, records, claims);
  judge_mean_token(plan, records, claims);
}

}  // namespace ranklab::gpt
