// Mathematics in texts that are written in plain characters, such as "sigma_1^2 >= lambda": Greek
// letters, signs, indices and powers. Pages, figures and terminals set them from one reading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// A piece of text, or pieces that are set below the line (an index) or above it (a power).
struct TextRun {
  enum class Place { line, below, above };
  Place place = Place::line;
  std::string text = {};             // on the line
  std::vector<TextRun> inside = {};  // below or above it
};

/// "E[xi_i] >= lambda^2" with Greek letters, indices and powers; ">=", "<=", "+-", "->", "||" and
/// "sqrt" as signs; 1e-06 as a power of ten. Identifiers such as rank_one_residual and words such
/// as lambda-skip are unchanged.
std::vector<TextRun> set_symbols(std::string_view text);

/// The same in Unicode alone: "σ₁² ≥ λ". What Unicode cannot put below or above the line stays as
/// written: "‖Y‖_F²".
std::string with_symbols(std::string_view text);

/// A label of a figure on one line, with marks around indices and powers, which text_width() and
/// the drawing read.
std::string label_with_symbols(std::string_view text);
inline constexpr char32_t index_mark = 0xE000, power_mark = 0xE001, end_mark = 0xE002;
inline constexpr double small_size = 0.75;  // of indices and powers, relative to the line

}  // namespace ranklab
