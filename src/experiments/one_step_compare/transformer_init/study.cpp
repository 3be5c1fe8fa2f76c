#include <functional>
#include <map>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "experiments/one_step_compare/transformer_init/transformer_init.hpp"
#include "report/builder.hpp"

namespace ranklab {
namespace transformer_init {
namespace {

const auto bound_of = [](const std::string& matrix) { return matrix + ".bound"; };
const auto over_bound_of = [](const std::string& matrix) { return matrix + ".over_bound"; };

void add_scalars(ResultBuilder& out) {
  out.scalars({inverse_p_max, distinct_tokens, norm_deviation, final_rank});
  for (const std::string& matrix : block_matrices) {
    const auto ranks = arrays_of(out.records(), rank_of(matrix));
    std::vector<double> first, last;
    for (const std::vector<double>& each : ranks) {
      first.push_back(each.front());
      last.push_back(each.back());
    }
    out.scalar("first." + rank_of(matrix), std::move(first));
    out.scalar("last." + rank_of(matrix), std::move(last));
  }
}

void add_series(const TransformerInitConfig& config, ResultBuilder& out) {
  for (const std::string& matrix : block_matrices) out.series(rank_of(matrix), "block", 1.0);
  for (const std::string& matrix : column_matrices) {
    out.series(column_low_of(matrix), "block", 1.0);
    out.series(column_high_of(matrix), "block", 1.0);
  }
  const auto over_blocks = [&](const std::string& name,
                               const std::function<double(const MeasuredBlock&)>& value) {
    const auto measured = per_trial(out.records(), [&](const TrialRecord& record) {
      std::vector<double> values;
      for (std::size_t block = 0; block < config.layers; ++block)
        values.push_back(value({record, block}));
      return values;
    });
    out.series(series_over_trials(name, "block", measured, 1.0));
  };
  for (const BoundedRank& each : bounded_ranks) {
    over_blocks(bound_of(each.matrix),
                [&](const MeasuredBlock& block) { return each.at(block, config.delta); });
    over_blocks(over_bound_of(each.matrix),
                [&](const MeasuredBlock& block) { return each.over_bound(block, config.delta); });
  }
  const auto output = [&](const MeasuredBlock& block) {
    return output_columns(block.columns("X"), config.delta);
  };
  over_blocks(bound_of(column_low_of("X_plus")),
              [&](const MeasuredBlock& block) { return output(block).low; });
  over_blocks(bound_of(column_high_of("X_plus")),
              [&](const MeasuredBlock& block) { return output(block).high; });
  const auto corollary = [&](const std::string& matrix, std::vector<double> DepthBounds::*part) {
    const auto bounds = per_trial(out.records(), [&](const TrialRecord& record) {
      return corollary_bounds(config, record).*part;
    });
    out.series(series_over_trials(matrix + ".corollary_bound", "block", bounds, 1.0));
  };
  corollary("A_rms", &DepthBounds::A_rms);
  corollary("A_mlp_rms", &DepthBounds::A_mlp_rms);
}

// The matrices of bounded_ranks, in words.
std::string in_words(const std::string& matrix) {
  static const std::map<std::string, std::string> words = {
      {"A_rms", "normalized attention input"},
      {"X_att", "stream after attention"},
      {"A_mlp_rms", "normalized MLP input"},
      {"B", "hidden units of the MLP"},
      {"X_plus", "block output"},
  };
  return words.at(matrix) + " " + matrix;
}

// Proposition 2.14 (ii): each measured rank and its bound, one panel per matrix.
void add_main_figure(ResultBuilder& out) {
  for (const BoundedRank& each : bounded_ranks) {
    out.panel(capitalized(in_words(each.matrix)), {"block"}, rank_axis("stable rank"))
        .curve(rank_of(each.matrix), "measured", {LineStyle::line, 0})
        .curve(bound_of(each.matrix), "bound of Proposition 2.14 (ii)", {LineStyle::dashed, 1})
        .group("matrices");
  }
  out.columns(bounded_ranks.size());
}

void add_further_figure(ResultBuilder& out) {
  out.next_figure("Distance from the bounds, unbounded ranks and column norms");
  PanelBuilder shares =
      out.panel("Stable rank over its bound", {"block"}, log_axis("measured over bound"));
  for (std::size_t i = 0; i < bounded_ranks.size(); ++i) {
    shares.curve(over_bound_of(bounded_ranks[i].matrix), in_words(bounded_ranks[i].matrix),
                 {LineStyle::line, static_cast<int>(i)});
  }
  shares.line(1.0, "bound");
  out.panel("Stable ranks without a bound of their own", {"block"}, rank_axis("stable rank"))
      .curve(rank_of("X"), "block input X", {LineStyle::line, 0})
      .curve(rank_of("H"), "output H of the attention", {LineStyle::line, 1});
  const std::string low = column_low_of("X_plus"), high = column_high_of("X_plus");
  out.panel("Columns of the block output, Proposition 2.14 (i)", {"block"},
            log_axis("squared norm / d"))
      .curve(low, "smallest", {LineStyle::line, 0})
      .curve(bound_of(low), "lower bound", {LineStyle::dashed, 0})
      .curve(high, "largest", {LineStyle::line, 1})
      .curve(bound_of(high), "upper bound", {LineStyle::dashed, 1});
}

Result report(const TransformerInitConfig& config, const Records& records) {
  ResultBuilder out("Stable ranks inside a transformer at initialization", records);
  add_scalars(out);
  add_series(config, out);
  judge(config, records, out.claims());
  add_main_figure(out);
  add_further_figure(out);
  const auto embedded = per_trial(
      records, [](const TrialRecord& record) { return record.array(rank_of("X")).front(); });
  const Summary first = summarize(embedded), last = summarize(scalars_of(records, final_rank));
  if (config.layers > 1 && last.mean < first.mean) {
    out.note("The stable ranks decrease with depth, from " + short_number(first.mean) +
             " for the embedded tokens to " + short_number(last.mean) +
             " for the normalized last output: the tokens align, although Corollary 2.15 allows "
             "the ranks to grow like (1 + l)^2.");
  }
  return out.take();
}

}  // namespace
}  // namespace transformer_init

namespace {

constexpr std::uint64_t units_per_dimension = 4;
constexpr double largest_delta = 0.25;  // Proposition 2.14 needs a smaller delta

class TransformerInitStudy : public Study {
 public:
  std::vector<Field> fields() override {
    TransformerInitConfig& c = config_;
    return {
        size_field("layers", c.layers, 1, 10'000, "L", "decoder blocks"),
        size_field("d", c.d, 1, largest_size, "d", "hidden dimension"),
        size_field("n", c.n, 2, largest_size, "n", "tokens"),
        size_field("k", c.k, 0, largest_size, "k", "hidden units of the MLP; 0: 4 d"),
        size_field("vocabulary", c.vocabulary, 1, 10'000'000, "V",
                   "vocabulary size: number of distinct tokens"),
        real_field("zipf", c.zipf, 0.0, 10.0, "s",
                   "Zipf exponent: token j has probability proportional to j^(-s)"),
        excluding_low(real_field("delta", c.delta, 0.0, largest_delta, "delta",
                                 "constant of Lemma 2.13 and Proposition 2.14; below 0.25")),
    };
  }

  void resolve_defaults() override {
    if (config_.k == 0) config_.k = units_per_dimension * config_.d;
  }

  void validate() const override {
    if (config_.delta >= largest_delta)
      throw UsageError("--delta: 0.25 is not allowed; allowed: below 0.25");
    if (config_.k < config_.d) {
      throw UsageError("--k: " + std::to_string(config_.k) +
                       " is not allowed; allowed: at least --d = " + std::to_string(config_.d) +
                       ", because Lemma 2.13 needs k >= d");
    }
  }

  Estimate estimate() const override {
    const double d = static_cast<double>(config_.d), n = static_cast<double>(config_.n),
                 k = static_cast<double>(config_.k);
    return {.bytes = 8 * (6 * d * d + 3 * d * k + 10 * d * n + 2 * n * n + 2 * k * n +
                          static_cast<double>(config_.vocabulary))};
  }

  Work work() const override {
    return each_trial([this](Trial& trial) { return transformer_init::run_trial(config_, trial); });
  }
  Result report(const Records& records) const override {
    return transformer_init::report(config_, records);
  }

 private:
  TransformerInitConfig config_;
};

}  // namespace

std::unique_ptr<Study> make_transformer_init_study() {
  return std::make_unique<TransformerInitStudy>();
}

}  // namespace ranklab
