// The files of three sets of labelled images, each packed by gzip or not: IDX (MNIST and its kin), scikit-learn's digits, CIFAR-10.
//
// Readers are strict: whole files are held against their headers or records, also beyond the images that are asked for. They throw
// Failure, on one line, that names the file and what is wrong there, and UsageError that names --train-size or --test-size where a
// part has fewer images than that. Pixels keep the range of the file.
#pragma once

#include <cstdint>
#include <string>

#include "training/tasks/images.hpp"

namespace ranklab {

/// Of Debian's package dataset-fashion-mnist.
inline constexpr char fashion_mnist_folder[] = "/usr/share/datasets/fashion-mnist";

/// The first images and labels of <train|t10k>-<images-idx3|labels-idx1>-ubyte[.gz]; grey 0 to 255, labels 0 to 9. An empty
/// `folder` is that of Fashion-MNIST; the Failure names its package where it is missing.
ImageTask read_fashion_mnist(const std::string& folder, std::uint64_t train_size, std::uint64_t test_size);

/// Lines of 64 greys from 0 to 16, row by row, and a label from 0 to 9, by commas, as scikit-learn's digits.csv.gz has them. In an
/// order drawn once for all, four fifths are for training: 1437 of the 1797.
ImageTask read_digits(const std::string& path);

/// The first images of data_batch_1.bin to data_batch_5.bin, and of test_batch.bin: records of a label and 32 x 32 reds, greens and
/// blues, any number of them; in colours, or grey = 0.2989 R + 0.5870 G + 0.1140 B, not rounded.
ImageTask read_cifar(const std::string& folder, std::uint64_t train_size, std::uint64_t test_size, bool colours = false);

}  // namespace ranklab
