#include "core/entry_law.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace ranklab {
namespace {

// Number of double-precision draws per chunk before rounding. Even, so that the stream continues
// where it stopped, and small enough for the cache.
constexpr std::size_t chunk = 2048;

void draw(Stream& stream, std::span<double> out, const EntryLaw& law) {
  if (law.kind == EntryLaw::Kind::uniform) {
    stream.fill_uniform(out, law.first, law.second);
  } else {
    stream.fill_normal(out, law.second);
  }
}

}  // namespace

EntryLaw EntryLaw::fan_in(std::uint64_t inputs) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  return uniform(-bound, bound);
}

template <class T>
void draw_entries(Stream stream, std::span<T> out, const EntryLaw& law, double scale) {
  const auto entry = [&](double x) {
    return static_cast<T>(scale * (law.map != nullptr ? law.map(x) : x));
  };
  if (law.kind == EntryLaw::Kind::constant) {
    std::fill(out.begin(), out.end(), entry(law.first));
    return;
  }
  if (law.kind == EntryLaw::Kind::ramp) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = entry(law.first * std::fmod(static_cast<double>(i), law.second));
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    draw(stream, out, law);
    if (law.map == nullptr && scale == 1.0) return;
    std::transform(out.begin(), out.end(), out.begin(), entry);
  } else {
    std::array<double, chunk> drawn;
    while (!out.empty()) {
      const std::span<double> part(drawn.data(), std::min(out.size(), chunk));
      draw(stream, part, law);
      std::transform(part.begin(), part.end(), out.begin(), entry);
      out = out.subspan(part.size());
    }
  }
}

template void draw_entries<float>(Stream, std::span<float>, const EntryLaw&, double);
template void draw_entries<double>(Stream, std::span<double>, const EntryLaw&, double);

}  // namespace ranklab
