#include "own/report.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "judge/references.hpp"
#include "own/formula.hpp"
#include "own/number.hpp"
#include "own/report_members.hpp"
#include "own/values.hpp"

namespace ranklab {

// Reading -----------------------------------------------------------------------------------------

namespace {

// An object, or the text that is one of its members.
template <class Struct>
void read_short(const Json& json, const char* key, Struct& object) {
  read_known(json.is_string() ? Json{{key, json}} : json, object);
}

}  // namespace

void from_json_value(const Json& json, OwnStatement& statement) {
  read_known(json, statement);
}
void from_json_value(const Json& json, OwnQuantity& quantity) {
  read_known(json, quantity);
}
void from_json_value(const Json& json, OwnX& x) {
  read_short(json, "of", x);
}
void from_json_value(const Json& json, OwnY& y) {
  read_short(json, "label", y);
}
void from_json_value(const Json& json, OwnCurve& curve) {
  read_known(json, curve);
}
void from_json_value(const Json& json, OwnLine& line) {
  Json full = json;
  if (const auto y = full.is_object() ? full.find("y") : full.end();
      y != full.end() && !y->is_string()) {
    if (!y->is_number()) throw ReadError("y", "must be a number, or a formula as text");
    *y = y->dump();
  }
  read_known(full, line);
}
void from_json_value(const Json& json, OwnPanel& panel) {
  read_known(json, panel);
}
void from_json_value(const Json& json, OwnReport& report) {
  read_known(json, report);
}
OrderedJson to_json_value(const OwnReport& report) {
  return object_json(report);
}

OwnReport own_report_in(const Json& document, const std::string& label) {
  OwnReport out;
  const auto found = document.is_object() ? document.find("report") : document.end();
  if (found == document.end() || found->is_null()) return out;
  try {
    from_json_value(*found, out);
  } catch (const ReadError& error) {
    throw UsageError(label + ": " + error.inside("report").what());
  }
  out.claims = checked(std::move(out.claims), label + ": report.claims");
  return out;
}

// Applying ----------------------------------------------------------------------------------------

namespace {

using own::Evaluation;
using own::Formula;
using own::Node;
using own::PlacedFormula;
using own::Run;
using own::Values;
using Places = std::map<std::string, Coordinate>;

// The place with its name: "gd.layer=1".
At at_places(const Places& places) {
  At out;
  for (const auto& [axis, place] : places) {
    At next;
    std::visit([&, &axis = axis](const auto& each) { next = At(axis, each); }, place);
    out = out.text.empty() ? next : out / next;
  }
  return out;
}

std::string places_text(const Places& places) {
  std::vector<std::string> out;
  for (const auto& [axis, place] : places) out.push_back(axis + "=" + coordinate_text(place));
  return joined(out);
}

// What is wrong with a member of a part of the report.
struct KeyError : UsageError {
  KeyError(std::string of, const std::string& what) : UsageError(what), key(std::move(of)) {}
  std::string key;
};

// A line about the part of the report that `act` adds, if it cannot.
template <class Act>
void attempt(const std::string& place, Mistakes& mistakes, const Act& act) {
  try {
    act();
  } catch (const KeyError& error) {
    mistakes.push_back("report." + place + "." + error.key + ": " + error.what());
  } catch (const UsageError& error) {
    mistakes.push_back("report." + place + ": " + error.what());
  }
}

bool is_name(const std::string& text) {
  const auto continues = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, continues);
}

// Throws UsageError for a name that means something already.
void require_new_name(const std::string& name, const ResultFile& result, const Run& run) {
  if (!is_name(name))
    throw UsageError("'" + printable_key(name) +
                     "' is not allowed; allowed: letters, digits and _");
  const auto measured = [&](const auto& each) {
    return each.quantity == name || each.name == name;
  };
  std::string taken;
  if (own::is_word_of_formulas(name)) taken = "a word of formulas";
  if (run.flag(name) != nullptr) taken = "a flag of the run";
  if (std::ranges::find(result.series, name, &Series::x_name) != result.series.end())
    taken = "what curves are over";
  if (std::ranges::any_of(result.scalars, measured) || std::ranges::any_of(result.series, measured))
    taken = "measured already";
  if (!taken.empty()) throw UsageError("'" + name + "' is " + taken + "; choose another name");
}

// The value in each trial: one number, or a curve over the longest of their axes.
struct Measured {
  std::shared_ptr<const own::Axis> axis;
  std::vector<std::vector<double>> per_trial;
};

Measured measured(const Formula& formula, const Run& run) {
  Evaluation evaluation(formula, run, {});
  bool varies = false;  // the condition, with the trial
  if (formula.from) {
    own::for_each_name(*formula.from,
                       [&](const Node& name) { varies |= run.quantity(name.word) != nullptr; });
  }
  Measured out;
  for (std::size_t trial = 0; trial < run.trials(); ++trial) {
    Values values = evaluation.value(formula.first, trial);
    if (values.is_condition)
      own::refuse(formula.first.column,
                  "a condition is no number; share(...) is how often it holds");
    if (values.axis != nullptr && varies)
      own::refuse(formula.from->column,
                  "this leaves other points in each trial; use it in a statement, or reduce the "
                  "curve to one number: first, last, mean, max, at(...)");
    out.axis = values.axis;
    out.per_trial.push_back(std::move(values.at));
  }
  evaluation.require_places();
  return out;
}

void add_quantity(const OwnQuantity& own, const Places& places, const Measured& values,
                  ResultFile& result) {
  Quantity quantity = own.name;
  if (!places.empty()) quantity = at_places(places) / quantity;
  if (values.axis == nullptr) {
    std::vector<double> numbers;
    for (const std::vector<double>& each : values.per_trial) numbers.push_back(each.front());
    add_scalar(result, {std::move(quantity), std::move(numbers)});
    return;
  }
  Series series =
      series_over_trials(std::move(quantity), values.axis->name, values.axis->x, values.per_trial);
  series.trials = values.per_trial;
  result.series.push_back(std::move(series));
}

// One of the quantities that a curve shows.
struct Shown {
  std::string name;
  Places places;  // on the axes that the curve leaves open
  const Series* series = nullptr;
  const Scalar* scalar = nullptr;
};

template <class Values>
const typename Values::value_type* find_named(const Values& values, const std::string& name) {
  const auto found =
      std::ranges::find_if(values, [&](const auto& each) { return each.name == name; });
  return found == values.end() ? nullptr : &*found;
}

std::vector<Shown> shown_by(const OwnCurve& curve, const ResultFile& result, const Run& run) {
  const Formula formula = own::parse_value(curve.of);
  if (formula.first.kind != Node::Kind::name || formula.from)
    own::refuse(1, "a curve is of one quantity; give the formula a name in \"quantities\"");
  std::vector<Shown> out;
  for (const PlacedFormula& placed : own::at_each_place(formula, run)) {
    const std::string& name = placed.formula.first.word;
    Shown shown{name, placed.at, find_named(result.series, name), find_named(result.scalars, name)};
    if (shown.series == nullptr && shown.scalar == nullptr) run.refuse_name(formula.first, name);
    out.push_back(std::move(shown));
  }
  return out;
}

// The coordinates of an axis: numbers in their order, then labels in that of the result.
std::vector<Coordinate> coordinates_of(const std::vector<Shown>& all, const std::string& axis) {
  std::vector<Coordinate> out;
  for (const Shown& shown : all) {
    const auto found = shown.places.find(axis);
    if (found != shown.places.end() && std::ranges::find(out, found->second) == out.end())
      out.push_back(found->second);
  }
  std::ranges::stable_sort(out, [](const Coordinate& a, const Coordinate& b) {
    const double *left = std::get_if<double>(&a), *right = std::get_if<double>(&b);
    return left != nullptr && (right == nullptr || *left < *right);
  });
  return out;
}

// Those that are numbers.
std::vector<double> numbers_of(const std::vector<Coordinate>& all) {
  std::vector<double> out;
  for (const Coordinate& each : all) {
    if (const double* number = std::get_if<double>(&each)) out.push_back(*number);
  }
  return out;
}

std::vector<std::string> axes_of(const std::vector<Shown>& all) {
  std::set<std::string> out;
  for (const Shown& shown : all)
    for (const auto& [axis, unused] : shown.places) out.insert(axis);
  return {out.begin(), out.end()};
}

[[noreturn]] void refuse_axis(const std::string& key, const std::string& axis,
                              const std::vector<Shown>& all) {
  const std::vector<std::string> axes = axes_of(all);
  throw KeyError(key, "'" + printable_key(axis) + "' is not an axis of '" + all.front().name + "'" +
                          did_you_mean(axis, axes,
                                       axes.empty() ? "; it was measured at one place"
                                                    : "; its axes: " + joined(axes)));
}

// With each {AXIS} replaced by the place on it. Throws UsageError for another word in braces.
std::string filled(std::string text, const Places& places) {
  for (const auto& [axis, place] : places) {
    const std::string gap = "{" + axis + "}";
    for (std::size_t at; (at = text.find(gap)) != text.npos;)
      text.replace(at, gap.size(), coordinate_text(place));
  }
  const std::size_t open = text.find('{'), close = text.find('}', open);
  if (close != std::string::npos) {
    const std::string word = text.substr(open + 1, close - open - 1);
    std::vector<std::string> axes;
    for (const auto& [axis, unused] : places) axes.push_back(axis);
    if (is_name(word))
      throw UsageError("'{" + word + "}' is not an axis of \"each\"" +
                       did_you_mean(word, axes, axes.empty() ? "" : "; allowed: " + joined(axes)));
  }
  return text;
}

// "gd", "d = 64".
std::string legend_of(const std::string& axis, const Coordinate& place) {
  return std::holds_alternative<double>(place) ? axis + " = " + coordinate_text(place)
                                               : coordinate_text(place);
}

// Draws one panel of the report, or one of its small multiples.
class PanelOf {
 public:
  PanelOf(const OwnReport& report, const OwnPanel& own, ResultFile& result)
      : report_(report), own_(own), result_(result), run_(result, "") {}

  /// Each panel gets the places on the axis of the panels.
  void add(const std::string& place, Mistakes& mistakes) {
    std::vector<std::vector<Shown>> curves;
    for (std::size_t i = 0; i < own_.curves.size(); ++i) {
      attempt(place + say(".curves[{}].of", i), mistakes,
              [&] { curves.push_back(shown_by(own_.curves[i], result_, run_)); });
    }
    if (curves.size() != own_.curves.size()) return;
    attempt(place, mistakes, [&] {
      if (own_.curves.empty()) throw KeyError("curves", "a panel needs at least one");
      if (own_.each.empty()) return draw({}, curves, place, mistakes);
      std::vector<Shown> all;
      for (const std::vector<Shown>& each : curves) all.insert(all.end(), each.begin(), each.end());
      const std::vector<Coordinate> places = coordinates_of(all, own_.each);
      if (places.empty()) refuse_axis("each", own_.each, all);
      for (const Coordinate& each : places) draw({{own_.each, each}}, curves, place, mistakes);
    });
    std::ranges::move(added_, std::back_inserter(result_.series));
  }

 private:
  void draw(const Places& of_panel, const std::vector<std::vector<Shown>>& curves,
            const std::string& place, Mistakes& mistakes) {
    Panel panel{
        filled(own_.title, of_panel), {own_.x.label, own_.x.scale}, {own_.y.label, own_.y.scale}};
    panel.own = true;
    panel.y.covers = own_.y.covers;
    if (!of_panel.empty()) {
      panel.group = own_.title.empty() ? place : own_.title;
      if (panel.title == own_.title) {
        const std::string where = legend_of(own_.each, of_panel.at(own_.each));
        panel.title += panel.title.empty() ? where : ", " + where;
      }
    }
    x_name_.clear();
    for (std::size_t i = 0; i < curves.size(); ++i) {
      std::vector<Shown> here;
      for (const Shown& shown : curves[i]) {
        const bool is_there = std::ranges::all_of(of_panel, [&](const auto& wanted) {
          const auto found = shown.places.find(wanted.first);
          return found == shown.places.end() || found->second == wanted.second;
        });
        if (!is_there) continue;
        here.push_back(shown);
        for (const auto& [axis, unused] : of_panel) here.back().places.erase(axis);
      }
      if (here.empty()) continue;
      attempt(place + say(".curves[{}]", i), mistakes,
              [&] { add_curves(own_.curves[i], here, of_panel, panel); });
    }
    for (std::size_t i = 0; i < own_.lines.size(); ++i) {
      attempt(place + say(".lines[{}].y", i), mistakes, [&] {
        const double y = line_at(own_.lines[i], of_panel);
        if (panel.y.scale == Scale::log && !(y > 0))
          throw UsageError(short_number(y) + " is not allowed on a log scale; allowed: above 0");
        panel.lines.push_back({y, own_.lines[i].label});
      });
    }
    if (panel.x.label.empty()) panel.x.label = x_name_;
    if (!panel.curves.empty()) result_.figure.panels.push_back(std::move(panel));
  }

  void add_curves(const OwnCurve& own, const std::vector<Shown>& all, const Places& of_panel,
                  Panel& panel) {
    if (panel.y.label.empty()) panel.y.label = label_of(own, all.front());
    if (own.each.empty()) return add_curve(own, all, of_panel, panel);
    const std::vector<Coordinate> places = coordinates_of(all, own.each);
    if (places.empty()) refuse_axis("each", own.each, all);
    for (const Coordinate& each : places) {
      std::vector<Shown> here;
      for (const Shown& shown : all) {
        const auto found = shown.places.find(own.each);
        if (found == shown.places.end() || found->second != each) continue;
        here.push_back(shown);
        here.back().places.erase(own.each);
      }
      Places places_of_curve = of_panel;
      places_of_curve[own.each] = each;
      add_curve(own, here, places_of_curve, panel);
    }
  }

  // All of them are one curve.
  void add_curve(const OwnCurve& own, std::vector<Shown> all, const Places& places, Panel& panel) {
    const bool over_places = all.front().scalar != nullptr;
    const std::string x = over_places ? own_.x.of : all.front().series->x_name;
    if (!over_places && !own_.x.of.empty() && own_.x.of != x)
      throw KeyError("of", "'" + all.front().name + "' is a curve over " + x + ", not over '" +
                               printable_key(own_.x.of) + "'" + did_you_mean(own_.x.of, {x}));
    std::vector<std::string> open = axes_of(all);
    if (over_places) {
      if (std::ranges::find(open, x) == open.end()) {
        const std::string cure =
            say("draw a line, \"lines\": [{\"y\": \"{}\"}]", printable_key(own.of)) +
            (open.empty() ? "" : ", or name an axis of its places as x: " + joined(open));
        throw KeyError("of",
                       "'" + all.front().name + "' is one number for each trial" +
                           (x.empty() ? "" : " and not measured over '" + printable_key(x) + "'") +
                           "; " + cure);
      }
      std::erase(open, x);
    }
    for (const std::string& axis : open) {
      const std::vector<Coordinate> several = coordinates_of(all, axis);
      if (several.size() < 2) continue;
      std::vector<std::string> texts;
      for (const Coordinate& each : several) texts.push_back(coordinate_text(each));
      throw KeyError(
          "of", "'" + printable_key(own.of) + "' was measured at several places of '" + axis +
                    "' (" + joined(texts) + "); draw one curve for each by \"each\": \"" + axis +
                    "\", or name one: " + own.of + "[" + axis + "=" + texts.front() + "]");
    }
    if (!x_name_.empty() && x_name_ != x)
      throw KeyError("of", "'" + all.front().name + "' is over " + x +
                               ", other curves of the "
                               "panel over " +
                               x_name_ + "; give it a panel of its own");
    const std::vector<double> at =
        over_places ? numbers_of(coordinates_of(all, x)) : all.front().series->x;
    if (own_.x.scale == Scale::log &&
        std::ranges::any_of(at, [](double value) { return value < 0; }))
      throw KeyError("of", "'" + all.front().name + "' is over negative " + x +
                               "; a log scale cannot show them");
    x_name_ = x;
    if (own.band == BandKind::trials && !over_places && all.front().series->trials.empty())
      throw KeyError("band", "the result has no curves of single trials of '" + all.front().name +
                                 "'; a run with --keep-trials keeps them");
    Curve curve{over_places ? series_over_places(all, x, places, panel.x) : all.front().name,
                filled(own.label, places), own.style, own.color};
    curve.band = own.band;
    if (!own.each.empty()) {
      const std::string where = legend_of(own.each, places.at(own.each));
      if (curve.label == own.label) curve.label += (own.label.empty() ? "" : ", ") + where;
    } else if (own.label.empty()) {
      curve.label = label_of(own, all.front());
    }
    if (over_places && !panel.x.ticks.empty() && own.style == LineStyle::line)
      curve.style = LineStyle::points;
    panel.curves.push_back(std::move(curve));
  }

  // Numbers at places on an axis as a series, which the result gets; its name. Labels are at
  // x = 1, 2, ...
  std::string series_over_places(const std::vector<Shown>& all, const std::string& axis,
                                 const Places& places, Axis& x_axis) {
    const std::vector<Coordinate> along = coordinates_of(all, axis);
    const bool has_labels = std::holds_alternative<std::string>(along.front());
    std::vector<double> x;
    for (const Coordinate& each : along) {
      const double* number = std::get_if<double>(&each);
      if (has_labels &&
          std::ranges::find(x_axis.ticks, coordinate_text(each)) == x_axis.ticks.end())
        x_axis.ticks.push_back(coordinate_text(each));
      const auto tick = std::ranges::find(x_axis.ticks, coordinate_text(each));
      x.push_back(number != nullptr ? *number : double(tick - x_axis.ticks.begin() + 1));
    }
    std::vector<std::vector<double>> per_trial(run_.trials());
    for (const Coordinate& each : along) {
      const auto shown =
          std::ranges::find_if(all, [&](const Shown& one) { return one.places.at(axis) == each; });
      for (std::size_t trial = 0; trial < per_trial.size(); ++trial)
        per_trial[trial].push_back(shown->scalar->per_trial.at(trial));
    }
    const std::string kind = all.front().scalar->quantity + " over " + axis;
    const Quantity quantity = places.empty() ? Quantity(kind) : at_places(places) / Quantity(kind);
    if (find_named(result_.series, quantity.name) == nullptr &&
        find_named(added_, quantity.name) == nullptr) {
      added_.push_back(series_over_trials(quantity, axis, x, per_trial));
      added_.back().trials = std::move(per_trial);
      added_.back().own = true;
    }
    return quantity.name;
  }

  std::string label_of(const OwnCurve& own, const Shown& shown) const {
    const std::string& kind =
        shown.series != nullptr ? shown.series->quantity : shown.scalar->quantity;
    const auto found = std::ranges::find(report_.quantities, kind, &OwnQuantity::name);
    return found == report_.quantities.end() || found->label.empty() ? own.of : found->label;
  }

  double line_at(const OwnLine& line, const Places& of_panel) const {
    std::vector<PlacedFormula> all = own::at_each_place(own::parse_value(line.y), run_);
    std::erase_if(all, [&](const PlacedFormula& each) {
      return std::ranges::any_of(of_panel, [&](const auto& wanted) {
        const auto found = each.at.find(wanted.first);
        return found != each.at.end() && found->second != wanted.second;
      });
    });
    if (all.empty()) throw UsageError("it was not measured at the place of the panel");
    if (all.size() > 1)
      throw UsageError("it was measured at several places (" + places_text(all[0].at) + "; " +
                       places_text(all[1].at) + (all.size() > 2 ? "; ..." : "") +
                       "); name one by brackets");
    Evaluation evaluation(all.front().formula, run_, {});
    std::vector<double> values;
    for (std::size_t trial = 0; trial < run_.trials(); ++trial)
      values.push_back(evaluation.number(all.front().formula.first, trial));
    evaluation.require_places();
    return run_.trials() == 0 ? evaluation.number(all.front().formula.first, 0)
                              : summarize(values).mean;
  }

  const OwnReport& report_;
  const OwnPanel& own_;
  ResultFile& result_;
  Run run_;
  std::vector<Series> added_;
  std::string x_name_;  // of the curves so far
};

OwnReport report_of(const ResultFile& result) {
  OwnReport out;
  if (!result.report.is_null()) from_json_value(Json(result.report), out);
  return out;
}

// How many of the first quantities have the same formulas. Later ones may use them.
std::size_t count_same_quantities(const OwnReport& a, const OwnReport& b) {
  std::size_t out = 0;
  const std::size_t most = std::min(a.quantities.size(), b.quantities.size());
  while (out < most && a.quantities[out].name == b.quantities[out].name &&
         a.quantities[out].is == b.quantities[out].is)
    ++out;
  return out;
}

// The note with the numbers of the result.
std::string note_with_numbers(const std::string& note, const ResultFile& result) {
  std::string out;
  std::size_t at = 0;
  while (const std::optional<ReferencePlace> place = first_reference(note, at)) {
    const std::size_t bar = place->reference.rfind('|');
    const std::string what = trimmed(std::string_view(place->reference).substr(0, bar)),
                      format = bar == std::string::npos
                                   ? ".4g"
                                   : trimmed(std::string_view(place->reference).substr(bar + 1));
    try {
      out += note.substr(at, place->begin - at) +
             own::number_text(result, what, format, own::Over::trials);
    } catch (const UsageError& error) {
      throw UsageError("{{" + printable_key(place->reference) + "}}: " + error.what());
    }
    at = place->end;
  }
  const std::string_view rest = std::string_view(note).substr(at);
  if (rest.find("{{") != rest.npos) throw UsageError("a '{{' without '}}'");
  if (rest.find("}}") != rest.npos) throw UsageError("a '}}' without '{{'");
  return out + note.substr(at);
}

}  // namespace

void add_own_quantities(const OwnReport& report, ResultFile& result, Mistakes& mistakes) {
  const std::size_t there = count_same_quantities(report_of(result), report);
  for (std::size_t i = there; i < report.quantities.size(); ++i) {
    const OwnQuantity& own = report.quantities[i];
    const std::string place = say("quantities[{}]", i);
    const Run run(result, "");
    const auto refuse_later = [&](const Node& name) {
      const auto later = std::ranges::find(report.quantities, name.word, &OwnQuantity::name);
      if (later - report.quantities.begin() >= static_cast<std::ptrdiff_t>(i) &&
          later != report.quantities.end() && run.quantity(name.word) == nullptr)
        own::refuse(name.column, "'" + name.word + "' is defined " +
                                     (&*later == &own ? "by itself" : "further down; move it up"));
    };
    attempt(place + ".name", mistakes, [&] {
      require_new_name(own.name, result, run);
      attempt(place + ".is", mistakes, [&] {
        const Formula formula = own::parse_value(own.is);
        own::for_each_name(formula.first, refuse_later);
        std::vector<std::pair<Places, Measured>> values;
        for (const PlacedFormula& placed : own::at_each_place(formula, run))
          values.emplace_back(placed.at, measured(placed.formula, run));
        for (const auto& [places, each] : values) add_quantity(own, places, each, result);
      });
    });
  }
}

void add_own_panels(const OwnReport& report, ResultFile& result, Mistakes& mistakes) {
  for (std::size_t i = 0; i < report.panels.size(); ++i)
    PanelOf(report, report.panels[i], result).add(say("panels[{}]", i), mistakes);
}

void add_own_notes(const OwnReport& report, ResultFile& result, Mistakes& mistakes) {
  for (std::size_t i = 0; i < report.notes.size(); ++i) {
    attempt(say("notes[{}]", i), mistakes,
            [&] { result.notes.push_back(note_with_numbers(report.notes[i], result)); });
  }
}

void remove_own_report(ResultFile& result, const OwnReport& next) {
  OwnReport earlier = report_of(result);
  ResultFile again = result;
  again.notes.clear();
  Mistakes unused;
  add_own_notes(earlier, again, unused);
  std::erase_if(result.notes, [&](const std::string& note) {
    return std::ranges::find(again.notes, note) != again.notes.end();
  });
  const auto first = earlier.quantities.begin() +
                     static_cast<std::ptrdiff_t>(count_same_quantities(earlier, next));
  const auto is_own = [&](const std::string& quantity) {
    return std::find_if(first, earlier.quantities.end(), [&](const OwnQuantity& own) {
             return own.name == quantity;
           }) != earlier.quantities.end();
  };
  std::erase_if(result.scalars, [&](const Scalar& each) { return is_own(each.quantity); });
  std::erase_if(result.means, [&](const auto& each) { return is_own(each.second.quantity); });
  std::erase_if(result.series,
                [&](const Series& each) { return each.own || is_own(each.quantity); });
  std::erase_if(result.figure.panels, [](const Panel& panel) { return panel.own; });
  std::erase_if(result.claims, [&](const Claim& claim) {
    return claim.kind == Kind::own && std::ranges::find(earlier.claims, claim.statement_id,
                                                        &OwnStatement::id) != earlier.claims.end();
  });
  earlier.quantities.erase(first, earlier.quantities.end());
  OwnReport kept;
  kept.quantities = std::move(earlier.quantities);
  result.report = kept.empty() ? OrderedJson() : to_json_value(kept);
}

}  // namespace ranklab
