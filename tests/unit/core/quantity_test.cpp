#include "core/quantity.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace ranklab;

TEST_CASE("a name is made from the places and the quantity, and the places stay data") {
  const Quantity ratio = At("run", "gd") / At("layer", 2, "layer2") / "ratio";
  CHECK(ratio.name == "gd.layer2.ratio");
  CHECK(ratio.kind == "ratio");
  CHECK(ratio.at.coordinates.at("run") == Coordinate("gd"));
  CHECK(ratio.at.coordinates.at("layer") == Coordinate(2.0));

  const Quantity mu = (At("lambda", -0.5) & At("L", 8)) / "mu";
  CHECK(mu.name == "lambda=-0.5,L=8.mu");
  CHECK((At("model", "mamba2", "") / "mu").name == "mu");
  CHECK((At() / "mu").name == "mu");
  CHECK(Quantity("mu").at.coordinates.empty());
}

TEST_CASE("a place has one coordinate on an axis") {
  CHECK_THROWS_AS(At("d", 1) / At("d", 2), std::logic_error);
}
