#include "nn/mixers.hpp"

#include <algorithm>
#include <stdexcept>

#include "nn/layers/linear_attention.hpp"
#include "nn/layers/mamba1.hpp"
#include "nn/layers/mamba2.hpp"
#include "nn/layers/s4d.hpp"

namespace ranklab {
namespace {

double count(std::uint64_t n) {
  return static_cast<double>(n);
}

template <class T>
std::unique_ptr<Mixer<T>> make_attention(const SequenceShape& shape, const InitialWeights& initial,
                                         RelativeBiases<T>* relative) {
  const AttentionShape attention = {.heads = shape.heads,
                                    .context = shape.length,
                                    .causal = shape.causal,
                                    .rotary = shape.rotary,
                                    .qk_norm = shape.qk_norm,
                                    .norm_epsilon = shape.norm_epsilon};
  return std::make_unique<AttentionMixer<T>>(shape.dim, attention, initial, shape.maps, relative);
}

template <class T>
std::unique_ptr<Mixer<T>> make_linear_attention(const SequenceShape& shape,
                                                const InitialWeights& initial, RelativeBiases<T>*) {
  return std::make_unique<LinearAttentionMixer<T>>(shape.dim, shape.length, shape.causal, initial);
}

template <class T>
std::unique_ptr<Mixer<T>> make_mamba2(const SequenceShape& shape, const InitialWeights& initial,
                                      RelativeBiases<T>*) {
  return std::make_unique<Mamba2Mixer<T>>(shape.dim, shape.length, Mamba2Shape{}, initial);
}

template <class T>
std::unique_ptr<Mixer<T>> make_mamba1(const SequenceShape& shape, const InitialWeights& initial,
                                      RelativeBiases<T>*) {
  return std::make_unique<Mamba1Mixer<T>>(shape.dim, shape.length, Mamba1Shape{}, initial);
}

template <class T>
std::unique_ptr<Mixer<T>> make_s4d(const SequenceShape& shape, const InitialWeights& initial,
                                   RelativeBiases<T>*) {
  return std::make_unique<S4dMixer<T>>(shape.dim, shape.length, S4dShape{}, initial);
}

MixerCost attention_cost(const SequenceShape& shape) {
  const double d = count(shape.dim), length = count(shape.length), maps = shape.maps.output ? 4 : 3,
               lags = shape.relative ? 1 : 0;
  const bool joined =
      shape.mixer == MixerKind::attention && joins_maps(shape.heads, shape.maps, shape.relative);
  return {.weights = (joined ? 2 : maps) * d * d,
          .among_tokens = (2 + lags) * length * d,
          .kept = (9 + 3 * lags) * d + 2 * count(shape.heads) * length,
          .further_weights = (lags + (joined ? maps : 0)) * d * d};
}

MixerCost mamba2_cost(const SequenceShape& shape) {
  const Mamba2Shape of;
  const double d = count(shape.dim), length = count(shape.length), inner = 2 * d,
               n = count(of.state), heads = inner / count(of.head_width);
  return {d * (3 * inner + 2 * n + heads), length * (inner + n),
          10 * inner + 6 * n + 3 * heads * length, 6 * inner + 10 * n};
}

MixerCost mamba1_cost(const SequenceShape& shape) {
  constexpr double per_state = 12;  // an exponential and the products of one state
  const double d = count(shape.dim), inner = 2 * d, n = count(Mamba1Shape{}.state),
               r = count(step_rank(shape.dim));
  return {3 * d * inner + inner * (2 * r + 2 * n), per_state * inner * n,
          14 * inner + 2 * (r + 2 * n), inner * (7 + n)};
}

MixerCost s4d_cost(const SequenceShape& shape) {
  const double d = count(shape.dim), n = count(S4dShape{}.state);
  return {2 * d * d, count(shape.length) * d / 2, 10 * d, (2 * n + 4) * d};
}

}  // namespace

const std::vector<MixerRow>& mixer_rows() {
  using Recall = MixerRow::Recall;
  static const std::vector<MixerRow> rows = {
      {.kind = MixerKind::attention,
       .name = "attention",
       .always_causal = false,
       .needs_positions = true,
       .recall = Recall::solves,
       .make = {make_attention<float>, make_attention<double>},
       .cost = attention_cost},
      {.kind = MixerKind::linear_attention,
       .name = "linear-attention",
       .always_causal = false,
       .needs_positions = true,
       .recall = Recall::fails,
       .make = {make_linear_attention<float>, make_linear_attention<double>},
       .cost = attention_cost},
      {.kind = MixerKind::mamba2,
       .name = "mamba2",
       .always_causal = true,
       .needs_positions = false,
       .recall = Recall::solves,
       .make = {make_mamba2<float>, make_mamba2<double>},
       .cost = mamba2_cost},
      {.kind = MixerKind::mamba1,
       .name = "mamba1",
       .always_causal = true,
       .needs_positions = false,
       .recall = Recall::learns,
       .make = {make_mamba1<float>, make_mamba1<double>},
       .cost = mamba1_cost},
      {.kind = MixerKind::s4d,
       .name = "s4d",
       .always_causal = true,
       .needs_positions = false,
       .recall = Recall::unsaid,
       .make = {make_s4d<float>, make_s4d<double>},
       .cost = s4d_cost}};
  return rows;
}

const MixerRow& mixer_row(MixerKind kind) {
  return *std::find_if(mixer_rows().begin(), mixer_rows().end(),
                       [&](const MixerRow& row) { return row.kind == kind; });
}

const MixerRow& mixer_row(const std::string& name) {
  for (const MixerRow& row : mixer_rows()) {
    if (row.name == name) return row;
  }
  throw std::logic_error("unknown mixer: " + name);
}

bool SequenceShape::has_positions() const {
  return mixer_row(mixer).needs_positions && !relative && !rotary;
}

}  // namespace ranklab
