#include "figure/picture.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "figure/sample.hpp"
#include "io/atomic_file.hpp"
#include "result/typed.hpp"

namespace picture_test {

namespace fs = std::filesystem;
using namespace ranklab;
using ranklab::testing::sample_result;
using ranklab::testing::typed;

namespace {

struct TemporaryFolder {
  fs::path path =
      fs::temp_directory_path() / ("ranklab-picture-test-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }
};

// The number that starts at `at`, most significant byte first.
unsigned big_endian(const std::string& bytes, std::size_t at) {
  unsigned out = 0;
  for (std::size_t i = 0; i < 4; ++i)
    out = out * 256 + static_cast<unsigned char>(bytes.at(at + i));
  return out;
}

}  // namespace

TEST_CASE("pictures are written in the format given by the name, in folders that are created") {
  TemporaryFolder folder;
  const std::string base = (folder.path / "deep" / "er" / "x").string();
  for (const char* ending : {".svg", ".png", ".PDF"})
    draw_figure(typed(sample_result()), base + ending);
  CHECK(read_file(base + ".svg").starts_with("<?xml"));
  const std::string png = read_file(base + ".png");
  CHECK(png.substr(1, 3) == "PNG");
  const PlacedFigure figure = place_figure(figure_data(typed(sample_result())));
  CHECK(big_endian(png, 16) == static_cast<unsigned>(2 * figure.width));  // two dots a pixel
  CHECK(read_file(base + ".PDF").starts_with("%PDF"));
}

}  // namespace picture_test
