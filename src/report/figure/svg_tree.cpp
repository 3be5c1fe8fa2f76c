#include "report/figure/svg_tree.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace ranklab {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

std::string_view element_name(std::string_view tag) {
  tag.remove_prefix(tag.starts_with("</") ? 2 : 1);
  const auto end = std::find_if(tag.begin(), tag.end(),
                                [](char c) { return is_space(c) || c == '>' || c == '/'; });
  return tag.substr(0, static_cast<std::size_t>(end - tag.begin()));
}

[[noreturn]] void fail() {
  throw Failure("gnuplot wrote broken SVG");
}

}  // namespace

std::string_view SvgNode::get(std::string_view key) const {
  for (const auto& [name_of, value] : attributes) {
    if (name_of == key) return value;
  }
  return {};
}

void SvgNode::set(std::string_view key, std::string value) {
  for (auto& [name_of, old] : attributes) {
    if (name_of != key) continue;
    old = std::move(value);
    return;
  }
  attributes.emplace_back(key, std::move(value));
}

void SvgNode::remove(std::string_view key) {
  std::erase_if(attributes, [&](const auto& attribute) { return attribute.first == key; });
}

void for_each_svg_part(std::string_view svg, const std::function<void(std::string_view)>& text,
                       const std::function<void(std::string_view)>& tag) {
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t open = std::min(svg.find('<', at), svg.size());
    if (open > at) text(svg.substr(at, open - at));
    if (open == svg.size()) return;
    // Brackets inside quoted attribute values are part of the tag.
    std::size_t end = open;
    char quote = 0;
    for (; end < svg.size() && (quote != 0 || svg[end] != '>'); ++end) {
      if (quote != 0 ? svg[end] == quote : svg[end] == '"' || svg[end] == '\'')
        quote = quote != 0 ? '\0' : svg[end];
    }
    if (end == svg.size()) fail();
    tag(svg.substr(open, end + 1 - open));
    at = end + 1;
  }
}

void for_each_svg_attribute(
    std::string_view tag,
    const std::function<void(std::string_view, std::size_t, std::size_t)>& attribute) {
  for (std::size_t equals = tag.find('='); equals != std::string_view::npos;
       equals = tag.find('=', equals)) {
    std::size_t name_end = equals, value = equals + 1;
    while (name_end > 0 && is_space(tag[name_end - 1])) --name_end;
    std::size_t name = name_end;
    while (name > 0 && !is_space(tag[name - 1])) --name;
    while (value < tag.size() && is_space(tag[value])) ++value;
    if (value >= tag.size() || (tag[value] != '"' && tag[value] != '\'')) fail();
    const std::size_t end = tag.find(tag[value], value + 1);
    if (end == std::string_view::npos) fail();
    attribute(tag.substr(name, name_end - name), value + 1, end - value - 1);
    equals = end;
  }
}

SvgNode parse_svg(std::string_view svg) {
  SvgNode root;
  std::vector<SvgNode*> open = {&root};
  const auto text = [&](std::string_view words) {
    const bool is_blank = std::all_of(words.begin(), words.end(), is_space);
    if (is_blank && open.back()->name != "text" && open.back()->name != "tspan") return;
    SvgNode& node = open.back()->children.emplace_back();
    node.text = words;
  };
  const auto tag = [&](std::string_view words) {
    if (words.starts_with("<!") || words.starts_with("<?")) return;
    const std::string_view name = element_name(words);
    if (words.starts_with("</")) {
      if (open.size() < 2 || open.back()->name != name) fail();
      open.pop_back();
      return;
    }
    SvgNode& node = open.back()->children.emplace_back();
    node.name = name;
    for_each_svg_attribute(words, [&](std::string_view key, std::size_t at, std::size_t length) {
      node.attributes.emplace_back(key, words.substr(at, length));
    });
    // The parent does not change while a child is open, so the pointer stays valid.
    if (!words.ends_with("/>")) open.push_back(&node);
  };
  for_each_svg_part(svg, text, tag);
  if (open.size() != 1 || root.children.empty() || root.children.front().name != "svg") fail();
  return std::move(root.children.front());
}

std::string write_svg(const SvgNode& node) {
  if (node.name.empty()) return node.text;
  std::string out = "<" + node.name;
  for (const auto& [key, value] : node.attributes) {
    // A value may contain one kind of quotes.
    const char quote = value.find('"') == std::string::npos ? '"' : '\'';
    out += " " + key + "=" + quote + value + quote;
  }
  if (node.children.empty()) return out + "/>";
  out += ">";
  for (const SvgNode& child : node.children) out += write_svg(child);
  return out + "</" + node.name + ">";
}

}  // namespace ranklab
