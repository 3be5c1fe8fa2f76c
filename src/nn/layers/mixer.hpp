// Token mixers: the maps of a block in which tokens of a sequence interact. One token per column,
// sequence after sequence of `length` tokens; d width of a token, N = B length.
#pragma once

#include <armadillo>
#include <stdexcept>
#include <vector>

#include "core/pieces_in_turn.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

/// A batch may come in pieces: prepare; then for each piece forward, or forward and backward; then
/// finish, if there were backward passes. The backward passes of the last piece may be repeated
/// with other dY, each followed by finish. Any other order throws std::logic_error.
template <class T>
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// In a fixed order; valid as long as the mixer.
  virtual std::vector<Parameter<T>*> parameters() = 0;

  /// Computes what depends only on the weights.
  void prepare() {
    do_prepare();
    prepared_ = true;
    passed_ = false;
  }
  /// In place of prepare(): uses what another mixer of the same shape has prepared, and adds to its
  /// sums. Its parameters must be shared already, and it calls finish() for both.
  void share(Mixer& of) {
    const std::vector<arma::Mat<T>*> mine = of_batch(), others = of.of_batch();
    for (std::size_t i = 0; i < mine.size(); ++i) alias(*mine[i], *others[i]);
    prepared_ = of.prepared_;
    passed_ = false;
  }
  /// X (d, N) -> Y (d, N). Stores what backward() needs.
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
    if (!prepared_) throw std::logic_error("a mixer's forward pass needs prepare()");
    do_forward(X, Y);
    passed_ = true;
  }
  /// With the X of the forward pass. From dY, adds to the gradients of all parameters, in turns,
  /// and sets dX (d, N).
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX, Turns& turns) {
    if (!passed_) throw std::logic_error("a mixer's backward pass needs forward()");
    do_backward(X, dY, dX, turns);
  }
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) {
    Turns alone;
    backward(X, dY, dX, alone);
  }
  /// Computes the gradients that need sums over all pieces. The weights may change afterwards.
  void finish() {
    if (!passed_) throw std::logic_error("a mixer's finish() needs a pass");
    do_finish();
    prepared_ = false;
  }

 private:
  /// What do_prepare() sets: results for forward() and backward(), and sums to which backward()
  /// adds.
  virtual std::vector<arma::Mat<T>*> of_batch() { return {}; }
  virtual void do_prepare() {}
  virtual void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) = 0;
  /// Takes the same number of turns in every piece.
  virtual void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                           Turns& turns) = 0;
  virtual void do_finish() {}

  bool prepared_ = false;  // for the present weights
  bool passed_ = false;    // a forward pass is stored
};

}  // namespace ranklab
