#include "report/figure/svg_markers.hpp"

#include <compare>
#include <map>
#include <optional>

#include "report/figure/svg_path.hpp"

namespace ranklab {
namespace {

// The look of a marker: symbol, scale, color and the width of its pen.
struct Marker {
  std::string symbol, scale, color, pen;
  auto operator<=>(const Marker&) const = default;
};

class MarkerPaths {
 public:
  // Replaces runs of equal symbols by paths.
  void join(SvgNode& node, const std::string& pen) {
    const std::string own =
        node.get("stroke-width").empty() ? pen : std::string(node.get("stroke-width"));
    std::vector<SvgNode> kept;
    std::optional<Marker> open;
    SvgLine points;
    const auto close = [&] {
      if (open) kept.push_back(path(*open, points));
      open.reset();
      points.clear();
    };
    for (SvgNode& child : node.children) {
      SvgPoint at{};
      if (const auto marker = marker_of(child, own, at)) {
        if (open != marker) close();
        open = marker;
        points.push_back(at);
      } else {
        close();
        join(child, own);
        kept.push_back(std::move(child));
      }
    }
    close();
    node.children = std::move(kept);
  }

  // A marker is drawn twice, first as a wider white rim: two neighboring groups with the same
  // points become one.
  void join_rims(SvgNode& node) {
    std::vector<SvgNode> kept;
    for (SvgNode& child : node.children) {
      join_rims(child);
      const SvgNode *rim = kept.empty() ? nullptr : only_path(kept.back()),
                    *mark = only_path(child);
      if (rim == nullptr || mark == nullptr || rim->get("d") != mark->get("d")) {
        kept.push_back(std::move(child));
        continue;
      }
      const std::pair both(number_in(*rim), number_in(*mark));
      const std::size_t number =
          pairs_.try_emplace(both, numbers_.size() + pairs_.size()).first->second;
      child.children[0].set("style", style(number));
      kept.back() = std::move(child);
    }
    node.children = std::move(kept);
  }

  std::vector<SvgNode> definitions() const {
    std::vector<SvgNode> out;
    std::map<std::size_t, SvgNode> symbols;
    for (const auto& [marker, number] : numbers_) {
      symbols[number] = {"use",
                         "",
                         {{"xlink:href", marker.symbol},
                          {"transform", "scale(" + marker.scale + ")"},
                          {"color", marker.color},
                          {"stroke-width", marker.pen}},
                         {}};
      out.push_back(definition(number, {symbols[number]}));
    }
    for (const auto& [both, number] : pairs_)
      out.push_back(definition(number, {symbols[both.first], symbols[both.second]}));
    return out;
  }

 private:
  static SvgNode definition(std::size_t number, std::vector<SvgNode> symbols) {
    return {"marker",
            "",
            {{"id", "k" + std::to_string(number)},
             {"overflow", "visible"},
             {"markerUnits", "userSpaceOnUse"}},
            std::move(symbols)};
  }

  // The path of a group that holds nothing but one path of markers.
  static const SvgNode* only_path(const SvgNode& node) {
    const bool is_one = node.name == "g" && node.children.size() == 1 &&
                        node.children[0].get("style").starts_with("marker:");
    return is_one ? &node.children[0] : nullptr;
  }

  static std::size_t number_in(const SvgNode& path) {
    const std::string style(path.get("style"));
    return std::stoul(style.substr(style.find("#k") + 2));
  }

  static std::optional<Marker> marker_of(const SvgNode& node, const std::string& pen,
                                         SvgPoint& at) {
    if (node.name != "use" || node.attributes.size() != 3) return std::nullopt;
    const std::string_view transform = node.get("transform");
    constexpr std::string_view move = "translate(", scale = ") scale(";
    const std::size_t middle = transform.find(scale);
    if (!transform.starts_with(move) || middle == std::string_view::npos) return std::nullopt;
    const auto place = svg_numbers(transform.substr(move.size(), middle - move.size()));
    if (!place || place->size() != 2) return std::nullopt;
    at = svg_points(*place)->front();
    const std::size_t from = middle + scale.size();
    return Marker{std::string(node.get("xlink:href")),
                  std::string(transform.substr(from, transform.find(')', from) - from)),
                  std::string(node.get("color")), pen};
  }

  SvgNode path(const Marker& marker, const SvgLine& points) {
    const std::size_t number = numbers_.try_emplace(marker, numbers_.size()).first->second;
    // The shorthand sets the marker of every vertex; a single point has two, at one place.
    return {"path",
            "",
            {{"d", svg_path_through(points)}, {"style", style(number)}, {"stroke", "none"}},
            {}};
  }

  static std::string style(std::size_t number) {
    return "marker:url(#k" + std::to_string(number) + ")";
  }

  std::map<Marker, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> pairs_;  // of numbers
};

}  // namespace

std::vector<SvgNode> join_markers(SvgNode& drawing) {
  MarkerPaths paths;
  paths.join(drawing, "1");
  paths.join_rims(drawing);
  return paths.definitions();
}

}  // namespace ranklab
