// `one-step-compare --study curvature`: the curvature of the loss of a small network along
// gradients and their polar factors, and its bound by layers, over training ([Spectral]
// Sections 4.1 to 4.4). Here: the flags, what a trial records, and the functions from a trial to
// the result.
#pragma once

#include "core/track.hpp"
#include "data/corpus.hpp"
#include "experiments/kit.hpp"
#include "experiments/one_step_compare/curvature/layered.hpp"
#include "nn/optimizer.hpp"
#include "nn/sequence_model.hpp"

namespace ranklab::curvature {

struct Config {
  std::string model = "mlp";           // or transformer: decoder blocks on text
  std::string activation = "tanh";     // a smooth one
  std::string loss = "cross-entropy";  // or squares
  std::uint64_t layers = 4;            // L, weight matrices; of a transformer: blocks
  std::uint64_t d = 32;                // input dimension; of a transformer: its width
  std::uint64_t width = 64;            // units of each hidden layer
  std::uint64_t classes = 10;          // outputs
  std::uint64_t n = 256;               // samples; of a transformer: tokens
  std::uint64_t steps = 300;           // of training with all samples
  std::string optimizer = "adam";
  double lr = 0.01;
  std::vector<std::uint64_t> measure_steps = {0, 4, 32, 300};
  std::uint64_t directions = 20;  // random directions at each of them

  std::vector<Field> flags();
  void fill_defaults();
  void check() const;
  Estimate memory() const;

  bool is_transformer() const { return model == "transformer"; }
  /// The weight matrices: "layer1" ... of a network; "Wq" ... or "block1.Wq" ... of a transformer.
  std::vector<std::string> matrices() const;
};

// Statements that trials count --------------------------------------------------------------------

inline const Inequality first_order{
    {"spectral/lemma-4.1", "spectral/lemma-4.1", "Lemma 4.1, eq. (4.1)",
     "||U||_F <= Gamma ||B||_F: the change of all pre-activations along a direction"},
    "lemma_4.1.violations"};
inline const Inequality second_order{
    {"spectral/lemma-4.2", "spectral/lemma-4.2", "Lemma 4.2, eq. (4.2)",
     "The second derivative of all pre-activations along a direction is at most the printed sum"},
    "lemma_4.2.violations"};
inline const Inequality hessian_bound{
    {"spectral/prop-4.3", "spectral/prop-4.3", "Proposition 4.3, eqs. (4.4) and (4.5)",
     "|<D, Hessian D>| <= C_F sum ||D_l A_(l-1)||_F^2 + C_op sum ||D_l||_op^2"},
    "prop_4.3.violations"};
inline const Inequality euclidean_decrease{
    {"spectral/eq-4.14", "spectral/eq-4.14", "Section 4.4, eq. (4.14)",
     "In the quadratic model, the Euclidean step with the printed lengths lowers the loss by at "
     "least the printed decrease"},
    "eq_4.14.violations"};
inline const Inequality spectral_decrease{
    {"spectral/eq-4.15", "spectral/eq-4.15", "Section 4.4, eq. (4.15)",
     "In the quadratic model, the spectral step with the printed lengths lowers the loss by at "
     "least the printed decrease"},
    "eq_4.15.violations"};

inline const std::vector<const Inequality*> counted_statements = {
    &first_order, &second_order, &hessian_bound, &euclidean_decrease, &spectral_decrease};

// What a trial records: arrays over the measured steps --------------------------------------------

/// A direction of all layers at once.
inline const std::vector<std::string> joint_directions = {"gradient", "polar"};
/// Of a joint direction: the right side of (4.4) over |<D, Hessian D>|; the sum of the curvatures
/// of single layers over that of all together; the part D^2 f[U, U] of it.
inline std::string looseness_of(const std::string& direction) {
  return direction + ".bound_over_curvature";
}
inline std::string own_share_of(const std::string& direction) {
  return direction + ".own_share";
}
inline std::string gauss_newton_share_of(const std::string& direction) {
  return direction + ".gauss_newton_share";
}

// Of each weight matrix. For a step along G and one along polar(G) with the best lengths, the
// quadratic model gives the ratio of the decreases
//   advantage = nr/st x slack x constant
//   slack     how much tighter ||D A||_F <= ||D||_op ||A||_F is for polar(G) than
//             ||D A||_F <= ||D||_F ||A||_op is for G, as a factor
//   constant  the curvature per ||D A||_F^2 along G over that along polar(G)
// (1.8) takes slack and constant as 1.
inline std::string of_matrix(const std::string& matrix, const std::string& what) {
  return matrix + "." + what;
}
inline constexpr char advantage[] = "advantage", rank_ratio[] = "ratio", slack[] = "slack",
                      constant[] = "constant";
inline constexpr char diverged_name[] = "diverged";  // 1 or 0
/// The largest share of its bound that a trained network shows, in the cases of one statement.
inline std::string largest_share_of(const Inequality& statement) {
  return statement.id + ".largest_share";
}
inline constexpr char loss_of_step[] = "loss", C_F_of_step[] = "C_F", C_op_of_step[] = "C_op";

/// Multiples of n at which C_F is computed before training. At fixed operator norms, neither C_F
/// nor C_op contains a width.
inline const std::vector<double> multiples = {0.5, 1, 2, 4};
inline constexpr char C_F_over_n[] = "C_F.over_n";

/// All series of a trial. Those over steps have NaN at a step at which the training has diverged or
/// a matrix has no gradient.
std::vector<Column> columns_of(const Config& config);

/// A model at one step of training: its weight matrices with their gradients and inputs.
class MeasuredModel {
 public:
  virtual ~MeasuredModel() = default;
  const Blocks& G() const { return G_; }
  const Blocks& A() const { return A_; }  // inputs (k, n)
  double loss() const { return loss_; }
  /// Derivatives along D: at least B, slope and curvature.
  virtual Along along(const Blocks& D) = 0;
  /// Sets what only this model knows of a joint direction, at the i-th measured step.
  virtual void measure_joint(const std::string&, const Along&, std::size_t, Track&) const {}

 protected:
  Blocks G_, A_;
  double loss_ = 0;
};

/// Sets what is measured of any model at the i-th measured step: the loss, joint directions,
/// matrices.
void measure_matrices(const Config& config, MeasuredModel& model, std::size_t i, Track& track);

inline double squares(const arma::mat& M) {
  return arma::dot(M, M);
}
Rule rule_of(const std::string& optimizer);

/// The weights inside the blocks of a GPT, on one batch. The model must outlive the result, which
/// changes its weights and restores them. The curvature is a difference of gradients.
std::unique_ptr<MeasuredModel> measured_transformer(SequenceModel<double>& model,
                                                    const SequenceBatch<double>& batch);

/// Trains a transformer on a text, on the same tokens at every step, and measures it.
TrialRecord run_transformer_trial(const Config& config, const Corpus& corpus, const Trial& trial);
/// Tokens of a sequence.
inline constexpr std::uint64_t context = 32;

/// The same with the dense network, on Gaussian samples. Trial 0 also counts the worked examples.
TrialRecord run_trial(const Config& config, const Trial& trial);

/// Counts the statements of Sections 4.2 and 4.4 at inputs near equality, because the bounds are
/// larger than the curvature of a trained network by many orders of magnitude.
void count_worked_examples(TrialRecord& record);

void judge(const Config& config, const Records& records, Claims& claims);

}  // namespace ranklab::curvature
