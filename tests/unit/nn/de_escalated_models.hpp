// Helpers for tests of the models of [Shallow] Section 3: shapes and batches, and de-escalation and
// attention written as loops.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "nn/sequence_models.hpp"

namespace de_escalated_models {

using namespace sequence_models;

inline constexpr MeanOver means[] = {MeanOver::segment, MeanOver::prefix, MeanOver::strict};
inline constexpr DeEscalation::At places[] = {DeEscalation::At::end, DeEscalation::At::feed_forward,
                                              DeEscalation::At::branch};

// Models ------------------------------------------------------------------------------------------

/// Post-norm blocks of Transformer-XL without its memory: two layers, two heads, sequences of five
/// ids out of seven.
inline SequenceShape language_shape() {
  SequenceShape shape = shape_of(MixerKind::attention);
  shape.activation = &find_activation("relu");
  shape.post = true;
  shape.heads = 2;
  shape.maps = {.output = false};
  shape.relative = shape.scaled_table = shape.output_bias = true;
  return shape;
}

/// Post-norm blocks of a vision Transformer: a class token and four tokens of three numbers, all
/// biases, four classes.
inline SequenceShape image_shape() {
  SequenceShape shape = classes_shape(MixerKind::attention);
  shape.activation = &find_activation("relu");
  shape.post = true;
  shape.heads = 2;
  shape.maps = {.output = true, .input_biases = true, .output_bias = true};
  shape.class_token = true;
  shape.final_norm = true;
  return shape;
}

inline const InitialWeights language_initial(Initialization::alg1, trial);
inline const InitialWeights image_initial(Initialization::torch, trial);

/// As batch_of(), but without numbers for the class tokens.
inline SequenceBatch<double> de_escalated_batch(const SequenceShape& shape,
                                                const std::string& name = "batch") {
  SequenceBatch<double> batch = batch_of(shape, false, name);
  if (shape.class_token) batch.values = batch.values.head_cols(3 * (shape.length - 1)).eval();
  return batch;
}

inline void for_each_de_escalation(SequenceShape shape,
                                   const std::function<void(const SequenceShape&)>& visit) {
  for (const DeEscalation::At at : places) {
    for (const MeanOver mean : means) {
      for (const double tau : {0.3, 1.0}) {
        shape.de_escalation =
            DeEscalation{.tau = tau, .mean = mean, .at = at, .length = shape.length};
        visit(shape);
      }
    }
  }
}

// By loops ----------------------------------------------------------------------------------------

/// D = I - tau C of one sequence, (T, T).
inline arma::mat de_escalation_matrix(const DeEscalation& of) {
  arma::mat D(of.length, of.length, arma::fill::eye);
  for (arma::uword i = 0; i < of.length; ++i) {
    for (arma::uword j = 0; j < of.length; ++j) {
      if (of.mean == MeanOver::segment) D(i, j) -= of.tau / static_cast<double>(of.length);
      if (of.mean == MeanOver::prefix && j <= i) D(i, j) -= of.tau / static_cast<double>(i + 1);
      if (of.mean == MeanOver::strict && j < i) D(i, j) -= of.tau / static_cast<double>(i);
    }
  }
  return D;
}

/// u, v (d, 1) and r_0 ... r_(T-1) (d, T).
struct RelativeTerms {
  arma::mat u, v, r;
};

/// Wr R_D for D = 0 ... T - 1.
inline arma::mat lags(const arma::mat& Wr, arma::uword length) {
  arma::mat R(Wr.n_cols, length);
  const double d = static_cast<double>(Wr.n_cols);
  for (arma::uword lag = 0; lag < length; ++lag) {
    for (arma::uword k = 0; 2 * k < Wr.n_cols; ++k) {
      const double frequency = std::pow(10000.0, -2 * static_cast<double>(k) / d);
      R(k, lag) = std::sin(static_cast<double>(lag) * frequency);
      R(Wr.n_cols / 2 + k, lag) = std::cos(static_cast<double>(lag) * frequency);
    }
  }
  return Wr * R;
}

/// P of one head of one sequence, (T, T): row i has the weights of token i. `relative` requires
/// causal attention.
inline arma::mat attention_weights(const arma::mat& q, const arma::mat& k, arma::uword heads,
                                   arma::uword head, bool causal, const RelativeTerms* relative) {
  const arma::uword width = q.n_rows / heads;
  arma::mat P(q.n_cols, q.n_cols, arma::fill::zeros);
  for (arma::uword i = 0; i < q.n_cols; ++i) {
    for (arma::uword j = 0; j < (causal ? i + 1 : q.n_cols); ++j) {
      double score = 0;
      for (arma::uword c = head * width; c < (head + 1) * width; ++c) {
        score += relative ? (q(c, i) + relative->u(c)) * k(c, j) +
                                (q(c, i) + relative->v(c)) * relative->r(c, i - j)
                          : q(c, i) * k(c, j);
      }
      P(i, j) = std::exp(score / std::sqrt(static_cast<double>(width)));
    }
    P.row(i) /= arma::accu(P.row(i));
  }
  return P;
}

/// H (d, T) of one sequence.
inline arma::mat attention(const arma::mat& q, const arma::mat& k, const arma::mat& v,
                           arma::uword heads, bool causal, const RelativeTerms* relative) {
  const arma::uword width = q.n_rows / heads;
  arma::mat H(arma::size(q));
  for (arma::uword head = 0; head < heads; ++head) {
    const arma::uword first = head * width, last = first + width - 1;
    H.rows(first, last) =
        v.rows(first, last) * attention_weights(q, k, heads, head, causal, relative).t();
  }
  return H;
}

}  // namespace de_escalated_models
