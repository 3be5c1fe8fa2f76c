#include "experiments/one_step_compare/curvature/matrices.hpp"

#include "core/undefined.hpp"
#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/polar.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::curvature {
namespace {

void measure_joint(const std::string& name, const Blocks& D, MeasuredModel& model,
                   std::map<std::string, std::vector<double>>& series) {
  const Along at = model.along(D);
  double own = 0;
  for (std::size_t i = 0; i < D.size(); ++i) own += model.along(only(D, i)).curvature;
  series[own_share_of(name)].push_back(own / at.curvature);
  model.append_joint(name, at, series);
}

void measure_matrix(const std::string& name, std::size_t i, const Blocks& polars,
                    MeasuredModel& model, std::map<std::string, std::vector<double>>& series) {
  const double A_op = operator_norm(model.A()[i]), A_op_squares = A_op * A_op,
               A_squares = squares(model.A()[i]), G_squares = squares(model.G()[i]);
  const Along euclidean = model.along(only(model.G(), i)), spectral = model.along(only(polars, i));
  const bool defined = G_squares > 0, convex = euclidean.curvature > 0 && spectral.curvature > 0;
  const auto add = [&](const char* what, bool is_defined, double value) {
    series[of_matrix(name, what)].push_back(is_defined ? value : undefined);
  };
  add(rank_ratio, defined,
      spectral.slope * spectral.slope / G_squares / (A_squares / A_op_squares));
  // The operator norm of a polar factor is 1.
  add(slack, defined, (euclidean.B / (G_squares * A_op_squares)) / (spectral.B / A_squares));
  add(constant, defined && convex,
      (euclidean.curvature / euclidean.B) / (spectral.curvature / spectral.B));
  // A step of the best length lowers the loss by slope^2 / (2 curvature).
  add(advantage, defined && convex,
      spectral.slope * spectral.slope / spectral.curvature * euclidean.curvature /
          (euclidean.slope * euclidean.slope));
}

}  // namespace

Blocks only(const Blocks& D, std::size_t i) {
  Blocks out;
  for (const arma::mat& matrix : D) out.emplace_back(arma::size(matrix), arma::fill::zeros);
  out[i] = D[i];
  return out;
}

Blocks polar_factors(const Blocks& G) {
  Blocks out;
  for (const arma::mat& matrix : G) out.push_back(polar_factor(matrix).factor);
  return out;
}

Rule rule_of(const std::string& optimizer) {
  return optimizer == "adam" ? Rule::adam : optimizer == "muon" ? Rule::muon : Rule::sgd;
}

void measure_matrices(const std::vector<std::string>& names, MeasuredModel& model,
                      std::map<std::string, std::vector<double>>& series) {
  const Blocks polars = polar_factors(model.G());
  series[loss_of_step].push_back(model.loss());
  measure_joint("gradient", model.G(), model, series);
  measure_joint("polar", polars, model, series);
  for (std::size_t i = 0; i < names.size(); ++i) measure_matrix(names[i], i, polars, model, series);
}

}  // namespace ranklab::curvature
