// `ranklab plot RESULT.json`: draws the figure that a result describes.

#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "report/figure/picture.hpp"

namespace ranklab {
namespace {

std::string default_picture(const std::string& result) {
  return (result.ends_with(".json") ? result.substr(0, result.size() - 5) : result) + ".svg";
}

struct PlotOptions {
  std::string out;
  bool quiet = false;
};

int plot(const std::string& path, const PlotOptions& options) {
  const ResultFile result = read_result(path);
  std::vector<std::string> pictures;
  try {
    pictures = draw_figure(result, options.out.empty() ? default_picture(path) : options.out);
  } catch (const Failure& error) {
    throw Failure(printable(path) + ": " + error.what());
  }
  for (const std::string& picture : pictures) {
    if (!options.quiet) std::fprintf(stderr, "%s\n", printable(picture).c_str());
  }
  return 0;
}

}  // namespace

Utility plot_command() {
  const auto options = std::make_shared<PlotOptions>();
  return {
      .name = "plot",
      .usage = "RESULT.json",
      .summary = "draw the figure of a result as SVG, PNG or PDF",
      .takes = {1, 1, "one result file"},
      .flags = {text_field("out", options->out,
                           "path of the figure, .svg, .png or .pdf (not given: RESULT.svg); "
                           "further figures of the result are written next to it, as RESULT.2.svg "
                           "and so on"),
                switch_field("quiet", options->quiet, "print only errors on standard error")},
      .run = [options](const Arguments& given) { return plot(given.positional[0], *options); },
  };
}

}  // namespace ranklab
