#include "report/page/page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "report/catalog.hpp"
#include "report/figure/sample.hpp"
#include "report/page/text.hpp"

namespace page_test {

using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;

TEST_CASE("the page shows the content of a result and is reproducible") {
  const std::string page = html_report({sample_result()}, {"results/x.json"});
  CHECK(page == html_report({sample_result()}, {"results/x.json"}));
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  for (const char* part :
       {"make spectral-fig03", "build/ranklab random-features --preset spectral-fig03",
        "Figure 3: GD against SpecGD", "10 trials", "\u2713 holds", "\u2717 fails", "12.35",
        "\u2265 3", "3.142", "<svg", "a machine", "href=\"#spectral-fig03\"", "<math>",
        "When do spectral gradient updates help in deep learning?", "arXiv:2512.04299",
        "What the paper says, and what was found", "id=\"spectral-eq-1.5\"",
        "<a href=\"#spectral-fig-3\">Figure 3</a>"}) {
    CHECK_MESSAGE(contains(page, part), std::string(part));
  }
  CHECK_FALSE(contains(page, "--config"));
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "<link"));
  CHECK_FALSE(contains(page, "\u26A0"));
}

TEST_CASE("undecided, not applicable, not seen and not in the paper are distinguished") {
  auto result = sample_result();
  const nlohmann::json sample = result["claims"][0];
  const auto add = [&](const char* id, const nlohmann::json& change) {
    result["claims"].push_back(sample);
    result["claims"].back().update({{"id", id}, {"verdict", "not-applicable"}});
    result["claims"].back().update(change);
  };
  add("spectral/few", {{"undecided", true}});
  add("spectral/unmet", {{"detail", "n <= k: the theorem requires n > k"}});
  add("spectral/limit", {{"verdict", "fails"}, {"kind", "asymptotic"}, {"threshold", "0.1"}});
  add("spectral/ours", {{"verdict", "fails"}, {"kind", "beyond"}, {"part", "ours"}});
  add("spectral/holm", {{"verdict", "holds"}, {"holm_undecided", true}});
  const std::string page = html_report({result}, {"x.json"});
  for (const char* part :
       {"undecided\">?1</span>", "not-applicable\">\u25CB1</span>", ">? undecided</span>",
        ">\u25CB not applicable</span>", ">\u25B3 not seen</span>", ">\u25B3 does not hold</span>",
        "asymptotic, our slack: 0.1", "not after Holm&#39;s correction"}) {
    CHECK_MESSAGE(contains(page, part), std::string(part));
  }
  CHECK(contains(markdown_gallery({result}, {"x.json"}), "1 undecided, 1 not applicable"));
}

TEST_CASE("everything from the file is escaped") {
  const std::string hostile = "</code></title><script>alert('x')</script>&\" \x01";
  auto result = sample_result();
  for (const char* key : {"title", "command", "study", "preset", "status"}) result[key] = hostile;
  result["source"] = {{"paper", hostile}, {"figure", hostile}};
  result["claims"] = {{{"id", hostile},
                       {"source", hostile},
                       {"statement", hostile},
                       {"verdict", hostile},
                       {"measured", hostile},
                       {"expected", hostile},
                       {"detail", hostile}}};
  result["scalars"] = {{hostile, {{"mean", hostile}, {"std", 1}, {"n", 1}}}};
  result["config"] = {{hostile, hostile}};
  result["environment"] = {{hostile, {hostile}}};
  result["notes"] = {hostile};
  result["skipped"] = {{{"name", hostile}, {"reason", hostile}}};
  result["trials"] = {{"requested", 1e300}, {"completed", 2}};
  result["figure"]["panels"][0]["title"] = hostile;
  const std::string page = html_report({result}, {hostile});
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "\x01"));
  CHECK(contains(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
}

TEST_CASE("documents of the wrong shape still give a page") {
  for (
      const char* text :
      {"{}", "[]", "7", "null",
       R"({"claims": 7, "scalars": [1], "figure": 3, "config": "x", "trials": [], "notes": "n", "skipped": 1, "source": 1})",
       R"({"claims": [7, null, {}], "scalars": {"a": 1}, "notes": [[1]], "skipped": [1], "title": {"a": 1}})"}) {
    CHECK(contains(html_report({nlohmann::json::parse(text)}, {"x.json"}), "</html>"));
  }
}

TEST_CASE("ids of several results on one page do not collide, and figures have none") {
  const std::string page = html_report({sample_result(), sample_result()}, {"a.json", "b.json"});
  std::vector<std::string> ids;
  for (const std::string quote : {"\"", "'"}) {
    const std::string start = " id=" + quote;
    for (std::size_t at = page.find(start); at != std::string::npos;
         at = page.find(start, at + 1)) {
      const std::size_t begin = at + start.size();
      ids.push_back(page.substr(begin, page.find(quote, begin) - begin));
    }
  }
  CHECK(ids.size() > 4);
  std::sort(ids.begin(), ids.end());
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  CHECK(count(page, "<svg") == 2);
  CHECK_FALSE(contains(page, "url(#"));
}

TEST_CASE("a run that did not complete is marked prominently") {
  auto result = sample_result();
  result["status"] = "diverged";
  result["scalars"] = {{"gd.diverged", {{"mean", 0.8125}, {"std", 0.4}, {"n", 16}}},
                       {"specgd.diverged", {{"mean", 0}, {"std", 0}, {"n", 16}}}};
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page,
                 "<strong>\u26A0 Diverged:</strong> <code>gd</code> in 13 of 16 trials reached"));
  CHECK_FALSE(contains(page, "<code>specgd</code>"));
  result["status"] = "interrupted";
  CHECK(contains(html_report({result}, {"x.json"}),
                 "<p class=\"warning\"><strong>\u26A0 Status: interrupted.</strong>"));
}

TEST_CASE("without a figure, the page is made with a note") {
  auto result = sample_result();
  result["figure"] = nullptr;
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page, "Not drawn: the result has no figure"));
  CHECK(contains(page, "<code>spectral/<wbr>eq-1.5</code>"));
}

TEST_CASE("a changed preset is marked as different from the paper's figure") {
  auto result = sample_result();
  result["changed"] = {{{"name", "n"}, {"preset", 8196}, {"run", 2048}}};
  result["see"] = "lambda rises.";
  const std::string page = html_report({result}, {"my results/x.json"});
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
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page, ">4 of 32 inputs</td>"));
  CHECK(contains(page, " \u00B7 4 of 32 inputs"));
  CHECK_FALSE(contains(page, ">changed</small>"));
  result["trials"]["completed"] = 3;
  CHECK(contains(html_report({result}, {"x.json"}), ">3 of 4 inputs</td>"));
}

TEST_CASE("results are sorted by paper and figure, and two results of one preset are separate") {
  auto tenth = sample_result(), own = sample_result(), shallow = sample_result();
  tenth["preset"] = "spectral-fig10";
  tenth["source"]["figure"] = "Figure 10";
  own["source"] = nullptr;
  shallow["source"] = {{"paper", "[Shallow]"}, {"figure", "Figure 1"}};
  const std::string page =
      html_report({own, shallow, tenth, sample_result()}, {"a", "b", "c", "d"});
  const auto at = [&](const std::string& id) {
    return page.find("<section class=\"result\" id=\"" + id + "\"");
  };
  CHECK(at("result-4") < at("spectral-fig10"));
  CHECK(at("spectral-fig10") < at("result-2"));
  CHECK(at("result-2") < at("result-1"));
}

TEST_CASE("the first screen has counts, a sentence with a small picture, and the contents") {
  auto result = sample_result();
  result["finding"] = {{"claim", "spectral/eq-1.5"},
                       {"verdict", "holds"},
                       {"sentence", "GD keeps nr >= st."},
                       {"panel", 2}};
  const auto first_screen = [&](const std::vector<nlohmann::json>& results) {
    const std::string page = html_report(results, {"x.json"});
    return page.substr(0, page.find("<section"));
  };
  const std::string top = first_screen({result});
  for (const char* part :
       {"<th scope=\"col\">False as printed</th>", "\u2713 holds</span> GD keeps nr \u2265 st.",
        "<a class=\"thumbnail\"", "<svg", "<nav aria-label=\"Contents\">",
        "<a href=\"#spectral-fig03\">Figure 3</a>"}) {
    CHECK_MESSAGE(contains(top, part), std::string(part));
  }
  CHECK_FALSE(contains(top, "<?xml"));
  // Another verdict than the one that the sentence is about: the claim's own statement is shown.
  result["claims"][0]["verdict"] = "fails";
  CHECK(contains(first_screen({result}), "\u2717 fails</span> nr \u2265 st "));
  CHECK_FALSE(contains(first_screen({result}), "GD keeps"));
  result["claims"][0]["verdict"] = "not-applicable";
  CHECK_FALSE(contains(first_screen({result}), "<a class=\"thumbnail\""));
  CHECK_FALSE(contains(first_screen({result}), "GD keeps"));
  result["claims"][0]["verdict"] = "holds";
  // At most three per paper.
  std::vector<nlohmann::json> many(5, result);
  const std::string page = first_screen(many);
  CHECK(count(page, "GD keeps") == 3);
}

TEST_CASE("the view of a paper has all statements if the page surveys it, else those judged") {
  const auto rows = [](const std::string& page) { return count(page, "<tr id=\"spectral-"); };
  const std::string one = html_report({sample_result()}, {"x.json"});
  CHECK(rows(one) == 2);
  std::vector<nlohmann::json> several(3, sample_result());
  CHECK(rows(html_report(several, {"a", "b", "c"})) == papers()[0].statements.size());
  CHECK(contains(one, "<a href=\"#spectral-fig03\">spectral-fig03</a>"));
  CHECK_FALSE(contains(one, "id=\"shallow\""));
}

TEST_CASE(
    "a claim has its measured and expected value in columns, and provenance on a second line") {
  auto result = sample_result();
  result["claims"][0].update({{"evidence",
                               {{"type", "mean"},
                                {"mean", 12.34567},
                                {"low", 11},
                                {"high", 13.69134},
                                {"level", 0.99},
                                {"n", 12}}},
                              {"detail", "at step 3"}});
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page, "<th scope=\"col\">Measured (mean \u00B1 99 % interval)</th>"));
  CHECK(contains(page, "<td>12.3 \u00B1 1.3<td>\u2265 3"));
  CHECK(contains(page,
                 "<tr class=\"fine\"><td colspan=\"4\"><a href=\"#spectral-eq-1.5\">Section "
                 "1.2</a> \u00B7 every finite case \u00B7 "
                 "<code>spectral/<wbr>eq-1.5</code> \u00B7 99 %, 12 seeds; at step 3"));
  CHECK(contains(page, "Mean \u00B1 standard deviation over trials"));
}

TEST_CASE("a slip is marked and its corrected form follows") {
  auto result = sample_result();
  result["claims"][1].update({{"id", "spectral/fig-3/as-printed"}, {"slip", "s"}});
  result["claims"].push_back(result["claims"][0]);
  result["claims"].back().update(
      {{"id", "spectral/fig-3/corrected"}, {"misprint_of", "spectral/fig-3/as-printed"}});
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page, "<span class=\"verdict slip\">\u270E slip</span>"));
  CHECK(contains(page, "corrected form of <code>spectral/fig-3/as-printed</code>"));
  CHECK_FALSE(contains(page, "\u2717 fails"));
}

TEST_CASE("a result of a paper whose claims are all judged elsewhere has no section") {
  auto input = sample_result();
  input["preset"] = "spectral-input";
  for (auto& claim : input["claims"]) claim["judged_in"] = "spectral-fig03";
  const std::string page = html_report({sample_result(), input}, {"a.json", "b.json"});
  CHECK(contains(page, "<section class=\"result\" id=\"spectral-fig03\""));
  CHECK_FALSE(contains(page, "<section class=\"result\" id=\"spectral-input\""));
  CHECK_FALSE(contains(page, "#spectral-input"));
  CHECK(contains(page, "<code>spectral-input</code>"));  // in the table of all results
}

TEST_CASE("the environment is listed once, then only what differs") {
  auto second = sample_result();
  second["preset"] = "spectral-fig11";
  second["source"]["figure"] = "Figure 11";
  second["environment"]["cpu"] = "another machine";
  const std::string page = html_report({sample_result(), second}, {"a.json", "b.json"});
  CHECK(count(page, "<td>version<td>") == 1);
  CHECK(count(page, "<td>cpu<td>") == 2);
  CHECK(count(page, "another machine") == 1);
  CHECK(count(page,
              "Environment (otherwise as for <a href=\"#spectral-fig03\">spectral-fig03</a>)") ==
        1);
}

TEST_CASE("further figures are folded, each with its title") {
  auto result = sample_result();
  result["more_figures"] = {{{"title", "Details"}, {"panels", result["figure"]["panels"]}}};
  const std::string page = html_report({result}, {"x.json"});
  CHECK(contains(page, "<summary>1 more picture: Details</summary>"));
  CHECK(count(page, "<svg") == 2);
}

TEST_CASE("the README's overview has the page's counts, sentences and pictures") {
  auto result = sample_result();
  result["finding"] = {{"claim", "spectral/eq-1.5"},
                       {"verdict", "holds"},
                       {"sentence", "GD keeps nr."},
                       {"panel", 1}};
  result["more_figures"] = {{{"title", "Details"}, {"panels", result["figure"]["panels"]}}};
  const std::string text = markdown_gallery({result}, {"reference/spectral-fig03.json"});
  for (const char* part :
       {"| numbered statements", "* GD keeps nr. ([Figure 3](reference/spectral-fig03.svg))",
        "<img src=\"reference/spectral-fig03.svg\" alt=\"Figure 3\">",
        "More: <a href=\"reference/spectral-fig03.2.svg\">Details</a>"}) {
    CHECK_MESSAGE(contains(text, part), std::string(part));
  }
}

TEST_CASE("the statements of the papers as Markdown link to the page") {
  const std::string text =
      markdown_statements({sample_result()}, {"x.json"}, "reference/report.html");
  CHECK(contains(text, "<a id=\"spectral-eq-1.5\"></a>"));
  CHECK(contains(text, "[spectral-fig03](reference/report.html#spectral-fig03)"));
  CHECK(contains(text, "| numbered statements"));
}

TEST_CASE("numbers have four significant digits, and undefined values are a dash") {
  CHECK(html_number(12.34567) == "12.35");
  CHECK(html_number(0.0123456) == "0.01235");
  CHECK(html_number(123456.7) == "123457");
  CHECK(html_number(1000) == "1000");
  CHECK(html_number(-2) == "\u22122");
  CHECK(html_number(0.0) == "0");
  CHECK(html_number(1.5e-7) == "1.500\u00D710<sup>\u22127</sup>");
  CHECK(html_number(nullptr) == "<span title=\"undefined\">\u2013</span>");
  CHECK(shell_word("a b'c") == "'a b'\\''c'");
}

}  // namespace page_test
