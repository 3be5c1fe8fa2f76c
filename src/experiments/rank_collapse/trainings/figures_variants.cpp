// Figures of comparisons of variants: [Shallow] Figures 6 and 7, which show losses.
#include <algorithm>
#include <functional>
#include <map>

#include "experiments/rank_collapse/trainings/train.hpp"

namespace ranklab::train {
namespace {

/// The variant and its settings, for what is derived from several depths.
At variant_place(const Run& run) {
  At at("variant", run.variant);
  const auto add = [&](const std::string& axis, const std::string& read) {
    std::vector<grid::Setting> setting = grid::varying(run.on({axis}));
    if (setting.empty()) return;
    setting.front().name = read;
    const std::string words = at.text + ", " + read;
    at = at & grid::place_of(setting);
    at.text = words;
  };
  add("lr", "lr = " + series_number(run.lr));
  add("warmup", "warm-up " + std::to_string(run.warmup));
  add("mean", run.mean + " mean");
  add("removal", run.removal.word);
  return at;
}

/// Pre-norm is blue, post-norm vermilion and de-escalated green in every figure. Further learning
/// rates, means and removals get other colors.
int color_of_variant(const Trained& all, const Run& run) {
  static const std::map<std::string, std::vector<int>> colors = {
      {"pre", {0}}, {"post", {1, 4, 3, 6}}, {"de-escalated", {2, 5, 3, 4, 6, 9, 12}}};
  std::size_t before = 0;  // kinds of the same variant
  for (const Group& kind : grid::grouped(all.runs, std::mem_fn(&Run::same_variant))) {
    if (kind.front()->same_variant(run)) break;
    before += kind.front()->variant == run.variant;
  }
  const std::vector<int>& choices = colors.at(run.variant);
  return choices[before % choices.size()];
}

constexpr Measure loss_over_depth = {"loss_over_depth", "",
                                     "final training loss, over the number of blocks", "nats"},
                  later_test_loss = {"later_test_loss", "",
                                     "held-out loss without that before training", "nats"},
                  share_by_setting = {
                      "share.by_setting", "",
                      "||A|| / ||X|| over that of another variant, mean over blocks"};
/// A loss at the end of each training, at one place for each depth.
struct FinalLoss {
  Measure loss, by_depth;
  const char* title;
};
constexpr FinalLoss final_losses[] = {
    {final_train_loss,
     {"final_train_loss_by_depth", "", "final training loss, by depth", "nats"},
     "Final training loss"},
    {final_test_loss,
     {"final_test_loss_by_depth", "", "final held-out loss, by depth", "nats"},
     "Final held-out loss"}};

/// The runs of one setting, and its figures.
class OneSetting {
 public:
  OneSetting(const Trained& all, const Group& runs)
      : all_(all), place_(runs.front()->setting_place()) {
    for (const Group& family : grid::grouped(runs, std::mem_fn(&Run::same_variant))) {
      const Run& first = *family.front();
      families_.push_back(
          {variant_place(first), variant_name(first), color_of_variant(all, first), family});
    }
    const std::string words = setting_name(*runs.front());
    where_ = words.empty() ? "" : ", " + words;
  }

  std::string where() const { return where_; }

  void derive(Numbers& out) const {
    derive_loss_over_depth(out);
    for (const FinalLoss& what : final_losses) dots_of(what).derive(out);
    for (const Family& family : families_) derive_later_test_loss(out, deepest_of(family));
  }

  /// Final losses at every depth, and losses over the steps at the largest depth.
  void add_losses(Display& out) const {
    for (const FinalLoss& what : final_losses) {
      dots_of(what).show(out).line(all_.task().guessing_loss(), "guessing").group("final loss");
    }
    add_loss_curves(out, "Training loss", train_loss);
    add_loss_curves(out, "Held-out loss", later_test_loss);
    out.columns(2);
  }

  /// Every learned tau at the largest depth.
  void add_learned_taus(Display& out) const {
    std::vector<const Family*> learned;
    for (const Family& family : families_) {
      if (deepest_of(family).removal.learned) learned.push_back(&family);
    }
    if (learned.empty()) return;
    PanelBuilder panel =
        out.panel("Learned tau after training" + depth_words() + where_, {"block"}, {"tau"});
    for (const Family* family : learned) {
      panel.curve(deepest_of(*family).key(learned_tau), family->name,
                  trials_look(LineStyle::line, family->color));
    }
  }

  /// Tokens, gradients and attention branches at the largest depth: many noisy curves, so that each
  /// variant has its own panels.
  void add_details(Display& out) const {
    std::vector<std::string> items;
    for (const Family& family : families_) items.push_back(capitalized(family.name));
    const auto before_and_after = [this](const Measure& what, const std::string& moment,
                                         const std::string& when) {
      return [this, what, moment, when](PanelBuilder& panel, std::size_t item) {
        const Run& run = deepest_of(families_[item]);
        panel
            .curve(run.key("start", what), "before training",
                   trials_look(LineStyle::dashed, color_before))
            .curve(run.key(moment, what), when, trials_look(LineStyle::line, color_after));
      };
    };
    add_small_multiples(out, "Tokens, gradients and attention", depth_words() + where_, items,
                        {{"token similarity",
                          {"block (0: input)"},
                          unit_axis("token similarity"),
                          before_and_after(token_similarity, "end", "after training")},
                         {"gradient norm",
                          {"block"},
                          log_axis("gradient norm of the block"),
                          before_and_after(block_gradient, "eighth", "after 1/8 of the steps")},
                         {"attention branch",
                          {"block"},
                          log_axis("attention / residual stream, ||A|| / ||X||"),
                          before_and_after(branch_ratio, "end", "after training")}});
  }

 private:
  /// Runs that differ only in depth.
  struct Family {
    At place;
    std::string name;
    int color;
    Group runs;
  };

  // Panels of one variant tell moments apart by color.
  static constexpr int color_before = 6, color_after = 3;
  static const Run& deepest_of(const Family& family) {
    return **std::max_element(family.runs.begin(), family.runs.end(),
                              [](const Run* a, const Run* b) { return a->layers < b->layers; });
  }

  std::string depth_words() const {
    return ", " + plural(deepest_of(families_.front()).layers, "block");
  }

  /// Final training losses against the number of blocks.
  void derive_loss_over_depth(Numbers& out) const {
    for (const Family& family : families_) {
      std::vector<double> depths;
      for (const Run* run : family.runs) depths.push_back(static_cast<double>(run->layers));
      if (depths.size() < 2) return;
      out.series((place_ & family.place) / loss_over_depth, "blocks", depths,
                 [&family](const TrialRecord& record, std::size_t i) {
                   return InTrial{*family.runs[i], record}(final_train_loss);
                 });
    }
  }

  /// The held-out loss without that before training, which is far above the others.
  static void derive_later_test_loss(Numbers& out, const Run& run) {
    out.series(run.key(later_test_loss), "step", run.tenths_from(1),
               [&run](const TrialRecord& record, std::size_t i) {
                 return InTrial{run, record}.array(test_loss).at(i + 1);
               });
  }

  /// Every training at one named place per depth, where the variants are side by side.
  grid::DotPanel dots_of(const FinalLoss& what) const {
    grid::DotPanel panel{
        what.title + where_, "place", {"number of blocks"}, nonnegative_axis("loss (nats)")};
    const Group& runs = families_.front().runs;
    for (const Run* run : runs) panel.x.ticks.push_back(std::to_string(run->layers));
    const double distance = 0.8 / static_cast<double>(families_.size());
    double offset = -0.4 + distance / 2;
    for (const Family& family : families_) {
      panel.dots.push_back({(place_ & family.place) / what.by_depth, grid::places_to(runs.size()),
                            [&family, &what](const TrialRecord& record, std::size_t i) {
                              return InTrial{*family.runs[i], record}(what.loss);
                            },
                            family.name, family.color, offset});
      offset += distance;
    }
    return panel;
  }

  void add_loss_curves(Display& out, const std::string& title, const Measure& loss) const {
    PanelBuilder panel = out.panel(title + depth_words() + where_, {"training step"},
                                   nonnegative_axis("loss (nats)"));
    for (const Family& family : families_) {
      panel.curve(deepest_of(family).key(loss), family.name,
                  trials_look(LineStyle::line, family.color));
    }
    panel.line(all_.task().guessing_loss(), "guessing").group("loss");
  }

  const Trained& all_;
  const At place_;
  std::vector<Family> families_;
  std::string where_;
};

std::vector<Group> settings_of(const Trained& all) {
  return grid::grouped(all.runs, std::mem_fn(&Run::same_setting));
}

/// Attention's share in the de-escalated runs, relative to pre-norm and post-norm: a place for each
/// start and depth. Only if initial weights are compared.
std::vector<grid::DotPanel> shares_of(const Trained& all) {
  std::vector<grid::DotPanel> out;
  if (all.config.init.size() < 2) return out;
  for (const auto& [variant, title] : {std::pair("pre", "pre-norm"), {"post", "post-norm"}}) {
    grid::DotPanel panel{say("Attention's share, de-escalated over {}", title),
                         "place",
                         {"initial weights, number of blocks"},
                         log_axis("ratio of ||A|| / ||X||, mean over blocks")};
    std::vector<grid::Pair<Run>> pairs;
    for (const Run& run : all.runs) {
      const Run* const other = grid::first_where(all.runs, [&, of = variant](const Run& each) {
        return each.variant == of && each.layers == run.layers && each.same_setting(run);
      });
      if (run.variant != "de-escalated" || !other) continue;
      pairs.push_back({&run, other});
      panel.x.ticks.push_back(run.init + ", " + std::to_string(run.layers));
    }
    if (pairs.empty()) continue;
    const auto add = [&, of = title](const std::string& moment, const std::string& when, int color,
                                     double offset) {
      const Quantity name{say("share_of_{}.{}.by_setting", of, moment), share_by_setting,
                          At("of", of) & At("moment", moment)};
      panel.dots.push_back(
          {name, grid::places_to(pairs.size()),
           [pairs, moment](const TrialRecord& record, std::size_t i) {
             return attention_share({*pairs[i].first, record}, *pairs[i].second, moment);
           },
           when, color, offset});
    };
    add("start", "before training", 6, -0.15);
    add("end", "after training", 3, 0.15);
    out.push_back(std::move(panel));
  }
  return out;
}

}  // namespace

void derive_variants(Numbers& out, const Trained& all) {
  for (const grid::DotPanel& shares : shares_of(all)) shares.derive(out);
  for (const Group& setting : settings_of(all)) OneSetting(all, setting).derive(out);
}

void draw_variants(Display& out, const Trained& all) {
  const bool compares_starts = all.config.init.size() > 1;
  for (const grid::DotPanel& shares : shares_of(all)) {
    shares.show(out).line(1, "no discount").group("share");
    out.columns(1);
  }
  bool is_first = true;
  for (const Group& setting : settings_of(all)) {
    const OneSetting figures(all, setting);
    if (compares_starts || !is_first) out.next_figure("Losses" + figures.where());
    is_first = false;
    figures.add_losses(out);
    figures.add_learned_taus(out);
    figures.add_details(out);
  }
  out.note(
      "The line named guessing is the loss of a model that ignores its input. Curves of the "
      "held-out loss start after a tenth of the steps.");
}

}  // namespace ranklab::train
