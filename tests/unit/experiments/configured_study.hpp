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
  for (const ranklab::Field& field : study.fields()) {
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
  study->resolve_defaults();
  study->validate();
  return study;
}

inline ranklab::Result run_configured(std::unique_ptr<ranklab::Study> study,
                                      const FlagValues& values, std::uint64_t trials = 1,
                                      bool single_precision = false, std::uint64_t threads = 1) {
  ranklab::Pool::Settings settings;
  settings.trials = trials;
  settings.threads = threads;
  settings.single_precision = single_precision;
  ranklab::Pool pool(settings, nullptr);
  return configured(std::move(study), values)->run(pool);
}

/// The result that the study reports for trials whose records are `records`.
inline ranklab::Result result_of(std::unique_ptr<ranklab::Study> study, const FlagValues& values,
                                 const std::vector<ranklab::TrialRecord>& records) {
  struct Given : ranklab::Runner {
    explicit Given(const std::vector<ranklab::TrialRecord>& given) : measured(given) {}
    std::uint64_t trials() const override { return measured.size(); }
    bool single_precision() const override { return false; }
    std::vector<ranklab::TrialRecord> run(
        const std::function<ranklab::TrialRecord(ranklab::Trial&)>&) override {
      return measured;
    }
    std::vector<ranklab::TrialRecord> run_batches(
        std::uint64_t,
        const std::function<std::vector<ranklab::TrialRecord>(std::vector<ranklab::Trial>&)>&)
        override {
      return measured;
    }
    const std::vector<ranklab::TrialRecord>& measured;
  } runner(records);
  return configured(std::move(study), values)->run(runner);
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
