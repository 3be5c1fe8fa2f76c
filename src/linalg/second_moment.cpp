#include "linalg/second_moment.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/machine.hpp"
#include "core/undefined.hpp"
#include "linalg/largest_eigenvalue.hpp"
#include "linalg/scale_exponent.hpp"

namespace ranklab {
namespace {

/// The whole matrix.
arma::mat whole(const SecondMoment<double>& M) {
  const arma::mat values =
      M.form == MomentForm::samples ? arma::mat(M.values.t() * M.values) : M.values;
  return M.factor * values;
}

}  // namespace

template <class T>
SecondMoment<T> SecondMoment<T>::part(const arma::uvec& features) const {
  if (form == MomentForm::samples) return {form, values.cols(features), factor};
  return {form, values.submat(features, features), factor};
}

template struct SecondMoment<float>;
template struct SecondMoment<double>;

void add_to(SecondMoment<double>& a, const SecondMoment<double>& b) {
  if ((a.form == MomentForm::diagonal) != (b.form == MomentForm::diagonal))
    throw std::logic_error("a diagonal and a whole second moment are added");
  const bool are_samples = a.form == MomentForm::samples && b.form == MomentForm::samples;
  if (are_samples && a.factor == b.factor && a.values.n_rows + b.values.n_rows <= a.size()) {
    a.values = arma::join_cols(a.values, b.values);
    return;
  }
  if (a.form == MomentForm::samples || a.factor != 1)
    a = {a.form == MomentForm::diagonal ? a.form : MomentForm::whole, whole(a), 1};
  if (b.form == MomentForm::samples || b.factor != 1) {
    a.values += whole(b);
  } else {
    a.values += b.values;
  }
}

template <class T>
arma::Mat<T> scaled_to(const arma::mat& A, double factor) {
  arma::Mat<T> out(A.n_rows, A.n_cols, arma::fill::none);
  prefer_large_pages(out.memptr(), out.n_elem * sizeof(T));
  std::transform(A.begin(), A.end(), out.begin(),
                 [&](double entry) { return static_cast<T>(factor * entry); });
  return out;
}

template arma::fmat scaled_to<float>(const arma::mat&, double);
template arma::mat scaled_to<double>(const arma::mat&, double);

SecondMoment<float> in_single_precision(const SecondMoment<double>& M) {
  const int exponent = scale_exponent(M.values);
  const bool is_square = M.form == MomentForm::samples;
  return {M.form, scaled_to<float>(M.values, std::ldexp(1.0, -exponent)),
          M.factor * std::ldexp(1.0, is_square ? 2 * exponent : exponent)};
}

arma::vec diagonal_of(const SecondMoment<double>& M) {
  if (M.form == MomentForm::samples) return M.factor * arma::sum(arma::square(M.values), 0).t();
  if (M.form == MomentForm::diagonal) return M.factor * M.values;
  return M.factor * M.values.diag();
}

double stable_rank_of_moment(const SecondMoment<double>& M,
                             const std::function<void()>& between_steps) {
  const double sum = arma::accu(diagonal_of(M)) / M.factor;
  if (!(sum > 0)) return undefined;
  if (M.form == MomentForm::diagonal) return sum / M.values.max();
  if (M.form == MomentForm::whole) return sum / largest_eigenvalue(M.values, between_steps);
  const arma::mat gram = M.values.n_rows < M.values.n_cols ? arma::mat(M.values * M.values.t())
                                                           : arma::mat(M.values.t() * M.values);
  return sum / largest_eigenvalue(gram, between_steps);
}

}  // namespace ranklab
