// Weights in one file and in shards with an index.
#include "io/tensors/weights_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <map>

#include "io/complaint.hpp"
#include "io/tensors/stored_bytes.hpp"

namespace weights_file_test {

using namespace ranklab;

namespace {

// A file of one-byte scalars named by `letters`, with values 1, 2, ...
std::string scalars(const std::string& letters) {
  std::string header = "{", data;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::string(1, letters[i]) +
              R"(":{"dtype":"U8","shape":[],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
    data += static_cast<char>(i + 1);
  }
  return safetensors(header + "}", data);
}

std::string index(const std::map<std::string, std::string>& shard_of) {
  std::string map;
  for (const auto& [key, shard] : shard_of)
    map += (map.empty() ? "\"" : ",\"") + key + "\":\"" + shard + "\"";
  return R"({"metadata":{"total_size":3},"weight_map":{)" + map + "}}";
}

// The error message of opening this index next to the shards one ("ab") and two ("c").
std::string complaint(const std::string& text,
                      const std::string& name = "model.safetensors.index.json") {
  return complaint_of(name, text, [](const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    write_file_atomically(folder + "one.safetensors", scalars("ab"));
    write_file_atomically(folder + "two.safetensors", scalars("c"));
    WeightsFile::open(path);
  });
}

}  // namespace

TEST_CASE("weights file: a single file provides its tensors") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "model.safetensors", scalars("ba"));
  const WeightsFile file = WeightsFile::open(folder / "model.safetensors");
  CHECK(file.path() == folder / "model.safetensors");
  CHECK(file.keys() == std::vector<std::string>{"b", "a"});
  CHECK(file.has("a"));
  CHECK(!file.has("c"));
  CHECK(file.tensor("a").values() == std::vector<double>{2});
  CHECK_THROWS_WITH(file.tensor("c"),
                    doctest::Contains("model.safetensors: no key 'c'; the file has b, a"));
}

TEST_CASE("weights file: shards are found in the folder of the index") {
  const TemporaryFolder folder;
  mkdir((folder / "d").c_str(), 0777);
  write_file_atomically(folder / "d/one.safetensors", scalars("ba"));
  write_file_atomically(folder / "d/two.safetensors", scalars("xc"));
  const std::string path = folder / "d/model.safetensors.index.json";
  write_file_atomically(path, index({{"a", "one.safetensors"},
                                     {"b", "one.safetensors"},
                                     {"c", "two.safetensors"},
                                     {"x", "two.safetensors"}}));
  const WeightsFile file = WeightsFile::open(path);
  CHECK(file.path() == path);
  CHECK(file.keys() == std::vector<std::string>{"b", "a", "x", "c"});
  CHECK(file.tensor("a").values() == std::vector<double>{2});
  CHECK(file.tensor("c").values() == std::vector<double>{2});
  CHECK(file.tensor("x").label().ends_with("/d/two.safetensors:x"));
  CHECK_THROWS_WITH(file.tensor("y"), doctest::Contains(": no key 'y'; the file has "));
}

TEST_CASE("weights file: index and shards must agree") {
  const std::string one = "one.safetensors", two = "two.safetensors",
                    at = "model.safetensors.index.json: ";
  CHECK(complaint(index({{"a", one}, {"b", one}, {"c", two}})) == "read");
  CHECK(complaint(index({{"a", one}, {"b", one}, {"c", one}})) ==
        at + "tensor 'c' is not in one.safetensors, although the index assigns it to that file");
  CHECK(
      complaint(index({{"a", one}, {"b", one}, {"c", two}, {"d\\n", two}})) ==
      at + "tensor 'd\\x0a' is not in two.safetensors, although the index assigns it to that file");
  CHECK(complaint(index({{"a", one}, {"c", two}})) ==
        at + "one.safetensors has a tensor 'b' that the index does not list");
  // A tensor in two shards, although the index can name only one of them.
  CHECK(complaint_of("x.index.json", index({{"a", "p.safetensors"}, {"b", "q.safetensors"}}),
                     [](const std::string& path) {
                       const std::string folder = path.substr(0, path.rfind('/') + 1);
                       write_file_atomically(folder + "p.safetensors", scalars("a"));
                       write_file_atomically(folder + "q.safetensors", scalars("ba"));
                       WeightsFile::open(path);
                     }) ==
        "x.index.json: q.safetensors has a tensor 'a' that the index puts in p.safetensors");
  CHECK(complaint(index({{"a", one}, {"b", one}, {"c", "three.safetensors"}})) ==
        "cannot read three.safetensors: No such file or directory");
}

TEST_CASE("weights file: a shard must be a plain file name ending in .safetensors") {
  const std::string at = "model.safetensors.index.json: the shard of tensor 'a' ";
  for (const char* name : {"", ".", "..", "/etc/passwd", "../one.safetensors", "d/one.safetensors",
                           "d\\\\one.safetensors", "one\\u0000.safetensors"})
    CHECK(complaint(index({{"a", name}}))
              .find("; it must be the plain name of a file in the folder of the index") !=
          std::string::npos);
  CHECK(complaint(index({{"a", "../x"}})) ==
        at + "is '../x'; it must be the plain name of a file in the folder of the index");
  CHECK(complaint(R"({"weight_map":{"a":3}})") == at + "is not a name");
  CHECK(complaint(index({{"a", "one.npz"}})) ==
        "one.npz: weights are read from a .safetensors file, or from the .safetensors.index.json "
        "of its shards");
  CHECK(complaint(index({{"a", "pytorch_model-00001-of-00002.bin"}}))
            .starts_with("pytorch_model-00001-of-00002.bin: PyTorch's pickled files are not "
                         "loaded; convert it: "));
}

TEST_CASE("weights file: a malformed index is refused") {
  const std::string at = "model.safetensors.index.json: ";
  for (const char* text :
       {"[]", "{}", "3", R"({"weight_map":[]})", R"({"metadata":{"weight_map":{}}})"})
    CHECK(complaint(text) ==
          at + "an index of shards must be an object that has an object 'weight_map'");
  CHECK(complaint(R"({"weight_map":{}})") == at + "the index lists no tensor");
  CHECK(complaint(R"({"weight_map":{"a":"one.safetensors","a":"two.safetensors"}})") ==
        at + "the key 'a' occurs twice in one object");
  CHECK(complaint("{\"weight_map\"") ==
        at + "not valid JSON, at byte 13 (unexpected end of input; expected ':')");
  CHECK(complaint(R"({"weight_map":{"a":)" + std::string(1'000'000, '[')) ==
        at + "more than 64 nested lists and objects");
  CHECK(complaint(R"({"total_size":1e999})") == at + "a number is larger than any double");
}

TEST_CASE("weights file: other files are refused with a list of what is allowed") {
  for (const char* name : {"a.npy", "a.npz", "config.json", "a.pkl", "a", "a.safetensors.txt"})
    CHECK(complaint("x", name) == std::string(name) +
                                      ": weights are read from a .safetensors file, or from the "
                                      ".safetensors.index.json of its shards");
  for (const char* name : {"pytorch_model.bin", "a.pt", "a.pth", "a.ckpt"})
    CHECK(complaint("x", name).starts_with(
        std::string(name) +
        ": PyTorch's pickled files are not loaded; convert it: safetensors.torch.save_file("));
  CHECK(complaint("x", "a.safetensors") ==
        "a.safetensors: truncated: a .safetensors file starts with 8 bytes of length");
}

}  // namespace weights_file_test
