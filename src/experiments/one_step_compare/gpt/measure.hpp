// The ranks at one step: stable ranks of the activations, nuclear ranks of the gradients.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {

/// Second moments of activations, summed over batches. In double precision, because small singular
/// values are lost in a single-precision Gram matrix.
class Moments {
 public:
  /// Whether the share of the mean token is a result.
  enum class MeanShare { left_out, reported };

  /// Adds the second moment of A (k, N). Threads may add to different names at the same time.
  template <class T>
  void add(const std::string& name, const arma::Mat<T>& A, MeanShare share = MeanShare::left_out);
  /// Adds to the counts of each id, which are the diagonal of the indicator's second moment.
  void count(const std::vector<std::uint32_t>& ids, std::uint64_t vocabulary);

  /// st(A), from the second moment.
  double stable_rank(const std::string& name) const;
  /// N ||mean of the columns||^2 / ||A||_F^2: the share of ||A||_F^2 that is common to all tokens.
  double mean_share(const std::string& name) const;
  bool reports_mean_share(const std::string& name) const {
    return of_.at(name).share == MeanShare::reported;
  }
  /// [Spectral] eq. (2.15): the stable rank of the indicator is N / the largest count.
  double indicator() const;
  std::vector<std::string> names() const;
  arma::mat second_moment(const std::string& name) const {
    return arma::symmatu(of_.at(name).gram);
  }
  const std::vector<double>& counts() const { return counts_; }
  double tokens() const { return tokens_; }

 private:
  struct SecondMoment {
    arma::mat gram;  // A A', upper triangle only
    arma::vec sum;   // of the columns
    MeanShare share = MeanShare::left_out;
  };
  SecondMoment& moment_of(const std::string& name);

  std::map<std::string, SecondMoment> of_;
  std::mutex names_;  // guards insertions into of_
  std::vector<double> counts_;
  double tokens_ = 0;
};

/// Adds the activations of the last forward pass, which was that of `batch`: A, Am, H, Z, S of each
/// layer, Af, the embedded tokens, and the token counts. Each of them takes a turn, so that parts
/// on other threads add theirs at the same time.
template <class T>
void add_activations(const SequenceModel<T>& model, const SequenceBatch<T>& batch, Turns& turns,
                     Moments& moments);

/// Adds to the columns of rank_series() that are measured on `text`: stable ranks, mean shares of A
/// and S, nuclear ranks and norms of the gradients in `model`, and the ratios nr/st. The nuclear
/// rank of a zero gradient is NaN.
template <class T>
void add_ranks(const SequenceModel<T>& model, const Moments& moments, MeasuredOn text,
               Track& track);

}  // namespace ranklab::gpt
