#include "result/environment.hpp"

#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/bytes.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "linalg/blas.hpp"
#include "version.hpp"

namespace ranklab {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

std::string program_checksum() {
  static const std::string checksum = [] {
    // Block by block: a copy of the whole program would take more time and memory than a tiny run.
    std::ifstream file(program_path(), std::ios::binary);
    std::vector<char> block(1 << 16);
    std::uint64_t size = 0;
    uLong crc = 0;
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
      size += static_cast<std::uint64_t>(file.gcount());
      crc = ::crc32(crc, reinterpret_cast<const Bytef*>(block.data()),
                    static_cast<uInt>(file.gcount()));
    }
    return size == 0 ? std::string("unknown") : hexadecimal(size << 32 | crc);
  }();
  return checksum;
}

nlohmann::ordered_json environment_json(std::uint64_t threads,
                                        const std::vector<std::string>& argv) {
  std::vector<std::string> words;  // valid UTF-8
  for (const std::string& word : argv) words.push_back(is_utf8(word) ? word : printable(word));
  return {{"version", RANKLAB_VERSION},
          {"git", RANKLAB_GIT},
          {"compiler", compiler_name()},
          {"flags", RANKLAB_FLAGS},
          {"armadillo", armadillo_name()},
          {"blas", blas_name()},
          {"blas_core", blas_core()},
          {"cpu", cpu_name()},
          {"program", program_checksum()},
          {"threads", threads},
          {"argv", words}};
}

std::string version_line() {
  return RANKLAB_VERSION " (git " RANKLAB_GIT ")";
}

std::string version_text() {
  return "ranklab " + version_line() + "\ncompiler   " + compiler_name() + ", " RANKLAB_FLAGS +
         "\nArmadillo  " + armadillo_name() + "\nBLAS       " + blas_name() + ", kernel " +
         blas_core() + ", 1 thread inside a trial unless --blas-threads says more\nmachine    " +
         cpu_name() + ", " + std::to_string(available_cores()) + " cores\n";
}

}  // namespace ranklab
