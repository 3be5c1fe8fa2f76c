#include "ensembles/tokens.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/undefined.hpp"

namespace ranklab {
namespace {

// Power iteration stops if the Rayleigh quotient has not grown for this many steps. The slow case
// is two most frequent tokens with counts c and c - 1: the error decreases by (1 - 1/c)^4 per step,
// so the gain of one step is lost in rounding noise long before the gain of many steps.
constexpr int patience = 64;
constexpr int max_steps = 100000;

}  // namespace

ZipfLaw::ZipfLaw(std::uint64_t vocabulary, double exponent)
    : cumulative_(vocabulary), exponent_(exponent) {
  if (vocabulary == 0) throw UsageError("a vocabulary needs at least one token");
  double sum = 0.0;
  for (std::size_t id = 0; id < vocabulary; ++id)
    cumulative_[id] = sum += std::pow(static_cast<double>(id + 1), -exponent);
}

double ZipfLaw::probability(std::uint64_t id) const {
  return std::pow(static_cast<double>(id + 1), -exponent_) / cumulative_.back();
}

double ZipfLaw::inverse_p_max() const {
  // With a negative exponent the last token is the most frequent.
  return 1.0 / std::max(probability(0), probability(vocabulary() - 1));
}

double ZipfLaw::expected_distinct(double count) const {
  double sum = 0.0;
  for (std::uint64_t id = 0; id < vocabulary(); ++id)
    sum -= std::expm1(count * std::log1p(-probability(id)));
  return sum;
}

std::vector<std::uint32_t> ZipfLaw::draw(std::size_t count, Stream& stream) const {
  std::vector<double> u(count);
  stream.fill_uniform(u, 0.0, cumulative_.back());
  std::vector<std::uint32_t> tokens(count);
  for (std::size_t t = 0; t < count; ++t) {
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u[t]);
    tokens[t] = static_cast<std::uint32_t>(found - cumulative_.begin());
  }
  return tokens;
}

double TokenCounts::p_max() const {
  return static_cast<double>(*std::max_element(count.begin(), count.end())) /
         static_cast<double>(length());
}

std::vector<std::uint32_t> draw_ids(std::uint64_t vocabulary, std::size_t count, Stream& stream) {
  std::vector<double> draws(count);
  stream.fill_uniform(draws);
  std::vector<std::uint32_t> ids;
  for (const double u : draws)
    ids.push_back(static_cast<std::uint32_t>(u * static_cast<double>(vocabulary)));
  return ids;
}

TokenCounts count_tokens(const std::vector<std::uint32_t>& tokens) {
  TokenCounts counts;
  counts.id = tokens;
  std::sort(counts.id.begin(), counts.id.end());
  counts.id.erase(std::unique(counts.id.begin(), counts.id.end()), counts.id.end());
  counts.count.assign(counts.id.size(), 0);
  for (const std::uint32_t token : tokens) {
    const auto index =
        std::lower_bound(counts.id.begin(), counts.id.end(), token) - counts.id.begin();
    counts.index.push_back(static_cast<std::uint32_t>(index));
    ++counts.count[static_cast<std::size_t>(index)];
  }
  return counts;
}

double indicator_stable_rank(const std::vector<std::uint32_t>& tokens) {
  if (tokens.empty()) return undefined;
  const std::size_t vocabulary = *std::max_element(tokens.begin(), tokens.end()) + std::size_t{1};
  // Every top singular vector of the nonnegative H can be chosen nonnegative, so the constant
  // initial vector is never orthogonal to the top space.
  std::vector<double> x(tokens.size(), 1.0 / std::sqrt(static_cast<double>(tokens.size())));
  std::vector<double> y(vocabulary);
  double top = 0.0;
  int idle = 0;
  for (int step = 0; step < max_steps && idle < patience; ++step) {
    std::fill(y.begin(), y.end(), 0.0);
    for (std::size_t t = 0; t < tokens.size(); ++t) y[tokens[t]] += x[t];  // y = H x
    double rayleigh = 0.0, norm = 0.0;
    for (const double value : y) rayleigh += value * value;  // ||H x||^2 with ||x|| = 1
    for (std::size_t t = 0; t < tokens.size(); ++t) norm += y[tokens[t]] * y[tokens[t]];
    for (std::size_t t = 0; t < tokens.size(); ++t)
      x[t] = y[tokens[t]] / std::sqrt(norm);  // x = H' y, normalized
    idle = rayleigh > top ? 0 : idle + 1;
    top = std::max(top, rayleigh);
  }
  // ||H||_F^2 = n, because each column has a single one.
  return static_cast<double>(tokens.size()) / top;
}

arma::mat draw_embedding(std::size_t d, const TokenCounts& counts, Stream& stream) {
  arma::mat E(d, counts.id.size());
  stream.fill_normal({E.memptr(), E.n_elem});
  return E;
}

arma::mat rms_normalized_columns(const arma::mat& E) {
  arma::mat out = E;
  for (arma::uword j = 0; j < out.n_cols; ++j) {
    const double norm = arma::norm(out.col(j));
    if (norm > 0.0) out.col(j) *= std::sqrt(static_cast<double>(E.n_rows)) / norm;
  }
  return out;
}

arma::mat embedded_gram(const arma::mat& E, const TokenCounts& counts) {
  arma::mat weighted = E;
  for (arma::uword j = 0; j < E.n_cols; ++j)
    weighted.col(j) *= std::sqrt(static_cast<double>(counts.count[j]));
  return weighted * weighted.t();
}

}  // namespace ranklab
