// The bounds of [LambdaSkip] on numbers worked out by hand, and the arguments behind the corrected
// forms.
#include <doctest/doctest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/norms.hpp"

namespace bounds_formulas_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx exactly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::closed_form<double>);
}

// Norms with S C_M = 3.
StackNorms example() {
  StackNorms norms;
  norms.N = 4;
  norms.d = 3;
  norms.S = 2;
  norms.C_M = 1.5;
  norms.tau = 0.5;
  norms.row = 0.25;
  return norms;
}

double chord(double sine) {
  return sine > 1 ? 2 : 2 * std::sin(std::asin(sine) / 2);
}

// The largest mean chord, given that the mean square of the sine is q, over all distributions on
// two values: the concave hull at q.
double largest_mean_chord(double q) {
  double largest = 0;
  for (int i = 0; i <= 400; ++i) {
    const double low = q * i / 400.0;
    largest = std::max(largest, chord(std::sqrt(low)));
    for (int j = 0; j <= 400; ++j) {
      const double high = q + (1.0001 - q) * j / 400.0;
      if (high <= low) continue;
      const double weight = (q - low) / (high - low);
      largest =
          std::max(largest, (1 - weight) * chord(std::sqrt(low)) + weight * chord(std::sqrt(high)));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("bounds: eq. (7), its threshold and b of Theorem 4.1 equal values worked out by hand") {
  // At a = 1/4: (1/4 + 1/2) 3 / (3/4) = 3.
  CHECK(threshold_7(0.25, 3) == exactly(3));
  CHECK(condition_7(3.001, 0.25, 3));
  CHECK(condition_7(-3.001, 0.25, 3));
  CHECK_FALSE(condition_7(2.999, 0.25, 3));
  CHECK_FALSE(condition_7(-2.999, 0.25, 3));
  // At lambda = 10: 100 - 13^2/4 = 57.75; a^-2 = 16; 2 lambda N d S C_M = 720; 2 lambda N tau = 40.
  CHECK(hypothesis_printed(10, 0.25, 2, example()) == exactly(16 * 720 / 57.75));
  CHECK(hypothesis_printed(-10, 0.25, 2, example()) == exactly(-16 * 720 / 57.75));
  CHECK(hypothesis_corrected(10, 0.25, 2, example()) == exactly(16 * 40 / 57.75));
  CHECK(hypothesis_corrected(-10, 0.25, 2, example()) == exactly(16 * 40 / 57.75));
}

TEST_CASE("bounds: the smallest skips at which Theorem 4.1 applies") {
  const StackNorms norms = example();
  for (const double a : {0.01, 0.5, 0.99}) {
    for (const double K : {1.0, 8.0}) {
      CAPTURE(a);
      CAPTURE(K);
      // At these skips b is N, the largest value of mu^2. The cancellation in eq. (7) loses the
      // digits of 1 / (1 - a).
      const double printed = lambda_for_printed(a, K, norms),
                   corrected = lambda_for_corrected(a, K, norms);
      CHECK(hypothesis_printed(printed, a, K, norms) ==
            doctest::Approx(norms.N).scale(0).epsilon(tolerance::polar_agreement<double>));
      CHECK(hypothesis_corrected(corrected, a, K, norms) ==
            doctest::Approx(norms.N).scale(0).epsilon(tolerance::polar_agreement<double>));
      CHECK(hypothesis_printed(1.01 * printed, a, K, norms) < norms.N);
      CHECK(corrected < printed);
    }
  }
  CHECK(turning_bound(8, std::sqrt(norms.N), lambda_for_turning(8, norms), norms) ==
        doctest::Approx(0).epsilon(tolerance::closed_form<double>));
}

TEST_CASE("bounds: one layer of Theorem 4.1 equals values worked out by hand") {
  // At mu^2 = 2 and lambda = 100: (20000 - 7200) / 103^2 and (20000 - 400) / 103^2.
  const double mu = std::sqrt(2.0);
  CHECK(layer_printed(mu, 100, example()) == exactly(12800 / 10609.0));
  CHECK(layer_printed(mu, -100, example()) == exactly(27200 / 10609.0));
  CHECK(layer_sketched(mu, 100, example()) == exactly((20000 - 2 * 100 * 4 * 3 * 1.5) / 10609.0));
  CHECK(layer_corrected(mu, 100, example()) == exactly(19600 / 10609.0));
  CHECK(layer_corrected(mu, -100, example()) == exactly(19600 / 10609.0));
  // The subtracted term is 2 K sqrt(N) tau / |lambda| = 2 * 3 * 2 * 0.5 / 100.
  CHECK(turning_bound(3, mu, -100, example()) == exactly(mu - 0.06));
}

TEST_CASE("bounds: the mean token moves by less than the corrected layer bound allows") {
  // layer_corrected uses H(t) <= 1 - sqrt(1 - 2 t) for t in (0, 1/2].
  for (int i = 1; i <= 100; ++i) {
    const double t = 0.005 * i;
    CAPTURE(t);
    CHECK(largest_mean_chord(t * t) < 1 - std::sqrt(1 - 2 * t) + tolerance::closed_form<double>);
  }
}

TEST_CASE("bounds: no drawn value of M Y C_V violates the corrected layer bounds") {
  // Tokens y_i and added terms w_i with mean |w_i|^2 = tau^2, at lambda = 1. The added terms are
  // random, all equal, or zero except for one token.
  Stream stream(7, 0, "tokens");
  double closest = 1e9;
  for (int draw = 0; draw < 4000; ++draw) {
    const arma::uword N = 2 + static_cast<arma::uword>(draw % 5),
                      d = 1 + static_cast<arma::uword>(draw % 3);
    arma::mat Y(d, N), W(d, N);
    stream.fill_normal({Y.memptr(), Y.n_elem});
    stream.fill_normal({W.memptr(), W.n_elem});
    normalize_rows(Y);
    if (draw % 2 == 0) W.each_col() = arma::vec(W.col(0));
    if (draw % 4 == 1) W.cols(1, N - 1).zeros();
    const double tau = 0.5 * stream.uniform(), n = static_cast<double>(N);
    W *= tau * std::sqrt(n) / arma::norm(W, "fro");
    arma::mat next = Y + W;
    normalize_rows(next);
    StackNorms norms;
    norms.N = n;
    norms.tau = tau;
    const double before = token_spread(Y), after = token_spread(next);
    CHECK(after * after >= layer_corrected(before, 1, norms) - tolerance::closed_form<double>);
    CHECK(after >= turning_bound(1, before, 1, norms) - tolerance::closed_form<double>);
    closest = std::min(closest, after * after - layer_corrected(before, 1, norms));
  }
  CHECK(closest < 0.05);  // the search comes close to the bound
}

TEST_CASE("bounds: Theorems A.2, 4.3 and A.10 equal values worked out by hand") {
  CHECK(attention_bound(9, 0.6, 4) == exactly(3 * 0.64 * 0.64));
  // c lambda_min alpha^N = 0.5 * 0.8 * 0.25 = 0.1, and c lambda_min alpha^(N-1) / (N lambda_max) =
  // 0.2 / 4.
  const SelectiveNorms selective{2, 0.5, 0.5, 0.8, 2};
  CHECK(selective_printed(selective, 2) == exactly(std::sqrt(2.0) * 0.99 * 0.99));
  CHECK(selective_half(selective, 2) == exactly(std::sqrt(2.0) * 0.99));
  CHECK(selective_corrected(selective, 2) == exactly(std::sqrt(2.0) * (1 - 0.0025)));
  CHECK(selective_factor(selective) == exactly(0.99));
  // Lambda_min = 2 for two tokens 20 degrees apart: 1 - 4 cos^2 20.
  CHECK(selective_factor({2, 1, std::cos(std::acos(-1) / 9), 2, 2}) == exactly(-2.532088886237956));
  // At k = 2, N = 4, w = 5 and norm 7: 10^2 7^9, 10^4 7^9 and 5^4 7^9.
  const double w = std::log(5.0), norm = std::log(7.0);
  CHECK(cubic_printed(2, 4, w, norm) == exactly(2 * std::log(10.0) + 9 * norm));
  CHECK(cubic_corrected(2, 4, w, norm) == exactly(4 * std::log(10.0) + 9 * norm));
  CHECK(cubic_sharper(2, w, norm) == exactly(4 * w + 9 * norm));
  CHECK(cubic_printed(1, 4, w, norm) == exactly(cubic_corrected(1, 4, w, norm)));
  // The rows of 1SS(1/2) are (1), (1/2, 1) and (1/4, 1/2, 1).
  CHECK(semiseparable_norm(3, 0.5) == exactly(std::sqrt(3 + 2 * 0.25 + 0.0625)));
  CHECK(semiseparable_norm(3, 0) == exactly(std::sqrt(3.0)));
}

TEST_CASE("bounds: the factor of Theorem 4.3 is judged on both sides of its limit") {
  for (const double alpha : {1.0, 0.3}) {
    TrialRecord record;
    judge_lambda_min({4, alpha, 0.8, 1, 1}, record);
    CHECK(record.tally(thm_4_3::bound_decays.id).cases == 2);
    CHECK(record.tally(thm_4_3::bound_decays.id).violations == 0);
  }
  TrialRecord none;
  judge_lambda_min({4, 0, 0.8, 1, 1}, none);  // the bound is sqrt N for every lambda_min
  CHECK_FALSE(none.has_tally(thm_4_3::bound_decays.id));
}

TEST_CASE("bounds: Corollary A.3.1 for tokens s and -s") {
  // One layer maps y, -y to y tanh(y^2/s^2), so ||res(Y^2)||_F = sqrt 2 s tanh(1) tanh(tanh(1)^2).
  const double first = std::tanh(1.0), second = first * std::tanh(first * first);
  CHECK(std::sqrt(2.0) * second == doctest::Approx(0.563).epsilon(1e-3));
  for (const double s : {1.0, 10.0}) {
    // beta^4 = s^-8 and ||res(Y^0)||_F = sqrt 2 s.
    for (const double power : {3.0, 9.0}) {
      CHECK(cor_A_3_1::log_ratio(s, power) ==
            exactly(std::log10(std::sqrt(2.0) * second * std::pow(s, 9) /
                               std::pow(std::sqrt(2.0) * s, power))));
    }
  }
}

TEST_CASE("bounds: the norms in the proof of Corollary A.3.1 equal values worked out by hand") {
  TrialRecord record;
  // Column sums 4, 2, 5; row sums 3 and 8; ||A||_F^2 = 39.
  judge_matrix_norms({{1, -2, 0}, {3, 0, -5}}, 0, record);
  const double root = std::sqrt(39.0);
  const Tally printed = record.tally(cor_A_3_1::norms.as_printed.id),
              corrected = record.tally(cor_A_3_1::norms.corrected.id);
  CHECK(printed.cases == 2);
  CHECK(printed.violations == 1);
  CHECK(printed.smallest == exactly(root / 8));
  CHECK(printed.largest == exactly(root / 5));
  CHECK(corrected.violations == 0);
  CHECK(corrected.smallest == exactly(std::sqrt(3.0) * root / 8));
  CHECK(corrected.largest == exactly(std::sqrt(2.0) * root / 5));
}

}  // namespace bounds_formulas_test
