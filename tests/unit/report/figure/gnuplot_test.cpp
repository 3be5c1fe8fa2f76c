#include "report/figure/gnuplot.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/subprocess.hpp"
#include "report/figure/sample.hpp"
#include "report/figure/svg.hpp"

namespace gnuplot_test {

namespace fs = std::filesystem;
using namespace ranklab;
using ranklab::testing::contains;
using ranklab::testing::count;
using ranklab::testing::sample_result;

namespace {

struct TemporaryFolder {
  fs::path path =
      fs::temp_directory_path() / ("ranklab-gnuplot-test-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }
};

// PATH is set to a folder without programs, and restored.
struct EmptyPath {
  std::string old = std::getenv("PATH");
  explicit EmptyPath(const fs::path& folder) { ::setenv("PATH", folder.c_str(), 1); }
  ~EmptyPath() { ::setenv("PATH", old.c_str(), 1); }
};

// The rows of those data blocks that have `columns` numbers per row; one entry per block.
std::vector<std::vector<std::vector<double>>> blocks(const std::string& script,
                                                     std::size_t columns) {
  std::vector<std::vector<std::vector<double>>> out;
  std::istringstream lines(script);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "EOD") inside = false;
    if (inside && !line.empty()) {
      std::istringstream words(line);
      std::vector<double> row;
      for (std::string word; words >> word;)
        row.push_back(std::stod(word));  // throws on anything but a number
      if (row.size() == columns) {
        if (out.empty() || out.back().empty()) out.resize(out.size() + (out.empty() ? 1 : 0));
        out.back().push_back(row);
      }
    }
    if (line.ends_with("<< EOD")) {
      inside = true;
      if (out.empty() || !out.back().empty()) out.emplace_back();
    }
  }
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

std::string lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    found += contains(line, part) ? line + "\n" : "";
  return found;
}

double number_after(const std::string& text, const std::string& words) {
  return std::stod(text.substr(text.find(words) + words.size()));
}

}  // namespace

TEST_CASE("the same document gives identical SVG bytes with a title, a description and a size") {
  const auto result = sample_result();
  const std::string svg = draw_svg(result);
  CHECK(svg == draw_svg(result));
  CHECK(contains(svg, "<title>GD against SpecGD</title>"));
  CHECK(contains(
      svg,
      "Objective gap: gap (log scale) against iteration; curves: GD (line), SpecGD (dashed)."));
  CHECK(contains(svg, "reference lines: st(A) at 0.5"));
  CHECK(contains(svg, "over 10 trials"));
  CHECK(contains(svg, "role=\"img\""));
  CHECK(contains(svg, "viewBox="));
  CHECK(contains(svg, " width=\""));
  CHECK(count(svg, "<title") == 1);
  CHECK_FALSE(contains(svg, "GNUPLOT"));
}

TEST_CASE("text of the document is never run by gnuplot as code and appears unchanged") {
  TemporaryFolder folder;
  const std::string pwned = (folder.path / "pwned").string();
  const std::string hostile = "'; system \"touch " + pwned + "\" #`touch " + pwned +
                              "`@x %d %s {/Bold b}_2 <b> & \\ ${\n!touch " + pwned + "\nEOD\n";
  auto result = sample_result();
  result["title"] = hostile;
  auto& panel = result["figure"]["panels"][0];
  panel["title"] = hostile;
  panel["x"] = {{"label", hostile}, {"scale", "linear"}, {"ticks", {hostile, "a%d", "'"}}};
  panel["y"]["label"] = hostile;
  panel["curves"][0]["label"] = hostile;
  panel["curves"][0]["series"] = hostile;
  result["series"][0]["name"] = hostile;
  result["figure"]["panels"][1]["curves"][0]["series"] = hostile;
  panel["lines"] = {{{"y", 0.1}, {"label", hostile}}};
  panel["bands"] = {{{"x_low", 1}, {"x_high", 2}, {"label", hostile}}};
  for (const char* format : {"svg", "png", "pdf"})
    draw_figure(result, (folder.path / "x.").string() + format, true);
  CHECK_FALSE(fs::exists(pwned));
  const std::string svg = read_file((folder.path / "x.svg").string());
  CHECK(contains(svg, ">'; system \"touch"));
  CHECK(contains(svg, ">a%d</text>"));
  CHECK_FALSE(contains(svg, "<b>"));
  // Every text is on one line, and no quoted text contains a single quote.
  const std::string joint = "'.\"'\".'";
  std::istringstream lines(read_file((folder.path / "x.svg.gp").string()));
  for (std::string line; std::getline(lines, line);) {
    CHECK_FALSE(line.starts_with("!"));
    for (std::size_t at = line.find(joint); at != std::string::npos; at = line.find(joint))
      line.erase(at, joint.size());
    CHECK(count(line, "'") % 2 == 0);
  }
}

TEST_CASE(
    "pictures are written atomically in the format given by the name, and the script draws the "
    "same picture") {
  TemporaryFolder folder;
  const std::string base = (folder.path / "deep" / "er" / "x").string();
  for (const char* ending : {".svg", ".png", ".pdf"})
    draw_figure(sample_result(), base + ending, ending == std::string(".png"));
  CHECK(read_file(base + ".svg").starts_with("<?xml"));
  CHECK(read_file(base + ".png").substr(1, 3) == "PNG");
  CHECK(read_file(base + ".pdf").starts_with("%PDF"));
  CHECK(run_process({"gnuplot", base + ".png.gp"}, "", 60).out == read_file(base + ".png"));
  CHECK_FALSE(fs::exists(base + ".svg.gp"));
}

TEST_CASE("another file extension is refused with the list of allowed ones") {
  CHECK_THROWS_WITH_AS(draw_figure(sample_result(), "x.jpg", false),
                       "--out x.jpg: a picture must end in .svg, .png or .pdf", UsageError);
  CHECK_THROWS_AS(draw_figure(sample_result(), "svg", false), UsageError);
  CHECK_THROWS_AS(gnuplot_script(sample_result(), "x11"), UsageError);
}

TEST_CASE("a missing gnuplot is a failure that says how to install it") {
  TemporaryFolder folder;
  const EmptyPath path(folder.path);
  CHECK_THROWS_WITH_AS(draw_svg(sample_result()),
                       "gnuplot is not installed: `apt-get install gnuplot-nox` (or `make deps`)",
                       Failure);
}

TEST_CASE("on a log axis the band mirrors around the mean and stays positive") {
  const auto bands = blocks(gnuplot_script(sample_result(), "svg"), 4);
  REQUIRE(bands.size() == 3);  // two bands, and the error bars of the second panel
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(bands[i].size() == 40);
    for (const auto& row : bands[i]) {
      CHECK(row[2] > 0);
      CHECK(row[1] / row[2] == doctest::Approx(row[3] / row[1]).epsilon(1e-6));
      CHECK(row[3] == doctest::Approx(3 * row[1]).epsilon(1e-6));
    }
  }
  CHECK(bands[2][0][2] == doctest::Approx(-1.0).epsilon(1e-6));
}

TEST_CASE("over very many decades, a log axis has ticks only at its labels") {
  const auto minor_ticks = [](double decades_a_point) {
    nlohmann::json document = sample_result();
    for (auto& series : document["series"]) {
      for (std::size_t i = 0; i < series["mean"].size(); ++i) {
        series["mean"][i] = std::pow(10.0, -decades_a_point * static_cast<double>(i));
        series["std"][i] = 0.0;
      }
    }
    const std::string script = gnuplot_script(document, "svg");
    const std::size_t start = script.find("set ytics out");
    const std::string ticks = script.substr(start, script.find('\n', start) - start);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = ticks.find(" 1,", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  CHECK(minor_ticks(0.5) > 10);
  CHECK(minor_ticks(5) == 0);
}

TEST_CASE("nulls break a line, and values that a log axis cannot show are omitted") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  result["figure"]["panels"][0]["curves"].erase(1);
  auto& series = result["series"][0];
  series["x"] = {0, 1, 2, 3, 4, 5, 6};
  series["mean"] = {1, 2, nullptr, 4, 5, -1, 7};
  series["std"] = {0, 0, nullptr, 0, 0, 0, 0};
  const std::string script = gnuplot_script(result, "svg");
  CHECK(contains(script, "<< EOD\n0 1\n1 2\n\n3 4\n4 5\n\n6 7\nEOD\n"));
  CHECK(blocks(script, 4).empty());               // no spread, no band
  CHECK(contains(script, "<< EOD\n6 7\nEOD\n"));  // a single point is drawn as a dot
  result["series"][0]["mean"] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  CHECK(contains(draw_svg(result), "no defined values"));
}

TEST_CASE("long curves are thinned but keep their ends and their peak") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  result["figure"]["panels"][0]["curves"].erase(1);
  result["series"][0] = ranklab::testing::sample_series("gd.gap", 20000, 100);
  for (int i = 0; i < 20000; ++i)
    result["series"][0]["mean"][static_cast<std::size_t>(i)] =
        i == 7777 ? 99.0 : 1 + (i % 7) * 0.01;
  for (const char* scale : {"linear", "log"}) {
    result["figure"]["panels"][0]["x"]["scale"] = scale;
    const auto line = blocks(gnuplot_script(result, "svg"), 2).at(0);
    CHECK(line.size() <= 620);
    CHECK(line.size() > 200);
    CHECK(line.front()[0] == (scale == std::string("log") ? 1 : 0));
    CHECK(line.back()[0] == 19999);
    const bool peak =
        std::any_of(line.begin(), line.end(), [](const auto& row) { return row[1] == 99.0; });
    CHECK(peak);
  }
}

TEST_CASE("a point at the end of an axis lies inside the range despite rounding") {
  auto result = sample_result();
  for (auto& series : result["series"]) {
    for (auto& x : series["x"]) x = (x.get<double>() + 1) * 2 / 3;
  }
  for (const char* scale : {"linear", "log"}) {
    result["figure"]["panels"][0]["x"]["scale"] = scale;
    const std::string script = gnuplot_script(result, "svg");
    const std::size_t range = script.find("set xrange [") + 12;
    CHECK(std::stod(script.substr(range)) < 0.666666666);
    CHECK(std::stod(script.substr(script.find(":", range) + 1)) > 26.6666667);
  }
}

TEST_CASE("x_offset shifts a curve") {
  auto result = sample_result();
  result["figure"]["panels"][0]["curves"][0]["x_offset"] = 100;
  CHECK(contains(gnuplot_script(result, "svg"), "\n100 1\n"));
}

TEST_CASE("a band can show the standard error of the mean, and the caption says so") {
  auto result = sample_result();  // 10 trials, spread 2 around a mean of 1
  result["figure"]["panels"][1]["curves"][0]["style"] = "line";
  result["figure"]["panels"][1]["curves"][0]["band"] = "standard-error";
  const std::string script = gnuplot_script(result, "svg");
  const auto bands = blocks(script, 4);
  REQUIRE(bands.size() == 3);
  CHECK(bands[2][0][2] == doctest::Approx(1 - 2 / std::sqrt(10.0)).epsilon(1e-6));
  CHECK(contains(script, "standard error of the mean"));
  CHECK(!contains(gnuplot_script(sample_result(), "svg"), "standard error"));
}

TEST_CASE(
    "the note says how many trials are left at the end of a curve, and its standard error uses "
    "that "
    "number") {
  auto result = sample_result();  // 10 trials, spread 2 around a mean of 1
  auto n = nlohmann::json::array();
  for (int i = 0; i < 40; ++i) n.push_back(i < 20 ? 10 : i < 30 ? 4 : 0);
  result["series"][0]["n"] = n;
  result["figure"]["panels"][1]["curves"][0]["style"] = "line";
  result["figure"]["panels"][1]["curves"][0]["band"] = "standard-error";
  const std::string script = gnuplot_script(result, "svg");
  CHECK(contains(script, "left at the end: 4 of 10"));  // layout_test reads the whole note
  CHECK(contains(script, "'GD'"));
  CHECK(contains(script, "'SpecGD'"));
  const auto bands = blocks(script, 4);
  REQUIRE(bands.size() == 3);
  const double mean = std::exp(-0.25);
  CHECK(bands[2][25][2] == doctest::Approx(mean - 2 * mean / std::sqrt(4.0)).epsilon(1e-6));
  result["series"][0]["n"] = {1, 2};
  CHECK_THROWS_WITH_AS(gnuplot_script(result, "svg"),
                       "figure: series 'gd.gap' has x and n of unequal length", Failure);
}

TEST_CASE("an axis of logarithms shows powers, even if they overflow a double") {
  auto result = sample_result();
  auto& panel = result["figure"]["panels"][1];
  panel["y"]["scale"] = "log10";
  panel["lines"] = nlohmann::json::array();
  for (const double highest : {6.0, 600.0}) {
    CAPTURE(highest);
    auto& series = result["series"][0];
    for (std::size_t i = 0; i < series["mean"].size(); ++i) {
      series["mean"][i] = highest * static_cast<double>(i) / 39;
      series["std"][i] = 0;
    }
    const std::string script = gnuplot_script(result, "svg");
    const std::string second = script.substr(script.rfind("unset logscale x"));
    CHECK(contains(second, "unset logscale y"));
    CHECK(contains(script, highest == 6 ? "'10^{4}'" : "'10^{400}'"));
    const double tick = highest == 6 ? 4 : 400;
    CHECK(contains(lines_with(second, "set ytics"),
                   "'' " + std::to_string(static_cast<int>(tick)) + " 0"));
  }
}

TEST_CASE("neighbors with the same legend share it") {
  auto result = sample_result();
  auto& panels = result["figure"]["panels"];
  panels[1] = panels[0];
  CHECK(count(gnuplot_script(result, "svg"), "set label 'SpecGD'") == 1);
  panels[1]["curves"][1]["color"] = 2;  // a different look gives a separate legend
  CHECK(count(gnuplot_script(result, "svg"), "set label 'SpecGD'") == 2);
  panels[1] = panels[0];
  for (int i = 2; i < 9; ++i) panels.push_back(panels[0]);
  CHECK(count(gnuplot_script(result, "svg"), "set label 'SpecGD'") == 1);  // three rows of three
  panels[4]["curves"].erase(1);
  // The first row, both sides of the odd one, the last row.
  CHECK(count(gnuplot_script(result, "svg"), "set label 'SpecGD'") == 4);
}

TEST_CASE(
    "bars with many names are horizontal and split into pieces, first name on top; classes share a "
    "position") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  auto names = nlohmann::json::array(), x = names, even = names, odd = names, spread = names;
  for (int i = 1; i <= 100; ++i) {
    names.push_back("layer." + std::to_string(i));
    x.push_back(i);
    even.push_back(i % 2 == 0 ? nlohmann::json(i) : nlohmann::json());
    odd.push_back(i % 2 == 1 ? nlohmann::json(i) : nlohmann::json());
    spread.push_back(0);
  }
  panel["x"] = {{"label", "layer"}, {"scale", "linear"}, {"ticks", names}};
  panel["y"] = {{"label", "value"}, {"scale", "linear"}};
  panel["lines"] = {{{"y", 50}, {"label", "limit"}}};
  for (auto& curve : panel["curves"]) curve["style"] = "bars";
  for (const int which : {0, 1}) {
    result["series"][static_cast<std::size_t>(which)].update(
        {{"x", x}, {"mean", which == 0 ? even : odd}, {"std", spread}});
  }
  const std::string script = gnuplot_script(result, "svg");
  CHECK(count(script, " using 2:1:5:6:3:4 with boxxyerror ") == 4);  // two pieces with two classes
  CHECK(contains(script, "set yrange [50.5:0.5]"));
  CHECK(contains(script, "set yrange [100.5:50.5]"));
  CHECK(contains(script, "'Objective gap, 51 to 100'"));
  CHECK(count(script, "set label 'layer.17'") == 1);
  const auto bars = blocks(script, 6);
  REQUIRE(bars.size() == 4);
  REQUIRE(bars[2].size() == 25);  // the second piece's even names
  const std::vector<double> first = {52, 52, 51.6, 52.4, 0, 52};
  for (std::size_t column = 0; column < 6; ++column)
    CHECK(bars[2][0][column] == doctest::Approx(first[column]).epsilon(1e-9));
  panel["x"]["ticks"] = {"a", "b"};
  CHECK(count(gnuplot_script(result, "svg"), " using 1:2:3:4:5:6 with boxxyerror ") == 2);
}

TEST_CASE("an axis covers the requested values and all of its curves") {
  auto result = sample_result();  // the mean falls from 1 to 0.68
  for (auto& series : result["series"]) {
    for (auto& std : series["std"]) std = 0;
  }
  result["figure"]["panels"][1]["lines"] = nlohmann::json::array();
  const auto lowest = [&] {
    const std::string script = gnuplot_script(result, "svg");
    return number_after(script.substr(script.rfind("set yrange")), "set yrange [");
  };
  CHECK(lowest() > 0.6);
  result["figure"]["panels"][1]["y"]["covers"] = {0, 0.9};
  CHECK(lowest() < 0);
  CHECK(lowest() > -0.1);
  result["figure"]["panels"][1]["y"]["covers"] = {"0"};
  CHECK_THROWS_AS(gnuplot_script(result, "svg"), Failure);
}

TEST_CASE("the band of a mean of shares ends at 0 and at 1") {
  auto result = sample_result();  // the mean falls from 1 to 0.68, its spread is twice that
  auto& panel = result["figure"]["panels"][1];
  panel["lines"] = nlohmann::json::array();
  panel["curves"][0]["style"] = "line";
  const auto lowest = [&] {
    const std::string script = gnuplot_script(result, "svg");
    return number_after(script.substr(script.rfind("set yrange")), "set yrange [");
  };
  panel["y"]["covers"] = {0, 0.99};
  CHECK(lowest() < -0.9);
  panel["y"]["covers"] = {0, 1};
  CHECK(lowest() > -0.1);
}

TEST_CASE("the spelling of older results, colour, is read") {
  auto newer = sample_result(), older = sample_result();
  newer["figure"]["panels"][1]["curves"][0]["color"] = 5;
  older["figure"]["panels"][1]["curves"][0]["colour"] = 5;
  CHECK(gnuplot_script(older, "svg") == gnuplot_script(newer, "svg"));
  CHECK(gnuplot_script(newer, "svg") != gnuplot_script(sample_result(), "svg"));
}

TEST_CASE("curves with the same color have different markers") {
  auto result = sample_result();
  auto& curves = result["figure"]["panels"][1]["curves"];
  for (int color = 1; color < 14; ++color) {
    curves.push_back(curves[0]);
    curves.back()["color"] = color;
  }
  curves[0]["color"] = 0;
  const std::string script = gnuplot_script(result, "svg");
  std::set<std::string> looks;
  std::istringstream words(lines_with(script, "with points pt "));
  for (std::string word, before; words >> word; before = word) {
    if (before == "pt") looks.insert(word);
  }
  CHECK(looks.size() == 14);
}

TEST_CASE(
    "bars are side by side and start at 0, or at 1 on a log axis, where smaller values point down; "
    "null is a gap") {
  auto result = sample_result();
  result["figure"]["panels"].erase(1);
  auto& panel = result["figure"]["panels"][0];
  for (auto& curve : panel["curves"]) curve["style"] = "bars";
  for (auto& series : result["series"]) {
    series["x"] = {1, 3, 5};
    series["mean"] = {4, nullptr, 0.25};
    series["std"] = {0, nullptr, 0};
  }
  result["series"][1]["std"] = {1, nullptr, 0};
  for (const bool log : {false, true}) {
    CAPTURE(log);
    panel["y"]["scale"] = log ? "log" : "linear";
    const std::string script = gnuplot_script(result, "svg");
    CHECK(count(script, " with boxxyerror ") == 2);
    const auto bars = blocks(script, 6);
    REQUIRE(bars.size() == 2);
    // Points are 2 apart: a group is 1.6 wide, a bar half of that.
    const double foot = log ? 1 : 0;
    const std::vector<std::vector<double>> left = {
        {1, 4, 0.2, 1, foot, 4}, {5, 0.25, 4.2, 5, log ? 0.25 : 0, log ? 1 : 0.25}};
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE(bars[i].size() == 2);
      for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t column = 0; column < 6; ++column) {
          const double shift = i == 1 && (column == 2 || column == 3) ? 0.8 : 0;
          CHECK(bars[i][row][column] == doctest::Approx(left[row][column] + shift).epsilon(1e-9));
        }
      }
    }
    CHECK(contains(script, "set xrange [0.19"));
    CHECK(contains(script, log ? "set yrange [0.2" : "set yrange [-0"));
    // The spread of one point of the second curve, centered on its bar.
    REQUIRE(blocks(script, 4).size() == 1);
    CHECK(blocks(script, 4)[0][0][0] == doctest::Approx(1.4).epsilon(1e-9));
    CHECK(contains(draw_svg(result), "curves: GD (bars), SpecGD (bars)."));
  }
  panel["x"]["scale"] = "log";
  CHECK_THROWS_WITH_AS(draw_svg(result), "figure: panel 1 has bars on a log x axis", Failure);
}

TEST_CASE(
    "bands fill the height of the panel, are clipped at its sides and do not change the axes") {
  for (const bool log : {false, true}) {
    CAPTURE(log);
    auto result = sample_result();
    result["figure"]["panels"].erase(1);
    auto& panel = result["figure"]["panels"][0];
    panel["x"]["scale"] = log ? "log" : "linear";
    const std::string ranges = lines_with(gnuplot_script(result, "svg"), "range [");
    panel["bands"] = {{{"x_low", 10}, {"x_high", 20}, {"label", "window"}, {"color", 1}},
                      {{"x_low", -1e9}, {"x_high", 1e9}},
                      {{"x_low", 40}, {"x_high", 50}, {"label", "beyond"}}};
    const std::string script = gnuplot_script(result, "svg");
    CHECK(lines_with(script, "range [") == ranges);
    CHECK_FALSE(contains(script, "beyond"));
    // There is one sample in the legend, in the color of the labeled band.
    CHECK(count(lines_with(script, "window"), "\n") == 1);
    CHECK(count(lines_with(script, " back lw 0.7 "), "\n") == 1);
    CHECK(contains(lines_with(script, " back lw 0.7 "), "fc rgb '#D55E00'"));

    const double left = number_after(script, "set lmargin at screen "),
                 right = number_after(script, "set rmargin at screen ");
    const double top = number_after(script, "set tmargin at screen "),
                 bottom = number_after(script, "set bmargin at screen ");
    // The curves reach from 0 to 39, on a log axis from 1.
    const auto place = [&](double x) {
      return left + (right - left) * (log ? std::log(x) / std::log(39.0) : x / 39);
    };
    std::istringstream drawn(lines_with(script, " behind "));
    std::string colored, gray;
    std::getline(drawn, colored);
    std::getline(drawn, gray);
    CHECK(drawn.peek() == EOF);
    CHECK(contains(colored, "transparent solid 0.12 border lc rgb '#D55E00' fc rgb '#D55E00'"));
    CHECK(contains(gray, "fc rgb '#5F5F5F'"));
    const auto stands = [](const std::string& rectangle, const std::vector<double>& corners) {
      std::size_t at = 0;
      for (const double corner : corners) {
        at = rectangle.find("screen ", at) + 7;
        CHECK(std::stod(rectangle.substr(at)) == doctest::Approx(corner).epsilon(1e-4));
      }
    };
    stands(colored, {place(10), top, place(20), bottom});
    stands(gray, {left, top, right, bottom});
    CHECK(contains(draw_svg(result),
                   "; shaded: window from 10 to 20, from -1e+09 to 1e+09, beyond from 40 to 50."));
  }
}

TEST_CASE("malformed documents give one-line failures that say what is wrong") {
  const auto failure = [](const char* pointer, const nlohmann::json& value) -> std::string {
    auto result = sample_result();
    result[nlohmann::json::json_pointer(pointer)] = value;
    try {
      gnuplot_script(result, "svg");
    } catch (const Failure& error) {
      return error.what();
    }
    return "";
  };
  CHECK(failure("/figure", nullptr) == "the result has no figure");
  CHECK(failure("/figure/panels", nlohmann::json::array()) ==
        "the result has no figure (no panels)");
  CHECK(failure("/figure/panels/0/curves/0/series", "no.such") ==
        "figure: a curve names the series 'no.such', which the result does not have");
  CHECK(contains(failure("/figure/panels/0/y/scale", "cubic"),
                 "panel 1, axis y has the unknown scale 'cubic'; allowed: linear, log"));
  CHECK(contains(failure("/figure/panels/0/curves/0/style", "wavy\n!x"),
                 "unknown style 'wavy !x'; allowed: line, dashed"));
  CHECK(contains(failure("/figure/panels/0/curves/0/color", -5), "palette index"));
  CHECK(contains(failure("/figure/panels/0/curves/0/color", 1e300), "as 'color'"));
  CHECK(contains(failure("/figure/panels/0/title", 7), "needs text as 'title'"));
  CHECK(contains(failure("/figure/panels/0/x", 7), "is not an object"));
  CHECK(contains(failure("/figure/panels/0/lines", 7), "needs a list as 'lines'"));
  CHECK(contains(failure("/figure/panels/0", 7), "needs objects in 'panels'"));
  CHECK(contains(failure("/figure/panels/0/bands", 7), "needs a list as 'bands'"));
  CHECK(failure("/figure/panels/0/bands", {{{"x_low", 2}, {"x_high", 1}}}) ==
        "figure: panel 1, a band needs numbers 'x_low' <= 'x_high'");
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 2}, {"x_high", nullptr}}}),
                 "needs numbers 'x_low' <= 'x_high'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", "1"}, {"x_high", 2}}}),
                 "a band needs a number as 'x_low'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 1e300}}}),
                 "a band needs a number as 'x_high'"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 2}, {"color", 0.5}}}),
                 "palette index"));
  CHECK(contains(failure("/figure/panels/0/bands", {{{"x_low", 1}, {"x_high", 2}, {"label", 7}}}),
                 "needs text as 'label'"));
  CHECK(contains(failure("/series/0/mean/3", "system"),
                 "series 'gd.gap' needs numbers or null in 'mean'"));
  CHECK(contains(failure("/series/0/x", {1, 2}), "of unequal length"));
}

TEST_CASE("extreme but finite numbers are drawn without an error") {
  auto result = sample_result();
  for (const auto& mean : {nlohmann::json{1e308, -1e308, 1e-308, 0, 1e200},
                           nlohmann::json{5e-324, 5e-324, 5e-324, 5e-324, 5e-324},
                           nlohmann::json{1e9, 1e9 + 1e-6, 1e9, 1e9, 1e9},
                           nlohmann::json{1e-280, 1e280, 1, 1, 1}, nlohmann::json{0, 0, 0, 0, 0}}) {
    for (auto& series : result["series"]) {
      series["x"] = {0, 1, 2, 3, 4};
      series["mean"] = mean;
      series["std"] = {1e308, 0, 1, 1e-320, nullptr};
    }
    for (const char* style : {"line", "bars"}) {
      for (auto& panel : result["figure"]["panels"]) panel["curves"][0]["style"] = style;
      CHECK(contains(draw_svg(result), "</svg>"));
    }
  }
}

TEST_CASE(
    "groups that draw nothing are removed, and groups without a look of their own unwrapped") {
  const std::string drawn =
      "<svg viewBox=\"0 0 10 10\"><g a='1'>\n\t<g>\n</g>\n</g>\n\t\t<g b='2'><g></g><path "
      "d='M0,0 L5,5'/></g><g b='2'><rect/></g><g id=\"gnuplot_plot_1\"><g c='3'><text></text></g>"
      "<g stroke-width=\"1.00\" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"><path "
      "d='M1,1 L2,1'/></g></g></svg>";
  CHECK(finish_svg(drawn, "t", "d")
            .ends_with("</desc><g b=\"2\"><path d=\"M0 0l5 5\"/><rect/></g><g "
                       "stroke-width=\"1\"><path d=\"M1 1h1\"/></g></svg>\n"));
}

TEST_CASE("a path has relative points to a tenth of a pixel, without those that it does not need") {
  const auto path = [](const std::string& d) {
    const std::string svg =
        finish_svg("<svg viewBox=\"0 0 9 9\"><path d='" + d + "'/></svg>", "t", "d");
    const std::size_t at = svg.find(" d=\"") + 4;
    return svg.substr(at, svg.find('"', at) - at);
  };
  CHECK(path("M1.04,2.06 L1.54,1.96 L9.00,9.00 ") == "M1 2.1l.5-.1 7.5 7");
  CHECK(path("M0,0 L1,1.1 L2,2 L3,3.1 L4,4 ") == "M0 0l4 4");  // straight up to a fifth of a pixel
  CHECK(path("M0,0 L1,1 L2,5 L3,1 L4,4 ") == "M0 0l1 1 1 4 1-4 1 3");
  CHECK(path("M0,0 L1,1 M5,5 L6,6 ") == "M0 0l1 1M5 5l1 1");
  CHECK(path("M0,0 L2,0 L2,3 L2,5 L1,3 L0,3.5 L7,3 Z ") == "M0 0h2v5l-1-2-1 .5 7-.5z");
  CHECK(path("M-1,0 h2 M0,-1 v2") == "M-1,0 h2 M0,-1 v2");  // other commands stay
  const std::string area =
      finish_svg("<svg viewBox=\"0 0 9 9\"><polygon points = '0,0 4,0 4,4 '/></svg>", "t", "d");
  CHECK(contains(area, "<path d=\"M0 0h4v4z\"/>"));
}

TEST_CASE("ticks and grid lines of one pen are one path per color") {
  const std::string lines =
      "<g><path stroke='red' d='M0,0 L1,0'/><path stroke='blue' d='M2,2 L2,3'/><path stroke='red' "
      "d='M4,4 L5,4'/><rect/><path stroke='red' d='M6,6 L7,6'/></g>";
  CHECK(
      finish_svg("<svg viewBox=\"0 0 9 9\">" + lines + "</svg>", "t", "d")
          .ends_with("<path stroke=\"red\" d=\"M0 0h1M4 4h1\"/><path stroke=\"blue\" d=\"M2 "
                     "2v1\"/><rect stroke=\"none\"/><path stroke=\"red\" d=\"M6 6h1\"/></svg>\n"));
}

TEST_CASE("equal markers are one path, each point at its place, and unused symbols are dropped") {
  const std::string drawn =
      "<svg viewBox=\"0 0 9 9\"><defs><circle id='gpPt5' r='1'/><use xlink:href='#gpPt5' "
      "id='gpPt6'/>"
      "<path id='gpPt7' d='M0,0'/></defs><g stroke-width=\"2.00\">"
      "<use xlink:href='#gpPt6' transform='translate(1.00,2.00) scale(3.09)' color='rgb(0, 114, "
      "178)'/>"
      "<use xlink:href='#gpPt6' transform='translate(1.00,2.00) scale(3.09)' color='rgb(0, 114, "
      "178)'/>"
      "<use xlink:href='#gpPt6' transform='translate(4.50,1.00) scale(3.09)' color='rgb(0, 114, "
      "178)'/>"
      "<use xlink:href='#gpPt6' transform='translate(7.00,7.00) scale(3.09)' color='rgb(255, 255, "
      "255)'/>"
      "</g></svg>";
  const std::string kept = finish_svg(drawn, "t", "d");
  CHECK(contains(kept, "<path d=\"M1 2l0 0 3.5-1\" style=\"marker:url(#k0)\" stroke=\"none\"/>"));
  CHECK(contains(kept, "<path d=\"M7 7h0\" style=\"marker:url(#k1)\" stroke=\"none\"/>"));
  CHECK(contains(kept, "<marker id=\"k0\""));
  CHECK(contains(kept, "scale(3.09)"));
  CHECK(contains(kept, "#0072b2"));
  CHECK(contains(kept, "id=\"gpPt5\""));  // the symbol of gpPt6
  CHECK_FALSE(contains(kept, "gpPt7"));
}

TEST_CASE("a marker and its white rim are one path if they have the same points") {
  const auto marks = [](const char* width, const char* color, const char* x) {
    return std::string("<g stroke-width=\"") + width +
           "\"><use xlink:href='#gpPt6' transform='translate(" + x + ",2.00) scale(3.09)' color='" +
           color + "'/></g>";
  };
  const auto paths = [&](const char* x) {
    const std::string svg =
        finish_svg("<svg viewBox=\"0 0 9 9\"><defs><circle id='gpPt6' r='1'/></defs>" +
                       marks("2.00", "white", "1.00") + marks("1.00", "blue", x) + "</svg>",
                   "t", "d");
    CHECK(contains(svg, "color=\"white\" stroke-width=\"2\""));
    CHECK(contains(svg, "color=\"blue\" stroke-width=\"1\""));
    return count(svg, "marker:url");
  };
  CHECK(paths("1.00") == 1);
  CHECK(paths("1.50") == 2);
}

TEST_CASE("texts share a group with their usual look and keep what differs") {
  const std::string text = "stroke=\"none\" fill=\"rgb(34,34,34)\" font-family=\"sans-serif\" ";
  const std::string drawn =
      "<svg viewBox=\"0 0 9 9\"><g transform=\"translate(1.00,2.50)\" " + text +
      "font-size=\"11.00\" text-anchor=\"middle\"><text>a</text></g>"
      "<g transform=\"translate(3.00,4.00) rotate(-90)\" " +
      text +
      "font-size=\"13.00\" text-anchor=\"start\"><text><tspan "
      "font-family=\"sans-serif\" >10</tspan><tspan dy='-5px'>3</tspan></text>"
      "</g></svg>";
  CHECK(
      finish_svg(drawn, "t", "d")
          .ends_with("<g stroke=\"none\" fill=\"#222222\" font-size=\"11\" text-anchor=\"middle\">"
                     "<text x=\"1\" y=\"2.5\">a</text><text transform=\"translate(3,4) "
                     "rotate(-90)\" font-size=\"13\" text-anchor=\"start\">10<tspan "
                     "dy=\"-5px\">3</tspan></text></g></svg>\n"));
}

TEST_CASE("ids in an SVG and references to them get a prefix; text is unchanged") {
  const std::string svg =
      "<svg aria-labelledby=\"a b\"><g id='x'/><use xlink:href='#x' fill=\"url(#y)\"/><text>id='x' "
      "#x url(#y)</text></svg>";
  CHECK(prefix_svg_ids(svg, "p-") ==
        "<svg aria-labelledby=\"p-a p-b\"><g id='p-x'/><use xlink:href='#p-x' "
        "fill=\"url(#p-y)\"/><text>id='x' #x "
        "url(#y)</text></svg>");
}

TEST_CASE("an SVG that contains more than a drawing is refused") {
  CHECK_THROWS_AS(finish_svg("<svg viewBox=\"0 0 1 1\"><script>x</script></svg>", "t", "d"),
                  Failure);
  CHECK_THROWS_AS(finish_svg("<svg viewBox=\"0 0 1 1\" onload=\"x\"></svg>", "t", "d"), Failure);
  CHECK_THROWS_AS(finish_svg("<svg><use xlink:href='http://x'/></svg>", "t", "d"), Failure);
  CHECK_THROWS_AS(finish_svg("<svg><g", "t", "d"), Failure);
  CHECK_THROWS_AS(finish_svg("", "t", "d"), Failure);
  CHECK(contains(finish_svg("<svg viewBox=\"0 0 8 9\"></svg>", "<t>", "d&"),
                 "width=\"8\" height=\"9\""));
  CHECK(contains(finish_svg("<svg viewBox=\"0 0 8 9\"></svg>", "<t>", "d&"), ">&lt;t&gt;</title>"));
}

}  // namespace gnuplot_test
