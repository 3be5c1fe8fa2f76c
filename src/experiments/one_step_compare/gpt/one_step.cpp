// One step along G and one along polar(G): the largest loss decrease that each achieves, compared
// with the prediction of eq. (1.1).

#include <cmath>
#include <limits>

#include "experiments/one_step_compare/gpt/measure.hpp"
#include "linalg/kronecker.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::gpt {
namespace {

// To first order, the first step of the line search decreases the loss by this share.
constexpr double first_share = 0.02;
// A decrease below this share of the loss counts as no decrease.
constexpr double least_share = 1e-4;
// Relative difference below which two steps count as equal: the decrease is flat near its maximum.
constexpr double step_tolerance = 0.02;

// Vertex of the parabola through three steps in ascending order, of which the middle one gives the
// largest decrease. If the decrease of the last is not finite: the geometric mean of the last two.
double parabola_vertex(const Step& low, const Step& best, const Step& high) {
  if (!std::isfinite(high.decrease)) return std::sqrt(best.size * high.size);
  const double down = best.size - low.size, up = high.size - best.size;
  const double rise = (best.decrease - low.decrease) / down,
               fall = (best.decrease - high.decrease) / up;
  const double vertex = best.size + 0.5 * (rise * up - fall * down) / (rise + fall);
  return low.size < vertex && vertex < high.size ? vertex : best.size;
}

template <class T>
struct Direction {
  arma::Mat<T> D;    // W <- W - step D
  double slope = 0;  // <G, D>, the first-order decrease per unit of the step
};

template <class T>
struct Directions {
  Direction<T> euclidean, spectral;
  double nuclear_norm = 0;
};

template <class T>
Directions<T> directions_of(const arma::Mat<T>& G) {
  const arma::mat wide = arma::conv_to<arma::mat>::from(G);
  Polar<double> polar = polar_factor(wide);
  return {{G, arma::dot(wide, wide)},
          {arma::conv_to<arma::Mat<T>>::from(polar.factor), polar.nuclear_norm},
          polar.nuclear_norm};
}

/// The losses of two batches as functions of the weights. What enters each layer is kept, so that a
/// change in one layer needs a forward pass only from that layer on.
template <class T>
class Losses {
 public:
  Losses(SequenceModel<T>& model, const SequenceBatch<T>& batch,
         const SequenceBatch<T>& independent, const Trial& trial)
      : model_(model), batches_{&batch, &independent}, trial_(trial) {
    for (int i = 0; i < 2; ++i) {
      const auto keep = [&](const SequenceModel<T>& passed, const SequenceBatch<T>& part,
                            Turns& turns) {
        Part kept{part, {}, {}};
        for (std::uint64_t l = 0; l < passed.shape().layers; ++l) {
          kept.streams.push_back(passed.stream(l));
          kept.middles.push_back(passed.block(l).middle());
        }
        kept.streams.push_back(passed.stream(passed.shape().layers));
        turns.take([&] { parts_[i].push_back(std::move(kept)); });
      };
      start_loss_[i] = model_.loss_by_pieces(*batches_[i], false, keep, trial_);
    }
  }

  static double ratio_of(double spectral, double euclidean, double loss) {
    return std::min(spectral, euclidean) < least_share * loss ? undefined : spectral / euclidean;
  }

  /// The best decrease along polar(G) over that along G for one matrix, on one batch.
  double ratio(int which, const GptWeight<Parameter<T>>& weight, const Directions<T>& directions) {
    Parameter<T>& parameter = *weight.parameter;
    const arma::Mat<T> start = parameter.W;
    const auto decrease = [&](const Direction<T>& direction) {
      const auto f = [&](double step) {
        trial_.check_interrupt();
        parameter.W = start - static_cast<T>(step) * direction.D;
        return loss_with(weight, which);
      };
      return best_step(f, start_loss_[which], first_share * start_loss_[which] / direction.slope)
          .decrease;
    };
    const double spectral = decrease(directions.spectral),
                 euclidean = decrease(directions.euclidean);
    parameter.W = start;
    return ratio_of(spectral, euclidean, start_loss_[which]);
  }

  /// The best decrease for several parameters at once, parameter i along scale[i] directions[i].
  double joint_decrease(int which, const std::vector<Parameter<T>*>& parameters,
                        const std::vector<const Direction<T>*>& directions,
                        const std::vector<double>& scale) {
    std::vector<arma::Mat<T>> start;
    double slope = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      start.push_back(parameters[i]->W);
      slope += scale[i] * directions[i]->slope;
    }
    const auto f = [&](double step) {
      trial_.check_interrupt();
      for (std::size_t i = 0; i < parameters.size(); ++i)
        parameters[i]->W = start[i] - static_cast<T>(step * scale[i]) * directions[i]->D;
      return full_loss(which);
    };
    const double decrease =
        best_step(f, start_loss_[which], first_share * start_loss_[which] / slope).decrease;
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->W = start[i];
    return decrease;
  }

 private:
  /// The loss if only this weight has changed.
  double loss_with(const GptWeight<Parameter<T>>& weight, int which) {
    if (weight.role == WeightRole::embedding) return full_loss(which);
    const bool head = weight.role == WeightRole::head, after_attention = weight.block == "W1" ||
                                                                         weight.block == "W2" ||
                                                                         weight.block == "Wg";
    const std::uint64_t layer = head ? model_.shape().layers : weight.layer;
    double sum = 0;
    for (const Part& part : parts_[which]) {
      if (after_attention) {
        model_.block(layer).middle() = part.middles[layer];
      } else {
        model_.stream(layer) = part.streams[layer];
      }
      model_.forward_from(layer, after_attention);
      sum += static_cast<double>(part.tokens.ids.size()) * model_.loss(part.tokens, false);
    }
    return sum / static_cast<double>(batches_[which]->ids.size());
  }
  double full_loss(int which) {
    return model_.loss_by_pieces(
        *batches_[which], false, [](const auto&...) {}, trial_);
  }

  SequenceModel<T>& model_;
  const SequenceBatch<T>* batches_[2];
  const Trial& trial_;
  struct Part {
    SequenceBatch<T> tokens;
    std::vector<arma::Mat<T>> streams;  // residual stream before each layer, and before the head
    std::vector<arma::Mat<T>> middles;  // residual stream after the attention of each layer
  };
  std::vector<Part> parts_[2];
  double start_loss_[2];
};

template <class T>
double ratio_by_curvature(const GptWeight<Parameter<T>>& weight, const Directions<T>& directions,
                          const Moments& moments) {
  const std::optional<arma::mat>& errors = weight.parameter->error_moment;
  if (!errors) return undefined;
  const arma::mat M = moments.second_moment(input_of(weight));
  const auto decrease = [&](const Direction<T>& direction) {
    const double curvature =
        kronecker_form(arma::conv_to<arma::mat>::from(direction.D), M, *errors);
    return ranklab::best_step(direction.slope, curvature).decrease;
  };
  return decrease(directions.spectral) / decrease(directions.euclidean);
}

}  // namespace

Step best_step(const std::function<double(double)>& f, double at_0, double first) {
  if (!std::isfinite(first) || first <= 0) return {undefined, undefined};
  const auto at = [&](double step) {
    const double decrease = at_0 - f(step);
    return Step{step,
                std::isfinite(decrease) ? decrease : -std::numeric_limits<double>::infinity()};
  };
  Step low{0, 0}, best = at(first), high{0, 0};
  for (int halvings = 0; best.decrease <= 0; ++halvings) {
    if (halvings == 40) return {undefined, undefined};
    high = best, best = at(best.size / 2);
  }
  if (high.size == 0) {
    for (high = at(2 * best.size); high.decrease > best.decrease; high = at(2 * best.size))
      low = best, best = high;
  }
  if (low.size == 0) {
    for (low = at(best.size / 2); low.decrease > best.decrease; low = at(best.size / 2))
      high = best, best = low;
  }
  for (int round = 0; round < 2; ++round) {
    const double vertex = parabola_vertex(low, best, high);
    if (std::fabs(vertex / best.size - 1) < step_tolerance) break;
    const Step next = at(vertex);
    const bool is_better = next.decrease > best.decrease;
    const Step worse = is_better ? best : next;
    if (is_better) best = next;
    (worse.size < best.size ? low : high) = worse;
  }
  return best;
}

template <class T>
double best_polar_step(Parameter<T>& parameter, double at_0, const std::function<double()>& loss) {
  const arma::Mat<T> start = parameter.W;
  const Directions<T> directions = directions_of(parameter.G);
  const arma::Mat<T>& D = directions.spectral.D;
  const auto f = [&](double step) {
    parameter.W = start - static_cast<T>(step) * D;
    return loss();
  };
  const double size = best_step(f, at_0, first_share * at_0 / directions.nuclear_norm).size;
  parameter.W = start;
  return size;
}

template double best_polar_step(Parameter<float>&, double, const std::function<double()>&);
template double best_polar_step(Parameter<double>&, double, const std::function<double()>&);

template <class T>
StepRatios step_ratios(SequenceModel<T>& model, const SequenceBatch<T>& batch,
                       const SequenceBatch<T>& independent, const Moments& moments,
                       const Trial& trial) {
  std::vector<GptWeight<Parameter<T>>> weights;
  for (const WeightRole role : {WeightRole::in_layer, WeightRole::head, WeightRole::embedding}) {
    for (const auto& weight : gpt_weights(model)) {
      if (weight.role == role) weights.push_back(weight);
    }
  }
  const std::size_t n = weights.size();
  std::vector<Directions<T>> directions;
  StepRatios out{
      {},        {},       std::vector<double>(n, undefined), std::vector<double>(n, undefined),
      undefined, undefined};
  for (std::size_t i = 0; i < n; ++i) {
    trial.check_interrupt();
    directions.push_back(directions_of(weights[i].parameter->G));
    const double st = weights[i].role == WeightRole::embedding
                          ? moments.indicator()
                          : moments.stable_rank(compared_with(weights[i]));
    out.predicted.push_back(directions[i].nuclear_norm * directions[i].nuclear_norm /
                            directions[i].euclidean.slope / st);
    out.by_curvature.push_back(ratio_by_curvature(weights[i], directions[i], moments));
  }
  Losses<T> losses(model, batch, independent, trial);
  for (std::size_t i = 0; i < n; ++i) {
    out.on_batch[i] = losses.ratio(0, weights[i], directions[i]);
    out.on_independent[i] = losses.ratio(1, weights[i], directions[i]);
  }
  // Section 1.2.1: the step G / L_F against (||G||_* / L_op) polar(G) in every block, where L_F =
  // ||A||_op^2 / N and L_op = ||A||_F^2 / N. N cancels.
  std::vector<Parameter<T>*> inner;
  std::vector<const Direction<T>*> euclidean, spectral;
  std::vector<double> euclidean_scale, spectral_scale;
  for (std::size_t i = 0; i < n && weights[i].role == WeightRole::in_layer; ++i) {
    const std::string activation = compared_with(weights[i]);
    const double squares = arma::trace(moments.second_moment(activation)),
                 st = moments.stable_rank(activation);
    inner.push_back(weights[i].parameter);
    euclidean.push_back(&directions[i].euclidean), euclidean_scale.push_back(st / squares);
    spectral.push_back(&directions[i].spectral),
        spectral_scale.push_back(directions[i].nuclear_norm / squares);
  }
  for (int which = 0; which < 2; ++which) {
    (which == 0 ? out.joint_on_batch : out.joint_on_independent) =
        losses.joint_decrease(which, inner, spectral, spectral_scale) /
        losses.joint_decrease(which, inner, euclidean, euclidean_scale);
  }
  return out;
}

template StepRatios step_ratios(SequenceModel<float>&, const SequenceBatch<float>&,
                                const SequenceBatch<float>&, const Moments&, const Trial&);
template StepRatios step_ratios(SequenceModel<double>&, const SequenceBatch<double>&,
                                const SequenceBatch<double>&, const Moments&, const Trial&);

}  // namespace ranklab::gpt
