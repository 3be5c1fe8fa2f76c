#include "page/prose.hpp"

#include <doctest/doctest.h>

namespace prose_test {

using namespace ranklab;

TEST_CASE("plain text becomes mathematical notation") {
  CHECK(prose("E[xi_i] >= lambda^2").text() == "E[\u03BE<sub>i</sub>] \u2265 \u03BB<sup>2</sup>");
  CHECK(prose("||A||_F and ||G||_*^2").text() ==
        "\u2016A\u2016<sub>F</sub> and \u2016G\u2016<sub>*</sub><sup>2</sup>");
  CHECK(prose("x^0.5. 0.2 x^2.").text() == "x<sup>0.5</sup>. 0.2 x<sup>2</sup>.");
  CHECK(prose("d^(u-l) log d").text() == "d<sup>u-l</sup> log d");
  CHECK(prose("sqrt 2, sqrt(N)").text() == "\u221A2, \u221A(N)");
  CHECK(prose("lambda = -1.75").text() == "\u03BB = \u22121.75");
  CHECK(prose("abs(lambda) up to 1").text() == "|\u03BB| up to 1");
  CHECK(prose("2.842e-05 +- 1e-10").text() ==
        "2.842\u00D710<sup>\u22125</sup> \u00B1 10<sup>\u221210</sup>");
  CHECK(prose("c_+^att, C_sigma").text() == "c<sub>+</sub><sup>att</sup>, C<sub>\u03C3</sub>");
}

TEST_CASE("names, words and markup are unchanged") {
  CHECK(prose("lambda-skip, rank_one_residual, mu_normalized").text() ==
        "lambda-skip, rank_one_residual, mu_normalized");
  CHECK(prose("eta of beta-test, mum, A1 3-4").text() == "\u03B7 of beta-test, mum, A1 3-4");
  CHECK(prose("a_1 of `x_1 <b>` and `c` b_2, `").text() ==
        "a<sub>1</sub> of <code>x_1 &lt;b&gt;</code> and <code>c</code> b<sub>2</sub>, `");
  CHECK(prose("x_<b>&^(<i>)").text() == "x_&lt;b&gt;&amp;<sup>&lt;i&gt;</sup>");
  for (const char* text : {"", "^", "_", "a^", "a_", "1e-", "a^(", "||", "-", "a^()", "x_+"})
    CHECK_NOTHROW(prose(text));
}

}  // namespace prose_test
