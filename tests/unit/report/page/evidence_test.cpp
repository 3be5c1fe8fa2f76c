#include "report/page/evidence.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace evidence_test {

using namespace ranklab;

TEST_CASE("the expected value of a claim is written in ordinary notation") {
  const double smallest = std::numeric_limits<double>::min();
  CHECK(html_expected({smallest, nullptr}) == "&gt; 0");
  CHECK(html_expected({smallest, 0.8}) == "in (0, 0.8]");
  CHECK(html_expected({nullptr, -smallest}) == "&lt; 0");
  CHECK(html_expected({0.0, 0.0}) == "0");
  CHECK(html_expected({-1e-9, 1e-9}) == "0 \u00B1 10<sup>\u22129</sup>");
  CHECK(html_expected({1.0, 2.5}) == "1 to 2.5");
  CHECK(html_expected({23.400000000000002, 28.6}) == "23.4 to 28.6");
  CHECK(html_expected({nullptr, 2}) == "\u2264 2");
  CHECK(html_expected({2, nullptr}) == "\u2265 2");
  CHECK(html_expected({nullptr, nullptr}) == "any");
  CHECK(html_expected(nullptr) == "");
  CHECK(html_expected({"<", 1}) == "[&quot;&lt;&quot;,1]");
}

TEST_CASE(
    "counts show their denominator and means their interval; the detail does not repeat them") {
  const ShownEvidence tally = evidence_of(
      {{"measured", 235.0},
       {"expected", 0.0},
       {"evidence", {{"type", "count"}, {"violations", 235}, {"cases", 4838}, {"worst", 1.5}}},
       {"detail", "235 violations in 4838 cases; nr >= st: 169"}});
  CHECK(tally.text() == "<b>235 violations in 4,838 cases</b>, expected none; nr \u2265 st: 169");
  const ShownEvidence mean =
      evidence_of({{"measured", 12.4414},
                   {"expected", {0.0, nullptr}},
                   {"unit", "seed"},
                   {"evidence",
                    {{"type", "mean"},
                     {"mean", 12.4414},
                     {"low", 10.2924},
                     {"high", 14.5904},
                     {"level", 0.99},
                     {"n", 12}}},
                   {"detail", "mean 12.44 +- 2.149 (99 %, 12 trials); log10"}});
  CHECK(mean.text() == "<b>12.4 \u00B1 2.1</b>, expected \u2265 0; 99 %, 12 seeds; log10");
  CHECK(evidence_of({{"measured", nullptr}, {"expected", nullptr}, {"detail", "no case"}}).text() ==
        "no case");
  CHECK(evidence_of(nullptr).text() == "");
}

TEST_CASE("a claim of an old file without evidence shows its detail unchanged") {
  CHECK(evidence_of({{"measured", 2.0}, {"expected", 0.0}, {"detail", "2 violations in 9 cases"}})
            .text() == "<b>2</b>, expected 0; 2 violations in 9 cases");
}

}  // namespace evidence_test
