// Internal header of the study examples: what a trial records, and the functions that turn records
// into the result. Every trial computes the same numbers, so the claims are judged from the first
// trial.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "experiments/rank_collapse/examples/systems.hpp"
#include "report/claims.hpp"

namespace ranklab::examples {

/// A limit counts as reached if both of the last two layers are within this distance of it. There
/// are two, because mu may alternate.
inline constexpr double limit_band = 0.01;

/// The quantities of the run that follow from the config.
struct Plan {
  explicit Plan(const ExamplesConfig& config);

  bool selective;  // Sys-2
  double alpha0, beta0;
  std::uint64_t layers;
  std::vector<TwoTokenSystem> systems;  // one for each lambda

  bool starts_at_45_degrees() const { return std::abs(alpha0 - beta0) <= limit_band; }
};

// What a trial records ----------------------------------------------------------------------------

// For each lambda, under the name "lambda=-1.5." + quantity: arrays over layers, and the number of
// rows that D set to zero.
std::string lambda_label(double lambda);                            // lambda=-1.5
std::string at_lambda(double lambda, const std::string& quantity);  // lambda=-1.5.mu
inline constexpr char mu[] = "mu", rank_one_residual[] = "rank_one_residual",
                      mu_closed_form[] = "mu_closed_form";
// Scalars over all lambdas: the number of rows that D set to zero, and the largest difference of
// an entry from the exact form. The first one also exists for each lambda.
inline constexpr char degenerate_rows[] = "degenerate_rows",
                      closed_form_error[] = "closed_form_error";

// Counted at every layer, for every lambda for which D is defined. A difference beyond rounding is
// a violation.
struct Forms {
  Inequality as_printed, exact;
};
Forms forms_of(bool selective);

// [LambdaSkip] Proposition 4.3.2, about Sys-2. For every lambda except -1, mu^2 = 1 - x_k/sqrt(1 +
// x_k^2), where x_k = r^k alpha_0/beta_0 and r = (2 + lambda)/(1 + lambda). For alpha_0 = beta_0
// this is 1 - r^k/sqrt(1 + r^(2k)).
namespace prop_4_3_2 {

inline const Place place = {"lambda-skip/prop-4.3.2", "lambda-skip/prop-4.3.2/",
                            "Proposition 4.3.2"},
                   proof = {place.statement_id, place.prefix, "Proposition 4.3.2, Appendix A.12",
                            Part::proof};
inline const Inequality mu_as_printed =
    showing(place.prefix + "mu",
            proof.counted("as-printed",
                          "mu = 1/(1 + r^(2k)) in Sys-2, with r = (2 + lambda)/(1 + lambda)"));
inline const Inequality mu_corrected = correcting(
    mu_as_printed, proof.counted("corrected",
                                 "mu^2 = 1 - r^k alpha_0/sqrt(r^(2k) alpha_0^2 + beta_0^2) in "
                                 "Sys-2, with r = (2 + lambda)/(1 + lambda)"));
inline const Inequality mu_decay = place.counted(
    "decay",
    "mu(Y^(k))^2 <= C a^k mu(Y^(0))^2 in Sys-2 for lambda > -1, with a = ((1 + lambda)/(2 + "
    "lambda))^2 and C = (beta_0/alpha_0)^2 / (2 mu(Y^(0))^2), 1.71 for alpha_0 = beta_0");
inline const Statement attained =
    place("attained",
          "For some lambda of the run, the rate a = ((1 + lambda)/(2 + lambda))^2 of Sys-2 meets "
          "eq. (7)");
inline const Statement positive_lambda =
    beyond(Statement{place.statement_id, place.prefix + "positive-lambda",
                     "not in the paper, which claims existence and orders",
                     "For no lambda >= 0 does the rate of Sys-2 meet eq. (7)"});

/// The cases of mu_as_printed at one lambda are also counted by its side of -1.
inline std::string at_side(double lambda) {
  return mu_as_printed.id + (lambda > -1 ? "/above" : "/below");
}

/// lambda^2 - a (S C_M + |lambda|)^2 of eq. (7) for Sys-2 at its rate a, with S = ||I||_F = sqrt 2
/// and C_M^2 = 2 + (y_1.y_2)^2.
double margin(double lambda, double largest_cosine);
/// For -1 < lambda < this value the margin is positive for every cosine: -sqrt 6/(1 + sqrt 6).
inline const double highest_attained = -std::sqrt(6.0) / (1 + std::sqrt(6.0));

}  // namespace prop_4_3_2

// The limit of the two tokens ---------------------------------------------------------------------

/// The last two layers of the run at one lambda.
struct Outcome {
  TwoTokenSystem system;
  double mu[2] = {0, 0};
  double rank_one_residual[2] = {0, 0};
  double degenerate_rows = 0.0;
  /// True if |x_k| of the exact form grows or falls fast enough to reach its limit within the run.
  /// Always false for Sys-2 at lambda = -3/2, because |x_k| is constant.
  bool settled = false;

  bool mu_tends_to(double limit) const;
  /// Row 2 tends to plus or minus row 1, up to limit_band. Near the limit, 1 - sigma_1^2/||Y||_F^2
  /// is a quarter of their squared distance.
  bool tends_to_rank_one() const;
};

/// One for each lambda.
std::vector<Outcome> outcomes_of(const Plan& plan, const TrialRecord& record);

/// The lambdas of the outcomes that satisfy the predicate, as in "-3, -2.5"; empty if there are
/// none.
std::string lambdas_where(const std::vector<Outcome>& outcomes,
                          const std::function<bool(const Outcome&)>& predicate);

/// Judges the propositions as printed and as corrected by the exact forms.
void judge(const Plan& plan, const TrialRecord& record, Claims& claims);

}  // namespace ranklab::examples
