// `spiked-model --study gradient-rank` and `teacher-student --study gradient-rank`: the nuclear
// rank of the gradient along gradient descent from W_0 = 0, for several numbers of features k
// ([Spectral] Section 3, Figures 14 and 15).
//
//   G_t = grad L(W_t) = G_0 (I - eta B)^t,   G_0 = -W B (W = W#) or -W B-bar (W = W-bar)
//
// Shapes: X (d, n); V, V-bar (k, d); A, A-bar (k, n); W# or W-bar (m, k); Gram matrix B = A A' / n
// and cross-Gram matrix B-bar = A-bar A' / n (k, k). In the realizable model A-bar = A, so both
// commands share the formulas of the teacher.
#include "experiments/spike_plus_bulk/gradient_rank.hpp"

#include <algorithm>
#include <armadillo>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>

#include "ensembles/activations.hpp"
#include "ensembles/gram_descent.hpp"
#include "ensembles/random_features.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "experiments/spike_plus_bulk/window.hpp"
#include "judge/size_claims.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::gradient_rank {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  constexpr std::uint64_t largest_steps = 100'000'000;
  Field steps_to_record{"sample-steps", &sample_steps, "t",
                        "iterations to record: a list from 0 to --steps, or all"};
  steps_to_record.numeric_words = true;
  return {
      choice_field("activation", activation, activation_names(), "sigma",
                   "activation of the features; swiglu is gated"),
      size_list_field("k", k, 2, largest_size, "k", "numbers of features, with one curve each"),
      excluding_low(real_field("d-ratio", d_ratio, 0.0, 1000.0, "d/k",
                               "ratio of input dimension to features")),
      excluding_low(
          real_field("n-ratio", n_ratio, 0.0, 1000.0, "n/k", "ratio of samples to features")),
      size_field("m", m, 0, largest_size, "m", "rows of W; 0: k"),
      size_field("steps", steps, 1, largest_steps, "T", "iterations of gradient descent"),
      steps_to_record,
      real_field("c", c, 0.5, 1e6, "c",
                 "factor in the gradient descent step 1/(c ||B||); 1 clears the top direction"),
  };
}

std::vector<Size> Config::sizes() const {
  const auto scaled = [](std::uint64_t features, double ratio, const char* flag) {
    const double size = std::round(real(features) * ratio);
    if (size < 1) {
      throw UsageError(say("--k {} and {} {} are not allowed together: their product rounds to 0",
                           features, flag, ratio));
    }
    return static_cast<std::uint64_t>(size);
  };
  std::vector<Size> all;
  for (const std::uint64_t each : k) {
    all.push_back({m == 0 ? each : m, each, scaled(each, d_ratio, "--d-ratio"),
                   scaled(each, n_ratio, "--n-ratio")});
  }
  std::sort(all.begin(), all.end(), [](const Size& a, const Size& b) { return a.k < b.k; });
  return all;
}

std::vector<double> Config::sorted_k() const {
  std::vector<double> sorted(k.begin(), k.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

bool Config::samples_all() const {
  return sample_steps == std::vector<std::string>{"all"};
}

std::vector<std::uint64_t> Config::sampled() const {
  std::vector<std::uint64_t> iterations;
  if (samples_all()) {
    iterations.resize(steps + 1);
    std::iota(iterations.begin(), iterations.end(), std::uint64_t{0});
    return iterations;
  }
  for (const std::string& text : sample_steps) {
    std::uint64_t t = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, t);
    const bool is_number = error == std::errc() && stop == end;
    if (!is_number || t > steps) {
      const std::string message =
          say("--sample-steps: '{}' is not allowed; allowed: all, or a comma-separated list of "
              "integers from 0 to {} (--steps)",
              printable_key(text), steps);
      if (!is_number) throw UsageError(message);
      std::vector<std::string> fitting = sample_steps;
      std::erase(fitting, text);
      throw Misfit(message, "sample-steps", fitting.empty() ? "all" : joined(fitting, ","),
                   {"steps"});
    }
    if (std::find(iterations.begin(), iterations.end(), t) != iterations.end()) {
      throw UsageError(say("--sample-steps: '{}' is listed twice; list each iteration once", text));
    }
    iterations.push_back(t);
  }
  std::sort(iterations.begin(), iterations.end());
  return iterations;
}

void Config::check() const {
  sizes();
  if (!samples_all()) sampled();  // a list of all 10^8 iterations would take seconds
}

Estimate Config::memory() const {
  const double samples = real(samples_all() ? steps + 1 : sample_steps.size()),
               labels = teacher() ? 2 : 1;  // feature maps, and Gram matrices
  Estimate cost;
  double largest_draw = 0;
  for (const Size& size : sizes()) {
    const double rows = real(size.m), features = real(size.k), d = real(size.d), n = real(size.n);
    // Kept until every k is sampled: the gradient, its rotation, the eigenvectors, and the samples.
    cost.bytes += 8 * (3 * rows * features + 3 * features * features + samples);
    largest_draw =
        std::max(largest_draw, 8 * (d * n + features * d + (2 * labels + 1) * features * n +
                                    rows * n + 10 * features * features + 4 * rows * features));
  }
  cost.bytes += largest_draw;
  return cost;
}

namespace {

// The constant c of the step 1 / (c + ||B||) of Lemma 3.5 and Theorem 3.9.
constexpr double offset = 1.0;

// What a trial records ----------------------------------------------------------------------------
// At every k, by Size::at; NaN if undefined.

constexpr Measure
    curve = {"nuclear_rank", "nr(G_t)", "nuclear rank of the gradient at iteration t"},
    nuclear_rank_0 = {"nuclear_rank_0", "nr(G_0)", "nuclear rank of the gradient at W_0"},
    nuclear_rank_1 = {"nuclear_rank_1", "nr(G_1)",
                      "nuclear rank of the gradient after the first step"},
    nuclear_rank_0_bound = {"nuclear_rank_0_bound", "",
                            "the paper's upper bound on nr(G_0), with the constants of the run"},
    nuclear_rank_W = {"nuclear_rank_W", "nr(W)", "nuclear rank of the weights behind the labels"},
    nuclear_rank_1_offset =
        {"nuclear_rank_1_offset", "nr(G_1)",
         "nuclear rank of the gradient after a first step of length 1/(1 + ||B||)"},
    condition_T = {"condition_T", "cond(T)", "condition number of T = (I - eta B) B of Lemma 3.5"},
    condition_T_bound = {"condition_T_bound", "",
                         "Lemma 3.5's bound on cond(T), with the constants of the run"},
    stable_rank_A = {"stable_rank_A", "st(A)", "stable rank of the features"},
    B_norm = {"B_norm", "||B||", "operator norm of the Gram matrix of the features"},
    spike_B = {"spike", "||u||^2", "spike of B, the squared norm of the mean feature u"},
    bulk_smallest = {"bulk_smallest", "c_1", "smallest eigenvalue of the bulk B - u u'"},
    bulk_largest = {"bulk_largest", "c_2", "largest eigenvalue of the bulk B - u u'"},
    window_start = {"window_start", "", "first t with nr(G_t) >= d/4"},
    window_end = {"window_end", "", "first later t with nr(G_t) < d/4"},
    minimum_ratio = {"minimum_ratio", "min L / L(W_0)", "smallest loss over the loss at W_0"};
// Teacher only.
constexpr Measure cross_spike = {"cross_spike", "||u|| ||v||",
                                 "spike of the cross-Gram matrix B-bar"},
                  cross_bulk_largest = {"cross_bulk_largest", "s_1",
                                        "largest singular value of B-bar - v u'"},
                  cross_bulk_d = {"cross_bulk_d", "s_d", "d-th singular value of B-bar - v u'"};
// Once, at the smallest k.
constexpr Measure closed_form_error = {
    "closed_form_error", "",
    "largest distance of the iterated gradients from the closed form, over ||G_0||_F"};
constexpr char closed_form_tolerance[] = "closed_form_tolerance";

// Of the result.
constexpr struct {
  Measure rank, slope, exponent, fit;
} around_first_step[] = {
    {nuclear_rank_0,
     {"slope_nuclear_rank_0", "", "slope of nr(G_0) in k, one linear fit for each trial"},
     {"exponent_nuclear_rank_0", "", "exponent of k in nr(G_0), one power law for each trial"},
     {"nuclear_rank_0_fit", "", "linear fit of nr(G_0) in k, mean over trials"}},
    {nuclear_rank_1,
     {"slope_nuclear_rank_1", "", "slope of nr(G_1) in k, one linear fit for each trial"},
     {"exponent_nuclear_rank_1", "", "exponent of k in nr(G_1), one power law for each trial"},
     {"nuclear_rank_1_fit", "", "linear fit of nr(G_1) in k, mean over trials"}}};
constexpr Measure window_level = {"window_level", "d/4",
                                  "nuclear rank from which the window begins"},
                  window_length = {"window_length", "", "iterations with nr(G_t) >= d/4"},
                  input_dimension = {"input_dimension", "d",
                                     "dimension of the inputs, for comparison"};

// The number of steps at which the closed form is compared with an iteration of W.
constexpr std::uint64_t iterated_steps = 64;
// Iterations; a window that is still open there has no end.
constexpr std::uint64_t longest_search = std::uint64_t{1} << 40;

// The trial ---------------------------------------------------------------------------------------

// One k of one trial, ready to be sampled.
struct Problem {
  std::optional<GramDescent> descent;
  TrialRecord numbers;
  double closed_form_error = undefined;  // at the smallest k
};

struct Drawn {
  arma::mat A, label_features;  // (k, n): features of the model and of the labels
  arma::mat W;                  // (m, k): W# or W-bar
};

// Entries of V are N(0, 1/d), as in Theorem 3.4: the rows have norm 1 on average. Entries of W are
// N(0, 1/k). The paper has 1/m in Section 3.1.2 and 1/d in Theorems 3.6 and 3.9, but a common
// factor changes no nuclear rank. Each k draws from its own streams, so its numbers do not depend
// on the other values of k.
Drawn draw(const Config& c, const Size& size, const Trial& trial) {
  const std::string at = say("/k={}", size.k);
  const FeatureSizes sizes{size.m, size.k, size.d, size.n};
  const double v_std = 1 / std::sqrt(real(size.d)), w_std = 1 / std::sqrt(real(size.k));
  Drawn drawn;
  drawn.A =
      draw_random_features(trial, sizes, c.activation, v_std, {"X" + at, "V" + at, "V2" + at});
  drawn.label_features = c.teacher() ? draw_random_features(trial, sizes, c.activation, v_std,
                                                            {"X" + at, "V_bar" + at, "V2_bar" + at})
                                     : drawn.A;
  const std::string W_name = (c.teacher() ? "W_bar" : "W_sharp") + at;
  drawn.W = draw_gaussian<double>(trial, W_name.c_str(), size.m, size.k, w_std);
  return drawn;
}

// A B' / n. B is copied, because Armadillo multiplies a matrix by its own transpose with another
// routine, which may round differently.
arma::mat gram(const arma::mat& A, const arma::mat& B) {
  return A * arma::mat(B).t() / static_cast<double>(A.n_cols);
}

// Lemma 3.10 on the run's matrices: the largest ||G_t - closed form||_F / ||G_0||_F, where G_t is
// the gradient at the iterate W_t, by the n-sized formulas.
double error_of_closed_form(const Drawn& drawn, const GramDescent& descent, std::uint64_t steps,
                            const Trial& trial) {
  const double n = static_cast<double>(drawn.A.n_cols);
  const arma::mat Y = drawn.W * drawn.label_features;
  arma::mat W(arma::size(drawn.W), arma::fill::zeros);
  double largest = 0, scale = 0;
  for (std::uint64_t t = 0; t <= std::min(steps, iterated_steps); ++t) {
    trial.check_interrupt();
    const arma::mat G = (W * drawn.A - Y) * drawn.A.t() / n;
    const arma::mat closed = descent.gradient(t);
    if (t == 0) scale = arma::norm(closed, "fro");
    largest = std::max(largest, arma::norm(G - closed, "fro"));
    W -= descent.eta() * G;
  }
  return scale > 0 ? largest / scale : undefined;
}

// Assumptions E and G with the spikes of Theorem 3.4 and Corollary 3.8, the empirical means: B = u
// u' + bulk and B-bar = v u' + cross bulk. Then Section 3.1.2's (3.2.2's) bound on nr(W_0) with its
// constants C = ||W||, kappa = ||W v||/||v||. Differs from [Spectral]: ||W-bar v|| >= kappa ||v||
// instead of ||W-bar u|| >= kappa ||u|| (Section 3.2.2), because the paper's estimate uses the left
// spike v.
void measure_spikes(const Drawn& drawn, const Config& c, const Size& size, const arma::mat& B,
                    const arma::mat& B_bar, TrialRecord& record) {
  const auto mean = [](const arma::mat& A) { return arma::vec(arma::mean(A, 1)); };
  const arma::vec u = mean(drawn.A), v = mean(drawn.label_features);
  const arma::vec bulk = symmetric_eigenvalues(B - u * u.t());
  record.set(spike_B, arma::dot(u, u));
  record.set(bulk_smallest, bulk.front());
  record.set(bulk_largest, bulk.back());
  arma::vec cross_bulk = arma::sort(arma::abs(bulk), "descend");
  if (c.teacher()) {
    cross_bulk = singular_values(B_bar - v * u.t());
    record.set(cross_spike, arma::norm(u) * arma::norm(v));
    record.set(cross_bulk_largest, cross_bulk.front());
    record.set(cross_bulk_d, cross_bulk(std::min<arma::uword>(size.d, cross_bulk.n_elem) - 1));
  }
  const arma::mat& W = drawn.W;
  const arma::vec weights = singular_values(W);
  const double C = weights.front(), spike = arma::norm(u) * arma::norm(v),
               kappa = arma::norm(W * v) / arma::norm(v);
  const double floor = kappa * spike - C * arma::norm(cross_bulk);
  record.set(nuclear_rank_0_bound,
             floor > 0 ? std::pow(C * (spike + arma::accu(cross_bulk)) / floor, 2) : undefined);
  record.set(nuclear_rank_W, nuclear_rank(weights));
}

// Lemma 3.5 at its own step eta = 1 / (offset + ||B||), with the constants c_1, c_2 of Assumption E
// in this run.
void measure_lemma(const GramDescent& descent, TrialRecord& record) {
  const GramDescent lemma = descent.with_eta(GramDescent::step(descent.lambda(), 1.0, offset));
  const double top = descent.lambda().front(), c_1 = record.scalar(bulk_smallest),
               c_2 = record.scalar(bulk_largest);
  const double spike = offset * top / (offset + top), low = c_1 * (1 - c_2 / (offset + top));
  record.set(condition_T, descent.lambda().back() > 0 ? lemma.condition(1)
                                                      : std::numeric_limits<double>::infinity());
  record.set(condition_T_bound, low > 0 ? std::max(spike, c_2) / std::min(spike, low) : undefined);
  record.set(nuclear_rank_1_offset, lemma.nuclear_rank(1));
}

// The window of a large gradient rank, nr(G_t) >= d/4. The search continues beyond --steps.
void measure_window(const GramDescent& descent, const Size& size, const Trial& trial,
                    TrialRecord& record) {
  const RankPath path{[&](std::uint64_t t) {
                        trial.check_interrupt();
                        return descent.nuclear_rank(t);
                      },
                      [&](double t) { return descent.log_frobenius(t); }};
  const RankWindow window = first_window(path, real(size.d) / 4, longest_search);
  record.set(window_start, window.start ? real(*window.start) : undefined);
  record.set(window_end, window.end ? real(*window.end) : undefined);
}

Problem measure(const Config& c, const Size& size, bool is_smallest, const Trial& trial) {
  trial.check_interrupt();
  const Drawn drawn = draw(c, size, trial);
  const arma::mat B = gram(drawn.A, drawn.A),
                  B_bar = c.teacher() ? gram(drawn.label_features, drawn.A) : B;
  const arma::mat G_0 = -drawn.W * B_bar;
  trial.check_interrupt();
  Problem problem{GramDescent::with_step(G_0, B, c.c), {}};
  const GramDescent& descent = *problem.descent;
  TrialRecord& record = problem.numbers;
  record.set(B_norm, descent.lambda().front());
  record.set(stable_rank_A, stable_rank_from_gram(B));
  measure_spikes(drawn, c, size, B, B_bar, record);
  trial.check_interrupt();
  const bool zero = descent.lambda().front() == 0;  // no feature is active, so there is no step
  if (zero) {
    for (const Measure& each : {condition_T, condition_T_bound, nuclear_rank_1_offset})
      record.set(each, undefined);
  } else {
    measure_lemma(descent, record);
  }
  measure_window(descent, size, trial, record);
  const arma::mat Y = drawn.W * drawn.label_features;
  const double loss = arma::dot(Y, Y) / (2 * real(size.n));
  record.set(minimum_ratio, loss > 0 ? 1 - descent.decrease_to_minimum() / loss : undefined);
  if (is_smallest && !zero)
    problem.closed_form_error = error_of_closed_form(drawn, descent, c.steps, trial);
  return problem;
}

TrialRecord run_trial(const Config& c, const std::vector<std::uint64_t>& sampled,
                      const Trial& trial) {
  const std::vector<Size> sizes = c.sizes();
  const std::vector<double> all_k = c.sorted_k();
  std::vector<Problem> problems(sizes.size());
  trial.for_each_piece(all_k,
                       [&](std::size_t i) { problems[i] = measure(c, sizes[i], i == 0, trial); });

  // Iterations 0 and 1 are always evaluated; the other sampled iterations follow.
  std::vector<std::uint64_t> steps = {0, 1};
  std::copy_if(sampled.begin(), sampled.end(), std::back_inserter(steps),
               [](std::uint64_t t) { return t > 1; });
  const std::size_t count = steps.size();
  std::vector<double> ranks(sizes.size() * count), costs;
  for (const double k : all_k) costs.insert(costs.end(), count, k);
  trial.for_each_piece(costs, [&](std::size_t part) {
    trial.check_interrupt();
    ranks[part] = problems[part / count].descent->nuclear_rank(steps[part % count]);
  });

  TrialRecord record;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double* const rank = ranks.data() + i * count;
    std::vector<double> of_sampled;
    for (const std::uint64_t t : sampled) {
      if (t <= 1) of_sampled.push_back(rank[t]);
    }
    of_sampled.insert(of_sampled.end(), rank + 2, rank + count);
    TrialRecord& numbers = problems[i].numbers;
    numbers.set(curve, std::move(of_sampled));
    numbers.set(nuclear_rank_0, rank[0]);
    numbers.set(nuclear_rank_1, rank[1]);
    record.insert(numbers, sizes[i].place().text + ".");
  }
  record.set(closed_form_error, problems.front().closed_form_error);
  record.set(closed_form_tolerance, tolerance::residual<double>);
  return record;
}

// Claims ------------------------------------------------------------------------------------------

// The smallest number of values of k for which a fit over k is judged or drawn.
constexpr std::size_t fewest_k = 3;
// "Of order k" is judged by the exponent e of a power law k^e over the run's values of k. A
// quantity counts as linear within `linear_margin` of e = 1, and as bounded up to `bounded_margin`:
// k^(1/4) grows by a factor 1.7 if k grows by 8. A logarithm has e = 0.2 from k = 64 to 512, so
// such a fit cannot tell a logarithm from a constant.
constexpr double linear_margin = 0.1, bounded_margin = 0.25;
// An order in k: the exponents that it allows, and our slack.
struct Order {
  Region region;
  std::string slack;
};
const std::string of_linear = "0.1 in the exponent of k", of_bounded = "0.25 in the exponent of k";
const Order linear{within(1, linear_margin), of_linear},
    at_least_linear{at_least(1 - linear_margin), of_linear},
    does_not_shrink{at_least(-linear_margin), of_linear},
    bounded{at_most(bounded_margin), of_bounded}, grows{compared(at_least(0.0)), ""};
// Relative slack for rounding in inequalities.
constexpr double rounding_slack = 1e-9;
// The smallest ratio of min L to L(W_0) that counts as positive.
constexpr double smallest_minimum = 1e-3;

// Iterations with nr(G_t) >= d/4.
const Metric length_of_window = [](const AtSize& at) { return at(window_end) - at(window_start); };

// Why a statement about relu does not apply to this run, or "".
std::string not_relu(const Config& c) {
  return c.activation == "relu"
             ? ""
             : say("the statement is about relu; this run uses {}", c.activation);
}

Sizes sizes_of(const Config& c) {
  Sizes out{c.sorted_k(), {}};
  for (const Size& size : c.sizes()) out.places.push_back(size.place());
  return out;
}

SizeClaims over_sizes(const Config& c, const Records& records, Claims& claims) {
  SizeClaims over_k{sizes_of(c), claims, records, not_relu(c), "", 2};
  if (over_k.no_exponents.empty() && c.k.size() < fewest_k) {
    over_k.no_exponents =
        say("an exponent requires at least three values of --k; this run has {}", c.k.size());
  }
  return over_k;
}

// Fits of the means over trials, with standard errors.
std::string fits_of_means(const SizeClaims& over_k, const Metric& metric) {
  const std::vector<double>& k = over_k.x;
  if (k.size() < fewest_k) return "";
  const ValueAtSize value = over_k.at_sizes(metric);
  std::vector<double> means;
  for (std::size_t i = 0; i < k.size(); ++i) {
    means.push_back(summarize(per_trial(over_k.records, [&](const TrialRecord& record) {
                      return value(record, i);
                    })).mean);
  }
  const LineFit line = fit_line(k, means), power = fit_power(k, means);
  return say(
      "exponent of a power law in k, one fit per trial; fits of the means over {} values of k: "
      "exponent {} +- {}, slope {} +- {} (standard errors); mean at k = {}: {}, at k = {}: {}",
      k.size(), power.slope, power.slope_error, line.slope, line.slope_error, count_text(k.front()),
      means.front(), count_text(k.back()), means.back());
}

// Claim: the mean exponent of k over trials is allowed by the order.
void judge_exponent(const SizeClaims& over_k, const Statement& statement, const Metric& metric,
                    const Order& order) {
  Statement judged =
      statement.kind == Kind::theorem ? asymptotic(statement, order.slack) : statement;
  judged.text += " (the number is an exponent of k)";
  over_k.exponent(judged, metric, order.region, fits_of_means(over_k, metric));
}

// Claim: lower <= upper in each trial at each k, or lower < upper if `strict`. If either is
// undefined there is no case.
void judge_inequality(const SizeClaims& over_k, const Statement& statement, const Metric& lower,
                      const Metric& upper, bool strict = false) {
  const Tally tally = over_k.tally([&](const AtSize& at, Tally& t) {
    const double small = lower(at), large = upper(at);
    if (std::isfinite(small) && std::isfinite(large))
      t.count(strict ? !(small < large) : small > large * (1 + rounding_slack), large / small);
  });
  over_k.claims.never_violated(
      statement, tally,
      tally.cases > 0 ? say("smallest ratio of the two sides {}", tally.smallest)
                      : "the bound is undefined, because a constant in it is not positive",
      WorstCase::smallest);
}

// Section 3.2.2 exchanges the spikes: its hypothesis is ||W-bar u|| >= kappa ||u||, but the spike
// of B-bar is v u'. u = sqrt(k) e_1, v = sqrt(k) e_2, Sigma = I, W-bar = I - e_2 e_2' and C = kappa
// = 1 obey the hypothesis as printed. W-bar B-bar = W-bar has the nuclear rank k - 1; spike = k,
// ||I||_* = k and ||I||_F = sqrt(k).
constexpr double k_of_example = 500;

void judge_bound(const SizeClaims& over_k, const Config& c, const Place& section) {
  const std::string bound =
      "The nuclear rank of the gradient at W_0 is at most the square of C "
      "(spike + ||bulk||_*) / (kappa spike - C ||bulk||_F)";
  Statement judged = section("nr-0-bound", bound + ", with the constants of the run");
  if (c.teacher()) {
    const Statement printed =
        showing(spectral::section_3_2_2_spikes,
                section("nr-0-bound/as-printed",
                        bound + ", if ||W-bar|| <= C and ||W-bar u|| >= kappa ||u|| (the number "
                                "is the nuclear rank in an example)"));
    const double right = std::pow(2 * k_of_example / (k_of_example - std::sqrt(k_of_example)), 2);
    over_k.claims.number(printed, k_of_example - 1, at_most(right),
                         say("an example: u = sqrt(k) e_1, v = sqrt(k) e_2, Sigma = I, W-bar = I - "
                             "e_2 e_2', C = kappa = 1, k = {}; the bound is {}",
                             k_of_example, right));
    judged = correcting(
        printed,
        section("nr-0-bound",
                bound + ", if ||W-bar|| <= C and ||W-bar v|| >= kappa ||v||; with the constants "
                        "of the run"));
  }
  judge_inequality(over_k, judged, nuclear_rank_0, nuclear_rank_0_bound);
}

// The rank is large over at least Theta(d) iterates. A window that never opens counts as too short,
// one that never ends as long enough.
void judge_window(const SizeClaims& over_k, const Config& c, const Place& figure) {
  const Place introduction{spectral::section_3_window, figure.prefix, "Section 3, introduction"};
  Place both = introduction;
  both.source += ", and " + figure.source;
  const std::vector<Size> sizes = c.sizes();
  const Tally windows = over_k.tally([&](const AtSize& at, Tally& t) {
    const double d = real(sizes[at.i].d), length = length_of_window(at);
    t.count(!std::isfinite(at(window_start)) || length < d, length / d);
  });
  over_k.claims.never_violated(
      asymptotic(both("window",
                      "The nuclear rank of the gradient is at least d/4 for at least d consecutive "
                      "iterations"),
                 "level d/4, length d"),
      windows,
      say("shortest window {} d; the search for its ends continues beyond --steps",
          windows.smallest),
      WorstCase::smallest);
  judge_exponent(over_k,
                 introduction("window-grows",
                              "The length of the window with nr >= d/4 is at least of the order of "
                              "the dimension"),
                 length_of_window,
                 {at_least(1 - bounded_margin), "0.25 in the exponent of the dimension"});
}

void judge_figures(const SizeClaims& over_k, const Config& c) {
  const auto caption = [&](const std::string& statement_id, const char* number) {
    const std::string letter = c.teacher() ? "b" : "a",
                      name = say("Figure {} ({})", number, letter);
    Place place = in_figure(statement_id, statement_id + letter + "/", name);
    place.part = Part::caption;
    return place;
  };
  const std::string number = c.teacher() ? "3.2.2" : "3.1.2",
                    other_step = c.c == 1.0 ? ""
                                            : say("the statement is about the step 1/||B|| or "
                                                  "1/(offset + ||B||); this run has --c {}",
                                                  c.c);
  const Place fig_14 = caption(spectral::fig_14, "14"), fig_15 = caption(spectral::fig_15, "15"),
              section{c.teacher() ? spectral::section_3_2_2_nr_0 : spectral::section_3_1_2_nr_0,
                      say("spectral/section-{}/", number), "Section " + number};
  judge_exponent(
      over_k,
      reading(fig_15("nr-0-bounded",
                     "The nuclear rank of the gradient at W_0 is essentially independent of k"),
              "an exponent of k of at most 1/4"),
      nuclear_rank_0, bounded);
  judge_bound(over_k, c, section);
  judge_exponent(over_k,
                 section("bound-constant",
                         "The square of C (spike + ||bulk||_*) / (kappa spike - C ||bulk||_F) is "
                         "bounded as k grows, if the denominator is positive"),
                 nuclear_rank_0_bound, bounded);
  {
    const auto first_step = over_k.claims.only_where(other_step);
    judge_exponent(over_k,
                   reading(fig_15("nr-1-linear",
                                  "The nuclear rank of the gradient at W_1 grows linearly with k"),
                           "an exponent of k from 0.9 to 1.1"),
                   nuclear_rank_1, linear);
    judge_exponent(over_k,
                   fig_15("eq-1.5-increasingly",
                          "The ratio of the nuclear rank of the gradient at W_1 to st(A), the two "
                          "sides of condition (1.5), grows with k"),
                   ratio(nuclear_rank_1, stable_rank_A), grows);
  }
  {
    const auto relu = over_k.claims.only_where(not_relu(c));
    judge_inequality(over_k,
                     fig_14("first-step",
                            "The first step increases the nuclear rank of the gradient at every k"),
                     nuclear_rank_0, nuclear_rank_1, true);
  }
  {
    const auto first_step = over_k.claims.only_where(other_step);
    judge_exponent(over_k,
                   fig_14("stronger-with-k",
                          "The factor by which the first step increases the nuclear rank of the "
                          "gradient grows with k"),
                   ratio(nuclear_rank_1, nuclear_rank_0), grows);
  }
  const auto relu = over_k.claims.only_where(not_relu(c));
  judge_window(over_k, c, fig_14);
}

// [Spectral] Assumption E, or G, with the spikes of Theorem 3.4 and Corollary 3.8.
void judge_assumption(const SizeClaims& over_k, bool teacher) {
  const Place assumption = teacher ? Place{spectral::cor_3_8, "spectral/eq-3.15/assumption-G/",
                                           "Assumption G and Corollary 3.8"}
                                   : Place{spectral::thm_3_4, "spectral/eq-3.2/assumption-E/",
                                           "Assumption E and Theorem 3.4"};
  judge_exponent(
      over_k,
      assumption("spike",
                 "The spike ||u||^2 of B, where u is the mean feature, grows linearly with k"),
      spike_B, linear);
  judge_exponent(over_k,
                 assumption("bulk",
                            "The ratio c_2 / c_1 of the extreme eigenvalues of the bulk B - uu' is "
                            "bounded as k grows"),
                 ratio(bulk_largest, bulk_smallest), bounded);
  if (!teacher) return;
  judge_exponent(over_k,
                 assumption("cross-spike",
                            "The spike ||u|| ||v|| of the cross-Gram matrix grows linearly with k"),
                 cross_spike, linear);
  judge_exponent(
      over_k,
      assumption(
          "cross-bulk",
          "The ratio s_1 / s_d of singular values of the cross-Gram bulk is bounded as k grows"),
      ratio(cross_bulk_largest, cross_bulk_d), bounded);
}

void judge_first_iteration(const SizeClaims& over_k, const Config& c) {
  const std::string step = say(", with the step eta = 1/({} + ||B||)", offset);
  if (c.teacher()) {
    const Place theorem{spectral::thm_3_9, "/", "Theorem 3.9, eq. (3.20)"};
    judge_exponent(over_k,
                   theorem("nr-1-linear",
                           "The nuclear rank of the gradient at W_1 is at least of order d" + step),
                   nuclear_rank_1_offset, at_least_linear);
    return;
  }
  // The lemma leaves its constants open; with_constants states it with those of its proof.
  const Place lemma{spectral::lemma_3_5, "/", "Lemma 3.5"},
      with_constants{lemma.statement_id, lemma.prefix,
                     lemma.source + " with the constants of its proof"};
  judge_exponent(over_k,
                 lemma("condition-bounded",
                       "The condition number of T = (I - eta B) B is bounded as k grows" + step),
                 condition_T, bounded);
  judge_inequality(
      over_k,
      with_constants(
          "explicit-bound",
          "The condition number of T = (I - eta B) B is at most max(s, c_2) / min(s, c_1 (1 - "
          "c_2/(c + ||B||))), where s = c ||B||/(c + ||B||) is the image of the top eigenvalue" +
              step),
      condition_T, condition_T_bound);
  judge_exponent(
      over_k,
      lemma("nr-1",
            "The nuclear rank of the gradient at W_1 is at least of the order of nr(W#)" + step),
      ratio(nuclear_rank_1_offset, nuclear_rank_W), does_not_shrink);
  judge_inequality(
      over_k,
      with_constants(
          "elementary-observation",
          "nr(W# T) is at least nr(W#) divided by the squared condition number of T = (I - eta "
          "B) B" +
              step),
      [](const AtSize& at) { return at(nuclear_rank_W) / std::pow(at(condition_T), 2); },
      nuclear_rank_1_offset);
}

// Compares the closed form with the iteration, per trial, at the smallest k.
void judge_closed_form(const Config& c, const SizeClaims& over_k) {
  const Place place = c.teacher()
                          ? Place{spectral::lemma_3_10, "/", "Lemma 3.10"}
                          : Place{spectral::section_3_1_4_recursion, "spectral/section-3.1.4/",
                                  "Section 3.1.4, before Theorem 3.6"};
  const Tally tally = tally_of(over_k.records, [&](const TrialRecord& record, Tally& t) {
    const double error = record.scalar(closed_form_error);
    if (std::isfinite(error)) t.count(error > record.scalar(closed_form_tolerance), error);
  });
  over_k.claims.never_violated(
      place("closed-form",
            "The gradient at W_t equals the gradient at W_0 times (I - eta B)^t, up to rounding"),
      tally,
      say("compared with the gradients of the iteration at k = {}; largest error over ||G_0||_F {}",
          count_text(over_k.x.front()), std::max(0.0, tally.largest)),
      WorstCase::largest);
}

void judge_minimum(const Config& c, const SizeClaims& over_k) {
  const ValueAtSize ratio_at = over_k.at_sizes(minimum_ratio);
  const auto spread = [&](const TrialRecord& record) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < over_k.x.size(); ++i) ratios.push_back(ratio_at(record, i));
    return spread_of(ratios);
  };
  if (!c.teacher()) {
    const auto largest = [&](const TrialRecord& record) {
      const Spread ratios = spread(record);
      return std::max(std::abs(ratios.smallest), std::abs(ratios.largest));
    };
    over_k.claims.mean(beyond(Statement{spectral::eq_3_1, "spectral/eq-3.1/minimum",
                                        "Section 3.1, eq. (3.1)", "min L is zero, up to rounding"}),
                       per_trial(over_k.records, largest), at_most(rounding_slack),
                       "largest |min L| / L(W_0) over k");
    return;
  }
  const Statement statement =
      beyond(Statement{spectral::eq_3_14, "spectral/eq-3.14/minimum", "Section 3.2, eq. (3.14)",
                       "The student cannot fit the teacher: min L is positive"});
  // W A = Y has a solution if A has full column rank.
  const std::vector<Size> sizes = c.sizes();
  const bool solvable =
      std::any_of(sizes.begin(), sizes.end(), [](const Size& size) { return size.n <= size.k; });
  if (!over_k.claims.applies(
          statement,
          solvable ? "n <= k at some size, so the student can interpolate the labels" : ""))
    return;
  over_k.claims.mean(
      statement,
      per_trial(over_k.records, [&](const TrialRecord& record) { return spread(record).smallest; }),
      {smallest_minimum, 1.0}, "smallest min L / L(W_0) over k");
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  const SizeClaims over_k = over_sizes(*this, records, claims);
  judge_figures(over_k, *this);
  judge_assumption(over_k, teacher());
  judge_first_iteration(over_k, *this);
  judge_closed_form(*this, over_k);
  judge_minimum(*this, over_k);
}

// The result --------------------------------------------------------------------------------------

namespace {

void add_scalars(const Config& c, const Sizes& over_k, Numbers& out) {
  std::vector<Measure> measures = {
      nuclear_rank_0,       nuclear_rank_1,        stable_rank_A,  condition_T, condition_T_bound,
      nuclear_rank_0_bound, nuclear_rank_1_offset, nuclear_rank_W, B_norm,      spike_B,
      bulk_smallest,        bulk_largest,          window_start,   window_end,  minimum_ratio};
  if (c.teacher()) measures.insert(measures.end(), {cross_spike, cross_bulk_largest, cross_bulk_d});
  for (const Size& size : c.sizes()) {
    for (const Measure& each : measures) out.scalar(size.at(each));
  }
  for (const auto& [rank, slope, exponent, fit] : around_first_step) {
    const ValueAtSize value = over_k.at_sizes(rank);
    out.scalar(slope, slopes_over(out.records(), over_k.x, value, fit_line, 2));
    out.scalar(exponent, slopes_over(out.records(), over_k.x, value, fit_power, 2));
  }
  out.scalar(closed_form_error);
}

std::vector<double> recorded_iterations(const Config& c) {
  const std::vector<std::uint64_t> iterations = c.sampled();
  return {iterations.begin(), iterations.end()};
}

// The logarithmic axis of a path requires iterations beyond the first.
bool has_paths(const std::vector<double>& sampled) {
  return sampled.back() > 1;
}

// The level d/4 at every k, the length of the window above it, and d.
void add_window_series(const Config& c, const Sizes& over_k, const std::vector<double>& sampled,
                       Numbers& out) {
  std::vector<double> d;
  for (const Size& size : c.sizes()) {
    d.push_back(real(size.d));
    out.series_of_points(size.at(window_level), "iteration", {sampled.front(), sampled.back()},
                         {d.back() / 4, d.back() / 4});
  }
  out.series(window_length, "k", over_k.x, over_k.at_sizes(length_of_window));
  out.series_of_points(input_dimension, "k", over_k.x, d);
}

void add_series(const Config& c, const Sizes& over_k, Numbers& out) {
  const std::vector<double>& all_k = over_k.x;
  const std::vector<double> sampled = recorded_iterations(c);
  for (const Size& size : c.sizes()) out.series(size.at(curve), "iteration", sampled);
  for (const auto& [rank, slope, exponent, fit] : around_first_step) {
    const ValueAtSize value = over_k.at_sizes(rank);
    out.series(rank, "k", all_k, value);
    if (all_k.size() < fewest_k) continue;
    std::vector<std::vector<double>> lines;
    for (const LineFit& line : fits_over(out.records(), all_k, value, fit_line, 2)) {
      lines.emplace_back();
      for (const double k : all_k) lines.back().push_back(line.intercept + line.slope * k);
    }
    out.series(fit, series_over_trials(fit, "k", all_k, lines));
  }
  out.series(stable_rank_A, "k", all_k, over_k.at_sizes(stable_rank_A));
  if (has_paths(sampled)) add_window_series(c, over_k, sampled, out);
}

// W_0, from which the curves jump, is at 1.
void add_paths(const Config& c, Display& out) {
  PanelBuilder path = out.panel("Nuclear rank along gradient descent", log_axis("iteration + 1"),
                                rank_axis("nuclear rank nr(G) (dashed: d/4)"));
  const std::vector<Size> sizes = c.sizes();
  int color = 0;
  for (const Size& size : sizes) {
    path.curve(size.at(curve), say("k = {}", size.k), {.color = color, .x_offset = 1})
        .curve(size.at(window_level), "",
               {.style = LineStyle::dashed, .color = color, .x_offset = 1});
    ++color;
  }
  path.line(summarize(scalars_of(out.records(), sizes.back().at(stable_rank_A))).mean,
            say("stable rank st(A) at k = {}", sizes.back().k));
}

void add_window_panel(Display& out) {
  out.panel("Window of a large nuclear rank, nr(G) >= d/4", log_axis("number of features k"),
            log_axis("length of the window (iterations)"))
      .curve(window_length, "measured",
             {.style = LineStyle::line_points, .color = 0, .band = BandKind::interval})
      .curve(input_dimension, "d iterations",
             {.style = LineStyle::dashed, .color = 6, .band = BandKind::interval});
}

void add_first_step_panel(Display& out) {
  const auto look = [](LineStyle style, int color) {
    return CurveLook{.style = style, .color = color, .band = BandKind::interval};
  };
  const auto& [before, after] = around_first_step;
  out.panel("Before and after the first step", {"number of features k"},
            nonnegative_axis("nuclear rank nr(G)"))
      .curve(nuclear_rank_0, "before the first step (W_0)", look(LineStyle::points, 0))
      .curve(nuclear_rank_1, "after it (W_1)", look(LineStyle::points, 1))
      .curve_if_measured(before.fit, "linear fit before it", look(LineStyle::dashed, 0))
      .curve_if_measured(after.fit, "linear fit after it", look(LineStyle::dashed, 1))
      .curve(stable_rank_A, "stable rank st(A)", look(LineStyle::dotted, 2));
}

std::string step_text(const Config& c) {
  const std::string norm = c.c == 1.0 ? "||B||" : say("{} ||B||", c.c);
  return c.c == 1.0 ? "1/" + norm : say("1/({})", norm);
}

}  // namespace

std::string Config::title() const {
  return say("Nuclear rank of the gradient, {} model, {} features",
             teacher() ? "teacher-student" : "realizable", activation);
}

void Config::derive(Numbers& out) const {
  const Sizes over_k = sizes_of(*this);
  add_scalars(*this, over_k, out);
  add_series(*this, over_k, out);
}

// Figure 14, if the run records iterations beyond the first; then Figure 15.
void Config::show(Display& out) const {
  if (has_paths(recorded_iterations(*this))) {
    add_paths(*this, out);
    if (k.size() > 1) add_window_panel(out);
    out.next_figure("Nuclear rank of the gradient before and after the first step");
  }
  add_first_step_panel(out);
  out.note(say("The curves use the step {}; {} is judged at its own step, 1/(||B|| + {}).",
               step_text(*this), teacher() ? "Theorem 3.9" : "Lemma 3.5", offset));
}

Work Config::work() const {
  return each_trial(
      [config = *this, all = sampled()](Trial& trial) { return run_trial(config, all, trial); });
}

}  // namespace ranklab::gradient_rank

namespace ranklab {

std::unique_ptr<Study> make_gradient_rank_study(LabelModel model) {
  return std::make_unique<gradient_rank::Config>(model);
}

}  // namespace ranklab
