// The trial: what is measured of any model at one step of training, the dense network with the
// statements of Sections 4.2 and 4.4, worked examples of these, and the transformer.
#include <algorithm>

#include "ensembles/random_features.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"
#include "nn/gpt.hpp"
#include "nn/optimizer.hpp"
#include "nn/trainer.hpp"

namespace ranklab::curvature {
namespace {

// One step of any model ---------------------------------------------------------------------------

// Relative rounding error that a bound may be missed by.
constexpr double rounding = 1e-10;

/// D with all matrices but one set to 0.
Blocks only(const Blocks& D, std::size_t matrix) {
  Blocks out;
  for (const arma::mat& each : D) out.emplace_back(arma::size(each), arma::fill::zeros);
  out[matrix] = D[matrix];
  return out;
}

/// Sets what is measured along D and along its matrices, one by one.
void measure_direction(const JointDirection& direction, const Blocks& D, MeasuredModel& model,
                       const Trial& trial, std::size_t i, Track& track) {
  const Along at = model.along(D);
  double single = 0;
  for (std::size_t m = 0; m < D.size(); ++m) {
    trial.check_interrupt();
    single += model.along(only(D, m)).curvature;
  }
  track.set(direction.of(single_share), single / at.curvature, i);
  model.measure_joint(direction, at, i, track);
}

void measure_matrix(const WeightMatrix& matrix, std::size_t m, const Blocks& polars,
                    MeasuredModel& model, std::size_t i, Track& track) {
  const double A_op = operator_norm(model.A()[m]), A_op_squares = A_op * A_op,
               A_squares = squares(model.A()[m]), G_squares = squares(model.G()[m]);
  const Along euclidean = model.along(only(model.G(), m)), spectral = model.along(only(polars, m));
  if (!(G_squares > 0)) return;
  const auto set = [&](const Measure& what, double value) {
    track.set(of_matrix(matrix, what), value, i);
  };
  set(rank_ratio, spectral.slope * spectral.slope / G_squares / (A_squares / A_op_squares));
  // The operator norm of a polar factor is 1.
  set(slack, (euclidean.B / (G_squares * A_op_squares)) / (spectral.B / A_squares));
  if (!(euclidean.curvature > 0 && spectral.curvature > 0)) return;
  set(constant, (euclidean.curvature / euclidean.B) / (spectral.curvature / spectral.B));
  // A step of the best length lowers the loss by slope^2 / (2 curvature).
  set(advantage, spectral.slope * spectral.slope / spectral.curvature * euclidean.curvature /
                     (euclidean.slope * euclidean.slope));
}

/// Sets what is measured of any model at the i-th measured step: the loss, joint directions,
/// matrices.
void measure_matrices(const Config& config, MeasuredModel& model, const Trial& trial, std::size_t i,
                      Track& track) {
  Blocks polars;
  for (const arma::mat& G : model.G()) polars.push_back(polar_factor(G).factor);
  track.set(loss_of_step, model.loss(), i);
  measure_direction(along_gradients, model.G(), model, trial, i, track);
  measure_direction(along_polar_factors, polars, model, trial, i, track);
  const std::vector<WeightMatrix> matrices = config.matrices();
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    trial.check_interrupt();
    measure_matrix(matrices[m], m, polars, model, i, track);
  }
}

Rule rule_of(const std::string& optimizer) {
  return optimizer == "adam" ? Rule::adam : optimizer == "muon" ? Rule::muon : Rule::sgd;
}

// The dense network, on Gaussian samples ----------------------------------------------------------

struct Data {
  arma::mat A_0, Y;
};

struct Sizes {
  std::uint64_t d, width, n;
};

/// Gaussian samples; the label of a sample is the largest output of a random network of one hidden
/// layer.
Data draw_data(const Config& config, const Sizes& sizes, const Trial& trial,
               const std::string& prefix) {
  const auto gaussian = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns,
                            double variance) {
    return draw_gaussian<double>(trial, (prefix + name).c_str(), rows, columns,
                                 std::sqrt(variance));
  };
  const double d = static_cast<double>(sizes.d), width = static_cast<double>(sizes.width);
  Data out{gaussian("X", sizes.d, sizes.n, 1), {}};
  const arma::mat hidden = arma::tanh(gaussian("teacher1", sizes.width, sizes.d, 1 / d) * out.A_0);
  const arma::mat scores = gaussian("teacher2", config.classes, sizes.width, 1 / width) * hidden;
  out.Y.zeros(config.classes, sizes.n);
  for (arma::uword j = 0; j < scores.n_cols; ++j) out.Y(scores.col(j).index_max(), j) = 1;
  return out;
}

/// Entries N(0, 1/fan_in).
Network draw_network(const Config& config, const Sizes& sizes, const Trial& trial,
                     const std::string& prefix) {
  Network out{{&find_activation(config.activation), {}},
              second_derivative(config.activation),
              Loss::cross_entropy};
  std::uint64_t inputs = sizes.d;
  for (std::uint64_t l = 1; l <= config.layers; ++l) {
    const std::uint64_t outputs = l == config.layers ? config.classes : sizes.width;
    out.W.push_back(draw_gaussian<double>(trial, say("{}W{}", prefix, l).c_str(), outputs, inputs,
                                          1 / std::sqrt(static_cast<double>(inputs))));
    inputs = outputs;
  }
  return out;
}

/// The network at one step of training, with the statements of Sections 4.2 and 4.4.
class MeasuredNetwork : public MeasuredModel {
 public:
  MeasuredNetwork(const Network& network, const arma::mat& A_0, const arma::mat& Y,
                  TrialRecord& record)
      : network_(network),
        pass_(network, A_0, Y),
        constants_(constants_of(network, pass_)),
        record_(record) {
    G_ = pass_.G;
    A_ = pass_.A;
    A_.insert(A_.begin(), A_0);
    loss_ = pass_.loss;
  }

  const Constants& constants() const { return constants_; }
  /// False if the bounds overflow, although all weights and gradients are finite.
  bool has_bounds() const {
    return std::isfinite(constants_.C_F) && std::isfinite(constants_.C_op);
  }

  Along along(const Blocks& D) override {
    Along at = curvature::along(network_, pass_, D);
    const double L = static_cast<double>(network_.W.size());
    const Constants& c = constants_;
    const auto count = [&](const Inequality& statement, double left, double right) {
      record_.count(statement.id, left > right * (1 + rounding), left / right);
    };
    count(first_order, at.U, c.Gamma * std::sqrt(at.B));
    count(second_order, at.U_tilde,
          2 * c.Theta * c.J_phi * c.Gamma * std::sqrt(L * at.op * at.B) +
              c.Theta * c.W_star * c.H_phi * c.Gamma * c.Gamma * L * at.B);
    count(hessian_bound, std::fabs(at.curvature), bound(c, at));
    return at;
  }

  void measure_joint(const JointDirection& direction, const Along& at, std::size_t i,
                     Track& track) const override {
    track.set(direction.of(looseness), bound(constants_, at) / std::fabs(at.curvature), i);
    track.set(direction.of(gauss_newton_share), at.gauss_newton / at.curvature, i);
  }

  /// (4.14) and (4.15), S = all blocks.
  void check_decreases() {
    Blocks euclidean, spectral;
    double of_euclidean = 0, of_spectral = 0;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      const arma::mat& G = G_[l];
      const arma::mat polar = polar_factor(G).factor;
      const double A_op = operator_norm(A_[l]), G_squares = squares(G),
                   nuclear = arma::dot(G, polar), L_F = constants_.C_F * A_op * A_op,
                   L_op = constants_.C_F * squares(A_[l]),
                   a_gd = L_F + constants_.C_op / stable_rank(G), a_spec = L_op + constants_.C_op;
      euclidean.push_back(-G / a_gd);
      spectral.push_back(-nuclear / a_spec * polar);
      of_euclidean += G_squares / a_gd / 2;
      of_spectral += nuclear * nuclear / a_spec / 2;
    }
    const auto count = [&](const Inequality& statement, const Blocks& D, double least) {
      const Along at = curvature::along(network_, pass_, D);
      const double decrease = -at.slope - at.curvature / 2;
      record_.count(statement.id, decrease < least * (1 - rounding), least / decrease);
    };
    count(euclidean_decrease, euclidean, of_euclidean);
    count(spectral_decrease, spectral, of_spectral);
  }

  Blocks random_direction(const Streams& trial, const std::string& name) const {
    Blocks out;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      out.push_back(draw_gaussian<double>(trial, say("{} layer {}", name, l).c_str(),
                                          network_.W[l].n_rows, network_.W[l].n_cols, 1.0));
    }
    return out;
  }
  /// Of rank one in each layer, with the sum of the samples as its row: the feature term is large
  /// there.
  Blocks aligned_direction(const Streams& trial, const std::string& name) const {
    Blocks out;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      const arma::vec row = arma::sum(A_[l], 1);
      out.push_back(draw_gaussian<double>(trial, say("{} rows {}", name, l).c_str(),
                                          network_.W[l].n_rows, 1, 1.0) *
                    row.t());
    }
    return out;
  }

 private:
  const Network& network_;
  const Pass pass_;
  const Constants constants_;
  TrialRecord& record_;
};

/// Measures the network at the i-th measured step.
void measure(const Config& config, MeasuredNetwork& model, const Trial& trial, std::size_t i,
             Track& track) {
  track.set(C_F_of_step, model.constants().C_F, i);
  track.set(C_op_of_step, model.constants().C_op, i);
  measure_matrices(config, model, trial, i, track);
  for (std::uint64_t k = 0; k < config.directions; ++k) {
    const std::string name = say("direction {} at {}", k, config.measure_steps[i]);
    model.along(model.random_direction(trial, name));
    model.along(model.aligned_direction(trial, name));
  }
  model.check_decreases();
}

/// The constants grow with a high power of the largest operator norm, so that all sizes get the
/// same.
constexpr double scaled_norm = 2;

void measure_scaling(const Config& config, const Trial& trial, Track& track) {
  for (const double by : multiples) {
    trial.check_interrupt();
    const Sizes sizes{
        config.d, config.width,
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(config.n) * by))};
    const std::string prefix = "n x" + std::to_string(by) + "/";
    const Data data = draw_data(config, sizes, trial, prefix);
    Network network = draw_network(config, sizes, trial, prefix);
    for (arma::mat& W : network.W) W *= scaled_norm / operator_norm(W);
    track.add(C_F_over_n, constants_of(network, Pass(network, data.A_0, data.Y)).C_F);
  }
}

/// Whether the loss and all weights, activations and gradients are finite.
bool is_finite(const Network& network, const Pass& pass) {
  const auto all = [](const Blocks& matrices) {
    return std::all_of(matrices.begin(), matrices.end(),
                       [](const arma::mat& matrix) { return matrix.is_finite(); });
  };
  return std::isfinite(pass.loss) && all(network.W) && all(pass.G) && all(pass.A);
}

/// A matrix without a gradient, as at a saturated loss, has no direction to measure.
bool has_gradients(const Pass& pass) {
  return std::all_of(pass.G.begin(), pass.G.end(),
                     [](const arma::mat& G) { return squares(G) > 0; });
}

}  // namespace

TrialRecord run_trial(const Config& config, const Trial& trial) {
  TrialRecord record;
  const Sizes sizes{config.d, config.width, config.n};
  const Data data = draw_data(config, sizes, trial, "");
  Network network = draw_network(config, sizes, trial, "");
  std::vector<Parameter<double>> parameters;
  std::vector<Optimizer<double>> optimizers;
  for (std::size_t l = 0; l < network.W.size(); ++l) {
    parameters.push_back({say("W{}", l + 1), network.W[l]});
    optimizers.emplace_back(Optimizer<double>::Settings{.rule = rule_of(config.optimizer)});
  }
  Track track(columns_of(config));
  bool is_lost = false;
  trial.expect(config.steps, "step");
  for (std::uint64_t t = 0; t <= config.steps; ++t) {
    if (const auto i = config.measured(t)) {
      const Pass now(network, data.A_0, data.Y);
      is_lost = is_lost || !is_finite(network, now);
      if (!is_lost && has_gradients(now)) {
        MeasuredNetwork model(network, data.A_0, data.Y, record);
        is_lost = !model.has_bounds();
        if (!is_lost) measure(config, model, trial, *i, track);
      }
    }
    if (t == config.steps) break;
    if (is_lost) continue;
    const Pass pass(network, data.A_0, data.Y);
    for (std::size_t l = 0; l < parameters.size(); ++l) {
      parameters[l].G = pass.G[l];
      optimizers[l].step(parameters[l], config.lr);
      network.W[l] = parameters[l].W;
    }
    is_lost = !std::isfinite(pass.loss);
    trial.show("loss", pass.loss);
    trial.advance();
  }
  record.set(diverged, is_lost ? 1.0 : 0.0);
  measure_scaling(config, trial, track);
  record.insert(track.take());
  for (const Inequality* statement : counted_statements) {
    const Tally tally = record.tally(statement->id);
    record.set(largest_share_of(*statement), tally.cases > 0 ? tally.largest : undefined);
  }
  if (trial.index() == 0) count_worked_examples(record);
  return record;
}

// Worked examples of the statements that trials count ---------------------------------------------

// All matrices are numbers or 2 x 2, and f = ||Z_L - Y||_F^2 / (2 n).
void count_worked_examples(TrialRecord& record) {
  const auto scalar = [](double x) {
    arma::mat out(1, 1);
    out.fill(x);
    return out;
  };
  const auto count_along = [&](const Network& network, double A_0, double Y, const Blocks& D) {
    MeasuredNetwork(network, scalar(A_0), scalar(Y), record).along(D);
  };
  const Activation& identity = find_activation("identity");
  const Activation square{"square", [](double x) { return x * x / 2; }, identity.value};
  const auto linear = [&](const Blocks& W) {
    return Network{{&identity, W}, second_derivative("identity"), Loss::squares};
  };
  // U = (1, 0), B = (1, 0) and U~ = (0, 40), where Gamma = sqrt(2) and Theta = 1: shares 1/sqrt(2)
  // of (4.1) and 1/2 of (4.2). <D, Hessian D> = 400, C_F = 402, C_op = 1: a share of 400/802 of
  // (4.4).
  count_along(linear({scalar(0), scalar(0)}), 1000, -10, {scalar(0.001), scalar(20)});
  // (B_1, B_2) along the top right singular vector of [1 0; w 1], w = 0.13: a share of 0.7299 of
  // (4.1), the largest for two layers.
  const double w = 0.13;
  const arma::mat change = {{1, 0}, {w, 1}};
  const arma::vec B = thin_svd(change).V.col(0);
  count_along(linear({scalar(w), scalar(w)}), 1, 0, {scalar(B(0)), scalar(B(1) / w)});
  // J_Phi = 0 and H_Phi = 1: the second term of (4.2) alone, a share of 1/4.
  count_along({{&square, {scalar(0), scalar(1)}}, identity.derivative, Loss::squares}, 1, 0,
              {scalar(1), scalar(0)});
  // One layer, W = 0: the curvature of both steps is 1/2.02 of its bound, so that the printed
  // decrease is 1/(2 - 1/2.02) = 0.6645 of the actual one.
  const arma::mat I(2, 2, arma::fill::eye);
  for (const arma::mat& A_0 : {scalar(3), I}) {
    const Network single = linear({arma::mat(arma::size(A_0), arma::fill::zeros)});
    MeasuredNetwork(single, A_0, 0.1 * arma::mat(arma::size(A_0), arma::fill::eye), record)
        .check_decreases();
  }
}

// The transformer: the GPT of Section 2.2 on real text, always on the same tokens -----------------

namespace {

/// Weights inside blocks; the others are not measured.
std::vector<GptWeight<Parameter<double>>> inside(SequenceModel<double>& model) {
  std::vector<GptWeight<Parameter<double>>> out;
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::in_layer) out.push_back(weight);
  }
  return out;
}

SequenceShape shape_of(const Config& config, std::uint64_t vocabulary) {
  SequenceShape shape = gpt_shape(find_activation(config.activation), Norm::rms, false, true);
  shape.vocabulary = vocabulary, shape.layers = config.layers, shape.dim = config.d;
  shape.heads = 1, shape.length = context, shape.hidden = 4 * config.d;
  return shape;
}

class MeasuredTransformer : public MeasuredModel {
 public:
  MeasuredTransformer(SequenceModel<double>& model, const SequenceBatch<double>& batch)
      : model_(model), batch_(batch), weights_(inside(model)) {
    // In one part, so that the activations of all tokens are there afterwards.
    model.forward(batch);
    loss_ = model.loss(batch, true);
    model.backward(batch);
    for (const auto& weight : weights_) {
      const GptActivations<double> at = gpt_activations(std::as_const(model), weight.layer);
      const std::string& block = weight.block;
      A_.push_back(block == "Wo" ? at.H : block == "W1" ? at.Am : block == "W2" ? at.S : at.A);
      G_.push_back(weight.parameter->G);
      W_.push_back(weight.parameter->W);
    }
  }

  /// The curvature is a difference of gradients at both sides, extrapolated to a step of 0.
  Along along(const Blocks& D) override {
    Along out;
    for (std::size_t i = 0; i < D.size(); ++i) {
      const double op = operator_norm(D[i]);
      out.B += squares(D[i] * A_[i]);
      out.op += op * op;
      out.slope += arma::dot(G_[i], D[i]);
    }
    const double h = 1e-3 / std::sqrt(out.op);
    const auto difference = [&](double step) {
      return (slope_at(D, step) - slope_at(D, -step)) / (2 * step);
    };
    if (out.op > 0) out.curvature = (4 * difference(h) - difference(2 * h)) / 3;
    return out;
  }

 private:
  double slope_at(const Blocks& D, double step) {
    for (std::size_t i = 0; i < D.size(); ++i) weights_[i].parameter->W = W_[i] + step * D[i];
    model_.loss_by_pieces(batch_, true, [](const auto&...) {});
    double slope = 0;
    for (std::size_t i = 0; i < D.size(); ++i) {
      slope += arma::dot(weights_[i].parameter->G, D[i]);
      weights_[i].parameter->W = W_[i];
    }
    return slope;
  }

  SequenceModel<double>& model_;
  const SequenceBatch<double>& batch_;
  const std::vector<GptWeight<Parameter<double>>> weights_;
  Blocks W_;
};

}  // namespace

std::unique_ptr<MeasuredModel> measured_transformer(SequenceModel<double>& model,
                                                    const SequenceBatch<double>& batch) {
  return std::make_unique<MeasuredTransformer>(model, batch);
}

TrialRecord run_transformer_trial(const Config& config, const Corpus& corpus, const Trial& trial) {
  const SequenceShape shape = shape_of(config, corpus.vocabulary);
  Stream stream = trial.stream("batch");
  const SequenceBatch<double> batch =
      next_token_batch<double>(draw_windows(corpus.training, config.n / context, context, stream));
  // Measuring overwrites gradients, so it has its own model.
  SequenceModel<double> model(shape, gpt_initial_weights("gauss", shape, trial)),
      measured(shape, gpt_initial_weights("gauss", shape, trial));
  std::vector<Trainer<double>::Trained> trained;
  for (const auto& weight : gpt_weights(model)) {
    const bool is_inside = weight.role == WeightRole::in_layer;
    trained.push_back({{weight.parameter},
                       {.rule = is_inside ? rule_of(config.optimizer) : Rule::adam},
                       is_inside ? config.lr : 0.01});
  }
  Trainer<double> trainer(model, trained);
  Track track(columns_of(config));
  trial.expect(config.steps, "step");
  for (std::uint64_t t = 0; t <= config.steps; ++t) {
    if (const auto i = config.measured(t)) {
      measured.copy_weights(model);
      measure_matrices(config, *measured_transformer(measured, batch), trial, *i, track);
    }
    if (t == config.steps) break;
    trial.show("loss", trainer.gradients(
                           batch, [](const auto&...) {}, trial));
    trainer.step(1, trial);
    trial.advance();
  }
  TrialRecord record;
  record.set(diverged, 0.0);
  measure_attention(trial, record);
  record.insert(track.take());
  return record;
}

}  // namespace ranklab::curvature
