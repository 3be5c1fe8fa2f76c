// The spectra of the weights of --weights-only; no advice follows from them.
#include "core/text.hpp"
#include "experiments/advise/report.hpp"

namespace ranklab::advise {

Result report_weights(const Rows& all, const TrialRecord& record, ResultBuilder& out) {
  const std::vector<Row>& rows = all.rows;
  Table table{{"layer", "m x k", "stored as", "st(W)", "nr(W)", "effective rank", "condition",
               "quartiles of s / s_1"},
              {},
              ""};
  const auto add = [&](const std::string& name, double value) {
    out.scalar(name, std::vector<double>(out.records().size(), value));
  };
  std::vector<double> x, effective, stable, nuclear;
  for (const Row& row : rows) {
    const Observation& one = row.all.front();
    const Spectrum spectrum = spectrum_of(record, one.pair_index, one.layer_index);
    const std::string& name = row.name();
    add(name + ".m", static_cast<double>(row.m()));
    add(name + ".k", static_cast<double>(row.pair().k));
    add(name + ".stable_rank", one.gradient_stable_rank());
    add(name + ".nuclear_rank", one.nuclear_rank());
    add(name + ".effective_rank", spectrum.effective_rank);
    add(name + ".condition", spectrum.condition);
    const auto& [low, middle, high] = spectrum.quantiles;
    for (const auto& [quantile, value] :
         {std::pair(".quantile_25", low), {".quantile_50", middle}, {".quantile_75", high}}) {
      add(name + quantile, value);
    }
    table.rows.push_back(
        {name, std::to_string(row.m()) + " x " + std::to_string(row.pair().k), row.pair().dtypes,
         short_number(one.gradient_stable_rank()), short_number(one.nuclear_rank()),
         short_number(spectrum.effective_rank), short_number(spectrum.condition),
         short_number(low) + ", " + short_number(middle) + ", " + short_number(high)});
    x.push_back(static_cast<double>(x.size() + 1));
    stable.push_back(one.gradient_stable_rank());
    nuclear.push_back(one.nuclear_rank());
    effective.push_back(spectrum.effective_rank);
  }
  out.series_of_points("stable_rank", "layer", x, stable);
  out.series_of_points("nuclear_rank", "layer", x, nuclear);
  out.series_of_points("effective_rank", "layer", x, effective);
  out.panel("Ranks of the weights", names_axis(rows), rank_axis("rank"))
      .curve("stable_rank", "stable rank st(W)", {LineStyle::bars, 1})
      .curve("nuclear_rank", "nuclear rank nr(W)", {LineStyle::bars, 0})
      .curve("effective_rank", "effective rank", {LineStyle::bars, 2});
  out.result().table = std::move(table);
  out.note("The effective rank is exp(entropy) of the singular values divided by their sum.");
  return out.take();
}

}  // namespace ranklab::advise
