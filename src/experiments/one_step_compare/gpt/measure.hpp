// What is measured at one step: stable ranks of the activations, nuclear ranks of the gradients,
// and the largest loss decrease of one step along G and along polar(G), block by block.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

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

/// Writes recording_file() in the format of python/ranklab/record.py: for every block, the second
/// moment of its input and its gradient. Throws Failure.
template <class T>
void save_recording(const SequenceModel<T>& model, const Moments& moments,
                    const std::string& folder, std::uint64_t step);

// Single steps ------------------------------------------------------------------------------------

/// Ratios of the best loss decrease along polar(G) to the best along G. A ratio of one block is NaN
/// if one of its decreases is below 1e-4 of the loss, which happens on a batch that did not give G.
/// A joint ratio is NaN if one of the directions does not decrease the loss.
struct StepRatios {
  std::vector<double> predicted;                 // nr / st of each block
  std::vector<double> by_curvature;              // of the quadratic model; NaN for the embedding
  std::vector<double> on_batch, on_independent;  // of each block
  double joint_on_batch,
      joint_on_independent;  // all hidden blocks at once, with the steps of Section 1.2.1
};

/// `model` holds the gradients of `batch` in its parameters, and `moments` are those of the batch.
/// The weights are changed and restored. Blocks in order: those of each layer, then head and
/// embedding.
template <class T>
StepRatios step_ratios(SequenceModel<T>& model, const SequenceBatch<T>& batch,
                       const SequenceBatch<T>& independent, const Moments& moments,
                       const Trial& trial);

/// The step > 0 with the largest decrease f(0) - f(step) that a line search finds. It starts at
/// `first`, doubles the step until f rises (or halves it until f falls), and then refines it at
/// most twice by the vertex of the parabola through the best step and its neighbors. NaN if 40
/// halvings find no decrease.
struct Step {
  double size, decrease;
};
Step best_step(const std::function<double(double)>& f, double at_0, double first);

/// The best step along -polar(G), by the gradient G of the parameter. `loss` computes the loss of
/// the current weights, which are restored; at_0 is the loss of the weights now.
template <class T>
double best_polar_step(Parameter<T>& parameter, double at_0, const std::function<double()>& loss);

}  // namespace ranklab::gpt
