// The matrices of weights in an archive or in shards, and a reason for every other tensor.
//
// Quantized weights are read where their scale is next to them; the stored number q stands for
//   q * SCB / 127     LLM.int8 of bitsandbytes: SCB holds the largest modulus of each row
//   q * weight_scale  compressed-tensors, FBGEMM, ModelOpt: one for the tensor, or one for each row
//   q * weight_scale_inv  DeepSeek-V3 and the FP8 models of transformers: one for each block of
//                     128 x 128. The name is that of the inverse of the factor that quantized.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "io/tensors/weights_file.hpp"

namespace ranklab::ranks {
namespace {

namespace fs = std::filesystem;

std::string without(const std::string& text, std::string_view ending) {
  return text.substr(0, text.size() - ending.size());
}

// The number of shards that "model-00001-of-00003.safetensors" says; 0: the name says none.
std::size_t shards_named_by(const std::string& file) {
  const std::string stem = without(file, ".safetensors");
  const std::size_t at = stem.rfind("-of-");
  if (at == std::string::npos || at < 5) return 0;
  std::size_t count = 0;
  const char* const end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(stem.data() + at + 4, end, count);
  return error == std::errc() && stop == end && count <= 99'999 ? count : 0;
}

std::vector<TensorFile> shards_in(const std::string& folder) {
  std::set<std::string> files, indices;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") && !is_recording(entry.path().string())) files.insert(name);
    if (name.ends_with(".safetensors.index.json")) indices.insert(name);
  }
  if (error) throw Failure(printable(folder) + ": " + error.message());
  if (indices.size() == 1)
    return WeightsFile::open((fs::path(folder) / *indices.begin()).string()).shards();
  if (files.empty()) throw Failure(printable(folder) + ": the folder has no .safetensors file");
  for (const std::string& name : files) {
    const std::size_t count = shards_named_by(name), at = name.rfind("-of-");
    for (std::size_t i = 1; i <= count; ++i) {
      const std::string number = std::to_string(i);
      std::string shard = name;
      shard.replace(at - 5, 5, std::string(5 - number.size(), '0') + number);
      if (!files.contains(shard))
        throw Failure(printable(folder) + ": the shard " + printable(shard) +
                      " is missing, although the name of " + printable(name) +
                      " says that there are " + std::to_string(count));
    }
  }
  std::vector<TensorFile> out;
  for (const std::string& name : files)
    out.push_back(TensorFile::open((fs::path(folder) / name).string()));
  return out;
}

std::vector<TensorFile> files_of(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return shards_in(path);
  if (path.ends_with(".json")) return WeightsFile::open(path).shards();
  return {TensorFile::open(path)};
}

// Endings of tensors that belong to a quantized one, whose name follows from theirs.
struct Companion {
  std::string_view ending, of;  // of: what replaces the ending
};
constexpr std::array<Companion, 18> companions = {{{".SCB", ".weight"},
                                                   {".weight_format", ".weight"},
                                                   {"_scale", ""},
                                                   {"_scale_inv", ""},
                                                   {"_scale_2", ""},
                                                   {"_zero_point", ""},
                                                   {"_scale", "_packed"},
                                                   {"_shape", "_packed"},
                                                   {"_zero_point", "_packed"},
                                                   {".scales", ".qweight"},
                                                   {".qzeros", ".qweight"},
                                                   {".g_idx", ".qweight"},
                                                   {".absmax", ""},
                                                   {".quant_map", ""},
                                                   {".nested_absmax", ""},
                                                   {".nested_quant_map", ""},
                                                   {".input_scale", ".weight"},
                                                   {".scale_weight", ".weight"}}};

class Archive {
 public:
  explicit Archive(const std::string& path) : files_(files_of(path)) {
    for (const TensorFile& file : files_) {
      for (const std::string& key : file.keys()) {
        order_.push_back(key);
        const auto [place, is_new] = files_by_key_.emplace(key, &file);
        if (!is_new)
          throw Failure("tensor '" + printable_key(key) + "' is in both " +
                        printable(place->second->path()) + " and " + printable(file.path()));
      }
    }
  }

  void add_to(Listing& out) const {
    for (const std::string& key : order_) {
      const std::string layer = has(layer_name(key)) ? key : layer_name(key);
      ListedPair pair{printable(layer), "", address(key)};
      std::string reason;
      try {
        reason = defect(key, pair.quantized);
      } catch (const Failure& failure) {  // a type that is not read
        reason = failure.what();
      }
      if (reason.empty()) {
        out.pairs.push_back(std::move(pair));
      } else {
        out.skipped.push_back({{printable(key), reason}});
      }
    }
  }

 private:
  bool has(const std::string& key) const { return files_by_key_.contains(key); }
  std::string address(const std::string& key) const {
    return files_by_key_.at(key)->path() + ":" + key;
  }

  // The quantized tensor that this one belongs to; empty: none.
  std::string quantized_tensor(const std::string& key) const {
    for (const Companion& one : companions) {
      if (!key.ends_with(one.ending)) continue;
      std::string of = without(key, one.ending) + std::string(one.of);
      if (is_quantized(of)) return of;
    }
    const std::string of = key.substr(0, std::min(key.rfind(".quant_state."), key.size()));
    return of != key && is_quantized(of) ? of : "";
  }

  bool is_quantized(const std::string& key) const {
    const auto file = files_by_key_.find(key);
    if (file == files_by_key_.end()) return false;
    try {
      return !is_floating(file->second->tensor(key).dtype());
    } catch (const Failure&) {  // another 8-bit or 4-bit type
      return true;
    }
  }

  // Why the tensor is no matrix of weights; empty if it may be one. Finds the scale of a quantized
  // one. What is no matrix at all is left out by the plan.
  std::string defect(const std::string& key, Dequantization& quantized) const {
    const std::string main = quantized_tensor(key);
    if (!main.empty()) return "belongs to the quantized " + printable_key(main);
    if (key.ends_with(".qweight"))
      return "its integers are packed (GPTQ, AWQ); dequantize it with the library that wrote it";
    if (has(key + ".absmax"))
      return "its integers are packed (4 bits, bitsandbytes); dequantize it with the library that "
             "wrote it";
    const StoredTensor tensor = files_by_key_.at(key)->tensor(key);
    if (tensor.elements() == 0) return "is empty: its shape is " + tensor.shape_text();
    if (tensor.dtype() == Dtype::boolean) return "its entries are true or false: a mask";
    if (tensor.dtype() == Dtype::i8 || is_float8(tensor.dtype()))
      return find_scale(key, tensor, quantized);
    if (!is_floating(tensor.dtype()))
      return "its entries are integers (" + dtype_name(tensor.dtype()) +
             "), not weights; convert it to floating point if it is a matrix of weights";
    return is_causal_mask(tensor) ? "is a causal mask: one value up to the diagonal, another above"
                                  : "";
  }

  std::string find_scale(const std::string& key, const StoredTensor& tensor,
                         Dequantization& quantized) const {
    const std::string type = dtype_name(tensor.dtype());
    if (has(key + "_zero_point")) return "is quantized with zero points, which are not read";
    const std::string rows = key.ends_with(".weight") ? without(key, ".weight") + ".SCB" : "";
    if (tensor.dtype() == Dtype::i8 && has(rows)) {
      quantized = {address(rows), 1.0 / 127};
    } else if (has(key + "_scale_inv")) {
      quantized = {address(key + "_scale_inv")};
    } else if (has(key + "_scale")) {
      quantized = {address(key + "_scale")};
    } else {
      return "its entries are " + type + " without a scale; " + printable_key(key) +
             (tensor.dtype() == Dtype::i8
                  ? "_scale or a tensor SCB next to it is needed"
                  : "_scale or " + printable_key(key) + "_scale_inv next to it is needed");
    }
    const StoredTensor scale = open_tensor(quantized.scale);
    if (tensor.is_matrix() && is_floating(scale.dtype()) &&
        is_scale_of(tensor.rows(), tensor.cols(), scale.shape()))
      return "";
    return "its scale " + scale.label() + " is " + scale.shape_text() + " of " +
           dtype_name(scale.dtype()) + " for a tensor of " + tensor.shape_text() +
           "; allowed: one number, one for each row, or one for each block of 128 x 128";
  }

  // The T x T table of a causal attention, perhaps stored as 1 x 1 x T x T.
  static bool is_causal_mask(const StoredTensor& tensor) {
    const std::vector<std::uint64_t>& shape = tensor.shape();
    const std::uint64_t side = shape.empty() ? 0 : shape.back();
    if (shape.size() < 2 || side < 2 || tensor.elements() != side * side) return false;
    const StoredTensor mask = tensor.as_matrix(side, side);
    double inside = 0, outside = 0;
    for (std::uint64_t i = 0; i < side; ++i) {
      const arma::mat row = matrix_of(mask.rows(i, 1));
      if (i == 0) inside = row(0), outside = row(side - 1);
      if (inside == outside) return false;
      for (std::uint64_t j = 0; j < side; ++j) {
        if (row(j) != (j <= i ? inside : outside)) return false;
      }
    }
    return true;
  }

  std::vector<TensorFile> files_;
  std::vector<std::string> order_;
  std::map<std::string, const TensorFile*> files_by_key_;
};

}  // namespace

void add_weights(const std::string& path, Listing& out) {
  Archive(path).add_to(out);
}

}  // namespace ranklab::ranks
