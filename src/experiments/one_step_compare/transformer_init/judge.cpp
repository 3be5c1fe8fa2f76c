#include "experiments/one_step_compare/transformer_init/judge.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "experiments/one_step_compare/transformer_init/claims.hpp"

namespace ranklab::transformer_init {

double at(const TrialRecord& record, const std::string& name, std::size_t block) {
  return record.array(name).at(block);
}

Claim Judge::every_block(const Text& text, const RatioAt& ratio, const std::string& detail) const {
  double cases = 0, violations = 0, largest = 0;
  for (const TrialRecord& record : records_) {
    for (std::size_t block = 0; block < config_.layers; ++block) {
      const double value = ratio(record, block);
      if (std::isnan(value)) continue;
      cases += 1;
      violations += value <= 1 + rounding_slack ? 0 : 1;
      largest = std::max(largest, value);
    }
  }
  const std::string closest = "largest value over bound " + short_number(largest);
  return judge_violations("spectral/" + text.id, text.source, text.statement, violations, cases,
                          detail.empty() ? closest : closest + "; " + detail);
}

std::string Judge::hypothesis() const {
  const double d = static_cast<double>(config_.d), n = static_cast<double>(config_.n);
  return "delta = " + short_number(config_.delta) +
         ", c_- and c_+ measured; d >= C delta^-2 log n, whose C is not given, holds for C <= " +
         short_number(d * config_.delta * config_.delta / std::log(n));
}

RatioAt over_bound(const TransformerInitConfig& config, const std::string& matrix, double BlockBounds::*field) {
  return [&config, matrix, field](const TrialRecord& record, std::size_t block) {
    const BlockBounds bounds = block_bounds(input_columns(record, block), at(record, "X.stable_rank", block), config.delta);
    return at(record, matrix + ".stable_rank", block) / bounds.*field;
  };
}

}  // namespace ranklab::transformer_init
