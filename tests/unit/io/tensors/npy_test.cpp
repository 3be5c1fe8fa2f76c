// Which .npy files are accepted and which are refused.
#include <doctest/doctest.h>

#include "io/tensors/npy_header.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"

namespace npy_test {

using namespace ranklab;

namespace {

const std::string four = entries_of<float>({1, 2, 3, 4});
const std::string recipe = "np.save(path, np.asarray(x, dtype=np.float32))";

std::string complaint(const std::string& header) {
  return complaint_about(npy_of_header(header, four), "a.npy");
}

// With this header as it is, without padding or final newline.
std::string unpadded(const std::string& header) {
  return "\x93NUMPY\1" + std::string(1, '\0') + little(header.size(), 2) + header + four;
}

std::string of_descr(const std::string& descr) {
  return complaint("{'descr': " + descr + ", 'fortran_order': False, 'shape': (4,), }");
}

std::string of_shape(const std::string& shape) {
  return complaint("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}");
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
    CHECK(tensor_in(unpadded(same), "a.npy").elements() == 4);
  }
  CHECK(complaint_about(npy_of_header(header, four, 4), "a.npy") ==
        "a.npy: version 4.0 of .npy is not supported; allowed: 1.0, 2.0 and 3.0");
}

TEST_CASE("npy: unsupported types are named, with a line of Python that converts them") {
  CHECK(of_descr("'<c8'") == "a.npy: dtype '<c8' is not supported; convert it: " + recipe);
  CHECK(of_descr("'|V2'") ==
        "a.npy: dtype '|V2' is not supported; if the entries are bfloat16, convert it: "
        "np.save(path, x.view(ml_dtypes.bfloat16).astype(np.float32))");
  for (const char* descr : {"'<f16'", "'<V3'", "'|S4'", "'<U1'", "'<M8[ns]'", "'|f4'", "'f3'", "''",
                            "'<'", "'<<f4'", "'?'", "'<f4 '"}) {
    CAPTURE(descr);
    CHECK(has(of_descr(descr), "is not supported; convert it: " + recipe));
  }
  for (const char* descr : {"'O'", "'|O'", "'|O8'"}) {
    CHECK(has(of_descr(descr),
              "holds pickled Python objects, which are never loaded; convert it: " + recipe));
  }
  for (const std::string descr :
       {"[('a', '<f4'), ('b', '<i4', (2,))]", "('<f4', (2,))", " [", "[[[", "[x"}) {
    CHECK(of_descr(descr) ==
          "a.npy: a structured dtype is not supported; save one field: " + recipe);
  }
  CHECK(complaint_about("\x80\4\x95rest of a pickle", "a.npy") ==
        "a.npy: a pickled Python object, which is never loaded; convert it: " + recipe);
  CHECK(complaint_about(zip({}), "a.npy") ==
        "a.npy: not a .npy array: it does not start with \\x93NUMPY");
  CHECK(complaint_about(zip({{.name = "a.npy", .content = "x"}}), "a.npy") ==
        "a.npy: not a .npy array but a ZIP archive: name it .npz");
}

TEST_CASE("npy: the header must be a dict of exactly descr, fortran_order and shape") {
  const std::string good = "'descr': '<f4', 'fortran_order': False, 'shape': (4,)";
  CHECK(complaint("{" + good + "}") == "read");
  CHECK(complaint("{" + good + ", 'x': 1}") ==
        "a.npy: the .npy header has a key 'x'; it may hold descr, fortran_order and shape");
  CHECK(complaint("{'descr': '<f4', 'shape': (4,)}") ==
        "a.npy: the .npy header lacks 'fortran_order'");
  CHECK(complaint("{'descr': '<f4' 'shape': (4,)}") ==
        "a.npy: the .npy header is not a Python dict of an array: '}' is missing (byte 16)");
  check_refusals(complaint, {{"{" + good + ", 'shape': (4,)}", "two keys 'shape'"},
                             {"{" + good, "'}' is missing"},
                             {"{" + good + "}}", "something follows it"},
                             {"{" + good + "} # comment", "something follows it"},
                             {"", "'{' is missing"},
                             {"{" + good + ",,}", "a string is missing"},
                             {"{'descr' '<f4'}", "':' is missing"},
                             {"{}", "lacks 'descr'"},
                             {"{'fortran_order': 0}",
                              "'fortran_order' of the .npy header is neither True nor"},
                             {"{'descr': '<\\x664'}", "a string with an escape"},
                             {"{'descr': __import__('os')}", "a string is missing"},
                             {"{'descr': '<f4\"}", "a string with an escape or a line break"}});
  CHECK(has(complaint_about(unpadded("{'des"), "a.npy"), "a string does not end"));
}

TEST_CASE("npy: shapes are tuples of sizes whose product does not overflow and matches the file") {
  CHECK(of_shape("(2, 2)") == "read");
  CHECK(of_shape("(1, 4, 1)") == "read");
  check_refusals(of_shape, {{"(4)", "a comma is missing"},
                            {"(2 2)", "',' or ')' is missing"},
                            {"(4.0,)", "',' or ')' is missing"},
                            {"(4", "',' or ')' is missing"},
                            {"[4]", "is not a tuple"},
                            {"4", "is not a tuple"},
                            {"(-4,)", "more than integers from 0"},
                            {"('4',)", "more than integers from 0"},
                            {"(True, 4)", "more than integers from 0"},
                            {"(2, 2,,)", "more than integers from 0"},
                            {"(04,)", "starts with 0"},
                            {"(9223372036854775808,)", "beyond 63 bits"},
                            {"(99999999999999999999999999,)", "beyond 63 bits"},
                            {"(4611686018427387904, 2)", "has more entries than can be counted"},
                            {"(4294967296, 4294967296)", "has more entries than can be counted"},
                            {"(4294967296, 4294967296, 0)", "has more entries than can be counted"},
                            {"(9223372036854775807,)", "has more entries than can be counted"},
                            {"(1152921504606846976,)", "truncated"}});
  CHECK(of_shape("(2, 3)") ==
        "a.npy: truncated: 2 x 3 entries of F32 take 24 bytes, 16 follow the header");
  CHECK(of_shape("(3,)") ==
        "a.npy: too long: 3 entries of F32 take 12 bytes, 16 follow the header");
}

TEST_CASE(
    "npy: a file that is truncated anywhere, or has a header of implausible length, is refused") {
  const std::string whole = npy("<f4", "(4,)", four);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string said = complaint_about(whole.substr(0, size), "a.npy");
    CHECK((has(said, "a.npy: truncated") || (size < 6 && has(said, "does not start with"))));
  }
  const auto of_length = [](std::uint64_t length, const std::string& text) {
    return complaint_about("\x93NUMPY\2" + std::string(1, '\0') + little(length, 4) + text,
                           "a.npy");
  };
  CHECK(of_length(1 << 20, "{}" + std::string((1 << 20) - 2, ' ')) ==
        "a.npy: the .npy header lacks 'descr'");
  for (const std::uint64_t length : {(1u << 20) + 1, 0xFFFFFFFFu}) {
    CHECK(of_length(length, "{}") == "a.npy: a .npy header of " + std::to_string(length) +
                                         " bytes is implausible; at most 1048576 are read");
  }
}

}  // namespace npy_test
