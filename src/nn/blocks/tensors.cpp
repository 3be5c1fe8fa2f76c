#include "nn/blocks/tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/machine.hpp"

namespace ranklab {
namespace {

// Number of double-precision draws per chunk before rounding. Even, so that the stream continues
// where it stopped, and small enough for the cache.
constexpr std::size_t chunk = 2048;

void draw(Stream& stream, std::span<double> out, const Start& start) {
  if (start.law == Start::Law::uniform) {
    stream.fill_uniform(out, start.first, start.second);
    return;
  }
  stream.fill_normal(out, start.second);
  if (start.first != 0) {
    for (double& x : out) x += start.first;
  }
}

}  // namespace

Start Start::fan_in(arma::uword inputs) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  return uniform(-bound, bound);
}

template <class T>
void DrawnTensors<T>::fill(Stream stream, std::span<T> out, const Start& start,
                           double scale) const {
  const auto entry = [&](double x) {
    return static_cast<T>(scale * (start.map != nullptr ? start.map(x) : x));
  };
  if (start.law == Start::Law::constant) {
    std::fill(out.begin(), out.end(), entry(start.first));
    return;
  }
  if (start.law == Start::Law::ramp) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = entry(start.first * std::fmod(static_cast<double>(i), start.second));
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    draw(stream, out, start);
    if (start.map == nullptr && scale == 1.0) return;
    std::transform(out.begin(), out.end(), out.begin(), entry);
  } else {
    std::array<double, chunk> drawn;
    while (!out.empty()) {
      const std::span<double> part(drawn.data(), std::min(out.size(), chunk));
      draw(stream, part, start);
      std::transform(part.begin(), part.end(), out.begin(), entry);
      out = out.subspan(part.size());
    }
  }
}

template <class T>
arma::Mat<T> DrawnTensors<T>::matrix(const std::string& name, arma::uword rows, arma::uword cols,
                                     const Start& start) {
  arma::Mat<T> out(rows, cols, arma::fill::none);
  prefer_large_pages(out.memptr(), out.n_elem * sizeof(T));
  fill(streams_.stream(prefix_ + name), {out.memptr(), out.n_elem}, start, scale_);
  parameters_ += out.n_elem;
  return out;
}

template <class T>
arma::Mat<T> DrawnTensors<T>::columns(const std::string& name, arma::uword rows, arma::uword cols,
                                      const std::vector<std::uint32_t>& ids, const Start& start) {
  arma::Mat<T> out(rows, ids.size(), arma::fill::none);
  for (arma::uword j = 0; j < out.n_cols; ++j) {
    Stream stream = streams_.stream(prefix_ + name);
    stream.skip(ids[j] * ((rows + 1) / 2));  // a block of the stream gives two draws
    fill(stream, {out.colptr(j), rows}, start, scale_);
  }
  parameters_ += rows * cols;
  return out;
}

template <class T>
arma::Col<T> DrawnTensors<T>::vector(const std::string& name, arma::uword size,
                                     const Start& start) {
  arma::Col<T> out(size, arma::fill::none);
  fill(streams_.stream(prefix_ + name), {out.memptr(), out.n_elem}, start, 1.0);
  parameters_ += size;
  return out;
}

template <class T>
arma::Mat<T> CachedTensors<T>::matrix(const std::string& name, arma::uword rows, arma::uword cols,
                                      const Start& start) {
  const std::lock_guard guard(lock_);
  arma::Mat<T>& known = matrices_[{name, rows, cols}];
  if (known.is_empty()) known = source_.matrix(name, rows, cols, start);
  return arma::Mat<T>(known.memptr(), rows, cols, false, true);
}

template <class T>
arma::Mat<T> CachedTensors<T>::columns(const std::string& name, arma::uword rows, arma::uword cols,
                                       const std::vector<std::uint32_t>& ids, const Start& start) {
  return source_.columns(name, rows, cols, ids, start);
}

template <class T>
arma::Col<T> CachedTensors<T>::vector(const std::string& name, arma::uword size,
                                      const Start& start) {
  const std::lock_guard guard(lock_);
  arma::Col<T>& known = vectors_[name];
  if (known.n_elem != size) known = source_.vector(name, size, start);
  return known;
}

template class DrawnTensors<float>;
template class DrawnTensors<double>;
template class CachedTensors<float>;
template class CachedTensors<double>;

}  // namespace ranklab
