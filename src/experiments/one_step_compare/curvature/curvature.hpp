// `one-step-compare --study curvature`: the curvature of the loss of a small network along
// gradients and their polar factors, and its bound by layers, over training ([Spectral]
// Sections 4.1 to 4.4). Here: the flags, the layered model and the constants of attention, what a
// trial records, and the functions from a trial to the result.
#pragma once

#include <armadillo>
#include <optional>

#include "core/random.hpp"
#include "core/track.hpp"
#include "data/corpus.hpp"
#include "ensembles/activations.hpp"
#include "experiments/kit.hpp"
#include "nn/mlp.hpp"
#include "nn/sequence_model.hpp"

namespace ranklab::curvature {

// Flags -------------------------------------------------------------------------------------------

/// A weight matrix: "layer1" ... of a network; "Wq" ... or "block1.Wq" ... of a transformer.
struct WeightMatrix {
  std::string name, label;
};

struct Config : Study {
  std::string model = "mlp";        // or transformer: decoder blocks on text
  std::string activation = "tanh";  // a smooth one
  std::uint64_t layers = 4;         // L, weight matrices; of a transformer: blocks
  std::uint64_t d = 32;             // input dimension; of a transformer: its width
  std::uint64_t width = 64;         // units of each hidden layer
  std::uint64_t classes = 10;       // outputs
  std::uint64_t n = 256;            // samples; of a transformer: tokens
  std::uint64_t steps = 300;        // of training with all samples
  std::string optimizer = "adam";
  double lr = 0.01;
  std::vector<std::uint64_t> measure_steps = {0, 4, 32, 300};
  std::uint64_t directions = 20;  // random directions at each of them

  std::vector<Field> flags() override;
  void fill_defaults() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "Curvature of a small network by layers, over training";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;

  bool is_transformer() const { return model == "transformer"; }
  std::vector<WeightMatrix> matrices() const;
  /// The index of a step among measure_steps; nothing if it is not measured.
  std::optional<std::size_t> measured(std::uint64_t step) const;
};

// The layered model (layered.cpp) -----------------------------------------------------------------

using Blocks = std::vector<arma::mat>;  // one matrix per layer, in the shapes of W_1 ... W_L

/// Names of the activations with a second derivative.
const std::vector<std::string>& smooth_activations();
/// sigma''. Throws std::logic_error for a name that is not in smooth_activations().
double (*second_derivative(const std::string& activation))(double);

enum class Loss {
  squares,       // f = ||Z_L - Y||_F^2 / (2 n), of the worked examples
  cross_entropy  // f = mean over samples of log sum exp(x) - y'x, where y is a unit vector
};

struct Network : Mlp<double> {
  double (*second)(double) = nullptr;  // sigma''
  Loss loss = Loss::cross_entropy;
};

/// Values at W, and the gradients of f.
struct Pass : MlpPass<double> {
  /// A_0 (d, n), which must outlive the pass; Y (C, n).
  Pass(const Network& network, const arma::mat& A_0, const arma::mat& Y);

  arma::mat P;  // cross-entropy: probabilities (C, n)
};

/// The notation of Section 4.2 at W, and the constants (4.5).
struct Constants {
  double J_phi = 0, H_phi = 0;  // largest |sigma'|, |sigma''| over all entries of hidden layers
  double J_f = 0, H_f = 0;      // ||grad f||_F; largest curvature of f
  double W_star = 0;            // largest operator norm
  double Gamma = 0, Theta = 0;
  double C_F = 0, C_op = 0;
};
Constants constants_of(const Network& network, const Pass& pass);

/// Derivatives along D.
struct Along {
  double B = 0;        // ||B||_F^2, the sum over layers
  double op = 0;       // sum of ||D_l||_op^2
  double U = 0;        // ||U||_F over all layers
  double U_tilde = 0;  // ||U~||_F over all layers
  double slope = 0;    // <G, D>
  // <D, Hessian D> = D^2 f[U_L, U_L] + <grad f, U~_L>, and its first term alone.
  double curvature = 0, gauss_newton = 0;
};
Along along(const Network& network, const Pass& pass, const Blocks& D);

/// The right side of (4.4).
inline double bound(const Constants& constants, const Along& along) {
  return constants.C_F * along.B + constants.C_op * along.op;
}

// The constants of attention (attention_constants.cpp) --------------------------------------------

/// A change of Q, K and V, each (d, T).
struct Projected {
  arma::mat Q, K, V;

  double norm() const;
};

class AttentionMap {
 public:
  explicit AttentionMap(Projected at);

  const arma::mat& P() const { return P_; }  // (T, T), columns sum to one
  arma::uword width() const { return at_.V.n_rows; }
  /// The derivative of H along U, (d, T).
  arma::mat derivative(const Projected& U) const;
  /// Its transpose, applied to G (d, T).
  Projected transposed(const arma::mat& G) const;
  /// D^2 H[U, U], (d, T).
  arma::mat second_derivative(const Projected& U) const;
  /// J, by power iteration from a random start. If the largest singular values are close, the
  /// result may be too small, by less than 1e-3.
  double slope(Stream start) const;
  /// R.
  double most_attended() const;

 private:
  arma::mat change_of_scores(const Projected& U) const;

  Projected at_;
  arma::mat P_;
};

/// The bounds above, for projections of operator norm at most 1.
double slope_bound(const AttentionMap& map);
double second_derivative_bound(const AttentionMap& map);
/// Counts both bounds, the second one along directions of norm 1.
void count_bounds(const AttentionMap& map, double slope, const std::vector<Projected>& along,
                  TrialRecord& record);

/// Normal tokens, and Gaussian projections of operator norm 1.
AttentionMap normal_attention(arma::uword d, arma::uword T, const Streams& streams);
/// Tokens sqrt(d) v and, three times as often, -sqrt(d) v; W_Q = w w' with w orthogonal to v, W_K =
/// W_V = 1, so that all operator norms are 1. P is uniform, J = sqrt(1 + 9 d / 16), and D^2 H along
/// a unit change v of one q has norm 3 sqrt(d) / 4.
AttentionMap two_sided_attention(arma::uword d, arma::uword T);
/// Tokens sqrt(d/2) (v + w) and, all others, sqrt(d/2) (v - w); W_Q = v v', W_K = v w', W_V = 1.
/// Every token attends to the first, so J is at least ||P||_op, near sqrt(T).
AttentionMap one_sided_attention(arma::uword d, arma::uword T);

/// Sizes at which the constants are computed, with the other size at `attention_size`.
inline const std::vector<double> attention_sizes = {16, 32, 64, 128, 256};
inline constexpr arma::uword attention_size = 64;

/// Adds J and H over both sizes, and counts the bounds.
void measure_attention(const Trial& trial, TrialRecord& record);
void judge_attention(const Records& records, Claims& claims);
void derive_attention(Numbers& out);
void show_attention(Display& out);

// Statements that trials count --------------------------------------------------------------------

inline const Inequality first_order{
    {spectral::lemma_4_1, spectral::lemma_4_1, "Lemma 4.1, eq. (4.1)",
     "||U||_F <= Gamma ||B||_F: the change of all pre-activations along a direction"},
    "lemma_4.1.violations"};
inline const Inequality second_order{
    {spectral::lemma_4_2, spectral::lemma_4_2, "Lemma 4.2, eq. (4.2)",
     "The second derivative of all pre-activations along a direction is at most the printed sum"},
    "lemma_4.2.violations"};
inline const Inequality hessian_bound{
    {spectral::prop_4_3, spectral::prop_4_3, "Proposition 4.3, eqs. (4.4) and (4.5)",
     "|<D, Hessian D>| <= C_F sum ||D_l A_(l-1)||_F^2 + C_op sum ||D_l||_op^2"},
    "prop_4.3.violations"};
inline const Inequality euclidean_decrease{
    {spectral::eq_4_14, spectral::eq_4_14, "Section 4.4, eq. (4.14)",
     "In the quadratic model, the Euclidean step with the printed lengths lowers the loss by at "
     "least the printed decrease"},
    "eq_4.14.violations"};
inline const Inequality spectral_decrease{
    {spectral::eq_4_15, spectral::eq_4_15, "Section 4.4, eq. (4.15)",
     "In the quadratic model, the spectral step with the printed lengths lowers the loss by at "
     "least the printed decrease"},
    "eq_4.15.violations"};

inline const std::vector<const Inequality*> counted_statements = {
    &first_order, &second_order, &hessian_bound, &euclidean_decrease, &spectral_decrease};

// What a trial records: arrays over the measured steps --------------------------------------------

/// A direction of all matrices at once.
struct JointDirection {
  std::string name, label;

  Quantity of(const Measure& measure) const { return At("direction", name) / measure; }
};
inline constexpr Measure
    looseness = {"bound_over_curvature", "",
                 "the bound (4.4) over the curvature along a direction"},
    single_share = {"own_share", "", "sum of the curvatures of single matrices over that of all"},
    gauss_newton_share = {"gauss_newton_share", "D^2 f[U, U] / <D, Hessian D>",
                          "share of the curvature that comes from the loss alone"};
inline const JointDirection along_gradients{"gradient", "gradients"},
    along_polar_factors{"polar", "polar factors"};
inline const std::vector<JointDirection> joint_directions = {along_gradients, along_polar_factors};

// Of each weight matrix. For a step along G and one along polar(G) with the best lengths, the
// quadratic model gives the ratio of the decreases
//   advantage = nr/st x slack x constant
//   slack     how much tighter ||D A||_F <= ||D||_op ||A||_F is for polar(G) than
//             ||D A||_F <= ||D||_F ||A||_op is for G, as a factor
//   constant  the curvature per ||D A||_F^2 along G over that along polar(G)
// (1.8) takes slack and constant as 1.
inline constexpr Measure
    advantage = {"advantage", "", "decrease along polar(G) over that along G, at the best lengths"},
    rank_ratio = {"ratio", "nr(G) / st(A)",
                  "nuclear rank of the gradient over the stable rank of its input"},
    slack = {"slack", "", "tightness of the bound on ||D A||_F at G over that at polar(G)"},
    constant = {"constant", "", "curvature per ||D A||_F^2 along G over that along polar(G)"};
inline Quantity of_matrix(const WeightMatrix& matrix, const Measure& measure) {
  return At("matrix", matrix.name) / measure;
}
inline constexpr Measure diverged = {"diverged", "", "1 if the training diverged, otherwise 0"};
/// The largest share of its bound that a trained network shows, in the cases of one statement.
inline std::string largest_share_of(const Inequality& statement) {
  return statement.id + ".largest_share";
}
inline constexpr Measure loss_of_step = {"loss", "L(W)", "training loss", "nats"},
                         C_F_of_step = {"C_F", "C_F",
                                        "constant (4.5) of the feature terms in the bound (4.4)"},
                         C_op_of_step = {"C_op", "C_op",
                                         "constant (4.5) of the operator norms in the bound (4.4)"};

/// Multiples of n at which C_F is computed before training. At fixed operator norms, neither C_F
/// nor C_op contains a width.
inline const std::vector<double> multiples = {0.5, 1, 2, 4};
inline constexpr Measure C_F_over_n = {"C_F.over_n", "C_F",
                                       "C_F over multiples of n, at weights of operator norm 2"};

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
  virtual void measure_joint(const JointDirection&, const Along&, std::size_t, Track&) const {}

 protected:
  Blocks G_, A_;
  double loss_ = 0;
};

/// ||M||_F^2
inline double squares(const arma::mat& M) {
  return arma::dot(M, M);
}

/// The weights inside the blocks of a GPT, on one batch. The model must outlive the result, which
/// changes its weights and restores them. The curvature is a difference of gradients.
std::unique_ptr<MeasuredModel> measured_transformer(SequenceModel<double>& model,
                                                    const SequenceBatch<double>& batch);

// From a trial to the result ----------------------------------------------------------------------

/// Trains a transformer on a text, on the same tokens at every step, and measures it.
TrialRecord run_transformer_trial(const Config& config, const Corpus& corpus, const Trial& trial);
/// Tokens of a sequence.
inline constexpr std::uint64_t context = 32;

/// The same with the dense network, on Gaussian samples. Trial 0 also counts the worked examples.
TrialRecord run_trial(const Config& config, const Trial& trial);

/// Counts the statements of Sections 4.2 and 4.4 at inputs near equality, because the bounds are
/// larger than the curvature of a trained network by many orders of magnitude.
void count_worked_examples(TrialRecord& record);

}  // namespace ranklab::curvature
