#include "experiments/rank_collapse/escalation_path.hpp"

#include <utility>

#include "models/block.hpp"
#include "models/transformer.hpp"

namespace ranklab {
namespace {

template <class T>
bool is_finite(const BlockPassage<T>& passage) {
  for (const auto& P : passage.P) {
    if (!P.is_finite()) return false;
  }
  for (const auto& Y : passage.steps) {
    if (!Y.is_finite()) return false;
  }
  return passage.X.is_finite();
}

// The norm `rows` leaves no other token at zero.
template <class T>
double zero_tokens(const arma::Mat<T>& Y) {
  return static_cast<double>(arma::accu(arma::sum(arma::abs(Y), 0) == 0));
}

template <class T>
double degenerate_rows(const ModelSpec& spec, const BlockPassage<T>& passage) {
  if (spec.norm != "rows") return 0;
  return zero_tokens(passage.steps[1]) + (spec.has_mlp() ? zero_tokens(passage.steps[3]) : 0);
}

}  // namespace

template <class T>
PathEnd follow_path(const EscalationConfig& config, const Trial& trial,
                    const std::function<void(std::uint64_t, const BlockPassage<T>&)>& visit) {
  const ModelSpec& spec = config.spec;
  PathEnd end;
  BlockPassage<T> passage;
  passage.X = draw_input<T>(spec, trial).Y;
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    DrawnTensors<T> tensors = block_tensors<T>(spec, trial, k);
    const TransformerWeights<T> weights = transformer_weights(spec, tensors);
    passage.P = attention_matrices(weights, passage.X, spec.heads);
    passage.steps = post_norm_steps(spec, weights, passage.X, passage.P, config.lambda);
    end.diverged = !is_finite(passage);
    if (end.diverged) break;
    end.degenerate_rows += degenerate_rows(spec, passage);
    visit(k, passage);
    passage.X = std::move(passage.steps[3]);
  }
  return end;
}

template PathEnd follow_path(const EscalationConfig&, const Trial&,
                             const std::function<void(std::uint64_t, const BlockPassage<float>&)>&);
template PathEnd follow_path(const EscalationConfig&, const Trial&,
                             const std::function<void(std::uint64_t, const BlockPassage<double>&)>&);

}  // namespace ranklab
