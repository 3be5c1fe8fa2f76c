// Random numbers: Philox 4x32-10 streams keyed by (seed, trial, name of the drawn matrix).
//
// A stream is a pure function of its key and of the position in it, so the numbers do not depend on
// threads, on the order of drawing, or on which other matrices are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ranklab {

/// One stream of independent draws: 2^32 blocks of Philox, two draws per block. Every call starts
/// at a new block: a fill of odd length leaves the second half of its last block unused, and so
/// does uniform(). Drawing beyond the last block throws Failure before anything is written.
class Stream {
 public:
  /// The key is `seed`, low word first; the counter is {block index, trial, hash of name low, hash
  /// of name high}. Throws Failure if `trial` does not fit 32 bits.
  Stream(std::uint64_t seed, std::uint64_t trial, std::string_view name);

  /// Independent draws, uniform on the open interval (low, high), from 53 random bits each. Throws
  /// Failure if the interval is not finite or contains no double.
  void fill_uniform(std::span<double> out, double low = 0.0, double high = 1.0);

  /// Independent draws from N(0, standard_deviation^2), by Box-Muller: the first two words of a
  /// block give the radius, the last two the direction.
  void fill_normal(std::span<double> out, double standard_deviation = 1.0);

  /// One draw, uniform on (0, 1).
  double uniform();

  /// The next block of the cipher: four words. Exposed for tests.
  struct Block {
    std::uint32_t word[4];
  };
  Block next_block();

  /// Skips this many blocks.
  void skip(std::uint64_t blocks) { take(blocks); }

 private:
  struct Batch;

  /// Reserves the next blocks and returns the index of the first; throws Failure if fewer are left.
  std::uint64_t take(std::uint64_t blocks);

  /// The words of `count` blocks from block `first`.
  void encipher(std::uint64_t first, std::size_t count, Batch& batch) const;

  std::uint64_t seed_;
  std::uint64_t name_hash_;
  std::uint32_t trial_;
  std::uint64_t block_ = 0;  // up to and including 2^32, where the stream ends
};

/// The random streams of one trial, one for each name of a drawn matrix.
class Streams {
 public:
  Streams(std::uint64_t seed, std::uint64_t trial) : seed_(seed), trial_(trial) {}

  Stream stream(std::string_view name) const { return {seed_, trial_, name}; }

 protected:
  std::uint64_t seed_, trial_;
};

}  // namespace ranklab
