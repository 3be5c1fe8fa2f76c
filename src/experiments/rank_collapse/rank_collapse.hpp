// The command `rank-collapse`: depth dynamics of token representations ([LambdaSkip], [Shallow]).
#pragma once

#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

Experiment rank_collapse_experiment();

// One for each study, at the end of its file.
std::unique_ptr<Study> make_ablation_study();
std::unique_ptr<Study> make_bounds_study();
std::unique_ptr<Study> make_escalation_lemmas_study();
std::unique_ptr<Study> make_escalation_rate_study();
std::unique_ptr<Study> make_escalation_study();
std::unique_ptr<Study> make_eta_study();
std::unique_ptr<Study> make_examples_study();
std::unique_ptr<Study> make_lambda_sweep_study();
std::unique_ptr<Study> make_layers_study();
std::unique_ptr<Study> make_spectral_gap_study();
std::unique_ptr<Study> make_train_study();

}  // namespace ranklab
