#include "cli/input_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "io/byte_source.hpp"
#include "io/json_file.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;

std::string checksum_of(const std::string& path) {
  constexpr std::uint64_t at_once = 1 << 22;
  const auto file = InputFile::open(path);
  std::uint64_t sum = fnv1a("");
  for (std::uint64_t first = 0; first < file->size(); first += at_once) {
    sum = fnv1a(file->text(first, std::min(at_once, file->size() - first)), sum);
  }
  return hexadecimal(sum);
}

void add_file(const fs::path& path, std::map<std::string, std::string>& checksums);

// Adds every file that a string in a JSON value names, relative to the folder.
void add_named(const nlohmann::json& value, const fs::path& folder,
               std::map<std::string, std::string>& checksums) {
  if (value.is_string()) add_file(folder / value.get<std::string>(), checksums);
  if (value.is_structured()) {
    for (const auto& element : value) add_named(element, folder, checksums);
  }
}

void add_file(const fs::path& path, std::map<std::string, std::string>& checksums) {
  std::error_code error;
  if (path.filename().empty() || !fs::is_regular_file(path, error) ||
      checksums.contains(path.string()))
    return;
  checksums[path.string()] = checksum_of(path.string());
  if (path.extension() != ".json") return;
  try {
    const auto file = InputFile::open(path.string());
    add_named(parse_json(file->text(0, file->size()), path.string()), path.parent_path(),
              checksums);
  } catch (const Failure&) {
    // The study that reads the file reports the error.
  }
}

void add_text(const std::string& text, std::map<std::string, std::string>& checksums) {
  std::error_code error;
  if (fs::is_directory(text, error)) {
    for (const auto& entry : fs::recursive_directory_iterator(text, error))
      add_file(entry.path(), checksums);
    return;
  }
  add_file(text, checksums);
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    add_file(word, checksums);
    add_file(word.substr(0, word.rfind(':')), checksums);
  }
}

}  // namespace

std::map<std::string, std::string> input_checksums(const std::vector<Field>& fields) {
  std::map<std::string, std::string> checksums;
  for (const Field& field : fields) {
    if (field.names_output || !field.choices.empty()) continue;
    if (const auto* text = std::get_if<std::string*>(&field.target)) add_text(**text, checksums);
    if (const auto* texts = std::get_if<std::vector<std::string>*>(&field.target)) {
      for (const std::string& text : **texts) add_text(text, checksums);
    }
  }
  return checksums;
}

}  // namespace ranklab
