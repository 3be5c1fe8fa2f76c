// `rank-collapse --study bounds`: checks the theorems of [LambdaSkip] about mu (Theorems 4.1 to
// 4.3, A.2, A.3, A.7, A.8, A.10), their lemmas, Remark 4.1 and the adversarial inputs of Appendix
// A.13.1 on random stacks. Every bound and every hypothesis is evaluated on the matrices of the
// run.
//
// Here is what the parts of a trial share. with_skip.hpp, attention.hpp and state_space.hpp declare
// the theorems, each with its bounds, its part of the trial and its claims, and
// adversarial_inputs.hpp the inputs of Appendix A.13.1.
//
// A trial has several parts, and each part draws its own stacks. The curves over the layers come
// from one representative stack per part, the one with the last sizes in the lists. Theorem 4.3
// takes the first number of tokens instead, because its bound is strictest for few tokens.
#pragma once

#include <armadillo>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "experiments/kit.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/model_spec.hpp"
#include "nn/blocks/norms.hpp"
#include "nn/blocks/tensors.hpp"

namespace ranklab {

template <class T>
class BareBlock;

namespace bounds {

struct Config : Study {
  ModelSpec spec;  // the settings that all stacks share; the lists below give models and sizes
  std::vector<std::string> models = {"attention", "linear-attention", "lti-ssm",
                                     "selective-ssm"};  // for Theorem 4.1
  std::vector<std::uint64_t> tokens = {2, 8, 32};       // N
  std::vector<std::uint64_t> dim = {4, 16};             // d
  std::vector<double> lambda = {-1e6, -1e4, -100, -10, -1,  -0.5, 0,
                                0.5,  1,    10,   100, 1e4, 1e6};  // for Theorem 4.1
  std::vector<double> a = {0.01, 0.5, 0.9, 0.99};                  // collapse rates, below 1

  Config();
  /// Where closed forms over lambda > 0 are drawn: the |lambda| of the list, and 10 per decade
  /// between the smallest and the largest.
  std::vector<double> strengths() const;
  std::vector<Field> flags() override;
  void fill_defaults() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "Bounds of Theorems 4.1 to 4.3, A.2, A.3, A.7, A.8 and A.10 on random bare stacks";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

/// N and d of one stack.
struct Sizes {
  std::uint64_t tokens = 0, dim = 0;
};
/// Every N of the list with every d.
std::vector<Sizes> all_sizes(const Config& config);
/// Whether the curves of this stack are recorded: true for the last sizes of the lists.
bool representative(const Config& config, Sizes sizes);

/// The resolved spec of one bare stack. Switches that the model does not have keep their defaults.
ModelSpec stack_spec(const Config& config, const std::string& model, Sizes sizes,
                     const std::string& norm);

/// The block of one layer (from 0) of a bare stack, with weights from the trial's streams.
std::unique_ptr<BareBlock<double>> bare_block(const ModelSpec& spec, const Trial& trial,
                                              std::uint64_t layer);

/// Weights that a part of a trial computes itself, as the source of a block. Throws
/// std::out_of_range for other names; there are no vectors.
class GivenMatrices final : public Tensors<double> {
 public:
  explicit GivenMatrices(std::map<std::string, arma::mat> by_name) : by_name_(std::move(by_name)) {}
  arma::mat matrix(const std::string& name, arma::uword, arma::uword, const EntryLaw&) override {
    return by_name_.at(name);
  }
  arma::mat columns(const std::string& name, arma::uword, arma::uword,
                    const std::vector<std::uint32_t>&, const EntryLaw&) override {
    return by_name_.at(name);
  }
  arma::vec vector(const std::string&, arma::uword, const EntryLaw&) override { return {}; }

 private:
  std::map<std::string, arma::mat> by_name_;
};

// Statements and records --------------------------------------------------------------------------

/// A statement of ours about the subject of a place, and why it holds or is here.
inline Statement ours(const Place& place, const std::string& id, const std::string& why,
                      std::string text) {
  return beyond(Statement{place.statement_id, place.prefix + id, clauses("not in the paper", why),
                          std::move(text)});
}

/// Gaussian numbers, from the stream `<name>.<rows>x<cols>`.
arma::mat gaussian_of(const Trial& trial, const std::string& name, arma::uword rows,
                      arma::uword cols);

/// Counts the case `smaller <= larger` up to a rounding error of `slack`, and records larger /
/// smaller if both are positive. Returns whether the case is a violation. If `smaller` or the
/// difference overflows, there is no case.
bool compare(TrialRecord& record, const Statement& statement, double smaller, double larger,
             double slack);
/// The same for natural logarithms; the slack is relative to their size.
bool compare_logs(TrialRecord& record, const Statement& statement, double smaller, double larger,
                  double slack);

/// A number that every stack has. A trial keeps the worst one over its sizes.
struct Worst : Measure {
  double (*badness)(double);  // larger means worse
};
inline constexpr auto larger_is_worse = [](double x) { return x; };
inline constexpr auto smaller_is_worse = [](double x) { return -x; };
inline constexpr auto distance_to_three = [](double x) { return std::abs(x - 3); };

/// Replaces the recorded number if `value` is finite and worse. The number is NaN until a value is
/// finite.
void keep_worst(TrialRecord& record, const Worst& number, double value);
std::vector<double> worst_of(const Records& records, const Worst& number);

inline constexpr Measure degenerate_rows = {"degenerate_rows", "",
                                            "rows that D set to zero, in all stacks of a trial"};
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
/// The smallest entry of M, or with `causal` of its lower triangle.
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

/// The growth of the steps of log mu counts as cubic within this distance of 3.
inline constexpr double growth_margin = 0.1;
inline const std::string cubic_growth = "0.1 in the growth factor 3 of the steps of log mu",
                         falling_line = "a negative slope of log mu per layer",
                         growth_detail =
                             "growth factor of the later steps of log mu, farthest from 3 over the "
                             "sizes of a trial";

/// Small cases, worked by hand, in which printed statements or steps of their proofs fail. The same
/// functions judge them as the random stacks, under the same names. They are counted once per run.
TrialRecord worked_examples();
/// mu of two tokens for which M = I in a selective state-space model, at every layer.
double mu_of_standing();

/// Makes claims from the random stacks of all trials and the worked examples.
struct StackClaims {
  const Config& config;
  const Records& records;
  Claims& claims;
  std::vector<std::string>* counted_ids = nullptr;  // gets the ids of all counted statements

  /// Judges a counted statement. If there is no case, it is not applicable for the reason `unmet`.
  void counted(const Statement& statement, std::string detail = "",
               const std::string& unmet = "no case") const;
  /// The same for both forms.
  void counted(const Misprint& statement, const std::string& detail_as_printed,
               const std::string& detail_corrected = "") const;
  /// Judges the mean over trials of the worst number of each trial. If no trial has a finite value,
  /// the statement is not applicable for the reason `unmet`.
  void worst(const Statement& statement, const Worst& number, Region allowed,
             const std::string& detail, const std::string& unmet) const;

  /// The tally of all random stacks; "2 of 7" of its cases violate the statement, or do not.
  Tally tally(const std::string& id) const { return tally_of(records, id); }
  std::string violations(const std::string& id) const;
  std::string non_violations(const std::string& id) const;
  /// The means over trials.
  double mean(const std::string& scalar) const {
    return summarize(scalars_of(records, scalar)).mean;
  }
  std::string mean_text(const Worst& number) const;
};

// From a trial to the result ----------------------------------------------------------------------

/// All parts, for every model and size of the lists.
TrialRecord run_trial(const Config& config, const Trial& trial);

void judge_all(const StackClaims& stacks);

}  // namespace bounds
}  // namespace ranklab
