#include "page/markdown.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace markdown_test {

using namespace ranklab;

TEST_CASE("words of a result have no meaning in Markdown, and stay readable where they had none") {
  const auto set = [](const char* words) { return markdown(escape_markup(words)).text(); };
  CHECK(set("E[x] of rank_one in [0, 1] (a.b): 1.5 - 2") ==
        "E[x] of rank_one in [0, 1] (a.b): 1.5 - 2");
  CHECK(set("[a](b) [a][b]") == "[a&#93;(b) [a&#93;[b]");
  CHECK(set("[a]: b") == "[a&#93;: b");
  CHECK(set("# a") == "&#35; a");
  CHECK(set("12. a") == "12&#46; a");
  CHECK(set("a\n\n> b") == "a  &gt; b");
  CHECK(set("_a_ *b* `c` ~d~ $e$ \\") ==
        "&#95;a&#95; &#42;b&#42; &#96;c&#96; &#126;d&#126; &#36;e&#36; &#92;");
  CHECK(set("https://a www.b <i>") == "https&#58;//a www&#46;b &lt;i&gt;");
}

TEST_CASE("a cell has no further cells") {
  CHECK(table_row({"a", markdown(escape_markup("b|c"))}).text() == "| a | b\\|c |\n");
}

TEST_CASE("the target of a link is a relative path") {
  CHECK(link_target("../a/b-1.svg").text() == "../a/b-1.svg");
  CHECK(link_target("javascript:x(1) \"\xC3\xA9.svg").text() ==
        "javascript%3Ax%281%29%20%22%C3%A9.svg");
  CHECK(link_target((std::filesystem::current_path() / "a.svg").string()).text() == "a.svg");
}

}  // namespace markdown_test
