#include "judge/references.hpp"

#include "core/text.hpp"

namespace ranklab {
namespace {

std::optional<ReferencePlace> place_in_json(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find("{{", from), close = text.find("}}", begin);
  if (begin == text.npos || close == text.npos) return std::nullopt;
  const std::size_t equals = text.substr(0, close).rfind(" = ");
  const bool has_value = equals != text.npos && equals > text.substr(0, close).rfind('|');
  const std::size_t value = has_value && equals > begin ? equals : close;
  return ReferencePlace{begin, value, close, close + 2,
                        trimmed(text.substr(begin + 2, value - begin - 2))};
}

constexpr std::string_view opening = "<!--{", opened = "}-->", closing = "<!--/-->";

std::optional<ReferencePlace> place_in_markdown(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find(opening, from), value = text.find(opened, begin),
                    close = text.find(closing, value);
  if (begin == text.npos || value == text.npos || close == text.npos) return std::nullopt;
  std::string reference =
      trimmed(text.substr(begin + opening.size(), value - begin - opening.size()));
  if (const std::size_t bar = reference.find("\\|"); bar != reference.npos)
    reference.erase(bar, 1);  // in a cell of a table
  return ReferencePlace{begin, value + opened.size(), close, close + closing.size(),
                        std::move(reference)};
}

}  // namespace

std::optional<ReferencePlace> first_reference(std::string_view text, std::size_t from) {
  const std::optional<ReferencePlace> json = place_in_json(text, from),
                                      page = place_in_markdown(text, from);
  return !json || (page && page->begin < json->begin) ? page : json;
}

std::string without_references(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (const std::optional<ReferencePlace> place = place_in_json(text, at)) {
    const std::string_view value = text.substr(place->value, place->value_end - place->value);
    out += text.substr(at, place->begin - at);
    out += value.empty() ? "-" : value.substr(std::string_view(" = ").size());
    at = place->end;
  }
  return out.append(text.substr(at));
}

}  // namespace ranklab
