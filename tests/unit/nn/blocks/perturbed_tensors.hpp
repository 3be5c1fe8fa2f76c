// A source of tensors for tests. Each tensor is drawn at its initial value and then moved by 0.1
// N(0, 1), so that gains of 1 and biases of 0 matter too (or not moved, for tests of the initial
// values). It keeps a copy, from which a test computes the block independently.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gaussian.hpp"
#include "nn/blocks/tensors.hpp"

template <class T>
class PerturbedTensors final : public ranklab::Tensors<T> {
 public:
  explicit PerturbedTensors(double step = 0.1) : step_(step) {}

  arma::Mat<T> matrix(const std::string& name, arma::uword rows, arma::uword cols,
                      const ranklab::EntryLaw& start) override {
    return keep(name, start_.matrix(name, rows, cols, start));
  }
  arma::Mat<T> columns(const std::string& name, arma::uword rows, arma::uword cols,
                       const std::vector<std::uint32_t>& ids,
                       const ranklab::EntryLaw& start) override {
    return keep(name, start_.columns(name, rows, cols, ids, start));
  }
  arma::Col<T> vector(const std::string& name, arma::uword size,
                      const ranklab::EntryLaw& start) override {
    return keep(name, start_.vector(name, size, start));
  }

  const arma::mat& operator[](const std::string& name) const { return kept_.at(name); }
  const std::map<std::string, arma::mat>& all() const { return kept_; }

 private:
  arma::Mat<T> keep(const std::string& name, arma::Mat<T> W) {
    W += arma::conv_to<arma::Mat<T>>::from(step_ *
                                           gaussian(W.n_rows, W.n_cols, ("moved " + name).c_str()));
    kept_[name] = arma::conv_to<arma::mat>::from(W);
    return W;
  }

  double step_;
  const ranklab::Streams trial_{7, 0};
  ranklab::DrawnTensors<T> start_{trial_, ""};
  std::map<std::string, arma::mat> kept_;
};
