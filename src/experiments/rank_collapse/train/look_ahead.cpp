// Measures how much a language model's prediction depends on tokens after the predicting token. A
// causal model must not depend on them.
#include <algorithm>

#include "experiments/rank_collapse/train/train.hpp"
#include "nn/layers/cross_entropy.hpp"

namespace ranklab::train {
namespace {

constexpr std::size_t probed_batches = 8;
constexpr int probes = 2;  // per batch, to estimate ||d logits_t / d R_0||^2

using Columns = std::vector<arma::uword>;  // one token per sequence

/// One token per sequence, spread over all positions except the last, which no token follows.
Columns probed_tokens(arma::uword tokens, arma::uword length) {
  const arma::uword sequences = tokens / length;
  Columns probed;
  for (arma::uword b = 0; b < sequences; ++b)
    probed.push_back(b * length + (b * (length - 1)) / sequences);
  return probed;
}

/// Calls each(n) for every token n after t in the same sequence.
template <class Each>
void for_each_later(arma::uword t, arma::uword length, const Each& each) {
  for (arma::uword n = t + 1; n % length != 0; ++n) each(n);
}

double loss_at(SequenceModel<double>& model, const SequenceBatch<double>& batch,
               const Columns& probed) {
  model.forward(batch);
  arma::mat logits = model.logits().cols(arma::uvec(probed));
  std::vector<std::uint32_t> targets;
  for (const arma::uword t : probed) targets.push_back(batch.targets[t]);
  return cross_entropy(logits, targets, false);
}

/// The share of ||d logits_t / d R_0||_F^2 on tokens after t, estimated by E||J'z||^2 = ||J||_F^2
/// for random signs z.
double later_share(SequenceModel<double>& model, const SequenceBatch<double>& batch,
                   const Columns& probed, Stream& stream) {
  double later = 0, all = 0;
  model.forward(batch);
  for (int probe = 0; probe < probes; ++probe) {
    arma::mat signs(model.shape().vocabulary, batch.ids.size(), arma::fill::zeros);
    for (const arma::uword t : probed) {
      for (double& sign : signs.unsafe_col(t)) sign = stream.uniform() < 0.5 ? -1 : 1;
    }
    model.set_logit_gradient(signs);
    model.backward(batch);
    const arma::rowvec squares = arma::sum(arma::square(model.input_gradient()), 0);
    all += arma::accu(squares);
    for (const arma::uword t : probed)
      for_each_later(t, model.shape().length, [&](arma::uword n) { later += squares[n]; });
  }
  return later / all;
}

}  // namespace

LookAhead look_ahead(SequenceModel<double>& model, std::vector<SequenceBatch<double>> batches,
                     const Trial& trial) {
  if (batches.size() > probed_batches) batches.resize(probed_batches);
  const arma::uword length = model.shape().length;
  const double share = 1 / static_cast<double>(batches.size());
  Stream signs = trial.stream("probes");
  LookAhead out;
  double with_true_future = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    SequenceBatch<double> batch = batches[i];
    const Columns probed = probed_tokens(batch.ids.size(), length);
    out.gradient_share += share * later_share(model, batch, probed, signs);
    with_true_future += share * loss_at(model, batch, probed);
    // Replace later tokens by those of another batch, which are as likely as the true ones. Random
    // ids would be inputs unlike any training text.
    const std::vector<std::uint32_t>& other = batches[(i + 1) % batches.size()].ids;
    for (const arma::uword t : probed)
      for_each_later(t, length, [&](arma::uword n) { batch.ids[n] = other[n]; });
    out.loss += share * loss_at(model, batch, probed);
  }
  out.excess = out.loss - with_true_future;
  return out;
}

}  // namespace ranklab::train
