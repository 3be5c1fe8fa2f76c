// Pieces of a computation that may run on several threads: how code without threads asks for them.
// The threads are in run/.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ranklab {

/// The turns of one piece. Each piece takes the same turns in the same order, and a piece takes a
/// turn after the piece before it has finished its own. Sums over pieces that are computed in turns
/// therefore have the same bits for any number of threads. This class is the turns of a piece that
/// runs alone.
class Turns {
 public:
  virtual ~Turns() = default;
  /// Calls f() in the piece's next turn.
  template <class F>
  void take(const F& f) {
    begin();
    f();
    end();
  }

 private:
  virtual void begin() {}
  virtual void end() {}
};

/// Runs pieces one after the other. Trial runs them on its threads.
class PieceRunner {
 public:
  PieceRunner() = default;
  virtual ~PieceRunner() = default;
  /// Calls piece(i) for each of the costs (any unit). The pieces must be independent of each other.
  virtual void run(const std::vector<double>& costs,
                   const std::function<void(std::size_t)>& piece) const {
    for (std::size_t i = 0; i < costs.size(); ++i) piece(i);
  }
  /// Calls piece(i, worker, turns) for i = 0 ... n - 1, begun in this order. Calls with the same
  /// worker < n do not overlap, so that each worker can have its own buffers; the calling thread is
  /// worker 0 and runs piece 0. An error in a piece is rethrown.
  virtual void run_in_turn(
      std::size_t n,
      const std::function<void(std::size_t piece, std::size_t worker, Turns&)>& piece) const {
    Turns alone;
    for (std::size_t i = 0; i < n; ++i) piece(i, 0, alone);
  }

 protected:
  // A copy as a PieceRunner would lose the threads.
  PieceRunner(const PieceRunner&) = default;
  PieceRunner& operator=(const PieceRunner&) = default;
};

}  // namespace ranklab
