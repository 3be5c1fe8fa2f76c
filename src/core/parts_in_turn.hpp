// Parts of a computation that may run on several threads: how code without threads asks for them.
// The threads are in run/.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace ranklab {

/// The turns of one part. Each part takes the same turns in the same order, and a part takes a turn
/// after the part before it has finished its own. Sums over parts that are computed in turns
/// therefore have the same bits for any number of threads. This class is the turns of a part that
/// runs alone.
class Turns {
 public:
  virtual ~Turns() = default;
  /// Calls f() in the part's next turn.
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

/// Runs parts one after the other. Trial runs them on its threads.
class PartRunner {
 public:
  PartRunner() = default;
  virtual ~PartRunner() = default;
  /// Calls part(i) for each of the costs (any unit). The parts must be independent of each other.
  virtual void run(const std::vector<double>& costs,
                   const std::function<void(std::size_t)>& part) const {
    for (std::size_t i = 0; i < costs.size(); ++i) part(i);
  }
  /// Calls part(i, worker, turns) for i = 0 ... n - 1, begun in this order. Calls with the same
  /// worker < n do not overlap, so that each worker can have its own buffers; the calling thread is
  /// worker 0 and runs part 0. An error in a part is rethrown.
  virtual void run_in_turn(
      std::size_t n,
      const std::function<void(std::size_t part, std::size_t worker, Turns&)>& part) const {
    Turns alone;
    for (std::size_t i = 0; i < n; ++i) part(i, 0, alone);
  }

 protected:
  // A copy as a PartRunner would lose the threads.
  PartRunner(const PartRunner&) = default;
  PartRunner& operator=(const PartRunner&) = default;
};

}  // namespace ranklab
