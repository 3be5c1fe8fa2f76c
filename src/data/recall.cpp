#include "data/recall.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "core/error.hpp"
#include "data/without_replacement.hpp"

namespace ranklab {
namespace {

constexpr double slot_power = 0.01;  // a
constexpr std::uint64_t max_vocabulary = std::uint64_t{1} << 32;

/// Working memory for drawing sequences; the vectors are reused from sequence to sequence.
struct Draw {
  explicit Draw(const RecallShape& shape)
      : pairs(shape.pairs),
        uniforms(shape.pairs + shape.length / 2),
        mean_time(shape.length / 2 - shape.pairs),
        arrival(mean_time.size()),
        keys(shape.vocabulary / 2 - 1),
        values(shape.vocabulary - shape.vocabulary / 2),
        slots(mean_time.size()) {
    for (std::size_t s = 0; s < mean_time.size(); ++s)
      mean_time[s] = std::pow(static_cast<double>(s + 1), 1 - slot_power);
  }

  /// Draws the next sequence: the first D entries of keys, values and slots.
  void next(Stream& stream) {
    stream.fill_uniform(uniforms);
    const std::span<const double> all(uniforms);
    std::iota(keys.begin(), keys.end(), 1u);
    draw_without_replacement(keys, all.first(pairs));
    std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(keys.size() + 1));
    draw_without_replacement(values, all.subspan(pairs, pairs));
    // Among exponential times with rates w_s, the smallest is that of s with probability w_s / sum
    // w, and so on among the remaining ones. This is Gumbel top-k, because -log(-log(u) / w) = log
    // w + Gumbel. Source: Efraimidis, Spirakis, "Weighted random sampling with a reservoir", 2006.
    for (std::size_t s = 0; s < slots.size(); ++s)
      arrival[s] = -std::log(uniforms[2 * pairs + s]) * mean_time[s];
    std::iota(slots.begin(), slots.end(), 0u);
    std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(pairs),
                      slots.end(),
                      [&](std::uint32_t s, std::uint32_t t) { return arrival[s] < arrival[t]; });
  }

  std::uint64_t pairs;
  std::vector<double> uniforms;            // 2 D + S
  std::vector<double> mean_time, arrival;  // S: 1 / w, and exponential times
  std::vector<std::uint32_t> keys, values, slots;
};

}  // namespace

void require_recall(const RecallShape& shape) {
  const auto refusal = [](const std::string& flag, std::uint64_t value,
                          const std::string& allowed) {
    return "--" + flag + " " + std::to_string(value) + " is not allowed; allowed: " + allowed;
  };
  const std::string length = " --length " + std::to_string(shape.length);
  if (shape.length < 4 || shape.length % 2 != 0)
    throw UsageError(refusal("length", shape.length, "even numbers of at least 4"));
  if (shape.pairs < 1 || shape.pairs > shape.length / 4) {
    const std::string most = std::to_string(shape.length / 4);
    throw Misfit(refusal("pairs", shape.pairs, "1 to " + most + ", a quarter of" + length), "pairs",
                 most, {"length"});
  }
  // This implies V / 2 - 1 >= 2 D - 1, so there are enough keys and values.
  if (shape.vocabulary <= shape.length || shape.vocabulary > max_vocabulary) {
    throw Misfit(refusal("vocab", shape.vocabulary,
                         "above" + length + ", at most " + std::to_string(max_vocabulary)),
                 "vocab", std::to_string(std::min(2 * shape.length, max_vocabulary)), {"length"});
  }
}

RecallBatch draw_recall(const RecallShape& shape, std::uint64_t sequences, Stream& stream) {
  RecallBatch batch;
  batch.ids.assign(sequences * shape.length, 0);
  batch.columns.reserve(sequences * shape.pairs);
  batch.targets.reserve(sequences * shape.pairs);
  Draw draw(shape);
  for (std::uint64_t b = 0; b < sequences; ++b) {
    draw.next(stream);
    const std::uint64_t first = b * shape.length, queries = first + 2 * shape.pairs;
    for (std::uint64_t i = 0; i < shape.pairs; ++i) {
      const std::uint64_t column = queries + 2 * std::uint64_t{draw.slots[i]};
      batch.ids[first + 2 * i] = batch.ids[column] = draw.keys[i];
      batch.ids[first + 2 * i + 1] = draw.values[i];
      batch.columns.push_back(column);
      batch.targets.push_back(draw.values[i]);
    }
  }
  return batch;
}

}  // namespace ranklab
