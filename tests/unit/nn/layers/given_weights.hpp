// The weights of a mixer that trains, for the block of rank-collapse with the same mixer.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "nn/blocks/tensors.hpp"
#include "nn/layers/mixer.hpp"

/// The block has transposed maps, and its own norm before the mixer, with gains of 1. `names` are
/// the names of the mixer's parameters in their order, without "mixer.".
class GivenWeights final : public ranklab::Tensors<double> {
 public:
  GivenWeights(ranklab::Mixer<double>& mixer, std::vector<std::string> names)
      : weights_(mixer.parameters()), names_(std::move(names)) {}
  arma::mat matrix(const std::string& name, arma::uword, arma::uword,
                   const ranklab::EntryLaw&) override {
    return at(name).t();
  }
  arma::mat columns(const std::string&, arma::uword, arma::uword, const std::vector<std::uint32_t>&,
                    const ranklab::EntryLaw&) override {
    throw std::logic_error("a mixer has no table");
  }
  arma::vec vector(const std::string& name, arma::uword size, const ranklab::EntryLaw&) override {
    if (name == "norm.weight") return arma::vec(size, arma::fill::ones);
    return arma::vectorise(at(name).t());
  }

 private:
  const arma::mat& at(const std::string& name) const {
    const auto found =
        std::find(names_.begin(), names_.end(), name.substr(std::string("mixer.").size()));
    return weights_.at(static_cast<std::size_t>(found - names_.begin()))->W;
  }
  std::vector<ranklab::Parameter<double>*> weights_;
  std::vector<std::string> names_;
};
