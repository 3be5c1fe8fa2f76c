// Drawn tensors: their dependencies and the laws of their entries.
#include "nn/blocks/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"

namespace tensors_test {

using namespace ranklab;

namespace {

using Entries = std::vector<double>;

Entries entries(const arma::mat& A) {
  return Entries(A.begin(), A.end());
}

bool same(const arma::mat& A, const arma::mat& B) {
  return arma::size(A) == arma::size(B) && std::equal(A.begin(), A.end(), B.begin());
}

const Streams& trial(std::uint64_t index = 3) {
  static const Streams third(1, 3), fourth(1, 4);
  return index == 3 ? third : fourth;
}

// Checks the sample's mean and variance against the law in standard errors; `fourth` is the fourth
// central moment of the law.
void check_moments(const Entries& x, double mean, double variance, double fourth) {
  const double n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (const double value : x) sum += value;
  for (const double value : x) squares += (value - mean) * (value - mean);
  CHECK(std::abs(sum / n - mean) < tolerance::standard_errors * std::sqrt(variance / n));
  CHECK(std::abs(squares / n - variance) <
        tolerance::standard_errors * std::sqrt((fourth - variance * variance) / n));
}

void check_normal(const Entries& x, double deviation) {
  check_moments(x, 0, std::pow(deviation, 2), 3 * std::pow(deviation, 4));
}

void check_uniform(const Entries& x, double low, double high) {
  const double width = high - low;
  check_moments(x, (low + high) / 2, std::pow(width, 2) / 12, std::pow(width, 4) / 80);
  CHECK(*std::min_element(x.begin(), x.end()) > low);
  CHECK(*std::max_element(x.begin(), x.end()) < high);
  // There are draws near both ends: a hundredth of the width holds a thousand of a hundred thousand
  // draws.
  CHECK(*std::min_element(x.begin(), x.end()) < low + width / 100);
  CHECK(*std::max_element(x.begin(), x.end()) > high - width / 100);
}

}  // namespace

TEST_CASE("tensors: the entries follow their laws") {
  DrawnTensors<double> tensors(trial(), "");
  check_normal(entries(tensors.matrix("normal", 300, 400, EntryLaw::normal(0.2))), 0.2);
  check_uniform(entries(tensors.matrix("uniform", 300, 400, EntryLaw::uniform(-1.0, 3.0))), -1, 3);
  check_uniform(entries(tensors.matrix("fan-in", 16, 8000, EntryLaw::fan_in(16))), -0.25, 0.25);
  CHECK(tensors.matrix("constant", 3, 2, EntryLaw::constant(0.5)).is_zero() == false);
  CHECK(same(tensors.matrix("constant", 3, 2, EntryLaw::constant(0.5)),
             arma::mat(3, 2, arma::fill::value(0.5))));
  const Entries gains = entries(tensors.vector("gain", 100'000, EntryLaw::normal(2.0)));
  check_normal(gains, 2);
}

TEST_CASE("tensors: the map is applied to the entries after they are drawn") {
  DrawnTensors<double> tensors(trial(), "p/");
  const arma::mat plain = tensors.matrix("A", 5, 7, EntryLaw::uniform(1.0, 16.0));
  const arma::mat mapped = tensors.matrix(
      "A", 5, 7, EntryLaw::uniform(1.0, 16.0).mapped([](double x) { return std::log(x); }));
  CHECK(same(mapped, arma::log(plain)));
  const arma::vec ones =
      tensors.vector("c", 3, EntryLaw::constant(4.0).mapped([](double x) { return std::sqrt(x); }));
  CHECK(same(ones, arma::vec(3, arma::fill::value(2.0))));
}

TEST_CASE("tensors: a draw depends only on the trial and the full name") {
  DrawnTensors<double> alone(trial(), "block1/"), others(trial(), "block1/");
  others.matrix("W_k", 9, 9, EntryLaw::normal(1.0));
  others.vector("gain", 4, EntryLaw::uniform(0.0, 1.0));
  const arma::mat W = alone.matrix("W_q", 8, 5, EntryLaw::normal(1.0));
  CHECK(same(W, others.matrix("W_q", 8, 5, EntryLaw::normal(1.0))));
  // The prefix is part of the name, wherever the split is.
  CHECK(
      same(W, DrawnTensors<double>(trial(), "block").matrix("1/W_q", 8, 5, EntryLaw::normal(1.0))));
  CHECK_FALSE(
      same(W, DrawnTensors<double>(trial(), "block2/").matrix("W_q", 8, 5, EntryLaw::normal(1.0))));
  CHECK_FALSE(
      same(W, DrawnTensors<double>(trial(), "block1/").matrix("W_v", 8, 5, EntryLaw::normal(1.0))));
  CHECK_FALSE(same(
      W, DrawnTensors<double>(trial(4), "block1/").matrix("W_q", 8, 5, EntryLaw::normal(1.0))));
  // The entries are the stream's draws, column by column.
  Entries drawn(40);
  trial().stream("block1/W_q").fill_normal(drawn);
  CHECK(entries(W) == drawn);
}

TEST_CASE("tensors: a column depends on its id, not on the other columns") {
  for (const arma::uword rows : {6u, 7u}) {
    CAPTURE(rows);
    DrawnTensors<double> tensors(trial(), "");
    const EntryLaw start = EntryLaw::normal(1.0);
    const arma::mat part = tensors.columns("E", rows, 50, {4, 49, 0, 4}, start);
    REQUIRE(part.n_rows == rows);
    REQUIRE(part.n_cols == 4);
    std::vector<std::uint32_t> ids(50);
    for (std::uint32_t id = 0; id < 50; ++id) ids[id] = id;
    const arma::mat all = tensors.columns("E", rows, 50, ids, start);
    CHECK(same(part.col(0), all.col(4)));
    CHECK(same(part.col(1), all.col(49)));
    CHECK(same(part.col(2), all.col(0)));
    CHECK(same(part.col(3), part.col(0)));
    CHECK(same(tensors.columns("E", rows, 50, {49}, start), all.col(49)));
    // A larger table starts with the same columns.
    CHECK(same(tensors.columns("E", rows, 1'000'000, {49, 999'999}, start).col(0), all.col(49)));
    // Different ids have different draws.
    Entries sorted = entries(all);
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  }
  std::vector<std::uint32_t> ids(2000);
  for (std::uint32_t i = 0; i < 2000; ++i) ids[i] = 17 * i;
  check_normal(
      entries(
          DrawnTensors<double>(trial(), "").columns("E", 51, 40'000, ids, EntryLaw::normal(0.02))),
      0.02);
}

TEST_CASE("tensors: the scale multiplies matrices but not vectors") {
  DrawnTensors<double> plain(trial(), ""), scaled(trial(), "", 4.0);
  CHECK(same(scaled.matrix("W", 5, 6, EntryLaw::normal(1.0)),
             4.0 * plain.matrix("W", 5, 6, EntryLaw::normal(1.0))));
  CHECK(same(scaled.columns("E", 5, 9, {2, 8}, EntryLaw::normal(1.0)),
             4.0 * plain.columns("E", 5, 9, {2, 8}, EntryLaw::normal(1.0))));
  CHECK(same(scaled.matrix("I", 2, 2, EntryLaw::constant(1.0)),
             arma::mat(2, 2, arma::fill::value(4.0))));
  CHECK(same(scaled.vector("gain", 6, EntryLaw::normal(1.0)),
             plain.vector("gain", 6, EntryLaw::normal(1.0))));
  const auto log = [](double x) { return std::log(x); };  // the scale is applied after the map
  CHECK(same(scaled.matrix("M", 3, 3, EntryLaw::uniform(1, 2).mapped(log)),
             4.0 * plain.matrix("M", 3, 3, EntryLaw::uniform(1, 2).mapped(log))));
}

TEST_CASE("tensors: single precision rounds the same draws") {
  DrawnTensors<double> exact(trial(), "a/", 3.0);
  DrawnTensors<float> single(trial(), "a/", 3.0);
  const auto rounded = [](const arma::mat& A) {
    return arma::conv_to<arma::mat>::from(arma::conv_to<arma::fmat>::from(A));
  };
  const auto widened = [](const arma::fmat& A) { return arma::conv_to<arma::mat>::from(A); };
  CHECK(same(widened(single.matrix("W", 7, 3, EntryLaw::normal(0.1))),
             rounded(exact.matrix("W", 7, 3, EntryLaw::normal(0.1)))));
  CHECK(same(widened(single.columns("E", 7, 9, {8, 1}, EntryLaw::uniform(0, 1))),
             rounded(exact.columns("E", 7, 9, {8, 1}, EntryLaw::uniform(0, 1)))));
  CHECK(same(widened(single.vector("b", 5, EntryLaw::fan_in(3))),
             rounded(exact.vector("b", 5, EntryLaw::fan_in(3)))));
}

TEST_CASE("tensors: the parameter count includes whole tables") {
  DrawnTensors<float> tensors(trial(), "");
  CHECK(tensors.parameters() == 0);
  tensors.matrix("W", 7, 3, EntryLaw::normal(1.0));
  CHECK(tensors.parameters() == 21);
  tensors.vector("b", 5, EntryLaw::constant(0.0));
  CHECK(tensors.parameters() == 26);
  tensors.columns("E", 4, 100, {1, 2}, EntryLaw::normal(1.0));
  CHECK(tensors.parameters() == 426);
}

}  // namespace tensors_test
