// Which .npy files are accepted and which are refused.
#include <doctest/doctest.h>

#include "io/tensors/npy_header.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/python_literal.hpp"
#include "io/tensors/stored_bytes.hpp"

namespace npy_test {

using namespace ranklab;

namespace {

const std::string four = entries_of<float>({1, 2, 3, 4});

std::string complaint(const std::string& header, const std::string& data = four) {
  return complaint_about(npy_of_header(header, data), "a.npy");
}

std::string of_descr(const std::string& descr) {
  return complaint("{'descr': " + descr + ", 'fortran_order': False, 'shape': (4,), }");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "npy: all versions, any order of keys, white space, both quotes and Python 2's L are accepted, "
    "without alignment or final newline") {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
  for (const int version : {1, 2, 3}) {
    CHECK(tensor_in(npy_of_header(header, four, version), "a.npy").values() ==
          std::vector<double>{1, 2, 3, 4});
  }
  for (const std::string same : {R"({"shape":(4,),"fortran_order":False,"descr":"<f4"})",
                                 "{'fortran_order': False, 'shape': ( 4L , ), 'descr': '<f4'}\n\n",
                                 " {'shape':(2,2,),\n'descr'\t:'<f4','fortran_order':False} "}) {
    CHECK(tensor_in(npy_of_header(same, four), "a.npy").values() ==
          std::vector<double>{1, 2, 3, 4});
    CHECK(tensor_in("\x93NUMPY\1" + std::string(1, '\0') + little(same.size(), 2) + same + four,
                    "a.npy")
              .elements() == 4);
  }
  CHECK(complaint_about(npy_of_header(header, four, 4), "a.npy") ==
        "a.npy: version 4.0 of .npy is not supported; allowed: 1.0, 2.0 and 3.0");
}

TEST_CASE("npy: unsupported types are named, with a line of Python that converts them") {
  const std::string recipe = "np.save(path, np.asarray(x, dtype=np.float32))";
  CHECK(of_descr("'<c8'") == "a.npy: dtype '<c8' is not supported; convert it: " + recipe);
  for (const char* descr : {"'<f16'", "'<V2'", "'|S4'", "'<U1'", "'<M8[ns]'", "'|f4'", "'f3'", "''",
                            "'<'", "'<<f4'", "'?'", "'<f4 '"}) {
    CAPTURE(descr);
    CHECK(has(of_descr(descr), "is not supported; convert it: " + recipe));
  }
  for (const char* descr : {"'O'", "'|O'", "'|O8'"}) {
    CHECK(has(of_descr(descr),
              "holds pickled Python objects, which are never loaded; convert it: " + recipe));
  }
  CHECK(of_descr("[('a', '<f4'), ('b', '<i4', (2,))]") ==
        "a.npy: a structured dtype is not supported; save one field: " + recipe);
  CHECK(has(of_descr("('<f4', (2,))"), "a structured dtype"));
  CHECK(complaint_about("\x80\4\x95rest of a pickle", "a.npy") ==
        "a.npy: a pickled Python object, which is never loaded; convert it: " + recipe);
  CHECK(complaint_about(zip({}), "a.npy") ==
        "a.npy: not a .npy array: it does not start with \\x93NUMPY");
  CHECK(complaint_about(zip({{.name = "a.npy", .content = "x"}}), "a.npy") ==
        "a.npy: not a .npy array but a ZIP archive: name it .npz");
}

TEST_CASE("npy: the header must be a dict of exactly descr, fortran_order and shape") {
  const std::string good = "'descr': '<f4', 'fortran_order': False, 'shape': (4,)";
  CHECK(complaint("{" + good + "}") == "opened");
  CHECK(complaint("{" + good + ", 'x': 1}") ==
        "a.npy: the .npy header has a key 'x'; it may hold descr, fortran_order and shape");
  CHECK(complaint("{'descr': '<f4', 'shape': (4,)}") ==
        "a.npy: the .npy header lacks 'fortran_order'");
  CHECK(has(complaint("{" + good + ", 'shape': (4,)}"), "two keys 'shape'"));
  CHECK(has(complaint("{" + good), "'}' is missing"));
  CHECK(has(complaint("{" + good + "}}"), "something follows it"));
  CHECK(has(complaint("{" + good + "} # comment"), "something follows it"));
  CHECK(has(complaint(""), "'{' is missing"));
  CHECK(has(complaint("{" + good + ",,}"), "a string is missing"));
  CHECK(has(complaint("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}"),
            "neither True nor False"));
  CHECK(has(complaint("{'descr': '<\\x664', 'fortran_order': False, 'shape': (4,)}"), "an escape"));
  CHECK(has(complaint_about("\x93NUMPY\1" + std::string(1, '\0') + little(5, 2) + "{'des", "a.npy"),
            "a string does not end"));
  CHECK(has(complaint("{'descr': __import__('os'), 'fortran_order': False, 'shape': (4,)}"),
            "a value is missing"));
  std::string nested = "{'descr': " + std::string(10000, '[');
  CHECK(has(complaint(nested), "nested too deeply"));
  std::string keys = "{";
  for (int i = 0; i < 100; ++i) keys += "'" + std::to_string(i) + "': 1, ";
  CHECK(has(complaint(keys + "}"), "too many keys"));
}

TEST_CASE("npy: shapes are tuples of sizes whose product does not overflow and matches the file") {
  const auto of_shape = [](const std::string& shape) {
    return complaint("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
  };
  CHECK(of_shape("(2, 2)") == "opened");
  CHECK(of_shape("(1, 4, 1)") == "opened");
  CHECK(has(of_shape("(4)"), "a comma is missing"));
  CHECK(has(of_shape("(2 2)"), "',' or ')' is missing"));
  CHECK(has(of_shape("[4]"), "is not a tuple"));
  CHECK(has(of_shape("4"), "is not a tuple"));
  CHECK(has(of_shape("(-4,)"), "a negative number"));
  CHECK(has(of_shape("('4',)"), "more than sizes"));
  CHECK(has(of_shape("(True, 4)"), "more than sizes"));
  CHECK(has(of_shape("(04,)"), "starts with 0"));
  CHECK(has(of_shape("(4.0,)"), "',' or ')' is missing"));
  CHECK(has(of_shape("(4"), "',' or ')' is missing"));
  CHECK(has(of_shape("(9223372036854775808,)"), "beyond 63 bits"));
  CHECK(has(of_shape("(99999999999999999999999999,)"), "beyond 63 bits"));
  for (const char* shape : {"(4611686018427387904, 2)", "(4294967296, 4294967296)",
                            "(4294967296, 4294967296, 0)", "(9223372036854775807,)"}) {
    CHECK(has(of_shape(shape), "has more entries than can be counted"));
  }
  CHECK(of_shape("(2, 3)") ==
        "a.npy: truncated: 2 x 3 entries of F32 take 24 bytes, 16 follow the header");
  CHECK(of_shape("(3,)") ==
        "a.npy: too long: 3 entries of F32 take 12 bytes, 16 follow the header");
  CHECK(has(of_shape("(1152921504606846976,)"), "truncated"));
}

TEST_CASE("npy: a file that is truncated anywhere is refused") {
  const std::string whole = npy("<f4", "(4,)", four);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string said = complaint_about(whole.substr(0, size), "a.npy");
    CHECK((has(said, "a.npy: truncated") || (size < 6 && has(said, "does not start with"))));
  }
  CHECK(complaint_about("\x93NUMPY\2" + std::string(1, '\0') + little(0xFFFFFFFF, 4) + "{}",
                        "a.npy") ==
        "a.npy: a .npy header of 4294967295 bytes is implausible; at most 1048576 are read");
}

}  // namespace npy_test
