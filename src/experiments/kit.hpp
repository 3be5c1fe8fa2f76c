// What nearly every study uses: its interface, its claims and curves, errors and text.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/real.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"
#include "experiments/study.hpp"
