// The program of `make fuzz`, linked with libFuzzer: `fuzz --target=NAME [libFuzzer's flags and
// folders]`. `fuzz --target=NAME FILE` replays one input, `fuzz --targets` lists the targets.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mutations.hpp"
#include "targets.hpp"

namespace {

using ranklab::fuzz::Target;

const Target* chosen = nullptr;

void choose(const char* name) {
  for (const Target& target : ranklab::fuzz::targets()) {
    if (target.name == name) chosen = &target;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr const char* flag = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const char* word = (*argv)[i];
    if (std::strncmp(word, flag, std::strlen(flag)) == 0) choose(word + std::strlen(flag));
    if (std::strcmp(word, "--targets") == 0) {
      for (const Target& target : ranklab::fuzz::targets())
        std::printf("%s\n", target.name.c_str());
      std::exit(0);
    }
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "fuzz: --target=NAME is missing or unknown; --targets lists the names\n");
    std::exit(2);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Half of the mutations of inputs with JSON keep its form.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  const bool has_json = size > 0 && (data[0] == '{' || data[0] == '[' || data[0] == 'R');
  if (has_json && seed % 2 == 0) {
    const std::string text =
        ranklab::fuzz::mutated_json({reinterpret_cast<const char*>(data), size}, seed / 2);
    if (!text.empty() && text.size() <= most) {
      std::copy(text.begin(), text.end(), data);
      return text.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ranklab::fuzz::run(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}
