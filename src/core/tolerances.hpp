// The one list of named tolerances, by precision T. Tests and guards use these names instead of
// bare numbers.
#pragma once

#include <limits>
#include <type_traits>

namespace ranklab::tolerance {

/// Machine epsilon: the distance from 1 to the next larger number.
template <class T>
inline constexpr double epsilon = std::numeric_limits<T>::epsilon();

/// Relative error of a closed form, which takes a handful of roundings.
template <class T>
inline constexpr double closed_form = 64 * epsilon<T>;

/// Relative residual of a backward stable decomposition or product of matrices of a few hundred
/// rows.
template <class T>
inline constexpr double residual = 300 * epsilon<T>;

/// Relative error after a handful of training steps; each step amplifies earlier rounding errors.
template <class T>
inline constexpr double trajectory = 1e4 * epsilon<T>;

/// Error of a central difference of step cbrt(epsilon), in double: about epsilon^(2/3) = 4e-11 of
/// the function, which may be a few hundred times the derivative.
inline constexpr double central_difference = 2e-8;

/// Error of a polar factor (Frobenius norm over the square root of the rank) and of a nuclear norm
/// (relative), compared with LAPACK's singular value decomposition.
template <class T>
inline constexpr double polar_agreement = std::is_same_v<T, double> ? 1e-10 : 1e-4;

/// Largest ||G||_F ||G^-1||_F for which a polar factor may be iterated instead of decomposed.
/// Whatever the algorithm, the factor has an error of up to epsilon times the condition number; the
/// limit keeps polar_agreement within reach.
template <class T>
inline constexpr double polar_condition_limit = std::is_same_v<T, double> ? 5e7 : 1e5;

/// ||I - X'X||_F predicted at the last step of the polar iteration, before rounding.
template <class T>
inline constexpr double polar_defect = std::is_same_v<T, double> ? 1e-12 : 1e-6;

/// Relative residual at which the Lanczos iteration for the largest eigenvalue stops; the
/// eigenvalue is at least this accurate.
inline constexpr double lanczos_residual = 1e-12;

/// Token diversity below which the differences between tokens are partly rounding noise: here,
/// their relative error, about ten epsilon over the square root of the diversity, is 1e-3.
template <class T>
inline constexpr double smallest_diversity = (1e4 * epsilon<T>)*(1e4 * epsilon<T>);

/// Relative error of a quantile found by bisection; tables print nine digits.
inline constexpr double quantile = 1e-8;

/// Statistical thresholds: standard errors between an estimate and its expectation. Seeds are
/// fixed, so a test either always passes or always fails. Over the few hundred estimates made,
/// chance does not explain a deviation of five standard errors.
inline constexpr double standard_errors = 5.0;

}  // namespace ranklab::tolerance
