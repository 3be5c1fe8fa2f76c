#include "experiments/advise/gates.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab::advise {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

std::vector<Gate> gates_of(const FilesConfig& config) {
  std::vector<Gate> out;
  for (const std::string& text : config.fail_if) {
    const std::size_t colon = text.rfind(':');
    std::string rule = colon == std::string::npos ? "" : trimmed(text.substr(colon + 1));
    const bool names_ratio = rule.starts_with("ratio");
    if (names_ratio) rule = trimmed(rule.substr(5));
    Gate gate{text, trimmed(text.substr(0, std::min(colon, text.size()))), rule.starts_with('<'),
              0};
    const bool known = names_ratio && (gate.below || rule.starts_with('>'));
    rule = known ? trimmed(rule.substr(1)) : "";
    const char* const first = rule.data();
    const auto [stop, error] = std::from_chars(first, rule.data() + rule.size(), gate.limit);
    if (!known || gate.glob.empty() || error != std::errc() || stop != rule.data() + rule.size() ||
        !std::isfinite(gate.limit)) {
      throw UsageError(
          "--fail-if: '" + printable_key(text) +
          "' is not allowed; allowed: GLOB: ratio<X or GLOB: ratio>X, as in 'blocks.*: ratio<1'");
    }
    out.push_back(std::move(gate));
  }
  return out;
}

void require_layers(const std::vector<Gate>& gates, const Plan& plan) {
  for (const Gate& gate : gates) {
    const auto hit = [&](const auto& each) { return matches_glob(gate.glob, each.name); };
    const bool found = std::any_of(plan.skipped.begin(), plan.skipped.end(), hit) ||
                       std::any_of(plan.pairs.begin(), plan.pairs.end(), [&](const Pair& pair) {
                         return std::any_of(pair.layers.begin(), pair.layers.end(), hit);
                       });
    if (!found) throw UsageError("--fail-if: '" + printable_key(gate.glob) + "' matches no layer");
  }
}

std::vector<std::string> failed_gates(const std::vector<Gate>& gates, const Rows& rows) {
  std::vector<std::string> out;
  for (const Gate& gate : gates) {
    std::set<std::string> judged;
    for (const Row& row : rows.rows) {
      if (!row.is_judged()) continue;
      judged.insert(row.name());
      if (matches_glob(gate.glob, row.name()) && gate.fails(row.ratio.ratio)) {
        out.push_back(row.name() + ": nr/st = " + short_number(row.ratio.ratio) +
                      (row.ratio.values > 1 ? ", " + pooled_over(row.ratio) : "") + " (" +
                      gate.text + ")");
      }
    }
    const auto not_judged = [&](const std::string& name) {
      if (matches_glob(gate.glob, name) && judged.insert(name).second)
        out.push_back(name + ": not judged (" + gate.text + ")");
    };
    for (const Row& row : rows.rows) not_judged(row.name());
    for (const Skipped& left_out : rows.skipped) not_judged(left_out.name);
  }
  return out;
}

}  // namespace ranklab::advise
