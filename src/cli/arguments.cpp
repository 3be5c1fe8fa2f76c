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

// True for a word with one dash that is no flag: `-steps`, or a number in place of an argument.
// cxxopts would take each of its letters for a flag. `-m3` is the flag m.
bool is_stranger(const std::string& word, const std::vector<FlagShape>& known) {
  if (word.size() < 3 || word[0] != '-' || word[1] == '-') return false;
  const bool has_number = !is_letter(word[2]);
  return !has_number || find_shape(known, word.substr(1, 1)) == nullptr;
}

struct CxxoptsWords {
  std::vector<std::string> words, strangers;
};

// Rewrites the words for cxxopts. cxxopts requires two letters after two dashes (but accepts
// `-m 3`). It never gives the next word to a flag with an optional value, so `--name on` becomes
// `--name=on`. It always gives the next word to other flags, so this function rejects
// `--trials --seed 3`, in which the value of --trials is missing.
CxxoptsWords words_for_cxxopts(const std::vector<std::string>& words,
                               const std::vector<FlagShape>& known) {
  static const std::vector<std::string> switch_values = {"on", "off", "true", "false"};
  CxxoptsWords both;
  std::vector<std::string>& out = both.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = expand_short_flag(words[i], known);
    const std::size_t equals = word.find('=');
    const std::string name = word.starts_with("--") ? word.substr(2, equals - 2) : "";
    const FlagShape* shape = name.empty() ? nullptr : find_shape(known, name);
    if (shape == nullptr) {
      (is_stranger(word, known) ? both.strangers : out).push_back(word);
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
  return both;
}

// What other programs call the same.
constexpr std::array<std::pair<const char*, const char*>, 4> other_names = {
    {{"size", "width"}, {"output", "out"}, {"iterations", "steps"}, {"jobs", "threads"}}};

[[noreturn]] void refuse_flag(const std::string& word, const std::vector<FlagShape>& known,
                              const std::string& usage) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names = {"--help"};
  for (const auto& shape : known) names.push_back("--" + shape.name);
  std::string hint = did_you_mean(
      name, names,
      (usage.empty() ? "" : "; the usage is `ranklab " + usage + "`") + "; --help lists the flags");
  for (const auto& [other, here] : other_names) {
    if (name == std::string("--") + other && find_shape(known, here) != nullptr)
      hint = "; did you mean '--" + std::string(here) + "'?";
  }
  throw UsageError("unknown flag '" + printable_key(name) + "'" + hint);
}

std::vector<std::string> repeated_flags(const Arguments& arguments,
                                        const std::vector<FlagShape>& known) {
  std::vector<std::string> out;
  for (const FlagShape& shape : known) {
    std::vector<std::string> values;
    for (const auto& [name, value] : arguments.flags) {
      if (name == shape.name) values.push_back(printable_key(value));
    }
    if (shape.may_repeat || values.empty() ||
        std::ranges::all_of(values, [&](const auto& value) { return value == values[0]; }))
      continue;
    out.push_back("--" + shape.name + " is given " +
                  (values.size() == 2 ? "twice" : std::to_string(values.size()) + " times") + " (" +
                  joined(values) + "); the last value counts");
  }
  return out;
}

std::string list_with_commas_in(const std::vector<std::string>& words,
                                const std::vector<FlagShape>& known) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::size_t equals = words[i].find('=');
    const FlagShape* shape = find_shape(known, words[i].substr(2, equals - 2));
    if (shape == nullptr || !shape->is_list || shape->may_repeat) continue;
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(words[i].substr(equals + 1));
    for (++i; i < words.size() && !words[i].starts_with("--"); ++i) values.push_back(words[i]);
    --i;
    for (std::string& value : values) value.resize(value.find_last_not_of(',') + 1);  // `1, 2, 3`
    if (values.size() > 1) return "--" + shape->name + " " + joined(values, ",");
  }
  return "";
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

FlagShape shape_of(const Field& field) {
  return {field.name, field.is_switch(), field.is_list(), field.one_per_flag};
}

Arguments parse_arguments(const std::vector<std::string>& words,
                          const std::vector<FlagShape>& known, Unknown unknown,
                          const std::string& usage) {
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
  const auto [rewritten, strangers] = words_for_cxxopts(words, known);
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
    out.positional.insert(out.positional.end(), strangers.begin(), strangers.end());
  } catch (const cxxopts::exceptions::parsing& error) {
    throw UsageError(error.what());
  }
  out.words = words;
  out.repeated = repeated_flags(out, known);
  if (!out.positional.empty()) out.list_with_commas = list_with_commas_in(words, known);
  const std::string* stranger = out.unknown_flag();
  if (stranger == nullptr || unknown == Unknown::kept) return out;
  const bool is_number = stranger->find_first_not_of("-+.,eE0123456789") == std::string::npos;
  if (!is_number || out.list_with_commas.empty()) refuse_flag(*stranger, known, usage);
  return out;
}

}  // namespace ranklab
