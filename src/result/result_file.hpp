// A result file as one typed value: what the study found, and the run that found it.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/statistics.hpp"
#include "result/result.hpp"

namespace ranklab {

inline constexpr char result_schema[] = "ranklab.result/3";
/// The one before, whose scalars and series have a name alone, is read too.
bool is_result_schema(const nlohmann::json& schema);

enum class Status { complete, interrupted, diverged };
inline constexpr std::array<std::string_view, 3> status_names = {"complete", "interrupted",
                                                                 "diverged"};
constexpr std::string_view name_of(Status status) {
  return status_names[static_cast<std::size_t>(status)];
}

struct Source {
  std::string paper, figure;
};

struct TrialCounts {
  std::uint64_t requested = 0, completed = 0;
  std::string unit;  // what one trial is: input, seed, ...; empty: not given
};

/// A parameter in which a run differs from its preset.
struct Change {
  std::string name;
  nlohmann::ordered_json preset, run;
};

/// A preset's sentence for the first screen of a page. It is shown if the claim has the verdict.
struct PresetFinding {
  std::string claim;        // its id
  std::uint64_t panel = 0;  // of the figure, from 1; 0: no picture
  std::string sentence;
  Verdict verdict = Verdict::holds;
};

/// Times of a run in seconds: wall-clock time, CPU time of all threads, and time inside trials
/// summed over threads.
struct Timing {
  double wall = 0, cpu = 0, trials = 0;
};

/// The mean of a scalar over the trials.
struct ScalarMean : Summary {
  std::string quantity = {};
  std::map<std::string, Coordinate> at = {};
};

using NamedMeans = std::vector<std::pair<std::string, ScalarMean>>;  // by the scalar's name

/// The names and values of parameters (`config`) and of the machine (`environment`) remain JSON:
/// only the studies know them.
struct ResultFile : Result {
  std::string schema = result_schema;
  std::string command, study;
  std::optional<std::string> preset;
  std::optional<Source> source;
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  Status status = Status::complete;
  TrialCounts trials;
  NamedMeans means;             // of the scalars
  std::vector<Change> changed;  // from the preset
  std::string see;              // what the figure shows; empty: not given
  std::optional<PresetFinding> finding;
  nlohmann::ordered_json report;  // of one's own (own/report.hpp); null: none
  nlohmann::ordered_json environment = nlohmann::ordered_json::object();
  bool keeps_trials = false;     // the curves of every trial are in it
  std::uint64_t non_finite = 0;  // numbers that are not finite, among scalars and series
  Timing timing;

  std::string trial_unit() const { return trials.unit.empty() ? "trial" : trials.unit; }
};

/// Sorted by name, as tables show them.
NamedMeans by_name(NamedMeans means);

/// The numbers that are not finite, among scalars and series.
std::uint64_t count_non_finite(const ResultFile& file);

/// Adds what the study found, with the means of the scalars. The file keeps its title if it has
/// one.
void add_result(ResultFile& file, Result result);

/// Adds a scalar, with its mean.
void add_scalar(ResultFile& file, Scalar scalar);

/// The file as JSON, and as text: objects and lists indented, each list of plain values on one
/// line. A number that is not finite becomes null.
nlohmann::ordered_json result_json(const ResultFile& file);
std::string result_text(const ResultFile& file);

/// The result in a JSON document. Throws a Failure that names the first member that is missing or
/// has the wrong type, with `label` before it.
ResultFile result_from(const nlohmann::json& document, const std::string& label);

/// Throws a Failure, with `label` before it, unless every quantity has as many trials as the
/// others, and every curve a name of its own. Statements about single trials need it.
void require_same_trials(const ResultFile& file, const std::string& label);

/// Reads a result file: strict JSON of this schema, in which every member has its type. Throws a
/// Failure that names the file and what is wrong.
ResultFile read_result(const std::string& path);

/// The first place at which what two runs computed differs, bit for bit: "series[3].mean[0]";
/// empty: none. Config, environment and timing are not computed, nor are the words of the preset.
std::string first_difference(const ResultFile& a, const ResultFile& b);

}  // namespace ranklab
