// Whole stored tensors copied as doubles and as floats.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"

namespace stored_tensor_test {

using namespace ranklab;

namespace {

template <class T>
std::vector<T> copied(const StoredTensor& tensor) {
  std::vector<T> out(tensor.elements() + 1, T(-7));
  tensor.copy_to(out.data());
  CHECK(out.back() == T(-7));
  out.pop_back();
  return out;
}

}  // namespace

TEST_CASE("stored tensor: every half and bfloat16 is copied bit for bit, NaN included") {
  std::string bytes;
  for (unsigned bits = 0; bits < 65536; ++bits) bytes += little(bits, 2);
  const std::vector<float> halves =
      copied<float>(tensor_in(safetensors_of("F16", "[65536]", bytes), "x.safetensors"));
  const std::vector<float> brains =
      copied<float>(tensor_in(safetensors_of("BF16", "[65536]", bytes), "x.safetensors"));
  // By the definition of the formats, 1, 5 and 10 bits become 1, 8 and 23; a subnormal is a
  // multiple of 2^-24.
  const auto bits_of_half = [](unsigned bits) -> std::uint32_t {
    const unsigned sign = bits >> 15, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    if (exponent == 31) return sign << 31 | 255u << 23 | mantissa << 13;
    if (exponent > 0) return sign << 31 | (exponent + 112) << 23 | mantissa << 13;
    return sign << 31 | std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(mantissa), -24));
  };
  const std::vector<double> doubles =
      copied<double>(tensor_in(safetensors_of("F16", "[65536]", bytes), "x.safetensors"));
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    wrong += std::bit_cast<std::uint32_t>(halves[bits]) != bits_of_half(bits);
    wrong += std::isnan(halves[bits]) ? !std::isnan(doubles[bits]) : doubles[bits] != halves[bits];
    wrong += std::bit_cast<std::uint32_t>(brains[bits]) != bits << 16;
  }
  CHECK(wrong == 0);
}

TEST_CASE("stored tensor: types wider than float are rounded once, from the double") {
  // Half a unit in the last place above 1 is rounded to even, a little more is rounded up.
  const double half_place = std::ldexp(1.0, -24);
  const std::vector<double> numbers{1 + half_place, 1 + half_place * (1 + std::ldexp(1.0, -20)),
                                    1e300, -0.0};
  const StoredTensor doubles =
      tensor_in(safetensors_of("F64", "[4]", entries_of<double>(numbers)), "x.safetensors");
  CHECK(copied<double>(doubles) == numbers);
  const std::vector<float> rounded = copied<float>(doubles);
  CHECK(rounded[0] == 1.0f);
  CHECK(rounded[1] == 1.0f + std::ldexp(1.0f, -23));
  CHECK(std::isinf(rounded[2]));
  CHECK(std::signbit(rounded[3]));
  // The excess over half a unit in a float's last place is too small for a double.
  const std::uint64_t integer = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 38) + 1;
  const StoredTensor integers =
      tensor_in(safetensors_of("I64", "[1]", little(integer, 8)), "x.safetensors");
  CHECK(copied<double>(integers)[0] == std::ldexp(1.0, 62) + std::ldexp(1.0, 38));
  CHECK(copied<float>(integers)[0] == std::ldexp(1.0f, 62));
}

TEST_CASE(
    "stored tensor: copies are row-major for odd addresses and any order of bytes and of entries") {
  std::vector<float> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(static_cast<float>(i) - 5.0f);
  std::string by_rows, by_columns, big_columns;
  for (const float number : expected) by_rows += entries_of<float>({number});
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) {
        const std::string entry = entries_of<float>({12.0 * i + 4.0 * j + k - 5.0});
        by_columns += entry;
        big_columns += std::string(entry.rbegin(), entry.rend());
      }
    }
  }
  const std::string odd =
      safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("t":{"dtype":"F32","shape":[2,3,4],"data_offsets":[1,97]}})",
                  "x" + by_rows);
  for (const StoredTensor& tensor : {tensor_in(npy("<f4", "(2, 3, 4)", by_rows), "x.npy"),
                                     tensor_in(npy("<f4", "(2, 3, 4)", by_columns, true), "x.npy"),
                                     tensor_in(npy(">f4", "(2, 3, 4)", big_columns, true), "x.npy"),
                                     tensor_in(odd, "x.safetensors", "t")}) {
    CHECK(copied<float>(tensor) == expected);
    CHECK(copied<double>(tensor) == std::vector<double>(expected.begin(), expected.end()));
  }
  CHECK(copied<float>(tensor_in(npy("<f4", "(0, 3)", ""), "x.npy")).empty());
  CHECK(copied<float>(tensor_in(npy("<f4", "()", entries_of<float>({2})), "x.npy")) ==
        std::vector<float>{2});
}

TEST_CASE("stored tensor: a copy made in several chunks has every entry once") {
  constexpr std::size_t count = 3 * (1 << 21) + 17;
  std::string bytes(2 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    bytes[2 * i] = static_cast<char>(i % 251);
    bytes[2 * i + 1] = static_cast<char>(i % 119);
  }
  const StoredTensor tensor =
      tensor_in(safetensors_of("BF16", "[" + std::to_string(count) + "]", bytes), "x.safetensors");
  const std::vector<float> floats = copied<float>(tensor);
  const std::vector<double> doubles = copied<double>(tensor);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(i % 251 << 16 | i % 119 << 24);
    wrong += std::bit_cast<std::uint32_t>(floats[i]) != bits ||
             doubles[i] != static_cast<double>(floats[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("stored tensor: parts along the first dimension have the same entries as the matrix") {
  const auto cube = [](bool by_columns) {
    std::string data;
    for (int i = 0; i < 12; ++i) data += little(static_cast<std::uint64_t>(i), 8);
    return tensor_in(npy("<i8", "(2, 3, 2)", data, by_columns), "x.npy");
  };
  const StoredTensor tensor = cube(false);
  CHECK(tensor.at(1).values() == std::vector<double>{6, 7, 8, 9, 10, 11});
  CHECK(tensor.at(1).at(2).values() == std::vector<double>{10, 11});
  CHECK(tensor.at(1).label() == tensor.label() + "[1]");
  CHECK(tensor.as_matrix(4, 3).shape() == std::vector<std::uint64_t>{4, 3});
  CHECK(tensor.as_matrix(4, 3).at(3).values() == std::vector<double>{9, 10, 11});
  CHECK_THROWS_AS(tensor.at(2), Failure);
  CHECK_THROWS_AS(tensor.at(0).at(0).at(0).at(0), Failure);
  CHECK_THROWS_AS(tensor.as_matrix(5, 2), Failure);
  CHECK_THROWS_AS(tensor.as_matrix(std::uint64_t{1} << 40, std::uint64_t{1} << 40), Failure);
  CHECK_THROWS_AS(cube(true).at(0), Failure);
  CHECK_THROWS_AS(cube(true).as_matrix(4, 3), Failure);
}

}  // namespace stored_tensor_test
