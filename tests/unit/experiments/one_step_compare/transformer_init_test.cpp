// The study transformer-init agrees with states recomputed with singular values, and gives the
// right verdicts.
#include "experiments/one_step_compare/transformer_init.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"
#include "ensembles/tokens.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/spectra.hpp"

namespace transformer_init_test {

using namespace ranklab;
using transformer_init::decoder_block, transformer_init::draw_decoder_weights,
    transformer_init::DecoderStates, transformer_init::DecoderWeights;

namespace {

const FlagValues tiny = {{"layers", "4"}, {"d", "24"}, {"n", "20"}, {"vocabulary", "40"}};

doctest::Approx equal_to(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::residual<double>);
}

// ||A||_F^2 / sigma_1^2, from LAPACK's singular values.
double stable_rank_by_svd(const arma::mat& A) {
  const arma::vec s = arma::svd(A);
  return arma::dot(s, s) / (s(0) * s(0));
}

TrialRecord trial_of(const FlagValues& flags, std::uint64_t index) {
  Trial trial(2, index, 0);
  return configured(make_transformer_init_study(), flags)->work().trial(trial);
}

Records some_records(const FlagValues& flags) {
  Records records;
  for (std::uint64_t i = 0; i < 5; ++i) records.push_back(trial_of(flags, i));
  return records;
}

Claim claim(const FlagValues& flags, const Records& records, const std::string& id) {
  return find_claim(result_of(make_transformer_init_study(), flags, records), id);
}

Verdict verdict(const FlagValues& flags, const Records& records, const std::string& id) {
  return claim(flags, records, id).verdict;
}

}  // namespace

TEST_CASE("transformer-init measures the states of its blocks") {
  const Trial trial(2, 0, 0);
  const TrialRecord record = trial_of(tiny, 0);

  Stream token_stream = trial.stream("tokens"), embedding_stream = trial.stream("embedding");
  const TokenCounts counts = count_tokens(ZipfLaw(40, 0.86).draw(20, token_stream));
  const arma::mat E = draw_embedding(24, counts, embedding_stream);
  // A second formula for the embedded sequence uses its Gram matrix, from the distinct tokens only.
  CHECK(record.array("X.stable_rank")[0] ==
        equal_to(stable_rank_from_gram(embedded_gram(E, counts))));
  CHECK(record.scalar("inverse_p_max") ==
        equal_to(20.0 / double(*std::max_element(counts.count.begin(), counts.count.end()))));
  double deviation = 0;
  for (arma::uword j = 0; j < E.n_cols; ++j)
    deviation = std::fmax(deviation, std::fabs(arma::dot(E.col(j), E.col(j)) / 24 - 1));
  CHECK(record.scalar("embedding.norm_deviation") == equal_to(deviation));

  arma::mat X(24, 20);
  for (arma::uword t = 0; t < 20; ++t) X.col(t) = E.col(counts.index[t]);
  for (std::uint64_t block = 1; block <= 4; ++block) {
    const DecoderStates states = decoder_block(draw_decoder_weights(trial, block, 24, 96), X);
    const auto recorded = [&](const std::string& name) { return record.array(name)[block - 1]; };
    CHECK(recorded("X.stable_rank") == equal_to(stable_rank_by_svd(X)));
    CHECK(recorded("A_rms.stable_rank") == equal_to(stable_rank_by_svd(states.A_rms)));
    CHECK(recorded("H.stable_rank") == equal_to(stable_rank_by_svd(states.H)));
    CHECK(recorded("X_att.stable_rank") == equal_to(stable_rank_by_svd(states.X_att)));
    CHECK(recorded("A_mlp_rms.stable_rank") == equal_to(stable_rank_by_svd(states.A_mlp_rms)));
    CHECK(recorded("B.stable_rank") == equal_to(stable_rank_by_svd(states.B)));
    CHECK(recorded("B.operator_squared") == equal_to(std::pow(arma::svd(states.B)(0), 2)));
    CHECK(recorded("H.frobenius_squared") == equal_to(std::pow(arma::norm(states.H, "fro"), 2)));
    double low = arma::datum::inf, high = 0;
    for (arma::uword t = 0; t < 20; ++t) {
      const double square = std::pow(arma::norm(states.X_plus.col(t)), 2) / 24;
      low = std::fmin(low, square);
      high = std::fmax(high, square);
    }
    CHECK(recorded("X_plus.column_low") == equal_to(low));
    CHECK(recorded("X_plus.column_high") == equal_to(high));
    X = states.X_plus;
  }
  CHECK(record.scalar("A_final.stable_rank") ==
        equal_to(stable_rank_by_svd(rms_normalized_columns(X))));
}

TEST_CASE("transformer-init gives the documented series over blocks, starting at block 1") {
  const Result result = run_configured(make_transformer_init_study(), tiny, 2);
  for (const char* name : {"X.stable_rank", "A_rms.stable_rank", "X_att.stable_rank",
                           "A_mlp_rms.stable_rank", "B.stable_rank"}) {
    const Series& series = find_series(result, name);
    CHECK(series.x == std::vector<double>{1, 2, 3, 4});
    for (const double value : series.mean) CHECK(value >= 1);
  }
  // The output of a block is the input of the next.
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK(find_series(result, "X_plus.stable_rank").mean[b] ==
          find_series(result, "X.stable_rank").mean[b + 1]);
  }
  const Series &measured = find_series(result, "A_rms.stable_rank"),
               &bound = find_series(result, "A_rms.bound");
  for (std::size_t b = 0; b < 4; ++b) CHECK(measured.mean[b] <= bound.mean[b]);
  for (const double value : find_series(result, "B.bound").mean)
    CHECK(value == equal_to(2 * std::numbers::pi));
}

TEST_CASE("the figure has one panel per bounded matrix; the rest is in a further figure") {
  const Result result = run_configured(make_transformer_init_study(), tiny, 2);
  const std::vector<std::string> matrices = {"A_rms", "X_att", "A_mlp_rms", "B", "X_plus"};
  REQUIRE(result.figure.panels.size() == matrices.size());
  CHECK(result.figure.columns == matrices.size());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const Panel& panel = result.figure.panels[i];
    CHECK(panel.title.ends_with(" " + matrices[i]));
    CHECK(!panel.group.empty());
    CHECK(panel.group == result.figure.panels[0].group);
    REQUIRE(panel.curves.size() == 2);
    CHECK(panel.curves[0].series == matrices[i] + ".stable_rank");
    CHECK(panel.curves[1].series == matrices[i] + ".bound");
  }
  REQUIRE(result.more_figures.size() == 1);
  REQUIRE(result.more_figures[0].panels.size() == 3);
  CHECK(result.more_figures[0].panels[0].curves.size() == matrices.size());
  for (const Panel& panel : result.more_figures[0].panels) {
    for (const Curve& curve : panel.curves) {
      CHECK(!curve.label.empty());
      find_series(result, curve.series);
    }
  }
}

TEST_CASE("transformer-init does not depend on threads") {
  const Result one = run_configured(make_transformer_init_study(), tiny, 2, 1);
  const Result two = run_configured(make_transformer_init_study(), tiny, 2, 2);
  CHECK(find_series(one, "B.stable_rank").mean == find_series(two, "B.stable_rank").mean);
}

TEST_CASE(
    "each statement of transformer-init holds on the run and fails if one block violates it") {
  // Large enough for the concentration that the bounds need.
  const FlagValues large = {{"layers", "4"}, {"d", "128"}, {"n", "20"}, {"vocabulary", "40"}};
  const Records records = some_records(large);
  struct Case {
    const char *id, *array;
    double factor;
  };
  const Case cases[] = {
      {"spectral/lemma-2.9", "X.stable_rank", 10},
      {"spectral/lemma-2.10/attention-input", "A_rms.stable_rank", 10},
      {"spectral/lemma-2.10/mlp-input", "A_mlp_rms.stable_rank", 10},
      {"spectral/eq-2.16/relu", "B.frobenius_squared", 0.01},
      {"spectral/eq-2.17/attention", "X_att.stable_rank", 10},
      {"spectral/eq-2.17/mlp", "X_plus.stable_rank", 10},
      {"spectral/eq-E.7/column-norms", "X_att.column_high", 10},
      {"spectral/eq-E.12/corrected", "B.frobenius_squared", 0.01},
      {"spectral/prop-2.14/i", "X_plus.column_high", 10},
      {"spectral/prop-2.14/i", "X_plus.column_low", 0.01},
      {"spectral/prop-2.14/ii/A_rms", "A_rms.stable_rank", 100},
      {"spectral/prop-2.14/ii/X_att", "X_att.stable_rank", 100},
      {"spectral/prop-2.14/ii/A_mlp_rms", "A_mlp_rms.stable_rank", 1000},
      {"spectral/prop-2.14/ii/B", "B.stable_rank", 10},
      {"spectral/prop-2.14/ii/X_plus", "X_plus.stable_rank", 1e4},
      {"spectral/cor-2.15/B", "B.stable_rank", 10},
      {"spectral/cor-2.15/embedding-layer", "A_mlp_rms.stable_rank", 1e4},
      {"spectral/cor-2.15/depth", "A_mlp_rms.stable_rank", 1e6},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.id));
    CHECK(verdict(large, records, each.id) == Verdict::holds);
    Records broken = records;
    std::vector<double> values = broken[1].array(each.array);
    values[0] *= each.factor;
    broken[1].set(each.array, values);
    CHECK(verdict(large, broken, each.id) == Verdict::fails);
  }
  CHECK(verdict(large, records, "spectral/eq-E.12/as-printed") == Verdict::fails);
  Records broken = records;
  for (TrialRecord& record : broken) record.set("A_rms.stable_rank", {20, 8, 64, 256});
  // The exponent is fitted up to the state after the last block, which still has a low rank here.
  CHECK(verdict(large, broken, "spectral/cor-2.15/growth/A_rms") == Verdict::holds);
  for (TrialRecord& record : broken) record.set("A_final.stable_rank", 2000.0);
  CHECK(verdict(large, broken, "spectral/cor-2.15/growth/A_rms") == Verdict::fails);
}

TEST_CASE(
    "two steps of the proof of Proposition 2.14 fail between numbers, and hold as corrected") {
  const Records records = some_records(tiny);
  const auto evidence = [&](const std::string& id) {
    return std::get<CountEvidence>(claim(tiny, records, "spectral/" + id).evidence);
  };
  for (const char* id : {"eq-E.14/as-printed", "eq-E.14/corrected", "eq-E.7/step/as-printed",
                         "eq-E.7/step/corrected"})
    CHECK(evidence(id).cases == 20);
  // 2 > 1/(1 - delta) for every delta < 1/4; c_+ < (1 + delta)/15 for c_+ = 0.01 only.
  CHECK(evidence("eq-E.14/as-printed").violations == 20);
  CHECK(evidence("eq-E.14/corrected").violations == 0);
  CHECK(evidence("eq-E.7/step/as-printed").violations == 5);
  CHECK(evidence("eq-E.7/step/corrected").violations == 0);
  // delta = 0.24, c_+ = 0.01: 1.015 * 1.25 over 1.24 * 1.01.
  CHECK(evidence("eq-E.7/step/as-printed").worst == equal_to(1.26875 / 1.2524));
  // delta = 0.01, c_+ = 10: c_+^att = 11.11, c_sigma = (1 - Phi(1))/2 = 0.07932762696572854.
  const double over = 11.11 / 0.07932762696572854;
  CHECK(evidence("eq-E.14/as-printed").worst == equal_to((2 * over + 1) / (1 + over / 0.99)));
  CHECK(claim(tiny, records, "spectral/eq-E.14/as-printed").slip == "spectral/prop-2.14/eq-E.14");
  CHECK(claim(tiny, records, "spectral/eq-E.7/step/as-printed").slip ==
        "spectral/prop-2.14/eq-E.7");
}

TEST_CASE("only the bound on A_rms holds for every weight; the others are with high probability") {
  const Records records = some_records(tiny);
  for (const char* matrix : {"A_rms", "X_att", "A_mlp_rms", "B", "X_plus"}) {
    const Claim judged = claim(tiny, records, "spectral/prop-2.14/ii/" + std::string(matrix));
    CHECK(judged.kind == (matrix == std::string("A_rms") ? Kind::theorem : Kind::asymptotic));
  }
}

TEST_CASE(
    "transformer-init: the width defaults to 4 d, and delta and widths outside the theory are "
    "refused") {
  const auto study = configured(make_transformer_init_study(), {{"d", "10"}});
  CHECK(find_field(*study, "k").value_text() == "40");
  CHECK(refusal(make_transformer_init_study(), {{"delta", "0.25"}}) ==
        "--delta: 0.25 is not allowed; allowed: below 0.25");
  CHECK(refusal(make_transformer_init_study(), {{"d", "16"}, {"k", "8"}}).find("--k: 8") == 0);
  CHECK(refusal(make_transformer_init_study(), {{"n", "1"}}).find("--n") != std::string::npos);
}

TEST_CASE(
    "the exponent over depth is that of a power law in 1 + l, from l = 1 to the state after the "
    "last block") {
  Records records = some_records(tiny);
  const auto power = [](double layer) { return 3 * std::pow(1 + layer, 1.5); };
  for (TrialRecord& record : records) {
    record.set("A_rms.stable_rank", {100, power(1), power(2), power(3)});
    record.set("A_final.stable_rank", power(4));
  }
  CHECK(claim(tiny, records, "spectral/cor-2.15/growth/A_rms").measured == equal_to(1.5));
}

TEST_CASE(
    "too few layers give no verdict on growth, and token norms far from one give none on Lemma "
    "2.9") {
  const FlagValues shallow = {{"layers", "2"}, {"d", "24"}, {"n", "20"}, {"vocabulary", "40"}};
  CHECK(verdict(shallow, some_records(shallow), "spectral/cor-2.15/growth/A_mlp_rms") ==
        Verdict::not_applicable);
  Records records = some_records(shallow);
  for (TrialRecord& record : records) record.set("embedding.norm_deviation", 1.5);
  for (const char* id :
       {"spectral/lemma-2.9", "spectral/cor-2.15/embedding-layer", "spectral/cor-2.15/depth"}) {
    CHECK(verdict(shallow, records, id) == Verdict::not_applicable);
  }
}

}  // namespace transformer_init_test
