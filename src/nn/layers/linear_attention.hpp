// Linear attention as a mixer, one head: Y = Wo H, with q = phi(Wq x), k = phi(Wk x), v = Wv x of
// each token and
//   h_i = sum_j (k_j'q_i) v_j / (sum_j k_j'q_i + epsilon),   phi(x) = elu(x) + 1,
// over all tokens j of the sequence, or j <= i if causal. Epsilon is 1e-6, or 1e-12 if causal, as
// in the codes of Long Range Arena and of zoology. With one head, Wo Wv is one map, and the code
// computes Wo v instead of v.
//
// Source: Katharopoulos et al., "Transformers are RNNs", 2020. Differs from it: the code forms the
// matrix of k_j'q_i instead of the running sum of v_j k_j', because sequences are short.
#pragma once

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/mixer.hpp"

namespace ranklab {

template <class T>
class LinearAttentionMixer final : public Mixer<T> {
 public:
  LinearAttentionMixer(arma::uword dim, arma::uword length, bool causal,
                       const InitialWeights& initial);

  std::vector<Parameter<T>*> parameters() override { return {&Wq_, &Wk_, &Wv_, &Wo_}; }

 private:
  std::vector<arma::Mat<T>*> of_batch() override { return {&W_, &dW_}; }
  void do_prepare() override;
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns& turns) override;
  void do_finish() override;

  // For the sequence that starts at token `first`: its columns of qkv_ -> Y (d, length), and the
  // backward pass.
  void attend(arma::uword first, T* Y);
  void attend_backward(arma::uword first, const T* dY, T* dqkv);

  arma::uword dim_, length_;
  double epsilon_;
  Parameter<T> Wq_, Wk_, Wv_, Wo_;
  arma::Mat<T> mask_;  // (length, length): 1 in column i for each token that token i sees, else 0
  arma::Mat<T> W_;     // (3 d, d): [Wq; Wk; Wo Wv]
  arma::Mat<T> qkv_;   // (3 d, N): phi(Wq X), phi(Wk X), Wo Wv X
  arma::Mat<T> P_;     // (length, N): k_j'q_i over its denominator
  arma::Row<T> inverse_;  // (1, N): 1 / denominator
  // Gradients: (length, length) for one sequence, (3 d, d) over all pieces.
  arma::Mat<T> dP_, dW_;
  // (3 d, N): a buffer of one backward pass, which all layers of a thread share, so that it stays
  // in cache.
  static inline thread_local arma::Mat<T> dqkv_;
};

}  // namespace ranklab
