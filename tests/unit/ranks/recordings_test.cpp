// Recordings in the format of python/ranklab/record.py.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "linalg/spectra.hpp"
#include "nn/tensors_to_write.hpp"
#include "ranks/matrices.hpp"
#include "ranks/ranks.hpp"

namespace ranks_recordings_test {

using namespace ranklab;
using namespace ranklab::ranks;
using nlohmann::json;

namespace {

std::string failure(const std::vector<std::string>& paths) {
  try {
    ranks_of(paths);
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

const arma::mat A = of_stable_rank(6, 40, 2, "A"), G = flat(5, 6, 3, "G");

}  // namespace

TEST_CASE(
    "a recording gives the ranks of second moments, of samples and of an embedding's counts") {
  const TemporaryFolder folder;
  Recording one;
  one.add("fc", A, G, {{"role", "head"}});
  // Three samples as rows; a gradient in their span.
  const arma::mat few = gaussian(6, 3, "few"), of_few = gaussian(5, 3, "E") * few.t();
  one.tensors.push_back(tensor<double>("in.activations", arma::mat(few.t())));
  one.tensors.push_back(tensor<double>("in.gradient", of_few));
  one.add_entry("in", 3);
  // A A' of a lookup is diagonal, so that st = (3 + 1 + 4) / 4.
  one.tensors.push_back(vector_tensor<double>("table.counts", arma::mat(arma::vec{3, 1, 4})));
  one.tensors.push_back(tensor<double>("table.gradient", flat(4, 3, 2, "T")));
  one.add_entry("table", 8, {{"role", "embedding"}});
  one.add_entry("norm", 8, {{"cause", "no-samples"}, {"reason", "not used"}});
  one.not_seen = {{"bias", {{"cause", "no-matrix"}, {"reason", "a vector"}}},
                  {"far.weight", {{"cause", "unused"}, {"reason", "not called"}}}};
  one.write(folder / "any.safetensors");
  const Result result = ranks_of({folder / "any.safetensors"});
  CHECK(cell(result, "fc", 1) == "head");
  CHECK(scalar(result, "fc.ratio") == doctest::Approx(1.5).epsilon(exact));
  CHECK(scalar(result, "in.stable_rank") == doctest::Approx(stable_rank(few)).epsilon(exact));
  CHECK(scalar(result, "in.n") == 3);
  CHECK(scalar(result, "table.stable_rank") == doctest::Approx(2.0).epsilon(exact));
  CHECK(scalar(result, "table.nuclear_rank") == doctest::Approx(2.0).epsilon(exact));
  CHECK(reason(result, "norm") == "not used");
  CHECK(reason(result, "far") == "not called");
  CHECK(reason(result, "bias").empty());
}

TEST_CASE("blocks of rows are layers of their own") {
  const TemporaryFolder folder;
  Recording one;
  one.add("qkv", A, arma::join_cols(flat(4, 6, 1, "Q"), flat(4, 6, 2, "K"), flat(4, 6, 4, "V")),
          {{"blocks", 3}});
  one.write(folder / "r.safetensors");
  const Result result = ranks_of({folder / "r.safetensors"});
  for (const auto& [name, rank] : {std::pair("qkv.1", 1.0), {"qkv.2", 2.0}, {"qkv.3", 4.0}})
    CHECK(scalar(result, std::string(name) + ".nuclear_rank") ==
          doctest::Approx(rank).epsilon(exact));
}

TEST_CASE("names give steps and batches, and the loss scale of each batch is undone") {
  const TemporaryFolder folder;
  const arma::mat H = gaussian(5, 6, "H");
  const auto write = [&](const std::string& name, const arma::mat& gradient, double scale) {
    Recording one;
    one.add("fc", A, scale * gradient, {{"loss_scale", scale}});
    one.write(folder / name);
  };
  write("step3.batch0.safetensors", G, 1);
  write("step3.batch1.safetensors", H, 1024);
  write("step20.safetensors", G, 8);
  write("other.safetensors", H, 1);  // not the name of a step
  const Result result = ranks_of({folder.path()});
  CHECK(find_series(result, "fc.nuclear_rank").x == std::vector<double>{3, 20});
  // At step 3 of the joined batches, whose A A' is 2 A A'.
  const double at_3 = nuclear_rank(arma::mat(G + H)) / 2, at_20 = 3.0 / 2;
  for (const Result& each :
       {result, ranks_of({folder / "step20.safetensors", folder / "step3.batch0.safetensors",
                          folder / "step3.batch1.safetensors"})}) {
    const Series& ratios = find_series(each, "fc.ratio");
    REQUIRE(ratios.mean.size() == 2);
    CHECK(ratios.mean[0] == doctest::Approx(at_3).epsilon(exact));
    CHECK(ratios.mean[1] == doctest::Approx(at_20).epsilon(exact));
  }
  CHECK(contains(failure({folder / "step20.safetensors", folder / "other.safetensors"}),
                 "other.safetensors: of several recordings, each name must say the step"));
}

TEST_CASE("a broken recording is refused by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const auto& change) {
    Recording one;
    one.add("fc", A, G);
    change(one);
    one.write(folder / "r.safetensors");
    return failure({folder / "r.safetensors"});
  };
  CHECK(refused([](Recording&) {}).empty());
  CHECK(contains(refused([](Recording& r) { r.format = "ranklab.recording/1"; }),
                 "r.safetensors: is not a recording in the format ranklab.recording/2"));
  CHECK(contains(refused([](Recording& r) { r.layers = "x"; }), "needs a list 'layers'"));
  CHECK(contains(refused([](Recording& r) { r.layers[0].erase("name"); }),
                 "layer 1: 'name' must be text"));
  CHECK(contains(refused([](Recording& r) { r.layers[0]["n"] = -1; }), "'n' must be an integer"));
  CHECK(contains(refused([](Recording& r) { r.layers[0]["loss_scale"] = 0; }),
                 "'loss_scale' must be a positive number"));
  CHECK(contains(refused([](Recording& r) { r.layers[0]["n"] = 0; }),
                 "no sample has an output gradient"));
  CHECK(contains(refused([](Recording& r) { r.layers[0]["blocks"] = 2; }), "claims 2 equal parts"));
  CHECK(contains(refused([](Recording& r) { r.not_seen = {{"a", "b"}}; }), "must be an object"));
  CHECK(contains(refused([](Recording& r) { r.tensors.pop_back(); }), "fc.second_moment"));
  CHECK(contains(failure({folder / "none.safetensors"}), "none.safetensors"));
  const TemporaryFolder empty;
  CHECK(contains(failure({empty.path()}), "contains no file step<N>.safetensors"));
}

}  // namespace ranks_recordings_test
