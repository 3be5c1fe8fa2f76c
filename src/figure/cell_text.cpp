#include "figure/cell_text.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "figure/text.hpp"

namespace ranklab {

std::string number_text(double value) {
  if (!std::isfinite(value)) return "undefined";
  std::string digits = digits_of(value, std::chars_format::general, 4);
  const std::size_t e = digits.find('e');
  if (e == std::string::npos) return with_minus(digits);
  const int power = std::stoi(digits.substr(e + 1));
  return with_minus(digits.substr(0, e)) + "e" + with_minus(std::to_string(power));
}

std::string interval_text(double mean, double half_width) {
  const bool fits = half_width >= 1e-6 && half_width < 100 && std::abs(mean) < 1e6;
  if (!fits)
    return number_text(mean) + (std::isfinite(half_width) && half_width > 0
                                    ? " \u00B1 " + number_text(half_width)
                                    : "");
  const int places = std::max(0, 1 - static_cast<int>(std::floor(std::log10(half_width))));
  const auto rounded = [&](double number) {
    return with_minus(digits_of(number, std::chars_format::fixed, places));
  };
  return rounded(mean) + " \u00B1 " + rounded(half_width);
}

std::string mean_text(const std::vector<double>& per_trial) {
  const Summary summary = summarize(per_trial);
  if (summary.n == 0) return "undefined";
  return summary.n < 3 ? number_text(summary.mean)
                       : interval_text(summary.mean, confidence_half_width(summary));
}

}  // namespace ranklab
