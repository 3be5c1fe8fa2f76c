#include "experiments/one_step_compare/mlp/methods.hpp"

namespace ranklab::mlp {

std::vector<Method> methods(const MlpConfig& config) {
  std::vector<Method> out = {{"gd", "GD", InnerStep::euclidean, config.lr_gd}};
  for (const std::string& name : config.optimizer) {
    if (name == "specgd") out.push_back({name, "SpecGD", InnerStep::spectral, config.lr_spec});
    if (name == "muon") out.push_back({name, "Muon", InnerStep::muon, config.lr_spec});
  }
  if (config.equal_lr) out.push_back({"specgd_equal_lr", "SpecGD at GD's rate", InnerStep::spectral, config.lr_gd});
  return out;
}

std::vector<double> recorded_iterations(const MlpConfig& config) {
  std::vector<double> out;
  for (std::uint64_t t = 0; t < config.steps; t += config.record_every) out.push_back(static_cast<double>(t));
  out.push_back(static_cast<double>(config.steps));
  return out;
}

std::string stable_rank_name(const std::string& method, std::size_t layer) {
  return method + ".layer" + std::to_string(layer) + ".stable_rank";
}

std::string nuclear_rank_name(const std::string& method, std::size_t layer) {
  return method + ".W" + std::to_string(layer) + ".nuclear_rank";
}

std::string ratio_name(const std::string& method, std::size_t layer) {
  return method + ".W" + std::to_string(layer) + ".ratio";
}

}  // namespace ranklab::mlp
