// Claims about the matrices of the multi-spike study: Assumption F, eq. (3.10); Assumption H, eq. (3.23); the subspaces in the
// proof of Theorem 3.11 and in that of Corollary 3.12.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/multi_spike/claims.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-10;  // relative; of eigenvalues and singular values of matrices of a few hundred rows

double real(std::uint64_t n) {
  return static_cast<double>(n);
}

// Counts over trials and sizes of one pair.
class PairTally {
 public:
  PairTally(const MultiSpikeRun& run, const SpikePair& pair) : run_(run), pair_(pair) {}

  using Value = std::function<double(const char*)>;
  /// holds(value, d), and a number whose largest and smallest values go into the detail.
  Claim judge(const std::string& id, const std::string& source, const std::string& statement, const std::string& detail,
              const std::function<bool(const Value&, double)>& holds,
              const std::function<double(const Value&, double)>& shown) const {
    double cases = 0, violations = 0, low = infinity, high = -infinity;
    for (const std::uint64_t d : run_.config.d) {
      const std::string at = pair_.names + "d=" + std::to_string(d) + ".";
      for (const TrialRecord& record : run_.records) {
        const Value value = [&](const char* name) { return record.scalar(at + name); };
        cases += 1;
        if (!holds(value, real(d))) violations += 1;
        low = std::min(low, shown(value, real(d)));
        high = std::max(high, shown(value, real(d)));
      }
    }
    return judge_violations(id, source, statement, violations, cases,
                            cases > 0 ? detail + " between " + short_number(low) + " and " + short_number(high) : "");
  }

 private:
  const MultiSpikeRun& run_;
  const SpikePair& pair_;
};

using Value = PairTally::Value;

bool spikes_in_range(const Value& value, const SpikePair& pair, double d, double c_1, double c_2) {
  return value("spike_smallest") >= c_1 * std::pow(d, pair.low) * (1 - rounding) &&
         value("spike_largest") <= c_2 * std::pow(d, pair.high) * (1 + rounding) &&
         value("signal_remainder") <= rounding * value("spike_largest");
}

bool bulk_in_range(const Value& value, double c_1, double c_2) {
  return value("bulk_smallest") >= c_1 * (1 - rounding) && value("bulk_largest") <= c_2 * (1 + rounding);
}

std::vector<Claim> assumption_F(const MultiSpikeRun& run, const SpikePair& pair) {
  const PairTally tally(run, pair);
  const std::string id = claim_id("spectral/eq-3.10", pair.names), source = "Assumption F, eq. (3.10)";
  const double c_1 = SpikedShape().bulk_low, c_2 = SpikedShape().bulk_high;
  const auto shown = [&](const Value& value, double d) { return value("signal_smallest") / std::pow(d, pair.low); };
  return {
      tally.judge(
          id + "/as-printed", source, "c_1 d^l I <= S <= c_2 d^u I for the S of rank r, and c_1 I <= Sigma <= c_2 I",
          "an S of rank r < k has the eigenvalue 0; smallest eigenvalue of S / d^l",
          [&](const Value& value, double d) {
            return value("signal_smallest") >= c_1 * std::pow(d, pair.low) * (1 - rounding) && bulk_in_range(value, c_1, c_2) &&
                   value("spike_largest") <= c_2 * std::pow(d, pair.high) * (1 + rounding);
          },
          shown),
      tally.judge(
          id + "/corrected", source,
          "the r nonzero eigenvalues of S lie between c_1 d^l and c_2 d^u, those of Sigma between c_1 and c_2",
          "c_1 = 0.5, c_2 = 1.5, the gap lambda_r(B) / lambda_(r+1)(B)",
          [&](const Value& value, double d) { return spikes_in_range(value, pair, d, c_1, c_2) && bulk_in_range(value, c_1, c_2); },
          [](const Value& value, double) { return value("eigenvalue_gap"); }),
  };
}

void add_assumption_H(const MultiSpikeRun& run, const SpikePair& pair, std::vector<Claim>& claims) {
  const double c_1 = SpikedShape().bulk_low, c_2 = SpikedShape().bulk_high;
  claims.push_back(PairTally(run, pair).judge(
      claim_id("spectral/eq-3.23", pair.names), "Assumption H, eq. (3.23)",
      "p singular values of H_1 between d^l and d^u, Gamma between c_1 and c_2, and r = d/2 singular values of Sigma between c_1 "
      "and c_2",
      "c_1 = 0.5, c_2 = 1.5, r counted from the zero singular values; p/d",
      [&](const Value& value, double d) {
        return spikes_in_range(value, pair, d, 1.0, 1.0) && bulk_in_range(value, c_1, c_2) && pair.high <= 1 &&
               value("cross_bulk_norm") <= c_2 * (1 + rounding) && value("cross_bulk_smallest") >= c_1 * (1 - rounding) &&
               value("cross_bulk_remainder") <= rounding;
      },
      [&](const Value&, double d) { return real(run.config.spikes) / d; }));
}

// Davis-Kahan and Wedin for several spikes.
void add_subspace_claims(const MultiSpikeRun& run, const SpikePair& pair, std::vector<Claim>& claims) {
  const PairTally tally(run, pair);
  const std::string left = "Proof of Theorem 3.11, eq. (3.24)", right = "Proof of Theorem 3.11, eq. (3.25)";
  const std::string shown = "distance times d^l";
  const auto scaled = [&](const char* name) {
    return [&pair, name](const Value& value, double d) { return value(name) * std::pow(d, pair.low); };
  };
  claims.push_back(tally.judge(
      claim_id("spectral/eq-3.24", pair.names), left, "||UU' - L_1 L_1'||_op <= ||Gamma||_op / d^l", shown,
      [&](const Value& value, double d) { return value("left_distance") <= value("bulk_largest") / std::pow(d, pair.low); },
      scaled("left_distance")));
  const std::string id = claim_id("spectral/eq-3.25", pair.names);
  claims.push_back(tally.judge(
      id + "/as-printed", right, "||UU' - R_1 R_1'||_op <= ||Sigma||_op / d^l", shown,
      [&](const Value& value, double d) { return value("right_distance") <= value("cross_bulk_norm") / std::pow(d, pair.low); },
      scaled("right_distance")));
  claims.push_back(tally.judge(
      id + "/corrected", right,
      "||UU' - R_1 R_1'||_op <= ||Sigma||_op / (d^l - ||Sigma||_op): the gap that Wedin's theorem takes is that of B-bar, whose "
      "smallest spike may be below d^l",
      shown,
      [&](const Value& value, double d) {
        const double gap = std::pow(d, pair.low) - value("cross_bulk_norm");
        return gap <= 0 || value("right_distance") * gap <= value("cross_bulk_norm");
      },
      scaled("right_distance")));
}

// Statements up to constants, judged by an exponent over d.
void add_order_claims(const MultiSpikeRun& run, const SpikePair& pair, std::vector<Claim>& claims) {
  const auto add = [&](const std::string& id, const std::string& source, const std::string& statement, const char* quantity,
                       const SizeScale& scale, double low, double high) {
    double error = 0;
    const auto exponents = exponents_over_d(run, pair.names, quantity, scale, &error);
    claims.push_back(judge_exponent(run, id, source, statement, exponents, low, high,
                                    "exponent of d in the ratio of the two sides; standard error of a fit " + short_number(error)));
  };
  const double t = exponent_tolerance(run.config);
  const SizeScale spike = [&](double d) { return std::pow(d, pair.low); };
  const std::string theorem = "Proof of Theorem 3.11", corollary = "Proof of Corollary 3.12";
  const std::string separation = claim_id("spectral/thm-3.11/separation", pair.names);
  add(separation + "/as-printed", theorem,
      "lambda_i(B) is at least of order d^l for i up to r, the number of r = d/2 singular values", "lambda_cross_rank", spike, -t,
      infinity);
  add(separation + "/corrected", theorem, "lambda_i(B) is at least of order d^l for i up to p, the number of spikes",
      "lambda_spikes", spike, -t, infinity);
  add(
      claim_id("spectral/thm-3.11/leak", pair.names), theorem, "||S-bar_1 R_1' L_2||_op is at most of order d^(u-l)", "leak",
      [&](double d) { return std::pow(d, pair.high - pair.low); }, -infinity, t);
  const std::string nuclear = claim_id("spectral/cor-3.12/M-nuclear", pair.names);
  const double p = real(run.config.spikes);
  add(
      nuclear + "/as-printed", corollary, "||M-bar||_* is at least of order k (r - 2 p + 1)", "M_nuclear",
      [p](double d) { return d * (std::floor(d / 2) - 2 * p + 1); }, -t, infinity);
  add(
      nuclear + "/corrected", corollary, "||M-bar||_* is at least of order d", "M_nuclear", [](double d) { return d; }, -t,
      infinity);
}

// (3.21) and (3.22) are about one spike of order d. Where no pair has it, the last one says so.
void add_single_spike_claims(const MultiSpikeRun& run, const SpikePair& pair, std::vector<Claim>& claims) {
  const auto applies = [&](const SpikePair& any) { return run.config.spikes == 1 && any.high == 1; };
  const auto pairs = spike_pairs(run.config);
  const bool last = pair.low == pairs.back().low && pair.high == pairs.back().high;
  if (!applies(pair) && (!last || std::any_of(pairs.begin(), pairs.end(), applies))) return;
  for (const bool left : {true, false}) {
    const std::string number = left ? "3.21" : "3.22", source = "Proof of Theorem 3.9, eq. (" + number + ")";
    const std::string statement = std::string("the distance from u / ||u|| to the line of the top ") +
                                  (left ? "eigenvector of B" : "right singular vector of B-bar") +
                                  " is at most of order 1/d (printed with argmin for min)";
    if (!applies(pair)) {
      claims.push_back(
          not_applicable("spectral/eq-" + number, source, statement,
                         "Assumption G has one spike, of order d; several spikes are the subject of (3.24) and (3.25)"));
      continue;
    }
    double error = 0;
    const auto exponents = exponents_over_d(
        run, pair.names, left ? "left_vector_distance" : "right_vector_distance", [](double d) { return 1 / d; }, &error);
    claims.push_back(judge_exponent(run, claim_id("spectral/eq-" + number, pair.names), source, statement, exponents, -infinity,
                                    exponent_tolerance(run.config),
                                    "exponent of d in distance times d; standard error of a fit " + short_number(error)));
  }
}

}  // namespace

std::vector<Claim> matrix_claims(const MultiSpikeRun& run, const SpikePair& pair) {
  if (run.model == LabelModel::realizable) return assumption_F(run, pair);
  std::vector<Claim> claims;
  add_assumption_H(run, pair, claims);
  add_subspace_claims(run, pair, claims);
  add_order_claims(run, pair, claims);
  add_single_spike_claims(run, pair, claims);
  return claims;
}

}  // namespace ranklab
