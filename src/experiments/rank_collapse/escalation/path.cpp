#include "experiments/rank_collapse/escalation/path.hpp"

#include <memory>
#include <utility>

#include "models/blocks/block.hpp"

namespace ranklab {
namespace {

template <class T>
bool is_finite(const BlockPassage<T>& passage) {
  for (const auto& P : passage.P) {
    if (!P.is_finite()) return false;
  }
  for (const auto& Y : passage.steps) {
    if (!Y.is_finite()) return false;
  }
  return passage.X.is_finite();
}

// The norm `rows` leaves no other token at zero.
template <class T>
double zero_tokens(const arma::Mat<T>& Y) {
  return static_cast<double>(arma::accu(arma::sum(arma::abs(Y), 0) == 0));
}

template <class T>
double degenerate_rows(const ModelSpec& spec, const BlockPassage<T>& passage) {
  if (spec.norm != "rows") return 0;
  return zero_tokens(passage.steps[1]) + (spec.has_mlp() ? zero_tokens(passage.steps[3]) : 0);
}

// What the block does with passage.X. A block that all layers share is built once.
template <class T>
class Stepper {
 public:
  Stepper(const EscalationConfig& config, const Trial& trial) : config_(config), trial_(trial) {}

  void take_steps(std::uint64_t k, BlockPassage<T>& passage) {
    const ModelSpec& spec = config_.spec;
    if (block_ == nullptr || !spec.shares_weights()) {
      block_ = make_block_of<SteppedBlock>(spec, *tensors_of_layer<T>(spec, trial_, k));
    }
    BlockSteps<T> steps = block_->steps(passage.X, config_.lambda);
    passage.P = std::move(steps.P);
    passage.steps = std::move(steps.Y);
  }

 private:
  const EscalationConfig& config_;
  const Trial& trial_;
  std::unique_ptr<SteppedBlock<T>> block_;
};

}  // namespace

template <class T>
PathEnd follow_path(const EscalationConfig& config, const Trial& trial,
                    const std::function<void(std::uint64_t, const BlockPassage<T>&)>& visit) {
  const ModelSpec& spec = config.spec;
  PathEnd end;
  BlockPassage<T> passage;
  passage.X = draw_input<T>(spec, trial).Y;
  Stepper<T> stepper(config, trial);
  for (std::uint64_t k = 0; k < spec.layers; ++k) {
    trial.check_interrupt();
    stepper.take_steps(k, passage);
    end.diverged = !is_finite(passage);
    if (end.diverged) break;
    end.degenerate_rows += degenerate_rows(spec, passage);
    visit(k, passage);
    passage.X = std::move(passage.steps[3]);
  }
  return end;
}

template PathEnd follow_path(const EscalationConfig&, const Trial&,
                             const std::function<void(std::uint64_t, const BlockPassage<float>&)>&);
template PathEnd follow_path(const EscalationConfig&, const Trial&,
                             const std::function<void(std::uint64_t, const BlockPassage<double>&)>&);

}  // namespace ranklab
