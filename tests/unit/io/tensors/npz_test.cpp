// Which .npz files are accepted and which are refused.
#include <doctest/doctest.h>

#include <thread>

#include "io/byte_reader.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "io/tensors/stored_matrix.hpp"

namespace npz_test {

using namespace ranklab;

namespace {

const std::string array_1 = npy("<f8", "(2, 2)", entries_of<double>({1, 2, 3, 4}));
const std::string array_2 = npy("<f4", "(3,)", entries_of<float>({5, 6, 7}));

std::string complaint(const std::vector<ZipPart>& parts, const ZipOptions& options = {},
                      const std::string& key = "a") {
  return complaint_about(zip(parts, options), "x.npz", key);
}

}  // namespace

TEST_CASE(
    "npz: stored and deflated members are read, with and without ZIP64, as written by numpy or to "
    "a pipe") {
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      for (const bool sizes_follow : {false, true}) {
        CAPTURE(deflate);
        CAPTURE(zip64);
        CAPTURE(sizes_follow);
        ZipPart a{.name = "a.npy",
                  .content = array_1,
                  .deflate = deflate,
                  .zip64_local = zip64 && !sizes_follow,
                  .zip64_central = zip64};
        a.sizes_follow = sizes_follow;
        ZipPart b = a;
        b.name = "layers/b.npy";
        b.content = array_2;
        const std::string bytes =
            zip({a, b}, {.zip64_end = zip64, .comment = zip64 ? "a comment" : "", .prefix = ""});
        CHECK(tensor_in(bytes, "x.npz", "a").values() == std::vector<double>{1, 2, 3, 4});
        CHECK(tensor_in(bytes, "x.npz", "layers/b").values() == std::vector<double>{5, 6, 7});
        CHECK(complaint_about(bytes, "x.npz") ==
              "x.npz: name one of its tensors, as FILE:KEY; the file has a, layers/b");
      }
    }
  }
}

TEST_CASE("npz: a large compressed member is read, also with a header of version 2") {
  std::vector<double> numbers(40000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 977);
  const std::string long_header = npy_of_header(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (40000,), }" + std::string(70000, ' '),
      entries_of<float>(numbers), 2);
  for (const std::string& content :
       {npy("<f4", "(40000,)", entries_of<float>(numbers)), long_header}) {
    CHECK(tensor_in(zip({{.name = "a.npy", .content = content, .deflate = true}}), "x.npz")
              .values() == numbers);
    CHECK(tensor_in(zip({{.name = "a.npy", .content = content}}), "x.npz").values() == numbers);
  }
}

TEST_CASE(
    "npz: a deflated member too large for memory is inflated into a file, which any thread can "
    "read") {
  constexpr std::uint64_t rows = 1100, cols = 16'000;  // 70 MB of F32
  static_assert(rows * cols * 4 > ScratchBytes::most_in_memory);
  std::string data(rows * cols * 4, '\0');
  for (std::uint64_t i = 0; i < rows; ++i)
    data.replace(4 * (i * cols + i), 4, entries_of<float>({static_cast<double>(i + 1)}));
  const std::string array =
      npy("<f4", "(" + std::to_string(rows) + ", " + std::to_string(cols) + ")", data);
  const StoredTensor tensor =
      tensor_in(zip({{.name = "a.npy", .content = array, .deflate = true}}), "x.npz");
  std::vector<int> wrong(3, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t first = 250 * t; first < 250 * t + 250; first += 50) {
        arma::mat expected(rows, 50);
        for (std::uint64_t j = 0; j < 50; ++j)
          expected(first + j, j) = static_cast<double>(first + j + 1);
        wrong[t] +=
            !arma::approx_equal(matrix_of(tensor.columns(first, 50)), expected, "absdiff", 0.0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(3, 0));
}

TEST_CASE(
    "npz: members that are not arrays are passed over, and those of an unsupported type are "
    "refused "
    "when they are read") {
  const std::vector<ZipPart> parts{
      {.name = "a.npy", .content = array_1},
      {.name = "notes.txt", .content = "hello"},
      {.name = "weights/", .content = ""},
      {.name = "o.npy", .content = npy("|O", "(2,)", "a pickle")},
      {.name = "c.npy", .content = npy("<c8", "(2,)", std::string(16, '\0'))}};
  CHECK(complaint(parts) == "read");
  CHECK(has(complaint(parts, {}, "o"), "x.npz:o: dtype '|O' holds pickled Python objects"));
  CHECK(has(complaint(parts, {}, "c"), "x.npz:c: dtype '<c8' is not supported"));
  CHECK(complaint(parts, {}, "b") == "x.npz: no key 'b'; the file has a, o, c");
}

TEST_CASE("npz: damaged members are refused") {
  for (const bool deflate : {false, true}) {
    CHECK(complaint({{.name = "a.npy", .content = array_1, .deflate = deflate, .crc_error = 1}}) ==
          "x.npz:a: damaged: the bytes do not agree with their checksum");
    CHECK(has(complaint({{.name = "a.npy", .content = array_1 + "x", .deflate = deflate}}),
              "2 x 2 entries of F64 take 32 bytes, but the archive has 33"));
  }
  // A deflate stream that is shorter or longer than both headers say.
  const std::string short_array = npy("<f8", "(2, 2)", entries_of<double>({1, 2, 3}));
  CHECK(complaint({{.name = "a.npy", .content = short_array, .deflate = true, .claimed = 160}}) ==
        "x.npz:a: damaged: shorter than the archive claims");
  CHECK(complaint({{.name = "a.npy", .content = array_1 + "x", .deflate = true, .claimed = 160}}) ==
        "x.npz:a: damaged: longer than the archive claims");
  CHECK(has(complaint({{.name = "a.npy", .content = "\xff\xff\xff", .method = 8}}),
            "not a deflate stream"));
  CHECK(has(complaint({{.name = "a.npy", .content = "", .deflate = true}}),
            "x.npz:a: not a .npy array"));
}

TEST_CASE("npz: inconsistent archives are refused") {
  const ZipPart good{.name = "a.npy", .content = array_1};
  CHECK(complaint({good, good}) == "x.npz: two members 'a.npy'");
  CHECK(complaint({{.name = "a.npy", .content = array_1, .flags = 1}}) ==
        "x.npz: member 'a.npy' is encrypted, which is not supported");
  CHECK(complaint({{.name = "a.npy", .content = array_1, .method = 14}}) ==
        "x.npz: member 'a.npy' is compressed by method 14; allowed: stored (0) and deflated (8)");
  CHECK(complaint({{.name = "a.npy", .content = array_1, .claimed = 100}}) ==
        "x.npz: member 'a.npy' claims 100 bytes out of 160");
  CHECK(has(
      complaint({{.name = "a.npy", .content = array_1, .deflate = true, .claimed = 4'000'000'000}}),
      "claims 4000000000 bytes out of"));
  CHECK(complaint({good, {.name = "b.npy", .content = array_2, .offset = 0}}) ==
        "x.npz: member 'b.npy' is described differently by its header and by the directory");
  CHECK(complaint({good, {.name = "b.npy", .content = array_2, .offset = 7}}) ==
        "x.npz: member 'b.npy' is not where the directory says");
  CHECK(complaint({{.name = "a.npy", .content = array_1, .offset = 4'000'000'000}}) ==
        "x.npz: member 'a.npy' is not where the directory says");
  CHECK(
      complaint({good}, {.zip64_end = false, .comment = "", .prefix = "#!/bin/sh"}).find("read") ==
      0);
  CHECK(has(complaint_about(zip({good}).substr(9), "x.npz", "a"),
            "damaged: the directory of the ZIP archive is not at the offset in its end record"));
  CHECK(complaint_about("hello", "x.npz", "a") ==
        "x.npz: not a ZIP archive, as a .npz file must be");

  // A member inside another one: its header is part of the first member's content.
  const std::string inner = zip({{.name = "b.npy", .content = array_2}});
  const std::string outer = npy("|u1", "(" + std::to_string(inner.size()) + ",)", inner);
  const std::int64_t inner_at = 30 + 5 + static_cast<std::int64_t>(outer.size() - inner.size());
  CHECK(complaint({{.name = "a.npy", .content = outer},
                   {.name = "b.npy", .content = array_2, .offset = inner_at}}) ==
        "x.npz: damaged: members of the ZIP archive overlap");
}

TEST_CASE("npz: an archive that is truncated anywhere is refused") {
  const std::string whole = zip({{.name = "a.npy", .content = array_1, .deflate = true},
                                 {.name = "b.npy", .content = array_2}});
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string said = complaint_about(whole.substr(0, size), "x.npz", "a");
    CHECK(
        (has(said, "x.npz: truncated: the directory of the ZIP archive, at its end, is missing") ||
         (size < 4 && has(said, "not a ZIP archive"))));
  }
}

}  // namespace npz_test
