// Of --measure-heads: how far the heads' gradients and updates are apart in Wq, Wk, Wv and Wo, and
// the nuclear rank of the momentum as a whole and by head.
#pragma once

#include <vector>

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// The largest over the smallest Frobenius norm of the parts of X, which all have the same shape:
/// that is also the ratio of their root mean squares. NaN if the smallest is 0.
double spread(const arma::mat& X, const Cut& cut);
/// The mean over the parts of their nuclear ranks.
double mean_nuclear_rank(const arma::mat& X, const Cut& cut);

/// Follows the momentum of the matrices with heads of a model, whose weights it reads before and
/// after a step.
template <class T>
class HeadObserver {
 public:
  using Weight = GptWeight<Parameter<T>>;
  /// `weights` are those of a model and must outlive this.
  HeadObserver(const std::vector<Weight>& weights, std::uint64_t heads);
  /// To be called before each step, with the gradients in the model.
  void before_step();
  /// To be called after a step: adds the numbers of that step to the columns of head_series().
  void add_to(Track& track) const;

 private:
  struct Followed {
    const Weight* weight;
    Cut cut;                          // into heads
    arma::mat W, average, lookahead;  // the weights before the step; m and u of Muon
  };
  std::vector<Followed> matrices_;
};

}  // namespace ranklab::gpt
