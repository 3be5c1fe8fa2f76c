#include "result/order.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace ranklab {

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [](const std::string& text, std::size_t& at) {
      const std::size_t start = std::min(text.find_first_not_of('0', at), text.size());
      at = start;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(start, at - start);
    };
    const std::string x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i < b.size() - j;
}

bool figure_less(const std::string& a, const std::string& b) {
  const bool a_is_figure = a.starts_with("Figure"), b_is_figure = b.starts_with("Figure");
  return a_is_figure == b_is_figure ? natural_less(a, b) : a_is_figure;
}

}  // namespace ranklab
