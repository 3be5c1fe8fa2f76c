#include "io/json_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

constexpr std::uint64_t longest = std::uint64_t{1} << 26;
constexpr int deepest = 64;
constexpr std::uint64_t most_parts = 1'000'000;  // keys, values and lists in a member

using Event = json::parse_event_t;

// The parser would silently keep the last of two equal keys, and follow nested lists to any depth.
class StrictCallback {
 public:
  explicit StrictCallback(const std::string& label) : label_(label) {}

  void check(int depth, Event event, const json& parsed) {
    if ((event == Event::object_start || event == Event::array_start) && depth >= deepest)
      throw Failure(label_ + ": more than " + std::to_string(deepest) +
                    " nested lists and objects");
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::object_start) {
      keys_.resize(level + 1);
      keys_.back().clear();
    }
    if (event == Event::key &&
        !keys_[level - 1].insert(parsed.get_ref<const std::string&>()).second)
      throw Failure(label_ + ": the key '" + printable_key(parsed.get<std::string>()) +
                    "' occurs twice in one object");
  }

 private:
  const std::string& label_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open, by depth
};

// "at byte 12" of a text of one line, such as a header; else "at line 3, column 5".
std::string place_of(std::size_t byte, std::string_view text) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto breaks = std::ranges::count(before, '\n');
  if (breaks == 0) return "at byte " + std::to_string(byte);
  return "at line " + std::to_string(breaks + 1) + ", column " +
         std::to_string(byte - 1 - before.rfind('\n'));
}

// " (unexpected string literal; expected '}')", without the text that the library quotes.
std::string reason_of(const json::parse_error& error) {
  const std::string all = error.what(), quoted = "; last read: '";
  const std::size_t begin = all.find(" - ");
  if (begin == std::string::npos) return "";
  std::string out = all.substr(begin + 3);
  if (const std::size_t at = out.find(quoted); at != std::string::npos) {
    const std::size_t end = out.find("'; expected");
    out = out.substr(0, at) + (end == std::string::npos ? "" : out.substr(end + 1));
  }
  return " (" + printable(out) + ")";
}

void parse(std::string_view text, const std::string& label, const json::parser_callback_t& callback,
           Comments comments = Comments::refused) {
  // The library says this in other words from version 3.11.3 on.
  if (text.empty()) throw Failure(label + ": not valid JSON, at byte 0 (empty)");
  // A zero byte is not allowed anywhere, but the library takes it for the end of the text.
  const std::size_t zero = text.find('\0');
  try {
    const json kept =
        json::parse(text.begin(), text.end(), callback, true, comments == Comments::skipped);
  } catch (const json::parse_error& error) {
    // The library counts from 1; its position is one past the end if the text ends too soon.
    throw Failure(label + ": not valid JSON, " + place_of(std::min(error.byte, text.size()), text) +
                  reason_of(error));
  } catch (const json::out_of_range&) {
    throw Failure(label + ": a number is larger than any double");
  }
  if (zero != std::string_view::npos)
    throw Failure(label + ": not valid JSON, " + place_of(zero + 1, text));
}

}  // namespace

std::string read_json_text(const std::string& path) {
  const std::shared_ptr<const InputFile> file = InputFile::open(path);
  if (file->size() > longest) {
    throw Failure(printable(path) + ": " + std::to_string(file->size()) +
                  " bytes are implausible for this file; at most " + std::to_string(longest) +
                  " are read");
  }
  return file->text(0, file->size());
}

json parse_json(std::string_view text, const std::string& label, Comments comments) {
  StrictCallback strict(label);
  // Nothing is kept here: with a callback, the parser visits all earlier elements of a list after
  // each object in it.
  parse(
      text, label,
      [&](int depth, Event event, const json& parsed) {
        strict.check(depth, event, parsed);
        return false;
      },
      comments);
  return json::parse(text.begin(), text.end(), nullptr, true, comments == Comments::skipped);
}

void parse_json_members(
    std::string_view text, const std::string& label,
    const std::function<void(const std::string& key, const json& value)>& take) {
  StrictCallback strict(label);
  std::string key;
  std::uint64_t parts = 0;  // of the member
  parse(text, label, [&](int depth, Event event, const json& parsed) {
    strict.check(depth, event, parsed);
    if (depth == 0 && (event == Event::array_start || event == Event::value))
      throw Failure(label + ": not a JSON object");
    if (depth > 1) {
      if (event == Event::object_start)
        throw Failure(label + ": '" + printable_key(key) + "' contains an object");
      if (++parts > most_parts)
        throw Failure(label + ": '" + printable_key(key) + "' has more than " +
                      std::to_string(most_parts) + " parts");
      return true;
    }
    if (event == Event::key) {
      key = parsed.get<std::string>();
      parts = 0;
    }
    const bool is_member = depth == 1 && (event == Event::object_end || event == Event::array_end ||
                                          event == Event::value);
    if (is_member) take(key, parsed);
    return !is_member;
  });
}

}  // namespace ranklab
