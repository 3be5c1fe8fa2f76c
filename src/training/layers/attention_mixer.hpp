// Softmax attention as a mixer: Y = [Wo] attention(Wq X [+ bq], Wk X [+ bk], Wv X [+ bv]) [+ bo], its positions relative or none.
//
// One head without positions and input biases reads Wq and Wk as Wk'Wq alone, Wv and Wo as Wo Wv: two maps of the tokens in place
// of four, and their gradients come from those of the two.
#pragma once

#include <optional>

#include "training/layers/attention.hpp"
#include "training/layers/initial_weights.hpp"
#include "training/layers/mixer.hpp"
#include "training/layers/relative_attention.hpp"

namespace ranklab {

/// Which of these maps there are.
struct AttentionMaps {
  bool output = true;  // Wo
  bool input_biases = false, output_bias = false;
};

/// Whether the maps are joined to two.
inline bool joins_maps(std::uint64_t heads, const AttentionMaps& maps, bool relative) {
  return heads == 1 && !maps.input_biases && !relative;
}

template <class T>
class AttentionMixer final : public Mixer<T> {
 public:
  /// With `shared`, which outlives it, positions are relative; `shape` is then causal.
  AttentionMixer(arma::uword dim, const AttentionShape& shape, const InitialWeights& initial, const AttentionMaps& maps = {},
                 RelativeBiases<T>* shared = nullptr);

  /// Wq, Wk, Wv, bq, bk, bv, Wr, Wo, bo: those that there are. u and v are their owner's.
  std::vector<Parameter<T>*> parameters() override;
  void prepare() override;
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) override;
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) override;
  void finish() override;

 private:
  /// A map of X with its bias.
  struct Map {
    Parameter<T> W;
    std::optional<Parameter<T>> b;

    void forward(const arma::Mat<T>& X, arma::Mat<T>& Y);
    void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY);
  };

  void forward_joined(const arma::Mat<T>& X, arma::Mat<T>& Y);
  void backward_joined(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX);

  Attention<T> attention_;
  Map q_, k_, v_;
  std::optional<RelativeAttention<T>> relative_;
  std::optional<Map> o_;
  struct Joined {
    Parameter<T> scores, values;  // Wk'Wq and [Wo] Wv, both (d, d)
  };
  std::optional<Joined> joined_;
  AttentionPass<T> pass_;
  arma::Mat<T> dH_, dq_, dk_, dv_;
};

}  // namespace ranklab
