// Claims about the table of [Spectral] Figure 12, by quadrature.
#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "experiments/random_features/stable_rank/claims.hpp"
#include "models/gaussian_moments.hpp"

namespace ranklab {
namespace {

// Quadrature is good to 1e-13; several of the inequalities are equalities.
constexpr double rounding = 1e-10;

double s_star(SStar reading, double smallest_variance) {
  return reading == SStar::variance ? smallest_variance : std::sqrt(smallest_variance);
}

struct Worst {
  double violations = 0.0, cases = 0.0;
  double ratio = 0.0;  // largest left side / right side
  double where = 0.0;  // the smallest variance of that case

  void judge(double left, double right, double smallest) {
    cases += 1.0;
    if (!(left <= right * (1.0 + rounding))) violations += 1.0;
    if (left / right > ratio) {
      ratio = left / right;
      where = smallest;
    }
  }
  std::string text() const {
    return "largest left side over right side " + short_number(ratio) + ", at smallest variance " + short_number(where);
  }
};

std::string reading_text(const PrintedMoments& printed, SStar reading) {
  if (!printed.depends_on_s_star) return "";
  if (reading == SStar::variance) return "; s_* = min w' Sigma w as printed, a variance; alpha is too large where s_* > 1";
  return "; s_* = min sqrt(w' Sigma w), since E[g Phi(g)] = s^2/sqrt(2 pi (1 + s^2)) for g ~ N(0, s^2)";
}

}  // namespace

Claim moment_claim(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                   const std::vector<double>& variances) {
  Worst mean_side, second_side;
  for (const double smallest : variances) {
    const double alpha = printed.alpha(s_star(reading, smallest));
    for (const double variance : variances) {
      if (variance < smallest) continue;
      const GaussianMoments moments = gaussian_moments(activation, variance);
      const double f = std::pow(variance, printed.power);
      mean_side.judge(alpha * f, moments.mean * moments.mean, smallest);
      second_side.judge(moments.second, printed.beta * f, smallest);
    }
  }
  return judge_violations(
      id, "Figure 12, eq. (2.9)",
      "alpha f(w) <= (E sigma(g))^2 and E sigma(g)^2 <= beta f(w) with the table's constants, for every row w of W",
      mean_side.violations + second_side.violations, mean_side.cases + second_side.cases,
      "alpha f against (E sigma)^2: " + mean_side.text() + "; E sigma^2 against beta f: " + second_side.text() +
          reading_text(printed, reading));
}

Claim nsr_claim(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                const std::vector<double>& variances) {
  Worst worst;
  for (const double smallest : variances) {
    const double bound = printed.nsr_bound(s_star(reading, smallest));
    worst.judge(gaussian_moments(activation, smallest).noise_to_signal(), bound, smallest);
    double second = 0.0, squared_mean = 0.0;
    for (const double variance : variances) {
      if (variance < smallest) continue;
      const GaussianMoments moments = gaussian_moments(activation, variance);
      second += moments.second;
      squared_mean += moments.mean * moments.mean;
    }
    worst.judge(second / squared_mean, bound, smallest);
  }
  return judge_violations(id, "Figure 12, last column",
                          "E||z||^2 / ||E z||^2 <= beta/alpha of the table, z = sigma(Wx) with Gaussian x", worst.violations,
                          worst.cases, worst.text() + reading_text(printed, reading));
}

std::vector<Claim> table_claims(const StableRankConfig& config) {
  std::vector<Claim> claims;
  for (const auto& name : config.activation) {
    const auto printed = printed_moments(name);
    if (!printed) continue;
    const Activation& activation = find_activation(name);
    const std::string id = "spectral/fig-12/" + name;
    const auto add = [&](SStar reading, const std::string& ending) {
      claims.push_back(moment_claim(id + ending, activation, *printed, reading, config.variances));
      claims.push_back(nsr_claim(id + "/nsr" + ending, activation, *printed, reading, config.variances));
    };
    if (printed->depends_on_s_star) {
      add(SStar::variance, "/as-printed");
      add(SStar::deviation, "/corrected");
    } else {
      add(SStar::deviation, "");
    }
  }
  return claims;
}

}  // namespace ranklab
