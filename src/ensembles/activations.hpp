// Activation functions by name, and the Gaussian moments that [Spectral] Figure 12 prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ranklab {

/// A pointwise activation sigma. A gated one multiplies sigma(first pre-activation) by a second
/// pre-activation, entry by entry, so that it takes two weight matrices: swiglu(Z, G) = silu(Z) o
/// G.
struct Activation {
  std::string name;
  double (*value)(double);       // sigma(t); if gated, applied to the first pre-activation
  double (*derivative)(double);  // sigma'(t); at a kink the value from the left, except 0 for abs
  bool gated = false;
  int degree = 0;  // p if sigma(c t) = c^p sigma(t) for every c > 0, otherwise 0
};

/// Names in the order in which help texts list them.
const std::vector<std::string>& activation_names();

/// Throws a UsageError that lists the names if `name` is unknown.
const Activation& find_activation(std::string_view name);

/// Activations of published feed-forward nets, by the names in ModelSpec::activation: "gelu": x
/// Phi(x); "gelu-tanh": x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which libraries call
/// gelu_new; "relu".
const std::vector<std::string>& feed_forward_activations();

/// Throws a UsageError if `name` is not one of these.
double (*find_feed_forward_activation(const std::string& name))(double);

/// Z <- sigma(Z), in double precision for any entry type. `Matrix` is anything that iterates over
/// its entries.
template <class Matrix>
void apply(const Activation& activation, Matrix& Z) {
  for (auto& z : Z)
    z = static_cast<std::remove_reference_t<decltype(z)>>(activation.value(static_cast<double>(z)));
}

/// The row of [Spectral] Figure 12 for one activation: constants of inequality (2.9) with f(w) =
/// (s^2)^power, where s is the standard deviation of <w, x>. Only the constants of GELU depend on
/// s_*, a lower bound on s over the rows of W.
struct PrintedMoments {
  int power;
  double (*alpha)(double s_star);
  double beta;
  double (*nsr_bound)(double s_star);
  bool depends_on_s_star = false;
};

/// Empty if the figure has no such row.
std::optional<PrintedMoments> printed_moments(std::string_view activation);

}  // namespace ranklab
