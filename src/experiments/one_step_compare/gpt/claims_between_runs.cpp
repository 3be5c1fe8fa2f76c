// Claims that compare runs: initialization, widths, optimizers, gates, Table 2, groups
// of matrices, scales, mean token.
#include <limits>
#include <numeric>
#include <set>

#include "experiments/one_step_compare/gpt/claims.hpp"

namespace ranklab::gpt {

namespace {

std::string losses_text(const RunPair& pair, const Trained& all) {
  return say("difference of the final validation losses in nats; {}, {}",
             all.losses_text(*pair.first), all.losses_text(*pair.second));
}

/// Judges the final validation loss of the first run minus that of the second, trial by trial, at
/// most 0. If a run is null, the claim does not apply, because of `missing`.
void judge_pair(const Statement& statement, const RunPair& pair, const std::string& missing,
                const Trained& all, Claims& claims, double most = 0) {
  if (!claims.applies(statement, pair ? "" : missing)) return;
  const auto runs = claims.about(all.divergences({pair.first, pair.second}));
  claims.mean(statement, all.loss_differences(pair), compared(at_most(most)),
              losses_text(pair, all));
}

// Optimizers --------------------------------------------------------------------------------------

// Nats. "Changes little" is judged as a change by less than this.
constexpr double slight = 0.05;

/// What a run changes in the config, but for the learning rates of the matrices inside layers.
std::vector<grid::Setting> changes_but_for_rates(const Plan& plan, const Run& run) {
  std::vector<grid::Setting> out = run.changes_from(plan.runs.front());
  std::erase_if(out, [](const auto& setting) { return contains(inner_rates, setting.axis); });
  return out;
}

// That Muon matches Adam is cited from others, about large models.
void judge_optimizers(const Trained& all, Claims& claims) {
  const Place one = beyond(in_text(spectral::section_1_muon, "spectral/section-1/", "Section 1"));
  judge_pair(one("muon", "The final validation loss of Muon is at most that of Adam"),
             {all.plan.main_run("muon"), all.plan.main_run("adam")}, "needs --optimizer adam,muon",
             all, claims);
  for (const Run& muon : all.plan.runs) {
    const std::vector<grid::Setting> changes = changes_but_for_rates(all.plan, muon);
    if (muon.optimizer != "muon" || changes.size() != 1) continue;
    const Run* const adam = all.plan.first_where([&](const Run& run) {
      return run.optimizer == "adam" && changes_but_for_rates(all.plan, run) == changes;
    });
    if (!adam) continue;
    const std::string& what = changes.front().name;
    judge_pair(one(what + "/muon",
                   say("The final validation loss of Muon is at most that of Adam ({})", what)),
               {&muon, adam}, "", all, claims);
  }
  const Run* const main = all.plan.main_run("muon");
  const RunPair with_embedding = {
      all.plan.find("muon", on_matrices({"hidden", "embedding"})),
      main && main == all.plan.find("muon", on_matrices({"hidden"})) ? main : nullptr};
  const Statement small_change =
      reading(in_text(spectral::section_1_2_1_emb_muon, "spectral/section-1.2.1/", "Section 1.2.1")(
                  "emb-muon",
                  "Change of the final validation loss, in nats, if Muon updates the embedding in "
                  "addition to the matrices inside the layers: less than 0.05"),
              say("{} nats, ours; the paper says \"slightly\"", slight));
  if (!claims.applies(
          small_change,
          with_embedding ? "" : "needs --optimizer muon --also muon,spectral-on=hidden+embedding"))
    return;
  const auto runs = claims.about(all.divergences({with_embedding.first, with_embedding.second}));
  claims.equivalent(small_change, all.loss_differences(with_embedding), slight,
                    losses_text(with_embedding, all));
}

// Ranks at initialization and at several widths ---------------------------------------------------

void judge_initial(const Trained& all, Claims& claims) {
  const Statement statement =
      asymptotic(Statement{spectral::cor_2_15, "spectral/cor-2.15/init", "Corollary 2.15",
                           "With Gaussian weights and ReLU, the stable ranks of the "
                           "post-activations are at most 2 pi before the first step"},
                 "before the first step, every layer; the C of d >= C L^2 log n is left open by "
                 "the paper");
  Tally tally;
  for (const Run& run : all.plan.runs) {
    if (run.config.init != "gauss" || run.config.activation != "relu") continue;
    const RunRecords view(run, all.records);
    tally.add(view.count(
        view.in_layers(stable_rank, {"S"}), [](double st) { return st <= 2 * std::acos(-1.0); },
        at_most(0.0)));
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

/// The runs of the first optimizer at different widths, at the last step that all of them measure
/// before their learning rates decay.
struct Widths {
  std::vector<const Run*> runs;
  std::vector<double> widths;
  std::optional<double> step;
};

Widths widths_of(const Plan& plan) {
  Widths out;
  for (const Run& run : plan.runs) {
    const bool differs_in_dim = run.config.dim != plan.config().dim;
    if (run.is_first() || (run.optimizer == plan.runs.front().optimizer && differs_in_dim)) {
      out.runs.push_back(&run);
      out.widths.push_back(static_cast<double>(run.config.dim));
    }
  }
  for (const double t : out.runs.front()->measured) {
    if (std::all_of(out.runs.begin(), out.runs.end(), [&](const Run* run) {
          return contains(run->measured, t) &&
                 t <= decay_start * static_cast<double>(run->config.steps);
        }))
      out.step = t;
  }
  return out;
}

/// Exponents of the width for the mean nuclear rank of the gradients inside the layers and for the
/// mean stable rank of A, Am and S.
void judge_width(const Trained& all, Claims& claims) {
  const Widths compared_widths = widths_of(all.plan);
  const std::vector<const Run*>& runs = compared_widths.runs;
  const std::vector<double>& widths = compared_widths.widths;
  const std::optional<double> step = compared_widths.step;
  const std::string missing =
      runs.size() >= 3 && step
          ? ""
          : "needs runs at two other widths, for example --also adam,dim=32 --also adam,dim=128";
  const Place place =
      in_text(spectral::section_1_2_1_width, "spectral/section-1.2.1/", "Section 1.2.1");
  const struct {
    const char *id, *text;
    MatrixMeasure quantity;
    std::vector<std::string> of;
    Region allowed;
  } both[] = {{"nr/width",
               "Exponent of the width in the mean nuclear rank of the gradients inside the layers: "
               "at least 1/4",
               gradient_rank,
               {"Wq", "Wk", "Wv", "Wo", "W1", "W2"},
               at_least(0.25)},
              {"st/width",
               "Exponent of the width in the mean stable rank of the activations: at most 1/4",
               stable_rank,
               {"A", "Am", "S"},
               at_most(0.25)}};
  for (const auto& each : both) {
    const Statement statement = asymptotic(place(each.id, each.text), "an exponent of 1/4, ours");
    if (!claims.applies(statement, missing)) continue;
    const auto compared_runs = claims.about(all.divergences(runs), true);
    std::vector<std::vector<double>> ranks;  // of each run, in every trial
    std::vector<std::string> means;
    for (const Run* run : runs) {
      const RunRecords view(*run, all.records);
      const std::size_t i = view.steps({*step, *step}).front();
      ranks.push_back(per_trial(all.records, [&](const TrialRecord& record) {
        return view.mean_at(record, view.in_layers(each.quantity, each.of), i);
      }));
      means.push_back(
          say("d = {}: {}", static_cast<double>(run->config.dim), summarize(ranks.back()).mean));
    }
    const auto rank_of = [&](std::size_t t, std::size_t i) { return ranks[i][t]; };
    std::vector<double> slopes = slopes_over(
        all.records, widths,
        [&](const TrialRecord& record, std::size_t i) {
          return rank_of(static_cast<std::size_t>(&record - all.records.data()), i);
        },
        fit_power);
    // A fit without the width at which a run diverged would be about other runs.
    for (std::size_t t = 0; t < slopes.size(); ++t) {
      for (std::size_t i = 0; i < runs.size(); ++i)
        if (std::isnan(rank_of(t, i))) slopes[t] = undefined;
    }
    claims.mean(
        statement, slopes, each.allowed,
        say("exponent of the width at step {}; mean ranks by width: {}", *step, joined(means)));
  }
}

// Gated activations -------------------------------------------------------------------------------

void judge_gate(const Trained& all, Claims& claims) {
  const std::vector<RunPair> pairs = all.plan.gated_pairs();
  const RunPair pair = pairs.empty() ? RunPair{} : pairs.front();
  const Place place =
      in_text(spectral::section_1_2_2_gated, "spectral/section-1.2.2/", "Section 1.2.2");
  const struct {
    const char* id;
    MatrixMeasure quantity;
    Region allowed;
    bool after_training;
    const char* text;
  } cases[] = {
      {"init/gated", stable_rank, at_least(0.0), false,
       "Stable rank of the post-activations at the first measured step, with a gate minus without: "
       "at least 0"},
      {"mean-init/gated", mean_share, at_most(0.0), false,
       "Share of the squared norm of the post-activations that lies in their mean over tokens, at "
       "the first measured step, with a gate minus without: at most 0"},
      {"trained/gated", stable_rank, at_least(0.0), true,
       "Stable rank of the post-activations after training, with a gate minus without: at least "
       "0"},
      {"mean-trained/gated", mean_share, at_most(0.0), true,
       "Share of the squared norm of the post-activations that lies in their mean over tokens, "
       "after training, with a gate minus without: at most 0"}};
  for (const auto& each : cases) {
    const Statement statement = place(each.id, each.text);
    if (!claims.applies(statement, pair ? ""
                                        : "needs a run with activation=swiglu, for example "
                                          "--also adam,activation=swiglu"))
      continue;
    const auto means_of = [&](const Run& run) {
      const RunRecords view(run, all.records);
      const std::size_t i = each.after_training ? run.measured.size() - 1 : 0;
      return per_trial(all.records, [&](const TrialRecord& record) {
        return view.mean_at(record, view.in_layers(each.quantity, {"S"}), i);
      });
    };
    const std::vector<double> plain = means_of(*pair.first), gated = means_of(*pair.second);
    const auto runs = claims.about(all.divergences({pair.first, pair.second}), true);
    claims.mean(statement, differences(gated, plain), compared(each.allowed),
                say("difference of the means over layers; with a gate {}, without {}",
                    summarize(gated).mean, summarize(plain).mean));
  }
}

// Table 2 -----------------------------------------------------------------------------------------

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Share share_of_gain(const Trained& all, bool gated, double printed) {
  const auto run_on = [&](const char* optimizer, const char* matrices) -> const Run* {
    if (!gated && all.plan.config().is_gated()) return nullptr;
    return all.plan.find(optimizer, [&](Config& config) {
      if (gated) with_gate(config);
      config.spectral_on = {matrices};
    });
  };
  Share out{run_on("adam", "hidden"), run_on("muon", "W2"), run_on("muon", "hidden"), printed};
  if (!out.has_runs()) {
    out.missing = "needs runs of Adam, Muon and Muon on W2 alone, as in the preset spectral-table2";
    return out;
  }
  const auto gain = all.loss_differences({out.adam, out.muon}),
             part = all.loss_differences({out.adam, out.on_W2});
  std::vector<std::string> losses;
  for (const Run* run : out.runs()) losses.push_back(all.losses_text(*run));
  out.detail = joined(losses);
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

void judge_table_2(const Trained& all, Claims& claims) {
  const auto [plain, gated] = table_2(all);
  // The table is quoted from another paper, about a larger model.
  const Place place = beyond(in_figure(spectral::table_2, "/", "Table 2"));
  const auto judge_share = [&](const Statement& statement, const Share& share) {
    if (!claims.applies(statement, share.missing)) return;
    const auto runs = claims.about(all.divergences(share.runs()), true);
    claims.mean(statement, share.per_trial, within(share.printed, 0.15), share.detail);
  };
  judge_share(place("table2",
                    "Share of Muon's gain over Adam that Muon on W2 alone achieves: within 15 "
                    "percentage points of 62 %"),
              plain);
  judge_share(place("gated/table2",
                    "With a gated activation, the share of Muon's gain over Adam that Muon on W2 "
                    "alone achieves: within 15 percentage points of 27 %"),
              gated);
}

}  // namespace

Table2 table_2(const Trained& all) {
  return {share_of_gain(all, false, 0.62), share_of_gain(all, true, 0.27)};
}

// Which matrices, which scale? --------------------------------------------------------------------
// Final losses of runs that put Muon on some of the matrices, or give its step another size. Each
// run has its own learning rates, so that each can be tuned. Source of the statements about groups
// of matrices and about rare facts: arXiv:2509.26030, "Muon outperforms Adam in tail-end
// associative memory learning", called [Tail] in the claims.

namespace {

using Matrices = std::vector<std::string>;  // in the order of matrix_words
const Matrices attention_scores = {"Wq", "Wk"}, attention_values = {"Wv", "Wo"},
               nets = {"W1", "W2"}, values_and_nets = {"Wv", "Wo", "W1", "W2"};

/// The first run of the main model that puts this optimizer on these matrices.
const Run* run_on(const Plan& plan, const std::string& optimizer, const Matrices& matrices) {
  return plan.first_where([&](const Run& run) {
    return run.optimizer == optimizer && run.same_workload(plan.runs.front()) &&
           run.config.spectral_on == matrices;
  });
}

/// Judges that the loss called `number` of a run is at most the mean of those of others.
void judge_below_mean(const Statement& statement, const Measure& number, const Run* run,
                      const std::vector<const Run*>& others, const Trained& all, Claims& claims) {
  std::vector<const Run*> runs = others;
  runs.push_back(run);
  if (!claims.applies(statement, contains(runs, nullptr) ? "needs the runs of muon-blocks" : ""))
    return;
  const auto about = claims.about(all.divergences(runs));
  std::vector<double> above = all.losses(*run, number);
  std::vector<std::string> means = {all.losses_text(*run, number)};
  for (const Run* other : others) {
    const std::vector<double> loss = all.losses(*other, number);
    means.push_back(all.losses_text(*other, number));
    for (std::size_t i = 0; i < above.size(); ++i)
      above[i] -= loss[i] / static_cast<double>(others.size());
  }
  claims.mean(statement, above, compared(at_most(0.0)),
              say("difference of the losses in nats; {}", joined(means)));
}

}  // namespace

void judge_blocks(const Trained& all, Claims& claims) {
  const Plan& plan = all.plan;
  const Run *const adam = run_on(plan, "adam", {"hidden"}),
                   *const hidden = run_on(plan, "muon", {"hidden"}),
                   *const scores = run_on(plan, "muon", attention_scores),
                   *const values = run_on(plan, "muon", attention_values),
                   *const net = run_on(plan, "muon", nets),
                   *const both = run_on(plan, "muon", values_and_nets),
                   *const criterion = run_on(plan, "muon", {criterion_word});
  if (!both && !criterion) return;
  const std::string text = plan.config().has_facts() ? "facts/" : "";
  const Place tail{spectral::eq_1_8, "/" + text + "blocks/",
                   "arXiv:2509.26030, with Section 1.2.1"},
      rule{spectral::eq_1_8, "/" + text + "criterion/", "Section 1.2.1, eq. (1.8)"};
  const struct {
    const Place& place;
    const char *id, *text;
    const Run* run;
    std::vector<const Run*> others;
    const Measure& number = final_validation_loss;
  } cases[] = {
      {tail,
       "half",
       "[Tail]: Muon on Wv, Wo, W1 and W2 gives at least half of the gain over Adam "
       "of Muon on all matrices inside layers",
       both,
       {adam, hidden}},
      {tail,
       "values",
       "[Tail]: Muon on Wv and Wo gains more than Muon on Wq and Wk",
       values,
       {scores}},
      {tail, "nets", "[Tail]: Muon on W1 and W2 gains more than Muon on Wq and Wk", net, {scores}},
      {tail,
       "hidden",
       "Muon on all matrices inside layers ends at a held-out loss of at most "
       "Adam's",
       hidden,
       {adam}},
      {tail,
       "embedding",
       "Muon on the embedding too ends at a held-out loss of at most that of "
       "Muon on all matrices inside layers",
       run_on(plan, "muon", {"hidden", "embedding"}),
       {hidden}},
      {rule,
       "adam",
       "Muon on the matrices that meet (1.8) at steps 4 to 32 ends at a held-out loss "
       "of at most Adam's",
       criterion,
       {adam}},
      {rule,
       "reverse",
       "Muon on the matrices that meet (1.8) at steps 4 to 32 ends at a held-out "
       "loss of at most that of Muon on the others",
       criterion,
       {run_on(plan, "muon", {against_criterion_word})}},
      {tail,
       "rare",
       "[Tail]: Muon on all matrices inside layers ends at a loss of rare facts of at "
       "most Adam's",
       hidden,
       {adam},
       rare_loss},
      {tail,
       "rare-half",
       "[Tail]: Muon on Wv, Wo, W1 and W2 gives at least half of the gain over "
       "Adam in the loss of rare facts",
       both,
       {adam, hidden},
       rare_loss}};
  for (const auto& each : cases) {
    if (&each.number != &final_validation_loss && text.empty()) continue;
    judge_below_mean(beyond(each.place(each.id, each.text)), each.number, each.run, each.others,
                     all, claims);
  }
}

void judge_scales(const Trained& all, Claims& claims) {
  const Place place{spectral::section_1_muon, "spectral/section-1/scale/", "Section 1"};
  const auto has_scale = [](const Run& run, const std::string& scale, std::uint64_t dim) {
    return run.optimizer == "muon" && run.config.muon_scale == scale && run.config.dim == dim;
  };
  constexpr double carried = 0.02;  // nats
  const std::uint64_t dim = all.plan.config().dim;
  const Run* const original =
      all.plan.first_where([&](const Run& run) { return has_scale(run, "original", dim); });
  if (!original ||
      !all.plan.first_where([](const Run& run) { return run.config.muon_scale != "original"; }))
    return;
  for (const char* scale : {"original", "match-rms", "spectral", "none", measured_scale}) {
    const Run* const run =
        all.plan.first_where([&](const Run& each) { return has_scale(each, scale, dim); });
    if (!run) continue;
    if (run != original) {
      judge_pair(beyond(place(scale, say("With --muon-scale {}, the final held-out loss of Muon is "
                                         "at most that with max(1, m/n)^0.5",
                                         scale))),
                 {run, original}, "", all, claims);
    }
    // At twice the width: the rate of this width, against the best of the other rates.
    RunPair wide;
    double best = std::numeric_limits<double>::infinity();
    for (const Run& each : all.plan.runs) {
      if (!has_scale(each, scale, 2 * dim)) continue;
      if (each.rate() == run->rate()) {
        wide.first = &each;
        continue;
      }
      const double loss = summarize(all.losses(each)).mean;
      if (loss < best) best = loss, wide.second = &each;
    }
    const Statement carries = beyond(
        place(say("{}/carries", scale),
              say("With --muon-scale {}, Muon's rate of width {} ends at width {} less than {} "
                  "nats above the best other rate of the run",
                  scale, dim, 2 * dim, carried)));
    judge_pair(carries, wide, "needs runs at twice the width, with this rate and another", all,
               claims, carried);
  }
}

// With and without the mean token -----------------------------------------------------------------
// If stable ranks are low because tokens share a mean ([Shallow]), then taking the mean token out
// must raise st(A) and change what a spectral step gains ([Spectral]). Runs with and without the
// mean over earlier tokens in the inputs of attention and net.

std::vector<MeanTokenEffect> mean_token_effects() {
  const char *const ranks = "layers and measured steps from 32 on",
                    *const single_steps = "matrices and steps from 32 on";
  return {
      {"st", "st of A^rms, A^rms_mlp",
       "the stable ranks of the inputs of attention and net are higher", at_least(0.0), ranks,
       false,
       [](const RunRecords& view, const TrialRecord& record) {
         return mean_log(view.points(record, view.in_layers(stable_rank, {"A", "Am"}), late.steps));
       }},
      {"nr", "nr(G)", "the nuclear ranks of the gradients inside layers are higher", at_least(0.0),
       ranks, false,
       [](const RunRecords& view, const TrialRecord& record) {
         return mean_log(
             view.points(record, view.in_layers(gradient_rank, view.run().blocks()), late.steps));
       }},
      {"ratio", "nr/st", "nr/st of the matrices inside layers is lower", at_most(0.0), ranks, false,
       [](const RunRecords& view, const TrialRecord& record) {
         return mean_log(
             view.points(record, view.in_layers(rank_ratio, view.run().blocks()), late.steps));
       }},
      {"one-step", "polar(G) over G, same batch",
       "the best step along polar(G) gains less over the best step along G on the batch that "
       "gave the gradient",
       at_most(0.0), single_steps, true,
       [](const RunRecords& view, const TrialRecord& record) {
         return mean_log(view.series(record, batch_ratio));
       }},
      {"independent/one-step", "polar(G) over G, other batch",
       "the best step along polar(G) gains less over the best step along G on an independent "
       "batch",
       at_most(0.0), single_steps, true, [](const RunRecords& view, const TrialRecord& record) {
         return mean_log(view.series(record, independent_ratio));
       }}};
}

namespace {

/// Judges the mean over trials of the logarithm without the mean token minus that with it.
void judge_effect(const MeanTokenEffect& effect, const Place& place, const RunPair& pair,
                  const Trained& all, Claims& claims) {
  const auto logs_of = [&](const Run& run) {
    const RunRecords view(run, all.records);
    return view.of_whole_runs(
        [&](const TrialRecord& record) { return effect.mean_log_of(view, record); });
  };
  const std::vector<double> changes = differences(logs_of(*pair.second), logs_of(*pair.first));
  const auto runs = claims.about(all.divergences({pair.second, pair.first}), true);
  claims.mean(beyond(place(effect.id, say("Without the mean token, {} ({})", effect.statement,
                                          pair.first->label))),
              changes, compared(effect.change),
              say("logarithm, mean over {}; a factor of {}", effect.over,
                  std::exp(summarize(changes).mean)));
}

void judge_losses(const Place& place, const Trained& all, Claims& claims) {
  const RunPair adam = all.plan.mean_token_pair("adam"), muon = all.plan.mean_token_pair("muon");
  for (const auto& [optimizer, pair] : {std::pair("adam", adam), {"muon", muon}}) {
    const char* const label = optimizer_named(optimizer).label;
    judge_pair(
        beyond(place(
            say("loss/{}", optimizer),
            say("Without the mean token, the final held-out loss is at most as high ({})", label))),
        {pair.second, pair.first}, say("needs runs of {}", label), all, claims);
  }
  const Statement gain = beyond(place(
      "gain", "Without the mean token, Muon gains less over Adam in the final held-out loss"));
  if (!claims.applies(gain, adam && muon ? "" : "needs runs of Adam and of Muon")) return;
  const auto kept = all.loss_differences({adam.first, muon.first}),
             removed = all.loss_differences({adam.second, muon.second});
  const auto runs =
      claims.about(all.divergences({adam.first, muon.first, adam.second, muon.second}));
  claims.mean(gain, differences(removed, kept), compared(at_most(0.0)),
              say("difference of the gains in nats; without the mean token {}, with it {}",
                  summarize(removed).mean, summarize(kept).mean));
}

}  // namespace

void judge_mean_token(const Trained& all, Claims& claims) {
  const Place place{spectral::eq_1_8, "/mean-token/", "Section 1.2.1, with [Shallow] eq. (21)"};
  bool any = false;
  for (const std::string optimizer : {"adam", "muon"}) {
    const RunPair pair = all.plan.mean_token_pair(optimizer);
    if (!pair) continue;
    any = true;
    const bool has_single_steps =
        !pair.first->one_steps(late).empty() && !pair.second->one_steps(late).empty();
    const Place of_optimizer{place.statement_id, place.prefix + optimizer + "/", place.source};
    for (const MeanTokenEffect& effect : mean_token_effects()) {
      if (has_single_steps || !effect.of_single_steps)
        judge_effect(effect, of_optimizer, pair, all, claims);
    }
  }
  if (any) judge_losses(place, all, claims);
}

void judge_comparisons(const Trained& all, Claims& claims) {
  judge_initial(all, claims);
  judge_width(all, claims);
  judge_optimizers(all, claims);
  judge_gate(all, claims);
  judge_table_2(all, claims);
  judge_blocks(all, claims);
  judge_scales(all, claims);
  judge_mean_token(all, claims);
}

}  // namespace ranklab::gpt
