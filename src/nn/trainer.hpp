// The training of a sequence model: one optimizer per parameter, and the check for divergence. The
// caller draws the batches, chooses the learning rate of each step, and measures.
#pragma once

#include <functional>
#include <vector>

#include "core/undefined.hpp"
#include "nn/optimizer.hpp"
#include "nn/sequence_model.hpp"

namespace ranklab {

/// Nats. A loss above this counts as divergence. Guessing costs the logarithm of the number of
/// answers, at most about 14.
inline constexpr double largest_loss = 100;

template <class T>
class Trainer {
 public:
  struct Trained {
    Parameter<T>* parameter;
    typename Optimizer<T>::Settings optimizer;
    double rate;  // multiplies the learning rate
  };

  /// The model must outlive the trainer. Parameters that are not in the list stay as they are.
  Trainer(SequenceModel<T>& model, const std::vector<Trained>& trained) : model_(model) {
    for (const Trained& each : trained) {
      states_.push_back({each.parameter, Optimizer<T>(each.optimizer), each.rate});
      costs_.push_back(step_flops(each.optimizer.rule,
                                  static_cast<double>(each.parameter->W.n_rows),
                                  static_cast<double>(each.parameter->W.n_cols)));
    }
  }

  /// Computes the gradients of a batch, piece by piece (SequenceModel::loss_by_pieces), and returns
  /// its mean loss; NaN if the loss is not finite or above largest_loss.
  double gradients(const SequenceBatch<T>& batch, const typename SequenceModel<T>::SeePart& seen,
                   const PieceRunner& pieces = {}) {
    const double loss = model_.loss_by_pieces(batch, true, seen, pieces);
    return loss < largest_loss ? loss : undefined;
  }

  /// Multiplies the rate of a parameter, by its place in the list.
  void scale_rate(std::size_t i, double factor) { states_.at(i).rate *= factor; }

  /// Updates the parameters from their gradients.
  void step(double lr, const PieceRunner& pieces = {}) {
    pieces.run(costs_, [&](std::size_t i) {
      State& state = states_[i];
      state.optimizer.step(*state.parameter, lr * state.rate);
    });
  }

 private:
  struct State {
    Parameter<T>* parameter;
    Optimizer<T> optimizer;
    double rate;
  };

  SequenceModel<T>& model_;
  std::vector<State> states_;
  std::vector<double> costs_;  // of the step of each
};

}  // namespace ranklab
