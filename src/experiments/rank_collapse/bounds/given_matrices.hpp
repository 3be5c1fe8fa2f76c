// Weights that a part of a trial computes itself, as the source of a block.
#pragma once

#include <armadillo>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/blocks/tensors.hpp"

namespace ranklab::bounds {

/// The matrices by name. Throws std::out_of_range for other names; there are no vectors.
class GivenMatrices final : public Tensors<double> {
 public:
  explicit GivenMatrices(std::map<std::string, arma::mat> by_name) : by_name_(std::move(by_name)) {}
  arma::mat matrix(const std::string& name, arma::uword, arma::uword, const Start&) override {
    return by_name_.at(name);
  }
  arma::mat columns(const std::string& name, arma::uword, arma::uword,
                    const std::vector<std::uint32_t>&, const Start&) override {
    return by_name_.at(name);
  }
  arma::vec vector(const std::string&, arma::uword, const Start&) override { return {}; }

 private:
  std::map<std::string, arma::mat> by_name_;
};

}  // namespace ranklab::bounds
