// Dropout, as in training (Srivastava et al., "Dropout", 2014).
#pragma once

#include <armadillo>
#include <vector>

#include "core/random.hpp"

namespace ranklab {

class Dropout {
 public:
  /// Of a rate in [0, 1).
  Dropout(double rate, const Stream& stream) : rate_(rate), stream_(stream) {}

  /// Each entry becomes 0 with probability `rate`, independently of all others, or is divided by 1 - rate. One uniform draw for
  /// each entry, in the order of memory; the entry falls where it is below the rate.
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
