// --groups: the file for the parameter groups of an optimizer.
#pragma once

#include <string>

#include "experiments/advise/rows.hpp"

namespace ranklab::advise {

/// Throws UsageError if the file of --groups exists and is not a groups file.
void require_groups_file(const std::string& path);

/// The parameter names by advice, as JSON. A parameter whose parts get different advice is
/// "either".
std::string groups_text(const Plan& plan, const Records& records);

}  // namespace ranklab::advise
