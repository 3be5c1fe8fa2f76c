// The keys of a model's config, each read with its type and its limits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace ranklab {

/// One object of a config. A key that is missing or null says nothing. Every function throws Failure that names the file, the
/// key and what is allowed.
class ConfigKeys {
 public:
  /// Those of a file. Throws Failure for one that is not a JSON object; Infinity, which Python writes, is read as a large number.
  explicit ConfigKeys(const std::string& path);

  /// True where the key is there and not null.
  bool has(const std::string& key) const;
  /// An integer from 1 to 10^9 under one of several names of it. Two names that say different numbers are refused.
  std::optional<std::uint64_t> size(std::initializer_list<const char*> names) const;
  /// A number above 0 and below 1.
  std::optional<double> epsilon(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  /// The object under the key, or an empty one.
  ConfigKeys object(const char* key) const;

  /// Refuses any other value than `built`: the equations differ.
  void require(const char* key, const char* built) const;
  void require(const char* key, bool built) const;
  void require(const char* key, int built) const;
  /// Refuses anything but an empty list or object.
  void require_empty(const char* key) const;
  /// Refuses any limits of the time step but 0 and infinity, which leave it as it is.
  void require_no_limits(const char* key) const;

  /// "<file>: <prefix><key> <why>".
  [[noreturn]] void fail(const std::string& key, const std::string& why) const;

 private:
  // `label` is the path as messages show it, `prefix` what stands before the names of keys ("ssm_cfg.").
  ConfigKeys(std::shared_ptr<const nlohmann::json> object, std::string label, std::string prefix)
      : object_(std::move(object)), label_(std::move(label)), prefix_(std::move(prefix)) {}

  const nlohmann::json& value(const std::string& key) const;
  void require_value(const char* key, const nlohmann::json& built) const;

  std::shared_ptr<const nlohmann::json> object_;
  std::string label_, prefix_;
};

}  // namespace ranklab
