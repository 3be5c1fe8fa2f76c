#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "core/text.hpp"
#include "experiments/rank_collapse/eta/eta.hpp"
#include "experiments/rank_collapse/token_escalation/measures.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/tensors.hpp"
#include "run/once_per_run.hpp"

namespace ranklab::eta {
namespace {

// Quantities that are the same in every trial -----------------------------------------------------

// In the formulas tokens are rows, X (n, d), as in the paper. In memory they are columns, X' (d,
// n). This holds X = e v' + t Q and P X, where P is the attention matrix of X.
struct FixedStep {
  std::uint64_t dim = 0;
  double t = 0.0;
  arma::mat X, PX;  // (d, n)
  XiLaw law[2];     // of xi_1 and xi_2, for this X and P
  HeadMeasures head;
};

// Pi_1 X and Pi_2 X, with tokens as columns.
struct Parts {
  arma::mat shared, rest;
};

Parts parts_of(const arma::mat& X) {
  Parts parts{X, X};
  const arma::vec mean = arma::mean(parts.rest, 1);
  parts.shared.each_col() = mean;
  parts.rest.each_col() -= mean;
  return parts;
}

// In ascending order of d, then of t. v (d) and Q (n, d) have entries N(0, 1); W_q and W_k have
// entries uniform on (-1, 1)/sqrt(d). All are drawn from the streams of the first trial. Every
// entry of e is 1/sqrt(n). P is that of eq. (2).
std::vector<FixedStep> fixed_steps(const Plan& plan, const Trial& trial) {
  const Trial first = trial.first();
  std::vector<FixedStep> steps;
  for (const std::uint64_t d : plan.dim) {
    const double scale = 1 / std::sqrt(static_cast<double>(d)),
                 e = 1 / std::sqrt(static_cast<double>(plan.tokens));
    DrawnTensors<double> tensors(first, "d=" + std::to_string(d) + "/");
    const arma::vec v = tensors.vector("v", d, Start::normal(1.0));
    const arma::mat Q = tensors.matrix("Q", d, plan.tokens, Start::normal(1.0));
    const arma::mat W_q = tensors.matrix("W_q", d, d, Start::uniform(-scale, scale));
    const arma::mat W_k = tensors.matrix("W_k", d, d, Start::uniform(-scale, scale));
    for (const double t : plan.t) {
      trial.check_interrupt();
      FixedStep step;
      step.dim = d;
      step.t = t;
      // X = e v' + t Q; P = softmax over rows of (X W_q)(X W_k)' / sqrt(d).
      step.X = t * Q;
      step.X.each_col() += e * v;
      const arma::mat P = attention_matrix<double>(W_q.t() * step.X, W_k.t() * step.X, scale);
      step.PX = step.X * P;
      step.head = head_measures(P, step.X);
      const Parts X = parts_of(step.X), PX = parts_of(step.PX);
      step.law[0] = xi_law(X.shared, PX.shared, plan.alpha);
      step.law[1] = xi_law(X.rest, PX.rest, plan.alpha);
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

// A trial -----------------------------------------------------------------------------------------

// Y = X + alpha P X W with the W that the trial draws for this d and t.
Escalation redrawn(const Plan& plan, const FixedStep& step, const Trial& trial) {
  const std::string prefix = "d=" + std::to_string(step.dim) + ",t=" + short_number(step.t) + "/";
  const double scale = 1 / std::sqrt(static_cast<double>(step.dim));
  const arma::mat W =
      DrawnTensors<double>(trial, prefix).matrix("W", step.dim, step.dim, Start::normal(scale));
  const arma::mat Y = step.X + plan.alpha * (W.t() * step.PX);
  return measure_escalation(token_parts(step.X), token_parts(Y));
}

TrialRecord redraw(const Plan& plan, const std::vector<FixedStep>& steps, const Trial& trial) {
  TrialRecord record;
  std::map<std::string, std::vector<double>> arrays;
  for (const FixedStep& step : steps) {
    trial.check_interrupt();
    const Escalation sample = redrawn(plan, step, trial);
    const double measured[] = {sample.xi_1, sample.xi_2},
                 expected[] = {step.law[0].mean, step.law[1].mean},
                 mu[] = {step.head.mu_1_squared, step.head.mu_2_squared};
    const double eta = expected[0] / expected[1] - sample.xi_ratio();  // [Shallow] eq. (14)
    const auto add = [&](const char* name, double value) {
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
    const double gamma = expected[1] * expected[1] / (expected[0] + 2 * expected[1]);
    const double largest_error =
        std::max(std::abs(measured[0] - expected[0]), std::abs(measured[1] - expected[1]));
    record.count(lemma_A_1.id, largest_error < gamma * std::min(std::abs(eta), 1.0) - rounding);
    if (mu[0] <= 1) record.count(gamma_bound.id, gamma < 0.25, gamma);
  }
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  return record;
}

template <class Number>
std::vector<Number> ascending(std::vector<Number> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

Plan::Plan(const EtaConfig& config)
    : tokens(config.tokens),
      alpha(config.alpha),
      dim(ascending(config.dim)),
      t(ascending(config.t)) {}

std::string at_dim(std::uint64_t dim, const std::string& quantity) {
  return "d=" + std::to_string(dim) + "." + quantity;
}

Work work_of(const Plan& plan) {
  const auto steps = std::make_shared<OncePerRun<std::vector<FixedStep>>>();
  return each_trial([plan, steps](Trial& trial) {
    return redraw(plan, steps->get([&] { return fixed_steps(plan, trial); }), trial);
  });
}

}  // namespace ranklab::eta
