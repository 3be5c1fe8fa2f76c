#include "tiny_checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>

#include "io/tensors/safetensors_writer.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "nn/blocks/model_row.hpp"

using namespace ranklab;

namespace {

using Storage = TinyTensor::Storage;
using Shape = std::vector<std::uint64_t>;

std::uint64_t product(const Shape& shape) {
  std::uint64_t elements = 1;
  for (const std::uint64_t size : shape) elements *= size;
  return elements;
}

struct FloatFormat {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

FloatFormat format_of(Dtype dtype) {
  if (dtype == Dtype::f64) return {11, 52};
  if (dtype == Dtype::f32) return {8, 23};
  if (dtype == Dtype::f16) return {5, 10};
  return {8, 7};
}

// The parts of a number in this format: sign, biased exponent, fraction.
std::uint64_t float_bits(double x, const FloatFormat& format) {
  const std::uint64_t sign =
      std::signbit(x) ? std::uint64_t{1} << (format.exponent_bits + format.fraction_bits) : 0;
  const int exponent = x == 0 ? -format.bias() : std::max(std::ilogb(x), -format.bias());
  if (exponent > format.bias()) throw std::logic_error("tiny checkpoint: beyond the type's range");
  const bool subnormal = exponent <= -format.bias();
  const double unit =
      std::ldexp(1.0, (subnormal ? 1 - format.bias() : exponent) - format.fraction_bits);
  const auto significand = static_cast<std::uint64_t>(std::fabs(x) / unit);
  if (subnormal) return sign | significand;
  const std::uint64_t leading = std::uint64_t{1} << format.fraction_bits;
  return sign | (static_cast<std::uint64_t>(exponent + format.bias()) << format.fraction_bits) |
         (significand - leading);
}

void append_entry(std::string& bytes, double x, Dtype dtype) {
  const std::uint64_t bits =
      is_floating(dtype) ? float_bits(x, format_of(dtype)) : static_cast<std::uint64_t>(x);
  for (std::uint64_t byte = 0; byte < dtype_bytes(dtype); ++byte)
    bytes += static_cast<char>((bits >> (8 * byte)) & 0xFF);
}

std::vector<double> drawn_entries(const TinyTensor& tensor, std::uint64_t count) {
  std::seed_seq seed(tensor.key.begin(), tensor.key.end());
  std::mt19937_64 bits(seed);
  std::vector<double> entries(count);
  for (double& entry : entries) {
    const double unit = std::ldexp(static_cast<double>(bits() >> 11), -52) - 1;  // -1 to 1
    entry = rounded(
        is_floating(tensor.dtype) ? tensor.center + tensor.spread * unit : std::fabs(unit) + 0.5,
        tensor.dtype);
  }
  return entries;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* digits = "0123456789abcdef";
      out += std::string("\\u00") + digits[c / 16] + digits[c % 16];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Does not use the program's writer, which waits for the disk, as a test writes hundreds of files.
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("tiny checkpoint: cannot write " + path);
}

void write_file(const std::string& path, const std::vector<TinyTensor>& tensors) {
  std::string header, data;
  for (const TinyTensor& tensor : tensors) {
    std::string shape;
    for (const std::uint64_t size : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header.empty() ? "{" : ",") + json_string(tensor.key) + R"(:{"dtype":")" +
              dtype_name(tensor.dtype) + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
              std::to_string(data.size()) + ",";
    for (const double entry : tensor.entries) append_entry(data, entry, tensor.dtype);
    header += std::to_string(data.size()) + "]}";
  }
  write_bytes(path, safetensors(header.empty() ? "{}" : header + "}", data));
}

// The position of entry `i` of the file in the matrix that blocks request.
std::pair<arma::uword, arma::uword> place(const TinyTensor& tensor, std::uint64_t i) {
  const std::uint64_t last = tensor.shape.back();
  if (tensor.storage == Storage::vector) return {i, 0};
  if (tensor.storage == Storage::in_out) return {i / last, i % last};
  return {i % last, i / last};  // (out, in), (channels, 1, taps), (ids, width)
}

}  // namespace

double rounded(double x, Dtype dtype) {
  if (!is_floating(dtype)) return std::trunc(x);
  const FloatFormat format = format_of(dtype);
  if (x == 0) return x;
  const double unit =
      std::ldexp(1.0, std::max(std::ilogb(x), 1 - format.bias()) - format.fraction_bits);
  return std::nearbyint(x / unit) * unit;
}

arma::mat TinyTensor::expected() const {
  const auto [row, col] = place(*this, entries.size() - 1);
  arma::mat W(row + 1, col + 1);
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    const auto [r, c] = place(*this, i);
    W(r, c) = entries[i];
  }
  return W;
}

void TinyTensor::set(const arma::mat& W) {
  if (W.n_elem != entries.size())
    throw std::logic_error("tiny checkpoint: " + key + " has other entries");
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    const auto [r, c] = place(*this, i);
    entries[i] = rounded(W(r, c), dtype);
  }
}

TinyCheckpoint::TinyCheckpoint(const std::string& model, const Spelling& spelling, Dtype dtype,
                               const TinySizes& sizes)
    : tensors_(tiny_layout(model, spelling, sizes)) {
  for (TinyTensor& tensor : tensors_) {
    if (tensor.storage != Storage::not_read) tensor.dtype = dtype;
    tensor.entries = drawn_entries(tensor, product(tensor.shape));
  }
}

TinyTensor& TinyCheckpoint::at(const std::string& key) {
  for (TinyTensor& tensor : tensors_) {
    if (tensor.key == key) return tensor;
  }
  throw std::out_of_range(key);
}

TinyTensor& TinyCheckpoint::named(const std::string& name) {
  for (TinyTensor& tensor : tensors_) {
    if (tensor.name == name) return tensor;
  }
  throw std::out_of_range(name);
}

void TinyCheckpoint::remove(const std::string& key) {
  at(key);
  std::erase_if(tensors_, [&](const TinyTensor& tensor) { return tensor.key == key; });
}

void TinyCheckpoint::add(const std::string& key, const Shape& shape, Dtype dtype) {
  TinyTensor tensor{key, "", shape};
  tensor.dtype = dtype;
  tensor.entries = drawn_entries(tensor, product(shape));
  tensors_.push_back(tensor);
}

void TinyCheckpoint::reshape(const std::string& key, const Shape& shape) {
  at(key).shape = shape;
  at(key).entries = drawn_entries(at(key), product(shape));
}

void TinyCheckpoint::retype(const std::string& key, Dtype dtype) {
  at(key).dtype = dtype;
  for (double& entry : at(key).entries) entry = rounded(entry, dtype);
}

void TinyCheckpoint::write(const std::string& path) const {
  write_file(path, tensors_);
}

void TinyCheckpoint::write_shards(const std::string& path, std::size_t count) const {
  const std::string ending = ".safetensors.index.json",
                    stem = path.substr(0, path.size() - ending.size());
  std::string map;
  for (std::size_t shard = 0; shard < count; ++shard) {
    std::vector<TinyTensor> of_shard;
    for (std::size_t i = shard; i < tensors_.size(); i += count) of_shard.push_back(tensors_[i]);
    const std::string name = stem + "-0000" + std::to_string(shard + 1) + "-of-0000" +
                             std::to_string(count) + ".safetensors";
    write_file(name, of_shard);
    for (const TinyTensor& tensor : of_shard) {
      map += (map.empty() ? "" : ",\n    ") + json_string(tensor.key) + ": " +
             json_string(name.substr(name.rfind('/') + 1));
    }
  }
  write_bytes(path, "{\n  \"metadata\": {},\n  \"weight_map\": {\n    " + map + "\n  }\n}\n");
}

void write_synthetic_mamba2(const std::string& path, const TinySizes& sizes, Dtype dtype) {
  std::vector<TensorToWrite> out;
  for (TinyTensor& tensor : tiny_layout("mamba2", {}, sizes)) {
    tensor.dtype = dtype;
    const std::uint64_t bytes = product(tensor.shape) * dtype_bytes(dtype);
    std::string some;
    for (const double entry :
         drawn_entries(tensor, std::min<std::uint64_t>(product(tensor.shape), 4099)))
      append_entry(some, entry, dtype);
    TensorToWrite written{tensor.key, dtype, tensor.shape, {}};
    written.bytes.reserve(bytes + some.size());
    while (written.bytes.size() < bytes) written.bytes += some;
    written.bytes.resize(bytes);
    out.push_back(std::move(written));
  }
  write_safetensors(path, out);
}

ModelSpec tiny_spec(const std::string& model, const TinySizes& sizes, std::uint64_t tokens) {
  ModelSpec spec;
  spec.model = model;
  spec.layers = sizes.layers;
  spec.dim = sizes.dim;
  spec.tokens = tokens;
  spec.heads = sizes.heads;
  spec.ffn = sizes.ffn;
  spec.state = sizes.state;
  spec.embedding = sizes.embedding;
  spec.vocabulary = sizes.vocabulary;
  spec.positions = sizes.positions;
  resolve_defaults(spec);
  return spec;
}
