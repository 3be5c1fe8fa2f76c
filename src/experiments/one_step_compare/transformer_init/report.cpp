#include "experiments/one_step_compare/transformer_init/report.hpp"

#include <functional>

#include "core/text.hpp"
#include "experiments/one_step_compare/transformer_init/claims.hpp"
#include "experiments/one_step_compare/transformer_init/trial.hpp"

namespace ranklab {
namespace {

using Records = std::vector<TrialRecord>;

// One value for each block of each trial.
std::vector<std::vector<double>> per_block(const TransformerInitConfig& config, const Records& records,
                                           const std::function<double(const TrialRecord&, std::size_t)>& value) {
  std::vector<std::vector<double>> out;
  for (const TrialRecord& record : records) {
    out.emplace_back();
    for (std::size_t b = 0; b < config.layers; ++b) out.back().push_back(value(record, b));
  }
  return out;
}

void add_measured(Result& result, const Records& records) {
  for (const std::string& name : block_matrices()) {
    const std::string series = name + ".stable_rank";
    result.series.push_back(series_over_trials(series, "block", arrays_of(records, series), 1.0));
  }
  for (const std::string name : {"X", "X_att", "X_plus"}) {
    for (const std::string end : {".column_low", ".column_high"}) {
      result.series.push_back(series_over_trials(name + end, "block", arrays_of(records, name + end), 1.0));
    }
  }
}

void add_bounds(Result& result, const TransformerInitConfig& config, const Records& records) {
  const auto add = [&](const std::string& name, const std::function<double(const TrialRecord&, std::size_t)>& value) {
    result.series.push_back(series_over_trials(name, "block", per_block(config, records, value), 1.0));
  };
  const std::pair<const char*, double BlockBounds::*> fields[] = {{"A_rms", &BlockBounds::A_rms},
                                                                  {"X_att", &BlockBounds::X_att},
                                                                  {"A_mlp_rms", &BlockBounds::A_mlp_rms},
                                                                  {"B", &BlockBounds::B},
                                                                  {"X_plus", &BlockBounds::X_plus}};
  for (const auto& [name, field] : fields) {
    const std::string matrix = name;
    const auto bound = [&config, part = field](const TrialRecord& record, std::size_t b) {
      return block_bounds(input_columns(record, b), record.array("X.stable_rank")[b], config.delta).*part;
    };
    add(matrix + ".bound", bound);
    add(matrix + ".over_bound",
        [&](const TrialRecord& record, std::size_t b) { return record.array(matrix + ".stable_rank")[b] / bound(record, b); });
  }
  add("X_plus.column_low.bound",
      [&](const TrialRecord& record, std::size_t b) { return output_columns(input_columns(record, b), config.delta).low; });
  add("X_plus.column_high.bound",
      [&](const TrialRecord& record, std::size_t b) { return output_columns(input_columns(record, b), config.delta).high; });
  const auto depth = [&](const TrialRecord& record) {
    return depth_bounds(config.layers, record.scalar("embedding.norm_deviation"), record.scalar("inverse_p_max"));
  };
  add("A_rms.corollary_bound", [&](const TrialRecord& record, std::size_t b) { return depth(record).A_rms[b]; });
  add("A_mlp_rms.corollary_bound", [&](const TrialRecord& record, std::size_t b) { return depth(record).A_mlp_rms[b]; });
}

Figure transformer_init_figure() {
  const Axis block{"block"};
  Panel measured{"Stable ranks and bounds of Prop. 2.14 (ii)", block, {"stable rank", Scale::log}, {}, {}};
  int colour = 0;
  for (const std::string name : {"A_rms", "A_mlp_rms", "B", "X"}) {
    measured.curves.push_back({name + ".stable_rank", name, name == "X" ? LineStyle::dotted : LineStyle::line, colour});
    if (name != "X")
      measured.curves.push_back({name + ".bound", name == "B" ? "bounds, in their colours" : "", LineStyle::dashed, colour});
    ++colour;
  }
  Panel slack{"Measured over bound", block, {"ratio", Scale::log}, {}, {{1.0, "bound"}}};
  colour = 0;
  for (const std::string name : {"A_rms", "A_mlp_rms", "B", "X_att", "X_plus"}) {
    slack.curves.push_back({name + ".over_bound", name, LineStyle::line, colour});
    colour += colour == 2 ? 2 : 1;  // colour 3 is X's
  }
  Panel columns{"Squared column norms of X_plus, over d", block, {"smallest and largest", Scale::log}, {}, {}};
  columns.curves = {{"X_plus.column_low", "smallest", LineStyle::line, 0},
                    {"X_plus.column_high", "largest", LineStyle::line, 1},
                    {"X_plus.column_low.bound", "bounds of (i)", LineStyle::dashed, 0},
                    {"X_plus.column_high.bound", "", LineStyle::dashed, 1}};
  return {{measured, slack, columns}};
}

}  // namespace

Result transformer_init_result(const TransformerInitConfig& config, const Records& records, bool single_precision) {
  Result result;
  result.title = "Stable ranks inside a transformer at initialization";
  for (const char* name : {"inverse_p_max", "distinct_tokens", "embedding.norm_deviation", "A_final.stable_rank"}) {
    result.scalars.push_back({name, scalars_of(records, name)});
  }
  for (const std::string& name : block_matrices()) {
    Scalar first{"first." + name + ".stable_rank", {}}, last{"last." + name + ".stable_rank", {}};
    for (const auto& values : arrays_of(records, name + ".stable_rank")) {
      first.per_trial.push_back(values.front());
      last.per_trial.push_back(values.back());
    }
    result.scalars.push_back(std::move(first));
    result.scalars.push_back(std::move(last));
  }
  add_measured(result, records);
  add_bounds(result, config, records);
  result.claims = transformer_init_claims(config, records, single_precision);
  result.figure = transformer_init_figure();
  std::vector<double> embedded;
  for (const auto& values : arrays_of(records, "X.stable_rank")) embedded.push_back(values.front());
  const Summary first = summarise(embedded), last = summarise(scalars_of(records, "A_final.stable_rank"));
  if (config.layers > 1 && last.mean < first.mean) {
    result.notes.push_back("The stable ranks fall with depth, st(X) from " + short_number(first.mean) + " to " +
                           short_number(last.mean) +
                           ": the tokens align, where Corollary 2.15 would let the ranks grow as (1 + l)^2.");
  }
  return result;
}

}  // namespace ranklab
