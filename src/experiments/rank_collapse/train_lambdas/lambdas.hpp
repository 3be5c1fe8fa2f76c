// Training models that differ in lambda: [LambdaSkip] Table 1, Figure 5, and the trained models of
// Figures 1 to 3.
#pragma once

#include "experiments/rank_collapse/train/purpose.hpp"

namespace ranklab::train {

const Purpose& comparison_of_lambdas();

/// Whether Figure 5 or Table 1 shows such a model: Figure 5 attention with eight layers on images,
/// Table 1 four mixers with up to four layers.
bool is_in_figure_5(const Plan& plan, const Curve& curve);
bool is_in_table_1(const Curve& curve);

/// Claims about each group of curves that differ in lambda only (claims.cpp).
void judge_groups(const Plan& plan, const Task& task, const Records& records, Claims& claims);
/// Claims about rank collapse as the cause of failed learning.
void judge_cause(const Plan& plan, const Task& task, const Records& records, Claims& claims);
/// Claims of Table 1 about all groups.
void judge_table_1(const Plan& plan, const Task& task, const Records& records, Claims& claims);

/// A paper's table and the accuracies, or the training losses of language models (figure.cpp).
/// Learning curves and tokens are further figures.
void draw_lambdas(ResultBuilder& out, const Plan& plan, const Task& task);
/// Adds Table 1 or Figure 5 of [LambdaSkip] with our accuracies, unless it would be too wide
/// (printed_table.cpp).
void add_printed_table(ResultBuilder& out, const Plan& plan, const Task& task);

}  // namespace ranklab::train
