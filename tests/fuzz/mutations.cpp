#include "mutations.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace ranklab::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t deepest = 80;

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

// A part of an input that may be JSON.
struct Piece {
  std::size_t begin = 0, end = 0;
  std::size_t record = 0;  // where the length of its record is, in two bytes; 0: no record
};

constexpr std::size_t note_mark = 8;  // bytes before the text of a note

void add_pieces_of_record(std::string_view input, std::size_t begin, std::size_t end,
                          std::vector<Piece>& out) {
  const std::size_t record = begin - 2;
  out.push_back({std::min(begin + note_mark, end), end, record});
  while (begin < end) {
    const std::size_t line = std::min(input.find('\n', begin), end),
                      colon = input.find(": ", begin);
    if (colon < line) out.push_back({colon + 2, line, record});
    begin = line + 1;
  }
}

std::vector<Piece> pieces_of(std::string_view input) {
  if (!input.starts_with('R')) return {{0, input.size()}, {0, input.find('\n')}};
  std::vector<Piece> out;
  for (std::size_t begin = 3; begin <= input.size();) {
    const std::size_t length = static_cast<unsigned char>(input[begin - 2]) +
                               std::size_t{256} * static_cast<unsigned char>(input[begin - 1]),
                      end = std::min(begin + length, input.size());
    add_pieces_of_record(input, begin, end, out);
    begin = end + 2;
  }
  return out;
}

std::string mutated(Json document, std::minstd_rand& random) {
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
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string mutated_json(std::string_view input, std::uint32_t seed) {
  std::minstd_rand random(seed);
  const std::vector<Piece> pieces = pieces_of(input);
  for (int tries = 0; tries < 8; ++tries) {
    const Piece piece = pieces.empty() ? Piece{} : pieces[random() % pieces.size()];
    const std::string_view text = input.substr(piece.begin, piece.end - piece.begin);
    Json document = Json::parse(text.begin(), text.end(), nullptr, false);
    if (document.is_discarded()) continue;
    const std::string changed = mutated(std::move(document), random);
    std::string out(input.substr(0, piece.begin));
    out += changed;
    out += input.substr(std::min(piece.end, input.size()));
    if (piece.record > 0) {
      const std::size_t length =
          static_cast<unsigned char>(out[piece.record]) +
          std::size_t{256} * static_cast<unsigned char>(out[piece.record + 1]) + changed.size() -
          text.size();
      out[piece.record] = static_cast<char>(length & 0xff);
      out[piece.record + 1] = static_cast<char>(length >> 8 & 0xff);
    }
    return out;
  }
  return "";
}

}  // namespace ranklab::fuzz
