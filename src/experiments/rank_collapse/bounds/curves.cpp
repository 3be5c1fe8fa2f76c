#include "experiments/rank_collapse/bounds/curves.hpp"

#include <algorithm>
#include <limits>

namespace ranklab::bounds {

double smallest_cosine(const arma::mat& Y) {
  arma::mat products = Y.t() * Y;
  products.diag().fill(std::numeric_limits<double>::max());
  return products.min();
}

double smallest_weight(const arma::mat& M, bool causal) {
  double smallest = std::numeric_limits<double>::infinity();
  for (arma::uword j = 0; j < M.n_cols; ++j) smallest = std::min(smallest, M.col(j).tail(M.n_rows - (causal ? j : 0)).min());
  return smallest;
}

bool representative(const BoundsConfig& config, Sizes sizes) {
  return sizes.tokens == config.tokens.back() && sizes.dim == config.dim.back();
}

std::string size_prefix(const std::string& theorem, Sizes sizes) {
  return theorem + ".N=" + std::to_string(sizes.tokens) + ",d=" + std::to_string(sizes.dim) + ".";
}

std::vector<double> growth_of_steps(const std::vector<double>& log_mu) {
  std::vector<double> growth;
  for (std::size_t k = 2; k < log_mu.size(); ++k) {
    growth.push_back((log_mu[k] - log_mu[k - 1]) / (log_mu[k - 1] - log_mu[k - 2]));
  }
  return growth;
}

double mean_growth(const std::vector<double>& log_mu) {
  std::vector<double> steps;
  for (std::size_t k = 1; k < log_mu.size() && std::isfinite(log_mu[k]); ++k) steps.push_back(log_mu[k] - log_mu[k - 1]);
  if (steps.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t last = steps.size() - 1, first = last / 2;
  const double ratio = steps[last] / steps[first];
  return ratio < 0 ? std::numeric_limits<double>::quiet_NaN() : std::pow(ratio, 1 / static_cast<double>(last - first));
}

std::vector<double> padded(std::vector<double> values, std::size_t size) {
  values.resize(size, std::numeric_limits<double>::quiet_NaN());
  return values;
}

}  // namespace ranklab::bounds
