// Small valid files with bytes changed, removed and added at random: whatever they become, they are read or refused.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "io/opened.hpp"
#include "io/stored_bytes.hpp"

using namespace ranklab;

namespace {

struct Sample {
  const char* name;
  std::string bytes;
};

std::vector<Sample> samples() {
  const std::string doubles = npy("<f8", "(2, 3)", entries_of<double>({1, 2, 3, 4, 5, 6}), true);
  const std::string halves = npy(">f2", "(5,)", std::string(10, 'x'));
  const std::vector<ZipPart> stored{{.name = "a.npy", .content = doubles, .zip64_local = true, .zip64_central = true},
                                    {.name = "b.npy", .content = halves}};
  const std::vector<ZipPart> packed{{.name = "a.npy", .content = doubles, .deflate = true},
                                    {.name = "b.npy", .content = halves, .deflate = true, .sizes_follow = true}};
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";
  return {{"a.npy", doubles},
          {"b.npy", npy_of_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", "1234", 3)},
          {"c.npz", zip(stored, {.zip64_end = true, .comment = "", .prefix = ""})},
          {"d.npz", zip(packed)},
          {"e.safetensors", safetensors(header, std::string(22, 'y'))}};
}

// One to four changes; bytes that formats treat differently are likelier than others.
std::string damaged(std::string bytes, Stream& stream) {
  static const std::string special("\0\1\x08\x7f\x80\xff{}[](),:'\"0L\\", 19);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(stream.uniform() * static_cast<double>(bound)); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes[at] = special[below(special.size())];
        break;
      case 3:
        bytes.insert(at, 1, special[below(special.size())]);
        break;
      case 4:
        bytes.erase(at, 1 + below(3));
        break;
      default:
        if (below(8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

// Reads whatever the file holds; true where nothing of it is refused. Any exception but Failure is the test's failure.
bool reads(const std::string& path) {
  bool whole = true;
  try {
    const TensorFile file = TensorFile::open(path);
    for (const std::string& key : file.keys()) {
      try {
        const StoredTensor tensor = file.tensor(key);
        // Type and size of a tensor of a small file are small, or it would not have been opened.
        CHECK(tensor.elements() < 1000);
        CHECK(tensor.values().size() == tensor.elements());
        if (tensor.is_matrix()) CHECK(tensor.matrix().n_elem == tensor.elements());
      } catch (const Failure&) {
        whole = false;
      }
    }
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
    whole = false;
  }
  return whole;
}

}  // namespace

TEST_CASE("damaged files are read or refused, never worse") {
  const TemporaryFolder folder;
  const int rounds = std::getenv("RANKLAB_FUZZ") != nullptr ? std::atoi(std::getenv("RANKLAB_FUZZ")) : 400;
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    const std::string path = folder / sample.name;
    write_file_atomically(path, sample.bytes);
    CHECK(reads(path) == (sample.name != std::string("b.npy")));
    Stream stream(1, 0, sample.name);
    int refused = 0;
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(round);
      std::ofstream(path, std::ios::binary) << damaged(sample.bytes, stream);
      CHECK_NOTHROW(refused += !reads(path));
    }
    CHECK(refused > rounds / 3);
  }
}
