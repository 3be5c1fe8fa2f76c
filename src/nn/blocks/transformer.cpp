// The Transformer blocks of [Shallow]: post-norm (Algorithm 1) and pre-norm (eq. (19)), with h
// heads.
//
//   post-norm   Y1 = lambda X + alpha [P_1 X W_1 ... P_h X W_h],   Y2 = LN(Y1)
//               Y3 = Y2 + relu(Y2 U) V,   Y4 = LN(Y3)
//   pre-norm    Y  = lambda X + alpha [P_1 X^ W_1 ... P_h X^ W_h],   X^ = LN(X)
//               Z  = Y + relu(LN(Y) U) V
//   P_k = softmax over rows of (X W_q,k)(X W_k,k)' / sqrt(d), of X^ in pre-norm
//
// Tensors: `W_q`, `W_k`, `W` (d, d), where head k owns columns k d/h ... (k+1) d/h - 1; `U` (d, q),
// `V` (q, d). Entries of W_q and W_k are uniform on (-1, 1)/sqrt(d); U and V have PyTorch's default
// for linear maps. Without an MLP, U and V are empty.
#include "nn/blocks/transformer.hpp"

#include <cmath>
#include <utility>

#include "nn/blocks/attention.hpp"
#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

template <class T>
struct Weights {
  arma::Mat<T> W_q, W_k, W, U, V;

  Weights(const ModelSpec& spec, Tensors<T>& tensors)
      : W_q(tensors.matrix("W_q", spec.dim, spec.dim, EntryLaw::fan_in(spec.dim))),
        W_k(tensors.matrix("W_k", spec.dim, spec.dim, EntryLaw::fan_in(spec.dim))),
        W(tensors.matrix("W", spec.dim, spec.dim, value_start(spec))) {
    if (!spec.has_mlp()) return;
    U = tensors.matrix("U", spec.dim, spec.ffn, EntryLaw::fan_in(spec.dim));
    V = tensors.matrix("V", spec.ffn, spec.dim, EntryLaw::fan_in(spec.ffn));
  }

  // P_k' (N, N) of each head: column i holds the weights of token i. The logits are divided by
  // sqrt(d) in every head, as in the paper, not by sqrt(d / h). The state has a scale only without
  // a norm; then all other steps are homogeneous and keep the scale.
  std::vector<arma::Mat<T>> attention_of(const State<T>& state, std::uint64_t heads) const {
    const double scale =
        std::exp2(2 * state.log2_scale) / std::sqrt(static_cast<double>(state.Y.n_rows));
    return head_attention_matrices<T>(W_q.t() * state.Y, W_k.t() * state.Y, heads, scale);
  }

  // X + relu(Y U) V
  arma::Mat<T> feed_forward_step(const arma::Mat<T>& X, const arma::Mat<T>& Y) const {
    arma::Mat<T> Z = U.t() * Y;  // (q, N)
    for (T& z : Z) z = z > 0 ? z : T{0};
    return X + V.t() * Z;
  }
};

template <class T>
class PostNormBlock final : public SteppedBlock<T> {
 public:
  PostNormBlock(const ModelSpec& spec, Tensors<T>& tensors)
      : spec_(spec), weights_(spec, tensors) {}

  BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const override {
    State<T> state{X};
    return steps_of(state, lambda);
  }

  void forward(State<T>& state, double lambda) const override {
    state.Y = std::move(steps_of(state, lambda).Y[3]);
  }

 private:
  // Algorithm 1. Adds the number of tokens that a norm set to zero to the state's count.
  BlockSteps<T> steps_of(State<T>& state, double lambda) const {
    const Norm norm = find_norm(spec_.norm);
    const auto normalized = [&](const arma::Mat<T>& Y) {
      State<T> one{Y};
      one.normalize(norm);
      state.degenerate_rows += one.degenerate_rows;
      return std::move(one.Y);
    };
    BlockSteps<T> out{weights_.attention_of(state, spec_.heads), {}};
    auto& Y = out.Y;
    Y[0] = static_cast<T>(lambda) * state.Y +
           static_cast<T>(spec_.alpha) * mixed_heads<T>(weights_.W.t() * state.Y, out.P);
    Y[1] = normalized(Y[0]);
    Y[2] = spec_.has_mlp() ? weights_.feed_forward_step(Y[1], Y[1]) : Y[1];
    Y[3] = spec_.has_mlp() ? normalized(Y[2]) : Y[2];  // without an MLP there is no second norm
    return out;
  }

  ModelSpec spec_;
  Weights<T> weights_;
};

template <class T>
class PreNormBlock final : public Block<T> {
 public:
  PreNormBlock(const ModelSpec& spec, Tensors<T>& tensors) : spec_(spec), weights_(spec, tensors) {}

  void forward(State<T>& state, double lambda) const override {
    const Norm norm = find_norm(spec_.norm);
    const arma::Mat<T> X = state.Y;
    state.normalize(norm);
    const arma::Mat<T> mixed =
        mixed_heads<T>(weights_.W.t() * state.Y, weights_.attention_of(state, spec_.heads));
    // For [Shallow] Figure 4: the branch keeps its size while X grows.
    state.branch = {static_cast<double>(arma::norm(state.Y, "fro")),
                    static_cast<double>(arma::norm(mixed, "fro"))};
    const arma::Mat<T> Y = static_cast<T>(lambda) * X + static_cast<T>(spec_.alpha) * mixed;
    state.Y = Y;
    if (!spec_.has_mlp()) return;
    state.normalize(norm);
    state.Y = weights_.feed_forward_step(Y, state.Y);
  }

 private:
  ModelSpec spec_;
  Weights<T> weights_;
};

ModelRow transformer_row(const std::string& name, const std::string& title, bool has_steps,
                         const std::shared_ptr<const BlockMakers>& makers, DepthFigure figure) {
  return {.name = name,
          .title = title,
          .switches = {"mlp", "alpha", "weight-variance"},
          .has_heads = true,
          .has_steps = has_steps,
          .attends = true,
          .makers = makers,
          .parameters = [](const BlockSizes& s) { return 3 * s.d * s.d + 2 * s.d * s.q; },
          .flops = attention_flops,
          .figure = figure};
}

}  // namespace

EntryLaw value_start(const ModelSpec& spec) {
  // Differs from [Shallow]: N(0, 1/d) instead of the printed N(0, h/d), because only the former
  // reproduces its Figure 2.
  const double variance = (spec.weight_variance == "h/d" ? static_cast<double>(spec.heads) : 1.0) /
                          static_cast<double>(spec.dim);
  return EntryLaw::normal(std::sqrt(variance));
}

ModelRow post_norm_row() {
  return transformer_row("post-norm", "post-norm Transformer", true, makers_of<PostNormBlock>(),
                         DepthFigure::shallow_2);
}

ModelRow pre_norm_row() {
  return transformer_row("pre-norm", "pre-norm Transformer", false, makers_of<PreNormBlock>(),
                         DepthFigure::shallow_4);
}

}  // namespace ranklab
