#include "data/image_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "io/atomic_file.hpp"
#include "io/gzip_file.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "temporary_folder.hpp"

namespace image_files_test {

using namespace ranklab;

namespace {

/// The error message of the call without the folder's name.
template <class Call>
std::string complaint(const TemporaryFolder& folder, const Call& call) {
  std::string message;
  try {
    call();
  } catch (const UsageError& error) {
    message = error.what();
  } catch (const Failure& error) {
    message = error.what();
  }
  for (std::size_t at; (at = message.find(folder.path())) != std::string::npos;)
    message.replace(at, folder.path().size(), "DIR");
  return message;
}

// IDX ---------------------------------------------------------------------------------------------

std::string idx(const std::vector<std::uint64_t>& sizes, const std::string& entries) {
  std::string bytes = big(0x800 + sizes.size(), 4);
  for (const std::uint64_t size : sizes) bytes += big(size, 4);
  return bytes + entries;
}

/// Bytes start, start + 1, ... modulo 256.
std::string counting(std::size_t count, std::size_t start = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>((start + i) & 0xFF);
  return bytes;
}

/// Three training and two test images, 4 wide and 2 high.
const std::map<std::string, std::string>& idx_files() {
  static const std::map<std::string, std::string> files = {
      {"train-images-idx3-ubyte", idx({3, 2, 4}, counting(24, 240))},
      {"train-labels-idx1-ubyte", idx({3}, {9, 0, 3})},
      {"t10k-images-idx3-ubyte", idx({2, 2, 4}, counting(16, 100))},
      {"t10k-labels-idx1-ubyte", idx({2}, {1, 2})},
  };
  return files;
}

/// The error message of reading if one of the files has other bytes.
std::string idx_complaint(const std::string& name, const std::string& bytes,
                          std::uint64_t train = 3, std::uint64_t test = 2) {
  const TemporaryFolder folder;
  auto files = idx_files();
  files[name] = bytes;
  for (const auto& [file, content] : files) write_file_atomically(folder / file, content);
  return complaint(folder, [&] { read_fashion_mnist(folder.path(), train, test); });
}

// Digits ------------------------------------------------------------------------------------------

/// Line i of synthetic digits; its pixels encode i.
std::string digit_line(std::size_t i) {
  std::string line = std::to_string(i % 17) + "," + std::to_string(i / 17 % 17) + "," +
                     std::to_string(i / 289 % 17);
  for (std::size_t pixel = 3; pixel < 64; ++pixel) line += "," + std::to_string((i + pixel) % 17);
  return line + "," + std::to_string(i % 10) + "\n";
}

std::string digits_complaint(const std::string& text) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "digits.csv", text);
  return complaint(folder, [&] { read_digits(folder / "digits.csv"); });
}

// CIFAR-10 ----------------------------------------------------------------------------------------

std::string cifar_record(std::size_t i) {
  return std::string(1, static_cast<char>(i % 10)) + counting(1024, i) +
         counting(1024, 3 * i + 50) + counting(1024, 7 * i + 5);
}

void write_cifar(const TemporaryFolder& folder) {
  for (std::size_t file = 1; file <= 5; ++file) {
    write_file_atomically(folder / ("data_batch_" + std::to_string(file) + ".bin"),
                          cifar_record(2 * file) + cifar_record(2 * file + 1));
  }
  write_file_atomically(folder / "test_batch.bin",
                        cifar_record(20) + cifar_record(21) + cifar_record(22));
}

double gray(std::size_t record, std::size_t pixel) {
  const auto byte = [&](std::size_t start) { return static_cast<double>((start + pixel) % 256); };
  return 0.2989 * byte(record) + 0.5870 * byte(3 * record + 50) + 0.1140 * byte(7 * record + 5);
}

}  // namespace

TEST_CASE("IDX files give the first images and labels, compressed or not") {
  for (const bool packed : {false, true}) {
    CAPTURE(packed);
    const TemporaryFolder folder;
    for (const auto& [name, bytes] : idx_files())
      write_file_atomically(folder / (name + (packed ? ".gz" : "")), packed ? gzip(bytes) : bytes);
    const ImageTask task = read_fashion_mnist(folder.path() + "/", 2, 2);
    CHECK(task.name == folder.path() + "/");
    for (const Images* images : {&task.training, &task.test}) {
      CHECK(images->width == 4);
      CHECK(images->height == 2);
      CHECK(images->classes == 10);
      REQUIRE(images->pixels.size() == 16);
    }
    CHECK(task.training.labels == std::vector<std::uint32_t>{9, 0});
    CHECK(task.test.labels == std::vector<std::uint32_t>{1, 2});
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(task.training.pixels[i] == static_cast<float>((240 + i) % 256));
      CHECK(task.test.pixels[i] == static_cast<float>(100 + i));
    }
    std::string all;
    for (const char* const name :
         {"train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"}) {
      all += idx_files().at(name + std::string("-ubyte"));
    }
    CHECK(task.checksum == hexadecimal(fnv1a(all)));
    CHECK(read_fashion_mnist(folder.path(), 1, 1).checksum == task.checksum);
  }
}

TEST_CASE("IDX files that are damaged or do not match are refused with a one-line message") {
  const std::string images = "train-images-idx3-ubyte", labels = "train-labels-idx1-ubyte";
  const std::string& intact = idx_files().at(images);
  CHECK(idx_complaint(images, intact).empty());
  const std::string no_images =
      "DIR/train-images-idx3-ubyte: not an IDX file of bytes in 3 dimensions; such a file begins "
      "with 00 "
      "00 08 03 and 3 sizes";
  CHECK(idx_complaint(images, idx({24}, counting(24))) == no_images);
  CHECK(idx_complaint(images, big(0x1803, 4) + intact.substr(4)) == no_images);
  CHECK(idx_complaint(images, intact.substr(0, 15)) == no_images);
  CHECK(idx_complaint(labels, intact) ==
        "DIR/train-labels-idx1-ubyte: not an IDX file of bytes in 1 dimension; such a file begins "
        "with "
        "00 00 08 01 and 1 size");
  CHECK(idx_complaint(images, intact + "x") ==
        "DIR/train-images-idx3-ubyte: the header says 3 x 2 x 4 bytes; 25 follow");
  CHECK(idx_complaint(images, intact.substr(0, 39)) ==
        "DIR/train-images-idx3-ubyte: the header says 3 x 2 x 4 bytes; 23 follow");
  CHECK(idx_complaint(images, idx({3, 0, 4}, "")) ==
        "DIR/train-images-idx3-ubyte: the header says 3 x 0 x 4 bytes; 0 follow");
  // 24 modulo 2^64.
  CHECK(idx_complaint(images, idx({1539092, 1484310, 48448661}, counting(24))) ==
        "DIR/train-images-idx3-ubyte: the header says 1539092 x 1484310 x 48448661 bytes; 24 "
        "follow");
  CHECK(idx_complaint(labels, idx({4}, {1, 2, 3, 4})) ==
        "DIR/train-images-idx3-ubyte has 3 images, DIR/train-labels-idx1-ubyte has 4 labels");
  CHECK(idx_complaint(labels, idx({3}, {1, 2, 10}), 1) ==
        "DIR/train-labels-idx1-ubyte: image 3: label 10 is not allowed; allowed: 0 to 9");
  CHECK(idx_complaint(images, idx({3, 4, 2}, counting(24))) ==
        "DIR: training images of 2 x 4 pixels, test images of 4 x 2");
  CHECK(idx_complaint(images, intact, 4) ==
        "--train-size 4 is not allowed: DIR/train-images-idx3-ubyte has 3 images");
  CHECK(idx_complaint(images, intact, 3, 3) ==
        "--test-size 3 is not allowed: DIR/t10k-images-idx3-ubyte has 2 images");
  CHECK(idx_complaint(images, gzip(intact).substr(0, 30)) ==
        "DIR/train-images-idx3-ubyte: damaged: the gzip stream is cut off");
  const TemporaryFolder empty;
  CHECK(complaint(empty, [&] { read_fashion_mnist(empty.path(), 1, 1); }) ==
        "--idx: DIR has no file train-labels-idx1-ubyte.gz");
}

TEST_CASE("Fashion-MNIST has the documented content, or the missing package is named") {
  if (!std::filesystem::exists(fashion_mnist_folder)) {
    MESSAGE("Debian's package dataset-fashion-mnist is not installed: its images are not tested");
    CHECK_THROWS_WITH_AS(read_fashion_mnist("", 1, 1),
                         doctest::Contains("install Debian's package dataset-fashion-mnist"),
                         Failure);
    return;
  }
  const ImageTask task = read_fashion_mnist("", 60000, 10000);
  CHECK(task.name == "Fashion-MNIST");
  CHECK(task.training.width == 28);
  CHECK(task.training.height == 28);
  CHECK(task.training.labels.front() == 9);  // an ankle boot
  CHECK(task.training.pixels.size() == 60000 * 784);
  CHECK(task.test.pixels.size() == 10000 * 784);
  for (std::uint32_t label = 0; label < 10; ++label) {
    CHECK(std::count(task.training.labels.begin(), task.training.labels.end(), label) == 6000);
    CHECK(std::count(task.test.labels.begin(), task.test.labels.end(), label) == 1000);
  }
  // The usual constants for standardization of pixels divided by 255, to four digits.
  const PixelMoments moments = pixel_moments(task.training);
  CHECK(std::fabs(moments.mean / 255 - 0.2860) <= 0.00005);
  CHECK(std::fabs(moments.deviation / 255 - 0.3530) <= 0.00005);
}

TEST_CASE(
    "digits are permuted by a fixed permutation, four fifths are for training, and all are used") {
  const TemporaryFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 1797; ++i) text += digit_line(i);
  write_file_atomically(folder / "digits.csv.gz", gzip(text));
  write_file_atomically(folder / "digits.csv", text);
  const ImageTask task = read_digits(folder / "digits.csv.gz"),
                  again = read_digits(folder / "digits.csv");
  CHECK(task.training.labels.size() == 1437);
  CHECK(task.test.labels.size() == 360);
  CHECK(task.training.pixels == again.training.pixels);
  CHECK(task.checksum == hexadecimal(fnv1a(text)));
  std::vector<std::size_t> found;
  for (const Images* images : {&task.training, &task.test}) {
    REQUIRE(images->width == 8);
    REQUIRE(images->height == 8);
    REQUIRE(images->pixels.size() == 64 * images->labels.size());
    for (std::size_t i = 0; i < images->labels.size(); ++i) {
      const auto value = [&](std::size_t pixel) {
        return static_cast<std::size_t>(images->pixels[64 * i + pixel]);
      };
      found.push_back(value(0) + 17 * value(1) + 289 * value(2));
      for (std::size_t pixel = 3; pixel < 64; ++pixel)
        CHECK(value(pixel) == (found.back() + pixel) % 17);
      CHECK(images->labels[i] == found.back() % 10);
    }
  }
  // In a random order, about half of the steps go down, with variance (n + 1) / 12.
  double descents = 0;
  for (std::size_t i = 1; i < found.size(); ++i) descents += found[i] < found[i - 1] ? 1 : 0;
  CHECK(std::fabs(descents - 898) <= tolerance::standard_errors * std::sqrt(1798.0 / 12));
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == i);
}

TEST_CASE("invalid digits are refused with their line") {
  const std::string good = digit_line(0) + digit_line(1);
  CHECK(digits_complaint(good).empty());
  CHECK(digits_complaint(digit_line(0)) ==
        "DIR/digits.csv has 1 digit; at least 2 are needed, for training and test");
  CHECK(digits_complaint(good + "\n") ==
        "DIR/digits.csv: line 3 has 1 value; a digit has 64 pixels and a label");
  CHECK(digits_complaint(good + "0," + digit_line(2)) ==
        "DIR/digits.csv: line 3 has 66 values; a digit has 64 pixels and a label");
  for (const std::string bad : {"17", "-1", "", " 1", "1.0", "x", "99999999999"}) {
    CHECK(digits_complaint(digit_line(0) + bad + digit_line(17).substr(1)) ==
          "DIR/digits.csv: line 2, value 1: '" + bad + "' is not an integer from 0 to 16");
  }
  std::string label = digit_line(3);
  label.replace(label.size() - 2, 1, "10");
  CHECK(digits_complaint(good + label) ==
        "DIR/digits.csv: line 3, value 65: '10' is not an integer from 0 to 9");
  CHECK(digits_complaint(gzip(good) + "x") ==
        "DIR/digits.csv: damaged: bytes follow the gzip stream");
  const TemporaryFolder folder;
  CHECK(complaint(folder, [&] { read_digits(folder / "none"); }) ==
        "cannot read DIR/none: No such file or directory");
}

TEST_CASE("scikit-learn's digits have the classes that it documents") {
  const std::string path = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";
  if (!std::filesystem::exists(path)) {
    MESSAGE("Debian's package python3-sklearn is not installed: its digits are not tested");
    return;
  }
  const ImageTask task = read_digits(path);
  std::vector<int> counts(10, 0);
  for (const Images* images : {&task.training, &task.test}) {
    for (const std::uint32_t label : images->labels) ++counts.at(label);
  }
  CHECK(counts == std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("CIFAR-10 is read in gray, file by file") {
  const TemporaryFolder folder;
  write_cifar(folder);
  const ImageTask task = read_cifar(folder.path(), 7, 2);
  CHECK(task.name == "CIFAR-10");
  CHECK(task.checksum.size() == 16);
  for (const auto& [images, first, count] :
       {std::tuple{&task.training, 2, 7}, {&task.test, 20, 2}}) {
    CHECK(images->width == 32);
    CHECK(images->height == 32);
    REQUIRE(images->labels.size() == static_cast<std::size_t>(count));
    REQUIRE(images->pixels.size() == 1024 * images->labels.size());
    for (std::size_t i = 0; i < images->labels.size(); ++i) {
      const std::size_t record = static_cast<std::size_t>(first) + i;
      CHECK(images->labels[i] == record % 10);
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        CHECK(std::fabs(static_cast<double>(images->pixels[1024 * i + pixel]) -
                        gray(record, pixel)) <= 255 * tolerance::epsilon<float>);
      }
    }
  }
}

TEST_CASE("CIFAR-10 in color has the planes of its records") {
  const TemporaryFolder folder;
  write_cifar(folder);
  const Images images = read_cifar(folder.path(), 3, 1, true).training;
  CHECK(images.planes == 3);
  REQUIRE(images.pixels.size() == 3 * 3072);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string record = cifar_record(2 + i);
    for (std::size_t at = 0; at < 3072; ++at) {
      CHECK(images.pixels[3072 * i + at] ==
            static_cast<float>(static_cast<unsigned char>(record[1 + at])));
    }
  }
}

TEST_CASE("damaged CIFAR-10 files are refused with a one-line message") {
  const TemporaryFolder folder;
  const auto read = [&](std::uint64_t train, std::uint64_t test) {
    return complaint(folder, [&] { read_cifar(folder.path(), train, test); });
  };
  CHECK(read(1, 1) ==
        "--cifar: DIR has no file data_batch_1.bin; it must be the folder cifar-10-batches-bin of "
        "the binary version");
  write_cifar(folder);
  CHECK(read(10, 3).empty());
  CHECK(read(11, 3) == "--train-size 11 is not allowed: DIR has 10 images");
  CHECK(read(10, 4) == "--test-size 4 is not allowed: DIR has 3 images");
  // Also after the requested images.
  write_file_atomically(folder / "data_batch_4.bin", cifar_record(1) + "x");
  CHECK(read(1, 1) ==
        "DIR/data_batch_4.bin: 3074 bytes are not a multiple of the record size 3073");
  write_file_atomically(folder / "data_batch_4.bin",
                        cifar_record(1) + "\x0a" + cifar_record(2).substr(1));
  CHECK(read(1, 1) == "DIR/data_batch_4.bin: record 2: label 10 is not allowed; allowed: 0 to 9");
}

}  // namespace image_files_test
