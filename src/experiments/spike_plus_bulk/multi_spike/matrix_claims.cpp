// Claims about the matrices of the multi-spike study: Assumption F, eq. (3.10); Assumption H, eq.
// (3.23); the subspaces in the proof of Theorem 3.11 and in that of Corollary 3.12.
#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

constexpr double rounding =
    1e-10;  // relative error of eigenvalues and singular values of matrices with a few hundred rows

// A worked example: whether it obeys the statement, and its numbers.
struct Example {
  bool holds;
  std::string text;
};

// Claim: holds(at) in every trial at every size, and in the example. The detail gives the smallest
// and the largest value of `quantity`.
void judge_every(const SizeClaims& over_d, const Statement& statement, const std::string& detail,
                 const std::function<bool(const AtSize&)>& holds, const Metric& quantity,
                 const std::optional<Example>& example = {}) {
  Tally tally =
      over_d.tally([&](const AtSize& at, Tally& t) { t.count(!holds(at), quantity(at)); });
  const std::string of_trials =
      tally.cases > 0 ? say("{} between {} and {}", detail, tally.smallest, tally.largest) : "";
  if (example) tally.count(!example->holds);
  over_d.claims.never_violated(statement, tally, clauses(of_trials, example ? example->text : ""));
}

// "eq-3.10" with the parameters that distinguish the pair.
std::string id(const std::string& name, const SpikePair& pair) {
  return name + id_suffix(pair.place);
}

bool spikes_in_range(const AtSize& at, const SpikePair& pair, double low, double high) {
  return at(spike_smallest) >= low * pair.smallest_spike(at.x) * (1 - rounding) &&
         at(spike_largest) <= high * pair.largest_spike(at.x) * (1 + rounding) &&
         at(signal_remainder) <= rounding * at(spike_largest);
}

bool bulk_in_range(const AtSize& at) {
  return at(bulk_smallest) >= c_1 * (1 - rounding) && at(bulk_largest) <= c_2 * (1 + rounding);
}

void judge_assumption_F(const SpikePair& pair, const SizeClaims& over_d) {
  const Place place{spectral::assumption_F, "spectral/", "Assumption F, eq. (3.10)",
                    Part::definition};
  const Misprint bounds =
      place.misprint(spectral::eq_3_10_rank, id("eq-3.10", pair),
                     "c_1 d^l I <= S <= c_2 d^u I for S of rank r, and c_1 I <= Sigma <= c_2 I",
                     "The r nonzero eigenvalues of S lie between c_1 d^l and c_2 d^u, and the "
                     "eigenvalues of Sigma between c_1 and c_2");
  judge_every(
      over_d, bounds.as_printed,
      "S of rank r < k has the eigenvalue 0; smallest eigenvalue of S, over d^l,",
      [&](const AtSize& at) {
        return at(signal_smallest) >= c_1 * pair.smallest_spike(at.x) * (1 - rounding) &&
               bulk_in_range(at) &&
               at(spike_largest) <= c_2 * pair.largest_spike(at.x) * (1 + rounding);
      },
      [&](const AtSize& at) { return at(signal_smallest) / pair.smallest_spike(at.x); });
  judge_every(
      over_d, bounds.corrected, "c_1 = 0.5, c_2 = 1.5; gap lambda_r(B) / lambda_(r+1)(B)",
      [&](const AtSize& at) { return spikes_in_range(at, pair, c_1, c_2) && bulk_in_range(at); },
      [](const AtSize& at) { return at(eigenvalue_gap); });
}

void judge_assumption_H(const Config& config, const SpikePair& pair, const SizeClaims& over_d) {
  // That our matrices satisfy the assumption is not a statement of the paper.
  const Place place =
      beyond(Place{spectral::assumption_H, "spectral/", "Assumption H, eq. (3.23)"});
  judge_every(
      over_d,
      place(id("eq-3.23", pair),
            "p singular values of H_1 lie between d^l and d^u, the eigenvalues of Gamma between "
            "c_1 and c_2, and r = d/2 singular values of Sigma between c_1 and c_2"),
      "c_1 = 0.5, c_2 = 1.5; r follows from the number of zero singular values; p/d",
      [&](const AtSize& at) {
        return spikes_in_range(at, pair, 1.0, 1.0) && bulk_in_range(at) && pair.high <= 1 &&
               at(cross_bulk_norm) <= c_2 * (1 + rounding) &&
               at(cross_bulk_smallest) >= c_1 * (1 - rounding) &&
               at(cross_bulk_remainder) <= rounding;
      },
      [&](const AtSize& at) { return real(config.spikes) / at.x; });
}

// One spike d^l = 10 in two dimensions (other spikes and directions decoupled): H_2 = 10 e_1 e_1'
// and Sigma = [-0.2, s; s, 0.2] with s = sqrt(0.96), whose singular values are 1. B-bar is
// symmetric, and its top singular vector is at the angle (1/2) arctan(2 s/9.6) to e_1.
constexpr double spike_of_example = 10.0;
double distance_of_example() {
  constexpr double a = 0.2;
  return std::sin(0.5 * std::atan2(2.0 * std::sqrt(1.0 - a * a), spike_of_example - 2.0 * a));
}

// The theorems of Davis-Kahan and Wedin for several spikes.
void judge_subspaces(const SpikePair& pair, const SizeClaims& over_d) {
  const Place left{spectral::thm_3_11, "spectral/", "Proof of Theorem 3.11, eq. (3.24)",
                   Part::proof},
      right{left.statement_id, left.prefix, "Proof of Theorem 3.11, eq. (3.25)", Part::proof};
  const std::string quantity = "distance times d^l";
  const auto scaled = [&](const Measure& distance) {
    return [&pair, distance](const AtSize& at) { return at(distance) * pair.smallest_spike(at.x); };
  };
  judge_every(
      over_d, left(id("eq-3.24", pair), "||UU' - L_1 L_1'||_op <= ||Gamma||_op / d^l"), quantity,
      [&](const AtSize& at) {
        return at(left_distance) <= at(bulk_largest) / pair.smallest_spike(at.x);
      },
      scaled(left_distance));
  const Misprint wedin = right.misprint(
      spectral::thm_3_11_wedin, id("eq-3.25", pair), "||UU' - R_1 R_1'||_op <= ||Sigma||_op / d^l",
      "||UU' - R_1 R_1'||_op <= ||Sigma||_op / (d^l - ||Sigma||_op); the gap in Wedin's theorem is "
      "that of B-bar, whose smallest spike may be below d^l");
  const double distance = distance_of_example();
  const auto example = [&](double bound) {
    return Example{distance <= bound,
                   say("in two dimensions with d^l = 10 and Sigma = [-0.2, s; s, 0.2] of norm 1 "
                       "the distance is {} and the bound {}",
                       distance, bound)};
  };
  judge_every(
      over_d, wedin.as_printed, quantity,
      [&](const AtSize& at) {
        return at(right_distance) <= at(cross_bulk_norm) / pair.smallest_spike(at.x);
      },
      scaled(right_distance), example(1.0 / spike_of_example));
  judge_every(
      over_d, wedin.corrected, quantity,
      [&](const AtSize& at) {
        const double gap = pair.smallest_spike(at.x) - at(cross_bulk_norm);
        return gap <= 0 || at(right_distance) * gap <= at(cross_bulk_norm);
      },
      scaled(right_distance), example(1.0 / (spike_of_example - 1.0)));
}

// Statements up to constants, judged by an exponent over d.
void judge_orders(const Config& config, const SpikePair& pair, const SizeClaims& over_d) {
  const Place theorem{spectral::thm_3_11, "/", "Proof of Theorem 3.11", Part::proof},
      corollary{spectral::cor_3_12, "/", "Proof of Corollary 3.12", Part::proof};
  const double margin = exponent_tolerance(config), p = real(config.spikes);
  const Metric spike = [&](const AtSize& at) { return pair.smallest_spike(at.x); };
  const Metric passed = [&](const AtSize& at) { return std::pow(at.x, pair.high - pair.low); };
  const Metric order_d = [](const AtSize& at) { return at.x; };
  const Metric counted = [p](const AtSize& at) {
    return at.x * (std::floor(at.x / 2) - 2 * p + 1);
  };
  const Misprint separation = theorem.misprint(
      spectral::thm_3_11_separation, id("separation", pair),
      "lambda_i(B) is at least of order d^l for i up to r = d/2, the rank of Sigma",
      "lambda_i(B) is at least of order d^l for i up to p, the number of spikes");
  judge_exponent(over_d, separation.as_printed, ratio(lambda_cross_rank, spike), at_least(-margin));
  judge_exponent(over_d, separation.corrected, ratio(lambda_spikes, spike), at_least(-margin));
  judge_exponent(over_d,
                 theorem(id("leak", pair), "||S-bar_1 R_1' L_2||_op is at most of order d^(u-l)"),
                 ratio(leak, passed), at_most(margin));
  const Misprint nuclear = corollary.misprint(spectral::cor_3_12_M_nuclear, id("M-nuclear", pair),
                                              "||M-bar||_* is at least of order k (r - 2 p + 1)",
                                              "||M-bar||_* is at least of order d");
  judge_exponent(over_d, nuclear.as_printed, ratio(M_nuclear, counted), at_least(-margin));
  judge_exponent(over_d, nuclear.corrected, ratio(M_nuclear, order_d), at_least(-margin));
}

// (3.21) and (3.22) are about one spike of order d. If no pair has one, the last pair reports that
// they are not applicable.
void judge_single_spike(const Config& config, const SpikePair& pair, const SizeClaims& over_d) {
  const auto has_single_spike = [&](const SpikePair& any) {
    return config.spikes == 1 && any.high == 1;
  };
  const std::vector<SpikePair> pairs = config.pairs();
  const bool last = pair.place.text == pairs.back().place.text;
  if (!has_single_spike(pair) &&
      (!last || std::any_of(pairs.begin(), pairs.end(), has_single_spike)))
    return;
  for (const auto& [number, top, distance] :
       {std::tuple{"3.21", "eigenvector of B", left_vector_distance},
        std::tuple{"3.22", "right singular vector of B-bar", right_vector_distance}}) {
    const std::string eq = say("eq-{}", number);
    const Statement statement = asymptotic(
        Statement{spectral::thm_3_9, "spectral/" + (has_single_spike(pair) ? id(eq, pair) : eq),
                  say("Proof of Theorem 3.9, eq. ({})", number),
                  say("The distance from u / ||u|| to the line spanned by the top {} is at most of "
                      "order 1/d (the paper prints argmin instead of min)",
                      top),
                  Part::proof},
        over_d.slack);
    if (!over_d.claims.applies(statement, has_single_spike(pair)
                                              ? ""
                                              : "Assumption G requires a single spike, of order d; "
                                                "(3.24) and (3.25) are about several spikes")) {
      continue;
    }
    judge_exponent(over_d, statement, ratio(distance, [](const AtSize& at) { return 1 / at.x; }),
                   at_most(exponent_tolerance(config)), "exponent of d in distance times d");
  }
}

}  // namespace

void judge_matrices(const Config& config, const SpikePair& pair, const SizeClaims& over_d) {
  if (!config.teacher()) return judge_assumption_F(pair, over_d);
  judge_assumption_H(config, pair, over_d);
  judge_subspaces(pair, over_d);
  judge_orders(config, pair, over_d);
  judge_single_spike(config, pair, over_d);
}

}  // namespace ranklab::multi_spike
