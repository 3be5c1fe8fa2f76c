#include "ranks/ranks.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "experiments/result_parts.hpp"
#include "io/atomic_file.hpp"
#include "linalg/spectra.hpp"
#include "ranks/matrices.hpp"
#include "ranks/measure.hpp"

namespace ranks_files_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

NamedPair pair_of(const std::string& name, const arma::mat& A, const arma::mat& G) {
  return {name, A, G};
}

template <class Error>
std::string message(const std::vector<NamedPair>& pairs, const FlagValues& values = {}) {
  try {
    run_pairs(pairs, values);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a flat gradient and an activation of stable rank close to one give a large ratio") {
  const Result result =
      run_pairs({pair_of("fc", of_stable_rank(12, 40, 1.25, "A"), 3.0 * isometry(8, 12, "G"))});
  CHECK(scalar(result, "fc.stable_rank") == doctest::Approx(1.25).epsilon(exact));
  CHECK(scalar(result, "fc.nuclear_rank") == doctest::Approx(8.0).epsilon(exact));
  CHECK(scalar(result, "fc.predicted_ratio") == doctest::Approx(6.4).epsilon(exact));
  CHECK(scalar(result, "fc.gradient_stable_rank") == doctest::Approx(8.0).epsilon(exact));
  CHECK(scalar(result, "fc.m") == 8.0);
  CHECK(scalar(result, "fc.k") == 12.0);
  CHECK(scalar(result, "fc.n") == 40.0);
  const Claim& claim = find_claim(result, "fc/eq-1.8");
  CHECK(claim.verdict == Verdict::holds);
  CHECK(claim.statement_id == "spectral/eq-1.8");
  CHECK(claim.part == Part::ours);
  CHECK(claim.kind == Kind::beyond);
  CHECK(claim.measured == doctest::Approx(6.4).epsilon(exact));
  CHECK(result.table.rows.at(0) ==
        std::vector<std::string>{"fc", "-", "8 x 12", "40", "1.25", "8", "6.4", "yes"});
  CHECK(find_series(result, "predicted_ratio").x == std::vector<double>{1.0});
  CHECK(result.figure.panels.size() == 2);
  CHECK(result.figure.panels[0].x.ticks == std::vector<std::string>{"fc"});
}

TEST_CASE("a rank-one gradient and an orthogonal activation give the smallest ratio") {
  const Result result = run_pairs({pair_of("fc", isometry(10, 10, "A"), flat(7, 10, 1, "G"))});
  CHECK(scalar(result, "fc.stable_rank") == doctest::Approx(10.0).epsilon(exact));
  CHECK(scalar(result, "fc.nuclear_rank") == doctest::Approx(1.0).epsilon(exact));
  CHECK(scalar(result, "fc.predicted_ratio") == doctest::Approx(0.1).epsilon(exact));
  CHECK(find_claim(result, "fc/eq-1.8").verdict == Verdict::fails);
  CHECK(cell(result, "fc", 7) == "no");
}

TEST_CASE("(1.8) holds from a ratio of exactly 1 on") {
  const auto pair = [&](const std::string& name, arma::uword stable_rank,
                        arma::uword nuclear_rank) {
    return pair_of(name, of_stable_rank(9, 30, static_cast<double>(stable_rank), "A"),
                   flat(11, 9, nuclear_rank, "G"));
  };
  const Result result = run_pairs({pair("two", 2, 4), pair("between", 2, 3), pair("one", 3, 3),
                                   pair("below", 4, 3), pair("half", 4, 2)});
  const auto verdict = [&](const std::string& name) {
    return find_claim(result, name + "/eq-1.8").verdict;
  };
  CHECK(verdict("two") == Verdict::holds);
  CHECK(verdict("between") == Verdict::holds);
  CHECK(verdict("one") == Verdict::holds);
  CHECK(verdict("below") == Verdict::fails);
  CHECK(verdict("half") == Verdict::fails);
  CHECK(cell(result, "one", 7) == "yes");
  CHECK(cell(result, "below", 7) == "no");
  CHECK(scalar(result, "layers") == 5.0);
  // In the order of the names.
  const std::vector<double> ratios = {0.75, 1.5, 0.5, 1.0, 2.0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(find_series(result, "predicted_ratio").mean[i] ==
          doctest::Approx(ratios[i]).epsilon(exact));
    CHECK(find_series(result, "predicted_ratio").x[i] == static_cast<double>(i + 1));
  }
}

TEST_CASE("scale changes no rank, and further trials repeat the first") {
  const arma::mat A = gaussian(6, 50, "A") + 0.5, G = gaussian(9, 6, "G");
  const Result plain = run_pairs({pair_of("fc", A, G)}, {}, 2);
  CHECK(find_scalar(plain, "fc.nuclear_rank")[0] == find_scalar(plain, "fc.nuclear_rank")[1]);
  // Computed from singular values, by the definitions.
  const arma::vec a = singular_values(A), g = singular_values(G);
  CHECK(scalar(plain, "fc.stable_rank") ==
        doctest::Approx(arma::dot(a, a) / (a(0) * a(0))).epsilon(exact));
  CHECK(scalar(plain, "fc.nuclear_rank") ==
        doctest::Approx(arma::accu(g) * arma::accu(g) / arma::dot(g, g)).epsilon(exact));
  for (const double scale : {1e200, 1e-200}) {
    const Result scaled = run_pairs({pair_of("fc", scale * A, G / scale)});
    CHECK(scalar(scaled, "fc.stable_rank") ==
          doctest::Approx(scalar(plain, "fc.stable_rank")).epsilon(exact));
    CHECK(scalar(scaled, "fc.nuclear_rank") ==
          doctest::Approx(scalar(plain, "fc.nuclear_rank")).epsilon(exact));
  }
}

TEST_CASE("a layer whose shapes do not fit is left out; the reason names both and what may help") {
  const arma::mat G = gaussian(9, 6, "G");
  const std::string transposed = message<Failure>({pair_of("fc", gaussian(50, 6, "A"), G)});
  for (const char* part : {"fc: ", "50 x 6", "9 x 6", "a.safetensors:fc", "g.safetensors:fc",
                           "they fit if the activation is transposed"})
    CHECK(contains(transposed, part));
  CHECK(contains(message<Failure>({pair_of("fc", gaussian(9, 50, "A"), G)}),
                 "they fit if the gradient is transposed"));
  const std::string hopeless = message<Failure>({pair_of("fc", gaussian(5, 50, "A"), G)});
  CHECK(contains(hopeless, "5 x 50"));
  CHECK_FALSE(contains(hopeless, "transposed"));
  const Result others = run_pairs(
      {pair_of("good", gaussian(6, 50, "A"), G), pair_of("odd", gaussian(5, 50, "A"), G)});
  CHECK(others.table.rows.size() == 1);
  CHECK(contains(reason(others, "odd"), "5 x 50"));
}

TEST_CASE("a pair that cannot belong to one layer in one step gets a reason instead of a verdict") {
  // A true pair, G = E A' with fewer samples than features, is accepted, exactly or rounded to
  // eight bits.
  const arma::mat A = gaussian(40, 12, "A"), E = gaussian(30, 12, "E"), G = E * A.t();
  arma::mat rounded = G;
  rounded.transform([](double x) {
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(std::round(fraction * 256) / 256, exponent);
  });
  // Half of a batch of 24 is missing in A, but the gradient covers all of it.
  const arma::mat later = gaussian(40, 12, "later"),
                  of_both = G + gaussian(30, 12, "E2") * later.t();
  arma::mat dark = gaussian(40, 200, "dark"), lit = gaussian(30, 40, "lit");
  dark.rows(0, 19).zeros();
  const arma::mat possible = arma::join_rows(arma::mat(30, 20), lit.cols(20, 39));
  const Result result =
      run_pairs({pair_of("true", A, G), pair_of("rounded", A, rounded), pair_of("half", A, of_both),
                 pair_of("one", gaussian(64, 1, "one"), gaussian(64, 64, "full")),
                 pair_of("dark", dark, lit), pair_of("dark too", dark, possible)});
  const auto names = [&] {
    std::string out;
    for (const auto& row : result.table.rows) out += row[0] + " ";
    return out;
  };
  CHECK(names() == "dark too rounded true ");
  CHECK(result.claims.size() == 3);
  // For a random G, the part outside one direction has a share of 1 - 1/64 of the squared norm.
  CHECK(contains(reason(result, "one"),
                 "% of the gradient's norm lies outside the span of the activation's 1 sample:"));
  CHECK(contains(reason(result, "half"), "12 samples"));
  CHECK(contains(reason(result, "dark"), "outside the span"));
}

TEST_CASE("the share outside the span equals that of the projection by singular vectors") {
  const arma::mat A = 1e200 * gaussian(20, 7, "A"), G = gaussian(9, 20, "G");
  const auto svd = thin_svd(arma::mat(A / 1e200));
  const double expected = arma::norm(G - G * svd.U * svd.U.t(), "fro") / arma::norm(G, "fro");
  const std::string why = message<Failure>({pair_of("fc", A, G)});
  CHECK(contains(why, short_number(100 * expected) + " % of the gradient's norm"));
}

TEST_CASE("a square activation is checked by its features") {
  arma::mat A = arma::clamp(gaussian(24, 24, "A"), 0, 10);
  A.rows(20, 23).zeros();  // features that are zero in all samples
  const arma::mat G = gaussian(9, 24, "E") * A.t();
  arma::mat stale = G;
  stale.col(22) += 10;
  CHECK(message<Failure>({pair_of("fc", A, G)}).empty());
  CHECK(contains(message<Failure>({pair_of("fc", A, stale)}), "outside the span"));
}

TEST_CASE("a gradient of few samples far from the origin is found to lie in their span") {
  const arma::mat A = 1e4 + gaussian(64, 32, "A");
  arma::mat E = gaussian(9, 32, "E");
  E.each_col() -= arma::mean(E, 1);  // makes the mean vector cancel
  CHECK(message<Failure>({pair_of("fc", A, E * A.t())}).empty());
  CHECK(contains(message<Failure>({pair_of("fc", A, E * gaussian(32, 64, "B"))}),
                 "outside the span"));
}

TEST_CASE(
    "layers that cannot be measured are left out with the reason, and the others are reported") {
  const arma::mat A = gaussian(6, 50, "A"), G = gaussian(9, 6, "G");
  arma::mat bad = G, broken = A;
  bad(4, 1) = std::numeric_limits<double>::quiet_NaN();
  bad(3, 5) = bad(4, 0) = std::numeric_limits<double>::infinity();
  broken(2, 7) = -std::numeric_limits<double>::infinity();
  const std::vector<NamedPair> pairs = {pair_of("bad", A, bad), pair_of("broken", broken, G),
                                        pair_of("good", A, G), pair_of("still", A, 0 * G),
                                        pair_of("dark", 0 * A, G)};
  const Result result = run_pairs(pairs);
  CHECK(reason(result, "bad") ==
        "the gradient has 3 entries that are not finite, the first in row 3, column 5 (counted "
        "from 0)");
  CHECK(reason(result, "broken") ==
        "the activation has 1 entry that is not finite, the first in row 2, column 7 (counted from "
        "0)");
  CHECK(contains(reason(result, "still"), "the gradient is zero"));
  CHECK(contains(reason(result, "dark"), "the activation is zero"));
  CHECK(result.table.rows.size() == 1);
  CHECK(result.claims.size() == 1);
  CHECK(find_series(result, "stable_rank").x.size() == 1);
  const std::string nothing = message<Failure>({pairs[0], pairs[3]});
  CHECK(contains(nothing, "no layer is left"));
  CHECK(contains(nothing, "bad: the gradient has 3"));
  CHECK(contains(nothing, "still: the gradient is zero"));
}

TEST_CASE("a bad activation leaves out its own gradient only, for any number of threads") {
  // The activations are long, so that another thread has measured the gradient before they are
  // read.
  const arma::mat A = gaussian(6, 60000, "A"), G = gaussian(9, 6, "G");
  arma::mat broken = A;
  broken(2, 7) = std::numeric_limits<double>::quiet_NaN();
  const std::vector<NamedPair> pairs = {pair_of("good", A.head_cols(50), G),
                                        pair_of("broken", broken, G), pair_of("dark", 0 * A, G)};
  const Result alone = run_pairs({pairs[0]});
  for (const std::uint64_t threads : {1, 2, 3}) {
    CAPTURE(threads);
    const Result result = run_pairs(pairs, {}, 1, threads);
    CHECK(result.skipped.size() == 2);
    CHECK(reason(result, "broken") ==
          "the activation has 1 entry that is not finite, the first in row 2, column 7 (counted "
          "from 0)");
    CHECK(reason(result, "dark") == "the activation is zero, so st is undefined");
    CHECK(result.table.rows == alone.table.rows);
    REQUIRE(result.scalars.size() == alone.scalars.size());
    for (const auto& expected : alone.scalars)
      CHECK(find_scalar(result, expected.name) == expected.per_trial);

    for (std::size_t i = 1; i < pairs.size(); ++i) {
      const Archives archives({pairs[i]});
      RanksConfig config;
      config.activations = archives.activations;
      config.gradients = archives.gradients;
      const Trial trial(1, 0, static_cast<std::int64_t>(threads - 1));
      CHECK_THROWS_AS(gradient_ranks(run_trial(plan_of(config), trial), 0, 0), Failure);
    }
  }
}

TEST_CASE("a gradient that cannot be read is an error only if the activation can be used") {
  const arma::mat A = gaussian(6, 60000, "A"), G = gaussian(9, 6, "G");
  for (const bool dark : {false, true}) {
    const Archives archives({pair_of("fc", dark ? 0 * A : A, G)});
    RanksConfig config;
    config.activations = archives.activations;
    config.gradients = archives.gradients;
    const Plan plan = plan_of(config);
    std::filesystem::remove(archives.gradients);
    for (const std::int64_t spare : {0, 1, 2}) {
      CAPTURE(spare);
      // Another object, which has not opened the gradient yet.
      Plan again = plan;
      again.open = std::make_shared<OpenTensors>();
      if (dark)
        CHECK_NOTHROW(run_trial(again, Trial(1, 0, spare)));
      else
        CHECK_THROWS_AS(run_trial(again, Trial(1, 0, spare)), Failure);
    }
  }
}

TEST_CASE("a fused gradient is split into parts and heads, each with its own nr") {
  const arma::mat A = of_stable_rank(8, 30, 2, "A");
  arma::mat G;
  for (const arma::uword rank : {1u, 2u, 3u, 4u, 3u, 2u})
    G = arma::join_cols(G, flat(4, 8, rank, "G"));
  const std::vector<NamedPair> pairs = {pair_of("qkv", A, G), pair_of("mlp", A, G)};
  const auto ranks = [&](const FlagValues& values, const std::vector<std::string>& names) {
    const Result result = run_pairs(pairs, values);
    std::vector<double> out;
    for (const std::string& name : names) out.push_back(scalar(result, name + ".nuclear_rank"));
    CHECK(scalar(result, names.front() + ".stable_rank") == doctest::Approx(2.0).epsilon(exact));
    return out;
  };
  const auto check = [](const std::vector<double>& measured, const std::vector<double>& expected) {
    REQUIRE(measured.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(measured[i] == doctest::Approx(expected[i]).epsilon(exact));
  };
  check(ranks({{"split", "qkv=6"}}, {"qkv.1", "qkv.2", "qkv.3", "qkv.4", "qkv.5", "qkv.6"}),
        {1, 2, 3, 4, 3, 2});
  check(ranks({{"split", "qkv=3"}, {"heads", "2"}},
              {"qkv.1.1", "qkv.1.2", "qkv.2.1", "qkv.2.2", "qkv.3.1", "qkv.3.2"}),
        {1, 2, 3, 4, 3, 2});
  check(ranks({{"heads", "6"}}, {"qkv.1", "mlp.4", "qkv.6"}), {1, 4, 2});
  // If one layer is split, only that layer is cut into heads.
  CHECK(run_pairs(pairs, {{"split", "qkv=3"}, {"heads", "2"}}).table.rows.size() == 7);
  CHECK(run_pairs(pairs, {{"split", "qkv=3,mlp=2"}}).table.rows.size() == 5);

  CHECK(contains(message<UsageError>(pairs, {{"split", "qkv=5"}}),
                 "--split qkv=5: 5 equal blocks cannot be cut from the 24 rows"));
  CHECK(contains(message<UsageError>(pairs, {{"heads", "7"}}), "--heads 7"));
  CHECK(contains(message<UsageError>(pairs, {{"split", "qkw=3"}}), "'qkw'; did you mean 'qkv'?"));
  CHECK(contains(message<UsageError>({pairs[0], pair_of("qkv.1", A, G)}, {{"split", "qkv=3"}}),
                 "'qkv.1'"));
  for (const char* text : {"qkv", "=3", "qkv=", "qkv=0", "qkv=x", "qkv=3,qkv=2"}) {
    CHECK(contains(message<UsageError>(pairs, {{"split", text}}), "--split"));
  }
}

TEST_CASE("interleaved parts are gathered group by group and split into heads inside the groups") {
  const arma::mat A = of_stable_rank(12, 30, 2, "A");
  // Two groups. Each has four rows of the first part and two rows of each other part.
  const arma::mat Q = flat(8, 12, 3, "Q"), K = flat(4, 12, 2, "K"), V = flat(4, 12, 4, "V");
  arma::mat G;
  for (const arma::uword group : {0u, 1u}) {
    G = arma::join_cols(G, Q.rows(4 * group, 4 * group + 3));
    G = arma::join_cols(G, K.rows(2 * group, 2 * group + 1), V.rows(2 * group, 2 * group + 1));
  }
  const std::vector<NamedPair> pairs = {pair_of("qkv", A, G)};
  const auto nr = [&](const FlagValues& values, const std::string& name) {
    return scalar(run_pairs(pairs, values), name + ".nuclear_rank");
  };
  const FlagValues split = {{"split", "*=2+1+1@2"}},
                   heads = {{"split", "*=2+1+1@2"}, {"heads", "2"}};
  CHECK(nr(split, "qkv.1") == doctest::Approx(3).epsilon(exact));
  CHECK(nr(split, "qkv.2") == doctest::Approx(2).epsilon(exact));
  CHECK(nr(split, "qkv.3") == doctest::Approx(4).epsilon(exact));
  CHECK(nr(heads, "qkv.1.2") ==
        doctest::Approx(nuclear_rank(arma::mat(Q.rows(4, 7)))).epsilon(exact));
  CHECK(nr(heads, "qkv.3.1") ==
        doctest::Approx(nuclear_rank(arma::mat(V.rows(0, 1)))).epsilon(exact));
  // Four heads of two rows each, two heads per group.
  const arma::mat third = Q.rows(4, 5);
  CHECK(nr({{"split", "*=2+1+1@2"}, {"heads", "4"}}, "qkv.1.3") ==
        doctest::Approx(nuclear_rank(third)).epsilon(exact));
  CHECK(nr({{"split", "*=1+1@4"}, {"heads", "2"}}, "qkv.2.2") ==
        doctest::Approx(nuclear_rank(arma::mat(arma::join_cols(G.rows(10, 11), G.rows(14, 15)))))
            .epsilon(exact));
  CHECK(contains(message<UsageError>(pairs, {{"split", "qkv=3@4"}}),
                 "12 equal blocks cannot be cut from the 16 rows"));
  CHECK(contains(message<UsageError>(pairs, {{"split", "qkv=1+1@2"}, {"heads", "3"}}),
                 "interleaved rows"));
  for (const char* text : {"qkv=3@", "qkv=3@0", "qkv=@2", "qkv=3@2@2"}) {
    CHECK(contains(message<UsageError>(pairs, {{"split", text}}), "NAME=3@16"));
  }
}

TEST_CASE("a non-finite entry excludes only its own block, and is named by its place in the file") {
  arma::mat G = gaussian(6, 4, "G");
  G(4, 2) = std::numeric_limits<double>::quiet_NaN();
  const Result result = run_pairs({pair_of("qkv", gaussian(4, 20, "A"), G)}, {{"split", "qkv=3"}});
  CHECK(result.table.rows.size() == 2);
  CHECK(contains(reason(result, "qkv.3"), "row 4, column 2"));
}

TEST_CASE("globs choose pairs by name, and a glob that matches nothing is an error") {
  const arma::mat A = gaussian(4, 20, "A"), G = gaussian(6, 4, "G");
  const std::vector<NamedPair> pairs = {pair_of("h.0.fc", A, G), pair_of("h.1.fc", A, G),
                                        pair_of("head", A, G)};
  const auto names = [&](const FlagValues& values) {
    std::string out;
    for (const auto& row : run_pairs(pairs, values).table.rows) out += row[0] + " ";
    return out;
  };
  CHECK(names({{"include", "h.*"}}) == "h.0.fc h.1.fc ");
  CHECK(names({{"exclude", "h.[1-9].*"}}) == "h.0.fc head ");
  CHECK(names({{"include", "h.0*,head"}, {"exclude", "*a?"}}) == "h.0.fc ");
  const std::string none = message<UsageError>(pairs, {{"include", "fc*"}});
  CHECK(
      contains(none, "--include: 'fc*' matches no matrix; the matrices are h.0.fc, h.1.fc, head"));
  CHECK(contains(message<UsageError>(pairs, {{"exclude", "*"}}), "--exclude"));
}

TEST_CASE("bad flag values are refused before any file is read") {
  const auto refused = [](const FlagValues& values) { return refusal(make_ranks_study(), values); };
  CHECK(contains(refused({}), "--activations FILE"));
  CHECK(contains(refused({{"activations", "a\x1b[0m.npz"}, {"gradients", "g.npz"}}), "a\\x1b[0m"));
  CHECK(contains(refused({{"activations", "a.npy"}, {"gradients", "g.npz"}}),
                 "--activations: 'a.npy' is not allowed; allowed: a .npz or .safetensors file"));
  CHECK(contains(refused({{"activations", "a.npz"}}), "one without the other"));
  CHECK(contains(refused({{"weights-only", "a.npz"}, {"from", "b.safetensors"}}), "not several"));
  CHECK(contains(refused({{"from", "b.safetensors"}, {"heads", "0"}}), "--heads"));
  CHECK(refused({{"activations", "a.npz"}, {"gradients", "g.npz"}}).empty());
}

TEST_CASE("the estimate reads the shapes and fails if a file cannot be read") {
  const Archives archives({pair_of("fc", gaussian(30, 900, "A"), gaussian(20, 30, "G"))});
  const auto study = configured(make_ranks_study(), {{"activations", archives.activations},
                                                     {"gradients", archives.gradients}});
  CHECK(study->memory().bytes > 8.0 * 30 * 30);
  const auto missing =
      configured(make_ranks_study(), {{"activations", "none.npz"}, {"gradients", "none.npz"}});
  CHECK_THROWS_AS(missing->memory(), Failure);
}

TEST_CASE("two checkpoints are no activations and gradients") {
  std::vector<std::string> paths;
  const TemporaryFolder folder;
  for (const char* name : {"one", "two"}) {
    paths.push_back(folder / (std::string(name) + ".safetensors"));
    write_safetensors(paths.back(), {tensor<double>("fc.weight", gaussian(6, 6, name)),
                                     vector_tensor<double>("fc.bias", gaussian(6, 1, name))});
  }
  CHECK_THROWS_WITH_AS(flags_of_paths(paths), doctest::Contains("ranklab compare"), UsageError);
  const auto study =
      configured(make_ranks_study(), {{"activations", paths[0]}, {"gradients", paths[1]}});
  CHECK_THROWS_WITH_AS(study->memory(), doctest::Contains("two checkpoints"), Failure);
}

}  // namespace ranks_files_test
