#include <algorithm>
#include <cmath>

#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "models/gaussian_moments.hpp"

namespace ranklab::stable_ranks {
namespace {

// Quadrature is accurate to 1e-13; several of the inequalities hold with equality.
constexpr double rounding = 1e-10;

const std::string figure = "Figure 12", ids = "spectral/fig-12/";
const Place table{"spectral/fig-12",    ids,     "Figure 12, eq. (2.9)", Part::statement,
                  Kind::printed_number, {figure}},
    caption{"spectral/fig-12",    ids,     "Figure 12, eq. (2.9)", Part::caption,
            Kind::printed_number, {figure}},
    last_column{"spectral/fig-12",    ids,     "Figure 12, last column", Part::statement,
                Kind::printed_number, {figure}},
    lemma_2_4{"spectral/lemma-2.4", ids,           "Lemma 2.4, and Figure 12, last column",
              Part::statement,      Kind::theorem, {figure}};

// A reading of GELU's s_*, a minimum over the rows of W: a variance (as printed) or a standard
// deviation.
struct Reading {
  std::string ending;  // of the claims' ids
  std::string remark;  // of their details
  double (*s_star)(double smallest_variance);
  bool corrects = false;  // the first of both_readings
  std::string slip = {};  // the catalog's, if (2.9) fails
};
double variance_itself(double variance) {
  return variance;
}
double standard_deviation(double variance) {
  return std::sqrt(variance);
}
const std::vector<Reading> both_readings = {
    {"/as-printed", "; s_* = min w' Sigma w as printed, a variance; alpha is too large if s_* > 1",
     variance_itself, false, "spectral/fig-12/gelu-s"},
    {"/corrected",
     "; s_* = min sqrt(w' Sigma w), since E[g Phi(g)] = s^2/sqrt(2 pi (1 + s^2)) for g ~ N(0, s^2)",
     standard_deviation, true}};
const std::vector<Reading> only_reading = {{"", "", standard_deviation}};  // of rows without s_*

// Cases of left <= right, and the case nearest to a violation.
struct Worst {
  Tally ratios;        // left side / right side
  double where = 0.0;  // the smallest variance of the case with the largest ratio

  void judge(double left, double right, double smallest) {
    const double ratio = left / right;
    if (ratio > std::max(0.0, ratios.largest)) where = smallest;
    ratios.count(!(left <= right * (1.0 + rounding)), ratio);
  }
  std::string text() const {
    return "largest left side over right side " + short_number(std::max(0.0, ratios.largest)) +
           ", at the smallest variance " + short_number(where);
  }
};

void judge_reading(const std::string& name, const Activation& activation,
                   const PrintedMoments& printed, const Reading& reading,
                   const std::vector<double>& variances, Claims& claims) {
  Worst mean_side, second_side, noise;
  for (const double smallest : variances) {
    const double s_star = reading.s_star(smallest), alpha = printed.alpha(s_star),
                 bound = printed.nsr_bound(s_star);
    noise.judge(gaussian_moments(activation, smallest).noise_to_signal(), bound, smallest);
    double second = 0.0, squared_mean = 0.0;
    for (const double variance : variances) {
      if (variance < smallest) continue;
      const GaussianMoments moments = gaussian_moments(activation, variance);
      const double f = std::pow(variance, printed.power);
      mean_side.judge(alpha * f, moments.mean * moments.mean, smallest);
      second_side.judge(moments.second, printed.beta * f, smallest);
      second += moments.second;
      squared_mean += moments.mean * moments.mean;
    }
    noise.judge(second / squared_mean, bound, smallest);
  }
  Tally both = mean_side.ratios;
  both.add(second_side.ratios);
  const auto judge = [&](const Place& place, const std::string& id, const std::string& slip,
                         const std::string& text, const Tally& tally, const std::string& detail) {
    Statement statement = showing(slip, place(id + reading.ending, text));
    if (reading.corrects) statement.misprint_of = place.prefix + id + both_readings.front().ending;
    claims.never_violated(statement, tally, detail + reading.remark, WorstCase::largest);
  };
  judge(printed.depends_on_s_star ? caption : table, name, reading.slip,
        "alpha f(w) <= (E sigma(g))^2 and E sigma(g)^2 <= beta f(w) with the table's constants, "
        "for every row w of W",
        both,
        "alpha f against (E sigma)^2: " + mean_side.text() +
            "; E sigma^2 against beta f: " + second_side.text());
  judge(printed.depends_on_s_star ? last_column : lemma_2_4, name + "/nsr", "",
        "E||z||^2 / ||E z||^2 <= beta/alpha with the table's constants, where z = sigma(Wx) and x "
        "is Gaussian",
        noise.ratios, noise.text());
}

}  // namespace

void judge_row(const std::string& name, const Activation& activation, const PrintedMoments& printed,
               const std::vector<double>& variances, Claims& claims) {
  for (const Reading& reading : printed.depends_on_s_star ? both_readings : only_reading) {
    judge_reading(name, activation, printed, reading, variances, claims);
  }
}

void judge_table(const StableRankConfig& config, Claims& claims) {
  for (const std::string& name : config.activation) {
    if (const auto printed = printed_moments(name))
      judge_row(name, find_activation(name), *printed, config.variances, claims);
  }
}

}  // namespace ranklab::stable_ranks
