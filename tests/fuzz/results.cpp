// A result file through every command that reads one.

#include "cli/commands.hpp"
#include "cli/overwrite.hpp"
#include "cli/resolve.hpp"
#include "figure/picture.hpp"
#include "page/page.hpp"
#include "result/export.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

void draw(const ResultFile& result) {
  for (std::size_t which = 0; which <= result.more_figures.size(); ++which)
    draw_svg(result, Extract::whole, which);
}

// As `verify` does before it runs the study.
void resolve_again(const ResultFile& result, const std::string& path) {
  ResolvedRun run =
      resolve(writer_of(result.command, path), replay_of(parameters_of(result, path)));
  run.study().memory();
  run.options().out = path;
  refuse_to_replace(run);
}

}  // namespace

void read_result(std::string_view bytes) {
  const std::size_t zero = bytes.find('\0');
  const std::string first = put("a.json", bytes.substr(0, zero)),
                    second = put("b.json", bytes.substr(zero == std::string::npos ? 0 : zero + 1));
  const std::vector<ResultFile> results = {ranklab::read_result(first),
                                           ranklab::read_result(second)};
  const std::vector<std::string> paths = {first, second};
  attempt([&] { draw(results[0]); });
  attempt([&] { html_report(results, paths); });
  attempt([&] { markdown_gallery(results, paths); });
  attempt([&] { markdown_paper(papers()[0], results, paths); });
  attempt([&] { run_utility(compare_command(), paths); });
  for (const std::string& part : exported_parts) {
    attempt([&] { export_csv(results[0], part); });
    attempt([&] { export_csv(results, paths, part); });
  }
  resolve_again(results[0], first);
}

}  // namespace ranklab::fuzz
