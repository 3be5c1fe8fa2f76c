// Which tensors of an archive are weights, and what quantized ones are worth.
#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "linalg/spectra.hpp"
#include "nn/tensors_to_write.hpp"
#include "ranks/matrices.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"

namespace ranks_weights_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

using Shape = std::vector<std::uint64_t>;

Result weights_in(const std::string& path) {
  auto study = configured(make_ranks_study(), {{"weights-only", path}});
  return run_declared(*study);
}

struct Archive {
  TemporaryFolder folder;
  std::vector<TensorToWrite> tensors = {};

  void add(const std::string& key, const arma::mat& A) {
    tensors.push_back(tensor<double>(key, A));
  }
  void add(const std::string& key, Dtype dtype, const Shape& shape, const std::string& bytes = {}) {
    std::uint64_t size = dtype_bytes(dtype);
    for (const std::uint64_t side : shape) size *= side;
    tensors.push_back({key, dtype, shape, bytes.empty() ? std::string(size, '\1') : bytes});
  }
  Result ranks() const {
    write_safetensors(folder / "w.safetensors", tensors);
    return weights_in(folder / "w.safetensors");
  }
};

// The entries of A, which are integers from -128 to 127, row by row.
std::string as_int8(const arma::mat& A) {
  std::string out;
  for (arma::uword i = 0; i < A.n_rows; ++i) {
    for (arma::uword j = 0; j < A.n_cols; ++j) out += static_cast<char>(static_cast<int>(A(i, j)));
  }
  return out;
}

void check_ranks(const Result& result, const std::string& name, const arma::mat& W) {
  CHECK(scalar(result, name + ".stable_rank") == doctest::Approx(stable_rank(W)).epsilon(exact));
  CHECK(scalar(result, name + ".nuclear_rank") == doctest::Approx(nuclear_rank(W)).epsilon(exact));
}

}  // namespace

TEST_CASE("tensors that are no weights are left out with a reason, and the others are measured") {
  Archive archive;
  archive.add("fc.weight", flat(6, 8, 3, "W"));
  arma::mat mask(16, 16, arma::fill::zeros), almost = mask;
  for (arma::uword i = 0; i < 16; ++i) mask.row(i).head(i + 1).fill(1);
  almost = mask;
  almost(3, 9) = 0.5;
  archive.add("h.0.attn.bias", Dtype::f64, {1, 1, 16, 16}, bytes_of<double>(mask.t()));
  archive.add("almost", Dtype::f64, {1, 1, 16, 16}, bytes_of<double>(almost.t()));
  archive.add("additive_mask", arma::mat((1 - mask) * -1e9));
  archive.add("seen", Dtype::boolean, {4, 4});
  archive.add("position_ids", Dtype::i64, {1, 12});
  archive.add("norm.weight", Dtype::f32, {8});
  archive.add("scale", Dtype::f32, {});
  archive.add("v_pred", Dtype::f32, {0});
  archive.add("empty.weight", Dtype::f32, {0, 4});
  archive.add("q.qweight", Dtype::i32, {8, 64});
  archive.add("q.qzeros", Dtype::i32, {1, 8});
  archive.add("q.g_idx", Dtype::i32, {64});
  archive.add("q.scales", Dtype::f16, {2, 64});
  archive.add("b.weight", Dtype::u8, {2048, 1});
  archive.add("b.weight.absmax", Dtype::f32, {64, 2});
  archive.add("b.weight.quant_state.bitsandbytes__nf4", Dtype::u8, {9});
  archive.add("i.weight", Dtype::i8, {4, 4});
  archive.add("f.weight", Dtype::f8_e4m3, {4, 4});
  archive.add("z.weight", Dtype::i8, {4, 4});
  archive.add("z.weight_scale", Dtype::f32, {4, 1});
  archive.add("z.weight_zero_point", Dtype::i8, {4, 1});
  archive.add("odd.weight", Dtype::f8_e5m2, {4, 6});
  archive.add("odd.weight_scale", Dtype::f32, {1, 6});
  const Result result = archive.ranks();
  CHECK(result.table.rows.size() == 2);
  CHECK(scalar(result, "fc.nuclear_rank") == doctest::Approx(3).epsilon(exact));
  CHECK(scalar(result, "almost.m") == 1);
  for (const auto& [name, part] :
       {std::pair("h.0.attn.bias", "causal mask"),
        {"additive_mask", "causal mask"},
        {"seen", "a mask"},
        {"position_ids", "integers (I64)"},
        {"norm", "not a matrix but a tensor of shape 8"},
        {"scale", "not a matrix but a scalar"},
        {"v_pred", "is empty: its shape is 0"},
        {"empty.weight", "is empty: its shape is 0 x 4"},
        {"q.qweight", "packed (GPTQ, AWQ)"},
        {"q.qzeros", "belongs to the quantized q.qweight"},
        {"q.g_idx", "belongs to the quantized q.qweight"},
        {"q.scales", "belongs to the quantized q.qweight"},
        {"b.weight", "packed (4 bits, bitsandbytes)"},
        {"b.weight.absmax", "belongs to the quantized b.weight"},
        {"b.weight.quant_state.bitsandbytes__nf4", "belongs to the quantized b.weight"},
        {"i.weight", "I8 without a scale"},
        {"f.weight", "F8_E4M3 without a scale"},
        {"z.weight", "zero points"},
        {"z.weight_scale", "belongs to the quantized z.weight"},
        {"odd.weight", "is 1 x 6 of F32 for a tensor of 4 x 6"}}) {
    const std::string shown = name;
    CAPTURE(shown);
    CHECK(contains(reason(result, name), part));
  }
}

TEST_CASE("int8 and FP8 weights are multiplied by their scales") {
  const arma::mat codes = {{127, -64, 3}, {1, 127, -90}};
  Archive archive;
  // LLM.int8: code * SCB / 127.
  archive.add("int8.weight", Dtype::i8, {2, 3}, as_int8(codes));
  archive.tensors.push_back(vector_tensor<double>("int8.SCB", arma::mat(arma::vec{2, 0.25})));
  const arma::mat rows = arma::diagmat(arma::vec{2, 0.25}) / 127 * codes;
  // One scale for each row; one for the tensor.
  archive.add("row.weight", Dtype::i8, {2, 3}, as_int8(codes));
  archive.add("row.weight_scale", arma::mat(arma::vec{0.5, 3}));
  archive.add("one.weight", Dtype::i8, {2, 3}, as_int8(codes));
  archive.tensors.push_back(vector_tensor<double>("one.weight_scale", arma::mat(arma::vec{7})));
  // E4M3: 0x38 is 1, 0x40 is 2, 0xB8 is -1, 0x30 is 1/2.
  archive.add("fp8.weight", Dtype::f8_e4m3, {2, 2}, "\x38\x40\xB8\x30");
  archive.add("fp8.weight_scale_inv", arma::mat(1, 1, arma::fill::value(0.125)));
  // Blocks of 128 x 128: all codes are 1, so that the weight is constant on each block.
  archive.add("blocks.weight", Dtype::i8, {130, 300}, std::string(130 * 300, '\1'));
  const arma::mat scales = {{1, 2, 3}, {5, 7, 11}};
  archive.add("blocks.weight_scale_inv", scales);
  arma::mat blocks(130, 300);
  for (arma::uword i = 0; i < 130; ++i) {
    for (arma::uword j = 0; j < 300; ++j) blocks(i, j) = scales(i / 128, j / 128);
  }
  const Result result = archive.ranks();
  check_ranks(result, "int8", rows);
  check_ranks(result, "row", arma::mat(arma::diagmat(arma::vec{0.5, 3}) * codes));
  check_ranks(result, "one", codes);
  check_ranks(result, "fp8", arma::mat{{1, 2}, {-1, 0.5}});
  check_ranks(result, "blocks", blocks);
  CHECK(cell(result, "fp8", 2) == "F8_E4M3");
}

TEST_CASE("the scales of ComfyUI and quanto are read, those of HQQ and EETQ named") {
  const arma::mat codes = {{127, -64, 3}, {1, 127, -90}};
  Archive archive;
  archive.add("comfy.weight", Dtype::f8_e4m3, {2, 2}, "\x38\x40\xB8\x30");
  archive.add("comfy.scale_weight", Dtype::f32, {});
  archive.add("comfy.scale_input", Dtype::f32, {1});
  archive.add("conv.weight", Dtype::f8_e4m3, {2, 2, 1, 1}, "\x38\x40\xB8\x30");
  archive.add("conv.weight_scale", Dtype::f64, {2, 1, 1, 1}, bytes_of<double>(arma::mat{1, 3}));
  archive.add("quanto.weight._data", Dtype::i8, {2, 3}, as_int8(codes));
  archive.add("quanto.weight._scale", arma::mat(arma::vec{0.5, 3}));
  archive.add("shifted.weight._data", Dtype::i8, {2, 3}, as_int8(codes));
  archive.add("shifted.weight._scale", arma::mat(arma::vec{0.5, 3}));
  archive.add("shifted.weight._shift", arma::mat(arma::vec{0.5, 3}));
  archive.add("hqq.axis", Dtype::i64, {1});
  archive.add("hqq.W_q", Dtype::u8, {1, 3});
  archive.add("hqq.scale", arma::mat(arma::vec{0.5, 3}));
  archive.add("hqq.zero", arma::mat(arma::vec{0.5, 3}));
  archive.add("eetq.weight", Dtype::i8, {2, 3}, as_int8(codes));
  archive.add("eetq.weight_scales", arma::mat(arma::vec{0.5, 3}));
  archive.add("norm.scale", arma::mat(arma::vec{0.5, 3}));  // next to no quantized tensor
  const Result result = archive.ranks();
  CHECK(result.table.rows.size() == 4);
  check_ranks(result, "conv", arma::mat{{1, 2}, {-3, 1.5}});
  check_ranks(result, "comfy", arma::mat{{1, 2}, {-1, 0.5}});
  check_ranks(result, "quanto", arma::mat(arma::diagmat(arma::vec{0.5, 3}) * codes));
  CHECK(scalar(result, "norm.scale.m") == 2);
  for (const auto& [name, part] :
       {std::pair("comfy.scale_weight", "belongs to the quantized comfy"),
        {"comfy.scale_input", "belongs to the quantized comfy"},
        {"quanto.weight._scale", "belongs to the quantized quanto"},
        {"shifted.weight._data", "zero points"},
        {"shifted.weight._shift", "belongs to the quantized shifted"},
        {"hqq.W_q", "integers (U8)"},
        {"hqq.scale", "belongs to the quantized hqq.W_q"},
        {"hqq.zero", "belongs to the quantized hqq.W_q"},
        {"eetq.weight", "layout of its scale eetq.weight_scales"},
        {"eetq.weight_scales", "belongs to the quantized eetq.weight"}}) {
    const std::string shown = name;
    CAPTURE(shown);
    CHECK(contains(reason(result, name), part));
  }
}

TEST_CASE("FP8 entries are the weights where no quantized tensor has a scale") {
  Archive archive;
  archive.add("raw.weight", Dtype::f8_e4m3, {2, 2}, "\x38\x40\xB8\x30");
  archive.add("norm.scale", Dtype::f32, {2});
  check_ranks(archive.ranks(), "raw", arma::mat{{1, 2}, {-1, 0.5}});
}

TEST_CASE("shards of a folder are read together, and a missing one is named") {
  const TemporaryFolder folder;
  const auto shard = [&](const std::string& name, const std::string& key) {
    write_safetensors(folder / name, {tensor<double>(key, flat(4, 6, 2, "W"))});
  };
  shard("model-00001-of-00003.safetensors", "a.weight");
  shard("model-00003-of-00003.safetensors", "c.weight");
  CHECK_THROWS_WITH_AS(weights_in(folder.path()),
                       doctest::Contains("the shard model-00002-of-00003.safetensors is missing"),
                       Failure);
  shard("model-00002-of-00003.safetensors", "b.weight");
  CHECK(weights_in(folder.path()).table.rows.size() == 3);
  write_file_atomically(
      folder / "model.safetensors.index.json",
      R"({"metadata": {"total_size": 9}, "weight_map": {"a.weight": "model-00001-of-00003.safetensors"}})");
  CHECK(weights_in(folder / "model.safetensors.index.json").table.rows.size() == 1);
  CHECK(weights_in(folder.path()).table.rows.size() == 1);
  std::filesystem::remove(folder / "model-00001-of-00003.safetensors");
  CHECK_THROWS_WITH_AS(weights_in(folder / "model.safetensors.index.json"),
                       doctest::Contains("model-00001-of-00003.safetensors"), Failure);
  std::filesystem::remove(folder / "model.safetensors.index.json");
  std::filesystem::remove(folder / "model-00003-of-00003.safetensors");
  std::filesystem::rename(folder / "model-00002-of-00003.safetensors", folder / "x.safetensors");
  shard("y.safetensors", "b.weight");
  CHECK_THROWS_WITH_AS(weights_in(folder.path()), doctest::Contains("'b.weight' is in both"),
                       Failure);
}

TEST_CASE("the ranks of a random matrix are those of large Gaussian ones") {
  // Square: the largest singular value is 2 sqrt(m), and the mean one 8 / (3 pi) sqrt(m).
  CHECK(random_stable_rank(100, 100) == doctest::Approx(25).epsilon(exact));
  CHECK(random_nuclear_rank(900, 900) ==
        doctest::Approx(900 * std::pow(8 / (3 * arma::datum::pi), 2)).epsilon(1e-5));
  CHECK(random_nuclear_rank(40, 300) == random_nuclear_rank(300, 40));
  const arma::mat W = gaussian(120, 360, "W");
  CHECK(stable_rank(W) == doctest::Approx(random_stable_rank(120, 360)).epsilon(0.05));
  CHECK(nuclear_rank(W) == doctest::Approx(random_nuclear_rank(120, 360)).epsilon(0.005));
}

}  // namespace ranks_weights_test
