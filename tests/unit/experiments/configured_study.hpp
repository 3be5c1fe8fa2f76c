// Tests use these functions to set some flags of a study and to run it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "experiments/study.hpp"
#include "run/pool.hpp"

using FlagValues = std::vector<std::pair<std::string, std::string>>;

/// Throws if the study has no such flag.
inline ranklab::Field find_field(ranklab::Study& study, const std::string& name) {
  for (const ranklab::Field& field : study.flags()) {
    if (field.name == name) return field;
  }
  throw ranklab::UsageError("no field " + name);
}

inline std::unique_ptr<ranklab::Study> configured(std::unique_ptr<ranklab::Study> study,
                                                  const FlagValues& values) {
  const auto apply = [&] {
    for (const auto& [name, value] : values) find_field(*study, name).parse(value, "--" + name);
  };
  apply();
  study->adopt_files();
  apply();
  study->fill_defaults();
  study->check();
  return study;
}

/// The records of the trials of a study.
inline ranklab::Records records_of(const ranklab::Study& study, std::uint64_t trials = 1,
                                   std::uint64_t threads = 1) {
  ranklab::Pool::Settings settings;
  settings.trials = trials;
  settings.threads = threads;
  return ranklab::Pool(settings, nullptr).run(study.work());
}

inline ranklab::Result run_configured(std::unique_ptr<ranklab::Study> study,
                                      const FlagValues& values, std::uint64_t trials = 1,
                                      std::uint64_t threads = 1) {
  const auto ready = configured(std::move(study), values);
  return ready->report(records_of(*ready, trials, threads));
}

/// The result that the study reports for trials whose records are `records`.
inline ranklab::Result result_of(std::unique_ptr<ranklab::Study> study, const FlagValues& values,
                                 const ranklab::Records& records) {
  return configured(std::move(study), values)->report(records);
}

/// The message that refuses the values; empty if they are accepted.
inline std::string refusal(std::unique_ptr<ranklab::Study> study, const FlagValues& values) {
  try {
    configured(std::move(study), values);
  } catch (const ranklab::UsageError& error) {
    return error.what();
  }
  return "";
}
