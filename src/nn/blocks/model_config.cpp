// Keys follow the library `transformers`, and MambaConfig of `mamba_ssm`; the file of each model
// says which. A missing key means the library's default there, but the model's own default here,
// because libraries differ (for mamba2, 4096 channels in one and 2560 in the other).
#include "nn/blocks/model_config.hpp"

#include "core/text.hpp"
#include "io/config_keys.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

const ModelRow& row_of(const ConfigKeys& keys) {
  const std::optional<std::string> type = keys.text("model_type");
  for (const ModelRow& row : model_rows()) {
    if (row.published && (type ? row.name == *type : row.published->recognizes(keys))) return row;
  }
  const std::string allowed = "; allowed: " + joined(published_models());
  if (!type)
    keys.fail("model_type", "is missing, and there is no ssm_cfg of a Mamba-2 model" + allowed);
  keys.fail("model_type", "is '" + printable_key(*type) + "', which is not supported" +
                              (type == "mamba" ? " (it is Mamba-1)" : "") + allowed);
}

}  // namespace

ModelConfig read_model_config(const std::string& path) {
  const ConfigKeys keys(path);
  const ModelRow& row = row_of(keys);
  ModelConfig config;
  config.path = path;
  config.model = row.name;
  row.published->read_config(keys, config);
  return config;
}

std::optional<std::string> read_activation(const ConfigKeys& keys, const char* key) {
  std::optional<std::string> name = keys.text(key);
  if (!name || name == "gelu" || name == "relu") return name;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return "gelu-tanh";
  keys.fail(key, "is '" + printable_key(*name) +
                     "', which is not supported; allowed: gelu, gelu_new, gelu_pytorch_tanh, relu");
}

}  // namespace ranklab
