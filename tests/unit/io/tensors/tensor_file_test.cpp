#include "io/tensors/tensor_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "core/text.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "io/tensors/stored_matrix.hpp"

namespace tensor_file_test {

using namespace ranklab;

namespace {

// Reverses the bytes of each entry.
std::string swapped(std::string bytes, std::size_t size) {
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  return bytes;
}

struct Case {
  std::string descr, dtype, data;
  std::vector<double> numbers;
};

std::vector<Case> every_dtype() {
  const std::vector<double> reals{1.5, -2, 0, 1024, -0.25, 3}, integers{1, -2, 0, 100, -128, 3},
      naturals{1, 2, 0, 100, 255, 3};
  const auto of_bits = [](const std::vector<unsigned>& bits) {
    std::string bytes;
    for (const unsigned one : bits) bytes += little(one, 2);
    return bytes;
  };
  return {{"f8", "F64", entries_of<double>(reals), reals},
          {"f4", "F32", entries_of<float>(reals), reals},
          {"f2", "F16", of_bits({0x3E00, 0xC000, 0x0000, 0x6400, 0xB400, 0x4200}), reals},
          {"", "BF16", of_bits({0x3FC0, 0xC000, 0x0000, 0x4480, 0xBE80, 0x4040}), reals},
          {"i8", "I64", entries_of<std::int64_t>(integers), integers},
          {"i4", "I32", entries_of<std::int32_t>(integers), integers},
          {"i2", "I16", entries_of<std::int16_t>(integers), integers},
          {"i1", "I8", entries_of<std::int8_t>(integers), integers},
          {"u8", "U64", entries_of<std::uint64_t>(naturals), naturals},
          {"u4", "U32", entries_of<std::uint32_t>(naturals), naturals},
          {"u2", "U16", entries_of<std::uint16_t>(naturals), naturals},
          {"u1", "U8", entries_of<std::uint8_t>(naturals), naturals},
          {"b1", "BOOL", std::string("\1\0\1\1\0\1", 6), {1, 0, 1, 1, 0, 1}}};
}

void check_matrix(const StoredTensor& tensor, const arma::mat& expected) {
  REQUIRE(tensor.rows() == expected.n_rows);
  REQUIRE(tensor.cols() == expected.n_cols);
  CHECK(arma::all(arma::vectorise(matrix_of(tensor) == expected)));
}

}  // namespace

TEST_CASE(
    "tensor file: every entry type is read from .npy, .npz and .safetensors in both byte orders "
    "and both matrix orders") {
  for (const Case& one : every_dtype()) {
    CAPTURE(one.dtype);
    arma::mat by_rows(2, 3), by_columns(2, 3);
    for (arma::uword i = 0; i < 6; ++i) {
      by_rows(i / 3, i % 3) = one.numbers[i];
      by_columns(i % 2, i / 2) = one.numbers[i];
    }
    const StoredTensor tensor =
        tensor_in(safetensors_of(one.dtype, "[2,3]", one.data), "x.safetensors");
    CHECK(dtype_name(tensor.dtype()) == one.dtype);
    CHECK(dtype_bytes(tensor.dtype()) * 6 == one.data.size());
    CHECK(tensor.shape_text() == "2 x 3");
    CHECK(tensor.values() == one.numbers);
    check_matrix(tensor, by_rows);
    if (one.descr.empty()) continue;
    const std::size_t size = one.data.size() / 6;
    const std::string native = size == 1 ? "|" : "<";
    check_matrix(tensor_in(npy(native + one.descr, "(2, 3)", one.data), "x.npy"), by_rows);
    check_matrix(tensor_in(npy("=" + one.descr, "(2, 3)", one.data), "x.npy"), by_rows);
    check_matrix(tensor_in(npy(one.descr, "(2, 3)", one.data), "x.npy"), by_rows);
    check_matrix(tensor_in(npy(">" + one.descr, "(2, 3)", swapped(one.data, size)), "x.npy"),
                 by_rows);
    const std::string fortran = npy(">" + one.descr, "(2, 3)", swapped(one.data, size), true);
    check_matrix(tensor_in(fortran, "x.npy"), by_columns);
    check_matrix(tensor_in(zip({{.name = "a.npy", .content = fortran}}), "x.npz"), by_columns);
    check_matrix(
        tensor_in(zip({{.name = "a.npy", .content = fortran, .deflate = true}}), "x.npz", "a"),
        by_columns);
  }
}

TEST_CASE(
    "tensor file: blocks of rows and columns are read at sizes around the tiles and beyond the "
    "buffer, in either order, from an odd address") {
  for (const auto& [rows, cols] : std::vector<std::pair<unsigned, unsigned>>{
           {1, 300}, {300, 1}, {31, 129}, {32, 128}, {33, 127}, {70, 260}, {9, 9000}, {9000, 9}}) {
    arma::mat whole(rows, cols);
    std::string by_rows, by_columns;
    for (unsigned i = 0; i < rows; ++i) {
      for (unsigned j = 0; j < cols; ++j) whole(i, j) = 1000.0 * i + j;
    }
    for (unsigned i = 0; i < rows; ++i) {
      for (unsigned j = 0; j < cols; ++j) by_rows += entries_of<float>({whole(i, j)});
    }
    for (unsigned j = 0; j < cols; ++j) {
      for (unsigned i = 0; i < rows; ++i) by_columns += entries_of<float>({whole(i, j)});
    }
    const std::string shape = std::to_string(rows) + "," + std::to_string(cols);
    const std::string data_end = std::to_string(1 + by_rows.size());
    const std::string odd = safetensors(
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"t":{"dtype":"F32","shape":[)" +
            shape + R"(],"data_offsets":[1,)" + data_end + "]}}",
        "x" + by_rows);
    for (const StoredTensor& tensor :
         {tensor_in(npy("<f4", "(" + shape + ")", by_rows), "x.npy"),
          tensor_in(npy("<f4", "(" + shape + ")", by_columns, true), "x.npy"),
          tensor_in(odd, "x.safetensors", "t")}) {
      check_matrix(tensor, whole);
      CHECK(arma::approx_equal(matrix_of(tensor.rows(0, rows)), whole, "absdiff", 0.0));
      CHECK(tensor.values() ==
            arma::conv_to<std::vector<double>>::from(arma::vectorise(whole.t())));
      for (const unsigned count : {1u, 5u, 40u, 130u}) {
        if (count <= cols) {
          CHECK(arma::approx_equal(matrix_of(tensor.columns(cols - count, count)),
                                   whole.tail_cols(count), "absdiff", 0.0));
          CHECK(arma::approx_equal(matrix_of(tensor.columns((cols - count) / 2, count)),
                                   whole.cols((cols - count) / 2, (cols - count) / 2 + count - 1),
                                   "absdiff", 0.0));
        }
        if (count <= rows)
          CHECK(arma::approx_equal(matrix_of(tensor.rows(rows - count, count)),
                                   whole.tail_rows(count), "absdiff", 0.0));
      }
      CHECK(matrix_of(tensor.columns(cols, 0)).n_rows == rows);
      CHECK_THROWS_AS(tensor.columns(0, cols + 1), std::logic_error);
      CHECK_THROWS_AS(tensor.columns(cols + 1, 0), std::logic_error);
      CHECK_THROWS_AS(tensor.rows(1, std::numeric_limits<std::uint64_t>::max()), std::logic_error);
    }
  }
}

TEST_CASE("tensor file: scalars, vectors and empty tensors are read") {
  CHECK(tensor_in(npy("<f8", "()", entries_of<double>({7})), "x.npy").values() ==
        std::vector<double>{7});
  CHECK(tensor_in(npy("<f8", "(3,)", entries_of<double>({7, 8, 9})), "x.npy").shape_text() == "3");
  CHECK(tensor_in(safetensors_of("F32", "[]", entries_of<float>({7})), "x.safetensors")
            .shape_text() == "scalar");
  CHECK(matrix_of(tensor_in(npy("<f8", "(0, 5)", ""), "x.npy")).n_cols == 5);
  CHECK(matrix_of(tensor_in(npy("<f8", "(5, 0)", "", true), "x.npy").rows(1, 3)).n_rows == 3);
  CHECK(tensor_in(safetensors_of("F32", "[0,9223372036854775807]", ""), "x.safetensors")
            .values()
            .empty());
  CHECK(matrix_of(tensor_in(safetensors_of("F32", "[0,9223372036854775807]", ""), "x.safetensors"))
            .n_rows == 0);
  const StoredTensor cube = tensor_in(npy("|u1", "(2, 3, 4)", std::string(24, 'x')), "x.npy");
  CHECK(!cube.is_matrix());
  CHECK_THROWS_AS(matrix_of(cube), Failure);
  CHECK_THROWS_WITH(cube.rows(), doctest::Contains("not a matrix: its shape is 2 x 3 x 4"));
}

TEST_CASE("tensor file: addresses and keys are resolved, and errors list the keys of the file") {
  const auto parsed = [](const std::string& text) {
    const TensorAddress address = parse_tensor_address(text);
    return address.path + "|" + address.key;
  };
  CHECK(parsed("a/b.npy") == "a/b.npy|");
  CHECK(parsed("a.npz:k:l") == "a.npz|k:l");
  CHECK(parsed("a.npz") == "a.npz|");
  CHECK(parsed("x.npz:y.safetensors:k") == "x.npz:y.safetensors|k");
  CHECK(parsed("x.safetensors:y.npz:") == "x.safetensors:y.npz|");

  std::string header = "{", data;
  for (int i = 0; i < 13; ++i) {
    header += (i == 0 ? "" : ",") + ("\"layer" + std::to_string(i)) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
    data += static_cast<char>(i);
  }
  const std::string many = safetensors(header + "}", data);
  CHECK(tensor_in(many, "m.safetensors", "layer12").values() == std::vector<double>{12});
  CHECK(tensor_in(many, "m.safetensors", "layer12").label().ends_with("/m.safetensors:layer12"));
  CHECK(complaint_about(many, "m.safetensors", "layr12") ==
        "m.safetensors: no key 'layr12'; the file has layer12, layer0, layer1, layer2, layer3, "
        "layer4, layer5, layer6, layer7, "
        "layer8 "
        "and 3 more");
  CHECK(complaint_about(many, "m.safetensors")
            .starts_with(
                "m.safetensors: name one of its tensors, as FILE:KEY; the file has layer0, "));
  CHECK(complaint_about(safetensors("{}", ""), "m.safetensors") ==
        "m.safetensors: the file holds no tensor");
  CHECK(complaint_about(zip({}), "m.npz", "k") == "m.npz: no key 'k'; the file holds no tensor");

  const TemporaryFolder folder;
  write_file_atomically(folder / "a.npy", npy("<f4", "(1,)", entries_of<float>({2})));
  const TensorFile file = TensorFile::open(folder / "a.npy");
  CHECK(file.keys() == std::vector<std::string>{""});
  CHECK(file.has(""));
  CHECK(!file.has("x"));
  CHECK(file.path() == folder / "a.npy");
  CHECK_THROWS_WITH(
      file.tensor("x"),
      doctest::Contains("a.npy: holds one array without a key, so the key 'x' is not allowed"));
}

TEST_CASE("tensor file: other files are refused in one line that says what to do") {
  const std::string torch =
      ": PyTorch's pickled files are not loaded; convert it: safetensors.torch.save_file({k: "
      "v.contiguous().clone() for k, v in torch.load(path, weights_only=True).items()}, "
      "\"x.safetensors\")";
  const std::vector<std::pair<std::string, std::string>> table{
      {"m.pt", torch},
      {"m.pth", torch},
      {"pytorch_model.bin", torch},
      {"m.ckpt", torch},
      {"m.pkl",
       ": pickled files are not loaded; convert it: np.save(path, np.asarray(x, "
       "dtype=np.float32))"},
      {"m.npy.gz", ": gzip is not supported; decompress it: gunzip FILE"},
      {"m.txt", ": the name must end in .npy, .npz or .safetensors"}};
  for (const auto& [name, message] : table) CHECK(complaint_about("x", name) == name + message);
  CHECK(complaint_about("x", "m.npy", "k") ==
        "m.npy:k: a .npy file holds one array and takes no key");
  CHECK(complaint_about("version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
                        "m.safetensors") ==
        "m.safetensors: a Git LFS pointer instead of the data; fetch the data with git lfs pull");
  const std::string zip = "PK\x03\x04", of_torch = zip + std::string(26, '\1') + "m/data.pkl",
                    old_torch = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9";
  const std::string by_torch =
      torch.substr(torch.find("convert it")).insert(0, ": was written by torch.save; ");
  for (const char* name : {"m.safetensors", "m.npz", "m.npy"}) {
    CHECK(complaint_about(of_torch, name) == name + by_torch);
    CHECK(complaint_about(old_torch, name) == name + by_torch);
  }
  CHECK(complaint_about(zip + "abc", "m.safetensors") ==
        "m.safetensors: is a ZIP archive, not a .safetensors file; if it holds .npy arrays, its "
        "name must end in .npz");
  const TemporaryFolder folder;
  write_file_atomically(folder / "empty.npy", "");
  mkdir((folder / "folder.safetensors").c_str(), 0777);
  mkfifo((folder / "pipe.npy").c_str(), 0666);
  for (const auto& [name, why] :
       std::vector<std::pair<std::string, std::string>>{{"none.npy", "No such file or directory"},
                                                        {"a\nb.npz", "No such file or directory"},
                                                        {"empty.npy", "it is empty"},
                                                        {"folder.safetensors", "it is a folder"},
                                                        {"pipe.npy", "it is not a regular file"}}) {
    CHECK_THROWS_WITH_AS(open_tensor(folder / name),
                         ("cannot read " + printable(folder / name) + ": " + why).c_str(), Failure);
  }
}

TEST_CASE("tensor file: a file that shrinks while it is open is an error") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x.npy", npy("<f4", "(3,)", entries_of<float>({1, 2, 3})));
  const StoredTensor tensor = open_tensor(folder / "x.npy");
  CHECK(tensor.values() == std::vector<double>{1, 2, 3});
  CHECK(truncate((folder / "x.npy").c_str(), 130) == 0);
  CHECK_THROWS_WITH(tensor.values(),
                    doctest::Contains("x.npy: it has become shorter since it was opened"));
}

}  // namespace tensor_file_test
