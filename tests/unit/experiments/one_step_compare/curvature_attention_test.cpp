// Attention's derivatives against differences of its values and a dense Jacobian, the examples
// against closed forms, and verdicts on handmade records.
#include "experiments/one_step_compare/curvature/curvature.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "core/tolerances.hpp"

namespace curvature_attention_test {

using namespace ranklab;
using namespace ranklab::curvature;
using ranklab::curvature::AttentionMap;

namespace {

const Streams streams(5, 0);

arma::mat drawn(const std::string& name, arma::uword rows, arma::uword columns) {
  arma::mat out(rows, columns);
  streams.stream(name).fill_normal({out.memptr(), out.n_elem});
  return out;
}
Projected drawn_projected(const std::string& name, arma::uword d = 3, arma::uword T = 4) {
  return {drawn(name + "Q", d, T), drawn(name + "K", d, T), drawn(name + "V", d, T)};
}

/// H, one column after another.
arma::mat by_columns(const Projected& at) {
  arma::mat H(arma::size(at.V), arma::fill::zeros);
  for (arma::uword t = 0; t < at.Q.n_cols; ++t) {
    arma::vec weights =
        arma::exp(at.K.t() * at.Q.col(t) / std::sqrt(static_cast<double>(at.Q.n_rows)));
    H.col(t) = at.V * weights / arma::accu(weights);
  }
  return H;
}
arma::mat moved(const Projected& at, const Projected& U, double step) {
  return by_columns({at.Q + step * U.Q, at.K + step * U.K, at.V + step * U.V});
}

double dot(const Projected& a, const Projected& b) {
  return arma::dot(a.Q, b.Q) + arma::dot(a.K, b.K) + arma::dot(a.V, b.V);
}

/// The Jacobian, one column for each entry of Q, K and V.
arma::mat jacobian(const AttentionMap& map, arma::uword d, arma::uword T) {
  arma::mat out(d * T, 3 * d * T);
  for (arma::uword k = 0; k < out.n_cols; ++k) {
    arma::mat unit(d * T, 3, arma::fill::zeros);
    unit(k) = 1;
    const auto part = [&](arma::uword i) -> arma::mat { return arma::reshape(unit.col(i), d, T); };
    out.col(k) = arma::vectorise(map.derivative({part(0), part(1), part(2)}));
  }
  return out;
}

}  // namespace

TEST_CASE("attention: both derivatives are differences of its values") {
  const Projected at = drawn_projected("at"), U = drawn_projected("U");
  const AttentionMap map(at);
  const double h = 1e-3;
  const auto first = [&](double s) -> arma::mat {
    return (moved(at, U, s) - moved(at, U, -s)) / (2 * s);
  };
  const auto second = [&](double s) -> arma::mat {
    return (moved(at, U, s) - 2 * moved(at, U, 0) + moved(at, U, -s)) / (s * s);
  };
  CHECK(arma::approx_equal(map.derivative(U), (4 * first(h) - first(2 * h)) / 3, "absdiff", 1e-10));
  CHECK(arma::approx_equal(map.second_derivative(U), (4 * second(h) - second(2 * h)) / 3, "absdiff",
                           1e-7));
}

TEST_CASE("attention: the transposed derivative is its adjoint, and J its largest singular value") {
  const AttentionMap map(drawn_projected("at"));
  const Projected U = drawn_projected("U");
  const arma::mat G = drawn("G", 3, 4);
  CHECK(arma::dot(G, map.derivative(U)) == doctest::Approx(dot(map.transposed(G), U)).scale(0));
  CHECK(map.slope(streams.stream("start")) ==
        doctest::Approx(arma::svd(jacobian(map, 3, 4)).max()).scale(0).epsilon(1e-7));
}

TEST_CASE("attention: J and H of the two-sided example have closed forms") {
  for (const arma::uword d : {4u, 16u, 64u}) {
    CAPTURE(d);
    const AttentionMap map = two_sided_attention(d, 16);
    const double width = static_cast<double>(d);
    CHECK(map.most_attended() == doctest::Approx(1));
    CHECK(map.slope(streams.stream("start")) ==
          doctest::Approx(std::sqrt(1 + 9 * width / 16)).scale(0).epsilon(1e-4));
    Projected U{arma::mat(d, 16, arma::fill::zeros), arma::mat(d, 16, arma::fill::zeros),
                arma::mat(d, 16, arma::fill::zeros)};
    U.Q(0, 5) = 1;
    CHECK(arma::norm(map.second_derivative(U), "fro") ==
          doctest::Approx(0.75 * std::sqrt(width)).scale(0));
  }
}

TEST_CASE("attention: in the one-sided example every token attends to the first") {
  const AttentionMap map = one_sided_attention(64, 20);
  // Scores are +-sqrt(d)/2 = +-4.
  const double weight = 1 / (1 + 19 * std::exp(-8.0));
  CHECK(arma::approx_equal(map.P().row(0), weight * arma::rowvec(20, arma::fill::ones), "absdiff",
                           tolerance::closed_form<double>));
  CHECK(map.most_attended() == doctest::Approx(20 * weight));
  CHECK(map.slope(streams.stream("start")) >= arma::norm(map.P(), 2));
  CHECK(arma::norm(map.P(), 2) >= std::sqrt(20) * weight);
}

TEST_CASE("attention: normal tokens have norm sqrt(d), and their projections operator norm 1") {
  const AttentionMap map = normal_attention(8, 5, streams);
  const std::string of = "attention d=8,T=5/";
  arma::mat A = drawn(of + "A", 8, 5);
  for (arma::uword t = 0; t < 5; ++t) A.col(t) *= std::sqrt(8.0) / arma::norm(A.col(t));
  const auto projected = [&](const std::string& name) -> arma::mat {
    const arma::mat W = drawn(of + name, 8, 8);
    return W * A / arma::svd(W).max();
  };
  const AttentionMap expected({projected("W_Q"), projected("W_K"), projected("W_V")});
  const Projected U = drawn_projected("U", 8, 5);
  CHECK(arma::approx_equal(map.P(), expected.P(), "absdiff", 1e-14));
  CHECK(arma::approx_equal(map.derivative(U), expected.derivative(U), "absdiff", 1e-12));
}

TEST_CASE("attention: a slope or a second derivative above its bound is counted") {
  const AttentionMap map = normal_attention(8, 5, streams);
  Projected U = drawn_projected("U", 8, 5);
  const auto violations = [&](double slope, double size, const std::string& id) {
    Projected scaled = U;
    scaled.Q *= size, scaled.K *= size, scaled.V *= size;
    TrialRecord record;
    count_bounds(map, slope, {scaled}, record);
    const Tally tally = record.tally("spectral/section-4.2.1/" + id + "/corrected");
    CHECK(tally.cases == 1);
    return tally.violations;
  };
  CHECK(violations(0.99 * slope_bound(map), 1e-3, "J/width") == 0);
  CHECK(violations(1.01 * slope_bound(map), 1e-3, "J/width") == 1);
  CHECK(violations(1, 1e-3, "H/width") == 0);
  CHECK(violations(1, 1e3, "H/width") == 1);
}

TEST_CASE("attention: the bounds hold at random points") {
  for (int k = 0; k < 50; ++k) {
    const Streams of(6, static_cast<std::uint64_t>(k));
    const AttentionMap map = normal_attention(6, 7, of);
    CHECK(map.slope(of.stream("start")) <= slope_bound(map));
    Projected U = drawn_projected("U" + std::to_string(k), 6, 7);
    const double norm = U.norm();
    U.Q /= norm, U.K /= norm, U.V /= norm;
    CHECK(arma::norm(map.second_derivative(U), "fro") <= second_derivative_bound(map));
  }
}

TEST_CASE("attention: each verdict turns") {
  Records measured(3);
  for (std::size_t t = 0; t < measured.size(); ++t) measure_attention(Trial(9, t, 0), measured[t]);
  const auto verdicts = [&](const std::string& array, double power, bool violated) {
    Records records = measured;
    for (std::size_t t = 0; t < records.size(); ++t) {
      if (violated) records[t].count("spectral/section-4.2.1/" + array + "/corrected", true, 2);
      if (violated) continue;
      std::vector<double> values;
      for (const double size : attention_sizes)
        values.push_back((1 + 0.001 * static_cast<double>(t)) * std::pow(size, power));
      records[t].set(array, values);
    }
    Claims claims;
    judge_attention(records, claims);
    std::map<std::string, Verdict> out;
    for (const Claim& claim : claims.take())
      out[claim.id.substr(std::string("spectral/section-4.2.1/").size())] = claim.verdict;
    return out;
  };
  const auto right = verdicts("unused", 0, false);
  CHECK(right.size() == 7);
  Claims claims;
  judge_attention(measured, claims);
  for (const Claim& claim : claims.take()) {
    CAPTURE(claim.id);
    const bool as_printed = claim.id.ends_with("/as-printed"),
               corrected = claim.id.ends_with("/corrected");
    CHECK(claim.kind == (as_printed  ? Kind::asymptotic
                         : corrected ? Kind::theorem
                                     : Kind::reading));
    CHECK(claim.slip == (as_printed ? "spectral/section-4.2.1/bounded/attention" : ""));
  }
  const std::map<std::string, std::string> arrays = {
      {"J/normal/width", "attention.J.normal.over_width"},
      {"J/normal/length", "attention.J.normal.over_length"},
      {"J/width/as-printed", "attention.J.two_sided.over_width"},
      {"J/length/as-printed", "attention.J.one_sided.over_length"},
      {"H/width/as-printed", "attention.H.two_sided.over_width"}};
  for (const auto& [id, array] : arrays) {
    const auto& shown = id;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    CHECK(right.at(id) == (id.ends_with("printed") ? Verdict::fails : Verdict::holds));
    CHECK(verdicts(array, 0.02, false).at(id) == Verdict::holds);
    CHECK(verdicts(array, 0.3, false).at(id) == Verdict::fails);
  }
  for (const std::string& id : {std::string("J/width"), std::string("H/width")}) {
    CHECK(right.at(id + "/corrected") == Verdict::holds);
    CHECK(verdicts(id, 0, true).at(id + "/corrected") == Verdict::fails);
  }
}

}  // namespace curvature_attention_test
