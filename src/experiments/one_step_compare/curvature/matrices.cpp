// What is measured of the matrices of any model, at one step of training.
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::curvature {
namespace {

/// D with all matrices but one set to 0.
Blocks only(const Blocks& D, std::size_t matrix) {
  Blocks out;
  for (const arma::mat& each : D) out.emplace_back(arma::size(each), arma::fill::zeros);
  out[matrix] = D[matrix];
  return out;
}

void measure_joint(const std::string& name, const Blocks& D, MeasuredModel& model, std::size_t i,
                   Track& track) {
  const Along at = model.along(D);
  double own = 0;
  for (std::size_t m = 0; m < D.size(); ++m) own += model.along(only(D, m)).curvature;
  track.set(own_share_of(name), own / at.curvature, i);
  model.measure_joint(name, at, i, track);
}

void measure_matrix(const std::string& name, std::size_t m, const Blocks& polars,
                    MeasuredModel& model, std::size_t i, Track& track) {
  const double A_op = operator_norm(model.A()[m]), A_op_squares = A_op * A_op,
               A_squares = squares(model.A()[m]), G_squares = squares(model.G()[m]);
  const Along euclidean = model.along(only(model.G(), m)), spectral = model.along(only(polars, m));
  if (!(G_squares > 0)) return;
  const auto set = [&](const char* what, double value) {
    track.set(of_matrix(name, what), value, i);
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

}  // namespace

Rule rule_of(const std::string& optimizer) {
  return optimizer == "adam" ? Rule::adam : optimizer == "muon" ? Rule::muon : Rule::sgd;
}

void measure_matrices(const Config& config, MeasuredModel& model, std::size_t i, Track& track) {
  Blocks polars;
  for (const arma::mat& G : model.G()) polars.push_back(polar_factor(G).factor);
  track.set(loss_of_step, model.loss(), i);
  measure_joint("gradient", model.G(), model, i, track);
  measure_joint("polar", polars, model, i, track);
  const std::vector<std::string> names = config.matrices();
  for (std::size_t m = 0; m < names.size(); ++m)
    measure_matrix(names[m], m, polars, model, i, track);
}

}  // namespace ranklab::curvature
