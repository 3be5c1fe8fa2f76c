#include "models/blocks/model_row.hpp"

#include <algorithm>
#include <stdexcept>

namespace ranklab {

// Each stands at the end of the file of its block.
ModelRow attention_row(), linear_attention_row(), lti_ssm_row(), s4d_row(), selective_ssm_row(), mamba2_row(), post_norm_row(),
    pre_norm_row(), bert_row(), albert_row(), gpt2_row();

const std::vector<ModelRow>& model_rows() {
  static const std::vector<ModelRow> rows = {attention_row(),     linear_attention_row(), lti_ssm_row(),   s4d_row(),
                                             selective_ssm_row(), mamba2_row(),           post_norm_row(), pre_norm_row(),
                                             bert_row(),          albert_row(),           gpt2_row()};
  return rows;
}

const ModelRow& model_row(const std::string& name) {
  for (const ModelRow& row : model_rows()) {
    if (row.name == name) return row;
  }
  throw std::logic_error("no model is called '" + name + "'");
}

BlockSizes::BlockSizes(const ModelSpec& spec)
    : N(static_cast<double>(spec.tokens)),
      d(static_cast<double>(spec.dim)),
      h(static_cast<double>(spec.heads)),
      n(static_cast<double>(spec.state)),
      q(spec.has_mlp() ? static_cast<double>(spec.ffn) : 0),
      groups(static_cast<double>(spec.groups)),
      taps(static_cast<double>(spec.taps)),
      normed(spec.norm != "none"),
      has_mlp(spec.has_mlp()) {}

double attention_flops(const BlockSizes& s, double maps) {
  return maps + 4 * s.N * s.N * s.d + 10 * s.N * s.N * s.h;
}

bool ModelRow::has(const std::string& flag) const {
  return std::find(switches.begin(), switches.end(), flag) != switches.end();
}

std::vector<std::string> models_with(const std::string& flag) {
  return models_that([&](const ModelRow& row) { return row.has(flag); });
}

std::vector<std::string> published_models() {
  return models_that([](const ModelRow& row) { return row.published.has_value(); });
}

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = models_that([](const ModelRow&) { return true; });
  return names;
}

}  // namespace ranklab
