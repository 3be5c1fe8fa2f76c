#include "data/images.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/tolerances.hpp"

namespace images_test {

using namespace ranklab;

namespace {

/// Three images of 6 x 4 pixels, drawn from N(3, 1).
Images drawn(const std::string& name) {
  std::vector<double> pixels(3 * 24);
  Stream(1, 0, name).fill_normal(pixels);
  Images images{.width = 6, .height = 4, .pixels = {}, .labels = {4, 0, 9}};
  for (const double pixel : pixels) images.pixels.push_back(static_cast<float>(pixel + 3));
  return images;
}

double pixel(const Images& images, std::uint64_t image, std::uint64_t y, std::uint64_t x) {
  return static_cast<double>(images.pixels.at((image * images.height + y) * images.width + x));
}

template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("pooling averages each square of pixels") {
  const Images images = drawn("pooled"), half = pooled(images, 2);
  CHECK(half.width == 3);
  CHECK(half.height == 2);
  CHECK(half.classes == images.classes);
  CHECK(half.labels == images.labels);
  REQUIRE(half.pixels.size() == 3 * 6);
  for (std::uint64_t image = 0; image < 3; ++image) {
    for (std::uint64_t y = 0; y < 2; ++y) {
      for (std::uint64_t x = 0; x < 3; ++x) {
        const double mean =
            (pixel(images, image, 2 * y, 2 * x) + pixel(images, image, 2 * y, 2 * x + 1) +
             pixel(images, image, 2 * y + 1, 2 * x) + pixel(images, image, 2 * y + 1, 2 * x + 1)) /
            4;
        CHECK(std::fabs(pixel(half, image, y, x) - mean) <= tolerance::closed_form<float> * mean);
      }
    }
  }
  CHECK(pooled(images, 1).pixels == images.pixels);
}

TEST_CASE("pooling and patch sizes that do not divide the image are refused with the flag") {
  const Images images = drawn("squares");
  CHECK(complaint([&] { pooled(images, 4); }) ==
        "--pool 4 is not allowed; allowed: divisors of the image size 6 x 4 pixels");
  CHECK(complaint([&] { pooled(images, 3); }) ==
        "--pool 3 is not allowed; allowed: divisors of the image size 6 x 4 pixels");
  CHECK(complaint([&] { pooled(images, 0); }) ==
        "--pool 0 is not allowed; allowed: divisors of the image size 6 x 4 pixels");
  CHECK(complaint([&] { require_patch(images, 4); }) ==
        "--patch 4 is not allowed; allowed: divisors of the image size 6 x 4 pixels");
  CHECK(complaint([&] { require_patch(images, 0); }) ==
        "--patch 0 is not allowed; allowed: divisors of the image size 6 x 4 pixels");
  CHECK(complaint([&] { require_patch(images, 2); }).empty());
}

TEST_CASE("training and test images are standardized with the training pixels") {
  const Images training = drawn("training"), test = drawn("test");
  double sum = 0, squares = 0;
  for (const float x : training.pixels) sum += static_cast<double>(x);
  const double mean = sum / 72;
  for (const float x : training.pixels) squares += std::pow(static_cast<double>(x) - mean, 2);
  const double deviation = std::sqrt(squares / 72);
  const PixelMoments moments = pixel_moments(training);
  CHECK(std::fabs(moments.mean - mean) <= tolerance::closed_form<double> * mean);
  CHECK(std::fabs(moments.deviation - deviation) <= tolerance::closed_form<double> * deviation);

  ImageTask task{training, test, "noise", ""};
  standardize(task);
  for (std::size_t i = 0; i < 72; ++i) {
    const auto expected = [&](const Images& of) {
      return (static_cast<double>(of.pixels[i]) - mean) / deviation;
    };
    CHECK(std::fabs(static_cast<double>(task.training.pixels[i]) - expected(training)) <=
          tolerance::closed_form<float>);
    CHECK(std::fabs(static_cast<double>(task.test.pixels[i]) - expected(test)) <=
          tolerance::closed_form<float>);
  }
  task.training.pixels.assign(72, 5.0f);
  CHECK(complaint([&] { standardize(task); }) ==
        "noise: the pixels of the training images are all equal");
}

TEST_CASE_TEMPLATE("tokens are the pixels or patches of the selected images, row by row", T, float,
                   double) {
  const Images images = drawn("tokens");
  const std::vector<std::uint32_t> which = {2, 0, 2, 1};
  const arma::Mat<T> pixels = patch_tokens<T>(images, 1, which),
                     patches = patch_tokens<T>(images, 2, which);
  REQUIRE(pixels.n_rows == 1);
  REQUIRE(pixels.n_cols == 4 * 24);
  REQUIRE(patches.n_rows == 4);
  REQUIRE(patches.n_cols == 4 * 6);
  for (std::uint64_t b = 0; b < 4; ++b) {
    for (std::uint64_t y = 0; y < 4; ++y) {
      for (std::uint64_t x = 0; x < 6; ++x) {
        const T expected = static_cast<T>(pixel(images, which[b], y, x));
        CHECK(pixels(0, 24 * b + 6 * y + x) == expected);
        CHECK(patches(2 * (y % 2) + x % 2, 6 * b + 3 * (y / 2) + x / 2) == expected);
      }
    }
  }
}

TEST_CASE("the planes of a patch follow each other and are pooled separately") {
  // Two images of 2 x 4 pixels in two planes; pixel values are 100 image + 10 plane + position.
  Images images{.width = 4, .height = 2, .pixels = {}, .labels = {0, 1}, .planes = 2};
  for (int image = 0; image < 2; ++image) {
    for (int plane = 0; plane < 2; ++plane) {
      for (int place = 0; place < 8; ++place)
        images.pixels.push_back(static_cast<float>(100 * image + 10 * plane + place));
    }
  }
  const arma::mat patches = patch_tokens<double>(images, 2, std::vector<std::uint32_t>{1});
  CHECK(arma::approx_equal(patches,
                           arma::mat({{100, 102},
                                      {101, 103},
                                      {104, 106},
                                      {105, 107},
                                      {110, 112},
                                      {111, 113},
                                      {114, 116},
                                      {115, 117}}),
                           "absdiff", 0.0));
  const Images half = pooled(images, 2);
  CHECK(half.planes == 2);
  CHECK(half.pixels ==
        std::vector<float>{2.5f, 4.5f, 12.5f, 14.5f, 102.5f, 104.5f, 112.5f, 114.5f});
}

}  // namespace images_test
