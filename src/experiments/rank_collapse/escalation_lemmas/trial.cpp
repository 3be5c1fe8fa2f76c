#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/escalation_lemmas/escalation_lemmas.hpp"
#include "experiments/rank_collapse/token_escalation/measures.hpp"
#include "linalg/decompositions.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/tensors.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::escalation_lemmas {
namespace {

constexpr std::size_t most_iterations = 10000;  // of Sinkhorn's scaling

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

// Pi_i A with tokens as columns: i = 0 is the shared part, i = 1 the rest.
arma::mat part(const arma::mat& A, std::size_t i) {
  const arma::vec mean = arma::mean(A, 1);
  arma::mat out = A;
  if (i == 0) {
    out.each_col() = mean;
  } else {
    out.each_col() -= mean;
  }
  return out;
}

// Quantities that are the same in every trial -----------------------------------------------------

struct FixedStep {
  std::size_t dim_index = 0;
  arma::mat X, PX;  // (d, n)
};

// eq. (19): X and P(X^) X^ of the pre-norm step.
struct PreNormStep {
  arma::mat X, PX;
};

struct Fixed {
  std::vector<FixedStep> steps;  // over cells
  std::vector<PreNormStep> pre_norm;
  TrialRecord record;
};

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

// v (d) and Q (n, d) have entries N(0, 1); W_q and W_k have entries uniform on (-1, 1)/sqrt(d). All
// are drawn once for each d, from the streams of the first trial. Every entry of e is 1/sqrt(n).
struct Drawn {
  arma::mat ev, Q, W_q, W_k;

  Drawn(const Plan& plan, std::uint64_t d, const Trial& first) {
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    DrawnTensors<double> tensors(first, "d=" + std::to_string(d) + "/");
    const arma::vec v = tensors.vector("v", d, Start::normal(1.0));
    ev = v * arma::rowvec(plan.tokens,
                          arma::fill::value(1 / std::sqrt(static_cast<double>(plan.tokens))));
    Q = tensors.matrix("Q", d, plan.tokens, Start::normal(1.0));
    W_q = tensors.matrix("W_q", d, d, Start::uniform(-scale, scale));
    W_k = tensors.matrix("W_k", d, d, Start::uniform(-scale, scale));
  }
};

Fixed fixed_steps(const Plan& plan, const Trial& trial) {
  Fixed fixed;
  std::map<std::string, std::vector<double>> arrays;
  std::map<std::uint64_t, Drawn> drawn;
  for (const std::uint64_t d : plan.dim) {
    const Drawn& of = drawn.emplace(d, Drawn(plan, d, trial.first())).first->second;
    const arma::mat X = of.ev + plan.t.back() * of.Q, normed = layer_norm(X);
    fixed.pre_norm.push_back(
        {X, normed * attention_of(Attention::softmax, normed, of.W_q, of.W_k)});
  }
  for (const Cell& cell : plan.cells) {
    trial.check_interrupt();
    const Drawn& of = drawn.at(cell.dim);
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
    const auto place = std::lower_bound(plan.dim.begin(), plan.dim.end(), cell.dim);
    fixed.steps.push_back({static_cast<std::size_t>(place - plan.dim.begin()), X, PX});
  }
  for (auto& [name, values] : arrays) fixed.record.set(name, std::move(values));
  return fixed;
}

// A trial -----------------------------------------------------------------------------------------

// The cells of one d share the W of the trial.
TrialRecord redraw(const Plan& plan, const Fixed& fixed, const Trial& trial) {
  TrialRecord record = fixed.record;
  std::map<std::string, std::vector<double>> arrays;
  std::vector<arma::mat> W;
  for (std::size_t k = 0; k < plan.dim.size(); ++k) {
    const std::uint64_t d = plan.dim[k], width = 2 * d;
    const Start in = Start::normal(1 / std::sqrt(static_cast<double>(d))),
                out = Start::normal(1 / std::sqrt(static_cast<double>(width)));
    DrawnTensors<double> tensors(trial, "d=" + std::to_string(d) + "/");
    W.push_back(tensors.matrix("W", d, d, in));
    const arma::mat W_1 = tensors.matrix("W_1", d, width, in),
                    W_2 = tensors.matrix("W_2", width, d, out);
    const PreNormStep& step = fixed.pre_norm[k];
    const arma::mat Y = step.X + W[k].t() * step.PX,
                    hidden = arma::clamp(W_1.t() * layer_norm(Y), 0.0, arma::datum::inf),
                    Z = Y + W_2.t() * hidden;
    arrays[attention_growth].push_back((squared(Y) - squared(step.X)) / squared(step.PX));
    arrays[net_growth].push_back((squared(Z) - squared(Y)) / (static_cast<double>(Y.n_elem) / 2));
  }
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    trial.check_interrupt();
    const FixedStep& step = fixed.steps[c];
    const double alpha = plan.cells[c].alpha;
    const arma::mat mixed = alpha * (W[step.dim_index].t() * step.PX);  // alpha P X W
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

template <class Number>
std::vector<Number> in_order(std::vector<Number> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

Plan::Plan(const EscalationLemmasConfig& config)
    : tokens(config.tokens),
      dim(in_order(config.dim)),
      t(in_order(config.t)),
      alpha(in_order(config.alpha)) {
  for (const Attention attention : attentions) {
    for (const double strength : alpha) {
      for (const double noise : t) {
        for (const std::uint64_t d : dim) cells.push_back({attention, d, noise, strength});
      }
    }
  }
}

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

arma::mat doubly_stochastic(arma::mat kernel) {
  constexpr double rounding = 16 * tolerance::epsilon<double>;
  for (std::size_t k = 0; k < most_iterations; ++k) {
    kernel.each_row() /= arma::sum(kernel, 0);
    const arma::vec sums = arma::sum(kernel, 1);
    if (arma::abs(sums - 1).max() <= rounding) return kernel;
    kernel.each_col() /= sums;
  }
  throw Failure("Sinkhorn's iteration did not converge for a matrix of " +
                std::to_string(kernel.n_rows) + " rows; use a smaller --t");
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

Work work_of(const Plan& plan) {
  const auto fixed = std::make_shared<OncePerRun<Fixed>>();
  return each_trial([plan, fixed](Trial& trial) {
    return redraw(plan, fixed->get([&] { return fixed_steps(plan, trial); }), trial);
  });
}

}  // namespace ranklab::escalation_lemmas
