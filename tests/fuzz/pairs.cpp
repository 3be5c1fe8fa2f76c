// The lists of pairs that `one-step-compare --study files` reads.

#include <armadillo>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "cli/resolve.hpp"
#include "experiments/advise/groups.hpp"
#include "io/tensors/safetensors_writer.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

constexpr std::uint64_t k = 4, n = 6, m = 3;

TensorToWrite tensor(const std::string& key, const std::vector<std::uint64_t>& shape) {
  std::uint64_t size = sizeof(float);
  for (const std::uint64_t side : shape) size *= side;
  return {key, Dtype::f32, shape, std::string(size, '?')};
}

// a.npy is an activation (k, n), g.npy a gradient (m, k), s.npy a second moment (k, k);
// 0.safetensors and 1.safetensors are recordings of a layer and of an embedding.
void put_matrices(const std::string& folder) {
  static std::string last;
  if (last == folder) return;
  last = folder;
  put(folder + "empty", "");
  const auto write = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    write_npy(expect(folder + name), arma::mat(rows, columns, arma::fill::ones));
  };
  write("a.npy", k, n);
  write("g.npy", m, k);
  write("s.npy", k, k);
  write_safetensors(expect(folder + "0.safetensors"),
                    {tensor("second_moment", {k, k}), tensor("gradient", {m, k})});
  write_safetensors(expect(folder + "1.safetensors"),
                    {tensor("counts", {k}), tensor("gradient", {m, k})});
}

void plan(const std::vector<std::pair<std::string, std::string>>& flags) {
  RunSources sources;
  sources.flags.flags = {{"study", "files"}};
  sources.flags.flags.insert(sources.flags.flags.end(), flags.begin(), flags.end());
  ResolvedRun run = resolve(*find_experiment("one-step-compare"), sources);
  attempt([&] { run.study->estimate(); });
  input_checksums(run.study->fields());
}

}  // namespace

void read_manifest(std::string_view bytes) {
  put_matrices("");
  const std::string path = put("pairs.json", bytes);
  attempt([&] { advise::require_groups_file(path); });
  plan({{"manifest", path}});
}

void read_recording(std::string_view bytes) {
  put_matrices("step7.batch1/");
  put("step7.batch1/recording.json", bytes);
  attempt([] { plan({{"from", "step7.batch1"}}); });
  plan({{"from", "."}});
}

}  // namespace ranklab::fuzz
