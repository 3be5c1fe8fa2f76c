#include "json_mutator.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace ranklab::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t deepest = 80, longest = 1 << 16;

void collect(Json& value, std::size_t depth, std::vector<Json*>& out) {
  out.push_back(&value);
  if (depth == deepest) return;
  for (Json& child : value) {
    if (value.is_structured()) collect(child, depth + 1, out);
  }
}

const std::vector<Json>& samples() {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           0,
                                           1,
                                           -1,
                                           2,
                                           1000000,
                                           4000000000u,
                                           18446744073709551615u,
                                           0.5,
                                           -1e308,
                                           1e-320,
                                           "",
                                           "x",
                                           "1",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({Json::array()}),
                                           Json::array({nullptr, 1, "x"}),
                                           {{"x", 1}}};
  return values;
}

}  // namespace

std::string mutated_json(std::string_view text, std::uint32_t seed) {
  Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return "";
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  std::vector<Json*> values;
  collect(document, 0, values);
  Json& chosen = *values[below(values.size())];
  const Json other = *values[below(values.size())];
  switch (below(5)) {
    case 0:
      chosen = other;
      break;
    case 1:
      if (chosen.is_structured() && !chosen.empty())
        chosen.erase(std::next(chosen.begin(), static_cast<std::ptrdiff_t>(below(chosen.size()))));
      break;
    case 2:
      if (chosen.is_array())
        chosen.push_back(chosen.empty() ? other : chosen[below(chosen.size())]);
      if (chosen.is_object() && other.is_object()) chosen.update(other);
      break;
    case 3:
      if (chosen.is_string() && other.is_string()) {
        chosen = chosen.get<std::string>() + other.get<std::string>();
        break;
      }
      [[fallthrough]];
    default:
      chosen = samples()[below(samples().size())];
  }
  std::string out = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out.size() > longest ? "" : out;
}

}  // namespace ranklab::fuzz
