#include "nn/blocks/norms.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/error.hpp"

namespace ranklab {
namespace {

constexpr double degenerate_norm = 1e-10;  // of a token, for D
constexpr double default_epsilon = 1e-5;

// Limits for entries of a stream, far from both ends of the range of T.
constexpr double log2_largest = 40;
constexpr double largest_unscaled = 0x1p40, smallest_scaled = 0x1p-40;

template <class T>
double largest_entry(const arma::Mat<T>& Y) {
  return Y.is_empty() ? 0.0 : static_cast<double>(arma::abs(Y).max());
}

// In double precision, because the square of a float may overflow.
template <class T>
double mean_of_squares(const arma::subview_col<T>& token) {
  if constexpr (std::is_same_v<T, double>) {
    return arma::dot(token, token) / static_cast<double>(token.n_elem);
  } else {
    double sum = 0;
    for (const T x : token) sum += static_cast<double>(x) * static_cast<double>(x);
    return sum / static_cast<double>(token.n_elem);
  }
}

}  // namespace

Norm find_norm(std::string_view name) {
  if (name == "rows") return Norm::rows;
  if (name == "layer") return Norm::layer;
  if (name == "rms") return Norm::rms;
  if (name == "none") return Norm::none;
  throw UsageError("--norm: '" + std::string(name) +
                   "' is not allowed; allowed: rows|layer|rms|none");
}

template <class T>
std::uint64_t normalize_rows(arma::Mat<T>& Y) {
  std::uint64_t degenerate = 0;
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    const double norm = static_cast<double>(arma::norm(Y.col(t)));
    if (norm < degenerate_norm) {
      Y.col(t).zeros();
      ++degenerate;
    } else {
      Y.col(t) /= static_cast<T>(norm);
    }
  }
  return degenerate;
}

template <class T>
void layer_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain,
                const arma::Col<T>* bias) {
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    auto token = Y.col(t);
    token -= arma::mean(token);
    token /= static_cast<T>(std::sqrt(mean_of_squares<T>(token) + epsilon));
    if (gain != nullptr) token %= *gain;
    if (bias != nullptr) token += *bias;
  }
}

template <class T>
void rms_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain) {
  for (arma::uword t = 0; t < Y.n_cols; ++t) {
    auto token = Y.col(t);
    token /= static_cast<T>(std::sqrt(mean_of_squares<T>(token) + epsilon));
    if (gain != nullptr) token %= *gain;
  }
}

template <class T>
void State<T>::normalize(Norm norm) {
  if (norm == Norm::rows) degenerate_rows += normalize_rows(Y);
  if (norm == Norm::layer) layer_norm(Y, default_epsilon);
  if (norm == Norm::rms) rms_norm(Y, default_epsilon);
}

template <class T>
void State<T>::rescale() {
  const double largest = largest_entry(Y);
  if (!(largest > 0) || !std::isfinite(largest)) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (T& y : Y) y = std::ldexp(y, -exponent);
  log2_scale += exponent;
}

template <class T>
void State<T>::unscale() {
  if (log2_scale == 0.0) return;
  for (T& y : Y) y = std::ldexp(y, static_cast<int>(log2_scale));
  log2_scale = 0.0;
}

template <class T>
void State<T>::keep_in_range() {
  if (largest_entry(Y) > largest_unscaled) rescale();
}

template <class T>
double State<T>::scaled_epsilon(double epsilon) const {
  // Avoids 0 / 0 for a constant token; its square root must be representable in T.
  constexpr double root = std::numeric_limits<T>::min(),
                   smallest = std::numeric_limits<double>::min();
  return std::max({epsilon * std::exp2(-2 * log2_scale), root * root, smallest});
}

template <class T>
void State<T>::add_branch(double lambda, const arma::Mat<T>& added) {
  if (log2_scale != 0.0 && std::fabs(lambda) * largest_entry(Y) < smallest_scaled) {
    // Y <- lambda Y with the s that Y needs now; otherwise a branch times 2^-s would be lost.
    Y *= static_cast<T>(lambda);
    lambda = 1.0;
    if (largest_entry(Y) == 0) log2_scale = 0.0;
    rescale();
    if (log2_scale <= log2_largest) unscale();
  }
  const T unit = static_cast<T>(std::exp2(-log2_scale));
  Y = static_cast<T>(lambda) * Y + unit * added;
}

template struct State<float>;
template struct State<double>;
template std::uint64_t normalize_rows(arma::Mat<float>&);
template std::uint64_t normalize_rows(arma::Mat<double>&);
template void layer_norm(arma::Mat<float>&, double, const arma::Col<float>*,
                         const arma::Col<float>*);
template void layer_norm(arma::Mat<double>&, double, const arma::Col<double>*,
                         const arma::Col<double>*);
template void rms_norm(arma::Mat<float>&, double, const arma::Col<float>*);
template void rms_norm(arma::Mat<double>&, double, const arma::Col<double>*);

}  // namespace ranklab
