// What [Shallow] says of post-norm, pre-norm and de-escalated Transformers in training: Figures 6 and 7, and the gradients of
// Figure 1.
//
// The paper gives curves, no numbers: "significant", "slightly", "similarly" are given some here, in nats of the training loss.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train/train.hpp"

namespace ranklab::train {
namespace {

constexpr double clear_gap = 0.1, alike = 0.1, fails_within = 0.05;
constexpr double leaks = 0.1;      // nats by which replaced later tokens raise the loss
constexpr double steady = 10;      // largest over smallest gradient norm among blocks
constexpr double near_one = 0.95;  // similarity after the last block

/// The curves of one depth and one setting, by variant.
struct Contest {
  std::string name;     // "L=24,init=torch"
  std::string setting;  // ",init=torch"
  std::uint64_t layers = 0;
  const Curve* pre = nullptr;
  std::vector<const Curve*> post, de_escalated;
};

std::string nats(double value) {
  return short_number(value) + " nats";
}

std::vector<Contest> contests_of(const Plan& plan) {
  std::vector<Contest> out;
  for (const Curve& curve : plan.curves) {
    const std::string setting = curve.setting.empty() ? "" : "," + curve.setting,
                      name = "L=" + std::to_string(curve.layers) + setting;
    auto found = std::find_if(out.begin(), out.end(), [&](const Contest& contest) { return contest.name == name; });
    if (found == out.end()) found = out.insert(out.end(), {name, setting, curve.layers, nullptr, {}, {}});
    if (curve.variant == "pre") found->pre = &curve;
    if (curve.variant == "post") found->post.push_back(&curve);
    if (curve.variant == "de-escalated") found->de_escalated.push_back(&curve);
  }
  return out;
}

class Judge {
 public:
  Judge(const Plan& plan, const Task& task, const Records& records, Claims& claims)
      : plan_(plan), task_(task), records_(records), claims_(claims), images_(plan.config.task == "patches") {}

  void judge() {
    const std::vector<Contest> contests = contests_of(plan_);
    for (const Contest& contest : contests) {
      for (const Curve* curve : contest.de_escalated) judge_de_escalated(contest, *curve);
      judge_rates(contest);
      if (!images_) judge_failure(contest);
      judge_start(contest);
    }
    judge_depth(contests);
  }

 private:
  /// The mean over the last tenth of the steps; a run that diverged has learnt nothing.
  double loss(const Curve& curve, const TrialRecord& record) const {
    const double value = record.scalar(curve.name + "." + final_train_loss);
    return std::isfinite(value) ? value : task_.guessing_loss();
  }
  double mean_loss(const Curve& curve) const {
    return summarise(per_trial(records_, [&](const TrialRecord& record) { return loss(curve, record); })).mean;
  }
  std::vector<double> excess(const Curve& over, const Curve& curve) const {
    return per_trial(records_, [&](const TrialRecord& record) { return loss(over, record) - loss(curve, record); });
  }
  std::string losses(const Curve& a, const Curve& b) const {
    return short_number(mean_loss(a)) + " nats, " + a.name + "; " + short_number(mean_loss(b)) + ", " + b.name;
  }

  /// `post` at the rate and warm-up of a curve; null where it was not run.
  const Curve* post_like(const Contest& contest, const Curve& curve) const {
    const auto found = std::find_if(contest.post.begin(), contest.post.end(),
                                    [&](const Curve* post) { return post->lr == curve.lr && post->warmup == curve.warmup; });
    return found == contest.post.end() ? nullptr : *found;
  }
  const Curve* best_post(const Contest& contest) const {
    const auto best = std::min_element(contest.post.begin(), contest.post.end(),
                                       [&](const Curve* a, const Curve* b) { return mean_loss(*a) < mean_loss(*b); });
    return best == contest.post.end() ? nullptr : *best;
  }
  Place place(const std::string& part) const {
    return images_ ? in_figure("shallow/fig-6/" + part + "/", "Section 3.3, Figure 6", {"Figure 6"})
                   : in_figure("shallow/fig-7/" + part + "/", "Section 3.4, Figure 7", {"Figure 7"});
  }
  std::string with_mean(const std::string& name, const Curve& curve) const {
    return name + (plan_.config.mean.size() > 1 ? ",mean=" + curve.mean : "");
  }

  // Losses -----------------------------------------------------------------------------------------------------------------------

  void judge_de_escalated(const Contest& contest, const Curve& curve) {
    const Place of = place(with_mean(contest.name, curve));
    const auto hypothesis = claims_.only_where(leak_of(curve), Claims::Unmet::verdict_alone);
    const Curve *const same = post_like(contest, curve), *const best = best_post(contest);
    if (same) {
      claims_.mean(reading(of("gap",
                              "de-escalation closes a significant gap: post-norm without it ends more than 0.1 nats above, at the "
                              "same rate and warm-up"),
                           nats(clear_gap)),
                   excess(*same, curve), at_least(clear_gap), losses(*same, curve));
    }
    if (best && contest.post.size() > 1) {
      claims_.mean(
          reading(of("gap-at-best", "the gap stays when post-norm has the best of its rates and warm-ups: more than 0.1 nats"),
                  nats(clear_gap)),
          excess(*best, curve), at_least(clear_gap), losses(*best, curve));
    }
    if (contest.pre) judge_beside_pre(contest, curve, of);
    if (contest.pre) judge_branch(contest, curve, of);
  }

  void judge_beside_pre(const Contest& contest, const Curve& curve, const Place& of) {
    const std::string numbers = losses(*contest.pre, curve);
    if (images_) {
      claims_.mean(of("below-pre-norm", "de-escalated post-norm ends slightly below pre-norm in training loss"),
                   excess(*contest.pre, curve), positive(), numbers);
    } else {
      claims_.equivalent(
          reading(of("like-pre-norm", "pre-norm and de-escalated post-norm end alike: within 0.1 nats"), nats(alike)),
          excess(*contest.pre, curve), alike, numbers);
    }
  }

  /// Of a curve whose tokens see their future the printed statement says nothing.
  std::string leak_of(const Curve& curve) const {
    if (images_) return "";
    const double leak = summarise(per_trial(records_, [&](const TrialRecord& record) {
                          return record.scalar(curve.name + "." + future_excess);
                        })).mean;
    return leak > leaks ? "void: the mean over the segment shows tokens their future; with other tokens there the loss is " +
                              short_number(leak) + " nats higher"
                        : "";
  }

  void judge_rates(const Contest& contest) {
    for (const Curve* whole : contest.post) {
      for (const Curve* half : contest.post) {
        if (half->lr != whole->lr / 2 || half->warmup != whole->warmup) continue;
        const std::string rates = "lr=" + series_number(whole->lr) +
                                  (plan_.config.warmup_post.size() > 1 ? ",warmup=" + std::to_string(whole->warmup) : "");
        const Statement helps = place(contest.name + "," + rates)("half-the-rate", "half the learning rate helps post-norm");
        claims_.mean(images_ ? helps : beyond(helps), excess(*whole, *half), positive(), losses(*whole, *half));
      }
    }
  }

  void judge_failure(const Contest& contest) {
    const Curve* const best = best_post(contest);
    if (!best) return;
    claims_.mean(reading(place(contest.name)("post-norm-fails",
                                             "post-norm essentially fails: its loss stays above the entropy of single "
                                             "tokens, less 0.05 nats"),
                         nats(fails_within)),
                 per_trial(records_, [&](const TrialRecord& record) { return loss(*best, record); }),
                 at_least(task_.guessing_loss() - fails_within),
                 "training loss of the best rate; the entropy is " + short_number(task_.guessing_loss()));
  }

  /// The gap at the largest depth less that at the smallest, of curves that differ in depth alone.
  void judge_depth(const std::vector<Contest>& contests) {
    const auto [least, most] = std::minmax_element(plan_.config.layers.begin(), plan_.config.layers.end());
    if (*least == *most) return;
    for (const Contest& shallow : contests) {
      for (const Contest& deep : contests) {
        if (shallow.layers != *least || deep.layers != *most || shallow.setting != deep.setting) continue;
        for (std::size_t i = 0; i < shallow.de_escalated.size(); ++i) {
          judge_growth(shallow, *shallow.de_escalated[i], deep, *deep.de_escalated[i]);
        }
      }
    }
  }

  void judge_growth(const Contest& shallow, const Curve& low, const Contest& deep, const Curve& high) {
    const Curve *const low_post = post_like(shallow, low), *const high_post = post_like(deep, high);
    if (!low_post || !high_post) return;
    const std::string depths = std::to_string(shallow.layers) + "-" + std::to_string(deep.layers);
    const auto hypothesis = claims_.only_where(leak_of(high), Claims::Unmet::verdict_alone);
    claims_.mean(place(with_mean("L=" + depths + shallow.setting, low))(
                     "gap-grows", "depth is the problem: the gap between post-norm and de-escalated post-norm grows with it"),
                 per_trial(records_,
                           [&](const TrialRecord& record) {
                             return loss(*high_post, record) - loss(high, record) - loss(*low_post, record) + loss(low, record);
                           }),
                 positive(), "gap at the larger depth less that at the smaller");
  }

  // Tokens and gradients ---------------------------------------------------------------------------------------------------------

  /// In the first block both variants see the same input.
  void judge_branch(const Contest& contest, const Curve& curve, const Place& of) {
    for (const auto& measured : {std::pair("start.", "before training"), {"end.", "after training"}}) {
      const char *const moment = measured.first, *const when = measured.second;
      Tally tally;
      for (std::uint64_t l = 1; l < curve.layers; ++l) {
        const auto mean_of = [&](const Curve& which) {
          return summarise(per_trial(records_,
                                     [&](const TrialRecord& record) {
                                       return record.array(which.name + "." + moment + branch_ratio)[l];
                                     }))
              .mean;
        };
        const double own = mean_of(curve), pre = mean_of(*contest.pre);
        if (std::isfinite(own) && std::isfinite(pre)) tally.count(own < pre, own / pre);
      }
      claims_.never_violated(of("attention-not-discounted/" + std::string(moment, 0, std::string(moment).size() - 1),
                                std::string("de-escalation does not discount attention: ") + when +
                                    " ||A||_F / ||X||_F is at least that of pre-norm in every block from the second on"),
                             tally, "over that of pre-norm: " + short_number(tally.smallest) + " to " + short_number(tally.largest),
                             WorstCase::smallest);
    }
  }

  void judge_start(const Contest& contest) {
    if (contest.post.empty()) return;
    const Curve& post = *contest.post.front();
    const Place gradients = in_figure("shallow/fig-1-gradient/" + contest.name + "/", "Section 1.1, Figure 1", {"Figure 1"});
    for (const auto& [moment, id, when] :
         {std::tuple("start.", "start", "at the start"), {"eighth.", "eighth", "after an eighth of the steps"}}) {
      // Counted: in a mean one run whose gradients vanish would hide the others, or be hidden.
      Tally unsteady;
      for (const TrialRecord& record : records_) {
        const auto& norms = record.array(post.name + "." + moment + block_gradient);
        if (std::any_of(norms.begin(), norms.end(), [](double norm) { return std::isnan(norm); })) continue;  // it had diverged
        const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
        unsteady.count(*most > steady * *least, *most / *least);
      }
      const Statement steadily = gradients(id, std::string("post-norm gradients neither vanish nor explode ") + when +
                                                   ": in no run is a block's norm more than 10 times that of another");
      claims_.never_violated(
          moment == std::string("start.") ? reading(steadily, "a factor of " + short_number(steady)) : beyond(steadily), unsteady,
          "largest over smallest, " + post.name + ": " + short_number(unsteady.smallest) + " to " + short_number(unsteady.largest),
          WorstCase::largest);
    }
    claims_.mean(
        reading(in_figure(place(contest.name).prefix, "Section 1.1, Figure 1", {"Figure 1"})(
                    "similarities-together", "token and cosine similarity rise together to one in the untrained post-norm model"),
                short_number(near_one)),
        per_trial(records_,
                  [&](const TrialRecord& record) {
                    return std::min(record.array(post.name + ".start." + token_similarity).back(),
                                    record.array(post.name + ".start." + cosine).back());
                  }),
        at_least(near_one), "the smaller of the two after the last block");
  }

  const Plan& plan_;
  const Task& task_;
  const Records& records_;
  Claims& claims_;
  bool images_;  // else text
};

}  // namespace

void judge_variants(const Plan& plan, const Task& task, const Records& records, Claims& claims) {
  Judge(plan, task, records, claims).judge();
}

}  // namespace ranklab::train
