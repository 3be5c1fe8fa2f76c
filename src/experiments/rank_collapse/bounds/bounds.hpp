// The study bounds inside: what the parts of a trial share, and the way from records to the result. The theorems, each with its
// bounds, its part of the trial and its claims, stand in skips.hpp and without_skip.hpp.
//
// A trial has parts, each with stacks of its own. Curves over the layers belong to one representative stack of each part: that of
// the last sizes in the lists, and for Theorem 4.3 of the first number of tokens: its bound is strictest where they are few.
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
#include "models/blocks/norms.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::bounds {

/// N and d of one stack.
struct Sizes {
  std::uint64_t tokens = 0, dim = 0;
};
/// Every N of the list with every d.
std::vector<Sizes> all_sizes(const BoundsConfig& config);
/// Whether the stack's curves stand for its theorem: the last sizes of the lists.
bool representative(const BoundsConfig& config, Sizes sizes);

/// The settled spec of one bare stack. Switches that the model does not have keep their defaults.
ModelSpec stack_spec(const BoundsConfig& config, const std::string& model, Sizes sizes, const std::string& norm);

// What is recorded of a stack ------------------------------------------------------------------------------------------------

/// Counts the case `smaller <= larger`, where rounding may break it by `slack`, and shows larger / smaller where both are
/// positive. Returns whether it is violated.
bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack);
/// The same for natural logarithms; the slack is relative to their size.
bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger, double slack);

/// A number that every stack has, of which a trial keeps the worst of its sizes.
struct Worst {
  std::string name;           // of the scalar
  double (*badness)(double);  // how bad a number is
};
inline constexpr auto as_large = [](double x) { return x; };
inline constexpr auto as_small = [](double x) { return -x; };
inline constexpr auto away_from_three = [](double x) { return std::abs(x - 3); };

/// Into the record where it is finite and worse than what stands there; NaN stands there until a value is finite.
void keep_worst(TrialRecord& record, const Worst& number, double value);
std::vector<double> worst_of(const Records& records, const Worst& number);

inline constexpr char degenerate_rows[] = "degenerate_rows";  // rows that D set to zero, over all stacks of the trial
void add_degenerate_rows(TrialRecord& record, std::uint64_t rows);

// What a stack shows ---------------------------------------------------------------------------------------------------------

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline double square(double x) {
  return x * x;
}

template <class T>
arma::mat exact(const arma::Mat<T>& A) {
  return arma::conv_to<arma::mat>::from(A);
}

/// Natural logarithms of mu and of the Frobenius norm of 2^s Y.
template <class T>
double log_mu(const State<T>& state) {
  return std::log(token_spread(state.Y)) + state.log2_scale * std::numbers::ln2;
}
template <class T>
double log_norm(const State<T>& state) {
  return std::log(arma::norm(exact(state.Y), "fro")) + state.log2_scale * std::numbers::ln2;
}

/// phi of Theorem 4.3: the smallest inner product of two tokens of Y, N >= 2.
double smallest_cosine(const arma::mat& Y);
/// The smallest entry of M that a causal or full mask lets through.
double smallest_weight(const arma::mat& M, bool causal);

/// By what factor each step of log mu is longer than the one before, from the third value on: 3 for mu <- C mu^3, 1 for
/// mu <- C mu.
std::vector<double> growth_of_steps(const std::vector<double>& log_mu);
/// The same as one number: the mean growth of the later half of the steps between finite values. NaN below two steps, or where
/// their direction changes.
double mean_growth(const std::vector<double>& log_mu);

/// The values followed by NaN up to this size: the stack ended before.
std::vector<double> padded(std::vector<double> values, std::size_t size);

// What is judged of the stacks -----------------------------------------------------------------------------------------------

/// Small cases, worked by hand, in which printed statements or steps of their proofs fail. They go through the same judges as the
/// random stacks, under the same names, and are counted once per run.
TrialRecord worked_examples();

/// A statement that is counted, over the random stacks of all trials and the worked examples; where there is no case, it is not
/// applicable, because of `unmet`.
void judge_counted(const Statement& statement, const Records& records, Claims& claims, std::string detail = "",
                   const std::string& unmet = "no case");
/// The mean over trials of the worst of each trial's sizes; not applicable, because of `unmet`, where no trial has a finite value.
void judge_worst(const Statement& statement, const Worst& number, Region allowed, const Records& records, Claims& claims,
                 const std::string& detail, const std::string& unmet);

std::string mean_text(const Records& records, const Worst& number);
std::string violations_text(const Tally& tally);  // 2 of 7
std::string cases_left(const Tally& tally);       // 5 of 7

// From a trial to the result -------------------------------------------------------------------------------------------------

/// All parts, for every model and size of the lists.
TrialRecord run_trial(const BoundsConfig& config, bool single_precision, const Trial& trial);

void judge(const BoundsConfig& config, const Records& records, Claims& claims);

Result report(const BoundsConfig& config, const Records& records);

}  // namespace ranklab::bounds
