#include "ranks/measure.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "io/tensors/tensor_file.hpp"
#include "ranks/matrices.hpp"

namespace ranks_gram_test {

using namespace ranklab;
using namespace ranklab::ranks;

namespace {

const Trial one_thread(1, 0, 0), three_threads(1, 0, 2);

StoredTensor stored_in(const TemporaryFolder& folder, const std::string& name, const arma::mat& A) {
  write_safetensors(folder / name, {tensor<double>("A", A)});
  return open_tensor(folder / name + ":A");
}

double relative_error(const arma::mat& A, const arma::mat& B) {
  return arma::norm(A - B, "fro") / arma::norm(B, "fro");
}

}  // namespace

TEST_CASE(
    "a Gram matrix read in pieces and summed in tiles equals the product of the whole matrix") {
  const TemporaryFolder folder;
  // The matrices need several tiles and several rounds, and no size is a multiple of the tile
  // sizes.
  const arma::mat wide = gaussian(601, 15013, "wide"), narrow = gaussian(5, 70001, "narrow");
  for (const arma::mat& A : {wide, narrow}) {
    const arma::mat expected = A * A.t();
    const StoredTensor stored = stored_in(folder, "a.safetensors", A),
                       transposed = stored_in(folder, "t.safetensors", A.t());
    for (const StoredTensor& tensor : {stored, transposed}) {
      const StreamedGram one = streamed_gram({tensor}, 1.0, one_thread);
      CHECK(relative_error(one.gram, expected) < tolerance::residual<double>);
      CHECK(one.largest_modulus == arma::abs(A).max());
      CHECK(one.non_finite.count == 0);
      const StreamedGram three = streamed_gram({tensor}, 1.0, three_threads);
      CHECK(arma::all(arma::vectorise(one.gram == three.gram)));
    }
  }
}

TEST_CASE("A is divided by the divisor, and the estimate covers the memory of the Gram matrix") {
  const TemporaryFolder folder;
  const arma::mat A = gaussian(20, 300, "A");
  const StreamedGram read =
      streamed_gram({stored_in(folder, "a.safetensors", 1e200 * A)}, 1e200, one_thread);
  CHECK(relative_error(read.gram, A * A.t()) < tolerance::residual<double>);
  CHECK(streamed_gram_bytes(4096, 65536) > 8.0 * 4096 * 4096);
  CHECK(streamed_gram_bytes(4096, 65536) < 1e9);
}

TEST_CASE("all non-finite entries are counted, and the first in row-major order is named") {
  const TemporaryFolder folder;
  arma::mat A = gaussian(700, 9000, "A");
  A(600, 3) = A(20, 8999) = A(20, 8000) = std::numeric_limits<double>::infinity();
  A(699, 0) = std::numeric_limits<double>::quiet_NaN();
  for (const bool transposed : {false, true}) {
    const NonFinite bad =
        streamed_gram({stored_in(folder, "a.safetensors", transposed ? A.t() : A)}, 1.0, one_thread)
            .non_finite;
    CHECK(bad.count == 4);
    CHECK(bad.row == (transposed ? 0 : 20));
    CHECK(bad.column == (transposed ? 699 : 8000));
  }
}

TEST_CASE("the stable rank of a long activation equals the one from its singular values") {
  const TemporaryFolder folder;
  const arma::mat A = gaussian(300, 5000, "A") + 0.2;
  const arma::vec s = singular_values(A);
  const double expected = arma::dot(s, s) / (s(0) * s(0));
  const Ranks ranks = measure_activation({stored_in(folder, "a.safetensors", A)}, one_thread).ranks;
  CHECK(ranks.stable_rank == doctest::Approx(expected).epsilon(2 * tolerance::lanczos_residual));
}

TEST_CASE("small singular values count in nr, although a Gram matrix would lose them") {
  const TemporaryFolder folder;
  // With one singular value of 1 and 40 of 1e-9, nr = (1 + 4e-8)^2 / (1 + 4e-17).
  arma::vec s(41);
  s.fill(1e-9);
  s(0) = 1;
  const arma::mat G = isometry(50, 41, "U") * arma::diagmat(s) * isometry(41, 41, "V");
  const Ranks ranks =
      measure_gradient({stored_in(folder, "a.safetensors", G)}, {"", 0, 50}, one_thread).ranks;
  CHECK(ranks.nuclear_rank - 1 == doctest::Approx(8e-8).epsilon(1e-6));
}

}  // namespace ranks_gram_test
