// The adversarial inputs of Appendix A.13.1: preimages by their defining equations, and what a
// trial counts.
#include "experiments/rank_collapse/bounds/adversarial_inputs.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/stack.hpp"

namespace bounds_adversarial_inputs_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}

}  // namespace

TEST_CASE("bounds: the preimage of an LTI layer solves W Y = Z") {
  const arma::mat example = lti_preimage({{1, 0}, {2, 1}}, arma::mat{{1, 1}});
  CHECK(example(0) == 1);
  CHECK(example(1) == -1);
  arma::mat W = arma::trimatl(gaussian(6, 6, "adversarial.W"));
  W.diag() += 3;
  const arma::mat Z = gaussian(2, 6, "adversarial.Z"), Y = lti_preimage(W, Z);
  for (arma::uword i = 0; i < 6; ++i) {
    for (arma::uword c = 0; c < 2; ++c) {
      double sum = 0;
      for (arma::uword j = 0; j < 6; ++j) sum += W(i, j) * Y(c, j);
      CHECK(sum == nearly(Z(c, i)));
    }
  }
}

TEST_CASE("bounds: the preimage of a selective layer is mapped to its target by the block") {
  // y^3 + y = 1.
  CHECK(selective_preimage(1, 1, {1, 1})(1) == nearly(0.68232780382801932737));
  CHECK(selective_preimage(8, 0, {1, 27})(1) == nearly(1.5));
  ModelSpec spec = stack_spec(Config(), "selective-ssm", {7, 3}, "none");
  spec.state = 3;
  spec.decay = 0.9;
  const arma::vec v = {0.6, 0, -0.8};
  for (const double s : {2.0, -0.5}) {
    // S = s v v' plus a part that v does not see.
    const arma::vec w = {0.8, 0, 0.6};
    GivenMatrices weights({{"W_C", arma::mat(3, 3, arma::fill::eye)},
                           {"W_B", arma::mat((s * v * v.t() + 7 * w * w.t()).t())}});
    const arma::vec z = {1, -2, 0.5, 3, 3, 0.1, -1};
    const arma::vec y = selective_preimage(s, 0.9, z);
    State<double> state{v * y.t(), 0.0, 0};
    make_block_of<BareBlock>(spec, weights)->forward(state, 0.0);
    state.unscale();
    const arma::mat expected = v * z.t();
    CHECK(arma::abs(state.Y - expected).max() < 1e-12);
  }
}

TEST_CASE("bounds: a collapse starts from spread tokens and loses nine tenths") {
  const auto occurs = [](double before, double after) {
    return Collapse{std::log(before), std::log(after)}.occurs();
  };
  CHECK(occurs(0.5, 0.049));
  CHECK_FALSE(occurs(0.5, 0.051));
  CHECK(occurs(0.11, 0.01));
  CHECK_FALSE(occurs(0.09, 0.001));
  CHECK(occurs(0.5, 0));
  TrialRecord record;
  judge_lti_input({0, undefined}, record);
  CHECK_FALSE(record.has_tally(adversarial::lti_as_printed.id));
  judge_lti_input({0, -1}, record);
  CHECK(record.tally(adversarial::lti_as_printed.id).violations == 0);
  judge_lti_input({0, -3}, record);
  CHECK(record.tally(adversarial::lti_as_printed.id).violations == 1);
}

TEST_CASE("bounds: every stack of a trial has its adversarial input") {
  TrialRecord record;
  judge_adversarial_inputs({}, {6, 4}, Trial(1, 0, 0), record);
  CHECK(record.tally(adversarial::lti_as_printed.id).cases == 1);
  CHECK(record.tally(adversarial::lti_as_printed.id).violations == 1);
  CHECK(record.tally(adversarial::lti_size.id).cases == 1);
  CHECK(record.tally(adversarial::lti_size.id).violations == 0);
  CHECK(record.tally(adversarial::attention.id).cases == 4);
  CHECK(record.tally(adversarial::attention.id).violations == 0);
  CHECK(record.tally(adversarial::selective.id).cases == 4);
  CHECK(record.tally(adversarial::selective.id).violations == 0);
}

TEST_CASE("bounds: small tokens collapse in attention even if its logits are large otherwise") {
  Config config;
  config.spec.weight_scale = 30;  // hard attention, which keeps tokens apart, for drawn tokens
  for (std::uint64_t index = 0; index < 10; ++index) {
    TrialRecord record;
    judge_adversarial_inputs(config, {3, 4}, Trial(1, index, 0), record);
    CHECK(record.tally(adversarial::attention.id).violations == 0);
  }
}

}  // namespace bounds_adversarial_inputs_test
