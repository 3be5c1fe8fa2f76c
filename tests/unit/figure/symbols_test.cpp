#include "figure/symbols.hpp"

#include <doctest/doctest.h>

#include "figure/text.hpp"

using namespace ranklab;

TEST_CASE("plain characters become symbols in Unicode, where it has them") {
  for (const auto& [plain, set] : std::initializer_list<std::pair<const char*, const char*>>{
           {"lambda (strength of the skip)", "λ (strength of the skip)"},
           {"1 - sigma_1^2 / ||Y||_F^2", "1 − σ₁² / ‖Y‖_F²"},
           {"mu >= 1e-06", "μ ≥ 10⁻⁶"},
           {"mu_{k+1} = prod_k ||x||_(1,2)", "μₖ₊₁ = prodₖ ‖x‖_1,2"},
           {"max_ij |Q_ij| / sum_i Y~_i, max_gap", "maxᵢⱼ |Qᵢⱼ| / sumᵢ Y~ᵢ, max_gap"},
           {"d^(7/4), x^-1", "d^(7/4), x⁻¹"},
           {"a^((n+1)i) and 3^(2^{k+1}) <= b^(", "a^((n+1)i) and 3^(2ᵏ⁺¹) ≤ b^("},
           {"lambda-skip of rank_one_residual", "lambda-skip of rank_one_residual"}})
    CHECK(with_symbols(plain) == set);
}

TEST_CASE("a label is as wide as what is drawn, and marks of a file are not read") {
  const double one = text_width("Y1", 10) - text_width("Y", 10);
  CHECK(text_width(label_with_symbols("Y_1"), 10) ==
        doctest::Approx(text_width("Y", 10) + small_size * one).epsilon(1e-12));
  CHECK(label_with_symbols("a\uE000b\uE002") == "a\uFFFDb\uFFFD");
  CHECK(shorten(label_with_symbols("Y_1"), 10, 100) == label_with_symbols("Y_1"));
}
