// Softmax attention as a mixer: Y = [Wo] attention(Wq X [+ bq], Wk X [+ bk], Wv X [+ bv]) [+ bo],
// with relative positions or without positions.
//
// With one head, no positions and no input biases, only the products Wk'Wq and Wo Wv matter: two
// maps of the tokens instead of four. The gradients of the four follow from those of the two.
#pragma once

#include <optional>

#include "nn/layers/attention.hpp"
#include "nn/layers/initial_weights.hpp"
#include "nn/layers/mixer.hpp"
#include "nn/layers/relative_attention.hpp"

namespace ranklab {

/// The maps and biases that a mixer has.
struct AttentionMaps {
  bool output = true;  // Wo
  bool input_biases = false, output_bias = false;
  // Keeps the four maps apart even if two are enough, so that q, k, v and H are those of the paper.
  bool separate = false;
};

/// Whether the four maps are merged into two.
inline bool joins_maps(std::uint64_t heads, const AttentionMaps& maps, bool relative) {
  return heads == 1 && !maps.input_biases && !relative && !maps.separate;
}

/// W X [+ b], with W (d, d) and b (d, 1).
template <class T>
struct AttentionMap {
  Parameter<T> W;
  std::optional<Parameter<T>> b;

  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y);
  /// Only the gradients in W and b.
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY);
};

template <class T>
class AttentionMixer final : public Mixer<T> {
 public:
  /// With `shared`, positions are relative and `shape` must be causal. `shared` must outlive the
  /// mixer.
  AttentionMixer(arma::uword dim, const AttentionShape& shape, const InitialWeights& initial,
                 const AttentionMaps& maps = {}, RelativeBiases<T>* shared = nullptr);

  /// Those of Wq, Wk, Wv, bq, bk, bv, Wr, Wo, bo that exist. The owner of u and v lists them.
  std::vector<Parameter<T>*> parameters() override;
  AttentionMap<T>& q() { return q_; }
  AttentionMap<T>& k() { return k_; }
  AttentionMap<T>& v() { return v_; }
  const AttentionMap<T>& q() const { return q_; }
  const AttentionMap<T>& k() const { return k_; }
  const AttentionMap<T>& v() const { return v_; }
  /// Null if there is no Wo.
  AttentionMap<T>* o() { return o_ ? &*o_ : nullptr; }
  const AttentionMap<T>* o() const { return o_ ? &*o_ : nullptr; }
  /// H (d, N), the input of Wo in the last forward pass, if the maps are not merged.
  const arma::Mat<T>& heads_output() const { return pass_.H; }

 private:
  std::vector<arma::Mat<T>*> of_batch() override;
  void do_prepare() override;
  void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                   Turns& turns) override;
  void do_finish() override;

  void forward_joined(const arma::Mat<T>& X, arma::Mat<T>& Y);
  void backward_joined(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                       Turns& turns);

  Attention<T> attention_;
  AttentionMap<T> q_, k_, v_;
  std::optional<RelativeAttention<T>> relative_;
  std::optional<AttentionMap<T>> o_;
  struct Joined {
    Parameter<T> scores, values;  // Wk'Wq and [Wo] Wv, both (d, d)
  };
  std::optional<Joined> joined_;
  AttentionPass<T> pass_;
  // Buffers of one backward pass, which all layers of a thread share, so that they stay in cache.
  static inline thread_local arma::Mat<T> dH_, dq_, dk_, dv_;
};

}  // namespace ranklab
