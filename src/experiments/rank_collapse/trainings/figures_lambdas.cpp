// Figures of comparisons of lambda: [LambdaSkip] Table 1 and Figure 5, which is a table too. A run
// either learns or guesses, so curves show every run and the median, not means with a band. The
// tables have our accuracies next to the printed ones.
#include <algorithm>
#include <array>
#include <numeric>

#include "experiments/rank_collapse/trainings/train.hpp"
#include "figure/cell_text.hpp"

namespace ranklab::train {
namespace {

constexpr std::array<PrintedRow, 4> table_1 = {
    {{"attention", "99.6", "98.9", "32.64", "32.85"},
     {"linear-attention", "1.6", "1.55", "34.10", "32.80"},
     {"mamba1", "81.5", "85.3", "63.04", "62.92"},
     {"mamba2", "97.3", "99.1", "42.28", "38.92"}}};

}  // namespace

const PrintedRow* row_of_table_1(const std::string& model) {
  const auto found = std::find_if(table_1.begin(), table_1.end(),
                                  [&](const PrintedRow& row) { return row.model == model; });
  return found == table_1.end() ? nullptr : &*found;
}

bool is_in_figure_5(const Config& config, const Curve& curve) {
  constexpr std::uint64_t layers = 8;
  return config.is_images() && curve.model == "attention" && curve.layers >= layers;
}

namespace {

// Printed accuracies in percent -------------------------------------------------------------------

constexpr char not_printed[] = "not in the paper";

/// [LambdaSkip] Figure 5: eight layers of attention.
struct PrintedCell {
  double lambda;
  std::string_view accuracy;
};
constexpr std::array<PrintedCell, 5> figure_5_cells = {
    {{-2, "38.61"}, {-1, "35.89"}, {0, "10.00"}, {1, "40.22"}, {2, "38.90"}}};

std::string printed_in_figure_5(const Curve& curve) {
  for (const PrintedCell& cell : figure_5_cells) {
    if (!curve.learns && curve.lambda == cell.lambda) return std::string(cell.accuracy);
  }
  return not_printed;
}

/// At lambda = 1 and with a learned lambda.
std::pair<std::string, std::string> printed_in_table_1(const std::string& model, bool recall) {
  const PrintedRow* const row = row_of_table_1(model);
  if (!row) return {not_printed, not_printed};
  return recall ? std::pair{row->recall, row->recall_learned}
                : std::pair{row->image, row->image_learned};
}

// Our accuracies in percent -----------------------------------------------------------------------

/// "60.4 (51.9 to 67.7)".
std::string median_and_range(const std::vector<double>& percents) {
  const Spread spread = spread_of(percents);
  if (spread.count == 0) return "diverged";
  return number_text(spread.median) +
         (spread.count > 1
              ? " (" + number_text(spread.smallest) + " to " + number_text(spread.largest) + ")"
              : "");
}

/// "100 (5 of 5 above 90)".
std::string median_and_solved(const std::vector<double>& percents) {
  const Spread spread = spread_of(percents);
  if (spread.count == 0) return "diverged";
  const auto solved =
      std::count_if(percents.begin(), percents.end(), [](double each) { return each > 90; });
  return say("{} ({} of {} above 90)", number_text(spread.median), solved, percents.size());
}

std::vector<double> percents_of(const TrainedRuns& runs, const Curve& curve) {
  return runs.per_trial(curve, [](const TrainedRun& run) { return 100 * run(final_accuracy); });
}

// Tables ------------------------------------------------------------------------------------------

constexpr std::size_t most_columns_of_ours = 6;  // cells of more columns would be cut

bool is_figure_5(const TrainedRuns& runs) {
  return std::all_of(runs.curves.begin(), runs.curves.end(),
                     [&](const Curve& curve) { return is_in_figure_5(runs.config, curve); });
}

/// Guessing shows best that the tasks differ.
std::string warning(const std::string& printed_guess, const Task& task) {
  return say("numbers are not comparable one to one (guessing: {} there, {} here)", printed_guess,
             number_text(100 * task.chance()));
}

/// One row per model, one column per lambda.
FigureTable table_1_of(const TrainedRuns& runs) {
  const bool recall = runs.config.task == "recall";
  const std::vector<const Curve*> groups = runs.groups();
  FigureTable table{(recall ? "Accuracy in %. The paper's models are much larger: "
                            : "Accuracy in %. The paper's models are much larger and its "
                              "images differ: ") +
                        warning(recall ? "1.6" : "10", runs.task),
                    {"model", "paper, lambda = 1", "paper, learned lambda"},
                    {}};
  for (const Curve* curve : runs.group_of(*groups.front()))
    table.columns.push_back((recall ? "here (median): " : "here (\u00B1 99 %): ") +
                            skip_label(*curve));
  for (const Curve* group : groups) {
    const auto [at_1, learned] = printed_in_table_1(group->model, recall);
    std::vector<std::string> row = {capitalized(group_name(runs.config, *group)), at_1, learned};
    for (const Curve* curve : runs.group_of(*group)) {
      const std::vector<double> percents = percents_of(runs, *curve);
      row.push_back(recall ? median_and_solved(percents) : mean_text(percents));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One row per lambda, one column per start.
FigureTable figure_5_of(const TrainedRuns& runs) {
  FigureTable table{"Accuracy in %. The paper's model is larger and its images differ: " +
                        warning("10", runs.task),
                    {"lambda", "paper"},
                    {}};
  std::vector<std::vector<const Curve*>> columns;
  for (const Curve* group : runs.groups()) {
    table.columns.push_back(capitalized(group_name(runs.config, *group)) + ": median (range)");
    columns.push_back(runs.group_of(*group));
  }
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const Curve& first = *columns.front()[i];
    std::vector<std::string> row = {skip_name(first), printed_in_figure_5(first)};
    for (const auto& curves : columns)
      row.push_back(median_and_range(percents_of(runs, *curves[i])));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Adds Table 1 or Figure 5 of [LambdaSkip] with our accuracies, unless it would be too wide.
void add_printed_table(ResultBuilder& out, const TrainedRuns& runs) {
  const std::vector<const Curve*> groups = runs.groups();
  if (is_figure_5(runs)) {
    if (groups.size() <= most_columns_of_ours) out.figure_table(figure_5_of(runs));
  } else if (runs.group_of(*groups.front()).size() <= most_columns_of_ours) {
    out.figure_table(table_1_of(runs));
    const bool trains_mamba = std::any_of(
        groups.begin(), groups.end(), [](const Curve* group) { return group->model == "mamba1"; });
    if (!trains_mamba) out.note("The paper's Table 1 also has Mamba, which is not trained here.");
  }
}

// Curves -----------------------------------------------------------------------------------------

/// The final value of a learned lambda, averaged over the blocks.
double mean_learned(const TrainedRun& run) {
  double sum = 0;
  for (std::uint64_t l = 1; l <= run.curve.layers; ++l) sum += run(learned_lambda_of(l));
  return sum / static_cast<double>(run.curve.layers);
}

/// The law of initial weights, if they have one of two names.
std::string start_law(const std::string& init) {
  return init == "fan" ? "variance 1 / fan-in" : init == "small" ? "standard deviation 0.02" : init;
}

class LambdaFigures {
 public:
  LambdaFigures(ResultBuilder& out, const TrainedRuns& runs)
      : out_(out), runs_(runs), config_(runs.config), task_(runs.task), groups_(runs.groups()) {
    for (const Curve* group : groups_) names_.push_back(capitalized(group_name(config_, *group)));
    for (const Curve* curve : runs_.group_of(*groups_.front())) skips_.push_back(skip_name(*curve));
  }

  void add() {
    add_points_over_lambda();
    if (!config_.is_text()) add_printed_table(out_, runs_);
    if (skips_.size() == 1) {
      add_learning_of_groups();
    } else if (config_.is_text()) {
      add_losses();
    } else {
      add_accuracies();
    }
    add_training_details();
    if (!config_.is_text() || skips_.size() > 1) add_tokens();
  }

 private:
  /// A lambda keeps its color in all panels.
  int color_of(const Curve& curve) const {
    const std::vector<const Curve*> first = runs_.group_of(*groups_.front());
    return static_cast<int>(
        std::ranges::find_if(first, [&](const Curve* each) { return each->same_skip(curve); }) -
        first.begin());
  }

  // Series without a curve ------------------------------------------------------------------------

  void add_points(const std::vector<const Curve*>& curves, const Quantity& name) {
    std::vector<double> x, y;
    for (const Curve* curve : curves) {
      for (const TrialRecord& record : runs_.records) {
        const TrainedRun run{*curve, record};
        x.push_back(curve->learns ? mean_learned(run) : curve->lambda);
        y.push_back(run(final_accuracy));
      }
    }
    out_.series_of_points(name, "lambda", x, y);
  }

  /// Final accuracies against lambda, one point per training; a learned lambda is the mean over the
  /// blocks at the end.
  void add_points_over_lambda() {
    for (const Curve* group : groups_) {
      std::vector<const Curve*> fixed = runs_.group_of(*group);
      std::erase_if(fixed, [](const Curve* curve) { return curve->learns; });
      if (fixed.size() < 2) continue;
      add_points(fixed, group->group_place / "accuracy_over_lambda");
      if (const Curve* const learned = runs_.learned(*group))
        add_points({learned}, group->group_place / "accuracy_of_learned");
    }
  }

  // Panels of the main figure ---------------------------------------------------------------------

  /// The name of a group as a title; if groups differ only in their initial weights, with their
  /// law.
  std::string title_of(std::size_t i) const {
    const std::string& init = groups_[i]->init;
    const bool differs = config_.init.size() > 1 && group_words(config_, *groups_[i]).size() == 1;
    return differs ? names_[i] + " (" + start_law(init) + ")" : names_[i];
  }

  /// Every training's accuracy, at one named place per lambda.
  void add_accuracies() {
    std::vector<double> places(skips_.size());
    std::iota(places.begin(), places.end(), 1.0);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::vector<const Curve*> curves = runs_.group_of(*groups_[i]);
      const Quantity name = groups_[i]->group_place / "accuracy_by_skip";
      out_.series(name, "skip", places, [&curves](const TrialRecord& record, std::size_t at) {
        return TrainedRun{*curves[at], record}(final_accuracy);
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
    return config_.is_text() ? nonnegative_axis("training loss (nats)")
                             : unit_axis("accuracy on held-out cases");
  }
  std::string learning_series(const Curve& curve) const {
    return curve.key(config_.is_text() ? train_loss : accuracy);
  }
  void draw_guessing(PanelBuilder& panel) const {
    panel.line(config_.is_text() ? task_.guessing_loss() : task_.chance(), "guessing");
  }
  void draw_learning(PanelBuilder& panel, const Curve& group) const {
    for (const Curve* curve : runs_.group_of(group)) {
      panel.curve(learning_series(*curve), skip_label(*curve),
                  trials_look(LineStyle::line, color_of(*curve)));
    }
    draw_guessing(panel);
  }

  /// One curve per group in one panel, if all have the same single lambda.
  void add_learning_of_groups() {
    PanelBuilder panel = out_.panel(config_.is_text() ? "Training loss" : "Accuracy while training",
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
    const bool learns = std::any_of(runs_.curves.begin(), runs_.curves.end(),
                                    [](const Curve& curve) { return curve.learns; });
    std::vector<DrawnQuantity> quantities;
    if (!config_.is_text() && skips_.size() > 1) {
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
                              for (const Curve* curve : runs_.group_of(*groups_[i])) {
                                if (!curve->learns) continue;
                                panel.curve(curve->key(learned_lambda), skip_label(*curve),
                                            trials_look(LineStyle::line_points, color_of(*curve)));
                              }
                              panel.line(config_.lambda_start, "initial value");
                            }});
    }
    add_small_multiples(out_, title, "", names_, quantities);
  }

  /// Whether a learned lambda starts where another curve of the group starts: before training they
  /// are the same model.
  bool starts_like_another(const Curve& curve) const {
    const std::vector<const Curve*> curves = runs_.group_of(curve);
    return curve.learns && std::any_of(curves.begin(), curves.end(), [&](const Curve* other) {
             return other != &curve && other->lambda == curve.lambda &&
                    (!other->learns || other < &curve);
           });
  }

  /// A logarithmic axis if any model comes near collapse, otherwise the whole range from 0 to 1.
  Axis mu_axis() const {
    constexpr char label[] = "normalized mu, mu / ||R||";
    for (const Curve& curve : runs_.curves) {
      for (const TrialRecord& record : runs_.records) {
        for (const char* moment : {"start", "end"}) {
          for (const double mu : TrainedRun{curve, record}.array(moment, mu_normalized)) {
            if (mu < 10 * collapsed) return {label, Scale::log, {}, {collapsed, 1}};
          }
        }
      }
    }
    return unit_axis(label);
  }

  DrawnQuantity tokens(const std::string& what, const std::string& name, const std::string& moment,
                       const Axis& y) const {
    const bool before = moment == "start", logarithmic = y.scale == Scale::log;
    return {name + (before ? " before training" : " after training"),
            {"layer (0: input)"},
            y,
            [this, what, moment, before, logarithmic](PanelBuilder& panel, std::size_t i) {
              for (const Curve* curve : runs_.group_of(*groups_[i])) {
                if (before && starts_like_another(*curve)) continue;
                panel.curve(curve->key(moment, what), skip_label(*curve),
                            trials_look(LineStyle::line, color_of(*curve)));
              }
              if (logarithmic) panel.line(collapsed, "collapsed");
            }};
  }

  void add_tokens() {
    constexpr std::size_t most_panels = 16;  // of one figure
    std::vector<DrawnQuantity> quantities, of_images;
    const Axis mu = mu_axis();
    for (const char* moment : {"start", "end"}) {
      quantities.push_back(tokens(mu_normalized, "mu", moment, mu));
      if (config_.is_images()) {
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
  const TrainedRuns& runs_;
  const Config& config_;
  const Task& task_;
  const std::vector<const Curve*> groups_;
  std::vector<std::string> names_;  // of the groups
  std::vector<std::string> skips_;  // names of the lambdas, the same in each group
};

}  // namespace

void draw_lambdas(ResultBuilder& out, const TrainedRuns& runs) {
  LambdaFigures(out, runs).add();
  out.note(
      "mu / ||R|| is the distance of the tokens of a sequence from their mean, relative to their "
      "norm; it is 0 if all tokens are equal.");
  if (runs.config.is_images()) {
    out.note(
        "Dispersion is the distance of the mean tokens of images from their common mean, relative "
        "to their norm; it is 0 if the model cannot distinguish the images.");
  }
}

}  // namespace ranklab::train
