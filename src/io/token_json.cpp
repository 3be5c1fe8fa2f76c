// Token ids in JSON, followed event by event: a parsed document would take many times the memory of the ids.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "io/token_rows.hpp"

namespace ranklab {

namespace {

using nlohmann::json;

class IdEvents : public nlohmann::json_sax<json> {
 public:
  IdEvents(std::size_t bytes, const std::string& label) : rows(label), bytes_(bytes), label_(label) {}

  TokenRows rows;

  bool start_array(std::size_t /*size*/) override {
    if (place_ == Place::outside) {
      place_ = Place::file;
    } else if (place_ == Place::file && !is_one_row_) {
      rows.begin();
      place_ = Place::row;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::row || is_one_row_) rows.end();
    place_ = place_ == Place::row ? Place::file : Place::outside;
    return true;
  }

  bool number_unsigned(number_unsigned_t number) override {
    begin_entry();
    rows.add(number);
    return true;
  }

  bool number_integer(number_integer_t number) override { refuse(number == 0 ? "-0" : std::to_string(number), "is negative"); }

  // Integers beyond 64 bits come as floats.
  bool number_float(number_float_t number, const std::string& text) override {
    if (text.find_first_of(".eE") != std::string::npos) refuse(text);
    refuse(text, number < 0 ? "is negative" : "is beyond 32 bits");
  }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool string(std::string& text) override { refuse("\"" + text.substr(0, 50) + "\""); }
  bool binary(json::binary_t& /*value*/) override { refuse("a binary value"); }
  bool start_object(std::size_t /*size*/) override { refuse("an object"); }
  bool key(std::string& /*name*/) override { return true; }
  bool end_object() override { return true; }

  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& /*error*/) override {
    // The library counts from 1, and one further where the text ends too soon.
    throw Failure(label_ + ": not valid JSON, at byte " + std::to_string(std::min(position, bytes_)));
  }

 private:
  enum class Place { outside, file, row };

  // Before an entry of a row; the first makes the file one row.
  void begin_entry() {
    if (place_ == Place::outside) throw Failure(label_ + ": not a list of lists of integers, nor a list of integers");
    if (place_ == Place::row || is_one_row_) return;
    if (!rows.empty()) throw Failure(label_ + ": row " + std::to_string(rows.size() + 1) + " is not a list, as row 1 is");
    is_one_row_ = true;
    rows.begin();
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& why = "is not an integer") {
    begin_entry();
    rows.refuse(what, why);
  }

  std::size_t bytes_;
  const std::string& label_;
  Place place_ = Place::outside;
  bool is_one_row_ = false;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> parse_token_json(std::string_view text, const std::string& label) {
  IdEvents events(text.size(), label);
  json::sax_parse(text.begin(), text.end(), &events);
  return events.rows.take();
}

}  // namespace ranklab
