// Readers of three sets of labeled images, gzipped or not: IDX (MNIST and its successors),
// scikit-learn's digits, CIFAR-10.
//
// Readers are strict: they check whole files against their headers or record sizes, also beyond the
// requested images. They throw a Failure that names the file and the problem in one line, or a
// UsageError that names --train-size or --test-size if a part has fewer images. Pixels keep the
// range of the file.
#pragma once

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace ranklab {

/// Installed by Debian's package dataset-fashion-mnist.
inline constexpr char fashion_mnist_folder[] = "/usr/share/datasets/fashion-mnist";

/// The first images and labels of <train|t10k>-<images-idx3|labels-idx1>-ubyte[.gz]; gray values 0
/// to 255, labels 0 to 9. An empty `folder` means that of Fashion-MNIST; if it is missing, the
/// Failure names its package.
ImageTask read_fashion_mnist(const std::string& folder, std::uint64_t train_size,
                             std::uint64_t test_size);

/// Comma-separated lines of 64 gray values from 0 to 16, row by row, and a label from 0 to 9, as in
/// scikit-learn's digits.csv.gz. The order is shuffled with a fixed seed; four fifths are for
/// training: 1437 of the 1797.
ImageTask read_digits(const std::string& path);

/// The first images of data_batch_1.bin to data_batch_5.bin, and of test_batch.bin. A file holds
/// any number of records of a label and 32 x 32 red, green and blue values. Pixels are in color, or
/// gray = 0.2989 R + 0.5870 G + 0.1140 B, not rounded.
ImageTask read_cifar(const std::string& folder, std::uint64_t train_size, std::uint64_t test_size,
                     bool colors = false);

}  // namespace ranklab
