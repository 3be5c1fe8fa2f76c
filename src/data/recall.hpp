// Multi-query associative recall: a sequence of keys and their values, then some of the keys again
// as queries for their values.
//
// Legend: V vocabulary, L length, D pairs, B sequences, N = B L tokens, S = (L - 2 D) / 2 slots.
//   keys k_1 ... k_D        distinct, uniform on 1 ... floor(V/2) - 1
//   values v_1 ... v_D      distinct, uniform on floor(V/2) ... V - 1
//   slots s_1 ... s_D       distinct, of 0 ... S - 1, drawn one after the other with probability
//                           proportional to (s + 1)^(a - 1) among the remaining ones, a = 0.01
//   ids = k_1 v_1 ... k_D v_D x_0 ... x_(2S - 1);  x_(2 s_i) = k_i, every other x is 0;  the target
//   at x_(2 s_i) is v_i
//
// Source: Arora et al., "Zoology: measuring and improving recall in efficient language models",
// 2023, and its code. Differs from its code: no random ids between the queries, because they
// coincide with keys if V is small.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace ranklab {

struct RecallShape {
  std::uint64_t vocabulary = 64, length = 32, pairs = 4;
};

/// Throws a UsageError that names --vocab, --length or --pairs unless L is even, 1 <= D <= L / 4
/// and L < V <= 2^32.
void require_recall(const RecallShape& shape);

struct RecallBatch {
  std::vector<std::uint32_t> ids;  // N, sequence after sequence
  // B D: columns of the queries, sequence after sequence, k_1 ... k_D in each.
  std::vector<std::uint64_t> columns;
  std::vector<std::uint32_t> targets;  // B D, the values of these keys
};

/// Draws sequences one after the other: two batches from one stream equal one batch of their total
/// size.
RecallBatch draw_recall(const RecallShape& shape, std::uint64_t sequences, Stream& stream);

}  // namespace ranklab
