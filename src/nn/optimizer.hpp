// Optimizers for one weight matrix, and learning-rate schedules.
//
// With gradient g and learning rate lr of this step; all states start at zero:
//   adam   m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2, b1 = .9,
//          W -= lr mhat / (sqrt(vhat) + 1e-8) + lr decay W,
//          mhat and vhat corrected for the zero start (Kingma, Ba 2015; decay as Loshchilov,
//          Hutter 2019)
//   muon   m <- .95 m + .05 g, u = .95 m + .05 g,
//          W -= lr max(1, out / in)^(1/2) NewtonSchulz5(u)  (optimizers/muon.hpp)
//   polar  muon with polar(u) instead of the iteration, in double precision; singular values up to
//          1e-7 s_1 are dropped
//   sgd    m <- .95 m + g, W -= lr m
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

#include "nn/layers/parameter.hpp"
#include "nn/optimizers/muon.hpp"

namespace ranklab {

enum class Rule { adam, muon, polar, sgd };

inline constexpr double momentum_beta = 0.95;  // of muon, polar and sgd
inline constexpr double adam_beta_1 = 0.9, adam_epsilon = 1e-8;
/// Steps over which learning rates rise, unless a caller has its own.
inline constexpr std::uint64_t warmup_steps = 20;

/// The parts of a matrix that muon and polar orthogonalize one by one, each with its own shape: so
/// many of its rows (the outputs of heads) or of its columns (their inputs). They divide it.
struct Cut {
  std::uint64_t rows = 1, columns = 1;
  bool operator==(const Cut&) const = default;
};

template <class T>
class Optimizer {
 public:
  struct Settings {
    Rule rule = Rule::adam;
    double beta_2 = 0.95;  // adam only
    double decay = 0;      // adam only
    Cut cut = {};          // muon and polar only
  };
  explicit Optimizer(const Settings& settings) : settings_(settings) {}

  /// Updates parameter.W from parameter.G.
  void step(Parameter<T>& parameter, double lr);
  /// The same for matrices with equally many columns as one, the first on top: of muon and polar.
  void step(const std::vector<Parameter<T>*>& stacked, double lr);

 private:
  void adam(Parameter<T>& parameter, double lr);
  bool is_spectral() const { return settings_.rule == Rule::muon || settings_.rule == Rule::polar; }
  /// The step of muon or polar, part by part.
  arma::Mat<T> spectral_step(const arma::Mat<T>& G);

  Settings settings_;
  std::uint64_t steps_ = 0;
  arma::Mat<T> m_, v_;
  std::vector<Muon<T>> muon_;  // of each part
};

/// Floating-point operations of a step, roughly.
double step_flops(Rule rule, double rows, double columns);

/// Returns the Frobenius norm of all gradients together and scales them down to `largest` if it is
/// larger.
template <class T>
double clip_gradients(const std::vector<Parameter<T>*>& parameters, double largest);

/// The Frobenius norm of all gradients together.
template <class T>
double gradient_norm(const std::vector<Parameter<T>*>& parameters);

/// The fraction of a run after which trapezoid() decays.
inline constexpr double decay_start = 0.6, final_factor = 0.1;

/// The factor on the learning rate at step t + 1 of T: min(1, (t + 1) / warmup), with a linear
/// decay from 1 at decay_start T to final_factor at the end.
double trapezoid(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup = warmup_steps);

/// min(1, (t + 1) / warmup) times 1, 1/5 from 70 % of the steps on, 1/25 from 90 % on.
double stepped(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup);

/// min(1, (t + 1) / warmup) times (1 + cos(pi t / (4 T))) / 2: the first quarter of half a cosine.
double quarter_cosine(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup);

/// min(1, (t + 1) / warmup) during the warm-up, then half a cosine from 1 to 0 at step T.
double warm_cosine(std::uint64_t t, std::uint64_t steps, std::uint64_t warmup);

}  // namespace ranklab
