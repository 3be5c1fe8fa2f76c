// Files of token ids: which are read, and where the others are refused.
#include "io/tensors/token_ids.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "core/text.hpp"
#include "io/complaint.hpp"
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

std::string complaint(const std::string& name, const std::string& bytes) {
  return complaint_of(name, bytes, read_token_ids);
}

const std::string allowed = "; ids are integers from 0 to 4294967295";

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
  for (const auto& [descr, name, bytes] : std::vector<std::tuple<const char*, const char*, int>>{
           {"<f8", "F64", 16}, {"<f4", "F32", 8}, {"<f2", "F16", 4}, {"|b1", "BOOL", 2}}) {
    CHECK(complaint("a.npy",
                    npy(descr, "(2,)", std::string(static_cast<std::size_t>(bytes), '\0'))) ==
          "a.npy: token ids are integers; the entries are of type " + std::string(name));
  }
  CHECK(complaint("a.npy", npy("|u1", "(1, 2, 2)", "1234")) ==
        "a.npy: token ids are (sequences x tokens), or (tokens); the shape is 1 x 2 x 2");
  CHECK(complaint("a.npy", npy("|u1", "()", "1")) ==
        "a.npy: token ids are (sequences x tokens), or (tokens); the shape is scalar");
  CHECK(complaint("a.npy", npy("|i1", "(2, 2)", "\1\2\3\xff")) ==
        "a.npy: row 2, entry 2: -1 is negative" + allowed);
  CHECK(complaint("a.npy", npy("<i8", "(2,)", little(1, 8) + little(std::uint64_t{1} << 32, 8))) ==
        "a.npy: row 1, entry 2: 4294967296 is beyond 32 bits" + allowed);
  CHECK(complaint("a.npy", npy("<u8", "(2,)", std::string(16, '\xff'))) ==
        "a.npy: row 1, entry 1: a number is beyond 32 bits" + allowed);
  CHECK(complaint("a.npy", npy("<i8", "(2,)", little(std::uint64_t{1} << 63, 8) + little(1, 8))) ==
        "a.npy: row 1, entry 1: a number is negative" + allowed);
  CHECK(
      complaint("a.npy", npy("|u1", "(3, 1)", "123")).starts_with("a.npy: row 1 has one token; "));
  CHECK(complaint("a.npy", npy("|u1", "(4611686018427387904, 0)", ""))
            .starts_with("a.npy: row 1 is empty; "));
  CHECK(complaint("a.npy", npy("|u1", "(0,)", "")).starts_with("a.npy: row 1 is empty; "));
  CHECK(complaint("a.npy", npy("|u1", "(0, 4611686018427387904)", "")) ==
        "a.npy: no row of token ids");
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
  const auto entry = [](const std::string& json) { return complaint("a.json", json); };
  for (const char* what : {"3.0", "1e3", "true", "false", "null", "\"12\""}) {
    CHECK(entry("[[1,2],[3,4," + std::string(what) + "]]") ==
          "a.json: row 2, entry 3: " + std::string(what) + " is not an integer" + allowed);
    CHECK(entry("[7," + std::string(what) + "]") ==
          "a.json: row 1, entry 2: " + std::string(what) + " is not an integer" + allowed);
  }
  CHECK(entry("[[1,-2]]") == "a.json: row 1, entry 2: -2 is negative" + allowed);
  CHECK(entry("[1,-0]") == "a.json: row 1, entry 2: -0 is negative" + allowed);
  CHECK(entry("[1,4294967296]") ==
        "a.json: row 1, entry 2: 4294967296 is beyond 32 bits" + allowed);
  CHECK(entry("[1,99999999999999999999]") ==
        "a.json: row 1, entry 2: 99999999999999999999 is beyond 32 bits" + allowed);
  CHECK(entry("[1,-99999999999999999999]") ==
        "a.json: row 1, entry 2: -99999999999999999999 is negative" + allowed);
  CHECK(entry("[[1,[2]]]") == "a.json: row 1, entry 2: a list is not an integer" + allowed);
  CHECK(entry("[1,[2,3]]") == "a.json: row 1, entry 2: a list is not an integer" + allowed);
  CHECK(entry("[{}]") == "a.json: row 1, entry 1: an object is not an integer" + allowed);
  CHECK(entry("[\"a\\nb\",1]") ==
        "a.json: row 1, entry 1: \"a\\x0ab\" is not an integer" + allowed);
  CHECK(entry("[[1,2],3]") == "a.json: row 2 is not a list, as row 1 is");
  CHECK(entry("[[1,2],{}]") == "a.json: row 2 is not a list, as row 1 is");
  for (const char* other : {"{\"input_ids\":[1,2]}", "12", "\"1 2\"", "null"})
    CHECK(entry(other) == "a.json: not a list of lists of integers, nor a list of integers");
  CHECK(entry("[]") == "a.json: no row of token ids");
  CHECK(entry("[[1,2],[]]").starts_with("a.json: row 2 is empty; "));
  CHECK(entry("[[1,2],[3]]").starts_with("a.json: row 2 has one token; "));
  CHECK(entry("[3]").starts_with("a.json: row 1 has one token; "));
  CHECK(entry("[1,2") == "a.json: not valid JSON, at byte 4");
  CHECK(entry("[1 2]") == "a.json: not valid JSON, at byte 4");
  CHECK(entry("[1,1e999]") == "a.json: not valid JSON, at byte 8");
  CHECK(entry("[1,2][3]") == "a.json: not valid JSON, at byte 6");
  CHECK(entry(std::string(1'000'000, '[')) ==
        "a.json: row 1, entry 1: a list is not an integer" + allowed);
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
  for (const char* what : {"3.0", "+3", "0x3", "three", "-", "--1", "1-", "\xC2\xA0"}) {
    CHECK(complaint("a.txt", "1 2\n5 " + std::string(what)) ==
          "a.txt: row 2, entry 2: " + printable(what) + " is not an integer" + allowed);
  }
  CHECK(complaint("a.txt", "\n\n1 -2") ==
        "a.txt: row 1 (line 3), entry 2: -2 is negative" + allowed);
  CHECK(complaint("a.txt", "1 4294967296") ==
        "a.txt: row 1, entry 2: 4294967296 is beyond 32 bits" + allowed);
  CHECK(complaint("a.txt", "1 18446744073709551616") ==
        "a.txt: row 1, entry 2: 18446744073709551616 is beyond 32 bits" + allowed);
  CHECK(complaint("a.txt", "1,,2") == "a.txt: row 1, entry 2: nothing precedes a comma" + allowed);
  CHECK(complaint("a.txt", ",1 2") == "a.txt: row 1, entry 1: nothing precedes a comma" + allowed);
  CHECK(complaint("a.txt", "1 2\n\n3\n").starts_with("a.txt: row 2 (line 3) has one token; "));
  CHECK(complaint("a.txt", "\n \n") == "a.txt: no row of token ids");
  const std::string enormous = complaint("a.txt", "1 " + std::string(10'000'000, 'x'));
  CHECK(enormous.size() < 300);
  CHECK(enormous.ends_with("xxx... is not an integer" + allowed));
  CHECK(complaint("a.txt", std::string("1 2\0 3", 6)) ==
        "a.txt: row 1, entry 2: 2\\x00 is not an integer" + allowed);
}

TEST_CASE("token ids: other file extensions and unreadable files are refused") {
  for (const char* name : {"a.csv", "a.npz", "a.safetensors", "json", "a.JSON"})
    CHECK(complaint(name, "1 2") ==
          std::string(name) + ": the name of a file of token ids must end in .npy, .json or .txt");
  for (const char* ending : {"npy", "json", "txt"}) {
    const TemporaryFolder folder;
    const std::string path = folder / ("none\n.") + ending;
    CHECK_THROWS_WITH(read_token_ids(path),
                      ("cannot read " + printable(path) + ": No such file or directory").c_str());
    CHECK_THROWS_AS(read_token_ids(path), Failure);
  }
  CHECK(complaint("a.txt", "") == "cannot read a.txt: it is empty");
}

}  // namespace token_ids_test
