#include "report/page/evidence.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace evidence_test {

using namespace ranklab;

namespace {

std::string expected(double low, double high) {
  Claim claim;
  claim.expected = std::pair(low, high);
  return html_expected(claim);
}

}  // namespace

TEST_CASE("the expected value of a claim is written in ordinary notation") {
  const double smallest = std::numeric_limits<double>::min(),
               open = std::numeric_limits<double>::infinity();
  CHECK(expected(smallest, open) == "&gt; 0");
  CHECK(expected(smallest, 0.8) == "in (0, 0.8]");
  CHECK(expected(-open, -smallest) == "&lt; 0");
  CHECK(expected(0.0, 0.0) == "0");
  CHECK(expected(-1e-9, 1e-9) == "0 \u00B1 10<sup>\u22129</sup>");
  CHECK(expected(1.0, 2.5) == "1 to 2.5");
  CHECK(expected(23.400000000000002, 28.6) == "23.4 to 28.6");
  CHECK(expected(-open, 2) == "\u2264 2");
  CHECK(expected(2, open) == "\u2265 2");
  CHECK(expected(-open, open) == "any");
  CHECK(html_expected({}) == "");
}

TEST_CASE("counts show their denominator and means their interval") {
  Claim claim;
  claim.expected = 0.0;
  claim.evidence = CountEvidence{235, 4838, 1.5};
  claim.detail = "nr >= st: 169";
  const ShownEvidence tally = evidence_of(claim);
  CHECK(tally.measured == "235 violations in 4,838 cases");
  CHECK(tally.expected == "none");
  CHECK(tally.detail == "nr \u2265 st: 169");
  claim.evidence = MeanEvidence{12.4414, 10.2924, 14.5904, 0.99, 12};
  claim.detail = "log10";
  const ShownEvidence mean = evidence_of(claim);
  CHECK(mean.measured == "12.4 \u00B1 2.1");
  CHECK(mean.detail == "99 %, 12 seeds; log10");
  claim.evidence = {};
  CHECK(evidence_of(claim).measured == "");
  CHECK(evidence_of(claim).detail == "log10");
}

}  // namespace evidence_test
