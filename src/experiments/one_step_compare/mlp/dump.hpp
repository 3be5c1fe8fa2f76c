// A trained net's activations and gradients in files, as the study files reads them.
#pragma once

#include <string>

#include "models/mlp.hpp"

namespace ranklab::mlp {

/// Where the list of the pairs stands in `folder`.
std::string manifest_path(const std::string& folder);

/// Writes A<l-1>.npy (k, n) and the gradient of W_l, G<l>.npy (m, k), for every layer l, and then manifest.json, which pairs them
/// under the name W<l>: one file for each, all atomically. Folders are created. Throws Failure as write_npy does.
template <class T>
void write_dump(const std::string& folder, const arma::Mat<T>& X, const MlpPass<T>& pass);

}  // namespace ranklab::mlp
