// A study run in a test as the command line would run it: flags by name, settled, validated, trials on the pool.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/study.hpp"
#include "run/pool.hpp"

using StudyFlags = std::vector<std::pair<std::string, std::string>>;

/// Throws what the study throws for its flags; a flag that it does not have fails the test.
inline std::unique_ptr<ranklab::Study> with_flags(std::unique_ptr<ranklab::Study> study, const StudyFlags& flags) {
  for (const auto& [name, value] : flags) {
    bool found = false;
    for (const ranklab::Field& field : study->fields()) {
      if (field.name != name) continue;
      field.parse(value, "--" + name);
      found = true;
    }
    CAPTURE(name);
    REQUIRE(found);
  }
  study->settle();
  study->validate();
  return study;
}

inline ranklab::Result run_study(std::unique_ptr<ranklab::Study> study, const StudyFlags& flags, std::uint64_t trials = 2,
                                 bool single_precision = false) {
  ranklab::Pool::Settings settings;
  settings.trials = trials;
  settings.single_precision = single_precision;
  ranklab::Pool pool(settings, nullptr);
  return with_flags(std::move(study), flags)->run(pool);
}
