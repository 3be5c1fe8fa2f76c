// Dropout, as in training (Srivastava et al., "Dropout", 2014).
#pragma once

#include <armadillo>
#include <vector>

#include "core/random.hpp"

namespace ranklab {

class Dropout {
 public:
  /// `rate` is in [0, 1).
  Dropout(double rate, const Stream& stream) : rate_(rate), stream_(stream) {}

  /// Sets each entry to 0 with probability `rate`, independently, or divides it by 1 - rate. Uses
  /// one uniform draw per entry, in memory order; an entry is dropped if its draw is below the
  /// rate.
  template <class T>
  void operator()(arma::Mat<T>& X) {
    uniform_.resize(X.n_elem);
    stream_.fill_uniform(uniform_);
    const T kept = static_cast<T>(1 / (1 - rate_));
    for (arma::uword i = 0; i < X.n_elem; ++i) X[i] = uniform_[i] < rate_ ? T(0) : kept * X[i];
  }

 private:
  double rate_;
  Stream stream_;
  std::vector<double> uniform_;
};

}  // namespace ranklab
