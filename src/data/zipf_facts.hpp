// A text of facts whose frequencies follow Zipf's law: which of them does a model learn, the
// frequent or the rare ones?
//
// A fact gives an object to a subject, which is a pair of names: 1,024 facts, one for each pair of
// 32 first and 32 last names, with 64 objects drawn uniformly. No name alone tells the object. The
// fact of rank k is stated with probability proportional to 1 / k, as one of two sentences of five
// tokens:
//   w1 first last w2 object,    w3 first last w4 object
// Source: after the task of arXiv:2509.26030, "Muon outperforms Adam in tail-end associative memory
// learning". Differs from it: a subject has two tokens and an object one, and there is one
// relation, so that a model with 0.2 million weights learns some of the facts in 300 steps.
#pragma once

#include "data/corpus.hpp"

namespace ranklab {

/// The name of this text.
inline constexpr char zipf_facts[] = "zipf-facts";

/// 240,000 statements for training and 16,000 held-out ones, of the same facts. Always the same
/// text, as a file would be.
Corpus draw_zipf_facts();

}  // namespace ranklab
