// The text of a statement of one's own as a formula (`ranklab help claim`):
//
//   statement  = [ "never" ] condition [ from ]                       counted in every case
//              | "mean" value region [ from ]                         over the trials
//              | "often" condition region [ from ]                    share of the trials
//              | "slope" value "over" value region [ from ]           of a line, in each trial
//              | "alike" value "," value "within" number [ from ]     paired by trial
//   region     = ( "<=" | ">=" | "<" | ">" ) number | "in" "[" number "," number "]"
//   from       = "from" condition on the x of curves, such as t >= 100
//   condition  = comparisons joined by and, or, not
//   value      = numbers, names, + - * / ^, functions
//
// A name is a quantity of the run: gd.loss; loss[gd], which is the same; 'd=10.eta', if it has
// other characters than letters, digits, _ and dots; layer*.ratio, for every quantity that matches;
// ratio[layer=1, block=Wv], by where it was measured, and ratio[layer=*, block=Wv].
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/claims.hpp"

namespace ranklab::own {

/// A part of a formula: a number, a name, or an operator or a function of other parts.
struct Node {
  enum class Kind { number, name, operation } kind = Kind::number;
  double number = 0;
  std::string word = {};         // of a name: gd.loss; of an operation: "+", "and", "log"
  std::vector<Node> parts = {};  // what the operation takes
  std::size_t column = 1;        // where it begins in the text
  // Of a name: the axes in its brackets and where on them, {"layer", "1"}; `word` is what was
  // measured there
  std::vector<std::pair<std::string, std::string>> at = {};
};

enum class Form { always, never, mean, often, slope, alike };

struct Formula {
  Form form = Form::always;
  Node first, second;             // second: x of a slope, and what `first` is like
  Region allowed = {};            // of a mean, a share of the trials or a slope
  double margin = 0;              // of what is alike
  std::optional<Node> from = {};  // the condition on x
};

/// Throws UsageError "column 12: ..." for a mistake, and for more than 1,000 characters or 40
/// levels.
Formula parse(const std::string& text);
/// A value with its `from`, as the mean that it would be in a statement; numbers alone are allowed.
Formula parse_value(const std::string& text);

/// Whether the text is a function or another word of the language, such as mean or from.
bool is_word_of_formulas(const std::string& text);

/// Calls visit(name) for each name of the formula.
void for_each_name(const Node& node, const std::function<void(const Node&)>& visit);

/// Throws UsageError "column 12: ...".
[[noreturn]] void refuse(std::size_t column, const std::string& why);

}  // namespace ranklab::own
