// A study with some of its flags set, and its run, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "experiments/study.hpp"
#include "run/pool.hpp"

using FlagValues = std::vector<std::pair<std::string, std::string>>;

inline std::unique_ptr<ranklab::Study> configured(std::unique_ptr<ranklab::Study> study, const FlagValues& values) {
  const auto apply = [&] {
    for (const auto& [name, value] : values) {
      bool known = false;
      for (const ranklab::Field& field : study->fields()) {
        if (field.name != name) continue;
        field.parse(value, "--" + name);
        known = true;
      }
      if (!known) throw ranklab::UsageError("no field " + name);
    }
  };
  apply();
  study->adopt_files();
  apply();
  study->settle();
  study->validate();
  return study;
}

inline ranklab::Result run_configured(std::unique_ptr<ranklab::Study> study, const FlagValues& values, std::uint64_t trials = 1,
                                      bool single_precision = false, std::uint64_t threads = 1) {
  ranklab::Pool::Settings settings;
  settings.trials = trials;
  settings.threads = threads;
  settings.single_precision = single_precision;
  ranklab::Pool pool(settings, nullptr);
  return configured(std::move(study), values)->run(pool);
}

/// The message with which the values are refused; empty where they are not.
inline std::string refusal(std::unique_ptr<ranklab::Study> study, const FlagValues& values) {
  try {
    configured(std::move(study), values);
  } catch (const ranklab::UsageError& error) {
    return error.what();
  }
  return "";
}
