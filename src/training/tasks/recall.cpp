#include "training/tasks/recall.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "core/error.hpp"
#include "training/tasks/without_replacement.hpp"

namespace ranklab {
namespace {

constexpr double slot_power = 0.01;  // a
constexpr std::uint64_t most_words = std::uint64_t{1} << 32;

/// What a sequence is drawn into, and from; the vectors keep their memory from sequence to sequence.
struct Draw {
  explicit Draw(const RecallShape& shape)
      : pairs(shape.pairs),
        uniforms(shape.pairs + shape.length / 2),
        patience(shape.length / 2 - shape.pairs),
        arrival(patience.size()),
        keys(shape.vocabulary / 2 - 1),
        values(shape.vocabulary - shape.vocabulary / 2),
        slots(patience.size()) {
    for (std::size_t s = 0; s < patience.size(); ++s) patience[s] = std::pow(static_cast<double>(s + 1), 1 - slot_power);
  }

  /// The first D of keys, values and slots become those of the next sequence.
  void next(Stream& stream) {
    stream.fill_uniform(uniforms);
    const std::span<const double> all(uniforms);
    std::iota(keys.begin(), keys.end(), 1u);
    draw_without_replacement(keys, all.first(pairs));
    std::iota(values.begin(), values.end(), static_cast<std::uint32_t>(keys.size() + 1));
    draw_without_replacement(values, all.subspan(pairs, pairs));
    // Of exponential times with rates w, the smallest is that of s with probability w_s / sum w, and so on among those left: Gumbel
    // top-k, as -log(-log(u) / w) = log w + Gumbel. Source: Efraimidis, Spirakis, "Weighted random sampling with a reservoir",
    // 2006.
    for (std::size_t s = 0; s < slots.size(); ++s) arrival[s] = -std::log(uniforms[2 * pairs + s]) * patience[s];
    std::iota(slots.begin(), slots.end(), 0u);
    std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(pairs), slots.end(),
                      [&](std::uint32_t s, std::uint32_t t) { return arrival[s] < arrival[t]; });
  }

  std::uint64_t pairs;
  std::vector<double> uniforms;           // 2 D + S
  std::vector<double> patience, arrival;  // S: 1 / w, and the times
  std::vector<std::uint32_t> keys, values, slots;
};

}  // namespace

void require_recall(const RecallShape& shape) {
  const auto refuse = [](const std::string& flag, std::uint64_t value, const std::string& allowed) {
    throw UsageError("--" + flag + " " + std::to_string(value) + " is not allowed; allowed: " + allowed);
  };
  const std::string length = " --length " + std::to_string(shape.length);
  if (shape.length < 4 || shape.length % 2 != 0) refuse("length", shape.length, "even numbers from 4 on");
  if (shape.pairs < 1 || shape.pairs > shape.length / 4) {
    refuse("pairs", shape.pairs, "1 to " + std::to_string(shape.length / 4) + ", a quarter of" + length);
  }
  // Then V / 2 - 1 >= 2 D - 1: there are keys and values enough.
  if (shape.vocabulary <= shape.length || shape.vocabulary > most_words) {
    refuse("vocab", shape.vocabulary, "more than" + length + ", at most " + std::to_string(most_words));
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
