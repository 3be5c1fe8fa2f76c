#include "report/figure/gnuplot.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/subprocess.hpp"
#include "report/figure/json.hpp"
#include "report/figure/svg.hpp"
#include "report/figure/words.hpp"

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

// gnuplot prints the line of the script, a caret below it, and then the error.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "no message";
  const std::size_t start = text.rfind('\n', end);
  const std::size_t first =
      text.find_first_not_of(" \t", start == std::string::npos ? 0 : start + 1);
  return printable(text.substr(first, end + 1 - first));
}

std::string run_gnuplot(const std::string& script) {
  constexpr double seconds = 60;  // the largest figure takes 2
  // A page has dozens of figures: wait for a gnuplot that hangs only once.
  static std::optional<std::string> hangs;
  if (hangs) throw Failure(*hangs);
  try {
    // The user's start-up files could change the picture.
    const ProcessOutput run = run_process({"gnuplot", "--default-settings"}, script, seconds);
    if (run.exit_code != 0 || run.out.empty()) {
      throw Failure("gnuplot failed (exit " + std::to_string(run.exit_code) +
                    "): " + last_line(run.err));
    }
    return run.out;
  } catch (const ProgramMissing&) {
    throw Failure("gnuplot is not installed: `apt-get install gnuplot-nox` (or `make deps`)");
  } catch (const ProgramHangs& error) {
    hangs = error.what();
    throw;
  }
}

std::string finished_svg(const FigureSource& source, const std::string& drawn) {
  const std::string& title = source.figure.title.empty() ? source.title : source.figure.title;
  return finish_svg(drawn, title.empty() ? "Figure" : title, describe_figure(source));
}

// x.svg, x.2.svg, x.3.svg
std::string path_of(const std::string& out_path, std::size_t which) {
  const std::size_t dot = out_path.rfind('.');
  return which == 0
             ? out_path
             : out_path.substr(0, dot) + "." + std::to_string(which + 1) + out_path.substr(dot);
}

}  // namespace

std::vector<std::string> draw_figure(const nlohmann::json& result, const std::string& out_path,
                                     bool keep_script) {
  const std::string format = format_of(out_path);
  const std::size_t count = number_of_figures(result);
  std::vector<FigureSource> sources;
  for (std::size_t which = 0; which < count; ++which) sources.push_back(read_figure(result, which));
  std::vector<std::string> paths, pictures;
  for (std::size_t which = 0; which < count; ++which) {
    paths.push_back(path_of(out_path, which));
    const std::string script = gnuplot_script(sources[which], format, Extract::whole, 0);
    // Before drawing, because the script helps if gnuplot is missing or fails.
    if (keep_script) write_file_atomically(paths.back() + ".gp", script);
    pictures.push_back(run_gnuplot(script));
    if (format == "svg") pictures.back() = finished_svg(sources[which], pictures.back());
  }
  // The first picture comes last: if it is there and current, so are the others.
  for (std::size_t which = count; which-- > 0;)
    write_file_atomically(paths[which], pictures[which]);
  return paths;
}

std::string draw_svg(const nlohmann::json& result, Extract extract, std::size_t which,
                     std::size_t panel) {
  const FigureSource source = read_figure(result, which);
  return finished_svg(source, run_gnuplot(gnuplot_script(source, "svg", extract, panel)));
}

}  // namespace ranklab
