// The result file: typed values to JSON, and files back to JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "report/result.hpp"

namespace ranklab {

inline constexpr char result_schema[] = "ranklab.result/2";
/// Of results whose claims do not name their statements. Only their config can be read.
inline constexpr char earlier_schema[] = "ranklab.result/1";

/// The beginning of a note about an assumption of the run. Such notes are shown on the terminal
/// too.
inline constexpr char assumed[] = "Assumed: ";
/// The same for what `advise --validate` found.
inline constexpr char validated[] = "Validation: ";

/// The parts of a result file that are not in the study's Result.
struct ResultFile {
  std::string command, study, preset;       // preset empty: none
  std::string title;                        // empty: the study's title
  std::string paper, figure;                // both empty: no source
  std::string see;                          // what the figure shows; empty: not given
  const nlohmann::json* finding = nullptr;  // the preset's sentence for the first screen of a page
  std::string trial_unit;                   // what one trial is: input, seed, ...; empty: not given
  const nlohmann::ordered_json* changed =
      nullptr;  // differences of the run from its preset; null or empty: no difference
  std::uint64_t trials_requested = 0, trials_completed = 0;
  bool interrupted = false;
  double wall_seconds = 0, cpu_seconds = 0, trial_seconds = 0;
};

/// The document. A number that is not finite becomes null on purpose; `non_finite` counts these
/// numbers.
nlohmann::ordered_json result_json(const ResultFile& file, const Result& result,
                                   nlohmann::ordered_json config,
                                   nlohmann::ordered_json environment);

/// The document as text: objects and lists indented, each list of plain values on one line.
std::string format_json(const nlohmann::ordered_json& document);

/// The value of a field as JSON: numbers, strings, true or false, arrays for lists.
nlohmann::ordered_json field_json(const Field& field);

/// Sets a field from JSON of the right type. Throws a UsageError that starts with `label`.
void set_field(const Field& field, const nlohmann::json& value, const std::string& label);

/// The value of `key`; null if the key is missing or `object` is not an object.
const nlohmann::json& member(const nlohmann::json& object, const char* key);

/// Reads a JSON file strictly: one value, valid UTF-8, no duplicate keys. Throws a Failure that
/// names the file.
nlohmann::json read_json(const std::string& path);

/// Reads a result file: read_json, then checks the name and the keys of the schema. Throws a
/// Failure that names the file; for a result of an earlier version it says how to make it again.
nlohmann::json read_result(const std::string& path);

}  // namespace ranklab
