#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/rank_collapse/train/train.hpp"
#include "report/figure/builder.hpp"

namespace ranklab::train {
namespace {

std::vector<double> tenths_of(const Curve& curve, std::size_t first) {
  std::vector<double> steps;
  for (std::size_t i = first; i <= tenths; ++i) {
    steps.push_back(static_cast<double>(i * curve.steps) / static_cast<double>(tenths));
  }
  return steps;
}

void add_curve(ResultBuilder& out, const Plan& plan, const Task& task, const Curve& curve) {
  const std::string prefix = curve.name + ".";
  out.series(prefix + train_loss, "step", tenths_of(curve, 1));
  out.series(prefix + accuracy, "step", tenths_of(curve, 0));
  for (const std::string& when : moments) {
    for (const std::string& name : representation_series(plan, when))
      out.series(prefix + when + name, "layer");
    for (const std::string& name : block_series(plan, when))
      out.series(prefix + when + name, "block", 1);
  }
  if (plan.config.compares_variants()) out.series(prefix + test_loss, "step", tenths_of(curve, 0));
  if (plan.config.compares_variants() && task.is_text()) {
    for (const char* name : {future_loss, future_excess, future_gradient})
      out.scalar(prefix + name);
  }
  for (const char* name :
       {final_train_loss, final_test_loss, final_accuracy, steps_to_90, diverged})
    out.scalar(prefix + name);
  if (!curve.learns) return;
  for (std::uint64_t l = 1; l <= curve.layers; ++l)
    out.scalar(prefix + learned_lambda + std::to_string(l));
  out.series(
      prefix + "learned_lambda", "block",
      [&] {
        std::vector<double> blocks;
        for (std::uint64_t l = 1; l <= curve.layers; ++l) blocks.push_back(static_cast<double>(l));
        return blocks;
      }(),
      [&curve](const TrialRecord& record, std::size_t i) {
        return record.scalar(curve.name + "." + learned_lambda + std::to_string(i + 1));
      });
}

// Panels for comparisons of lambda: one panel per group, one color per lambda in all panels -------

std::string lambda_label(const Curve& curve) {
  const std::size_t at = curve.name.find("lambda=learned");
  if (!curve.learns || at == std::string::npos) return "lambda = " + series_number(curve.lambda);
  const std::string word =
      curve.name.substr(at + 7, curve.name.find(',', at) - at - 7);  // learned, or learned:0.1
  const std::size_t colon = word.find(':');
  return colon == std::string::npos ? word : "learned, rate x " + word.substr(colon + 1);
}

struct Palette {
  std::map<std::string, int> of;
  int operator()(const Curve& curve) {
    return of.try_emplace(lambda_label(curve), static_cast<int>(of.size())).first->second;
  }
};

/// The final value of a learned lambda, averaged over the blocks.
double mean_learned(const TrialRecord& record, const Curve& curve) {
  double sum = 0;
  for (std::uint64_t l = 1; l <= curve.layers; ++l)
    sum += record.scalar(curve.name + "." + learned_lambda + std::to_string(l));
  return sum / static_cast<double>(curve.layers);
}

/// Final accuracies of these curves against their lambdas, one dot per training. A run either
/// learns or guesses, so a mean with a band would show what no run does.
void add_dots(ResultBuilder& out, PanelBuilder& panel, const std::vector<const Curve*>& curves,
              const std::string& name, const std::string& label) {
  std::vector<double> x, y;
  for (const Curve* curve : curves) {
    for (const TrialRecord& record : out.records()) {
      x.push_back(curve->learns ? mean_learned(record, *curve) : curve->lambda);
      y.push_back(record.scalar(curve->name + "." + final_accuracy));
    }
  }
  out.series_of_points(name, "lambda", x, y);
  panel.curve(name, label, {LineStyle::points});
}

void add_accuracy_over_lambda(ResultBuilder& out, const Plan& plan,
                              const std::vector<const Curve*>& groups, const Task& task) {
  if (out.records().empty()) return;
  PanelBuilder panel =
      out.panel("Accuracy after training, one dot per seed",
                {"lambda (learned: mean over blocks at the end)"}, unit_axis("accuracy"));
  for (const Curve* group : groups) {
    std::vector<const Curve*> fixed;
    for (const Curve& curve : plan.curves) {
      if (curve.group == group->group && !curve.learns) fixed.push_back(&curve);
    }
    if (fixed.size() < 2) continue;
    add_dots(out, panel, fixed, group->group + ".accuracy_over_lambda", group->group);
    if (const Curve* const learned = plan.learned(*group))
      add_dots(out, panel, {learned}, group->group + ".accuracy_of_learned",
               group->group + ", learned");
  }
  panel.line(task.chance(), "guessing");
}

void add_group(ResultBuilder& out, const Plan& plan, const Curve& group, const Task& task) {
  Palette color;
  const bool text = task.is_text();
  PanelBuilder learning =
      text ? out.panel("Training loss, " + group.group, {"step"}, log_axis("loss (nats)"))
           : out.panel("Held-out accuracy, " + group.group, {"step"}, unit_axis("accuracy"));
  const Axis layers = {"layer (dashed: before training)"};
  PanelBuilder mu = out.panel("Normalized mu, " + group.group, layers,
                              Axis{"mu / ||R||", Scale::log, {}, {collapsed, 1}});
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    learning.curve(curve.name + "." + (text ? train_loss : accuracy), lambda_label(curve),
                   {LineStyle::line, color(curve)});
    mu.curve(curve.name + ".start." + mu_normalized, "", {LineStyle::dashed, color(curve)});
    mu.curve(curve.name + ".end." + mu_normalized, lambda_label(curve),
             {LineStyle::line, color(curve)});
  }
  mu.line(collapsed, "collapsed");
  if (!text) learning.line(task.chance(), "guessing");
  if (!task.classifies()) return;
  PanelBuilder images =
      out.panel("Dispersion between images, " + group.group, layers, unit_axis("dispersion"));
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    images.curve(curve.name + ".start." + dispersion, "", {LineStyle::dashed, color(curve)});
    images.curve(curve.name + ".end." + dispersion, lambda_label(curve),
                 {LineStyle::line, color(curve)});
  }
}

void add_learned(ResultBuilder& out, const Plan& plan) {
  PanelBuilder panel = out.panel("Learned lambda", {"block"}, {"lambda"});
  for (const Curve& curve : plan.curves) {
    if (!curve.learns) continue;
    const std::string label = lambda_label(curve),
                      rate = label == "learned" ? "" : label.substr(7);  // ", rate x 0.1"
    panel.curve(curve.name + ".learned_lambda", curve.group + rate, {LineStyle::line_points});
  }
  panel.line(plan.config.lambda_start, "initial value");
}

// Panels for comparisons of variants: one color per variant, learning rate and mean ---------------

std::string variant_label(const Plan& plan, const Curve& curve) {
  const TrainConfig& c = plan.config;
  std::string label = curve.variant;
  if (curve.variant == "post" && c.lr_post.size() > 1) label += ", lr = " + series_number(curve.lr);
  if (curve.variant == "post" && c.warmup_post.size() > 1)
    label += ", warm-up " + std::to_string(curve.warmup);
  if (!curve.mean.empty() && c.mean.size() > 1) label += ", " + curve.mean + " mean";
  return label;
}

/// Pre-norm is blue, post-norm vermilion and de-escalated green in every figure. Further learning
/// rates and means get other colors.
int color_of(const Plan& plan, const Curve& curve) {
  static const std::map<std::string, std::vector<int>> colors = {
      {"pre", {0}}, {"post", {1, 4, 3, 6}}, {"de-escalated", {2, 5}}};
  std::vector<std::string> labels;  // of the curve's variant
  for (const Curve& each : plan.curves) {
    const std::string label = variant_label(plan, each);
    if (each.variant == curve.variant &&
        std::find(labels.begin(), labels.end(), label) == labels.end())
      labels.push_back(label);
  }
  const auto place =
      std::find(labels.begin(), labels.end(), variant_label(plan, curve)) - labels.begin();
  const std::vector<int>& choices = colors.at(curve.variant);
  return choices[static_cast<std::size_t>(place) % choices.size()];
}

/// Final training loss over depth for the curves of one setting.
void add_loss_over_depth(ResultBuilder& out, const Plan& plan, const std::string& setting,
                         const Task& task) {
  std::map<std::string, std::vector<const Curve*>> of_label;
  std::vector<std::string> labels;
  for (const Curve& curve : plan.curves) {
    if (curve.setting != setting) continue;
    const std::string label = variant_label(plan, curve);
    if (!of_label.contains(label)) labels.push_back(label);
    of_label[label].push_back(&curve);
  }
  PanelBuilder panel = out.panel("Final training loss" + (setting.empty() ? "" : ", " + setting),
                                 {"number of blocks"}, {"loss (nats)"});
  for (const std::string& label : labels) {
    const std::vector<const Curve*>& curves = of_label.at(label);
    if (curves.size() < 2) return;
    std::vector<double> depths;
    for (const Curve* curve : curves) depths.push_back(static_cast<double>(curve->layers));
    const std::string name = (setting.empty() ? "" : setting + ",") + label + ".loss_over_depth";
    out.series(name, "blocks", depths, [curves](const TrialRecord& record, std::size_t i) {
      return record.scalar(curves[i]->name + "." + final_train_loss);
    });
    panel.curve(name, label, {LineStyle::line_points, color_of(plan, *curves.front())});
  }
  panel.line(task.guessing_loss(), "guessing");
}

/// Losses, tokens and gradients for one setting and depth.
void add_variants(ResultBuilder& out, const Plan& plan, const std::string& setting,
                  std::uint64_t layers, const Task& task) {
  const std::string where =
      ", L = " + std::to_string(layers) + (setting.empty() ? "" : ", " + setting);
  const auto panel_of = [&](const std::string& title, const Axis& x, const Axis& y,
                            const auto& each) {
    PanelBuilder panel = out.panel(title + where, x, y);
    const Curve* before = nullptr;
    for (const Curve& curve : plan.curves) {
      if (curve.setting != setting || curve.layers != layers) continue;
      // Curves that differ only in learning rate are adjacent and coincide before training.
      const bool is_first =
          !before || before->variant != curve.variant || before->mean != curve.mean;
      each(panel, curve.name + ".", variant_label(plan, curve), color_of(plan, curve), is_first);
      before = &curve;
    }
    return panel;
  };
  panel_of(
      "Training loss", {"step"}, {"loss (nats)"},
      [](PanelBuilder& panel, const std::string& name, const std::string& label, int color, bool) {
        panel.curve(name + train_loss, label, {LineStyle::line, color});
      })
      .line(task.guessing_loss(), "guessing");
  panel_of(
      "Held-out loss", {"step"}, {"loss (nats)"},
      [](PanelBuilder& panel, const std::string& name, const std::string& label, int color, bool) {
        panel.curve(name + test_loss, label, {LineStyle::line, color});
      })
      .line(task.guessing_loss(), "guessing");
  const auto before_and_after = [](const std::string& before, const std::string& after) {
    return [before, after](PanelBuilder& panel, const std::string& name, const std::string& label,
                           int color, bool is_first) {
      if (is_first) panel.curve(name + before, "", {LineStyle::dashed, color});
      panel.curve(name + after, label, {LineStyle::line, color});
    };
  };
  const auto at = [](const char* moment, const char* what) { return std::string(moment) + what; };
  const Axis blocks = {"block (dashed: before training)"};
  panel_of("Token similarity", blocks, unit_axis("token similarity"),
           before_and_after(at("start.", token_similarity), at("end.", token_similarity)));
  panel_of("Gradient norm (solid: after 1/8 of the steps)", blocks, log_axis("gradient norm"),
           before_and_after(at("start.", block_gradient), at("eighth.", block_gradient)));
  panel_of("Attention branch relative to the residual stream", blocks, log_axis("||A|| / ||X||"),
           before_and_after(at("start.", branch_ratio), at("end.", branch_ratio)));
}

/// Final losses at all depths in every setting; the other panels at the largest depth.
void add_panels_of_variants(ResultBuilder& out, const Plan& plan, const Task& task) {
  std::vector<std::string> settings;
  for (const Curve& curve : plan.curves) {
    if (std::find(settings.begin(), settings.end(), curve.setting) == settings.end())
      settings.push_back(curve.setting);
  }
  const std::uint64_t deepest =
      *std::max_element(plan.config.layers.begin(), plan.config.layers.end());
  for (const std::string& setting : settings) {
    add_loss_over_depth(out, plan, setting, task);
    add_variants(out, plan, setting, deepest, task);
  }
}

}  // namespace

Result report(const Plan& plan, const Task& task, const Records& records) {
  ResultBuilder out(
      plan.config.compares_variants()
          ? "Training post-norm, pre-norm and de-escalated models: effect of norm placement on "
            "losses and tokens"
          : "Training models with lambda-skip connections: effect of lambda on accuracy and tokens",
      records);
  out.claims().set_unit(Unit::training);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  for (const Curve& curve : plan.curves) add_curve(out, plan, task, curve);
  judge(plan, task, records, out.claims());
  if (plan.config.compares_variants()) {
    add_panels_of_variants(out, plan, task);
    out.note(task.description());
    out.note(
        "Curves over blocks are dashed before training and solid after training; solid gradient "
        "norms are after an eighth of the steps.");
  } else {
    const std::vector<const Curve*> groups = plan.groups();
    add_accuracy_over_lambda(out, plan, groups, task);
    for (const Curve* group : groups) add_group(out, plan, *group, task);
    add_learned(out, plan);
    out.note(task.description());
    out.note("Curves over layers are dashed before training and solid after training.");
  }
  for (const Curve& curve : plan.curves) {
    double count = 0;
    for (const TrialRecord& record : records) count += record.scalar(curve.name + "." + diverged);
    if (count == 0) continue;
    out.diverged_where(curve.name + "." + diverged);
    out.note(curve.name + " diverged in " + short_number(count) + " of " +
             counted(records.size(), "trial") + ".");
  }
  return out.take();
}

}  // namespace ranklab::train
