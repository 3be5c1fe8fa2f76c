// The ranks of one step: stable ranks of what the maps of the model multiply, nuclear ranks of the gradients.
#pragma once

#include <map>
#include <string>

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// Second moments of activations, added up over batches. In double: a Gram matrix of floats would spoil small singular values.
class Moments {
 public:
  /// Of A (k, N).
  template <class T>
  void add(const std::string& name, const arma::Mat<T>& A);
  /// How often each id occurs: the diagonal of the indicator's second moment.
  void count(const std::vector<std::uint32_t>& ids, std::uint64_t vocabulary);

  /// st(A), from the second moment.
  double stable_rank(const std::string& name) const;
  /// N ||mean of the columns||^2 / ||A||_F^2: the share of A that all tokens have in common.
  double mean_share(const std::string& name) const;
  /// [Spectral] eq. (2.15): that of the indicator is N / the largest count.
  double indicator() const;
  std::vector<std::string> names() const;
  arma::mat second_moment(const std::string& name) const { return arma::symmatu(of_.at(name).gram); }
  const std::vector<double>& counts() const { return counts_; }
  double tokens() const { return tokens_; }

 private:
  struct Moment {
    arma::mat gram;  // A A', the upper triangle alone
    arma::vec sum;   // of the columns
  };
  std::map<std::string, Moment> of_;
  std::vector<double> counts_;
  double tokens_ = 0;
};

/// Adds A, Am, H, Z, S of each layer, Af, the embedding and the counts of a pass.
template <class T>
void add_activations(const Gpt<T>& model, const TokenBatch& batch, const GptPass<T>& pass, Moments& moments);

/// Appends to the series of a run, each behind `prefix`: stable ranks, mean shares of A and S, nuclear ranks and norms of the
/// gradients in `model`, and their ratios. NaN for the nuclear rank of a zero gradient.
template <class T>
void append_ranks(const Gpt<T>& model, const Moments& moments, const std::string& prefix,
                  std::map<std::string, std::vector<double>>& series);

}  // namespace ranklab::gpt
