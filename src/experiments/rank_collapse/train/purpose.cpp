#include "experiments/rank_collapse/train/purpose.hpp"

#include "experiments/rank_collapse/train_lambdas/lambdas.hpp"
#include "experiments/rank_collapse/train_variants/variants.hpp"

namespace ranklab::train {

const Purpose& purpose_of(const Config& config) {
  return config.compares_variants() ? comparison_of_variants() : comparison_of_lambdas();
}

}  // namespace ranklab::train
