#include "nn/layers/attention_mixer.hpp"

#include "nn/layers/linear.hpp"

namespace ranklab {
namespace {

template <class T>
std::optional<Parameter<T>> bias_of(const InitialWeights& initial, const std::string& name,
                                    arma::uword dim, bool exists) {
  if (!exists) return std::nullopt;
  return initial.bias<T>(name, dim, dim);
}

}  // namespace

template <class T>
AttentionMixer<T>::AttentionMixer(arma::uword dim, const AttentionShape& shape,
                                  const InitialWeights& initial, const AttentionMaps& maps,
                                  RelativeBiases<T>* shared)
    : attention_(shape, dim),
      q_{initial.map<T>("Wq", dim, dim), bias_of<T>(initial, "bq", dim, maps.input_biases)},
      k_{initial.map<T>("Wk", dim, dim), bias_of<T>(initial, "bk", dim, maps.input_biases)},
      v_{initial.value_map<T>("Wv", dim, dim), bias_of<T>(initial, "bv", dim, maps.input_biases)} {
  if (shared) relative_.emplace(shape, dim, *shared, initial);
  if (maps.output)
    o_.emplace(AttentionMap<T>{initial.map_into_stream<T>("Wo", dim, dim),
                               bias_of<T>(initial, "bo", dim, maps.output_bias)});
  if (joins_maps(shape.heads, maps, shared != nullptr)) joined_.emplace();
}

template <class T>
std::vector<Parameter<T>*> AttentionMixer<T>::parameters() {
  std::vector<Parameter<T>*> out = {&q_.W, &k_.W, &v_.W};
  for (AttentionMap<T>* map : {&q_, &k_, &v_}) {
    if (map->b) out.push_back(&*map->b);
  }
  if (relative_) out.push_back(&relative_->map());
  if (o_) out.push_back(&o_->W);
  if (o_ && o_->b) out.push_back(&*o_->b);
  return out;
}

template <class T>
void AttentionMap<T>::forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  linear(W, X, Y);
  if (b) add_bias(*b, Y);
}

template <class T>
void AttentionMap<T>::backward(const arma::Mat<T>& X, const arma::Mat<T>& dY) {
  linear_backward_weights(W, X, dY);
  if (b) bias_backward(*b, dY);
}

template <class T>
std::vector<arma::Mat<T>*> AttentionMixer<T>::of_batch() {
  if (relative_) return relative_->of_batch();
  if (!joined_) return {};
  return {&joined_->scores.W, &joined_->scores.G, &joined_->values.W, &joined_->values.G};
}

template <class T>
void AttentionMixer<T>::do_prepare() {
  if (relative_) relative_->prepare();
  if (!joined_) return;
  joined_->scores.W = k_.W.W.t() * q_.W.W;
  joined_->values.W = o_ ? arma::Mat<T>(o_->W.W * v_.W.W) : v_.W.W;
  joined_->scores.clear_gradient();
  joined_->values.clear_gradient();
}

template <class T>
void AttentionMixer<T>::do_finish() {
  if (relative_) relative_->finish();
  if (!joined_) return;
  const arma::Mat<T>&dscores = joined_->scores.G, &dvalues = joined_->values.G;
  q_.W.G += k_.W.W * dscores;
  k_.W.G += q_.W.W * dscores.t();
  if (o_) {
    v_.W.G += o_->W.W.t() * dvalues;
    o_->W.G += dvalues * v_.W.W.t();
  } else {
    v_.W.G += dvalues;
  }
  joined_->scores.clear_gradient();
  joined_->values.clear_gradient();
}

template <class T>
void AttentionMixer<T>::forward_joined(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  linear(joined_->scores, X, pass_.q);
  pass_.k = X;
  linear(joined_->values, X, pass_.v);
  attention_.forward(pass_);
  Y.swap(pass_.H);
  if (o_ && o_->b) add_bias(*o_->b, Y);
}

template <class T>
void AttentionMixer<T>::backward_joined(const arma::Mat<T>& X, const arma::Mat<T>& dY,
                                        arma::Mat<T>& dX, Turns& turns) {
  attention_.backward(pass_, dY, dq_, dX, dv_);
  turns.take([&] {
    if (o_ && o_->b) bias_backward(*o_->b, dY);
    linear_backward_weights(joined_->scores, X, dq_);
    linear_backward_weights(joined_->values, X, dv_);
  });
  linear_backward_inputs(joined_->scores, dq_, dX, true);
  linear_backward_inputs(joined_->values, dv_, dX, true);
}

template <class T>
void AttentionMixer<T>::do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  if (joined_) return forward_joined(X, Y);
  q_.forward(X, pass_.q);
  k_.forward(X, pass_.k);
  v_.forward(X, pass_.v);
  relative_ ? relative_->forward(pass_) : attention_.forward(pass_);
  if (o_) {
    o_->forward(pass_.H, Y);
  } else {
    Y = pass_.H;
  }
}

template <class T>
void AttentionMixer<T>::do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                                    Turns& turns) {
  if (joined_) return backward_joined(X, dY, dX, turns);
  if (o_) {
    turns.take([&] { o_->backward(pass_.H, dY); });
    linear_backward_inputs(o_->W, dY, dH_);
  }
  const arma::Mat<T>& dH = o_ ? dH_ : dY;
  if (relative_) {
    turns.take([&] { relative_->backward(pass_, dH, dq_, dk_, dv_); });
  } else {
    attention_.backward(pass_, dH, dq_, dk_, dv_);
  }
  turns.take([&] {
    q_.backward(X, dq_);
    k_.backward(X, dk_);
    v_.backward(X, dv_);
  });
  linear_backward_inputs(q_.W, dq_, dX);
  linear_backward_inputs(k_.W, dk_, dX, true);
  linear_backward_inputs(v_.W, dv_, dX, true);
}

template class AttentionMixer<float>;
template class AttentionMixer<double>;

}  // namespace ranklab
