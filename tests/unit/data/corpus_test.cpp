#include "data/corpus.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace corpus_test {

using namespace ranklab;

namespace {

std::string complaint(const std::string& path, const std::string& vocab, std::uint64_t shortest) {
  try {
    read_corpus(path, vocab, shortest);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

/// N divided by the count of the most common token.
double one_over_largest_share(const std::vector<std::uint32_t>& tokens) {
  std::map<std::uint32_t, double> counts;
  double most = 0;
  for (const std::uint32_t token : tokens) most = std::max(most, ++counts[token]);
  return static_cast<double>(tokens.size()) / most;
}

}  // namespace

TEST_CASE("the King James Bible has the size and frequencies given in the specification") {
  const std::string text = king_james_bible();
  CHECK(text.size() == 4'137'850);
  CHECK(std::count(text.begin(), text.end(), '\n') == 31'102);
  CHECK(text.starts_with("In the beginning God created the heaven and the earth.\n"));
  const Corpus pairs = read_corpus("", "bpe:1024", 65);
  CHECK(pairs.vocabulary == 1024);
  CHECK(std::fabs(static_cast<double>(pairs.training.size()) - 1.23e6) < 0.005e6);
  CHECK(std::fabs(one_over_largest_share(pairs.training) - 18.2) < 0.05);
  const Corpus bytes = read_corpus("", "char", 65);
  CHECK(bytes.vocabulary == 63);
  // Of 64 blocks, 15, 31 and 47 are for validation; block 63 is the last one and shorter.
  CHECK(bytes.validation.size() == 3 * 65536 + (text.size() - 63 * 65536));
  CHECK(bytes.training.size() + bytes.validation.size() == text.size());
  CHECK(std::fabs(one_over_largest_share(bytes.training) - 5.5) < 0.05);
}

TEST_CASE("the last of every sixteen blocks is held out, also for a short text") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 16; ++i) text += std::string(10, static_cast<char>('a' + i));
  write_file_atomically(folder / "text", text + "q");
  const Corpus corpus = read_corpus(folder / "text", "char", 3);
  CHECK(corpus.validation == std::vector<std::uint32_t>(10, 15));
  CHECK(corpus.training.size() == 151);
  CHECK(corpus.training.back() == 16);
  CHECK(corpus.bytes == 161);
  CHECK(corpus.checksum.size() == 16);
}

TEST_CASE("windows are segments from the whole text, and targets are shifted by one token") {
  std::vector<std::uint32_t> tokens(50);
  for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = i;
  Stream stream(1, 0, "windows");
  const TokenBatch batch = draw_windows(tokens, 4000, 7, stream);
  REQUIRE(batch.ids.size() == 4000 * 7);
  std::vector<double> starts(43, 0.0);
  for (std::size_t b = 0; b < 4000; ++b) {
    for (std::size_t t = 0; t < 7; ++t) {
      CHECK(batch.ids[7 * b + t] == batch.ids[7 * b] + t);
      CHECK(batch.targets[7 * b + t] == batch.ids[7 * b] + t + 1);
    }
    starts.at(batch.ids[7 * b]) += 1;
  }
  // 43 starts are possible, as the last window ends with the last token; each count is binomial.
  const double expected = 4000.0 / 43;
  for (const double count : starts)
    CHECK(std::fabs(count - expected) <= tolerance::standard_errors * std::sqrt(expected));
}

TEST_CASE("unusable texts and vocabularies are refused with a one-line message") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "short", "a short text");
  write_file_atomically(folder / "empty", "");
  CHECK(complaint(folder / "short", "char", 65) ==
        "--text: " + (folder / "short") +
            " is too short: its validation part has 0 tokens; at least 65 are needed");
  CHECK(complaint(folder / "empty", "char", 65).find("is too short") != std::string::npos);
  CHECK(complaint(folder / "none", "char", 65).find(folder / "none") != std::string::npos);
  for (const std::string vocab :
       {"bpe", "bpe:", "bpe:1", "bpe:16385", "bpe:1x", "bpe:-3", "words", ""}) {
    CAPTURE(vocab);
    CHECK(complaint(folder / "short", vocab, 65) ==
          "--vocab: '" + vocab +
              "' is not allowed; allowed: char, or bpe:V with V from 2 to 16384");
  }
}

}  // namespace corpus_test
