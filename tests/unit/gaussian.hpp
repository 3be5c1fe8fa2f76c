// A random matrix for tests: independent N(0, 1) entries; the same name gives the same matrix.
#pragma once

#include <armadillo>

#include "core/random.hpp"

inline arma::mat gaussian(arma::uword rows, arma::uword columns, const char* name) {
  arma::mat drawn(rows, columns);
  ranklab::Stream(1, 0, name).fill_normal({drawn.memptr(), drawn.n_elem});
  return drawn;
}
