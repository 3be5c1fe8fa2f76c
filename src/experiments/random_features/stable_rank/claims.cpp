// Claims about Theorems 2.6 to 2.8 of [Spectral].
#include "experiments/random_features/stable_rank/claims.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/random_features/stable_rank/trial.hpp"

namespace ranklab {
namespace {

const std::vector<std::string> covered = {"relu", "abs", "leaky-relu"};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  double cases = 0.0;

  // Undefined values (the stable rank of a zero matrix) are no case.
  void add(double x) {
    if (std::isnan(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
    cases += 1.0;
  }
  std::string low_text() const { return cases > 0.0 ? short_number(low) : "undefined"; }
  std::string high_text() const { return cases > 0.0 ? short_number(high) : "undefined"; }
};

double one_layer_bound(const StableRankConfig& config, const std::string& activation) {
  const double e = config.epsilon;
  return (1.0 + e) / ((1.0 - e) * (1.0 - e)) * printed_moments(activation)->nsr_bound(1.0);
}

// eps^2 min(1, st) times the number of samples: what the unspecified constant c multiplies in the failure probability.
double exponent(const StableRankConfig& config, double samples, double smallest_stable_rank) {
  return samples * config.epsilon * config.epsilon * std::min(1.0, smallest_stable_rank);
}

// The theorems promise the bound up to a probability 4 exp(-c x) without saying what c is. Bounds that held are counted as
// such; violations speak against the theorem only where x is large enough for it to promise anything with c = 1.
Claim judge_probable(const std::string& id, const std::string& source, const std::string& statement, double violations,
                     double cases, double x, const std::string& detail) {
  const std::string probability = "failure probability 4 exp(-c " + short_number(x) + "), c not given by the paper; " + detail;
  if (violations > 0.0 && 4.0 * std::exp(-x) >= 1.0) {
    return not_applicable(id, source, statement,
                          "so few samples or so small an epsilon that nothing is promised even with c = 1; " +
                              short_number(violations) + " violations in " + short_number(cases) + " cases; " + probability);
  }
  return judge_violations(id, source, statement, violations, cases, probability);
}

std::vector<std::string> covered_activations(const StableRankConfig& config) {
  std::vector<std::string> names;
  for (const auto& name : config.activation) {
    if (std::find(covered.begin(), covered.end(), name) != covered.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<Claim> one_layer_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records) {
  std::vector<Claim> claims;
  for (const auto& name : covered_activations(config)) {
    const double bound = one_layer_bound(config, name);
    for (const WeightKind& kind : weight_kinds) {
      Range measured, weights;
      double violations = 0.0;
      for (const auto& record : records) {
        const double st = record.scalar(name + ".stable_rank" + kind.suffix);
        measured.add(st);
        weights.add(record.scalar(std::string("W.stable_rank") + kind.suffix));
        if (st > bound) violations += 1.0;
      }
      claims.push_back(
          judge_probable("spectral/thm-2.6/" + name + "/" + kind.claim, "Theorem 2.6",
                         "st(sigma(WX)) <= (1 + eps)/(1 - eps)^2 beta/alpha with high probability over X, for a fixed W",
                         violations, measured.cases, exponent(config, static_cast<double>(config.n), weights.low),
                         "largest stable rank " + measured.high_text() + ", bound " + short_number(bound) + ", beta/alpha " +
                             short_number(printed_moments(name)->nsr_bound(1.0)) + ", smallest st(W) " + weights.low_text()));
    }
  }
  return claims;
}

std::vector<Claim> random_layer_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records) {
  std::vector<Claim> claims;
  for (const auto& name : covered_activations(config)) {
    const double bound = one_layer_bound(config, name);
    Range measured, inputs;
    double violations = 0.0;
    for (const auto& record : records) {
      double input = record.scalar("X.stable_rank");
      for (const double st : record.array(name + ".depth.stable_rank")) {
        measured.add(st);
        inputs.add(input);
        if (st > bound) violations += 1.0;
        input = st;
      }
    }
    const double printed = exponent(config, static_cast<double>(config.n), inputs.low);
    const double proved = exponent(config, static_cast<double>(config.k), inputs.low);
    claims.push_back(judge_probable(
        "spectral/thm-2.7/" + name, "Theorem 2.7",
        "st(A_l) <= (1 + eps)/(1 - eps)^2 beta/alpha with high probability over a Gaussian last layer W_l, all else fixed",
        violations, measured.cases, printed,
        "largest stable rank " + measured.high_text() + " over layers 1 to " + std::to_string(config.depth) + ", bound " +
            short_number(bound) + ", smallest st(A_(l-1)) " + inputs.low_text() +
            "; the proof transposes A_l, so that the rows of W_l take the part of the samples: its exponent is c " +
            short_number(proved) + ", with k in place of the printed n"));
  }
  return claims;
}

double quadratic_bound(std::uint64_t layer, double c) {
  return 27.0 * std::pow(3.0, std::exp2(static_cast<double>(layer) + 2.0)) / (2.0 * c);
}

double quadratic_samples(std::uint64_t layer, double c) {
  return 9.0 * std::pow(3.0, std::exp2(static_cast<double>(layer) + 1.0)) * std::log(1.0 / (2.0 * c)) / 32.0;
}

std::vector<Claim> quadratic_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records) {
  const double c = config.failure_probability, n = static_cast<double>(config.n);
  const double largest_rank = static_cast<double>(std::min(config.k, config.n));
  std::vector<Claim> claims;
  for (std::uint64_t layer = 1; layer <= config.depth; ++layer) {
    const double bound = quadratic_bound(layer, c), needed = quadratic_samples(layer, c);
    const double power = std::exp2(static_cast<double>(layer));
    Range measured;
    std::vector<double> violated;
    for (const auto& record : records) {
      const double st = record.array("quadratic.depth.stable_rank").at(layer - 1);
      measured.add(st);
      if (!std::isnan(st)) violated.push_back(st > bound ? 1.0 : 0.0);
    }
    const bool vacuous = bound >= largest_rank;
    // Theorem 2.2 with p_0 = (1 - c_0)^2 3^(-2^(l+1)), c_0 = 1/3 and er(M) <= 3^(2^l) gives 2/(p_0 c_0 c) er(M); the
    // exponents 2^(l+1) and 2^l add up to 3 * 2^l. Its Chernoff step fails with probability exp(-p_0 n/8), which is at
    // most c for n >= 8 log(1/c)/p_0 and not for the printed log(1/(2c))/(8 p_0).
    const std::string detail = "largest stable rank " + measured.high_text() + ", bound " + short_number(bound) +
                               (vacuous ? ", vacuous: no matrix of this shape exceeds " + short_number(largest_rank) : "") +
                               "; the paper's own proof gives the smaller " +
                               short_number(27.0 * std::pow(3.0, 3.0 * power) / (2.0 * c)) +
                               ", and needs n >= " + short_number(18.0 * std::pow(3.0, 2.0 * power) * std::log(1.0 / c)) +
                               " instead of the printed " + short_number(needed);
    const std::string id = "spectral/thm-2.8/layer-" + std::to_string(layer), source = "Theorem 2.8, eq. (2.12)";
    const std::string statement = "st(A_l) <= 27 * 3^(2^(l+2))/(2c) with probability 1 - 2c for quadratic activations";
    if (n < needed) {
      claims.push_back(
          not_applicable(id, source, statement,
                         "the theorem asks for n >= " + short_number(needed) + ", here n = " + short_number(n) + "; " + detail));
    } else if (vacuous) {
      double violations = 0.0;
      for (const double v : violated) violations += v;
      claims.push_back(judge_violations(id, source, statement, violations, measured.cases, detail));
    } else {
      claims.push_back(judge_mean(id, source, statement, violated, 0.0, 2.0 * c, "fraction of trials above the bound; " + detail));
    }
  }
  return claims;
}

}  // namespace ranklab
