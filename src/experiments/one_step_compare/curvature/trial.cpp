#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "nn/optimizer.hpp"

namespace ranklab::curvature {
namespace {

// Relative rounding error that a bound may be missed by.
constexpr double rounding = 1e-10;

struct Data {
  arma::mat A_0, Y;
};

struct Sizes {
  std::uint64_t d, width, n;
};

/// Gaussian samples; the label of a sample is the largest output of a random network of one hidden
/// layer.
Data draw_data(const CurvatureConfig& config, const Sizes& sizes, const Trial& trial,
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
Network<> draw_network(const CurvatureConfig& config, const Sizes& sizes, const Trial& trial,
                       const std::string& prefix) {
  Network<> out{&find_activation(config.activation),
                second_derivative(config.activation),
                config.loss == "squares" ? Loss::squares : Loss::cross_entropy,
                {}};
  std::uint64_t inputs = sizes.d;
  for (std::uint64_t l = 1; l <= config.layers; ++l) {
    const std::uint64_t outputs = l == config.layers ? config.classes : sizes.width;
    out.W.push_back(draw_gaussian<double>(trial, (prefix + "W" + std::to_string(l)).c_str(),
                                          outputs, inputs,
                                          1 / std::sqrt(static_cast<double>(inputs))));
    inputs = outputs;
  }
  return out;
}

Rule rule_of(const std::string& optimizer) {
  return optimizer == "adam" ? Rule::adam : optimizer == "muon" ? Rule::muon : Rule::sgd;
}

Blocks only(const Blocks& D, std::size_t l) {
  Blocks out;
  for (const arma::mat& block : D) out.emplace_back(arma::size(block), arma::fill::zeros);
  out[l] = D[l];
  return out;
}

double squares(const arma::mat& M) {
  return arma::dot(M, M);
}

/// One measured step of one trial.
class Measurement {
 public:
  Measurement(const Network<>& network, const Pass<>& pass, TrialRecord& record,
              std::map<std::string, std::vector<double>>& series)
      : network_(network),
        pass_(pass),
        constants_(constants_of(network, pass)),
        record_(record),
        series_(series) {
    for (const arma::mat& G : pass.G) polar_.push_back(polar_factor(G).factor);
    for (const arma::mat& A : pass.A) A_op_.push_back(operator_norm(A));
  }

  void run(const Streams& trial, std::uint64_t directions, const std::string& step) {
    append(loss_of_step, pass_.loss);
    append(C_F_of_step, constants_.C_F);
    append(C_op_of_step, constants_.C_op);
    joint("gradient", pass_.G);
    joint("polar", polar_);
    for (std::uint64_t i = 0; i < directions; ++i) {
      const std::string name = "direction " + std::to_string(i) + " at " + step;
      check(random_direction(trial, name));
      check(aligned_direction(trial, name));
    }
    for (std::size_t l = 0; l < network_.W.size(); ++l) single(l);
    check_decreases();
  }

 private:
  void append(const std::string& name, double value) { series_[name].push_back(value); }

  Along check(const Blocks& D) {
    const Along at = along(network_, pass_, D);
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

  void joint(const std::string& name, const Blocks& D) {
    const Along at = check(D);
    double own = 0;
    for (std::size_t l = 0; l < D.size(); ++l) own += along(network_, pass_, only(D, l)).curvature;
    append(looseness_of(name), bound(constants_, at) / std::fabs(at.curvature));
    append(own_share_of(name), own / at.curvature);
    append(gauss_newton_share_of(name), at.gauss_newton / at.curvature);
  }

  void single(std::size_t l) {
    const arma::mat &G = pass_.G[l], &A = pass_.A[l];
    const Along euclidean = check(only(pass_.G, l)), spectral = check(only(polar_, l));
    const double nuclear = spectral.slope, G_squares = squares(G), A_squares = squares(A),
                 A_op_squares = A_op_[l] * A_op_[l], st = A_squares / A_op_squares,
                 ratio = nuclear * nuclear / G_squares / st;
    // Of a step of the best length: slope^2 / (2 curvature).
    const bool convex = euclidean.curvature > 0 && spectral.curvature > 0;
    const auto add = [&](const char* what, double value) { append(in_layer(l + 1, what), value); };
    add(rank_ratio, ratio);
    add(slack,
        (euclidean.B / (G_squares * A_op_squares)) / (spectral.B / (spectral.op * A_squares)));
    add(constant, convex ? (euclidean.curvature / euclidean.B) / (spectral.curvature / spectral.B)
                         : undefined);
    add(advantage, convex ? spectral.slope * spectral.slope / spectral.curvature *
                                euclidean.curvature / (euclidean.slope * euclidean.slope)
                          : undefined);
  }

  /// (4.14) and (4.15), S = all blocks.
  void check_decreases() {
    Blocks euclidean, spectral;
    double of_euclidean = 0, of_spectral = 0;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      const arma::mat& G = pass_.G[l];
      const double G_squares = squares(G), nuclear = arma::dot(G, polar_[l]),
                   L_F = constants_.C_F * A_op_[l] * A_op_[l],
                   L_op = constants_.C_F * squares(pass_.A[l]),
                   a_gd = L_F + constants_.C_op / stable_rank(G), a_spec = L_op + constants_.C_op;
      euclidean.push_back(-G / a_gd);
      spectral.push_back(-nuclear / a_spec * polar_[l]);
      of_euclidean += G_squares / a_gd / 2;
      of_spectral += nuclear * nuclear / a_spec / 2;
    }
    const auto count = [&](const Inequality& statement, const Blocks& D, double least) {
      const Along at = along(network_, pass_, D);
      const double decrease = -at.slope - at.curvature / 2;
      record_.count(statement.id, decrease < least * (1 - rounding), least / decrease);
    };
    count(euclidean_decrease, euclidean, of_euclidean);
    count(spectral_decrease, spectral, of_spectral);
  }

  Blocks random_direction(const Streams& trial, const std::string& name) const {
    Blocks out;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      out.push_back(draw_gaussian<double>(trial, (name + " layer " + std::to_string(l)).c_str(),
                                          network_.W[l].n_rows, network_.W[l].n_cols, 1.0));
    }
    return out;
  }
  /// Of rank one in each layer, with the sample of the largest norm as its row space: the feature
  /// term is large there.
  Blocks aligned_direction(const Streams& trial, const std::string& name) const {
    Blocks out;
    for (std::size_t l = 0; l < network_.W.size(); ++l) {
      const arma::vec row = arma::sum(pass_.A[l], 1);
      out.push_back(draw_gaussian<double>(trial, (name + " rows " + std::to_string(l)).c_str(),
                                          network_.W[l].n_rows, 1, 1.0) *
                    row.t());
    }
    return out;
  }

  const Network<>& network_;
  const Pass<>& pass_;
  const Constants constants_;
  Blocks polar_;
  std::vector<double> A_op_;
  TrialRecord& record_;
  std::map<std::string, std::vector<double>>& series_;
};

/// The constants grow with a high power of the largest operator norm, so that all sizes get the
/// same.
constexpr double scaled_norm = 2;

void measure_scaling(const CurvatureConfig& config, const Trial& trial, TrialRecord& record) {
  std::map<std::string, std::vector<double>> series;
  const auto scaled = [](std::uint64_t size, double by) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(size) * by));
  };
  const auto add = [&](const Sizes& sizes, const std::string& prefix, const char* F,
                       const char* op) {
    trial.check_interrupt();
    const Data data = draw_data(config, sizes, trial, prefix);
    Network<> network = draw_network(config, sizes, trial, prefix);
    for (arma::mat& W : network.W) W *= scaled_norm / operator_norm(W);
    const Constants constants = constants_of(network, pass_of(network, data.A_0, data.Y));
    series[F].push_back(constants.C_F);
    series[op].push_back(constants.C_op);
  };
  for (const double by : multiples) {
    const std::string at = "x" + std::to_string(by) + "/";
    add({scaled(config.d, by), scaled(config.width, by), config.n}, "width " + at, C_F_over_width,
        C_op_over_width);
    add({config.d, config.width, scaled(config.n, by)}, "n " + at, C_F_over_n, C_op_over_n);
  }
  for (auto& [name, values] : series) record.set(name, std::move(values));
}

/// Trains with entries of type T, and measures in double precision.
template <class T>
TrialRecord train(const CurvatureConfig& config, const Trial& trial) {
  TrialRecord record;
  const Sizes sizes{config.d, config.width, config.n};
  const Data data = draw_data(config, sizes, trial, "");
  Network<> wide = draw_network(config, sizes, trial, "");
  Network<T> network{wide.sigma, wide.second, wide.loss, {}};
  const auto A_0 = arma::conv_to<arma::Mat<T>>::from(data.A_0),
             Y = arma::conv_to<arma::Mat<T>>::from(data.Y);
  std::vector<Parameter<T>> parameters;
  std::vector<Optimizer<T>> optimizers;
  for (std::size_t l = 0; l < wide.W.size(); ++l) {
    network.W.push_back(arma::conv_to<arma::Mat<T>>::from(wide.W[l]));
    parameters.push_back({"W" + std::to_string(l + 1), network.W[l]});
    optimizers.emplace_back(typename Optimizer<T>::Settings{.rule = rule_of(config.optimizer)});
  }
  std::map<std::string, std::vector<double>> series;
  trial.expect(config.steps, "step");
  for (std::uint64_t t = 0; t <= config.steps; ++t) {
    if (std::count(config.measure_steps.begin(), config.measure_steps.end(), t) > 0) {
      for (std::size_t l = 0; l < wide.W.size(); ++l)
        wide.W[l] = arma::conv_to<arma::mat>::from(network.W[l]);
      const Pass<> pass = pass_of(wide, data.A_0, data.Y);
      Measurement(wide, pass, record, series).run(trial, config.directions, std::to_string(t));
    }
    if (t == config.steps) break;
    const Pass<T> pass = pass_of(network, A_0, Y);
    for (std::size_t l = 0; l < parameters.size(); ++l) {
      parameters[l].G = pass.G[l];
      optimizers[l].step(parameters[l], config.lr);
      network.W[l] = parameters[l].W;
    }
    trial.show("loss", pass.loss);
    trial.advance();
  }
  for (auto& [name, values] : series) record.set(name, std::move(values));
  measure_scaling(config, trial, record);
  return record;
}

}  // namespace

TrialRecord run_trial(const CurvatureConfig& config, bool single_precision, const Trial& trial) {
  return single_precision ? train<float>(config, trial) : train<double>(config, trial);
}

}  // namespace ranklab::curvature
