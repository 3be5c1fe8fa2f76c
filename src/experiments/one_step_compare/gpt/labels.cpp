// The names of runs in figures.
#include <algorithm>
#include <map>

#include "experiments/one_step_compare/gpt/gpt.hpp"

namespace ranklab::gpt {
namespace {

using Words = std::map<std::string, std::string>;

std::string found_or(const Words& words, const std::string& key, const std::string& otherwise) {
  const auto found = words.find(key);
  return found == words.end() ? otherwise : found->second;
}

/// "SwiGLU" for activation=swiglu, "embedding rate 0.03" for lr-embedding=0.03.
std::string setting_label(const std::string& key, const std::string& value) {
  static const Words of_settings = {
      {"activation=relu2", "ReLU^2"},
      {"activation=relu", "ReLU"},
      {"activation=gelu", "GELU"},
      {"activation=swiglu", "SwiGLU"},
      {"norm=rms", "RMSNorm"},
      {"norm=layer", "LayerNorm"},
      {"position=rotary", "rotary positions"},
      {"position=learned", "learned positions"},
      {"qk-norm=on", "normalized queries and keys"},
      {"qk-norm=off", "no normalized queries and keys"},
      {"init=modded", "zero output maps at the start"},
      {"init=gauss", "Gaussian initial weights"},
      {"init=gpt2", "initial weights of GPT-2"},
      {"mean-token=keep", "with the mean token"},
      {"mean-token=remove", "without the mean token"},
      {"layers=1", "1 layer"},
      {"heads=1", "1 head"},
      {"steps=1", "1 step"},
  };
  static const Words before = {
      {"dim", "width "},           {"lr-embedding", "embedding rate "}, {"lr-outer", "outer rate "},
      {"lr-adam", "Adam's rate "}, {"lr-muon", "Muon's rate "},         {"lr-polar", "polar rate "},
      {"lr-sgd", "SGD's rate "},
  };
  static const Words after = {{"layers", " layers"}, {"heads", " heads"}, {"steps", " steps"}};
  const auto whole = of_settings.find(key + "=" + value);
  if (whole != of_settings.end()) return whole->second;
  const auto unit = after.find(key);
  if (unit != after.end()) return value + unit->second;
  return found_or(before, key, key + " ") + value;
}

std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('+', begin), list.size());
    out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// " on hidden layers and embedding" for hidden+embedding, " on W2 only" for W2, " as advised".
std::string blocks_label(const std::string& list) {
  if (list == advice_word) return " as advised";
  if (list == against_advice_word) return " against the advice";
  const std::vector<std::string> blocks = entries_of(list);
  std::string out = " on ";
  bool has_hidden = false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i > 0) out += i + 1 == blocks.size() ? " and " : ", ";
    out += blocks[i] == "hidden" ? "hidden layers" : blocks[i];
    has_hidden |= blocks[i] == "hidden";
  }
  return out + (has_hidden ? "" : " only");
}

/// " + embedding" for hidden+embedding, " on W2" for W2.
std::string short_blocks_label(const std::string& list) {
  if (list == advice_word || list == against_advice_word) return blocks_label(list);
  std::vector<std::string> blocks = entries_of(list);
  const std::size_t all = blocks.size();
  std::erase(blocks, "hidden");
  std::string out = blocks.size() < all ? "" : " on";
  for (std::size_t i = 0; i < blocks.size(); ++i)
    out += (i == 0 && blocks.size() == all ? " " : " + ") + blocks[i];
  return out;
}

std::string label_of(const Run& run, bool is_short) {
  std::string out = optimizer_label(run.optimizer), settings;
  for (const auto& [key, value] : run.changes) {
    if (key == "lr-" + run.optimizer) {
      out += " at rate " + value;
    } else if (key == "spectral-on") {
      out += is_short ? short_blocks_label(value) : blocks_label(value);
    } else {
      const bool shortens = is_short && key == "lr-embedding";
      settings += ", " + (shortens ? "emb. rate " + value : setting_label(key, value));
    }
  }
  return out + settings;
}

}  // namespace

std::string optimizer_label(const std::string& optimizer) {
  return found_or({{"adam", "Adam"}, {"muon", "Muon"}, {"polar", "polar factor"}, {"sgd", "SGD"}},
                  optimizer, optimizer);
}

std::string figure_label(const Run& run) {
  return label_of(run, false);
}

std::string tick_label(const Run& run) {
  return label_of(run, true);
}

}  // namespace ranklab::gpt
