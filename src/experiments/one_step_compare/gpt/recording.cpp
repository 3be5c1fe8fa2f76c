#include "experiments/one_step_compare/gpt/recording.hpp"

#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab::gpt {

std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last) {
  if (step == last) return file;
  return replace_extension(file, ".step" + std::to_string(step) + ".safetensors");
}

std::string recording_folder(const std::string& folder, std::uint64_t step) {
  return folder + "/step" + std::to_string(step);
}

template <class T>
void save_recording(const SequenceModel<T>& model, const Moments& moments,
                    const std::string& folder, std::uint64_t step) {
  const std::string place = recording_folder(folder, step) + "/";
  nlohmann::ordered_json layers = nlohmann::ordered_json::array(),
                         others = nlohmann::ordered_json::object();
  for (const auto& weight : gpt_weights(model)) {
    const auto& [parameter, role, l, block] = weight;
    const std::string& name = parameter->name;
    if (role == WeightRole::positions) {
      others[name] = "a position table, added to every token";
      continue;
    }
    const bool table = role == WeightRole::embedding, head = role == WeightRole::head;
    const std::string file = std::to_string(layers.size()) + ".safetensors";
    std::vector<TensorToWrite> tensors = {
        tensor<double>("gradient", arma::conv_to<arma::mat>::from(parameter->G))};
    if (table) {
      tensors.push_back({"counts",
                         Dtype::f64,
                         {moments.counts().size()},
                         bytes_of<double>(arma::vec(moments.counts()))});
    } else {
      tensors.push_back(tensor<double>("second_moment", moments.second_moment(input_of(weight))));
    }
    if (parameter->error_moment)
      tensors.push_back(tensor<double>("error_moment", *parameter->error_moment));
    write_safetensors(place + file, tensors);
    layers.push_back({{"name", name},
                      {"parameter", name},
                      {"role", table  ? "embedding"
                               : head ? "head"
                                      : "hidden"},
                      {"samples", static_cast<std::uint64_t>(moments.tokens())},
                      {"parts", 0},
                      {"first_part", 1},
                      {"file", file}});
  }
  // Written last, so that a recording never names a missing file.
  write_file_atomically(place + "recording.json",
                        nlohmann::ordered_json{{"format", "ranklab.recording/1"},
                                               {"layers", layers},
                                               {"not_seen", others},
                                               {"tied", nlohmann::ordered_json::object()}}
                                .dump(1) +
                            "\n");
}

template void save_recording(const SequenceModel<float>&, const Moments&, const std::string&,
                             std::uint64_t);
template void save_recording(const SequenceModel<double>&, const Moments&, const std::string&,
                             std::uint64_t);

}  // namespace ranklab::gpt
