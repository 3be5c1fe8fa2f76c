#include "models/blocks/feed_forward_activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "models/activations.hpp"

namespace ranklab {
namespace {

// With which ALBERT and GPT-2 were trained.
double gelu_by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x)));
}

}  // namespace

const std::vector<std::string>& feed_forward_activations() {
  static const std::vector<std::string> names = {"gelu", "gelu-tanh", "relu"};
  return names;
}

double (*find_feed_forward_activation(const std::string& name))(double) {
  const auto& names = feed_forward_activations();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UsageError("activation '" + name + "' is not allowed in a feed-forward net; allowed: gelu|gelu-tanh|relu");
  }
  return name == "gelu-tanh" ? gelu_by_tanh : find_activation(name).value;
}

}  // namespace ranklab
