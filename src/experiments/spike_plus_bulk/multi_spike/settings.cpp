#include "experiments/spike_plus_bulk/multi_spike/settings.hpp"

#include <cmath>
#include <cstdio>

namespace ranklab {
namespace {

std::string named(const char* name, double value, std::size_t values) {
  if (values == 1) return "";
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%s=%g,", name, value);
  return buffer;
}

std::uint64_t whole(double t) {
  return static_cast<std::uint64_t>(t);
}

}  // namespace

std::vector<SpikePair> spike_pairs(const MultiSpikeConfig& config) {
  std::vector<SpikePair> pairs;
  if (config.spikes == 1) {
    for (const double high : config.spike_high) pairs.push_back({high, high, named("u", high, config.spike_high.size())});
    return pairs;
  }
  for (const double low : config.spike_low) {
    for (const double high : config.spike_high) {
      if (low <= high) {
        pairs.push_back({low, high, named("l", low, config.spike_low.size()) + named("u", high, config.spike_high.size())});
      }
    }
  }
  return pairs;
}

std::vector<SpikeFamily> spike_families(const MultiSpikeConfig& config) {
  std::vector<SpikeFamily> families;
  for (const SpikePair& pair : spike_pairs(config)) {
    for (const double c : config.c) families.push_back({pair, c, pair.names + named("c", c, config.c.size())});
  }
  return families;
}

SpikedShape spiked_shape(const MultiSpikeConfig& config, const SpikePair& pair, std::uint64_t d) {
  SpikedShape shape;
  shape.d = d;
  shape.spikes = config.spikes;
  shape.low = pair.low;
  shape.high = pair.high;
  return shape;
}

double large_rank(LabelModel model, std::uint64_t d) {
  return static_cast<double>(d) * (model == LabelModel::realizable ? 0.25 : 0.2);
}

double remark_rank(const MultiSpikeConfig& config, std::uint64_t d) {
  return std::pow(static_cast<double>(d), 1 - config.epsilon);
}

double burn_in_scale(const SpikePair& pair, double d) {
  return std::pow(d, pair.high - pair.low) * std::log(d);
}

double window_scale(const SpikePair& pair, double d) {
  return std::pow(d, pair.high);
}

double remark_scale(const SpikePair& pair, double d) {
  return std::pow(d, pair.high) * std::log(d);
}

Span predicted_window(const SpikeFamily& family, std::uint64_t d) {
  const double size = static_cast<double>(d);
  return {whole(std::ceil(family.c * family.pair.high * burn_in_scale(family.pair, size))),
          whole(family.c * window_scale(family.pair, size))};
}

Span predicted_remark_window(const MultiSpikeConfig& config, const SpikeFamily& family, std::uint64_t d) {
  const double factor = family.c * config.epsilon / (2 * SpikedShape().bulk_high);
  return {predicted_window(family, d).from, whole(factor * remark_scale(family.pair, static_cast<double>(d)))};
}

std::uint64_t horizon(const MultiSpikeConfig& config, const SpikeFamily& family, std::uint64_t d) {
  if (config.steps > 0) return config.steps;
  return whole(std::ceil(20 * family.c * remark_scale(family.pair, static_cast<double>(d))));
}

std::vector<std::uint64_t> recorded_iterations(std::uint64_t horizon) {
  std::vector<std::uint64_t> iterations;
  for (std::uint64_t t = 0; t < horizon; t += 1 + (t < 5 ? 0 : t / 3)) iterations.push_back(t);
  iterations.push_back(horizon);
  return iterations;
}

}  // namespace ranklab
