// `ranklab plot RESULT.json`: draws the figure that a result describes.

#include <cstdio>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/figure/picture.hpp"

namespace ranklab {
namespace {

std::string default_picture(const std::string& result) {
  return (result.ends_with(".json") ? result.substr(0, result.size() - 5) : result) + ".svg";
}

}  // namespace

int plot_command(const std::vector<std::string>& words) {
  std::string out;
  bool quiet = false;
  const std::vector<Field> fields = {
      text_field(
          "out", out,
          "path of the figure, .svg, .png or .pdf (not given: RESULT.svg); further figures of the "
          "result are written next to it, as RESULT.2.svg and so on"),
      switch_field("quiet", quiet, "print only errors on standard error"),
  };
  const Arguments arguments = parse_utility(words, fields);
  const std::string usage = "plot RESULT.json [--out PICTURE]";
  if (prints_help(arguments, usage, "Draws the figure of a result.", fields)) return 0;
  const std::string path = single_result_path(arguments, "plot");
  const ResultFile result = read_result(path);
  if (out.empty()) out = default_picture(path);
  std::vector<std::string> pictures;
  try {
    pictures = draw_figure(result, out);
  } catch (const Failure& error) {
    throw Failure(printable(path) + ": " + error.what());
  }
  for (const std::string& picture : pictures) {
    if (!quiet) std::fprintf(stderr, "%s\n", printable(picture).c_str());
  }
  return 0;
}

}  // namespace ranklab
