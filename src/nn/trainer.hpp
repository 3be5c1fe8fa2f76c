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
    std::vector<Parameter<T>*> stacked;  // one, or several that muon takes as one matrix
    typename Optimizer<T>::Settings optimizer;
    double rate;  // multiplies the learning rate
  };

  /// The model must outlive the trainer. Parameters that are not in the list stay as they are.
  Trainer(SequenceModel<T>& model, const std::vector<Trained>& trained) : model_(model) {
    for (const Trained& each : trained) {
      states_.push_back({each.stacked, Optimizer<T>(each.optimizer), each.rate});
      double rows = 0;
      for (const Parameter<T>* parameter : each.stacked)
        rows += static_cast<double>(parameter->W.n_rows);
      const auto& [parts, columns] = each.optimizer.cut;
      const double count = static_cast<double>(parts * columns);
      costs_.push_back(count * step_flops(each.optimizer.rule, rows / static_cast<double>(parts),
                                          static_cast<double>(each.stacked.front()->W.n_cols) /
                                              static_cast<double>(columns)));
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
      state.optimizer.step(state.stacked, lr * state.rate);
    });
  }

 private:
  struct State {
    std::vector<Parameter<T>*> stacked;
    Optimizer<T> optimizer;
    double rate;
  };

  SequenceModel<T>& model_;
  std::vector<State> states_;
  std::vector<double> costs_;  // of the step of each
};

}  // namespace ranklab
