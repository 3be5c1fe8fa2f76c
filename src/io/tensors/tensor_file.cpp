#include "io/tensors/tensor_file.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"
#include "io/tensors/npy_header.hpp"
#include "io/tensors/tensor_reader.hpp"

namespace ranklab {

namespace {

constexpr const char* torch_recipe =
    "convert it: safetensors.torch.save_file({k: v.contiguous().clone() for k, v in "
    "torch.load(path, weights_only=True).items()}, \"x.safetensors\")";

[[noreturn]] void refuse_format(const std::string& path, const std::string& label) {
  for (const char* ending : {".pt", ".pth", ".bin", ".ckpt"}) {
    if (path.ends_with(ending))
      throw Failure(label + ": PyTorch's pickled files are not loaded; " + torch_recipe);
  }
  for (const char* ending : {".pkl", ".pickle"}) {
    if (path.ends_with(ending)) {
      throw Failure(label + ": pickled files are not loaded; convert it: " + npy_recipe);
    }
  }
  if (path.ends_with(".gz"))
    throw Failure(label + ": gzip is not supported; decompress it: gunzip FILE");
  if (path.find(".npy:") != std::string::npos)
    throw Failure(label + ": a .npy file holds one array and takes no key");
  throw Failure(label + ": the name must end in .npy, .npz or .safetensors");
}

// Files of other programs under our endings, known by how they start.
void refuse_contents(const std::string& start, bool is_safetensors, const std::string& label) {
  if (start.starts_with("version https://git-lfs"))
    throw Failure(label +
                  ": a Git LFS pointer instead of the data; fetch the data with git lfs pull");
  // torch.save writes a ZIP archive whose first member is NAME/data.pkl; before PyTorch 1.6, a
  // pickle of a magic number.
  const bool is_zip = start.starts_with("PK\x03\x04");
  if ((is_zip && start.find("/data.pkl") != std::string::npos) ||
      start.starts_with("\x80\x02\x8a\nl\xfc\x9c"))
    throw Failure(label + ": was written by torch.save; " + torch_recipe);
  if (is_zip && is_safetensors)
    throw Failure(label +
                  ": is a ZIP archive, not a .safetensors file; if it holds .npy arrays, "
                  "its name must end in .npz");
}

std::shared_ptr<const TensorReader> open_reader(const std::string& path) {
  const std::string label = printable(path);
  const bool npy = path.ends_with(".npy"), npz = path.ends_with(".npz");
  if (!npy && !npz && !path.ends_with(".safetensors")) refuse_format(path, label);
  std::shared_ptr<const InputFile> file = InputFile::open(path);
  refuse_contents(file->text(0, std::min<std::uint64_t>(file->size(), 512)), !npy && !npz, label);
  if (npy) return read_npy(std::move(file), label);
  if (npz) return read_npz(std::move(file), label);
  return read_safetensors(std::move(file), label);
}

// Lists at most ten keys, the likely intended one first.
std::string key_list(const std::string& wanted, const std::vector<std::string>& keys) {
  constexpr std::size_t most = 10;
  std::vector<std::string> comparable;
  for (const std::string& key : keys) {
    if (key.size() <= 200) comparable.push_back(key);
  }
  const std::string first = wanted.size() <= 200 ? nearest(wanted, comparable) : "";
  std::vector<std::string> listed;
  if (!first.empty()) listed.push_back(printable_key(first));
  for (const std::string& key : keys) {
    if (listed.size() == most) break;
    if (first.empty() || key != first) listed.push_back(printable_key(key));
  }
  return joined(listed) + (keys.size() > listed.size()
                               ? " and " + std::to_string(keys.size() - listed.size()) + " more"
                               : "");
}

}  // namespace

TensorFile::TensorFile(std::string path, std::shared_ptr<const TensorReader> reader)
    : path_(std::move(path)), reader_(std::move(reader)) {}

TensorFile TensorFile::open(const std::string& path) {
  return {path, open_reader(path)};
}

const std::map<std::string, std::string>& TensorFile::metadata() const {
  return reader_->metadata();
}
std::vector<std::string> TensorFile::keys() const {
  return reader_->keys();
}
bool TensorFile::has(const std::string& key) const {
  return reader_->find(key) < reader_->keys().size();
}

StoredTensor TensorFile::tensor(const std::string& key) const {
  const std::vector<std::string>& keys = reader_->keys();
  const std::size_t index = reader_->find(key);
  if (index < keys.size()) return reader_->tensor(index);
  if (keys.size() == 1 && keys[0].empty())
    throw Failure(printable(path_) + ": holds one array without a key, so the key '" +
                  printable_key(key) + "' is not allowed");
  throw Failure(
      printable(path_) + ": no key '" + printable_key(key) + "'; " +
      (keys.empty() ? "the file holds no tensor" : "the file has " + key_list(key, keys)));
}

TensorAddress parse_tensor_address(const std::string& text) {
  std::size_t end_of_path = std::string::npos;
  for (const std::string ending : {".npz:", ".safetensors:"}) {
    const std::size_t at = text.rfind(ending);
    if (at == std::string::npos) continue;
    const std::size_t end = at + ending.size() - 1;
    if (end_of_path == std::string::npos || end > end_of_path) end_of_path = end;
  }
  if (end_of_path == std::string::npos) return {text, ""};
  return {text.substr(0, end_of_path), text.substr(end_of_path + 1)};
}

StoredTensor open_tensor(const std::string& address) {
  const TensorAddress parsed = parse_tensor_address(address);
  return open_tensor(TensorFile::open(parsed.path), parsed.key);
}

StoredTensor open_tensor(const TensorFile& file, const std::string& key) {
  if (!key.empty() || file.has("")) return file.tensor(key);
  const std::vector<std::string> keys = file.keys();
  if (keys.size() == 1) return file.tensor(keys[0]);
  throw Failure(printable(file.path()) + ": " +
                (keys.empty()
                     ? "the file holds no tensor"
                     : "name one of its tensors, as FILE:KEY; the file has " + key_list("", keys)));
}

}  // namespace ranklab
