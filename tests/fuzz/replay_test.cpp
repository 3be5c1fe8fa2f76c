// Every seed and every past finding of the fuzz targets, through the same functions as `make fuzz`.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/machine.hpp"
#include "core/random.hpp"
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

// One to four changed, added or removed bytes; those with a meaning in some format are likely.
std::string damaged(std::string bytes, Stream& stream) {
  static const std::string special("\0\1\x08\x7f\x80\xff{}[](),:'\"0L\\", 19);
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(stream.uniform() * static_cast<double>(bound));
  };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size()), kind = below(6);
    if (kind == 0) bytes[at] = static_cast<char>(below(256));
    if (kind == 1) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    if (kind == 2) bytes[at] = special[below(special.size())];
    if (kind == 3) bytes.insert(at, 1, special[below(special.size())]);
    if (kind == 4) bytes.erase(at, 1 + below(3));
    if (kind == 5 && below(8) == 0) bytes.resize(at);
  }
  return bytes;
}

TEST_CASE("no damaged seed of a file of numbers, weights or tokens does harm") {
  constexpr int rounds = 100;
  for (const fuzz::Target& target : fuzz::targets()) {
    const std::string names = " npy npz safetensors token_ids model_config ";
    if (names.find(" " + target.name + " ") == std::string::npos) continue;
    for (const fs::path& input : inputs_of(target)) {
      const std::string bytes = read_file(input.string());
      Stream stream(1, 0, input.filename().string());
      for (int round = 0; round < rounds; ++round) {
        CAPTURE(input.string());
        CAPTURE(round);
        CHECK_NOTHROW(fuzz::run(target, damaged(bytes, stream)));
      }
    }
  }
}

}  // namespace replay_test
