#include "experiments/rank_collapse/eta/trial.hpp"

#include <cmath>
#include <map>

#include "core/text.hpp"
#include "models/blocks/attention.hpp"
#include "models/blocks/tensors.hpp"
#include "report/result.hpp"

namespace ranklab {
namespace {

// Pi_1 X and Pi_2 X, tokens as columns.
struct Parts {
  arma::mat shared, rest;
};

template <class T>
Parts parts_of(const arma::Mat<T>& X) {
  Parts parts{arma::conv_to<arma::mat>::from(X), arma::conv_to<arma::mat>::from(X)};
  const arma::vec mean = arma::mean(parts.rest, 1);
  parts.shared.each_col() = mean;
  parts.rest.each_col() -= mean;
  return parts;
}

double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

std::string case_prefix(std::uint64_t dim, double t) {
  return "d=" + std::to_string(dim) + ",t=" + short_number(t) + "/";
}

}  // namespace

std::string eta::at_dim(std::uint64_t dim, const std::string& quantity) {
  return "d=" + std::to_string(dim) + "." + quantity;
}

XiLaw xi_law(const arma::mat& A, const arma::mat& B, double alpha) {
  const double d = static_cast<double>(A.n_rows), norm = squared(A), strength = alpha * alpha;
  const double variance = (4 * strength * squared(B * A.t()) + 2 * strength * strength * squared(B * B.t())) / d;
  return {1 + strength * squared(B) / norm, std::sqrt(variance) / norm};
}

template <class T>
std::vector<EtaCase<T>> eta_cases(const EtaConfig& config, const Trial& trial) {
  const Trial first = trial.first();
  std::vector<EtaCase<T>> cases;
  for (const std::uint64_t d : ascending_dim(config)) {
    const double scale = 1 / std::sqrt(static_cast<double>(d)), e = 1 / std::sqrt(static_cast<double>(config.tokens));
    DrawnTensors<T> tensors(first, "d=" + std::to_string(d) + "/");
    const arma::Col<T> v = tensors.vector("v", d, Start::normal(1.0));
    const arma::Mat<T> Q = tensors.matrix("Q", d, config.tokens, Start::normal(1.0));
    const arma::Mat<T> W_q = tensors.matrix("W_q", d, d, Start::uniform(-scale, scale));
    const arma::Mat<T> W_k = tensors.matrix("W_k", d, d, Start::uniform(-scale, scale));
    for (const double t : ascending_t(config)) {
      trial.check_interrupt();
      EtaCase<T> each;
      each.dim = d;
      each.t = t;
      // X = e v' + t Q; P = softmax over rows of (X W_q)(X W_k)' / sqrt(d).
      each.X = static_cast<T>(t) * Q;
      each.X.each_col() += static_cast<T>(e) * v;
      const arma::Mat<T> P = attention_matrix<T>(W_q.t() * each.X, W_k.t() * each.X, scale);
      each.PX = each.X * P;
      each.head = head_measures(P, each.X);
      const Parts X = parts_of(each.X), PX = parts_of(each.PX);
      each.law[0] = xi_law(X.shared, PX.shared, config.alpha);
      each.law[1] = xi_law(X.rest, PX.rest, config.alpha);
      cases.push_back(std::move(each));
    }
  }
  return cases;
}

template <class T>
TrialRecord eta_trial(const EtaConfig& config, const std::vector<EtaCase<T>>& cases, const Trial& trial) {
  std::map<std::string, std::vector<double>> arrays;
  for (const EtaCase<T>& each : cases) {
    trial.check_interrupt();
    const double scale = 1 / std::sqrt(static_cast<double>(each.dim));
    const arma::Mat<T> W =
        DrawnTensors<T>(trial, case_prefix(each.dim, each.t)).matrix("W", each.dim, each.dim, Start::normal(scale));
    // Y = X + alpha P X W.
    const arma::Mat<T> Y = each.X + static_cast<T>(config.alpha) * (W.t() * each.PX);
    const Escalation step = measure_escalation(token_parts(each.X), token_parts(Y));
    const auto add = [&](const std::string& name, double value) { arrays[eta::at_dim(each.dim, name)].push_back(value); };
    // [Shallow] eq. (14).
    add("eta", each.law[0].mean / each.law[1].mean - step.xi_ratio());
    add("xi_1", step.xi_1);
    add("xi_2", step.xi_2);
    add("expected_xi_1", each.law[0].mean);
    add("expected_xi_2", each.law[1].mean);
    add("deviation_1", each.law[0].deviation);
    add("deviation_2", each.law[1].deviation);
    add("mu_1_squared", each.head.mu_1_squared);
    add("mu_2_squared", each.head.mu_2_squared);
    add("mu_1_bound", each.head.mu_1_bound());
    add("mu_2_bound", each.head.mu_2_bound());
  }
  TrialRecord record;
  for (auto& [name, values] : arrays) record.set(name, std::move(values));
  return record;
}

template std::vector<EtaCase<float>> eta_cases(const EtaConfig&, const Trial&);
template std::vector<EtaCase<double>> eta_cases(const EtaConfig&, const Trial&);
template TrialRecord eta_trial(const EtaConfig&, const std::vector<EtaCase<float>>&, const Trial&);
template TrialRecord eta_trial(const EtaConfig&, const std::vector<EtaCase<double>>&, const Trial&);

}  // namespace ranklab
