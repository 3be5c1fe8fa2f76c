#include "page/prose.hpp"

#include "figure/symbols.hpp"

namespace ranklab {
namespace {

Markup markup_of(const std::vector<TextRun>& runs) {
  Markup out;
  for (const TextRun& run : runs) {
    if (run.place == TextRun::Place::below) {
      out += "<sub>" + markup_of(run.inside) + "</sub>";
    } else if (run.place == TextRun::Place::above) {
      out += "<sup>" + markup_of(run.inside) + "</sup>";
    } else {
      // An escape drops blanks at the ends, but markup follows or precedes them.
      const std::string& text = run.text;
      out += (text.starts_with(' ') ? Markup(" ") : "") + escape_markup(text) +
             (text.size() > 1 && text.ends_with(' ') ? Markup(" ") : "");
    }
  }
  return out;
}

}  // namespace

Markup prose(std::string_view text) {
  Markup out;
  for (;;) {
    const std::size_t open = text.find('`'),
                      close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return out += markup_of(set_symbols(text));
    out += markup_of(set_symbols(text.substr(0, open)));
    out += "<code>" + escape_markup(text.substr(open + 1, close - open - 1)) + "</code>";
    text.remove_prefix(close + 1);
  }
}

}  // namespace ranklab
