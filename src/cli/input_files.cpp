#include "cli/input_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"
#include "io/json_file.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

namespace fs = std::filesystem;

std::string checksum_of(const std::string& path) {
  constexpr std::uint64_t at_once = 1 << 22;
  try {
    const auto file = InputFile::open(path);
    std::uint64_t sum = fnv1a("");
    for (std::uint64_t first = 0; first < file->size(); first += at_once) {
      sum = fnv1a(file->text(first, std::min(at_once, file->size() - first)), sum);
    }
    return hexadecimal(sum);
  } catch (const Failure&) {
    return "unreadable";  // the study reports it if it reads the file
  }
}

// The files that a run names, each once, whatever its names.
class Files {
 public:
  // A file, a folder with all its files, FILE.npz:key, or a comma-separated list of these.
  void add_text(const std::string& text) {
    std::error_code error;
    if (fs::is_directory(text, error)) {
      constexpr auto options = fs::directory_options::skip_permission_denied;
      for (fs::recursive_directory_iterator entry(text, options, error), end;
           !error && entry != end; entry.increment(error))
        add_file(entry->path());
      return;
    }
    add_file(text);
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
      add_file(word);
      add_file(word.substr(0, word.rfind(':')));
    }
  }

  std::map<std::string, std::string> take_checksums() { return std::move(checksums_); }

 private:
  void add_file(const fs::path& path) {
    std::error_code error;
    if (path.filename().empty() || !fs::is_regular_file(path, error) ||
        !seen_.insert(fs::weakly_canonical(path, error)).second)
      return;
    checksums_[path.string()] = checksum_of(path.string());
    if (path.extension() != ".json") return;
    try {
      add_named(parse_json(read_json_text(path.string()), path.string()), path.parent_path());
    } catch (const Failure&) {
      // The study that reads the file reports the error.
    }
  }

  // Adds every file below the folder that a string in a JSON value names.
  void add_named(const nlohmann::json& value, const fs::path& folder) {
    if (value.is_string() && stays_below(value.get<std::string>()))
      add_file(folder / value.get<std::string>());
    if (value.is_structured()) {
      for (const auto& element : value) add_named(element, folder);
    }
  }

  std::set<fs::path> seen_;
  std::map<std::string, std::string> checksums_;  // by path
};

}  // namespace

std::map<std::string, std::string> input_checksums(const std::vector<Field>& fields) {
  Files files;
  for (const Field& field : fields) {
    if (field.names_output || !field.choices.empty()) continue;
    if (const auto* text = std::get_if<std::string*>(&field.target)) files.add_text(**text);
    if (const auto* texts = std::get_if<std::vector<std::string>*>(&field.target)) {
      for (const std::string& text : **texts) files.add_text(text);
    }
  }
  return files.take_checksums();
}

std::vector<std::pair<std::string, ResultFile>> results_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::pair<std::string, ResultFile>> out;
  for (const std::string& path : paths) {
    const nlohmann::json document = read_json(path);
    if (document.is_object() && is_result_schema(member(document, "schema")))
      out.emplace_back(path, result_from(document, printable(path)));
  }
  return out;
}

}  // namespace ranklab
