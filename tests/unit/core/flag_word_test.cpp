#include "core/flag_word.hpp"

#include <doctest/doctest.h>

namespace flag_word_test {

using namespace ranklab;
using Names = std::vector<std::string>;

TEST_CASE("a word has a head of names, a value after a colon, and settings after commas") {
  const FlagWord number = parse_flag_word("1e+3");
  CHECK(number.head == "1e+3");
  CHECK_FALSE(number.value.has_value());
  CHECK(number.settings.empty());

  const FlagWord model = parse_flag_word("attention+identity:64x256");
  CHECK(model.names() == Names{"attention", "identity"});
  CHECK(model.value == "64x256");

  const FlagWord run = parse_flag_word("muon,spectral-on=W1+W2,text=a:b=c,odd");
  CHECK(run.head == "muon");
  CHECK_FALSE(run.value.has_value());  // the colon is in a setting
  REQUIRE(run.settings.size() == 3);
  CHECK(run.settings[0].key == "spectral-on");
  CHECK(FlagWord::joined_by_plus(*run.settings[0].value) == Names{"W1", "W2"});
  CHECK(run.settings[1].value == "a:b=c");
  CHECK_FALSE(run.settings[2].value.has_value());
  CHECK(run.settings[2].text() == "odd");
  CHECK(run.settings[1].text() == "text=a:b=c");
}

TEST_CASE("empty parts are kept, so that the caller can refuse them") {
  const FlagWord word = parse_flag_word("+:,,=");
  CHECK(word.names() == Names{"", ""});
  CHECK(word.value == "");
  REQUIRE(word.settings.size() == 2);
  CHECK(word.settings[0].key.empty());
  CHECK_FALSE(word.settings[0].value.has_value());
  CHECK(word.settings[1].value == "");
}

}  // namespace flag_word_test
