#include "core/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/text.hpp"

namespace ranklab {
namespace {

template <class T>
struct Element {
  using type = T;
};
template <class T>
struct Element<std::vector<T>> {
  using type = T;
};

template <class T>
constexpr bool is_vector = !std::is_same_v<typename Element<T>::type, T>;

std::string to_text(std::uint64_t value) {
  return std::to_string(value);
}
// The shortest text that reads back as the same number.
std::string to_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}
std::string to_text(bool value) {
  return value ? "on" : "off";
}
std::string to_text(const std::string& value) {
  return value;
}

bool is_allowed(const Field& field, std::uint64_t value) {
  return field.high == 0.0 ||
         (static_cast<double>(value) >= field.low && static_cast<double>(value) <= field.high);
}
bool is_allowed(const Field& field, double value) {
  return std::isfinite(value) && (field.low_is_excluded ? value > field.low : value >= field.low) &&
         value <= field.high;
}
bool is_allowed(const Field&, bool) {
  return true;
}
bool is_allowed(const Field& field, const std::string& value) {
  return field.choices.empty() ||
         std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end();
}

// Reads one element; false if the text is not of its type.
bool read_element(std::string_view text, std::uint64_t& out) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, out);
  if (error != std::errc() || text.empty()) return false;
  if (end != last) {                             // 1e3
    constexpr double most = 9007199254740992.0;  // to which every integer is a double
    double number = 0;
    const auto [number_end, number_error] = std::from_chars(text.data(), last, number);
    if (number_error != std::errc() || number_end != last || number < 0 || number > most ||
        number != std::floor(number))
      return false;
    out = static_cast<std::uint64_t>(number);
  }
  return true;
}

bool read_element(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read_element(std::string_view text, bool& out) {
  out = text == "on" || text == "true";
  return out || text == "off" || text == "false";
}

bool read_element(std::string_view text, std::string& out) {
  out = std::string(text);
  return true;
}

std::string quoted(std::string_view text) {
  return "'" + printable_key(std::string(text)) + "'";
}

[[noreturn]] void refuse(const Field& field, std::string_view text, std::string_view element,
                         const std::string& label) {
  std::string message = label + ": " + quoted(text) + " is not allowed";
  if (text != element) message += " (at " + quoted(element) + ")";
  message += "; allowed: " + field.domain_text();
  throw UsageError(message + did_you_mean(element, field.choices));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t comma = text.find(',', start);
    parts.push_back(text.substr(start, comma - start));
    if (comma == std::string_view::npos) return parts;
    start = comma + 1;
  }
}

Field numeric_field(std::string name, Field::Target target, double low, double high,
                    std::string symbol, std::string help) {
  Field field{std::move(name), target, std::move(symbol), std::move(help)};
  field.low = low;
  field.high = high;
  return field;
}

}  // namespace

Field::Value Field::read(std::string_view text, const std::string& label) const {
  if (is_list()) {
    // An empty text empties a list of words; it is not a list of numbers.
    const bool of_words = std::holds_alternative<std::vector<std::string>*>(target);
    return read_elements(text.empty() && may_be_empty && of_words ? std::vector<std::string_view>{}
                         : one_per_flag ? std::vector<std::string_view>{text}
                                        : split(text),
                         label);
  }
  return std::visit(
      [&](const auto* of_type) -> Value {
        using T = std::remove_cvref_t<decltype(*of_type)>;
        if constexpr (is_vector<T>) {
          return {};  // not reached
        } else {
          T value{};
          if (!read_element(text, value) || !is_allowed(*this, value))
            refuse(*this, text, text, label);
          return value;
        }
      },
      target);
}

Field::Value Field::read_flag(std::string_view text, const std::string& label) const {
  if (zero_is_unset && text == "0") refuse(*this, text, text, label);
  return read(text, label);
}

Field::Value Field::read_elements(const std::vector<std::string_view>& elements,
                                  const std::string& label) const {
  return std::visit(
      [&](const auto* of_type) -> Value {
        using T = std::remove_cvref_t<decltype(*of_type)>;
        T list{};
        if constexpr (is_vector<T>) {
          for (const std::string_view part : elements) {
            typename T::value_type element{};
            if (!read_element(part, element) || !is_allowed(*this, element))
              refuse(*this, joined({elements.begin(), elements.end()}, ","), part, label);
            if (!may_repeat && std::find(list.begin(), list.end(), element) != list.end())
              throw given_twice(label, part);
            list.push_back(std::move(element));
          }
        }
        return list;
      },
      target);
}

Field::Value Field::checked(Value value, const std::string& label) const {
  std::visit(
      [&](const auto& given) {
        using T = std::remove_cvref_t<decltype(given)>;
        if constexpr (is_vector<T>) {
          for (std::size_t i = 0; i < given.size(); ++i) {
            if (!is_allowed(*this, given[i])) {
              std::vector<std::string> words;
              for (const auto& element : given) words.push_back(to_text(element));
              refuse(*this, joined(words, ","), to_text(given[i]), label);
            }
            const auto here = given.begin() + static_cast<std::ptrdiff_t>(i);
            if (!may_repeat && std::find(given.begin(), here, given[i]) != here)
              throw given_twice(label, to_text(given[i]));
          }
        } else if (!is_allowed(*this, given)) {
          refuse(*this, to_text(given), to_text(given), label);
        }
      },
      value);
  return value;
}

void Field::set(Value value) const {
  std::visit(
      [&](auto* to) { *to = std::get<std::remove_cvref_t<decltype(*to)>>(std::move(value)); },
      target);
}

bool Field::is_list() const {
  return std::visit([](auto* value) { return is_vector<std::remove_pointer_t<decltype(value)>>; },
                    target);
}

bool Field::is_switch() const {
  return std::holds_alternative<bool*>(target);
}

std::string Field::value_text() const {
  return std::visit(
      [&](auto* value) -> std::string {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (is_vector<T>) {
          std::vector<std::string> words;
          for (const auto& element : *value) words.push_back(to_text(element));
          return joined(words, ",");
        } else {
          return to_text(*value);
        }
      },
      target);
}

std::string Field::domain_text() const {
  const bool integers = std::holds_alternative<std::uint64_t*>(target) ||
                        std::holds_alternative<std::vector<std::uint64_t>*>(target);
  const bool reals = std::holds_alternative<double*>(target) ||
                     std::holds_alternative<std::vector<double>*>(target);
  const std::string list = !is_list()     ? ""
                           : one_per_flag ? "one for each use of the flag, "
                           : may_be_empty && !integers && !reals
                               ? "comma-separated list, may be empty, of "
                               : "comma-separated list of ";
  if (is_switch()) return "on|off";
  if (!choices.empty()) return list + joined(choices, "|");
  if (integers && high == 0.0) return list + "unsigned 64-bit integer";
  if (integers) {
    return list + "integer from " +
           to_text(zero_is_unset ? std::uint64_t{1} : static_cast<std::uint64_t>(low)) + " to " +
           to_text(static_cast<std::uint64_t>(high));
  }
  if (reals) {
    const bool unbounded = high >= std::numeric_limits<double>::max();
    return list + "finite number " + (low_is_excluded ? "above " : "from ") + to_text(low) +
           (unbounded ? "" : " to " + to_text(high));
  }
  return list + "text";
}

UsageError given_twice(const std::string& label, std::string_view element) {
  return UsageError(label + ": " + quoted(element) + " is given twice");
}

Field size_field(std::string name, std::uint64_t& value, std::uint64_t low, std::uint64_t high,
                 std::string symbol, std::string help) {
  return numeric_field(std::move(name), &value, static_cast<double>(low), static_cast<double>(high),
                       std::move(symbol), std::move(help));
}

Field size_list_field(std::string name, std::vector<std::uint64_t>& value, std::uint64_t low,
                      std::uint64_t high, std::string symbol, std::string help) {
  return numeric_field(std::move(name), &value, static_cast<double>(low), static_cast<double>(high),
                       std::move(symbol), std::move(help));
}

Field real_field(std::string name, double& value, double low, double high, std::string symbol,
                 std::string help) {
  return numeric_field(std::move(name), &value, low, high, std::move(symbol), std::move(help));
}

Field real_list_field(std::string name, std::vector<double>& value, double low, double high,
                      std::string symbol, std::string help) {
  return numeric_field(std::move(name), &value, low, high, std::move(symbol), std::move(help));
}

Field excluding_low(Field field) {
  field.low_is_excluded = true;
  return field;
}

Field or_unset(Field field) {
  field.zero_is_unset = true;
  return field;
}

Field only_if(std::function<bool()> applies, std::string needs, Field field) {
  field.applies = std::move(applies);
  field.needs = std::move(needs);
  return field;
}

std::vector<Field> grouped(
    std::vector<Field> fields,
    const std::vector<std::pair<std::string_view, std::string_view>>& starts) {
  std::string_view group;
  for (Field& field : fields) {
    const auto start = std::ranges::find(starts, field.name, [](const auto& s) { return s.first; });
    if (start != starts.end()) group = start->second;
    field.group = group;
  }
  return fields;
}

Field or_empty(Field field) {
  field.may_be_empty = true;
  return field;
}

Field one_per_flag(Field field) {
  field.one_per_flag = true;
  return or_empty(std::move(field));
}

Field with_repeats(Field field) {
  field.may_repeat = true;
  return field;
}

Field choice_field(std::string name, std::string& value, std::vector<std::string> choices,
                   std::string symbol, std::string help) {
  Field field{std::move(name), &value, std::move(symbol), std::move(help)};
  field.choices = std::move(choices);
  return field;
}

Field choice_list_field(std::string name, std::vector<std::string>& value,
                        std::vector<std::string> choices, std::string symbol, std::string help) {
  Field field{std::move(name), &value, std::move(symbol), std::move(help)};
  field.choices = std::move(choices);
  return field;
}

Field switch_field(std::string name, bool& value, std::string help) {
  return Field{std::move(name), &value, "", std::move(help)};
}

Field text_list_field(std::string name, std::vector<std::string>& value, std::string help) {
  return {std::move(name), &value, "", std::move(help)};
}

Field text_field(std::string name, std::string& value, std::string help) {
  return Field{std::move(name), &value, "", std::move(help)};
}

const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace ranklab
