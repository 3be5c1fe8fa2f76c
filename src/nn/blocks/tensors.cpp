#include "nn/blocks/tensors.hpp"

#include "core/machine.hpp"

namespace ranklab {

template <class T>
arma::Mat<T> DrawnTensors<T>::matrix(const std::string& name, arma::uword rows, arma::uword cols,
                                     const EntryLaw& start) {
  arma::Mat<T> out(rows, cols, arma::fill::none);
  prefer_large_pages(out.memptr(), out.n_elem * sizeof(T));
  draw_entries<T>(streams_.stream(prefix_ + name), {out.memptr(), out.n_elem}, start, scale_);
  parameters_ += out.n_elem;
  return out;
}

template <class T>
arma::Mat<T> DrawnTensors<T>::columns(const std::string& name, arma::uword rows, arma::uword cols,
                                      const std::vector<std::uint32_t>& ids,
                                      const EntryLaw& start) {
  arma::Mat<T> out(rows, ids.size(), arma::fill::none);
  for (arma::uword j = 0; j < out.n_cols; ++j) {
    Stream stream = streams_.stream(prefix_ + name);
    stream.skip(ids[j] * ((rows + 1) / 2));  // a block of the stream gives two draws
    draw_entries<T>(stream, {out.colptr(j), rows}, start, scale_);
  }
  parameters_ += rows * cols;
  return out;
}

template <class T>
arma::Col<T> DrawnTensors<T>::vector(const std::string& name, arma::uword size,
                                     const EntryLaw& start) {
  arma::Col<T> out(size, arma::fill::none);
  draw_entries<T>(streams_.stream(prefix_ + name), {out.memptr(), out.n_elem}, start, 1.0);
  parameters_ += size;
  return out;
}

template <class T>
arma::Mat<T> CachedTensors<T>::matrix(const std::string& name, arma::uword rows, arma::uword cols,
                                      const EntryLaw& start) {
  const std::lock_guard guard(lock_);
  arma::Mat<T>& known = matrices_[{name, rows, cols}];
  if (known.is_empty()) known = tensors_.matrix(name, rows, cols, start);
  return arma::Mat<T>(known.memptr(), rows, cols, false, true);
}

template <class T>
arma::Mat<T> CachedTensors<T>::columns(const std::string& name, arma::uword rows, arma::uword cols,
                                       const std::vector<std::uint32_t>& ids,
                                       const EntryLaw& start) {
  return tensors_.columns(name, rows, cols, ids, start);
}

template <class T>
arma::Col<T> CachedTensors<T>::vector(const std::string& name, arma::uword size,
                                      const EntryLaw& start) {
  const std::lock_guard guard(lock_);
  arma::Col<T>& known = vectors_[name];
  if (known.n_elem != size) known = tensors_.vector(name, size, start);
  return known;
}

template class DrawnTensors<float>;
template class DrawnTensors<double>;
template class CachedTensors<float>;
template class CachedTensors<double>;

}  // namespace ranklab
