#include "models/blocks/norms.hpp"

#include <cmath>
#include <string>
#include <type_traits>

#include "core/error.hpp"

namespace ranklab {
namespace {

constexpr double degenerate_norm = 1e-10;  // of a token; catalogued with D
constexpr double usual_epsilon = 1e-5;

// In double: the square of a float may be beyond its range.
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
  throw UsageError("--norm: '" + std::string(name) + "' is not allowed; allowed: rows|layer|rms|none");
}

template <class T>
std::uint64_t normalise_rows(arma::Mat<T>& Y) {
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
void layer_norm(arma::Mat<T>& Y, double epsilon, const arma::Col<T>* gain, const arma::Col<T>* bias) {
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
void normalise(Norm norm, State<T>& state) {
  if (norm == Norm::rows) state.degenerate_rows += normalise_rows(state.Y);
  if (norm == Norm::layer) layer_norm(state.Y, usual_epsilon);
  if (norm == Norm::rms) rms_norm(state.Y, usual_epsilon);
}

template <class T>
void rescale(State<T>& state) {
  const double largest = state.Y.is_empty() ? 0.0 : static_cast<double>(arma::abs(state.Y).max());
  if (!(largest > 0) || !std::isfinite(largest)) return;
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (T& y : state.Y) y = std::ldexp(y, -exponent);
  state.log2_scale += exponent;
}

template <class T>
void unscale(State<T>& state) {
  if (state.log2_scale == 0.0) return;
  for (T& y : state.Y) y = std::ldexp(y, static_cast<int>(state.log2_scale));
  state.log2_scale = 0.0;
}

template std::uint64_t normalise_rows(arma::Mat<float>&);
template std::uint64_t normalise_rows(arma::Mat<double>&);
template void layer_norm(arma::Mat<float>&, double, const arma::Col<float>*, const arma::Col<float>*);
template void layer_norm(arma::Mat<double>&, double, const arma::Col<double>*, const arma::Col<double>*);
template void rms_norm(arma::Mat<float>&, double, const arma::Col<float>*);
template void rms_norm(arma::Mat<double>&, double, const arma::Col<double>*);
template void normalise(Norm, State<float>&);
template void normalise(Norm, State<double>&);
template void rescale(State<float>&);
template void rescale(State<double>&);
template void unscale(State<float>&);
template void unscale(State<double>&);

}  // namespace ranklab
