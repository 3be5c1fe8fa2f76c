// Which .safetensors files are accepted, which are refused, and how they are written.
#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "io/tensors/opened.hpp"
#include "io/tensors/safetensors_writer.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "io/tensors/weights_file.hpp"

namespace safetensors_test {

using namespace ranklab;

namespace {

const std::string eight = entries_of<float>({1, 2});

std::string complaint(const std::string& header, const std::string& data = eight,
                      const std::string& key = "a") {
  return complaint_about(safetensors(header, data), "x.safetensors", key);
}

// A header with one tensor "a" that has these fields.
std::string one(const std::string& fields) {
  return R"({"a":{)" + fields + "}}";
}
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return one(R"("dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets);
}

}  // namespace

TEST_CASE(
    "safetensors: fields and tensors may be in any order, with padding, metadata, odd offsets and "
    "empty tensors anywhere") {
  CHECK(complaint(one(R"("data_offsets":[0,8],"shape":[2],"dtype":"F32")") + "     ") == "read");
  const std::string header =
      R"({ "__metadata__" : {"format":"pt","x":""}, "late":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},)"
      R"( "none":{"dtype":"F64","shape":[3,0],"data_offsets":[1,1]}, "early":{"dtype":"I8","shape":[],"data_offsets":[0,1]} })";
  const std::string bytes = safetensors(header, "\xfe" + eight);
  CHECK(tensor_in(bytes, "x.safetensors", "late").values() == std::vector<double>{1, 2});
  CHECK(tensor_in(bytes, "x.safetensors", "early").values() == std::vector<double>{-2});
  CHECK(tensor_in(bytes, "x.safetensors", "none").shape_text() == "3 x 0");
  CHECK(complaint_about(bytes, "x.safetensors") ==
        "x.safetensors: name one of its tensors, as FILE:KEY; the file has late, none, early");
  CHECK(complaint(R"({"caf\u00e9":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight,
                  "caf\xC3\xA9") == "read");
  CHECK(complaint(R"({"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", eight, "") == "read");
}

TEST_CASE("safetensors: a tensor of unsupported type leaves the others readable") {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"q":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[8,11]},)"
      R"("n":{"dtype":"F9_NEW","shape":[3],"data_offsets":[11,16]},"f":{"dtype":"F4","shape":[2,3],"data_offsets":[16,19]}})";
  const std::string data = eight + std::string(11, 'x');
  CHECK(complaint(header, data) == "read");
  CHECK(complaint(header, data, "q") ==
        "x.safetensors:q: dtype F8_E8M0 is not supported; dequantize it with the library that "
        "wrote it");
  CHECK(has(complaint(header, data, "n"), "dtype F9_NEW is not supported"));
  CHECK(has(complaint(header, data, "f"), "dtype F4 is not supported"));
  CHECK(has(complaint(one("F4", "[3]", "[0,8]")), "cannot be counted in bytes"));
}

TEST_CASE("safetensors: 8-bit floats have the values of the OFP8 specification") {
  // Sign, exponent and fraction: the largest, the smallest normal, the smallest subnormal, -1, NaN.
  const std::string header =
      R"({"a":{"dtype":"F8_E4M3","shape":[5],"data_offsets":[0,5]},"b":{"dtype":"F8_E5M2","shape":[5],"data_offsets":[5,10]}})";
  const std::string bytes = safetensors(header, "\x7E\x08\x01\xB8\x7F\x7B\x04\x01\xBC\x7C");
  const std::vector<double> e4m3 = tensor_in(bytes, "x.safetensors", "a").values(),
                            e5m2 = tensor_in(bytes, "x.safetensors", "b").values();
  CHECK(std::vector(e4m3.begin(), e4m3.begin() + 4) ==
        std::vector<double>{448, std::ldexp(1, -6), std::ldexp(1, -9), -1});
  CHECK(std::isnan(e4m3[4]));
  CHECK(e5m2 == std::vector<double>{57344, std::ldexp(1, -14), std::ldexp(1, -16), -1, INFINITY});
}

TEST_CASE("safetensors: the header is one object of tensors with unique keys") {
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::string numbers = "tensor 'a': its shape and data_offsets must be lists of integers";
  const std::string object = "x.safetensors: the header: 'a' contains an object";
  const std::string ends = "x.safetensors: the header does not start with { and end with }";
  const std::string text = "x.safetensors: __metadata__ of the header is not an object of strings";
  const std::string syntax = "x.safetensors: the header: not valid JSON, at byte ";
  const auto twice = [](const std::string& key) {
    return "x.safetensors: the header: the key '" + key + "' occurs twice in one object";
  };
  for (const std::string& header :
       {one(good), " " + one(good), "\n\t\r " + one(good), one(good) + " \r\n\t\n",
        R"({"__metadata__":null,"a":{)" + good + "}}"})
    CHECK(complaint(header) == "read");
  check_refusals(
      [](const std::string& header) { return complaint(header); },
      {{R"({"a":{)" + good + R"(},"a":{)" + good + "}}", twice("a")},
       {R"({"\u0061":{)" + good + R"(},"a":{)" + good + "}}", twice("a")},
       {one(good + R"(,"shape":[2])"), twice("shape")},
       {one(good + R"(,"x":1)"),
        "tensor 'a': it has a 'x' in addition to dtype, shape and data_offsets"},
       {one(R"("dtype":"F32","shape":[2])"),
        "tensor 'a': it lacks one of dtype, shape and data_offsets"},
       {one(""), "tensor 'a': it lacks one of"},
       {R"({"__metadata__":{"x":1},"a":{)" + good + "}}", text},
       {R"({"__metadata__":["x"],"a":{)" + good + "}}", text},
       {R"({"__metadata__":{"x":"","x":""},"a":{)" + good + "}}", twice("x")},
       {R"({"__metadata__":{},"__metadata__":{},"a":{)" + good + "}}", twice("__metadata__")},
       {R"({"__metadata__":null,"__metadata__":null,"a":{)" + good + "}}", twice("__metadata__")},
       {R"({"a":[1]})", "tensor 'a': the header does not describe it by an object"},
       {R"({"a":null})", "tensor 'a': the header does not describe it by an object"},
       {one(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), "its dtype is not a string"},
       {one("F32", "[2]", "[0,4,8]"), "its data_offsets are not two numbers"},
       {one("F32", "[2]", "8"), numbers},
       {one("F32", "{}", "[0,8]"), object},
       {R"({"a":{"b":[{"c":}})", object},
       {"[" + one(good) + "]", ends},
       {"", ends},
       {"  \t\n", ends},
       {one(good) + std::string(1, '\0'), ends},
       {"\v" + one(good), ends},
       {"\xEF\xBB\xBF" + one(good), ends},
       {one(good) + "\xC2\xA0", ends},
       {one(good) + "}", syntax},
       {"{" + one(good), syntax},
       {one(good + ","), syntax},
       {one(good) + one(good), syntax},
       {one(good) + std::string(1, '\0') + "}", syntax},
       {R"({"a":{)" + good + "/**/}}", syntax},
       {one("\"\xff\":1"), syntax},
       {"{\"a\":{\"shape\":" + std::string(1'000'000, '[') + "}", "more than 64 nested lists"}});
  for (const char* shape : {"[-2]", "[-0]", "[2.0]", "[2e0]", "[\"2\"]", "[[2]]", "2", "null",
                            "[true]", "[18446744073709551616]"}) {
    CAPTURE(shape);
    CHECK(has(complaint(one("F32", shape, "[0,8]")), numbers));
  }
}

TEST_CASE(
    "safetensors: the offsets cover the file without gap or overlap and agree with the shapes") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[5],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[5],"data_offsets":)" + second + "}}";
  };
  check_refusals(
      [](const std::string& header) { return complaint(header); },
      {{one("F32", "[2]", "[8,0]"), "are in the wrong order"},
       {one("F32", "[1]", "[4,8]"), "leave a gap"},
       {one("F32", "[1]", "[0,4]"), "x.safetensors: too long: 4 bytes follow the last tensor"},
       {one("F32", "[3]", "[0,12]"), "0 to 12 lie beyond the file (truncated?)"},
       {one("F32", "[2]", "[0,18446744073709551615]"), "lie beyond the file"},
       {one("F32", "[3]", "[0,8]"),
        "x.safetensors: tensor 'a': 3 entries of F32 take 12 bytes, but its data_offsets span 8"},
       {one("F32", "[4294967296,4294967296,2]", "[0,8]"), "cannot be counted in bytes"},
       {one("F32", "[9223372036854775807]", "[0,8]"), "cannot be counted in bytes"},
       {one("F32", "[18446744073709551615]", "[0,8]"), "cannot be counted in bytes"},
       {one("F32", "[0,4294967296,4294967296]", "[0,8]"), "cannot be counted in bytes"},
       {two("[0,5]", "[3,8]"), "tensor 'b': its data_offsets 3 to 8 overlap another tensor's"},
       {two("[0,5]", "[0,5]"), "overlap"}});
  CHECK(complaint("{}", "") == "x.safetensors: no key 'a'; the file holds no tensor");
  CHECK(complaint("{}", "x") == "x.safetensors: too long: 1 bytes follow the last tensor");
}

// A million of them then take about 3 s. A ratio of times is comparable on every machine.
TEST_CASE("safetensors: a header with many tensors is read in about the time of parsing its JSON") {
  constexpr std::uint64_t count = 50'000;
  std::string header = "{";
  for (std::uint64_t i = 0; i < count; ++i) {
    header += (i == 0 ? "\"layers." : ",\"layers.") + std::to_string(i) +
              R"(.weight":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  }
  header += "}";
  const TemporaryFolder folder;
  write_file_atomically(folder / "x.safetensors", safetensors(header, std::string(count, '\7')));
  const std::clock_t start = std::clock();
  CHECK(WeightsFile::open(folder / "x.safetensors").tensor("layers.49999.weight").values() ==
        std::vector<double>{7});
  const std::clock_t middle = std::clock();
  CHECK(nlohmann::json::parse(header).size() == count);
  CHECK(middle - start < 5 * (std::clock() - middle));
}

TEST_CASE("safetensors: wrong header lengths and truncated files are refused") {
  CHECK(has(complaint_about(little(100'000'001, 8) + "{", "x.safetensors"),
            "not a .safetensors file: a header of 100000001 bytes"));
  CHECK(has(complaint_about(little(~std::uint64_t{0}, 8) + "{", "x.safetensors"),
            "not a .safetensors file"));
  const std::string whole = safetensors(one("F32", "[2]", "[0,8]"), eight);
  for (std::size_t size = 1; size < whole.size(); ++size)
    CHECK(has(complaint_about(whole.substr(0, size), "x.safetensors", "a"), "truncated"));
}

TEST_CASE(
    "safetensors: written tensors are read back; the widest come first and the header is padded") {
  const TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
  write_safetensors(path, {{"ids", Dtype::u8, {3}, "\1\2\3"},
                           {"b\"\n", Dtype::f32, {2, 1}, entries_of<float>({0.5, -1})},
                           {"A", Dtype::f64, {2, 3}, entries_of<double>({1, 2, 3, 4, 5, 6})},
                           {"none", Dtype::f16, {0}, ""}});
  const std::string bytes = read_file(path);
  CHECK(bytes.ends_with(entries_of<double>({1, 2, 3, 4, 5, 6}) + entries_of<float>({0.5, -1}) +
                        "\1\2\3"));
  CHECK(bytes[0] % 8 == 0);
  CHECK(bytes[8] == '{');
  CHECK(open_tensor(path + ":A").values() == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(open_tensor(path + ":A").shape_text() == "2 x 3");
  CHECK(open_tensor(path + ":b\"\n").values() == std::vector<double>{0.5, -1});
  CHECK(open_tensor(path + ":b\"\n").label().ends_with("w.safetensors:b\"\\x0a"));
  CHECK(open_tensor(path + ":ids").values() == std::vector<double>{1, 2, 3});
  CHECK(open_tensor(path + ":none").elements() == 0);
  CHECK_THROWS_AS(write_safetensors(path, {{"x", Dtype::f32, {2}, "abcd"}}), std::logic_error);
  CHECK_THROWS_AS(write_safetensors(path, {{"__metadata__", Dtype::u8, {1}, "a"}}),
                  std::logic_error);
  CHECK_THROWS_AS(write_safetensors(path, {{"x", Dtype::u8, {1}, "a"}, {"x", Dtype::u8, {1}, "b"}}),
                  std::logic_error);
}

}  // namespace safetensors_test
