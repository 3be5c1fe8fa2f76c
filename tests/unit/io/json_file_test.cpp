// JSON that the library's parser would read otherwise, or too slowly.
#include "io/json_file.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace json_file_test {

using namespace ranklab;
using nlohmann::json;

namespace {

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// What the parser of documents and that of members say; they must agree.
std::string complaint(const std::string& text) {
  std::string first = "read", second = "read";
  try {
    parse_json(text, "x");
  } catch (const Failure& failure) {
    first = failure.what();
  }
  try {
    parse_json_members(text, "x", [](const std::string&, const json&) {});
  } catch (const Failure& failure) {
    second = failure.what();
  }
  CHECK((first == second || second == "x: not a JSON object" || second.ends_with("an object")));
  return first;
}

}  // namespace

TEST_CASE("json: repeated keys, deep nesting, zero bytes and infinite numbers are refused") {
  for (const std::string& text :
       {std::string(R"({"a":{"b":1},"b":[{"b":1},{"b":2}],"c":{"a":1,"b":1}})"),
        repeated("[", 64) + repeated("]", 64), std::string(R"("a\u0000")")})
    CHECK(complaint(text) == "read");
  const std::string twice = "x: the key 'a' occurs twice in one object",
                    deep = "x: more than 64 nested lists and objects";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"a":1,"\u0061":2})", twice},
           {R"({"a":{"b":{"c":1}},"c":2,"a":3})", twice},
           {R"({"b":[{"a":1},{"a":1,"a":2}]})", twice},
           {repeated("[", 65) + repeated("]", 65), deep},
           {repeated("{\"a\":", 1'000'000), deep},
           {std::string("{\"a\":1}\0", 8), "x: not valid JSON, at byte 8"},
           {std::string("{\"a\":1}\0 more", 13), "x: not valid JSON, at byte 8"},
           {"{\"a\":1", "x: not valid JSON, at byte 6 (unexpected end of input; expected '}')"},
           {"{\"a\": 1,\n \"b\": 2 \"c\": 3}\n",
            "x: not valid JSON, at line 2, column 11 (unexpected string literal; expected '}')"},
           {"{\"a\": 1,\n}\n",
            "x: not valid JSON, at line 2, column 1 (unexpected '}'; expected string literal)"},
           {"", "x: not valid JSON, at byte 0 (empty)"},
           {"{\"a\":\"\xff\"}",
            "x: not valid JSON, at byte 7 (invalid string: ill-formed UTF-8 byte)"},
           {"{\"a\":[1e999]}", "x: a number is larger than any double"}})
    CHECK(complaint(text) == message);
  CHECK(complaint("{'a': 1}") ==
        "x: not valid JSON, at byte 2 (invalid literal; expected string "
        "literal)");
}

TEST_CASE("json: a long list of objects is read in a time proportional to its length") {
  // The time per object of the library's parser with a callback grows with the list: 3 hours here.
  CHECK(parse_json("[" + repeated("{},", 5'000'000) + "{}]", "x").size() == 5'000'001);
}

TEST_CASE("json: members come in the order of the text, without objects or millions of parts") {
  std::string seen;
  const auto take = [&](const std::string& key, const json& value) {
    seen += key + "=" + value.dump() + ";";
  };
  parse_json_members(R"({"b":{"y":[1],"x":2},"a":[],"c":null,"":{},"d":"e"})", "x", take);
  CHECK(seen == R"(b={"x":2,"y":[1]};a=[];c=null;={};d="e";)");
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"[1]", "x: not a JSON object"},
           {"1", "x: not a JSON object"},
           {R"({"b":1,"a":{"c":{}}})", "x: 'a' contains an object"},
           {R"({"b":1,"a":[[{}]]})", "x: 'a' contains an object"},
           {"{\"a\":[" + repeated("0,", 1'000'000) + "0]}", "x: 'a' has more than 1000000 parts"}})
    CHECK_THROWS_WITH_AS(parse_json_members(text, "x", take), message.c_str(), Failure);
  // The limit is that of one member.
  CHECK_NOTHROW(parse_json_members("{\"a\":[" + repeated("0,", 999'999) + "0],\"b\":[1]}", "x",
                                   [](const std::string&, const json&) {}));
}

}  // namespace json_file_test
