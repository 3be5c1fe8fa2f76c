// Parses JSON although elsewhere only report and cli do: the header of this format is JSON, and
// only this file reads it.
#include "io/tensors/safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

// Handles parser events: a parsed document would have lost the first of two equal keys, and would
// use memory for everything else in a header.
class HeaderEvents : public nlohmann::json_sax<json> {
 public:
  HeaderEvents(std::string_view source, const std::string& label)
      : source_(source), label_(label) {}

  std::vector<SafetensorsEntry> entries;

  bool start_object(std::size_t /*size*/) override {
    if (inside_ == Inside::outside) {
      inside_ = Inside::file;
    } else if (inside_ == Inside::file_value) {
      inside_ = key_ == "__metadata__" ? Inside::metadata : Inside::tensor;
      if (inside_ == Inside::tensor) begin_tensor();
      if (inside_ == Inside::metadata && std::exchange(has_metadata_, true))
        fail("two tensors '__metadata__'");
    } else {
      fail_value();
    }
    return true;
  }

  bool key(std::string& name) override {
    if (inside_ == Inside::file) {
      key_ = std::move(name);
      inside_ = Inside::file_value;
    } else if (inside_ == Inside::metadata) {
      if (!metadata_.insert(name).second)
        fail("two entries '" + printable_key(name) + "' in __metadata__");
      inside_ = Inside::metadata_value;
    } else {
      begin_field(name);
    }
    return true;
  }

  bool string(std::string& text) override {
    if (inside_ == Inside::metadata_value) {
      inside_ = Inside::metadata;
    } else if (inside_ == Inside::field && field_ == Field::dtype) {
      entries.back().dtype = text;
      inside_ = Inside::tensor;
    } else {
      fail_value();
    }
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (inside_ != Inside::field || field_ == Field::dtype) fail_value();
    inside_ = Inside::numbers;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (inside_ != Inside::numbers) fail_value();
    numbers_.push_back(number);
    return true;
  }

  bool end_array() override {
    SafetensorsEntry& entry = entries.back();
    if (field_ == Field::shape) {
      entry.shape = numbers_;
    } else {
      if (numbers_.size() != 2) fail_tensor("its data_offsets are not two numbers");
      entry.begin = numbers_[0];
      entry.end = numbers_[1];
    }
    inside_ = Inside::tensor;
    return true;
  }

  bool end_object() override {
    if (inside_ == Inside::tensor && seen_ != 7)
      fail_tensor("it lacks one of dtype, shape and data_offsets");
    inside_ = inside_ == Inside::file ? Inside::outside : Inside::file;
    return true;
  }

  bool null() override {
    if (inside_ != Inside::file_value || key_ != "__metadata__") fail_value();
    inside_ = Inside::file;  // null counts as missing
    return true;
  }
  bool boolean(bool /*value*/) override { fail_value(); }
  bool number_integer(number_integer_t /*value*/) override { fail_value(); }
  bool number_float(number_float_t /*value*/, const std::string& /*text*/) override {
    fail_value();
  }
  bool binary(json::binary_t& /*value*/) override { fail_value(); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    // The library counts from 1; its position is one past the end if the text ends too soon.
    fail("the header is not JSON (byte " + std::to_string(8 + std::min(position, source_.size())) +
         " of the file)");
  }

 private:
  enum class Inside { outside, file, file_value, metadata, metadata_value, tensor, field, numbers };
  enum class Field { dtype, shape, data_offsets };

  [[noreturn]] void fail(const std::string& why) const { throw Failure(label_ + ": " + why); }
  [[noreturn]] void fail_tensor(const std::string& why) const {
    fail("tensor '" + printable_key(key_) + "': " + why);
  }
  [[noreturn]] void fail_value() const {
    if (inside_ == Inside::metadata_value)
      fail("__metadata__ of the header holds more than strings");
    if (inside_ == Inside::field || inside_ == Inside::numbers) {
      fail_tensor(field_ == Field::dtype
                      ? "its dtype is not a string"
                      : "its shape and data_offsets must be lists of integers from 0");
    }
    if (inside_ == Inside::file_value) fail_tensor("the header does not describe it by an object");
    fail("the header is not a JSON object of tensors");
  }

  void begin_tensor() {
    entries.emplace_back();
    entries.back().key = key_;
    seen_ = 0;
  }

  void begin_field(const std::string& name) {
    if (name == "dtype") {
      field_ = Field::dtype;
    } else if (name == "shape") {
      field_ = Field::shape;
    } else if (name == "data_offsets") {
      field_ = Field::data_offsets;
    } else {
      fail_tensor("it has a '" + printable_key(name) +
                  "' in addition to dtype, shape and data_offsets");
    }
    const unsigned bit = 1u << static_cast<unsigned>(field_);
    if ((seen_ & bit) != 0) fail_tensor("two '" + name + "'");
    seen_ |= bit;
    inside_ = Inside::field;
  }

  std::string_view source_;
  const std::string& label_;
  Inside inside_ = Inside::outside;
  Field field_ = Field::dtype;
  unsigned seen_ = 0;
  std::string key_;
  std::vector<std::uint64_t> numbers_;
  bool has_metadata_ = false;
  std::unordered_set<std::string> metadata_;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view source,
                                                       const std::string& label) {
  HeaderEvents events(source, label);
  // Only white space may surround the object; writers use it to align the data.
  constexpr std::string_view white_space = " \t\n\r";
  const std::size_t first = source.find_first_not_of(white_space),
                    last = source.find_last_not_of(white_space);
  if (first == std::string_view::npos || source[first] != '{' || source[last] != '}')
    throw Failure(label + ": the header does not start with { and end with }");
  source = source.substr(0, last + 1);
  json::sax_parse(source.begin(), source.end(), &events);
  return std::move(events.entries);
}

}  // namespace ranklab
