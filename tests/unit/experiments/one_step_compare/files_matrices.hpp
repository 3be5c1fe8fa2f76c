// Matrices with known ranks, in files of a temporary folder, for tests of --study files.
#pragma once

#include <armadillo>
#include <cmath>
#include <string>

#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/files/config.hpp"
#include "gaussian.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/stored_matrix.hpp"
#include "temporary_folder.hpp"

/// m x k, orthonormal rows or columns: all singular values are 1, so nr = st = min(m, k).
inline arma::mat isometry(arma::uword m, arma::uword k, const char* name) {
  const auto svd = ranklab::thin_svd(gaussian(m, k, name));
  return svd.U * svd.V.t();
}

/// m x k of rank r with r equal singular values: nr = st = r.
inline arma::mat flat(arma::uword m, arma::uword k, arma::uword r, const char* name) {
  const auto svd = ranklab::thin_svd(gaussian(m, k, name));
  return svd.U.head_cols(r) * svd.V.head_cols(r).t();
}

/// m x n of full rank and stable rank r, 1 < r <= min(m, n): one singular value is 1, the others are equal.
inline arma::mat of_stable_rank(arma::uword m, arma::uword n, double r, const char* name) {
  const auto svd = ranklab::thin_svd(gaussian(m, n, name));
  arma::vec s(svd.s.n_elem);
  s.fill(std::sqrt((r - 1) / static_cast<double>(s.n_elem - 1)));
  s(0) = 1;
  return svd.U * arma::diagmat(s) * svd.V.t();
}

struct MatrixFolder {
  TemporaryFolder folder;

  std::string save(const std::string& name, const arma::mat& A) const {
    ranklab::write_npy(folder / name, A);
    return folder / name;
  }
  /// The text of --pair.
  std::string pair(const std::string& name, const arma::mat& A, const arma::mat& G) const {
    return name + "," + save(name + ".a.npy", A) + "," + save(name + ".g.npy", G);
  }
};

/// Runs the study on a list of --pair texts and further flags.
inline ranklab::Result run_pairs(const std::vector<std::string>& pairs, const FlagValues& values = {}, std::uint64_t trials = 1,
                                 std::uint64_t threads = 1) {
  auto study = ranklab::make_files_study();
  find_field(*study, "pair").parse_elements({pairs.begin(), pairs.end()}, "--pair");
  study = configured(std::move(study), values);
  ranklab::Pool::Settings settings;
  settings.trials = trials;
  settings.threads = threads;
  ranklab::Pool pool(settings, nullptr);
  study->estimate();
  return study->run(pool);
}
