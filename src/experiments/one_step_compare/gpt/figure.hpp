// The figures of the study gpt: panels (figure.cpp), losses (figure_losses.cpp), tables and the
// runs that they compare (figure_tables.cpp).
#pragma once

#include <algorithm>

#include "experiments/one_step_compare/gpt/gpt.hpp"
#include "report/builder.hpp"

namespace ranklab::gpt {

/// Draws all figures of a plan over the series of its runs, which `out` already has. The first one
/// is Table 2 if the plan has its runs, otherwise the ranks of Figures 2, 5 and 6. Adds the series
/// that only figures need: differences of losses, and points of single trials.
void draw(ResultBuilder& out, const Plan& plan);

/// Whether a run can be compared with the others step by step: it has their size and length.
bool is_comparable(const Run& run, const Plan& plan);

/// Adam's run with the same settings, except for the optimizers' own: their learning rates and the
/// matrices that they update. It has the same embedding rate if the plan has such a run. Null for a
/// run of Adam and for a run without such a partner.
const Run* adam_for(const Run& run, const Plan& plan);

/// Whether a run follows the advice or does the opposite.
inline bool follows_advice(const Plan& plan) {
  return std::any_of(plan.runs.begin(), plan.runs.end(),
                     [](const Run& run) { return run.follows_advice(); });
}

/// The look of a curve. Every trial is drawn, because trained networks can differ by more than a
/// band shows.
CurveLook look(int color, LineStyle style = LineStyle::line);
/// The look of a run in panels that compare runs: the same color in all of them.
CurveLook look_of(const Run& run, const Plan& plan);
/// The runs with a curve each: all comparable ones if they are few, otherwise the main ones.
std::vector<const Run*> shown_runs(const Plan& plan);

/// Adds panels of the held-out losses over the steps, and of their differences to Adam's.
void draw_losses(ResultBuilder& out, const Plan& plan);
/// Adds a panel of the final losses minus those of adam_for(). One name below the axis for each run
/// that has a run of Adam to be compared with, and one series for each optimizer.
void draw_final_differences(ResultBuilder& out, const Plan& plan);

/// The same with a panel for each workload, and with names of what Muon updates.
void draw_advice_differences(ResultBuilder& out, const Plan& plan);

inline double final_loss(const TrialRecord& record, const Run& run) {
  return record.scalar(run.name + "." + final_validation_loss);
}

/// Draws the runs with and without the mean token: a table, inputs, gradients, losses. Returns
/// whether the plan has such runs; otherwise draws nothing.
bool draw_mean_token(ResultBuilder& out, const Plan& plan);
/// Adds Table 2 to the current figure, printed and measured. Returns whether the plan has its runs,
/// without or with a gate; otherwise adds nothing.
bool add_table_2(ResultBuilder& out, const Plan& plan);
/// Adds a table of the losses after training of all comparable runs; if some follow the advice, of
/// all runs.
void add_loss_table(ResultBuilder& out, const Plan& plan);
/// Adds a table of how many matrices of each name the advice puts on a spectral step.
void add_advice_table(ResultBuilder& out, const Plan& plan);
/// Adds a table of the shares of cases that violate condition (1.8).
void add_violation_table(ResultBuilder& out, const Plan& plan);

}  // namespace ranklab::gpt
