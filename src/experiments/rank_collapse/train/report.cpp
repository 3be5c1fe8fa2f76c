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

void add_curve(ResultBuilder& out, const Curve& curve) {
  const std::string prefix = curve.name + ".";
  out.series(prefix + train_loss, "step", tenths_of(curve, 1));
  out.series(prefix + accuracy, "step", tenths_of(curve, 0));
  for (const char* when : {"start.", "end."}) {
    for (const char* name : {mu_normalized, token_similarity, dispersion}) out.series(prefix + when + name, "layer");
  }
  for (const char* when : {"start.", "eighth.", "end."}) out.series(prefix + when + block_gradient, "block", 1);
  out.series(prefix + "start." + mixer_gradient, "block", 1);
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
  return curve.learns ? "learned" : "lambda = " + series_number(curve.lambda);
}

struct Palette {
  std::map<std::string, int> of;
  int operator()(const Curve& curve) { return of.try_emplace(lambda_label(curve), static_cast<int>(of.size())).first->second; }
};

/// The final accuracy of a group against its lambdas, and the line of the one that learns it.
void add_accuracy_over_lambda(ResultBuilder& out, const Plan& plan, const std::vector<const Curve*>& groups, const Task& task) {
  PanelBuilder panel = out.panel("Accuracy after training", {"lambda"}, unit_axis("share of right answers"));
  int colour = 0;
  for (const Curve* group : groups) {
    std::vector<const Curve*> fixed;
    for (const Curve& curve : plan.curves) {
      if (curve.group == group->group && !curve.learns) fixed.push_back(&curve);
    }
    std::sort(fixed.begin(), fixed.end(), [](const Curve* a, const Curve* b) { return a->lambda < b->lambda; });
    std::vector<double> lambdas;
    for (const Curve* curve : fixed) lambdas.push_back(curve->lambda);
    if (fixed.size() < 2) continue;
    const std::string name = group->group + ".accuracy_over_lambda";
    out.series(name, "lambda", lambdas,
               [fixed](const TrialRecord& record, std::size_t i) { return record.scalar(fixed[i]->name + "." + final_accuracy); });
    panel.curve(name, group->group, {LineStyle::line_points, colour});
    if (const Curve* const learned = plan.learned(*group)) {
      const std::string of_learned = group->group + ".accuracy_of_learned";
      out.series(of_learned, "lambda", {lambdas.front(), lambdas.back()},
                 [learned](const TrialRecord& record, std::size_t) { return record.scalar(learned->name + "." + final_accuracy); });
      panel.curve(of_learned, group->group + ", learned", {LineStyle::dashed, colour});
    }
    ++colour;
  }
  panel.line(task.chance(), "guessing");
}

void add_group(ResultBuilder& out, const Plan& plan, const Curve& group, const Task& task) {
  Palette colour;
  const bool text = task.is_text();
  PanelBuilder learning = text ? out.panel("Loss on the training text, " + group.group, {"step"}, log_axis("nats per token"))
                               : out.panel("Learning, " + group.group, {"step"}, unit_axis("share of right answers"));
  PanelBuilder mu = out.panel("Tokens, " + group.group, {"layer"}, log_axis("mu / ||R||"));
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    learning.curve(curve.name + "." + (text ? train_loss : accuracy), lambda_label(curve), {LineStyle::line, colour(curve)});
    mu.curve(curve.name + ".start." + mu_normalized, "", {LineStyle::dashed, colour(curve)});
    mu.curve(curve.name + ".end." + mu_normalized, lambda_label(curve), {LineStyle::line, colour(curve)});
  }
  if (!text) learning.line(task.chance(), "guessing");
  if (!task.classifies()) return;
  PanelBuilder images = out.panel("Between images, " + group.group, {"layer"}, log_axis("dispersion"));
  for (const Curve& curve : plan.curves) {
    if (curve.group != group.group) continue;
    images.curve(curve.name + ".start." + dispersion, "", {LineStyle::dashed, colour(curve)});
    images.curve(curve.name + ".end." + dispersion, lambda_label(curve), {LineStyle::line, colour(curve)});
  }
}

void add_learned(ResultBuilder& out, const Plan& plan) {
  PanelBuilder panel = out.panel("Learned lambda", {"block"}, {"lambda"});
  for (const Curve& curve : plan.curves) {
    if (curve.learns) panel.curve(curve.name + ".learned_lambda", curve.group, {LineStyle::line_points});
  }
  panel.line(plan.config.lambda_start, "start");
}

}  // namespace

Result report(const Plan& plan, const Task& task, const Records& records) {
  ResultBuilder out("Models with lambda-skip connections learn: what lambda does to accuracy and to the tokens", records);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  for (const Curve& curve : plan.curves) add_curve(out, curve);
  judge(plan, task, records, out.claims());
  const std::vector<const Curve*> groups = plan.groups();
  add_accuracy_over_lambda(out, plan, groups, task);
  for (const Curve* group : groups) add_group(out, plan, *group, task);
  add_learned(out, plan);
  out.note(task.description());
  out.note("Dashed curves over layers are before training.");
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
