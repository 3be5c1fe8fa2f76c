#include "experiments/random_features/concentration/concentration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "binomial.hpp"
#include "core/tolerances.hpp"
#include "ensembles/gaussian_moments.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/decompositions.hpp"

namespace concentration_test {

using namespace ranklab;
using namespace ranklab::concentration;

namespace {

constexpr std::uint64_t seed = 5;

doctest::Approx close(double expected, double tolerance = 1e-9) {
  return doctest::Approx(expected).epsilon(tolerance);
}

arma::mat normal(const Trial& trial, const std::string& name, arma::uword rows, arma::uword columns,
                 double deviation = 1.0) {
  arma::mat G(rows, columns);
  Stream stream = trial.stream(name);
  stream.fill_normal({G.memptr(), G.n_elem}, deviation);
  return G;
}

// The integral of exp(log_density) over [low, high] by Simpson's rule, as a logarithm.
template <class Density>
double log_integral(const Density& log_density, double low, double high) {
  constexpr int intervals = 20000;
  const double step = (high - low) / intervals;
  double largest = -1e300;
  for (int i = 0; i <= intervals; ++i) largest = std::max(largest, log_density(low + i * step));
  double sum = 0.0;
  for (int i = 0; i <= intervals; ++i) {
    const double weight = i == 0 || i == intervals ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    sum += weight * std::exp(log_density(low + i * step) - largest);
  }
  return largest + std::log(sum * step / 3.0);
}

// E h(z) for a standard Gaussian z in the plane, by the trapezoidal rule.
template <class H>
double plane_expectation(const H& h) {
  constexpr double reach = 9.0, step = 0.02;
  double sum = 0.0;
  for (double x = -reach; x <= reach; x += step) {
    for (double y = -reach; y <= reach; y += step)
      sum += h(x, y) * std::exp(-0.5 * (x * x + y * y));
  }
  return sum * step * step / (2.0 * std::numbers::pi);
}

FlagValues tiny_flags(const FlagValues& more = {}) {
  FlagValues values = {{"draws", "3"},  {"p0", "0.05"},  {"bulk", "12"}, {"d", "3"},
                       {"n", "40,160"}, {"depth", "2"},  {"width", "6"}, {"vector", "20"},
                       {"k", "700"},    {"columns", "4"}};
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Config tiny() {
  Config config;
  config.draws = 3;
  config.p0 = 0.05;
  config.bulk = 12;
  config.d = 3;
  config.n = {40, 160};
  config.depth = 2;
  config.width = 6;
  config.vector = 20;
  config.k = 700;
  config.columns = 4;
  return config;
}

TrialRecord tiny_record(std::uint64_t index) {
  Trial trial(seed, index, 0);
  return tiny().work().trial(trial);
}

std::vector<TrialRecord> tiny_records(std::uint64_t trials) {
  std::vector<TrialRecord> records;
  for (std::uint64_t t = 0; t < trials; ++t) records.push_back(tiny_record(t));
  return records;
}

// The records with entry i of an array replaced, in every trial.
std::vector<TrialRecord> with_entry(std::vector<TrialRecord> records, const std::string& name,
                                    std::size_t i, double value) {
  for (TrialRecord& record : records) {
    std::vector<double> values = record.array(name);
    values.at(i) = value;
    record.set(name, values);
  }
  return records;
}

Claim claim_from(const std::vector<TrialRecord>& records, const std::string& id,
                 const FlagValues& more = {}) {
  return find_claim(result_of(make_concentration_study(), tiny_flags(more), records),
                    "spectral/" + id);
}

}  // namespace

TEST_CASE("chi-squared tails equal closed forms and integrals of the density") {
  // Two degrees of freedom: P(chi^2 <= x) = 1 - exp(-x/2); four: 1 - exp(-x/2)(1 + x/2).
  CHECK(std::exp(log_chi_squared_lower_tail(2.0, 0.3)) == close(1.0 - std::exp(-0.7)));
  CHECK(std::exp(log_chi_squared_lower_tail(4.0, 0.5)) == close(1.0 - std::exp(-1.0) * 2.0));
  CHECK(std::exp(log_chi_squared_deviation(2.0, 0.3)) ==
        close(1.0 - std::exp(-0.7) + std::exp(-1.3)));
  // The case in which (C.1) fails as printed: eps = 0.499, d = 16,384.
  const double d = 16384.0, excess = 0.499 / 4.0;
  const auto log_density = [&](double x) {
    return (0.5 * d - 1.0) * std::log(x) - 0.5 * x - 0.5 * d * std::log(2.0) - std::lgamma(0.5 * d);
  };
  const double above = log_integral(log_density, d * (1.0 + excess), d * (1.0 + 1.5 * excess)),
               below = log_integral(log_density, d * (1.0 - 1.5 * excess), d * (1.0 - excess));
  const double both = above + std::log1p(std::exp(below - above));
  CHECK(log_chi_squared_deviation(d, excess) == close(both));
  CHECK(both > std::log(2.0) - 0.499 * 0.499 * d / 64.0);
}

TEST_CASE("spherical caps are those of the circle and of the sphere") {
  for (const double epsilon : {0.1, 0.5, 0.9}) {
    CHECK(cap_probability(2.0, epsilon) ==
          close(1.0 - 2.0 / std::numbers::pi * std::asin(epsilon)));
    CHECK(cap_probability(3.0, epsilon) == close(1.0 - epsilon));
  }
}

TEST_CASE("small-ball probabilities equal counts of the density where |sigma| exceeds tau") {
  for (const char* name : {"relu", "abs", "leaky-relu", "relu2", "gelu", "silu", "quadratic"}) {
    const Activation& activation = find_activation(name);
    for (const double tau : {0.7, 1.0, 2.0}) {
      double sum = 0.0;
      constexpr double step = 1e-4;
      for (double t = -30.0 + step / 2; t < 30.0; t += step) {
        if (std::fabs(activation.value(t)) >= tau) sum += std::exp(-0.5 * t * t);
      }
      CAPTURE(name);
      CAPTURE(tau);
      CHECK(small_ball_probability(activation, tau) ==
            close(sum * step / std::sqrt(2.0 * std::numbers::pi), 5e-4));
    }
  }
}

TEST_CASE("even moments equal quadrature") {
  for (const double mean : {0.0, 0.5, 2.0}) {
    for (const std::uint64_t p : {2, 4, 8, 16}) {
      const double expected = gaussian_expectation(
          [&](double g) { return std::pow(g + mean, static_cast<double>(p)); }, 1.0);
      CHECK(log_even_moment(p, mean) == close(std::log(expected)));
    }
  }
  CHECK(log_even_moment(6) == close(std::log(15.0)));
}

TEST_CASE("the constants of every law satisfy their definitions, by quadrature in the plane") {
  for (const Law& law : make_laws(2)) {
    CAPTURE(law.name);
    const auto z_of = [&](double x, double y) {
      arma::mat z = {x, y};
      z = z.t();
      law.from_gaussian(z);
      return arma::vec(z);
    };
    const double trace = arma::trace(law.M);
    CHECK(plane_expectation([&](double x, double y) { return z_of(x, y)(0); }) ==
          doctest::Approx(law.mean(0)).epsilon(1e-3));
    CHECK(plane_expectation([&](double x, double y) { return z_of(x, y)(0) * z_of(x, y)(1); }) ==
          doctest::Approx(law.M(0, 1)).epsilon(1e-3));
    CHECK(plane_expectation([&](double x, double y) {
            return arma::dot(z_of(x, y), z_of(x, y));
          }) == close(trace, 1e-3));
    // E exp(Y^2/K^2) <= 2 for several directions; equality for the isotropic Gaussian.
    for (const double angle : {0.0, 0.4, 0.7854, 2.3562}) {
      const arma::vec u = {std::cos(angle), std::sin(angle)};
      const auto psi_2 = [&](double squared_norm) {
        return plane_expectation([&](double x, double y) {
          return std::exp(std::pow(arma::dot(z_of(x, y) - law.mean, u), 2) / squared_norm);
        });
      };
      CHECK(psi_2(law.K * law.K * arma::as_scalar(u.t() * law.M * u)) <= 2.0 + 1e-2);
      CHECK(psi_2(law.K_norm * law.K_norm) <= 2.0 + 1e-2);
    }
    const double psi_1 = plane_expectation([&](double x, double y) {
      return std::exp(std::fabs(arma::dot(z_of(x, y), z_of(x, y)) - trace) / law.L);
    });
    CHECK(psi_1 <= 2.0);
    CHECK(psi_1 > 1.5);  // L is not much larger than needed
  }
}

TEST_CASE("the samples of Theorem 2.2 are those of the law, recomputed from the whole matrix") {
  const std::vector<double> spike_n = spike_sizes(tiny());
  const Trial trial(seed, 0, 0);
  const TrialRecord record = tiny_record(0);
  CHECK(spike_n.front() == std::ceil(std::log(2.0) / 0.4));
  CHECK(spike_n.back() == std::ceil(8.0 * std::log(4.0) / 0.05));
  // The second moment by integration over the two cases, M = diag(1, (1 - p0) 0.1/12, ...).
  const double er = 1.0 + 12.0 * (0.95 * 0.1 / 12.0), bound = 2.0 / 0.25 * er;
  for (std::size_t i = 0; i < spike_n.size(); ++i) {
    const auto n = static_cast<arma::uword>(spike_n[i]);
    double above = 0, above_moment = 0, trace = 0, few = 0, rank = 0;
    for (int draw = 0; draw < 3; ++draw) {
      const std::string name = "spike/" + std::to_string(i) + "/" + std::to_string(draw);
      std::vector<double> v(n);
      Stream stream = trial.stream(name + "/large");
      stream.fill_uniform(v);
      arma::mat Z(13, n, arma::fill::zeros);
      const auto large =
          static_cast<arma::uword>(std::ranges::count_if(v, [](double x) { return x < 0.05; }));
      for (arma::uword j = 0; j < large; ++j) Z(0, j) = std::sqrt(1.0 / 0.05);
      if (large < n)
        Z.submat(1, large, 12, n - 1) =
            normal(trial, name + "/small", 12, n - large, std::sqrt(0.1 / 12.0));
      const arma::vec s = singular_values(Z), w = arma::square(s) / spike_n[i];
      rank += arma::accu(w) / w(0) / 3.0;
      above += arma::accu(w) / w(0) > bound ? 1.0 / 3 : 0.0;
      above_moment += arma::accu(arma::square(w)) / (w(0) * w(0)) > bound ? 1.0 / 3 : 0.0;
      trace += arma::accu(w) > er / 0.25 ? 1.0 / 3 : 0.0;
      few += static_cast<double>(large) < 0.025 * spike_n[i] ? 1.0 / 3 : 0.0;
    }
    CAPTURE(i);
    CHECK(record.array("spike.stable_rank").at(i) == close(rank));
    CHECK(record.array("spike.share_above").at(i) == close(above));
    CHECK(record.array("spike.share_above_moment").at(i) == close(above_moment));
    CHECK(record.array("spike.share_trace").at(i) == close(trace));
    CHECK(record.array("spike.share_few").at(i) == close(few));
  }
}

TEST_CASE("errors and quotients of the laws equal those recomputed from the named draws") {
  const Trial trial(seed, 1, 0);
  const TrialRecord record = tiny_record(1);
  const arma::mat covariance = (0.5 - 0.5 / std::numbers::pi) * arma::eye(3, 3);
  const arma::mat M = covariance + arma::ones(3, 3) / (2.0 * std::numbers::pi);
  const double top = 0.5 - 0.5 / std::numbers::pi + 3.0 / (2.0 * std::numbers::pi), er = 1.5 / top;
  const double K = std::sqrt(8.0 / 3.0 / (0.5 - 0.5 / std::numbers::pi));
  const std::size_t sizes[] = {40, 160};
  for (std::size_t i = 0; i < 2; ++i) {
    const double n = static_cast<double>(sizes[i]);
    double error = 0, rank_quotient = 0, trace_quotient = 0, moment_quotient = 0, noise = 0;
    for (int draw = 0; draw < 3; ++draw) {
      arma::mat Z = normal(trial, "law/relu/" + std::to_string(draw), 3, 160);
      Z = arma::clamp(Z, 0.0, 1e9);
      Z = arma::mat(Z.head_cols(sizes[i]));
      const arma::vec s = singular_values(Z);
      const double st = arma::accu(arma::square(s)) / (s(0) * s(0));
      const double relative = std::fabs(st - er) / er, part = (er + 4.0) / n;
      error += relative / 3.0;
      rank_quotient = std::max(rank_quotient, relative / (std::pow(K, 4) * std::sqrt(part)));
      trace_quotient = std::max(trace_quotient, std::fabs(arma::accu(arma::square(Z)) / n - 1.5) /
                                                    (K * K * 1.5 * (std::sqrt(4.0 / n) + 4.0 / n)));
      moment_quotient =
          std::max(moment_quotient, singular_values(arma::mat(Z * Z.t() / n - M)).max() /
                                        (std::pow(K, 4) * (std::sqrt(part) + part) * top));
      const double share =
          arma::accu(arma::square(Z)) / n / arma::accu(arma::square(arma::mean(Z, 1)));
      noise += share > 1.1 / 0.81 * std::numbers::pi ? 1.0 / 3 : 0.0;
    }
    CHECK(record.array("relu.rank_error").at(i) == close(error, 1e-8));
    CHECK(record.array("relu.rank.quotient").at(i) == close(rank_quotient, 1e-8));
    CHECK(record.array("relu.trace.quotient").at(i) == close(trace_quotient, 1e-8));
    CHECK(record.array("relu.moment.quotient").at(i) == close(moment_quotient, 1e-8));
    CHECK(record.array("relu.noise.share_above").at(i) == close(noise));
  }
}

TEST_CASE("constants of the quadratic layers equal those recomputed by loops") {
  const Trial trial(seed, 0, 0);
  const TrialRecord record = tiny_record(0);
  arma::mat A = 1.0 + normal(trial, "quadratic/population", 6, 8192, 0.1);
  for (int layer = 1; layer <= 2; ++layer) {
    A = normal(trial, "quadratic/W/" + std::to_string(layer), 6, 6, 1.0 / std::sqrt(6.0)) * A;
    A %= A;
    const Svd<double> svd = thin_svd(A);
    double reached = 0.0;
    for (arma::uword j = 0; j < A.n_cols; ++j) {
      const double along = arma::dot(svd.U.col(0), A.col(j));
      if (along * along >= 0.5 * svd.s(0) * svd.s(0) / 8192.0) reached += 1.0 / 8192.0;
    }
    const auto l = static_cast<std::size_t>(layer - 1);
    CHECK(record.array("layer.p0").at(l) ==
          close(reached - 3.0 * std::sqrt(reached * (1.0 - reached) / 8192.0)));
    CHECK(record.array("layer.effective_rank").at(l) ==
          close(arma::accu(arma::square(svd.s)) / (svd.s(0) * svd.s(0))));
  }
}

TEST_CASE("the layer of Lemma 2.12 has columns of norm sqrt(d), recomputed in loops") {
  const Trial trial(seed, 2, 0);
  const TrialRecord record = tiny_record(2);
  // 2n exp(-p eps^2 k/2) = 1/10.
  CHECK(8.0 * std::exp(-0.5 * 0.2 * std::pow(block_epsilon(0.2, 700, 4), 2) * 700.0) == close(0.1));
  // abs is homogeneous, and gelu is not.
  for (const char* name : {"abs", "gelu"}) {
    const Activation& sigma = find_activation(name);
    double reach = 0.0;  // sigma(reach) = 1
    while (sigma.value(reach + 1e-7) < 1.0) reach += 1e-7;
    const double sides = name[0] == 'a' ? 2.0 : 1.0,
                 p = 0.5 * sides * std::erfc(reach / std::sqrt(2.0)),
                 epsilon = std::sqrt(2.0 * std::log(80.0) / (p * 700.0));
    double quotient = 0.0;
    for (int draw = 0; draw < 3; ++draw) {
      const arma::mat G = 1.0 + normal(trial, "block/A/" + std::to_string(draw), 6, 4);
      const arma::mat W =
          normal(trial, "block/W/" + std::to_string(draw), 700, 6, 1 / std::sqrt(6.0));
      double sum = 0.0;
      for (arma::uword j = 0; j < 4; ++j) {
        const arma::vec a = std::sqrt(6.0) * G.col(j) / arma::norm(G.col(j));
        for (arma::uword i = 0; i < 700; ++i)
          sum += std::pow(sigma.value(arma::dot(W.row(i).t(), a)), 2);
      }
      quotient = std::max(quotient, (1.0 - epsilon) * 0.5 * p * 700.0 / 6.0 * 24.0 / sum);
    }
    CAPTURE(name);
    CHECK(record.array(std::string(name) + ".quotient").at(0) == close(quotient, 1e-6));
  }
}

TEST_CASE("the law of Theorem 2.2 turns the verdicts of both forms") {
  const auto records = tiny_records(12);
  const std::size_t last = spike_sizes(tiny()).size() - 1;
  CHECK(
      claim_from(with_entry(records, "spike.share_above", 0, 1.0), "thm-2.2/as-printed").verdict ==
      Verdict::fails);
  CHECK(
      claim_from(with_entry(records, "spike.share_above", 0, 0.0), "thm-2.2/as-printed").verdict ==
      Verdict::holds);
  CHECK(claim_from(with_entry(records, "spike.share_above", last, 1.0), "thm-2.2/corrected")
            .verdict == Verdict::fails);
  const Claim corrected =
      claim_from(with_entry(records, "spike.share_above", last, 0.0), "thm-2.2/corrected");
  CHECK(corrected.verdict == Verdict::holds);
  CHECK(corrected.misprint_of == "spectral/thm-2.2/as-printed");
  // 36 draws without a failure bound its probability by 1 - 0.005^(1/36) = 0.14 only.
  CHECK(std::get<MeanEvidence>(corrected.evidence).high == close(1.0 - std::pow(0.005, 1.0 / 36)));
  // The printed hypothesis: the proof's two events fail with probability c + (2c)^(1/64).
  CHECK(claim_from(records, "thm-2.2/union-bound/as-printed").measured ==
        close((0.25 + std::pow(0.5, 1.0 / 64)) / 0.5));
  CHECK(claim_from(records, "thm-2.2/union-bound/corrected").measured == close(1.0));
}

TEST_CASE("too few draws leave a small probability undecided, and unmet hypotheses say so") {
  const auto records = tiny_records(4);
  // Theorem B.1 allows 4 exp(-4) = 0.073; 12 draws cannot decide this.
  CHECK(claim_from(records, "thm-B.1/isotropic").undecided);
  const Claim few = claim_from(records, "thm-2.3/relu");
  CHECK(few.verdict == Verdict::not_applicable);
  CHECK(few.detail.find("requires n >= C K^8 (er(M) + u)") != std::string::npos);
  CHECK(claim_from(records, "thm-B.1/isotropic", {{"u", "1"}}).detail.find("allows a failure") !=
        std::string::npos);
  CHECK(claim_from(records, "lemma-2.11").detail.find("allows a failure") != std::string::npos);
  CHECK(claim_from(records, "eq-2.16/silu", {{"k", "8"}}).detail.find("eps < 1") !=
        std::string::npos);
  const auto none = with_entry(records, "layer.p0", 1, 0.01);
  CHECK(claim_from(none, "thm-2.2/quadratic/layer-2").detail.find("the theorem needs p0") !=
        std::string::npos);
}

TEST_CASE("worked example: the constant of Appendix B.1") {
  const auto records = tiny_records(3);
  CHECK(claim_from(records, "thm-B.1/cross-term/as-printed").measured ==
        close(std::sqrt(8.0 / 3.0)));
  CHECK(claim_from(records, "thm-B.1/cross-term/corrected").measured ==
        close(std::sqrt(8.0 / 9.0)));
}

TEST_CASE("the numbers of the exact statements are those of hand calculations") {
  const auto records = tiny_records(3);
  const auto count = [&](const std::string& id) {
    return std::get<CountEvidence>(claim_from(records, id).evidence);
  };
  // E g^4 = 3 and 3^2 (E g^2)^2 = 9 for g = x.
  CHECK(count("eq-2.13").worst == close(1.0 / 3.0));
  CHECK(count("thm-2.8/moment-ratio/corrected").worst == close(1.0 / 3.0));
  CHECK(count("thm-2.8/moment-ratio/as-printed").violations == 35.0);
  // One layer: x^2 >= sqrt(E x^4/3) = 1.
  CHECK(count("thm-2.8/small-ball").worst == close(4.0 / 729.0 / std::erfc(1.0 / std::sqrt(2.0))));
  // 18 * 3^4 log(1/c) over 27 * 3^8/(2c) at c = 0.4, next to the maximum at 1/e.
  CHECK(count("thm-2.8/every-n").worst == close(0.8 * 18.0 * 81.0 * std::log(2.5) / 27.0 / 6561.0));
  // The Chernoff bound over its probability, except for p = 0.001.
  double largest = 0.0;
  for (const double p : {0.01, 0.1, 0.3, 0.6, 0.9}) {
    for (const double expected : {0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0}) {
      const int n = static_cast<int>(std::ceil(expected / p));
      int below = 0;
      while (below + 1 < 0.5 * p * n) ++below;
      largest = std::max(largest, binomial_by_recursion(n, p, below) * std::exp(p * n / 8.0));
    }
  }
  CHECK(count("thm-2.2/chernoff").worst >= largest * (1.0 - 1e-9));
  CHECK(count("thm-2.2/chernoff").worst <= largest * 1.01);
  // Both tails by integration of the density, on both sides of the d in the detail.
  const auto over_printed = [](double d) {
    const double excess = 0.499 / 4.0;
    const auto log_density = [&](double x) {
      return (0.5 * d - 1.0) * std::log(x) - 0.5 * x - 0.5 * d * std::log(2.0) -
             std::lgamma(0.5 * d);
    };
    const double above = log_integral(log_density, d * (1.0 + excess), d * (1.0 + 1.5 * excess)),
                 below = log_integral(log_density, d * (1.0 - 1.5 * excess), d * (1.0 - excess));
    return above + std::log1p(std::exp(below - above)) - std::log(2.0) + 0.499 * 0.499 * d / 64.0;
  };
  const std::string detail = claim_from(records, "eq-C.1/as-printed").detail;
  const double first = std::stod(detail.substr(detail.find("from d = ") + 9));
  CHECK(over_printed(first) > 0.0);
  CHECK(over_printed(first - 1.0) <= 0.0);
  CHECK(count("eq-C.1/as-printed").violations > 0.0);
  CHECK(count("eq-C.1/corrected").violations == 0.0);
  // Circle: 1 - (2/pi) asin eps over 4 exp(-2 eps^2/64).
  CHECK(count("lemma-2.11/every-x").worst ==
        close((1.0 - 2.0 / std::numbers::pi * std::asin(0.01)) / 4.0 * std::exp(0.0002 / 64.0)));
}

TEST_CASE("Lemma 2.5 allows what its proof gives with the constants 1/4 and 1/9") {
  FlagValues more = {{"epsilon", "0.5"}};
  const Claim claim = claim_from(tiny_records(3), "lemma-2.5/shifted", more);
  CHECK(claim.kind == Kind::asymptotic);  // a share of samples of one law
  // N(1, I) in three dimensions: ||mu||^2 = 3, E||z||^2 = 6, K^2 = 8/3, L of the law.
  const double relative = 3.0 / make_laws(3)[1].L;
  const double allowed = 2.0 * std::exp(-0.25 * 40.0 * 0.25 * 3.0 / (8.0 / 3.0)) +
                         2.0 * std::exp(-40.0 * relative * relative / 9.0);
  REQUIRE(allowed < 1.0);
  CHECK(std::get<std::pair<double, double>>(claim.expected).second == close(allowed));
}

TEST_CASE("sizes of --n must ascend") {
  CHECK(refusal(make_concentration_study(), tiny_flags({{"n", "100,50"}})).find("ascending") !=
        std::string::npos);
}

}  // namespace concentration_test
