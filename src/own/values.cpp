#include "own/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/tolerances.hpp"
#include "result/order.hpp"

namespace ranklab::own {
namespace {

constexpr double rounding = tolerance::residual<double>;

std::string shape_text(const Values& values) {
  return values.axis == nullptr
             ? "one number"
             : say("{} over {}", plural(values.at.size(), "value"), values.axis->name);
}

// A number and the size of the numbers that it was computed from.
struct Sized {
  double value = 0, size = 0;
};

Sized entry(const Values& values, std::size_t i) {
  const double value = values.at[i];
  return {value, values.sizes.empty() ? std::abs(value) : values.sizes[i]};
}

// A comparison up to rounding: a number that is larger by rounding alone is not larger. Two times
// that are never reached are both infinite, and not compared.
double compared(const std::string& symbol, Sized left, Sized right, bool has_literal) {
  const double a = left.value, b = right.value;
  if (std::isnan(a) || std::isnan(b)) return undefined;
  if (std::isinf(a) && a == b && !has_literal) return undefined;
  const double size = std::max(left.size, right.size),
               slack = std::isfinite(size) ? rounding * size : 0;
  if (symbol == "<=") return a <= b + slack;
  if (symbol == ">=") return b <= a + slack;
  if (symbol == "<") return a < b - slack;
  return b < a - slack;
}

double arithmetic(const std::string& word, double a, double b) {
  if (word == "+") return a + b;
  if (word == "-") return a - b;
  if (word == "*") return a * b;
  if (word == "/") return a / b;
  if (word == "^") return std::pow(a, b);
  if (std::isnan(a) || std::isnan(b)) return undefined;
  if (word == "min") return std::min(a, b);
  if (word == "max") return std::max(a, b);
  if (word == "and") return a != 0 && b != 0;
  return a != 0 || b != 0;  // or
}

// The size of the numbers behind a result: relative errors of the operands, carried through.
double size_of(const std::string& word, double result, Sized a, Sized b) {
  const double x = std::abs(a.value), y = std::abs(b.value);
  if (word == "+" || word == "-") return std::max(a.size, b.size);
  if (word == "*") return std::max(a.size * y, b.size * x);
  if (word == "/") return std::max(a.size / y, std::abs(result) * b.size / y);
  if (word == "min" || word == "max") return result == a.value ? a.size : b.size;
  if (word == "^" && x > 0)
    return std::abs(result) * std::max({1.0, y * a.size / x, std::abs(std::log(x)) * b.size});
  return std::abs(result);
}

double size_of(const std::string& word, double result, Sized a) {
  if (word == "negative" || word == "abs") return a.size;
  const double x = std::abs(a.value);
  if (word == "exp") return std::abs(result) * std::max(1.0, a.size);
  if (word == "sqrt") return x > 0 ? std::abs(result) * a.size / x : 0;
  if (word.starts_with("log")) return std::max(std::abs(result), a.size / x);
  return std::abs(result);
}

double of_number(const std::string& word, double a) {
  if (word == "negative") return -a;
  if (word == "not") return std::isnan(a) ? undefined : a == 0;
  if (word == "abs") return std::abs(a);
  if (word == "exp") return std::exp(a);
  if (word == "sqrt") return a < 0 ? undefined : std::sqrt(a);
  if (a <= 0) return undefined;
  if (word == "log2") return std::log2(a);
  return word == "log10" ? std::log10(a) : std::log(a);
}

bool is_comparison(const std::string& word) {
  return word == "<=" || word == ">=" || word == "<" || word == ">";
}
bool is_logical(const std::string& word) {
  return word == "and" || word == "or" || word == "not";
}

bool is_literal(const Node& node) {
  return node.kind == Node::Kind::number ||
         (node.word == "negative" && is_literal(node.parts.front()));
}

// What the stars of a glob stand for in a name, each as short as possible; nullopt if it does not
// match.
std::optional<Match> stars_of(const std::string& glob, const std::string& name) {
  const std::size_t star = glob.find('*');
  if (star == std::string::npos) return glob == name ? std::optional(Match()) : std::nullopt;
  if (name.compare(0, star, glob, 0, star) != 0) return std::nullopt;
  const std::string rest = glob.substr(star + 1);
  for (std::size_t end = star; end <= name.size(); ++end) {
    if (std::optional<Match> more = stars_of(rest, name.substr(end))) {
      more->insert(more->begin(), name.substr(star, end - star));
      return more;
    }
  }
  return std::nullopt;
}

// "1e-1" is the place 0.1.
bool is_number(const std::string& text, double value) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && number == value;
}

std::size_t stars_in(const Node& name) {
  auto stars = std::count(name.word.begin(), name.word.end(), '*');
  for (const auto& [axis, place] : name.at) stars += std::count(place.begin(), place.end(), '*');
  return static_cast<std::size_t>(stars);
}

}  // namespace

bool Values::is_lost() const {
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(at, [](double value) { return std::isnan(value); }));
  return !at.empty() && (std::isnan(at.back()) || 2 * missing > at.size());
}

Run::Run(const ResultFile& result, std::string of)
    : name_(std::move(of)), keeps_trials_(result.keeps_trials) {
  for (const Scalar& scalar : result.scalars) {
    quantities_[scalar.name] = {nullptr, &scalar.per_trial, nullptr};
    places_[scalar.name] = {scalar.quantity, scalar.at};
    order_.push_back(scalar.name);
    trials_ = std::max(trials_, scalar.per_trial.size());
  }
  for (const Series& series : result.series) {
    quantities_[series.name] = {std::make_shared<const Axis>(Axis{series.x_name, series.x}),
                                nullptr, &series.trials};
    places_[series.name] = {series.quantity, series.at};
    order_.push_back(series.name);
    trials_ = std::max(trials_, series.trials.size());
  }
  for (const auto& [name, value] : result.config.items()) {
    if (value.is_number()) flags_[name] = value.get<double>();
  }
}

const Run::Quantity* Run::quantity(const std::string& name) const {
  const auto found = quantities_.find(name);
  return found == quantities_.end() ? nullptr : &found->second;
}

const double* Run::flag(const std::string& name) const {
  const auto found = flags_.find(name);
  return found == flags_.end() ? nullptr : &found->second;
}

void Run::refuse_name(const Node& node, const std::string& name) const {
  if (node.at.empty()) {
    const std::vector<Found> places = all_places(node);
    std::vector<std::string> first;
    if (!places.empty()) {
      for (const auto& [axis, place] : places.front().at)
        first.push_back(axis + "=" + coordinate_text(place));
      refuse(node.column, say("'{}' was measured at {}; name one, such as {}[{}], or all by a star",
                              printable_key(name), plural(places.size(), "place"),
                              printable_key(name), joined(first)));
    }
  }
  if (name.find('*') != std::string::npos)
    refuse(node.column, "no quantity matches '" + printable_key(name) +
                            "'; a product needs blanks around its star");
  std::vector<std::string> known, pieces;
  for (const auto& [each, unused] : quantities_) known.push_back(each);
  for (const auto& [each, unused] : flags_) known.push_back(each);
  std::set<std::string> kinds;
  for (const auto& [each, place] : places_) {
    if (!quantities_.contains(place.kind)) kinds.insert(place.kind);
  }
  std::string piece;
  for (const char c : name + ".") {
    if (c != '.' && c != '_')
      piece += c;
    else
      pieces.push_back(std::exchange(piece, ""));
  }
  // A name that has all pieces, such as gd.nuclear_rank for gd.rank; else one spelled alike. A
  // short piece must be a whole one: `t` is not in diverged_trajectories.
  constexpr std::size_t short_piece = 3;
  const auto has_piece = [](const std::string& each, const std::string& wanted) {
    const auto is_end = [&](std::size_t i) {
      return i >= each.size() || each[i] == '.' || each[i] == '_';
    };
    for (std::size_t at = each.find(wanted); at != std::string::npos;
         at = each.find(wanted, at + 1)) {
      const bool is_whole = (at == 0 || is_end(at - 1)) && is_end(at + wanted.size());
      if (is_whole || wanted.size() > short_piece) return true;
    }
    return false;
  };
  const auto has_all = std::find_if(known.begin(), known.end(), [&](const std::string& each) {
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](const std::string& wanted) { return has_piece(each, wanted); });
  });
  std::vector<std::string> near = known;
  std::erase_if(near,
                [&](const std::string& each) { return !each.starts_with(pieces.front() + "."); });
  if (near.empty()) near = known;
  std::vector<std::string> spelled = known;
  spelled.insert(spelled.end(), kinds.begin(), kinds.end());
  constexpr std::size_t most = 5;
  const std::size_t rest = near.size() > most ? near.size() - most : 0;
  near.resize(near.size() - rest);
  if (rest > 0) near.push_back(say("{} more", rest));
  const std::string otherwise = near.empty() ? "" : "; it has " + joined(near);
  refuse(node.column, "no quantity '" + printable_key(name) + "' in " +
                          (name_.empty() ? "this run" : name_) +
                          (has_all != known.end() ? "; did you mean '" + *has_all + "'?"
                                                  : did_you_mean(name, spelled, otherwise)));
}

std::vector<std::pair<std::string, Match>> Run::at_places(const Node& node) const {
  std::vector<std::pair<std::string, Match>> out;
  std::set<std::string> kinds, axes;
  std::map<std::string, std::vector<std::string>> measured;  // by axis, in the order of the names
  for (const auto& [name, place] : places_) {
    kinds.insert(place.kind);
    if (place.kind != node.word) continue;
    std::vector<std::string> names;
    for (const auto& [axis, at] : place.at) {
      names.push_back(axis);
      std::vector<std::string>& of_axis = measured[axis];
      if (std::ranges::find(of_axis, coordinate_text(at)) == of_axis.end())
        of_axis.push_back(coordinate_text(at));
    }
    axes.insert(names.empty() ? "no axis" : joined(names, " and "));
    bool is_there = place.at.size() == node.at.size();
    Match stars;
    for (const auto& [axis, wanted] : node.at) {
      const auto found = place.at.find(axis);
      if (found == place.at.end()) {
        is_there = false;
        break;
      }
      const auto match = stars_of(wanted, coordinate_text(found->second));
      const double* number = std::get_if<double>(&found->second);
      is_there &= match.has_value() || (number != nullptr && is_number(wanted, *number));
      if (match) stars.insert(stars.end(), match->begin(), match->end());
    }
    if (is_there) out.emplace_back(name, std::move(stars));
  }
  if (!out.empty()) return out;
  if (axes.empty())
    refuse(node.column, say("nothing called '{}' was measured in {}", printable_key(node.word),
                            name_.empty() ? "this run" : name_) +
                            did_you_mean(node.word, {kinds.begin(), kinds.end()}));
  std::vector<std::string> wanted;
  for (const auto& [axis, place] : node.at) {
    wanted.push_back(axis + "=" + place);
    const auto found = measured.find(axis);
    if (found == measured.end() || std::ranges::find(found->second, place) != found->second.end() ||
        place.find('*') != std::string::npos)
      continue;
    std::ranges::sort(found->second, natural_less);
    refuse(node.column, say("'{}' was not measured at {}={}; allowed: {}", printable_key(node.word),
                            axis, printable_key(place), joined(found->second)));
  }
  const Quantity* curve = quantity(node.word);
  if (curve != nullptr && curve->axis != nullptr && node.at.size() == 1 &&
      curve->axis->name == node.at.front().first)
    refuse(node.column,
           say("'{}' is a curve over {}; at({}, {}) is its value there", printable_key(node.word),
               curve->axis->name, printable_key(node.word), printable_key(node.at.front().second)));
  refuse(node.column,
         say("'{}' was not measured at {}; its axes: {}", printable_key(node.word),
             printable_key(joined(wanted)), joined({axes.begin(), axes.end()}, "; or ")));
}

std::vector<Run::Found> Run::all_places(const Node& node) const {
  std::set<std::string> names;
  if (!node.at.empty()) {
    for (const auto& [name, unused] : at_places(node)) names.insert(name);
  } else if (quantity(node.word) != nullptr || flag(node.word) != nullptr) {
    return {};
  }
  const auto is_open = [&](const std::string& axis) {
    if (node.at.empty()) return true;
    const auto found =
        std::ranges::find_if(node.at, [&](const auto& each) { return each.first == axis; });
    return found->second.find('*') != std::string::npos;
  };
  std::vector<Found> out;
  std::set<std::string> axes;
  for (const std::string& name : order_) {
    const Place& place = places_.at(name);
    if (node.at.empty() ? place.kind != node.word : !names.contains(name)) continue;
    Found& found = out.emplace_back(Found{name, {}});
    std::vector<std::string> of_place;
    for (const auto& [axis, value] : place.at) {
      if (is_open(axis)) found.at[axis] = value;
      of_place.push_back(axis);
    }
    axes.insert(joined(of_place));
  }
  if (axes.size() > 1)
    refuse(node.column, say("'{}' was measured on different axes: {}; name them in brackets, such "
                            "as {}[AXIS=*]",
                            printable_key(node.word), joined({axes.begin(), axes.end()}, "; or "),
                            printable_key(node.word)));
  return out;
}

namespace {

// The names of a formula in one order.
std::vector<Node*> names_in(Formula& formula) {
  std::vector<Node*> out;
  const std::function<void(Node&)> collect = [&](Node& node) {
    if (node.kind == Node::Kind::name) out.push_back(&node);
    for (Node& part : node.parts) collect(part);
  };
  collect(formula.first);
  collect(formula.second);
  if (formula.from) collect(*formula.from);
  return out;
}

bool agree(const std::map<std::string, Coordinate>& a, const std::map<std::string, Coordinate>& b) {
  return std::ranges::all_of(a, [&](const auto& each) {
    const auto same = b.find(each.first);
    return same == b.end() || same->second == each.second;
  });
}

}  // namespace

std::vector<PlacedFormula> at_each_place(const Formula& formula, const Run& run) {
  std::vector<PlacedFormula> out = {{{}, formula}};
  const std::size_t names = names_in(out.front().formula).size();
  std::string before;
  for (std::size_t i = 0; i < names; ++i) {
    const Node node = *names_in(out.front().formula)[i];
    const std::vector<Run::Found> places = run.all_places(node);
    if (places.empty()) continue;
    std::vector<PlacedFormula> joint;
    for (const PlacedFormula& each : out) {
      for (const Run::Found& place : places) {
        if (!agree(each.at, place.at)) continue;
        PlacedFormula& there = joint.emplace_back(each);
        there.at.insert(place.at.begin(), place.at.end());
        Node& name = *names_in(there.formula)[i];
        name.word = place.name;
        name.at.clear();
      }
    }
    if (joint.empty())
      refuse(node.column, say("no place has both '{}' and '{}'", printable_key(before),
                              printable_key(node.word)));
    out = std::move(joint);
    before = node.word;
  }
  // The coordinate itself, such as d.
  for (PlacedFormula& each : out) {
    for (Node* name : names_in(each.formula)) {
      const auto axis = each.at.find(name->word);
      const bool is_known = run.quantity(name->word) != nullptr || run.flag(name->word) != nullptr;
      if (axis == each.at.end() || is_known) continue;
      if (const double* place = std::get_if<double>(&axis->second))
        *name = {Node::Kind::number, *place, {}, {}, name->column};
    }
  }
  return out;
}

std::vector<Match> matches_of(const Formula& formula, const Run& run) {
  const Node* glob = nullptr;
  std::size_t stars = 0;
  for (const Node* node : {&formula.first, &formula.second}) {
    for_each_name(*node, [&](const Node& name) {
      const std::size_t here = stars_in(name);
      if (here > stars) glob = &name, stars = here;
    });
  }
  if (glob == nullptr) return {{}};
  constexpr std::size_t most_stars = 3;
  if (stars > most_stars) refuse(glob->column, say("a name has at most {} stars", most_stars));
  std::vector<Match> out;
  if (!glob->at.empty()) {
    for (auto& [unused, match] : run.at_places(*glob)) out.push_back(std::move(match));
    return out;
  }
  for (const auto& [name, unused] : run.quantities()) {
    if (const auto match = stars_of(glob->word, name)) out.push_back(*match);
  }
  if (out.empty())
    refuse(glob->column, "no quantity matches '" + printable_key(glob->word) +
                             "'; a product needs blanks around its star");
  return out;
}

Evaluation::Evaluation(const Formula& formula, const Run& run, Match match)
    : formula_(formula), run_(run), match_(std::move(match)) {
  for (const Node* node : {&formula.first, &formula.second}) {
    for_each_name(*node, [&](const Node& name) {
      const Run::Quantity* found = run.quantity(full_name(name));
      if (found != nullptr && found->axis != nullptr) axes_.emplace(found->axis->name, found->axis);
    });
  }
  if (!formula.from) return;
  const bool restricts = std::any_of(axes_.begin(), axes_.end(), [&](const auto& each) {
    return is_about(*formula.from, *each.second);
  });
  if (restricts) return;
  std::vector<std::string> names;
  for (const auto& [name, unused] : axes_) names.push_back(name);
  if (!names.empty())
    refuse(formula.from->column, "'from' needs a condition on " + joined(names, " or "));
  for (const Node* node : {&formula.first, &formula.second}) {
    for_each_name(*node, [&](const Node& name) {
      const std::string full = full_name(name);
      if (run.quantity(full) == nullptr && run.flag(full) == nullptr) run.refuse_name(name, full);
    });
  }
  refuse(formula.from->column, "'from' restricts curves, and the statement has none");
}

// Whether the condition has the name of the axis or a curve over it.
bool Evaluation::is_about(const Node& from, const Axis& axis) const {
  bool found = false;
  for_each_name(from, [&](const Node& name) {
    const Run::Quantity* quantity = run_.quantity(full_name(name));
    found |= name.word == axis.name || (quantity != nullptr && quantity->axis != nullptr &&
                                        quantity->axis->name == axis.name);
  });
  return found;
}

std::string Evaluation::full_name(const Node& name) const {
  std::size_t star = 0;
  const auto filled = [&](const std::string& glob) {
    std::string out;
    for (const char c : glob) {
      if (c == '*' && star < match_.size())
        out += match_[star++];
      else
        out += c;
    }
    return out;
  };
  if (name.at.empty()) return filled(name.word);
  Node there = name;
  for (auto& [axis, place] : there.at) place = filled(place);
  return run_.at_places(there).front().first;
}

const Evaluation::Kept& Evaluation::kept(const std::shared_ptr<const Axis>& axis,
                                         std::size_t trial) {
  if (trial != kept_in_) kept_.clear();
  kept_in_ = trial;
  const auto found = kept_.find(axis.get());
  if (found != kept_.end()) return found->second;
  Kept out;
  Axis rest{axis->name, {}};
  restricting_ = axis;
  const Values keeps = is_about(*formula_.from, *axis)
                           ? value(*formula_.from, trial)
                           : Values{std::vector<double>(axis->x.size(), 1), axis, true};
  restricting_ = nullptr;
  if (!keeps.is_condition) refuse(formula_.from->column, "'from' needs a condition");
  if (keeps.axis == nullptr || keeps.axis->x != axis->x)
    refuse(formula_.from->column, say("'from' needs a condition at every {}", axis->name));
  out.is_lost = keeps.is_lost();
  for (std::size_t i = 0; i < axis->x.size(); ++i) {
    if (keeps.at[i] != 1) continue;
    out.places.push_back(i);
    rest.x.push_back(axis->x[i]);
  }
  bool varies = false;  // with the trial, so that another one may have such points
  for_each_name(*formula_.from,
                [&](const Node& name) { varies |= run_.quantity(full_name(name)) != nullptr; });
  if (out.places.empty() && !axis->x.empty() && !varies)
    refuse(formula_.from->column, say("no {} of the run meets this condition", axis->name));
  out.axis = std::make_shared<const Axis>(std::move(rest));
  return kept_[axis.get()] = std::move(out);
}

Values Evaluation::named(const Node& node, std::size_t trial) {
  if (restricting_ != nullptr && node.word == restricting_->name)
    return {restricting_->x, restricting_};
  const std::string name = full_name(node);
  const auto restricted = [&](const std::shared_ptr<const Axis>& axis,
                              const std::vector<double>& all) -> Values {
    if (!formula_.from || restricting_ != nullptr) return {all, axis};
    const Kept& keeps = kept(axis, trial);
    Values out{{}, keeps.axis};
    for (const std::size_t i : keeps.places) out.at.push_back(all.at(i));
    return out;
  };
  if (const Run::Quantity* found = run_.quantity(name)) {
    if (found->numbers != nullptr) return {{found->numbers->at(trial)}};
    if (found->curves->empty())
      refuse(node.column,
             "the result has only the mean of '" + printable_key(name) + "' over its trials; " +
                 (run_.keeps_trials() ? "no single trial has this curve"
                                      : "a run with --keep-trials keeps the curves that its trials "
                                        "measure"));
    return restricted(found->axis, found->curves->at(trial));
  }
  if (const auto axis = axes_.find(name); axis != axes_.end())
    return restricted(axis->second, axis->second->x);
  if (const double* flag = run_.flag(name)) return {{*flag}};
  run_.refuse_name(node, name);
}

Values Evaluation::combined(const Node& node, const Values& a, const Values& b) const {
  if (is_logical(node.word) != (a.is_condition && b.is_condition) ||
      (a.is_condition != b.is_condition))
    refuse(node.column, is_logical(node.word)
                            ? "'" + node.word + "' joins conditions, such as a >= b"
                            : "a condition is no number; share(...) is how often it holds");
  if (a.axis != nullptr && b.axis != nullptr && a.axis != b.axis &&
      (a.axis->x != b.axis->x || a.axis->name != b.axis->name))
    refuse(node.column, say("the left side has {}, the right side {}; first, last, mean, max, "
                            "at(...) make one number of a curve",
                            shape_text(a), shape_text(b)));
  const bool compares = is_comparison(node.word);
  Values out{{}, a.axis != nullptr ? a.axis : b.axis, compares || is_logical(node.word)};
  const std::size_t n = std::max(a.at.size(), b.at.size());
  out.at.reserve(out.axis == nullptr ? 1 : n);
  const bool has_literal = is_literal(node.parts.front()) || is_literal(node.parts.back());
  for (std::size_t i = 0; i < (out.axis == nullptr ? 1 : out.axis->x.size()); ++i) {
    const Sized x = entry(a, a.axis == nullptr ? 0 : i), y = entry(b, b.axis == nullptr ? 0 : i);
    if (compares) {
      out.at.push_back(compared(node.word, x, y, has_literal));
      continue;
    }
    out.at.push_back(arithmetic(node.word, x.value, y.value));
    if (!out.is_condition) out.sizes.push_back(size_of(node.word, out.at.back(), x, y));
  }
  return out;
}

Values Evaluation::reduced(const Node& node, Values of, std::size_t trial) {
  const std::string& word = node.word;
  const Axis single{"", {undefined}};
  const Axis& axis = of.axis == nullptr ? single : *of.axis;
  if (word == "share" && !of.is_condition)
    refuse(node.column, "share() takes a condition, such as share(a >= b)");
  if (word == "when" && !(of.is_condition && of.axis != nullptr))
    refuse(node.column, "when() takes a condition on a curve, such as when(a <= 0.1)");
  if (word != "share" && word != "when" && of.is_condition)
    refuse(node.column, word + "() takes numbers; share(...) is how often a condition holds");
  if (word == "diff") {
    if (of.axis == nullptr) refuse(node.column, "diff() takes a curve, not one number");
    Axis after{axis.name, {}};
    Values out;
    for (std::size_t i = 1; i < of.at.size(); ++i) {
      out.at.push_back(of.at[i] - of.at[i - 1]);
      out.sizes.push_back(std::max(entry(of, i).size, entry(of, i - 1).size));
      after.x.push_back(axis.x[i]);
    }
    out.axis = std::make_shared<const Axis>(std::move(after));
    return out;
  }
  const auto single_of = [&](std::size_t i) -> Values {
    return {{of.at[i]}, nullptr, false, {entry(of, i).size}};
  };
  if (of.at.empty()) return {{undefined}};
  if (word == "first") return single_of(0);
  if (word == "last") return single_of(of.at.size() - 1);
  if (word == "at") {
    const double place = place_on(node, of, trial);
    if (std::isnan(place)) return {{undefined}};
    return single_of(static_cast<std::size_t>(place));
  }
  if (word == "when") {
    const auto found = std::find(of.at.begin(), of.at.end(), 1);
    if (found == of.at.end())
      return {{std::isnan(of.at.back()) ? undefined : std::numeric_limits<double>::infinity()}};
    return {{axis.x[static_cast<std::size_t>(found - of.at.begin())]}};
  }
  // What is left of a curve that is undefined to its end, or mostly, says nothing of all of it.
  if (of.is_lost()) return {{undefined}};
  std::vector<std::size_t> defined;
  for (std::size_t i = 0; i < of.at.size(); ++i) {
    if (!std::isnan(of.at[i])) defined.push_back(i);
  }
  left_out_ += of.at.size() - defined.size();
  if (word == "sum" || word == "mean" || word == "share") {
    Sized sum;
    for (const std::size_t i : defined) sum.value += of.at[i], sum.size += entry(of, i).size;
    const double n = word == "sum" ? 1 : static_cast<double>(defined.size());
    return {{sum.value / n}, nullptr, false, {sum.size / n}};
  }
  if (word == "median") {  // infinite values stay
    std::ranges::sort(defined, {}, [&](std::size_t i) { return of.at[i]; });
    const Sized low = entry(of, defined[(defined.size() - 1) / 2]),
                high = entry(of, defined[defined.size() / 2]);
    return {{low.value == high.value ? low.value : low.value / 2 + high.value / 2},
            nullptr,
            false,
            {std::max(low.size, high.size)}};
  }
  const auto by_value = [&](std::size_t i, std::size_t j) { return of.at[i] < of.at[j]; };
  const bool is_least = word == "min" || word == "argmin";
  const std::size_t extreme = is_least ? *std::ranges::min_element(defined, by_value)
                                       : *std::ranges::max_element(defined, by_value);
  if (word == "min" || word == "max") return single_of(extreme);
  return {{axis.x[extreme]}};
}

// The index of the place of at(), or NaN if this trial does not have it.
double Evaluation::place_on(const Node& node, const Values& of, std::size_t trial) {
  const Node& place = node.parts[1];
  if (of.axis == nullptr) refuse(place.column, "at() takes a curve and a place on it");
  const double x = number(place, trial);
  const std::vector<double>& all = of.axis->x;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::abs(all[i] - x) > rounding * std::abs(x)) continue;
    has_place_.insert(&place);
    return static_cast<double>(i);
  }
  no_place_.emplace(&place, say("the curve has no {} {}; it has {} from {} to {}", of.axis->name, x,
                                all.size(), all.front(), all.back()));
  return undefined;
}

void Evaluation::require_places() const {
  for (const auto& [place, mistake] : no_place_) {
    if (!has_place_.contains(place)) refuse(place->column, mistake);
  }
}

bool Evaluation::is_one_sided(std::size_t trial) {
  bool any_lost = false, any_left = false;
  for (const Node* node : {&formula_.first, &formula_.second}) {
    for_each_name(*node, [&](const Node& name) {
      const Run::Quantity* found = run_.quantity(full_name(name));
      if (found == nullptr || found->axis == nullptr) return;
      (named(name, trial).is_lost() ? any_lost : any_left) = true;
    });
  }
  return any_lost && any_left;
}

bool Evaluation::from_is_lost(std::size_t trial) {
  if (!formula_.from) return false;
  return std::ranges::any_of(axes_,
                             [&](const auto& each) { return kept(each.second, trial).is_lost; });
}

Evaluation::Compared Evaluation::condition(const Node& node, std::size_t trial) {
  if (!is_comparison(node.word)) return {value(node, trial), {}};
  const Values left = value(node.parts[0], trial), right = value(node.parts[1], trial);
  Node difference{Node::Kind::operation, 0, "-", {}, node.column};
  const bool is_upper = node.word == "<=" || node.word == "<";
  Compared out{combined(node, left, right), {}};
  difference.parts = {is_upper ? node.parts[1] : node.parts[0],
                      is_upper ? node.parts[0] : node.parts[1]};
  out.margins =
      is_upper ? combined(difference, right, left).at : combined(difference, left, right).at;
  return out;
}

Values Evaluation::value(const Node& node, std::size_t trial) {
  if (node.kind == Node::Kind::number) return {{node.number}};
  if (node.kind == Node::Kind::name) return named(node, trial);
  Values left = value(node.parts.front(), trial);
  const bool is_binary = is_comparison(node.word) || node.word == "and" || node.word == "or" ||
                         std::string_view("+-*/^").find(node.word) != std::string_view::npos;
  const bool is_elementwise = (node.word == "min" || node.word == "max") && node.parts.size() > 1;
  if (is_binary || is_elementwise) {
    for (std::size_t i = 1; i < node.parts.size(); ++i)
      left = combined(node, left, value(node.parts[i], trial));
    return left;
  }
  const bool maps = node.word == "negative" || node.word == "not" || node.word == "abs" ||
                    node.word == "exp" || node.word == "sqrt" || node.word.starts_with("log");
  if (!maps) return reduced(node, std::move(left), trial);
  if ((node.word == "not") != left.is_condition)
    refuse(node.column, left.is_condition
                            ? "a condition is no number; share(...) is how often it holds"
                            : "'not' takes a condition, such as not a >= b");
  Values out{{}, left.axis, left.is_condition};
  for (std::size_t i = 0; i < left.at.size(); ++i) {
    const Sized x = entry(left, i);
    out.at.push_back(of_number(node.word, x.value));
    if (!out.is_condition) out.sizes.push_back(size_of(node.word, out.at.back(), x));
  }
  return out;
}

double Evaluation::number(const Node& node, std::size_t trial, const std::vector<double>& bounds) {
  const Values values = value(node, trial);
  if (values.axis != nullptr)
    refuse(node.column, say("this is a curve, {}; first, last, mean, max, at(...) make one number "
                            "of it",
                            shape_text(values)));
  if (values.is_condition) refuse(node.column, "a condition is no number; use share(...)");
  const auto [number, size] = entry(values, 0);
  for (const double bound : bounds) {
    if (std::isfinite(size) && std::abs(number - bound) <= rounding * size) return bound;
  }
  return number;
}

}  // namespace ranklab::own
