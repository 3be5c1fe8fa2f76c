// Claims about the matrices of the multi-spike study: Assumption F, eq. (3.10); Assumption H, eq. (3.23); the subspaces in the
// proof of Theorem 3.11 and in that of Corollary 3.12.
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/spike_plus_bulk/multi_spike/multi_spike.hpp"

namespace ranklab::multi_spike {
namespace {

constexpr double rounding = 1e-10;  // relative; of eigenvalues and singular values of matrices of a few hundred rows

// One pair's matrices, as measured.
struct Matrices {
  const Plan& plan;
  const SpikePair& pair;
  const Records& records;
  Claims& claims;

  // "eq-3.10" with what distinguishes the pair.
  std::string id(const std::string& name) const { return name + id_suffix(pair.names); }
  double smallest_spike(double d) const { return std::pow(d, pair.low); }
  double largest_spike(double d) const { return std::pow(d, pair.high); }

  // The numbers of one trial at one size.
  using Value = std::function<double(const char*)>;

  // holds(value, d) in every trial at every size, and a number whose smallest and largest values go into the detail.
  void every(const Statement& statement, const std::string& detail, const std::function<bool(const Value&, double)>& holds,
             const std::function<double(const Value&, double)>& shown) const {
    const Tally tally = tally_of(records, [&](const TrialRecord& record, Tally& t) {
      for (const std::uint64_t d : plan.config.d) {
        const Value value = [&](const char* name) { return record.scalar(at_size(pair.names, d) + name); };
        t.count(!holds(value, static_cast<double>(d)), shown(value, static_cast<double>(d)));
      }
    });
    claims.never_violated(
        statement, tally,
        tally.cases > 0 ? detail + " between " + short_number(tally.smallest) + " and " + short_number(tally.largest) : "");
  }

  void exponent(const Statement& statement, const char* quantity, const SizeScale& scale, Region allowed,
                const std::string& detail = "exponent of d in the ratio of the two sides") const {
    judge_exponent(plan, records, statement, over_scale(plan, pair.names, quantity, scale), allowed, detail, claims);
  }

  bool spikes_in_range(const Value& value, double d, double c_1, double c_2) const {
    return value(spike_smallest) >= c_1 * smallest_spike(d) * (1 - rounding) &&
           value(spike_largest) <= c_2 * largest_spike(d) * (1 + rounding) &&
           value(signal_remainder) <= rounding * value(spike_largest);
  }
  bool bulk_in_range(const Value& value) const {
    return value(bulk_smallest) >= plan.c_1 * (1 - rounding) && value(bulk_largest) <= plan.c_2 * (1 + rounding);
  }
};

using Value = Matrices::Value;

void judge_assumption_F(const Matrices& of) {
  const Place place{"spectral/", "Assumption F, eq. (3.10)"};
  const Misprint bounds =
      place.misprint(of.id("eq-3.10"), "c_1 d^l I <= S <= c_2 d^u I for the S of rank r, and c_1 I <= Sigma <= c_2 I",
                     "the r nonzero eigenvalues of S lie between c_1 d^l and c_2 d^u, those of Sigma between c_1 and c_2");
  const double c_1 = of.plan.c_1, c_2 = of.plan.c_2;
  of.every(
      bounds.as_printed, "an S of rank r < k has the eigenvalue 0; smallest eigenvalue of S / d^l",
      [&](const Value& value, double d) {
        return value(signal_smallest) >= c_1 * of.smallest_spike(d) * (1 - rounding) && of.bulk_in_range(value) &&
               value(spike_largest) <= c_2 * of.largest_spike(d) * (1 + rounding);
      },
      [&](const Value& value, double d) { return value(signal_smallest) / of.smallest_spike(d); });
  of.every(
      bounds.corrected, "c_1 = 0.5, c_2 = 1.5, the gap lambda_r(B) / lambda_(r+1)(B)",
      [&](const Value& value, double d) { return of.spikes_in_range(value, d, c_1, c_2) && of.bulk_in_range(value); },
      [](const Value& value, double) { return value(eigenvalue_gap); });
}

void judge_assumption_H(const Matrices& of) {
  const Place place{"spectral/", "Assumption H, eq. (3.23)"};
  of.every(
      place(of.id("eq-3.23"),
            "p singular values of H_1 between d^l and d^u, Gamma between c_1 and c_2, and r = d/2 singular values of Sigma between "
            "c_1 "
            "and c_2"),
      "c_1 = 0.5, c_2 = 1.5, r counted from the zero singular values; p/d",
      [&](const Value& value, double d) {
        return of.spikes_in_range(value, d, 1.0, 1.0) && of.bulk_in_range(value) && of.pair.high <= 1 &&
               value(cross_bulk_norm) <= of.plan.c_2 * (1 + rounding) &&
               value(cross_bulk_smallest) >= of.plan.c_1 * (1 - rounding) && value(cross_bulk_remainder) <= rounding;
      },
      [&](const Value&, double d) { return static_cast<double>(of.plan.config.spikes) / d; });
}

// Davis-Kahan and Wedin for several spikes.
void judge_subspaces(const Matrices& of) {
  const Place left{"spectral/", "Proof of Theorem 3.11, eq. (3.24)"}, right{"spectral/", "Proof of Theorem 3.11, eq. (3.25)"};
  const std::string shown = "distance times d^l";
  const auto scaled = [&](const char* name) {
    return [&of, name](const Value& value, double d) { return value(name) * of.smallest_spike(d); };
  };
  of.every(
      left(of.id("eq-3.24"), "||UU' - L_1 L_1'||_op <= ||Gamma||_op / d^l"), shown,
      [&](const Value& value, double d) { return value(left_distance) <= value(bulk_largest) / of.smallest_spike(d); },
      scaled(left_distance));
  const Misprint wedin = right.misprint(
      of.id("eq-3.25"), "||UU' - R_1 R_1'||_op <= ||Sigma||_op / d^l",
      "||UU' - R_1 R_1'||_op <= ||Sigma||_op / (d^l - ||Sigma||_op): the gap that Wedin's theorem takes is that of B-bar, whose "
      "smallest spike may be below d^l");
  of.every(
      wedin.as_printed, shown,
      [&](const Value& value, double d) { return value(right_distance) <= value(cross_bulk_norm) / of.smallest_spike(d); },
      scaled(right_distance));
  of.every(
      wedin.corrected, shown,
      [&](const Value& value, double d) {
        const double gap = of.smallest_spike(d) - value(cross_bulk_norm);
        return gap <= 0 || value(right_distance) * gap <= value(cross_bulk_norm);
      },
      scaled(right_distance));
}

// Statements up to constants, judged by an exponent over d.
void judge_orders(const Matrices& of) {
  const Place theorem{"spectral/thm-3.11/", "Proof of Theorem 3.11"}, corollary{"spectral/cor-3.12/", "Proof of Corollary 3.12"};
  const double margin = of.plan.exponent_tolerance, p = static_cast<double>(of.plan.config.spikes);
  const SizeScale spike = [&](double d) { return of.smallest_spike(d); };
  const Misprint separation = theorem.misprint(
      of.id("separation"), "lambda_i(B) is at least of order d^l for i up to r, the number of r = d/2 singular values",
      "lambda_i(B) is at least of order d^l for i up to p, the number of spikes");
  of.exponent(separation.as_printed, lambda_cross_rank, spike, at_least(-margin));
  of.exponent(separation.corrected, lambda_spikes, spike, at_least(-margin));
  of.exponent(
      theorem(of.id("leak"), "||S-bar_1 R_1' L_2||_op is at most of order d^(u-l)"), leak,
      [&](double d) { return std::pow(d, of.pair.high - of.pair.low); }, at_most(margin));
  const Misprint nuclear = corollary.misprint(of.id("M-nuclear"), "||M-bar||_* is at least of order k (r - 2 p + 1)",
                                              "||M-bar||_* is at least of order d");
  of.exponent(
      nuclear.as_printed, M_nuclear, [p](double d) { return d * (std::floor(d / 2) - 2 * p + 1); }, at_least(-margin));
  of.exponent(
      nuclear.corrected, M_nuclear, [](double d) { return d; }, at_least(-margin));
}

// (3.21) and (3.22) are about one spike of order d. Where no pair has it, the last one says so.
void judge_single_spike(const Matrices& of) {
  const auto has_it = [&](const SpikePair& any) { return of.plan.config.spikes == 1 && any.high == 1; };
  const std::vector<SpikePair>& pairs = of.plan.pairs;
  const bool last = of.pair.names == pairs.back().names;
  if (!has_it(of.pair) && (!last || std::any_of(pairs.begin(), pairs.end(), has_it))) return;
  for (const auto& [number, top, distance] : {std::tuple{"3.21", "eigenvector of B", left_vector_distance},
                                              std::tuple{"3.22", "right singular vector of B-bar", right_vector_distance}}) {
    const std::string eq = std::string("eq-") + number;
    const Statement statement{"spectral/" + (has_it(of.pair) ? of.id(eq) : eq),
                              std::string("Proof of Theorem 3.9, eq. (") + number + ")",
                              std::string("the distance from u / ||u|| to the line of the top ") + top +
                                  " is at most of order 1/d (printed with argmin for min)"};
    if (!of.claims.applies(
            statement,
            has_it(of.pair) ? "" : "Assumption G has one spike, of order d; several spikes are the subject of (3.24) and (3.25)")) {
      continue;
    }
    of.exponent(
        statement, distance, [](double d) { return 1 / d; }, at_most(of.plan.exponent_tolerance),
        "exponent of d in distance times d");
  }
}

}  // namespace

void judge_matrices(const Plan& plan, const SpikePair& pair, const Records& records, Claims& claims) {
  const Matrices of{plan, pair, records, claims};
  if (!plan.teacher()) return judge_assumption_F(of);
  judge_assumption_H(of);
  judge_subspaces(of);
  judge_orders(of);
  judge_single_spike(of);
}

}  // namespace ranklab::multi_spike
