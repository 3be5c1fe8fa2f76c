#include "run/pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "run/interrupt.hpp"
#include "temporary_folder.hpp"

namespace pool_test {

using namespace ranklab;

namespace {

TrialRecord draw(Trial& trial) {
  std::vector<double> values(5);
  trial.stream("X").fill_normal(values);
  TrialRecord record;
  record.set("index", static_cast<double>(trial.index()));
  record.set("values", values);
  return record;
}

Pool::Settings settings(std::uint64_t trials, std::uint64_t threads) {
  Pool::Settings out;
  out.trials = trials;
  out.threads = threads;
  return out;
}

/// Waits until `met`, for at most twenty seconds: threads may start late on a busy machine.
template <class Condition>
void wait_until(const Condition& met) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!met() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
}

}  // namespace

TEST_CASE("records are returned by index and do not depend on the number of threads") {
  Pool one(settings(23, 1), nullptr), many(settings(23, 6), nullptr);
  const auto a = one.run(each_trial(draw)), b = many.run(each_trial(draw));
  REQUIRE(a.size() == 23);
  REQUIRE(b.size() == 23);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].scalar("index") == static_cast<double>(i));
    CHECK(a[i].array("values") == b[i].array("values"));
  }
  CHECK(a[0].array("values") != a[1].array("values"));
}

TEST_CASE("an error in a trial ends the pool and is rethrown, that of the lowest trial first") {
  Pool pool(settings(8, 1), nullptr);
  std::atomic<int> started{0};
  const auto body = [&](Trial& trial) -> TrialRecord {
    ++started;
    if (trial.index() >= 2) throw Failure("trial " + std::to_string(trial.index()));
    return {};
  };
  CHECK_THROWS_WITH_AS(pool.run(each_trial(body)), "trial 2", Failure);
  CHECK(started == 3);
}

TEST_CASE("after a signal the finished trials are returned, and resuming runs only the others") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json";
  const Records whole = Pool(settings(6, 1), nullptr).run(each_trial(draw));
  {
    Journal journal(out, "run", Journal::Earlier::discarded);
    const InterruptGuard guard;
    Pool pool(settings(6, 1), &journal);
    const auto part = pool.run(each_trial([](Trial& trial) {
      if (trial.index() == 3) std::raise(SIGTERM);
      trial.check_interrupt();
      return draw(trial);
    }));
    CHECK(interrupt_signal() == SIGTERM);
    CHECK(part.size() == 3);
    CHECK(pool.completed() == 3);
  }
  Journal journal(out, "run", Journal::Earlier::resumed);
  const InterruptGuard guard;  // clears the flag
  std::atomic<int> started{0};
  Pool pool(settings(6, 2), &journal);
  const auto resumed = pool.run(each_trial([&](Trial& trial) {
    ++started;
    return draw(trial);
  }));
  CHECK(started == 3);
  REQUIRE(resumed.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(resumed[i].array("values") == whole[i].array("values"));
}

TEST_CASE(
    "batches of trials run one after the other with all threads and return each trial's own "
    "record") {
  const Records alone = Pool(settings(7, 1), nullptr).run(each_trial(draw));
  const auto run_in_threes = [&](Pool& pool, std::vector<std::vector<std::uint64_t>>& seen) {
    return pool.run(in_batches(3, [&](std::vector<Trial>& trials) {
      Records records;
      seen.emplace_back();  // needs no lock: one batch at a time
      for (Trial& trial : trials) {
        seen.back().push_back(trial.index());
        records.push_back(draw(trial));
      }
      std::atomic<int> calls{0};
      trials.front().for_each_piece(9, [&](std::size_t) { ++calls; });
      CHECK(calls == 9);
      return records;
    }));
  };
  using Batches = std::vector<std::vector<std::uint64_t>>;
  Batches seen;
  Pool pool(settings(7, 4), nullptr);
  const auto records = run_in_threes(pool, seen);
  CHECK(seen == Batches{{0, 1, 2}, {3, 4, 5}, {6}});
  REQUIRE(records.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(records[i].array("values") == alone[i].array("values"));

  // After a stop, the missing trials form new batches.
  const TemporaryFolder folder;
  {
    Journal journal(folder / "out.json", "run", Journal::Earlier::discarded);
    for (const std::uint64_t index : {0u, 1u, 4u})
      journal.append(encode_trial(index, alone[index]));
  }
  Journal journal(folder / "out.json", "run", Journal::Earlier::resumed);
  Pool resumed(settings(7, 2), &journal);
  seen.clear();
  const auto again = run_in_threes(resumed, seen);
  CHECK(seen == Batches{{2, 3, 5}, {6}});
  REQUIRE(again.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(again[i].array("values") == alone[i].array("values"));
}

TEST_CASE("batches of one trial run concurrently on all threads") {
  std::atomic<int> waiting{0};
  const auto records =
      Pool(settings(2, 2), nullptr).run(in_batches(1, [&](std::vector<Trial>& trials) {
        ++waiting;
        // Each waits for the other; with one trial at a time, the second would never arrive.
        wait_until([&] { return waiting >= 2; });
        CHECK(waiting == 2);
        return Records{draw(trials.front())};
      }));
  CHECK(records.size() == 2);
}

TEST_CASE("an error in a batch ends the pool and is rethrown") {
  Pool pool(settings(6, 3), nullptr);
  int batches = 0;
  CHECK_THROWS_WITH_AS(
      pool.run(in_batches(2,
                          [&](std::vector<Trial>& trials) -> Records {
                            if (++batches == 2)
                              throw Failure("batch of " + std::to_string(trials.front().index()));
                            return Records(trials.size());
                          })),
      "batch of 2", Failure);
  CHECK(batches == 2);
}

TEST_CASE("each part of a trial runs once for any number of spare threads; an error is rethrown") {
  for (const std::int64_t spare : {0, 1, 5}) {
    const Trial trial(1, 0, spare);
    std::vector<std::atomic<int>> calls(17);
    trial.for_each_piece(calls.size(), [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) CHECK(count == 1);
    trial.for_each_piece(0, [](std::size_t) { FAIL("no part to call"); });
    CHECK_THROWS_AS(trial.for_each_piece(5,
                                         [](std::size_t i) {
                                           if (i == 3) throw Failure("part");
                                         }),
                    Failure);
  }
}

TEST_CASE("parts with costs run once each, the most expensive first and equal ones in order") {
  for (const std::int64_t spare : {0, 3}) {
    const Trial trial(1, 0, spare);
    const std::vector<double> costs = {2, 9, 2, 5, 9};
    for (const bool is_short : {false, true}) {
      std::vector<std::size_t> order;
      std::mutex lock;
      const auto part = [&](std::size_t i) {
        const std::lock_guard guard(lock);
        order.push_back(i);
      };
      is_short ? trial.run(costs, part) : trial.for_each_piece(costs, part);
      if (spare == 0) CHECK(order == std::vector<std::size_t>{1, 4, 3, 0, 2});
      std::sort(order.begin(), order.end());
      CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
    }
  }
}

TEST_CASE("nested parts share the spare threads, which are returned") {
  const auto spare = std::make_shared<SpareThreads>(2);
  const Trial trial(1, 0, spare);
  std::atomic<int> calls{0}, at_once{0}, most{0};
  for (int round = 0; round < 20; ++round) {
    trial.for_each_piece(4, [&](std::size_t) {
      trial.for_each_piece(3, [&](std::size_t) {
        const int now = ++at_once;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++calls;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        wait_until([&] { return most >= 2; });
        --at_once;
      });
    });
    CHECK(*spare == 2);
  }
  CHECK(calls == 20 * 12);
  CHECK(most >= 2);
  CHECK(most <= 3);
}

TEST_CASE("never more threads work than the run has, also if waiting ones lend their places") {
  constexpr std::uint64_t threads = 4;
  std::atomic<int> at_once{0}, most{0};
  const auto work = [&](std::size_t i) {
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50 * (i % 3)));
    --at_once;
  };
  // Trials of different lengths, with parts in parts and parts in turn.
  Pool(settings(6, threads), nullptr).run(each_trial([&](Trial& trial) {
    for (std::uint64_t round = 0; round < 10 * (trial.index() + 1); ++round) {
      trial.for_each_piece(3, [&](std::size_t) {
        trial.for_each_piece(5, work);
        trial.run_in_turn(4, [&](std::size_t i, std::size_t, Turns& turns) {
          work(i);
          turns.take([&] { work(i); });
        });
      });
    }
    return TrialRecord();
  }));
  CHECK(most >= 2);
  CHECK(most <= static_cast<int>(threads));
}

TEST_CASE("parts that run in turn may start parts, in their turns and outside") {
  for (const std::int64_t spare : {0, 1, 2, 3, 7}) {
    const auto threads = std::make_shared<SpareThreads>(spare);
    const Trial trial(1, 0, threads);
    std::atomic<int> calls{0};
    for (int round = 0; round < 50; ++round) {
      trial.run_in_turn(5, [&](std::size_t, std::size_t, Turns& turns) {
        trial.run({1, 2, 3}, [&](std::size_t) { ++calls; });
        turns.take([&] { trial.for_each_piece(3, [&](std::size_t) { ++calls; }); });
        trial.run_in_turn(
            3, [&](std::size_t, std::size_t, Turns& inner) { inner.take([&] { ++calls; }); });
        turns.take([&] { trial.run({1, 2, 3}, [&](std::size_t) { ++calls; }); });
      });
    }
    CHECK(calls == 50 * 5 * 12);
    CHECK(*threads == spare);
  }
}

TEST_CASE("parts take each turn one after the other, in order, for any number of spare threads") {
  constexpr std::size_t n = 12, turns = 3;
  for (const std::int64_t spare : {0, 1, 3, 20}) {
    const auto threads = std::make_shared<SpareThreads>(spare);
    const Trial trial(1, 0, threads);
    std::vector<std::vector<std::size_t>> order(turns);  // needs no lock: one part at a time
    std::vector<std::atomic<int>> busy(n);
    std::atomic<int> overlaps{0};
    trial.run_in_turn(n, [&](std::size_t i, std::size_t worker, Turns& in_turn) {
      if (busy.at(worker)++ > 0) ++overlaps;
      for (std::size_t turn = 0; turn < turns; ++turn) {
        // The first part is the slowest, so that the others are ready before their turn.
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        in_turn.take([&] { order[turn].push_back(i); });
      }
      --busy[worker];
    });
    CHECK(overlaps == 0);
    std::vector<std::size_t> expected(n);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    for (const std::vector<std::size_t>& of_turn : order) CHECK(of_turn == expected);
    CHECK(*threads == spare);
  }
}

TEST_CASE("parts in turn run at the same time outside their turns") {
  const Trial trial(1, 0, 1);
  std::atomic<int> begun{0};
  trial.run_in_turn(2, [&](std::size_t, std::size_t, Turns& turns) {
    ++begun;
    wait_until([&] { return begun >= 2; });
    turns.take([] {});
  });
  CHECK(begun == 2);
}

TEST_CASE("an error in a part ends the parts that wait for their turn, and is rethrown") {
  for (const std::int64_t spare : {0, 1, 3}) {
    const auto threads = std::make_shared<SpareThreads>(spare);
    const Trial trial(1, 0, threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> turns_after{0};
      CHECK_THROWS_WITH_AS(trial.run_in_turn(6,
                                             [&](std::size_t i, std::size_t, Turns& turns) {
                                               turns.take([&] {
                                                 if (i == 2) throw Failure("part 2");
                                               });
                                               turns.take([&] { turns_after += i >= 2; });
                                             }),
                           "part 2", Failure);
      CHECK(turns_after == 0);
    }
    CHECK(*threads == spare);
  }
}

TEST_CASE("an error in a part does not end the parts before it, whose own error counts") {
  const Trial trial(1, 0, 1);
  std::atomic<bool> failed{false};
  int turns_of_first = 0;
  CHECK_THROWS_WITH_AS(
      trial.run_in_turn(2,
                        [&](std::size_t i, std::size_t, Turns& turns) {
                          if (i == 1) {
                            failed = true;
                            throw Failure("part 1");
                          }
                          wait_until([&] { return failed.load(); });
                          std::this_thread::sleep_for(std::chrono::milliseconds(5));
                          turns.take([&] { ++turns_of_first; });
                          throw Failure("part 0");
                        }),
      "part 0", Failure);
  CHECK(turns_of_first == 1);
}

TEST_CASE("after an error no further part begins") {
  for (const std::int64_t spare : {0, 1, 3}) {
    const Trial trial(1, 0, spare);
    std::atomic<int> begun{0};
    CHECK_THROWS_AS(trial.run_in_turn(1000,
                                      [&](std::size_t, std::size_t, Turns& turns) {
                                        ++begun;
                                        turns.take([] { throw Failure("part"); });
                                      }),
                    Failure);
    CHECK(begun <= spare + 1);
    begun = 0;
    CHECK_THROWS_AS(
        trial.for_each_piece(1000,
                             [&](std::size_t i) {
                               ++begun;
                               if (i == 0) throw Failure("part");
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             }),
        Failure);
    CHECK(begun < 1000);
  }
}

TEST_CASE("of several parts that fail, the error of the first is rethrown") {
  const Trial trial(1, 0, 1);
  std::atomic<bool> failed{false};
  CHECK_THROWS_WITH_AS(trial.for_each_piece(2,
                                            [&](std::size_t i) {
                                              if (i == 0) wait_until([&] { return failed.load(); });
                                              failed = true;
                                              throw Failure("part " + std::to_string(i));
                                            }),
                       "part 0", Failure);
}

TEST_CASE("a thread that waits for short parts keeps its place") {
  const auto spare = std::make_shared<SpareThreads>(1);
  const Trial trial(1, 0, spare);
  for (const bool is_short : {true, false}) {
    std::atomic<bool> waits{false}, begun{false};
    std::int64_t most = 0;
    const auto part = [&](std::size_t i) {
      if (i == 0) {
        wait_until([&] { return begun.load(); });
        waits = true;  // the calling thread, which has no other part
        return;
      }
      begun = true;
      wait_until([&] { return waits.load(); });
      for (int look = 0; look < 100 && most == 0; ++look) {
        most = std::max(most, spare->load());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    if (is_short) {
      trial.run({1, 1}, part);
    } else {
      trial.for_each_piece(2, part);
    }
    CHECK(most == (is_short ? 0 : 1));
    CHECK(*spare == 1);
  }
}

TEST_CASE("spare threads are started once") {
  const Trial trial(1, 0, 2);
  std::set<std::thread::id> ids;
  std::mutex lock;
  for (int round = 0; round < 50; ++round) {
    trial.run_in_turn(6, [&](std::size_t, std::size_t, Turns&) {
      const std::lock_guard guard(lock);
      ids.insert(std::this_thread::get_id());
    });
  }
  CHECK(ids.size() <= 3);
}

TEST_CASE("reading an array that was never set is a programming error") {
  CHECK_THROWS_AS(TrialRecord().array("none"), std::logic_error);
}

TEST_CASE("a trial reports its progress and stops if it is interrupted") {
  const Trial trial(1, 0, 0);
  trial.expect(3, "step");
  trial.advance();
  CHECK(trial.work()->done == 1);
  CHECK(trial.work()->total == 3);
  const InterruptGuard guard;
  std::raise(SIGINT);
  CHECK_THROWS_AS(trial.advance(), Interrupted);
}

TEST_CASE("a thread that becomes free during a long part runs the next part") {
  const InterruptGuard guard;
  const auto spare = std::make_shared<SpareThreads>(0);
  const Trial trial(1, 0, spare);
  std::atomic<bool> done{false};
  bool was_done = false;
  trial.for_each_piece(2, [&](std::size_t i) {
    if (i == 1) {
      done = true;
      return;
    }
    ++*spare;
    wait_until([&] {
      trial.check_interrupt();
      return done.load();
    });
    was_done = done;
  });
  CHECK(was_done);
  CHECK(*spare == 1);
  trial.check_interrupt();  // no parts are left, so no thread is taken
  CHECK(*spare == 1);
}

TEST_CASE("a thread without a trial, from the start or later, runs parts of another thread's") {
  for (const std::uint64_t trials : {1, 2}) {
    CAPTURE(trials);
    std::atomic<int> begun{0};
    bool both = false;
    Pool(settings(trials, 2), nullptr).run(each_trial([&](Trial& trial) {
      if (trial.index() == 1) return TrialRecord();
      trial.for_each_piece(2, [&](std::size_t i) {
        ++begun;
        wait_until([&] {
          trial.check_interrupt();
          return begun >= 2;
        });
        if (i == 0) both = begun >= 2;
      });
      return TrialRecord();
    }));
    CHECK(both);
  }
}

TEST_CASE("a thread that becomes free while parts run takes some of the remaining ones") {
  const auto spare = std::make_shared<SpareThreads>(0);
  const Trial trial(1, 0, spare);
  std::atomic<int> at_once{0}, most{0};
  trial.for_each_piece(6, [&](std::size_t i) {
    if (i == 0) ++*spare;
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    if (i > 0) wait_until([&] { return most >= 2; });
    --at_once;
  });
  CHECK(most == 2);
  CHECK(*spare == 1);
}

}  // namespace pool_test
