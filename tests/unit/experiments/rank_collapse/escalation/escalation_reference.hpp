// A second implementation of [Shallow] Algorithm 1, in the paper's layout (tokens in rows), with
// one loop per equation.
#pragma once

#include <armadillo>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"

namespace escalation_reference {

struct ReferenceBlock {
  arma::mat X;               // (N, d)
  std::vector<arma::mat> P;  // (N, N)
  std::array<arma::mat, 4> Y;
};

inline arma::mat normal(std::uint64_t trial, const std::string& name, arma::uword rows,
                        arma::uword columns, double std) {
  arma::mat drawn(rows, columns);
  ranklab::Stream(1, trial, name).fill_normal({drawn.memptr(), drawn.n_elem}, std);
  return drawn;
}

inline arma::mat uniform(std::uint64_t trial, const std::string& name, arma::uword rows,
                         arma::uword columns) {
  arma::mat drawn(rows, columns);
  const double bound = 1 / std::sqrt(static_cast<double>(rows));
  ranklab::Stream(1, trial, name).fill_uniform({drawn.memptr(), drawn.n_elem}, -bound, bound);
  return drawn;
}

inline arma::mat layer_normalized(arma::mat X) {
  for (arma::uword i = 0; i < X.n_rows; ++i) {
    const double mean = arma::mean(X.row(i)), variance = arma::mean(arma::square(X.row(i) - mean));
    X.row(i) = (X.row(i) - mean) / std::sqrt(variance + 1e-5);
  }
  return X;
}

// The attention matrix of step 0 for one head.
inline arma::mat attention(const arma::mat& X, const arma::mat& W_q, const arma::mat& W_k) {
  arma::mat P = arma::exp(X * W_q * (X * W_k).t() / std::sqrt(static_cast<double>(X.n_cols)));
  P.each_col() /= arma::sum(P, 1);
  return P;
}

// The blocks of a trial at seed 1, with alpha = lambda = 1, entries of W of variance 1/d, and a
// feed-forward width of 2d.
inline std::vector<ReferenceBlock> path(arma::uword N, arma::uword d, arma::uword heads,
                                        std::uint64_t layers, std::uint64_t trial) {
  std::vector<ReferenceBlock> blocks;
  arma::mat X = normal(trial, "X", d, N, 1.0).t();
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    const std::string at = "layer" + std::to_string(layer) + ".";
    const arma::mat W_q = uniform(trial, at + "W_q", d, d), W_k = uniform(trial, at + "W_k", d, d),
                    W = normal(trial, at + "W", d, d, 1 / std::sqrt(static_cast<double>(d)));
    ReferenceBlock block;
    block.X = X;
    block.Y[0] = X;
    for (arma::uword k = 0; k < heads; ++k) {
      const arma::uword first = k * d / heads, last = (k + 1) * d / heads - 1;
      block.P.push_back(attention(X, W_q.cols(first, last), W_k.cols(first, last)));
      block.Y[0].cols(first, last) += block.P.back() * X * W.cols(first, last);
    }
    block.Y[1] = layer_normalized(block.Y[0]);
    const arma::mat hidden =
        arma::clamp(block.Y[1] * uniform(trial, at + "U", d, 2 * d), 0, arma::datum::inf);
    block.Y[2] = block.Y[1] + hidden * uniform(trial, at + "V", 2 * d, d);
    block.Y[3] = layer_normalized(block.Y[2]);
    X = block.Y[3];
    blocks.push_back(std::move(block));
  }
  return blocks;
}

inline arma::mat shared_projection(arma::uword N) {
  return arma::mat(N, N, arma::fill::ones) / static_cast<double>(N);
}
inline double shared(const arma::mat& X) {
  return arma::accu(arma::square(shared_projection(X.n_rows) * X));
}
inline double rest(const arma::mat& X) {
  return arma::accu(arma::square(X - shared_projection(X.n_rows) * X));
}
inline double similarity(const arma::mat& X) {
  return shared(X) / arma::accu(arma::square(X));
}
inline double xi_ratio(const arma::mat& X, const arma::mat& Y) {
  return shared(Y) / shared(X) / (rest(Y) / rest(X));
}

// Means over the heads of a block, by definitions (10) and (12).
inline double mean_omega(const ReferenceBlock& block) {
  const double heads = static_cast<double>(block.P.size());
  const arma::mat deviations = block.X - shared_projection(block.X.n_rows) * block.X;
  double sum = 0;
  for (const arma::mat& P : block.P) {
    sum += arma::norm(arma::rowvec(arma::sum(P, 0) * deviations)) /
           arma::norm(arma::rowvec(arma::sum(block.X, 0))) / heads;
  }
  return sum;
}
inline double mean_delta(const ReferenceBlock& block) {
  double sum = 0;
  for (const arma::mat& P : block.P) {
    sum += arma::svd(arma::mat(P - shared_projection(P.n_rows) * P)).max() /
           static_cast<double>(block.P.size());
  }
  return sum;
}
inline double mean_mu_squared(const ReferenceBlock& block, double (*part)(const arma::mat&)) {
  double sum = 0;
  for (const arma::mat& P : block.P)
    sum += part(P * block.X) / part(block.X) / static_cast<double>(block.P.size());
  return sum;
}

}  // namespace escalation_reference
