#include "figure/picture.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/error.hpp"
#include "core/text.hpp"
#include "figure/data.hpp"
#include "figure/svg.hpp"
#include "io/atomic_file.hpp"
#include "io/subprocess.hpp"

namespace ranklab {
namespace {

std::string format_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string ending = dot == std::string::npos ? "" : path.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (ending == "svg" || ending == "png" || ending == "pdf" || ending == "eps") return ending;
  throw UsageError("--out " + printable(path) + ": a picture must end in .svg, .png, .pdf or .eps");
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "no message";
  const std::size_t start = text.rfind('\n', end);
  const std::size_t first =
      text.find_first_not_of(" \t", start == std::string::npos ? 0 : start + 1);
  return printable(text.substr(first, end + 1 - first));
}

std::string converted(const std::string& svg, const std::string& format, bool is_printed) {
  constexpr double seconds = 60;  // the largest figure takes 1
  // A pixel of the layout is two dots of a PNG; a printed inch is 300.
  const std::string zoom = format != "png" ? "1"
                           : is_printed    ? "3.125"
                                           : "2",
                    magic = format == "png"   ? "\x89PNG\r\n"
                            : format == "pdf" ? "%PDF-"
                                              : "%!PS-Adobe-";
  try {
    const ProcessOutput run =
        run_process({"rsvg-convert", "--format=" + format, "--zoom=" + zoom}, svg, seconds);
    if (run.exit_code != 0)
      throw Failure("rsvg-convert failed (exit " + std::to_string(run.exit_code) +
                    "): " + last_line(run.err));
    if (!run.out.starts_with(magic))
      throw Failure("rsvg-convert did not write a ." + format + " file: " + last_line(run.err));
    return run.out;
  } catch (const ProgramMissing&) {
    throw Failure("rsvg-convert is not installed, and ." + format +
                  " needs it: `apt-get install librsvg2-bin` (or `make deps`)");
  }
}

// A missing font would be replaced without a word. Fontconfig's list may not be installed; then the
// font is not checked.
void require_font(const std::string& font) {
  std::string families;
  try {
    families = run_process({"fc-list", ":", "family"}, "", 60).out;
  } catch (const ProgramMissing&) {
    return;
  }
  std::replace(families.begin(), families.end(), ',', '\n');
  std::vector<std::string> known;
  std::istringstream lines(families);
  for (std::string line; std::getline(lines, line);) known.push_back(line);
  const auto is_known = [&](const std::string& name) {
    return std::ranges::count(known, name) > 0;
  };
  if (is_known(font) || is_known(font + " Roman")) return;
  throw UsageError("--font: '" + printable_key(font) + "' is not installed" +
                   did_you_mean(font, known, "; `fc-list : family` lists the fonts"));
}

// x.svg, x.2.svg, x.3.svg
std::string path_of(const std::string& out_path, std::size_t which) {
  const std::size_t dot = out_path.rfind('.');
  return which == 0
             ? out_path
             : out_path.substr(0, dot) + "." + std::to_string(which + 1) + out_path.substr(dot);
}

}  // namespace

std::vector<std::string> draw_figure(const ResultFile& result, const std::string& out_path,
                                     Print print) {
  const std::string format = format_of(out_path);
  print.opaque = format == "eps";
  if (!print.font.empty() && format != "svg") require_font(print.font);
  const std::size_t count = 1 + result.more_figures.size();
  std::vector<std::string> paths, pictures;
  for (std::size_t which = 0; which < count; ++which) {
    paths.push_back(path_of(out_path, which));
    pictures.push_back("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
                       draw_svg(result, Extract::whole, which, 0, nullptr, print).text() + "\n");
  }
  if (format != "svg") {
    for (std::string& picture : pictures) picture = converted(picture, format, print.width > 0);
  }
  // The first picture comes last: if it is there and current, so are the others.
  for (std::size_t which = count; which-- > 0;)
    write_file_atomically(paths[which], pictures[which]);
  return paths;
}

Markup draw_svg(const ResultFile& result, Extract extract, std::size_t which, std::size_t panel,
                PenSheet* sheet, const Print& print) {
  return figure_svg(figure_data(result, which), extract, panel, sheet, print);
}

}  // namespace ranklab
