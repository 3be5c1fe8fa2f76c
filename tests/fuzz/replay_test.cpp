// Every seed and every past finding of the fuzz targets, through the same functions as `make fuzz`.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/machine.hpp"
#include "io/atomic_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace replay_test {

using namespace ranklab;
namespace fs = std::filesystem;

// The tests are next to the build folder.
fs::path folder_of(const std::string& kind, const fuzz::Target& target) {
  return fs::canonical(program_path()).parent_path().parent_path() / "tests/fuzz" / kind /
         target.name;
}

std::vector<fs::path> inputs_of(const fuzz::Target& target) {
  std::vector<fs::path> out;
  for (const char* kind : {"seeds", "findings"}) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder_of(kind, target), missing))
      out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST_CASE("every fuzz target has seeds, and no seed or past finding does harm") {
  for (const fuzz::Target& target : fuzz::targets()) {
    CHECK_MESSAGE(fs::exists(folder_of("seeds", target)), target.name);
    for (const fs::path& input : inputs_of(target)) {
      CAPTURE(input.string());
      CHECK_NOTHROW(fuzz::run(target, read_file(input.string())));
    }
  }
}

}  // namespace replay_test
