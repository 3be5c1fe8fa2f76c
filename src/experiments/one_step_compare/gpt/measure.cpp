#include "experiments/one_step_compare/gpt/measure.hpp"

#include <cblas.h>

#include <algorithm>
#include <numeric>

#include "linalg/spectra.hpp"
#include "nn/layers/linear.hpp"

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

double Moments::mean_share(const std::string& name) const {
  const SecondMoment& moment = of_.at(name);
  return arma::dot(moment.sum, moment.sum) / tokens_ / arma::trace(moment.gram);
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
  const std::string prefix(prefix_of(text));
  std::map<std::string, double> st;
  for (const std::string& name : moments.names()) {
    st[name] = moments.stable_rank(name);
    track.add(prefix + stable_rank_of(name), st[name]);
    if (moments.reports_mean_share(name))
      track.add(prefix + mean_share_of(name), moments.mean_share(name));
  }
  st["indicator"] = moments.indicator();
  track.add(prefix + indicator, st["indicator"]);
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::positions) continue;
    const std::string name = prefix + weight.parameter->name;
    const bool table = weight.role == WeightRole::embedding;
    const arma::mat G = arma::conv_to<arma::mat>::from(weight.parameter->G);
    const double rank = nuclear_rank(G);
    track.add(nuclear_rank_of(name), rank);
    track.add(gradient_norm_of(name), arma::norm(G, "fro"));
    track.add(ratio_of(name), rank / st.at(table ? "indicator" : compared_with(weight)));
    if (weight.block == "Wo")
      track.add(ratio_to_input_of(name), rank / st.at(in_layer(weight.layer, "H")));
  }
}

#define RANKLAB_MEASURE(T)                                                                   \
  template void add_activations<T>(const SequenceModel<T>&, const SequenceBatch<T>&, Turns&, \
                                   Moments&);                                                \
  template void add_ranks<T>(const SequenceModel<T>&, const Moments&, MeasuredOn, Track&);
RANKLAB_MEASURE(float)
RANKLAB_MEASURE(double)
#undef RANKLAB_MEASURE

}  // namespace ranklab::gpt
