// The activations of published feed-forward nets, by the names of ModelSpec::activation.
#pragma once

#include <string>
#include <vector>

namespace ranklab {

/// "gelu": x Phi(x); "gelu-tanh": x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which libraries call gelu_new; "relu".
const std::vector<std::string>& feed_forward_activations();

/// Throws UsageError where `name` is none of them.
double (*find_feed_forward_activation(const std::string& name))(double);

}  // namespace ranklab
