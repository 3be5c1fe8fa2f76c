// Softmax attention as a mixer: Y = Wo attention(Wq X, Wk X, Wv X), without biases.
#pragma once

#include "training/attention.hpp"
#include "training/initial_weights.hpp"
#include "training/mixer.hpp"

namespace ranklab {

template <class T>
class AttentionMixer final : public Mixer<T> {
 public:
  AttentionMixer(arma::uword dim, const AttentionShape& shape, const InitialWeights& initial)
      : attention_(shape, dim),
        Wq_(initial.map<T>("Wq", dim, dim)),
        Wk_(initial.map<T>("Wk", dim, dim)),
        Wv_(initial.map<T>("Wv", dim, dim)),
        Wo_(initial.map<T>("Wo", dim, dim)) {}

  std::vector<Parameter<T>*> parameters() override { return {&Wq_, &Wk_, &Wv_, &Wo_}; }
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) override;

 private:
  Attention<T> attention_;
  Parameter<T> Wq_, Wk_, Wv_, Wo_;
  AttentionPass<T> pass_;
  arma::Mat<T> dH_, dq_, dk_, dv_;
};

}  // namespace ranklab
