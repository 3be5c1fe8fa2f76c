#include "cli/arguments.hpp"

// Use cxxopts' own scanner: std::regex takes longer to compile than the rest of this file.
#define CXXOPTS_NO_REGEX true
#include <algorithm>
#include <array>
#include <cxxopts.hpp>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

const FlagShape* find_shape(const std::vector<FlagShape>& known, const std::string& name) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const FlagShape& shape) { return shape.name == name; });
  return found == known.end() ? nullptr : &*found;
}

constexpr std::array<std::pair<char, const char*>, 3> short_flags = {
    {{'o', "out"}, {'q', "quiet"}, {'j', "threads"}}};

// Expands short flags: -o FILE to --out FILE, -j4 to --threads=4. Returns other words unchanged.
std::string expand_short_flag(const std::string& word, const std::vector<FlagShape>& known) {
  if (word.size() < 2 || word[0] != '-' || word[1] == '-') return word;
  for (const auto& [letter, name] : short_flags) {
    const FlagShape* shape = word[1] == letter ? find_shape(known, name) : nullptr;
    if (shape == nullptr) continue;
    if (word.size() == 2) return std::string("--") + name;
    if (!shape->is_switch)
      return std::string("--") + name + (word[2] == '=' ? "" : "=") + word.substr(2);
  }
  return word;
}

// Rewrites the words for cxxopts. cxxopts requires two letters after two dashes (but accepts
// `-m 3`). It never gives the next word to a flag with an optional value, so `--name on` becomes
// `--name=on`. It always gives the next word to other flags, so this function rejects
// `--trials --seed 3`, in which the value of --trials is missing.
std::vector<std::string> words_for_cxxopts(const std::vector<std::string>& words,
                                           const std::vector<FlagShape>& known) {
  static const std::vector<std::string> switch_values = {"on", "off", "true", "false"};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = expand_short_flag(words[i], known);
    const std::size_t equals = word.find('=');
    const std::string name = word.starts_with("--") ? word.substr(2, equals - 2) : "";
    const FlagShape* shape = name.empty() ? nullptr : find_shape(known, name);
    if (shape == nullptr) {
      out.push_back(word);
      continue;
    }
    const std::string flag = (name.size() == 1 ? "-" : "--") + name;
    const bool has_next = equals == std::string::npos && i + 1 < words.size();
    if (shape->is_switch) {
      const bool takes_next = has_next && std::find(switch_values.begin(), switch_values.end(),
                                                    words[i + 1]) != switch_values.end();
      out.push_back(takes_next ? flag + "=" + words[++i] : word);
      continue;
    }
    if (equals == std::string::npos &&
        (!has_next || (words[i + 1].starts_with("--") && words[i + 1].size() > 2))) {
      throw UsageError(words[i] + " needs a value");
    }
    out.push_back(flag);
    out.push_back(equals == std::string::npos ? words[++i] : word.substr(equals + 1));
  }
  return out;
}

[[noreturn]] void refuse_flag(const std::string& word, const std::vector<FlagShape>& known) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const auto& shape : known) names.push_back("--" + shape.name);
  throw UsageError("unknown flag '" + printable_key(name) + "'" +
                   did_you_mean(name, names, "; --help lists the flags"));
}

}  // namespace

char short_flag(const std::string& name) {
  for (const auto& [letter, flag] : short_flags) {
    if (name == flag) return letter;
  }
  return 0;
}

const std::string* Arguments::find(const std::string& name) const {
  const auto found = std::find_if(flags.rbegin(), flags.rend(),
                                  [&](const auto& flag) { return flag.first == name; });
  return found == flags.rend() ? nullptr : &found->second;
}

const std::string* Arguments::unknown_flag() const {
  const auto found = std::find_if(positional.begin(), positional.end(), [](const auto& word) {
    return word.size() > 1 && word[0] == '-';
  });
  return found == positional.end() ? nullptr : &*found;
}

Arguments parse_arguments(const std::vector<std::string>& words,
                          const std::vector<FlagShape>& known, Unknown unknown) {
  cxxopts::Options options("ranklab");
  options.allow_unrecognised_options();
  auto add = options.add_options();
  add("h,help", "", cxxopts::value<bool>());
  for (const auto& shape : known) {
    if (shape.is_switch) {
      add(shape.name, "", cxxopts::value<std::string>()->implicit_value("on"));
    } else {
      add(shape.name, "", cxxopts::value<std::string>());
    }
  }
  const std::vector<std::string> rewritten = words_for_cxxopts(words, known);
  std::vector<const char*> argv = {"ranklab"};
  for (const auto& word : rewritten) argv.push_back(word.c_str());

  Arguments out;
  try {
    const auto parsed = options.parse(static_cast<int>(argv.size()), argv.data());
    out.help = parsed.count("help") > 0;
    for (const auto& flag : parsed.arguments()) {
      if (flag.key() != "help") out.flags.emplace_back(flag.key(), flag.value());
    }
    out.positional = parsed.unmatched();
  } catch (const cxxopts::exceptions::parsing& error) {
    throw UsageError(error.what());
  }
  out.words = words;
  const std::string* stranger = out.unknown_flag();
  if (stranger != nullptr && unknown == Unknown::refused) refuse_flag(*stranger, known);
  return out;
}

}  // namespace ranklab
