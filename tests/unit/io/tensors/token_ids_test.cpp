// Files of token ids: which are read, and where the others are refused.
#include "io/tensors/token_ids.hpp"

#include <doctest/doctest.h>

#include "core/text.hpp"
#include "io/tensors/opened.hpp"
#include "io/tensors/stored_bytes.hpp"

namespace token_ids_test {

using namespace ranklab;

namespace {

using Sequences = std::vector<std::vector<std::uint32_t>>;

Sequences ids_in(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder / name, bytes);
  return read_token_ids(folder / name);
}

// The message for a file of this name.
auto complaint(const std::string& name) {
  return [name](const std::string& bytes) { return complaint_of(name, bytes, read_token_ids); };
}

const std::string refused = " is not a token id; ids are integers from 0 to 4294967295";

}  // namespace

TEST_CASE(
    "token ids: .npy files of every integer type are read, with one or several rows, in either "
    "order") {
  CHECK(ids_in("a.npy",
               npy("<i8", "(2, 3)", entries_of<std::int64_t>({1, 2, 3, 4, 5, 4294967295.0}))) ==
        Sequences{{1, 2, 3}, {4, 5, 4294967295}});
  CHECK(ids_in("a.npy", npy("<i4", "(3, 2)", entries_of<std::int32_t>({1, 2, 3, 4, 5, 6}), true)) ==
        Sequences{{1, 4}, {2, 5}, {3, 6}});
  CHECK(ids_in("a.npy", npy("<u2", "(3,)", entries_of<std::uint16_t>({7, 0, 65535}))) ==
        Sequences{{7, 0, 65535}});
  CHECK(ids_in("a.npy", npy("|u1", "(1, 2)", "\x01\xff")) == Sequences{{1, 255}});
  CHECK(ids_in("a.npy", npy(">u4", "(2,)", big(70000, 4) + big(1, 4))) == Sequences{{70000, 1}});
}

TEST_CASE("token ids: .npy files with unsupported types, shapes or numbers are refused") {
  const std::string type = "a.npy: token ids are integers; the entries are of type ",
                    shape = "a.npy: token ids are (sequences x tokens), or (tokens); the shape is ";
  check_refusals(
      complaint("a.npy"),
      {{npy("<f8", "(2,)", std::string(16, '\0')), type + "F64"},
       {npy("<f4", "(2,)", std::string(8, '\0')), type + "F32"},
       {npy("<f2", "(2,)", std::string(4, '\0')), type + "F16"},
       {npy("|b1", "(2,)", std::string(2, '\0')), type + "BOOL"},
       {npy("|u1", "(1, 2, 2)", "1234"), shape + "1 x 2 x 2"},
       {npy("|u1", "()", "1"), shape + "scalar"},
       {npy("|i1", "(2, 2)", "\1\2\3\xff"), "a.npy: row 2, entry 2: -1" + refused},
       {npy("<i8", "(2,)", little(1, 8) + little(std::uint64_t{1} << 32, 8)),
        "a.npy: row 1, entry 2: 4294967296" + refused},
       {npy("<u8", "(2,)", std::string(16, '\xff')), "row 1, entry 1: 1.845e+19" + refused},
       {npy("<i8", "(2,)", little(std::uint64_t{1} << 63, 8) + little(1, 8)),
        "row 1, entry 1: -9.223e+18" + refused},
       {npy("|u1", "(3, 1)", "123"), "a.npy: row 1 has one token; "},
       {npy("|u1", "(4611686018427387904, 0)", ""), "a.npy: row 1 is empty; "},
       {npy("|u1", "(0,)", ""), "a.npy: row 1 is empty; "},
       {npy("|u1", "(0, 4611686018427387904)", ""), "a.npy: no row of token ids"}});
}

TEST_CASE("token ids: a JSON list and a list of lists, also ragged, are read") {
  CHECK(ids_in("a.json", "[[1, 2, 3], [4294967295, 0]]\n") ==
        Sequences{{1, 2, 3}, {4294967295, 0}});
  CHECK(ids_in("a.json", " [5,6 ,7]") == Sequences{{5, 6, 7}});
  std::string many = "[";
  for (int row = 0; row < 1000; ++row)
    many += (row == 0 ? "[" : ",[") + std::to_string(row) + ",1]";
  CHECK(ids_in("a.json", many + "]")[999] == std::vector<std::uint32_t>{999, 1});
}

TEST_CASE("token ids: invalid JSON entries are refused with their position") {
  const auto message = complaint("a.json");
  for (const std::string what :
       {"3.0", "true", "false", "null", "\"12\"", "4294967296", "[3]", "{}", "\"a\\nb\""}) {
    CHECK(message("[[1,2],[3,4," + what + "]]") == "a.json: row 2, entry 3: " + what + refused);
    CHECK(message("[7," + what + "]") == "a.json: row 1, entry 2: " + what + refused);
  }
  check_refusals(message, {{"[1,1e3]", "row 1, entry 2: 1000.0" + refused},
                           {"[1,99999999999999999999]", "row 1, entry 2: 1e+20" + refused},
                           {"[[1,-2]]", "row 1, entry 2: -2" + refused},
                           {"[1,-0]", "row 1, entry 2: -0" + refused},
                           {"[{}]", "row 1, entry 1: {}" + refused},
                           {"[[1,2],3]", "a.json: row 2 is not a list, as row 1 is"},
                           {"[[1,2],{}]", "a.json: row 2 is not a list, as row 1 is"},
                           {"[]", "a.json: no row of token ids"},
                           {"[[1,2],[]]", "a.json: row 2 is empty; "},
                           {"[[1,2],[3]]", "a.json: row 2 has one token; "},
                           {"[3]", "a.json: row 1 has one token; "},
                           {"[1,2", "a.json: not valid JSON, at byte 4"},
                           {"[1,2][3]", "a.json: not valid JSON, at byte 6"}});
  for (const char* other : {"{\"input_ids\":[1,2]}", "12", "\"1 2\"", "null"})
    CHECK(message(other) == "a.json: not a list of lists of integers, nor a list of integers");
}

TEST_CASE("token ids: text is read with blanks, tabs, commas, blank lines and either line ending") {
  CHECK(ids_in("a.txt", "1 2\t3\r\n\n  \t\n4,5 , 6,\n007\t4294967295") ==
        Sequences{{1, 2, 3}, {4, 5, 6}, {7, 4294967295}});
  CHECK(ids_in("a.txt",
               "\xEF\xBB\xBF"
               "8 9\n") == Sequences{{8, 9}});
  std::string line;
  for (int i = 0; i < 300000; ++i) line += "12,";
  CHECK(ids_in("a.txt", line)[0].size() == 300000);
}

TEST_CASE("token ids: text that is not an integer is refused with its row and line") {
  const auto message = complaint("a.txt");
  for (const char* what : {"3.0", "+3", "0x3", "three", "-", "--1", "1-", "-2", "-0", "\xC2\xA0",
                           "4294967296", "18446744073709551616"}) {
    CHECK(message("1 2\n5 " + std::string(what)) ==
          "a.txt: row 2, entry 2: " + printable(what) + refused);
  }
  check_refusals(message, {{"\n\n1 -2", "a.txt: row 1 (line 3), entry 2: -2" + refused},
                           {"1,,2", "row 1, entry 2: nothing, followed by a comma," + refused},
                           {",1 2", "row 1, entry 1: nothing, followed by a comma," + refused},
                           {"1 2\n\n3\n", "a.txt: row 2 (line 3) has one token; "},
                           {"\n \n", "a.txt: no row of token ids"},
                           {std::string("1 2\0 3", 6), "row 1, entry 2: 2\\x00" + refused}});
  const std::string enormous = message("1 " + std::string(10'000'000, 'x'));
  CHECK(enormous.size() < 300);
  CHECK(enormous.ends_with("xxx..." + refused));
}

TEST_CASE("token ids: other file extensions and unreadable files are refused") {
  for (const std::string name : {"a.csv", "a.npz", "a.safetensors", "json", "a.JSON"})
    CHECK(complaint(name)("1 2") ==
          name + ": the name of a file of token ids must end in .npy, .json or .txt");
  for (const char* ending : {"npy", "json", "txt"}) {
    const TemporaryFolder folder;
    const std::string path = folder / ("none\n.") + ending;
    CHECK_THROWS_WITH_AS(read_token_ids(path),
                         ("cannot read " + printable(path) + ": No such file or directory").c_str(),
                         Failure);
  }
  CHECK(complaint("a.txt")("") == "cannot read a.txt: it is empty");
}

}  // namespace token_ids_test
