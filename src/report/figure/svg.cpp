#include "report/figure/svg.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "core/error.hpp"
#include "report/figure/text.hpp"

namespace ranklab {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// Calls text(words between tags) and tag(a whole tag with its brackets), in order. Brackets inside
// quoted attribute values are part of the tag.
template <typename Text, typename Tag>
void for_each_part(std::string_view svg, const Text& text, const Tag& tag) {
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t open = std::min(svg.find('<', at), svg.size());
    if (open > at) text(svg.substr(at, open - at));
    if (open == svg.size()) return;
    std::size_t end = open;
    char quote = 0;
    for (; end < svg.size() && (quote != 0 || svg[end] != '>'); ++end) {
      if (quote != 0 ? svg[end] == quote : svg[end] == '"' || svg[end] == '\'')
        quote = quote != 0 ? '\0' : svg[end];
    }
    if (end == svg.size()) throw Failure("gnuplot wrote broken SVG");
    tag(svg.substr(open, end + 1 - open));
    at = end + 1;
  }
}

std::string_view element_name(std::string_view tag) {
  tag.remove_prefix(tag.starts_with("</") ? 2 : 1);
  const auto end = std::find_if(tag.begin(), tag.end(),
                                [](char c) { return is_space(c) || c == '>' || c == '/'; });
  return tag.substr(0, static_cast<std::size_t>(end - tag.begin()));
}

// Calls attribute(name, position and length of the value) for every name="value" of a tag.
template <typename Attribute>
void for_each_attribute(std::string_view tag, const Attribute& attribute) {
  for (std::size_t equals = tag.find('='); equals != std::string_view::npos;
       equals = tag.find('=', equals)) {
    std::size_t name_end = equals, value = equals + 1;
    while (name_end > 0 && is_space(tag[name_end - 1])) --name_end;
    std::size_t name = name_end;
    while (name > 0 && !is_space(tag[name - 1])) --name;
    while (value < tag.size() && is_space(tag[value])) ++value;
    if (value >= tag.size() || (tag[value] != '"' && tag[value] != '\''))
      throw Failure("gnuplot wrote broken SVG");
    const std::size_t end = tag.find(tag[value], value + 1);
    if (end == std::string_view::npos) throw Failure("gnuplot wrote broken SVG");
    attribute(tag.substr(name, name_end - name), value + 1, end - value - 1);
    equals = end;
  }
}

void check_tag(std::string_view tag) {
  static constexpr std::array<std::string_view, 17> allowed = {
      "svg",    "title",   "desc",        "g",       "defs",     "rect", "circle", "path", "use",
      "filter", "feFlood", "feComposite", "polygon", "polyline", "line", "text",   "tspan"};
  const std::string_view name = element_name(tag);
  if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
    throw Failure("gnuplot wrote an unexpected SVG element");
  for_each_attribute(tag, [&](std::string_view key, std::size_t at, std::size_t length) {
    const std::string_view value = tag.substr(at, length);
    const bool outside = (key == "href" || key == "xlink:href") && !value.starts_with('#');
    if (key.starts_with("on") || outside)
      throw Failure("gnuplot wrote an unexpected SVG attribute");
  });
}

// The width and height of the drawing, from its viewBox.
std::string size_attributes(std::string_view tag) {
  std::string out;
  for_each_attribute(tag, [&](std::string_view key, std::size_t at, std::size_t length) {
    if (key != "viewBox") return;
    const std::string box(tag.substr(at, length));
    const std::size_t height = box.rfind(' '), width = box.rfind(' ', height - 1);
    if (height == std::string::npos || width == std::string::npos) return;
    out = " width=\"" + box.substr(width + 1, height - width - 1) + "\" height=\"" +
          box.substr(height + 1) + "\"";
  });
  return out;
}

std::string opening_tag(std::string_view drawn, const std::string& title,
                        const std::string& description) {
  std::string tag(drawn.substr(0, drawn.size() - 1));
  while (is_space(tag.back())) tag.pop_back();
  tag += size_attributes(drawn) + " role=\"img\" style=\"max-width:100%;height:auto\">\n";
  return tag + "<title>" + escape_markup(title) + "</title>\n<desc>" + escape_markup(description) +
         "</desc>";
}

// gnuplot aligns numbers, breaks lines inside tags, and repeats the SVG defaults for every pen,
// which takes a tenth of a picture.
std::string squeezed(std::string_view tag) {
  static constexpr std::string_view defaults = " stroke-linecap=\"butt\" stroke-linejoin=\"miter\"";
  std::string out;
  for (const char c : tag) {
    if (!is_space(c)) {
      out += c;
    } else if (out.back() != ' ' && out.back() != '(') {
      out += ' ';
    }
  }
  const std::size_t at = out.find(defaults);
  return at == std::string::npos ? out : out.erase(at, defaults.size());
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  std::size_t line = 0;
  while (line <= text.size()) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    for (const char c : one_line(text.substr(line, end - line))) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        default:
          out += c;
      }
    }
    if (end < text.size()) out += '\n';
    line = end + 1;
  }
  return out;
}

std::string finish_svg(std::string_view drawn, const std::string& title,
                       const std::string& description) {
  const std::size_t start = drawn.find("<svg");
  if (start == std::string_view::npos) throw Failure("gnuplot wrote no SVG");
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  bool opened = false, skipping = false;
  // gnuplot opens a group for every change of its pen and writes empty labels. These groups draw
  // nothing and are a tenth of a picture, so they are dropped.
  struct Group {
    std::size_t start;
    bool draws = false;
  };
  std::vector<Group> groups;
  const auto draws = [&] {
    for (Group& group : groups) group.draws = true;
  };
  const auto text = [&](std::string_view words) {
    if (skipping) return;
    const bool indents = words.find('\n') != std::string_view::npos &&
                         std::all_of(words.begin(), words.end(), is_space);
    if (!indents) draws();
    out += indents ? "\n" : words;
  };
  const auto tag = [&](std::string_view words) {
    check_tag(words);
    const std::string_view name = element_name(words);
    const bool holds_others = name == "g" || name == "text";
    if (name == "title" || name == "desc") {
      // gnuplot titles every curve with a running number, which a browser would show as a tool tip.
      skipping = !words.starts_with("</");
    } else if (name == "svg" && !opened) {
      out += opening_tag(words, title, description);
      opened = true;
    } else if (!skipping && holds_others && words.starts_with("</") && !groups.empty()) {
      if (groups.back().draws) {
        out += words;
      } else {
        out.resize(groups.back().start);
      }
      groups.pop_back();
    } else if (!skipping) {
      if (holds_others && !words.starts_with("</")) {
        groups.push_back({out.size()});
      } else {
        draws();
      }
      out += squeezed(words);
    }
  };
  for_each_part(drawn.substr(start), text, tag);
  return out;
}

std::string prefix_svg_ids(std::string_view svg, std::string_view prefix) {
  std::string out;
  const auto tag = [&](std::string_view words) {
    std::size_t copied = 0;
    const auto insert_at = [&](std::size_t at) {
      out += words.substr(copied, at - copied);
      out += prefix;
      copied = at;
    };
    for_each_attribute(words, [&](std::string_view key, std::size_t at, std::size_t length) {
      const std::string_view value = words.substr(at, length);
      if (key == "id") insert_at(at);
      if ((key == "href" || key == "xlink:href") && value.starts_with('#')) insert_at(at + 1);
      for (std::size_t found = value.find("url(#"); found != std::string_view::npos;
           found = value.find("url(#", found + 5))
        insert_at(at + found + 5);
      if (!key.starts_with("aria-labelledby")) return;
      for (std::size_t word = 0; word < length;
           word = std::min(value.find(' ', word), length - 1) + 1)
        insert_at(at + word);
    });
    out += words.substr(copied);
  };
  for_each_part(
      svg, [&](std::string_view words) { out += words; }, tag);
  return out;
}

}  // namespace ranklab
