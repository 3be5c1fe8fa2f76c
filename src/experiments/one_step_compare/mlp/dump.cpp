#include "experiments/one_step_compare/mlp/dump.hpp"

#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab::mlp {

std::string manifest_path(const std::string& folder) {
  return folder + "/manifest.json";
}

template <class T>
void write_dump(const std::string& folder, const arma::Mat<T>& X, const MlpPass<T>& pass) {
  std::string pairs;
  for (std::size_t l = 0; l < pass.G.size(); ++l) {
    const std::string activation = "A" + std::to_string(l) + ".npy", layer = std::to_string(l + 1), gradient = "G" + layer + ".npy";
    write_npy(folder + "/" + activation, l == 0 ? X : pass.A[l - 1]);
    write_npy(folder + "/" + gradient, pass.G[l]);
    pairs += std::string(l == 0 ? "" : ",") + "\n    {\"name\": \"W" + layer + "\", \"activation\": \"" + activation +
             "\", \"gradient\": \"" + gradient + "\", \"transpose_activations\": false}";
  }
  // Last, so that a manifest never names a file that is not there.
  write_file_atomically(manifest_path(folder), "{\n  \"pairs\": [" + pairs + "\n  ]\n}\n");
}

template void write_dump<float>(const std::string&, const arma::fmat&, const MlpPass<float>&);
template void write_dump<double>(const std::string&, const arma::mat&, const MlpPass<double>&);

}  // namespace ranklab::mlp
