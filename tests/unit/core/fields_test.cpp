#include "core/fields.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fields_test {

using namespace ranklab;

namespace {

std::string refusal(const Field& field, const std::string& text) {
  try {
    field.parse(text, "--x");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("integers: the whole text is parsed, within the domain and 64 bits") {
  std::uint64_t value = 7;
  const Field field = size_field("x", value, 1, 1000, "x", "help");
  field.parse("1000", "--x");
  CHECK(value == 1000);
  for (const char* bad : {"0", "1001", "-1", "1.5", "2x", "", " 3", "0x10", "1e4", "1.5e0", "1e",
                          "+3", "99999999999999999999"}) {
    const std::string message = refusal(field, bad);
    CHECK(contains(message, "--x: '" + std::string(bad) + "'"));
    CHECK(contains(message, "integer from 1 to 1000"));
  }
  CHECK(value == 1000);  // a rejected value leaves the variable unchanged
  field.parse("2e2", "--x");
  CHECK(value == 200);

  const Field seed = size_field("seed", value, 0, 0, "", "");
  seed.parse("18446744073709551615", "--seed");
  CHECK(value == 18446744073709551615u);
  CHECK(contains(refusal(seed, "18446744073709551616"), "unsigned 64-bit"));
}

TEST_CASE("reals are finite and respect an open or closed lower bound") {
  double value = 0.5;
  const Field field = real_field("x", value, 0.0, 1.0, "", "");
  field.parse("1e-3", "--x");
  CHECK(value == 1e-3);
  field.parse("0", "--x");
  for (const char* bad : {"nan", "inf", "-0.1", "1.1", "", "1,2", "one"})
    CHECK(!refusal(field, bad).empty());
  CHECK(contains(refusal(excluding_low(field), "0"), "above 0"));
}

TEST_CASE("choices suggest the nearest word") {
  std::string value;
  const Field field = choice_field("x", value, {"relu", "gelu", "silu"}, "", "");
  const std::string message = refusal(field, "rellu");
  CHECK(contains(message, "'rellu'"));
  CHECK(contains(message, "relu|gelu|silu"));
  CHECK(contains(message, "did you mean 'relu'"));
  CHECK(!contains(refusal(field, "something"), "did you mean"));
}

TEST_CASE("lists are comma-separated and name the bad element") {
  std::vector<double> value;
  const Field list = real_list_field("x", value, -5, 5, "", "");
  list.parse("-2,-1,0,1.5", "--x");
  CHECK(value == std::vector<double>{-2, -1, 0, 1.5});
  CHECK(list.value_text() == "-2,-1,0,1.5");
  CHECK(contains(refusal(list, "1,9,2"), "'9'"));
  CHECK(contains(refusal(list, "1,,2"), "''"));
  CHECK(contains(refusal(list, "1,2,1"), "twice"));
}

TEST_CASE("a list with one element per flag keeps commas inside an element") {
  std::vector<std::string> value;
  const Field list = one_per_flag(text_list_field("pair", value, ""));
  list.parse("a,b.npy,c.npy", "--pair");
  CHECK(value == std::vector<std::string>{"a,b.npy,c.npy"});
  list.set(list.read_elements({"a,b", "c"}, "--pair"));
  CHECK(value == std::vector<std::string>{"a,b", "c"});
  CHECK_THROWS_AS(list.read_elements({"a,b", "a,b"}, "--pair"), UsageError);
  list.parse("", "--pair");
  CHECK(value.empty());
}

TEST_CASE("a flag may not set an integer to 0 if 0 means 'not given'") {
  std::uint64_t value = 4;
  const Field field = or_unset(size_field("x", value, 0, 8, "", ""));
  CHECK(contains(field.domain_text(), "from 1 to 8"));
  CHECK_THROWS_AS(field.read_flag("0", "--x"), UsageError);
  CHECK(value == 4);
  field.set(field.read_flag("3", "--x"));
  CHECK(value == 3);
  field.parse("0", "x");
  CHECK(value == 0);
}

TEST_CASE("a typed value is refused as its text is") {
  std::vector<std::uint64_t> sizes;
  const Field list = size_list_field("k", sizes, 2, 8, "", "");
  using Sizes = std::vector<std::uint64_t>;
  CHECK(list.checked(Sizes{2, 8}, "k") == Field::Value(Sizes{2, 8}));
  for (const auto& each : {std::pair(Sizes{2, 9}, "2,9"), {Sizes{4, 4}, "4,4"}}) {
    const Sizes value = each.first;
    const std::string text = each.second;
    const auto complaint = [&](const auto& read) {
      try {
        read();
      } catch (const UsageError& error) {
        return std::string(error.what());
      }
      return std::string("none");
    };
    CHECK(complaint([&] { list.checked(value, "k"); }) == complaint([&] { list.read(text, "k"); }));
    CHECK(complaint([&] { list.read(text, "k"); }) != "none");
  }
}

TEST_CASE("empty text clears a list of words that may be empty; it is not a number") {
  std::vector<double> numbers = {1};
  CHECK(!refusal(or_empty(real_list_field("x", numbers, -5, 5, "", "")), "").empty());
  CHECK(numbers == std::vector<double>{1});
  const Field list = or_empty(real_list_field("x", numbers, -5, 5, "", ""));
  list.set(list.read_elements({}, "x"));
  CHECK(numbers.empty());
  std::vector<std::string> words = {"a"};
  or_empty(text_list_field("x", words, "")).parse("", "--x");
  CHECK(words.empty());
}

TEST_CASE("the output of value_text parses to the same value") {
  double value = 0.1 + 0.2;
  const Field field = real_field("x", value, 0, 1, "", "");
  const std::string text = field.value_text();
  value = 0;
  field.parse(text, "--x");
  CHECK(value == 0.1 + 0.2);
}

TEST_CASE("nearest uses the edit distance with transpositions and suggests nothing too different") {
  CHECK(nearest("random-featurs", {"rank-collapse", "random-features"}) == "random-features");
  CHECK(nearest("spectral-fig3", {"spectral-fig12", "spectral-fig03"}) == "spectral-fig03");
  CHECK(nearest("--trails", {"--trials", "--threads"}) == "--trials");
  CHECK(nearest("xyz", {"trials", "steps"}).empty());
  CHECK(nearest(std::string(100000, 'a'), {"trials"}).empty());
}

}  // namespace fields_test
