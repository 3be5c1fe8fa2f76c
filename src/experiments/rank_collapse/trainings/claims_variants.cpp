// Claims of [Shallow] about post-norm, pre-norm and de-escalated Transformers in training: Figures
// 6 and 7, the mean over a segment of text (Section 3.4), and tau and its place (Section 3.5); and,
// beyond the paper, the gradients of Figure 1 and the size of attention's output.
//
// The paper shows curves without numbers. The thresholds for "significant", "slightly" and
// "similarly" are ours, in nats of training loss.
#include <algorithm>
#include <limits>

#include "experiments/rank_collapse/trainings/train.hpp"

namespace ranklab::train {
namespace {

constexpr double clear_gap = 0.1, alike = 0.1, fails_within = 0.05;
// A model sees later tokens if replacing them raises the loss by more than this many nats.
constexpr double leaks = 0.1;
constexpr double steady = 10;      // largest over smallest gradient norm among blocks
constexpr double near_one = 0.95;  // similarity after the last block
// Depths of the paper's models. A run with fewer than half as many blocks is not about the figure.
constexpr std::uint64_t blocks_of_figure_6 = 80, blocks_of_figure_7 = 60;

/// The runs of one depth and one setting, by variant.
struct Comparison {
  const Run* first;  // of these runs
  const Run* pre = nullptr;
  Group post = {}, de_escalated = {};

  /// ",init=torch"
  std::string setting() const {
    const std::string name = first->setting_place().text;
    return name.empty() ? "" : "," + name;
  }
  /// "L=24,init=torch"
  std::string name() const { return say("L={}{}", first->layers, setting()); }
};

std::string nats(double value) {
  return short_number(value) + " nats";
}
std::string ours(double value) {
  return nats(value) + ", ours";
}

std::vector<Comparison> comparisons_of(const Trained& all) {
  std::vector<Comparison> out;
  for (const Group& runs : grid::grouped(
           all.runs, [](const Run&a, const Run&b) { return a.same_but_for(b, of_variant); })) {
    Comparison& comparison = out.emplace_back(Comparison{runs.front()});
    for (const Run* run : runs) {
      if (run->variant == "pre") comparison.pre = run;
      if (run->variant == "post") comparison.post.push_back(run);
      if (run->variant == "de-escalated") comparison.de_escalated.push_back(run);
    }
  }
  return out;
}

class Judge {
 public:
  Judge(const Trained& all, Claims& claims)
      : all_(all),
        config_(all.config),
        guessing_(all.task().guessing_loss()),
        claims_(claims),
        images_(all.config.task == "patches") {}

  void judge() {
    const std::vector<Comparison> comparisons = comparisons_of(all_);
    for (const Comparison& comparison : comparisons) {
      for (const Run* run : comparison.de_escalated) judge_de_escalated(comparison, *run);
      if (!images_) judge_later_tokens(comparison);
      judge_rates(comparison);
      if (!images_) judge_failure(comparison);
      judge_start(comparison);
      judge_removals(comparison);
    }
  }

 private:
  double mean_loss(const Run& run) const { return summarize(all_.losses(run)).mean; }
  std::vector<double> excess(const Run& over, const Run& run) const {
    return differences(all_.losses(over), all_.losses(run));
  }
  std::string losses(const Run& a, const Run& b) const {
    return say("{} nats, {}; {}, {}", mean_loss(a), variant(a), mean_loss(b), variant(b));
  }

  /// "de-escalated, strict mean".
  std::string variant(const Run& run) const { return variant_name(run); }
  /// "48 blocks, PyTorch's initial weights": ends the text of every claim, before its number.
  std::string setting(const Run& run) const {
    const std::string words = setting_name(run);
    return plural(run.layers, "block") + (words.empty() ? "" : ", " + words);
  }

  /// The `post` run with this learning rate and warm-up; null if no run has both.
  static const Run* post_at(const Comparison& comparison, double rate, std::uint64_t warmup) {
    return grid::first_where(
        comparison.post, [&](const Run& post) { return post.lr == rate && post.warmup == warmup; });
  }
  const Run* matching_post(const Comparison& comparison, const Run& run) const {
    return post_at(comparison, run.lr, run.warmup);
  }
  const Run* best_post(const Comparison& comparison) const {
    const auto best =
        std::min_element(comparison.post.begin(), comparison.post.end(),
                         [&](const Run* a, const Run* b) { return mean_loss(*a) < mean_loss(*b); });
    return best == comparison.post.end() ? nullptr : *best;
  }
  Place place(const std::string& part) const {
    if (!config_.removal.empty()) return {shallow::sec_3_5, "/" + part + "/", "Section 3.5"};
    return images_ ? in_figure(shallow::fig_6, "/" + part + "/", "Section 3.3, Figure 6")
                   : in_figure(shallow::fig_7, "/" + part + "/", "Section 3.4, Figure 7");
  }

  /// Whether losses of this depth are about Figure 6 or 7. Runs that compare initial weights have
  /// too few steps.
  bool shows_figure(const Run& run) const {
    if (!config_.removal.empty() || config_.init.size() > 1) return false;
    return 2 * run.layers >= (images_ ? blocks_of_figure_6 : blocks_of_figure_7);
  }
  /// Section 3.5 leaves open which places and taus it tried. "The input of each FFN block" can mean
  /// the input of the net and its skip, or of the net alone.
  bool shows_gap(const Run& run) const { return !config_.removal.empty() || shows_figure(run); }
  static Statement reading_if(bool in_paper, const Statement& statement,
                              const std::string& threshold) {
    return in_paper ? reading(statement, threshold) : beyond(statement);
  }
  static Statement paper_if(bool in_paper, const Statement& statement) {
    return in_paper ? statement : beyond(statement);
  }
  std::string with_mean(const std::string& name, const Run& run) const {
    return name + (config_.mean.size() > 1 ? ",mean=" + run.mean : "") +
           (run.removal.word.empty() ? "" : ",removal=" + run.removal.word);
  }

  // Losses ----------------------------------------------------------------------------------------

  void judge_de_escalated(const Comparison& comparison, const Run& run) {
    const Place of = place(with_mean(comparison.name(), run));
    const auto hypothesis = claims_.only_where(leak_of(run), Claims::Unmet::verdict_alone);
    const Run* const same = matching_post(comparison, run);
    judge_losses(comparison, run, same, of);
    if (config_.init.size() < 2) return;
    if (comparison.pre) judge_share(with_mean(comparison.name(), run), *comparison.pre, run);
    if (same) judge_share(with_mean(comparison.name(), run), *same, run);
  }

  void judge_losses(const Comparison& comparison, const Run& run, const Run* same,
                    const Place& of) {
    const auto hypothesis = claims_.only_where(unlearned(comparison), Claims::Unmet::verdict_alone);
    const Run* const best = best_post(comparison);
    // Section 3.3 trains post-norm at half the learning rate, without warm-up.
    const Run* const half = images_ ? post_at(comparison, run.lr / 2, 0) : nullptr;
    const auto above = [&](const std::string& id, const std::string& how, const Run& post,
                           bool is_shown) {
      claims_.mean(reading_if(is_shown,
                              of(id, say("Post-norm ends clearly above {} in training loss, {} "
                                         "({}): the difference in nats",
                                         variant(run), how, setting(run))),
                              ours(clear_gap)),
                   excess(post, run), at_least(clear_gap), losses(post, run));
    };
    if (half)
      above("gap-at-half-rate", "at half the learning rate as in the paper", *half, shows_gap(run));
    if (same) above("gap", "at the same learning rate and warm-up", *same, shows_gap(run) && !half);
    if (best && comparison.post.size() > 1)
      above("gap-at-best", "at the best learning rate and warm-up tried", *best, false);
    if (comparison.pre) judge_against_pre(comparison, run, of);
  }

  /// Losses of models that all do no better than guessing say nothing about what they can learn.
  /// Returns that reason, or an empty string.
  std::string unlearned(const Comparison& comparison) const {
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<const Run*>& runs :
         {comparison.post, comparison.de_escalated, {comparison.pre}}) {
      for (const Run* run : runs) {
        if (run) least = std::min(least, mean_loss(*run));
      }
    }
    return least > guessing_ - clear_gap ? say("no variant is below guessing by {}: the lowest "
                                               "final training loss is {}, and "
                                               "guessing costs {}",
                                               nats(clear_gap), nats(least), nats(guessing_))
                                         : "";
  }

  void judge_against_pre(const Comparison& comparison, const Run& run, const Place& of) {
    const std::string numbers = losses(*comparison.pre, run);
    const bool is_shown = shows_figure(run) && shows_gap(run);
    if (images_) {
      claims_.mean(
          paper_if(is_shown,
                   of("below-pre-norm",
                      say("{} ends below pre-norm in training loss ({}): pre-norm minus it in nats",
                          capitalized(variant(run)), setting(run)))),
          excess(*comparison.pre, run), positive(), numbers);
    } else {
      claims_.equivalent(
          reading_if(is_shown,
                     of("like-pre-norm", say("{} and pre-norm end at similar training losses ({}): "
                                             "pre-norm minus it in nats",
                                             capitalized(variant(run)), setting(run))),
                     ours(alike)),
          excess(*comparison.pre, run), alike, numbers);
    }
  }

  /// By how many nats the loss of each run rises if later tokens are replaced.
  std::vector<double> leaks_of(const Run& run) const { return all_.of(run).numbers(future_excess); }

  /// Section 3.4 adds (21), which takes the mean over all tokens, to a language model.
  void judge_later_tokens(const Comparison& comparison) {
    const auto run_with = [&](const std::string& mean) {
      return grid::first_where(comparison.de_escalated,
                               [&](const Run& run) { return run.mean == mean; });
    };
    const Run *const segment = run_with("segment"), *const strict = run_with("strict");
    if (!segment || !strict) return;
    const auto text = [&](const std::string& mean) {
      return say(
          "With the mean over {} in (21), the loss at a token does not depend on later tokens "
          "({}): rise of the loss in nats if they are replaced",
          mean, setting(*segment));
    };
    const Misprint mean =
        Place{shallow::sec_3_4, "/" + comparison.name() + "/", "Section 3.4", Part::definition}
            .misprint(shallow::sec_3_4_later_tokens, "later-tokens",
                      text("all tokens of a segment"), text("earlier tokens"));
    for (const auto& [statement, run] :
         {std::pair(mean.as_printed, segment), {mean.corrected, strict}}) {
      const auto about = claims_.about(all_.divergences({run}));
      claims_.mean(reading(statement, ours(leaks)), leaks_of(*run), at_most(leaks));
    }
  }

  /// The printed statement does not apply to a run whose tokens see later tokens. Returns that
  /// reason, or an empty string.
  std::string leak_of(const Run& run) const {
    if (images_) return "";
    const double leak = summarize(leaks_of(run)).mean;
    return leak > leaks ? say("the mean over the segment shows later tokens to earlier ones: "
                              "replacing later tokens raises the loss by {} nats",
                              leak)
                        : "";
  }

  void judge_rates(const Comparison& comparison) {
    const auto hypothesis = claims_.only_where(unlearned(comparison), Claims::Unmet::verdict_alone);
    for (const Run* whole : comparison.post) {
      for (const Run* half : comparison.post) {
        if (half->lr != whole->lr / 2 || half->warmup != whole->warmup) continue;
        const std::string rates =
            "lr=" + series_number(whole->lr) +
            (config_.warmup_post.size() > 1 ? ",warmup=" + std::to_string(whole->warmup) : "");
        Place in_text = place(comparison.name() + "," + rates);
        in_text.part = Part::text;
        // Section 3.3 says so about Figure 6, which has no warm-up.
        const bool is_shown = images_ && shows_figure(*whole) && whole->warmup == 0;
        claims_.mean(
            paper_if(
                is_shown,
                in_text("half-the-rate",
                        say("Post-norm ends lower in training loss at half the learning rate ({}): "
                            "the loss at {} minus that at {} in nats",
                            setting(*whole), whole->lr, half->lr))),
            excess(*whole, *half), positive(), losses(*whole, *half));
      }
    }
  }

  void judge_failure(const Comparison& comparison) {
    const Run* const best = best_post(comparison);
    if (!best) return;
    const auto hypothesis = claims_.only_where(unlearned(comparison), Claims::Unmet::verdict_alone);
    claims_.mean(
        reading_if(shows_figure(*best),
                   place(comparison.name())(
                       "post-norm-fails",
                       say("Post-norm essentially fails: it does not get below the entropy of "
                           "single letters, {} nats ({}): its final training loss at the best "
                           "learning rate and warm-up",
                           guessing_, setting(*best))),
                   nats(fails_within) + " below the entropy, ours"),
        all_.losses(*best), at_least(guessing_ - fails_within));
  }

  // Tokens and gradients --------------------------------------------------------------------------

  /// The paper does not measure the role of attention; the size of its output relative to the
  /// residual, in runs that compare initial weights, is ours.
  void judge_share(const std::string& name, const Run& other, const Run& run) {
    const std::string than = other.variant == "pre" ? "pre-norm" : "post-norm";
    for (const auto& [moment, when] :
         {std::pair("start", "before training"), {"end", "after training"}}) {
      const std::string at = moment;
      const auto about = claims_.about(all_.divergences({&run, &other}), true);
      claims_.mean(
          beyond(Place{shallow::sec_1_3, "/" + name + "/", "Sections 1.3, 4"}(
              "share-of-" + than + "/" + moment,
              say("The size of attention's output relative to the residual, ||A||_F/||X||_F, is at "
                  "least that of {} {} ({}): quotient of the geometric means over blocks",
                  than, when, setting(run)))),
          all_.of(run).per_trial(
              [&](const InTrial& trained) { return attention_share(trained, other, at); }),
          at_least(1));
    }
  }

  // tau and its place -----------------------------------------------------------------------------

  /// Other places with the same tau, and a learned tau against its initial value at the same place.
  void judge_removals(const Comparison& comparison) {
    const auto learned = claims_.only_where(unlearned(comparison), Claims::Unmet::verdict_alone);
    for (const Run* run : comparison.de_escalated) {
      if (run->removal.word.empty()) continue;
      const Place of = place(with_mean(comparison.name(), *run));
      const auto hypothesis = claims_.only_where(leak_of(*run), Claims::Unmet::verdict_alone);
      for (const Run* other : comparison.de_escalated) {
        if (other == run) break;
        if (other->mean != run->mean || other->removal.at == run->removal.at) continue;
        if (other->removal.tau != run->removal.tau) continue;
        if (other->removal.learned || run->removal.learned) continue;
        claims_.equivalent(
            beyond(of("like-at-" + other->removal.at,
                      say("The place hardly matters: {} and {} differ by less than {} in final "
                          "training loss ({}): the first minus the second in nats",
                          variant(*other), variant(*run), nats(alike), setting(*run)))),
            excess(*other, *run), alike, losses(*other, *run));
      }
      if (run->removal.learned) judge_learned(comparison, *run, of);
    }
  }

  void judge_learned(const Comparison& comparison, const Run& run, const Place& of) {
    const Removal wanted{run.removal.at, run.removal.tau};
    const Run* const fixed = grid::first_where(comparison.de_escalated, [&](const Run& other) {
      return other.mean == run.mean && other.removal == wanted;
    });
    if (fixed) {
      claims_.mean(
          beyond(of("below-fixed", say("A learned tau ends below one fixed at its initial value in "
                                       "training loss ({}): the difference in nats",
                                       setting(run)))),
          excess(*fixed, run), positive(), losses(*fixed, run));
    }
  }

  // Before training -------------------------------------------------------------------------------

  void judge_start(const Comparison& comparison) {
    if (comparison.post.empty()) return;
    const Run& post = *comparison.post.front();
    // Figure 1 shows BERT and ALBERT of 100 blocks.
    const Place gradients =
                    in_figure(shallow::fig_1, "shallow/fig-1-gradient/" + comparison.name() + "/",
                              "Section 1.1, Figure 1"),
                similarities =
                    in_figure(shallow::fig_1, place(comparison.name()).prefix, gradients.source);
    for (const auto& [id, when] :
         {std::pair("start", "at the start"), {"eighth", "after an eighth of the steps"}}) {
      const std::string moment = id;
      const auto about =
          claims_.about(moment == "start" ? std::vector<Divergence>{} : all_.divergences({&post}));
      // Runs are counted, not averaged: a run whose gradients vanish would dominate a mean or be
      // hidden in it.
      const Tally unsteady = all_.of(post).tally([&](const InTrial& trained, Tally& tally) {
        const auto& norms = trained.array(at_moment(moment, block_gradient));
        if (std::any_of(norms.begin(), norms.end(), [](double norm) { return std::isnan(norm); }))
          return;  // the run had diverged
        const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
        tally.count(*most > steady * *least, *least > 0 ? *most / *least : undefined);
      });
      const Statement steadily = gradients(
          id,
          say("The largest gradient norm among the blocks of post-norm {} is at most {} times "
              "the smallest in every run {} ({})",
              images_ ? "vision Transformers" : "language models", steady, when, setting(post)));
      claims_.never_violated(beyond(steadily), unsteady,
                             "largest norm over smallest, " + variant(post) + ": " +
                                 range_text(unsteady.smallest, unsteady.largest),
                             WorstCase::largest);
    }
    claims_.mean(beyond(similarities(
                     "similarities-together",
                     say("Token and cosine similarity are both near one after the last "
                         "block of untrained post-norm {} ({}): the smaller of the two",
                         images_ ? "vision Transformers" : "language models", setting(post)))),
                 all_.of(post).per_trial([](const InTrial& trained) {
                   const auto last = [&](const Measure& number) {
                     return trained.array(at_moment("start", number)).back();
                   };
                   return std::min(last(token_similarity), last(cosine));
                 }),
                 at_least(near_one));
  }

  const Trained& all_;
  const Config& config_;
  const double guessing_;  // the loss of guessing
  Claims& claims_;
  bool images_;  // else text
};

}  // namespace

double attention_share(const InTrial& trained, const Run& other, const std::string& moment) {
  const Quantity ratio = at_moment(moment, branch_ratio);
  const auto &ratios = trained.array(ratio), &others = InTrial{other, trained.record}.array(ratio);
  double sum = 0;
  for (std::size_t l = 1; l < ratios.size(); ++l) sum += std::log(ratios[l] / others[l]);
  return std::exp(sum / static_cast<double>(ratios.size() - 1));
}

void judge_variants(const Trained& all, Claims& claims) {
  Judge(all, claims).judge();
}

}  // namespace ranklab::train
