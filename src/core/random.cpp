// Streams of Philox 4x32-10 and the two distributions.
//
// The normal distribution uses our own logarithm, sine and cosine: short series that the compiler
// vectorizes, independent of the C library. The rounding of a product plus a term depends on
// whether the compiler fuses them; std::fma leaves it no choice. So every compiler, and the vector
// and the scalar part of a loop, give the same bits. Choices use masks because loops with a branch
// are not vectorized.
#include "core/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/philox.hpp"

namespace ranklab {
namespace {

constexpr std::uint64_t most_blocks = std::uint64_t{1} << 32;  // the block index has 32 bits
constexpr std::size_t batch_blocks = 256;  // a batch stays in the first-level cache

constexpr std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
constexpr std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

/// FNV-1a followed by the finalizer of MurmurHash3: FNV-1a alone gives close hashes to names that
/// differ only in the last letter.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = fnv1a(name);
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 33);
}

/// 53 random bits on (0, 1): a multiple of 2^-53, with 2^-54 in the place of 0.
inline double open_uniform(std::uint32_t high, std::uint32_t low) {
  const double u = static_cast<double>(high) * 0x1p-32 + static_cast<double>(low >> 11) * 0x1p-53;
  const std::uint32_t bits = high | (low >> 11), is_zero = (~bits & (bits - 1)) >> 31;
  return u + static_cast<double>(is_zero) * 0x1p-54;
}

/// log(x) of a positive normal x, to about one unit of rounding.
inline double logarithm(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)): adding `offset` moves the split between exponents
  // from 1 to sqrt(1/2).
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcdu, mantissa = 0x000fffffffffffffu,
                          offset = 0x3ff0000000000000u - sqrt_half;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + offset;
  const double e = static_cast<double>(static_cast<std::int32_t>(shifted >> 52) - 1023);
  const double f = std::bit_cast<double>((shifted & mantissa) + sqrt_half) - 1.0;
  // log(m) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), |s| < 0.172.
  const double s = f / (2.0 + f), q = s * s;
  double tail = 0.0;
  for (int odd = 21; odd >= 3; odd -= 2) tail = std::fma(tail, q, 1.0 / odd);
  constexpr double log_2 = 0.693147180559945309417;
  return std::fma(e, log_2, std::fma(2.0 * s, q * tail, 2.0 * s));
}

struct Direction {
  double cosine, sine;
};

/// A point on the unit circle, uniform for uniform words: two bits choose the quadrant, 51 the
/// angle from its middle.
inline Direction direction(std::uint32_t high, std::uint32_t low) {
  const double turn = static_cast<double>(high & 0x3fffffffu) * 0x1p-30 +
                      static_cast<double>(low >> 11) * 0x1p-51 - 0.5;
  constexpr double half_pi = 1.57079632679489661923;
  const double angle = turn * half_pi, q = angle * angle;
  // Taylor, nested: sine / angle = 1 - q/(2 3) (1 - q/(4 5) (1 - ...)), cosine = 1 - q/(1 2) (1 -
  // q/(3 4) (1 - ...)).
  double sine = 1.0, cosine = 1.0;
  for (int k = 16; k >= 2; k -= 2) {
    sine = std::fma(q * (-1.0 / (k * (k + 1))), sine, 1.0);
    cosine = std::fma(q * (-1.0 / (k * (k - 1))), cosine, 1.0);
  }
  sine *= angle;
  // A quarter turn makes (-sine, cosine) of (cosine, sine), half a turn changes both signs.
  const std::uint64_t quarter = -std::uint64_t{(high >> 30) & 1u},
                      half = std::uint64_t{high >> 31} << 63;
  const std::uint64_t c = std::bit_cast<std::uint64_t>(cosine),
                      s = std::bit_cast<std::uint64_t>(sine), sign = std::uint64_t{1} << 63;
  return {std::bit_cast<double>((((s ^ sign) & quarter) | (c & ~quarter)) ^ half),
          std::bit_cast<double>(((c & quarter) | (s & ~quarter)) ^ half)};
}

}  // namespace

struct Stream::Batch {
  std::uint32_t word[4][batch_blocks];
};

Stream::Stream(std::uint64_t seed, std::uint64_t trial, std::string_view name)
    : seed_(seed), name_hash_(hash_name(name)), trial_(low_word(trial)) {
  if (high_word(trial) != 0)
    throw Failure("random stream '" + std::string(name) + "': trial " + std::to_string(trial) +
                  " exceeds 2^32 - 1");
}

std::uint64_t Stream::take(std::uint64_t blocks) {
  if (blocks > most_blocks - block_)
    throw Failure("random stream: more than 2^33 draws from one stream");
  const std::uint64_t first = block_;
  block_ += blocks;
  return first;
}

void Stream::encipher(std::uint64_t first, std::size_t count, Batch& batch) const {
  philox4x32_blocks(first, count, {trial_, low_word(name_hash_), high_word(name_hash_)},
                    {low_word(seed_), high_word(seed_)},
                    {batch.word[0], batch.word[1], batch.word[2], batch.word[3]});
}

Stream::Block Stream::next_block() {
  Batch batch;
  encipher(take(1), 1, batch);
  return {{batch.word[0][0], batch.word[1][0], batch.word[2][0], batch.word[3][0]}};
}

double Stream::uniform() {
  double u = 0.0;
  fill_uniform({&u, 1});
  return u;
}

void Stream::fill_uniform(std::span<double> out, double low, double high) {
  const double width = high - low, lowest = std::nextafter(low, high),
               highest = std::nextafter(high, low);
  if (!std::isfinite(width) || !(low < highest)) {
    throw Failure("random stream: no number between " + std::to_string(low) + " and " +
                  std::to_string(high));
  }
  std::uint64_t block = take((out.size() + 1) / 2);
  Batch batch;
  double draw[2 * batch_blocks];
  while (!out.empty()) {
    const std::size_t length = std::min(out.size(), 2 * batch_blocks), count = (length + 1) / 2;
    encipher(block, count, batch);
    for (std::size_t i = 0; i < count; ++i) {
      draw[2 * i] = std::fma(width, open_uniform(batch.word[0][i], batch.word[1][i]), low);
      draw[2 * i + 1] = std::fma(width, open_uniform(batch.word[2][i], batch.word[3][i]), low);
    }
    // fma may round to an end of the interval.
    for (std::size_t i = 0; i < length; ++i) {
      const double raised = draw[i] < lowest ? lowest : draw[i];
      out[i] = raised > highest ? highest : raised;
    }
    out = out.subspan(length);
    block += count;
  }
}

void Stream::fill_normal(std::span<double> out, double standard_deviation) {
  std::uint64_t block = take((out.size() + 1) / 2);
  Batch batch;
  double radius[batch_blocks], draw[2 * batch_blocks];
  while (!out.empty()) {
    const std::size_t length = std::min(out.size(), 2 * batch_blocks), count = (length + 1) / 2;
    encipher(block, count, batch);
    for (std::size_t i = 0; i < count; ++i)
      radius[i] = -2.0 * logarithm(open_uniform(batch.word[0][i], batch.word[1][i]));
    // A loop of its own: the check of std::sqrt for negative arguments prevents vectorization.
    for (std::size_t i = 0; i < count; ++i) radius[i] = standard_deviation * std::sqrt(radius[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const auto [cosine, sine] = direction(batch.word[2][i], batch.word[3][i]);
      draw[2 * i] = radius[i] * cosine;
      draw[2 * i + 1] = radius[i] * sine;
    }
    std::copy_n(draw, length, out.begin());
    out = out.subspan(length);
    block += count;
  }
}

}  // namespace ranklab
