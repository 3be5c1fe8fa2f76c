#include "experiments/one_step_compare/gpt/measure.hpp"

#include <cblas.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/atomic_file.hpp"
#include "linalg/spectra.hpp"
#include "nn/layers/linear.hpp"
#include "nn/tensors_to_write.hpp"

namespace ranklab::gpt {

Moments::SecondMoment& Moments::moment_of(const std::string& name) {
  const std::scoped_lock lock(names_);
  return of_[name];
}

template <class T>
void Moments::add(const std::string& name, const arma::Mat<T>& A, MeanShare share) {
  const arma::mat wide = arma::conv_to<arma::mat>::from(A);
  SecondMoment& moment = moment_of(name);
  moment.share = share;
  if (moment.gram.is_empty()) {
    moment.gram.zeros(A.n_rows, A.n_rows);
    moment.sum.zeros(A.n_rows);
  }
  const auto rows = static_cast<int>(wide.n_rows), columns = static_cast<int>(wide.n_cols);
  cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, rows, columns, 1.0, wide.memptr(), rows, 1.0,
              moment.gram.memptr(), rows);
  moment.sum += arma::sum(wide, 1);
}

void Moments::count(const std::vector<std::uint32_t>& ids, std::uint64_t vocabulary) {
  counts_.resize(vocabulary, 0.0);
  for (const std::uint32_t id : ids) counts_[id] += 1;
  tokens_ += static_cast<double>(ids.size());
}

double Moments::stable_rank(const std::string& name) const {
  return stable_rank_from_gram(second_moment(name));
}

/// ||v||^2. Short vectors are summed here and not by arma::dot, whose last bit depends on what is
/// compiled with it.
static double squared_norm(const arma::vec& v) {
  if (v.n_elem > 32) return arma::dot(v, v);
  double even = 0, odd = 0;
  for (arma::uword i = 0; i + 1 < v.n_elem; i += 2) {
    even += v[i] * v[i];
    odd += v[i + 1] * v[i + 1];
  }
  if (v.n_elem % 2 == 1) even += v[v.n_elem - 1] * v[v.n_elem - 1];
  return even + odd;
}

double Moments::mean_share(const std::string& name) const {
  const SecondMoment& moment = of_.at(name);
  return squared_norm(moment.sum) / tokens_ / arma::trace(moment.gram);
}

double Moments::indicator() const {
  return tokens_ / *std::max_element(counts_.begin(), counts_.end());
}

std::vector<std::string> Moments::names() const {
  std::vector<std::string> out;
  for (const auto& [name, moment] : of_) out.push_back(name);
  return out;
}

template <class T>
void add_activations(const SequenceModel<T>& model, const SequenceBatch<T>& batch, Turns& turns,
                     Moments& moments) {
  using enum Moments::MeanShare;
  const auto add = [&](const std::string& name, const arma::Mat<T>& A,
                       Moments::MeanShare share = left_out) {
    turns.take([&] { moments.add(name, A, share); });
  };
  turns.take([&] { moments.count(batch.ids, model.shape().vocabulary); });
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const GptActivations<T> layer = gpt_activations(model, l);
    add(in_layer(l, "A"), layer.A, reported);
    add(in_layer(l, "Am"), layer.Am);
    add(in_layer(l, "H"), layer.H);
    add(in_layer(l, "Z"), layer.Z);
    add(in_layer(l, "S"), layer.S, reported);
  }
  add("Af", model.read_out());
  arma::Mat<T> embedded;
  look_up(model.embedding().W, batch.ids, embedded);
  add("embedding", embedded);
}

template <class T>
void add_ranks(const SequenceModel<T>& model, const Moments& moments, MeasuredOn text,
               Track& track) {
  const At place = place_of(text);
  std::map<std::string, double> st;
  for (const std::string& name : moments.names()) {
    st[name] = moments.stable_rank(name);
    track.add(place / stable_rank.of(name), st[name]);
    if (moments.reports_mean_share(name))
      track.add(place / mean_share.of(name), moments.mean_share(name));
  }
  st["indicator"] = moments.indicator();
  track.add(place / indicator, st["indicator"]);
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::positions) continue;
    const std::string& name = weight.parameter->name;
    const bool table = weight.role == WeightRole::embedding;
    const arma::mat G = arma::conv_to<arma::mat>::from(weight.parameter->G);
    const double rank = nuclear_rank(G);
    track.add(place / gradient_rank.of(name), rank);
    track.add(place / gradient_norm.of(name), arma::norm(G, "fro"));
    track.add(place / rank_ratio.of(name),
              rank / st.at(table ? "indicator" : compared_with(weight)));
    if (weight.block == "Wo")
      track.add(place / ratio_to_H.of(name), rank / st.at(input_of(weight)));
  }
}

std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last) {
  if (step == last) return file;
  return replace_extension(file, ".step" + std::to_string(step) + ".safetensors");
}

std::string recording_file(const std::string& folder, std::uint64_t step) {
  return folder + "/step" + std::to_string(step) + ".safetensors";
}

template <class T>
void save_recording(const SequenceModel<T>& model, const Moments& moments,
                    const std::string& folder, std::uint64_t step) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array(),
                         others = nlohmann::ordered_json::object();
  std::vector<TensorToWrite> tensors;
  for (const auto& weight : gpt_weights(model)) {
    const auto& [parameter, role, l, block] = weight;
    const std::string& name = parameter->name;
    if (role == WeightRole::positions) {
      others[name] = {{"cause", "no-samples"},
                      {"reason", "a position table, added to every token"}};
      continue;
    }
    const bool table = role == WeightRole::embedding, head = role == WeightRole::head;
    tensors.push_back(
        tensor<double>(name + ".gradient", arma::conv_to<arma::mat>::from(parameter->G)));
    if (table) {
      tensors.push_back({name + ".counts",
                         Dtype::f64,
                         {moments.counts().size()},
                         bytes_of<double>(arma::vec(moments.counts()))});
    } else {
      tensors.push_back(
          tensor<double>(name + ".second_moment", moments.second_moment(input_of(weight))));
    }
    layers.push_back({{"name", name},
                      {"parameter", name},
                      {"kind", table ? "embedding" : "matrix"},
                      {"role", table  ? "embedding"
                               : head ? "head"
                                      : "hidden"},
                      {"shape", {parameter->G.n_rows, parameter->G.n_cols}},
                      {"blocks", 1},
                      {"n", static_cast<std::uint64_t>(moments.tokens())}});
  }
  write_safetensors(
      recording_file(folder, step), tensors,
      {{"format", "ranklab.recording/2"}, {"layers", layers.dump()}, {"not_seen", others.dump()}});
}

#define RANKLAB_MEASURE(T)                                                                   \
  template void add_activations<T>(const SequenceModel<T>&, const SequenceBatch<T>&, Turns&, \
                                   Moments&);                                                \
  template void add_ranks<T>(const SequenceModel<T>&, const Moments&, MeasuredOn, Track&);   \
  template void save_recording(const SequenceModel<T>&, const Moments&, const std::string&,  \
                               std::uint64_t);
RANKLAB_MEASURE(float)
RANKLAB_MEASURE(double)
#undef RANKLAB_MEASURE

}  // namespace ranklab::gpt
