#include "run/shard.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.hpp"

namespace ranklab {
namespace {

// The number in a text of digits only; 0 for any other text.
std::uint64_t positive_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

Shard parse_shard(const std::string& text, std::uint64_t trials, const std::string& label) {
  const std::size_t slash = std::min(text.size(), text.find('/'));
  const Shard shard{
      positive_number(std::string_view(text).substr(0, slash)),
      positive_number(std::string_view(text).substr(std::min(text.size(), slash + 1)))};
  if (shard.index == 0 || shard.index > shard.count || shard.count > trials) {
    throw UsageError(label + ": '" + text + "' is not allowed; allowed: i/N with 1 <= i <= N <= " +
                     std::to_string(trials) + ", the number of trials");
  }
  return shard;
}

}  // namespace ranklab
