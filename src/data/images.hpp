// Labeled images, and the tokens that a sequence model reads from them: pixels or patches.
//
// Legend: w width and h height in pixels, c planes (1: gray, 3: red, green, blue), p side of a
// patch, B images of a batch. One token per column, image after image; the tokens of an image are
// in row-major order, and so are the pixels of a patch, plane after plane.
#pragma once

#include <armadillo>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ranklab {

struct Images {
  std::uint64_t width = 0, height = 0, classes = 10;
  std::vector<float> pixels;          // image after image, plane after plane, row by row
  std::vector<std::uint32_t> labels;  // of each image, below `classes`
  std::uint64_t planes = 1;           // c
};

struct ImageTask {
  Images training, test;  // of the same width and height
  std::string name;       // "Fashion-MNIST"
  std::string checksum;   // of all decompressed bytes that were read, 16 hexadecimal digits
};

/// Means over squares of factor x factor pixels. Throws a UsageError that names --pool unless the
/// factor divides w and h.
Images pooled(const Images& images, std::uint64_t factor);

/// Moments of all pixels of all images; the deviation uses 1 / n. NaN if there are no pixels.
struct PixelMoments {
  double mean = 0, deviation = 0;
};
PixelMoments pixel_moments(const Images& images);

/// x -> (x - mean) / deviation in both parts, with the moments of the training part. Throws Failure
/// if its pixels are all equal.
void standardize(ImageTask& task);

/// Throws UsageError that names --patch unless p divides w and h.
void require_patch(const Images& images, std::uint64_t patch);

/// (c p^2, B (w/p) (h/p)): one patch per column, for the images with the given indices. Requires
/// require_patch(). With p = 1 a column is a pixel.
template <class T>
arma::Mat<T> patch_tokens(const Images& images, std::uint64_t patch,
                          std::span<const std::uint32_t> which);

}  // namespace ranklab
