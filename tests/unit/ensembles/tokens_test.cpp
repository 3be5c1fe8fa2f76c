#include "ensembles/tokens.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace tokens_test {

using namespace ranklab;

namespace {

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::residual<double>);
}

// H (vocabulary x n) as a dense matrix.
arma::mat indicator(const std::vector<std::uint32_t>& tokens, arma::uword vocabulary) {
  arma::mat H(vocabulary, tokens.size());
  H.zeros();
  for (arma::uword t = 0; t < tokens.size(); ++t) H(tokens[t], t) = 1.0;
  return H;
}

}  // namespace

TEST_CASE("token probabilities follow Zipf's law") {
  const ZipfLaw law(1000, 0.7);
  double sum = 0.0;
  for (std::uint64_t id = 0; id < 1000; ++id) sum += law.probability(id);
  CHECK(sum == close(1.0));
  CHECK(law.probability(0) / law.probability(7) == close(std::pow(8.0, 0.7)));
  CHECK(law.inverse_p_max() == close(1.0 / law.probability(0)));
  CHECK(ZipfLaw(40, 0.0).inverse_p_max() == close(40.0));
  CHECK(ZipfLaw(1, 2.0).inverse_p_max() == close(1.0));
  CHECK_THROWS_AS(ZipfLaw(0, 1.0), UsageError);
  // Uniform tokens: V (1 - (1 - 1/V)^n) of them are distinct.
  CHECK(ZipfLaw(40, 0.0).expected_distinct(25.0) ==
        close(40.0 * (1.0 - std::pow(39.0 / 40.0, 25.0))));
  CHECK(ZipfLaw(1, 1.0).expected_distinct(5.0) == close(1.0));
}

TEST_CASE("drawn tokens have the frequencies of the law") {
  const ZipfLaw law(50, 0.86);
  Stream stream(1, 0, "tokens");
  const std::size_t n = 100000;
  const auto tokens = law.draw(n, stream);
  CHECK(*std::max_element(tokens.begin(), tokens.end()) == 49);
  for (std::uint32_t id = 0; id < 50; ++id) {
    const double p = law.probability(id),
                 count = static_cast<double>(std::count(tokens.begin(), tokens.end(), id));
    const double error = std::sqrt(p * (1.0 - p) / static_cast<double>(n));
    CAPTURE(id);
    CHECK(std::fabs(count / static_cast<double>(n) - p) < tolerance::standard_errors * error);
  }
}

TEST_CASE("the counts of the tokens are right") {
  const TokenCounts counts = count_tokens({7, 3, 7, 9, 7, 3});
  CHECK(counts.id == std::vector<std::uint32_t>{3, 7, 9});
  CHECK(counts.count == std::vector<std::uint32_t>{2, 3, 1});
  CHECK(counts.index == std::vector<std::uint32_t>{1, 0, 1, 2, 1, 0});
  CHECK(counts.p_max() == close(0.5));
}

TEST_CASE("st(H) by power iteration agrees with a dense singular value decomposition") {
  Stream stream(3, 0, "tokens");
  auto tokens = ZipfLaw(30, 0.5).draw(120, stream);
  CHECK(indicator_stable_rank(tokens) ==
        close(stable_rank(singular_values(indicator(tokens, 30)))));
  // Ties and near ties at the top are the slow case.
  tokens = {0, 0, 0, 1, 1, 1, 2, 2};
  CHECK(indicator_stable_rank(tokens) == close(8.0 / 3.0));
  tokens.assign(200, 0);
  tokens.resize(399, 1);
  CHECK(indicator_stable_rank(tokens) == close(399.0 / 200.0));
  CHECK(indicator_stable_rank({5}) == close(1.0));
  CHECK(std::isnan(indicator_stable_rank({})));
}

TEST_CASE("the embedded Gram matrix is X X'") {
  const std::vector<std::uint32_t> tokens = {4, 1, 4, 4, 0, 9, 1};
  const TokenCounts counts = count_tokens(tokens);
  Stream stream(5, 0, "E");
  const arma::mat E = draw_embedding(6, counts, stream);
  REQUIRE(E.n_cols == 4);
  arma::mat X(6, tokens.size());
  for (arma::uword t = 0; t < tokens.size(); ++t) X.col(t) = E.col(counts.index[t]);
  CHECK(arma::norm(embedded_gram(E, counts) - X * X.t(), "fro") <
        tolerance::residual<double> * arma::norm(X * X.t(), "fro"));

  const arma::mat R = rms_normalized_columns(E);
  for (arma::uword j = 0; j < R.n_cols; ++j) {
    CHECK(arma::dot(R.col(j), R.col(j)) == close(6.0));
    CHECK(arma::dot(R.col(j), E.col(j)) == close(arma::norm(R.col(j)) * arma::norm(E.col(j))));
  }
  CHECK(rms_normalized_columns(arma::zeros(3, 2)).is_zero());
}

}  // namespace tokens_test
