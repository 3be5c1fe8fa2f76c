// Figures of comparisons of lambda: [LambdaSkip] Table 1 and Figure 5, which is a table too. A run
// either learns or guesses, so curves show every training and the median, not means with a band.
// The tables have our accuracies next to the printed ones.
#include <algorithm>
#include <array>

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

bool is_in_figure_5(const Config& config, const Run& run) {
  constexpr std::uint64_t layers = 8;
  return config.is_images() && run.model == "attention" && run.layers >= layers;
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

std::string printed_in_figure_5(const Run& run) {
  for (const PrintedCell& cell : figure_5_cells) {
    if (run.skip.is_fixed_at(cell.lambda)) return std::string(cell.accuracy);
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

std::vector<double> percents_of(const Trained& all, const Run& run) {
  return all.of(run).per_trial(
      [](const InTrial& trained) { return 100 * trained(final_accuracy); });
}

// Tables ------------------------------------------------------------------------------------------

constexpr std::size_t most_columns_of_ours = 6;  // cells of more columns would be cut

bool is_figure_5(const Trained& all) {
  return std::all_of(all.runs.begin(), all.runs.end(),
                     [&](const Run& run) { return is_in_figure_5(all.config, run); });
}

/// Guessing shows best that the tasks differ.
std::string warning(const std::string& printed_guess, const Task& task) {
  return say("numbers are not comparable one to one (guessing: {} there, {} here)", printed_guess,
             number_text(100 * task.chance()));
}

/// One row per model, one column per lambda.
FigureTable table_1_of(const Trained& all, const std::vector<Group>& groups) {
  const bool recall = all.config.task == "recall";
  FigureTable table{(recall ? "Accuracy in %. The paper's models are much larger: "
                            : "Accuracy in %. The paper's models are much larger and its "
                              "images differ: ") +
                        warning(recall ? "1.6" : "10", all.task()),
                    {"model", "paper, lambda = 1", "paper, learned lambda"},
                    {}};
  for (const Run* run : groups.front())
    table.columns.push_back((recall ? "here (median): " : "here (\u00B1 99 %): ") +
                            run->skip.label());
  for (const Group& group : groups) {
    const auto [at_1, with_learned] = printed_in_table_1(group.front()->model, recall);
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells = {capitalized(group_name(*group.front())), at_1, with_learned};
    for (const Run* run : group) {
      const std::vector<double> percents = percents_of(all, *run);
      cells.push_back(recall ? median_and_solved(percents) : mean_text(percents));
    }
  }
  return table;
}

/// One row per lambda, one column per start.
FigureTable figure_5_of(const Trained& all, const std::vector<Group>& groups) {
  FigureTable table{"Accuracy in %. The paper's model is larger and its images differ: " +
                        warning("10", all.task()),
                    {"lambda", "paper"},
                    {}};
  for (const Run* run : groups.front())
    table.rows.push_back({run->skip.text(), printed_in_figure_5(*run)});
  for (const Group& group : groups) {
    table.columns.push_back(capitalized(group_name(*group.front())) + ": median (range)");
    for (std::size_t i = 0; i < group.size(); ++i)
      table.rows[i].push_back(median_and_range(percents_of(all, *group[i])));
  }
  return table;
}

/// Adds Table 1 or Figure 5 of [LambdaSkip] with our accuracies, unless it would be too wide.
void add_printed_table(Display& out, const Trained& all, const std::vector<Group>& groups) {
  if (is_figure_5(all)) {
    if (groups.size() <= most_columns_of_ours) out.figure_table(figure_5_of(all, groups));
  } else if (groups.front().size() <= most_columns_of_ours) {
    out.figure_table(table_1_of(all, groups));
    const bool trains_mamba = std::ranges::any_of(
        groups, [](const Group& group) { return group.front()->model == "mamba1"; });
    if (!trains_mamba) out.note("The paper's Table 1 also has Mamba, which is not trained here.");
  }
}

// Runs --------------------------------------------------------------------------------------------

/// Where a run is on an axis of lambdas: a learned lambda is the mean over the blocks at the end.
double lambda_of(const Run& run, const InTrial& trained) {
  if (!run.skip.learned) return run.skip.lambda;
  double sum = 0;
  for (std::uint64_t l = 1; l <= run.layers; ++l) sum += trained(learned_lambda_of(l));
  return sum / static_cast<double>(run.layers);
}

/// Adds final accuracies against lambda, one point per training.
void derive_points(Numbers& out, const Group& runs, const Quantity& name) {
  std::vector<double> x, y;
  for (const Run* run : runs) {
    for (const TrialRecord& record : out.records()) {
      const InTrial trained{*run, record};
      x.push_back(lambda_of(*run, trained));
      y.push_back(trained(final_accuracy));
    }
  }
  out.series_of_points(name, "lambda", x, y);
}

constexpr Measure
    accuracy_over_lambda = {"accuracy_over_lambda", "",
                            "final accuracy of each training, over lambda"},
    accuracy_of_learned = {"accuracy_of_learned", "",
                           "final accuracy of each training, over its mean learned lambda"},
    accuracy_by_skip = {"accuracy_by_skip", "", "final accuracy at one place for each lambda"};

bool compares_accuracies(const Trained& all, const std::vector<Group>& groups) {
  return !all.config.is_text() && groups.front().size() > 1;
}

/// Every training's accuracy, at one named place per lambda.
grid::DotPanel accuracies_of(const Group& group, std::string title) {
  grid::DotPanel panel{std::move(title),
                       "skip",
                       {"strength of the skip, lambda"},
                       percent_axis("accuracy after training (%)")};
  for (const Run* run : group) panel.x.ticks.push_back(run->skip.text());
  panel.dots = {{group.front()->group_place() / accuracy_by_skip, grid::places_to(group.size()),
                 [group](const TrialRecord& record, std::size_t i) {
                   return InTrial{*group[i], record}(final_accuracy);
                 },
                 "single trainings and their median"}};
  return panel;
}

/// The law of initial weights, if they have one of two names.
std::string start_law(const std::string& init) {
  return init == "fan" ? "variance 1 / fan-in" : init == "small" ? "standard deviation 0.02" : init;
}

class LambdaFigures {
 public:
  LambdaFigures(Display& out, const Trained& all)
      : out_(out), all_(all), config_(all.config), task_(all.task()), groups_(all.groups()) {
    for (const Group& group : groups_) names_.push_back(capitalized(group_name(*group.front())));
    for (const Run* run : groups_.front()) skips_.push_back(run->skip.text());
  }

  void add() {
    if (!config_.is_text()) add_printed_table(out_, all_, groups_);
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
  int color_of(const Run& run) const {
    const Group& first = groups_.front();
    return static_cast<int>(
        std::ranges::find_if(first, [&](const Run* each) { return each->skip == run.skip; }) -
        first.begin());
  }

  // Panels of the main figure ---------------------------------------------------------------------

  /// The name of a group as a title; if groups differ only in their initial weights, with their
  /// law.
  std::string title_of(std::size_t i) const {
    const Run& run = *groups_[i].front();
    const bool differs = config_.init.size() > 1 && group_words(run).size() == 1;
    return differs ? names_[i] + " (" + start_law(run.init) + ")" : names_[i];
  }

  void add_accuracies() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      accuracies_of(groups_[i], title_of(i))
          .show(out_)
          .line(task_.chance(), "guessing")
          .group("accuracy");
    }
    out_.columns(columns_for(groups_.size()));
  }

  Axis learning_axis() const {
    return config_.is_text() ? nonnegative_axis("training loss (nats)")
                             : percent_axis("held-out accuracy (%)");
  }
  std::string learning_series(const Run& run) const {
    return run.key(config_.is_text() ? train_loss : accuracy);
  }
  void draw_guessing(PanelBuilder& panel) const {
    panel.line(config_.is_text() ? task_.guessing_loss() : task_.chance(), "guessing");
  }
  void draw_learning(PanelBuilder& panel, const Group& group) const {
    for (const Run* run : group) {
      panel.curve(learning_series(*run), run->skip.label(),
                  trials_look(LineStyle::line, color_of(*run)));
    }
    draw_guessing(panel);
  }

  /// One curve per group in one panel, if all have the same single lambda.
  void add_learning_of_groups() {
    PanelBuilder panel = out_.panel(config_.is_text() ? "Training loss" : "Accuracy while training",
                                    {"training step"}, learning_axis());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      panel.curve(learning_series(*groups_[i].front()), names_[i],
                  trials_look(LineStyle::line, static_cast<int>(i)));
    }
    draw_guessing(panel);
  }

  void add_losses() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      PanelBuilder panel = out_.panel(title_of(i), {"training step"}, learning_axis());
      if (same_steps()) panel.group("loss");
      draw_learning(panel, groups_[i]);
    }
    out_.columns(columns_for(groups_.size()));
  }

  // Further figures -------------------------------------------------------------------------------

  bool same_steps() const {
    return std::ranges::all_of(groups_, [&](const Group& group) {
      return group.front()->steps == groups_.front().front()->steps;
    });
  }

  void add_training_details() {
    const bool learns =
        std::ranges::any_of(all_.runs, [](const Run& run) { return run.skip.learned; });
    std::vector<DrawnQuantity> quantities;
    if (compares_accuracies(all_, groups_)) {
      quantities.push_back(
          {"accuracy",
           {"training step"},
           learning_axis(),
           [this](PanelBuilder& panel, std::size_t i) { draw_learning(panel, groups_[i]); },
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
                              for (const Run* run : groups_[i]) {
                                if (!run->skip.learned) continue;
                                panel.curve(run->key(learned_lambda), run->skip.label(),
                                            trials_look(LineStyle::line_points, color_of(*run)));
                              }
                              panel.line(config_.lambda_start, "initial value");
                            }});
    }
    add_small_multiples(out_, title, "", names_, quantities);
  }

  /// Whether a learned lambda starts where another run of the group starts: before training they
  /// are the same model.
  static bool starts_like_another(const Run& run, const Group& group) {
    return run.skip.learned && std::ranges::any_of(group, [&](const Run* other) {
             return other != &run && other->skip.lambda == run.skip.lambda &&
                    (!other->skip.learned || other < &run);
           });
  }

  /// A logarithmic axis if any model comes near collapse, otherwise the whole range from 0 to 1.
  Axis mu_axis() const {
    constexpr char label[] = "normalized mu, mu / ||R||";
    for (const Run& run : all_.runs) {
      for (const TrialRecord& record : all_.records) {
        for (const char* moment : {"start", "end"}) {
          for (const double mu : InTrial{run, record}.array(at_moment(moment, mu_normalized))) {
            if (mu < 10 * collapsed) return {label, Scale::log, {}, {collapsed, 1}};
          }
        }
      }
    }
    return unit_axis(label);
  }

  DrawnQuantity tokens(const Measure& what, const std::string& name, const std::string& moment,
                       const Axis& y) const {
    const bool before = moment == "start", logarithmic = y.scale == Scale::log;
    return {name + (before ? " before training" : " after training"),
            {"layer (0: input)"},
            y,
            [this, what, moment, before, logarithmic](PanelBuilder& panel, std::size_t i) {
              for (const Run* run : groups_[i]) {
                if (before && starts_like_another(*run, groups_[i])) continue;
                panel.curve(run->key(moment, what), run->skip.label(),
                            trials_look(LineStyle::line, color_of(*run)));
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

  Display& out_;
  const Trained& all_;
  const Config& config_;
  const Task& task_;
  const std::vector<Group> groups_;
  std::vector<std::string> names_;  // of the groups
  std::vector<std::string> skips_;  // texts of the lambdas, the same in each group
};

}  // namespace

void derive_lambdas(Numbers& out, const Trained& all) {
  const std::vector<Group> groups = all.groups();
  for (const Group& group : groups) {
    Group fixed = group;
    std::erase_if(fixed, [](const Run* run) { return run->skip.learned; });
    if (fixed.size() < 2) continue;
    const At place = group.front()->group_place();
    derive_points(out, fixed, place / accuracy_over_lambda);
    if (const Run* const learns = learned(group))
      derive_points(out, {learns}, place / accuracy_of_learned);
  }
  if (!compares_accuracies(all, groups)) return;
  for (const Group& group : groups) accuracies_of(group, "").derive(out);
}

void draw_lambdas(Display& out, const Trained& all) {
  LambdaFigures(out, all).add();
  out.note(
      "mu / ||R|| is the distance of the tokens of a sequence from their mean, relative to their "
      "norm; it is 0 if all tokens are equal.");
  if (all.config.is_images()) {
    out.note(
        "Dispersion is the distance of the mean tokens of images from their common mean, relative "
        "to their norm; it is 0 if the model cannot distinguish the images.");
  }
}

}  // namespace ranklab::train
