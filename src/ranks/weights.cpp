// The matrices of weights in an archive or in shards, and a reason for every other tensor.
//
// Quantized weights are read where their scale is next to them; the stored number q stands for
//   q * SCB / 127     LLM.int8 of bitsandbytes: SCB holds the largest modulus of each row
//   q * weight_scale  compressed-tensors, FBGEMM, ModelOpt: one for the tensor, or one for each row
//   q * weight_scale_inv  DeepSeek-V3 and the FP8 models of transformers: one for each block of
//                     128 x 128. The name is that of the inverse of the factor that quantized.
//   q * scale_weight  ComfyUI: one for the tensor
//   q * weight._scale of weight._data, quanto: one for each row
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "io/tensors/weights_file.hpp"
#include "ranks/measure.hpp"
#include "ranks/ranks.hpp"

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

// Endings of tensors that belong to a quantized one, and what replaces the ending in its name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> companions = {
    {{"_scale", ""},
     {"_scale_inv", ""},
     {"_zero_point", ""},
     {".SCB", ".weight"},
     {".weight_format", ".weight"},
     {"_shape", "_packed"},
     {".g_idx", ".qweight"},
     {".codebooks", ".codes"},
     {".absmax", ""},
     {".quant_map", ""},
     {".nested_absmax", ""},
     {".nested_quant_map", ""}}};

// Whether the last part of the name is that of a scale or an offset: weight_scale, scale_weight,
// scales, _scale, qzeros, zero, zero_point, _shift.
bool names_scale(const std::string& key) {
  const std::string last = key.substr(key.rfind('.') + 1);
  return last.find("scal") != std::string::npos || last.find("zero") != std::string::npos ||
         last == "_shift";
}

// The module that the tensor belongs to: the name up to its last dot.
std::string module_of(const std::string& key) {
  return key.substr(0, std::min(key.rfind('.'), key.size()));
}

// "fc.weight" and "fc.weight._data" (quanto) are the weights of "fc".
std::string weight_name(const std::string& key) {
  constexpr std::string_view data = "._data";
  return layer_name(key.ends_with(data) ? without(key, data) : key);
}

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
    for (const std::string& key : order_) {
      if (!is_quantized(key) || names_scale(key) || !quantized_tensor(key).empty()) continue;
      std::string& largest = quantized_in_.try_emplace(module_of(key), key).first->second;
      if (elements_of(key) > elements_of(largest)) largest = key;
    }
    has_scales_ = std::any_of(order_.begin(), order_.end(), [&](const std::string& key) {
      return names_scale(key) && !quantized_tensor(key).empty();
    });
  }

  void add_to(Listing& out) const {
    for (const std::string& key : order_) {
      const std::string layer = has(weight_name(key)) ? key : weight_name(key);
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
    for (const auto& [ending, of_ending] : companions) {
      if (!key.ends_with(ending)) continue;
      std::string of = without(key, ending) + std::string(of_ending);
      if (is_quantized(of)) return of;
    }
    const auto sibling = quantized_in_.find(module_of(key));
    if (names_scale(key) && sibling != quantized_in_.end()) return sibling->second;
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

  std::uint64_t elements_of(const std::string& key) const {
    try {
      return files_by_key_.at(key)->tensor(key).elements();
    } catch (const Failure&) {  // a type that is not read
      return 0;
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

  // A scale that is next to the tensor in the layout of a library that is not read; empty: none.
  std::string other_scale(const std::string& key) const {
    const auto found = std::find_if(order_.begin(), order_.end(), [&](const std::string& other) {
      return other != key && names_scale(other) && module_of(other) == module_of(key);
    });
    return found == order_.end() ? "" : *found;
  }

  std::string find_scale(const std::string& key, const StoredTensor& tensor,
                         Dequantization& quantized) const {
    const std::string type = dtype_name(tensor.dtype()), module = module_of(key);
    if (has(key + "_zero_point") || has(module + "._shift"))
      return "is quantized with zero points, which are not read";
    if (tensor.dtype() == Dtype::i8 && has(module + ".SCB")) {
      quantized = {address(module + ".SCB"), 1.0 / 127};
    } else {
      for (const std::string& scale : {key + "_scale_inv", key + "_scale", module + ".scale_weight",
                                       key.ends_with("._data") ? module + "._scale" : ""}) {
        if (quantized.scale.empty() && has(scale)) quantized.scale = address(scale);
      }
    }
    if (quantized.scale.empty()) {
      const std::string other = other_scale(key);
      if (!other.empty())
        return "its entries are " + type + ", and the layout of its scale " + printable_key(other) +
               " is not read; dequantize it with the library that wrote it";
      // Without any such scale in the files, FP8 entries are the weights.
      if (is_float8(tensor.dtype()) && !has_scales_) return "";
      return "its entries are " + type + " without a scale; " + printable_key(key) +
             (tensor.dtype() == Dtype::i8
                  ? "_scale or a tensor SCB next to it is needed"
                  : "_scale or " + printable_key(key) + "_scale_inv next to it is needed");
    }
    const StoredTensor scale = open_tensor(quantized.scale);
    // A convolution is read as a matrix; the plan leaves out a vector.
    const std::uint64_t rows = tensor.shape().empty() ? 1 : tensor.shape().front();
    if (tensor.shape().size() < 2 ||
        (is_floating(scale.dtype()) && is_scale_of(rows, tensor.elements() / rows, scale.shape())))
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
  std::map<std::string, std::string> quantized_in_;  // the largest quantized tensor of each module
  bool has_scales_ = false;                          // next to one of them
};

}  // namespace

void add_weights(const std::string& path, Listing& out) {
  Archive(path).add_to(out);
}

}  // namespace ranklab::ranks
