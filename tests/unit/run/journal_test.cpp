#include "run/journal.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace journal_test {

using namespace ranklab;

namespace {

const std::string identity = "program: 1\ncommand: c\nseed: 1\nsteps: 5\n";

TrialRecord sample(double x) {
  TrialRecord record;
  record.set("scalar", x);
  record.set("series", std::vector<double>{1.0, std::nan(""),
                                           -std::numeric_limits<double>::infinity(), 5e-324, -0.0});
  record.set("empty", std::vector<double>{});
  return record;
}

bool same_bits(const TrialRecord& a, const TrialRecord& b) {
  if (a.arrays().size() != b.arrays().size()) return false;
  for (const auto& [name, values] : a.arrays()) {
    if (!b.has(name) || b.array(name).size() != values.size()) return false;
    if (!values.empty() &&
        std::memcmp(values.data(), b.array(name).data(), values.size() * sizeof(double)) != 0)
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a trial's record is the same, bit for bit, after encoding and decoding") {
  const auto [trial, record] = decode_trial(encode_trial(41, sample(0.1)), "j");
  CHECK(trial == 41);
  CHECK(same_bits(record, sample(0.1)));
  const std::string bytes = encode_trial(41, sample(0.1));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS(decode_trial(std::string_view(bytes).substr(0, length), "j"), Failure);
}

TEST_CASE(
    "finished trials are read back, a different run is refused, and remove() deletes the file") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json";
  {
    Journal journal(out, identity, false);
    journal.append(3, sample(3.0));
    journal.append(0, sample(0.5));
  }
  {
    Journal journal(out, identity, true);
    REQUIRE(journal.finished().size() == 2);
    CHECK(same_bits(journal.finished().at(3), sample(3.0)));
    CHECK_THROWS_AS(Journal(out, identity, true), Failure);  // locked by the other journal
    journal.append(1, sample(1.0));
  }
  try {
    Journal journal(out, "program: 1\ncommand: c\nseed: 2\nsteps: 5\n", true);
    FAIL("another run must be refused");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("seed is 1 there, 2 here") != std::string::npos);
  }
  Journal journal(out, identity, true);
  CHECK(journal.finished().size() == 3);
  journal.remove();
  CHECK(!std::filesystem::exists(Journal::path_for(out)));
}

TEST_CASE("a journal truncated at any length is read as a shorter journal") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json", path = Journal::path_for(out);
  {
    Journal journal(out, identity, false);
    journal.append(0, sample(0.0));
    journal.append(1, sample(1.0));
  }
  const std::string whole = read_file(path);
  std::size_t most = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    write_file_atomically(path, std::string_view(whole).substr(0, length));
    Journal journal(out, identity, true);
    CHECK(journal.finished().size() >= most);
    most = journal.finished().size();
    for (const auto& [trial, record] : journal.finished())
      CHECK(same_bits(record, sample(static_cast<double>(trial))));
    if (length + 1 == whole.size()) {
      // The incomplete record is cut off, so the next record follows the complete ones.
      journal.append(2, sample(2.0));
    }
  }
  CHECK(most == 2);
}

TEST_CASE("one flipped byte, anywhere, loses at most one trial and is never silent") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json", path = Journal::path_for(out);
  {
    Journal journal(out, identity, false);
    for (std::uint64_t trial = 0; trial < 4; ++trial)
      journal.append(trial, sample(static_cast<double>(trial)));
  }
  const std::string whole = read_file(path);
  const std::size_t header = framed(identity).size(), record = (whole.size() - header) / 4;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_file_atomically(path, damaged);
    if (at < header) {
      CHECK_THROWS_AS(Journal(out, identity, true), Failure);
      CHECK_THROWS_AS(Journal::owner(out), Failure);
      CHECK(read_file(path) == damaged);
      continue;
    }
    Journal journal(out, identity, true);
    const std::size_t lost = (at - header) / record;
    REQUIRE(journal.finished().size() == 3);
    CHECK_FALSE(journal.finished().contains(lost));
    // A damaged last record looks like one that a killed run had begun to write.
    CHECK(journal.skipped_damage() == (lost < 3));
    for (const auto& [trial, kept] : journal.finished())
      CHECK(same_bits(kept, sample(static_cast<double>(trial))));
  }
}

TEST_CASE("trials that run again after damage are read with the others") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json", path = Journal::path_for(out);
  {
    Journal journal(out, identity, false);
    journal.append(0, sample(0.0));
    journal.append(1, sample(1.0));
  }
  std::string content = read_file(path);
  content[framed(identity).size() + 40] ^= 1;
  write_file_atomically(path, content);
  { Journal(out, identity, true).append(0, sample(0.0)); }
  const Journal journal(out, identity, true);
  CHECK(journal.finished().size() == 2);
  CHECK_FALSE(journal.skipped_damage());  // the damaged bytes were left out
}

TEST_CASE("a file of marks without records is read in time") {
  std::string content;
  constexpr std::size_t copies = 100'000;
  for (std::size_t i = 0; i < copies; ++i) {
    std::string record = framed(std::string(16, 'x'));
    record[8] = static_cast<char>(0xff);  // a length of many bytes
    record[10] = 0x10;
    content += record;
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(read_records(content).records.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a foreign file, a link and a folder in the place of the journal are refused") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json", path = Journal::path_for(out);
  for (const bool resume : {false, true}) {
    for (const std::string content : {"my notes, which are long", "x"}) {
      write_file_atomically(path, content);
      CHECK_THROWS_AS(Journal(out, identity, resume), Failure);
      CHECK_THROWS_AS(Journal::owner(out), Failure);
      CHECK(read_file(path) == content);
    }
    std::filesystem::remove(path);
    write_file_atomically(folder / "target", framed(identity));
    std::filesystem::create_symlink("target", path);
    CHECK_THROWS_AS(Journal(out, identity, resume), Failure);
    CHECK(read_file(folder / "target") == framed(identity));
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK_THROWS_AS(Journal(out, identity, resume), Failure);
    std::filesystem::remove(path);
  }
}

TEST_CASE("without resume, an old journal is discarded and discarded() is true") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json";
  { Journal(out, identity, false).append(0, sample(0.0)); }
  const Journal journal(out, identity, false);
  CHECK(journal.discarded());
  CHECK(journal.finished().empty());
}

TEST_CASE("many trials are written at most once a second and at most one second late") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json", path = Journal::path_for(out);
  using Clock = std::chrono::steady_clock;
  // The largest delay of this machine for a one-second sleep and a write to disk.
  std::atomic<double> overdue{0};
  std::jthread yardstick([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto due = Clock::now() + std::chrono::seconds(1);
      std::this_thread::sleep_until(due);
      write_file_atomically(folder / "yardstick", "a write");
      overdue = std::max(overdue.load(), std::chrono::duration<double>(Clock::now() - due).count());
    }
  });
  std::map<std::uint64_t, Clock::time_point> appended;
  Journal journal(out, identity, false);
  const auto header = std::filesystem::file_size(path);
  std::uintmax_t size = header;
  int writes = 0;
  const auto start = Clock::now();
  std::uint64_t trial = 0;
  double latest = 0;  // seconds
  for (; Clock::now() - start < std::chrono::milliseconds(2500); ++trial) {
    appended[trial] = Clock::now();
    journal.append(trial, sample(static_cast<double>(trial)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (std::filesystem::file_size(path) == size) continue;
    size = std::filesystem::file_size(path);
    ++writes;
    const std::string content = read_file(path);
    const std::size_t held = read_records(content).records.size() - 1;
    // The first waiting trial was finished after the last write.
    if (held > 0 && appended.contains(held - 1)) {
      while (!appended.empty() && appended.begin()->first < held) {
        latest = std::max(
            latest, std::chrono::duration<double>(Clock::now() - appended.begin()->second).count());
        appended.erase(appended.begin());
      }
    }
  }
  yardstick.request_stop();
  yardstick.join();
  CHECK(trial > 20);
  CHECK(writes >= 1);
  CHECK(writes <= 3);
  CHECK(latest < 1.5 + overdue);
}

TEST_CASE("notes are not trials, and a finished journal becomes the output file") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.part";
  {
    Journal journal(out, identity, false);
    journal.note("begun");
    journal.append(4, sample(4.0));
  }
  Journal journal(out, identity, true);
  REQUIRE(journal.finished().size() == 1);
  CHECK(same_bits(journal.finished().at(4), sample(4.0)));
  journal.append(1, sample(1.0));
  journal.finish_as(out, "ended");
  CHECK(!std::filesystem::exists(Journal::path_for(out)));
  const std::string content = read_file(out);
  const RecordsRead read = read_records(content);
  const auto& records = read.records;
  CHECK(read.end == content.size());
  CHECK_FALSE(read.has_gap);
  REQUIRE(records.size() == 5);
  CHECK(records[0] == identity);
  CHECK(note_in(records[1]) == "begun");
  CHECK_FALSE(note_in(records[2]).has_value());
  CHECK(same_bits(decode_trial(records[3], "j").second, sample(1.0)));
  CHECK(note_in(records[4]) == "ended");
}

TEST_CASE("a journal without a finished trial is deleted when its run ends") {
  const TemporaryFolder folder;
  const std::string out = folder / "out.json";
  { const Journal journal(out, identity, false); }
  CHECK(!std::filesystem::exists(Journal::path_for(out)));
  { Journal(out, identity, false).append(0, sample(0.0)); }
  { const Journal journal(out, identity, true); }
  CHECK(std::filesystem::exists(Journal::path_for(out)));
}

}  // namespace journal_test
