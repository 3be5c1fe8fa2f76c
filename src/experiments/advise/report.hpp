// From the rows to the result.
#pragma once

#include <vector>

#include "experiments/advise/gates.hpp"
#include "experiments/advise/rows.hpp"
#include "report/builder.hpp"

namespace ranklab::advise {

/// The claim <layer>/eq-1.8 of each layer is the printed inequality: it holds for ratios of at
/// least 1. The advice is Muon only for ratios of at least 2.
/// Throws Failure if validation is asked for and no step has two batches.
Result report(const Plan& plan, const std::vector<Gate>& gates, bool validates,
              const Records& records);
/// The spectra of --weights-only (weights.cpp).
Result report_weights(const Rows& rows, const TrialRecord& record, ResultBuilder& out);

/// Adds the series of the layers and the figure (figure.cpp).
void draw(ResultBuilder& out, const std::vector<Row>& rows);
/// An axis of layers; its tick labels omit the common prefix of the names.
Axis names_axis(const std::vector<Row>& rows);

}  // namespace ranklab::advise
