// The tables of [LambdaSkip] with our accuracies next to the printed ones: Table 1 and Figure 5.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/train/figures.hpp"
#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"
#include "report/figure/cell_text.hpp"

namespace ranklab::train {
namespace {

// Printed accuracies in percent -------------------------------------------------------------------

constexpr char not_printed[] = "not in the paper";

/// [LambdaSkip] Table 1, at lambda = 1 and with a learned lambda ("var. lambda").
struct PrintedRow {
  std::string_view model, recall, recall_learned, image, image_learned;
};
constexpr std::array<PrintedRow, 4> table_1 = {
    {{"attention", "99.6", "98.9", "32.64", "32.85"},
     {"linear-attention", "1.6", "1.55", "34.10", "32.80"},
     {"mamba1", "81.5", "85.3", "63.04", "62.92"},
     {"mamba2", "97.3", "99.1", "42.28", "38.92"}}};

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
  for (const PrintedRow& row : table_1) {
    if (row.model != model) continue;
    return {std::string(recall ? row.recall : row.image),
            std::string(recall ? row.recall_learned : row.image_learned)};
  }
  return {not_printed, not_printed};
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
  return number_text(spread.median) + " (" + std::to_string(solved) + " of " +
         std::to_string(percents.size()) + " above 90)";
}

std::vector<double> percents_of(const Curve& curve, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    return 100 * record.scalar(curve.name + "." + final_accuracy);
  });
}

// Tables ------------------------------------------------------------------------------------------

constexpr std::size_t most_columns_of_ours = 6;  // cells of more columns would be cut

bool is_figure_5(const Plan& plan) {
  return std::all_of(plan.curves.begin(), plan.curves.end(),
                     [&](const Curve& curve) { return is_in_figure_5(plan, curve); });
}

/// Guessing shows best that the tasks differ.
std::string warning(const std::string& printed_guess, const Task& task) {
  return "numbers are not comparable one to one (guessing: " + printed_guess + " there, " +
         number_text(100 * task.chance()) + " here)";
}

/// One row per model, one column per lambda.
FigureTable table_1_of(const Plan& plan, const Task& task, const Records& records) {
  const bool recall = plan.config.task == "recall";
  const std::vector<const Curve*> groups = plan.groups();
  FigureTable table{(recall ? "Accuracy in %. The paper's models are much larger: "
                            : "Accuracy in %. The paper's models are much larger and its "
                              "images differ: ") +
                        warning(recall ? "1.6" : "10", task),
                    {"model", "paper, lambda = 1", "paper, learned lambda"},
                    {}};
  for (const Curve* curve : curves_of_group(plan, *groups.front()))
    table.columns.push_back((recall ? "here (median): " : "here (\u00B1 99 %): ") +
                            skip_label(*curve));
  for (const Curve* group : groups) {
    const auto [at_1, learned] = printed_in_table_1(group->model, recall);
    std::vector<std::string> row = {capitalized(group_name(plan, *group)), at_1, learned};
    for (const Curve* curve : curves_of_group(plan, *group)) {
      const std::vector<double> percents = percents_of(*curve, records);
      row.push_back(recall ? median_and_solved(percents) : mean_text(percents));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// One row per lambda, one column per start.
FigureTable figure_5_of(const Plan& plan, const Task& task, const Records& records) {
  FigureTable table{
      "Accuracy in %. The paper's model is larger and its images differ: " + warning("10", task),
      {"lambda", "paper"},
      {}};
  std::vector<std::vector<const Curve*>> columns;
  for (const Curve* group : plan.groups()) {
    table.columns.push_back(capitalized(group_name(plan, *group)) + ": median (range)");
    columns.push_back(curves_of_group(plan, *group));
  }
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const Curve& first = *columns.front()[i];
    std::vector<std::string> row = {skip_name(first), printed_in_figure_5(first)};
    for (const auto& curves : columns)
      row.push_back(median_and_range(percents_of(*curves[i], records)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

bool is_in_figure_5(const Plan& plan, const Curve& curve) {
  constexpr std::uint64_t layers = 8;
  return plan.config.is_images() && curve.model == "attention" && curve.layers >= layers;
}

bool is_in_table_1(const Curve& curve) {
  constexpr std::uint64_t most_layers = 4;
  const bool has_row = std::any_of(table_1.begin(), table_1.end(),
                                   [&](const PrintedRow& row) { return row.model == curve.model; });
  return has_row && curve.layers <= most_layers;
}

void add_printed_table(ResultBuilder& out, const Plan& plan, const Task& task) {
  const std::vector<const Curve*> groups = plan.groups();
  if (is_figure_5(plan)) {
    if (groups.size() <= most_columns_of_ours)
      out.figure_table(figure_5_of(plan, task, out.records()));
  } else if (curves_of_group(plan, *groups.front()).size() <= most_columns_of_ours) {
    out.figure_table(table_1_of(plan, task, out.records()));
    const bool trains_mamba = std::any_of(
        groups.begin(), groups.end(), [](const Curve* group) { return group->model == "mamba1"; });
    if (!trains_mamba) out.note("The paper's Table 1 also has Mamba, which is not trained here.");
  }
}

}  // namespace ranklab::train
