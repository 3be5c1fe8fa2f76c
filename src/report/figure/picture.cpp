#include "report/figure/picture.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/subprocess.hpp"
#include "report/figure/source.hpp"
#include "report/figure/svg.hpp"

namespace ranklab {
namespace {

std::string format_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string ending = dot == std::string::npos ? "" : path.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (ending == "svg" || ending == "png" || ending == "pdf") return ending;
  throw UsageError("--out " + printable(path) + ": a picture must end in .svg, .png or .pdf");
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "no message";
  const std::size_t start = text.rfind('\n', end);
  const std::size_t first =
      text.find_first_not_of(" \t", start == std::string::npos ? 0 : start + 1);
  return printable(text.substr(first, end + 1 - first));
}

std::string converted(const std::string& svg, const std::string& format) {
  constexpr double seconds = 60;  // the largest figure takes 1
  // A pixel of the layout is two dots of a PNG.
  const std::string zoom = format == "png" ? "2" : "1";
  try {
    const ProcessOutput run =
        run_process({"rsvg-convert", "--format=" + format, "--zoom=" + zoom}, svg, seconds);
    if (run.exit_code != 0)
      throw Failure("rsvg-convert failed (exit " + std::to_string(run.exit_code) +
                    "): " + last_line(run.err));
    if (!run.out.starts_with(format == "png" ? "\x89PNG\r\n" : "%PDF-"))
      throw Failure("rsvg-convert did not write a ." + format + " file: " + last_line(run.err));
    return run.out;
  } catch (const ProgramMissing&) {
    throw Failure("rsvg-convert is not installed, and ." + format +
                  " needs it: `apt-get install librsvg2-bin` (or `make deps`)");
  }
}

// x.svg, x.2.svg, x.3.svg
std::string path_of(const std::string& out_path, std::size_t which) {
  const std::size_t dot = out_path.rfind('.');
  return which == 0
             ? out_path
             : out_path.substr(0, dot) + "." + std::to_string(which + 1) + out_path.substr(dot);
}

}  // namespace

std::vector<std::string> draw_figure(const ResultFile& result, const std::string& out_path) {
  const std::string format = format_of(out_path);
  const std::size_t count = 1 + result.more_figures.size();
  std::vector<std::string> paths, pictures;
  for (std::size_t which = 0; which < count; ++which) {
    paths.push_back(path_of(out_path, which));
    pictures.push_back("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
                       draw_svg(result, Extract::whole, which).text() + "\n");
  }
  if (format != "svg") {
    for (std::string& picture : pictures) picture = converted(picture, format);
  }
  // The first picture comes last: if it is there and current, so are the others.
  for (std::size_t which = count; which-- > 0;)
    write_file_atomically(paths[which], pictures[which]);
  return paths;
}

Markup draw_svg(const ResultFile& result, Extract extract, std::size_t which, std::size_t panel,
                PenSheet* sheet) {
  return figure_svg(figure_source(result, which), extract, panel, sheet);
}

}  // namespace ranklab
