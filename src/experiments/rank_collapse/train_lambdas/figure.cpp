// Figures of comparisons of lambda: [LambdaSkip] Table 1 and Figure 5, which is a table too. A run
// either learns or guesses, so curves show every run and the median, not means with a band.
#include <algorithm>
#include <numeric>

#include "experiments/rank_collapse/train/figures.hpp"
#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"

namespace ranklab::train {
namespace {

/// The final value of a learned lambda, averaged over the blocks.
double mean_learned(const TrialRecord& record, const Curve& curve) {
  double sum = 0;
  for (std::uint64_t l = 1; l <= curve.layers; ++l)
    sum += record.scalar(curve.name + "." + learned_lambda_of(l));
  return sum / static_cast<double>(curve.layers);
}

class LambdaFigures {
 public:
  LambdaFigures(ResultBuilder& out, const Plan& plan, const Task& task)
      : out_(out), plan_(plan), task_(task), groups_(plan.groups()) {
    for (const Curve* group : groups_) names_.push_back(capitalized(group_name(plan, *group)));
    for (const Curve* curve : curves_of_group(plan_, *groups_.front()))
      skips_.push_back(skip_name(*curve));
  }

  void add() {
    add_points_over_lambda();
    if (!task_.is_text()) add_printed_table(out_, plan_, task_);
    if (skips_.size() == 1) {
      add_learning_of_groups();
    } else if (task_.is_text()) {
      add_losses();
    } else {
      add_accuracies();
    }
    add_training_details();
    if (!task_.is_text() || skips_.size() > 1) add_tokens();
  }

 private:
  /// A lambda keeps its color in all panels.
  int color_of(const Curve& curve) const {
    return static_cast<int>(std::find(skips_.begin(), skips_.end(), skip_name(curve)) -
                            skips_.begin());
  }

  // Series without a curve ------------------------------------------------------------------------

  void add_points(const std::vector<const Curve*>& curves, const std::string& name) {
    std::vector<double> x, y;
    for (const Curve* curve : curves) {
      for (const TrialRecord& record : out_.records()) {
        x.push_back(curve->learns ? mean_learned(record, *curve) : curve->lambda);
        y.push_back(record.scalar(curve->name + "." + final_accuracy));
      }
    }
    out_.series_of_points(name, "lambda", x, y);
  }

  /// Final accuracies against lambda, one point per training; a learned lambda is the mean over the
  /// blocks at the end.
  void add_points_over_lambda() {
    for (const Curve* group : groups_) {
      std::vector<const Curve*> fixed = curves_of_group(plan_, *group);
      std::erase_if(fixed, [](const Curve* curve) { return curve->learns; });
      if (fixed.size() < 2) continue;
      add_points(fixed, group->group + ".accuracy_over_lambda");
      if (const Curve* const learned = plan_.learned(*group))
        add_points({learned}, group->group + ".accuracy_of_learned");
    }
  }

  // Panels of the main figure ---------------------------------------------------------------------

  /// The name of a group as a title; if groups differ only in their initial weights, with their
  /// law.
  std::string title_of(std::size_t i) const {
    const std::string& init = groups_[i]->init;
    const bool differs = plan_.config.init.size() > 1 && names_[i] == capitalized(start_name(init));
    return differs ? names_[i] + " (" + start_law(init) + ")" : names_[i];
  }

  /// Every training's accuracy, at one named place per lambda.
  void add_accuracies() {
    std::vector<double> places(skips_.size());
    std::iota(places.begin(), places.end(), 1.0);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::vector<const Curve*> curves = curves_of_group(plan_, *groups_[i]);
      const std::string name = groups_[i]->group + ".accuracy_by_skip";
      out_.series(name, "skip", places, [&curves](const TrialRecord& record, std::size_t at) {
        return record.scalar(curves[at]->name + "." + final_accuracy);
      });
      out_.panel(title_of(i), Axis{"strength of the skip, lambda", Scale::linear, skips_},
                 unit_axis("accuracy after training"))
          .curve(name, "single trainings and their median", trials_look(LineStyle::points, 0))
          .line(task_.chance(), "guessing")
          .group("accuracy");
    }
    out_.columns(columns_for(groups_.size()));
  }

  Axis learning_axis() const {
    return task_.is_text() ? nonnegative_axis("training loss (nats)")
                           : unit_axis("accuracy on held-out cases");
  }
  std::string learning_series(const Curve& curve) const {
    return curve.name + "." + (task_.is_text() ? train_loss : accuracy);
  }
  void draw_guessing(PanelBuilder& panel) const {
    panel.line(task_.is_text() ? task_.guessing_loss() : task_.chance(), "guessing");
  }
  void draw_learning(PanelBuilder& panel, const Curve& group) const {
    for (const Curve* curve : curves_of_group(plan_, group)) {
      panel.curve(learning_series(*curve), skip_label(*curve),
                  trials_look(LineStyle::line, color_of(*curve)));
    }
    draw_guessing(panel);
  }

  /// One curve per group in one panel, if all have the same single lambda.
  void add_learning_of_groups() {
    PanelBuilder panel = out_.panel(task_.is_text() ? "Training loss" : "Accuracy while training",
                                    {"training step"}, learning_axis());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      panel.curve(learning_series(*groups_[i]), names_[i],
                  trials_look(LineStyle::line, static_cast<int>(i)));
    }
    draw_guessing(panel);
  }

  void add_losses() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      PanelBuilder panel = out_.panel(title_of(i), {"training step"}, learning_axis());
      if (same_steps()) panel.group("loss");
      draw_learning(panel, *groups_[i]);
    }
    out_.columns(columns_for(groups_.size()));
  }

  // Further figures -------------------------------------------------------------------------------

  bool same_steps() const {
    return std::all_of(groups_.begin(), groups_.end(),
                       [&](const Curve* group) { return group->steps == groups_.front()->steps; });
  }

  void add_training_details() {
    const bool learns = std::any_of(plan_.curves.begin(), plan_.curves.end(),
                                    [](const Curve& curve) { return curve.learns; });
    std::vector<Quantity> quantities;
    if (!task_.is_text() && skips_.size() > 1) {
      quantities.push_back(
          {"accuracy",
           {"training step"},
           learning_axis(),
           [this](PanelBuilder& panel, std::size_t i) { draw_learning(panel, *groups_[i]); },
           same_steps()});
    }
    const std::string title = quantities.empty() ? "Learned lambda"
                              : learns           ? "Learning curves and learned lambda"
                                                 : "Learning curves";
    if (learns) {
      quantities.push_back({"learned lambda",
                            {"block"},
                            {"lambda after training"},
                            [this](PanelBuilder& panel, std::size_t i) {
                              for (const Curve* curve : curves_of_group(plan_, *groups_[i])) {
                                if (!curve->learns) continue;
                                panel.curve(curve->name + ".learned_lambda", skip_label(*curve),
                                            trials_look(LineStyle::line_points, color_of(*curve)));
                              }
                              panel.line(plan_.config.lambda_start, "initial value");
                            }});
    }
    add_small_multiples(out_, title, "", names_, quantities);
  }

  /// Whether a learned lambda starts where another curve of the group starts: before training they
  /// are the same model.
  bool starts_like_another(const Curve& curve) const {
    const std::vector<const Curve*> curves = curves_of_group(plan_, curve);
    return curve.learns && std::any_of(curves.begin(), curves.end(), [&](const Curve* other) {
             return other != &curve && other->lambda == curve.lambda &&
                    (!other->learns || other < &curve);
           });
  }

  /// A logarithmic axis if any model comes near collapse, otherwise the whole range from 0 to 1.
  Axis mu_axis() const {
    constexpr char label[] = "normalized mu, mu / ||R||";
    for (const Curve& curve : plan_.curves) {
      for (const TrialRecord& record : out_.records()) {
        for (const char* when : {".start.", ".end."}) {
          for (const double mu : record.array(curve.name + when + mu_normalized)) {
            if (mu < 10 * collapsed) return {label, Scale::log, {}, {collapsed, 1}};
          }
        }
      }
    }
    return unit_axis(label);
  }

  Quantity tokens(const std::string& what, const std::string& name, const std::string& moment,
                  const Axis& y) const {
    const bool before = moment == "start.", logarithmic = y.scale == Scale::log;
    return {name + (before ? " before training" : " after training"),
            {"layer (0: input)"},
            y,
            [this, what, moment, before, logarithmic](PanelBuilder& panel, std::size_t i) {
              for (const Curve* curve : curves_of_group(plan_, *groups_[i])) {
                if (before && starts_like_another(*curve)) continue;
                panel.curve(curve->name + "." + moment + what, skip_label(*curve),
                            trials_look(LineStyle::line, color_of(*curve)));
              }
              if (logarithmic) panel.line(collapsed, "collapsed");
            }};
  }

  void add_tokens() {
    constexpr std::size_t most_panels = 16;  // of one figure
    std::vector<Quantity> quantities, of_images;
    const Axis mu = mu_axis();
    for (const char* moment : {"start.", "end."}) {
      quantities.push_back(tokens(mu_normalized, "mu", moment, mu));
      if (task_.classifies()) {
        of_images.push_back(
            tokens(dispersion, "dispersion", moment, unit_axis("dispersion between images")));
      }
    }
    if ((quantities.size() + of_images.size()) * names_.size() <= most_panels) {
      quantities.insert(quantities.end(), of_images.begin(), of_images.end());
      of_images.clear();
    }
    add_small_multiples(out_, "Tokens before and after training", "", names_, quantities);
    add_small_multiples(out_, "Images before and after training", "", names_, of_images);
  }

  ResultBuilder& out_;
  const Plan& plan_;
  const Task& task_;
  const std::vector<const Curve*> groups_;
  std::vector<std::string> names_;  // of the groups
  std::vector<std::string> skips_;  // names of the lambdas, the same in each group
};

}  // namespace

void draw_lambdas(ResultBuilder& out, const Plan& plan, const Task& task) {
  LambdaFigures(out, plan, task).add();
  out.note(
      "mu / ||R|| is the distance of the tokens of a sequence from their mean, relative to their "
      "norm; it is 0 if all tokens are equal.");
  if (task.classifies()) {
    out.note(
        "Dispersion is the distance of the mean tokens of images from their common mean, relative "
        "to their norm; it is 0 if the model cannot distinguish the images.");
  }
}

}  // namespace ranklab::train
