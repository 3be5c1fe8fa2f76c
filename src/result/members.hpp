// One list of members for each struct of a result file. Writing, reading and comparing all walk
// this list, so that no member can be forgotten in one of them.
//
//   template <>
//   struct Members<Skipped> {
//     static constexpr auto list = std::tuple(required("name", &Skipped::name), ...);
//   };
//
// In JSON, NaN and infinity are null, an enumeration is its name, and an optional member that has
// its default is left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/undefined.hpp"
#include "result/result.hpp"

namespace ranklab {

template <class Struct, class Value, bool may_be_absent>
struct Member {
  static constexpr bool is_optional = may_be_absent;
  const char* key;
  Value Struct::*value;
};

template <class Struct, class Value>
constexpr Member<Struct, Value, false> required(const char* key, Value Struct::*value) {
  return {key, value};
}

/// Left out of the file if it has the value of a new object.
template <class Struct, class Value>
constexpr Member<Struct, Value, true> optional(const char* key, Value Struct::*value) {
  return {key, value};
}

template <class Struct>
struct Members;  // its `list` is a tuple of members

/// Calls visit(member) for each member of the struct.
template <class Struct, class Visit>
void for_each_member(const Visit& visit) {
  constexpr const auto& list = Members<Struct>::list;
  constexpr std::size_t size = std::tuple_size_v<std::decay_t<decltype(list)>>;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (visit(std::get<i>(list)), ...);
  }
  (std::make_index_sequence<size>());
}

template <class Type>
concept HasMembers = requires {
  Members<Type>::list;
};

/// The names of an enumeration's values, in their order: Names<Scale>::list.
template <class Enumeration>
struct Names;

template <class Value>
using Named =
    std::vector<std::pair<std::string, Value>>;  // a JSON object, in the order of the file

/// Whether an optional member is left out.
template <class Value>
bool is_initial(const Value& value, const Value& initial) {
  if constexpr (HasMembers<Value>) {
    bool out = true;
    for_each_member<Value>([&](const auto& member) {
      out = out && is_initial(value.*member.value, initial.*member.value);
    });
    return out;
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else {
    return value == initial;
  }
}

// Writing -----------------------------------------------------------------------------------------

using OrderedJson = nlohmann::ordered_json;

// A number, a list of two numbers (null: an open end), or null.
OrderedJson to_json_value(const Expected& expected);

template <class Value>
requires(std::is_integral_v<Value> || std::is_same_v<Value, std::string> ||
         std::is_same_v<Value, OrderedJson>) OrderedJson to_json_value(const Value& value) {
  return value;
}

inline OrderedJson to_json_value(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

template <class Enumeration>
requires std::is_enum_v<Enumeration> OrderedJson to_json_value(Enumeration value) {
  return Names<Enumeration>::list[static_cast<std::size_t>(value)];
}

template <class Value>
OrderedJson to_json_value(const std::optional<Value>& value);
template <class Value>
OrderedJson to_json_value(const std::vector<Value>& values);
template <class Value>
OrderedJson to_json_value(const Named<Value>& values);

template <HasMembers Struct>
OrderedJson object_json(const Struct& object) {
  OrderedJson out = OrderedJson::object();
  for_each_member<Struct>([&](const auto& member) {
    if constexpr (std::decay_t<decltype(member)>::is_optional) {
      if (is_initial(object.*member.value, Struct().*member.value)) return;
    }
    out.push_back({member.key, to_json_value(object.*member.value)});
  });
  return out;
}

template <HasMembers Struct>
OrderedJson to_json_value(const Struct& object) {
  return object_json(object);
}

template <class Value>
OrderedJson to_json_value(const std::optional<Value>& value) {
  return value ? to_json_value(*value) : OrderedJson(nullptr);
}

template <class Value>
OrderedJson to_json_value(const std::vector<Value>& values) {
  OrderedJson out = OrderedJson::array();
  for (const Value& value : values) out.push_back(to_json_value(value));
  return out;
}

template <class Value>
OrderedJson to_json_value(const Named<Value>& values) {
  OrderedJson out = OrderedJson::object();
  // Appended without a search for the name, which would take quadratic time for thousands of them.
  auto& entries = out.get_ref<OrderedJson::object_t&>();
  for (const auto& [name, value] : values) entries.emplace_back(name, to_json_value(value));
  return out;
}

// Reading -----------------------------------------------------------------------------------------

/// What is wrong with a value, and where it is in the file: "claims[2].verdict".
class ReadError : public Failure {
 public:
  ReadError(std::string place, std::string problem)
      : Failure(place.empty() ? problem : place + ": " + problem),
        place_(std::move(place)),
        problem_(std::move(problem)) {}
  /// The same error, seen from the object or list that holds the value.
  ReadError inside(const std::string& outer) const {
    return {outer + (place_.empty() || place_.front() == '[' ? "" : ".") + place_, problem_};
  }

 private:
  std::string place_, problem_;
};

using Json = nlohmann::json;

void from_json_value(const Json& json, Expected& expected);

inline void from_json_value(const Json& json, double& value) {
  if (!json.is_number() && !json.is_null()) throw ReadError("", "must be a number or null");
  value = json.is_null() ? undefined : json.get<double>();
}
inline void from_json_value(const Json& json, bool& value) {
  if (!json.is_boolean()) throw ReadError("", "must be true or false");
  value = json.get<bool>();
}
inline void from_json_value(const Json& json, std::uint64_t& value) {
  if (!json.is_number_integer() || json < 0)
    throw ReadError("", "must be an integer that is not negative");
  value = json.get<std::uint64_t>();
}
inline void from_json_value(const Json& json, int& value) {
  if (!json.is_number_integer() || json < -1 || json > 1000)
    throw ReadError("", "must be an integer, -1 to 1000");
  value = json.get<int>();
}
inline void from_json_value(const Json& json, std::string& value) {
  if (!json.is_string()) throw ReadError("", "must be text");
  value = json.get<std::string>();
}
inline void from_json_value(const Json& json, OrderedJson& value) {
  value = json;
}

template <class Enumeration>
requires std::is_enum_v<Enumeration>
void from_json_value(const Json& json, Enumeration& value) {
  const auto& names = Names<Enumeration>::list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!json.is_string() || json.get_ref<const std::string&>() != names[i]) continue;
    value = static_cast<Enumeration>(i);
    return;
  }
  const std::vector<std::string> known(names.begin(), names.end());
  throw ReadError("", "must be one of " + joined(known) +
                          (json.is_string() ? did_you_mean(json.get<std::string>(), known) : ""));
}

template <class Value>
void from_json_value(const Json& json, std::optional<Value>& value);
template <class Value>
void from_json_value(const Json& json, std::vector<Value>& values);
template <class Value>
void from_json_value(const Json& json, Named<Value>& values);

template <HasMembers Struct>
void read_object(const Json& json, Struct& object) {
  if (!json.is_object()) throw ReadError("", "must be an object");
  for_each_member<Struct>([&](const auto& member) {
    const auto found = json.find(member.key);
    if (found == json.end()) {
      if (!std::decay_t<decltype(member)>::is_optional) throw ReadError(member.key, "is missing");
      return;
    }
    try {
      from_json_value(*found, object.*member.value);
    } catch (const ReadError& error) {
      throw error.inside(member.key);
    }
  });
}

/// Throws ReadError for a key of the object that is not a member.
template <HasMembers Struct>
void refuse_unknown_keys(const Json& json) {
  if (!json.is_object()) return;
  std::vector<std::string> known;
  for_each_member<Struct>([&](const auto& member) { known.emplace_back(member.key); });
  for (const auto& [key, unused] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw ReadError("", "unknown key '" + printable_key(key) + "'" +
                              did_you_mean(key, known, "; allowed: " + joined(known)));
  }
}

/// As read_object() for what people write.
template <HasMembers Struct>
void read_known(const Json& json, Struct& object) {
  refuse_unknown_keys<Struct>(json);
  read_object(json, object);
}

template <HasMembers Struct>
void from_json_value(const Json& json, Struct& object) {
  read_object(json, object);
}

template <class Value>
void from_json_value(const Json& json, std::optional<Value>& value) {
  value.reset();
  if (!json.is_null()) from_json_value(json, value.emplace());
}

template <class Value>
void from_json_value(const Json& json, std::vector<Value>& values) {
  if (!json.is_array()) throw ReadError("", "must be a list");
  values.clear();
  values.reserve(json.size());
  for (const Json& entry : json) {
    try {
      from_json_value(entry, values.emplace_back());
    } catch (const ReadError& error) {
      throw error.inside("[" + std::to_string(values.size() - 1) + "]");
    }
  }
}

template <class Value>
void from_json_value(const Json& json, Named<Value>& values) {
  if (!json.is_object()) throw ReadError("", "must be an object");
  values.clear();
  values.reserve(json.size());
  for (const auto& [name, value] : json.items()) {
    try {
      from_json_value(value, values.emplace_back(name, Value()).second);
    } catch (const ReadError& error) {
      throw error.inside(printable_key(name));
    }
  }
}

// Comparing ---------------------------------------------------------------------------------------

/// When two finite numbers or two texts count as equal. Numbers that are not finite are equal, as
/// in a file.
struct Equality {
  bool (*numbers)(double a, double b);
  bool (*texts)(const std::string& a, const std::string& b);
};

/// Where two values differ first, such as ".claims[2].verdict" in a result file. It is "" if the
/// values themselves differ, and has no value if they are equal.
using DifferencePlace = std::optional<std::string>;

DifferencePlace difference(const Expected& a, const Expected& b, const Equality& equal);

inline DifferencePlace difference(double a, double b, const Equality& equal) {
  if ((!std::isfinite(a) && !std::isfinite(b)) || equal.numbers(a, b)) return {};
  return "";
}
inline DifferencePlace difference(const std::string& a, const std::string& b,
                                  const Equality& equal) {
  if (equal.texts(a, b)) return {};
  return "";
}
template <class Value>
requires(std::is_enum_v<Value> || std::is_integral_v<Value> ||
         std::is_same_v<Value, OrderedJson>) DifferencePlace
    difference(const Value& a, const Value& b, const Equality&) {
  if (a == b) return {};
  return "";
}

template <class Value>
DifferencePlace difference(const std::optional<Value>& a, const std::optional<Value>& b,
                           const Equality& equal);
template <class Value>
DifferencePlace difference(const std::vector<Value>& a, const std::vector<Value>& b,
                           const Equality& equal);
template <class First, class Second>
DifferencePlace difference(const std::pair<First, Second>& a, const std::pair<First, Second>& b,
                           const Equality& equal);

template <HasMembers Struct>
DifferencePlace difference(const Struct& a, const Struct& b, const Equality& equal) {
  DifferencePlace out;
  for_each_member<Struct>([&](const auto& member) {
    if (out) return;
    out = difference(a.*member.value, b.*member.value, equal);
    if (out) out = "." + std::string(member.key) + *out;
  });
  return out;
}

template <class Value>
DifferencePlace difference(const std::optional<Value>& a, const std::optional<Value>& b,
                           const Equality& equal) {
  if (a && b) return difference(*a, *b, equal);
  if (a.has_value() == b.has_value()) return {};
  return "";
}

template <class Value>
DifferencePlace difference(const std::vector<Value>& a, const std::vector<Value>& b,
                           const Equality& equal) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (const DifferencePlace inner = difference(a[i], b[i], equal))
      return "[" + std::to_string(i) + "]" + *inner;
  }
  if (a.size() == b.size()) return {};
  return "[" + std::to_string(shared) + "]";
}

template <class First, class Second>
DifferencePlace difference(const std::pair<First, Second>& a, const std::pair<First, Second>& b,
                           const Equality& equal) {
  if (DifferencePlace first = difference(a.first, b.first, equal)) return first;
  return difference(a.second, b.second, equal);
}

}  // namespace ranklab
