#include "training/attention_mixer.hpp"

#include "training/linear.hpp"

namespace ranklab {

template <class T>
void AttentionMixer<T>::forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  linear(Wq_, X, pass_.q);
  linear(Wk_, X, pass_.k);
  linear(Wv_, X, pass_.v);
  attention_.forward(pass_);
  linear(Wo_, pass_.H, Y);
}

template <class T>
void AttentionMixer<T>::backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) {
  linear_backward_weights(Wo_, pass_.H, dY);
  linear_backward_inputs(Wo_, dY, dH_);
  attention_.backward(pass_, dH_, dq_, dk_, dv_);
  linear_backward_weights(Wq_, X, dq_);
  linear_backward_weights(Wk_, X, dk_);
  linear_backward_weights(Wv_, X, dv_);
  linear_backward_inputs(Wq_, dq_, dX);
  linear_backward_inputs(Wk_, dk_, dX, true);
  linear_backward_inputs(Wv_, dv_, dX, true);
}

template class AttentionMixer<float>;
template class AttentionMixer<double>;

}  // namespace ranklab
