// Figures of comparisons of variants: [Shallow] Figures 6 and 7, which show losses.
#include <algorithm>
#include <map>
#include <numeric>

#include "experiments/rank_collapse/trainings/train.hpp"

namespace ranklab::train {
namespace {

/// The variant and its settings, for what is derived from several depths.
At variant_place(const Config& c, const Curve& curve) {
  At at("variant", curve.variant);
  const auto add = [&](const At& setting) {
    const std::string words = at.text + ", " + setting.text;
    at = at & setting;
    at.text = words;
  };
  if (curve.variant == "post" && c.lr_post.size() > 1)
    add({"lr", curve.lr, "lr = " + series_number(curve.lr)});
  if (curve.variant == "post" && c.warmup_post.size() > 1)
    add({"warmup", curve.warmup, "warm-up " + std::to_string(curve.warmup)});
  if (!curve.mean.empty() && c.mean.size() > 1) add({"mean", curve.mean, curve.mean + " mean"});
  if (!curve.removal.empty()) add({"removal", curve.removal});
  return at;
}

/// Pre-norm is blue, post-norm vermilion and de-escalated green in every figure. Further learning
/// rates, means and removals get other colors.
int color_of_variant(const TrainedRuns& runs, const Curve& curve) {
  static const std::map<std::string, std::vector<int>> colors = {
      {"pre", {0}}, {"post", {1, 4, 3, 6}}, {"de-escalated", {2, 5, 3, 4, 6, 9, 12}}};
  std::vector<const Curve*> before;  // one of each kind, of the same variant
  for (const Curve& each : runs.curves) {
    if (each.same_variant(curve)) break;
    const bool is_known =
        std::ranges::any_of(before, [&](const Curve* other) { return other->same_variant(each); });
    if (each.variant == curve.variant && !is_known) before.push_back(&each);
  }
  const std::vector<int>& choices = colors.at(curve.variant);
  return choices[before.size() % choices.size()];
}

/// The figures of one setting.
class VariantFigures {
 public:
  /// Of the curves with the setting of `first`, the first of them.
  VariantFigures(ResultBuilder& out, const TrainedRuns& runs, const Curve& first)
      : out_(out), task_(runs.task) {
    for (const Curve& curve : runs.curves) {
      if (!curve.same_setting(first)) continue;
      auto found = std::find_if(families_.begin(), families_.end(), [&](const Family& family) {
        return family.curves.front()->same_variant(curve);
      });
      if (found == families_.end())
        found = families_.insert(found, {variant_place(runs.config, curve),
                                         variant_name(runs.config, curve),
                                         color_of_variant(runs, curve),
                                         {}});
      found->curves.push_back(&curve);
    }
    setting_ = first.setting_place;
    const std::string words = setting_name(runs.config, first);
    where_ = words.empty() ? "" : ", " + words;
  }

  std::string where() const { return where_; }

  /// Final losses at every depth, and losses over the steps at the largest depth.
  void add_losses() {
    add_series_over_depth();
    add_final_losses(final_train_loss, "Final training loss");
    add_final_losses(final_test_loss, "Final held-out loss");
    add_loss_curves("Training loss", [](const Curve& curve) { return curve.key(train_loss); });
    for (const Family& family : families_) add_later_test_loss(deepest_of(family));
    add_loss_curves("Held-out loss", [](const Curve& curve) { return curve.key(later_test_loss); });
    out_.columns(2);
  }

  /// Every learned tau at the largest depth.
  void add_learned_taus() {
    std::vector<const Family*> learned;
    for (const Family& family : families_) {
      if (deepest_of(family).learns_tau) learned.push_back(&family);
    }
    if (learned.empty()) return;
    PanelBuilder panel =
        out_.panel("Learned tau after training" + depth_words() + where_, {"block"}, {"tau"});
    for (const Family* family : learned) {
      panel.curve(deepest_of(*family).key(learned_tau), family->name,
                  trials_look(LineStyle::line, family->color));
    }
  }

  /// Tokens, gradients and attention branches at the largest depth: many noisy curves, so that each
  /// variant has its own panels.
  void add_details() {
    std::vector<std::string> items;
    for (const Family& family : families_) items.push_back(capitalized(family.name));
    const auto before_and_after = [this](const std::string& what, const std::string& moment,
                                         const std::string& when) {
      return [this, what, moment, when](PanelBuilder& panel, std::size_t item) {
        const Curve& curve = deepest_of(families_[item]);
        panel
            .curve(curve.key("start", what), "before training",
                   trials_look(LineStyle::dashed, color_before))
            .curve(curve.key(moment, what), when, trials_look(LineStyle::line, color_after));
      };
    };
    add_small_multiples(out_, "Tokens, gradients and attention", depth_words() + where_, items,
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
  /// Curves that differ only in depth.
  struct Family {
    At place;
    std::string name;
    int color;
    std::vector<const Curve*> curves;
  };

  // Panels of one variant tell moments apart by color.
  static constexpr int color_before = 6, color_after = 3;
  static constexpr char later_test_loss[] = "later_test_loss";

  static const Curve& deepest_of(const Family& family) {
    return **std::max_element(family.curves.begin(), family.curves.end(),
                              [](const Curve* a, const Curve* b) { return a->layers < b->layers; });
  }

  std::string depth_words() const {
    return ", " + plural(deepest_of(families_.front()).layers, "block");
  }

  /// Final training losses against the number of blocks.
  void add_series_over_depth() {
    for (const Family& family : families_) {
      std::vector<double> depths;
      for (const Curve* curve : family.curves) depths.push_back(static_cast<double>(curve->layers));
      if (depths.size() < 2) return;
      out_.series((setting_ & family.place) / "loss_over_depth", "blocks", depths,
                  [&family](const TrialRecord& record, std::size_t i) {
                    return TrainedRun{*family.curves[i], record}(final_train_loss);
                  });
    }
  }

  /// Every training at one named place per depth, where the variants are side by side.
  void add_final_losses(const std::string& what, const std::string& title) {
    std::vector<std::string> depths;
    for (const Curve* curve : families_.front().curves)
      depths.push_back(std::to_string(curve->layers));
    std::vector<double> places(depths.size());
    std::iota(places.begin(), places.end(), 1.0);
    PanelBuilder panel = out_.panel(title + where_, Axis{"number of blocks", Scale::linear, depths},
                                    nonnegative_axis("loss (nats)"));
    const double distance = 0.8 / static_cast<double>(families_.size());
    double offset = -0.4 + distance / 2;
    for (const Family& family : families_) {
      const Quantity name = (setting_ & family.place) / (what + "_by_depth");
      out_.series(name, "place", places, [&](const TrialRecord& record, std::size_t i) {
        return TrainedRun{*family.curves[i], record}(what);
      });
      panel.curve(name, family.name, trials_look(LineStyle::points, family.color, offset));
      offset += distance;
    }
    panel.line(task_.guessing_loss(), "guessing").group("final loss");
  }

  /// The held-out loss without that before training, which is far above the others.
  void add_later_test_loss(const Curve& curve) {
    out_.series(curve.key(later_test_loss), "step", curve.tenths_from(1),
                [&curve](const TrialRecord& record, std::size_t i) {
                  return TrainedRun{curve, record}.array(test_loss).at(i + 1);
                });
  }

  template <class SeriesOf>
  void add_loss_curves(const std::string& title, const SeriesOf& series_of) {
    PanelBuilder panel = out_.panel(title + depth_words() + where_, {"training step"},
                                    nonnegative_axis("loss (nats)"));
    for (const Family& family : families_) {
      panel.curve(series_of(deepest_of(family)), family.name,
                  trials_look(LineStyle::line, family.color));
    }
    panel.line(task_.guessing_loss(), "guessing").group("loss");
  }

  ResultBuilder& out_;
  const Task& task_;
  std::vector<Family> families_;
  At setting_;
  std::string where_;
};

/// Attention's share in the de-escalated curves, relative to pre-norm and post-norm, one place for
/// each start and depth.
void add_shares(ResultBuilder& out, const TrainedRuns& runs) {
  const auto find = [&](const std::string& variant, const Curve& like) {
    const auto found = std::find_if(runs.curves.begin(), runs.curves.end(), [&](const Curve& each) {
      return each.variant == variant && each.layers == like.layers && each.same_setting(like);
    });
    return found == runs.curves.end() ? nullptr : &*found;
  };
  for (const auto& [variant, title] : {std::pair("pre", "pre-norm"), {"post", "post-norm"}}) {
    std::vector<std::pair<const Curve*, const Curve*>> pairs;
    std::vector<std::string> names;
    for (const Curve& curve : runs.curves) {
      const Curve* const other = find(variant, curve);
      if (curve.variant != "de-escalated" || !other) continue;
      pairs.emplace_back(&curve, other);
      names.push_back(curve.init + ", " + std::to_string(curve.layers));
    }
    if (pairs.empty()) continue;
    std::vector<double> places(pairs.size());
    std::iota(places.begin(), places.end(), 1.0);
    PanelBuilder panel = out.panel("Attention's share, de-escalated over " + std::string(title),
                                   Axis{"initial weights, number of blocks", Scale::linear, names},
                                   log_axis("ratio of ||A|| / ||X||, mean over blocks"));
    for (const auto& [moment, when, color, offset] :
         {std::tuple("start", "before training", 6, -0.15), {"end", "after training", 3, 0.15}}) {
      const Quantity name{say("share_of_{}.{}.by_setting", title, moment), "share.by_setting",
                          At("of", title) & At("moment", moment)};
      out.series(name, "place", places,
                 [pairs, at = std::string(moment)](const TrialRecord& record, std::size_t i) {
                   return attention_share({*pairs[i].first, record}, *pairs[i].second, at);
                 });
      panel.curve(name, when, trials_look(LineStyle::points, color, offset));
    }
    panel.line(1, "no discount").group("share");
  }
  out.columns(1);
}

}  // namespace

void draw_variants(ResultBuilder& out, const TrainedRuns& runs) {
  std::vector<const Curve*> settings;  // the first curve of each
  for (const Curve& curve : runs.curves) {
    if (std::ranges::none_of(settings,
                             [&](const Curve* each) { return each->same_setting(curve); }))
      settings.push_back(&curve);
  }
  const bool compares_starts = runs.config.init.size() > 1;
  if (compares_starts) add_shares(out, runs);
  for (const Curve* setting : settings) {
    VariantFigures figures(out, runs, *setting);
    if (compares_starts || setting != settings.front()) out.next_figure("Losses" + figures.where());
    figures.add_losses();
    figures.add_learned_taus();
    figures.add_details();
  }
  out.note(
      "The line named guessing is the loss of a model that ignores its input. Curves of the "
      "held-out loss start after a tenth of the steps.");
}

}  // namespace ranklab::train
