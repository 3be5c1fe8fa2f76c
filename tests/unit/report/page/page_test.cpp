#include "report/page/page.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "report/figure/sample.hpp"
#include "report/page/text.hpp"

namespace page_test {

using namespace ranklab;
using ranklab::testing::contains;
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
        "Misprints, failures, undecided and not applicable statements"}) {
    CHECK_MESSAGE(contains(page, part), part);
  }
  CHECK(contains(page, "Of 2 distinct statements"));
  CHECK_FALSE(contains(page, "--config"));
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "<link"));
  CHECK_FALSE(contains(page, "\u26A0"));
}

TEST_CASE("undecided and not applicable are distinguished everywhere") {
  auto result = sample_result();
  const nlohmann::json sample = result["claims"][0];
  for (const auto& [id, detail] : {std::pair("spectral/few", "undecided at 3 trials: mean 0"),
                                   {"spectral/unmet", "n <= k: the theorem requires n > k"}}) {
    result["claims"].push_back(sample);
    result["claims"].back().update({{"id", id}, {"verdict", "not-applicable"}, {"detail", detail}});
  }
  const std::string page = html_report({result}, {"x.json"}, {"<svg>"});
  for (const char* part :
       {"? 1 is undecided", "\u25CB 1 is not applicable", ">? undecided</span>",
        ">\u25CB not applicable</span>", "1 statement that is undecided, and why",
        "1 statement that is not applicable, and why", "? 1</span> undecided"}) {
    CHECK_MESSAGE(contains(page, part), part);
  }
  for (const char* part : {"n/a", "withheld", " open in "}) CHECK_FALSE(contains(page, part));
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

TEST_CASE("ids of several figures on one page do not collide") {
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
  CHECK(ids.size() > 40);
  std::sort(ids.begin(), ids.end());
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  CHECK(contains(page, "'#result-1-gpPt"));
  CHECK_FALSE(contains(page, "'#gpPt"));
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

TEST_CASE("without gnuplot or a figure, the page is made with a note") {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  const std::string page = html_report({sample_result()}, {"x.json"});
  ::setenv("PATH", path.c_str(), 1);
  CHECK(contains(page, "Not drawn: gnuplot is not installed"));
  CHECK(contains(page, "spectral/<wbr>eq-1.5"));
  auto result = sample_result();
  result["figure"] = nullptr;
  CHECK(contains(html_report({result}, {"x.json"}), "the result has no figure"));
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

TEST_CASE("a given picture is not drawn again, and its ids get a prefix") {
  const std::string page =
      html_report({sample_result()}, {"x.json"}, {"<?xml?><svg id='a'><title>mine</title></svg>"});
  CHECK(contains(page, "<svg id='spectral-fig03-a'><title>mine</title></svg>"));
  CHECK_FALSE(contains(page, "gp"));
}

TEST_CASE("results are sorted by paper and figure, and two results of one preset are separate") {
  auto tenth = sample_result(), own = sample_result(), shallow = sample_result();
  tenth["preset"] = "spectral-fig10";
  tenth["source"]["figure"] = "Figure 10";
  own["source"] = nullptr;
  shallow["source"] = {{"paper", "[Shallow]"}, {"figure", "Figure 1"}};
  const std::string page = html_report({own, shallow, tenth, sample_result()}, {"a", "b", "c", "d"},
                                       {"<svg>", "<svg>", "<svg>", "<svg>"});
  const auto at = [&](const std::string& id) {
    return page.find("<section class=\"result\" id=\"" + id + "\"");
  };
  CHECK(at("result-4") < at("spectral-fig10"));
  CHECK(at("spectral-fig10") < at("result-2"));
  CHECK(at("result-2") < at("result-1"));
}

TEST_CASE("failed statements are grouped by paper, in the order of the papers") {
  auto shallow = sample_result(), own = sample_result();
  shallow["source"] = {{"paper", "[Shallow]"}, {"figure", "Figure 1"}};
  own["source"] = nullptr;
  for (auto& claim : shallow["claims"])
    claim["id"] = "shallow/fig-1/" + claim["verdict"].get<std::string>();
  for (auto& claim : own["claims"]) claim["id"] = "own/" + claim["verdict"].get<std::string>();
  const std::string page =
      html_report({own, shallow, sample_result()}, {"a", "b", "c"}, {"<svg>", "<svg>", "<svg>"});
  const auto at = [&](const std::string& paper) {
    return page.find("<details>\n<summary>1 other statement of " + paper +
                     " that fails, and why</summary>");
  };
  REQUIRE(at("other results") != std::string::npos);
  CHECK(at("[Spectral]") < at("[Shallow]"));
  CHECK(at("[Shallow]") < at("other results"));
  CHECK(at("[LambdaSkip]") == std::string::npos);
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
