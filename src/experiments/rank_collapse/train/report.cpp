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
    for (const std::string& name : of_representations(plan, when)) out.series(prefix + when + name, "layer");
    for (const std::string& name : of_blocks(plan, when)) out.series(prefix + when + name, "block", 1);
  }
  if (plan.config.compares_variants()) out.series(prefix + test_loss, "step", tenths_of(curve, 0));
  if (plan.config.compares_variants() && task.is_text()) {
    for (const char* name : {future_loss, future_excess, future_gradient}) out.scalar(prefix + name);
  }
  for (const char* name : {final_train_loss, final_test_loss, final_accuracy, steps_to_90, diverged}) out.scalar(prefix + name);
  if (!curve.learns) return;
  for (std::uint64_t l = 1; l <= curve.layers; ++l) out.scalar(prefix + learned_lambda + std::to_string(l));
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

// Panels: a colour for each lambda, the same in all of them; a panel for each group. ---------------------------------------------

std::string lambda_label(const Curve& curve) {
  const std::size_t at = curve.name.find("lambda=learned");
  if (!curve.learns || at == std::string::npos) return "lambda = " + series_number(curve.lambda);
  const std::string word = curve.name.substr(at + 7, curve.name.find(',', at) - at - 7);  // learned, or learned:0.1
  const std::size_t colon = word.find(':');
  return colon == std::string::npos ? word : "learned, rate x " + word.substr(colon + 1);
}

struct Palette {
  std::map<std::string, int> of;
  int operator()(const Curve& curve) { return of.try_emplace(lambda_label(curve), static_cast<int>(of.size())).first->second; }
};

/// Where a learned lambda ends: the mean over the blocks.
double mean_learned(const TrialRecord& record, const Curve& curve) {
  double sum = 0;
  for (std::uint64_t l = 1; l <= curve.layers; ++l) sum += record.scalar(curve.name + "." + learned_lambda + std::to_string(l));
  return sum / static_cast<double>(curve.layers);
}

/// The final accuracies of these curves against their lambdas, a dot for each training: it learns or it guesses, so that a mean and
/// its band would show what no training does.
void add_dots(ResultBuilder& out, PanelBuilder& panel, const std::vector<const Curve*>& curves, const std::string& name,
              const std::string& label) {
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

void add_accuracy_over_lambda(ResultBuilder& out, const Plan& plan, const std::vector<const Curve*>& groups, const Task& task) {
  if (out.records().empty()) return;
  PanelBuilder panel = out.panel("Accuracy after training, a dot for each seed", {"lambda (learned: its mean at the end)"},
                                 unit_axis("share of right answers"));
  for (const Curve* group : groups) {
    std::vector<const Curve*> fixed;
    for (const Curve& curve : plan.curves) {
      if (curve.group == group->group && !curve.learns) fixed.push_back(&curve);
    }
    if (fixed.size() < 2) continue;
    add_dots(out, panel, fixed, group->group + ".accuracy_over_lambda", group->group);
    if (const Curve* const learned = plan.learned(*group))
      add_dots(out, panel, {learned}, group->group + ".accuracy_of_learned", group->group + ", learned");
  }
  panel.line(task.chance(), "guessing");
}

void add_group(ResultBuilder& out, const Plan& plan, const Curve& group, const Task& task) {
  Palette colour;
  const bool text = task.is_text();
  PanelBuilder learning = text ? out.panel("Loss on the training text, " + group.group, {"step"}, log_axis("nats per token"))
                               : out.panel("Learning, " + group.group, {"step"}, unit_axis("share of right answers"));
  const Axis layers = {"layer (dashed: before training)"};
  PanelBuilder mu = out.panel("Tokens, " + group.group, layers, Axis{"mu / ||R||", Scale::log, {}, {collapsed, 1}});
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    learning.curve(curve.name + "." + (text ? train_loss : accuracy), lambda_label(curve), {LineStyle::line, colour(curve)});
    mu.curve(curve.name + ".start." + mu_normalized, "", {LineStyle::dashed, colour(curve)});
    mu.curve(curve.name + ".end." + mu_normalized, lambda_label(curve), {LineStyle::line, colour(curve)});
  }
  mu.line(collapsed, "collapsed");
  if (!text) learning.line(task.chance(), "guessing");
  if (!task.classifies()) return;
  PanelBuilder images = out.panel("Between images, " + group.group, layers, unit_axis("dispersion"));
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    images.curve(curve.name + ".start." + dispersion, "", {LineStyle::dashed, colour(curve)});
    images.curve(curve.name + ".end." + dispersion, lambda_label(curve), {LineStyle::line, colour(curve)});
  }
}

void add_learned(ResultBuilder& out, const Plan& plan) {
  PanelBuilder panel = out.panel("Learned lambda", {"block"}, {"lambda"});
  for (const Curve& curve : plan.curves) {
    if (!curve.learns) continue;
    const std::string label = lambda_label(curve), slower = label == "learned" ? "" : label.substr(7);  // ", rate x 0.1"
    panel.curve(curve.name + ".learned_lambda", curve.group + slower, {LineStyle::line_points});
  }
  panel.line(plan.config.lambda_start, "start");
}

// Panels where variants are compared: a colour for each variant with its rate and mean. ------------------------------------------

std::string variant_label(const Plan& plan, const Curve& curve) {
  const TrainConfig& c = plan.config;
  std::string label = curve.variant;
  if (curve.variant == "post" && c.lr_post.size() > 1) label += ", lr = " + series_number(curve.lr);
  if (curve.variant == "post" && c.warmup_post.size() > 1) label += ", warm-up " + std::to_string(curve.warmup);
  if (!curve.mean.empty() && c.mean.size() > 1) label += ", " + curve.mean + " mean";
  return label;
}

/// Pre-norm blue, post-norm vermilion, de-escalated green in every figure; further rates and means have colours of their own.
int colour_of(const Plan& plan, const Curve& curve) {
  static const std::map<std::string, std::vector<int>> colours = {{"pre", {0}}, {"post", {1, 4, 3, 6}}, {"de-escalated", {2, 5}}};
  std::vector<std::string> labels;  // of the variant
  for (const Curve& each : plan.curves) {
    const std::string label = variant_label(plan, each);
    if (each.variant == curve.variant && std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  const auto place = std::find(labels.begin(), labels.end(), variant_label(plan, curve)) - labels.begin();
  const std::vector<int>& own = colours.at(curve.variant);
  return own[static_cast<std::size_t>(place) % own.size()];
}

/// The final training loss of the curves of one setting over their depths.
void add_loss_over_depth(ResultBuilder& out, const Plan& plan, const std::string& setting, const Task& task) {
  std::map<std::string, std::vector<const Curve*>> of_label;
  std::vector<std::string> labels;
  for (const Curve& curve : plan.curves) {
    if (curve.setting != setting) continue;
    const std::string label = variant_label(plan, curve);
    if (!of_label.contains(label)) labels.push_back(label);
    of_label[label].push_back(&curve);
  }
  PanelBuilder panel = out.panel("Final training loss" + (setting.empty() ? "" : ", " + setting), {"blocks"}, {"nats"});
  for (const std::string& label : labels) {
    const std::vector<const Curve*>& curves = of_label.at(label);
    if (curves.size() < 2) return;
    std::vector<double> depths;
    for (const Curve* curve : curves) depths.push_back(static_cast<double>(curve->layers));
    const std::string name = (setting.empty() ? "" : setting + ",") + label + ".loss_over_depth";
    out.series(name, "blocks", depths, [curves](const TrialRecord& record, std::size_t i) {
      return record.scalar(curves[i]->name + "." + final_train_loss);
    });
    panel.curve(name, label, {LineStyle::line_points, colour_of(plan, *curves.front())});
  }
  panel.line(task.guessing_loss(), "guessing");
}

/// Of one setting and depth: losses, tokens and gradients.
void add_variants(ResultBuilder& out, const Plan& plan, const std::string& setting, std::uint64_t layers, const Task& task) {
  const std::string where = ", L = " + std::to_string(layers) + (setting.empty() ? "" : ", " + setting);
  const auto panel_of = [&](const std::string& title, const Axis& x, const Axis& y, const auto& each) {
    PanelBuilder panel = out.panel(title + where, x, y);
    const Curve* before = nullptr;
    for (const Curve& curve : plan.curves) {
      if (curve.setting != setting || curve.layers != layers) continue;
      // Curves of several rates stand side by side, and are one before training.
      const bool starts = !before || before->variant != curve.variant || before->mean != curve.mean;
      each(panel, curve.name + ".", variant_label(plan, curve), colour_of(plan, curve), starts);
      before = &curve;
    }
    return panel;
  };
  panel_of("Training loss", {"step"}, {"nats"},
           [](PanelBuilder& panel, const std::string& name, const std::string& label, int colour, bool) {
             panel.curve(name + train_loss, label, {LineStyle::line, colour});
           })
      .line(task.guessing_loss(), "guessing");
  panel_of("Held-out loss", {"step"}, {"nats"},
           [](PanelBuilder& panel, const std::string& name, const std::string& label, int colour, bool) {
             panel.curve(name + test_loss, label, {LineStyle::line, colour});
           })
      .line(task.guessing_loss(), "guessing");
  const auto before_and_after = [](const std::string& before, const std::string& after) {
    return [before, after](PanelBuilder& panel, const std::string& name, const std::string& label, int colour, bool starts) {
      if (starts) panel.curve(name + before, "", {LineStyle::dashed, colour});
      panel.curve(name + after, label, {LineStyle::line, colour});
    };
  };
  const auto at = [](const char* moment, const char* what) { return std::string(moment) + what; };
  const Axis blocks = {"block (dashed: before training)"};
  panel_of("Token similarity", blocks, unit_axis("token similarity"),
           before_and_after(at("start.", token_similarity), at("end.", token_similarity)));
  panel_of("Gradient norm", {"block (dashed: start, solid: after 1/8)"}, log_axis("gradient norm"),
           before_and_after(at("start.", block_gradient), at("eighth.", block_gradient)));
  panel_of("Attention beside the residual", blocks, log_axis("||A|| / ||X||"),
           before_and_after(at("start.", branch_ratio), at("end.", branch_ratio)));
}

/// The losses at all depths in every setting; the rest at the largest depth.
void add_panels_of_variants(ResultBuilder& out, const Plan& plan, const Task& task) {
  std::vector<std::string> settings;
  for (const Curve& curve : plan.curves) {
    if (std::find(settings.begin(), settings.end(), curve.setting) == settings.end()) settings.push_back(curve.setting);
  }
  const std::uint64_t deepest = *std::max_element(plan.config.layers.begin(), plan.config.layers.end());
  for (const std::string& setting : settings) {
    add_loss_over_depth(out, plan, setting, task);
    add_variants(out, plan, setting, deepest, task);
  }
}

}  // namespace

Result report(const Plan& plan, const Task& task, const Records& records) {
  ResultBuilder out(
      plan.config.compares_variants()
          ? "Post-norm, pre-norm and de-escalated models learn: what the place of the norms does to losses and to tokens"
          : "Models with lambda-skip connections learn: what lambda does to accuracy and to the tokens",
      records);
  out.claims().set_unit(Unit::training);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  for (const Curve& curve : plan.curves) add_curve(out, plan, task, curve);
  judge(plan, task, records, out.claims());
  if (plan.config.compares_variants()) {
    add_panels_of_variants(out, plan, task);
    out.note(task.description());
    out.note("Dashed curves over blocks are before training, the others after it, those of gradients after an eighth of it.");
  } else {
    const std::vector<const Curve*> groups = plan.groups();
    add_accuracy_over_lambda(out, plan, groups, task);
    for (const Curve* group : groups) add_group(out, plan, *group, task);
    add_learned(out, plan);
    out.note(task.description());
    out.note("Dashed curves over layers are before training.");
  }
  for (const Curve& curve : plan.curves) {
    double count = 0;
    for (const TrialRecord& record : records) count += record.scalar(curve.name + "." + diverged);
    if (count == 0) continue;
    out.diverged_where(curve.name + "." + diverged);
    out.note(curve.name + " diverged in " + short_number(count) + " of " + counted(records.size(), "trial") + ".");
  }
  return out.take();
}

}  // namespace ranklab::train
