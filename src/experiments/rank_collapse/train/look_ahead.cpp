// Does a language model's answer depend on the tokens after the one that it answers for? A causal one's must not.
#include <algorithm>

#include "experiments/rank_collapse/train/train.hpp"
#include "training/layers/cross_entropy.hpp"

namespace ranklab::train {
namespace {

constexpr std::size_t batches_asked = 8;
constexpr int probes = 2;  // of each batch, for the estimate of ||d logits_t / d R_0||^2

using Asked = std::vector<arma::uword>;  // columns, one of each sequence

/// Spread over the sequences' places but for the last, which no token follows.
Asked tokens_to_ask(arma::uword tokens, arma::uword length) {
  const arma::uword sequences = tokens / length;
  Asked asked;
  for (arma::uword b = 0; b < sequences; ++b) asked.push_back(b * length + (b * (length - 1)) / sequences);
  return asked;
}

/// each(n) for the tokens n after t in its sequence.
template <class Each>
void for_each_later(arma::uword t, arma::uword length, const Each& each) {
  for (arma::uword n = t + 1; n % length != 0; ++n) each(n);
}

double loss_at(SequenceModel<double>& model, const SequenceBatch<double>& batch, const Asked& asked) {
  model.forward(batch);
  arma::mat logits = model.logits().cols(arma::uvec(asked));
  std::vector<std::uint32_t> targets;
  for (const arma::uword t : asked) targets.push_back(batch.targets[t]);
  return cross_entropy(logits, targets, false);
}

/// The share of ||d logits_t / d R_0||_F^2 on tokens after t: E||J'z||^2 = ||J||_F^2 for random signs z.
double later_share(SequenceModel<double>& model, const SequenceBatch<double>& batch, const Asked& asked, Stream& stream) {
  double later = 0, all = 0;
  model.forward(batch);
  for (int probe = 0; probe < probes; ++probe) {
    arma::mat signs(model.shape().vocabulary, batch.ids.size(), arma::fill::zeros);
    for (const arma::uword t : asked) {
      for (double& sign : signs.unsafe_col(t)) sign = stream.uniform() < 0.5 ? -1 : 1;
    }
    model.take_logit_gradient(signs);
    model.backward(batch);
    const arma::rowvec squares = arma::sum(arma::square(model.input_gradient()), 0);
    all += arma::accu(squares);
    for (const arma::uword t : asked) for_each_later(t, model.shape().length, [&](arma::uword n) { later += squares[n]; });
  }
  return later / all;
}

}  // namespace

LookAhead look_ahead(SequenceModel<double>& model, std::vector<SequenceBatch<double>> batches, const Trial& trial) {
  if (batches.size() > batches_asked) batches.resize(batches_asked);
  const arma::uword length = model.shape().length;
  const double share = 1 / static_cast<double>(batches.size());
  Stream signs = trial.stream("probes");
  LookAhead out;
  double with_true_future = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    SequenceBatch<double> batch = batches[i];
    const Asked asked = tokens_to_ask(batch.ids.size(), length);
    out.gradient_share += share * later_share(model, batch, asked, signs);
    with_true_future += share * loss_at(model, batch, asked);
    // As likely a text as the true one: ids at random would be an input that no model has seen.
    const std::vector<std::uint32_t>& other = batches[(i + 1) % batches.size()].ids;
    for (const arma::uword t : asked) for_each_later(t, length, [&](arma::uword n) { batch.ids[n] = other[n]; });
    out.loss += share * loss_at(model, batch, asked);
  }
  out.excess = out.loss - with_true_future;
  return out;
}

}  // namespace ranklab::train
