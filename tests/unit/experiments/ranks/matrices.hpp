// Tests of `ranks` use these matrices with known ranks, stored in a temporary folder.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <string>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/ranks/ranks.hpp"
#include "experiments/result_parts.hpp"
#include "gaussian.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/stored_matrix.hpp"
#include "linalg/decompositions.hpp"
#include "temporary_folder.hpp"

/// m x k with orthonormal rows or columns: all singular values are 1, so nr = st = min(m, k).
inline arma::mat isometry(arma::uword m, arma::uword k, const char* name) {
  const auto svd = ranklab::thin_svd(gaussian(m, k, name));
  return svd.U * svd.V.t();
}

/// m x k of rank r with r equal singular values, so nr = st = r.
inline arma::mat flat(arma::uword m, arma::uword k, arma::uword r, const char* name) {
  const auto svd = ranklab::thin_svd(gaussian(m, k, name));
  return svd.U.head_cols(r) * svd.V.head_cols(r).t();
}

/// m x n of full rank and stable rank r, 1 < r <= min(m, n): one singular value is 1 and the others
/// are equal.
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
  /// Saves A and G and returns the value of --pair for them.
  std::string pair(const std::string& name, const arma::mat& A, const arma::mat& G) const {
    return name + "," + save(name + ".a.npy", A) + "," + save(name + ".g.npy", G);
  }
};

/// The result of the study, whose numbers it must have declared with their place and meaning.
inline ranklab::Result run_declared(const ranklab::Study& study, std::uint64_t trials = 1,
                                    std::uint64_t threads = 1) {
  study.memory();
  const std::vector<ranklab::DeclaredQuantity> declared = study.quantities();
  ranklab::Result result = study.report(records_of(study, trials, threads));
  const auto check = [&](const auto& of, const std::string& x_name) {
    CAPTURE(of.name);
    const auto found = std::ranges::find_if(declared, [&](const auto& each) {
      return each.quantity.name == of.name && each.x_name == x_name;
    });
    REQUIRE(found != declared.end());
    CHECK(found->quantity.kind == of.quantity);
    CHECK(found->quantity.at.coordinates == of.at);
    CHECK(std::string(found->quantity.meaning) != "");
  };
  for (const ranklab::Scalar& scalar : result.scalars) check(scalar, "");
  for (const ranklab::Series& series : result.series) check(series, series.x_name);
  return result;
}

/// Runs the study on a list of --pair values, with further flags.
inline ranklab::Result run_pairs(const std::vector<std::string>& pairs,
                                 const FlagValues& values = {}, std::uint64_t trials = 1,
                                 std::uint64_t threads = 1) {
  auto study = ranklab::make_files_study();
  const ranklab::Field pair = find_field(*study, "pair");
  pair.set(pair.read_elements({pairs.begin(), pairs.end()}, "--pair"));
  return run_declared(*configured(std::move(study), values), trials, threads);
}

/// Runs the study on manifests.
inline ranklab::Result run_manifests(const std::vector<std::string>& paths,
                                     const FlagValues& values = {}) {
  auto study = ranklab::make_files_study();
  const ranklab::Field manifest = find_field(*study, "manifest");
  manifest.set(manifest.read_elements({paths.begin(), paths.end()}, "--manifest"));
  return run_declared(*configured(std::move(study), values));
}

/// Writes manifests to one folder, one per step and batch.
struct Moments : MatrixFolder {
  std::vector<std::string> manifests;
  std::string pairs;

  /// Adds a layer to the manifest that is written next; empty matrices are omitted.
  void add(const std::string& name, const arma::mat& A, const arma::mat& G,
           std::uint64_t second_moment_of = 0) {
    const std::string at = std::to_string(manifests.size()) + name;
    pairs += (pairs.empty() ? "" : ", ") + (R"({"name": ")" + name + "\"");
    if (!A.empty())
      pairs += R"(, ")" + std::string(second_moment_of > 0 ? "second_moment" : "activation") +
               R"(": ")" + at + R"(a.npy")";
    if (second_moment_of > 0) pairs += R"(, "samples": )" + std::to_string(second_moment_of);
    if (!G.empty()) pairs += R"(, "gradient": ")" + at + R"(g.npy")";
    pairs += "}";
    if (!A.empty()) save(at + "a.npy", A);
    if (!G.empty()) save(at + "g.npy", G);
  }

  void write(int step, int batch = -1) {
    manifests.push_back(folder / (std::to_string(manifests.size()) + ".json"));
    ranklab::write_file_atomically(manifests.back(),
                                   R"({"step": )" + std::to_string(step) +
                                       (batch < 0 ? "" : R"(, "batch": )" + std::to_string(batch)) +
                                       R"(, "pairs": [)" + pairs + "]}");
    pairs.clear();
  }

  ranklab::Result run(const FlagValues& values = {}) const {
    return run_manifests(manifests, values);
  }
};

// Helpers that read parts of a result.

inline constexpr double exact = ranklab::tolerance::residual<double>;

inline double scalar(const ranklab::Result& result, const std::string& name) {
  return find_scalar(result, name).at(0);
}

inline std::string cell(const ranklab::Result& result, const std::string& layer,
                        std::size_t column) {
  for (const auto& row : result.table.rows) {
    if (row.at(0) == layer) return row.at(column);
  }
  return "no row " + layer;
}

inline std::string reason(const ranklab::Result& result, const std::string& name) {
  for (const ranklab::Skipped& skipped : result.skipped) {
    if (skipped.name == name) return skipped.reason;
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
