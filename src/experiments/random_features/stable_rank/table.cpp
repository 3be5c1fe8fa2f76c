#include <algorithm>
#include <cmath>

#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "models/gaussian_moments.hpp"

namespace ranklab::stable_ranks {
namespace {

// Quadrature is good to 1e-13; several of the inequalities are equalities.
constexpr double rounding = 1e-10;

const Place table = {"spectral/fig-12/", "Figure 12, eq. (2.9)"}, last_column = {table.prefix, "Figure 12, last column"};

double s_star(SStar reading, double smallest_variance) {
  return reading == SStar::variance ? smallest_variance : std::sqrt(smallest_variance);
}

// The cases of left <= right, and the one that is nearest to a violation.
struct Worst {
  Tally ratios;        // left side / right side
  double where = 0.0;  // the smallest variance of the case with the largest ratio

  void judge(double left, double right, double smallest) {
    const double ratio = left / right;
    if (ratio > std::max(0.0, ratios.largest)) where = smallest;
    ratios.count(!(left <= right * (1.0 + rounding)), ratio);
  }
  std::string text() const {
    return "largest left side over right side " + short_number(std::max(0.0, ratios.largest)) + ", at smallest variance " +
           short_number(where);
  }
};

std::string reading_text(const PrintedMoments& printed, SStar reading) {
  if (!printed.depends_on_s_star) return "";
  if (reading == SStar::variance) return "; s_* = min w' Sigma w as printed, a variance; alpha is too large where s_* > 1";
  return "; s_* = min sqrt(w' Sigma w), since E[g Phi(g)] = s^2/sqrt(2 pi (1 + s^2)) for g ~ N(0, s^2)";
}

}  // namespace

void judge_moments(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                   const std::vector<double>& variances, Claims& claims) {
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
  Tally both = mean_side.ratios;
  both.add(second_side.ratios);
  claims.never_violated(
      table(id, "alpha f(w) <= (E sigma(g))^2 and E sigma(g)^2 <= beta f(w) with the table's constants, for every row w of W"),
      both,
      "alpha f against (E sigma)^2: " + mean_side.text() + "; E sigma^2 against beta f: " + second_side.text() +
          reading_text(printed, reading));
}

void judge_noise_to_signal(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                           const std::vector<double>& variances, Claims& claims) {
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
  claims.never_violated(last_column(id, "E||z||^2 / ||E z||^2 <= beta/alpha of the table, z = sigma(Wx) with Gaussian x"),
                        worst.ratios, worst.text() + reading_text(printed, reading));
}

void judge_table(const StableRankConfig& config, Claims& claims) {
  for (const std::string& name : config.activation) {
    const auto printed = printed_moments(name);
    if (!printed) continue;
    const auto judge_both = [&](SStar reading, const std::string& ending) {
      const Activation& activation = find_activation(name);
      judge_moments(name + ending, activation, *printed, reading, config.variances, claims);
      judge_noise_to_signal(name + "/nsr" + ending, activation, *printed, reading, config.variances, claims);
    };
    if (printed->depends_on_s_star) {
      judge_both(SStar::variance, "/as-printed");
      judge_both(SStar::deviation, "/corrected");
    } else {
      judge_both(SStar::deviation, "");
    }
  }
}

}  // namespace ranklab::stable_ranks
