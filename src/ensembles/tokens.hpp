// Token sequences with Zipf frequencies, and the two matrices of a sequence in [Spectral] Section
// 2.2.1.
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace ranklab {

/// p_j proportional to j^(-exponent), j = 1 ... vocabulary.
class ZipfLaw {
 public:
  /// Throws UsageError for an empty vocabulary.
  ZipfLaw(std::uint64_t vocabulary, double exponent);

  std::uint64_t vocabulary() const { return cumulative_.size(); }
  /// p_j of token id j - 1; ids count from 0.
  double probability(std::uint64_t id) const;
  /// 1 / p of the most probable token.
  double inverse_p_max() const;
  /// Expected number of distinct tokens among `count` independent ones.
  double expected_distinct(double count) const;
  /// `count` independent token ids.
  std::vector<std::uint32_t> draw(std::size_t count, Stream& stream) const;

 private:
  std::vector<double> cumulative_;  // unnormalized: sum of j^(-exponent) up to and including the id
  double exponent_;
};

/// `count` independent token ids, uniform below `vocabulary`.
std::vector<std::uint32_t> draw_ids(std::uint64_t vocabulary, std::size_t count, Stream& stream);

/// The distinct tokens of a sequence in ascending order, their counts, and the index of each
/// position's token among them.
struct TokenCounts {
  std::vector<std::uint32_t> id;
  std::vector<std::uint32_t> count;
  std::vector<std::uint32_t> index;  // per position: index into id

  std::size_t length() const { return index.size(); }
  /// Relative frequency of the most frequent token.
  double p_max() const;
};

TokenCounts count_tokens(const std::vector<std::uint32_t>& tokens);

/// st(H) of the token indicator H (vocabulary x n, column t is the basis vector of token t), by
/// power iteration on H'H using only products with H: it does not count tokens. By [Spectral] eq.
/// (2.15) it is 1 / p_max.
double indicator_stable_rank(const std::vector<std::uint32_t>& tokens);

/// Columns of E for the distinct tokens: d x m, entries N(0, 1). The columns of E are independent
/// and identically distributed, so drawing only those that occur does not change the law of X.
arma::mat draw_embedding(std::size_t d, const TokenCounts& counts, Stream& stream);

/// Columns of E scaled to norm sqrt(d): RMSNorm without an epsilon. Zero columns stay zero.
arma::mat rms_normalized_columns(const arma::mat& E);

/// X X' = sum_j c_j e_j e_j' (d x d) of the embedded sequence X (d x n), computed from the distinct
/// tokens.
arma::mat embedded_gram(const arma::mat& E, const TokenCounts& counts);

}  // namespace ranklab
