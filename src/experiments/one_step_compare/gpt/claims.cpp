#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/statistics.hpp"
#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
// Three standard errors of the mean: with the few seeds that training affords, Student's quantile would decide nothing.
constexpr double margin = 3;

/// The records as one run sees them.
class View {
 public:
  View(const Run& run, const Records& records) : run_(run), records_(records) {}

  const Run& run() const { return run_; }
  const Records& records() const { return records_; }
  const std::vector<double>& series(const TrialRecord& record, const std::string& name) const {
    return record.array(run_.name + "." + name);
  }
  std::vector<double> scalars(const std::string& name) const { return scalars_of(records_, run_.name + "." + name); }
  std::size_t layers() const { return run_.config.layers; }
  double dim() const { return static_cast<double>(run_.config.dim); }

  /// visit(value, step) of every finite point of a series, in all trials.
  template <class Visit>
  void for_each(const TrialRecord& record, const std::string& name, const Visit& visit) const {
    const std::vector<double>& values = series(record, name);
    const std::vector<double>& steps = name.starts_with(probe) ? run_.probed : run_.measured;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) visit(values[i], steps[i]);
    }
  }

 private:
  const Run& run_;
  const Records& records_;
};

/// Statements about one run: of the paper's run the ids stand as they are, of others the run's name stands before the last word.
class Named {
 public:
  Named(const Plan& plan, const Run& run) : of_paper_(&run == &plan.of_paper()), run_(run) {}

  Statement operator()(const std::string& place, const std::string& source, const std::string& id, const std::string& text) const {
    return {"spectral/" + place + (of_paper_ ? "" : "/" + run_.name) + "/" + id, source, text + " (" + run_.label + ")"};
  }

 private:
  bool of_paper_;
  const Run& run_;
};

std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] - b[i]);
  return out;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::string mean_text(const std::vector<double>& values) {
  return short_number(summarise(values).mean);
}

// Activations ------------------------------------------------------------------------------------------------------------------

void judge_activations(const View& view, const Named& named, Claims& claims) {
  const double width = static_cast<double>(view.run().shape(1).hidden);
  Tally post, pre, normed;
  for (const TrialRecord& record : view.records()) {
    for (std::size_t l = 0; l < view.layers(); ++l) {
      view.for_each(record, stable_rank_of(in_layer(l, "S")), [&](double st, double) { post.count(!(st < 0.1 * width), st); });
      view.for_each(record, stable_rank_of(in_layer(l, "Z")), [&](double st, double) { pre.count(false, st); });
      for (const char* name : {"A", "Am"}) {
        view.for_each(record, stable_rank_of(in_layer(l, name)),
                      [&](double st, double) { normed.count(!(st < view.dim() / 4), st); });
      }
    }
    view.for_each(record, stable_rank_of("Af"), [&](double st, double) { normed.count(!(st < view.dim() / 4), st); });
  }
  claims.never_violated(
      named("fig-2", "Figure 2", "s-low", "stable ranks of the MLP's post-activations stay below a tenth of their width"), post,
      "largest " + short_number(post.largest) + " of width " + short_number(width) +
          "; of the pre-activations, which the authors' tracker measures, " + short_number(pre.largest));
  claims.never_violated(
      named("fig-6", "Figure 6", "rms-low", "stable ranks of the normed activations A, Am and Af are small: below a quarter of d"),
      normed, "largest " + short_number(normed.largest) + " of d = " + short_number(view.dim()));
}

// Gradients --------------------------------------------------------------------------------------------------------------------

void judge_mlp_gradients(const View& view, const Named& named, Claims& claims) {
  Tally large;
  for (const TrialRecord& record : view.records()) {
    for (std::size_t l = 0; l < view.layers(); ++l) {
      for (const char* block : {"W1", "W2"}) {
        view.for_each(record, nuclear_rank_of(in_layer(l, block)), [&](double nr, double step) {
          if (step >= 50) large.count(!(nr > view.dim() / 4), nr);
        });
      }
    }
  }
  claims.never_violated(named("fig-5", "Figure 5", "mlp-nr",
                              "nuclear ranks of the MLP's gradients are consistently large: above a quarter of d after step 50"),
                        large,
                        large.cases > 0 ? "from " + short_number(large.smallest) + " to " + short_number(large.largest) +
                                              ", d = " + short_number(view.dim())
                                        : "no step from 50 on is measured");
}

/// Mean over layers and steps from early_steps on of log(nr(Wv) / the smallest of Wq, Wk, Wo).
double log_of_value_over_others(const View& view, const TrialRecord& record, const std::string& prefix) {
  double sum = 0, count = 0;
  const std::vector<double>& steps = prefix.empty() ? view.run().measured : view.run().probed;
  for (std::size_t l = 0; l < view.layers(); ++l) {
    const auto rank = [&](const char* block, std::size_t i) {
      return view.series(record, prefix + nuclear_rank_of(in_layer(l, block)))[i];
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double log_ratio = std::log(rank("Wv", i) / std::min({rank("Wq", i), rank("Wk", i), rank("Wo", i)}));
      if (steps[i] >= early_steps && std::isfinite(log_ratio)) sum += log_ratio, count += 1;
    }
  }
  return sum / count;
}

void judge_attention_gradients(const View& view, const Named& named, Claims& claims) {
  for (const bool held_out : {false, true}) {
    const std::string prefix = held_out ? probe : "";
    const auto ratios =
        per_trial(view.records(), [&](const TrialRecord& record) { return log_of_value_over_others(view, record, prefix); });
    claims.mean(named(held_out ? "fig-8/probe" : "fig-8", "Figures 8, 9", "attn-nr",
                      std::string("of the attention's gradients that of Wv has the lowest nuclear rank") +
                          (held_out ? ", on held-out text" : "")),
                ratios, at_most(0.0), "mean over layers and steps from 32 on of log(nr(Wv) / the smallest of Wq, Wk, Wo)", margin);
  }
}

// Condition (1.8) --------------------------------------------------------------------------------------------------------------

Tally condition_on(const View& view, const std::string& prefix, bool early, const std::string& block_wanted = "") {
  Tally tally;
  for (const TrialRecord& record : view.records()) {
    for (std::size_t l = 0; l < view.layers(); ++l) {
      for (const std::string& block : hidden_blocks(view.run())) {
        if (!block_wanted.empty() && block != block_wanted) continue;
        view.for_each(record, prefix + ratio_of(in_layer(l, block)), [&](double ratio, double step) {
          if ((step < early_steps) == early) tally.count(ratio < 1, ratio);
        });
      }
    }
  }
  return tally;
}

void judge_condition(const View& view, const Named& named, Claims& claims) {
  const struct {
    const char *place, *where, *prefix;
    bool early;
  } cases[] = {{"eq-1.8", "from step 32 on", "", false},
               {"eq-1.8/early", "before step 32", "", true},
               {"eq-1.8/probe", "on held-out text", probe, false}};
  for (const auto& [place, where, prefix, early] : cases) {
    const Tally all = condition_on(view, prefix, early);
    std::string worst;
    for (const std::string& block : hidden_blocks(view.run())) {
      const Tally of = condition_on(view, prefix, early, block);
      if (of.violations > 0)
        worst += (worst.empty() ? "violated at " : ", ") + block + " " + short_number(100 * of.violations / of.cases) + " %";
    }
    claims.never_violated(
        named(place, "Section 1.2.1, eq. (1.8)", "criterion", std::string("nr(G) >= st(A) in every block inside layers, ") + where),
        all, all.cases > 0 ? clauses("smallest nr/st " + short_number(all.smallest), worst) : "");
  }
}

// Embedding and head -----------------------------------------------------------------------------------------------------------

/// Mean over steps from early_steps on of the ratio of `block`, over the median of the hidden blocks' ratios at that step or alone.
double mean_ratio(const View& view, const TrialRecord& record, const std::string& block, bool over_hidden) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < view.run().measured.size(); ++i) {
    if (view.run().measured[i] < early_steps) continue;
    std::vector<double> hidden;
    for (std::size_t l = 0; l < view.layers(); ++l) {
      for (const std::string& each : hidden_blocks(view.run()))
        hidden.push_back(view.series(record, ratio_of(in_layer(l, each)))[i]);
    }
    const double value = view.series(record, ratio_of(block))[i] / (over_hidden ? median(hidden) : 1.0);
    if (std::isfinite(value)) sum += value, count += 1;
  }
  return sum / count;
}

/// Of the finite entries from a series of the run, the last over the first.
double last_over_first(const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  return finite.size() < 2 ? undefined : finite.back() / finite.front();
}

void judge_milder(const View& view, const Named& named, const std::string& place, const std::string& source, const std::string& id,
                  const std::string& block, const std::string& what, Claims& claims) {
  const auto of = [&](bool over_hidden) {
    return per_trial(view.records(), [&](const TrialRecord& record) { return mean_ratio(view, record, block, over_hidden); });
  };
  claims.mean(named(place + "/above-1", source, id, "nr/st of " + what + " is above 1 from step 32 on"), of(false), at_least(1.0),
              "mean over steps", margin);
  claims.mean(named(place, source, id,
                    "nr/st of " + what + " is far below that of the blocks inside layers: less than half of their median"),
              of(true), at_most(0.5), "mean over steps from 32 on", margin);
}

void judge_embedding(const View& view, const Named& named, Claims& claims) {
  Tally loose;
  double looseness = 0;
  for (const TrialRecord& record : view.records()) {
    const std::vector<double>&of_indicator = view.series(record, indicator), &st = view.series(record, stable_rank_of("embedding"));
    for (std::size_t i = 0; i < st.size(); ++i) {
      if (!std::isfinite(st[i])) continue;
      loose.count(!(st[i] <= of_indicator[i]), st[i] / of_indicator[i]);
      looseness += st[i] / of_indicator[i];
    }
  }
  claims.never_violated(named("section-2.2.1", "Section 2.2.1", "emb-loose", "st(E[id]) is at most 1/p_max, loosely"), loose,
                        "on average " + short_number(looseness / loose.cases) + " of it, at most " + short_number(loose.largest));
  claims.mean(
      named("fig-10", "Figure 10", "emb-grow",
            "the nuclear rank of the embedding's gradient grows: the last is more than twice the first"),
      per_trial(view.records(),
                [&](const TrialRecord& record) { return last_over_first(view.series(record, nuclear_rank_of("embedding"))); }),
      at_least(2.0), "last over first; the paper's grows from 100 to 400", margin);
  judge_milder(view, named, "fig-10", "Section 1.2.1, Figure 10", "emb-mild", "embedding", "the embedding", claims);
  judge_milder(view, named, "fig-7", "Section 1.2.1, Figure 7", "head-mild", "head", "the head", claims);
}

void judge_indicator(const Plan& plan, const Records& records, Claims& claims) {
  const Run& run = plan.of_paper();
  const View view(run, records);
  Tally above;
  std::vector<double> spread;
  for (const TrialRecord& record : records) {
    const std::vector<double>& of = view.series(record, indicator);
    const Summary summary = summarise(of);
    spread.push_back(summary.std / summary.mean);
    for (std::size_t i = 0; i < of.size(); ++i) {
      double internal = view.series(record, stable_rank_of("Af"))[i];
      for (std::size_t l = 0; l < view.layers(); ++l) {
        for (const char* name : {"A", "Am", "H", "S"})
          internal = std::max(internal, view.series(record, stable_rank_of(in_layer(l, name)))[i]);
      }
      if (std::isfinite(internal)) above.count(!(of[i] > internal), internal / of[i]);
    }
  }
  const Place place{"spectral/fig-10/", "Section 2.2.1, Figure 10"};
  claims.mean(
      place("indicator",
            "the stable rank of the token indicator, 1/p_max of the batch, is steady: its deviation over steps is below a quarter "
            "of its mean"),
      spread, at_most(0.25),
      "mean " + mean_text(per_trial(records, [&](const TrialRecord& r) { return summarise(view.series(r, indicator)).mean; })),
      margin);
  claims.never_violated(place("above-internal/indicator", "it is above the stable ranks of the activations inside"), above,
                        "largest of these over it " + short_number(above.largest));
}

// Runs against each other -------------------------------------------------------------------------------------------------------

/// Final validation losses of a run, one for each trial.
std::vector<double> losses_of(const Run& run, const Records& records) {
  return scalars_of(records, run.name + "." + final_validation_loss);
}

std::string losses_text(const Run& run, const Records& records) {
  return run.label + " " + mean_text(losses_of(run, records));
}

void judge_pair(const Statement& statement, const Run* first, const Run* second, const std::string& missing, Region allowed,
                const Records& records, Claims& claims) {
  if (!claims.applies(statement, first && second ? "" : missing)) return;
  claims.mean(statement, differences(losses_of(*first, records), losses_of(*second, records)), allowed,
              "difference of final validation losses; " + losses_text(*first, records) + ", " + losses_text(*second, records),
              margin);
}

// Below this a difference of losses counts as slight.
constexpr double slight = 0.05;

/// What differs from the config but for the optimisers' own rates, each of which may be tuned.
Changes without_rates(const Run& run) {
  Changes out;
  std::copy_if(run.changes.begin(), run.changes.end(), std::back_inserter(out), [](const auto& change) {
    return change.first != "lr-adam" && change.first != "lr-muon" && change.first != "lr-polar" && change.first != "lr-sgd";
  });
  return out;
}

void judge_optimisers(const Plan& plan, const Records& records, Claims& claims) {
  const Place one{"spectral/section-1/", "Section 1"};
  judge_pair(one("muon", "Muon learns at least as well as Adam"), plan.find("muon"), plan.find("adam"),
             "needs --optimizer adam,muon", at_most(0.0), records, claims);
  for (const Run& muon : plan.runs) {
    const Changes changes = without_rates(muon);
    if (muon.optimizer != "muon" || changes.size() != 1) continue;
    const auto adam = std::find_if(plan.runs.begin(), plan.runs.end(),
                                   [&](const Run& run) { return run.optimizer == "adam" && without_rates(run) == changes; });
    if (adam == plan.runs.end()) continue;
    const std::string what = changes.front().first + "=" + changes.front().second;
    judge_pair(one(what + "/muon", "Muon learns at least as well as Adam, with " + what), &muon, &*adam, "", at_most(0.0), records,
               claims);
  }
  const Run* const with_embedding = plan.find("muon", {{"spectral-on", "hidden+embedding"}});
  judge_pair(Place{"spectral/section-1.2.1/", "Section 1.2.1"}("emb-muon",
                                                               "Muon on the embedding too changes little: less than 0.05 nats"),
             with_embedding, plan.find("muon"), "needs --optimizer muon --also muon,spectral-on=hidden+embedding",
             within(0.0, slight), records, claims);
}

void judge_initial(const Plan& plan, const Records& records, Claims& claims) {
  const Statement statement{"spectral/cor-2.15/init", "Corollary 2.15",
                            "with Gaussian weights and ReLU the post-activations start with stable ranks of at most 2 pi"};
  Tally tally;
  for (const Run& run : plan.runs) {
    if (run.config.init != "gauss" || run.config.activation != "relu") continue;
    for (const TrialRecord& record : records) {
      for (std::size_t l = 0; l < run.config.layers; ++l) {
        const double st = record.array(run.name + "." + stable_rank_of(in_layer(l, "S"))).front();
        if (run.measured.front() == 0 && std::isfinite(st)) tally.count(!(st <= 2 * std::acos(-1.0)), st);
      }
    }
  }
  if (!claims.applies(statement,
                      tally.cases > 0 ? "" : "needs --init gauss --activation relu, or --also adam,activation=relu,init=gauss"))
    return;
  claims.never_violated(statement, tally, "largest " + short_number(tally.largest));
}

/// Exponents, over the widths that runs of one optimiser have, of the mean nuclear rank of hidden gradients and the mean stable
/// rank of A, Am and S, at the last step that all of them measure before their rates fall.
void judge_width(const Plan& plan, const Records& records, Claims& claims) {
  std::vector<const Run*> runs = {&plan.runs.front()};
  for (const Run& run : plan.runs) {
    const bool other =
        std::any_of(run.changes.begin(), run.changes.end(), [](const auto& change) { return change.first == "dim"; });
    if (run.optimizer == plan.runs.front().optimizer && other) runs.push_back(&run);
  }
  std::optional<double> step;
  for (const double t : runs.front()->measured) {
    if (std::all_of(runs.begin(), runs.end(), [&](const Run* run) {
          return std::count(run->measured.begin(), run->measured.end(), t) > 0 &&
                 t <= falls_from * static_cast<double>(run->config.steps);
        }))
      step = t;
  }
  std::vector<double> widths;
  for (const Run* run : runs) widths.push_back(static_cast<double>(run->config.dim));
  const auto mean_at = [&](const TrialRecord& record, const Run& run, const std::vector<std::string>& names) {
    const View view(run, records);
    const auto i = static_cast<std::size_t>(std::find(run.measured.begin(), run.measured.end(), *step) - run.measured.begin());
    double sum = 0, count = 0;
    for (std::size_t l = 0; l < view.layers(); ++l) {
      for (const std::string& name : names) sum += view.series(record, in_layer(l, name))[i], count += 1;
    }
    return sum / count;
  };
  const Place place{"spectral/section-1.2.1/", "Section 1.2.1"};
  const Statement grows = place("nr/width", "nuclear ranks of hidden gradients grow with the width, more than as its fourth root"),
                  stays =
                      place("st/width", "stable ranks of the activations do not grow with the width: less than as its fourth root");
  const std::string missing =
      runs.size() >= 3 && step ? "" : "needs two more widths, such as --also adam,dim=32 and --also adam,dim=128";
  const struct {
    const Statement& statement;
    std::vector<std::string> names;
    Region allowed;
  } both[] = {{grows,
               {"Wq.nuclear_rank", "Wk.nuclear_rank", "Wv.nuclear_rank", "Wo.nuclear_rank", "W1.nuclear_rank", "W2.nuclear_rank"},
               at_least(0.25)},
              {stays, {"A.stable_rank", "Am.stable_rank", "S.stable_rank"}, at_most(0.25)}};
  for (const auto& [statement, names, allowed] : both) {
    if (!claims.applies(statement, missing)) continue;
    const auto value = [&](const TrialRecord& record, std::size_t i) { return mean_at(record, *runs[i], names); };
    std::string means;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      means += (i == 0 ? "" : ", ") + short_number(widths[i]) + ": " +
               mean_text(per_trial(records, [&](const TrialRecord& record) { return value(record, i); }));
    }
    claims.mean(statement, slopes_over(records, widths, value, fit_power), allowed,
                "exponent at step " + short_number(*step) + "; means by width " + means, margin);
  }
}

// Gated activations --------------------------------------------------------------------------------------------------------------

/// The runs of one optimiser without and with a gate, alike in the rest, or nothing.
std::pair<const Run*, const Run*> gated_pair(const Plan& plan) {
  for (const Run& run : plan.runs) {
    if (run.changes == Changes{{"activation", "swiglu"}} && plan.find(run.optimizer) && plan.config.activation != "swiglu") {
      return {plan.find(run.optimizer), &run};
    }
  }
  return {nullptr, nullptr};
}

void judge_gate(const Plan& plan, const Records& records, Claims& claims) {
  const auto [plain, gated] = gated_pair(plan);
  for (const bool trained : {false, true}) {
    for (const bool of_rank : {true, false}) {
      const std::string when = trained ? "after training" : "at the start";
      const Statement statement{
          std::string("spectral/section-1.2.2/") + (of_rank ? "" : "mean-") + (trained ? "trained" : "init") + "/gated",
          "Section 1.2.2",
          of_rank ? "a gate raises the stable rank of post-activations, " + when
                  : "a gate lowers their share of a common mean, " + when};
      if (!claims.applies(statement, gated ? "" : "needs --also with activation=swiglu, as in --also adam,activation=swiglu"))
        continue;
      const std::string name = of_rank ? ".stable_rank" : ".mean_share";
      const auto mean_of = [&](const Run& run, const TrialRecord& record) {
        double sum = 0;
        for (std::size_t l = 0; l < run.config.layers; ++l) {
          const std::vector<double>& values = record.array(run.name + "." + in_layer(l, "S") + name);
          sum += trained ? values.back() : values.front();
        }
        return sum / static_cast<double>(run.config.layers);
      };
      const auto of_plain = per_trial(records, [&](const TrialRecord&record) { return mean_of(*plain, record); }),
                 of_gated = per_trial(records, [&](const TrialRecord&record) { return mean_of(*gated, record); });
      claims.mean(statement, differences(of_gated, of_plain), of_rank ? at_least(0.0) : at_most(0.0),
                  "mean over layers, gated " + mean_text(of_gated) + ", not gated " + mean_text(of_plain), margin);
    }
  }
}

/// The share of Muon's gain over Adam that Muon on W2 alone has.
struct Share {
  std::vector<double> per_trial;  // the jackknife's pseudo-values of the ratio of sums: a single trial's gain may be near 0
  std::string detail, missing;
};
Share share_of_gain(const Plan& plan, const Records& records, Changes changes) {
  const Run *const adam = plan.find("adam", changes), *const muon = plan.find("muon", changes);
  changes.emplace_back("spectral-on", "W2");
  const Run* const on_W2 = plan.find("muon", changes);
  if (!adam || !muon || !on_W2) return {{}, "", "needs Adam, Muon and Muon on W2 alone, as the preset spectral-table2 has them"};
  const auto gain = differences(losses_of(*adam, records), losses_of(*muon, records)),
             part = differences(losses_of(*adam, records), losses_of(*on_W2, records));
  Share out{{}, losses_text(*adam, records) + ", " + losses_text(*muon, records) + ", " + losses_text(*on_W2, records), ""};
  const Summary summary = summarise(gain);
  if (!(summary.mean > margin * standard_error(summary)))
    out.missing = "Muon gains nothing that is beyond three standard errors; " + out.detail;
  const double n = static_cast<double>(gain.size()), whole = sum_of(part) / sum_of(gain);
  for (std::size_t i = 0; i < gain.size(); ++i) {
    const double without = (sum_of(part) - part[i]) / (sum_of(gain) - gain[i]);
    out.per_trial.push_back(n * whole - (n - 1) * without);
  }
  return out;
}

void judge_table_2(const Plan& plan, const Records& records, Claims& claims) {
  const Share plain = share_of_gain(plan, records, {}), gated = share_of_gain(plan, records, {{"activation", "swiglu"}});
  const Place place{"spectral/table-2/", "Table 2"};
  const double about = 0.15;
  const struct {
    Statement statement;
    const Share& share;
    double printed;
  } both[] = {{place("table2", "Muon on W2 alone has about 62 % of Muon's gain over Adam (within 15 points)"), plain, 0.62},
              {place("gated/table2", "with a gate it has about 27 % (within 15 points)"), gated, 0.27}};
  for (const auto& [statement, share, printed] : both) {
    if (claims.applies(statement, share.missing))
      claims.mean(statement, share.per_trial, within(printed, about), share.detail, margin);
  }
  const Statement order = place("order/table2", "a gate lowers the share of Muon's gain that W2 alone has");
  if (claims.applies(order, plain.missing.empty() ? gated.missing : plain.missing)) {
    claims.mean(order, differences(gated.per_trial, plain.per_trial), at_most(0.0), "difference of shares", margin);
  }
}

// One step -----------------------------------------------------------------------------------------------------------------------

/// Pairs of logarithms, predicted and reached, of one trial.
struct Pairs {
  std::vector<double> predicted, reached;
};
Pairs pairs_of(const View& view, const TrialRecord& record, const std::string& what) {
  const std::vector<double>&x = view.series(record, predicted), &y = view.series(record, what);
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

void judge_one_step(const View& view, const Named& named, Claims& claims) {
  const struct {
    const char *place, *what, *where;
  } both[] = {{"eq-1.1", reached, "on the batch that gave the gradient"},
              {"eq-1.1/independent", reached_elsewhere, "on an independent batch"}};
  for (const auto& [place, what, where] : both) {
    const auto of = [&](double (*measure)(const Pairs&)) {
      return per_trial(view.records(), [&](const TrialRecord& record) { return measure(pairs_of(view, record, what)); });
    };
    const std::string source = "Section 1, eq. (1.1)", at = std::string(", ") + where,
                      detail = "over blocks and steps 32, 100 and the last";
    claims.mean(
        named(
            place, source, "one-step",
            "of best steps along G and along polar(G) the better is the one that nr/st names, in at least nine of ten cases" + at),
        of(share_of_signs), at_least(0.9), "share of cases, " + detail, margin);
    claims.mean(
        named(place + std::string("/order"), source, "one-step", "the ratio of their decreases orders blocks as nr/st does" + at),
        of(rank_correlation), at_least(0.5), "rank correlation " + detail + "; at least 0.5 wanted", margin);
    claims.mean(
        named(place + std::string("/size"), source, "one-step", "the ratio is of the size of nr/st, within a factor of 2" + at),
        of(median_difference), within(0.0, std::log(2.0)), "median of log(reached / predicted) " + detail, margin);
  }
}

}  // namespace

void judge(const Plan& plan, const Records& records, Claims& claims) {
  judge_indicator(plan, records, claims);
  judge_initial(plan, records, claims);
  for (const Run& run : plan.runs) {
    if (!run.is_main()) continue;
    const View view(run, records);
    const Named named(plan, run);
    judge_activations(view, named, claims);
    judge_mlp_gradients(view, named, claims);
    judge_attention_gradients(view, named, claims);
    judge_condition(view, named, claims);
    judge_embedding(view, named, claims);
    if (plan.config.one_step && &run == &plan.runs.front()) judge_one_step(view, named, claims);
  }
  judge_width(plan, records, claims);
  judge_optimisers(plan, records, claims);
  judge_gate(plan, records, claims);
  judge_table_2(plan, records, claims);
}

}  // namespace ranklab::gpt
