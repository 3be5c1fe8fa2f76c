// `rank-collapse --study eta`: how closely xi_1/xi_2 of an attention step follows E[xi_1]/E[xi_2]
// if its weight W is redrawn ([Shallow] Figure 8, Lemmas 2.4, A.1 and A.5).
//
//   X = e v' + t Q,   P = softmax over rows of (X W_q)(X W_k)' / sqrt(d),   Y = X + alpha P X W
//   eta = E[xi_1]/E[xi_2] - xi_1/xi_2                                                      eq. (14)
//
// v (d), Q (n, d): N(0, 1); W_q, W_k (d, d): uniform on (-1, 1)/sqrt(d); W (d, d): N(0, 1/d); every
// entry of e (n) is 1/sqrt(n). A trial draws W for each d and t; the others are the same in the
// whole run. Tokens are the rows of X (n, d), as in the paper; in memory they are columns.
#include "experiments/rank_collapse/escalation/eta.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/fits.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/tensors.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::eta {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  return {
      size_field("tokens", tokens, 2, largest_size, "n", "number of rows of X"),
      size_list_field("dim", dim, 1, largest_size, "d",
                      "number of columns of X, one curve per value"),
      excluding_low(
          real_list_field("t", t, 0.0, 1.0, "t", "strength of the noise Q in X = e v' + t Q")),
      excluding_low(real_field("alpha", alpha, 0.0, 1e6, "alpha",
                               "strength of attention in Y = X + alpha P X W")),
  };
}

void Config::check() const {
  std::map<std::string, double> names;
  for (const double each : t) {
    if (!names.emplace(short_number(each), each).second) {
      throw UsageError(
          "--t: two values have the same first four digits, which identify the samples of W; give "
          "values that differ in them");
    }
  }
}

Estimate Config::memory() const {
  Estimate cost;
  const double n = static_cast<double>(tokens), values = static_cast<double>(t.size());
  double largest = 0;
  for (const std::uint64_t each : dim) {
    const double d = static_cast<double>(each);
    cost.bytes += values * 8 * 2 * n * d;
    largest = std::max(largest, 8 * (5 * n * n + 8 * n * d + 4 * d * d));
  }
  cost.bytes += largest;
  return cost;
}

namespace {

Config in_order(Config config) {
  std::sort(config.dim.begin(), config.dim.end());
  std::sort(config.t.begin(), config.t.end());
  return config;
}

// What a trial records: for each d an array over t ------------------------------------------------

constexpr Measure eta_by_expectation = {"eta", "eta",
                                        "E[xi_1]/E[xi_2] - xi_1/xi_2, with E[xi_i] from eq. (9)"},
                  xi[] = {{"xi_1", "xi_1", "growth of the tokens' part along their mean"},
                          {"xi_2", "xi_2", "growth of the rest of the tokens"}},
                  expected_xi[] = {{"expected_xi_1", "E[xi_1]", "its mean over W, eq. (9)"},
                                   {"expected_xi_2", "E[xi_2]", "its mean over W, eq. (9)"}},
                  deviation[] = {{"deviation_1", "std(xi_1)", "its deviation over W"},
                                 {"deviation_2", "std(xi_2)", "its deviation over W"}},
                  mu_squared[] = {
                      {"mu_1_squared", "mu_1^2", "share of the mean part that attention keeps"},
                      {"mu_2_squared", "mu_2^2", "share of the rest that attention keeps"}};
// Of the result.
constexpr Measure mean_abs_eta = {"mean_abs_eta", "|eta|", "mean of |eta| over t"},
                  eta_std = {"eta_std", "std(eta)", "deviation of eta over draws of W"},
                  eta_sample_means = {"eta_sample_means", "eta",
                                      "mean of eta, with sample means for E[xi_i]"},
                  eta_sample_means_error = {"eta_sample_means_error", "se(eta)",
                                            "the standard error of that mean"};

Quantity at_dim(std::uint64_t d, const Measure& quantity) {
  return At("d", d) / quantity;
}

// Eq. (11) and the bound on gamma are about fixed matrices, Lemma A.1 is about the sample.
const Inequality eq_11 = Place{shallow::lemma_2_4, "shallow/", "Lemma 2.4, eq. (11)"}.counted(
                     "eq-11", "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2"),
                 lemma_A_1 = Place{shallow::lemma_A_1, "shallow/", "Lemma A.1, eq. (23)"}.counted(
                     "lemma-A.1",
                     "|eta| >= s implies max |xi_i - E[xi_i]| >= gamma s for s in [0, 1]"),
                 gamma_bound = Place{shallow::lemma_A_1, "shallow/", "Lemma A.1, eq. (24)"}.counted(
                     "lemma-A.1/gamma", "gamma >= 1/4 for alpha = 1 and mu_1 <= 1");

constexpr double rounding = tolerance::residual<double>;

// What a d and a t fix for all trials.
struct FixedStep {
  std::uint64_t dim;
  double t;
  arma::mat X, PX;  // (d, n)
  XiLaw law[2];     // of xi_1 and xi_2
  HeadMeasures head;
};

std::vector<FixedStep> fixed_steps(const Config& c, const Trial& trial) {
  std::vector<FixedStep> steps;
  for (const std::uint64_t d : c.dim) {
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    const DrawnTokens of(c.tokens, d, trial.first());
    for (const double t : c.t) {
      trial.check_interrupt();
      arma::mat X = t * of.Q;
      X += of.ev;
      const arma::mat P = attention_matrix<double>(of.W_q.t() * X, of.W_k.t() * X, scale),
                      PX = X * P;
      const auto law = [&](std::size_t i) { return xi_law(part(X, i), part(PX, i), c.alpha); };
      steps.push_back({d, t, X, PX, {law(0), law(1)}, head_measures(P, X)});
    }
  }
  return steps;
}

TrialRecord redraw(const Config& c, const std::vector<FixedStep>& steps, const Trial& trial) {
  TrialRecord record;
  std::map<std::string, std::vector<double>> arrays;
  for (const FixedStep& step : steps) {
    trial.check_interrupt();
    const double scale = 1 / std::sqrt(static_cast<double>(step.dim));
    const arma::mat W = DrawnTensors<double>(trial, say("d={},t={}/", step.dim, step.t))
                            .matrix("W", step.dim, step.dim, EntryLaw::normal(scale));
    const arma::mat Y = step.X + c.alpha * (W.t() * step.PX);
    const Escalation sample = measure_escalation(token_parts(step.X), token_parts(Y));
    const double measured[] = {sample.xi_1, sample.xi_2},
                 expected[] = {step.law[0].mean, step.law[1].mean},
                 mu[] = {step.head.mu_1_squared, step.head.mu_2_squared},
                 eta = expected[0] / expected[1] - sample.xi_ratio();  // eq. (14)
    const auto add = [&](const Measure& name, double value) {
      arrays[at_dim(step.dim, name)].push_back(value);
    };
    add(eta_by_expectation, eta);
    for (const std::size_t i : {0u, 1u}) {
      add(xi[i], measured[i]);
      add(expected_xi[i], expected[i]);
      add(deviation[i], step.law[i].deviation);
      add(mu_squared[i], mu[i]);
    }
    // The allowance is needed because rows of P sum to one only up to rounding.
    record.count(eq_11.id, mu[0] < step.head.mu_1_bound() - rounding);
    record.count(eq_11.id, mu[1] > step.head.mu_2_bound() + rounding * mu[0],
                 mu[1] / step.head.mu_2_bound());
    // Lemma A.1 at s = min(|eta|, 1).
    const double gamma = expected[1] * expected[1] / (expected[0] + 2 * expected[1]),
                 error = std::max(std::abs(measured[0] - expected[0]),
                                  std::abs(measured[1] - expected[1]));
    record.count(lemma_A_1.id, error < gamma * std::min(std::abs(eta), 1.0) - rounding);
    if (mu[0] <= 1) record.count(gamma_bound.id, gamma < 0.25, gamma);
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  return record;
}

// eta in both readings of Figure 8 ----------------------------------------------------------------

std::vector<double> over_trials(const Records& records, std::uint64_t d, const Measure& quantity,
                                std::size_t t) {
  const std::string name = at_dim(d, quantity);
  return per_trial(records, [&](const TrialRecord& record) { return record.array(name).at(t); });
}

// One eta for each sample: with E[xi_i] from eq. (9), or with the means over the run's samples, a
// reading of the paper's "(sample mean)". All samples share these means, so that reading has
// jackknife pseudo-values, whose spread gives the error of the mean.
struct Reading {
  const Config& c;
  const Records& records;
  bool exact;

  std::vector<double> eta(std::uint64_t d, std::size_t t) const {
    if (exact) return over_trials(records, d, eta_by_expectation, t);
    return ratio_gap_pseudo_values(over_trials(records, d, xi[0], t),
                                   over_trials(records, d, xi[1], t));
  }
  // The mean of f(eta) over the t in the range, for each sample.
  std::vector<double> mean(std::uint64_t d, Region range, double (*f)(double)) const {
    std::vector<double> sum(records.size(), 0.0);
    double count = 0;
    for (std::size_t t = 0; t < c.t.size(); ++t) {
      if (!(range.low <= c.t[t] && c.t[t] <= range.high)) continue;
      const std::vector<double> values = eta(d, t);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += f(values[i]);
      count += 1;
    }
    for (double& value : sum) value /= count;
    return sum;
  }
};

// Claims ------------------------------------------------------------------------------------------

// X is close to rank one for small t.
constexpr Region small_t = {.high = 0.25}, large_t = {.low = 0.75};
// Our thresholds; E[xi_1]/E[xi_2] is about 2. With known expectations the spread of eta is
// sqrt(6/d) for every small t, and fifty samples resolve 0.25. With sample means the spread
// vanishes with t.
constexpr double close_to_zero = 0.25, close_with_sample_means = 0.01, larger = 1.25;
constexpr double standard_errors = 4;  // there are hundreds of comparisons

double itself(double x) {
  return x;
}
double magnitude(double x) {
  return std::abs(x);
}

// The paper's three observations about Figure 8.
void judge_figure(const Reading& r, Claims& claims) {
  const Config& c = r.c;
  const bool any_small = c.t.front() <= small_t.high, any_large = c.t.back() >= large_t.low;
  const auto observation = [&](const std::string& part, const std::string& text) {
    const std::string figure = "Figure 8 (" + part + ")";
    return in_figure(shallow::fig_8, shallow::fig_8, figure + ", end of Appendix A.3")(
        part + (r.exact ? "" : "/sample-means"),
        text + (r.exact ? " (E[xi_i] from eq. (9))"
                        : " (sample means for E[xi_i], with which eta averages to about 0 at small "
                          "t by construction)"));
  };

  const double close = r.exact ? close_to_zero : close_with_sample_means;
  const Statement a =
      reading(observation("a", say("E[eta] is close to 0 for small t, even at the smallest d: mean "
                                   "of eta over t <= {} at d = {}",
                                   small_t.high, c.dim.front())),
              say("within {}, ours", close));
  if (claims.applies(a, any_small ? "" : say("no t up to {}", small_t.high))) {
    claims.equivalent(a, r.mean(c.dim.front(), small_t, itself), close);
  }

  // The paper does not say what varies. With the exact expectations the size of eta is our reading.
  const Statement size =
      observation("b", say("|eta| varies more near t = 1 than at small t: mean |eta| at t >= {} "
                           "minus {} times that at t <= {}, summed over d",
                           large_t.low, larger, small_t.high));
  const Statement b = r.exact ? beyond(size) : reading(size, say("a factor of {}, ours", larger));
  if (claims.applies(b, any_small && any_large ? ""
                                               : say("requires values t <= {} and t >= {}",
                                                     small_t.high, large_t.low))) {
    std::vector<double> excess(r.records.size(), 0.0);
    double near_one = 0, at_small = 0;
    for (const std::uint64_t d : c.dim) {
      const auto large = r.mean(d, large_t, magnitude), small = r.mean(d, small_t, magnitude);
      for (std::size_t i = 0; i < excess.size(); ++i) excess[i] += large[i] - larger * small[i];
      near_one += summarize(large).mean;
      at_small += summarize(small).mean;
    }
    claims.mean(b, excess, compared(at_least(0)),
                say("mean |eta| at t >= {} divided by its mean at t <= {}: {}", large_t.low,
                    small_t.high, near_one / at_small));
  }

  const Statement decreases = observation(
      "c", say("|eta| decreases as d increases: exponent of d in a power-law fit of the "
               "mean |eta| over t >= {}",
               large_t.low));
  if (claims.applies(decreases,
                     c.dim.size() >= 2 && any_large
                         ? ""
                         : say("requires two values of d, and values t >= {}", large_t.low))) {
    std::vector<std::vector<double>> by_dim;
    for (const std::uint64_t d : c.dim) by_dim.push_back(r.mean(d, large_t, magnitude));
    const std::vector<double> dim(c.dim.begin(), c.dim.end());
    std::vector<double> exponents;
    for (std::size_t sample = 0; sample < r.records.size(); ++sample) {
      std::vector<double> of_sample;
      for (const auto& values : by_dim) of_sample.push_back(values[sample]);
      exponents.push_back(fit_power(dim, of_sample).slope);
    }
    claims.mean(decreases, exponents, compared(at_most(0)));
  }
}

// Eq. (9), tested with the exact standard deviation of xi_i.
void judge_expectation(const Config& c, const Records& records, Claims& claims) {
  const Statement eq_9 = {shallow::lemma_2_4, "shallow/eq-9", "Lemma 2.4, eq. (9)",
                          "E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2"};
  const auto samples = claims.only_where(
      records.size() >= fewest_samples ? "" : say("requires at least {} trials", fewest_samples));
  Distances distances = {.allowed = standard_errors};
  for (const std::uint64_t d : c.dim) {
    for (std::size_t t = 0; t < c.t.size(); ++t) {
      for (const std::size_t i : {0u, 1u}) {
        const auto fixed = [&](const Measure& name) {
          return records.front().array(at_dim(d, name)).at(t);
        };
        const Summary measured = summarize(over_trials(records, d, xi[i], t));
        const double expected = fixed(expected_xi[i]),
                     error = fixed(deviation[i]) / std::sqrt(static_cast<double>(measured.n));
        // For small t the deviation of xi_2 is below rounding.
        distances.add(measured.mean, std::max(error, rounding * expected), expected);
      }
    }
  }
  distances.judge(eq_9, "no mean is defined",
                  say("sample means at every d and t; a violation is a distance of more than {} "
                      "standard errors; the largest distance is {}",
                      standard_errors, std::max(0.0, distances.tally.largest)),
                  claims);
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  const Config c = in_order(*this);
  for (const bool exact : {true, false}) judge_figure({c, records, exact}, claims);
  judge_expectation(c, records, claims);

  // These are about fixed matrices, so one sample is enough.
  const Tally bounds = records.front().tally(eq_11.id),
              gamma = records.front().tally(gamma_bound.id);
  claims.never_violated(eq_11, bounds,
                        say("largest mu_2^2 / delta^2 {}", std::max(0.0, bounds.largest)),
                        WorstCase::largest);
  claims.never_violated(lemma_A_1, records, "one case per sample, d and t, with s = min(|eta|, 1)");
  if (claims.applies(gamma_bound, c.alpha != 1       ? "--alpha is not 1"
                                  : gamma.cases == 0 ? "mu_1 is above 1 at every d and t"
                                                     : "")) {
    claims.never_violated(gamma_bound, gamma,
                          say("the paper states it for mu_1 = 1, and gamma decreases with mu_1; "
                              "smallest gamma {}",
                              gamma.smallest),
                          WorstCase::smallest);
  }
}

// The result --------------------------------------------------------------------------------------

void Config::derive(Numbers& out) const {
  const Config c = in_order(*this);
  for (const std::uint64_t d : c.dim) {
    out.scalar(at_dim(d, mean_abs_eta), per_trial(out.records(), [&](const TrialRecord& record) {
                 double sum = 0;
                 for (const double value : record.array(at_dim(d, eta_by_expectation)))
                   sum += std::abs(value);
                 return sum / static_cast<double>(c.t.size());
               }));
  }
  // This study normalizes nothing, but every study of the command has this scalar.
  out.scalar(token_escalation::degenerate_rows, std::vector<double>(out.records().size(), 0.0));
  for (const std::uint64_t d : c.dim) {
    for (const Measure& each : {eta_by_expectation, xi[0], xi[1], expected_xi[0], expected_xi[1],
                                mu_squared[0], mu_squared[1]})
      out.series(at_dim(d, each), "t", c.t);
    std::vector<double> spread, means, errors;
    for (std::size_t i = 0; i < c.t.size(); ++i) {
      const Summary by_means = summarize(Reading{c, out.records(), false}.eta(d, i));
      spread.push_back(summarize(Reading{c, out.records(), true}.eta(d, i)).std);
      means.push_back(by_means.mean);
      errors.push_back(standard_error(by_means));
    }
    out.series_of_points(at_dim(d, eta_std), "t", c.t, spread);
    out.series_of_points(at_dim(d, eta_sample_means), "t", c.t, means);
    out.series_of_points(at_dim(d, eta_sample_means_error), "t", c.t, errors);
  }
}

// One column for each reading: the mean of eta above, and below how far eta spreads.
void Config::show(Display& out) const {
  const Config c = in_order(*this);
  const std::string mean = "eta, mean over draws of W";
  const struct {
    const char* title;
    const Measure& quantity;
    Axis y;
  } panels[] = {
      {"Exact E[xi_i]: mean of eta", eta_by_expectation, {mean}},
      {"Sample means for E[xi_i]: mean of eta", eta_sample_means, {mean}},
      {"Exact E[xi_i]: spread of eta", eta_std, log_axis("standard deviation over draws")},
      {"Sample means for E[xi_i]: error of that mean", eta_sample_means_error,
       log_axis("standard error of the mean")}};
  for (const auto& [title, quantity, y] : panels) {
    PanelBuilder panel = out.panel(title, {"t (size of the noise in X = e v' + t Q)"}, y);
    int color = 0;
    for (const std::uint64_t d : c.dim)
      panel.curve(at_dim(d, quantity), say("d = {}", d),
                  {.color = color++, .band = BandKind::interval});
  }
  out.columns(2);
  out.note(
      "The paper says only that v and Q are randomly chosen. Here their entries are N(0, 1). v, Q, "
      "W_q and W_k are drawn once for each d, and W is redrawn for every sample, d and t.");
  out.note(say(
      "eta uses the exact E[xi_i] = 1 + alpha^2 d sigma^2 mu_i^2 from eq. (9). eta_sample_means "
      "uses the means of xi_i over the {} samples instead, which is another reading of the paper's "
      "\"(sample mean)\".",
      out.records().size()));
  out.note(
      "With the exact expectation, eta has the spread of xi_1, about sqrt(4 alpha^2 + 2 "
      "alpha^4)/sqrt(d), for every small t. With sample means this spread cancels, and the rest "
      "falls with t.");
}

Work Config::work() const {
  const auto steps = std::make_shared<OncePerRun<std::vector<FixedStep>>>();
  return each_trial([c = in_order(*this), steps](Trial& trial) {
    return redraw(c, steps->get([&] { return fixed_steps(c, trial); }), trial);
  });
}

std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x,
                                            const std::vector<double>& y) {
  if (x.size() < fewest_samples) return std::vector<double>(x.size(), undefined);
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  const double n = static_cast<double>(x.size()), x_sum = sum(x), y_sum = sum(y);
  double ratios = 0;
  for (std::size_t i = 0; i < x.size(); ++i) ratios += x[i] / y[i];
  const double gap = x_sum / y_sum - ratios / n;
  std::vector<double> values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double without = (x_sum - x[i]) / (y_sum - y[i]) - (ratios - x[i] / y[i]) / (n - 1);
    values.push_back(n * gap - (n - 1) * without);
  }
  const double shift = gap - sum(values) / n;
  for (double& value : values) value += shift;
  return values;
}

}  // namespace ranklab::eta

namespace ranklab {

std::unique_ptr<Study> make_eta_study() {
  return std::make_unique<eta::Config>();
}

}  // namespace ranklab
