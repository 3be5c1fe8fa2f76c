#include "nn/layers/skip_block.hpp"

#include "nn/layers/activation.hpp"
#include "nn/layers/linear.hpp"

namespace ranklab {

template <class T>
SkipBlock<T>::SkipBlock(const SkipBlockShape& shape, std::unique_ptr<Mixer<T>> mixer,
                        const InitialWeights& initial)
    : shape_(shape),
      mixer_(std::move(mixer)),
      lambda_(initial.without_decay<T>("lambda", 1, 1, EntryLaw::constant(shape.lambda))),
      tau_(initial.without_decay<T>(
          "tau", 1, 1, EntryLaw::constant(shape.de_escalation ? shape.de_escalation->tau : 0))),
      norm1_(shape.norms(), shape.dim, initial.of("norm1")) {
  lambda_.rate = shape.lambda_rate;
  if (shape.de_escalation) tau_.rate = shape.de_escalation->tau_rate;
  const std::uint64_t d = shape.dim, w = shape.hidden;
  if (w == 0) return;
  net_.emplace(FeedForwardParameters<T>{{shape.norms(), d, initial.of("norm2")},
                                        initial.map<T>("W1", w, d),
                                        initial.map_into_stream<T>("W2", d, w),
                                        {},
                                        {},
                                        {}});
  if (shape.net_biases) {
    net_->b1 = initial.bias<T>("b1", w, d);
    net_->b2 = initial.bias<T>("b2", d, w);
  }
  if (shape.activation->gated) net_->Wg = initial.map<T>("Wg", w, d);
}

template <class T>
std::vector<Parameter<T>*> SkipBlock<T>::parameters() {
  std::vector<Parameter<T>*> out = norm1_.parameters();
  const auto add = [&](const std::vector<Parameter<T>*>& more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  add(mixer_->parameters());
  if (shape_.learns_lambda) out.push_back(&lambda_);
  if (shape_.de_escalation && shape_.de_escalation->learns_tau) out.push_back(&tau_);
  if (net_) {
    add(net_->norm.parameters());
    out.push_back(&net_->W1);
    if (net_->b1) out.push_back(&*net_->b1);
    out.push_back(&net_->W2);
    for (auto* other : {&net_->b2, &net_->Wg}) {
      if (*other) out.push_back(&**other);
    }
  }
  return out;
}

namespace {

template <class T>
void scale(arma::Mat<T>& X, T factor) {
  if (factor != 1) X *= factor;
}

}  // namespace

// Feed-forward net --------------------------------------------------------------------------------

/// out += F(X)
template <class T>
void SkipBlock<T>::feed_forward(const arma::Mat<T>& X, arma::Mat<T>& out) {
  linear(net_->W1, X, Z_);
  if (net_->b1) add_bias(*net_->b1, Z_);
  if (net_->Wg) linear(*net_->Wg, X, gate_);
  activate(*shape_.activation, Z_, net_->Wg ? &gate_ : nullptr, S_);
  linear(net_->W2, S_, out, true);
  if (net_->b2) add_bias(*net_->b2, out);
}

/// Computes the gradients of F's weights, and dX = F'(X) dout.
template <class T>
void SkipBlock<T>::feed_forward_backward(const arma::Mat<T>& X, const arma::Mat<T>& dout,
                                         arma::Mat<T>& dX, Turns& turns) {
  turns.take([&] {
    if (net_->b2) bias_backward(*net_->b2, dout);
    linear_backward_weights(net_->W2, S_, dout);
  });
  linear_backward_inputs(net_->W2, dout, dS_);
  if (net_->Wg) gate_ %= dS_;
  activate_backward(*shape_.activation, Z_, dS_);
  turns.take([&] {
    if (net_->b1) bias_backward(*net_->b1, dS_);
    linear_backward_weights(net_->W1, X, dS_);
    if (net_->Wg) linear_backward_weights(*net_->Wg, X, gate_);
  });
  linear_backward_inputs(net_->W1, dS_, dX);
  if (net_->Wg) linear_backward_inputs(*net_->Wg, gate_, dX, true);
}

// Block -------------------------------------------------------------------------------------------

template <class T>
void SkipBlock<T>::branch(const arma::Mat<T>& R, arma::Mat<T>& out) {
  if (!shape_.post) {
    norm1_.forward(R, A_);
    remove_mean(DeEscalation::At::branch, mixer_removal_, A_);
  }
  mixer_->forward(shape_.post ? R : A_, out);
}

template <class T>
void SkipBlock<T>::forward(const arma::Mat<T>& R, arma::Mat<T>& out, const Columns* columns) {
  const T lambda = lambda_.W(0);
  arma::Mat<T>&to_middle = shape_.post ? sum_ : middle_, &mixed = columns ? mixed_ : to_middle;
  branch(R, mixed);
  mixed += lambda * R;
  if (columns) look_up(mixed, *columns, to_middle);
  if (shape_.post) {
    norm1_.forward(sum_, middle_);
    remove_mean(DeEscalation::At::feed_forward, removal_, middle_);
  }
  forward_net(out);
}

template <class T>
void SkipBlock<T>::forward_net(arma::Mat<T>& out) {
  const T c = at_feed_forward();
  if (!net_) {
    out = middle_;
  } else if (shape_.post) {
    sum_ = c * middle_;
    if (de_escalates(DeEscalation::At::branch)) {
      Am_ = middle_;
      remove_mean(DeEscalation::At::branch, removal_, Am_);
      feed_forward(Am_, sum_);
    } else {
      feed_forward(middle_, sum_);
    }
    net_->norm.forward(sum_, out);
  } else {
    net_->norm.forward(middle_, Am_);
    remove_mean(DeEscalation::At::branch, removal_, Am_);
    out = c * middle_;
    feed_forward(Am_, out);
  }
  remove_mean(DeEscalation::At::end, removal_, out);
}

template <class T>
void SkipBlock<T>::backward(const arma::Mat<T>& R, arma::Mat<T>& dR, const Columns* columns,
                            Turns& turns) {
  if (shape_.learns_lambda || (shape_.de_escalation && shape_.de_escalation->learns_tau)) {
    // Several steps add to the gradient of a learned lambda or tau.
    Turns within;
    turns.take([&] { backward_in_turns(R, dR, columns, within); });
  } else {
    backward_in_turns(R, dR, columns, turns);
  }
}

template <class T>
void SkipBlock<T>::backward_in_turns(const arma::Mat<T>& R, arma::Mat<T>& dR,
                                     const Columns* columns, Turns& turns) {
  const T lambda = lambda_.W(0), c = at_feed_forward();
  const auto at_lambda = [&](const arma::Mat<T>& dout, const arma::Mat<T>& of) {
    if (shape_.learns_lambda) lambda_.G(0) += arma::dot(dout, of);
  };
  remove_mean_backward(DeEscalation::At::end, removal_, dR);
  // From R+ to R', in place.
  if (net_ && shape_.post) {
    sum_.zeros(dR.n_rows, dR.n_cols);
    turns.take([&] { net_->norm.backward(dR, sum_); });
    const bool at_branch = de_escalates(DeEscalation::At::branch);
    feed_forward_backward(at_branch ? Am_ : middle_, sum_, dR, turns);
    remove_mean_backward(DeEscalation::At::branch, removal_, dR);
    dR += c * sum_;
    if (shape_.lambda_at_both) at_lambda(sum_, middle_);
  } else if (net_) {
    feed_forward_backward(Am_, dR, dA_, turns);
    if (shape_.lambda_at_both) at_lambda(dR, middle_);
    scale(dR, c);
    remove_mean_backward(DeEscalation::At::branch, removal_, dA_);
    turns.take([&] { net_->norm.backward(dA_, dR); });
  }
  // From R' to R.
  const arma::Mat<T>* dmixed = &dR;
  if (shape_.post) {
    remove_mean_backward(DeEscalation::At::feed_forward, removal_, dR);
    sum_.zeros(arma::size(dR));
    turns.take([&] { norm1_.backward(dR, sum_); });
    dmixed = &sum_;
  }
  if (columns) {
    mixed_.zeros(arma::size(R));
    look_up_backward(*columns, *dmixed, mixed_);
    dmixed = &mixed_;
  }
  at_lambda(*dmixed, R);
  if (shape_.post) {
    mixer_->backward(R, *dmixed, dR, turns);
    dR += lambda * *dmixed;
  } else {
    mixer_->backward(A_, *dmixed, dA_, turns);
    if (dmixed != &dR) dR = *dmixed;
    scale(dR, lambda);
    remove_mean_backward(DeEscalation::At::branch, mixer_removal_, dA_);
    turns.take([&] { norm1_.backward(dA_, dR); });
  }
}

template class SkipBlock<float>;
template class SkipBlock<double>;

}  // namespace ranklab
