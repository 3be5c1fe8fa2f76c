#include "page/page.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/undefined.hpp"
#include "figure/sample.hpp"
#include "judge/catalog.hpp"
#include "page/text.hpp"
#include "result/typed.hpp"

namespace page_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

TEST_CASE("everything from the file is escaped") {
  const std::string hostile = "</code></title><script>alert('x')</script>&\" \x01";
  auto result = sample_result();
  for (const char* key : {"title", "command", "study", "preset"}) result[key] = hostile;
  result["source"] = {{"paper", hostile}, {"figure", hostile}};
  for (const char* key : {"id", "source", "statement", "detail", "threshold", "judged_in"})
    result["claims"][0][key] = hostile;
  result["scalars"] = {{hostile, {{"mean", 1}, {"std", 1}, {"n", 1}}}};
  result["config"] = {{hostile, hostile}};
  result["environment"] = {{hostile, {hostile}}};
  result["notes"] = {hostile};
  result["skipped"] = {{{"name", hostile}, {"reason", hostile}}};
  result["trials"] = {{"requested", 4}, {"completed", 2}, {"unit", hostile}};
  result["figure"]["panels"][0]["title"] = hostile;
  const std::string page = html_report(typed(std::vector<nlohmann::json>{result}), {hostile});
  CHECK(count(page, "<script") == 1);  // the search
  CHECK_FALSE(contains(page, "<script>alert"));
  CHECK_FALSE(contains(page, "\x01"));
  CHECK(contains(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
}

TEST_CASE("two results of one preset have their own ids") {
  const std::string page = html_report(
      typed(std::vector<nlohmann::json>{sample_result(), sample_result()}), {"a.json", "b.json"});
  CHECK(count(page, " id=\"result-1\"") == 1);
  CHECK(count(page, " id=\"result-2\"") == 1);
  CHECK(count(page, " id=\"spectral-fig03\"") == 0);
}

TEST_CASE("an interrupted run is marked") {
  auto result = sample_result();
  result["status"] = "interrupted";
  CHECK(contains(html_report(typed(std::vector<nlohmann::json>{result}), {"x.json"}),
                 "<p class=\"warning\"><strong>\u26A0 Status: interrupted.</strong>"));
}

TEST_CASE("without a figure, the page is made with a note") {
  auto result = sample_result();
  result["figure"] = nullptr;
  CHECK(contains(html_report(typed(std::vector<nlohmann::json>{result}), {"x.json"}),
                 "Not drawn: the result has no figure"));
}

TEST_CASE("a changed preset is marked as different from the paper's figure") {
  auto result = sample_result();
  result["changed"] = {{{"name", "n"}, {"preset", 8196}, {"run", 2048}}};
  result["see"] = "lambda rises.";
  const std::string page =
      html_report(typed(std::vector<nlohmann::json>{result}), {"my results/x.json"});
  CHECK(contains(page, "changed from the preset: n 2048 instead of 8196</small></h3>"));
  CHECK(contains(
      page, "<p class=\"facts\"><code>build/ranklab verify &#39;my results/x.json&#39;</code>"));
  CHECK(contains(
      page, "build/ranklab random-features --config &#39;my results/x.json&#39; --out again.json"));
  CHECK(contains(page, "<small class=\"changed\">changed</small></th>"));  // among all results
  CHECK(contains(page, "<em>For the unchanged preset:</em> \u03BB rises."));
  CHECK_FALSE(contains(page, "make spectral-fig03"));
}

TEST_CASE("fewer trials than in the preset are shown as '4 of 32' and not marked as a change") {
  auto result = sample_result();
  result["trials"] = {{"requested", 4}, {"completed", 4}, {"unit", "input"}};
  result["changed"] = {{{"name", "trials"}, {"preset", 32}, {"run", 4}}};
  const std::string page = html_report(typed(std::vector<nlohmann::json>{result}), {"x.json"});
  CHECK(contains(page, ">4 of 32 inputs<"));
  CHECK(contains(page, " \u00B7 4 of 32 inputs"));
  CHECK_FALSE(contains(page, ">changed</small>"));
  result["trials"]["completed"] = 3;
  CHECK(contains(html_report(typed(std::vector<nlohmann::json>{result}), {"x.json"}),
                 ">3 of 4 inputs<"));
}

TEST_CASE("a finding is shown only while its claim has the verdict of its sentence") {
  auto result = sample_result();
  result["finding"] = {{"claim", "spectral/eq-1.5"},
                       {"verdict", "holds"},
                       {"sentence", "GD keeps nr >= st."},
                       {"panel", 2}};
  const auto first_screen = [&](const std::vector<nlohmann::json>& results) {
    const std::string page = html_report(typed(results), {"x.json"});
    return page.substr(0, page.find("<section"));
  };
  CHECK(contains(first_screen({result}), "<span>GD keeps nr \u2265 st."));  // without a label
  CHECK(count(first_screen(std::vector<nlohmann::json>(5, result)), "GD keeps") == 3);
  result["claims"][0]["verdict"] = "fails";  // the claim's own statement is shown
  CHECK(contains(first_screen({result}), "\u2717 fails</b> nr \u2265 st "));
  CHECK_FALSE(contains(first_screen({result}), "GD keeps"));
  result["claims"][0]["verdict"] = "not-applicable";
  CHECK_FALSE(contains(first_screen({result}), "<a class=\"thumbnail\""));
}

TEST_CASE("the view of a paper has all statements if the page surveys it, else those judged") {
  const auto rows = [](const std::string& page) { return count(page, "<tr id=\"spectral/"); };
  CHECK(rows(html_report(typed(std::vector<nlohmann::json>{sample_result()}), {"x.json"})) == 2);
  std::vector<nlohmann::json> several(3, sample_result());
  CHECK(rows(html_report(typed(several), {"a", "b", "c"})) == papers()[0].statements.size());
}

TEST_CASE("the anchor of a claim is its id; of several results, the one that decides it has it") {
  auto first = sample_result(), second = sample_result();
  const auto place = [](const char* id) { return "<tbody id=\"" + std::string(id) + "\">"; };
  second["preset"] = "spectral-other";
  for (auto* result : {&first, &second}) (*result)["claims"][0]["id"] = "spectral/x/y";
  first["claims"][0]["verdict"] = "not-applicable";
  const auto page_of = [&] {
    return html_report(typed(std::vector<nlohmann::json>{first, second}), {"a.json", "b.json"});
  };
  // The claim does not apply to the first result, which names the second instead.
  CHECK(count(page_of(), place("spectral/x/y")) == 1);
  CHECK(count(page_of(), "<code>spectral/x/y</code>") == 1);
  CHECK(contains(page_of(), "Not applicable here: 1 claim judged in <a href=#spectral-other>"));
  first["claims"][0]["undecided"] = true;
  CHECK(contains(page_of(), place("spectral-fig03/spectral/x/y")));
  CHECK(count(page_of(), place("spectral/x/y")) == 1);
  first["claims"][0]["verdict"] = "holds";
  first["claims"][0].erase("undecided");
  CHECK(contains(page_of(), place("spectral-other/spectral/x/y")));
  // The id of a statement leads to the statement, and other text to nothing.
  for (auto* result : {&first, &second}) (*result)["claims"][0]["id"] = "spectral/eq-1.5";
  CHECK(contains(page_of(), place("spectral-fig03/spectral/eq-1.5")));
  for (const char* id : {"results", "a/b c", "a/\"b", "1/2"}) {
    first["claims"][0]["id"] = id;
    CHECK(count(page_of(), "<tbody id=") == 3);  // of four claims
  }
}

TEST_CASE("a result of a paper whose claims are all judged elsewhere has no section") {
  auto input = sample_result();
  input["preset"] = "spectral-input";
  for (auto& claim : input["claims"]) claim["judged_in"] = "spectral-fig03";
  const std::string page =
      html_report(typed(std::vector<nlohmann::json>{sample_result(), input}), {"a.json", "b.json"});
  CHECK(contains(page, "<section class=\"result\" id=\"spectral-fig03\""));
  CHECK_FALSE(contains(page, "<section class=\"result\" id=\"spectral-input\""));
  CHECK_FALSE(contains(page, "#spectral-input"));
  CHECK(contains(page, "<code>spectral-input</code>"));  // in the table of all results
}

TEST_CASE("numbers have four significant digits, and undefined values are a dash") {
  CHECK(html_number(12.34567).text() == "12.35");
  CHECK(html_number(0.0123456).text() == "0.01235");
  CHECK(html_number(123456.7).text() == "123457");
  CHECK(html_number(1000).text() == "1000");
  CHECK(html_number(-2).text() == "\u22122");
  CHECK(html_number(0.0).text() == "0");
  CHECK(html_number(1.5e-7).text() == "1.500\u00D710<sup>\u22127</sup>");
  CHECK(html_number(undefined).text() == "<span title=\"undefined\">\u2013</span>");
  CHECK(shell_word("a b'c") == "'a b'\\''c'");
}

}  // namespace page_test
