#include "data/corpus.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/byte_pairs.hpp"
#include "io/atomic_file.hpp"
#include "io/subprocess.hpp"

namespace ranklab {
namespace {

constexpr std::size_t block_size = 65536, cycle = 16;
constexpr std::uint64_t largest_vocabulary = 16384;

}  // namespace

std::string king_james_bible() {
  constexpr const char* needed =
      "the default text is the King James Bible: install Debian's packages bible-kjv and "
      "bible-kjv-text "
      "(`make deps` does), or give --text FILE";
  ProcessOutput output;
  try {
    constexpr double seconds = 60;  // it takes less than 1
    output = run_process({"bible", "-f", "Gen1:1-Rev22:21"}, "", seconds);
  } catch (const ProgramMissing&) {
    throw Failure(needed);
  }
  std::string text;
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) text += line.substr(blank + 1) + "\n";
  }
  if (output.exit_code != 0 || text.empty())
    throw Failure(std::string("the program bible gave no text; ") + needed);
  return text;
}

std::uint64_t vocabulary_size(const std::string& vocab) {
  if (vocab == "char") return 0;
  std::uint64_t size = 0;
  const char* const end = vocab.data() + vocab.size();
  const bool pairs = vocab.starts_with("bpe:");
  const auto parsed = pairs ? std::from_chars(vocab.data() + 4, end, size)
                            : std::from_chars_result{end, std::errc::invalid_argument};
  if (parsed.ec != std::errc() || parsed.ptr != end || size < 2 || size > largest_vocabulary) {
    throw UsageError("--vocab: '" + printable_key(vocab) +
                     "' is not allowed; allowed: char, or bpe:V with V from 2 to " +
                     std::to_string(largest_vocabulary));
  }
  return size;
}

Corpus read_corpus(const std::string& path, const std::string& vocab, std::uint64_t shortest) {
  const std::uint64_t size = vocabulary_size(vocab);
  const std::string text = path.empty() ? king_james_bible() : read_file(path);
  const std::size_t block = std::max<std::size_t>(std::min(block_size, text.size() / cycle), 1);
  std::string training, validation;
  for (std::size_t i = 0; i * block < text.size(); ++i) {
    // The remainder of a text with short blocks goes to training, so that validation is a
    // sixteenth.
    (i % cycle == cycle - 1 ? validation : training).append(text, i * block, block);
  }
  const std::string name = path.empty() ? "the King James Bible" : printable(path);
  Corpus corpus{{}, {}, 0, text.size(), hexadecimal(fnv1a(text)), name};
  if (!text.empty()) {
    const BytePairs pairs(training, text, size);
    corpus.vocabulary = pairs.size();
    corpus.training = pairs.encode(training);
    corpus.validation = pairs.encode(validation);
  }
  const std::size_t fewest = std::min(corpus.training.size(), corpus.validation.size());
  if (fewest < shortest) {
    throw UsageError("--text: " + name + " is too short: its " +
                     (fewest == corpus.training.size() ? "training" : "validation") + " part has " +
                     plural(fewest, "token") + "; at least " + std::to_string(shortest) +
                     " are needed");
  }
  return corpus;
}

TokenBatch draw_windows(const std::vector<std::uint32_t>& tokens, std::uint64_t sequences,
                        std::uint64_t context, Stream& stream) {
  TokenBatch batch;
  const double starts = static_cast<double>(tokens.size() - context);
  for (std::uint64_t b = 0; b < sequences; ++b) {
    const auto first =
        static_cast<std::ptrdiff_t>(std::min(std::floor(stream.uniform() * starts), starts - 1));
    const auto at = tokens.begin() + first, end = at + static_cast<std::ptrdiff_t>(context);
    batch.ids.insert(batch.ids.end(), at, end);
    batch.targets.insert(batch.targets.end(), at + 1, end + 1);
  }
  return batch;
}

}  // namespace ranklab
