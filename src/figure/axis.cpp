#include "figure/axis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "figure/symbols.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

constexpr const char* times = "\u00D7";

Tick power_tick(double at, const std::string& mantissa, int exponent) {
  const std::string power = with_minus(std::to_string(exponent)),
                    factor = mantissa.empty() ? "" : mantissa + times;
  return {at, factor + "10", power};
}

Tick plain_tick(double at, const std::string& digits) {
  return {at, with_minus(digits)};
}

std::string fixed(double value, int decimals) {
  return digits_of(value, std::chars_format::fixed, decimals);
}

// The label of a tick that is a multiple of `step`, with only as many digits as the step requires.
Tick step_tick(double at, double step, double largest) {
  const int magnitude = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
  const int needed = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  if (largest < 1e6 && step >= 0.99e-4) return plain_tick(at, fixed(at, std::max(0, needed)));
  if (at == 0) return plain_tick(0, "0");
  return power_tick(
      at, with_minus(fixed(at / std::pow(10.0, magnitude), std::clamp(needed + magnitude, 0, 6))),
      magnitude);
}

// A linear axis does not tell numbers of this size from 0, because a tenth of them has no digits.
constexpr double smallest = 1e-300;

// With more different values, ticks at each of them would not help.
constexpr std::size_t most_values_with_ticks = 9;

// Whether a label without a power of ten can show the number.
bool is_plain(double value) {
  return value == 0 || (std::abs(value) > 0.9999e-4 && std::abs(value) < 999'999);
}

// Ticks at the values themselves, such as the depths 24 and 48. Those without room for a label have
// none; 0.5 needs the room of -0.5, so that both signs have the same labels.
std::vector<Tick> ticks_at(const std::set<double>& values, const DrawnAxis& axis, double length) {
  constexpr double font_size = 11, gap = 8;
  const double sign = *values.begin() < 0 ? text_width(with_minus("-"), font_size) : 0;
  std::vector<Tick> ticks;
  double free_from = -std::numeric_limits<double>::infinity();
  for (const double value : values) {
    Tick tick = plain_tick(value, digits_of(value, std::chars_format::general, 6));
    const double at = axis.fraction(value) * length,
                 half = (tick.width(font_size) + (value > 0 ? sign : 0) + gap) / 2;
    if (at - half < free_from)
      tick.label = "", tick.minor = true;
    else
      free_from = at + half;
    ticks.push_back(tick);
  }
  return ticks;
}

// 1, 2 or 5 times a power of ten. widen() makes an axis a little longer than its data.
double nice_step(double raw) {
  constexpr double slack = 1e-5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - slack)) return factor * power;
  }
  return 10.0 * power;
}

std::vector<Tick> linear_ticks(const DrawnAxis& axis, int target, bool whole) {
  std::vector<Tick> ticks;
  // With one or two ticks a reader cannot tell the scale, so their distance is halved once.
  for (const int wanted : {target, 2 * target}) {
    double step = nice_step((axis.high - axis.low) / wanted);
    if (whole) step = std::max(step, 1.0);
    const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
    const double first = std::ceil(axis.low / step - 1e-9),
                 last = std::floor(axis.high / step + 1e-9);
    ticks.clear();
    for (double i = first; i <= last && ticks.size() < 50; ++i)
      ticks.push_back(step_tick(i * step, step, largest));
    if (ticks.size() >= 3) break;
  }
  return ticks;
}

// With more decades, unlabeled ticks would run together.
constexpr int most_ticked_decades = 40;

// Labeled powers of ten at intervals that fit `target`, with unlabeled ticks between them.
std::vector<Tick> decade_ticks(int first, int last, int target) {
  const int every = std::max(1, (last - first + target) / target);
  std::vector<Tick> ticks;
  const bool plain = first >= -2 && last <= 4;
  for (int e = first - 1; e <= last; ++e) {
    const double power = std::pow(10.0, e);
    Tick tick = plain ? plain_tick(power, fixed(power, std::max(0, -e))) : power_tick(power, "", e);
    const bool labeled = ((e % every) + every) % every == 0;
    if (!labeled && last - first > most_ticked_decades) continue;
    if (!labeled) tick = {power, "", "", true};
    ticks.push_back(tick);
    for (int m = 2; m < 10 && every == 1 && last - first <= 8; ++m)
      ticks.push_back({m * power, "", "", true});
  }
  return ticks;
}

// Less than two decades: 1, 2 and 5 times a power of ten carry labels.
std::vector<Tick> narrow_log_ticks(int first, int last) {
  std::vector<Tick> ticks;
  for (int e = first; e <= last; ++e) {
    for (int m = 1; m < 10; ++m) {
      const double at = m * std::pow(10.0, e);
      if (m != 1 && m != 2 && m != 5) {
        ticks.push_back({at, "", "", true});
      } else {
        ticks.push_back(e >= -4 && e < 5 ? plain_tick(at, fixed(at, std::max(0, -e)))
                                         : power_tick(at, m == 1 ? "" : std::to_string(m), e));
      }
    }
  }
  return ticks;
}

std::vector<Tick> log_ticks(const DrawnAxis& axis, int target) {
  const double low = std::log10(axis.low), high = std::log10(axis.high);
  const int first = static_cast<int>(std::ceil(low - 1e-9)),
            last = static_cast<int>(std::floor(high + 1e-9));
  std::vector<Tick> ticks;
  if (last - first >= 2) {
    ticks = decade_ticks(first, last, target);
  } else {
    ticks = high - low > 0.5 || axis.low < smallest ? narrow_log_ticks(first - 1, last)
                                                    : linear_ticks(axis, target, false);
  }
  const auto remove_outside = [&] {
    std::erase_if(ticks, [&](const Tick& tick) {
      return tick.at < axis.low * (1 - 1e-9) || tick.at > axis.high * (1 + 1e-9);
    });
  };
  remove_outside();
  const auto labeled = std::count_if(ticks.begin(), ticks.end(),
                                     [](const Tick& tick) { return !tick.label.empty(); });
  if (labeled < 3) {
    ticks = high - low > 2 || axis.low < smallest
                ? decade_ticks(first, last, std::max(1, last - first + 1))
                : linear_ticks(axis, target, false);
    remove_outside();
  }
  return ticks;
}

// For an axis of logarithms: the labels are the powers themselves, if a double can hold them.
std::vector<Tick> ticks_of_logarithms(const DrawnAxis& axis, int target) {
  if (axis.low < -290 || axis.high > 290) {
    std::vector<Tick> ticks = linear_ticks(axis, target, true);
    for (Tick& tick : ticks) tick = power_tick(tick.at, "", static_cast<int>(std::lround(tick.at)));
    return ticks;
  }
  DrawnAxis powers;
  powers.low = std::pow(10.0, axis.low);
  powers.high = std::pow(10.0, axis.high);
  std::vector<Tick> ticks = log_ticks(powers, target);
  for (Tick& tick : ticks) tick.at = std::log10(tick.at);
  return ticks;
}

// For an axis of shares: 0.5 is labeled 50.
std::vector<Tick> ticks_in_percent(const DrawnAxis& axis, int target) {
  DrawnAxis percent;
  percent.low = 100 * axis.low;
  percent.high = 100 * axis.high;
  std::vector<Tick> ticks = linear_ticks(percent, target, false);
  for (Tick& tick : ticks) tick.at /= 100;
  return ticks;
}

// Widens ranges of zero or tiny length, to avoid a division by zero, and every other range at least
// enough that rounding of its digits does not clip a point at the end.
void widen(DrawnAxis& axis, Scale scale, double padding) {
  padding = std::max(padding, 1e-6);
  if (axis.log) {
    double low = std::log10(axis.low), high = std::log10(axis.high);
    const double extra = high - low < 1e-6 ? 0.3 : padding * (high - low);
    axis.low = std::max(std::pow(10.0, low - extra), std::numeric_limits<double>::denorm_min());
    axis.high = std::pow(10.0, high + extra);
    return;
  }
  const double length = axis.high - axis.low,
               largest = std::max(std::abs(axis.low), std::abs(axis.high));
  double extra = padding * length;
  // Powers of ten of logarithms below 1e-9 are all 1.
  if (largest < (scale == Scale::log10 ? 1e-9 : smallest))
    extra = 0.5;
  else if (length <= 1e-9 * largest)
    extra = 0.1 * largest;
  axis.low -= extra;
  axis.high += extra;
}

}  // namespace

double Tick::width(double font_size) const {
  return text_width(label + power, font_size);
}

double DrawnAxis::fraction(double value) const {
  // Differences of logarithms, because high / low may overflow.
  if (log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

double DrawnAxis::label_width(double font_size) const {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, tick.width(font_size));
  return widest;
}

Extent::Extent() : low(std::numeric_limits<double>::infinity()), high(-low) {}
Extent::Extent(double from, double to) : low(from), high(to) {}

void Extent::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
  whole = whole && value == std::floor(value);
  if (few.size() <= most_values_with_ticks) few.insert(value);
}

void Extent::include(const Extent& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  whole = whole && other.whole;
  for (const double value : other.few) {
    if (few.size() <= most_values_with_ticks) few.insert(value);
  }
}

DrawnAxis make_axis(const Axis& axis, Extent extent, double padding, const AxisRoom& room) {
  DrawnAxis out;
  out.log = axis.scale == Scale::log;
  out.named = !axis.ticks.empty();
  if (out.named) {
    // Half a step of room next to the first and the last name. No name is below 1, where a log axis
    // could not reach 0.
    extent.include(out.log ? 0.9 : 0.5);
    extent.include(static_cast<double>(axis.ticks.size()) + 0.5);
    padding = 0;
  }
  const bool empty = extent.low > extent.high;
  out.low = empty ? 1.0 : extent.low;
  out.high = empty ? 10.0 : extent.high;
  widen(out, axis.scale, padding);
  for (std::size_t i = 0; i < axis.ticks.size(); ++i) {
    out.ticks.push_back({static_cast<double>(i + 1), label_with_symbols(axis.ticks[i])});
  }
  if (out.named) return out;
  const bool few =
      room.at_values && extent.few.size() > 1 && extent.few.size() <= most_values_with_ticks &&
      std::ranges::all_of(extent.few, is_plain) && (axis.scale == Scale::linear || out.log);
  out.ticks = few                            ? ticks_at(extent.few, out, room.length)
              : axis.scale == Scale::log10   ? ticks_of_logarithms(out, room.target)
              : axis.scale == Scale::percent ? ticks_in_percent(out, room.target)
              : out.log                      ? log_ticks(out, room.target)
                        : linear_ticks(out, room.target, extent.whole && !empty);
  return out;
}

}  // namespace ranklab
