// The result file, schema ranklab.result/1: typed values to JSON, and files back to JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "report/result.hpp"

namespace ranklab {

/// How a note begins that says what the run took for granted: it is shown on the terminal too.
inline constexpr char assumed[] = "Assumed: ";

/// What surrounds the Result of a study in its file.
struct ResultFile {
  std::string command, study, preset;               // preset empty: none
  std::string title;                                // empty: the study's own
  std::string paper, figure;                        // both empty: no source
  std::string see;                                  // what to see in the figure; empty: not said
  std::string trial_unit;                           // what one trial is: input, seed, ...; empty: not said
  const nlohmann::ordered_json* changed = nullptr;  // in what the run differs from its preset; null or empty: in nothing
  std::uint64_t trials_requested = 0, trials_completed = 0;
  bool interrupted = false;
  double wall_seconds = 0, cpu_seconds = 0, trial_seconds = 0;
};

/// The document. A number that is not finite becomes null on purpose; how many did stands in `non_finite`.
nlohmann::ordered_json result_json(const ResultFile& file, const Result& result, nlohmann::ordered_json config,
                                   nlohmann::ordered_json environment);

/// The document as text: objects and lists indented, each list of plain values on one line.
std::string format_json(const nlohmann::ordered_json& document);

/// The value of a field as JSON: numbers, strings, true or false, arrays for lists.
nlohmann::ordered_json field_json(const Field& field);

/// Sets a field from JSON of the right type. Throws UsageError that starts with `label`.
void set_field(const Field& field, const nlohmann::json& value, const std::string& label);

/// The value under `key`; null where it is missing or `object` is no object.
const nlohmann::json& member(const nlohmann::json& object, const char* key);

/// A claim's evidence as typed values; empty if the claim has no evidence, as in older files.
Evidence evidence_from(const nlohmann::json& evidence);

/// Reads a JSON file strictly: one value, valid UTF-8, no key twice in an object. Throws Failure that names the file.
nlohmann::json read_json(const std::string& path);

/// Reads a result file: read_json, and the schema's name and keys. Throws Failure that names the file.
nlohmann::json read_result(const std::string& path);

}  // namespace ranklab
