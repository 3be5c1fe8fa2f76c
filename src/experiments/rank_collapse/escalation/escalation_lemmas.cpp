// `rank-collapse --study escalation-lemmas`: the proof of [Shallow] Theorem 2.6 step by step
// (Lemmas A.2, A.3 and A.5, Proposition 2.5), and Corollary 2.7 and Remark 2.8 with doubly
// stochastic attention.
//
//   X = e v' + t Q,   Y = X + alpha P X W,   P (n, n) from the scores (X W_q)(X W_k)' / sqrt(d)
//
// v (d), Q (n, d): N(0, 1); W_q, W_k (d, d): uniform on (-1, 1)/sqrt(d); W (d, d): N(0, 1/d); every
// entry of e (n) is 1/sqrt(n). A trial is one sample of W for each d; the others are the same in
// the whole run. In the formulas tokens are rows, X (n, d), as in [Shallow]. In memory they are
// columns, X' (d, n).
//
// For normal W, the "absolute constant" c of (25) to (28) can be 1/8, with K = sigma = 1/sqrt(d):
//   (25)  2 <a, w> / ||a|| has the law N(0, 4 K^2), and P(N(0, 1) >= x) <= exp(-x^2/2).
//   (26)  A sum of p_i g_i^2 with sum p_i = 1 has its heaviest tails if one p_i is 1, because its
//         log moment generating function is convex in p. The bound of Chernoff then gives
//         c = (1 - log 2)/2 = 0.153 at eps = K = 1, the worst case.
//   (27)  is the union of both, and (28) adds the lower tails, which are lighter.
#include "experiments/rank_collapse/escalation/escalation_lemmas.hpp"

#include <algorithm>
#include <map>

#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/token_escalation.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/tensors.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::escalation_lemmas {

// Flags -------------------------------------------------------------------------------------------

namespace {

constexpr std::array attentions = {Attention::softmax, Attention::sinkhorn, Attention::symmetric};

std::string name_of(Attention attention) {
  switch (attention) {
    case Attention::softmax:
      return "softmax";
    case Attention::sinkhorn:
      return "Sinkhorn";
    case Attention::symmetric:
      return "symmetric Sinkhorn";
  }
  throw std::logic_error("unknown attention");
}

}  // namespace

std::vector<Field> Config::flags() {
  return {
      size_field("tokens", tokens, 2, largest_size, "n", "number of rows of X"),
      size_list_field("dim", dim, 1, largest_size, "d", "number of columns of X"),
      excluding_low(
          real_list_field("t", t, 0.0, 1.0, "t", "strength of the noise Q in X = e v' + t Q")),
      excluding_low(real_list_field("alpha", alpha, 0.0, 1e3, "alpha",
                                    "strength of attention in Y = X + alpha P X W")),
  };
}

Estimate Config::memory() const {
  const double n = static_cast<double>(tokens),
               steps = static_cast<double>(attentions.size() * t.size() * alpha.size());
  Estimate cost;
  double largest = 0;
  for (const std::uint64_t each : dim) {
    const double d = static_cast<double>(each);
    cost.bytes += 8 * (2 * steps * n * d + d * d);
    largest = std::max(largest, 8 * (6 * n * n + 10 * n * d + 6 * d * d));
  }
  cost.bytes += largest;
  return cost;
}

std::vector<Cell> Config::cells() const {
  std::vector<Cell> all;
  for (const Attention attention : attentions) {
    for (const double strength : alpha) {
      for (const double noise : t) {
        for (const std::uint64_t d : dim)
          all.push_back({all.size(), attention, d, noise, strength});
      }
    }
  }
  return all;
}

namespace {

Config in_order(Config config) {
  std::ranges::sort(config.dim);
  std::ranges::sort(config.t);
  std::ranges::sort(config.alpha);
  return config;
}

// What a trial records ----------------------------------------------------------------------------

// Arrays over cells. The first group is the same in every trial. `linear_size` is ||a|| for a =
// alpha X'P' Pi_i X / ||Pi_i X||_F^2, and `ratio` is E[xi_1/xi_2] by quadrature.
constexpr char similarity[] = "token_similarity", omega[] = "omega", delta[] = "delta",
               lambda_2[] = "lambda_2", ratio[] = "expected_ratio";
constexpr const char *mu_squared[] = {"mu_1_squared", "mu_2_squared"},
                     *linear_size[] = {"linear_size_1", "linear_size_2"};
// For the W of the trial: xi_i, its terms 2 alpha <Pi_i X, Pi_i P X W> and alpha^2 ||Pi_i P X
// W||_F^2, both divided by ||Pi_i X||_F^2, and the rate (5).
constexpr const char *xi[] = {"xi_1", "xi_2"}, *linear[] = {"linear_1", "linear_2"},
                     *quadratic[] = {"quadratic_1", "quadratic_2"};
constexpr char rate[] = "rate";
// Over d, for the pre-norm block (19) at the largest t: (||Y||_F^2 - ||X||_F^2) / ||P(X^) X^||_F^2,
// and (||Z||_F^2 - ||Y||_F^2) / (n d/2) with a feed-forward net of width 2 d.
constexpr Measure attention_growth = {"pre_norm_growth", "",
                                      "growth of ||X||_F^2 by pre-norm attention over the squared "
                                      "norm of the mixed tokens"},
                  net_growth = {"pre_norm_net_growth", "",
                                "growth of ||Y||_F^2 by a pre-norm feed-forward net over n d/2"};
// The same as the first for step 1 after the de-escalation (21) with tau = 1, X~ = Pi_2 X: (||X~ +
// P(X~) X~ W||_F^2 - ||X~||_F^2) / ||P(X~) X~||_F^2.
constexpr Measure de_escalated_growth = {
    "de_escalated_growth", "",
    "growth of ||X||_F^2 by attention on tokens without their mean, over the squared norm of the "
    "mixed tokens"};

// Of the result, over d and over alpha.
constexpr Measure
    exponent = {"exponent", "c d/kappa_1^2",
                "exponent of the bound (28) on a deviation of xi_1 by 1, without its sign"},
    rate_minus_1 = {"rate_minus_1", "r - 1", "escalation rate of a draw, minus 1"},
    expected_rate = {"expected", "E[r] - 1", "expected escalation rate by quadrature, minus 1"},
    rate_bound = {"bound", "", "bound (16) on E[r], minus 1"};

double at(const TrialRecord& record, const char* name, const Cell& cell) {
  return record.array(name)[cell.index];
}

using Arrays = std::map<std::string, std::vector<double>>;

// Quantities that are the same in every trial -----------------------------------------------------

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

// P' of one cell. Scores and their softmax are those of eq. (2).
arma::mat attention_of(Attention attention, const arma::mat& X, const arma::mat& W_q,
                       const arma::mat& W_k) {
  const double scale = 1 / std::sqrt(static_cast<double>(X.n_rows));
  const arma::mat Q = W_q.t() * X, K = attention == Attention::symmetric ? Q : W_k.t() * X;
  if (attention == Attention::softmax) return attention_matrix<double>(Q, K, scale);
  arma::mat scores = scale * K.t() * Q;
  if (attention == Attention::symmetric) scores = (scores + scores.t()) / 2;
  return doubly_stochastic(arma::exp(scores - scores.max()));
}

// The norm of the layers, without learned scale and shift: every token gets mean 0 and variance 1.
arma::mat layer_norm(arma::mat X) {
  X.each_row() -= arma::mean(X, 0);
  X.each_row() /= arma::stddev(X, 1, 0);
  return X;
}

// X and P X; for the pre-norm step (19), X and P(X^) X^.
struct Step {
  arma::mat X, PX;  // (d, n)
};

struct Fixed {
  std::vector<Step> steps;         // over cells
  std::vector<Step> pre_norm;      // over d
  std::vector<Step> de_escalated;  // over d
  TrialRecord record;
};

Fixed fixed_steps(const Config& c, const Trial& trial) {
  Fixed fixed;
  Arrays arrays;
  std::map<std::uint64_t, DrawnTokens> drawn;
  for (const std::uint64_t d : c.dim) {
    const DrawnTokens& of = drawn.emplace(d, DrawnTokens(c.tokens, d, trial.first())).first->second;
    const arma::mat X = of.ev + c.t.back() * of.Q, normed = layer_norm(X), rest = part(X, 1);
    const auto mixed = [&](const arma::mat& input) -> arma::mat {
      return input * attention_of(Attention::softmax, input, of.W_q, of.W_k);
    };
    fixed.pre_norm.push_back({X, mixed(normed)});
    fixed.de_escalated.push_back({rest, mixed(rest)});
  }
  for (const Cell& cell : c.cells()) {
    trial.check_interrupt();
    const DrawnTokens& of = drawn.at(cell.dim);
    const arma::mat X = of.ev + cell.t * of.Q, P = attention_of(cell.attention, X, of.W_q, of.W_k),
                    PX = X * P;
    const HeadMeasures head = head_measures(P, X);
    arrays[similarity].push_back(token_parts(X).similarity());
    arrays[omega].push_back(head.omega);
    arrays[delta].push_back(head.delta);
    arrays[lambda_2].push_back(second_eigenvalue(P));
    arrays[mu_squared[0]].push_back(head.mu_1_squared);
    arrays[mu_squared[1]].push_back(head.mu_2_squared);
    for (const std::size_t i : {0u, 1u}) {
      const arma::mat A = part(X, i), B = part(PX, i);
      arrays[linear_size[i]].push_back(cell.alpha * arma::norm(B * A.t(), "fro") / squared(A));
    }
    arrays[ratio].push_back(expected_ratio(X, PX, cell.alpha));
    fixed.steps.push_back({X, PX});
  }
  for (auto& [name, values] : arrays) fixed.record.set(name, std::move(values));
  return fixed;
}

}  // namespace

arma::mat doubly_stochastic(arma::mat kernel) {
  constexpr std::size_t most_iterations = 10000;
  constexpr double rounding = 16 * tolerance::epsilon<double>;
  for (std::size_t k = 0; k < most_iterations; ++k) {
    kernel.each_row() /= arma::sum(kernel, 0);
    const arma::vec sums = arma::sum(kernel, 1);
    if (arma::abs(sums - 1).max() <= rounding) return kernel;
    kernel.each_col() /= sums;
  }
  throw Failure(
      say("Sinkhorn's iteration did not converge for a matrix of {} rows; use a smaller --t",
          kernel.n_rows));
}

double expected_ratio(const arma::mat& X, const arma::mat& PX, double alpha) {
  const double d = static_cast<double>(X.n_rows), root_n = std::sqrt(static_cast<double>(X.n_cols));
  const arma::vec x = arma::sum(X, 1) / root_n,  // (e'X)' and (e'P X)'
      mixed = arma::sum(PX, 1) / root_n;
  const arma::mat Z = part(X, 1), M = part(PX, 1);  // (Pi_2 X)' and (Pi_2 P X)'
  const SymmetricEigen eigen = symmetric_eigen(M * M.t());
  const arma::vec lambda = arma::clamp(eigen.w, 0.0, arma::datum::inf);
  const arma::mat G = eigen.Q.t() * (M * Z.t());  // (d, d)
  const arma::vec g = arma::sum(arma::square(G), 1), y = eigen.Q.t() * mixed;
  const double z = squared(Z), strength = alpha * alpha;

  // E[||x + alpha W'x_P||^2 exp(-s ||Z + alpha M W||_F^2)]. Under the weight exp(-s ...), a column
  // of W is again normal, with precision d I + 2 s alpha^2 M'M.
  const auto transform = [&](double s) {
    const arma::vec precision = d + 2 * s * strength * lambda;
    const double log_weight = -d / 2 * arma::accu(arma::log(precision / d)) - s * z +
                              2 * s * s * strength * arma::accu(g / precision);
    const arma::vec mean = x - 2 * s * strength * (G.t() * (y / precision));
    return std::exp(log_weight) *
           (squared(mean) + d * strength * arma::accu(arma::square(y) / precision));
  };
  // The trapezoidal rule after s = exp(u - exp(-u)) / z, which decays twice exponentially at 0.
  constexpr double step = 1.0 / 32, low = -4, high = 14;
  double sum = 0;
  for (double u = low; u <= high; u += step) {
    const double s = std::exp(u - std::exp(-u)) / z;
    sum += step * s * (1 + std::exp(-u)) * transform(s);
  }
  return sum * z / squared(x);
}

// A trial -----------------------------------------------------------------------------------------

namespace {

// The cells of one d share the W of the trial.
TrialRecord redraw(const Config& c, const Fixed& fixed, const Trial& trial) {
  TrialRecord record = fixed.record;
  Arrays arrays;
  std::map<std::uint64_t, arma::mat> W;
  for (std::size_t k = 0; k < c.dim.size(); ++k) {
    const std::uint64_t d = c.dim[k], width = 2 * d;
    const EntryLaw in = EntryLaw::normal(1 / std::sqrt(static_cast<double>(d))),
                   out = EntryLaw::normal(1 / std::sqrt(static_cast<double>(width)));
    DrawnTensors<double> tensors(trial, say("d={}/", d));
    W[d] = tensors.matrix("W", d, d, in);
    const arma::mat W_1 = tensors.matrix("W_1", d, width, in),
                    W_2 = tensors.matrix("W_2", width, d, out);
    const auto growth = [&](const Step& of) {
      return (squared(of.X + W[d].t() * of.PX) - squared(of.X)) / squared(of.PX);
    };
    arrays[de_escalated_growth].push_back(growth(fixed.de_escalated[k]));
    const Step& step = fixed.pre_norm[k];
    const arma::mat Y = step.X + W[d].t() * step.PX,
                    hidden = arma::clamp(W_1.t() * layer_norm(Y), 0.0, arma::datum::inf),
                    Z = Y + W_2.t() * hidden;
    arrays[attention_growth].push_back((squared(Y) - squared(step.X)) / squared(step.PX));
    arrays[net_growth].push_back((squared(Z) - squared(Y)) / (static_cast<double>(Y.n_elem) / 2));
  }
  for (const Cell& cell : c.cells()) {
    trial.check_interrupt();
    const Step& step = fixed.steps[cell.index];
    const arma::mat mixed = cell.alpha * (W[cell.dim].t() * step.PX);  // alpha P X W
    const arma::mat Y = step.X + mixed;
    const Escalation sample = measure_escalation(token_parts(step.X), token_parts(Y));
    arrays[xi[0]].push_back(sample.xi_1);
    arrays[xi[1]].push_back(sample.xi_2);
    arrays[rate].push_back(sample.rate);
    for (const std::size_t i : {0u, 1u}) {
      const arma::mat A = part(step.X, i), B = part(mixed, i);
      arrays[linear[i]].push_back(2 * arma::dot(A, B) / squared(A));
      arrays[quadratic[i]].push_back(squared(B) / squared(A));
    }
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  return record;
}

}  // namespace

Work Config::work() const {
  const auto fixed = std::make_shared<OncePerRun<Fixed>>();
  return each_trial([c = in_order(*this), fixed](Trial& trial) {
    return redraw(c, fixed->get([&] { return fixed_steps(c, trial); }), trial);
  });
}

namespace {

// What follows from the records -------------------------------------------------------------------

// The right-hand side of (9), for i = 0 or 1.
double mean_xi(const Cell& cell, const TrialRecord& record, std::size_t i) {
  return expected_xi({1, cell.alpha * cell.alpha}, at(record, mu_squared[i], cell));
}

// alpha^2 mu_i^2.
double quadratic_size(const Cell& cell, const TrialRecord& record, std::size_t i) {
  return mean_xi(cell, record, i) - 1;
}

double from_expectation(const Cell& cell, const TrialRecord& record, std::size_t i) {
  return at(record, xi[i], cell) - mean_xi(cell, record, i);
}

// E[r] by (8), with E[xi_1/xi_2] by quadrature.
double exact_rate(const Cell& cell, const TrialRecord& record) {
  return rate_from_excess(at(record, ratio, cell) - 1, at(record, similarity, cell));
}

// The right-hand side of (16), from bounds on mu_1^2 and mu_2^2. It has the value of
// expected_excess and rate_from_excess, whose separate compilation would move the last bit of a
// curve.
double rate_by(double alpha, double mu_1_bound, double mu_2_bound, double t_sim) {
  const double strength = alpha * alpha;
  return 1 + strength * (mu_1_bound - mu_2_bound) / (1 + strength * mu_2_bound) * t_sim;
}
// The same with the bounds (11): (1 - omega)^2 and delta^2.
double guaranteed_rate(const Cell& cell, const TrialRecord& record) {
  const double kept = 1 - at(record, omega, cell), gap = at(record, delta, cell);
  return rate_by(cell.alpha, kept * kept, gap * gap, at(record, similarity, cell));
}

}  // namespace

double kappa(const Cell& cell, const TrialRecord& record, std::size_t i, Kappa which) {
  const double factor = which == Kappa::from_27 ? static_cast<double>(cell.dim) : 1;
  return factor * quadratic_size(cell, record, i) + at(record, linear_size[i], cell);
}

double tail_of_one_row(double eps) {
  return std::erfc(std::sqrt((1 + eps) / 2));
}

double rest_after_products(int factors, double skip) {
  const arma::mat odd = {{0, 1, 0}, {0, 0, 1}, {0, 0, 1}}, even = {{1, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const auto rest = [](const arma::vec& x) { return arma::norm(x - arma::mean(x)); };
  const arma::vec start = {0, 0, 1};
  arma::vec x = start;
  for (int k = 1; k <= factors; ++k) {
    const arma::vec mixed = (k % 2 == 1 ? odd : even) * x;
    x = (skip * x + mixed) / (skip + 1);
  }
  return rest(x) / rest(start);
}

namespace {

Similarities after_relu(const arma::mat& X) {
  const arma::mat rectified = arma::clamp(X, 0.0, arma::datum::inf);
  return {token_parts(X).similarity(), token_parts(rectified).similarity()};
}

}  // namespace

Similarities opposite_tokens_after_relu() {
  return after_relu({{1, -1}, {-1, 1}});
}

Similarities equal_tokens_after_relu() {
  return after_relu({{1, 1}, {-2, -2}});
}

double excess_of_example(double variance) {
  constexpr arma::uword d = 64;
  const arma::rowvec e = {1 / std::sqrt(3), 1 / std::sqrt(3), 1 / std::sqrt(3)},
                     u = {1 / std::sqrt(2), -1 / std::sqrt(2), 0},
                     v = {1 / std::sqrt(6), 1 / std::sqrt(6), -2 / std::sqrt(6)};
  arma::mat X(d, 3, arma::fill::zeros);
  X.row(0) = e;
  X.row(1) = u / 3;
  X.row(2) = std::sqrt(8) / 3 * v;
  const arma::mat P = e.t() * e + 0.3 * u.t() * u;
  return expected_ratio(X, X * P, std::sqrt(variance)) - 1;
}

namespace {

// Claims about probabilities ----------------------------------------------------------------------

const std::string constant = "c = 1/8";  // lemma_constant

// The "absolute constant" c is open in the paper; 1/8 is ours.
Statement with_constant(const Statement& statement) {
  return asymptotic(statement, constant);
}

// The values of eps at which a bound is compared.
constexpr int steps_of_eps = 20;
double eps_at(int k) {
  return static_cast<double>(k) / steps_of_eps;
}

// A bound on P(event) with its event in the draws.
struct Tail {
  std::size_t count = 0;  // draws with the event
  double bound = 0;
  std::string where;
};

// The events deviation >= eps of every cell and part, for the eps = 0.05, 0.1, ..., 0.95 at which
// the bound factor exp(-c eps^2 d) is below 1 and the draws can resolve it.
using Deviation = double (*)(const Cell& cell, const TrialRecord& record, std::size_t i);
std::vector<Tail> tails_of(const Config& config, const Records& records, double factor,
                           Deviation deviation) {
  constexpr double expected_events = 200;  // in the draws, if the bound were the probability
  std::vector<Tail> tails;
  for (const Cell& cell : config.cells()) {
    for (const std::size_t i : {0u, 1u}) {
      const std::vector<double> values =
          per_trial(records, [&](const TrialRecord& record) { return deviation(cell, record, i); });
      for (int k = 1; k < steps_of_eps; ++k) {
        const double eps = eps_at(k), d = static_cast<double>(cell.dim),
                     bound = factor * std::exp(-lemma_constant * eps * eps * d);
        if (!(bound < 1 && bound * static_cast<double>(records.size()) >= expected_events))
          continue;
        const auto count = std::ranges::count_if(values, [&](double v) { return !(v < eps); });
        tails.push_back({static_cast<std::size_t>(count), bound,
                         say("{}, d = {}, t = {}, alpha = {}, i = {}, eps = {}",
                             name_of(cell.attention), cell.dim, cell.t, cell.alpha, i + 1, eps)});
      }
    }
  }
  return tails;
}

// Wilson's interval of a frequency minus its bound, so wide that those of all tails of a statement
// hold together at the confidence level.
MeanEvidence excess_over_bound(const Tail& tail, std::size_t draws, std::size_t tails) {
  const double n = static_cast<double>(draws), p = static_cast<double>(tail.count) / n,
               level = 1 - (1 - confidence_level) / static_cast<double>(tails),
               z = student_quantile((1 - level) / 2, n - 1), spread = z * z / n,
               center = (p + spread / 2) / (1 + spread),
               half = z * std::sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread);
  return {.mean = p - tail.bound,
          .low = center - half - tail.bound,
          .high = center + half - tail.bound,
          .level = confidence_level,
          .n = draws};
}

// Fails if the frequency of one event is above its bound; holds if all are below.
void judge_tails(const Statement& statement, const Config& c, const Records& records, double factor,
                 Deviation deviation, Claims& claims) {
  const std::size_t draws = records.size();
  const std::vector<Tail> tails = tails_of(c, records, factor, deviation);
  const std::string too_few = draws < fewest_values ? "requires at least three draws"
                              : tails.empty()       ? "no bound is below 1 and large enough for "
                                                      "the number of draws"
                                                    : "";
  if (!claims.applies(statement, too_few)) return;
  const auto interval = [&](const Tail& tail) {
    return excess_over_bound(tail, draws, tails.size());
  };
  const auto by = [&](double MeanEvidence::*end) {
    return *std::max_element(tails.begin(), tails.end(), [&](const Tail& a, const Tail& b) {
      return interval(a).*end < interval(b).*end;
    });
  };
  const Tail violated = by(&MeanEvidence::low), nearest = by(&MeanEvidence::high);
  const Tail& worst = interval(violated).low > 0 ? violated : nearest;
  const auto farthest = std::max_element(
      tails.begin(), tails.end(), [](const Tail& a, const Tail& b) { return a.count < b.count; });
  claims.interval(statement, interval(worst), at_most(0),
                  say("largest of {} events, whose intervals hold together: {}; the largest "
                      "frequency is {}",
                      tails.size(), worst.where,
                      static_cast<double>(farthest->count) / static_cast<double>(draws)));
}

// [Shallow] (26). The entries of W have K = 1/sqrt(d), with which the event never occurs. With w of
// N(0, 1), K = 1, and B of one row, ||Bw||^2/||B||_F^2 is chi-squared with one degree of freedom.
void judge_square(Claims& claims) {
  double excess = -std::numeric_limits<double>::infinity(), largest_eps = 0;
  for (int k = 1; k < steps_of_eps; ++k) {
    const double eps = eps_at(k),
                 over = tail_of_one_row(eps) - std::exp(-lemma_constant * eps * eps);
    if (over > excess) excess = over, largest_eps = eps;
  }
  claims.number(with_constant({shallow::lemma_A_3, "shallow/eq-26", "Lemma A.3, eq. (26)",
                               "P(||Bw||^2 - ||B||_F^2 >= eps ||B||_F^2) <= exp(-c eps^2/K^2), for "
                               "w of N(0, 1), K = 1 and B of one row: largest probability minus "
                               "bound over eps"}),
                excess, at_most(0),
                say("probability, which is erfc(sqrt((1 + eps)/2)), minus bound, largest of {} "
                    "values of eps: eps = {}",
                    steps_of_eps - 1, largest_eps));
}

// [Shallow] Lemma A.2 and eq. (27), for the terms of xi_i to which the paper applies them: w holds
// the d^2 entries of W, and K = 1/sqrt(d).
void judge_lemmas(const Config& c, const Records& records, Claims& claims) {
  judge_tails(
      with_constant({shallow::lemma_A_2, "shallow/eq-25", "Lemma A.2, eq. (25)",
                     "P(2 <a, w> >= eps ||a||) <= exp(-c eps^2/K^2), for the terms of xi_i "
                     "linear in a normal W: largest frequency minus bound over eps and settings"}),
      c, records, 1,
      [](const Cell& cell, const TrialRecord& record, std::size_t i) {
        return at(record, linear[i], cell) / at(record, linear_size[i], cell);
      },
      claims);

  judge_square(claims);

  judge_tails(
      with_constant({shallow::eq_27, shallow::eq_27, "Appendix A.2, eq. (27)",
                     "P(||Bw + a||^2 - E||Bw + a||^2 >= eps (||B||_F^2 + ||B'a||)) <= 2 "
                     "exp(-c eps^2/K^2), for xi_i: largest frequency minus bound over eps and "
                     "settings"}),
      c, records, 2,
      [](const Cell& cell, const TrialRecord& record, std::size_t i) {
        return from_expectation(cell, record, i) / kappa(cell, record, i, Kappa::from_27);
      },
      claims);
}

// The exponent c d (s/kappa_1)^2 of the bound (28) at the fixed deviation s = 1, for doubly
// stochastic P, with which mu_1 is 1 at every d. A case is its quotient at one d and the next; a
// bound that falls has quotients above 1.
Tally growth_of_exponent(const Config& c, const TrialRecord& record, Kappa which) {
  Tally tally;
  const std::vector<Cell> cells = c.cells();
  for (std::size_t k = 0; k + 1 < cells.size(); ++k) {
    const Cell &cell = cells[k], &next = cells[k + 1];
    if (cell.attention == Attention::softmax || next.dim <= cell.dim) continue;
    const double before = kappa(cell, record, 0, which), after = kappa(next, record, 0, which),
                 growth = static_cast<double>(next.dim) / static_cast<double>(cell.dim) * before *
                          before / (after * after);
    tally.count(!(growth > 1), growth);
  }
  return tally;
}

void judge_lemma_a_5(const Config& c, const Records& records, Claims& claims) {
  judge_tails(
      with_constant({shallow::lemma_A_5, "shallow/eq-28", "Lemma A.5, eq. (28)",
                     "P(|xi_i - E[xi_i]| >= eps kappa_i) <= 4 exp(-c eps^2 d) with the "
                     "kappa_i of (27), which grow with d: largest frequency minus bound over eps "
                     "and settings"}),
      c, records, 4,
      [](const Cell& cell, const TrialRecord& record, std::size_t i) {
        return std::abs(from_expectation(cell, record, i)) / kappa(cell, record, i, Kappa::from_27);
      },
      claims);
  judge_tails(
      beyond(Statement{shallow::lemma_A_5, "shallow/eq-28/without-d", "Lemma A.5, eq. (28)",
                       "The same bound holds with kappa_i = alpha^2 mu_i^2 + ||B'a||, "
                       "which do not grow with d, and " +
                           constant + ": largest frequency minus bound over eps and settings"}),
      c, records, 4,
      [](const Cell& cell, const TrialRecord& record, std::size_t i) {
        return std::abs(from_expectation(cell, record, i)) /
               kappa(cell, record, i, Kappa::without_d);
      },
      claims);
  const Misprint decay =
      Place{shallow::lemma_A_5, "shallow/", "Lemma A.5, proof, with eq. (27)", Part::proof}
          .misprint(
              shallow::lemma_A_5_kappa, "eq-28/decay",
              "With the kappa_1 that (27) gives, the bound (28) on a fixed deviation of xi_1 "
              "falls from each d to the next if P is doubly stochastic, as the proof of Theorem "
              "2.6 needs it",
              "With kappa_1 = alpha^2 mu_1^2 + ||B'a||, the bound (28) on a fixed deviation of "
              "xi_1 falls from each d to the next if P is doubly stochastic");
  for (const auto& [statement, which] :
       {std::pair(decay.as_printed, Kappa::from_27), {decay.corrected, Kappa::without_d}}) {
    if (!claims.applies(statement, c.dim.size() < 2 ? "requires two values of d" : "")) continue;
    const Tally growth = growth_of_exponent(c, records.front(), which);
    claims.never_violated(statement, growth,
                          say("exponent c d/kappa_1^2 of the bound at |xi_1 - E[xi_1]| = 1, "
                              "divided by that at the d before, over attention, t and alpha: {}; "
                              "below 1 it shrinks",
                              range_text(growth.smallest, growth.largest)),
                          WorstCase::smallest);
  }
}

// Claims about means over draws -------------------------------------------------------------------

void add_mean(const Summary& measured, double expected, Distances& distances) {
  distances.add(measured.mean, standard_error(measured), expected);
}

// `before` is a clause of the detail, and `expectation` names it.
void judge_means(const Distances& distances, const Statement& statement, const std::string& before,
                 const std::string& expectation, Claims& claims) {
  distances.judge(statement, "a standard error requires two draws",
                  say("{}largest distance {} standard errors, which are at most {} % of {}", before,
                      distances.tally.largest, 100 * distances.width, expectation),
                  claims);
}

// [Shallow] (13): the mean of r over draws, compared with its right-hand side, in which E[eta]
// comes from quadrature.
void judge_proposition(const Config& c, const Records& records, Claims& claims) {
  const TrialRecord& fixed = records.front();
  Distances distances;
  double low = 0, high = 0;
  for (const Cell& cell : c.cells()) {
    const Summary measured = summarize(
        per_trial(records, [&](const TrialRecord& record) { return at(record, rate, cell); }));
    const double E_1 = mean_xi(cell, fixed, 0), E_2 = mean_xi(cell, fixed, 1),
                 eta = E_1 / E_2 - at(fixed, ratio, cell);
    add_mean(measured, 1 + ((E_1 - E_2) / E_2 - eta) * at(fixed, similarity, cell), distances);
    low = std::min(low, eta);
    high = std::max(high, eta);
  }
  judge_means(
      distances,
      {shallow::prop_2_5, shallow::prop_2_5, "Proposition 2.5, eq. (13)",
       say("E[r] = 1 + (alpha^2 (mu_1^2 - mu_2^2)/(1 + alpha^2 mu_2^2) - E[eta]) t_sim, within {} "
           "standard errors of the mean over draws",
           tolerance::standard_errors)},
      say("E[eta] by quadrature, from {}; ", range_text(low, high)), "E[r]", claims);
}

// [Shallow] (20) for the first pre-norm block: the growth, divided by its expectation at every d,
// has mean 1. The second half as an equality: the rows of LN(Y) have the squared norm d, so the
// entries of LN(Y) W_1 are N(0, 1), and half of their square is left after ReLU. Sections 1.3 and
// 4 in the same way: after (21), attention still mixes the residual itself, nothing smaller.
void judge_growth(const Config& c, const Records& records, Claims& claims) {
  const auto judge = [&](const Measure& growth, const Statement& statement,
                         const std::string& expectation) {
    Distances distances;
    for (std::size_t k = 0; k < c.dim.size(); ++k) {
      add_mean(summarize(per_trial(
                   records, [&](const TrialRecord& record) { return record.array(growth)[k]; })),
               1, distances);
    }
    judge_means(distances, statement, "", expectation, claims);
  };
  judge(attention_growth,
        {shallow::eq_20, shallow::eq_20, "Section 3.1, eq. (20)",
         say("E||Y||_F^2 - ||X||_F^2 = ||P(X^) X^||_F^2 for the pre-norm step (19), within {} "
             "standard errors",
             tolerance::standard_errors)},
        "||P(X^) X^||_F^2");
  judge(de_escalated_growth,
        {shallow::sec_1_3, "shallow/sec-1.3/input", "Sections 1.3, 3 and 4",
         say("After (21) with tau = 1, attention mixes the residual X itself, with the same alpha: "
             "E||Y||_F^2 - ||X||_F^2 = ||P(X) X||_F^2 for step 1, within {} standard errors",
             tolerance::standard_errors)},
        "||P(X) X||_F^2");
  judge(net_growth,
        {shallow::eq_20, "shallow/eq-20/net", "Section 3.1, eq. (20)",
         say("E||Z||_F^2 > E||Y||_F^2 for the pre-norm block (19): the difference is n d/2 for "
             "ReLU and normal W_1, W_2 of variance 1/rows, within {} standard errors",
             tolerance::standard_errors)},
        "n d/2");
}

// Claims about expected rates ---------------------------------------------------------------------

// Of expected_ratio, relative; escalation_lemmas_test measures it.
constexpr double quadrature_error = 1e-12;

// Counts the cells in which the exact rate is below `bound`; shows the smallest margin.
template <class Where, class Bound>
void judge_rate(const Statement& statement, const Config& c, const TrialRecord& record,
                const std::string& unmet, Where where, Bound bound, Claims& claims) {
  Tally tally;
  for (const Cell& cell : c.cells()) {
    if (!where(cell)) continue;
    const double margin = exact_rate(cell, record) - bound(cell);
    tally.count(!(margin >= -quadrature_error), margin);
  }
  if (!claims.applies(statement, tally.cases == 0 ? unmet : "")) return;
  claims.never_violated(statement, tally,
                        say("E[r] by quadrature minus the bound, smallest {}, largest {}",
                            tally.smallest, tally.largest),
                        WorstCase::smallest);
}

bool is_doubly_stochastic(const Cell& cell) {
  return cell.attention != Attention::softmax;
}
bool is_symmetric(const Cell& cell) {
  return cell.attention == Attention::symmetric;
}

// [Shallow] Corollary 2.7: what doubly stochastic and symmetric P are.
void judge_attention(const Config& c, const TrialRecord& record, Claims& claims) {
  constexpr double rounding = tolerance::residual<double>;
  Tally unit, equal;
  for (const Cell& cell : c.cells()) {
    if (is_doubly_stochastic(cell)) {
      const double error =
          std::max(std::abs(at(record, mu_squared[0], cell) - 1), at(record, omega, cell));
      unit.count(!(error <= rounding / at(record, similarity, cell)), error);
    }
    if (is_symmetric(cell)) {
      const double error = std::abs(at(record, delta, cell) - at(record, lambda_2, cell));
      equal.count(!(error <= rounding), error);
    }
  }
  claims.never_violated({shallow::cor_2_7, "shallow/cor-2.7/mu-1", "Corollary 2.7",
                         "mu_1 = 1 and omega = 0 for doubly stochastic P, up to rounding"},
                        unit, say("by Sinkhorn's scaling; largest error {}", unit.largest),
                        WorstCase::largest);
  claims.never_violated({shallow::cor_2_7, "shallow/cor-2.7/delta", "Corollary 2.7",
                         "delta = |lambda_2(P)| for symmetric P, up to rounding"},
                        equal, say("largest difference {}", equal.largest), WorstCase::largest);
}

// [Shallow] Theorem 2.6 and Corollary 2.7.
void judge_bounds(const Config& c, const TrialRecord& record, Claims& claims) {
  // The hypothesis of Theorem 2.6 about (15).
  const auto is_away = [&](const Cell& cell) {
    const double kept = 1 - at(record, omega, cell), gap = at(record, delta, cell);
    return std::max(at(record, mu_squared[0], cell) - kept * kept,
                    gap * gap - at(record, mu_squared[1], cell)) >= away_from_zero;
  };
  // The bound with mu_1 = 1, and mu_2 at most `gap`.
  const auto bound = [&](const Cell& cell, const char* gap) {
    const double largest = at(record, gap, cell);
    return rate_by(cell.alpha, 1, largest * largest, at(record, similarity, cell));
  };
  const auto judge = [&](Statement statement, const auto& where, const auto& of) {
    statement.text += say(" if the left-hand side of (15) is at least {}", away_from_zero);
    judge_rate(
        asymptotic(std::move(statement),
                   say("(15) at least {}, d at least {}", away_from_zero, c.dim.front())),
        c, record, "no cell satisfies the hypotheses",
        [&](const Cell& cell) { return where(cell) && is_away(cell); }, of, claims);
  };
  judge(
      {shallow::cor_2_7, "shallow/cor-2.7/alpha-1", "Corollary 2.7",
       "E[r] >= 1 + (1 - delta^2)/(1 + delta^2) t_sim for doubly stochastic P and alpha = 1,"},
      [](const Cell& cell) { return is_doubly_stochastic(cell) && cell.alpha == 1; },
      [&](const Cell& cell) { return bound(cell, delta); });
  judge(
      {shallow::cor_2_7, "shallow/eq-17/symmetric", "Corollary 2.7, eq. (17)",
       "E[r] >= 1 + (1 - |lambda_2|^2)/(1 + |lambda_2|^2) t_sim for symmetric P and alpha = 1,"},
      [](const Cell& cell) { return is_symmetric(cell) && cell.alpha == 1; },
      [&](const Cell& cell) { return bound(cell, lambda_2); });
  judge(
      {shallow::thm_2_6, "shallow/eq-16/doubly-stochastic",
       "Theorem 2.6, eq. (16), with Corollary 2.7",
       "E[r] >= 1 + alpha^2 (1 - delta^2)/(1 + alpha^2 delta^2) t_sim for doubly stochastic P "
       "and alpha other than 1,"},
      [](const Cell& cell) { return is_doubly_stochastic(cell) && cell.alpha != 1; },
      [&](const Cell& cell) { return bound(cell, delta); });
  judge(
      {shallow::thm_2_6, "shallow/eq-16/softmax", "Theorem 2.6, eq. (16)",
       "E[r] is at least the bound (16) for the softmax (2) with omega + delta < 1,"},
      [&](const Cell& cell) {
        return cell.attention == Attention::softmax &&
               at(record, omega, cell) + at(record, delta, cell) < 1;
      },
      [&](const Cell& cell) { return guaranteed_rate(cell, record); });
  judge_rate(
      beyond(Statement{shallow::thm_2_6, "shallow/eq-16/near-zero", "Theorem 2.6, eq. (16)",
                       say("E[r] is at least the bound (16) for doubly stochastic P also if the "
                           "left-hand side of (15) is below {}",
                           away_from_zero)}),
      c, record, say("the left-hand side of (15) is never below {}", away_from_zero),
      [&](const Cell& cell) { return is_doubly_stochastic(cell) && !is_away(cell); },
      [&](const Cell& cell) { return bound(cell, delta); }, claims);
}

// [Shallow] Remark 2.8, at the smallest t: our margin for "approaches" and "asymptotically".
void judge_remark(const Config& c, const TrialRecord& record, Claims& claims) {
  constexpr double margin = 0.02, near_the_limit = 0.1;
  const double t = c.t.front();
  const auto hypothesis = claims.only_where(
      t <= near_the_limit ? "" : say("the smallest --t is {}, which is not near 0", t));
  double bound = 1, diversity = 1;  // relative to the limits; the values farthest from 1
  const auto farther = [](double a, double b) {
    return std::abs(a - 1) >= std::abs(b - 1) ? a : b;
  };
  for (const Cell& cell : c.cells()) {
    if (cell.t != t) continue;
    const double limit = 1 + cell.alpha * cell.alpha;
    bound = farther(guaranteed_rate(cell, record) / limit, bound);
    diversity = farther(exact_rate(cell, record) / limit, diversity);
  }
  const auto judge = [&](const std::string& id, const std::string& what, double farthest) {
    const std::string allowed = say("{} %", 100 * margin);
    claims.number(
        asymptotic(Statement{shallow::rem_2_8, id, "Remark 2.8",
                             say("As t_sim approaches 1, {} approaches 1 + alpha^2: their quotient "
                                 "that is farthest from 1 over attention, alpha and d at t = {}",
                                 what, t)},
                   say("within {}, ours", allowed)),
        farthest, within(1, margin));
  };
  judge("shallow/rem-2.8/maximum", "the right-hand side of (16)", bound);
  judge("shallow/rem-2.8/rate", "the rate E[r], by quadrature,", diversity);
}

// [Shallow] Section 2.2.1: if |lambda_2(P_k)| is bounded away from 1, P_k ... P_1 x converges to
// span{1}, and so it does with the skip, (I + alpha P_k) for P_k. The catalog has the derivation of
// the example and the proof of the second half.
void judge_products(Claims& claims) {
  constexpr int factors = 60;
  constexpr double left = 0.01;
  claims.number(
      showing(shallow::sec_2_2_1_products,
              Statement{shallow::sec_2_2_1, shallow::sec_2_2_1_products, "Section 2.2.1",
                        say("If |lambda_2(P_k)| is bounded away from 1, P_k ... P_1 x converges to "
                            "span{1}: ||Pi_2 P_k ... P_1 x||/||Pi_2 x|| in an example of two 0/1 "
                            "matrices of 3 rows in turn, with lambda_2 = 0, after {} factors",
                            factors)}),
      rest_after_products(factors), at_most(left),
      "each pair of factors leaves the example unchanged");
  claims.number(
      Statement{shallow::sec_2_2_1_skip, shallow::sec_2_2_1_skip, "Section 2.2.1",
                say("With the skip, c_k (I + P_k) ... (I + P_1) x converges to span{1}: the same "
                    "ratio for the same two matrices, alpha = 1 and c_k = 2^(-k), after {} factors",
                    factors)},
      rest_after_products(factors, 1), at_most(left), "");
}

// [Shallow] Section 2.3: elementwise functions preserve similarity. They do so if all tokens are
// equal.
void judge_relu(Claims& claims) {
  const auto [printed, corrected] =
      Place{shallow::sec_2_3, "shallow/sec-2.3/", "Section 2.3"}.misprint(
          shallow::sec_2_3_similarity, "relu",
          "ReLU preserves token similarity: t_sim after ReLU for the tokens (1, -1) and (-1, 1), "
          "whose t_sim is 0",
          "ReLU preserves the token similarity 1 of equal tokens: t_sim after ReLU for two tokens "
          "(1, -2)");
  const Similarities opposite = opposite_tokens_after_relu(), equal = equal_tokens_after_relu();
  claims.number(printed, opposite.after, within(opposite.before, 0));
  claims.number(corrected, equal.after, within(equal.before, 0), "", tolerance::residual<double>);
}

// [Shallow] Theorem 2.6 names the sub-Gaussian norm of the entries, not their variance. The norm of
// its reference [36] is 1/sqrt(d) for N(0, 3/(8 d)).
void judge_norm(Claims& claims) {
  const std::string example =
      ", for a symmetric P with mu_2 = 0.1, delta = 0.3 and alpha = 1: (E[r] - 1)/t_sim at d = 64";
  const auto [printed, corrected] =
      Place{shallow::thm_2_6, "shallow/thm-2.6/", "Theorem 2.6, assumption on W", Part::definition}
          .misprint(shallow::thm_2_6_norm, "norm",
                    "(16) holds for normal entries of sub-Gaussian norm 1/sqrt(d) as [36] defines "
                    "it, which is variance 3/(8 d)" +
                        example,
                    "(16) holds for normal entries of variance 1/d" + example);
  const double bound = (1 - 0.3 * 0.3) / (1 + 0.3 * 0.3);
  claims.number(printed, excess_of_example(3.0 / 8), at_least(bound));
  claims.number(corrected, excess_of_example(1), at_least(bound));
}

}  // namespace

void Config::judge(const Records& records, Claims& claims) const {
  claims.set_unit(Unit::draw);
  const Config c = in_order(*this);
  judge_lemmas(c, records, claims);
  judge_lemma_a_5(c, records, claims);
  judge_proposition(c, records, claims);
  judge_attention(c, records.front(), claims);
  judge_bounds(c, records.front(), claims);
  judge_remark(c, records.front(), claims);
  judge_growth(c, records, claims);
  judge_products(claims);
  judge_relu(claims);
  judge_norm(claims);
}

// The result --------------------------------------------------------------------------------------

namespace {

constexpr struct {
  Kappa which;
  const char *name, *label;
} kappas[] = {{Kappa::from_27, "from_27", "kappa_1 of (27)"},
              {Kappa::without_d, "without_d", "kappa_1 without d"}};

Quantity exponent_with(const char* kappa_name) {
  return {say("exponent.{}", kappa_name), exponent, At("kappa", kappa_name)};
}

// The cells of an attention at the largest t and d, one for each alpha.
std::vector<Cell> drawn_cells(const Config& c, Attention attention) {
  std::vector<Cell> cells = c.cells();
  std::erase_if(cells, [&](const Cell& cell) {
    return cell.attention != attention || cell.t != c.t.back() || cell.dim != c.dim.back();
  });
  return cells;
}

}  // namespace

void Config::derive(Numbers& out) const {
  const Config c = in_order(*this);
  for (std::size_t k = 0; k < c.dim.size(); ++k) {
    for (const Measure& each : {attention_growth, net_growth, de_escalated_growth}) {
      out.scalar({say("{}.d={}", each.name, c.dim[k]), each, At("d", c.dim[k])},
                 per_trial(out.records(),
                           [&](const TrialRecord& record) { return record.array(each)[k]; }));
    }
  }
  // This study normalizes no state, but every study of the command has this scalar.
  out.scalar(token_escalation::degenerate_rows, std::vector<double>(out.records().size(), 0.0));
  // Of what is the same in every trial.
  const auto points = [&](const std::vector<Cell>& of, const auto& value) {
    std::vector<double> y;
    for (std::size_t k = 0; k < of.size() && !out.declares(); ++k)
      y.push_back(value(of[k], out.records().front()));
    return y;
  };
  std::vector<Cell> first = c.cells();
  first.resize(c.dim.size());
  for (const auto& [which, name, label] : kappas) {
    out.series_of_points(exponent_with(name), "d", {c.dim.begin(), c.dim.end()},
                         points(first, [&, of = which](const Cell& cell, const TrialRecord& fixed) {
                           const double scale = kappa(cell, fixed, 0, of);
                           return lemma_constant * static_cast<double>(cell.dim) / (scale * scale);
                         }));
  }
  for (const Attention attention : attentions) {
    const std::vector<Cell> drawn = drawn_cells(c, attention);
    const At of("attention", name_of(attention));
    out.series(of / rate_minus_1, "alpha", c.alpha, [&](const TrialRecord& record, std::size_t k) {
      return at(record, rate, drawn[k]) - 1;
    });
    out.series_of_points(of / expected_rate, "alpha", c.alpha,
                         points(drawn, [](const Cell& cell, const TrialRecord& fixed) {
                           return (at(fixed, ratio, cell) - 1) * at(fixed, similarity, cell);
                         }));
    out.series_of_points(of / rate_bound, "alpha", c.alpha,
                         points(drawn, [](const Cell& cell, const TrialRecord& fixed) {
                           return guaranteed_rate(cell, fixed) - 1;
                         }));
  }
}

void Config::show(Display& out) const {
  const Config c = in_order(*this);
  // How the exponent of (28) at |xi_1 - E[xi_1]| = 1 depends on d.
  PanelBuilder exponents = out.panel("Bound (28) on |xi_1 - E[xi_1]| >= 1: its exponent",
                                     log_axis("d"), log_axis("c d / kappa_1^2"));
  for (const auto& [which, name, label] : kappas)
    exponents.curve(exponent_with(name), label, {.style = LineStyle::line_points});
  // E[r] - 1 and its bound over alpha, at the largest t and d.
  for (const Attention attention : attentions) {
    const std::string name = name_of(attention);
    const At of("attention", name);
    out.panel(name + ": escalation rate", log_axis("alpha"), log_axis("rate - 1"))
        .curve(of / rate_minus_1, "mean over draws of W",
               {.style = LineStyle::points, .band = BandKind::standard_error})
        .curve(of / expected_rate, "E[r] - 1, by quadrature")
        .curve(of / rate_bound, "bound (16)", {.style = LineStyle::dashed});
  }
  out.columns(2);
  out.note(
      "X = e v' + t Q with normal v and Q, drawn once for each d with W_q and W_k. A draw is a W "
      "for each d, with entries N(0, 1/d), which all attentions, t and alpha share.");
  out.note(
      "The lemmas leave the constant c open. Here it is 1/8, which can be proved for normal W. A "
      "bound is compared with the draws where it is below 1 and at least 200 divided by the number "
      "of draws. (26) is compared with an exact probability.");
  out.note(
      say("The panels show t = {} and d = {}; the first shows the softmax at t = {} and alpha "
          "= {}.",
          c.t.back(), c.dim.back(), c.t.front(), c.alpha.front()));
}

}  // namespace ranklab::escalation_lemmas

namespace ranklab {

std::unique_ptr<Study> make_escalation_lemmas_study() {
  return std::make_unique<escalation_lemmas::Config>();
}

}  // namespace ranklab
