// Series, scalars and figure of the study eta.
#pragma once

#include "experiments/rank_collapse/eta/readings.hpp"
#include "report/result.hpp"

namespace ranklab {

Result eta_result(const EtaRun& run, bool single_precision);

}  // namespace ranklab
