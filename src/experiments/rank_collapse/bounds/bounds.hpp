// Internal header of the study bounds: what the parts of a trial share, and the functions that turn
// records into the result. with_skip.hpp and without_skip.hpp declare the theorems, each with its
// bounds, its part of the trial and its claims. chosen_skip.hpp chooses lambda by Theorem 4.1,
// norm_lemmas.hpp has the lemmas, and adversarial_inputs.hpp the inputs of Appendix A.13.1.
//
// A trial has several parts, and each part draws its own stacks. The curves over the layers come
// from one representative stack per part, the one with the last sizes in the lists. Theorem 4.3
// takes the first number of tokens instead, because its bound is strictest for few tokens.
#pragma once

#include <armadillo>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/rank_collapse/bounds/config.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/norms.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::bounds {

/// N and d of one stack.
struct Sizes {
  std::uint64_t tokens = 0, dim = 0;
};
/// Every N of the list with every d.
std::vector<Sizes> all_sizes(const BoundsConfig& config);
/// Whether the curves of this stack are recorded: true for the last sizes of the lists.
bool representative(const BoundsConfig& config, Sizes sizes);

/// The resolved spec of one bare stack. Switches that the model does not have keep their defaults.
ModelSpec stack_spec(const BoundsConfig& config, const std::string& model, Sizes sizes,
                     const std::string& norm);

// Recording a stack -------------------------------------------------------------------------------

/// Counts the case `smaller <= larger` up to a rounding error of `slack`, and records larger /
/// smaller if both are positive. Returns whether the case is a violation. If `smaller` or the
/// difference overflows, there is no case.
bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger,
             double slack);
/// The same for natural logarithms; the slack is relative to their size.
bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger,
                  double slack);

/// A number that every stack has. A trial keeps the worst one over its sizes.
struct Worst {
  std::string name;           // of the scalar
  double (*badness)(double);  // larger means worse
};
inline constexpr auto larger_is_worse = [](double x) { return x; };
inline constexpr auto smaller_is_worse = [](double x) { return -x; };
inline constexpr auto distance_to_three = [](double x) { return std::abs(x - 3); };

/// Replaces the recorded number if `value` is finite and worse. The number is NaN until a value is
/// finite.
void keep_worst(TrialRecord& record, const Worst& number, double value);
std::vector<double> worst_of(const Records& records, const Worst& number);

inline constexpr char degenerate_rows[] =
    "degenerate_rows";  // number of rows that D set to zero, in all stacks of the trial
void add_degenerate_rows(TrialRecord& record, std::uint64_t rows);

// mu, or mu / ||Y||_F, counts as vanished if the last layer has less than this share of its value
// at the input.
inline constexpr double vanished = 0.1;

// mu / ||Y||_F of an input whose tokens are apart, at least.
inline constexpr double spread_input = 0.1;

// Quantities of a stack ---------------------------------------------------------------------------

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline double square(double x) {
  return x * x;
}

/// Natural logarithms of mu and of the Frobenius norm of 2^s Y.
inline double log_mu(const State<double>& state) {
  return std::log(token_spread(state.Y)) + state.log2_scale * std::numbers::ln2;
}
inline double log_norm(const State<double>& state) {
  return std::log(arma::norm(state.Y, "fro")) + state.log2_scale * std::numbers::ln2;
}

/// phi of Theorem 4.3: the smallest inner product of two tokens of Y, N >= 2.
double smallest_cosine(const arma::mat& Y);
/// The smallest entry of M that the causal or full mask keeps.
double smallest_weight(const arma::mat& M, bool causal);

/// The ratio of each step of log mu to the previous step, from the third value on: 3 for mu <- C
/// mu^3, 1 for mu <- C mu.
std::vector<double> growth_of_steps(const std::vector<double>& log_mu);
/// One number for the same: the geometric mean of these ratios over the later half of the steps
/// between finite values. NaN if there are fewer than two steps or if their direction changes.
double mean_growth(const std::vector<double>& log_mu);

/// The values followed by NaN up to this size, for a stack that ended early.
std::vector<double> padded(std::vector<double> values, std::size_t size);

// Judging the stacks ------------------------------------------------------------------------------

/// Small cases, worked by hand, in which printed statements or steps of their proofs fail. The same
/// functions judge them as the random stacks, under the same names. They are counted once per run.
TrialRecord worked_examples();

/// Judges a counted statement over the random stacks of all trials and the worked examples. If
/// there is no case, it is not applicable for the reason `unmet`.
void judge_counted(const Statement& statement, const Records& records, Claims& claims,
                   std::string detail = "", const std::string& unmet = "no case");
/// Judges the mean over trials of the worst number of each trial. If no trial has a finite value,
/// the statement is not applicable for the reason `unmet`.
void judge_worst(const Statement& statement, const Worst& number, Region allowed,
                 const Records& records, Claims& claims, const std::string& detail,
                 const std::string& unmet);

std::string mean_text(const Records& records, const Worst& number);
std::string violations_text(const Tally& tally);      // 2 of 7
std::string non_violations_text(const Tally& tally);  // 5 of 7

// From a trial to the result ----------------------------------------------------------------------

/// All parts, for every model and size of the lists.
TrialRecord run_trial(const BoundsConfig& config, const Trial& trial);

void judge(const BoundsConfig& config, const Records& records, Claims& claims);

Result report(const BoundsConfig& config, const Records& records);

}  // namespace ranklab::bounds
