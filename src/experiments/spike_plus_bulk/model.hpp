// The two models of [Spectral] Section 3. They differ only in the labels of L(W) = ||W A - Y||_F^2
// / (2 n).
#pragma once

namespace ranklab {

enum class LabelModel {
  realizable,  // Y = W# A, eq. (3.1): command spiked-model
  teacher,     // Y = W-bar A-bar with A-bar = sigma(V-bar X), eq. (3.14): command teacher-student
};

}  // namespace ranklab
