// `random-features --study stable-rank`: the stable rank of post-activations compared with
// [Spectral] Figure 12 and with the bounds of Theorems 2.6 to 2.8, Lemma 2.9 and eq. (2.15).
//
//   A_l = sigma(W_l A_(l-1)), A_0 = X;   if gated: A_l = SiLU(W_l A_(l-1)) o (V_l A_(l-1))
//   alpha f(w) <= (E sigma(w'x))^2,   E sigma(w'x)^2 <= beta f(w)                  (2.9), Figure 12
//   st(A_l) <= (1 + eps)/(1 - eps)^2 beta/alpha                              Theorems 2.6 and 2.7
//   st(A_l) <= 27 * 3^(2^(l+2)) / (2c) for sigma(t) = t^2                   Theorem 2.8, eq. (2.12)
//   st(H) = 1/p_max for the indicator H of a token sequence                              eq. (2.15)
//
// X (d, n): N(0, 1); W_1 (k, d): dense, of low rank, or with a power-law spectrum, with rows of
// mean square norm 1; W_l (k, k) for l > 1: N(0, 1/k); A_l (k, n).
#include "experiments/random_features/stable_rank.hpp"

#include <algorithm>
#include <armadillo>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

#include "ensembles/gaussian_moments.hpp"
#include "ensembles/random_features.hpp"
#include "ensembles/tokens.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/token_embedding.hpp"
#include "figure/cell_text.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::stable_ranks {

// Flags -------------------------------------------------------------------------------------------

std::vector<Field> Config::flags() {
  return {
      choice_list_field("activation", activation, activation_names(), "sigma",
                        "activations, all applied to the same draws of W and X"),
      size_field("k", k, 1, largest_size, "k", "rows of every weight matrix"),
      size_field("d", d, 1, largest_size, "d", "dimension of the input and of the token embedding"),
      size_field("n", n, 1, largest_size, "n", "samples"),
      size_field("depth", depth, 1, 100, "l", "layers of the random networks"),
      excluding_low(real_field("epsilon", epsilon, 0.0, 1.0, "eps",
                               "value of eps_1 = eps_2 in Theorems 2.6 and 2.7; below 1")),
      size_field("rank", rank, 1, largest_size, "r", "rank of the low-rank W, at most min(k, d)"),
      real_field("power", power, 0.0, 100.0, "p",
                 "exponent of the power-law W, with singular values proportional to i^(-p)"),
      excluding_low(real_list_field("variances", variances, 0.0, 1e6, "w' Sigma w",
                                    "variances at which Figure 12 is checked")),
      size_field("vocabulary", vocabulary, 1, 10'000'000, "V",
                 "vocabulary size: number of distinct tokens"),
      size_field("tokens", tokens, 1, 10'000'000, "", "length of the token sequence"),
      real_field("zipf", zipf, 0.0, 10.0, "s",
                 "Zipf exponent: token j has probability proportional to j^(-s)"),
      excluding_low(
          real_field("failure-probability", failure_probability, 0.0, 0.5, "c",
                     "constant of Theorem 2.8, which may fail with probability 2c; below 0.5")),
  };
}

void Config::check() const {
  if (rank > std::min(k, d)) {
    const std::uint64_t most = std::min(k, d);
    throw Misfit(say("--rank {} is not allowed: at most min(--k, --d) = {}", rank, most), "rank",
                 std::to_string(most), {"k", "d"});
  }
  if (epsilon >= 1.0) throw UsageError("--epsilon 1 is not allowed: below 1");
  if (failure_probability >= 0.5)
    throw UsageError("--failure-probability 0.5 is not allowed: below 0.5");
}

bool Config::lists(const std::string& sigma) const {
  return std::ranges::count(activation, sigma) > 0;
}

std::vector<std::string> Config::stacks() const {
  std::vector<std::string> out = activation;
  if (!lists("quadratic")) out.emplace_back("quadratic");
  return out;
}

std::vector<std::string> Config::covered() const {
  std::vector<std::string> out;
  for (const std::string& sigma : activation) {
    if (sigma == "relu" || sigma == "abs" || sigma == "leaky-relu") out.push_back(sigma);
  }
  return out;
}

double Config::largest_rank() const {
  return static_cast<double>(std::min(k, n));
}

namespace {

bool any_is_gated(const std::vector<std::string>& activations) {
  return std::ranges::any_of(activations,
                             [](const std::string& sigma) { return find_activation(sigma).gated; });
}

}  // namespace

Estimate Config::memory() const {
  const double rows = static_cast<double>(k), inputs = static_cast<double>(d),
               samples = static_cast<double>(n), side = largest_rank();
  const double outputs = static_cast<double>(stacks().size()),
               gate = any_is_gated(stacks()) ? 2.0 : 1.0;
  const double distinct = ZipfLaw(vocabulary, zipf).expected_distinct(static_cast<double>(tokens));

  // The outputs of all stacks, a new one with its absolute values, the products with the input, the
  // input, the weights in two copies, and the Gram matrix with its workspace.
  const double layer_bytes =
      8.0 * ((outputs + 2.0 + gate) * rows * samples + 2.0 * inputs * samples +
             2.0 * gate * rows * std::max(rows, inputs) + 3.0 * side * side);
  const double token_bytes = 8.0 * (3.0 * inputs * distinct + 3.0 * inputs * inputs +
                                    2.0 * static_cast<double>(tokens + vocabulary));
  return {.bytes = std::max(layer_bytes, token_bytes)};
}

namespace {

// What a trial records ----------------------------------------------------------------------------

constexpr Measure
    stable_rank_X = {"X.stable_rank", "st(X)", "stable rank of the input"},
    stable_rank_W = {"stable_rank", "st(W)", "stable rank of the first weights"},
    stable_rank_layer = {"stable_rank", "st(sigma(W X))",
                         "stable rank of the activations of one layer"},
    stable_rank_depth = {"depth.stable_rank", "st(A_l)",
                         "stable rank of the activations of layer l"},
    indicator_rank = {"token_indicator.stable_rank", "st(H)",
                      "stable rank of the indicator of the token sequence"},
    inverse_p_max = {"token_indicator.inverse_p_max", "1/p_max",
                     "tokens of the sequence for each occurrence of the most frequent one"},
    embedding_rank = {"embedding.stable_rank", "st(X)", "stable rank of the embedded sequence"},
    embedding_rms_rank = {"embedding_rms.stable_rank", "st(X^rms)",
                          "stable rank of the embedded sequence, with RMS-normalized columns"},
    norm_deviation = {"embedding.norm_deviation", "max_j | ||e_j||^2/d - 1 |",
                      "how far the squared norm of a token's vector is from d, at most"},
    distinct_tokens = {"embedding.distinct_tokens", "", "different tokens in the sequence"};
// Of the result: constants.
constexpr Measure nsr_bound = {"nsr_bound", "beta/alpha",
                               "printed bound on the noise-to-signal ratio"},
                  nsr_quadrature = {"nsr_quadrature", "NSR",
                                    "noise-to-signal ratio E sigma^2 / (E sigma)^2"},
                  largest_alpha = {"alpha", "alpha", "(E sigma(g))^2 for a standard Gaussian g"},
                  smallest_beta = {"beta", "beta", "E sigma(g)^2 for a standard Gaussian g"},
                  depth_bound = {"quadratic.depth.bound", "",
                                 "bound (2.12) on st(A_l), quadratic activations"},
                  drawn_bound = {"quadratic.depth.bound.drawn", "",
                                 "the bound (2.12) where it is below 100 min(k, n)"};

// The three fixed first-layer weights of Theorem 2.6, all with rows of mean square norm 1.
enum class FirstWeights { dense, low_rank, power_law };
struct WeightKind {
  FirstWeights weights;
  std::string claim;   // last part of a claim's id
  std::string suffix;  // of a scalar's name
};
const WeightKind weight_kinds[] = {{FirstWeights::dense, "dense", ""},
                                   {FirstWeights::low_rank, "low-rank", "_low_rank"},
                                   {FirstWeights::power_law, "power-law", "_power_law"}};

Quantity W_rank(const WeightKind& kind) {
  return {say("W.{}{}", stable_rank_W.name, kind.suffix), stable_rank_W,
          At("weights", kind.claim) & At("matrix", "W")};
}
// The stable rank of sigma(W X), for each listed activation; and those of A_1 ... A_depth, an
// array, for all stacks.
Quantity layer_rank(const std::string& sigma, const WeightKind& W) {
  return {say("{}.{}{}", sigma, stable_rank_layer.name, W.suffix), stable_rank_layer,
          At("activation", sigma) & At("weights", W.claim)};
}
Quantity depth_ranks(const std::string& sigma) {
  return At("activation", sigma) / stable_rank_depth;
}

// A trial -----------------------------------------------------------------------------------------

arma::mat gaussian(std::uint64_t rows, std::uint64_t columns, double deviation, const Trial& trial,
                   const std::string& name) {
  return draw_gaussian<double>(trial, name.c_str(), rows, columns, deviation);
}

// rows x columns with orthonormal columns, uniformly distributed: Q of a Gaussian matrix, with the
// signs chosen so that R has a positive diagonal (otherwise the law of Q depends on LAPACK's choice
// of reflections).
arma::mat orthonormal_columns(std::uint64_t rows, std::uint64_t columns, const Trial& trial,
                              const std::string& name) {
  arma::mat Q, R;
  if (!arma::qr_econ(Q, R, gaussian(rows, columns, 1.0, trial, name)))
    throw Failure(say("QR decomposition of a {} x {} matrix failed", rows, columns));
  for (arma::uword j = 0; j < Q.n_cols; ++j) {
    if (R(j, j) < 0.0) Q.col(j) *= -1.0;
  }
  return Q;
}

// First-layer weights, k x d; `name` is W, or V for the second factor of a gated activation.
arma::mat first_weights(const Config& c, FirstWeights kind, const Trial& trial,
                        const std::string& name) {
  const double d = static_cast<double>(c.d);
  if (kind == FirstWeights::dense) return gaussian(c.k, c.d, 1.0 / std::sqrt(d), trial, name + "1");
  if (kind == FirstWeights::low_rank) {
    const double r = static_cast<double>(c.rank);
    return gaussian(c.k, c.rank, 1.0 / std::sqrt(r), trial, name + ".low_rank.left") *
           gaussian(c.rank, c.d, 1.0 / std::sqrt(d), trial, name + ".low_rank.right");
  }
  const std::uint64_t r = std::min(c.k, c.d);
  arma::vec s(r);
  for (arma::uword i = 0; i < r; ++i) s(i) = std::pow(static_cast<double>(i + 1), -c.power);
  s *= std::sqrt(static_cast<double>(c.k)) / arma::norm(s);
  const arma::mat U = orthonormal_columns(c.k, r, trial, name + ".power_law.left");
  return U * arma::diagmat(s) * orthonormal_columns(c.d, r, trial, name + ".power_law.right").t();
}

// W_l for l > 1, k x k. Differs from [Spectral]: variance 1/k instead of 1 (Theorem 2.7), because
// the theorem's activations are homogeneous, so the scale changes no stable rank, and the other
// activations would saturate.
arma::mat deep_weights(const Config& c, std::uint64_t layer, const Trial& trial,
                       const std::string& name) {
  return gaussian(c.k, c.k, 1.0 / std::sqrt(static_cast<double>(c.k)), trial,
                  say("{}{}", name, layer));
}

// Matrices that a trial overwrites repeatedly, kept so that their memory is allocated once.
struct Workspace {
  arma::mat output, gate;  // k x n
  arma::mat gram;
};

// NaN if an entry of A overflowed.
double measured_stable_rank(const arma::mat& A, Workspace& workspace) {
  if (!A.is_finite()) return undefined;
  if (A.n_rows <= A.n_cols) {
    workspace.gram = A * A.t();
  } else {
    workspace.gram = A.t() * A;
  }
  return stable_rank_from_gram(workspace.gram);
}

// A homogeneous activation of degree 2 squares the scale at every layer. Division by a power of two
// is exact.
void rescale(arma::mat& A) {
  const double largest = arma::abs(A).max();
  if (!(largest > 0) || !std::isfinite(largest)) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  A *= std::ldexp(1.0, -exponent);
}

struct Weights {
  arma::mat W, V;  // V is empty unless an activation is gated
};

// output <- sigma(W A), from output = W A and, for a gated activation, gate = V A.
void activate(const Activation& activation, const arma::mat& gate, arma::mat& output) {
  apply(activation, output);
  if (activation.gated) output %= gate;
  if (activation.degree > 0) rescale(output);
}

template <class Draw>
Weights draw_weights(bool gated, const Draw& draw) {
  return {draw("W"), gated ? draw("V") : arma::mat()};
}

void measure_layers(const Config& c, const Trial& trial, TrialRecord& record) {
  const std::vector<std::string> stacks = c.stacks();
  const bool gated = any_is_gated(stacks);
  const arma::mat X = gaussian(c.d, c.n, 1.0, trial, "X");
  Workspace workspace;
  record.set(stable_rank_X, measured_stable_rank(X, workspace));
  std::map<std::string, arma::mat> A;
  std::map<std::string, std::vector<double>> over_depth;

  for (const WeightKind& kind : weight_kinds) {
    const auto first = draw_weights(gated, [&](const std::string& name) {
      return first_weights(c, kind.weights, trial, name);
    });
    record.set(W_rank(kind), measured_stable_rank(first.W, workspace));
    const arma::mat WX = first.W * X, VX = gated ? arma::mat(first.V * X) : arma::mat();
    for (const std::string& sigma : stacks) {
      trial.check_interrupt();
      const bool starts_stack = kind.weights == FirstWeights::dense;
      if (!starts_stack && !c.lists(sigma)) continue;
      workspace.output = WX;
      activate(find_activation(sigma), VX, workspace.output);
      const double st = measured_stable_rank(workspace.output, workspace);
      if (c.lists(sigma)) record.set(layer_rank(sigma, kind), st);
      if (!starts_stack) continue;
      over_depth[sigma].push_back(st);
      A[sigma] = workspace.output;
    }
  }
  for (std::uint64_t layer = 2; layer <= c.depth; ++layer) {
    const auto weights = draw_weights(
        gated, [&](const std::string& name) { return deep_weights(c, layer, trial, name); });
    for (const std::string& sigma : stacks) {
      trial.check_interrupt();
      const Activation& activation = find_activation(sigma);
      workspace.output = weights.W * A[sigma];
      if (activation.gated) workspace.gate = weights.V * A[sigma];
      activate(activation, workspace.gate, workspace.output);
      over_depth[sigma].push_back(measured_stable_rank(workspace.output, workspace));
      A[sigma].swap(workspace.output);
    }
  }
  for (const auto& [sigma, values] : over_depth) record.set(depth_ranks(sigma), values);
}

void measure_tokens(const Config& c, const Trial& trial, TrialRecord& record) {
  Stream token_stream = trial.stream("tokens"), embedding_stream = trial.stream("E");
  const std::vector<std::uint32_t> tokens =
      ZipfLaw(c.vocabulary, c.zipf).draw(c.tokens, token_stream);
  const TokenCounts counts = count_tokens(tokens);
  record.set(indicator_rank, indicator_stable_rank(tokens));
  record.set(inverse_p_max, 1.0 / counts.p_max());
  trial.check_interrupt();

  const arma::mat E = draw_embedding(c.d, counts, embedding_stream);
  const arma::rowvec squared_norms = arma::sum(arma::square(E), 0);
  record.set(norm_deviation, arma::abs(squared_norms / static_cast<double>(c.d) - 1.0).max());
  record.set(distinct_tokens, static_cast<double>(counts.id.size()));
  record.set(embedding_rank, stable_rank_from_gram(embedded_gram(E, counts)));
  trial.check_interrupt();
  record.set(embedding_rms_rank,
             stable_rank_from_gram(embedded_gram(rms_normalized_columns(E), counts)));
}

// Claims: Figure 12, by quadrature ----------------------------------------------------------------

// Quadrature is accurate to 1e-13; several of the inequalities hold with equality.
constexpr double rounding = 1e-10;

const std::string figure = "Figure 12", ids = "spectral/fig-12/";
const Place table{spectral::fig_12, ids, "Figure 12, eq. (2.9)", Part::statement,
                  Kind::printed_number},
    caption{spectral::fig_12, ids, "Figure 12, eq. (2.9)", Part::caption, Kind::printed_number},
    last_column{spectral::fig_12, ids, "Figure 12, last column", Part::statement,
                Kind::printed_number},
    lemma_2_4{spectral::lemma_2_4, ids, "Lemma 2.4, and Figure 12, last column"};

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
     variance_itself, false, spectral::fig_12_gelu_s},
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
    return say("largest left side over right side {}, at the smallest variance {}",
               std::max(0.0, ratios.largest), where);
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
        say("alpha f against (E sigma)^2: {}; E sigma^2 against beta f: {}", mean_side.text(),
            second_side.text()));
  judge(printed.depends_on_s_star ? last_column : lemma_2_4, name + "/nsr", "",
        "E||z||^2 / ||E z||^2 <= beta/alpha with the table's constants, where z = sigma(Wx) and x "
        "is Gaussian",
        noise.ratios, noise.text());
}

// Claims: Theorems 2.6 to 2.8 ---------------------------------------------------------------------

const Place thm_2_6{spectral::thm_2_6, "/", "Theorem 2.6"},
    thm_2_7{spectral::thm_2_7, "/", "Theorem 2.7"},
    thm_2_8{spectral::thm_2_8, "/", "Theorem 2.8, eq. (2.12)"};
const std::string too_likely =
    "The probability that st(A_l) exceeds (1 + eps1)/(1 - eps2)^2 pi is at most ";
const Misprint exponent_2_7 = thm_2_7.misprint(
    spectral::thm_2_7_exponent, "exponent",
    too_likely + "4 exp(-c n min{eps1^2, eps2^2 st(A_(l-1))}), for some c > 0 and every n",
    too_likely + "4 exp(-c m min{eps1^2, eps2^2 st(A_(l-1))}), where W_l has m rows");

// An undefined value (the stable rank of a zero matrix) is not a case.
void count_defined(Tally& tally, double stable_rank,
                   double bound = std::numeric_limits<double>::infinity()) {
  if (!std::isnan(stable_rank)) tally.count(stable_rank > bound, stable_rank);
}

// beta/alpha of Figure 12 at s_* = 1; NaN for an activation that it does not list.
double printed_nsr_bound(const std::string& activation) {
  const auto printed = printed_moments(activation);
  return printed ? printed->nsr_bound(1.0) : undefined;
}

double one_layer_bound(const Config& c, const std::string& activation) {
  const double e = c.epsilon;
  return (1.0 + e) / ((1.0 - e) * (1.0 - e)) * printed_nsr_bound(activation);
}

// Theorems 2.6 and 2.7 promise the bound with failure probability 4 exp(-c1 x), x = samples eps^2
// min(1, st), and leave c1 unspecified. With c1 = 1 a theorem says nothing for small x; violations
// count only for larger x. Without a violation the claim holds for every x.
void judge_probable(const Config& c, const Statement& probable, const Tally& measured,
                    std::uint64_t samples, double smallest_stable_rank, const std::string& detail,
                    Claims& claims) {
  const double x =
      static_cast<double>(samples) * c.epsilon * c.epsilon * std::min(1.0, smallest_stable_rank);
  const Statement statement =
      asymptotic(probable, say("eps1 = eps2 = {}; the paper leaves c1 open", c.epsilon));
  const std::string probability = say("failure probability 4 exp(-c1 {}); {}", x, detail);
  const std::string unmet =
      say("too few samples or too small an epsilon: the theorem promises nothing even with c1 = 1; "
          "{} violations in {} cases; {}",
          measured.violations, measured.cases, probability);
  if (!claims.applies(statement,
                      measured.violations > 0.0 && 4.0 * std::exp(-x) >= 1.0 ? unmet : ""))
    return;
  claims.never_violated(statement, measured, probability, WorstCase::largest);
}

void judge_one_layer(const Config& c, const Records& records, Claims& claims) {
  for (const std::string& name : c.covered()) {
    const double bound = one_layer_bound(c, name);
    for (const WeightKind& kind : weight_kinds) {
      Tally weights;
      const Tally measured = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
        count_defined(tally, record.scalar(layer_rank(name, kind)), bound);
        count_defined(weights, record.scalar(W_rank(kind)));
      });
      judge_probable(c,
                     thm_2_6(name + "/" + kind.claim,
                             "st(sigma(WX)) <= (1 + eps)/(1 - eps)^2 beta/alpha with high "
                             "probability over X, for a fixed W"),
                     measured, c.n, weights.smallest,
                     say("largest stable rank {}, bound {}, beta/alpha {}, smallest st(W) {}",
                         measured.largest, bound, printed_nsr_bound(name), weights.smallest),
                     claims);
    }
  }
}

void judge_random_layers(const Config& c, const Records& records, Claims& claims) {
  for (const std::string& name : c.covered()) {
    const double bound = one_layer_bound(c, name);
    Tally inputs;
    const Tally measured = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
      double input = record.scalar(stable_rank_X);
      for (const double st : record.array(depth_ranks(name))) {
        count_defined(tally, st, bound);
        count_defined(inputs, input);
        input = st;
      }
    });
    judge_probable(
        c,
        thm_2_7(name,
                "st(A_l) <= (1 + eps)/(1 - eps)^2 beta/alpha with high probability over "
                "a Gaussian last layer W_l, all else fixed"),
        measured, c.k, inputs.smallest,
        say("with the rows of W_l in place of the printed n, see {}; largest stable "
            "rank {} over layers 1 to {}, bound {}, smallest st(A_(l-1)) {}",
            exponent_2_7.as_printed.id, measured.largest, c.depth, bound, inputs.smallest),
        claims);
  }
}

// Theorem 2.7 for ReLU with n in the exponent as printed, and with the rows of W_l. In the example
// A_(l-1) = (I_4, ..., I_4), R copies, so that n = 4 R, and W_l is 4 x 4. A_l is R copies of
// sigma(W_l), whose stable rank does not depend on R.
void judge_exponent(Claims& claims) {
  constexpr double size = 4.0, eps = 0.01, rank = 4.0;
  const double fails = failure_of_copies(), rate = eps * eps * std::min(1.0, rank);
  const auto count = [&](const std::function<double(double c)>& columns) {
    Tally tally;
    for (const double c : {1.0, 1e-3, 1e-6}) {
      const double allowed = 4.0 * std::exp(-c * columns(c) * rate);
      tally.count(fails > allowed, fails / allowed);
    }
    return tally;
  };
  const auto copies = [](double c) { return 60000.0 / c; };
  const std::string example =
      say("A_(l-1) is R = 60,000/c copies of I_4, W_l is 4 x 4, eps1 = eps2 = 0.01, c = 1, 0.001 "
          "and 1e-6; the probability is at least {}",
          fails);
  claims.never_violated(exponent_2_7.as_printed, count([&](double c) { return size * copies(c); }),
                        example, WorstCase::largest);
  claims.never_violated(exponent_2_7.corrected, count([&](double) { return size; }), example,
                        WorstCase::largest);
}

// One claim for each layer up to the second: the third needs 8.4 million samples.
constexpr std::uint64_t deepest_quadratic = 2;

void judge_quadratic(const Config& config, const Records& records, Claims& claims) {
  const double c = config.failure_probability, n = static_cast<double>(config.n);
  for (std::uint64_t layer = 1; layer <= std::min(config.depth, deepest_quadratic); ++layer) {
    const double bound = quadratic_bound(layer, c), needed = quadratic_samples(layer, c);
    const double power = std::exp2(static_cast<double>(layer));
    const auto stable_rank = [&](const TrialRecord& record) {
      return record.array(depth_ranks("quadratic")).at(layer - 1);
    };
    const Tally measured = tally_of(records, [&](const TrialRecord& record, Tally& tally) {
      count_defined(tally, stable_rank(record), bound);
    });
    const bool vacuous = bound >= config.largest_rank();
    // Theorem 2.2 with p_0 = (1 - c_0)^2 3^(-2^(l+1)), c_0 = 1/3 and er(M) <= 3^(2^l) gives 2/(p_0
    // c_0 c) er(M); the exponents 2^(l+1) and 2^l add up to 3 * 2^l. Its Chernoff step fails with
    // probability exp(-p_0 n/8), which is at most c if n >= 8 log(1/c)/p_0. The printed n >=
    // log(1/(2c))/(8 p_0) does not suffice.
    const std::string detail =
        say("largest stable rank {}, bound {}{}; the paper's proof gives the smaller bound {} and "
            "requires n >= {} instead of the printed {}",
            measured.largest, bound,
            vacuous ? say(", vacuous: the stable rank of a matrix of this shape is at most {}",
                          config.largest_rank())
                    : "",
            27.0 * std::pow(3.0, 3.0 * power) / (2.0 * c),
            18.0 * std::pow(3.0, 2.0 * power) * std::log(1.0 / c), needed);
    const Statement statement =
        asymptotic(thm_2_8(say("layer-{}", layer),
                           say("st(A_l) <= 27 * 3^(2^(l+2))/(2c) for quadratic activations, layer "
                               "{}, in all draws but a share of at most 2c",
                               layer)),
                   say("n = {} samples of one network, ours", config.n));
    const std::string too_few =
        say("the theorem requires n >= {}; here n = {}; {}", needed, n, detail);
    if (!claims.applies(statement, n < needed ? too_few : "")) continue;
    if (vacuous) {
      claims.never_violated(statement, measured, detail, WorstCase::largest);
    } else {
      const auto violated = per_trial(records, [&](const TrialRecord& record) {
        const double st = stable_rank(record);
        return std::isnan(st) ? st : double(st > bound);
      });
      claims.mean(statement, violated, {0.0, 2.0 * c},
                  "fraction of trials above the bound; " + detail);
    }
  }
}

// Claims: tokens ----------------------------------------------------------------------------------

// The paper's observation of 1/p_max, and the law for which the paper makes it.
constexpr double observed = 26.0, observed_zipf = 0.86;
constexpr std::uint64_t observed_vocabulary = 50257;
constexpr double about = 0.1;  // "about 26" for a random sequence: within a tenth; our reading

void judge_zipf(const Config& c, const Records& records, Claims& claims) {
  const Place below_2_15{spectral::eq_2_15, "/", "Section 2.2.1, below eq. (2.15)", Part::text,
                         Kind::printed_number};
  const Statement zipf_law = below_2_15(
      "zipf", "1/p_max is about 26 if p_j is proportional to j^(-0.86) over 50,257 tokens");
  const Statement zipf_sampled =
      reading(below_2_15("zipf/sampled",
                         "st(H) is about 26 for a token sequence drawn with p_j "
                         "proportional to j^(-0.86) over 50,257 tokens"),
              "26 +- 10 %");
  const std::string unmet =
      c.zipf == observed_zipf && c.vocabulary == observed_vocabulary
          ? ""
          : say("the statement is about s = {} and V = {}; here s = {} and V = {}", observed_zipf,
                observed_vocabulary, c.zipf, c.vocabulary);
  if (claims.applies(zipf_law, unmet)) {
    claims.number(zipf_law, ZipfLaw(c.vocabulary, c.zipf).inverse_p_max(), within(observed, 0.5),
                  "1/p_max computed from the law, without sampling");
  }
  if (claims.applies(zipf_sampled, unmet)) {
    claims.mean(zipf_sampled, scalars_of(records, indicator_rank),
                {observed * (1.0 - about), observed * (1.0 + about)},
                say("{} tokens per sequence", c.tokens));
  }
}

// Eq. (2.15), its remark about Zipf's law, and Lemma 2.9.
void judge_tokens(const Config& c, const Records& records, Claims& claims) {
  constexpr double identity_tolerance = 1e-9;  // relative
  const Tally difference = tally_of(records, [](const TrialRecord& record, Tally& tally) {
    const double expected = record.scalar(inverse_p_max);
    const double relative = std::fabs(record.scalar(indicator_rank) - expected) / expected;
    tally.count(!(relative <= identity_tolerance), relative);
  });
  claims.never_violated({spectral::eq_2_15, spectral::eq_2_15, "Section 2.2.1, eq. (2.15)",
                         "st(H) = 1/p_max for the token indicator H"},
                        difference,
                        say("largest relative difference {} between st(H), by power iteration, and "
                            "1/p_max",
                            std::max(0.0, difference.largest)),
                        WorstCase::largest);
  judge_zipf(c, records, claims);

  const auto embedded = [](const TrialRecord& record) {
    return EmbeddedSequence{record.scalar(embedding_rank), record.scalar(norm_deviation),
                            record.scalar(inverse_p_max)};
  };
  judge_lemma_2_9(records, embedded, claims);
  // A sequence that repeats a single token attains this bound.
  const Tally rms = tally_of(records, [](const TrialRecord& record, Tally& tally) {
    const double ratio = record.scalar(embedding_rms_rank) / record.scalar(inverse_p_max);
    tally.count(!(ratio <= 1.0 + embedding_slack), ratio);
  });
  claims.never_violated(
      {spectral::lemma_2_9, "spectral/lemma-2.9/rms-normalised", "Lemma 2.9",
       "st(A^rms) <= 1/p_max for RMS-normalized embeddings", Part::text},
      rms,
      say("the lemma's bound with eps = 0; largest st(A^rms) p_max {}", std::max(0.0, rms.largest)),
      WorstCase::largest);
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  for (const std::string& name : activation) {
    if (const auto printed = printed_moments(name))
      judge_row(name, find_activation(name), *printed, variances, claims);
  }
  judge_one_layer(*this, records, claims);
  judge_random_layers(*this, records, claims);
  judge_exponent(claims);
  judge_quadratic(*this, records, claims);
  judge_tokens(*this, records, claims);
}

// The result --------------------------------------------------------------------------------------

namespace {

std::vector<double> up_to(std::size_t last) {
  std::vector<double> out;
  for (std::size_t i = 1; i <= last; ++i) out.push_back(static_cast<double>(i));
  return out;
}

void add_scalars(const Config& c, Numbers& out) {
  const auto add_constant = [&](const Quantity& quantity, double value) {
    out.scalar(quantity, std::vector<double>(out.records().size(), value));
  };
  for (const std::string& name : c.activation) {
    const At at("activation", name);
    for (const WeightKind& kind : weight_kinds) out.scalar(layer_rank(name, kind));
    const GaussianMoments moments = gaussian_moments(find_activation(name), 1.0);
    add_constant(at / nsr_bound, printed_nsr_bound(name));
    add_constant(at / nsr_quadrature, moments.noise_to_signal());
    add_constant(at / largest_alpha, moments.mean * moments.mean);
    add_constant(at / smallest_beta, moments.second);
  }
  out.scalar(stable_rank_X);
  for (const WeightKind& kind : weight_kinds) out.scalar(W_rank(kind));
  for (const Measure& each : {indicator_rank, inverse_p_max, embedding_rank, embedding_rms_rank,
                              norm_deviation, distinct_tokens})
    out.scalar(each);
}

void add_series(const Config& c, Numbers& out) {
  const auto add = [&](const Quantity& quantity, const auto& value) {
    out.series(
        quantity, "activation", up_to(c.activation.size()),
        [&](const TrialRecord& record, std::size_t i) { return value(record, c.activation[i]); });
  };
  for (const WeightKind& kind : weight_kinds) {
    add({stable_rank_layer.name + kind.suffix, stable_rank_layer, At("weights", kind.claim)},
        [&](const TrialRecord& record, const std::string& name) {
          return record.scalar(layer_rank(name, kind));
        });
  }
  add(nsr_quadrature, [](const TrialRecord&, const std::string& name) {
    return gaussian_moments(find_activation(name), 1.0).noise_to_signal();
  });
  add(nsr_bound,
      [](const TrialRecord&, const std::string& name) { return printed_nsr_bound(name); });
  const std::vector<double> layers = up_to(c.depth);
  for (const std::string& name : c.stacks()) out.series(depth_ranks(name), "layer", layers);
  const auto bound = [&](std::size_t i) { return quadratic_bound(i + 1, c.failure_probability); };
  out.series(depth_bound, "layer", layers,
             [&](const TrialRecord&, std::size_t i) { return bound(i); });
  // The bound grows doubly exponentially. The figure shows it only as far as it does not flatten
  // the other curves.
  const double shown = 100 * c.largest_rank();
  out.sometimes(bound(0) < shown, [&] {
    out.series(drawn_bound, "layer", layers, [&](const TrialRecord&, std::size_t i) {
      return bound(i) < shown ? bound(i) : undefined;
    });
  });
}

// The name of an activation for people.
std::string activation_text(const std::string& activation) {
  static const std::map<std::string, std::string> names = {
      {"abs", "|x|"},   {"relu", "ReLU"}, {"leaky-relu", "leaky ReLU"}, {"relu2", "squared ReLU"},
      {"gelu", "GELU"}, {"silu", "SiLU"}, {"swiglu", "SwiGLU"},
  };
  const auto found = names.find(activation);
  return found == names.end() ? activation : found->second;
}

// One row of Figure 12 with our numbers. The constants are those of inequality (2.9) at one
// variance w' Sigma w; a printed alpha above the largest possible one is an error.
std::vector<std::string> table_row(const std::string& activation, double variance,
                                   const std::string& name, const std::string& measured) {
  const GaussianMoments moments = gaussian_moments(find_activation(activation), variance);
  const std::string noise_to_signal = number_text(moments.noise_to_signal());
  const auto printed = printed_moments(activation);
  if (!printed) return {name, "-", "-", "-", "-", "-", "-", noise_to_signal, measured};
  const double f = std::pow(variance, printed->power);
  return {name,
          printed->power == 2 ? "(w' Sigma w)^2" : "w' Sigma w",
          number_text(printed->alpha(variance)),
          number_text(moments.mean * moments.mean / f),
          number_text(printed->beta),
          number_text(moments.second / f),
          number_text(printed->nsr_bound(variance)),
          noise_to_signal,
          measured};
}

// Figure 12 at variance 1, and a row whose constants depend on s_* also at the largest variance:
// at 1 the two readings of s_*, as a variance and as a standard deviation, agree.
void add_figure_table(const Config& c, Display& out) {
  FigureTable shown{
      "Figure 12 at w' Sigma w = 1, with the largest alpha and the smallest beta that "
      "(2.9) allows there, and stable ranks of sigma(WX). NSR: noise-to-signal ratio. Dashes: "
      "not printed",
      {"activation sigma", "f(w), printed", "alpha, printed", "alpha, largest allowed",
       "beta, printed", "beta, smallest allowed", "bound on the NSR, printed", "NSR, computed",
       "stable rank, measured (\u00B1 99 %)"},
      {}};
  const double largest = std::ranges::max(c.variances);
  for (const std::string& name : c.activation) {
    const std::string text = activation_text(name);
    shown.rows.push_back(table_row(
        name, 1.0, text, mean_text(scalars_of(out.records(), layer_rank(name, weight_kinds[0])))));
    const auto printed = printed_moments(name);
    if (printed && printed->depends_on_s_star && largest > 1.0) {
      shown.rows.push_back(
          table_row(name, largest, text + ", w' Sigma w = " + number_text(largest), "-"));
    }
  }
  out.figure_table(std::move(shown));
}

}  // namespace

void Config::derive(Numbers& out) const {
  add_scalars(*this, out);
  add_series(*this, out);
}

void Config::show(Display& out) const {
  add_figure_table(*this, out);
  const Axis ranks = rank_axis("stable rank of the layer's output");
  PanelBuilder layers = out.panel("Random layers", {"layer"}, ranks);
  for (const std::string& name : activation)
    layers.curve(depth_ranks(name), activation_text(name), {LineStyle::line_points});
  layers.line(std::numbers::pi, "NSR of ReLU");
  const bool draws_bound = out.has_series(drawn_bound);
  out.panel("Quadratic activations", {"layer"}, ranks)
      .curve(depth_ranks("quadratic"), "measured", {LineStyle::line_points})
      .curve_if_measured(drawn_bound, "bound (2.12), as far as it fits the axis",
                         {LineStyle::dashed})
      .line(largest_rank(), draws_bound ? "largest possible rank, min(k, n)"
                                        : "min(k, n); bound (2.12) is far above");
  if (quadratic_bound(1, failure_probability) >= largest_rank()) {
    out.note(
        "The bound of Theorem 2.8 exceeds min(k, n) at every layer, so it is vacuous at these "
        "sizes.");
  }
  out.note(
      "Theorems 2.6 and 2.7 cover ReLU, |x| and leaky ReLU; the paper proves no bound for the "
      "other activations.");
}

Work Config::work() const {
  return each_trial([c = *this](Trial& trial) {
    TrialRecord record;
    measure_layers(c, trial, record);
    measure_tokens(c, trial, record);
    return record;
  });
}

void judge_row(const std::string& name, const Activation& activation, const PrintedMoments& printed,
               const std::vector<double>& variances, Claims& claims) {
  for (const Reading& reading : printed.depends_on_s_star ? both_readings : only_reading)
    judge_reading(name, activation, printed, reading, variances, claims);
}

double failure_of_copies() {
  // 24 permutations; off each, 12 negative entries; on it, 4 entries in [1, largest_entry].
  const double inside =
      0.5 * (std::erfc(1.0 / std::numbers::sqrt2) - std::erfc(largest_entry / std::numbers::sqrt2));
  return 24.0 * std::pow(0.5, 12.0) * std::pow(inside, 4.0);
}

double quadratic_bound(std::uint64_t layer, double c) {
  return 27.0 * std::pow(3.0, std::exp2(static_cast<double>(layer) + 2.0)) / (2.0 * c);
}

double quadratic_samples(std::uint64_t layer, double c) {
  return 9.0 * std::pow(3.0, std::exp2(static_cast<double>(layer) + 1.0)) *
         std::log(1.0 / (2.0 * c)) / 32.0;
}

}  // namespace ranklab::stable_ranks

namespace ranklab {

std::unique_ptr<Study> make_stable_rank_study() {
  return std::make_unique<stable_ranks::Config>();
}

}  // namespace ranklab
