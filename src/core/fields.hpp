// Parameters: a field is declared once, and the declaration parses flags and config files, checks
// the domain, prints the help, and writes the config of the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"

namespace ranklab {

/// One parameter, bound to the variable that holds its value (and, before parsing, its default).
struct Field {
  using Target =
      std::variant<std::uint64_t*, double*, bool*, std::string*, std::vector<std::uint64_t>*,
                   std::vector<double>*, std::vector<std::string>*>;

  std::string name;    // flag without dashes, and config key
  Target target;       // where the value lives; must outlive the field
  std::string symbol;  // the paper's symbol, may be empty
  std::string help;    // one line
  double low = 0.0;    // numbers: smallest allowed value
  double high = 0.0;   // numbers: largest allowed value
  bool low_is_excluded = false;
  std::vector<std::string> choices = {};  // strings: allowed values; empty allows any
  bool numeric_words = false;             // words: written as JSON numbers if they are numbers
  // Lists: may be empty; a list of numbers only in a config file
  bool may_be_empty = false;
  bool may_repeat = false;  // lists: an element may occur twice
  // Lists: each use of the flag gives one element, which may contain commas
  bool one_per_flag = false;
  // Names a file that is written in addition to the result; verify leaves it out
  bool names_output = false;
  // Integers: 0 means "not given"; a config file may contain this 0, a flag may not
  bool zero_is_unset = false;
  // Whether it does something with the present values of the other fields, and else what it needs;
  // no function: always
  std::function<bool()> applies = {};
  std::string needs = {};
  std::string group = {};  // heading of the help; empty: none

  /// A value of the type of the target.
  using Value = std::variant<std::uint64_t, double, bool, std::string, std::vector<std::uint64_t>,
                             std::vector<double>, std::vector<std::string>>;

  /// The value that a text gives; lists are comma-separated. Throws UsageError that gives the field
  /// (as `label`), the text, the allowed values, and the nearest allowed word if one is close.
  Value read(std::string_view text, const std::string& label) const;
  /// As read() for the text of a flag, which must not be 0 if 0 means "not given".
  Value read_flag(std::string_view text, const std::string& label) const;
  /// The list with these elements as text. Throws as read().
  Value read_elements(const std::vector<std::string_view>& elements,
                      const std::string& label) const;
  /// The same value if it is allowed. Throws as read().
  Value checked(Value value, const std::string& label) const;
  /// Sets the target to a value that was read or checked.
  void set(Value value) const;
  void parse(std::string_view text, const std::string& label) const { set(read(text, label)); }

  bool is_idle() const { return applies && !applies(); }
  bool is_list() const;
  bool is_switch() const;
  /// The current value as text, as parse() would take it.
  std::string value_text() const;
  /// The allowed values in words, such as `integer, 1 to 1000000` or `relu|abs`.
  std::string domain_text() const;
};

/// Refuses an element of a list whose value an earlier one has, however it is written.
UsageError given_twice(const std::string& label, std::string_view element);

Field size_field(std::string name, std::uint64_t& value, std::uint64_t low, std::uint64_t high,
                 std::string symbol, std::string help);
Field size_list_field(std::string name, std::vector<std::uint64_t>& value, std::uint64_t low,
                      std::uint64_t high, std::string symbol, std::string help);
Field real_field(std::string name, double& value, double low, double high, std::string symbol,
                 std::string help);
Field real_list_field(std::string name, std::vector<double>& value, double low, double high,
                      std::string symbol, std::string help);
/// The same field without the lower end of its domain.
Field excluding_low(Field field);
/// The same integer field, where 0 means that no value was given.
Field or_unset(Field field);
/// The same field, which does nothing unless applies(), which is asked whenever it matters and must
/// live as long as the field; `needs` says what makes it apply, such as "--variant post".
Field only_if(std::function<bool()> applies, std::string needs, Field field);
/// The same fields in groups: each pair is the name of a field and the group that begins there.
std::vector<Field> grouped(
    std::vector<Field> fields,
    const std::vector<std::pair<std::string_view, std::string_view>>& starts);
/// The same list field, which may be empty.
Field or_empty(Field field);
/// The same list field; each use of the flag gives one element.
Field one_per_flag(Field field);
/// The same list field, whose elements may repeat, such as one value per layer.
Field with_repeats(Field field);
Field choice_field(std::string name, std::string& value, std::vector<std::string> choices,
                   std::string symbol, std::string help);
Field choice_list_field(std::string name, std::vector<std::string>& value,
                        std::vector<std::string> choices, std::string symbol, std::string help);
Field switch_field(std::string name, bool& value, std::string help);
Field text_field(std::string name, std::string& value, std::string help);
Field text_list_field(std::string name, std::vector<std::string>& value, std::string help);

/// The field of this name; nullptr if no field has it.
const Field* find_field(const std::vector<Field>& fields, const std::string& name);

}  // namespace ranklab
