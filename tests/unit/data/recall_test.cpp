#include "data/recall.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "data/without_replacement.hpp"

namespace recall_test {

using namespace ranklab;

namespace {

std::string complaint(const RecallShape& shape) {
  try {
    require_recall(shape);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Whether `hits` is plausible for `draws` independent draws that hit with this probability.
bool plausible(double hits, double draws, double probability) {
  return std::fabs(hits - draws * probability) <=
         tolerance::standard_errors * std::sqrt(draws * probability * (1 - probability));
}

}  // namespace

TEST_CASE(
    "a sequence is pairs, then their keys at even positions among zeros; a query's target is its "
    "key's value") {
  for (const RecallShape& shape : {RecallShape{64, 32, 4}, RecallShape{33, 32, 8},
                                   RecallShape{5, 4, 1}, RecallShape{256, 64, 8}}) {
    CAPTURE(shape.length);
    constexpr std::uint64_t sequences = 300;
    const std::uint64_t L = shape.length, D = shape.pairs, keys = shape.vocabulary / 2;
    Stream stream(3, 0, "recall");
    const RecallBatch batch = draw_recall(shape, sequences, stream);
    REQUIRE(batch.ids.size() == sequences * L);
    REQUIRE(batch.columns.size() == sequences * D);
    REQUIRE(batch.targets.size() == sequences * D);
    for (std::uint64_t b = 0; b < sequences; ++b) {
      const std::uint32_t* const ids = batch.ids.data() + b * L;
      std::map<std::uint32_t, std::uint32_t> value_of;
      std::set<std::uint32_t> values;
      for (std::uint64_t i = 0; i < D; ++i) {
        const std::uint32_t key = ids[2 * i], value = ids[2 * i + 1];
        CHECK((key >= 1 && key < keys));
        CHECK((value >= keys && value < shape.vocabulary));
        value_of[key] = value;
        values.insert(value);
      }
      CHECK(value_of.size() == D);
      CHECK(values.size() == D);
      std::set<std::uint64_t> queries;
      for (std::uint64_t i = 0; i < D; ++i) {
        const std::uint64_t column = batch.columns[b * D + i], place = column - b * L;
        CHECK((column >= b * L + 2 * D && place < L && place % 2 == 0));
        CHECK(batch.ids[column] == ids[2 * i]);
        CHECK(batch.targets[b * D + i] == value_of.at(batch.ids[column]));
        queries.insert(place);
      }
      CHECK(queries.size() == D);
      for (std::uint64_t place = 2 * D; place < L; ++place)
        CHECK((ids[place] != 0) == (queries.count(place) == 1));
    }
  }
}

TEST_CASE("keys and values are uniform at each position") {
  const RecallShape shape{22, 16, 3};  // 10 keys, 11 values
  constexpr std::uint64_t sequences = 20000;
  Stream stream(4, 0, "recall");
  const RecallBatch batch = draw_recall(shape, sequences, stream);
  for (std::uint64_t i = 0; i < shape.pairs; ++i) {
    std::vector<double> keys(22, 0.0), values(22, 0.0);
    for (std::uint64_t b = 0; b < sequences; ++b) {
      keys.at(batch.ids[b * shape.length + 2 * i]) += 1;
      values.at(batch.ids[b * shape.length + 2 * i + 1]) += 1;
    }
    for (std::size_t id = 1; id <= 10; ++id) CHECK(plausible(keys[id], sequences, 0.1));
    for (std::size_t id = 11; id <= 21; ++id) CHECK(plausible(values[id], sequences, 1.0 / 11));
  }
}

TEST_CASE(
    "slots follow successive draws with weights (s + 1)^(a - 1), checked by enumeration for two "
    "pairs") {
  const RecallShape shape{17, 16, 2};
  constexpr std::uint64_t sequences = 50000, slots = 6;
  Stream stream(5, 0, "recall");
  const RecallBatch batch = draw_recall(shape, sequences, stream);
  double counts[slots][slots] = {};
  for (std::uint64_t b = 0; b < sequences; ++b) {
    const auto slot = [&](std::uint64_t i) {
      return (batch.columns[2 * b + i] - b * shape.length - 4) / 2;
    };
    counts[slot(0)][slot(1)] += 1;
  }
  double weight[slots], total = 0;
  for (std::uint64_t s = 0; s < slots; ++s)
    total += weight[s] = std::pow(static_cast<double>(s + 1), 0.01 - 1);
  for (std::uint64_t first = 0; first < slots; ++first) {
    CHECK(counts[first][first] == 0);
    for (std::uint64_t second = 0; second < slots; ++second) {
      if (second == first) continue;
      CHECK(plausible(counts[first][second], sequences,
                      weight[first] / total * weight[second] / (total - weight[first])));
    }
  }
}

TEST_CASE(
    "the exponent of the slots' law is a = 0.01: the mean of log(s + 1) distinguishes it from 0") {
  const RecallShape shape{66, 64, 1};
  constexpr std::uint64_t sequences = 400000, slots = 31;
  const auto moments = [&](double a) {  // of log(s + 1)
    double total = 0, mean = 0, square = 0;
    for (std::uint64_t s = 0; s < slots; ++s) {
      const double log = std::log(static_cast<double>(s + 1)), weight = std::exp((a - 1) * log);
      total += weight;
      mean += weight * log;
      square += weight * log * log;
    }
    return std::pair{mean / total, std::sqrt(square / total - mean * mean / (total * total))};
  };
  Stream stream(6, 0, "recall");
  double mean = 0;
  const RecallBatch batch = draw_recall(shape, sequences, stream);
  for (std::uint64_t b = 0; b < sequences; ++b)
    mean += std::log(static_cast<double>((batch.columns[b] - b * shape.length) / 2));
  mean /= sequences;
  const auto [expected, deviation] = moments(0.01);
  const double standard_error = deviation / std::sqrt(static_cast<double>(sequences));
  CHECK(std::fabs(mean - expected) <= tolerance::standard_errors * standard_error);
  CHECK(std::fabs(mean - moments(0).first) > tolerance::standard_errors * standard_error);
}

TEST_CASE("the same stream draws the same sequences in one batch or two") {
  const RecallShape shape;
  Stream one(7, 2, "recall"), two(7, 2, "recall"), other(8, 2, "recall");
  const RecallBatch whole = draw_recall(shape, 10, one), first = draw_recall(shape, 4, two),
                    second = draw_recall(shape, 6, two);
  std::vector<std::uint32_t> ids = first.ids, targets = first.targets;
  std::vector<std::uint64_t> columns = first.columns;
  ids.insert(ids.end(), second.ids.begin(), second.ids.end());
  targets.insert(targets.end(), second.targets.begin(), second.targets.end());
  for (const std::uint64_t column : second.columns) columns.push_back(column + 4 * shape.length);
  CHECK(whole.ids == ids);
  CHECK(whole.targets == targets);
  CHECK(whole.columns == columns);
  CHECK(draw_recall(shape, 10, other).ids != whole.ids);
}

TEST_CASE("shapes without enough room are refused with the flag") {
  for (const RecallShape& shape :
       {RecallShape{64, 32, 4}, RecallShape{33, 32, 8}, RecallShape{5, 4, 1},
        RecallShape{std::uint64_t{1} << 32, 512, 64}}) {
    CHECK(complaint(shape).empty());
  }
  CHECK(complaint({64, 31, 4}) ==
        "--length 31 is not allowed; allowed: even numbers of at least 4");
  CHECK(complaint({64, 2, 1}).starts_with("--length 2 is not allowed"));
  CHECK(complaint({64, 32, 9}) ==
        "--pairs 9 is not allowed; allowed: 1 to 8, a quarter of --length 32");
  CHECK(complaint({64, 32, 0}).starts_with("--pairs 0 is not allowed"));
  CHECK(complaint({64, 32, std::uint64_t{1} << 62})
            .starts_with("--pairs 4611686018427387904 is not allowed"));  // 4 D would be 0
  CHECK(complaint({32, 32, 4}) ==
        "--vocab 32 is not allowed; allowed: above --length 32, at most 4294967296");
  CHECK(complaint({(std::uint64_t{1} << 32) + 1, 32, 4})
            .starts_with("--vocab 4294967297 is not allowed"));
}

TEST_CASE(
    "draws without replacement: the ends of (0, 1) work, and all orders of a small pool are "
    "equally frequent") {
  std::vector<std::uint32_t> pool(7);
  std::iota(pool.begin(), pool.end(), 0u);
  draw_without_replacement(pool, std::vector<double>(7, 0x1p-54));
  CHECK(pool == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
  draw_without_replacement(pool, std::vector<double>(2, 1 - 0x1p-53));
  CHECK(pool == std::vector<std::uint32_t>{6, 0, 2, 3, 4, 5, 1});
  std::map<std::vector<std::uint32_t>, double> counts;
  Stream stream(9, 0, "orders");
  constexpr double draws = 24000;
  for (int i = 0; i < static_cast<int>(draws); ++i) {
    std::vector<std::uint32_t> order = {0, 1, 2, 3};
    std::vector<double> uniforms(4);
    stream.fill_uniform(uniforms);
    draw_without_replacement(order, uniforms);
    counts[order] += 1;
  }
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) CHECK(plausible(count, draws, 1.0 / 24));
}

}  // namespace recall_test
