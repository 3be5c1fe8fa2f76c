#include "experiments/ranks/ranks.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace ranks_manifest_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

std::string manifest_error(const TemporaryFolder& folder, const std::string& text) {
  write_file_atomically(folder / "m.json", text);
  try {
    Listing out;
    add_manifest({}, folder / "m.json", out);
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<ListedPair> pairs_in(const std::string& path, const FilesConfig& config = {}) {
  Listing out;
  add_manifest(config, path, out);
  return out.pairs;
}

}  // namespace

TEST_CASE("a manifest names pairs with paths relative to the manifest") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "m.json", R"({"pairs": [
    {"name": "fc", "activation": "a.npz:x", "gradient": "sub/g.npy", "transpose_activations": true},
    {"name": "in", "activation": "x/../far/a.npy"}, {"name": "out\n", "gradient": "g.npy", "transpose_activations": false}]})");
  const auto pairs = pairs_in(folder / "m.json");
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].name == "fc");
  CHECK(pairs[0].activation == folder / "a.npz:x");
  CHECK(pairs[0].gradient == folder / "sub/g.npy");
  CHECK(pairs[0].transposed);
  CHECK(pairs[1].activation == folder / "x/../far/a.npy");
  CHECK(pairs[1].gradient.empty());
  CHECK_FALSE(pairs[1].transposed);
  CHECK(pairs[2].name == "out\\x0a");
  CHECK(pairs[2].activation.empty());
  // The flag applies to pairs that do not set it themselves.
  const auto transposed = pairs_in(folder / "m.json", {.transpose_activations = true});
  CHECK(transposed[1].transposed);
  CHECK_FALSE(transposed[2].transposed);
}

TEST_CASE("a manifest with unknown, missing, duplicate or invalid keys is refused") {
  const TemporaryFolder folder;
  CHECK(contains(manifest_error(folder, "[]"), "m.json: a manifest must be an object"));
  CHECK(contains(manifest_error(folder, "{}"), "'pairs'"));
  CHECK(contains(manifest_error(folder, R"({"pairs": []})"), "at least one pair"));
  CHECK(contains(manifest_error(folder, R"({"pair": []})"),
                 "unknown key 'pair'; did you mean 'pairs'?"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [7]})"), "pair 1: must be an object"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [{"name": "a", "activations": "x"}]})"),
                 "pair 1: unknown key 'activations'; did you mean 'activation'?"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [{"name": "a", "zzzzzzzz": "x"}]})"),
                 "allowed: name, activation"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [{"activation": "x"}]})"), "needs a 'name'"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [{"name": "a"}]})"),
                 "('a'): needs an 'activation'"));
  CHECK(contains(manifest_error(folder, R"({"pairs": [{"name": 3, "gradient": "x"}]})"),
                 "'name' must be text"));
  CHECK(contains(
      manifest_error(folder,
                     R"({"pairs": [{"name": "a", "gradient": "x", "transpose_activations": 1}]})"),
      "true or false"));
  CHECK(contains(
      manifest_error(folder, R"({"pairs": [{"name": "a", "name": "b", "gradient": "x"}]})"),
      "twice"));
  CHECK(contains(manifest_error(folder, "{"), "not valid JSON"));
  const std::string moment = R"({"pairs": [{"name": "a", "second_moment": "x", )";
  CHECK(contains(manifest_error(folder, moment + R"("gradient": "y"}]})"),
                 "'second_moment' and 'samples' (the number"));
  CHECK(contains(manifest_error(folder, moment + R"("samples": 0}]})"),
                 "'second_moment' and 'samples' (the number"));
  CHECK(contains(manifest_error(folder, moment + R"("samples": 2.5}]})"),
                 "'samples' must be an integer"));
  CHECK(contains(manifest_error(folder, moment + R"("samples": 3, "activation": "y"}]})"),
                 "one of them is allowed"));
  CHECK(
      contains(manifest_error(folder, R"({"step": -1, "pairs": [{"name": "a", "gradient": "x"}]})"),
               "'step' must be an integer"));
}

TEST_CASE("a manifest may give the step of its pairs, and second moments instead of activations") {
  const TemporaryFolder folder;
  write_file_atomically(
      folder / "m.json",
      R"({"step": 30, "pairs": [{"name": "fc", "second_moment": "m.npy", "samples": 9, "gradient": "g.npy"}]})");
  const auto pairs = pairs_in(folder / "m.json");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].when == When{30, -1});
  CHECK(pairs[0].second_moment == folder / "m.npy");
  CHECK(pairs[0].samples == 9);
  CHECK(pairs[0].has_activation());
}

}  // namespace ranks_manifest_test
