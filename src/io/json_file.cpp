#include "io/json_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_source.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

constexpr std::uint64_t longest = std::uint64_t{1} << 26;
constexpr int deepest = 64;

// The parser would silently keep the last of two equal keys, and follow nested lists to any depth.
class StrictCallback {
 public:
  explicit StrictCallback(const std::string& label) : label_(label) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    using Event = json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= deepest)
      throw Failure(label_ + ": more than " + std::to_string(deepest) +
                    " nested lists and objects");
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second)
      throw Failure(label_ + ": the key '" + printable_key(parsed.get<std::string>()) +
                    "' occurs twice in one object");
    return true;
  }

 private:
  const std::string& label_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

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

json parse_json(std::string_view text, const std::string& label) {
  StrictCallback callback(label);
  try {
    return json::parse(text.begin(), text.end(),
                       [&](int depth, json::parse_event_t event, const json& parsed) {
                         return callback(depth, event, parsed);
                       });
  } catch (const json::parse_error& error) {
    // The library counts from 1; its position is one past the end if the text ends too soon.
    throw Failure(label + ": not valid JSON, at byte " +
                  std::to_string(std::min(error.byte, text.size())));
  } catch (const json::out_of_range&) {
    throw Failure(label + ": a number is larger than any double");
  }
}

}  // namespace ranklab
