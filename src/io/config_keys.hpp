// The keys of a model's config, each read with its type and limits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace ranklab {

/// An integer of a config, with the key under which it was found ("ssm_cfg.d_state").
struct ConfigSize {
  std::uint64_t value = 0;
  std::string key;

  bool operator==(std::uint64_t other) const { return value == other; }
};

/// One object of a config. A key that is null counts as missing. Every function throws Failure that
/// names the file, the key and the allowed values.
class ConfigKeys {
 public:
  /// Reads a file. Throws Failure if it is not a JSON object. Infinity, which Python writes, is
  /// read as a large number.
  explicit ConfigKeys(const std::string& path);

  /// True if the key exists and is not null.
  bool has(const std::string& key) const;
  /// An integer from 1 to 10^6, as for the flags of sizes, under one of several names; nothing if
  /// all are missing. Two names with different numbers are refused.
  std::optional<ConfigSize> size(std::initializer_list<const char*> names) const;
  /// A number above 0 and below 1.
  std::optional<double> epsilon(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  /// The object under the key, or an empty one.
  ConfigKeys object(const char* key) const;

  /// Refuse any value other than `supported`, the only one that the equations here support.
  void require(const char* key, const char* supported) const;
  void require(const char* key, bool supported) const;
  void require(const char* key, int supported) const;
  /// Refuses anything but an empty list or object.
  void require_empty(const char* key) const;
  /// Refuses any limits of the time step except 0 and infinity, which have no effect.
  void require_no_limits(const char* key) const;

  /// "<file>: <prefix><key> <why>".
  [[noreturn]] void fail(const std::string& key, const std::string& why) const;

 private:
  // `label`: the path as messages show it. `prefix`: the text before the names of keys
  // ("ssm_cfg.").
  ConfigKeys(std::shared_ptr<const nlohmann::json> object, std::string label, std::string prefix)
      : object_(std::move(object)), label_(std::move(label)), prefix_(std::move(prefix)) {}

  const nlohmann::json& value(const std::string& key) const;
  void require_value(const char* key, const nlohmann::json& supported) const;

  std::shared_ptr<const nlohmann::json> object_;
  std::string label_, prefix_;
};

}  // namespace ranklab
