// Tests of `ranks` use these matrices with known ranks, stored in a temporary folder.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/result_parts.hpp"
#include "gaussian.hpp"
#include "linalg/decompositions.hpp"
#include "nn/tensors_to_write.hpp"
#include "ranks/ranks.hpp"
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

/// An activation and its gradient, under one name.
struct NamedPair {
  std::string name;
  arma::mat A, G;
};

/// Two archives of pairs in a temporary folder.
struct Archives {
  TemporaryFolder folder;
  std::string activations = folder / "a.safetensors", gradients = folder / "g.safetensors";

  explicit Archives(const std::vector<NamedPair>& pairs) {
    std::vector<ranklab::TensorToWrite> A, G;
    for (const NamedPair& pair : pairs) {
      A.push_back(ranklab::tensor<double>(pair.name, pair.A));
      G.push_back(ranklab::tensor<double>(pair.name, pair.G));
    }
    ranklab::write_safetensors(activations, A);
    ranklab::write_safetensors(gradients, G);
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

/// Runs the study on archives of pairs, with further flags.
inline ranklab::Result run_pairs(const std::vector<NamedPair>& pairs, const FlagValues& values = {},
                                 std::uint64_t trials = 1, std::uint64_t threads = 1) {
  const Archives archives(pairs);
  FlagValues all = values;
  all.emplace_back("activations", archives.activations);
  all.emplace_back("gradients", archives.gradients);
  return run_declared(*configured(ranklab::make_ranks_study(), all), trials, threads);
}

/// A file as ranklab.record of the Python package writes it.
struct Recording {
  std::vector<ranklab::TensorToWrite> tensors = {};
  nlohmann::json layers = nlohmann::json::array(), not_seen = nlohmann::json::object();
  std::string format = "ranklab.recording/2";

  /// The second moment of A, or its samples, and G.
  void add(const std::string& name, const arma::mat& A, const arma::mat& G,
           const nlohmann::json& further = nlohmann::json::object(), bool as_samples = false) {
    tensors.push_back(ranklab::tensor<double>(name + ".gradient", G));
    tensors.push_back(as_samples
                          ? ranklab::tensor<double>(name + ".activations", arma::mat(A.t()))
                          : ranklab::tensor<double>(name + ".second_moment", arma::mat(A * A.t())));
    add_entry(name, A.n_cols, further);
  }
  void add_entry(const std::string& name, arma::uword n,
                 const nlohmann::json& further = nlohmann::json::object()) {
    nlohmann::json entry = {{"name", name}, {"role", "hidden"}, {"n", n}, {"blocks", 1}};
    entry.update(further);
    layers.push_back(entry);
  }
  void write(const std::string& path) const {
    ranklab::write_safetensors(
        path, tensors,
        {{"format", format}, {"layers", layers.dump()}, {"not_seen", not_seen.dump()}});
  }
};

inline ranklab::Result ranks_of(const std::vector<std::string>& paths,
                                const FlagValues& values = {}) {
  auto study = ranklab::make_ranks_study();
  const ranklab::Field from = find_field(*study, "from");
  from.set(from.read_elements({paths.begin(), paths.end()}, "--from"));
  return run_declared(*configured(std::move(study), values));
}

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
