#include "result/result_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace result_json_test {

using namespace ranklab;

TEST_CASE("formatted text is the same document, with plain lists on one line") {
  const nlohmann::ordered_json document = {
      {"a", {1.5, nullptr, 3}},
      {"b", {{"c", "x\ny"}, {"d", nlohmann::ordered_json::array()}}},
      {"e", {{{"f", 1}}}}};
  const std::string text = format_json(document);
  CHECK(nlohmann::ordered_json::parse(text) == document);
  CHECK(text.find("\"a\": [1.5,null,3]") != std::string::npos);
}

TEST_CASE("fields are converted to JSON and back; an error about a wrong type names the label") {
  std::vector<std::uint64_t> list = {1, 2};
  double real = 0.1 + 0.2;
  bool flag = true;
  std::string word = "relu";
  const Field list_field = size_list_field("l", list, 1, 9, "", "");
  const Field real_value = real_field("r", real, 0, 1, "", "");
  const Field flag_field = switch_field("f", flag, "");
  const Field word_field = choice_field("w", word, {"relu", "abs"}, "", "");
  for (const Field* field : {&list_field, &real_value, &flag_field, &word_field}) {
    const auto json = nlohmann::json::parse(field_json(*field).dump());
    const std::string before = field->value_text();
    set_field(*field, json, "label");
    CHECK(field->value_text() == before);
  }
  CHECK(field_json(list_field).dump() == "[1,2]");
  CHECK_THROWS_AS(set_field(real_value, "0.5", "label"), UsageError);
  CHECK_THROWS_AS(set_field(flag_field, 1, "label"), UsageError);
  CHECK_THROWS_AS(set_field(word_field, 3, "label"), UsageError);
  CHECK_THROWS_AS(set_field(word_field, {"relu"}, "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, nlohmann::json::array(), "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, {1, 2.5}, "label"), UsageError);
  CHECK_THROWS_AS(set_field(list_field, nullptr, "label"), UsageError);
}

TEST_CASE("a list of words may contain numbers") {
  std::vector<std::string> steps = {"0", "16"};
  Field field{"steps", &steps, "", ""};
  field.numeric_words = true;
  CHECK(field_json(field).dump() == "[0,16]");
  set_field(field, {1, 2}, "label");
  CHECK(steps == std::vector<std::string>{"1", "2"});
  set_field(field, {"all"}, "label");
  CHECK(field_json(field).dump() == "[\"all\"]");
  // 2^64 - 1 is the largest number that fits; anything else stays a word.
  steps = {"18446744073709551615",
           "18446744073709551616",
           "12x",
           "-1",
           "0.5",
           "1e-3",
           "nan",
           "mamba2:800",
           ""};
  CHECK(
      field_json(field).dump() ==
      R"([18446744073709551615,"18446744073709551616","12x",-1,0.5,0.001,"nan","mamba2:800",""])");
  set_field(field, {-1, 1.5}, "label");
  CHECK(steps == std::vector<std::string>{"-1", "1.5"});
  CHECK_THROWS_AS(set_field(field, {true}, "label"), UsageError);
}

TEST_CASE("reading JSON is strict") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.json";
  const auto refused = [&](const std::string& text) {
    write_file_atomically(path, text);
    CHECK_THROWS_AS(read_json(path), Failure);
  };
  refused("");
  refused("{\"a\": 1");
  refused("{\"a\": NaN}");
  refused("{\"a\": 1, \"a\": 2}");
  refused("{\"b\": [{\"a\": 1, \"a\": 2}]}");
  refused("{} {}");
  refused("{\"a\": \"\xff\"}");
  write_file_atomically(path, "{\"a\": {\"k\": 1}, \"b\": {\"k\": 2}}");
  CHECK(read_json(path)["b"]["k"] == 2);
}

}  // namespace result_json_test
