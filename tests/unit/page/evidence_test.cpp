#include "page/evidence.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace evidence_test {

using namespace ranklab;

namespace {

std::string expected(double low, double high) {
  Claim claim;
  claim.expected = std::pair(low, high);
  return html_expected(claim).text();
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
  CHECK(html_expected({}).empty());
}

}  // namespace evidence_test
