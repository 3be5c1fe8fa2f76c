#include "experiments/one_step_compare/gpt/heads.hpp"

#include <algorithm>

#include "linalg/spectra.hpp"

namespace ranklab::gpt {

namespace {

std::vector<arma::mat> parts_of(const arma::mat& X, const Cut& cut) {
  const arma::uword height = X.n_rows / cut.rows, width = X.n_cols / cut.columns;
  std::vector<arma::mat> out;
  for (arma::uword r = 0; r < cut.rows; ++r) {
    for (arma::uword c = 0; c < cut.columns; ++c)
      out.push_back(X.submat(r * height, c * width, arma::size(height, width)));
  }
  return out;
}

template <class T>
arma::mat in_double(const arma::Mat<T>& X) {
  return arma::conv_to<arma::mat>::from(X);
}

}  // namespace

double spread(const arma::mat& X, const Cut& cut) {
  std::vector<double> norms;
  for (const arma::mat& part : parts_of(X, cut)) norms.push_back(arma::norm(part, "fro"));
  const auto [least, largest] = std::ranges::minmax(norms);
  return least > 0 ? largest / least : undefined;
}

double mean_nuclear_rank(const arma::mat& X, const Cut& cut) {
  double sum = 0;
  const std::vector<arma::mat> parts = parts_of(X, cut);
  for (const arma::mat& part : parts) sum += nuclear_rank(part);
  return sum / static_cast<double>(parts.size());
}

template <class T>
HeadObserver<T>::HeadObserver(const std::vector<Weight>& weights, std::uint64_t heads) {
  for (const Weight& weight : weights) {
    if (!has_heads(weight.block)) continue;
    const arma::SizeMat size = arma::size(weight.parameter->W);
    matrices_.push_back(
        {&weight, cut_into_heads(weight.block, heads), {}, arma::mat(size, arma::fill::zeros), {}});
  }
}

template <class T>
void HeadObserver<T>::before_step() {
  for (Followed& each : matrices_) {
    const arma::mat G = in_double(each.weight->parameter->G);
    each.W = in_double(each.weight->parameter->W);
    each.average = momentum_beta * each.average + (1 - momentum_beta) * G;
    each.lookahead = momentum_beta * each.average + (1 - momentum_beta) * G;
  }
}

template <class T>
void HeadObserver<T>::add_to(Track& track) const {
  for (const Followed& each : matrices_) {
    const Parameter<T>& parameter = *each.weight->parameter;
    const auto add = [&](const MatrixMeasure& measure, double value) {
      track.add(measure.of(parameter.name), value);
    };
    add(gradient_spread, spread(in_double(parameter.G), each.cut));
    add(update_spread, spread(in_double(parameter.W) - each.W, each.cut));
    add(momentum_rank, nuclear_rank(each.lookahead));
    add(momentum_rank_by_head, mean_nuclear_rank(each.lookahead, each.cut));
  }
}

template class HeadObserver<float>;
template class HeadObserver<double>;

}  // namespace ranklab::gpt
