#include "ensembles/activations.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

using std::numbers::pi;

constexpr double leak_right = 1.0;  // q of Figure 12
constexpr double leak_left = 0.1;   // p of Figure 12

double normal_density(double t) {
  return std::exp(-0.5 * t * t) / std::sqrt(2.0 * pi);
}

// erfc keeps relative accuracy in the left tail, where 1 + erf cancels.
double normal_distribution(double t) {
  return 0.5 * std::erfc(-t / std::numbers::sqrt2);
}

double logistic(double t) {
  return 1.0 / (1.0 + std::exp(-t));
}

double relu(double t) {
  return t > 0.0 ? t : 0.0;
}
double relu_slope(double t) {
  return t > 0.0 ? 1.0 : 0.0;
}
double abs_slope(double t) {
  return t > 0.0 ? 1.0 : (t < 0.0 ? -1.0 : 0.0);
}
double absolute(double t) {
  return std::fabs(t);
}
double leaky(double t) {
  return t > 0.0 ? leak_right * t : leak_left * t;
}
double leaky_slope(double t) {
  return t > 0.0 ? leak_right : leak_left;
}
double relu_squared(double t) {
  return t > 0.0 ? t * t : 0.0;
}
double relu_squared_slope(double t) {
  return t > 0.0 ? 2.0 * t : 0.0;
}
double gelu(double t) {
  return t * normal_distribution(t);
}
double gelu_slope(double t) {
  return normal_distribution(t) + t * normal_density(t);
}
double silu(double t) {
  return t * logistic(t);
}
double hyperbolic_tangent(double t) {
  return std::tanh(t);
}
double identity(double t) {
  return t;
}
double identity_slope(double) {
  return 1.0;
}
double quadratic(double t) {
  return t * t;
}
double quadratic_slope(double t) {
  return 2.0 * t;
}

double silu_slope(double t) {
  const double p = logistic(t);
  return p * (1.0 + t * (1.0 - p));
}

double tanh_slope(double t) {
  const double y = std::tanh(t);
  return 1.0 - y * y;
}

// ALBERT and GPT-2 were trained with it.
double gelu_by_tanh(double x) {
  return 0.5 * x *
         (1 +
          std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x)));
}

const std::vector<Activation>& activations() {
  static const std::vector<Activation> all = {
      {"relu", relu, relu_slope, false, 1},
      {"abs", absolute, abs_slope, false, 1},
      {"leaky-relu", leaky, leaky_slope, false, 1},
      {"relu2", relu_squared, relu_squared_slope, false, 2},
      {"gelu", gelu, gelu_slope, false, 0},
      {"silu", silu, silu_slope, false, 0},
      {"tanh", hyperbolic_tangent, tanh_slope, false, 0},
      {"swiglu", silu, silu_slope, true, 0},
      {"identity", identity, identity_slope, false, 1},
      {"quadratic", quadratic, quadratic_slope, false, 2},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& activation : activations()) out.push_back(activation.name);
    return out;
  }();
  return names;
}

const Activation& find_activation(std::string_view name) {
  const auto& all = activations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Activation& a) { return a.name == name; });
  if (found != all.end()) return *found;
  throw UsageError("activation '" + std::string(name) +
                   "' is not allowed; allowed: " + joined(activation_names(), " "));
}

const std::vector<std::string>& feed_forward_activations() {
  static const std::vector<std::string> names = {"gelu", "gelu-tanh", "relu"};
  return names;
}

double (*find_feed_forward_activation(const std::string& name))(double) {
  const auto& names = feed_forward_activations();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UsageError("activation '" + name +
                     "' is not allowed in a feed-forward net; allowed: gelu|gelu-tanh|relu");
  }
  return name == "gelu-tanh" ? gelu_by_tanh : find_activation(name).value;
}

std::optional<PrintedMoments> printed_moments(std::string_view activation) {
  constexpr double p = leak_left, q = leak_right;
  if (activation == "abs")
    return PrintedMoments{1, [](double) { return 2.0 / pi; }, 1.0, [](double) { return pi / 2.0; }};
  if (activation == "relu")
    return PrintedMoments{1, [](double) { return 0.5 / pi; }, 0.5, [](double) { return pi; }};
  if (activation == "leaky-relu") {
    return PrintedMoments{1, [](double) { return (q - p) * (q - p) / (2.0 * pi); },
                          (q * q + p * p) / 2.0,
                          [](double) { return pi * (q * q + p * p) / ((q - p) * (q - p)); }};
  }
  if (activation == "relu2")
    return PrintedMoments{2, [](double) { return 0.25; }, 1.5, [](double) { return 6.0; }};
  if (activation == "gelu") {
    return PrintedMoments{1, [](double s) { return s * s / (2.0 * pi * (1.0 + s * s)); }, 1.0,
                          [](double s) { return 2.0 * pi * (1.0 + s * s) / (s * s); }, true};
  }
  return std::nullopt;
}

}  // namespace ranklab
