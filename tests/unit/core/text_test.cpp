#include "core/text.hpp"

#include <doctest/doctest.h>

using namespace ranklab;

TEST_CASE("numbers, lists and clauses as text") {
  CHECK(short_number(12345.678) == "1.235e+04");
  CHECK(series_number(0.1) == "0.1");
  CHECK(series_number(1e8) == "1e+08");
  CHECK(count_text(1e6) == "1000000");
  CHECK(counted(1, "trial") == "1 trial");
  CHECK(counted(0, "trial") == "0 trials");
  CHECK(joined({"a", "b", "c"}) == "a, b, c");
  CHECK(joined({"a", "b"}, "|") == "a|b");
  CHECK(joined({}).empty());
  CHECK(clauses("first", "second") == "first; second");
  CHECK(clauses("", "second") == "second");
  CHECK(clauses("first", "") == "first");
}

TEST_CASE("a refusal ends with the nearest word, or with what it was given") {
  CHECK(did_you_mean("lambada", {"lambda", "layers"}) == "; did you mean 'lambda'?");
  CHECK(did_you_mean("zzz", {"lambda", "layers"}, "; see --help") == "; see --help");
}
