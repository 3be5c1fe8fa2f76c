#include "experiments/spike_plus_bulk/gradient_rank/claims.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/judges.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/trial.hpp"

namespace ranklab {
namespace {

using namespace gradient_rank;

using Records = std::vector<TrialRecord>;

// The least of L that counts as more than zero, over L(W_0).
constexpr double smallest_minimum = 1e-3;

std::string letter(const Evidence& run) {
  return run.teacher() ? "b" : "a";
}

double window_length(const TrialRecord& record, std::uint64_t k) {
  return record.scalar(at_k(k, "window_end")) - record.scalar(at_k(k, "window_start"));
}

// [Spectral] Section 3, introduction: large over at least Theta(d) iterates. A window that never opens is too short, one that
// never ends is not.
Claim window_claim(const Evidence& run, const Text& text) {
  if (auto other = unless_relu(run, text)) return *other;
  double violations = 0, cases = 0, shortest = infinity;
  for (const TrialRecord& record : run.records) {
    for (const std::uint64_t k : run.k) {
      const double d = static_cast<double>(sizes_at(run.config, k).d), length = window_length(record, k);
      const bool opens = std::isfinite(record.scalar(at_k(k, "window_start")));
      cases += 1;
      if (std::isfinite(length)) shortest = std::min(shortest, length / d);
      if (!opens || length < d) violations += 1;
    }
  }
  return judge_violations(text.id, text.source, text.statement, violations, cases,
                          "shortest window " + short_number(shortest) + " d; its ends are sought beyond --steps");
}

void add_figure_claims(const Evidence& run, std::vector<Claim>& out) {
  const std::string fig_14 = "spectral/fig-14" + letter(run), fig_15 = "spectral/fig-15" + letter(run);
  const std::string figure_14 = "Figure 14 (" + letter(run) + ")", figure_15 = "Figure 15 (" + letter(run) + ")";
  const std::string section = run.teacher() ? "3.2.2" : "3.1.2";
  out.push_back(exponent_claim(run, {fig_15 + "/nr-0-bounded", figure_15, "nr at W_0 is essentially independent of k"},
                               recorded("nuclear_rank_0"), -infinity, bounded_margin));
  out.push_back(inequality_claim(
      run,
      {"spectral/section-" + section + "/nr-0-bound", "Section " + section,
       "nr at W_0 is at most the square of C (spike + ||bulk||_*) / (kappa spike - C ||bulk||_F), with the run's own constants"},
      recorded("nuclear_rank_0"), recorded("nuclear_rank_0_bound")));
  out.push_back(exponent_claim(run,
                               {"spectral/section-" + section + "/bound-constant", "Section " + section,
                                "that bound does not grow with k, where its denominator is positive"},
                               recorded("nuclear_rank_0_bound"), -infinity, bounded_margin));
  out.push_back(first_step_claim(run, {fig_15 + "/nr-1-linear", figure_15, "nr at W_1 grows linearly with k"},
                                 recorded("nuclear_rank_1"), 1 - linear_margin, 1 + linear_margin));
  out.push_back(
      first_step_claim(run, {fig_15 + "/eq-1.5-increasingly", figure_15, "nr at W_1 over st(A), the condition (1.5), grows with k"},
                       ratio("nuclear_rank_1", "stable_rank_A"), 0.0, infinity));
  const Text first_step{fig_14 + "/first-step", figure_14, "the first step raises the nuclear rank, at every k"};
  const auto other = unless_relu(run, first_step);
  out.push_back(other ? *other : inequality_claim(run, first_step, recorded("nuclear_rank_0"), recorded("nuclear_rank_1")));
  out.push_back(first_step_claim(
      run, {fig_14 + "/stronger-with-k", figure_14, "the first step raises the nuclear rank by a factor that grows with k"},
      ratio("nuclear_rank_1", "nuclear_rank_0"), 0.0, infinity));
  out.push_back(window_claim(run, {fig_14 + "/window", "Section 3, introduction, and " + figure_14,
                                   "nr stays at or above d/4 for at least d iterations"}));
  out.push_back(exponent_claim(run,
                               {fig_14 + "/window-grows", "Section 3, introduction",
                                "the window of nr >= d/4 lengthens in proportion to the dimension, at least as the power 3/4"},
                               window_length, 1 - bounded_margin, infinity));
}

// [Spectral] Assumption E, or G, with the spikes of Theorem 3.4 and Corollary 3.8.
void add_assumption_claims(const Evidence& run, std::vector<Claim>& out) {
  const std::string letter = run.teacher() ? "G" : "E",
                    id = std::string("spectral/") + (run.teacher() ? "eq-3.15" : "eq-3.2") + "/assumption-" + letter;
  const std::string source = "Assumption " + letter + (run.teacher() ? " and Corollary 3.8" : " and Theorem 3.4");
  out.push_back(exponent_claim(run, {id + "/spike", source, "the spike ||u||^2 of B, u the mean feature, grows linearly with k"},
                               recorded("spike"), 1 - linear_margin, 1 + linear_margin));
  out.push_back(exponent_claim(run, {id + "/bulk", source, "c_2 / c_1 of the bulk B - uu' is bounded"},
                               ratio("bulk_largest", "bulk_smallest"), -infinity, bounded_margin));
  if (!run.teacher()) return;
  out.push_back(
      exponent_claim(run, {id + "/cross-spike", source, "the spike ||u|| ||v|| of the cross-Gram matrix grows linearly with k"},
                     recorded("cross_spike"), 1 - linear_margin, 1 + linear_margin));
  out.push_back(exponent_claim(run, {id + "/cross-bulk", source, "s_1 / s_d of the cross-Gram bulk is bounded"},
                               ratio("cross_bulk_largest", "cross_bulk_d"), -infinity, bounded_margin));
}

void add_first_iteration_claims(const Evidence& run, std::vector<Claim>& out) {
  const std::string step = ", at eta = 1/(" + short_number(theorem_offset(run.config)) + " + ||B||)";
  if (run.teacher()) {
    out.push_back(
        exponent_claim(run, {"spectral/thm-3.9/nr-1-linear", "Theorem 3.9, eq. (3.20)", "nr at W_1 is at least of order d" + step},
                       recorded("nuclear_rank_1_offset"), 1 - linear_margin, infinity));
    return;
  }
  const std::string id = "spectral/lemma-3.5", source = "Lemma 3.5";
  out.push_back(exponent_claim(run, {id + "/condition-bounded", source, "the condition number of T is bounded as k grows" + step},
                               recorded("condition_T"), -infinity, bounded_margin));
  out.push_back(
      inequality_claim(run,
                       {id + "/explicit-bound", source + ", proof",
                        "the eigenvalues of T lie in [c_1 (1 - c_2/(c + ||B||)), c_2] or are c ||B||/(c + ||B||), so that "
                        "its condition number is at most the ratio of the extremes" +
                            step},
                       recorded("condition_T"), recorded("condition_T_bound")));
  out.push_back(exponent_claim(run, {id + "/nr-1", source, "nr at W_1 is at least of the order of nr(W#)" + step},
                               ratio("nuclear_rank_1_offset", "nuclear_rank_W"), -linear_margin, infinity));
  out.push_back(inequality_claim(
      run,
      {id + "/elementary-observation", source + ", proof",
       "nr(W# T) is at least nr(W#) over the squared condition number of T" + step},
      [](const TrialRecord& record, std::uint64_t k) {
        return record.scalar(at_k(k, "nuclear_rank_W")) / std::pow(record.scalar(at_k(k, "condition_T")), 2);
      },
      recorded("nuclear_rank_1_offset")));
}

// The closed form against the iteration, per trial, at the smallest k.
Claim closed_form_claim(const Evidence& run) {
  double violations = 0, cases = 0, largest = 0;
  for (const TrialRecord& record : run.records) {
    const double error = record.scalar("closed_form_error");
    if (!std::isfinite(error)) continue;
    cases += 1;
    largest = std::max(largest, error);
    if (error > record.scalar("closed_form_tolerance")) violations += 1;
  }
  return judge_violations(run.teacher() ? "spectral/lemma-3.10/closed-form" : "spectral/section-3.1.4/closed-form",
                          run.teacher() ? "Lemma 3.10" : "Section 3.1.4, before Theorem 3.6",
                          "the gradient at W_t equals the gradient at W_0 times (I - eta B)^t, to rounding", violations, cases,
                          "gradients of the iteration itself at k = " + std::to_string(run.k.front()) +
                              ", largest error over ||G_0||_F " + short_number(largest));
}

Claim minimum_claim(const Evidence& run) {
  std::vector<double> smallest, largest;
  bool solvable = false;  // W A = Y has a solution where A has full column rank
  for (const TrialRecord& record : run.records) {
    double low = infinity, high = 0;
    for (const std::uint64_t k : run.k) {
      const double value = record.scalar(at_k(k, "minimum_ratio"));
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, std::abs(value));
    }
    smallest.push_back(low);
    largest.push_back(low < infinity ? high : undefined);
  }
  for (const std::uint64_t k : run.k) solvable = solvable || sizes_at(run.config, k).n <= k;
  if (!run.teacher()) {
    return judge_mean("spectral/eq-3.1/minimum", "Section 3.1, eq. (3.1)", "min L is zero, to rounding", largest, -infinity,
                      rounding_slack, "largest |min L| / L(W_0) over k");
  }
  const std::string id = "spectral/eq-3.14/minimum", source = "Section 3.2, eq. (3.14)",
                    statement = "the student cannot fit the teacher: min L is not zero";
  if (solvable) return not_applicable(id, source, statement, "with n <= k the labels are interpolated");
  return judge_mean(id, source, statement, smallest, smallest_minimum, 1.0, "smallest min L / L(W_0) over k");
}

}  // namespace

std::vector<Claim> gradient_rank_claims(const GradientRankConfig& config, LabelModel model, const Records& records) {
  const Evidence run{config, model, records, ascending_k(config)};
  std::vector<Claim> claims;
  add_figure_claims(run, claims);
  add_assumption_claims(run, claims);
  add_first_iteration_claims(run, claims);
  claims.push_back(closed_form_claim(run));
  claims.push_back(minimum_claim(run));
  return claims;
}

}  // namespace ranklab
