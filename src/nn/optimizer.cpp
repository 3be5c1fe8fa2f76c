#include "nn/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace ranklab {
template <class T>
void Optimizer<T>::adam(Parameter<T>& parameter, double lr) {
  const double t = static_cast<double>(steps_);
  const T b1 = static_cast<T>(adam_beta_1), b2 = static_cast<T>(settings_.beta_2),
          decay = static_cast<T>(1 - lr * settings_.decay),
          rate = static_cast<T>(lr / (1 - std::pow(adam_beta_1, t))),
          correction = static_cast<T>(1 / std::sqrt(1 - std::pow(settings_.beta_2, t))),
          guard = static_cast<T>(adam_epsilon);
  T *const w = parameter.W.memptr(), *const m = m_.memptr(), *const v = v_.memptr();
  const T* const g = parameter.G.memptr();
  for (arma::uword i = 0; i < parameter.W.n_elem; ++i) {
    m[i] = b1 * m[i] + (1 - b1) * g[i];
    v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
    w[i] = decay * w[i] - rate * m[i] / (std::sqrt(v[i]) * correction + guard);
  }
}

template <class T>
void Optimizer<T>::step(Parameter<T>& parameter, double lr) {
  const arma::Mat<T>& G = parameter.G;
  if (steps_++ == 0) {
    if (!is_spectral()) m_.zeros(G.n_rows, G.n_cols);
    if (settings_.rule == Rule::adam) v_.zeros(G.n_rows, G.n_cols);
  }
  switch (settings_.rule) {
    case Rule::adam:
      return adam(parameter, lr);
    case Rule::sgd:
      m_ *= static_cast<T>(momentum_beta);
      m_ += G;
      parameter.W -= static_cast<T>(lr) * m_;
      return;
    case Rule::muon:
    case Rule::polar:
      parameter.W += static_cast<T>(lr) * spectral_step(G);
  }
}

template <class T>
void Optimizer<T>::step(const std::vector<Parameter<T>*>& stacked, double lr) {
  if (stacked.size() == 1) return step(*stacked.front(), lr);
  if (!is_spectral()) throw std::logic_error("this rule updates matrices one by one");
  arma::Mat<T> G;
  for (const Parameter<T>* each : stacked) G = arma::join_cols(G, each->G);
  const arma::Mat<T> change = static_cast<T>(lr) * spectral_step(G);
  arma::uword row = 0;
  for (Parameter<T>* each : stacked) {
    each->W += change.rows(row, row + each->W.n_rows - 1);
    row += each->W.n_rows;
  }
}

template <class T>
arma::Mat<T> Optimizer<T>::spectral_step(const arma::Mat<T>& G) {
  const auto [rows, columns] = settings_.cut;
  if (muon_.empty())
    muon_.assign(rows * columns, Muon<T>(momentum_beta, settings_.rule == Rule::polar));
  if (muon_.size() == 1) return muon_.front().step(G);
  const arma::uword height = G.n_rows / rows, width = G.n_cols / columns;
  arma::Mat<T> out(arma::size(G));
  for (arma::uword i = 0; i < rows; ++i) {
    for (arma::uword j = 0; j < columns; ++j) {
      const arma::span r(i * height, (i + 1) * height - 1), c(j * width, (j + 1) * width - 1);
      out(r, c) = muon_[i * columns + j].step(G(r, c));
    }
  }
  return out;
}

double step_flops(Rule rule, double rows, double columns) {
  const double entries = rows * columns, least = std::min(rows, columns);
  switch (rule) {
    case Rule::adam:
      return 20 * entries;
    case Rule::sgd:
      return 4 * entries;
    case Rule::muon:  // five iterations with three products each, one of which is symmetric
      return 5 * (3 * entries * least + least * least * least);
    case Rule::polar:
      return 40 * entries * least;
  }
  return 0;
}

template <class T>
double gradient_norm(const std::vector<Parameter<T>*>& parameters) {
  double sum = 0;
  for (const Parameter<T>* parameter : parameters)
    sum += static_cast<double>(arma::dot(parameter->G, parameter->G));
  return std::sqrt(sum);
}

template <class T>
double clip_gradients(const std::vector<Parameter<T>*>& parameters, double largest) {
  const double norm = gradient_norm(parameters);
  if (!(norm > largest)) return norm;
  for (Parameter<T>* parameter : parameters) parameter->G *= static_cast<T>(largest / norm);
  return norm;
}

template double gradient_norm(const std::vector<Parameter<float>*>&);
template double gradient_norm(const std::vector<Parameter<double>*>&);
template double clip_gradients(const std::vector<Parameter<float>*>&, double);
template double clip_gradients(const std::vector<Parameter<double>*>&, double);

template class Optimizer<float>;
template class Optimizer<double>;

namespace {

double warmup_factor(std::uint64_t t, std::uint64_t warmup) {
  return std::min(
      1.0, static_cast<double>(t + 1) / static_cast<double>(std::max<std::uint64_t>(warmup, 1)));
}

}  // namespace

double trapezoid(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup) {
  const double at = static_cast<double>(t), end = static_cast<double>(steps),
               knee = decay_start * end, up = warmup_factor(t, warmup);
  return at <= knee ? up : std::min(up, 1 - (1 - final_factor) * (at - knee) / (end - knee));
}

double stepped(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup) {
  return warmup_factor(t, warmup) * (10 * t >= 9 * steps ? 0.04 : 10 * t >= 7 * steps ? 0.2 : 1.0);
}

double quarter_cosine(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup) {
  return warmup_factor(t, warmup) * 0.5 *
         (1 +
          std::cos(std::numbers::pi * static_cast<double>(t) / (4 * static_cast<double>(steps))));
}

double warm_cosine(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup) {
  const double at = static_cast<double>(t),
               up = static_cast<double>(std::max<std::uint64_t>(warmup, 1));
  if (at + 1 < up) return (at + 1) / up;
  return 0.5 *
         (1 + std::cos(std::numbers::pi * (at - up + 1) / (static_cast<double>(steps) - up + 1)));
}

}  // namespace ranklab
