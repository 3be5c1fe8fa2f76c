// The recordings that `ranks` reads.

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/input_files.hpp"
#include "cli/resolve.hpp"
#include "io/tensors/safetensors_writer.hpp"
#include "ranks/ranks.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

constexpr std::uint64_t k = 4, m = 3;

TensorToWrite tensor(const std::string& key, const std::vector<std::uint64_t>& shape) {
  std::uint64_t size = sizeof(float);
  for (const std::uint64_t side : shape) size *= side;
  return {key, Dtype::f32, shape, std::string(size, '?')};
}

void plan(const std::vector<std::pair<std::string, std::string>>& flags) {
  RunRequest request;
  request.flags.flags = flags;
  ResolvedRun run = resolve(ranks_experiment(), request);
  attempt([&] { run.study().memory(); });
  input_checksums(run.fields());
}

}  // namespace

// A line with the layers, and one with what was not seen. Metadata is text, in which bytes that are
// no UTF-8 are replaced: the reader of the header refuses them.
void read_recording(std::string_view input) {
  using nlohmann::json;
  const std::string quoted =
      json(std::string(input)).dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string bytes = json::parse(quoted);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string path = expect("step7.batch1.safetensors");
  write_safetensors(path,
                    {tensor("fc.second_moment", {k, k}), tensor("fc.gradient", {m, k}),
                     tensor("few.activations", {1, k}), tensor("few.gradient", {m, k}),
                     tensor("table.counts", {k}), tensor("table.gradient", {m, k})},
                    {{"format", "ranklab.recording/2"},
                     {"layers", bytes.substr(0, end)},
                     {"not_seen", bytes.substr(std::min(end + 1, bytes.size()))}});
  attempt([&] { plan({{"from", path}}); });
  plan({{"from", "."}});
}

}  // namespace ranklab::fuzz
