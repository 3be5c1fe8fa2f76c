// Small valid files with bytes changed, removed and added at random: every result must be either
// read or refused.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "io/tensors/token_ids.hpp"
#include "io/tensors/weights_file.hpp"
#include "nn/blocks/model_config.hpp"

namespace damaged_files_test {

using namespace ranklab;

namespace {

struct Sample {
  const char* name;
  std::string bytes;
};

std::vector<Sample> samples() {
  const std::string doubles = npy("<f8", "(2, 3)", entries_of<double>({1, 2, 3, 4, 5, 6}), true);
  const std::string halves = npy(">f2", "(5,)", std::string(10, 'x'));
  const std::vector<ZipPart> stored{
      {.name = "a.npy", .content = doubles, .zip64_local = true, .zip64_central = true},
      {.name = "b.npy", .content = halves}};
  const std::vector<ZipPart> packed{
      {.name = "a.npy", .content = doubles, .deflate = true},
      {.name = "b.npy", .content = halves, .deflate = true, .sizes_follow = true}};
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";
  return {
      {"a.npy", doubles},
      {"b.npy", npy_of_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }",
                              "1234", 3)},
      {"c.npz", zip(stored, {.zip64_end = true, .comment = "", .prefix = ""})},
      {"d.npz", zip(packed)},
      {"e.safetensors", safetensors(header, std::string(22, 'y'))}};
}

// One to four changes; bytes with a special meaning in some format are more likely than others.
std::string damaged(std::string bytes, Stream& stream) {
  static const std::string special("\0\1\x08\x7f\x80\xff{}[](),:'\"0L\\", 19);
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(stream.uniform() * static_cast<double>(bound));
  };
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

// Reads everything in the file; returns true if no part of it is refused. Any exception other than
// Failure fails the test.
bool reads(const std::string& path) {
  bool whole = true;
  try {
    const TensorFile file = TensorFile::open(path);
    for (const std::string& key : file.keys()) {
      try {
        const StoredTensor tensor = file.tensor(key);
        // A small file can only be opened if the type and size of its tensors are small.
        CHECK(tensor.elements() < 1000);
        const std::vector<double> values = tensor.values();
        CHECK(values.size() == tensor.elements());
        if (tensor.is_matrix()) CHECK(matrix_of(tensor).n_elem == tensor.elements());
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

TEST_CASE("damaged files are either read or refused") {
  const TemporaryFolder folder;
  const int rounds =
      std::getenv("RANKLAB_FUZZ") != nullptr ? std::atoi(std::getenv("RANKLAB_FUZZ")) : 400;
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

TEST_CASE("damaged token ids, configs and weight indices are either read or refused") {
  struct Kind {
    Sample sample;
    void (*read)(const std::string&);
  };
  const auto ids = [](const std::string& path) {
    for (const auto& row : read_token_ids(path)) CHECK((row.size() >= 2 && row.size() < 1000));
  };
  const auto config = [](const std::string& path) { read_model_config(path); };
  const auto weights = [](const std::string& path) { WeightsFile::open(path); };
  const std::vector<Kind> kinds{
      {{"ids.json", "[[1, 2, 30522], [4,5], [0,4294967295,7]]"}, ids},
      {{"ids.txt", "1 2,30522\n\n4\t5\n0 4294967295 7\n"}, ids},
      {{"ids.npy", npy("<u2", "(2, 3)", entries_of<std::uint16_t>({1, 2, 3, 4, 5, 6}))}, ids},
      {{"config.json",
        R"({"model_type":"mamba2","hidden_size":8,"time_step_limit":[0.0,Infinity],"hidden_act":"silu"})"},
       config},
      {{"state.json",
        R"({"d_model":8,"ssm_cfg":{"layer":"Mamba2","d_state":16},"attn_layer_idx":[],"rms_norm":true})"},
       config},
      {{"m.index.json",
        R"({"metadata":{"total_size":2},"weight_map":{"a":"a.safetensors","b":"b.safetensors"}})"},
       weights}};
  const TemporaryFolder folder;
  for (const std::string key : {"a", "b"}) {
    write_file_atomically(
        folder / (key + ".safetensors"),
        safetensors("{\"" + key + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  }
  const int rounds =
      std::getenv("RANKLAB_FUZZ") != nullptr ? std::atoi(std::getenv("RANKLAB_FUZZ")) : 400;
  for (const Kind& kind : kinds) {
    CAPTURE(kind.sample.name);
    const std::string path = folder / kind.sample.name;
    Stream stream(2, 0, kind.sample.name);
    int refused = 0;
    for (int round = 0; round <= rounds; ++round) {
      CAPTURE(round);
      std::ofstream(path, std::ios::binary)
          << (round == 0 ? kind.sample.bytes : damaged(kind.sample.bytes, stream));
      // Any exception other than Failure fails the test.
      try {
        kind.read(path);
      } catch (const Failure& failure) {
        CHECK(std::string(failure.what()).find('\n') == std::string::npos);
        ++refused;
      }
      if (round == 0) CHECK(refused == 0);
    }
    CHECK(refused > rounds / 3);
  }
}

}  // namespace damaged_files_test
