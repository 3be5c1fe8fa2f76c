// The words of lists such as --also and --steps, which say more than one thing.
//
//   word    = head [":" value] {"," key "=" value}
//   head    = name {"+" name}
//
//   1200                         a value for all
//   mamba2:800                   a value for one model
//   attention+identity:64x256    a model with identity value weights, 64 layers of width 256
//   muon,spectral-on=W1+W2       an optimizer, and settings that differ; + joins list entries
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

struct FlagWord {
  struct Setting {
    std::string key;
    std::optional<std::string> value;  // none: there is no equals sign
    std::string text() const { return value ? key + "=" + *value : key; }
  };

  std::string head;
  std::optional<std::string> value;  // after the first colon of the part before the settings
  std::vector<Setting> settings;

  /// The names of the head; at least one, which may be empty.
  std::vector<std::string> names() const { return joined_by_plus(head); }
  static std::vector<std::string> joined_by_plus(std::string_view text);
};

/// Every text is a word; the caller checks the parts.
FlagWord parse_flag_word(std::string_view text);

}  // namespace ranklab
