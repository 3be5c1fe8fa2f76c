#include "run/journal.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace journal_test {

using namespace ranklab;

namespace {

const std::string identity = "part command: c\nconfig seed: 1\nconfig steps: 5\n",
                  other_seed = "part command: c\nconfig seed: 2\nconfig steps: 5\n";

TrialRecord sample(double x) {
  TrialRecord record;
  record.set("scalar", x);
  record.set("series", std::vector<double>{1.0, std::nan(""),
                                           -std::numeric_limits<double>::infinity(), 5e-324, -0.0});
  record.set("empty", std::vector<double>{});
  return record;
}

// The same numbers, bit for bit.
bool same_bits(const TrialRecord& a, const TrialRecord& b) {
  return encode_trial(0, a) == encode_trial(0, b);
}

// Sample trials 0 to count - 1 after the header.
std::string journal_of(std::uint64_t count) {
  std::string out = journal_start(identity);
  for (std::uint64_t trial = 0; trial < count; ++trial)
    out += framed(encode_trial(trial, sample(static_cast<double>(trial))));
  return out;
}

// The journal has the sample trials 0 to count - 1.
void check_trials(const std::map<std::uint64_t, TrialRecord>& trials, std::size_t count) {
  REQUIRE(trials.size() == count);
  for (const auto& [trial, record] : trials) {
    CHECK(trial < count);
    CHECK(same_bits(record, sample(static_cast<double>(trial))));
  }
}

}  // namespace

TEST_CASE("a trial's record is the same, bit for bit, after it was written and read") {
  const TrialRecord written = sample(0.1);
  const JournalContent content =
      parse_journal(journal_start(identity) + framed(encode_trial(41, written)), "j");
  CHECK(content.header == identity);
  REQUIRE(content.trials.contains(41));
  const TrialRecord& read = content.trials.at(41);
  REQUIRE(read.arrays().size() == 3);
  for (const auto& [name, values] : written.arrays()) {
    REQUIRE(read.array(name).size() == values.size());
    if (!values.empty())
      CHECK(std::memcmp(read.array(name).data(), values.data(), values.size() * sizeof(double)) ==
            0);
  }
}

TEST_CASE("finished trials are continued, a different run is refused, and remove() removes") {
  const TemporaryFolder folder;
  const std::string path = folder / "j";
  {
    Journal journal(path, identity, Journal::Earlier::discarded);
    journal.append(encode_trial(1, sample(1.0)));
    journal.note("a session");
    journal.append(encode_trial(0, sample(0.0)));
    // On the disk at once, so that a kill does not lose it.
    check_trials(read_journal(path).trials, 2);
    CHECK_THROWS_WITH_AS(Journal(path, identity, Journal::Earlier::resumed),
                         doctest::Contains("another run is writing"), Failure);
  }
  const std::string before = read_file(path);
  CHECK_THROWS_WITH_AS(Journal(path, other_seed, Journal::Earlier::resumed),
                       doctest::Contains("seed is 1 there, 2 here"), UsageError);
  CHECK(read_file(path) == before);
  Journal journal(path, identity, Journal::Earlier::resumed);
  check_trials(journal.finished(), 2);
  CHECK(journal.loss().empty());
  journal.append(encode_trial(2, sample(2.0)));
  const JournalContent content = read_journal(path);
  check_trials(content.trials, 3);
  CHECK(content.notes == std::vector<std::string>{"a session"});
  CHECK_FALSE(content.has_rest);
  journal.remove();
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE(
    "a damaged or missing byte ends the reading, is not silent, and what follows runs again") {
  const TemporaryFolder folder;
  const std::string path = folder / "j", whole = journal_of(4), start = journal_start(identity);
  const std::size_t record = (whole.size() - start.size()) / 4;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const std::string& content : {flipped, whole.substr(0, at)}) {
      CAPTURE(at);
      const bool is_cut = content.size() < whole.size();
      write_file_atomically(path, content);
      if (at < start.size() && !is_cut) {
        CHECK_THROWS_AS(Journal(path, identity, Journal::Earlier::resumed), Failure);
        CHECK(read_file(path) == content);
        continue;
      }
      const std::size_t kept = at < start.size() ? 0 : (at - start.size()) / record;
      {
        Journal journal(path, identity, Journal::Earlier::resumed);
        check_trials(journal.finished(), kept);
        CHECK(std::filesystem::file_size(path) ==
              start.size() + kept * record);  // the rest is cut off
        const bool is_whole = is_cut && (at < start.size() || (at - start.size()) % record == 0);
        CHECK(journal.loss().empty() == is_whole);
        for (std::size_t trial = kept; trial < 4; ++trial)
          journal.append(encode_trial(trial, sample(static_cast<double>(trial))));
      }
      CHECK(read_file(path) == whole);
    }
  }
}

TEST_CASE("records that no journal has end the reading") {
  const std::string start = journal_of(1), trial = encode_trial(0, sample(0.0));
  const std::string claims_many = trial.substr(0, 8) + std::string(8, '\x7f') + trial.substr(16);
  for (const std::string& bytes :
       {std::string(), std::string("short"), trial, trial.substr(0, trial.size() - 1), claims_many})
    check_trials(
        parse_journal(start + framed(bytes) + framed(encode_trial(1, sample(1.0))), "j").trials, 1);
  CHECK(parse_journal(start + std::string(1000, '\0'), "j").loss() ==
        "is incomplete or damaged after 1 finished trial; what followed runs again");
}

TEST_CASE("a foreign file, a link and a pipe in the place of the journal are refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "j";
  for (const auto earlier :
       {Journal::Earlier::discarded, Journal::Earlier::same_discarded, Journal::Earlier::resumed}) {
    for (const std::string content : {"my notes, which are long", "x", "ranklab\2 a part of 0.1"}) {
      write_file_atomically(path, content);
      CHECK_THROWS_WITH_AS(Journal(path, identity, earlier), doctest::Contains("is not a journal"),
                           Failure);
      CHECK(read_file(path) == content);
    }
    std::filesystem::remove(path);
    write_file_atomically(folder / "target", journal_of(1));
    std::filesystem::create_symlink("target", path);
    CHECK_THROWS_AS(Journal(path, identity, earlier), Failure);
    CHECK(read_file(folder / "target") == journal_of(1));
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK_THROWS_AS(Journal(path, identity, earlier), Failure);
    CHECK_THROWS_AS(read_journal(path), Failure);
    std::filesystem::remove(path);
  }
}

TEST_CASE("the trials of another run are refused or, if so wished, discarded") {
  const TemporaryFolder folder;
  const std::string path = folder / "j";
  write_file_atomically(path, journal_of(2));
  CHECK_THROWS_WITH_AS(Journal(path, other_seed, Journal::Earlier::same_discarded),
                       doctest::Contains("holds 2 finished trials of a different run (seed is 1 "
                                         "there, 2 here); --force discards them"),
                       UsageError);
  CHECK(read_file(path) == journal_of(2));
  {
    const Journal journal(path, identity, Journal::Earlier::same_discarded);
    CHECK(journal.discarded_same());
  }
  write_file_atomically(path, journal_of(2));
  {
    Journal journal(path, other_seed, Journal::Earlier::discarded);  // a header of the same length
    CHECK(journal.discarded());
    CHECK_FALSE(journal.discarded_same());
    CHECK(journal.finished().empty());
    CHECK(read_file(path) == journal_start(other_seed));
    journal.append(encode_trial(5, sample(5.0)));
  }
  CHECK(Journal(path, other_seed, Journal::Earlier::resumed).finished().size() == 1);
}

TEST_CASE("a record whose write fails is replaced by the next one") {
  const TemporaryFolder folder;
  const std::string path = folder / "j";
  Journal journal(path, identity, Journal::Earlier::discarded);
  journal.append(encode_trial(0, sample(0.0)));
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit full = before;
  full.rlim_cur = std::filesystem::file_size(path) + 20;
  ::setrlimit(RLIMIT_FSIZE, &full);
  CHECK_THROWS_WITH_AS(journal.append(encode_trial(7, sample(7.0))),
                       doctest::Contains("cannot write"), Failure);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(std::filesystem::file_size(path) == full.rlim_cur);
  journal.append(encode_trial(1, sample(1.0)));
  const JournalContent content = read_journal(path);
  check_trials(content.trials, 2);
  CHECK_FALSE(content.has_rest);
}

TEST_CASE("a journal without a finished trial is removed when its run ends") {
  const TemporaryFolder folder;
  const std::string path = folder / "j";
  { Journal(path, identity, Journal::Earlier::discarded).note("a session"); }
  CHECK(!std::filesystem::exists(path));
  write_file_atomically(path, journal_of(1));
  { const Journal journal(path, identity, Journal::Earlier::resumed); }
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("the first difference of two headers is named") {
  const std::string header = "part shard: 1\nconfig study: \"a\"\nconfig seed: 1\n";
  for (const auto& [here, said] : std::initializer_list<std::pair<std::string, std::string>>{
           {"part shard: 2\nconfig study: \"a\"\nconfig seed: 2\n", "shard is 1 there, 2 here"},
           {"part shard: 1\nconfig study: \"b\"\nconfig k: 1\n",
            "study is \"a\" there, \"b\" here"},
           {"part shard: 1\nconfig study: \"a\"\nconfig k: 1\n", "the parameters differ"},
           {"part shard: 1\nconfig study: \"a\"\n", "the parameters differ"},
           {"part shard: 1\nno line of a header\n", "the parameters differ"}})
    CHECK(header_difference(header, here) == said);
  // Of a file that is not ours.
  for (const char* here : {"an", "anything", "an:", ""})
    CHECK(header_difference("an: x\n", here) == "the parameters differ");
  CHECK(header_difference("environment blas_core: \"A\"\n", "environment blas_core: \"B\"\n")
            .ends_with("set OPENBLAS_CORETYPE to one value on all nodes"));
}

}  // namespace journal_test
