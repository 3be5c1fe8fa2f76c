#include "cli/check_report.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

constexpr std::size_t made_up_trials = 3;

// A positive number, another one in each trial and at each x.
double made_up(std::size_t trial, std::size_t i) {
  return 1 + 1 / static_cast<double>(2 + i + trial);
}

// A result with the numbers that the study declares. A curve whose x is not known before the run is
// empty.
ResultFile made_up_result(const ResolvedRun& run) {
  ResultFile out;
  out.command = run.experiment->name;
  out.study = run.options().study;
  out.config = run.config();
  out.keeps_trials = true;
  for (const DeclaredQuantity& each : run.study().quantities()) {
    if (each.x_name.empty()) {
      std::vector<double> numbers;
      for (std::size_t trial = 0; trial < made_up_trials; ++trial)
        numbers.push_back(made_up(trial, 0));
      add_scalar(out, {each.quantity, std::move(numbers)});
      continue;
    }
    std::vector<std::vector<double>> curves(made_up_trials);
    for (std::size_t trial = 0; trial < made_up_trials; ++trial) {
      for (std::size_t i = 0; i < each.x.size(); ++i) curves[trial].push_back(made_up(trial, i));
    }
    Series series = series_over_trials(each.quantity, each.x_name, each.x, curves);
    if (each.has_trials) series.trials = std::move(curves);
    out.series.push_back(std::move(series));
  }
  return out;
}

}  // namespace

std::vector<ListedQuantity> own_quantities(const ResolvedRun& run) {
  std::vector<ListedQuantity> out;
  ResultFile file = made_up_result(run);
  Mistakes mistakes;
  add_own_quantities(run.texts.report, file, mistakes);
  for (ListedQuantity& each : listed(file)) {
    const auto& all = run.texts.report.quantities;
    const auto own = std::ranges::find(all, each.kind, &OwnQuantity::name);
    if (own == all.end()) continue;
    each.symbol = own->label;
    each.meaning = own->is;
    out.push_back(std::move(each));
  }
  return out;
}

void check_report(const ResolvedRun& run) {
  if (run.own.empty() && run.texts.report.empty()) return;
  ResultFile file = made_up_result(run);
  if (file.means.empty() && file.series.empty()) return;  // the files of the run say what it has
  Mistakes mistakes;
  const auto refuse = [&](const std::string& label) {
    if (!mistakes.empty()) throw UsageError(label + mistakes.front());
  };
  const std::string preset = run.options().preset,
                    label = preset.empty() ? "" : "preset " + preset + ": ";
  add_own_quantities(run.texts.report, file, mistakes);
  refuse(label);
  const std::size_t of_report = run.texts.report.claims.size();
  for (std::size_t i = 0; i < run.own.size(); ++i) {
    add_own(file, judge_own({run.own[i]}, {{&file, ""}}, mistakes));
    refuse(i < of_report ? label + say("report.claims[{}]: ", i) : "--claim: ");
  }
  add_own_panels(run.texts.report, file, mistakes);
  add_own_notes(run.texts.report, file, mistakes);
  refuse(label);
}

}  // namespace ranklab
