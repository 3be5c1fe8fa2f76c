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

namespace {

/// Appends nr and the norm of a block's gradient, and nr / `stable_rank`.
template <class T>
void append_gradient(const arma::Mat<T>& gradient, const std::string& name, double stable_rank,
                     std::map<std::string, std::vector<double>>& series) {
  const arma::mat G = arma::conv_to<arma::mat>::from(gradient);
  const double rank = nuclear_rank(G);
  series[nuclear_rank_of(name)].push_back(rank);
  series[name + ".gradient_norm"].push_back(arma::norm(G, "fro"));
  series[ratio_of(name)].push_back(rank / stable_rank);
}

}  // namespace

template <class T>
void append_ranks(const SequenceModel<T>& model, const Moments& moments, MeasuredOn text,
                  std::map<std::string, std::vector<double>>& series) {
  const std::string prefix(prefix_of(text));
  std::map<std::string, double> st;
  for (const std::string& name : moments.names()) {
    st[name] = moments.stable_rank(name);
    series[prefix + stable_rank_of(name)].push_back(st[name]);
    if (moments.reports_mean_share(name))
      series[prefix + name + ".mean_share"].push_back(moments.mean_share(name));
  }
  st["indicator"] = moments.indicator();
  series[prefix + stable_rank_of("indicator")].push_back(st["indicator"]);
  for (const auto& weight : gpt_weights(model)) {
    if (weight.role == WeightRole::positions) continue;
    const std::string name = prefix + weight.parameter->name;
    const bool table = weight.role == WeightRole::embedding;
    append_gradient(weight.parameter->G, name, st.at(table ? "indicator" : compared_with(weight)),
                    series);
    if (weight.block != "Wo") continue;
    const double rank = series[nuclear_rank_of(name)].back();
    series[name + ".ratio_to_H"].push_back(rank / st.at(in_layer(weight.layer, "H")));
  }
}

#define RANKLAB_MEASURE(T)                                                                   \
  template void add_activations<T>(const SequenceModel<T>&, const SequenceBatch<T>&, Turns&, \
                                   Moments&);                                                \
  template void append_ranks<T>(const SequenceModel<T>&, const Moments&, MeasuredOn,         \
                                std::map<std::string, std::vector<double>>&);
RANKLAB_MEASURE(float)
RANKLAB_MEASURE(double)
#undef RANKLAB_MEASURE

}  // namespace ranklab::gpt
