#include "core/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/philox.hpp"
#include "core/tolerances.hpp"

namespace random_test {

using namespace ranklab;

namespace {

constexpr std::size_t many = 1'000'000;
constexpr double pi = 3.14159265358979323846;

std::vector<double> normals(Stream stream, std::size_t n) {
  std::vector<double> out(n);
  stream.fill_normal(out);
  return out;
}

std::vector<double> uniforms(Stream stream, std::size_t n) {
  std::vector<double> out(n);
  stream.fill_uniform(out);
  return out;
}

bool same_bytes(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Deviation of the mean of (x - center)^power from `expected`, in standard errors sqrt(variance /
/// n).
double moment_deviation(const std::vector<double>& x, double center, int power, double expected,
                        double variance) {
  double sum = 0.0;
  for (const double value : x) sum += std::pow(value - center, power);
  const double n = static_cast<double>(x.size());
  return std::abs(sum / n - expected) / std::sqrt(variance / n);
}

/// sqrt(n) times the Kolmogorov-Smirnov distance between the sample and a distribution function.
template <class F>
double kolmogorov_smirnov(std::vector<double> x, F distribution) {
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = distribution(x[i]), below = static_cast<double>(i) / n;
    distance = std::max({distance, p - below, below + 1.0 / n - p});
  }
  return std::sqrt(n) * distance;
}

// P(sqrt(n) D > t) is about 2 exp(-2 t^2): 6e-7 at 2.74, as for a normal variable beyond five
// standard deviations.
constexpr double kolmogorov_smirnov_limit = 2.74;

/// Sample correlation of centered, unit-variance samples, in standard errors.
double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return std::abs(sum) / std::sqrt(static_cast<double>(x.size()));
}

}  // namespace

TEST_CASE("a stream's blocks are Philox of the documented key and counter") {
  // By an independent implementation: FNV-1a with its finaliser gives the name W the hash
  // 0x1ecc8413100df4a3.
  Stream stream(0x0123456789abcdefu, 42, "W");
  for (const std::uint32_t block : {0u, 1u, 2u}) {
    const auto expected =
        philox4x32({block, 42, 0x100df4a3u, 0x1ecc8413u}, {0x89abcdefu, 0x01234567u});
    const Stream::Block words = stream.next_block();
    CHECK(std::equal(expected.begin(), expected.end(), words.word));
  }
}

TEST_CASE("a draw is a function of its block's words, checked with the C library's functions") {
  const std::size_t n = 20'003;  // a fill generates eight blocks at once; the single blocks and the
                                 // last three are generated alone
  const std::vector<double> z = normals(Stream(3, 1, "W"), 2 * n),
                            u = uniforms(Stream(3, 1, "W"), 2 * n);
  Stream stream(3, 1, "W");
  double worst_normal = 0.0, worst_uniform = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const Stream::Block block = stream.next_block();
    const auto fraction = [&](int j) {
      return std::ldexp(block.word[j], -32) + std::ldexp(block.word[j + 1] >> 11, -53);
    };
    const double radius = std::sqrt(-2.0 * std::log(fraction(0)));
    // The angle is measured from the middle of the first quadrant.
    const double angle = 2.0 * pi * (fraction(2) - 0.125);
    worst_normal = std::max({worst_normal, std::abs(z[2 * i] - radius * std::cos(angle)) / radius,
                             std::abs(z[2 * i + 1] - radius * std::sin(angle)) / radius});
    worst_uniform = std::max(
        {worst_uniform, std::abs(u[2 * i] - fraction(0)), std::abs(u[2 * i + 1] - fraction(2))});
  }
  CHECK(worst_normal < tolerance::closed_form<double>);
  CHECK(worst_uniform == 0.0);
}

TEST_CASE("uniform draws have the moments and distribution of the uniform law") {
  const std::vector<double> u = uniforms(Stream(1, 0, "U"), many);
  // Central moments of U(0, 1): 1/12, 0, 1/80; E c^6 = 1/448, E c^8 = 1/2304.
  CHECK(moment_deviation(u, 0.5, 1, 0.0, 1.0 / 12) < tolerance::standard_errors);
  CHECK(moment_deviation(u, 0.5, 2, 1.0 / 12, 1.0 / 80 - 1.0 / 144) < tolerance::standard_errors);
  CHECK(moment_deviation(u, 0.5, 3, 0.0, 1.0 / 448) < tolerance::standard_errors);
  CHECK(moment_deviation(u, 0.5, 4, 1.0 / 80, 1.0 / 2304 - 1.0 / 6400) <
        tolerance::standard_errors);
  CHECK(kolmogorov_smirnov(u, [](double x) { return x; }) < kolmogorov_smirnov_limit);
}

TEST_CASE("normal draws have the moments and distribution of the normal law") {
  const std::vector<double> z = normals(Stream(1, 0, "Z"), many);
  // E z^2, z^4, z^6, z^8 = 1, 3, 15, 105.
  CHECK(moment_deviation(z, 0.0, 1, 0.0, 1.0) < tolerance::standard_errors);
  CHECK(moment_deviation(z, 0.0, 2, 1.0, 2.0) < tolerance::standard_errors);
  CHECK(moment_deviation(z, 0.0, 3, 0.0, 15.0) < tolerance::standard_errors);
  CHECK(moment_deviation(z, 0.0, 4, 3.0, 96.0) < tolerance::standard_errors);
  CHECK(kolmogorov_smirnov(z, [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }) <
        kolmogorov_smirnov_limit);
}

TEST_CASE("the two normals of a block are independent") {
  const std::vector<double> z = normals(Stream(1, 0, "Z"), 2 * many);
  std::vector<double> first, second, first_square, second_square;
  for (std::size_t i = 0; i < z.size(); i += 2) {
    first.push_back(z[i]);
    second.push_back(z[i + 1]);
    first_square.push_back((z[i] * z[i] - 1.0) / std::sqrt(2.0));
    second_square.push_back((z[i + 1] * z[i + 1] - 1.0) / std::sqrt(2.0));
  }
  CHECK(correlation(first, second) < tolerance::standard_errors);
  CHECK(correlation(first_square, second_square) < tolerance::standard_errors);
  CHECK(correlation({z.begin(), z.end() - 2}, {z.begin() + 2, z.end()}) <
        tolerance::standard_errors);
}

TEST_CASE("the given standard deviation and interval are applied") {
  std::vector<double> z(1001), u(1001);
  Stream(5, 2, "Z").fill_normal(z, 0.25);
  Stream(5, 2, "U").fill_uniform(u, -3.0, 1.0);
  const std::vector<double> unit_z = normals(Stream(5, 2, "Z"), 1001),
                            unit_u = uniforms(Stream(5, 2, "U"), 1001);
  for (std::size_t i = 0; i < z.size(); ++i) {
    REQUIRE(z[i] == 0.25 * unit_z[i]);
    REQUIRE(u[i] ==
            doctest::Approx(-3.0 + 4.0 * unit_u[i]).epsilon(tolerance::closed_form<double>));
  }
}

TEST_CASE("streams that differ in seed, trial or name are uncorrelated") {
  const std::uint64_t high_bit = std::uint64_t{1} << 63;
  const std::vector<Stream> streams = {
      {1, 0, "W"},          {2, 0, "W"}, {1 + high_bit, 0, "W"}, {1, 1, "W"},
      {1, 0xffffffff, "W"}, {1, 0, "V"}, {1, 0, "W2"},           {1, 0, ""}};
  std::vector<std::vector<double>> drawn;
  for (const Stream& stream : streams) drawn.push_back(normals(stream, 100'000));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(correlation(drawn[i], drawn[j]) < tolerance::standard_errors);
    }
  }
}

TEST_CASE("uniform draws lie inside the open interval") {
  const std::vector<double> u = uniforms(Stream(9, 0, "U"), many);
  CHECK(*std::min_element(u.begin(), u.end()) > 0.0);
  CHECK(*std::max_element(u.begin(), u.end()) < 1.0);
  // With only two doubles or one between the ends, rounding would hit an end at every other draw.
  const double epsilon = std::numeric_limits<double>::epsilon();
  for (const double width : {3 * epsilon, 2 * epsilon}) {
    std::vector<double> draws(1000);
    Stream(9, 0, "U").fill_uniform(draws, 1.0, 1.0 + width);
    for (const double draw : draws) {
      REQUIRE(draw > 1.0);
      REQUIRE(draw < 1.0 + width);
    }
  }
}

TEST_CASE("an interval that contains no double is refused") {
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  double draw = 0.0;
  Stream stream(1, 0, "U");
  CHECK_THROWS_AS(stream.fill_uniform({&draw, 1}, 1.0, 1.0), Failure);
  CHECK_THROWS_AS(
      stream.fill_uniform({&draw, 1}, 1.0, 1.0 + std::numeric_limits<double>::epsilon()), Failure);
  CHECK_THROWS_AS(stream.fill_uniform({&draw, 1}, 2.0, 1.0), Failure);
  CHECK_THROWS_AS(stream.fill_uniform({&draw, 1}, 0.0, infinity), Failure);
  CHECK_THROWS_AS(stream.fill_uniform({&draw, 1}, nan, 1.0), Failure);
}

TEST_CASE("a matrix does not depend on how its fill is split if the pieces have even sizes") {
  const std::vector<double> whole = normals(Stream(4, 7, "X"), 3000),
                            whole_uniform = uniforms(Stream(4, 7, "X"), 3000);
  for (const std::size_t piece : {2u, 6u, 510u, 512u, 514u, 1000u}) {
    CAPTURE(piece);
    std::vector<double> cut(whole.size()), cut_uniform(whole.size());
    Stream stream(4, 7, "X"), uniform_stream(4, 7, "X");
    for (std::size_t at = 0; at < cut.size(); at += piece) {
      const std::size_t length = std::min(piece, cut.size() - at);
      stream.fill_normal(std::span(cut).subspan(at, length));
      uniform_stream.fill_uniform(std::span(cut_uniform).subspan(at, length));
    }
    CHECK(same_bytes(cut, whole));
    CHECK(same_bytes(cut_uniform, whole_uniform));
  }
}

TEST_CASE("a fill of odd size and a single draw leave the second half of the last block unused") {
  const std::vector<double> whole = uniforms(Stream(4, 7, "X"), 10);
  Stream stream(4, 7, "X");
  std::vector<double> three(3);
  stream.fill_uniform(three);
  CHECK(three[2] == whole[2]);
  CHECK(stream.uniform() == whole[4]);
  CHECK(stream.uniform() == whole[6]);
  stream.skip(1);
  CHECK(stream.uniform() == uniforms(Stream(4, 7, "X"), 12)[10]);
}

TEST_CASE("draws depend neither on their order nor on the number of threads") {
  const std::size_t trials = 8, n = 10'001;
  std::vector<std::vector<double>> sequential, parallel(trials);
  for (std::size_t t = 0; t < trials; ++t) sequential.push_back(normals(Stream(11, t, "X"), n));
  std::vector<std::thread> threads;
  for (std::size_t t = trials; t-- > 0;) {
    threads.emplace_back([t, &parallel] {
      uniforms(Stream(11, t, "other"), 77);
      parallel[t] = normals(Stream(11, t, "X"), n);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < trials; ++t) CHECK(same_bytes(sequential[t], parallel[t]));
}

TEST_CASE("a stream ends before its block index wraps around and writes nothing beyond the end") {
  Stream stream(1, 0, "X");
  stream.skip(0xffffffffu);
  std::vector<double> three(3, -1.0);
  CHECK_THROWS_AS(stream.fill_normal(three), Failure);
  CHECK_THROWS_AS(stream.fill_uniform(three), Failure);
  CHECK(three == std::vector<double>(3, -1.0));
  CHECK_NOTHROW(stream.uniform());  // the last block is still available
  CHECK_THROWS_AS(stream.uniform(), Failure);
  CHECK_THROWS_AS(stream.next_block(), Failure);
}

TEST_CASE("a trial beyond 32 bits is refused") {
  CHECK_NOTHROW(Stream(1, 0xffffffffu, "X"));
  CHECK_THROWS_AS(Stream(1, std::uint64_t{1} << 32, "X"), Failure);
}

}  // namespace random_test
