#include "experiments/rank_collapse/examples/outcomes.hpp"
#include "core/text.hpp"

#include <cmath>

namespace ranklab {
namespace {

// By a lower bound on the growth of |x_k| up to the last layer but one; mu is within limit_band of its limit where |x_k| is
// beyond 1/limit_band or, if it falls, below limit_band.
bool is_settled(const TwoTokenSystem& system, std::uint64_t layers) {
  if (system.is_degenerate()) return false;
  const double steps = static_cast<double>(layers) - 1;
  if (!system.selective) {
    const double c = 2 / std::abs(1 + system.lambda);
    return c * std::pow(1 + c, steps - 1) >= 1 / limit_band;
  }
  if (system.beta0 == 0) return true;  // row 2 is plus or minus row 1 from the start
  const double r = std::abs(system.ratio()), x = std::pow(r, steps) * system.alpha0 / system.beta0;
  return r > 1 ? x >= 1 / limit_band : r < 1 && x <= limit_band;
}

}  // namespace

std::string lambda_prefix(double lambda) {
  return "lambda=" + series_number(lambda) + ".";
}

bool ExampleOutcome::mu_tends_to(double limit) const {
  return std::abs(mu[0] - limit) <= limit_band && std::abs(mu[1] - limit) <= limit_band;
}

bool ExampleOutcome::tends_to_rank_one() const {
  const double band = limit_band * limit_band / 2;
  return rank_one_residual[0] <= band && rank_one_residual[1] <= band;
}

std::vector<ExampleOutcome> example_outcomes(const ExamplesConfig& config, const TrialRecord& record, bool single_precision) {
  std::vector<ExampleOutcome> outcomes;
  for (const double lambda : config.lambda) {
    ExampleOutcome outcome;
    outcome.lambda = lambda;
    outcome.system = two_token_system(config, lambda, single_precision);
    outcome.degenerate_rows = record.scalar(lambda_prefix(lambda) + "degenerate_rows");
    const auto& mu = record.array(lambda_prefix(lambda) + "mu");
    const auto& residual = record.array(lambda_prefix(lambda) + "rank_one_residual");
    for (const std::size_t i : {0u, 1u}) {
      outcome.mu[i] = mu.at(mu.size() - 2 + i);
      outcome.rank_one_residual[i] = residual.at(residual.size() - 2 + i);
    }
    outcome.settled = is_settled(outcome.system, config.layers);
    outcomes.push_back(outcome);
  }
  return outcomes;
}

std::string lambdas_where(const std::vector<ExampleOutcome>& outcomes, const std::function<bool(const ExampleOutcome&)>& belongs) {
  std::string out;
  for (const ExampleOutcome& outcome : outcomes) {
    if (belongs(outcome)) out += (out.empty() ? "" : ", ") + series_number(outcome.lambda);
  }
  return out;
}

}  // namespace ranklab
