#include "data/images.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/divisors.hpp"
#include "core/error.hpp"

namespace ranklab {
namespace {

void require_divisor(const std::string& flag, std::uint64_t side, const Images& images) {
  if (side > 0 && images.width % side == 0 && images.height % side == 0) return;
  throw Misfit("--" + flag + " " + std::to_string(side) +
                   " is not allowed; allowed: divisors of the image size " +
                   std::to_string(images.width) + " x " + std::to_string(images.height) + " pixels",
               flag,
               std::to_string(largest_divisor(std::gcd(images.width, images.height),
                                              std::max<std::uint64_t>(side, 1))),
               {"idx", "digits", "cifar", "pool", "task"});
}

}  // namespace

Images pooled(const Images& images, std::uint64_t factor) {
  require_divisor("pool", factor, images);
  Images out{images.width / factor, images.height / factor, images.classes, {},
             images.labels,         images.planes};
  out.pixels.reserve(images.pixels.size() / (factor * factor));
  const float area = static_cast<float>(factor * factor);
  // The stacked planes form one tall image. A strip is `factor` rows of it.
  for (std::uint64_t strip = 0; strip < images.pixels.size(); strip += factor * images.width) {
    for (std::uint64_t left = 0; left < images.width; left += factor) {
      float sum = 0;
      for (std::uint64_t y = 0; y < factor; ++y) {
        for (std::uint64_t x = 0; x < factor; ++x)
          sum += images.pixels[strip + y * images.width + left + x];
      }
      out.pixels.push_back(sum / area);
    }
  }
  return out;
}

PixelMoments pixel_moments(const Images& images) {
  const double n = static_cast<double>(images.pixels.size());
  double sum = 0, squares = 0;
  for (const float pixel : images.pixels) sum += static_cast<double>(pixel);
  const double mean = sum / n;
  for (const float pixel : images.pixels)
    squares += (static_cast<double>(pixel) - mean) * (static_cast<double>(pixel) - mean);
  return {mean, std::sqrt(squares / n)};
}

void standardize(ImageTask& task) {
  const PixelMoments moments = pixel_moments(task.training);
  if (!(moments.deviation > 0))
    throw Failure(task.name + ": the pixels of the training images are all equal");
  for (Images* images : {&task.training, &task.test}) {
    for (float& pixel : images->pixels) {
      pixel = static_cast<float>((static_cast<double>(pixel) - moments.mean) / moments.deviation);
    }
  }
}

void require_patch(const Images& images, std::uint64_t patch) {
  require_divisor("patch", patch, images);
}

template <class T>
arma::Mat<T> patch_tokens(const Images& images, std::uint64_t patch,
                          std::span<const std::uint32_t> which) {
  const std::uint64_t w = images.width, h = images.height, planes = images.planes;
  arma::Mat<T> X(planes * patch * patch, which.size() * (w / patch) * (h / patch));
  T* out = X.memptr();
  for (const std::uint32_t image : which) {
    const float* const pixels = images.pixels.data() + image * planes * w * h;
    for (std::uint64_t top = 0; top < h; top += patch) {
      for (std::uint64_t left = 0; left < w; left += patch) {
        for (std::uint64_t plane = 0; plane < planes; ++plane) {
          for (std::uint64_t y = top; y < top + patch; ++y)
            out = std::copy_n(pixels + (plane * h + y) * w + left, patch, out);
        }
      }
    }
  }
  return X;
}

template arma::Mat<float> patch_tokens(const Images&, std::uint64_t,
                                       std::span<const std::uint32_t>);
template arma::Mat<double> patch_tokens(const Images&, std::uint64_t,
                                        std::span<const std::uint32_t>);

}  // namespace ranklab
