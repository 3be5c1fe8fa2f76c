// Claims about Theorems 3.7 and 3.9 and Corollary 3.8 of [Spectral].
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/features/claims.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();

double real(std::uint64_t x) {
  return static_cast<double>(x);
}

// What holds for any activation: order of the means, definition of Sigma, entries of Sigma.
std::vector<Claim> definition_claims(const FeatureRun& run) {
  const std::string where = "Section 3.2.1, before Theorem 3.7";
  const std::string order = "antisymmetric part of the sampled cross-Gram matrix, in units in which nu mu' gives 1 and mu nu' -1";
  const std::string centre = "Sigma by its printed entries less the sampled covariance, along mu - nu, over ||mu - nu||^2";
  return {
      judge_at_largest(run, {"spectral/thm-3.7/decomposition/as-printed", where, "E[a-bar a'] = mu nu' + Sigma"}, "mean_order",
                       -1.1, -0.9, order),
      judge_at_largest(run, {"spectral/thm-3.7/decomposition/corrected", where, "E[a-bar a'] = nu mu' + Sigma"}, "mean_order", 0.9,
                       1.1, order),
      judge_at_largest(run, {"spectral/thm-3.7/covariance-definition/as-printed", where, "Sigma = E (a-bar - mu)(a - nu)'"},
                       "definition_as_printed", -0.2, 0.2, centre),
      judge_at_largest(run, {"spectral/thm-3.7/covariance-definition/corrected", where, "Sigma = E (a-bar - nu)(a - mu)'"},
                       "definition_corrected", -0.2, 0.2, centre),
      judge_at_largest(
          run, {"spectral/thm-3.7/covariance", where, "Sigma_ij = ||v-bar_i|| ||v_j|| phi(t_ij)/(2 pi), or its Hermite form"},
          "cross_squared_error", -squared_error_band, squared_error_band,
          "relative squared error of the formula, by the product of two independent halves of the samples"),
  };
}

std::vector<Claim> constant_claims(const FeatureRun& run) {
  const std::string where = "Section 3.2.1, before Theorem 3.7", coefficient = "least-squares coefficient on the row norms";
  const std::string fit = "least-squares fit of the sampled cross-covariance to V-bar V' and 11'/d";
  constexpr double fit_band = 0.02, ones_band = 0.2;
  std::vector<Claim> claims;
  for (const auto& [form, value, text] :
       {std::tuple{"as-printed", 0.5 / pi, "1/(2 pi)"}, std::tuple{"corrected", 1.0 / std::sqrt(2.0 * pi), "1/sqrt(2 pi)"}}) {
    claims.push_back(judge_constant(
        run, {std::string("spectral/thm-3.7/mean-vector-mu/") + form, where, std::string("mu_i = ||v_i|| times ") + text},
        "mean_coefficient", value, coefficient_band, coefficient));
    claims.push_back(judge_constant(
        run, {std::string("spectral/thm-3.7/mean-vector-nu/") + form, where, std::string("nu_i = ||v-bar_i|| times ") + text},
        "teacher_mean_coefficient", value, coefficient_band, coefficient));
  }
  const auto add = [&](const char* id, const char* statement, const char* name, double value, double band) {
    claims.push_back(
        judge_constant(run, {std::string("spectral/thm-3.7/") + id, "Theorem 3.7", statement}, name, value, band, fit));
  };
  add("coefficient-linear/as-printed", "V-bar V' stands with 1/(2 pi)", "coefficient_linear", 0.5 / pi, fit_band);
  add("coefficient-linear/corrected", "V-bar V' stands with 1/4", "coefficient_linear", 0.25, fit_band);
  add("coefficient-ones/as-printed", "11'/d stands with 1", "coefficient_ones", 1.0, ones_band);
  add("coefficient-ones/corrected", "11'/d stands with 1/(4 pi)", "coefficient_ones", 0.25 / pi, ones_band);
  return claims;
}

std::vector<Claim> asymptotic_claims(const FeatureRun& run) {
  const auto rate = [&](const std::string& id, const std::string& source, const std::string& statement, const SizeMetric& measured,
                        double low, double high) {
    return judge_exponent(run, {"spectral/" + id, source, statement}, measured, low, high, "measured " + range_text(run, measured));
  };
  const auto sampling = [](const FeatureSize& size) { return std::sqrt(real(size.d) / real(size.n)); };
  const double half = -0.5 + exponent_slack;
  std::vector<Claim> claims = {
      rate("thm-3.7/as-printed", "Theorem 3.7", "||Sigma - (V-bar V'/(2 pi) + 11'/d)|| = O(k^(1/2 + eps)/d)",
           metric("error_as_printed"), -infinity, half),
      rate("thm-3.7/corrected", "Theorem 3.7", "||Sigma - (V-bar V'/4 + 11'/(4 pi d))|| = O(k^(1/2 + eps)/d)",
           metric("error_corrected"), -infinity, half),
      rate("cor-3.8/rank-one/as-printed", "Corollary 3.8, proof", "||11'/d - nu mu'/d|| = o(1)", metric("rank_one_as_printed"),
           -infinity, half),
      rate("cor-3.8/rank-one/corrected", "Corollary 3.8, proof",
           "||11'/(4 pi d) - nu mu'/(2 d)|| = o(1), so that 1 + 1/(2d) takes the place of 1 + 1/d", metric("rank_one_corrected"),
           -infinity, half),
      rate("cor-3.8/spike-u", "Corollary 3.8, Assumption G", "the norm of u, the mean of A, is of order sqrt(d)",
           metric("spike_right_norm"), 0.5 - exponent_slack, 0.5 + exponent_slack),
      rate("cor-3.8/spike-v", "Corollary 3.8, Assumption G", "the norm of v, the mean of A-bar, is of order sqrt(d)",
           metric("spike_left_norm"), 0.5 - exponent_slack, 0.5 + exponent_slack),
      rate("cor-3.8/gram-bulk-above", "Corollary 3.8, Assumption G", "Gamma <= c_2 I", metric("gram_bulk_max"), -infinity,
           exponent_slack),
      rate("cor-3.8/cross-bulk-above", "Corollary 3.8, after (3.17)", "s_1 of the cross-Gram bulk is bounded", metric("sigma_1"),
           -infinity, exponent_slack),
  };
  const bool tall = std::all_of(run.sizes.begin(), run.sizes.end(), [](const FeatureSize& s) { return s.k > s.d; });
  const auto only_if = [&](bool met, const char* reason, const Claim& claim) {
    claims.push_back(met ? claim : not_applicable(claim.id, claim.source, claim.statement, reason));
  };
  only_if(!run.singular(), "n <= k: the corollary asks for n >= C_0 d with a C_0 that is large enough",
          rate("cor-3.8/gram-bulk-below", "Corollary 3.8, Assumption G", "Gamma >= c_1 I", metric("gram_bulk_min"), -exponent_slack,
               infinity));
  const char* reason = "k <= d: the statement asks for k/d > 1";
  only_if(tall, reason,
          rate("cor-3.8/cross-bulk-below", "Corollary 3.8, after (3.17)", "s_d of the cross-Gram bulk is bounded below",
               metric("sigma_d"), -exponent_slack, infinity));
  only_if(tall, reason,
          rate("cor-3.8/cross-bulk-tail", "Corollary 3.8, after (3.17)", "s_(d+1) of the cross-Gram bulk is o(1) + O(sqrt(d/n))",
               metric_over("sigma_d_plus_1", sampling), -infinity, exponent_slack));
  only_if(tall, reason,
          rate("eq-3.17/above", "Corollary 3.8, eq. (3.17)", "s_1(V-bar V') <= c_2", metric("linear_sigma_1"), -infinity,
               exponent_slack));
  only_if(tall, reason,
          rate("eq-3.17/below", "Corollary 3.8, eq. (3.17)", "s_d(V-bar V') >= c_1", metric("linear_sigma_d"), -exponent_slack,
               infinity));
  return claims;
}

std::vector<Claim> step_claims(const FeatureRun& run) {
  const auto squared = [](const TrialRecord& record, const FeatureSize& size) {
    return record.scalar(size.prefix() + "nuclear_rank_1") / std::pow(record.scalar(size.prefix() + "ratio"), 2);
  };
  const auto excess = [](const TrialRecord& record, const FeatureSize& size) {
    return record.scalar(size.prefix() + "nuclear_rank_1") / record.scalar(size.prefix() + "ratio");
  };
  const std::string where = "Theorem 3.9, eq. (3.19)", step = ", eta = 1/(c + ||B||), c = " + short_number(run.config.offset);
  std::vector<Claim> claims;
  claims.push_back(judge_everywhere(
      run, {"spectral/eq-3.19/as-printed", where, "nr(grad L(W_1)) >= ||M-bar||_* / ||W-bar||_F"},
      [&](const TrialRecord& record, const FeatureSize& size) { return excess(record, size) - 1.0; },
      "quotient " + range_text(run, excess) + step +
          "; too weak by a square root for (3.20), as the right side is of order sqrt(d)"));
  claims.push_back(judge_exponent(
      run,
      {"spectral/eq-3.19/order/as-printed", where, "the right side of (3.19) without a square is of the order d that (3.20) needs"},
      metric("ratio"), 1.0 - exponent_slack, infinity, "||M-bar||_* / ||W-bar||_F is " + range_text(run, metric("ratio"))));
  claims.push_back(judge_exponent(
      run,
      {"spectral/eq-3.19/order/corrected", where, "the right side of (3.19) with a square is of the order d that (3.20) needs"},
      [](const TrialRecord& record, const FeatureSize& size) { return std::pow(record.scalar(size.prefix() + "ratio"), 2); },
      1.0 - exponent_slack, infinity, "squared"));
  claims.push_back(judge_everywhere(
      run, {"spectral/eq-3.19/squared-constant-one", where, "nr(grad L(W_1)) >= (||M-bar||_* / ||W-bar||_F)^2 with constant 1"},
      [&](const TrialRecord& record, const FeatureSize& size) { return squared(record, size) - 1.0; },
      "quotient " + range_text(run, squared) + step + "; the proof gives >= up to a constant alone"));
  claims.push_back(judge_exponent(
      run, {"spectral/eq-3.19/corrected", where, "nr(grad L(W_1)) >= C (||M-bar||_* / ||W-bar||_F)^2 for a constant C"}, squared,
      -exponent_slack, infinity, "quotient " + range_text(run, squared) + step));
  claims.push_back(judge_exponent(run, {"spectral/eq-3.20", "Theorem 3.9, eq. (3.20)", "nr(grad L(W_1)) is at least of order d"},
                                  metric("nuclear_rank_1"), 1.0 - exponent_slack, infinity,
                                  "nr(grad L(W_1)) is " + range_text(run, metric("nuclear_rank_1")) + step));
  return claims;
}

std::vector<Claim> alignment_claims(const FeatureRun& run) {
  std::vector<Claim> claims;
  const double order = -1.0 + exponent_slack;
  for (const auto& [number, name, what] : {std::tuple{"3.21", "distance_gram", "the top eigenvector of B"},
                                           std::tuple{"3.22", "distance_cross", "the top right singular vector of B-bar"}}) {
    const std::string distance = name, id = std::string("spectral/eq-") + number;
    const std::string source = std::string("Theorem 3.9, proof, eq. (") + number + ")";
    claims.push_back(judge_exponent(
        run, {id, source, "the distance of " + std::string(what) + " from u/||u||, up to sign, is O(1/d)"}, metric(distance),
        -infinity, order, "distance " + range_text(run, metric(distance)) + "; the paper's argmin over q is meant as a min"));
    claims.push_back(judge_everywhere(
        run, {id + "/davis-kahan", source, "that distance is within the bound of Davis, Kahan and Wedin with u the sample mean"},
        [distance](const TrialRecord& record, const FeatureSize& size) {
          return record.scalar(size.prefix() + distance + "_bound") - record.scalar(size.prefix() + distance);
        },
        "in the form of Yu, Wang and Samworth (2015); the bound is " + range_text(run, metric(distance + "_bound"))));
  }
  claims.push_back(judge_exponent(
      run, {"spectral/thm-3.9/alignment", "Theorem 3.9, proof", "| r_0'l_0 - 1 | = O(1/d)"}, metric("alignment_defect"), -infinity,
      order, "1 - |r_0'l_0| is " + range_text(run, metric("alignment_defect")) + "; (3.21) and (3.22) even make it O(1/d^2)"));
  return claims;
}

}  // namespace

std::vector<Claim> cross_gram_claims(const FeatureRun& run) {
  std::vector<Claim> claims = definition_claims(run);
  const std::size_t general = claims.size();
  for (const auto& part : {constant_claims(run), asymptotic_claims(run), step_claims(run), alignment_claims(run)}) {
    claims.insert(claims.end(), part.begin(), part.end());
  }
  only_about_relu(run, claims, general);
  return claims;
}

}  // namespace ranklab
