#include "data/image_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string_view>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "data/without_replacement.hpp"
#include "io/gzip.hpp"

namespace ranklab {
namespace {

// Per file. The largest successor of MNIST has half as many.
constexpr std::uint32_t max_bytes = std::uint32_t{1} << 30;
constexpr std::uint64_t largest_label = 9;

std::string inside(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void require_images(const std::string& flag, std::uint64_t asked, const std::string& label,
                    std::uint64_t found) {
  if (asked <= found) return;
  throw Misfit("--" + flag + " " + std::to_string(asked) + " is not allowed: " + label + " has " +
                   plural(found, "image"),
               flag, std::to_string(found), {"idx", "cifar"});
}

[[noreturn]] void refuse_label(const std::string& where, std::uint64_t label) {
  throw Failure(where + ": label " + std::to_string(label) + " is not allowed; allowed: 0 to " +
                std::to_string(largest_label));
}

std::uint64_t byte_at(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// IDX ---------------------------------------------------------------------------------------------

/// An array of bytes in up to three dimensions, in row-major order.
struct Idx {
  std::string label;  // the path as shown in messages
  std::string bytes;
  std::vector<std::uint64_t> sizes;

  std::size_t begin() const { return 4 + 4 * sizes.size(); }
};

std::string idx_path(const std::string& folder, const std::string& name) {
  for (const char* const suffix : {".gz", ""}) {
    if (std::string path = inside(folder, name + suffix); exists(path)) return path;
  }
  if (folder == fashion_mnist_folder) {
    throw Failure(
        "the default images are Fashion-MNIST: install Debian's package dataset-fashion-mnist "
        "(`make deps` does), or give "
        "--idx DIR");
  }
  throw Failure("--idx: " + printable(folder) + " has no file " + name + ".gz");
}

Idx read_idx(const std::string& folder, const std::string& name, std::size_t dimensions) {
  const std::string path = idx_path(folder, name);
  Idx idx{printable(path), read_unpacked(path, max_bytes), std::vector<std::uint64_t>(dimensions)};
  const auto big_endian = [&](std::size_t at) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | byte_at(idx.bytes, at + i);
    return number;
  };
  if (idx.bytes.size() < idx.begin() || big_endian(0) != 0x800 + dimensions) {
    throw Failure(idx.label + ": not an IDX file of bytes in " + plural(dimensions, "dimension") +
                  "; such a file begins with 00 00 08 0" + std::to_string(dimensions) + " and " +
                  plural(dimensions, "size"));
  }
  std::uint64_t entries = 1;
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.sizes[i] = big_endian(4 + 4 * i);
    entries = std::min<std::uint64_t>(entries * idx.sizes[i],
                                      std::uint64_t{max_bytes} + 1);  // 32 bits each: no overflow
    sizes.push_back(std::to_string(idx.sizes[i]));
  }
  if (entries == 0 || entries != idx.bytes.size() - idx.begin()) {
    throw Failure(idx.label + ": the header says " + joined(sizes, " x ") + " bytes; " +
                  std::to_string(idx.bytes.size() - idx.begin()) + " follow");
  }
  return idx;
}

Images read_idx_part(const std::string& folder, const std::string& part, const std::string& flag,
                     std::uint64_t count, std::uint64_t& hash) {
  const Idx labels = read_idx(folder, part + "-labels-idx1-ubyte", 1),
            images = read_idx(folder, part + "-images-idx3-ubyte", 3);
  const std::uint64_t found = images.sizes[0];
  if (labels.sizes[0] != found) {
    throw Failure(images.label + " has " + plural(found, "image") + ", " + labels.label + " has " +
                  plural(labels.sizes[0], "label"));
  }
  for (std::uint64_t i = 0; i < found; ++i) {
    const std::uint64_t label = byte_at(labels.bytes, labels.begin() + i);
    if (label > largest_label)
      refuse_label(labels.label + ": image " + std::to_string(i + 1), label);
  }
  require_images(flag, count, images.label, found);
  hash = fnv1a(labels.bytes, fnv1a(images.bytes, hash));
  Images out{.width = images.sizes[2], .height = images.sizes[1], .pixels = {}, .labels = {}};
  const auto bytes_of = [](const Idx& idx) {
    return reinterpret_cast<const unsigned char*>(idx.bytes.data()) + idx.begin();
  };
  out.pixels.assign(bytes_of(images), bytes_of(images) + count * out.width * out.height);
  out.labels.assign(bytes_of(labels), bytes_of(labels) + count);
  return out;
}

// Digits ------------------------------------------------------------------------------------------

constexpr std::uint64_t digit_side = 8, digit_pixels = digit_side * digit_side;

/// `where` names the file and the line.
void add_digit(std::string_view line, const std::string& where, Images& digits) {
  const auto fields = static_cast<std::uint64_t>(std::count(line.begin(), line.end(), ',')) + 1;
  if (fields != digit_pixels + 1) {
    throw Failure(where + " has " + plural(fields, "value") + "; a digit has " +
                  std::to_string(digit_pixels) + " pixels and a label");
  }
  for (std::uint64_t i = 0; i < fields; ++i) {
    const std::string_view field = line.substr(0, line.find(','));
    const std::uint32_t largest = i < digit_pixels ? 16 : largest_label;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || end != field.data() + field.size() || number > largest) {
      throw Failure(where + ", value " + std::to_string(i + 1) + ": '" +
                    printable_key(std::string(field)) + "' is not an integer from 0 to " +
                    std::to_string(largest));
    }
    if (i < digit_pixels) digits.pixels.push_back(static_cast<float>(number));
    if (i == digit_pixels) digits.labels.push_back(number);
    line.remove_prefix(std::min(field.size() + 1, line.size()));
  }
}

Images chosen(const Images& images, std::span<const std::uint32_t> which) {
  const std::uint64_t area = images.width * images.height;
  Images out{images.width, images.height, images.classes, {}, {}};
  for (const std::uint32_t i : which) {
    const auto first = images.pixels.begin() + static_cast<std::ptrdiff_t>(i * area);
    out.pixels.insert(out.pixels.end(), first, first + static_cast<std::ptrdiff_t>(area));
    out.labels.push_back(images.labels[i]);
  }
  return out;
}

// CIFAR-10 ----------------------------------------------------------------------------------------

constexpr std::uint64_t cifar_side = 32, cifar_pixels = cifar_side * cifar_side,
                        cifar_bytes = 1 + 3 * cifar_pixels;

void add_cifar(const std::string& bytes, std::size_t at, Images& images) {
  const auto* const red = reinterpret_cast<const unsigned char*>(bytes.data()) + at + 1;
  const auto *const green = red + cifar_pixels, *const blue = green + cifar_pixels;
  images.labels.push_back(static_cast<std::uint32_t>(byte_at(bytes, at)));
  if (images.planes > 1) {
    images.pixels.insert(images.pixels.end(), red, red + 3 * cifar_pixels);
    return;
  }
  for (std::uint64_t i = 0; i < cifar_pixels; ++i) {
    images.pixels.push_back(
        static_cast<float>(0.2989 * red[i] + 0.5870 * green[i] + 0.1140 * blue[i]));
  }
}

Images read_batches(const std::string& folder, const std::vector<std::string>& names,
                    const std::string& flag, std::uint64_t count, bool colors,
                    std::uint64_t& hash) {
  Images images{.width = cifar_side,
                .height = cifar_side,
                .pixels = {},
                .labels = {},
                .planes = colors ? 3u : 1u};
  std::uint64_t found = 0;
  for (const std::string& name : names) {
    const std::string path = inside(folder, name), label = printable(path);
    if (!exists(path)) {
      throw Failure("--cifar: " + printable(folder) + " has no file " + name +
                    "; it must be the folder cifar-10-batches-bin of the binary version");
    }
    const std::string bytes = read_unpacked(path, max_bytes);
    if (bytes.size() % cifar_bytes != 0) {
      throw Failure(label + ": " + std::to_string(bytes.size()) +
                    " bytes are not a multiple of the record size " + std::to_string(cifar_bytes));
    }
    for (std::size_t at = 0; at < bytes.size(); at += cifar_bytes, ++found) {
      if (byte_at(bytes, at) > largest_label) {
        refuse_label(label + ": record " + std::to_string(at / cifar_bytes + 1),
                     byte_at(bytes, at));
      }
      if (found < count) add_cifar(bytes, at, images);
    }
    hash = fnv1a(bytes, hash);
  }
  require_images(flag, count, printable(folder), found);
  return images;
}

constexpr std::uint64_t empty_hash = fnv1a("");

}  // namespace

ImageTask read_fashion_mnist(const std::string& folder, std::uint64_t train_size,
                             std::uint64_t test_size) {
  const std::string from = folder.empty() ? fashion_mnist_folder : folder;
  std::uint64_t hash = empty_hash;
  ImageTask task;
  task.training = read_idx_part(from, "train", "train-size", train_size, hash);
  task.test = read_idx_part(from, "t10k", "test-size", test_size, hash);
  if (task.training.width != task.test.width || task.training.height != task.test.height) {
    const auto size = [](const Images& of) {
      return std::to_string(of.width) + " x " + std::to_string(of.height);
    };
    throw Failure(printable(from) + ": training images of " + size(task.training) +
                  " pixels, test images of " + size(task.test));
  }
  task.name = from == fashion_mnist_folder ? "Fashion-MNIST" : printable(from);
  task.checksum = hexadecimal(hash);
  return task;
}

ImageTask read_digits(const std::string& path) {
  const std::string text = read_unpacked(path, max_bytes), label = printable(path);
  Images digits{.width = digit_side, .height = digit_side, .pixels = {}, .labels = {}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    add_digit(line, label + ": line " + std::to_string(digits.labels.size() + 1), digits);
  }
  const std::size_t count = digits.labels.size(), training = count * 4 / 5;
  if (training == 0)
    throw Failure(label + " has " + plural(count, "digit") +
                  "; at least 2 are needed, for training and test");
  // A separate stream with a fixed seed, so that the parts are the same in every run.
  std::vector<double> uniforms(count);
  Stream(0, 0, "digits").fill_uniform(uniforms);
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  draw_without_replacement(order, uniforms);
  const std::span<const std::uint32_t> all(order);
  return {chosen(digits, all.first(training)), chosen(digits, all.subspan(training)),
          "scikit-learn's digits", hexadecimal(fnv1a(text))};
}

ImageTask read_cifar(const std::string& folder, std::uint64_t train_size, std::uint64_t test_size,
                     bool colors) {
  std::vector<std::string> batches;
  for (int i = 1; i <= 5; ++i) batches.push_back("data_batch_" + std::to_string(i) + ".bin");
  std::uint64_t hash = empty_hash;
  ImageTask task{.training = {}, .test = {}, .name = "CIFAR-10", .checksum = {}};
  task.training = read_batches(folder, batches, "train-size", train_size, colors, hash);
  task.test = read_batches(folder, {"test_batch.bin"}, "test-size", test_size, colors, hash);
  task.checksum = hexadecimal(hash);
  return task;
}

}  // namespace ranklab
