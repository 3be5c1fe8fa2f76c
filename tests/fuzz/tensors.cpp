// Files of tensors, tokens, images, texts, and the configs of models.

#include <algorithm>
#include <array>

#include "data/corpus.hpp"
#include "data/image_files.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "io/tensors/stored_bytes.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "io/tensors/tensor_file.hpp"
#include "io/tensors/token_ids.hpp"
#include "io/tensors/weights_file.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/checkpoints/checkpoint.hpp"
#include "tiny_checkpoint.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

void read_tensor(const StoredTensor& tensor) {
  tensor.shape_text();
  tensor.values();
  attempt([&] { matrix_of(tensor); });
  attempt([&] { tensor.at(0).values(); });
  if (tensor.elements() > 0) attempt([&] { tensor.as_matrix(1, tensor.elements()).columns(0, 1); });
  if (tensor.is_matrix() && tensor.rows() > 1 && tensor.cols() > 1) {
    matrix_of(tensor.columns(tensor.cols() - 1, 1));
    matrix_of(tensor.rows(1, tensor.rows() - 1));
    matrix_of(tensor.block(1, 1, 1, 1));
  }
}

void read_tensors(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  for (const std::string& key : file.keys()) {
    attempt([&] { read_tensor(file.tensor(key)); });
  }
  attempt([&] { open_tensor(path); });
}

// A .zip archive with the same bytes stored as a.npy and compressed as b.npy.
std::string archive_of(const std::string& bytes) {
  return zip(
      {{.name = "a.npy", .content = bytes}, {.name = "b.npy", .content = bytes, .deflate = true}});
}

// The header length, the header up to the first line break, and the entries.
std::string with_length(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  return safetensors(std::string(bytes.substr(0, end)),
                     std::string(bytes.substr(std::min(end + 1, bytes.size()))));
}

void read_checkpoint(const std::string& path) {
  const auto checkpoint = Checkpoint::open(path);
  checkpoint->unknown();
  attempt([&] {
    checkpoint->parameters();
    checkpoint->dtypes();
    checkpoint->bytes();
  });
  ModelSpec spec;
  spec.weights = path;
  spec.heads = 1;
  adopt_files(spec);
  resolve_defaults_with_files(spec);
  file_notes(spec);
}

// Tiny weights of every published model, MODEL.safetensors, written once.
void put_checkpoints() {
  static bool is_done = false;
  if (is_done) return;
  for (const std::string& model : published_models())
    TinyCheckpoint(model, {}, Dtype::f32).write(expect(model + ".safetensors"));
  is_done = true;
}

void use(ImageTask task) {
  attempt([&] {
    pooled(task.training, 2);
    require_patch(task.training, 2);
    const std::array<std::uint32_t, 1> first = {0};
    patch_tokens<double>(task.training, 2, first);
  });
  pixel_moments(task.test);
  standardize(task);
}

}  // namespace

void read_npy(std::string_view bytes) {
  read_tensors(put("x.npy", bytes));
}

void read_npz(std::string_view bytes) {
  const std::string text(bytes);
  read_tensors(put("x.npz", text.starts_with("PK") ? text : archive_of(text)));
}

void read_safetensors(std::string_view bytes) {
  const std::string path =
      put("x.safetensors", bytes.starts_with('{') ? with_length(bytes) : std::string(bytes));
  attempt([&] { read_tensors(path); });
  read_checkpoint(path);
}

void read_token_ids(std::string_view bytes) {
  const bool is_npy = bytes.starts_with("\x93NUMPY"), is_json = bytes.starts_with('[');
  ranklab::read_token_ids(put(is_npy ? "ids.npy" : is_json ? "ids.json" : "ids.txt", bytes));
}

void read_images(std::string_view bytes) {
  const std::string size_2x2("\0\0\0\2\0\0\0\2\0\0\0\2", 12), header("\0\0\10", 3);
  const std::string images = header + "\3" + size_2x2 + "abcdefgh",
                    labels = header + "\1" + size_2x2.substr(0, 4) + "\1\2";
  static bool is_first = true;
  if (is_first) {
    for (const std::string folder : {"as-images/", "as-labels/"}) {
      put(folder + "t10k-images-idx3-ubyte", images);
      put(folder + "t10k-labels-idx1-ubyte", labels);
    }
    put("as-images/train-labels-idx1-ubyte", labels);
    put("as-labels/train-images-idx3-ubyte", images);
    for (int i = 2; i <= 5; ++i)
      put("cifar/data_batch_" + std::to_string(i) + ".bin", std::string(3073, '\1'));
    is_first = false;
  }
  put("as-images/train-images-idx3-ubyte", bytes);
  attempt([] { use(read_fashion_mnist("as-images", 2, 2)); });
  put("as-labels/train-labels-idx1-ubyte", bytes);
  attempt([] { use(read_fashion_mnist("as-labels", 1, 1)); });
  put("cifar/data_batch_1.bin", bytes);
  put("cifar/test_batch.bin", bytes);
  attempt([] { use(read_cifar("cifar", 1, 1, true)); });
  attempt([] { use(read_cifar("cifar", 1, 1, false)); });
  use(read_digits(put("digits.csv", bytes)));
}

void read_corpus(std::string_view bytes) {
  const std::string path = put("text.txt", bytes);
  attempt([&] { ranklab::read_corpus(path, "char", 2); });
  ranklab::read_corpus(path, "bpe:80", 2);
}

void read_model_config(std::string_view bytes) {
  put_checkpoints();
  const std::string path = put("config.json", bytes);
  attempt([&] { ranklab::read_model_config(path); });
  for (const std::string& model : published_models()) {
    attempt([&] {
      ModelSpec spec;
      spec.weights = model + ".safetensors";
      spec.model_config = path;
      adopt_files(spec);
      resolve_defaults_with_files(spec);
    });
  }
  read_checkpoint(put("model.safetensors.index.json", bytes));
}

}  // namespace ranklab::fuzz
